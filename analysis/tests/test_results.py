"""Tests of asking the tidy tables."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recompact import real_time, tables
from recompact.figures import style
from recompact.results import MissingCell, Results, device_label, unite
from recompact.statistics import percent
from synthetic import THINNING, Campaign

EXPERIMENTS = {
    *("noise", "parity"),
    *("ldc_fanout", "ldc_latency", "ldc_profile", "lwc_eq1", "lwc_load"),
    *("pcp_entries_ssd", "pcp_overhead", "pcp_threads_ssd"),
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Two campaigns: a thinned one, and a full one with two repetitions."""
    root = tmp_path_factory.mktemp("results")
    for name, options in {
        "smoke": {},
        "small": {"scale": "small", "factor": 16, "repetitions": 2, "thin": False},
    }.items():
        campaign = Campaign(
            root / "campaigns" / name, experiments=EXPERIMENTS, simulated=False, **options
        )
        campaign.root.mkdir(parents=True)
        tables.build(campaign.raw, campaign.write(), root / "published" / "host" / name)
    return root / "published"


@pytest.fixture(scope="module")
def smoke(published):
    return Results.load(published / "host" / "smoke")


def test_select_gives_one_row_per_run_with_its_point(smoke):
    frame = smoke.select("ldc_fanout", "throughput_ops_s", engines=["leveldb"])
    assert list(frame.fanout) == [3, 10, 25, 100]
    assert set(frame.columns) == {
        *("engine", "repetition", "varies", "run", "scale_factor", "fanout", "value")
    }
    assert (frame.value > 0).all()


def test_select_keeps_to_the_point_and_engines_asked_for(smoke):
    frame = smoke.select(
        "lwc_eq1", "duration_s", phase="load", where={"fanout": 10, "expand_inputs": False}
    )
    assert list(frame.expand_inputs) == [False]
    assert set(smoke.select("parity", "duration_s", engines=["pristine"]).engine) == {"pristine"}


def test_profiled_runs_are_not_repetitions(smoke):
    assert len(smoke.planned("ldc_profile")) == 2
    timed = set(smoke.planned("ldc_profile").run)
    profiled = set(smoke.planned("ldc_profile", profiled=True).run)
    assert not timed & profiled
    assert set(smoke.rows("profile", "ldc_profile", profiled=True).run) == profiled


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.select("ldc_sun", "x"), "experiment ldc_sun was not measured"),
        (
            lambda r: r.select("ldc_fanout", "x"),
            r'ldc_fanout, engine leveldb, point {"fanout": 3}, phase run: a run tells no x',
        ),
        (
            lambda r: r.select("ldc_fanout", "throughput_ops_s", phase="load"),
            "phase load: a run tells no throughput_ops_s",
        ),
        (
            lambda r: r.select("ldc_fanout", "throughput_ops_s", where={"fanout": 5}),
            r'no run of engine any at {"fanout": 5}',
        ),
        (
            lambda r: r.select("ldc_fanout", "throughput_ops_s", where={"size_gb": 5}),
            r'no run of engine any at {"size_gb": 5}',
        ),
        (
            lambda r: r.select("ldc_fanout", "throughput_ops_s", engines=["pcp"]),
            "no run of engine pcp",
        ),
        (
            lambda r: r.select("parity", "write_amplification"),
            r'engine pristine, point {"copy": 1}, phase run: a run tells no write_amplification',
        ),
        (lambda r: r.rows("profile", "ldc_latency", profiled=True), "ldc_latency has no run"),
        (lambda r: r.rows("profile", "ldc_latency"), "has no rows in profile.csv"),
    ],
)
def test_a_missing_cell_is_named(smoke, ask, message):
    with pytest.raises(MissingCell, match=message):
        ask(smoke)


def test_what_was_asked_before_changes_no_answer(smoke):
    given = smoke.planned("ldc_fanout")
    given["run"] = "the caller's"
    assert "the caller's" not in set(smoke.planned("ldc_fanout").run)
    with pytest.raises(MissingCell, match="no run"):
        smoke.planned("ldc_fanout", engines=[])


def test_published_campaigns_are_not_mixed(published):
    results = Results.load(published)
    assert [campaign.scale for campaign in results.campaigns] == ["small", "smoke"]
    frame = results.select("ldc_fanout", "throughput_ops_s")
    assert set(frame.scale_factor) == {16}
    assert len(frame) == 6 * 2 * 2


def test_of_two_hosts_with_as_many_runs_the_newest_answers(published, tmp_path):
    for host in ("a", "b", "c"):
        shutil.copytree(published / "host" / "small", tmp_path / host / "small")
    redate(tmp_path / "b", "2031-01-02")
    fewer = redate(tmp_path / "c", "2032-01-02")
    experiments = tables.read_table(fewer / "experiments.csv", tables.EXPERIMENT_COLUMNS)
    of_one = (experiments.experiment == "ldc_fanout") & (experiments.repetition == 1)
    tables.write(experiments[~of_one], fewer / "experiments.csv")
    results = Results.load(tmp_path)
    assert results.campaign("ldc_fanout").directory == tmp_path / "b" / "small"
    assert results.campaign("lwc_load").directory == tmp_path / "c" / "small"


def redate(host: Path, date: str) -> Path:
    """Make the runs of a host's published tables those of another day."""
    folder = host / "small"
    path = folder / "specifications.csv"
    specifications = tables.read_table(path, tables.SPECIFICATION_COLUMNS)
    tables.write(specifications.assign(date=date), path)
    return folder


def test_stamp_tells_the_conditions(smoke):
    stamp = smoke.stamp(["ldc_fanout", "lwc_load"])
    assert stamp.scale == "smoke"
    assert stamp.factors == (64,)
    assert stamp.devices == ("pcie_ssd (ssd model)", "hdd_7200 (hdd model)")
    assert stamp.repetitions == 1
    assert stamp.thinning == (THINNING["ldc_fanout"], THINNING["lwc_load"])
    assert "tree 3f9a1c52" in stamp.hashes
    assert len(stamp.runs) == 4 * 2 + 3


def test_a_stamp_of_two_hosts_tells_what_both_tell(smoke):
    here = replace(smoke.stamp(["lwc_load"]), suspect=("late",), repetitions=5)
    there = replace(here, hosts=("another",), devices=("ssd (real)",), repetitions=3)
    both = unite([here, there])
    assert both.hosts == (*here.hosts, "another")
    assert both.devices == (*here.devices, "ssd (real)")
    assert (both.hashes, both.runs) == (here.hashes, here.runs)
    assert both.suspect == ("late", "late")  # one per run
    assert both.repetitions == 3


def test_stamp_tells_what_is_divided_where_sizes_are_kept(smoke):
    stamp = smoke.stamp(["pcp_threads_ssd", "ldc_fanout"])
    assert (stamp.factors, stamp.counts) == ((64,), (64,))
    text = style.stamp_lines(stamp)[0]
    assert text.startswith("smoke scale, 1/64, 1/64 of the operations at full size · device ")
    assert "sata_ssd (ssd model)" in text


def test_stamp_tells_the_processors_of_a_confined_run(smoke, tmp_path):
    assert smoke.stamp(["ldc_fanout"]).processors == ()
    path = tmp_path / "t" / "specifications.csv"
    shutil.copytree(smoke.campaigns[0].directory, path.parent)
    confined = tables.read_table(path, tables.SPECIFICATION_COLUMNS)
    confined["conditions"] = confined.conditions.str.replace("{", '{"processors": 1, ')
    tables.write(confined, path)
    stamp = Results.load(path.parent).stamp(["pcp_overhead"])
    assert stamp.processors == (1,)
    assert "confined to 1 of the host's processors" in style.stamp_lines(stamp)[0]


def test_stamp_counts_the_repetitions_of_the_point_with_fewest(published):
    results = Results.load(published)
    assert results.stamp(["ldc_fanout"]).repetitions == 2
    assert results.stamp(["ldc_profile"], profiled=True).repetitions == 1


@pytest.mark.parametrize(
    ("device", "label"),
    [
        ({"id": "memory", "kind": "memory"}, "memory"),
        ({"id": "nvme", "kind": "path"}, "nvme (real)"),
        ({"id": "hdd", "kind": "hdd"}, "hdd (hdd model)"),
    ],
)
def test_a_device_is_real_or_a_model(device, label):
    assert device_label(device) == label


def test_noise_floor_is_absent_where_it_was_not_measured(smoke):
    assert smoke.noise_floor("throughput_ops_s", "ldc_fanout") > 0
    assert smoke.noise_floor("latency_scan_mean_us", "ldc_fanout") is None


@pytest.fixture(scope="module")
def ensembles(published, tmp_path_factory):
    """Beside the campaigns in real time one on simulated hosts, as large and older."""
    root = tmp_path_factory.mktemp("ensembles")
    campaign = Campaign(
        root / "campaign",
        scale="small",
        repetitions=3,
        experiments={
            *("ldc_fanout", "pcp_threads_ssd", "noise", "parity", "time_ssd", "time_ssd_here")
        },
    )
    campaign.root.mkdir()
    shutil.copytree(published, root / "published")
    folder = root / "published" / "simulated" / "small"
    tables.build(campaign.raw, campaign.write(), folder)
    return Results.load(root / "published")


def test_what_was_simulated_answers_before_real_time(ensembles):
    assert ensembles.campaign("ldc_fanout").directory.parent.name == "simulated"
    assert ensembles.is_simulated("ldc_fanout") and not ensembles.is_simulated("lwc_load")
    assert ensembles.campaign("lwc_load").directory.parent.name == "host"
    assert not ensembles.is_simulated("noise")


def test_identical_simulated_runs_do_not_differ(ensembles):
    assert ensembles.noise_floor("latency_scan_mean_us", "ldc_fanout") == 0
    assert ensembles.noise_floor("latency_scan_mean_us", "lwc_load") is None


def test_an_ensemble_is_asked_member_by_member(ensembles):
    assert ensembles.members(["ldc_fanout", "lwc_load"]) == {1: "", 2: "seed", 3: "costs"}
    assert ensembles.members(["lwc_load"]) == {}
    third = ensembles.of_member(3)
    assert set(third.planned("ldc_fanout").repetition) == {3}
    assert set(third.planned("lwc_load").repetition) == {1, 2}
    assert set(ensembles.planned("ldc_fanout").repetition) == {1, 2, 3}


def test_the_stamp_of_an_ensemble_says_what_differs(ensembles):
    stamp = ensembles.stamp(["pcp_threads_ssd"])
    assert (stamp.repetitions, stamp.varied) == (3, ("seed", "costs"))
    text = style.stamp_lines(stamp)[0]
    assert "ensemble of 3 (seed, costs)" in text
    assert "simulated pcp, 12 processors" in text


def test_the_stamp_of_simulated_runs_tells_their_error(ensembles):
    errors = real_time.errors(ensembles, ["throughput_ops_s", "latency_all_p99_us"])
    throughput = real_time.simulated_over_real(ensembles, "time_ssd", "throughput_ops_s").value
    within = np.quantile(real_time.distance(throughput), 0.9)
    assert errors[0] == (
        f"simulated throughput_ops_s is within {percent(within)} of real time in nine of ten phases"
    )
    assert ensembles.stamp(["pcp_threads_ssd"]).errors == errors
    assert ensembles.stamp(["lwc_load"]).errors == ()  # in real time
    assert errors[1] in style.stamp_lines(ensembles.stamp(["pcp_threads_ssd"]))[0]


def test_amplifications_are_held_against_real_time_by_whole_runs(ensembles):
    ratios = real_time.simulated_over_real(ensembles, "time_ssd", "write_amplification")
    assert set(ratios.phase) == {real_time.WHOLE_RUN}
    (cell,) = ratios.head(1).to_dict("records")
    written = {}
    for name in ("time_ssd", "time_ssd_here"):
        campaign = ensembles.campaign(name)
        of = campaign.of(name)
        alike = of[(of.engine == cell["engine"]) & (of.point == cell["point"])]
        values = campaign.runs.pivot_table(index=["run", "phase"], columns="metric", values="value")
        values = values.reset_index()[lambda told: ~told.phase.str.contains("[.+]")]
        values = values[values.run.isin(alike.run)]
        values["bytes"] = values.write_amplification * values.user_bytes_written
        totals = values.groupby("run")[["bytes", "user_bytes_written", "duration_s"]].sum()
        written[name] = totals.bytes / totals.user_bytes_written, totals.duration_s
    quickest = written["time_ssd"][0][written["time_ssd"][1].idxmin()]
    assert cell["value"] == pytest.approx(written["time_ssd_here"][0].median() / quickest)
    (told,) = real_time.errors(ensembles, ["write_amplification"])
    assert told.endswith("of real time in nine of ten runs")


def test_without_runs_in_both_times_no_error_is_told(smoke):
    assert real_time.errors(smoke, ["throughput_ops_s"]) == ()


def test_no_tables_is_an_error_that_says_so(tmp_path):
    with pytest.raises(tables.TableError, match=r"no experiments.csv below; build the tables"):
        Results.load(tmp_path)
