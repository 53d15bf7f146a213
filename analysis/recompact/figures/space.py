"""Space of the tables over time, split by what they are needed for."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import Results

GIBIBYTE = 2.0**30
PANELS_OF_A_ROW = 4
PARTS = {
    "in levels": "#a1c9f4",
    "frozen, in slices": "#8de5a1",
    "frozen, useless": "#d0694a",
    "in the compaction buffer": "#ffb482",
    "pinned, being written or deleted": "#cfcfcf",
}


def space_over_time(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the bytes of tables over time as stacked areas, a panel per engine.

    Frozen bytes are useful where a slice still holds them, and useless where all that held them
    has been merged but other slices keep the table (LDC III-D). Tables of the compaction buffer
    are in no level (dLSM IV-B). Sizes are those of the paper's scale. The first repetition is
    drawn; timeline.csv has all. Parts that no engine has are not drawn, and the data of an engine
    leave out parts that it has none of.
    """
    (experiment,) = entry.experiments
    timeline = results.rows("timeline", experiment).dropna(subset=["live_bytes"])
    absent = dict.fromkeys(("frozen_bytes", "slice_bytes", "buffer_bytes"), 0)
    timeline = _parts(timeline[timeline.phase == "run"].fillna(absent))
    present = [name for name in PARTS if (timeline[name] > 0).any()]
    engines = [name for name in styles if name in set(timeline.engine)]
    figure, panels = style.new_grid(len(engines), PANELS_OF_A_ROW)
    frames = []
    for axes, engine in zip(panels, engines, strict=True):
        parts = timeline[timeline.engine == engine]
        first = parts[parts.repetition == parts.repetition.min()]
        for name in present:
            if (first[name] > 0).any():
                one = first.assign(
                    panel=engine, series=name, source="interval", unit="GiB", value=first[name]
                )
                frames.append(rows.bends(one.rename(columns={"time_s": "x"})))
        axes.stackplot(
            first.time_s,
            *(first[name] for name in present),
            labels=present,
            colors=[PARTS[name] for name in present],
            linewidth=0,
        )
        axes.set_title(styles[engine].label)
        axes.set_xlabel("time (s)")
        axes.set_xlim(left=0)
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top * 1.3)
    for axes in panels[::PANELS_OF_A_ROW]:
        axes.set_ylabel("tables (GiB)")
    panels[0].legend(loc="upper left")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def _parts(timeline: pd.DataFrame) -> pd.DataFrame:
    useful = timeline[["slice_bytes", "frozen_bytes"]].min(axis=1)
    other = timeline[["pinned_bytes", "pending_bytes", "obsolete_bytes"]].fillna(0).sum(axis=1)
    gibibytes = timeline.scale_factor / GIBIBYTE
    return timeline.assign(
        **{
            "in levels": (timeline.live_bytes - timeline.frozen_bytes - timeline.buffer_bytes)
            * gibibytes,
            "frozen, in slices": useful * gibibytes,
            "frozen, useless": (timeline.frozen_bytes - useful) * gibibytes,
            "in the compaction buffer": timeline.buffer_bytes * gibibytes,
            "pinned, being written or deleted": other * gibibytes,
        }
    )
