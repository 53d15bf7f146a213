"""How much one compaction moves."""

from __future__ import annotations

from collections.abc import Mapping

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.level_traffic import TYPES
from recompact.results import MissingCell, Results

MEBIBYTE = 2.0**20
PERCENTS = (10, 50, 90)
PANELS_OF_A_ROW = 2


def compaction_sizes(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw what one compaction reads and writes, by the level that it writes into.

    A bar reaches from the tenth to the ninetieth percentile of a run's compactions of one reason,
    a dot stands at their median; each is of the first repetition. Sizes are those of the paper's
    scale. An engine that only moves tables has an empty panel that says so.
    """
    (experiment,) = entry.experiments
    events = results.rows("compactions", experiment)
    events = events[events.type.isin(TYPES)]
    if events.empty:
        raise MissingCell(f"experiment {experiment} has no compaction")
    unit = events.scale_factor / MEBIBYTE
    for percent in PERCENTS:
        events = events.assign(**{f"p{percent}": events[f"total_bytes_p{percent}"] * unit})
    measured = set(results.rows("runs", experiment).engine)
    engines = [name for name in styles if name in measured]
    figure, panels = style.new_grid(len(engines), PANELS_OF_A_ROW, height=3.0)
    frames = []
    for axes, engine in zip(panels, engines, strict=True):
        axes.set_yscale("log")
        axes.set_title(styles[engine].label)
        axes.set_xlabel("into level")
        mine = events[events.engine == engine]
        if mine.empty:
            axes.set_xticks([])
            axes.text(0.5, 0.5, "no compaction", transform=axes.transAxes, ha="center")
            continue
        for percent in PERCENTS:
            one = mine.assign(
                panel=engine,
                series=mine.reason + f", P{percent}",
                source=rows.RUN,
                unit="MiB",
                x=mine.level,
                value=mine[f"p{percent}"],
            )
            frames.append(one.reindex(columns=rows.DATA_COLUMNS))
        first = mine[mine.repetition == mine.repetition.min()]
        reasons = sorted(first.reason.unique())
        for place, reason in enumerate(reasons):
            here = first[first.reason == reason]
            x = here.level + (place - (len(reasons) - 1) / 2) * 0.2
            colour = style.PALETTE[place]
            axes.vlines(x, here.p10, here.p90, color=colour, linewidth=2)
            axes.plot(x, here.p50, "o", color=colour, label=f"{reason} ({here['count'].sum():g})")
        axes.set_xticks(sorted(first.level.unique()))
        axes.legend(loc="upper left")
    drawn = [axes.get_ylim() for axes in panels if axes.has_data()]
    for axes in panels:
        axes.set_ylim(min(bottom for bottom, _ in drawn), max(top for _, top in drawn) * 4)
    for axes in panels[::PANELS_OF_A_ROW]:
        axes.set_ylabel("read and written by one (MiB)")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))
