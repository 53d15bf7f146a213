"""From raw runs to the page, with this checkout's declarations filled in."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from recompact import ROOT
from recompact import claims as claims_package
from recompact import report as report_package
from recompact import tables as tables_module
from recompact.figures.declarations import EngineStyle, load_figures
from recompact.figures.rendering import render
from recompact.pipeline import CLAIMS, FIGURES, RAW, declarations, select, write_finished_plan
from recompact.publish import note_costs, write_costs
from recompact.publish import publish as publish_tables
from recompact.results import MissingCell

PUBLISHED = "results/published"
RENDERED = "paper_figures/rendered/published"
PUBLISHED_PAGE = "results/published_report/index.html"


def styles() -> dict[str, EngineStyle]:
    """Give the look of each engine, from engines.yaml."""
    return {
        name: EngineStyle(label=engine.label, colour=engine.colour, marker=engine.marker)
        for name, engine in declarations().compared.items()
    }


def tables(plan: Path, out: Path) -> None:
    """Write the tidy tables of a scale."""
    tables_module.build(ROOT / RAW, plan, out)


def claims(tables_folder: Path, out: Path) -> None:
    """Write the verdict on every claim."""
    claims_package.evaluate(tables_folder, out, claims_path=ROOT / CLAIMS)


def figures(tables_folder: Path, names: Collection[str], out: Path) -> None:
    """Draw figures."""
    render(tables_folder, names, out, figures_path=ROOT / FIGURES, styles=styles())


def report(tables_folder: Path, rendered: Path, page: Path) -> None:
    """Write the page."""
    report_package.build(
        tables_folder,
        rendered,
        page.parent,
        figures_path=ROOT / FIGURES,
        claims_path=ROOT / CLAIMS,
        purposes={name: scale.purpose for name, scale in declarations().scales.items()},
    )


def publish(scale: str) -> None:
    """Merge the finished runs of a scale into results/published, even of an unfinished sweep."""
    finished = ROOT / "build/published" / scale
    tables(ROOT / write_finished_plan(scale), finished)
    declared = load_figures(ROOT / FIGURES).figures
    timelines = {name for figure in declared if figure.timeline for name in figure.experiments}
    spans = {name for figure in declared if figure.spans for name in figure.experiments}
    for folder in publish_tables(finished, ROOT / PUBLISHED, timelines, spans):
        note_costs(ROOT / PUBLISHED, folder, held_by(scale))
        print(f"wrote {folder.relative_to(ROOT)}")
    write_costs(ROOT / "README.md", ROOT / PUBLISHED)


def held_by(scale: str) -> list[Path]:
    """List what a checkout holds after a scale was measured in it, and no other scale."""
    plan = select(scale, "all").plan
    shared = (".venv", "build/engines", "build/trees", "build/upstream", "workloads/ycsb/target")
    runs = [f"{folder}/{run}" for run in plan.runs for folder in (RAW, "build/databases")]
    traces = [trace.path for trace in plan.traces.values()]
    rendered = f"paper_figures/rendered/{scale}"
    return [ROOT / name for name in (*shared, *runs, *traces, f"results/{scale}", rendered)]


def published_figures() -> None:
    """Draw what the published tables hold, judge the claims, and write the page."""
    published, rendered = ROOT / PUBLISHED, ROOT / RENDERED
    for figure in load_figures(ROOT / FIGURES).figures:
        try:
            figures(published, [figure.id], rendered)
            print(f"drew {figure.id}")
        except MissingCell as missing:
            print(f"{figure.id} not drawn: {missing}")
    claims(published, published / "claims.csv")
    report(published, rendered, ROOT / PUBLISHED_PAGE)
    print(f"wrote {PUBLISHED}/claims.csv and {PUBLISHED_PAGE}")
