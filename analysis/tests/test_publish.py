"""Published tables add up over sessions."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from recompact import ROOT, publish, tables
from recompact.results import Results
from synthetic import Campaign


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of a smoke campaign, which no test changes."""
    root = tmp_path_factory.mktemp("publish")
    campaign = Campaign(root, peers=False, simulated=False)
    tables.build(campaign.raw, campaign.write(), root / "tables")
    return root / "tables"


@pytest.fixture
def measured(built: Path, tmp_path: Path) -> Path:
    """The tables of a smoke campaign, to do with as a test likes."""
    return Path(shutil.copytree(built, tmp_path / "results/smoke"))


def _read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", dtype=str)


def test_publishing_twice_changes_nothing(measured: Path, tmp_path: Path) -> None:
    (folder,) = publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    assert folder.name == "smoke"


def test_published_tables_answer_like_the_measured_ones(measured: Path, tmp_path: Path) -> None:
    publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    ask = ("ldc_fanout", "throughput_ops_s")
    published = Results.load(tmp_path / "published").select(*ask)
    pd.testing.assert_frame_equal(published, Results.load(measured).select(*ask))


def test_only_timelines_that_a_figure_draws_are_kept(measured: Path, tmp_path: Path) -> None:
    (folder,) = publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    experiments = _read(folder, "experiments")
    drawn = experiments[experiments.experiment == "ldc_latency"].run
    assert set(_read(folder, "timeline").run) == set(drawn)
    assert len(set(_read(measured, "timeline").run)) > len(drawn)


def test_only_spans_that_a_figure_draws_are_kept(measured: Path, tmp_path: Path) -> None:
    drawn = {"pcp_threads_ssd"}
    (folder,) = publish.publish(measured, tmp_path / "published", {"ldc_latency"}, drawn)
    experiments = _read(folder, "experiments")
    runs = experiments[experiments.experiment.isin(drawn)].run
    assert set(_read(folder, "spans").run) == set(runs)
    assert len(set(_read(measured, "spans").run)) > len(runs)


def test_parts_measured_at_different_times_add_up(measured: Path, tmp_path: Path) -> None:
    whole = _read(measured, "experiments")
    for experiments in ({"ldc_fanout"}, set(whole.experiment) - {"ldc_fanout"}):
        part = tmp_path / f"part{len(experiments)}"
        part.mkdir()
        chosen = whole[whole.experiment.isin(experiments)]
        for name in ("experiments", *publish.BY_RUN):
            frame = _read(measured, name)
            frame[frame.run.isin(chosen.run)].to_csv(part / f"{name}.csv", index=False)
        (part / "scale.json").write_text((measured / "scale.json").read_text())
        (folder,) = publish.publish(part, tmp_path / "published", {"ldc_latency"})
    assert set(_read(folder, "experiments").run) == set(whole.run)


def test_a_newer_run_of_a_point_takes_the_place_of_the_older(
    measured: Path, tmp_path: Path
) -> None:
    (folder,) = publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    old = _read(folder, "experiments")
    replaced = old[old.experiment == "ldc_fanout"].run.iloc[0]
    for name in ("experiments", *publish.BY_RUN):
        frame = _read(measured, name)
        frame["run"] = frame.run.replace(replaced, "f" * 16)
        frame.to_csv(measured / f"{name}.csv", index=False)
    publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    new = _read(folder, "experiments")
    assert len(new) == len(old)
    assert "f" * 16 in set(new.run) and replaced not in set(new.run)
    assert replaced not in set(_read(folder, "runs").run)
    assert json.loads((folder / "scale.json").read_text())["scale"] == "smoke"


def test_runs_of_another_set_up_are_no_repetitions(measured: Path, tmp_path: Path) -> None:
    (folder,) = publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    old = _read(folder, "experiments")
    chosen = old[(old.experiment == "ldc_latency") & (old.engine == "leveldb")].run.iloc[:1]
    for name in ("experiments", *publish.BY_RUN):
        frame = _read(measured, name)
        frame = frame[frame.run.isin(chosen)]
        if name == "specifications":
            frame["device"] = frame.device.str.replace("pcie_ssd", "another_ssd")
        if name == "experiments":
            frame = frame[frame.experiment == "ldc_latency"]
        frame.replace(chosen.iloc[0], "f" * 16).to_csv(measured / f"{name}.csv", index=False)
    publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    new = _read(folder, "experiments")
    assert set(new[new.experiment == "ldc_latency"].run) == {"f" * 16}
    others = old[old.experiment != "ldc_latency"].run
    assert set(others) <= set(new.run)


@pytest.mark.parametrize(
    ("column", "old", "new", "stays"),
    [
        ("date", "2026", "2027", True),
        ("build", "c0ffee", "decade", False),
        ("engine_options", '"fanout": 10', '"fanout": 11', False),
    ],
)
def test_a_repetition_of_another_build_goes(
    measured: Path, tmp_path: Path, column: str, old: str, new: str, *, stays: bool
) -> None:
    (folder,) = publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    experiments = _read(folder, "experiments")
    of_ldc = experiments.experiment == "ldc_latency"
    experiments.loc[of_ldc, "repetition"] = "2"
    experiments.to_csv(folder / "experiments.csv", index=False)
    before = set(experiments[of_ldc & (experiments.engine == "ldc")].run)
    for name in ("experiments", *publish.BY_RUN):
        frame = _read(measured, name)
        if name == "specifications":
            assert frame[column].str.contains(old, regex=False).any()
            frame[column] = frame[column].str.replace(old, new, regex=False)
        frame["run"] = "a" + frame.run.str[1:]
        frame.to_csv(measured / f"{name}.csv", index=False)
    publish.publish(measured, tmp_path / "published", {"ldc_latency"})
    after = set(_read(folder, "experiments").run)
    assert (before <= after) is stays


def test_hosts_are_named_by_what_they_are() -> None:
    assert publish.host_folder("2 x AMD EPYC, 24 GiB, Linux 6.1, tmpfs") == (
        "2-x-amd-epyc-24-gib-linux-6-1-tmpfs"
    )
    for processors in (1, 12):
        assert publish.host_folder(f"simulated pcp, {processors} processors") == "simulated-pcp"


def test_costs_are_written_into_the_readme(measured: Path, tmp_path: Path) -> None:
    published = tmp_path / "published"
    (folder,) = publish.publish(measured, published, {"ldc_latency"})
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/file").write_bytes(bytes(3_000_000))
    publish.note_costs(published, folder, [tmp_path / "disk"])
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- costs: by us -->\nstale\n<!-- costs: end -->\nafter\n")
    publish.write_costs(readme, published)
    publish.write_costs(readme, published)
    text = readme.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "stale" not in text
    assert text.count("| smoke | ") == 1
    publish.note_costs(published, folder, [])  # by a checkout that holds none of the runs
    (held,) = pd.read_csv(published / "costs.csv").disk_bytes
    assert held == 3_000_000


def test_errors_of_simulated_time_are_written_by_metric_and_device(tmp_path: Path) -> None:
    data = pd.DataFrame(
        [
            ("run", "throughput_ops_s", "memory", 1.1),
            ("run", "throughput_ops_s", "memory", 1 / 1.3),
            ("run", "throughput_ops_s", "ssd", 1.5),
            ("run", "stall_us", "memory", 1.0),
            ("run", "stall_us", "ssd", 0.5),
            ("median", "stall_us", "ssd", 9.0),
        ],
        columns=["source", "panel", "series", "value"],
    )
    document = tmp_path / "README.md"
    document.write_text("<!-- errors: by us -->\n<!-- errors: end -->\n")
    publish.write_errors(document, data)
    assert publish.read_block(document, "errors") == [
        "| metric | all | memory | ssd |",
        "| --- | --- | --- | --- |",
        "| `throughput_ops_s` | 30 % / 46 % | 20 % / 28 % | 50 % / 50 % |",
        "| `stall_us` | 50 % / 90 % | 0 % / 0 % | x2 / x2 |",
    ]


def test_what_is_published_in_this_repository_can_be_read():
    results = Results.load(ROOT / "results/published")
    assert results.campaigns
    for campaign in results.campaigns:
        for table in ("experiments", "runs", "compactions"):
            assert not getattr(campaign, table).empty, f"{campaign.directory}: {table}"
        for table in ("timeline", "profile", "noise", "spans"):  # not of every host
            assert len(getattr(campaign, table).columns)
        assert set(campaign.experiments.run) <= set(campaign.specifications.run)


def test_no_second_of_measuring_is_counted_twice(measured: Path, tmp_path: Path) -> None:
    published = tmp_path / "published"
    (folder,) = publish.publish(measured, published, {"ldc_latency"})
    publish.note_costs(published, folder, [])
    runs = pd.read_csv(folder / "runs.csv")
    lasted = runs[runs.metric == "duration_s"]
    names = ["load", "warmup", "run", "again", "write", "read", "ranges"]
    names += ["wo", "wh", "rh", "ro"]
    names += ["before", "compact", "after", "settle", "pause", "scan", *"abcdef"]
    of_phases = lasted[lasted.phase.isin(names)]
    twice = {"load+settle", "run+settle", "warmup.writer", "run.writer", "run.reader"}
    assert set(lasted.phase) - set(of_phases.phase) == twice
    (minutes,) = pd.read_csv(published / "costs.csv").minutes
    assert minutes == pytest.approx(of_phases.value.sum() / 60)


def test_a_simulated_run_costs_what_processors_had_to_do(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "campaign", peers=False, experiments={"ldc_fanout", "parity"})
    campaign.root.mkdir()
    tables.build(campaign.raw, campaign.write(), tmp_path / "tables")
    results = Results.load(tmp_path / "tables")
    seconds = publish.seconds_of_runs(results.campaigns[0].runs)
    assert set(seconds[results.planned("ldc_fanout").run]) == {2.5}
    (one, *_) = results.planned("parity").run
    assert seconds[one] == results.campaigns[0].told(one, "run")["duration_s"]


def test_each_host_has_a_folder_of_its_own(tmp_path: Path) -> None:
    campaign = Campaign(
        tmp_path / "campaign", peers=False, experiments={"ldc_fanout", "pcp_threads_ssd", "parity"}
    )
    campaign.root.mkdir()
    tables.build(campaign.raw, campaign.write(), tmp_path / "tables")
    folders = publish.publish(tmp_path / "tables", tmp_path / "published", {})
    assert (
        sorted(folder.parent.name.split("-")[0] for folder in folders) == ["2"] + ["simulated"] * 2
    )
    results = Results.load(tmp_path / "published")
    assert results.campaign("pcp_threads_ssd").directory.parent.name == ("simulated-pcp")


def test_what_was_measured_on_another_host_goes_when_there_is_something_better(
    measured: Path, tmp_path: Path
) -> None:
    published = tmp_path / "published"
    for folder in publish.publish(measured, published, {}):
        publish.note_costs(published, folder, [])
    campaign = Campaign(tmp_path / "campaign", peers=False, experiments={"pcp_threads_ssd"})
    campaign.root.mkdir()
    tables.build(campaign.raw, campaign.write(), tmp_path / "tables")
    for folder in publish.publish(tmp_path / "tables", published, {}):
        publish.note_costs(published, folder, [])
    (real,) = {path.parent for path in published.glob("2-*/*/runs.csv")}
    before = set(_read(real, "experiments").experiment)
    hosts = dict.fromkeys(before, "")
    hosts |= {"pcp_threads_ssd": "simulated-pcp", "ldc_fanout": "simulated-server"}
    del hosts["parity"]  # is declared no more
    publish.drop(published, hosts)
    after = set(_read(real, "experiments").experiment)
    assert after == before - {"pcp_threads_ssd", "parity"}
    assert set(_read(real, "phases").run) <= set(_read(real, "experiments").run)
    costs = pd.read_csv(published / "costs.csv").set_index("host")
    assert costs.runs[real.parent.name] == len(set(_read(real, "experiments").run))
    assert costs.disk_bytes.isna()[real.parent.name]  # it was of the others, too
    (simulated,) = published.glob("simulated-pcp/*/")
    assert set(_read(simulated, "experiments").experiment) == {"pcp_threads_ssd"}
    publish.drop(published, {"pcp_threads_ssd": "simulated-pcp"})
    assert not real.parent.exists()
    assert set(pd.read_csv(published / "costs.csv").host) == {"simulated-pcp"}


def test_medians_of_a_figure_become_a_table_with_a_row_per_engine(tmp_path):
    document = tmp_path / "README.md"
    document.write_text("before\n<!-- F: written -->\nold\n<!-- F: end -->\nafter\n")
    rows = [
        ("small", "on", "run", "b", 9.0),
        ("small", "on", "median", "b", 1.2345),
        ("small", "off", "median", "a", 20.0),
        ("large", "on", "median", "a", 123.4),
    ]
    data = pd.DataFrame(rows, columns=["panel", "series", "source", "engine", "value"])
    publish.write_medians(document, "F", data, {"a": "Engine A", "b": "Engine B", "c": "Engine C"})
    assert document.read_text().splitlines() == [
        "before",
        "<!-- F: written -->",
        "| engine | small: on | small: off | large: on |",
        "| --- | --- | --- | --- |",
        "| Engine A |  | 20 | 123 |",
        "| Engine B | 1.23 |  |  |",
        "<!-- F: end -->",
        "after",
    ]


def test_runs_without_events_leave_those_of_others_as_they_are_written(
    measured: Path, tmp_path: Path
) -> None:
    events = _read(measured, "events")
    events.loc[0, "duration_s"] = "0"  # not 0.0
    events.to_csv(measured / "events.csv", index=False)
    (folder,) = publish.publish(measured, tmp_path / "published", set())
    written = (folder / "events.csv").read_bytes()
    experiments = _read(measured, "experiments")
    chosen = experiments[experiments.experiment == "scale_model"].run
    for name in ("experiments", *publish.BY_RUN):
        frame = _read(measured, name)
        frame[frame.run.isin(chosen)].to_csv(measured / f"{name}.csv", index=False)
    assert _read(measured, "events").empty
    publish.publish(measured, tmp_path / "published", set())
    assert (folder / "events.csv").read_bytes() == written


def test_a_block_is_read_as_it_was_written(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text("before\n<!-- bugs: of a command -->\nold\n<!-- bugs: end -->\nafter\n")
    lines = [r"| \1 | g<1> |", "| b |"]
    publish.write_block(document, "bugs", lines)
    assert publish.read_block(document, "bugs") == lines
    assert document.read_text().startswith("before\n<!-- bugs: of a command -->\n")
    assert document.read_text().endswith("<!-- bugs: end -->\nafter\n")
    with pytest.raises(tables.TableError, match="no block <!-- figures:"):
        publish.read_block(document, "figures")
