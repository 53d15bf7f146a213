"""Engines on workloads that no paper has together: heat maps, and who is beaten by nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import TwoSlopeNorm
from matplotlib.lines import Line2D

from recompact.declarations import DeclarationError
from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import Axes, EngineStyle, Figure, Series
from recompact.figures.sweeps import UNIT_FACTORS, axis_label, sweep_of
from recompact.results import MissingCell, Results, Untold

BASELINE = "leveldb"
LARGEST = 4.0  # factor at which the colours end
PANELS_OF_A_ROW = 3


def more_is_better(metric: str) -> bool:
    """Tell whether an engine wants more of a metric; of all but rates it wants less."""
    return metric.endswith(("_ops_s", "_bytes_s"))


def engine_matrix(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw a heat map: a row per engine, a column per declared axes, a colour per ratio to UDC.

    Blue is better than UDC and red worse, whichever way the metric goes; white is what differs by
    no more than identical runs do, and what an engine does not tell is left blank. Cells hold
    medians.
    """
    sweep = sweep_of(entry)
    frames, ratios, texts = [], {}, {}
    for axes in sweep.axes:
        (series,) = axes.series
        data = _measured(results, axes, series)
        frames.append(data)
        medians = data[data.source == rows.MEDIAN].set_index("engine").value
        if BASELINE not in medians:
            raise DeclarationError(f"figures.yaml: {entry.id}: {BASELINE} tells no {axes.label}")
        name = axis_label(axes.label, axes.unit)
        ratio = medians / medians[BASELINE]
        ratio = ratio if more_is_better(series.metric) else 1 / ratio
        ratios[name] = beyond_noise(np.log(ratio), _floors(results, series, ratio.index))
        texts[name] = medians.map(_short)
    order = [name for name in styles if any(name in column for column in ratios.values())]
    colours = pd.DataFrame(ratios).reindex(order)
    figure, (heat,) = style.new_figure(
        1, width=2.2 + 0.62 * len(sweep.axes), height=2.4 + 0.32 * len(order)
    )
    limit = np.log(LARGEST)
    sns.heatmap(
        colours.clip(-limit, limit),
        annot=pd.DataFrame(texts).reindex(order).fillna(""),
        fmt="",
        annot_kws={"fontsize": 6.5},
        cmap="vlag_r",
        norm=TwoSlopeNorm(0, -limit, limit),
        linewidths=0.5,
        yticklabels=[styles[name].label for name in order],
        cbar_kws={"label": f"against {styles[BASELINE].label}"},
        ax=heat,
    )
    marks = [1 / LARGEST, 0.5, 1, 2, LARGEST]
    bar = heat.collections[0].colorbar
    assert bar is not None  # seaborn drew one
    bar.set_ticks([float(np.log(mark)) for mark in marks], labels=[_times(mark) for mark in marks])
    heat.tick_params(axis="y", rotation=0)
    heat.tick_params(axis="x", rotation=60)
    for label in heat.get_xticklabels():
        label.set_horizontalalignment("right")
        label.set_rotation_mode("anchor")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def beyond_noise(logs: pd.Series[float], floors: pd.Series[float]) -> pd.Series[float]:
    """Set logarithms of ratios to zero that are within their noise floor, a relative difference."""
    return logs.where(logs.abs() > np.log1p(floors), 0.0).where(logs.notna())


def pareto_fronts(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw two metrics against each other per panel, as ratios to UDC, and mark the front.

    Each axes has two series: what lies on the x axis and what on the y axis. An engine is on the
    front if no other is as good in both and better in one, where better is by more than identical
    runs differ.
    """
    sweep = sweep_of(entry)
    figure, panels = style.new_grid(len(sweep.axes), PANELS_OF_A_ROW)
    frames, drawn = [], {}
    for axes, declared in zip(panels, sweep.axes, strict=True):
        pair = [_ratios(results, declared, series) for series in declared.series]
        frames += pair
        x, y = (one[one.source == rows.MEDIAN].set_index("engine") for one in pair)
        both = [name for name in styles if name in x.index and name in y.index]
        front = unbeaten(
            [
                np.log(one.value[both]) * (1 if more_is_better(series.metric) else -1)
                for series, one in zip(declared.series, (x, y), strict=True)
            ],
            [_floors(results, series, both) for series in declared.series],
        )
        for name in both:
            look = styles[name]
            axes.errorbar(
                x.value[name],
                y.value[name],
                xerr=style.spread(x.loc[[name]]),
                yerr=style.spread(y.loc[[name]]),
                color=look.colour,
                marker=look.marker,
                markersize=8 if name in front else 5,
                markeredgecolor=style.PAPER_COLOUR if name in front else look.colour,
                markeredgewidth=1.2 if name in front else 0.5,
                elinewidth=0.8,
                linewidth=0,
            )
            drawn[name] = Line2D(
                [], [], color=look.colour, marker=look.marker, linewidth=0, label=look.label
            )
        on_front = sorted(front, key=lambda name: x.value[name])
        axes.plot(
            x.value[on_front],
            y.value[on_front],
            color=style.MODEL_COLOUR,
            linewidth=0.8,
            linestyle="--",
            zorder=1,
        )
        axes.set_title(declared.label)
        axes.set_xlabel(_ratio_label(declared.series[0]))
        axes.set_ylabel(_ratio_label(declared.series[1]))
        axes.axhline(1, color=style.MODEL_COLOUR, linewidth=0.5)
        axes.axvline(1, color=style.MODEL_COLOUR, linewidth=0.5)
        for axis in (axes.xaxis, axes.yaxis):
            style.plain_log_ticks(axis)
    figure.legend(handles=list(drawn.values()), loc="outside right upper")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def unbeaten(logs: Sequence[pd.Series[float]], floors: Sequence[pd.Series[float]]) -> list[str]:
    """Name the engines that no other one beats: is as good in each metric, and better in one.

    Parameters
    ----------
    logs : sequence of Series
        A logarithm per engine for each metric; more is better.
    floors : sequence of Series
        The noise floor of each engine for each metric, a relative difference.
    """
    front = []
    for name in logs[0].index:
        leads = pd.DataFrame(
            beyond_noise(log - log[name], floor.clip(lower=floor[name]))
            for log, floor in zip(logs, floors, strict=True)
        )
        if not ((leads >= 0).all() & (leads > 0).any()).any():
            front.append(str(name))
    return front


def _floors(results: Results, series: Series, engines: Iterable[str]) -> pd.Series[float]:
    """Collect the noise floor of a metric for each engine, a relative difference."""
    return pd.Series(
        {engine: results.noise_floor(series.metric, series.experiment) or 0.0 for engine in engines}
    )


def _measured(results: Results, axes: Axes, series: Series) -> pd.DataFrame:
    """Collect a metric of those engines that tell it."""
    told = []
    for engine in results.planned(series.experiment).engine.unique():
        try:
            one = results.select(
                series.experiment, series.metric, phase=series.phase, engines=[engine]
            )
        except Untold:
            continue  # RocksDB has no counter for it
        told.append(one)
    if not told:
        raise MissingCell(f"experiment {series.experiment}: no run tells {series.metric}")
    values = pd.concat(told)
    if series.scaled_up:
        values = values.assign(value=values.value * values.scale_factor)
    return rows.measured(
        values.assign(x=series.phase),
        x="x",
        panel=axes.label,
        series=series.label,
        unit=axes.unit,
        factor=UNIT_FACTORS[axes.unit],
    )


def _ratio_label(series: Series) -> str:
    better = "more" if more_is_better(series.metric) else "less"
    return f"{series.label} over UDC's\n({better} is better)"


def _ratios(results: Results, axes: Axes, series: Series) -> pd.DataFrame:
    """Collect a metric as ratios to UDC's of the same repetition."""
    values = results.select(series.experiment, series.metric, phase=series.phase)
    below = values[values.engine == BASELINE].set_index("repetition").value
    ratio = values.value / values.repetition.map(below)
    return rows.measured(
        values.assign(value=ratio, x=series.phase),
        x="x",
        panel=axes.label,
        series=series.label,
        unit="1",
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _times(ratio: float) -> str:
    if ratio == 1:
        return "equal"
    return f"{ratio:g} x better" if ratio > 1 else f"{1 / ratio:g} x worse"
