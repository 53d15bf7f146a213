"""Figures of declared metrics over a sweep: lines, or bars beside the paper's values."""

from __future__ import annotations

import math
from collections.abc import Mapping

import matplotlib.axes
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from recompact.declarations import DeclarationError
from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import Axes, EngineStyle, Figure, Series, Sweep
from recompact.results import MissingCell, Results

UNIT_FACTORS = {"1": 1.0, "ops/s": 1.0, "1/s": 1.0, "us": 1.0, "ms": 1e-3, "s": 1e-6}
UNIT_FACTORS |= {"MB/s": 1e-6, "KiB": 2.0**-10, "GiB": 2.0**-30}

# Of the series of a row of dots: marker, and whether it is filled.
DOTS = (("o", True), ("o", False), ("s", True), ("x", True))
DOTS_APART = 0.13  # of rows
# Of a legend beside several panels, inches.
LEGEND_WIDTH = 1.8
# Of a legend inside a panel.
LEGEND_COLUMNS = 3


def sweep_of(entry: Figure) -> Sweep:
    """Get the sweep of a figure that must have one."""
    if entry.sweep is None:
        raise DeclarationError(f"figures.yaml: {entry.id}: sweep is missing; declare it")
    return entry.sweep


def sweep_data(results: Results, entry: Figure) -> pd.DataFrame:
    """Collect the declared series and the paper's values; rows as in `DATA_COLUMNS`."""
    sweep = sweep_of(entry)
    frames = []
    for axes in sweep.axes:
        for series in axes.series:
            frames.append(
                rows.measured(
                    _values(results, series, sweep.key, axes.over),
                    x=sweep.key,
                    panel=axes.label,
                    series=series.label,
                    unit=axes.unit,
                    factor=UNIT_FACTORS[axes.unit],
                )
            )
        stated = entry.paper_data.values if entry.paper_data else {}
        for label in dict.fromkeys(series.label for series in axes.series):
            if label in stated:
                frames.append(
                    rows.stated(stated[label], panel=axes.label, series=label, unit=axes.unit)
                )
    return rows.combine(frames)


def lines_over_sweep(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw each panel's metrics as lines over the sweep, with the paper's values as markers."""
    sweep = sweep_of(entry)
    data = sweep_data(results, entry)
    alike = _legends_are_alike(sweep, data)
    width = max(3.6 * len(sweep.axes), 4.6) + 1.8 * alike
    figure, panels = style.new_figure(len(sweep.axes), width=width)
    for axes, declared in zip(panels, sweep.axes, strict=True):
        here = data[data.panel == declared.label]
        for place, series in enumerate(declared.series):
            one = here[here.series == series.label]
            for engine in one.engine.dropna().unique():
                look = styles[engine]
                style.draw_series(
                    axes,
                    one[one.engine == engine],
                    label=look.label if alike else f"{look.label}: {series.label}",
                    colour=look.colour if place == 0 else style.PALETTE[place],
                    marker=look.marker if place == 0 else "^",
                )
        _draw_neutral(axes, declared)
        paper = here[here.source == rows.PAPER]
        if not paper.empty:
            style.draw_paper(axes, list(paper.x.astype(float)), list(paper.value), label="paper")
        if sweep.logarithmic:
            axes.set_xscale("log")
        style.sweep_ticks(axes, sorted({float(x) for x in here.x}))
        axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
        axes.set_xlabel(sweep.label)
        axes.set_ylabel(axis_label(declared.label, declared.unit))
        if not alike:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
    if alike:
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def _legends_are_alike(sweep: Sweep, data: pd.DataFrame) -> bool:
    """Tell whether all of several panels have one series of the same engines."""
    engines = [
        tuple(data[data.panel == axes.label].engine.dropna().unique())
        for axes in sweep.axes
        if len(axes.series) == 1
    ]
    return len(engines) == len(sweep.axes) > 1 and len(set(engines)) == 1


def bars_by_engine(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw each panel's metric as bars, engines side by side, with the paper's values on them.

    Points of the sweep are named, not numbers: workloads, or request counts.
    """
    sweep = sweep_of(entry)
    data = sweep_data(results, entry)
    measured = {str(x): x for x in data[data.source == rows.MEDIAN].x}
    names = [
        name
        for name in sweep.order or sorted(measured, key=lambda name: measured[name])
        if name in measured
    ]
    width = max(6.5, len(sweep.axes) * max(2.6, 1.2 + 0.55 * len(names)))
    if len(sweep.axes) > 1:
        width += LEGEND_WIDTH
    figure, panels = style.new_figure(len(sweep.axes), width=width)
    for axes, declared in zip(panels, sweep.axes, strict=True):
        here = data[(data.panel == declared.label) & data.x.astype(str).isin(names)]
        here = here.assign(x=[names.index(str(x)) for x in here.x])
        engines = [name for name in styles if name in set(here.engine.dropna())]
        width = 0.8 / len(engines)
        shifts = {
            engine: (place - (len(engines) - 1) / 2) * width for place, engine in enumerate(engines)
        }
        for engine, shift in shifts.items():
            one = here[here.engine == engine]
            look = styles[engine]
            draw_bars(
                axes, one.assign(x=one.x + shift), width=width, label=look.label, colour=look.colour
            )
        _draw_neutral(axes, declared)
        paper = here[here.source == rows.PAPER]
        if not paper.empty:
            # A ratio is of the paper's own engine.
            shift = shifts.get(entry.paper.lower(), 0.0) if declared.over is not None else 0.0
            style.draw_paper(axes, list(paper.x + shift), list(paper.value), label="paper")
            axes.legend(
                [axes.collections[-1]], ["paper"], loc="lower right", bbox_to_anchor=(1, 1.0)
            )
        crowded = sum(len(name) for name in names) > 34
        axes.set_xticks(range(len(names)), names, rotation=30 if crowded else 0)
        axes.grid(axis="x", visible=False)
        axes.set_xlabel(sweep.label)
        axes.set_ylabel(axis_label(declared.label, declared.unit))
    # Not every panel has every engine.
    shown = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if len(panels) == 1:
        panels[0].legend(
            list(shown.values()), list(shown), loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2
        )
    else:
        figure.legend(list(shown.values()), list(shown), loc="outside right center")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def dots_by_engine(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw each panel's series as dots on a logarithmic axis, a row per engine.

    Series differ by their marks, engines by their colours. The axis of a panel is what the sweep is
    called; of a panel of ratios a line stands at 1.
    """
    sweep = sweep_of(entry)
    if any(len(axes.series) > len(DOTS) for axes in sweep.axes):
        raise DeclarationError(
            f"figures.yaml: {entry.id}: dots_by_engine has marks for {len(DOTS)} series of a "
            f"panel; remove some"
        )
    data = sweep_data(results, entry)
    engines = [name for name in styles if name in set(data.engine.dropna())]
    figure, panels = style.new_figure(
        len(sweep.axes),
        width=2.0 + 2.9 * len(sweep.axes) + LEGEND_WIDTH,
        height=1.7 + 0.24 * len(engines),
    )
    legend = {}
    reach = (min(data.value.min(), 1) / 1.2, max(data.value.max(), 1) * 1.2)
    for axes, declared in zip(panels, sweep.axes, strict=True):
        here = data[data.panel == declared.label]
        if declared.unit == "1":
            axes.axvline(1, color=style.MODEL_COLOUR, linestyle="--", linewidth=1)
        for number, series in enumerate(declared.series):
            marker, filled = DOTS[number]
            one = here[here.series == series.label]
            for engine in one.engine.dropna().unique():
                place = engines.index(engine) + (number - 1) * DOTS_APART
                _draw_dots(axes, one[one.engine == engine], place, styles[engine], marker, filled)
            face = style.MODEL_COLOUR if filled else "white"
            legend[series.label] = Line2D(
                *([], []),
                marker=marker,
                linewidth=0,
                color=style.MODEL_COLOUR,
                markerfacecolor=face,
                label=series.label,
            )
        axes.set_xscale("log")
        axes.set_xlim(*reach)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        style.plain_log_ticks(axes.xaxis)
        axes.minorticks_off()
        axes.set_ylim(len(engines) - 0.5, -0.5)
        shown = [styles[name].label for name in engines] if axes is panels[0] else []
        axes.set_yticks(range(len(engines)), shown or [""] * len(engines))
        axes.set_title(declared.label)
        axes.set_xlabel(axis_label(sweep.label, declared.unit))
    figure.legend(handles=list(legend.values()), loc="outside right center")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def _draw_dots(
    axes: matplotlib.axes.Axes,
    data: pd.DataFrame,
    place: float,
    look: EngineStyle,
    marker: str,
    filled: bool,
) -> None:
    """Draw one series of one engine: its median with interval, and small dots of repetitions."""
    runs, median = data[data.source == rows.RUN], data[data.source == rows.MEDIAN]
    axes.scatter(runs.value, [place] * len(runs), s=7, color=look.colour, alpha=0.5, linewidths=0)
    axes.errorbar(
        median.value,
        [place],
        xerr=style.spread(median),
        color=look.colour,
        marker=marker,
        markersize=6,
        markerfacecolor=look.colour if filled else "white",
        elinewidth=1,
        linewidth=0,
        capsize=2.5,
    )


def _draw_neutral(axes: matplotlib.axes.Axes, declared: Axes) -> None:
    """Draw where two engines are alike, on a panel of ratios."""
    if declared.over is not None:
        axes.axhline(1, color=style.MODEL_COLOUR, linestyle="--", linewidth=1)


def bars_over_sweep(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw one panel's metrics as bars, with the paper's values as markers on them.

    Sizes that the paper measured and this scale did not have the paper's marker only.
    """
    sweep = sweep_of(entry)
    declared, *others = sweep.axes
    if others:
        raise DeclarationError(
            f"figures.yaml: {entry.id}: bars_over_sweep draws one panel; make {others[0].label!r} "
            f"a figure of its own"
        )
    data = sweep_data(results, entry)
    positions = {x: place for place, x in enumerate(sorted({float(x) for x in data.x}))}
    figure, (axes,) = style.new_figure(1)
    width = 0.8 / len(declared.series)
    for place, series in enumerate(declared.series):
        shift = (place - (len(declared.series) - 1) / 2) * width
        one = data[data.series == series.label]
        one = one.assign(x=[positions[float(x)] + shift for x in one.x])
        engine = one.engine.dropna().iloc[0]
        colour = styles[engine].colour if place == 0 else style.PALETTE[place]
        draw_bars(axes, one, width=width, label=series.label, colour=colour)
        paper = one[one.source == rows.PAPER]
        style.draw_paper(axes, list(paper.x), list(paper.value), label=None, colour=colour)
    if entry.paper_data:
        style.draw_paper(axes, [], [], label="paper")
    axes.set_xticks(list(positions.values()), [f"{x:g}" for x in positions])
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(sweep.label)
    axes.set_ylabel(axis_label(declared.label, declared.unit))
    legend = axes.legend(loc="upper left", ncols=LEGEND_COLUMNS)
    legend_rows = math.ceil(len(legend.get_texts()) / LEGEND_COLUMNS)
    axes.set_ylim(top=axes.get_ylim()[1] * (1 + 0.09 * legend_rows))
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def scale_models(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw a metric over the scale factor, with the declared tolerance around the largest tree."""
    sweep = sweep_of(entry)
    if entry.tolerance is None:
        raise DeclarationError(f"figures.yaml: {entry.id}: tolerance is missing; declare it")
    declared = sweep.axes[0]
    data = sweep_data(results, entry)
    medians = data[data.source == rows.MEDIAN]
    largest = medians.iloc[int(medians.x.astype(float).argmin())]
    figure, (axes,) = style.new_figure(1)
    axes.axhspan(
        largest.value * (1 - entry.tolerance),
        largest.value * (1 + entry.tolerance),
        color=style.MODEL_COLOUR,
        alpha=0.18,
        linewidth=0,
        label=f"±{entry.tolerance:.0%} of factor {largest.x:g}",
    )
    for engine in medians.engine.unique():
        look = styles[engine]
        style.draw_series(
            axes,
            data[data.engine == engine],
            label=look.label,
            colour=look.colour,
            marker=look.marker,
        )
    axes.set_xscale("log", base=2)
    style.sweep_ticks(axes, sorted({float(x) for x in data.x}))
    values = pd.concat([data.value, data.low, data.high]).dropna()
    reach = max(abs(np.log(values / largest.value)).max(), entry.tolerance) * 1.8
    axes.set_ylim(largest.value * np.exp(-reach), largest.value * np.exp(reach))
    axes.set_xlabel(sweep.label)
    axes.set_ylabel(axis_label(declared.label, declared.unit))
    axes.legend(loc="upper right")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def _values(results: Results, series: Series, key: str, over: str | None) -> pd.DataFrame:
    values = results.select(
        series.experiment,
        series.metric,
        phase=series.phase,
        engines=series.engines,
        where=series.where,
    )
    if series.per is not None:
        below = results.select(
            series.experiment,
            series.per.metric,
            phase=series.per.phase,
            engines=series.engines,
            where=series.where,
        )
        values = values.assign(value=values.value / values.run.map(below.set_index("run").value))
    if over is not None:
        below = values[values.engine == over][["repetition", key, "value"]]
        others = values[values.engine != over]
        values = others.merge(below, on=["repetition", key], suffixes=("", "_below"))
        if values.empty:
            raise MissingCell(
                f"experiment {series.experiment} has no engine beside {over} in one repetition"
            )
        return values.assign(value=values.value / values.value_below)
    return values.assign(value=values.value * values.scale_factor) if series.scaled_up else values


def draw_bars(
    axes: matplotlib.axes.Axes, data: pd.DataFrame, *, width: float, label: str, colour: str
) -> None:
    """Draw one series as bars of its medians, with intervals and all repetitions on them."""
    medians = data[data.source == rows.MEDIAN]
    runs = data[data.source == rows.RUN]
    axes.bar(medians.x, medians.value, width=width * 0.92, color=colour, label=label, alpha=0.8)
    with_interval = medians.dropna(subset=["low", "high"])
    axes.errorbar(
        with_interval.x,
        with_interval.value,
        yerr=style.spread(with_interval),
        fmt="none",
        ecolor=style.PAPER_COLOUR,
        elinewidth=1,
        capsize=2.5,
        zorder=3,
    )
    if len(runs) > len(medians):
        axes.scatter(
            runs.x, runs.value, s=9, color=style.PAPER_COLOUR, alpha=0.6, linewidths=0, zorder=3
        )


def axis_label(label: str, unit: str) -> str:
    return label if unit == "1" else f"{label} ({unit})"
