"""LDC Table I: where the time of a write-only run goes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import Results

GROUPS, MODULES = "the paper's groups", "modules"


def time_by_module(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw the shares by the paper's function groups, beside the paper's, and by module.

    The paper's are of its baseline.
    """
    (experiment,) = entry.experiments
    profile = results.rows("profile", experiment, profiled=entry.profiled)
    frames = [
        _shares(profile, "function_group", GROUPS),
        _shares(profile, "module", MODULES),
    ]
    stated = entry.paper_data.values["share"] if entry.paper_data else {}
    frames.append(rows.stated(stated, panel=GROUPS, series="share", unit="1"))
    data = rows.combine(frames)
    figure, panels = style.new_figure(2, width=7.2, height=3.2)
    for axes, panel in zip(panels, (GROUPS, MODULES), strict=True):
        here = data[data.panel == panel]
        medians = here[here.source == rows.MEDIAN].sort_values("value", ascending=False)
        order = list(dict.fromkeys([*stated, *medians.x] if panel == GROUPS else medians.x))
        height = {name: len(order) - 1 - place for place, name in enumerate(order)}
        engines = [name for name in styles if name in set(medians.engine)]
        thickness = 0.8 / len(engines)
        for place, engine in enumerate(engines):
            look = styles[engine]
            shift = ((len(engines) - 1) / 2 - place) * thickness
            one = medians[medians.engine == engine]
            axes.barh(
                [height[x] + shift for x in one.x],
                one.value * 100,
                height=thickness * 0.92,
                color=look.colour,
                alpha=0.8,
                label=look.label,
            )
            runs = here[(here.source == rows.RUN) & (here.engine == engine)]
            if len(runs) > len(one):
                axes.scatter(
                    runs.value * 100,
                    [height[x] + shift for x in runs.x],
                    s=9,
                    color=style.PAPER_COLOUR,
                    alpha=0.6,
                    linewidths=0,
                    zorder=3,
                )
        paper = here[here.source == rows.PAPER]
        if not paper.empty:
            values = list(paper.value * 100)
            style.draw_paper(axes, values, [height[x] for x in paper.x], label="paper")
        axes.legend(loc="lower right")
        axes.set_yticks(list(height.values()), list(height))
        axes.grid(axis="y", visible=False)
        axes.set_xlim(left=0)
        axes.set_xlabel("share of samples (%)")
        axes.set_title(f"by {panel}")
    style.finish(
        figure,
        f"{entry.panel}: {entry.title}",
        results.stamp(entry.experiments, profiled=entry.profiled),
    )
    return rows.Drawing(figure, data)


def _shares(profile: pd.DataFrame, column: str, panel: str) -> pd.DataFrame:
    keys = ["engine", "repetition", column]
    sums = profile.groupby(keys, as_index=False).agg(value=("share", "sum"))
    return rows.measured(sums, x=column, panel=panel, series="share", unit="1")
