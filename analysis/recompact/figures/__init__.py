"""Figures: declared in figures.yaml, drawn from tidy tables, written as PNG, SVG and CSV."""

from recompact.figures.declarations import Figure, Figures, check_experiments, load_figures
from recompact.figures.rendering import FUNCTIONS, render
from recompact.figures.style import EngineStyle

__all__ = [
    "FUNCTIONS",
    "EngineStyle",
    "Figure",
    "Figures",
    "check_experiments",
    "load_figures",
    "render",
]
