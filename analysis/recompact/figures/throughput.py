"""Throughput over time."""

from __future__ import annotations

from collections.abc import Mapping

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import Results


def throughput_over_time(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the operations per second of each interval, a panel per engine.

    The first repetition is drawn over the others, and a dashed line stands at half of its median:
    what lies below is a period of low throughput.
    """
    (experiment,) = entry.experiments
    timeline = results.rows("timeline", experiment)
    timeline = timeline[timeline.phase == "run"].sort_values(["run", "time_s"])
    begin = timeline.groupby("run").time_s.shift(fill_value=0.0)
    timeline = timeline.assign(value=timeline.operations / (timeline.time_s - begin))
    engines = [name for name in styles if name in set(timeline.engine)]
    figure, panels = style.new_figure(1, rows=len(engines), height=1.2 + 1.5 * len(engines))
    frames = []
    for axes, engine in zip(panels, engines, strict=True):
        mine = timeline[timeline.engine == engine]
        one = mine.assign(
            panel=engine, series="throughput", source="interval", unit="ops/s", x=mine.time_s
        )
        frames.append(one.reindex(columns=rows.DATA_COLUMNS))
        curves = [curve for _, curve in mine.groupby("repetition")]
        for number, curve in reversed(list(enumerate(curves))):
            axes.plot(
                curve.time_s,
                curve.value,
                color=styles[engine].colour,
                linewidth=0.8,
                alpha=1 if number == 0 else 0.3,
            )
        half = curves[0].value.median() / 2
        axes.axhline(half, color=style.MODEL_COLOUR, linestyle="--", linewidth=1)
        axes.set_title(styles[engine].label)
        axes.set_ylabel("ops/s")
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
    for axes in panels[:-1]:
        axes.sharex(panels[-1])
    panels[-1].set_xlabel("time (s)")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))
