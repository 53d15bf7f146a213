"""How far identical runs differ."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import MissingCell, Results
from recompact.statistics import percent
from recompact.tables import NOISE_PHASES

FLOOR = "noise floor"


def noise_ratios(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the difference of each pair of identical runs per metric, and the noise floor."""
    frames = []
    for metric in entry.metrics:
        for experiment in entry.experiments:
            frames += _ratios(results, experiment, metric, styles)
        floor = results.noise_floor(metric, entry.experiments[0])
        if floor is not None:
            frames.append(
                rows.stated({metric: floor}, panel=FLOOR, series=FLOOR, unit="1", source=FLOOR)
            )
    if not frames:
        names = ", ".join(entry.experiments)
        raise MissingCell(f"experiments {names} have no pairs of {', '.join(entry.metrics)}")
    data = rows.combine(frames)
    figure, (axes,) = style.new_figure(1, height=0.36 * len(entry.metrics) + 1.7)
    height = {metric: len(entry.metrics) - 1 - i for i, metric in enumerate(entry.metrics)}
    pairs = data[data.source == rows.RUN]
    floors = data[data.source == FLOOR]
    differences = np.expm1(np.abs(np.log(pairs.value)))
    values = pd.concat([differences, floors.value])
    smallest = float(values[values > 0].min()) / 2
    axes.barh(
        [height[x] for x in floors.x],
        floors.value - smallest,
        left=smallest,
        height=0.62,
        color=style.MODEL_COLOUR,
        alpha=0.25,
        label="noise floor",
    )
    for x, floor in zip(floors.x, floors.value, strict=True):
        axes.text(
            0.99,
            height[x],
            percent(floor),
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=7,
        )
    for place, (series, one) in enumerate(pairs.groupby("series")):
        axes.scatter(
            differences[one.index].clip(lower=smallest),
            [height[x] + 0.16 * (place - 1) for x in one.x],
            s=16,
            marker="os^Dv"[place % 5],
            color=style.PALETTE[place],
            alpha=0.8,
            linewidths=0,
            label=series,
            zorder=3,
        )
    axes.set_xscale("log")
    axes.set_xlim(smallest, float(values.max()) * 8)
    style.plain_log_ticks(axes.xaxis, percent)
    axes.set_yticks(list(height.values()), list(height))
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("difference of the two runs of a pair (larger over smaller, less 1)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2)
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def _ratios(
    results: Results, experiment: str, metric: str, styles: Mapping[str, EngineStyle]
) -> list[pd.DataFrame]:
    """Make rows of the ratios of copies of one engine, and of first copies of two engines."""
    frames = []
    first: dict[str, pd.Series] = {}
    for engine in results.planned(experiment).engine.unique():
        values = _first_phase(results, experiment, metric, engine)
        if values is None:
            continue
        wide = values.pivot(index="repetition", columns="copy", values="value")
        first[engine] = wide[1]
        if 2 in wide:
            label = f"{styles[engine].label}, twice"
            frames.append(_pairs(wide[2] / wide[1], metric, label, engine))
    if len(first) > 1:
        (one, a), (other, b) = list(first.items())[:2]
        label = f"{styles[other].label} over {styles[one].label}"
        frames.append(_pairs(b / a, metric, label, None))
    return frames


def _first_phase(
    results: Results, experiment: str, metric: str, engine: str
) -> pd.DataFrame | None:
    """Select a metric from the first phase that has it; None if none has."""
    for phase in NOISE_PHASES:
        try:
            return results.select(experiment, metric, engines=[engine], phase=phase)
        except MissingCell:  # upstream as released does not count what the seams count
            continue
    return None


def _pairs(ratio: pd.Series, metric: str, label: str, engine: str | None) -> pd.DataFrame:
    ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
    frame = pd.DataFrame({"repetition": ratio.index, "value": ratio.to_numpy()})
    return frame.assign(
        panel="ratio", series=label, source=rows.RUN, engine=engine, x=metric, unit="1"
    ).reindex(columns=rows.DATA_COLUMNS)
