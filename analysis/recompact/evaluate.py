"""From raw runs to the page, with this checkout's declarations filled in."""

from __future__ import annotations

import gc
from collections.abc import Collection
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

import pandas as pd

from recompact import ROOT
from recompact import claims as claims_package
from recompact import report as report_package
from recompact import tables as tables_module
from recompact import verify as verify_module
from recompact.claims import load_claims
from recompact.figures.declarations import EngineStyle, Figure, load_figures
from recompact.figures.rendering import draw, save
from recompact.hosts import REAL
from recompact.pipeline import CLAIMS, FIGURES, RAW, declarations, select, write_finished_plan
from recompact.plan import EMULATED, Host
from recompact.publish import (
    drop,
    host_folder,
    note_costs,
    write_costs,
    write_errors,
    write_medians,
    write_verdicts,
)
from recompact.publish import publish as publish_tables
from recompact.results import MissingCell, Results

COLLECTED_OBJECTS = 200_000  # that are new, before the collector looks for garbage
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
    """Draw figures.

    Raises
    ------
    MissingCell
        If the tables lack what one of them needs.
    """
    chosen = load_figures(ROOT / FIGURES).chosen(names)
    with _workers() as pool:
        lacks = pool.map(partial(_draw, tables_folder, out, png=True), chosen)
        missing = [told for told in lacks if told]
    if missing:
        raise MissingCell("; ".join(missing))


def _workers() -> ProcessPoolExecutor:
    """Give a process per processor.

    They hold many objects that stay, and figures are full of cycles: the collector would look at
    all of them again and again.
    """
    return ProcessPoolExecutor(initializer=gc.set_threshold, initargs=(COLLECTED_OBJECTS,))


def _draw(tables_folder: Path, out: Path, figure: Figure, *, png: bool) -> str | None:
    """Draw a figure, and say what the tables lack for it, if anything."""
    try:
        save(draw(_loaded(tables_folder), figure, styles()), figure.id, out, png=png)
    except MissingCell as missing:
        return str(missing)
    return None


@cache
def _loaded(tables_folder: Path) -> Results:
    """Keep tables for the next figure of the same process."""
    return Results.load(tables_folder)


def report(tables_folder: Path, rendered: Path, page: Path) -> None:
    """Write the page."""
    declared = declarations()
    report_package.build(
        tables_folder,
        rendered,
        page.parent,
        report_package.Declared(
            figures=ROOT / FIGURES,
            claims=ROOT / CLAIMS,
            purposes={name: scale.purpose for name, scale in declared.scales.items()},
            styles=styles(),
            cached_on_purpose=[
                name
                for name, experiment in declared.experiments.items()
                if experiment.page_cache_bytes is not None
            ],
        ),
    )


def publish(scale: str, host: Host = EMULATED) -> None:
    """Merge the finished runs of a scale into results/published, even of an unfinished sweep."""
    finished = ROOT / "build/published" / scale
    tables(ROOT / write_finished_plan(scale, host), finished)
    declared = load_figures(ROOT / FIGURES).figures
    timelines = {name for figure in declared if figure.timeline for name in figure.experiments}
    spans = {name for figure in declared if figure.spans for name in figure.experiments}
    for folder in publish_tables(finished, ROOT / PUBLISHED, timelines, spans):
        note_costs(ROOT / PUBLISHED, folder, held_by(scale, host))
        print(f"wrote {folder.relative_to(ROOT)}")
    experiments = declarations().experiments.items()
    drop(
        ROOT / PUBLISHED,
        {
            name: "" if it.host == REAL else host_folder(tables_module.SIMULATED + it.host)
            for name, it in experiments
        },
    )
    write_costs(ROOT / "README.md", ROOT / PUBLISHED)


def note_published() -> None:
    """Write what documents tell of published figures and verdicts, and all files' checksums."""
    labels = {name: style.label for name, style in styles().items()}
    for figure in load_figures(ROOT / FIGURES).figures:
        data = ROOT / RENDERED / f"{figure.id}.csv"
        if figure.table_in and data.exists():
            write_medians(ROOT / figure.table_in, figure.id, pd.read_csv(data), labels)
    beside_real_time = ROOT / RENDERED / "RC-TIME.csv"
    if beside_real_time.exists():
        write_errors(ROOT / "workloads/simulator/README.md", pd.read_csv(beside_real_time))
    papers = {claim.id: claim.paper for claim in load_claims(ROOT / CLAIMS).claims}
    write_verdicts(ROOT / "README.md", ROOT / PUBLISHED, papers)
    verify_module.write_manifest(ROOT / PUBLISHED)


def held_by(scale: str, host: Host = EMULATED) -> list[Path]:
    """List what a checkout holds after a scale was measured in it, and no other scale."""
    plan = select(scale, "all", host).plan
    shared = (".venv", "build/engines", "build/trees", "build/upstream", "workloads/ycsb/target")
    runs = [f"{folder}/{run}" for run in plan.runs for folder in (RAW, "build/databases")]
    traces = [trace.path for trace in plan.traces.values()]
    rendered = f"paper_figures/rendered/{scale}"
    return [ROOT / name for name in (*shared, *runs, *traces, f"results/{scale}", rendered)]


def published_figures(png: bool = False) -> None:
    """Draw what the published tables hold, judge the claims, and write the page."""
    published, rendered = ROOT / PUBLISHED, ROOT / RENDERED
    declared = load_figures(ROOT / FIGURES).figures
    with _workers() as pool:
        judged = pool.submit(claims, published, published / "claims.csv")
        lacks = pool.map(partial(_draw, published, rendered, png=png), declared)
        for figure, lack in zip(declared, lacks, strict=True):
            print(f"{figure.id} not drawn: {lack}" if lack else f"drew {figure.id}")
        judged.result()
    report(published, rendered, ROOT / PUBLISHED_PAGE)
    print(f"wrote {PUBLISHED}/claims.csv and {PUBLISHED_PAGE}")


def documents() -> None:
    """Write the appendix and all figures as PDF, from the published tables."""
    from recompact.report import appendix

    drawn = load_figures(ROOT / FIGURES).figures
    folder = (ROOT / PUBLISHED_PAGE).parent
    folder.mkdir(parents=True, exist_ok=True)
    declared = load_claims(ROOT / CLAIMS).claims
    appendix.write_appendix(ROOT / PUBLISHED, declared, drawn, folder / "appendix.pdf")
    appendix.write_figures(Results.load(ROOT / PUBLISHED), drawn, styles(), folder / "figures.pdf")
    print(f"wrote appendix.pdf and figures.pdf beside {PUBLISHED_PAGE}")


def verify() -> int:
    """Compute published tables and verdicts again; print what differs; give the exit status."""
    published = ROOT / PUBLISHED
    runs, here = verify_module.runs_here(published, ROOT / RAW)
    differences = 0
    for text in verify_module.differences(published, ROOT / RAW, ROOT / CLAIMS):
        print(text)
        differences += 1
    print(
        f"{differences} differences; {here} of {runs} published runs have their raw records here, "
        f"and verdicts and noise floors were computed again from the tables of all"
    )
    return 1 if differences else 0
