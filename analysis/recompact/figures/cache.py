"""Hit ratio of the block cache and reads per second over time: dLSM Fig. 2, 9, 10, 11 and 13."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import matplotlib.axes
import pandas as pd

from recompact.cache_timeline import hit_ratio, read_rate
from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import MissingCell, Results

RATIO, RATE = "hit ratio", "read throughput"
READ_ONLY = "read only"
MEAN = "mean"
# Panel -> metric of the whole phase, its unit, and the value of an interval.
PANELS: dict[str, tuple[str, str, Callable[[pd.DataFrame], pd.Series[float]]]] = {
    RATIO: ("hit_ratio_interval_mean", "1", hit_ratio),
    RATE: ("throughput_ops_s", "ops/s", read_rate),
}


def cache_over_time(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw hit ratio and reads per second per interval, a line per repetition.

    The lines are those of the entry's engine in its first experiment; of a second experiment, which
    is the baseline, all are drawn in grey. The legend tells means, of the hit ratio that over time;
    dashed lines stand at those that the paper states.
    """
    experiment, *baselines = entry.experiments
    look = styles[entry.engine]
    stated = entry.paper_data.values if entry.paper_data else {}
    figure, panels = style.new_figure(1, rows=2, height=5.2)
    frames = []
    for axes, (panel, (_, unit, _)) in zip(panels, PANELS.items(), strict=True):
        for baseline in baselines:
            frames += _lines(axes, results, baseline, None, panel, READ_ONLY, style.MODEL_COLOUR)
        engines = [entry.engine]
        frames += _lines(axes, results, experiment, engines, panel, look.label, look.colour)
        if panel in stated:
            frames.append(rows.stated(stated[panel], panel=panel, series=look.label, unit=unit))
            axes.axhline(
                stated[panel][MEAN],
                color=style.PAPER_COLOUR,
                linestyle="--",
                linewidth=1,
                label=f"paper: mean {stated[panel][MEAN]:g}",
            )
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_ylabel(panel if unit == "1" else f"{panel} ({unit})")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3)
    panels[0].sharex(panels[1])
    panels[1].set_xlabel(_time_label(results, experiment, entry.engine))
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def _lines(
    axes: matplotlib.axes.Axes,
    results: Results,
    experiment: str,
    engines: Sequence[str] | None,
    panel: str,
    series: str,
    colour: str,
) -> list[pd.DataFrame]:
    """Draw one experiment in one panel; give its intervals and its means."""
    metric, unit, value_of = PANELS[panel]
    means = results.select(experiment, metric, engines=engines).assign(x=MEAN)
    mean = rows.measured(means, x="x", panel=panel, series=series, unit=unit)
    timeline = results.rows("timeline", experiment)
    timeline = timeline[(timeline.phase == "run") & timeline.run.isin(means.run)]
    if timeline.empty:
        raise MissingCell(f"experiment {experiment}: no timeline of {series}")
    median = mean[mean.source == rows.MEDIAN].value.iloc[0]
    label: str | None = f"{series}: mean {median:.3g}"
    frames = [mean]
    for _, one in timeline.groupby("run", sort=False):
        whole = one.sort_values("time_s").iloc[:-1]  # the last interval is cut short
        curve = whole.assign(value=value_of(whole)).dropna(subset=["value"])
        axes.plot(
            curve.time_s,
            curve.value,
            color=colour,
            linewidth=1,
            alpha=0.35 if label is None else 1,
            label=label,
        )
        label = None
        curve = curve.rename(columns={"time_s": "x"}).assign(
            panel=panel, series=series, source="interval", unit=unit
        )
        frames.append(curve.reindex(columns=rows.DATA_COLUMNS))
    return frames


def _time_label(results: Results, experiment: str, engine: str) -> str:
    """Tell the run's time, what it is at the paper's size, and how far level 1 turned over."""
    runs = results.planned(experiment, engines=[engine])
    factor = runs.scale_factor.iloc[0]
    label = "time (s)" if factor == 1 else f"time (s); x {factor:g} at the paper's size"
    told = [results.campaign(experiment).told(run, "run") for run in runs.run]
    turnovers = [metrics["turnovers"] for metrics in told if "turnovers" in metrics]
    if not any(turnovers):
        return label
    return f"{label}; in all {pd.Series(turnovers).median():.2g} turnovers of level 1"
