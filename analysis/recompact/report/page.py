"""From tables, rendered figures and verdicts to one HTML page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from recompact.claims import CLAIM_COLUMNS, Claim, Verdict, load_claims
from recompact.figures import data as rows
from recompact.figures.declarations import Figure, load_figures
from recompact.figures.style import percent, stamp_lines
from recompact.results import MissingCell, Results
from recompact.tables import TableError

FIGURE_FOLDER = "figures"
RAW_FOLDER = Path("../../raw")
FLAME_GRAPH = "flame.html"


@dataclass(frozen=True)
class ClaimView:
    """A claim as the page shows it: declared, measured, judged."""

    claim: Claim
    verdict: Verdict
    measured: float | None
    low: float | None
    high: float | None
    reason: str


@dataclass(frozen=True)
class NumberView:
    """One number of the paper beside ours."""

    series: str
    x: str
    unit: str
    paper: float
    ours: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class FigureView:
    """A figure as the page shows it.

    Attributes
    ----------
    entry : Figure
        Its declaration.
    files : dict of str to str
        Path from the page per kind (png, svg, csv); empty if it was not drawn.
    stamp : tuple of str
        Lines of the stamp, or why there is none.
    suspect : tuple of str
        The driver's reasons to doubt a run.
    numbers : tuple of NumberView
        The paper's numbers beside ours.
    claims : tuple of ClaimView
        Its claims.
    runs : tuple of (str, str or None)
        Its runs, with the path of the raw record where that lies on this host.
    flame_graphs : tuple of str
        Paths of flame graphs.
    command : str
        What makes the figure.
    """

    entry: Figure
    files: dict[str, str]
    stamp: tuple[str, ...]
    suspect: tuple[str, ...]
    numbers: tuple[NumberView, ...]
    claims: tuple[ClaimView, ...]
    runs: tuple[tuple[str, str | None], ...]
    flame_graphs: tuple[str, ...]
    command: str


def build(
    results_dir: Path,
    rendered_dir: Path,
    out_dir: Path,
    *,
    figures_path: Path,
    claims_path: Path,
    purposes: Mapping[str, str],
) -> None:
    """Write ``index.html`` and the figures it shows.

    Parameters
    ----------
    results_dir : Path
        Tidy tables, with claims.csv.
    rendered_dir : Path
        PNG, SVG and CSV of the figures; those that are absent are listed as not drawn.
    out_dir : Path
        Receives index.html and figures/; links to raw runs are ``../../raw/<run>/run.json``.
    figures_path, claims_path : Path
        figures.yaml and claims.yaml.
    purposes : mapping of str to str
        What each scale is for.

    Raises
    ------
    DeclarationError
        If a declaration is not as it must be.
    TableError
        If tables or claims.csv are missing.
    """
    results = Results.load(results_dir)
    figures = load_figures(figures_path).figures
    claims = _claim_views(results_dir / "claims.csv", load_claims(claims_path).claims)
    out_dir.mkdir(parents=True, exist_ok=True)
    views = [_figure_view(entry, results, claims, rendered_dir, out_dir) for entry in figures]
    scales = [campaign.scale for campaign in results.campaigns]
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["percent"] = percent
    page = environment.get_template("page.html.jinja").render(
        purposes={scale: purposes[scale] for scale in scales},
        conditions=_conditions(results),
        noise=_noise(results, figures),
        verdicts=list(Verdict),
        counts=_counts(claims),
        figures=views,
        claims=list(claims.values()),
    )
    (out_dir / "index.html").write_text(page, encoding="utf-8")


def number(value: float | None) -> str:
    """Render a number with four significant digits, thousands grouped; a dash for none."""
    if value is None or pd.isna(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _claim_views(path: Path, declared: Sequence[Claim]) -> dict[str, ClaimView]:
    if not path.exists():
        raise TableError(f"{path}: no such file; evaluate the claims")
    judged = {row["id"]: row for row in _records(pd.read_csv(path)[CLAIM_COLUMNS])}
    views = {}
    for claim in declared:
        if claim.id not in judged:
            raise TableError(f"{path}: no row of claim {claim.id}; evaluate the claims again")
        row = judged[claim.id]
        views[claim.id] = ClaimView(
            claim=claim,
            verdict=Verdict(row["verdict"]),
            measured=row["measured"],
            low=row["low"],
            high=row["high"],
            reason=row["reason"],
        )
    return views


def _records(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Turn rows into mappings, with None where a cell is empty."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _figure_view(
    entry: Figure,
    results: Results,
    claims: dict[str, ClaimView],
    rendered_dir: Path,
    out_dir: Path,
) -> FigureView:
    files = {}
    for kind in ("png", "svg", "csv"):
        source = rendered_dir / f"{entry.id}.{kind}"
        if source.exists():
            target = out_dir / FIGURE_FOLDER / source.name
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
            files[kind] = f"{FIGURE_FOLDER}/{source.name}"
    try:
        stamp = results.stamp(entry.experiments, profiled=entry.profiled)
        lines, scale = tuple(stamp_lines(stamp)), stamp.scale.split()[-1]
        runs, suspect = stamp.runs, stamp.suspect
    except MissingCell as missing:
        lines, scale = (str(missing),), results.campaigns[0].scale
        runs, suspect = (), ()
    flame_graphs = [RAW_FOLDER / run / FLAME_GRAPH for run in runs]
    records = [(run, RAW_FOLDER / run / "run.json") for run in runs]
    return FigureView(
        entry=entry,
        files=files,
        stamp=lines,
        suspect=suspect,
        numbers=_numbers(out_dir / files["csv"]) if "csv" in files else (),
        claims=tuple(claims[claim] for claim in entry.claims),
        runs=tuple((run, _link(path, out_dir)) for run, path in records),
        flame_graphs=tuple(link for path in flame_graphs if (link := _link(path, out_dir))),
        command=f"./repro {scale} --panels {entry.id}",
    )


def _link(path: Path, out_dir: Path) -> str | None:
    """Give the link to a file beside the results, or None where it is not on this host."""
    exists = Path(os.path.normpath(out_dir.resolve() / path)).exists()
    return path.as_posix() if exists else None


def _numbers(path: Path) -> tuple[NumberView, ...]:
    """Put the paper's values of a figure's data beside the measured medians."""
    data = pd.read_csv(path, dtype={"x": str, "unit": str})
    keys = ["panel", "series", "x", "unit"]
    paper = data.loc[data.source == rows.PAPER, [*keys, "value"]]
    ours = data.loc[data.source == rows.MEDIAN, [*keys, "value", "low", "high"]]
    joined = paper.merge(ours, on=keys, how="left", suffixes=("_paper", ""))
    return tuple(
        NumberView(
            series=row["series"],
            x=row["x"],
            unit="" if row["unit"] == "1" else row["unit"],
            paper=row["value_paper"],
            ours=row["value"],
            low=row["low"],
            high=row["high"],
        )
        for row in _records(joined)
    )


def _conditions(results: Results) -> list[tuple[str, str]]:
    """Name and value of what the whole page was measured with."""
    stamp = results.stamp(results.experiments)
    dates = [campaign.specifications.date for campaign in results.campaigns]
    days = pd.concat(dates).str[:10].agg(["min", "max"])
    return [
        ("host", "; ".join(stamp.hosts)),
        ("devices", ", ".join(stamp.devices)),
        ("runs", f"{len(stamp.runs)}, at least {stamp.repetitions} per point"),
        ("measured", " to ".join(dict.fromkeys(days))),
        ("sources", ", ".join(name for name in stamp.hashes if not name.startswith("trace "))),
        ("doubts", f"{len(stamp.suspect) or 'none'} of {len(stamp.runs)} runs are suspect"),
    ]


def _noise(results: Results, figures: Sequence[Figure]) -> list[tuple[str, float]]:
    """Noise floor of each metric that a noise figure lists."""
    floors = {}
    for figure in figures:
        for metric in figure.metrics:
            try:
                floor = results.noise_floor(metric, figure.experiments[0])
            except MissingCell:
                continue
            if floor is not None:
                floors[metric] = floor
    return list(floors.items())


def _counts(claims: dict[str, ClaimView]) -> dict[str, dict[Verdict, int]]:
    """Count the verdicts per paper."""
    counts: dict[str, dict[Verdict, int]] = {}
    for view in claims.values():
        of_paper = counts.setdefault(view.claim.paper, dict.fromkeys(Verdict, 0))
        of_paper[view.verdict] += 1
    return counts
