"""An LSM-tree as it grows: what lies in its levels, and what moves data between them."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.axes
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import MissingCell, Results
from recompact.tables import files_of_levels

EVENT = "event"
PHASE = "load"
# How an event is drawn, by what it is (engines/README.md, What is counted).
KINDS = {
    "flush": ("flush of a memtable", "#949494"),
    "trivial_move": ("move", "#56b4e9"),
    "link": ("link of slices", "#029e73"),
    "compaction": ("compaction", "#d55e00"),
    "merge": ("merge of slices, segments or runs", "#cc78bc"),
    "swap": ("swap of a level", "#ca9161"),
}
# Bytes beside the levels, in MiB of the paper's size.
BESIDE = {
    "frozen_bytes": ("frozen", "#8de5a1"),
    "buffer_bytes": ("in the buffer", "#ffb482"),
}
MEBIBYTE = 2.0**20
SHORTEST_SHARE = 0.002  # of the time shown: so wide is an event at least
FILES_HEIGHT = 0.42  # of a level with most files


def tree_over_time(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the load of one run per engine: a lane per level, and every event into its level.

    The grey band of a lane is as wide as the level has tables, on a logarithmic scale. An event
    is a box from the lane above to the one that receives its bytes, as long as it took; a memtable
    comes from above level 0. Events that no gap parts are one box. Below lie bytes that are in no
    level. Bands and boxes are drawn as dots, or they would be most of the page's bytes.
    """
    (experiment,) = entry.experiments
    events = results.rows("events", experiment)
    timeline = results.rows("timeline", experiment)
    timeline = timeline[timeline.run.isin(events.run) & (timeline.phase == PHASE)]
    engines = [name for name in styles if name in set(timeline.engine)]
    if not engines:
        raise MissingCell(f"experiment {experiment} has no events of a {PHASE} with a timeline")
    deepest = max(len(files_of_levels(text)) for text in timeline.level_files.dropna())
    with_more = set(timeline.engine[(timeline[list(BESIDE)].fillna(0) > 0).any(axis=1)])
    heights = [height for engine in engines for height in ((4, 1) if engine in with_more else (4,))]
    figure, panels = plt.subplots(
        len(heights),
        1,
        figsize=(9.5, 0.5 * sum(heights)),
        squeeze=False,
        gridspec_kw={"height_ratios": heights},
    )
    frames = []
    free = iter(panels[:, 0])
    for engine in engines:
        levels = next(free)
        of_engine = timeline[timeline.engine == engine].sort_values("time_s")
        lasted = of_engine.time_s.max()
        told = events[(events.engine == engine) & (events.end_s <= lasted)]
        _levels(levels, of_engine, deepest)
        boxes = join_events(told, lasted)
        _events(levels, boxes)
        levels.set_xlim(0, lasted)
        if engine in with_more:
            levels.tick_params(labelbottom=False)
            beside = next(free)
            _beside(beside, of_engine)
            beside.set_xlim(0, lasted)
        counts = told.groupby("type").size().reindex(list(KINDS)).dropna()
        numbers = ", ".join(f"{int(count)} x {KINDS[kind][0]}" for kind, count in counts.items())
        levels.set_title(f"{styles[engine].label}: {numbers}", loc="left", fontsize=8)
        frames.append(_data(boxes, styles[engine].label))
    panels[-1, 0].set_xlabel(f"time of the {PHASE} (s)")
    panels[-1, 0].legend(
        handles=[Patch(color=colour, label=label) for label, colour in KINDS.values()],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.3),
        ncols=len(KINDS),
        fontsize=7,
    )
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def _levels(axes: matplotlib.axes.Axes, timeline: pd.DataFrame, deepest: int) -> None:
    told = timeline.dropna(subset=["level_files"])
    files = [files_of_levels(text) for text in told.level_files]
    padded = np.array([one + [0] * (deepest - len(one)) for one in files])
    most = np.log1p(max(padded.max(), 1))
    for level in range(deepest):
        half = FILES_HEIGHT * np.log1p(padded[:, level]) / most
        axes.fill_between(
            told.time_s,
            level - half,
            level + half,
            color="#c9ced4",
            linewidth=0,
            step="pre",
            rasterized=True,
        )
    axes.set_ylim(deepest - 0.5, -1.2)
    axes.set_yticks(range(deepest), [f"L{level}" for level in range(deepest)], fontsize=6.5)
    axes.grid(visible=False)


def join_events(events: pd.DataFrame, lasted: float) -> pd.DataFrame:
    """Join events of one type into one level that follow each other without a visible gap.

    Parameters
    ----------
    events : DataFrame
        Events of one engine: type, level, engine, repetition, end_s, duration_s (s from the
        start) and bytes_written.
    lasted : float
        Time shown, s; no event is drawn shorter than a share of it.

    Returns
    -------
    DataFrame
        A row per box: as above, with start_s instead of duration_s, and the bytes of all.
    """
    width = events.duration_s.clip(lower=SHORTEST_SHARE * lasted)
    lane = ["type", "level"]
    boxes = events.assign(start_s=events.end_s - width).sort_values([*lane, "start_s"])
    latest = boxes.groupby(lane).end_s.cummax()
    before = latest.groupby([boxes[key] for key in lane]).shift()
    joined = boxes.groupby((~(boxes.start_s <= before)).cumsum())
    ways = dict.fromkeys((*lane, "engine", "repetition"), "first")
    return joined.agg(ways | {"start_s": "min", "end_s": "max", "bytes_written": "sum"})


def _events(axes: matplotlib.axes.Axes, boxes: pd.DataFrame) -> None:
    lengths = boxes.end_s - boxes.start_s
    for kind, (_, colour) in KINDS.items():
        for level in boxes.level[boxes.type == kind].unique():
            some = (boxes.type == kind) & (boxes.level == level)
            spans = list(zip(boxes.start_s[some], lengths[some], strict=True))
            axes.broken_barh(
                spans,
                (level - 0.85, 0.7),
                facecolors=colour,
                alpha=0.55,
                linewidth=0,
                rasterized=True,
            )


def _beside(axes: matplotlib.axes.Axes, timeline: pd.DataFrame) -> None:
    bottom = pd.Series(0.0, index=timeline.index)
    for column, (label, colour) in BESIDE.items():
        if not (timeline[column].fillna(0) > 0).any():
            continue
        value = timeline[column].fillna(0) * timeline.scale_factor / MEBIBYTE
        axes.fill_between(
            timeline.time_s,
            bottom,
            bottom + value,
            color=colour,
            label=label,
            linewidth=0,
            rasterized=True,
        )
        bottom = bottom + value
    axes.set_ylabel("MiB", fontsize=7)
    axes.tick_params(labelsize=6.5)
    axes.legend(loc="upper left", fontsize=6.5)


def _data(boxes: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Make a row per box: its level is x, the bytes that its events wrote the value."""
    frame = pd.DataFrame(
        {
            "series": boxes.type,
            "engine": boxes.engine,
            "x": boxes.level,
            "repetition": boxes.repetition,
            "value": boxes.bytes_written / MEBIBYTE,
            "low": boxes.start_s,
            "high": boxes.end_s,
        }
    )
    return frame.assign(panel=panel, source=EVENT, unit="MiB").reindex(columns=rows.DATA_COLUMNS)
