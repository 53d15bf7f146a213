"""Throughput, and the levels that it depends on, over time."""

from __future__ import annotations

from collections.abc import Mapping

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import Results
from recompact.tables import files_of_levels, sorted_runs

# What a number of tables in level 0 sets off.
TRIGGERS = {
    "l0_compaction_trigger": "compaction",
    "l0_slowdown_trigger": "slowdown",
    "l0_stop_trigger": "stop",
}


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
        axes.set_xlim(0, timeline.time_s.max())
    panels[-1].set_xlabel("time (s)")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def levels_over_time(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the sorted runs of the tree and the tables of level 0 over time, a panel per engine.

    The first repetition is drawn; timeline.csv has all. Dashed lines stand at the numbers of
    tables in level 0 (of universal compaction: of runs) with which a compaction begins, and writes
    are slowed down or stopped.
    """
    (experiment,) = entry.experiments
    timeline = results.rows("timeline", experiment)
    timeline = timeline[(timeline.phase == "run") & timeline.level_files.notna()]
    timeline = timeline.sort_values(["run", "time_s"])
    made = results.rows("specifications", experiment).drop_duplicates("engine")
    options = dict(zip(made.engine, made.engine_options, strict=True))
    engines = [name for name in styles if name in set(timeline.engine)]
    figure, panels = style.new_figure(1, rows=len(engines), height=1.2 + 1.8 * len(engines))
    frames = []
    for axes, engine in zip(panels, engines, strict=True):
        mine = timeline[timeline.engine == engine]
        mine = mine[mine.repetition == mine.repetition.min()]
        levels = [files_of_levels(text) for text in mine.level_files]
        for place, (label, counts) in enumerate(
            {
                "sorted runs": [sorted_runs(files) for files in levels],
                "tables of level 0": [files[0] for files in levels],
            }.items()
        ):
            one = mine.assign(
                panel=engine, series=label, source="interval", unit="1", x=mine.time_s, value=counts
            )
            frames.append(rows.bends(one))
            colour = style.PALETTE[place]
            axes.step(one.x, one.value, where="post", color=colour, linewidth=1, label=label)
        for name, label in TRIGGERS.items():
            if name not in options[engine]:
                continue
            axes.axhline(
                options[engine][name], color=style.MODEL_COLOUR, linestyle="--", linewidth=0.8
            )
            axes.annotate(
                label,
                (1, options[engine][name]),
                xycoords=("axes fraction", "data"),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize="small",
            )
        axes.set_title(styles[engine].label)
        axes.set_ylabel("number")
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, timeline.time_s.max())
    panels[0].legend(loc="upper left", ncols=2)
    panels[-1].set_xlabel("time (s)")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))
