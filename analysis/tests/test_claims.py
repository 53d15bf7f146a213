"""Tests of the declared claims and of how they are measured."""

from functools import lru_cache
from pathlib import Path

import pandas as pd
import pytest

from recompact import tables
from recompact.claims import CLAIM_COLUMNS, Claims, Verdict, evaluate, load_claims
from recompact.claims.declarations import check_experiments
from recompact.claims.evaluation import claims_table
from recompact.declarations import DeclarationError
from recompact.pipeline import declarations
from recompact.results import Results
from synthetic import Campaign

CLAIMS = Path(__file__).parents[2] / "paper_figures/claims.yaml"


@pytest.fixture(scope="module")
def results_dir(tmp_path_factory):
    """Three repetitions with little noise, full sweeps."""
    root = tmp_path_factory.mktemp("claims")
    campaign = Campaign(root, repetitions=3, noise=0.01, thin=False, peers=False, simulated=False)
    tables.build(campaign.raw, campaign.write(), root / "tables")
    return root / "tables"


@pytest.fixture(scope="module")
def ensembles(tmp_path_factory):
    """The same on simulated hosts: three members, of which the last has other costs."""
    root = tmp_path_factory.mktemp("ensembles")
    declared = declarations().experiments
    used = {name for name in declared if name.startswith("dlsm")} | {"ldc_workloads"}
    campaign = Campaign(root, repetitions=3, noise=0.01, thin=False, peers=False, experiments=used)
    tables.build(campaign.raw, campaign.write(), root / "tables")
    return root / "tables"


@pytest.fixture(scope="module")
def judged(results_dir):
    table = claims_table(load_claims(CLAIMS), load(results_dir))
    return table.set_index("id")


@pytest.fixture(scope="module")
def judged_ensembles(ensembles):
    claims = load_claims(CLAIMS)
    of_dlsm = tuple(claim for claim in claims.claims if claim.paper == "DLSM")
    table = claims_table(claims.model_copy(update={"claims": of_dlsm}), load(ensembles))
    return table.set_index("id")


@lru_cache(maxsize=3)
def load(directory):
    """Find tables once for all checks of the same."""
    return Results.load(directory)


def check(results_dir, claim="LDC-C33", **changes):
    """Judge one declared claim with its check changed."""
    declared = load_claims(CLAIMS)
    (found,) = [entry for entry in declared.claims if entry.id == claim]
    content = found.model_dump()
    (only_check,) = content["check"]
    content["check"] = only_check | changes
    only = Claims.model_validate({"rules": declared.rules.model_dump(), "claims": [content]})
    return claims_table(only, load(results_dir)).iloc[0]


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


def test_every_claim_gets_a_verdict(judged):
    assert not (judged.verdict == Verdict.NOT_RUN).any()
    assert judged.measured.notna().all()
    assert judged.reason.str.len().min() > 0


def test_written_table_has_its_columns_in_declared_order(results_dir, tmp_path):
    evaluate(results_dir, tmp_path / "claims.csv", claims_path=CLAIMS)
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
        ("LWC-C06", 2.5, "reproduced"),
        ("LWC-C07", 2.83, "reproduced"),
        ("LWC-C08", 7.35, "reproduced"),
    ],
)
def test_checks_measure_what_the_data_hold(judged, claim, measured, verdict):
    assert judged.measured[claim] == pytest.approx(measured, rel=0.05)
    assert judged.verdict[claim] == verdict


def test_write_amplification_rises_with_size(judged):
    row = judged.loc["LWC-C02"]
    assert row.verdict == "reproduced"
    assert "Spearman 1.00 over 6 points" in row.reason


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


def test_best_point_is_where_the_median_is_largest(judged, results_dir):
    values = load(results_dir).select("ldc_fanout", "throughput_ops_s", engines=["leveldb"])
    row = judged.loc["LDC-C33"]
    assert row.measured == values.groupby("fanout").value.median().idxmax()
    assert row.measured in (8, 10)
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
    assert "no fanout outside the band, only 3, 5, 8, 10, 25, 100" in row.reason


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
        ("LWC-C01", {"where": {"size_gb": 4}}, 'no run of engine leveldb at {"size_gb": 4}'),
        ("LWC-C03", {"over": {"experiment": "ldc_sun"}}, "experiment ldc_sun was not measured"),
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
    damaged = rewrite(results_dir, tmp_path / "t", "experiments", without_25(3))
    assert check(results_dir, "LDC-C05").repetitions == 3
    assert check(damaged, "LDC-C05").repetitions == 2


def test_a_sweep_without_a_whole_repetition_is_not_run(results_dir, tmp_path):
    damaged = rewrite(results_dir, tmp_path / "t", "experiments", only_each_its_own)
    row = check(damaged, "LDC-C05")
    assert (row.verdict, row.reason) == ("not run", "no repetition has all points: fanout 3, 10")


def only_each_its_own(frame):
    """Keep two points of the sweep, each with a repetition that the other lacks."""
    fanout = frame.point.str.extract(r'"fanout": (\d+)')[0]
    own = ((fanout == "3") & (frame.repetition == 1)) | ((fanout == "10") & (frame.repetition == 2))
    return frame[(frame.experiment != "ldc_fanout") | own]


def test_a_trend_needs_three_points(results_dir, tmp_path):
    def two_sizes(frame):
        sizes = frame.point.str.extract(r'"size_gb": (\d+)')[0]
        return frame[(frame.experiment != "lwc_load") | sizes.isin(["5", "10"])]

    damaged = rewrite(results_dir, tmp_path / "t", "experiments", two_sizes)
    row = check(damaged, "LWC-C02")
    assert row.verdict == "not run" and "a trend needs 3 points of size_gb" in row.reason


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
    assert check(damaged, "LWC-C01").reason.endswith("; 18 of 18 runs are suspect")


def test_a_claim_about_an_unknown_experiment_is_named():
    claims = load_claims(CLAIMS)
    used = {name for claim in claims.claims for check in claim.check for name in check.experiments}
    check_experiments(claims, used)
    with pytest.raises(DeclarationError, match="LWC-C05: experiment lwc_eq1 does not exist"):
        check_experiments(claims, used - {"lwc_eq1"})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("band: [5, null]", "bands: [5, null]", "bands"),
        ("function: level", "function: height", "height"),
        ("id: LDC-C02", "id: LDC-C01", "claim LDC-C01 is declared twice"),
        ("    check: {function: level", "    hint: {function: level", "check"),
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


def test_a_ratio_pairs_the_engines_by_repetition(results_dir):
    row = check(results_dir, "LDC-C13")
    runs = load(results_dir)
    where = {"workload": "WH"}
    ours, stock = (
        runs.select("ldc_workloads", "throughput_ops_s", engines=[name], where=where)
        .set_index("repetition")
        .value
        for name in ("ldc", "leveldb")
    )
    assert row.measured == pytest.approx((ours / stock).median())
    assert row.repetitions == 3


def test_a_verdict_that_hangs_on_the_costs_says_so(ensembles, tmp_path):
    band = (1, None)
    steady = check(ensembles, "LDC-C13", band=band)
    assert steady.verdict == "reproduced" and "as fitted" not in steady.reason
    runs = load(ensembles).planned("ldc_workloads", engines=["ldc"], where={"workload": "WH"})
    (other,) = runs.run[runs.varies == "costs"]

    def slow(frame):
        here = (frame.run == other) & (frame.metric == "throughput_ops_s")
        return frame.assign(value=frame.value.where(~here, frame.value / 10))

    row = check(rewrite(ensembles, tmp_path / "t", "runs", slow), "LDC-C13", band=band)
    assert row.verdict == "inconclusive"
    assert row.reason.endswith("; as fitted reproduced, with other costs not reproduced")


def test_a_ratio_that_should_be_small_is_judged_by_its_inverse(results_dir):
    assert check(results_dir, "LDC-C24").verdict == "reproduced"
    upside_down = check(results_dir, "LDC-C24", engine="leveldb", over={"engine": "ldc"})
    assert upside_down.verdict == "not reproduced"
    assert "the opposite" in upside_down.reason


def test_a_mean_is_taken_over_the_named_points(results_dir):
    means = [check(results_dir, "LDC-C13", where={"workload": w}).measured for w in ("WO", "RH")]
    points = {"workload": ["WO", "RH"]}
    row = check(results_dir, "LDC-C13", where={}, mean_of=points)
    assert row.measured == pytest.approx(sum(means) / 2, rel=0.01)
    absent = check(results_dir, "LDC-C13", where={}, mean_of={"workload": ["WO", "RX"]})
    assert absent.reason == "experiment ldc_workloads has no workload RX at this scale"


def test_every_point_is_judged_and_the_weakest_shown(results_dir, tmp_path):
    whole = check(results_dir, "LDC-C36")
    assert whole.reason.startswith("6 of 6 parts reproduced; shown: ")
    runs = pd.read_csv(results_dir / "experiments.csv", dtype={"run": str})
    chosen = (runs.experiment == "ldc_fanout") & (runs.engine == "ldc")
    at_25 = set(runs[chosen & runs.point.str.contains(": 25")].run)

    def worsen(frame):
        worse = frame.run.isin(at_25) & (frame.metric == "compaction_io_bytes")
        return frame.assign(value=frame.value.where(~worse, frame.value * 100))

    row = check(rewrite(results_dir, tmp_path / "t", "runs", worsen), "LDC-C36")
    assert row.verdict == "not reproduced"
    assert row.reason.startswith("5 of 6 parts reproduced; shown: ")
    assert row.reason.endswith("fanout 25")


def test_a_claim_of_several_checks_is_worth_what_its_weakest_is(judged):
    row = judged.loc["LDC-C38"]
    assert row.reason.startswith("2 of 2 parts reproduced")
    assert judged.reason["LDC-C29"].startswith(("0 of 6", "1 of 6", "2 of 6", "3 of 6", "4 of 6"))


def test_greater_divides_first_by_second(results_dir):
    level = {
        "function": "level",
        "experiment": "ldc_workloads",
        "metric": "throughput_ops_s",
        "time": True,
    }
    reads = level | {"where": {"workload": "RH"}}
    writes = level | {"where": {"workload": "WO"}}
    row = check(results_dir, "LDC-C35", first=writes, second=reads)
    inverse = check(results_dir, "LDC-C35", first=reads, second=writes)
    assert row.measured == pytest.approx(1 / inverse.measured)
    assert {row.verdict, inverse.verdict} == {"reproduced", "not reproduced"}


def test_the_best_of_a_sweep_counts_for_each_engine(results_dir):
    values = load(results_dir).select("ldc_fanout", "throughput_ops_s", engines=["ldc"])
    best = values.groupby("fanout").value.median().max()
    level = {
        "function": "level",
        "experiment": "ldc_fanout",
        "engine": "ldc",
        "best_of": "fanout",
        "metric": "throughput_ops_s",
        "time": True,
    }
    same = check(results_dir, "LDC-C35", first=level, second=level)
    assert same.measured == 1
    declared = check(results_dir, "LDC-C35")
    stock = load(results_dir).select("ldc_fanout", "throughput_ops_s", engines=["leveldb"])
    expected = best / stock.groupby("fanout").value.median().max()
    assert declared.measured == pytest.approx(expected, rel=0.02)


def test_a_spread_is_largest_over_smallest(results_dir):
    values = load(results_dir).select("ldc_fanout", "throughput_ops_s", engines=["leveldb"])
    wide = values.pivot(index="repetition", columns="fanout", values="value")
    largest, smallest = wide.median().idxmax(), wide.median().idxmin()
    ratios = wide[largest] / wide[smallest]
    declared = load_claims(CLAIMS)
    (flat,) = [claim for claim in declared.claims if claim.id == "LDC-C37"]
    content = flat.model_dump()
    content["check"] = content["check"][0] | {"experiment": "ldc_fanout", "sweep": "fanout"}
    only = Claims.model_validate({"rules": declared.rules.model_dump(), "claims": [content]})
    row = claims_table(only, load(results_dir)).iloc[0]
    assert ratios.min() <= row.measured <= ratios.max()
    assert row.measured == pytest.approx(ratios.median(), rel=0.02)
    assert row.verdict == "not reproduced"


def test_a_trend_can_be_claimed_to_fall(results_dir):
    assert check(results_dir, "LDC-C31").verdict == "reproduced"
    assert check(results_dir, "LDC-C31", direction="up").verdict == "not reproduced"


def judge_one(results_dir, **declared):
    """Judge a claim that has only this check."""
    claims = load_claims(CLAIMS)
    (found,) = [entry for entry in claims.claims if entry.id == "PCP-C21"]
    content = found.model_dump() | {"check": declared}
    only = Claims.model_validate({"rules": claims.rules.model_dump(), "claims": [content]})
    return claims_table(only, load(results_dir)).iloc[0]


KNEE = {
    "function": "knee",
    "experiment": "pcp_sizes_ssd",
    "engine": "pcp",
    "sweep": "upper_mib",
    "metric": "compaction_bandwidth_bytes_s",
    "time": True,
}


def of_points(results_dir, out, experiment, engine, metric, values):
    """Give a metric of an experiment other values, by the text of the point."""
    runs = pd.read_csv(results_dir / "experiments.csv", dtype={"run": str})
    chosen = runs[(runs.experiment == experiment) & (runs.engine == engine)]
    wanted = {
        run: value
        for run, point in zip(chosen.run, chosen.point, strict=True)
        for text, value in values.items()
        if point == text
    }

    def change(frame):
        here = frame.run.isin(wanted) & (frame.metric == metric)
        return frame.assign(value=frame.value.where(~here, frame.run.map(wanted)))

    return rewrite(results_dir, out, "runs", change)


def bandwidths(results_dir, tmp_path, values, floor):
    """Give the four sizes of a compaction other bandwidths, and time a noise floor."""
    points = {f'{{"upper_mib": {n}}}': v for n, v in zip((1, 2, 6, 10), values, strict=True)}
    changed = of_points(
        results_dir, tmp_path / "t", KNEE["experiment"], "pcp", KNEE["metric"], points
    )
    return rewrite(changed, tmp_path / "floor", "noise", lambda frame: frame.assign(floor=floor))


@pytest.mark.parametrize(
    ("values", "knee", "verdict"),
    [
        ((50e6, 60e6, 80e6, 81e6), 6, "reproduced"),
        ((80e6, 80e6, 80e6, 80e6), 1, "not reproduced"),
        ((50e6, 60e6, 80e6, 99e6), 10, "not reproduced"),
        ((50e6, 60e6, 80e6, 40e6), 6, "reproduced"),
    ],
)
def test_a_knee_is_the_first_point_near_the_best(results_dir, tmp_path, values, knee, verdict):
    quiet = bandwidths(results_dir, tmp_path, values, floor=0.01)
    row = judge_one(quiet, **KNEE, band=(4, 8))
    assert (row.measured, row.verdict) == (knee, verdict)


def test_a_metric_that_rises_to_the_last_point_shows_no_knee(results_dir, tmp_path):
    quiet = bandwidths(results_dir, tmp_path, (50e6, 60e6, 80e6, 99e6), floor=0.01)
    assert judge_one(quiet, **KNEE, band=(4, 10)).verdict == "inconclusive"
    assert judge_one(quiet, **KNEE, band=(8, None)).verdict == "reproduced"


def test_a_knee_that_noise_blurs_is_inconclusive(results_dir, tmp_path):
    loud = bandwidths(results_dir, tmp_path, (50e6, 74e6, 80e6, 81e6), floor=0.06)
    row = judge_one(loud, **KNEE, band=(4, 8))
    assert (row.verdict, row.low, row.high) == ("inconclusive", 2, 10)


def test_a_knee_needs_three_points_and_a_floor(results_dir, tmp_path):
    def two(frame):
        kept = frame.point.str.contains(r'"upper_mib": (?:1|2)}')
        return frame[(frame.experiment != KNEE["experiment"]) | kept]

    few = rewrite(results_dir, tmp_path / "few", "experiments", two)
    assert "a knee needs 3 points of upper_mib" in judge_one(few, **KNEE).reason
    bare = rewrite(results_dir, tmp_path / "bare", "noise", lambda frame: frame.iloc[:0])
    assert judge_one(bare, **KNEE, band=(1, 10)).verdict == "inconclusive"


EXTREME = {
    "function": "extreme",
    "experiment": "pcp_values_ssd",
    "engine": "scp",
    "metric": "step_compress_share",
    "among": ("step_crc_share", "step_decompress_share", "step_sort_share", "step_recrc_share"),
    "time": True,
}


def test_the_largest_step_is_larger_than_the_next_at_every_point(results_dir, tmp_path):
    row = judge_one(results_dir, **EXTREME)
    assert row.verdict == "reproduced"
    assert "next is step_sort_share" in row.reason
    worse = of_points(
        results_dir,
        tmp_path / "t",
        EXTREME["experiment"],
        "scp",
        "step_sort_share",
        {'{"value_bytes": 256}': 0.9},
    )
    assert judge_one(worse, **EXTREME).verdict == "not reproduced"


def test_the_smallest_step_is_smaller_than_the_next(results_dir):
    smallest = EXTREME | {"metric": "step_decompress_share", "direction": "smallest"}
    others = ("step_crc_share", "step_read_share", "step_sort_share", "step_recrc_share")
    assert judge_one(results_dir, **smallest | {"among": others}).verdict == "reproduced"
    wrong = smallest | {"metric": "step_crc_share", "among": ("step_decompress_share",)}
    assert judge_one(results_dir, **wrong).verdict == "not reproduced"


OF_MODEL = {
    "function": "of_model",
    "experiment": "pcp_entries_ssd",
    "engine": "pcp",
    "over": {"engine": "scp"},
    "sweep": "entries",
    "metric": "compaction_only_bandwidth_bytes_s",
    "time": True,
}


def test_a_speedup_is_judged_by_what_the_model_leaves(results_dir, tmp_path):
    row = judge_one(results_dir, **OF_MODEL, band=(0.75, 1.0))
    assert row.verdict == "reproduced"
    assert 0.85 < row.measured < 1
    assert "where the model says x1.6" in row.reason
    assert judge_one(results_dir, **OF_MODEL, band=(None, 0.7)).verdict == "not reproduced"
    points = {f'{{"entries": {n}}}': 1e6 for n in (20, 50, 80)}
    slow = of_points(
        results_dir, tmp_path / "t", OF_MODEL["experiment"], "pcp", OF_MODEL["metric"], points
    )
    assert judge_one(slow, **OF_MODEL, band=(0.75, 1.0)).verdict == "not reproduced"


def test_the_models_denominator_can_be_the_papers(results_dir):
    papers = judge_one(results_dir, **OF_MODEL, band=(0.75, 1.0), shared_device=False)
    ours = judge_one(results_dir, **OF_MODEL, band=(0.75, 1.0))
    assert papers.measured == pytest.approx(ours.measured, rel=0.05)  # computation is the slowest


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("PCP-C02", "reproduced"),
        ("PCP-C04", "reproduced"),
        ("PCP-C06", "reproduced"),
        ("PCP-C09", "reproduced"),
        ("PCP-C13", "reproduced"),
        ("PCP-C16", "reproduced"),
        ("PCP-C17", "reproduced"),
    ],
)
def test_claims_about_pcp_follow_the_data(judged, claim, verdict):
    assert judged.verdict[claim] == verdict, judged.reason[claim]


def test_a_pipeline_that_gains_nothing_is_told(results_dir, tmp_path):
    runs = pd.read_csv(results_dir / "experiments.csv", dtype={"run": str})
    ours = runs[runs.experiment.str.startswith("pcp_entries") & (runs.engine == "pcp")].run

    def slow(frame):
        metrics = ("throughput_ops_s", "compaction_bandwidth_bytes_s")
        here = frame.run.isin(ours) & frame.metric.isin(metrics)
        return frame.assign(value=frame.value.where(~here, frame.value * 0.4))

    damaged = rewrite(results_dir, tmp_path / "t", "runs", slow)
    for claim in ("PCP-C13", "PCP-C14", "PCP-C15", "PCP-C16"):
        assert check(damaged, claim).verdict == "not reproduced"


@pytest.mark.parametrize("claim", [f"DLSM-C{number:02d}" for number in range(1, 27)])
def test_claims_about_dlsm_follow_the_data(judged_ensembles, claim):
    assert judged_ensembles.verdict[claim] == "reproduced", judged_ensembles.reason[claim]


def judged_alone(ensembles, claim):
    """Judge one claim as it is declared, of any number of checks."""
    declared = load_claims(CLAIMS)
    chosen = tuple(entry for entry in declared.claims if entry.id == claim)
    only = declared.model_copy(update={"claims": chosen})
    return claims_table(only, load(ensembles)).iloc[0]


def runs_of(ensembles, experiment, engine):
    """Ids of an experiment's runs of an engine."""
    runs = pd.read_csv(ensembles / "experiments.csv", dtype={"run": str})
    return set(runs[(runs.experiment == experiment) & (runs.engine == engine)].run)


def times(ensembles, out, experiment, engine, metric, factor, phase="run"):
    """Multiply a metric of an engine in one experiment."""
    runs = runs_of(ensembles, experiment, engine)

    def change(frame):
        here = frame.run.isin(runs) & (frame.metric == metric) & (frame.phase == phase)
        assert here.any()
        return frame.assign(value=frame.value.where(~here, frame.value * factor))

    return rewrite(ensembles, out, "runs", change)


@pytest.mark.parametrize(
    ("claim", "experiment", "engine", "metric", "factor", "verdict"),
    [
        (
            "DLSM-C01",
            "dlsm_rangehot_read_only",
            "two_phase",
            "hit_ratio_interval_mean",
            0.8,
            "not reproduced",
        ),
        ("DLSM-C01", "dlsm_rangehot", "two_phase", "hit_ratio_std", 1e-3, "not reproduced"),
        ("DLSM-C02", "dlsm_rangehot", "two_phase", "hit_ratio_interval_mean", 1.8, "direction"),
        ("DLSM-C03", "dlsm_rangehot", "two_phase", "throughput_ops_s", 5, "direction"),
        ("DLSM-C04", "dlsm_rangehot", "dlsm", "hit_ratio_interval_mean", 0.7, "not reproduced"),
        ("DLSM-C05", "dlsm_rangehot", "dlsm", "throughput_ops_s", 0.2, "direction"),
        ("DLSM-C05", "dlsm_rangehot", "dlsm", "throughput_ops_s", 0.05, "not reproduced"),
        ("DLSM-C06", "dlsm_rangehot", "dlsm", "read_latency_interval_mean_us", 7, "direction"),
        ("DLSM-C07", "dlsm_rangehot", "dlsm", "hit_ratio_std", 20, "not reproduced"),
        ("DLSM-C08", "dlsm_zipfian", "two_phase", "hit_ratio_interval_mean", 1.6, "not reproduced"),
        ("DLSM-C09", "dlsm_zipfian", "two_phase", "hit_ratio_interval_mean", 1.28, "direction"),
        ("DLSM-C09", "dlsm_zipfian", "dlsm", "hit_ratio_interval_mean", 0.5, "not reproduced"),
        ("DLSM-C10", "dlsm_zipfian", "dlsm", "hit_ratio_period_s", 0.1, "not reproduced"),
        ("DLSM-C11", "dlsm_uniform", "two_phase", "throughput_ops_s", 9, "not reproduced"),
        ("DLSM-C12", "dlsm_uniform", "dlsm", "hit_ratio_interval_mean", 0.55, "direction"),
        ("DLSM-C13", "dlsm_uniform", "dlsm", "throughput_ops_s", 2.5, "direction"),
        ("DLSM-C14", "dlsm_uncached", "dlsm", "disk_accesses_per_get", 1.2, "not reproduced"),
        ("DLSM-C15", "dlsm_ranges", "dlsm", "throughput_ops_s", 0.5, "not reproduced"),
        ("DLSM-C16", "dlsm_ranges", "stepped_merge", "throughput_ops_s", 3, "direction"),
        ("DLSM-C17", "dlsm_ranges", "stepped_merge", "files_per_scan", 0.3, "direction"),
        ("DLSM-C18", "dlsm_pause", "dlsm", "hit_ratio_compacting", 0.5, "not reproduced"),
        ("DLSM-C21", "dlsm_low_reads", "two_phase", "upper_tables_per_get", 2, "direction"),
        ("DLSM-C22", "dlsm_writes", "dlsm", "space_buffer_bytes", 4, "not reproduced"),
        ("DLSM-C23", "dlsm_writes", "dlsm", "buffer_share_max", 2, "not reproduced"),
        ("DLSM-C25", "dlsm_other", "dlsm", "throughput_ops_s", 1.5, "not reproduced"),
        ("DLSM-C26", "dlsm_writes", "dlsm", "throughput_ops_s", 0.6, "not reproduced"),
    ],
)
def test_a_claim_about_dlsm_that_does_not_hold_is_told(
    ensembles, tmp_path, claim, experiment, engine, metric, factor, verdict
):
    damaged = times(ensembles, tmp_path / "t", experiment, engine, metric, factor)
    row = judged_alone(damaged, claim)
    assert row.verdict == verdict, row.reason


def test_queries_that_a_full_compaction_does_not_help_are_told(ensembles, tmp_path):
    args = ("dlsm_settled_ranges", "dlsm", "throughput_ops_s", 0.4)
    damaged = times(ensembles, tmp_path / "t", *args, phase="after")
    row = judged_alone(damaged, "DLSM-C19")
    assert row.verdict == "not reproduced"
    assert row.reason.startswith("2 of 4 parts reproduced")


@pytest.mark.parametrize(
    ("claim", "engine", "level", "column"),
    [
        ("DLSM-C20", "two_phase", 3, "bytes_written"),
        ("DLSM-C24", "dlsm", 3, "bytes_read_upper"),
        ("DLSM-C24", "dlsm", 1, "bytes_read_upper"),
    ],
)
def test_bytes_of_a_level_are_judged_by_those_of_another_engine(
    ensembles, tmp_path, claim, engine, level, column
):
    runs = runs_of(ensembles, "dlsm_writes", engine)

    def worsen(frame):
        here = frame.run.isin(runs) & (frame.level == level)
        assert here.any()
        return frame.assign(**{column: frame[column].where(~here, frame[column] * 20)})

    damaged = rewrite(ensembles, tmp_path / "t", "compactions", worsen)
    row = judged_alone(damaged, claim)
    assert row.verdict == "not reproduced", row.reason


def test_levels_into_which_nothing_was_moved_are_named(ensembles):
    row = check(ensembles, "DLSM-C20", levels=[7])
    assert row.verdict == "not run"
    assert row.reason == "experiment dlsm_writes: no compaction of two_phase into level 7"


def test_a_small_difference_of_large_values_is_lost_in_their_noise(results_dir, tmp_path):
    quiet = tmp_path / "quiet"
    rewrite(results_dir, quiet, "noise", lambda frame: frame.assign(floor=0.01))
    rewrite(results_dir, tmp_path / "loud", "noise", lambda frame: frame.assign(floor=0.12))
    level = {"function": "level", "experiment": "dlsm_zipfian", "metric": "hit_ratio"}
    level |= {"time": True}
    difference = {"function": "difference", "time": True, "band": (0.2, None)}
    difference |= {"first": level | {"engine": "dlsm"}, "second": level | {"engine": "two_phase"}}
    assert judge_one(quiet, **difference).verdict == "reproduced"
    assert judge_one(quiet, **difference).measured == pytest.approx(0.26, abs=0.02)
    assert judge_one(tmp_path / "loud", **difference).verdict == "inconclusive"


def test_a_hit_ratio_without_a_period_is_told(ensembles, tmp_path):
    damaged = rewrite(
        ensembles,
        tmp_path / "t",
        "runs",
        lambda frame: frame[frame.metric != "hit_ratio_period_s"],
    )
    row = check(damaged, "DLSM-C10")
    assert row.verdict == "inconclusive"
    assert "a run tells no hit_ratio_period_s" in row.reason
