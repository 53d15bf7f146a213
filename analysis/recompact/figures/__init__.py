"""Figures: declared in figures.yaml, drawn from tidy tables, written as PNG, SVG and CSV."""

from collections.abc import Collection, Mapping
from pathlib import Path

from recompact.figures.declarations import (
    EngineStyle,
    Figure,
    Figures,
    check_experiments,
    load_figures,
)

__all__ = [
    "EngineStyle",
    "Figure",
    "Figures",
    "check_experiments",
    "load_figures",
    "render",
]


def render(
    results_dir: Path,
    figure_ids: Collection[str],
    out_dir: Path,
    *,
    figures_path: Path,
    styles: Mapping[str, EngineStyle],
) -> None:
    """Draw figures; see `recompact.figures.rendering.render`.

    Planning asks this package for declarations only, so what draws is imported here, when asked.
    """
    from recompact.figures import rendering

    rendering.render(results_dir, figure_ids, out_dir, figures_path=figures_path, styles=styles)
