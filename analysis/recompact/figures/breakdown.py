"""Where the time of a sequential compaction goes: PCP Fig. 5, 8 and 9."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.axes
import pandas as pd

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure, along_of
from recompact.results import Results

LEGIBLE_SHARE = 0.06  # a smaller part of a bar has no room for its number
READ, WRITE, COMPUTE = style.PALETTE[0], style.PALETTE[1], style.PALETTE[2]
# Series -> metric and colour, from the bottom of a bar to its top.
STAGES = {
    "read": ("step_read_share", READ),
    "compute": ("compute_share", COMPUTE),
    "write": ("step_write_share", WRITE),
}
STEPS = {
    "S1 read": ("step_read_share", READ),
    "S2 CRC": ("step_crc_share", style.PALETTE[7]),
    "S3 decompress": ("step_decompress_share", style.PALETTE[8]),
    "S4 sort": ("step_sort_share", COMPUTE),
    "S5 compress": ("step_compress_share", style.PALETTE[4]),
    "S6 re-CRC": ("step_recrc_share", style.PALETTE[6]),
    "S7 write": ("step_write_share", WRITE),
}


def stage_breakdown(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the shares of the three stages, a bar per experiment and one for the paper's.

    The paper's numbers are declared at the id of the device that they belong beside.
    """
    frames = []
    names = [str(results.device(experiment)["id"]) for experiment in entry.experiments]
    for experiment, name in zip(entry.experiments, names, strict=True):
        for series, (metric, _) in STAGES.items():
            shares = results.select(experiment, metric, engines=[entry.engine])
            shares = shares.assign(x=name)
            frames.append(rows.measured(shares, x="x", panel="stages", series=series, unit="1"))
    stated = entry.paper_data.values if entry.paper_data else {}
    for series, values in stated.items():
        frames.append(rows.stated(values, panel="stages", series=series, unit="1"))
    data = rows.combine(frames)
    figure, (axes,) = style.new_figure(1, width=6.2, height=3.8)
    ours = data[data.source == rows.MEDIAN]
    paper = data[data.source == rows.PAPER].assign(x="paper")
    positions = {name: place for place, name in enumerate([*names, "paper"])}
    bars = pd.concat([ours, paper])
    _stack(axes, bars, positions, {series: colour for series, (_, colour) in STAGES.items()}, 8)
    axes.set_xticks(list(positions.values()), list(positions))
    _finish(axes, "share of a compaction's steps")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def step_breakdown(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the shares of the seven steps over a sweep, a panel per experiment."""
    along = along_of(entry)
    frames = []
    names = [str(results.device(experiment)["id"]) for experiment in entry.experiments]
    for experiment, name in zip(entry.experiments, names, strict=True):
        for series, (metric, _) in STEPS.items():
            shares = results.select(experiment, metric, engines=[entry.engine])
            frames.append(rows.measured(shares, x=along.key, panel=name, series=series, unit="1"))
    data = rows.combine(frames)
    figure, panels = style.new_figure(len(names), width=3.6 * len(names) + 1.2, height=3.9)
    colours = {series: colour for series, (_, colour) in STEPS.items()}
    for axes, name in zip(panels, names, strict=True):
        here = data[(data.panel == name) & (data.source == rows.MEDIAN)]
        positions = {x: place for place, x in enumerate(sorted(here.x.unique()))}
        _stack(axes, here, positions, colours, 6.5)
        axes.set_xticks(list(positions.values()), [f"{x:g}" for x in positions])
        axes.set_xlabel(along.label)
        axes.set_title(name)
    _finish(panels[-1], "")
    panels[0].set_ylabel("share of a compaction's steps")
    for axes in panels:
        axes.grid(axis="x", visible=False)
        axes.set_ylim(0, 1)
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def _stack(
    axes: matplotlib.axes.Axes,
    data: pd.DataFrame,
    positions: Mapping[Any, int],
    colours: Mapping[str, str],
    points: float,
) -> None:
    """Stack the series of each x; shares that leave room have their number, in `points`."""
    below = dict.fromkeys(positions, 0.0)
    for series, colour in colours.items():
        values = data[data.series == series].set_index("x").value
        heights = [float(values.get(x, 0.0)) for x in positions]
        axes.bar(
            list(positions.values()),
            heights,
            bottom=list(below.values()),
            width=0.78,
            color=colour,
            edgecolor="white",
            linewidth=0.6,
            label=series,
        )
        for (x, place), height in zip(positions.items(), heights, strict=True):
            if height >= LEGIBLE_SHARE:
                middle = below[x] + height / 2
                text = f"{height * 100:.0f}"
                axes.text(place, middle, text, ha="center", va="center", fontsize=points)
            below[x] += height


def _finish(axes: matplotlib.axes.Axes, label: str) -> None:
    """Name the parts beside the bars, in the order in which they lie upon each other."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.01, 0.5))
    axes.grid(axis="x", visible=False)
    axes.set_ylim(0, 1)
    axes.set_ylabel(label)
