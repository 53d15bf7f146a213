"""From raw runs to the page, with this checkout's declarations filled in."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from recompact import claims as claims_package
from recompact import report as report_package
from recompact import tables as tables_module
from recompact.experiments import ROOT
from recompact.figures import EngineStyle
from recompact.figures import render
from recompact.pipeline import FIGURES, declarations

CLAIMS = "paper_figures/claims.yaml"
RAW = "results/raw"


def styles() -> dict[str, EngineStyle]:
    """Give the look of each engine, from engines.yaml."""
    return {
        name: EngineStyle(label=engine.label, colour=engine.colour, marker=engine.marker)
        for name, engine in declarations().engines.items()
    }


def tables(plan: Path, out: Path) -> None:
    """Write the tidy tables of a scale."""
    tables_module.build(ROOT / RAW, plan, out)


def claims(tables_folder: Path, out: Path) -> None:
    """Write the verdict on every claim."""
    claims_package.evaluate(
        tables_folder, out, claims_path=ROOT / CLAIMS, engines=declarations().engines
    )


def figures(tables_folder: Path, names: Collection[str], out: Path) -> None:
    """Draw figures."""
    render(tables_folder, names, out, figures_path=ROOT / FIGURES, styles=styles())
