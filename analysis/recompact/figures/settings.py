"""What an engine that chooses its setting reaches, beside the best that is fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.axes
import pandas as pd

from recompact.declarations import DeclarationError
from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import MissingCell, Results

FIXED, ADAPTIVE = "pcp", "pcp_adaptive"
BANDWIDTH = "compaction_bandwidth_bytes_s"
SETTING = ("subtask_kib", "threads")


def adaptive_settings(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw bandwidth over that of the best fixed setting, a panel per experiment.

    The best is that with the largest median; ratios are paired by repetition. The adaptive engine
    stands at the setting that it began with; the band is the declared tolerance.
    """
    if entry.tolerance is None:
        raise DeclarationError(f"figures.yaml: {entry.id}: tolerance is missing; declare it")
    figure, panels = style.new_figure(
        len(entry.experiments), width=2.7 * len(entry.experiments) + 2.2, height=4.0
    )
    frames = []
    for axes, experiment in zip(panels, entry.experiments, strict=True):
        device = results.device(experiment)
        ratios = over_best(results.select(experiment, BANDWIDTH), experiment)
        data = rows.measured(
            ratios, x="setting", panel=str(device["id"]), series="over the best fixed", unit="1"
        )
        frames.append(data)
        settings = list(dict.fromkeys(ratios.sort_values(list(SETTING)).setting))
        axes.axhspan(
            1 - entry.tolerance,
            1,
            color=style.MODEL_COLOUR,
            alpha=0.2,
            linewidth=0,
            label=f"within {entry.tolerance:.0%} of the best",
        )
        _points(axes, data, settings, styles)
        axes.set_xticks(range(len(settings)), settings, rotation=90)
        axes.set_xlim(-0.6, len(settings) - 0.4)
        axes.set_ylim(0, axes.get_ylim()[1] * 1.06)
        axes.grid(axis="x", visible=False)
        axes.set_xlabel("sub-task, compute threads")
        axes.set_title(str(device["id"]))
    panels[0].set_ylabel("compaction bandwidth,\nover the best fixed setting")
    panels[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def over_best(values: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Divide by the value of the best fixed setting of the same repetition, and name settings.

    Raises
    ------
    MissingCell
        If no fixed setting was measured.
    """
    points = zip(*(values[key] for key in SETTING), strict=True)
    named = values.assign(setting=[f"{size:g} KiB, {threads:g}" for size, threads in points])
    fixed = named[named.engine == FIXED]
    if fixed.empty:
        raise MissingCell(f"experiment {experiment} has no fixed setting")
    best = fixed.groupby("setting").value.median().idxmax()
    of_best = fixed[fixed.setting == best][["repetition", "value"]]
    paired = named.merge(of_best, on="repetition", suffixes=("", "_best"))
    return paired.assign(value=paired.value / paired.value_best)


def _points(
    axes: matplotlib.axes.Axes,
    data: pd.DataFrame,
    settings: Sequence[str],
    styles: Mapping[str, EngineStyle],
) -> None:
    for shift, engine in ((-0.14, FIXED), (0.14, ADAPTIVE)):
        one = data[data.engine == engine]
        style.draw_series(
            axes,
            one.assign(x=[settings.index(x) + shift for x in one.x]),
            label=styles[engine].label,
            colour=styles[engine].colour,
            marker=styles[engine].marker,
            connected=False,
        )
