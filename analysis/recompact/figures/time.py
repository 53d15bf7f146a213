"""What was simulated beside what was measured, of the same runs in real time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.real_time import SIMULATED_HERE, distance, simulated_over_real
from recompact.results import MissingCell, Results
from recompact.statistics import percent


def simulated_beside_real(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw every phase's simulated value over its real one, a row per metric and device.

    Bars reach from the tenth to the ninetieth of a hundred phases; beside them stand the median
    distance and that which nine in ten phases do not exceed.
    """
    frames = []
    for experiment in entry.experiments:
        if experiment.endswith(SIMULATED_HERE):
            continue
        device = str(results.device(experiment)["id"])
        for metric in entry.metrics:
            ratios = simulated_over_real(results, experiment, metric)
            frames.append(
                rows.measured(
                    ratios.assign(repetition=1),
                    x="place",
                    panel=metric,
                    series=device,
                    unit="1",
                )
            )
    data = rows.combine(frames)
    runs = data[data.source == rows.RUN]
    cells = list(dict.fromkeys(zip(runs.panel, runs.series, strict=True)))
    if not cells:
        raise MissingCell(f"{', '.join(entry.experiments)}: no phase was measured and simulated")
    figure, (axes,) = style.new_figure(1, width=7.5, height=0.3 * len(cells) + 1.9)
    for height, cell in enumerate(reversed(cells)):
        ratios = runs[(runs.panel == cell[0]) & (runs.series == cell[1])]
        low, high = np.quantile(ratios.value, [0.1, 0.9])
        axes.barh(height, high - low, left=low, height=0.7, color=style.MODEL_COLOUR, alpha=0.2)
        for engine, one in ratios.groupby("engine"):
            axes.scatter(
                one.value,
                height + np.linspace(-0.25, 0.25, len(one)),
                s=9,
                color=styles[str(engine)].colour,
                marker=styles[str(engine)].marker,
                linewidths=0,
                label=styles[str(engine)].label,
            )
        median, most = np.quantile(distance(ratios.value), [0.5, 0.9])
        axes.text(
            1.01,
            height,
            f"{percent(median)}, {percent(most)}",
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=7,
        )
    axes.axvline(1, color=style.PAPER_COLOUR, linewidth=0.8)
    axes.set_xscale("log")
    style.plain_log_ticks(axes.xaxis)
    axes.set_yticks(
        range(len(cells)), [f"{metric}, {device}" for metric, device in reversed(cells)]
    )
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(
        "simulated over real; at the right the median distance, and that of nine in ten"
    )
    handles, labels = axes.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named, loc="outside right center", fontsize=7)
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)
