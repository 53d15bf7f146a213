"""PCP's equations beside the measurement, fed with the measured times of sequential compaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import matplotlib.axes
import pandas as pd

from recompact import models
from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import Along, EngineStyle, Figure, along_of
from recompact.figures.equations import draw_models, headroom, median_by_x, model_rows
from recompact.models import StageTimes
from recompact.results import MissingCell, Results
from recompact.stages import stage_times

SCP, PCP = "scp", "pcp"
THROUGHPUT, BANDWIDTH = "throughput_ops_s", "compaction_bandwidth_bytes_s"
# The equations know no memtable that is flushed while a compaction stands still.
COMPACTION_ONLY = "compaction_only_bandwidth_bytes_s"
MEASURED_GAINS = {
    THROUGHPUT: "throughput",
    BANDWIDTH: "compaction bandwidth",
    COMPACTION_ONLY: "the same, but SCP's without flushes",
}
MEASURED_LOOKS = ((None, None), (style.PALETTE[1], "^"), (style.PALETTE[2], "v"))
MEGABYTE = 1e6
SSD, HDD = "pcp_entries_ssd", "pcp_entries_hdd"
DISKS, THREADS = "pcp_disks_hdd", "pcp_threads_ssd"
SIZES = "pcp_sizes_ssd"
ENTRIES_LABEL = "million entries"
SHARED = {False: "", True: ", one device for both"}
EQUATIONS = {None: "Eq. 3", "disks": "Eq. 4 over Eq. 1", "threads": "Eq. 6 over Eq. 1"}

Model = Callable[[StageTimes, dict[str, Any]], float]


def pipeline_speedups(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw what the pipeline gains over steps in turn, and the ideal gain, a panel per experiment.

    Gains are paired by repetition, those of all metrics unless the figure names some. Bandwidth
    counts from a compaction's beginning to its end, and, to the pipeline's disadvantage, without
    the flushes for which steps in turn stand still. The ideal takes the measured times of the
    steps in turn: as the paper has it, and with reads and writes on one device (E26).
    """
    along = along_of(entry)
    figure, panels = style.new_figure(
        len(entry.experiments), width=3.4 * len(entry.experiments) + 2.2, height=3.6
    )
    frames = []
    for axes, experiment in zip(panels, entry.experiments, strict=True):
        device = results.device(experiment)
        metrics = entry.metrics or tuple(MEASURED_GAINS)
        data = speedups(results, experiment, along, metrics, str(device["id"]))
        frames.append(data)
        _draw_measured(axes, data, styles[PCP])
        draw_models(axes, data)
        axes.axhline(1, color=style.PAPER_COLOUR, linewidth=0.8)
        style.sweep_ticks(axes, sorted({float(x) for x in data.x}))
        axes.set_ylim(bottom=0)
        axes.set_xlabel(along.label)
        axes.set_title(str(device["id"]))
    panels[0].set_ylabel(f"{styles[PCP].label} over {styles[SCP].label}")
    panels[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def speedups(
    results: Results, experiment: str, along: Along, metrics: Sequence[str], panel: str
) -> pd.DataFrame:
    """Collect measured and ideal gains of one experiment over its sweep."""
    frames = [
        rows.measured(
            gains(results, experiment, metric, along.key),
            x=along.key,
            panel=panel,
            series=MEASURED_GAINS[metric],
            unit="1",
        )
        for metric in metrics
    ]
    for shared, suffix in SHARED.items():

        def ideal(times: StageTimes, row: dict[str, Any], shared: bool = shared) -> float:
            parallel = {along.parallel: int(row[along.key])} if along.parallel else {}
            return models.pcp_speedup(times, shared_device=shared, **parallel)

        values = _model(results, experiment, along.key, ideal)
        frames.append(model_rows(values, panel, f"{EQUATIONS[along.parallel]}{suffix}", "1"))
    return rows.combine(frames)


def gains(results: Results, experiment: str, metric: str, key: str) -> pd.DataFrame:
    """Divide the pipeline's metric by that of steps in turn, per repetition and point.

    Raises
    ------
    MissingCell
        If no repetition has both.
    """
    below = results.select(experiment, metric, engines=[SCP])[["repetition", key, "value"]]
    above = results.select(experiment, metric, engines=[PCP])
    paired = above.merge(below, on=["repetition", key], suffixes=("", "_below"))
    if paired.empty:
        raise MissingCell(f"experiment {experiment} has no repetition of both {PCP} and {SCP}")
    return paired.assign(value=paired.value / paired.value_below)


def pipeline_equations(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw PCP's equations 1 to 7, and the cost of filling and draining, beside the measurement.

    Time in which a compaction stands still for a flush, which they do not know, is left out.
    """
    figure, axes_list = style.new_figure(4, rows=2, width=13.6, height=7.0)
    frames = []
    for axes, panel in zip(axes_list, PANELS, strict=True):
        data = panel.collect(results, panel.title)
        frames.append(data)
        for engine in data.engine.dropna().unique():
            _draw_measured(axes, data[data.engine == engine], styles[engine])
        draw_models(axes, data)
        style.sweep_ticks(axes, [round(x, 1) for x in sorted({float(x) for x in data.x})])
        named = len(axes.get_legend_handles_labels()[1])
        headroom(axes, 0.16 * named)
        axes.set_title(panel.title)
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.y_label)
        axes.legend(loc="upper left")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def _bandwidths(results: Results, panel: str, experiment: str) -> pd.DataFrame:
    """Eq. 1 and 2 over the number of entries."""
    frames = [
        rows.measured(
            results.select(experiment, COMPACTION_ONLY, engines=[engine]),
            x="entries",
            panel=panel,
            series=f"{name}, measured",
            unit="MB/s",
            factor=1 / MEGABYTE,
        )
        for engine, name in ((SCP, "SCP"), (PCP, "PCP"))
    ]
    first = _model(
        results,
        experiment,
        "entries",
        lambda times, row: models.scp_bandwidth(row["data_bytes"], times) / MEGABYTE,
    )
    frames.append(model_rows(first, panel, "Eq. 1", "MB/s"))
    for shared, suffix in SHARED.items():
        second = _model(results, experiment, "entries", _pcp_bandwidth(shared))
        frames.append(model_rows(second, panel, f"Eq. 2{suffix}", "MB/s"))
    return rows.combine(frames)


def _parallel_bandwidth(
    results: Results, panel: str, experiment: str, parallel: str, equation: str
) -> pd.DataFrame:
    """Eq. 4 over the number of disks, or Eq. 6 over the number of threads.

    The times are those of one disk and one thread, which the equations divide.
    """
    frames = [
        rows.measured(
            results.select(experiment, COMPACTION_ONLY, engines=[PCP]),
            x=parallel,
            panel=panel,
            series="measured",
            unit="MB/s",
            factor=1 / MEGABYTE,
        )
    ]
    for shared, suffix in SHARED.items():
        values = _from_one(results, experiment, parallel, _pcp_bandwidth(shared, parallel))
        frames.append(model_rows(values, panel, f"{equation}{suffix}", "MB/s"))
    return rows.combine(frames)


def _parallel_gain(
    results: Results, panel: str, experiment: str, parallel: str, equation: str
) -> pd.DataFrame:
    """Eq. 5 or 7: what more disks or threads add to the pipeline of one."""
    values = results.select(experiment, COMPACTION_ONLY, engines=[PCP])
    one = values[values[parallel] == 1][["repetition", "value"]]
    paired = values.merge(one, on="repetition", suffixes=("", "_of_one"))
    paired = paired.assign(value=paired.value / paired.value_of_one)
    frames = [rows.measured(paired, x=parallel, panel=panel, series="measured", unit="1")]
    for shared, suffix in SHARED.items():

        def gain(times: StageTimes, row: dict[str, Any], shared: bool = shared) -> float:
            number = {parallel: int(row[parallel])}
            return models.ppcp_gain(times, shared_device=shared, **number)

        model = _from_one(results, experiment, parallel, gain)
        frames.append(model_rows(model, panel, f"{equation}{suffix}", "1"))
    return rows.combine(frames)


def _speedups(results: Results, panel: str) -> pd.DataFrame:
    """Eq. 3 over the number of entries, on both devices."""
    frames = []
    for experiment, name in ((SSD, "SSD"), (HDD, "HDD")):
        paired = gains(results, experiment, COMPACTION_ONLY, "entries")
        frames.append(
            rows.measured(paired, x="entries", panel=panel, series=f"{name}, measured", unit="1")
        )
        values = _model(results, experiment, "entries", lambda t, _: models.pcp_speedup(t))
        frames.append(model_rows(values, panel, f"{name}, Eq. 3", "1"))
    return rows.combine(frames)


def _filling(results: Results, panel: str) -> pd.DataFrame:
    """Speedup over the measured mean number of sub-tasks of one compaction."""
    subtasks = results.select(SIZES, "subtasks_per_compaction", engines=[SCP])
    number = subtasks.groupby("upper_mib").value.median().to_dict()
    paired = gains(results, SIZES, COMPACTION_ONLY, "upper_mib")
    frames = [
        rows.measured(
            paired.assign(subtasks=paired.upper_mib.map(number)),
            x="subtasks",
            panel=panel,
            series="measured",
            unit="1",
        )
    ]
    for shared, suffix in SHARED.items():

        def limited(times: StageTimes, row: dict[str, Any], shared: bool = shared) -> float:
            mean = max(number[row["upper_mib"]], 1)
            return models.fill_drain_speedup(times, mean, shared_device=shared)

        values = _model(results, SIZES, "upper_mib", limited)
        at = {number[upper]: value for upper, value in values.items()}
        frames.append(model_rows(at, panel, f"fill and drain{suffix}", "1"))
    return rows.combine(frames)


@dataclass(frozen=True)
class Panel:
    """One panel of the equations: how it is collected and what its axes are."""

    title: str
    collect: Callable[[Results, str], pd.DataFrame]
    x_label: str
    y_label: str


MB_S, GAIN = "compaction bandwidth (MB/s)", "bandwidth, PCP over SCP"
PANELS = (
    Panel("Eq. 1 and 2: SSD", partial(_bandwidths, experiment=SSD), ENTRIES_LABEL, MB_S),
    Panel("Eq. 1 and 2: HDD", partial(_bandwidths, experiment=HDD), ENTRIES_LABEL, MB_S),
    Panel("Eq. 3: speedup", _speedups, ENTRIES_LABEL, GAIN),
    Panel("Filling and draining: SSD", _filling, "sub-tasks per compaction (mean)", GAIN),
    Panel(
        "Eq. 4: S-PPCP, HDDs",
        partial(_parallel_bandwidth, experiment=DISKS, parallel="disks", equation="Eq. 4"),
        "disks",
        MB_S,
    ),
    Panel(
        "Eq. 5: S-PPCP, HDDs",
        partial(_parallel_gain, experiment=DISKS, parallel="disks", equation="Eq. 5"),
        "disks",
        "bandwidth, over one disk",
    ),
    Panel(
        "Eq. 6: C-PPCP, SSD",
        partial(_parallel_bandwidth, experiment=THREADS, parallel="threads", equation="Eq. 6"),
        "compute threads",
        MB_S,
    ),
    Panel(
        "Eq. 7: C-PPCP, SSD",
        partial(_parallel_gain, experiment=THREADS, parallel="threads", equation="Eq. 7"),
        "compute threads",
        "bandwidth, over one thread",
    ),
)


def _pcp_bandwidth(shared: bool, parallel: str | None = None) -> Model:
    def bandwidth(times: StageTimes, row: dict[str, Any]) -> float:
        number = {parallel: int(row[parallel])} if parallel else {}
        value = models.pcp_bandwidth(row["data_bytes"], times, shared_device=shared, **number)
        return value / MEGABYTE

    return bandwidth


def _model(results: Results, experiment: str, key: str, model: Model) -> dict[float, float]:
    """Feed a model with the times of each run of steps in turn; median per point."""
    runs = stage_times(results, experiment, engine=SCP)
    return _fed(runs, key, model)


def _from_one(results: Results, experiment: str, key: str, model: Model) -> dict[float, float]:
    """Feed a model, at every point, with the times of steps in turn at the point of one."""
    runs = stage_times(results, experiment, engine=SCP)
    one = runs[runs[key] == 1]
    if one.empty:
        raise MissingCell(f"experiment {experiment} has no point {key} 1")
    points = pd.DataFrame({key: sorted(runs[key].unique())})
    return _fed(one.drop(columns=key).merge(points, how="cross"), key, model)


def _fed(runs: pd.DataFrame, key: str, model: Model) -> dict[float, float]:
    records: list[dict[Any, Any]] = runs.to_dict("records")
    values = [model(row["times"], row) for row in records]
    return median_by_x(runs.assign(x=runs[key], model=values))


def _draw_measured(axes: matplotlib.axes.Axes, data: pd.DataFrame, look: EngineStyle) -> None:
    """Draw the measured series of one engine: the first in its colour."""
    measured = data[data.source != rows.MODEL]
    for series, (colour, marker) in zip(measured.series.unique(), MEASURED_LOOKS, strict=False):
        style.draw_series(
            axes,
            measured[measured.series == series],
            label=series,
            colour=colour or look.colour,
            marker=marker or look.marker,
        )
