"""Tests of the declared claims and of how they are measured."""

from pathlib import Path

import pandas as pd
import pytest

from recompact import tables
from recompact.claims import CLAIM_COLUMNS, Claims, Verdict, evaluate, load_claims
from recompact.claims.declarations import check_experiments
from recompact.claims.evaluation import claims_table
from recompact.declarations import DeclarationError
from recompact.results import Results
from synthetic import Campaign

CLAIMS = Path(__file__).parents[2] / "paper_figures/claims.yaml"
ENGINES = {"pristine", "leveldb"}
ANSWERED = {
    *("LDC-C01", "LDC-C02", "LDC-C03", "LDC-C04", "LDC-C05", "LDC-C33"),
    *("LWC-C01", "LWC-C02", "LWC-C03", "LWC-C04", "LWC-C05"),
}


@pytest.fixture(scope="module")
def results_dir(tmp_path_factory):
    """Five repetitions with little noise, thinned sweeps."""
    root = tmp_path_factory.mktemp("claims")
    campaign = Campaign(root, repetitions=5, noise=0.01)
    tables.build(campaign.raw, campaign.write(), root / "tables")
    return root / "tables"


@pytest.fixture(scope="module")
def judged(results_dir):
    table = claims_table(load_claims(CLAIMS), Results.load(results_dir), ENGINES)
    return table.set_index("id")


def check(results_dir, claim="LDC-C33", **changes):
    """Judge one declared claim with its check changed."""
    declared = load_claims(CLAIMS)
    (found,) = [entry for entry in declared.claims if entry.id == claim]
    content = found.model_dump()
    content["check"] |= changes
    only = Claims.model_validate({"rules": declared.rules.model_dump(), "claims": [content]})
    return claims_table(only, Results.load(results_dir), ENGINES).iloc[0]


def rewrite(results_dir, out, table, change):
    """Copy tables with one of them changed."""
    out.mkdir()
    for path in results_dir.iterdir():
        (out / path.name).write_bytes(path.read_bytes())
    frame = pd.read_csv(out / f"{table}.csv", dtype={"run": str})
    tables.write(change(frame), out / f"{table}.csv")
    return out


def test_all_claims_of_the_five_papers_are_declared_once():
    claims = load_claims(CLAIMS).claims
    counts = pd.Series([claim.paper for claim in claims]).value_counts().to_dict()
    assert counts == {"LDC": 45, "DLSM": 26, "PCP": 25, "QACP": 12, "LWC": 8}
    assert {claim.id for claim in claims if claim.check} == ANSWERED


def test_every_answered_claim_gets_a_verdict(judged):
    run = judged[judged.verdict != Verdict.NOT_RUN]
    assert set(run.index) == ANSWERED
    assert run.measured.notna().all()
    assert run.reason.str.len().min() > 0


def test_a_claim_without_its_engine_is_not_run_and_says_why(judged):
    assert judged.reason["LDC-C12"] == "needs engine ldc, which this version does not have"
    assert judged.verdict["LDC-C12"] == "not run"
    assert pd.isna(judged.measured["LDC-C12"])
    assert judged.repetitions["LDC-C12"] == 0


def test_a_claim_whose_engines_arrived_asks_for_a_check(results_dir):
    table = claims_table(load_claims(CLAIMS), Results.load(results_dir), {*ENGINES, "ldc"})
    reason = table.set_index("id").reason["LDC-C12"]
    assert reason == "its engines are here, but claims.yaml has no check for it"


def test_written_table_has_its_columns_in_declared_order(results_dir, tmp_path):
    evaluate(results_dir, tmp_path / "claims.csv", claims_path=CLAIMS, engines=ENGINES)
    table = pd.read_csv(tmp_path / "claims.csv")
    assert list(table.columns) == CLAIM_COLUMNS
    assert list(table.id) == [claim.id for claim in load_claims(CLAIMS).claims]
    assert table.paper_value.map(type).eq(str).all()


@pytest.mark.parametrize(
    ("claim", "measured", "verdict"),
    [
        ("LDC-C02", 0.55, "reproduced"),
        ("LDC-C03", 0.19, "reproduced"),
        ("LDC-C04", 0.11, "reproduced"),
        ("LWC-C03", 8.1, "reproduced"),
        ("LWC-C04", 2.06, "reproduced"),
    ],
)
def test_checks_measure_what_the_data_hold(judged, claim, measured, verdict):
    assert judged.measured[claim] == pytest.approx(measured, rel=0.05)
    assert judged.verdict[claim] == verdict


def test_write_amplification_rises_with_size(judged):
    row = judged.loc["LWC-C02"]
    assert row.verdict == "reproduced"
    assert "Spearman 1.00 over 3 points" in row.reason


def test_a_metric_that_falls_instead_is_not_reproduced(results_dir, tmp_path):
    def swap(frame):
        chosen = (frame.metric == "write_amplification_device") & (frame.phase == "load")
        return frame.assign(value=frame.value.where(~chosen, 100 / frame.value))

    damaged = rewrite(results_dir, tmp_path / "t", "runs", swap)
    assert check(damaged, "LWC-C02").verdict == "not reproduced"


def test_compaction_size_counts_levels_of_unique_keys_only(results_dir, tmp_path):
    def inflate_level_1(frame):
        return frame.assign(bytes_read=frame.bytes_read.where(frame.level != 1, 10**12))

    before = check(results_dir, "LWC-C05").measured
    damaged = rewrite(results_dir, tmp_path / "t", "compactions", inflate_level_1)
    assert check(damaged, "LWC-C05").measured == before
    assert 10 < before < 22


def test_best_point_is_where_the_median_is_largest(judged):
    row = judged.loc["LDC-C33"]
    assert row.measured == 10
    assert row.verdict == "not reproduced"


def test_best_point_that_noise_cannot_tell_is_inconclusive(results_dir, tmp_path):
    def level(frame):
        return frame.assign(
            value=frame.value.where(frame.metric != "throughput_ops_s", 5e4 + frame.index % 3)
        )

    row = check(rewrite(results_dir, tmp_path / "t", "runs", level), "LDC-C33")
    assert row.verdict == "inconclusive"
    assert (row.low, row.high) == (3, 100)


def test_best_point_needs_points_on_both_sides(results_dir):
    row = check(results_dir, "LDC-C33", band=(None, 1000))
    assert (row.verdict, row.repetitions) == ("not run", 0)
    assert "no fanout outside the band, only 3, 10, 25, 100" in row.reason


def test_best_gain_divides_by_the_default_point(results_dir):
    assert check(results_dir, "LDC-C05", default=100, band=(None, 1.3)).verdict == "not reproduced"
    assert check(results_dir, "LDC-C05", default=10, band=(None, 1.3)).verdict == "reproduced"
    missing = check(results_dir, "LDC-C05", default=7)
    assert missing.reason == "experiment ldc_fanout has no point fanout 7"


def test_rank_follows_the_named_groups(results_dir):
    assert check(results_dir, "LDC-C03", rank=1).verdict == "not reproduced"
    assert check(results_dir, "LDC-C02", rank=2, band=(None, None)).verdict == "not reproduced"
    absent = check(results_dir, "LDC-C03", group="sorting")
    assert absent.reason == "experiment ldc_profile: no function group sorting in profile.csv"


def test_rank_ignores_what_the_papers_table_leaves_unnamed(results_dir, tmp_path):
    def grow_others(frame):
        return frame.assign(share=frame.share.where(frame.function_group != "others", 0.3))

    damaged = rewrite(results_dir, tmp_path / "t", "profile", grow_others)
    row = check(damaged, "LDC-C03")
    assert row.verdict == "reproduced"
    assert "rank 2 of 3 named groups" in row.reason


@pytest.mark.parametrize(
    ("claim", "changes", "message"),
    [
        ("LDC-C01", {"experiment": "ldc_sun"}, "experiment ldc_sun was not measured"),
        ("LWC-C01", {"where": {"size_gb": 6}}, 'no run of engine leveldb at {"size_gb": 6}'),
        ("LWC-C03", {"over": "ldc_sun"}, "experiment ldc_sun was not measured"),
    ],
)
def test_what_was_not_measured_is_not_run_and_named(results_dir, claim, changes, message):
    row = check(results_dir, claim, **changes)
    assert row.verdict == "not run"
    assert message in row.reason


def without_25(*repetitions):
    """Drop the runs of one fan-out."""

    def drop(frame):
        chosen = (frame.experiment == "ldc_fanout") & frame.repetition.isin(repetitions)
        return frame.drop(frame[chosen & frame.point.str.contains("25")].index)

    return drop


def test_an_unfinished_repetition_of_a_sweep_is_left_out(results_dir, tmp_path):
    damaged = rewrite(results_dir, tmp_path / "t", "experiments", without_25(5))
    assert check(results_dir, "LDC-C05").repetitions == 5
    assert check(damaged, "LDC-C05").repetitions == 4


def test_a_sweep_without_a_whole_repetition_is_not_run(results_dir, tmp_path):
    damaged = rewrite(results_dir, tmp_path / "t", "experiments", only_each_its_own)
    row = check(damaged, "LDC-C05")
    assert (row.verdict, row.reason) == ("not run", "no repetition has all points: fanout 3, 10")


def only_each_its_own(frame):
    """Keep two points of the sweep, each with a repetition that the other lacks."""
    fanout = frame.point.str.extract(r'"fanout": (\d+)')[0]
    own = ((fanout == "3") & (frame.repetition == 1)) | ((fanout == "10") & (frame.repetition == 2))
    return frame[(frame.experiment != "ldc_fanout") | own]


def test_a_rise_needs_three_points(results_dir, tmp_path):
    def two_sizes(frame):
        sizes = frame.point.str.extract(r'"size_gb": (\d+)')[0]
        return frame[(frame.experiment != "lwc_load") | sizes.isin(["5", "10"])]

    damaged = rewrite(results_dir, tmp_path / "t", "experiments", two_sizes)
    row = check(damaged, "LWC-C02")
    assert row.verdict == "not run" and "needs 3 points of size_gb" in row.reason


def test_without_the_noise_experiment_nothing_is_decided(results_dir, tmp_path):
    damaged = rewrite(results_dir, tmp_path / "t", "noise", lambda frame: frame.iloc[:0])
    assert check(damaged, "LWC-C01").verdict == "inconclusive"


def test_a_suspect_run_is_told_in_the_reason(results_dir, tmp_path):
    damaged = rewrite(
        results_dir,
        tmp_path / "t",
        "specifications",
        lambda frame: frame.assign(suspect="write amplification told three ways"),
    )
    assert check(damaged, "LWC-C01").reason.endswith("; 15 of 15 runs are suspect")


def test_a_claim_about_an_unknown_experiment_is_named():
    claims = load_claims(CLAIMS)
    used = {name for claim in claims.claims if claim.check for name in claim.check.experiments}
    check_experiments(claims, used)
    with pytest.raises(DeclarationError, match="LWC-C05: experiment lwc_eq1 does not exist"):
        check_experiments(claims, used - {"lwc_eq1"})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("band: [5, null]", "bands: [5, null]", "bands"),
        ("function: level", "function: height", "height"),
        ("id: LDC-C02", "id: LDC-C01", "claim LDC-C01 is declared twice"),
        ("    needs: [ldc]\n", "", "must have either needs or check"),
        ("far_above_floor: 3", "far_above_floor: much", "rules.far_above_floor"),
    ],
)
def test_a_wrong_declaration_names_file_and_key(tmp_path, old, new, message):
    path = tmp_path / "claims.yaml"
    text = CLAIMS.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DeclarationError, match=f"claims.yaml: .*{message}"):
        load_claims(path)
