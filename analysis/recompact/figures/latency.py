"""LDC Fig. 1 and 8: mean latency per interval over time, and percentiles."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import Results
from recompact.tables import latency_extremes

OPERATIONS = ("write", "read")
FLUCTUATION = "largest / smallest"
PERCENTILE = re.compile(r"latency_all_p(.*)_us")


def latency_over_time(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the mean write and read latency per interval, a line per repetition.

    The legend tells how far each swings, the paper's value beside it; a dashed line stands at
    the smallest write latency times the paper's ratio.
    """
    (experiment,) = entry.experiments
    timeline = results.rows("timeline", experiment)
    timeline = timeline[(timeline.phase == "run") & (timeline.engine == entry.engine)]
    paper = entry.paper_data.values["write"][FLUCTUATION] if entry.paper_data else None
    figure, panels = style.new_figure(1, rows=2, height=4.6)
    frames = []
    for place, (axes, operation) in enumerate(zip(panels, OPERATIONS, strict=True)):
        intervals = timeline[timeline[f"{operation}s"] > 0]
        intervals = intervals.assign(value=intervals[f"mean_{operation}_latency_us"])
        frames.append(_curves(intervals, operation))
        fluctuation = results.select(
            experiment, f"{operation}_latency_fluctuation", engines=[entry.engine]
        )
        ratio = rows.measured(
            fluctuation.assign(x=FLUCTUATION), x="x", panel=operation, series=operation, unit="1"
        )
        frames.append(ratio)
        median = ratio[ratio.source == rows.MEDIAN].value.iloc[0]
        label = f"mean {operation} latency; largest / smallest = {median:.3g}"
        colour = styles[intervals.engine.iloc[0]].colour if place == 0 else style.PALETTE[1]
        curves = [curve for _, curve in intervals.groupby("repetition")]
        for number, curve in enumerate(curves):
            axes.plot(
                curve.time_s,
                curve.value,
                color=colour,
                linewidth=0.9,
                alpha=1 if number == 0 else 0.35,
                label=label if number == 0 else None,
            )
        if operation == "write" and paper is not None:
            axes.axhline(
                latency_extremes(curves[0], operation)[0] * paper,
                color=style.PAPER_COLOUR,
                linestyle="--",
                linewidth=1,
                label=f"smallest x {paper:g} (paper's ratio)",
            )
            stated = {FLUCTUATION: paper}
            frames.append(rows.stated(stated, panel=operation, series=operation, unit="1"))
        axes.set_yscale("log")
        style.plain_log_ticks(axes.yaxis)
        axes.set_ylim(top=axes.get_ylim()[1] * 3)
        axes.set_ylabel(f"{operation} latency (us)")
        axes.legend(loc="upper right", ncols=2)
    panels[-1].set_xlabel("time (s)")
    panels[0].sharex(panels[-1])
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def latency_percentiles(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the listed percentiles, a line per engine, with the paper's values as markers.

    Metrics are listed from left to right; the paper's data name engines and percentiles.
    """
    (experiment,) = entry.experiments
    names = [PERCENTILE.sub(r"P\1", metric).replace("_", ".") for metric in entry.metrics]
    frames = []
    for metric, name in zip(entry.metrics, names, strict=True):
        values = results.select(experiment, metric).assign(x=name)
        for engine, one in values.groupby("engine"):
            frames.append(rows.measured(one, x="x", panel="latency", series=str(engine), unit="us"))
    stated = entry.paper_data.values if entry.paper_data else {}
    for engine, points in stated.items():
        frames.append(rows.stated(points, panel="latency", series=engine, unit="us"))
    data = rows.combine(frames)
    figure, (axes,) = style.new_figure(1)
    for engine in [name for name in styles if name in set(data.series)]:
        look, one = styles[engine], data[data.series == engine]
        one = one.assign(x=[names.index(x) for x in one.x])
        style.draw_series(axes, one, label=look.label, colour=look.colour, marker=look.marker)
        paper = one[one.source == rows.PAPER]
        if not paper.empty:
            style.draw_paper(
                axes,
                list(paper.x),
                list(paper.value),
                label=f"paper: {look.label}",
                colour=look.colour,
            )
    axes.set_yscale("log")
    style.plain_log_ticks(axes.yaxis)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlabel("percentile of all requests")
    axes.set_ylabel("latency (us)")
    axes.legend(loc="upper left")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def _curves(intervals: pd.DataFrame, operation: str) -> pd.DataFrame:
    frame = intervals.rename(columns={"time_s": "x"}).assign(
        panel=operation, series=operation, source="interval", unit="us"
    )
    return frame.reindex(columns=rows.DATA_COLUMNS)
