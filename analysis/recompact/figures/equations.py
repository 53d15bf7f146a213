"""The papers' equations beside the measurement: LWC Eq. 1, LDC Theorems 2.1, 2.2 and Eq. 1-3."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.axes
import numpy as np
import pandas as pd

from recompact import models
from recompact.claims.checks import compaction_sizes
from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import MissingCell, NotPermitted, Results

FANOUT, LOAD, MIX = "ldc_fanout", "lwc_load", "ldc_mix"
BASELINE = ("leveldb",)
MEGABYTE = 1e6
DEFAULT_FANOUT = 10  # of LevelDB (MaxBytesForLevel), where a run does not set it
APPENDS = "segments appended"
PERCENTILES = "10, 50, 90 % of compactions"
THEOREM_21_K = "Thm 2.1: write amplification over k"
THEOREM_21_N = "Thm 2.1: write amplification over n"
THEOREM_22 = "Thm 2.2: tables and blocks per get"
EQUATION_1 = "Eq. 1: throughput from amplification"
EQUATION_2 = "Eq. 2: throughput over write ratio"
EQUATION_3 = "Eq. 3: longest write over k"
FANOUT_LABEL = "fan-out k"


@dataclass(frozen=True)
class Panel:
    """One panel of the performance model: how it is collected and what its axes are."""

    title: str
    collect: Callable[[Results], pd.DataFrame]
    x_label: str
    y_label: str
    logarithmic: bool


def compaction_bytes_by_level(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the bytes of one compaction per level, in SSTables, against 2 (AF + 1).

    A panel per fan-out; with and without expansion of the inputs. The second experiment's engine
    appends to what it overlaps: one compaction of it reads and writes its victim, whose mean size
    is measured (the form that Eq. 1 takes for LWC-tree). Bars are means over the compactions of a
    run, whiskers reach from the 10th to the 90th percentile of single compactions, points are
    repetitions.
    """
    leveled, appending = entry.experiments
    frame = _in_sstables(compaction_sizes(results, leveled, {}))
    frames = []
    for (fanout, expand), group in frame.groupby(["fanout", "expand_inputs"]):
        panel, series = f"AF = {fanout}", _expansion(bool(expand))
        frames.append(rows.measured(group, x="level", panel=panel, series=series, unit="S_sst"))
        frames.append(_percentiles(group, panel, series))
    for fanout in sorted(frame.fanout.unique()):
        levels = sorted(frame[frame.fanout == fanout].level.unique())
        model = {int(level): models.compaction_bytes(fanout) for level in levels}
        frames.append(_equation(model, f"AF = {fanout}"))
    appends = _in_sstables(compaction_sizes(results, appending, {}))
    for fanout in sorted(appends.fanout.unique()):
        group = appends[appends.fanout == fanout]
        panel = f"{styles[group.engine.iloc[0]].label}, AF = {fanout}"
        frames.append(rows.measured(group, x="level", panel=panel, series=APPENDS, unit="S_sst"))
        frames.append(_percentiles(group, panel, APPENDS))
        victim = group.bytes_read.sum() / group["count"].sum() / group.sstable_bytes.iloc[0]
        levels = sorted(group.level.unique())
        frames.append(_equation({int(level): 2 * float(victim) for level in levels}, panel))
    data = rows.combine(frames)
    names = list(data.panel.unique())
    fanouts = max(frame.fanout.nunique(), appends.fanout.nunique())
    figure, panels = style.new_figure(
        fanouts, rows=2, width=max(6.5, 3.4 * fanouts + 0.6), height=6.8
    )
    colours = {
        _expansion(False): styles[frame.engine.iloc[0]].colour,
        _expansion(True): style.PALETTE[1],
        APPENDS: styles[appends.engine.iloc[0]].colour,
    }
    filled = panels[: frame.fanout.nunique()]
    filled += panels[fanouts : fanouts + appends.fanout.nunique()]
    for axes in panels:
        if axes not in filled:
            axes.remove()
    for axes, name in zip(filled, names, strict=True):
        here = data[data.panel == name]
        drawn = [series for series in colours if series in set(here.series)]
        for place, series in enumerate(drawn):
            one = here[here.series == series]
            one = one.assign(x=one.x.astype(float) + 0.38 * (place - (len(drawn) - 1) / 2))
            _compaction_bars(axes, one, label=f"mean, {series}", colour=colours[series])
        expected = here[here.source == rows.MODEL]
        axes.errorbar([], [], yerr=[], fmt="_k", elinewidth=1, capsize=2.5, label=PERCENTILES)
        axes.axhline(
            expected.value.iloc[0],
            color=style.PAPER_COLOUR,
            linestyle="--",
            linewidth=1.2,
            label=f"{'2 S_dt' if APPENDS in drawn else 'Eq. 1: 2(AF + 1)'}"
            f" = {expected.value.iloc[0]:.3g}",
        )
        axes.set_xticks([int(level) for level in expected.x])
        axes.grid(axis="x", visible=False)
        axes.set_title(name)
        axes.set_xlabel("output level")
        axes.set_ylim(top=axes.get_ylim()[1] * 1.45)
        axes.legend(loc="upper right")
        axes.set_ylabel("bytes of one compaction (SSTables)")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def ldc_equations(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the theorems and equations of LDC II beside the measurement of its baseline.

    The theorems leave a constant open; it is fitted (geometric mean of measured over model) and
    told in the legend. Eq. 1 takes the measured amplification and the device's bandwidth, Eq. 2
    the measured pure-write and pure-read throughput, Eq. 3 the mean number of upper SSTables
    per compaction and the bytes that reads take from the device.
    """
    look = styles[BASELINE[0]]
    figure, axes_list = style.new_figure(3, rows=2, width=10.5, height=6.6)
    frames = []
    for axes, panel in zip(axes_list, PANELS, strict=True):
        axes.set_title(panel.title)
        try:
            frames.append(panel.collect(results))
        except NotPermitted as reason:
            axes.axis("off")
            text = textwrap.fill(f"Not drawn: {reason}", 40)
            axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center")
        else:
            _draw_panel(axes, panel, frames[-1], look)
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def _draw_panel(
    axes: matplotlib.axes.Axes, panel: Panel, data: pd.DataFrame, look: EngineStyle
) -> None:
    if panel.title == EQUATION_1:
        _equation_1(axes, data, look)
    else:
        _model_and_measured(axes, data, look)
    if panel.x_label == FANOUT_LABEL:
        axes.set_xscale("log")
        style.sweep_ticks(axes, thinned(sorted({float(x) for x in data.x})))
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_yscale("log" if panel.logarithmic else "linear")
    headroom(axes)
    axes.legend(loc="upper right" if panel.title == EQUATION_2 else "upper left")


def write_amplification_over_fanout(results: Results) -> pd.DataFrame:
    """Theorem 2.1 over k: measured write amplification and the model, as is and fitted."""
    runs = with_shape(results, FANOUT, "run", BASELINE)
    runs = runs.assign(x=runs.fanout)
    return _theorem_21(
        results.select(FANOUT, "write_amplification", engines=BASELINE),
        runs,
        x="fanout",
        panel=THEOREM_21_K,
    )


def write_amplification_over_data(results: Results) -> pd.DataFrame:
    """Theorem 2.1 over n, as SSTables in the tree, from loads of several sizes."""
    shape = with_shape(results, LOAD, "load", BASELINE)
    sstables = dict(zip(shape.run, shape.data_bytes / shape.sstable_bytes, strict=True))
    sizes = shape.assign(sstables=shape.run.map(sstables)).groupby("size_gb").sstables
    sstables_of_size = sizes.median().to_dict()
    runs = shape.assign(x=shape.size_gb.map(sstables_of_size))
    measured = results.select(LOAD, "write_amplification", phase="load")
    return _theorem_21(
        measured.assign(sstables=measured.size_gb.map(sstables_of_size)),
        runs,
        x="sstables",
        panel=THEOREM_21_N,
    )


def lookups_over_fanout(results: Results) -> pd.DataFrame:
    """Theorem 2.2 over k: tables asked (Bloom checks) and blocks looked at per get."""
    runs = with_shape(results, FANOUT, "run", BASELINE)
    runs = runs.assign(x=runs.fanout)
    unsorted = results.select(FANOUT, "level_0_files", engines=BASELINE)
    runs = runs.merge(unsorted[["run", "value"]], on="run")
    model = median_by_x(
        runs.assign(
            model=[
                models.read_amplification(
                    row["fanout"], row["data_bytes"], row["sstable_bytes"], row["value"]
                )
                for row in runs.to_dict("records")
            ]
        )
    )
    frames = [
        rows.measured(
            results.select(FANOUT, metric, engines=BASELINE),
            x="fanout",
            panel=THEOREM_22,
            series=series,
            unit="1",
        )
        for metric, series in [
            ("tables_per_get", "tables asked"),
            ("blocks_per_get", "blocks looked at"),
        ]
    ]
    return rows.combine([*frames, model_rows(model, THEOREM_22, "log_k(n/b) + u", "1")])


def throughput_from_amplification(results: Results) -> pd.DataFrame:
    """Eq. 1: user bytes per second of pure writes and pure reads, and what a_w and a_r leave."""
    frames = []
    for operation, workload in (("write", "WO"), ("read", "RO")):
        where = {"workload": workload}
        measured = results.select(MIX, f"{operation}_throughput_bytes_s", where=where)
        amplification = results.select(
            MIX,
            "write_amplification_device" if operation == "write" else "read_amplification",
            where=where,
        )
        bandwidth = _bandwidth(results, MIX, operation)
        frames.append(
            rows.measured(
                measured.assign(x=operation),
                x="x",
                panel=EQUATION_1,
                series="measured",
                unit="MB/s",
                factor=1 / MEGABYTE,
            )
        )
        model = models.store_throughput(bandwidth, float(amplification.value.median()))
        frames.append(model_rows({operation: model / MEGABYTE}, EQUATION_1, "Eq. 1", "MB/s"))
    return rows.combine(frames)


def throughput_over_write_ratio(results: Results) -> pd.DataFrame:
    """Eq. 2: throughput of the mixes, and the model from the pure workloads."""
    throughput = results.select(MIX, "throughput_ops_s")
    operations = results.select(MIX, "operations").set_index("run").value
    told = [results.campaign(MIX).told(run, "run") for run in throughput.run]
    writes = [metrics.get("latency_write_count", 0.0) for metrics in told]
    share = np.array(writes) / operations.loc[throughput.run].to_numpy()
    mean_share = pd.Series(share).groupby(throughput.workload).mean()
    throughput = throughput.assign(write_ratio=throughput.workload.map(mean_share).round(3))
    pure = throughput.groupby("workload").value.median()
    grid = np.linspace(0, 1, 21).round(3)
    model = {
        float(ratio): models.total_throughput(ratio, pure.loc["WO"], pure.loc["RO"])
        for ratio in grid
    }
    return rows.combine(
        [
            rows.measured(
                throughput, x="write_ratio", panel=EQUATION_2, series="measured", unit="ops/s"
            ),
            model_rows(model, EQUATION_2, "Eq. 2 from WO and RO", "ops/s"),
        ]
    )


def tail_latency_over_fanout(results: Results) -> pd.DataFrame:
    """Eq. 3 over k: longest write, longest compaction, and the model."""
    runs = with_shape(results, FANOUT, "run", BASELINE)
    runs = runs.assign(x=runs.fanout)
    throughput = results.select(FANOUT, "block_read_throughput_bytes_s", engines=BASELINE)
    reads = throughput.set_index("run").value
    compactions = results.rows("compactions", FANOUT)
    compactions = compactions[
        (compactions.type == "compaction") & compactions.engine.isin(BASELINE)
    ]
    longest = compactions.groupby(["engine", "repetition", "fanout"], as_index=False).agg(
        value=("micros_max", "max")
    )
    deep = compactions[compactions.level > 1].groupby("run")[["inputs_upper", "count"]].sum()
    upper = deep.inputs_upper / deep["count"]
    bandwidth = _bandwidth(results, FANOUT, "write")
    for row in runs[~runs.run.isin(upper.index)].to_dict("records"):
        raise MissingCell(
            f"experiment {FANOUT}, fan-out {row['fanout']}: no compaction below level 1"
        )
    model = median_by_x(
        runs.assign(
            model=[
                models.write_tail_latency(
                    row["fanout"],
                    upper[row["run"]],
                    row["sstable_bytes"],
                    bandwidth,
                    reads[row["run"]],
                )
                * 1e3
                for row in runs.to_dict("records")
            ]
        )
    )
    writes = results.select(FANOUT, "latency_write_max_us", engines=BASELINE)
    frames = [
        rows.measured(frame, x="fanout", panel=EQUATION_3, series=series, unit="ms", factor=1e-3)
        for series, frame in [("longest write", writes), ("longest compaction", longest)]
    ]
    return rows.combine([*frames, model_rows(model, EQUATION_3, "Eq. 3", "ms")])


def with_shape(
    results: Results, experiment: str, phase: str, engines: Sequence[str]
) -> pd.DataFrame:
    """Tell k, b and n of each run: the fan-out, the SSTable size, the bytes in the tree."""
    runs = results.planned(experiment, engines=engines)
    data = results.select(experiment, "space_live_bytes", phase=phase).set_index("run").value
    options = results.campaign(experiment).specifications.set_index("run").engine_options
    return runs.assign(
        data_bytes=[data[run] for run in runs.run],
        sstable_bytes=[options[run]["max_file_size"] for run in runs.run],
        fanout=[options[run].get("fanout", DEFAULT_FANOUT) for run in runs.run],
    )


def _bandwidth(results: Results, experiment: str, direction: str) -> float:
    """Get the device's stated bandwidth in bytes per second."""
    device = results.device(experiment)
    key = f"{direction}_bandwidth_mb_s"
    if not device.get(key):
        raise NotPermitted(f"device {device['id']} states no {key} in workloads/devices.yaml")
    return float(device[key]) * MEGABYTE


def _theorem_21(
    measured: pd.DataFrame,
    runs: pd.DataFrame,
    *,
    x: str,
    panel: str,
) -> pd.DataFrame:
    """Put Theorem 2.1 beside the measurement, as is and times the fitted constant."""
    formula = "k log_k(n/b)"
    model = median_by_x(
        runs.assign(
            model=[
                models.write_amplification(row["fanout"], row["data_bytes"], row["sstable_bytes"])
                for row in runs.to_dict("records")
            ]
        )
    )
    constant = fitted_constant(measured.groupby(x).value.median(), model)
    fitted = {position: constant * value for position, value in model.items()}
    return rows.combine(
        [
            rows.measured(measured, x=x, panel=panel, series="measured", unit="1"),
            model_rows(model, panel, formula, "1"),
            model_rows(fitted, panel, f"{constant:.2g} x {formula}", "1"),
        ]
    )


def fitted_constant(medians: pd.Series[float], model: Mapping[float, float]) -> float:
    """Fit what a theorem leaves open: the geometric mean of measured over model."""
    logs = [np.log(medians[position] / value) for position, value in model.items()]
    return float(np.exp(np.mean(logs)))


def median_by_x(runs: pd.DataFrame) -> dict[float, float]:
    """Take the median of `model` per position `x`."""
    medians = runs.groupby("x").model.median()
    return dict(zip(medians.index.to_list(), medians.to_list(), strict=True))


def model_rows(values: Mapping[Any, float], panel: str, series: str, unit: str) -> pd.DataFrame:
    """Make rows of a model's values."""
    return rows.stated(values, panel=panel, series=series, unit=unit, source=rows.MODEL)


def _model_and_measured(axes: matplotlib.axes.Axes, data: pd.DataFrame, look: EngineStyle) -> None:
    colours = [look.colour, style.PALETTE[1]]
    for place, series in enumerate(data[data.source == rows.RUN].series.unique()):
        style.draw_series(
            axes,
            data[data.series == series],
            label=f"{look.label}: {series}",
            colour=colours[place],
            marker=[look.marker, "^"][place],
        )
    draw_models(axes, data)


def draw_models(axes: matplotlib.axes.Axes, data: pd.DataFrame) -> None:
    """Draw the curves of all models in a panel's data."""
    model = data[data.source == rows.MODEL]
    for place, (series, curve) in enumerate(model.groupby("series", sort=False)):
        axes.plot(
            curve.x.astype(float),
            curve.value,
            color=style.MODEL_COLOUR,
            linestyle=[":", "--", "-."][place % 3],
            linewidth=1.4,
            label=str(series),
        )


def _equation_1(axes: matplotlib.axes.Axes, data: pd.DataFrame, look: EngineStyle) -> None:
    position = {"write": 0.0, "read": 1.0}
    data = data.assign(x=[position[x] for x in data.x])
    style.draw_series(
        axes,
        data[data.source != rows.MODEL],
        label=f"{look.label}: measured",
        colour=look.colour,
        marker=look.marker,
        connected=False,
    )
    model = data[data.source == rows.MODEL]
    axes.scatter(
        model.x.astype(float),
        model.value,
        s=500,
        marker="_",
        color=style.MODEL_COLOUR,
        label="_",
    )
    axes.plot([], [], color=style.MODEL_COLOUR, label="Eq. 1: bandwidth / amplification")
    axes.set_xticks(list(position.values()), [f"pure {name}s" for name in position])
    axes.set_xlim(-0.6, 1.6)
    axes.grid(axis="x", visible=False)


def headroom(axes: matplotlib.axes.Axes, share: float = 0.45) -> None:
    """Leave room for the legend above the data; on a linear axis this share of it."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        axes.set_ylim(low, high * (high / low) ** 0.5)
        style.plain_log_ticks(axes.yaxis)
    else:
        axes.set_ylim(0, high * (1 + share))


def thinned(positions: list[float]) -> list[float]:
    """Drop ticks that would touch their left neighbour on a logarithmic axis."""
    kept: list[float] = []
    for position in positions:
        if not kept or position / kept[-1] >= 1.4:
            kept.append(position)
    return kept


def _percentiles(group: pd.DataFrame, panel: str, series: str) -> pd.DataFrame:
    """Make rows of the 10th to 90th percentile of single compactions, median over repetitions."""
    scaled = pd.DataFrame(
        {
            "x": group.level,
            "value": group.total_bytes_p50 / group.sstable_bytes,
            "low": group.total_bytes_p10 / group.sstable_bytes,
            "high": group.total_bytes_p90 / group.sstable_bytes,
        }
    )
    frame = scaled.groupby("x", as_index=False).median()
    return frame.assign(panel=panel, series=series, source=PERCENTILES, unit="S_sst").reindex(
        columns=rows.DATA_COLUMNS
    )


def _compaction_bars(
    axes: matplotlib.axes.Axes, data: pd.DataFrame, *, label: str, colour: str
) -> None:
    medians = data[data.source == rows.MEDIAN]
    runs = data[data.source == rows.RUN]
    spread = data[data.source == PERCENTILES]
    axes.bar(medians.x, medians.value, width=0.36, color=colour, alpha=0.8, label=label)
    axes.errorbar(
        spread.x,
        spread.value,
        yerr=style.spread(spread),
        fmt="_",
        color=style.PAPER_COLOUR,
        markersize=6,
        elinewidth=1,
        capsize=2.5,
        zorder=3,
    )
    if len(runs) > len(medians):
        axes.scatter(runs.x, runs.value, s=9, color=style.PAPER_COLOUR, alpha=0.6, zorder=3)


def _in_sstables(sizes: pd.DataFrame) -> pd.DataFrame:
    """Tell the mean bytes of one compaction in SSTables."""
    return sizes.assign(value=sizes.total_bytes / sizes["count"] / sizes.sstable_bytes)


def _equation(model: Mapping[int, float], panel: str) -> pd.DataFrame:
    return rows.stated(model, panel=panel, series="Eq. 1", unit="S_sst", source=rows.MODEL)


def _expansion(expand: bool) -> str:
    return "inputs expanded" if expand else "one victim"


PANELS = (
    Panel(THEOREM_21_K, write_amplification_over_fanout, FANOUT_LABEL, "write amplification", True),
    Panel(
        THEOREM_21_N,
        write_amplification_over_data,
        "n / b (SSTables)",
        "write amplification",
        False,
    ),
    Panel(THEOREM_22, lookups_over_fanout, FANOUT_LABEL, "per get", False),
    Panel(EQUATION_1, throughput_from_amplification, "", "user data (MB/s)", True),
    Panel(
        EQUATION_2, throughput_over_write_ratio, "write ratio r_w", "operations per second", False
    ),
    Panel(EQUATION_3, tail_latency_over_fanout, FANOUT_LABEL, "latency (ms)", True),
)
