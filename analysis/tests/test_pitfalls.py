"""Each pitfall is told where a run falls into it, and nowhere else."""

import json
from pathlib import Path

import pandas as pd
import pytest

from recompact import ROOT, pipeline, pitfalls, tables
from recompact.figures.data import DATA_COLUMNS
from recompact.figures.declarations import load_figures
from recompact.results import Results
from synthetic import Campaign

EXPERIMENTS = ("lwc_ssd", "noise", "parity")
FIGURES = {figure.id: figure for figure in load_figures(ROOT / pipeline.FIGURES).figures}
MEGABYTE = 2**20


def _results(root: Path, change=None) -> Results:
    """Measure LWC's comparison on SSD; `change` puts right or spoils the records."""
    campaign = Campaign(root / "campaign", experiments=EXPERIMENTS, peers=False, simulated=False)
    campaign.root.mkdir(parents=True)
    plan = campaign.write()
    for place, path in enumerate(sorted(campaign.raw.glob("*/run.json"))):
        record = json.loads(path.read_text())
        for phase in record["phases"]:
            counters = phase["counters"]
            counters["process_write_bytes"] = counters.get("device_write_bytes", 0)
            counters["device_write_bytes"] = counters["process_write_bytes"]
            counters["stall_us"] = 100
        if change is not None:
            change(place, record)
        path.write_text(json.dumps(record))
    tables.build(campaign.raw, plan, root / "tables")
    return Results.load(root / "tables")


def _told(results: Results, pitfall: str, cached_on_purpose=()) -> pd.DataFrame:
    found = pitfalls.find(results, cached_on_purpose)
    assert set(found.pitfall) <= set(pitfalls.PITFALLS)
    return found[found.pitfall == pitfall]


def _spoil(phase: str, **counters):
    """Change counters of a phase of the first run."""

    def change(place, record):
        if place == 0:
            for one in record["phases"]:
                if one["name"] == phase:
                    one["counters"] |= counters

    return change


def test_sound_runs_have_no_mark(tmp_path):
    found = pitfalls.find(_results(tmp_path))
    assert found.empty, found.to_string()


def test_writes_without_a_compaction_are_told(tmp_path):
    (row,) = _told(_results(tmp_path, _spoil("load", compaction_count=0)), "idle").itertuples()
    assert (row.experiment, row.phase) == ("lwc_ssd", "load")


def test_writes_that_never_waited_are_told(tmp_path):
    (row,) = _told(_results(tmp_path, _spoil("load", stall_us=0)), "unstalled").itertuples()
    assert row.phase == "load"


def test_accounts_that_disagree_are_told(tmp_path):
    def change(place, record):
        if place == 0:
            counters = record["phases"][0]["counters"]
            counters["process_write_bytes"] = counters["device_write_bytes"] * 1.03 + MEGABYTE

    (row,) = _told(_results(tmp_path, change), "accounts").itertuples()
    assert row.told.startswith("device ")


def test_a_tree_of_two_levels_is_told(tmp_path):
    def change(place, record):
        if place == 0:
            record["phases"][0]["levels"] = record["phases"][0]["levels"][:2]

    (row,) = _told(_results(tmp_path, change), "flat").itertuples()
    assert row.told == "2 of at least 3 levels"


def test_data_in_the_cache_are_told_unless_they_are_to_be_there(tmp_path):
    def change(place, record):
        if place == 0:
            record["spec"]["device"]["page_cache_bytes"] = 2**40

    results = _results(tmp_path, change)
    (row,) = _told(results, "cached").itertuples()
    assert row.phase == "read"
    assert _told(results, "cached", cached_on_purpose=["lwc_ssd"]).empty


def test_less_than_two_turnovers_are_told(tmp_path):
    def change(place, record):
        if place == 0:
            record["phases"][0]["turnovers"] = 1.25

    (row,) = _told(_results(tmp_path, change), "short").itertuples()
    assert row.told == "1.25 turnovers of level 1"


def test_a_phase_shorter_than_its_warm_up_is_told(tmp_path):
    def change(place, record):
        if place == 0:
            record["phases"][0]["name"] = "warmup"
            record["phases"][0]["duration_s"] = 2 * record["phases"][-1]["duration_s"]

    (row,) = _told(_results(tmp_path, change), "short").itertuples()
    assert row.phase == "read"


def test_runs_that_overlap_are_told(tmp_path):
    began = []

    def change(place, record):
        began.append(record["started"])
        if place == 1:
            record["started"] = began[0]

    (row,) = _told(_results(tmp_path, change), "overlap").itertuples()
    assert row.phase == ""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return _results(tmp_path_factory.mktemp("pitfalls"))


def _data(values) -> pd.DataFrame:
    frame = pd.DataFrame({"value": values, "repetition": range(1, len(values) + 1)})
    named = frame.assign(panel="p", series="s", source="run", engine="ldc", x=1, unit="1")
    return named.reindex(columns=DATA_COLUMNS)


def test_an_outlier_is_told_and_not_dropped(results):
    values = [1.0, 1.01, 0.99, 1.02, 3.0]
    (mark,) = pitfalls.of_figure(FIGURES["LDC-F1"], results, _data(values))
    assert mark == ("outlier", "p, s, ldc at 1: repetition 5 is 2.97 times the median")
    assert list(pitfalls.of_figure(FIGURES["LDC-F1"], results, _data(values[:4]))) == []


def test_debts_that_a_figure_leaves_out_are_told(results):
    series = {"label": "load", "experiment": "lwc_ssd", "metric": "write_amplification"}
    entry = FIGURES["LDC-F1"].model_dump() | {
        "experiments": ["lwc_ssd"],
        "sweep": {
            "key": "size_gb",
            "label": "size",
            "axes": [{"label": "WA", "unit": "1", "series": [series | {"phase": "load"}]}],
        },
    }
    figure = type(FIGURES["LDC-F1"]).model_validate(entry)
    assert [pitfall for pitfall, _ in pitfalls.of_figure(figure, results, _data([1.0]))] == [
        "debts"
    ]
    both = [series | {"phase": phase} for phase in ("load", "load+settle")]
    entry["sweep"]["axes"][0]["series"] = both
    figure = type(FIGURES["LDC-F1"]).model_validate(entry)
    assert list(pitfalls.of_figure(figure, results, _data([1.0]))) == []
