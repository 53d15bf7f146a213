"""Tests of the declared figures, drawn from synthetic runs."""

import json
import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml

from recompact import models, tables
from recompact.claims import load_claims
from recompact.declarations import DeclarationError
from recompact.figures.data import DATA_COLUMNS, MEDIAN, PAPER, RUN, bends
from recompact.figures.declarations import Figures, check_experiments, check_sizes, load_figures
from recompact.figures.matrix import beyond_noise, unbeaten
from recompact.figures.rendering import FUNCTIONS, draw, save
from recompact.figures.style import stamp_lines
from recompact.figures.tree import join_events
from recompact.pipeline import declarations
from recompact.results import MissingCell, Results
from synthetic import STYLES, Campaign

FOLDER = Path(__file__).parents[2] / "paper_figures"
ENTRIES = {figure.id: figure for figure in load_figures(FOLDER / "figures.yaml").figures}
SCALES = ("smoke", "small")


@pytest.fixture(scope="module")
def directories(smoke_tables, tmp_path_factory):
    root = tmp_path_factory.mktemp("figures")
    campaign = Campaign(root, scale="small", factor=16, repetitions=2)
    tables.build(campaign.raw, campaign.write(), root / "small")
    return {"smoke": smoke_tables, "small": root / "small"}


class Drawings(dict):
    """Each figure at each scale, drawn when first looked at.

    Attributes
    ----------
    asked : dict
        The experiments that each asked for.
    """

    def __init__(self, directories):
        self.results = {scale: Results.load(path) for scale, path in directories.items()}
        self.asked = {}

    def __missing__(self, key):
        scale, figure = key
        plain, asked = Results.planned, set()

        def spy(self, experiment, **arguments):
            asked.add(experiment)
            return plain(self, experiment, **arguments)

        with plt.rc_context({"figure.max_open_warning": 0}), pytest.MonkeyPatch.context() as patch:
            patch.setattr(Results, "planned", spy)
            self[key] = draw(self.results[scale], ENTRIES[figure], STYLES)
        self.asked[key] = asked
        return self[key]


@pytest.fixture(scope="module")
def drawings(directories):
    yield Drawings(directories)
    plt.close("all")


def test_the_synthetic_runs_are_those_of_the_declared_engines(directories):
    runs = pd.read_csv(directories["small"] / "experiments.csv")
    made = {name: set(of.engine) for name, of in runs.groupby("experiment")}
    assert made == {
        name: set(experiment.engines) for name, experiment in declarations().experiments.items()
    }


def test_every_function_is_used_and_every_claim_exists():
    claims = {claim.id for claim in load_claims(FOLDER / "claims.yaml").claims}
    assert {entry.function for entry in ENTRIES.values()} == set(FUNCTIONS)
    assert {claim for entry in ENTRIES.values() for claim in entry.claims} <= claims


def test_a_figure_shows_the_claims_that_are_made_by_its_panel():
    answered = [claim for claim in load_claims(FOLDER / "claims.yaml").claims if claim.check]
    for claim in answered:
        shown = [entry.id for entry in ENTRIES.values() if claim.id in entry.claims]
        assert shown, f"no figure shows {claim.id}"


@pytest.mark.parametrize("figure", ENTRIES)
def test_nothing_is_cut_off_and_no_legend_is_empty(drawings, figure):
    drawn = drawings["small", figure].figure
    drawn.canvas.draw()
    width, height = drawn.get_size_inches()
    box = drawn.get_tightbbox()
    assert (box.x0, box.y0) >= (-0.01, -0.01)
    assert box.x1 <= width + 0.01
    assert box.y1 <= height + 0.01
    stamp = drawn.texts[-1].get_window_extent()
    for axes in drawn.axes:
        assert not stamp.overlaps(axes.get_tightbbox()), axes.get_title()
    legends = [axes.get_legend() for axes in drawn.axes if axes.get_legend()]
    assert all(legend.get_texts() for legend in legends)


def test_a_ratio_of_the_paper_stands_at_the_bars_of_its_engine(drawings):
    ratios = drawings["small", "LDC-F10a"].figure.axes[1]
    (bars,) = [bars for bars in ratios.containers if bars.get_label() == STYLES["ldc"].label]
    (marks,) = [marks for marks in ratios.collections if marks.get_label() == "paper"]
    centres = sorted(bar.get_x() + bar.get_width() / 2 for bar in bars)
    assert sorted(marks.get_offsets()[:, 0]) == pytest.approx(centres)


@pytest.mark.parametrize("figure", ENTRIES)
def test_every_figure_is_stamped(drawings, figure):
    entry = ENTRIES[figure]
    stamp = drawings.results["small"].stamp(entry.experiments, profiled=entry.profiled)
    texts = " ".join(text.get_text() for text in drawings["small", figure].figure.texts)
    for line in stamp_lines(stamp):
        assert " ".join(line.split()) in " ".join(texts.split())
    assert "small scale" in texts


@pytest.mark.parametrize("figure", ENTRIES)
def test_all_repetitions_and_the_papers_numbers_are_in_the_data(drawings, figure):
    entry, data = ENTRIES[figure], drawings["small", figure].data
    assert list(data.columns) == DATA_COLUMNS
    medians = data[data.source == MEDIAN]
    pairs = ("RC-NOISE", "RC-TIME")
    over_time = ("space_over_time", "throughput_over_time", "levels_over_time", "tree_over_time")
    if (
        figure not in pairs
        and entry.function not in over_time
        and not (entry.profiled or entry.spans)
    ):
        assert set(data[data.source == RUN].repetition) == {1, 2}
        assert medians.low.notna().all()
    stated = entry.paper_data.values.values() if entry.paper_data else ()
    assert (data.source == PAPER).sum() == sum(len(values) for values in stated)


@pytest.mark.parametrize("figure", ENTRIES)
def test_a_figure_asks_only_for_the_experiments_that_it_lists(drawings, figure):
    assert drawings["small", figure]
    assert drawings.asked["small", figure] == set(ENTRIES[figure].experiments)


def test_bytes_are_told_at_the_papers_size(drawings):
    for scale in SCALES:
        data = drawings[scale, "LWC-F2a"].data
        ours = data[(data.series == "input") & (data.source == MEDIAN)].set_index("x").value
        assert ours[10] == pytest.approx(9.57, abs=0.01)


def test_model_of_one_compaction_stands_at_22(drawings):
    data = drawings["smoke", "LWC-EQ1"].data
    assert set(data[(data.source == "model") & (data.panel == "AF = 10")].value) == {22}


def test_eq_2_passes_through_the_pure_workloads(drawings):
    data = drawings["smoke", "LDC-EQ"].data
    here = data[data.panel.str.startswith("Eq. 2")]
    ours = here[here.source == MEDIAN].set_index("x").value
    model = here[here.source == "model"].set_index("x").value
    assert model[0.0] == pytest.approx(ours[0.0])
    assert model[1.0] == pytest.approx(ours[1.0])


def test_fitted_theorem_has_the_geometric_mean_of_the_measurement(drawings):
    data = drawings["small", "LDC-EQ"].data
    here = data[data.panel.str.startswith("Thm 2.1: write amplification over k")]
    fitted = here[here.series.str.contains(" x k log")].sort_values("x").value
    ours = here[here.source == MEDIAN].sort_values("x").value
    ratio = fitted.to_numpy() / ours.to_numpy()
    assert ratio.prod() == pytest.approx(1)


def test_events_that_touch_are_one_box_of_all_their_bytes():
    columns = ["type", "level", "end_s", "duration_s", "bytes_written"]
    events = pd.DataFrame(
        [
            ("flush", 0, 1.0, 0.5, 1),
            ("compaction", 1, 2.0, 1.5, 10),  # from 0.5, longest
            ("compaction", 1, 1.5, 0.5, 20),  # inside it
            ("compaction", 1, 3.0, 1.0, 30),  # from its end
            ("compaction", 1, 5.0, 1.0, 40),  # a second later
            ("compaction", 2, 3.0, 2.0, 50),
            ("move", 1, 4.0, 0.0, 0),  # short, drawn as 0.2 % of all
        ],
        columns=columns,
    ).assign(engine="ldc", repetition=1)
    boxes = join_events(events, 10)
    rows = boxes[["type", "level", "start_s", "end_s", "bytes_written"]].to_numpy().tolist()
    assert rows == [
        ["compaction", 1, 0.5, 3, 60],
        ["compaction", 1, 4, 5, 40],
        ["compaction", 2, 1, 3, 50],
        ["flush", 0, 0.5, 1, 1],
        ["move", 1, pytest.approx(3.98), 4, 0],
    ]


def test_files_are_written_and_a_second_time_the_same(directories, tmp_path):
    for name in ("one", "two"):
        results = Results.load(directories["smoke"])
        save(draw(results, ENTRIES["RC-SCALE"], STYLES), "RC-SCALE", tmp_path / name, png=True)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["RC-SCALE.csv", "RC-SCALE.png", "RC-SCALE.svg"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert list(pd.read_csv(tmp_path / "one/RC-SCALE.csv").columns) == DATA_COLUMNS


def test_an_experiment_without_an_engine_here_leaves_a_notice(tmp_path):
    campaign = Campaign(tmp_path, experiments={"noise"})
    plan = campaign.write()
    content = json.loads(plan.read_text())
    plan.write_text(json.dumps(content | {"absent": {"qacp_random": "RocksDB is not installed"}}))
    tables.build(campaign.raw, plan, tmp_path / "tables")
    drawing = draw(Results.load(tmp_path / "tables"), ENTRIES["QACP-F2e"], STYLES)
    (text,) = drawing.figure.axes[0].texts
    told = "Not measured: experiment qacp_random was not measured: RocksDB is not installed"
    assert text.get_text() == told
    assert drawing.data.empty
    plt.close(drawing.figure)


def test_a_run_that_the_host_does_not_allow_leaves_a_notice(tmp_path):
    campaign = Campaign(tmp_path, experiments={"ldc_profile"}, skip_profile="no perf here")
    tables.build(campaign.raw, campaign.write(), tmp_path / "tables")
    drawing = draw(Results.load(tmp_path / "tables"), ENTRIES["LDC-T1"], STYLES)
    (text,) = drawing.figure.axes[0].texts
    assert text.get_text() == "Not measured: experiment ldc_profile was not profiled: no perf here"
    assert drawing.data.empty
    assert "smoke scale" in drawing.figure.texts[-1].get_text()
    plt.close(drawing.figure)


def test_a_device_without_stated_bandwidth_leaves_the_other_panels(directories, tmp_path):
    out = tmp_path / "t"
    out.mkdir()
    for path in directories["smoke"].iterdir():
        (out / path.name).write_text(path.read_text().replace("write_bandwidth_mb_s", "other"))
    drawing = draw(Results.load(out), ENTRIES["LDC-EQ"], STYLES)
    texts = [" ".join(t.get_text().split()) for axes in drawing.figure.axes for t in axes.texts]
    reason = "device pcie_ssd states no write_bandwidth_mb_s in workloads/devices.yaml"
    assert texts == [f"Not drawn: {reason}"] * 2
    assert drawing.data.panel.nunique() == 4
    plt.close(drawing.figure)


def test_a_missing_experiment_names_the_figure_too(directories, tmp_path):
    out = tmp_path / "t"
    out.mkdir()
    for path in directories["smoke"].iterdir():
        (out / path.name).write_bytes(path.read_bytes())
    frame = pd.read_csv(out / "experiments.csv")
    tables.write(frame[frame.experiment != "scale_model"], out / "experiments.csv")
    message = "figure RC-SCALE: experiment scale_model was not measured"
    with pytest.raises(MissingCell, match=message):
        draw(Results.load(out), ENTRIES["RC-SCALE"], STYLES)


def test_an_experiment_that_does_not_exist_is_named_with_the_figure():
    figures = load_figures(FOLDER / "figures.yaml")
    known = {name for entry in ENTRIES.values() for name in entry.experiments}
    check_experiments(figures, known)
    with pytest.raises(DeclarationError, match="LWC-EQ1: experiment lwc_eq1 does not exist"):
        check_experiments(figures, known - {"lwc_eq1"})


def test_an_unknown_figure_is_named():
    with pytest.raises(DeclarationError, match="no figure LDC-F99; there are LDC-F1"):
        load_figures(FOLDER / "figures.yaml").chosen(["LDC-F99"])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("function", "no_such", "LWC-F2b: no function no_such; there are adaptive_settings"),
        ("sweep", None, "LWC-F2b: sweep is missing"),
        ("function", "step_breakdown", "LWC-F2b: along is missing"),
        ("function", "adaptive_settings", "LWC-F2b: tolerance is missing"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_named(directories, key, value, message):
    entry = ENTRIES["LWC-F2b"].model_copy(update={key: value})
    with pytest.raises(DeclarationError, match=message):
        draw(Results.load(directories["smoke"]), entry, STYLES)


def test_series_of_an_unlisted_experiment_are_refused():
    content = yaml.safe_load((FOLDER / "figures.yaml").read_text())
    (entry,) = [entry for entry in content["figures"] if entry["id"] == "LWC-F2c"]
    entry["experiments"] = ["lwc_load"]
    with pytest.raises(ValueError, match="LWC-F2c draws experiments that it does not list"):
        Figures.model_validate({"figures": [entry]})


def test_bytes_of_kept_sizes_are_not_multiplied():
    content = yaml.safe_load((FOLDER / "figures.yaml").read_text())
    (entry,) = [entry for entry in content["figures"] if entry["id"] == "LWC-F2a"]
    figures = Figures.model_validate({"figures": [entry]})
    check_sizes(figures, ["pcp_overhead"])
    with pytest.raises(DeclarationError, match="LWC-F2a: lwc_load keeps its sizes, .*scaled_up"):
        check_sizes(figures, ["pcp_overhead", "lwc_load"])


def test_a_breakdown_is_whole_and_names_host_and_device(drawings):
    drawing = drawings["small", "PCP-F8b"]
    medians = drawing.data[drawing.data.source == MEDIAN]
    assert medians.groupby(["panel", "x"]).value.sum().to_numpy() == pytest.approx(1, abs=0.02)
    titles = [axes.get_title() for axes in drawing.figure.axes]
    assert titles == ["sata_ssd"]
    stamp = " ".join(drawing.figure.texts[-1].get_text().split())
    assert "device sata_ssd (ssd model)" in stamp
    assert "simulated pcp, 12 processors" in stamp


def test_stages_stand_beside_those_of_the_paper(drawings):
    data = drawings["small", "PCP-F5b"].data
    on_ssd = data[data.x == "sata_ssd"]
    ours = on_ssd[on_ssd.source == MEDIAN].set_index("series").value
    paper = on_ssd[on_ssd.source == PAPER].set_index("series").value
    assert paper.to_dict() == {"read": 0.17, "compute": 0.62, "write": 0.21}
    assert ours.to_dict() == pytest.approx(paper.to_dict(), abs=0.06)


def test_ideal_speedups_come_from_measured_steps_in_turn(drawings, directories):
    data = drawings["smoke", "PCP-F12f"].data
    results = Results.load(directories["smoke"])

    def at_one(metric):
        where = {"threads": 1}
        (value,) = results.select("pcp_threads_ssd", metric, engines=["scp"], where=where).value
        return value

    shares = [at_one(name) for name in ("step_read_share", "compute_share", "step_write_share")]
    model = data[(data.source == "model") & (data.panel == "sata_ssd") & (data.x == 1)]
    ideal = model.set_index("series").value
    times = models.StageTimes(*shares)
    assert ideal["Eq. 6 over Eq. 1"] == pytest.approx(models.pcp_speedup(times))
    shared = models.pcp_speedup(times, shared_device=True)
    assert ideal["Eq. 6 over Eq. 1, one device for both"] == pytest.approx(shared)
    ours = data[(data.source == RUN) & (data.panel == "sata_ssd") & (data.x == 1)]
    gain = ours[ours.series == "compaction bandwidth"].value.iloc[0]
    pcp = results.select("pcp_threads_ssd", "compaction_bandwidth_bytes_s", where={"threads": 1})
    wide = pcp.set_index("engine").value
    assert gain == pytest.approx(wide["pcp"] / wide["scp"])


def test_equations_pass_through_what_they_are_fed_with(drawings):
    data = drawings["small", "PCP-EQ"].data
    assert data.panel.nunique() == 8
    first = data[data.panel == "Eq. 1 and 2: SSD"]
    model = first[first.series == "Eq. 1"].set_index("x").value
    ours = first[(first.series == "SCP, measured") & (first.source == MEDIAN)].set_index("x").value
    assert model.to_dict() == pytest.approx(ours.to_dict(), rel=0.1)
    for name in ("Eq. 5: S-PPCP, HDDs", "Eq. 7: C-PPCP, SSD"):
        at_one = data[(data.panel == name) & (data.x.astype(float) == 1)]
        assert at_one.value.to_numpy() == pytest.approx(1)


def test_gains_are_drawn_by_both_definitions_of_bandwidth(drawings, directories):
    data = drawings["small", "PCP-F10f"].data
    ours = data[(data.source == RUN) & (data.panel == "sata_ssd") & (data.x == 50)]
    gain = ours.groupby("series").value.median()
    # Steps in turn stand still for flushes, a tenth of the time; the pipeline never does.
    without = gain["the same, but SCP's without flushes"]
    assert gain["compaction bandwidth"] == pytest.approx(1.1 * without, rel=0.03)
    assert set(gain.index) - {"throughput"} == {
        "compaction bandwidth",
        "the same, but SCP's without flushes",
    }


def test_a_compaction_with_nothing_beside_it_has_no_throughput(drawings):
    data = drawings["small", "PCP-ALONE"].data
    assert data.panel.nunique() == 2
    assert set(data[data.source == RUN].series) == {"compaction bandwidth"}
    assert {"Eq. 6 over Eq. 1", "Eq. 6 over Eq. 1, one device for both"} <= set(data.series)


def test_stages_of_a_sequential_compaction_do_not_overlap(drawings):
    data = drawings["smoke", "PCP-GANTT"].data
    assert list(data.panel.unique()) == ["SCP", "PCP", "PCP, 2 compute threads"]

    def overlap(panel):
        spans = data[data.panel == panel].sort_values("low")
        return (spans.low.iloc[1:].to_numpy() < spans.high.iloc[:-1].to_numpy()).any()

    assert [overlap(panel) for panel in data.panel.unique()] == [False, True, True]
    lanes = set(data[data.panel == "PCP, 2 compute threads"].series)
    assert lanes == {"read 1", "compute 1", "compute 2", "write 1"}


def test_the_adaptive_engine_stands_beside_the_best_fixed_setting(drawings):
    data = drawings["small", "PCP-ADAPTIVE"].data
    runs = data[data.source == RUN]
    assert set(runs.engine) == {"pcp", "pcp_adaptive"}
    # The best is divided by itself in every repetition; another may be ahead of it in one.
    fixed = runs[runs.engine == "pcp"].groupby(["panel", "x"]).value
    is_best = fixed.agg(lambda values: (values == 1).all())
    assert is_best.groupby(level="panel").any().all()
    on_ssd = data[(data.panel == "sata_ssd") & (data.source == MEDIAN)]
    at = on_ssd[on_ssd.engine == "pcp"].set_index("x").value
    assert at["512 KiB, 2"] == 1 > at["512 KiB, 1"]


def test_a_chart_without_its_spans_is_named(directories, tmp_path):
    out = tmp_path / "t"
    out.mkdir()
    for path in directories["smoke"].iterdir():
        (out / path.name).write_bytes(path.read_bytes())
    spans = pd.read_csv(out / "spans.csv", dtype={"run": str})
    two = spans[(spans.thread == 1)].run.unique()
    tables.write(spans[~spans.run.isin(two)], out / "spans.csv")
    message = "figure PCP-GANTT: .*no spans of engine pcp with 2 threads"
    with pytest.raises(MissingCell, match=message):
        draw(Results.load(out), ENTRIES["PCP-GANTT"], STYLES)


def test_panels_of_the_same_engines_share_one_legend(drawings):
    legends = [axes.get_legend() for axes in drawings["small", "RC-CLIENTS"].figure.axes]
    assert [legend is None for legend in legends] == [True, False]
    names = [text.get_text() for text in legends[1].get_texts()]
    assert names[:2] == ["UDC (LevelDB 1.23)", "LDC"]


def test_hit_ratio_and_rate_stand_beside_those_of_the_paper(drawings, directories):
    drawing = drawings["small", "DLSM-F10b"]
    data = drawing.data
    paper = data[data.source == PAPER].set_index("panel").value
    assert paper.to_dict() == {"hit ratio": 0.91, "read throughput": 2900}
    ours = data[(data.source == MEDIAN) & (data.series == "dLSM")].set_index("panel").value
    results = Results.load(directories["small"])
    metrics = {"hit ratio": "hit_ratio_interval_mean", "read throughput": "throughput_ops_s"}
    for panel, metric in metrics.items():
        measured = results.select("dlsm_zipfian", metric, engines=["dlsm"]).value
        assert ours[panel] == measured.median()
    baseline = data[(data.source == MEDIAN) & (data.series == "read only")]
    assert len(baseline) == 2
    legend = [text.get_text() for text in drawing.figure.axes[0].get_legend().get_texts()]
    assert [name.split(":")[0] for name in legend] == ["read only", "dLSM", "paper"]


def test_intervals_are_those_of_the_timeline(drawings):
    data = drawings["small", "DLSM-F9a"].data
    curve = data[(data.source == "interval") & (data.series == "LSM (two-phase)")]
    ratio = curve[curve.panel == "hit ratio"].value
    assert ratio.between(0, 1).all()
    assert ratio.max() - ratio.min() == pytest.approx(0.6, abs=0.1)
    rate = curve[curve.panel == "read throughput"].value
    assert rate.median() == pytest.approx(340, rel=0.1)


def test_no_colour_of_the_matrix_is_within_the_noise_floor():
    ratios = pd.Series({"as good": 1.0, "better": 1.3, "within": 1.05, "worse": 0.8, "no": None})
    floors = pd.Series(0.1, ratios.index)
    colours = beyond_noise(np.log(ratios), floors)
    assert list(colours[["as good", "within"]]) == [0, 0]
    assert beyond_noise(np.log(ratios), floors * 4)["worse"] == 0
    assert list(colours[["better", "worse"]]) == list(np.log(ratios[["better", "worse"]]))
    assert pd.isna(colours["no"])


def test_only_an_engine_that_is_better_beyond_noise_takes_another_off_the_front():
    engines = ["writes", "reads", "both less", "noise"]
    writes = np.log(pd.Series([4.0, 1.0, 3.0, 3.95], engines))
    reads = np.log(pd.Series([1.0, 2.0, 0.8, 1.03], engines))
    exact, floors = pd.Series(0.0, engines), pd.Series(0.05, engines)
    assert unbeaten([writes, reads], [exact, exact]) == ["writes", "reads", "noise"]
    slower = writes.where(writes.index != "noise", np.log(3.0))
    assert unbeaten([slower, reads], [exact, exact]) == ["writes", "reads", "noise"]
    assert unbeaten([slower, reads], [floors, floors]) == ["writes", "reads"]


def test_hosts_stand_side_by_side_at_the_scale_that_most_of_them_have(directories, tmp_path):
    for host, scale in (("mine", "smoke"), ("yours", "smoke"), ("yours", "small")):
        folder = tmp_path / host / scale
        shutil.copytree(directories[scale], folder)
        path = folder / "specifications.csv"
        specifications = tables.read_table(path, tables.SPECIFICATION_COLUMNS)
        tables.write(specifications.assign(host=host), path)
    drawing = draw(Results.load(tmp_path), ENTRIES["RC-LIMITS"], STYLES)
    assert {name.split(": ")[1] for name in drawing.data.x} == {"mine", "yours"}
    assert drawing.figure.texts[-1].get_text().startswith("smoke scale")
    plt.close(drawing.figure)


def test_a_curve_keeps_the_ends_of_what_stays_the_same():
    curve = pd.DataFrame({"x": range(7), "value": [1.0, 1, 1, 2, 3, 3, 3], "series": "files"})
    data = bends(curve)
    assert data[["x", "value"]].values.tolist() == [[0, 1], [2, 1], [3, 2], [4, 3], [6, 3]]
    assert list(data.columns) == DATA_COLUMNS


def test_the_axis_tells_how_far_level_1_turned_over(drawings):
    label = drawings["small", "DLSM-F9b"].figure.axes[1].get_xlabel()
    assert label.startswith("time (s); x 16 at the paper's size; in all ")
    assert label.endswith(" turnovers of level 1")
    assert "turnovers" not in drawings["small", "DLSM-F2a"].figure.axes[1].get_xlabel()


def test_update_rates_stand_beside_the_equations(drawings):
    data = drawings["small", "DLSM-F4"].data
    rates = data[data.panel == "update rate of a level"]
    model = rates[rates.source == "model"].pivot(index="x", columns="series", values="value")
    assert (model["Eq. 1 and 4"] / model["Eq. 3"]).dropna().to_numpy() == pytest.approx(11)
    ours = rates[rates.source == MEDIAN]
    buffer = ours[ours.series == "compaction buffer"].set_index("x").value
    leveled = ours[ours.engine == "leveldb"].set_index("x").value
    assert list(buffer.index) == [1, 2]
    assert (leveled / buffer).dropna().to_numpy() == pytest.approx(11, rel=0.1)
    assert leveled[1] / leveled[2] == pytest.approx(10, rel=0.1)
    shares = data[data.panel == "share of data above the last level"]
    share = models.upper_share(3, 10)
    assert shares[shares.source == "model"].value.to_numpy() == pytest.approx(share)


def test_two_parts_of_a_level_are_one_level_of_the_paper(drawings):
    data = drawings["small", "DLSM-F4"].data
    written = data[data.panel == "bytes written to a level per byte inserted"]
    ours = written[(written.source == MEDIAN) & (written.engine == "two_phase")]
    assert ours.set_index("x").value.to_dict() == pytest.approx({1: 6, 2: 6, 3: 11}, rel=0.1)


def test_two_phases_halve_the_bytes_above_the_last_level(drawings):
    data = drawings["small", "DLSM-2PC"].data
    over = data[(data.panel == "the same, over UDC") & (data.source == MEDIAN)]
    assert set(over.engine) == {"two_phase", "dlsm"}
    over = over[over.engine == "two_phase"].set_index("x").value
    assert over["above the last"] == pytest.approx(12 / 22, rel=0.05)
    assert over["3"] == pytest.approx(1, rel=0.05)


def test_the_buffer_is_part_of_the_space_and_frozen_tables_are_not(drawings):
    data = drawings["small", "DLSM-SPACE"].data
    ours, of_ldc = set(data.series), set(drawings["small", "LDC-SPACE"].data.series)
    assert "in the compaction buffer" in ours - of_ldc
    assert "frozen, useless" in of_ldc - ours
    wide = data.pivot_table(index=["panel", "x"], columns="series", values="value", aggfunc="first")
    assert wide["in levels"].xs("two_phase").notna().all()
    assert wide["in the compaction buffer"].xs("two_phase").isna().all()
    assert (data.groupby("panel").repetition.nunique() == 1).all()
    largest = wide.xs("dlsm").max()
    share = largest["in the compaction buffer"] / largest["in levels"]
    assert share == pytest.approx(0.085, rel=0.1)


def test_levels_without_compactions_of_one_engine_are_named(directories, tmp_path):
    out = tmp_path / "t"
    out.mkdir()
    for path in directories["smoke"].iterdir():
        (out / path.name).write_bytes(path.read_bytes())
    experiments = pd.read_csv(out / "experiments.csv", dtype={"run": str})
    chosen = (experiments.experiment == "dlsm_writes") & (experiments.engine == "leveldb")
    compactions = pd.read_csv(out / "compactions.csv", dtype={"run": str})
    kept = compactions[~compactions.run.isin(experiments[chosen].run)]
    tables.write(kept, out / "compactions.csv")
    message = "figure DLSM-F4: experiment dlsm_writes has no compaction of leveldb"
    with pytest.raises(MissingCell, match=message):
        draw(Results.load(out), ENTRIES["DLSM-F4"], STYLES)


def test_the_space_of_a_queue_is_over_what_its_load_wrote(drawings, directories):
    drawn = drawings["small", "RC-QUEUE"]
    results = Results.load(directories["small"])
    with_limit = drawn.data[(drawn.data.series == "deletions limited") & (drawn.data.source == RUN)]
    assert set(with_limit.engine) == set(declarations().experiments["queue_unlimited"].engines)
    where = {"live_mib": 40}
    peak, live = (
        results.select("queue", metric, phase=phase, engines=["lwc"], where=where).value
        for metric, phase in (("space_late_peak_bytes", "run"), ("user_bytes_written", "load"))
    )
    told = with_limit[(with_limit.engine == "lwc") & (with_limit.x == 40)].value
    assert sorted(told) == pytest.approx(sorted(peak / live))


def test_every_engine_has_a_row_of_the_queue_and_each_panel_a_line_at_1(drawings):
    drawn = drawings["small", "RC-QUEUE"]
    assert set(declarations().engines) <= set(drawn.data.engine)
    rows, *others = drawn.figure.axes
    labels = [label.get_text() for label in rows.get_yticklabels()]
    assert set(labels) == {STYLES[name].label for name in drawn.data.engine}
    for axes in (rows, *others):
        assert [1, 1] in [list(line.get_xdata()) for line in axes.lines]


def test_a_panel_with_more_series_than_marks_is_refused(directories):
    entry = ENTRIES["RC-QUEUE"]
    (axes, *_) = entry.sweep.axes
    crowded = axes.model_copy(update={"series": (*axes.series, axes.series[0])})
    sweep = entry.sweep.model_copy(update={"axes": (crowded,)})
    results = Results.load(directories["small"])
    with pytest.raises(DeclarationError, match="RC-QUEUE: dots_by_engine has marks for 4 series"):
        draw(results, entry.model_copy(update={"sweep": sweep}), STYLES)
