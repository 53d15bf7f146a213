"""From tables, rendered figures and verdicts to the page, and one with all runs beside it."""

from __future__ import annotations

import base64
import hashlib
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from recompact import pitfalls
from recompact.claims import CLAIM_COLUMNS, Claim, Verdict, load_claims
from recompact.figures import data as rows
from recompact.figures.declarations import EngineStyle, Figure, load_figures
from recompact.figures.style import stamp_lines
from recompact.publish import seconds_of_runs
from recompact.report import runs as runs_page
from recompact.report.runs import RAW_FOLDER, link
from recompact.results import MissingCell, Results
from recompact.statistics import percent
from recompact.tables import TableError

HERE = Path(__file__).parent
FIGURE_FOLDER = "figures"
FLAME_GRAPH = "flame.html"
EXAMPLES = 3  # of a pitfall in a figure
POINTS_OF_INCH = 72


@dataclass(frozen=True)
class ClaimView:
    """A claim as the page shows it: declared, measured, judged; where it is shown and measured."""

    claim: Claim
    verdict: Verdict
    measured: float | None
    low: float | None
    high: float | None
    detectable: float | None
    reason: str
    figures: tuple[str, ...]
    experiments: tuple[str, ...]


@dataclass(frozen=True)
class NumberView:
    """One number of the paper beside ours."""

    series: str
    engine: str | None
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
        Path from the page per kind (svg, csv); empty if it was not drawn.
    size : tuple of int, optional
        Width and height of the picture.
    stamp : tuple of str
        Lines of the stamp, or why there is none.
    engines, devices : tuple of str
        Of its runs.
    experiments : tuple of str
        Those that were measured.
    suspect : tuple of str
        The driver's reasons to doubt a run.
    marks : tuple of (str, int, tuple of str)
        Pitfalls, how often, and some of them.
    numbers : tuple of NumberView
        The paper's numbers beside ours.
    claims : tuple of ClaimView
        Its claims.
    runs : tuple of str
        Its runs.
    flame_graphs : tuple of str
        Paths of flame graphs.
    minutes : float or None
        What its runs took.
    disk_bytes : float
        Most that the tables of one of them held.
    command : str
        What makes the figure.
    """

    entry: Figure
    files: dict[str, str]
    size: tuple[int, int] | None
    stamp: tuple[str, ...]
    engines: tuple[str, ...]
    devices: tuple[str, ...]
    experiments: tuple[str, ...]
    suspect: tuple[str, ...]
    marks: tuple[tuple[str, int, tuple[str, ...]], ...]
    numbers: tuple[NumberView, ...]
    claims: tuple[ClaimView, ...]
    runs: tuple[str, ...]
    flame_graphs: tuple[str, ...]
    minutes: float | None
    disk_bytes: float
    command: str


@dataclass(frozen=True)
class Declared:
    """What of the declarations a page shows.

    Attributes
    ----------
    figures, claims : Path
        figures.yaml and claims.yaml.
    purposes : mapping of str to str
        What each scale is for.
    styles : mapping of str to EngineStyle
        Look per engine id, in the order of filters.
    cached_on_purpose : collection of str
        Experiments whose data are to fit in a cache.
    """

    figures: Path
    claims: Path
    purposes: Mapping[str, str]
    styles: Mapping[str, EngineStyle]
    cached_on_purpose: Collection[str] = ()


def build(results_dir: Path, rendered_dir: Path, out_dir: Path, declared: Declared) -> None:
    """Write ``index.html``, ``runs.html`` and the figures.

    Parameters
    ----------
    results_dir : Path
        Tidy tables, with claims.csv.
    rendered_dir : Path
        SVG and CSV of the figures; those that are absent are listed as not drawn.
    out_dir : Path
        Receives the pages and figures/; links to raw runs are ``../../raw/<run>/run.json``.
    declared : Declared
        Declarations.

    Raises
    ------
    DeclarationError
        If a declaration is not as it must be.
    TableError
        If tables or claims.csv are missing.
    """
    results = Results.load(results_dir)
    figures = load_figures(declared.figures).figures
    claims = load_claims(declared.claims).claims
    judged = _claim_views(results_dir / "claims.csv", claims, figures, results.experiments)
    marks = pitfalls.find(results, declared.cached_on_purpose)
    out_dir.mkdir(parents=True, exist_ok=True)
    costs = _costs(results)
    views = [
        _figure_view(entry, results, judged, marks, costs, rendered_dir, out_dir)
        for entry in figures
    ]
    scales = dict.fromkeys(campaign.scale for campaign in results.campaigns)
    script = (HERE / "page.js").read_text(encoding="utf-8")
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["percent"] = percent
    page = environment.get_template("page.html.jinja").render(
        style=style,
        script=Markup(script),
        script_hash=_content_hash(script),
        purposes={scale: declared.purposes[scale] for scale in scales},
        conditions=_conditions(results),
        noise=_noise(results, figures),
        skipped=_skipped(results, views),
        verdicts=list(Verdict),
        counts=_counts(judged),
        papers=list(dict.fromkeys(entry.paper for entry in figures)),
        filters=_filters(views, declared.styles),
        figures=views,
        claims=list(judged.values()),
        pitfalls=pitfalls.PITFALLS,
        measured=_cells(views, out_dir),
    )
    (out_dir / "index.html").write_text(page, encoding="utf-8")
    page = environment.get_template("runs.html.jinja").render(
        style=style, **runs_page.content(results, figures, marks, out_dir)
    )
    (out_dir / "runs.html").write_text(page, encoding="utf-8")


def _content_hash(script: str) -> str:
    """Name a script for the page's policy, under which the browser runs nothing else."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def number(value: float | None) -> str:
    """Render a number with four significant digits, thousands grouped; a dash for none."""
    if value is None or pd.isna(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _claim_views(
    path: Path,
    declared: Sequence[Claim],
    figures: Sequence[Figure],
    measured: Collection[str],
) -> dict[str, ClaimView]:
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
            detectable=row["detectable"],
            reason=row["reason"],
            figures=tuple(entry.id for entry in figures if claim.id in entry.claims),
            experiments=tuple(
                name
                for name in dict.fromkeys(name for one in claim.check for name in one.experiments)
                if name in measured
            ),
        )
    return views


def _records(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Turn rows into mappings, with None where a cell is empty."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _figure_view(
    entry: Figure,
    results: Results,
    claims: dict[str, ClaimView],
    marks: pd.DataFrame,
    costs: Mapping[Path, pd.DataFrame],
    rendered_dir: Path,
    out_dir: Path,
) -> FigureView:
    files = {}
    for kind in ("svg", "csv"):
        source = rendered_dir / f"{entry.id}.{kind}"
        if source.exists():
            target = out_dir / FIGURE_FOLDER / source.name
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
            files[kind] = f"{FIGURE_FOLDER}/{source.name}"
    data = _data(out_dir / files["csv"]) if "csv" in files else None
    try:
        stamp = results.stamp(entry.experiments, profiled=entry.profiled)
        lines, scale = tuple(stamp_lines(stamp)), stamp.scale.split()[-1]
        runs, suspect = stamp.runs, stamp.suspect
        devices = tuple(sorted({device.split()[0].rstrip(",") for device in stamp.devices}))
    except MissingCell as missing:
        lines, scale = (str(missing),), results.campaigns[0].scale
        runs, suspect, devices = (), (), ()
    minutes, disk_bytes = _costs_of(entry, results, costs, runs)
    flame_graphs = [RAW_FOLDER / run / FLAME_GRAPH for run in runs]
    engines = () if data is None else tuple(data.engine.dropna().unique())
    return FigureView(
        entry=entry,
        files=files,
        size=_size(out_dir / files["svg"]) if "svg" in files else None,
        stamp=lines,
        engines=engines,
        devices=devices,
        experiments=tuple(name for name in entry.experiments if name in results.experiments),
        suspect=suspect,
        marks=_marks(entry, results, marks, set(runs), data),
        numbers=() if data is None else _numbers(data),
        claims=tuple(claims[claim] for claim in entry.claims),
        runs=tuple(runs),
        flame_graphs=tuple(path for one in flame_graphs if (path := link(one, out_dir))),
        minutes=minutes,
        disk_bytes=disk_bytes,
        command=f"./repro {scale} --panels {entry.id}",
    )


def _data(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"panel": str, "series": str, "x": str, "unit": str})


def _size(path: Path) -> tuple[int, int] | None:
    """Read the size of a picture, so that the page does not move when it comes."""
    with path.open("rb") as file:
        _, root = next(ET.iterparse(file, events=("start",)))
    sizes = [root.get(name, "").removesuffix("pt") for name in ("width", "height")]
    if not all(sizes):
        return None
    width, height = (round(float(size) * 96 / POINTS_OF_INCH) for size in sizes)
    return width, height


def _costs(results: Results) -> dict[Path, pd.DataFrame]:
    """Tell of each run of each campaign how many seconds it took, and the most bytes it held."""
    costs = {}
    for campaign in results.campaigns:
        held = campaign.runs[campaign.runs.metric.isin(["space_peak_bytes", "space_table_bytes"])]
        costs[campaign.directory] = pd.DataFrame(
            {
                "seconds": seconds_of_runs(campaign.runs),
                "disk_bytes": held.groupby("run").value.max(),
            }
        )
    return costs


def _costs_of(
    entry: Figure, results: Results, costs: Mapping[Path, pd.DataFrame], runs: Sequence[str]
) -> tuple[float | None, float]:
    """Sum up the minutes of a figure's runs, and find the most that one of them held."""
    if not runs:
        return None, 0.0
    folders = {results.campaign(name).directory for name in entry.experiments}
    told = pd.concat(
        [costs[folder].reindex(pd.Index(runs)).dropna(how="all") for folder in folders]
    )
    return float(told.seconds.sum()) / 60, float(told.disk_bytes.max())


def _marks(
    entry: Figure,
    results: Results,
    marks: pd.DataFrame,
    runs: set[str],
    data: pd.DataFrame | None,
) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    """Count the pitfalls of a figure's runs and of what it shows, with the first of each."""
    of_runs = marks[marks.run.isin(runs) & marks.experiment.isin(entry.experiments)]
    told = {
        str(pitfall): [f"{row.run} {row.phase}: {row.told}" for row in group.itertuples()]
        for pitfall, group in of_runs.groupby("pitfall", sort=False)
    }
    if data is not None:
        for pitfall, text in pitfalls.of_figure(entry, results, data):
            told.setdefault(pitfall, []).append(text)
    return tuple((pitfall, len(texts), tuple(texts[:EXAMPLES])) for pitfall, texts in told.items())


def _numbers(data: pd.DataFrame) -> tuple[NumberView, ...]:
    """Put the paper's values of a figure's data beside the measured medians."""
    keys = ["panel", "series", "x", "unit"]
    paper = data.loc[data.source == rows.PAPER, [*keys, "value"]]
    if paper.empty:
        return ()
    ours = data.loc[data.source == rows.MEDIAN, [*keys, "engine", "value", "low", "high"]]
    joined = paper.merge(ours, on=keys, how="left", suffixes=("_paper", ""))
    return tuple(
        NumberView(
            series=row["series"],
            engine=row["engine"],
            x=row["x"],
            unit="" if row["unit"] == "1" else row["unit"],
            paper=row["value_paper"],
            ours=row["value"],
            low=row["low"],
            high=row["high"],
        )
        for row in _records(joined)
    )


def _conditions(results: Results) -> list[tuple[str, str | list[str]]]:
    """Name and value of what the whole page was measured with."""
    stamp = results.stamp(results.experiments)
    dates = [campaign.specifications.date for campaign in results.campaigns]
    days = pd.concat(dates).str[:10].agg(["min", "max"])
    return [
        ("host", "; ".join(stamp.hosts)),
        ("devices", list(stamp.devices)),
        ("runs", f"{len(stamp.runs)}, at least {stamp.repetitions} per point"),
        ("measured", " to ".join(dict.fromkeys(days))),
        ("sources", [name for name in stamp.hashes if not name.startswith("trace ")]),
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


def _skipped(results: Results, views: Sequence[FigureView]) -> list[str]:
    """Tell what was left out: engines, parts of sweeps, profiles, figures."""
    told: dict[str, None] = {}
    for campaign in results.campaigns:
        for name, reason in (*campaign.absent.items(), *campaign.thinning.items()):
            told[f"{campaign.scale} scale, {name}: {reason}"] = None
        for reason in campaign.skipped_profiles.values():
            told[f"{campaign.scale} scale, profiles: {reason}"] = None
    for view in views:
        if not view.files:
            told[f"figure {view.entry.id}: {'; '.join(view.stamp)}"] = None
    return list(told)


def _filters(
    views: Sequence[FigureView], styles: Mapping[str, EngineStyle]
) -> dict[str, dict[str, str]]:
    """Give what figures can be chosen by: value and label of each choice."""
    engines = {name for view in views for name in view.engines}
    devices = sorted({name for view in views for name in view.devices})
    return {
        "paper": {view.entry.paper: view.entry.paper for view in views},
        "engine": {name: look.label for name, look in styles.items() if name in engines},
        "device": {name: name for name in devices},
        "verdict": {str(verdict): str(verdict) for verdict in Verdict},
    }


def _cells(views: Sequence[FigureView], out_dir: Path) -> list[dict[str, Any]]:
    """Give all measured cells that several engines have, for comparison of any two."""
    cells: list[dict[str, Any]] = []
    keys = ["panel", "series", "x", "unit"]
    for view in views:
        if "csv" not in view.files:
            continue
        data = _data(out_dir / view.files["csv"])
        told: dict[tuple[str, ...], dict[str, list[Any]]] = {}
        for row in _records(data[(data.source == rows.MEDIAN) & data.engine.notna()]):
            place = tuple("" if row[key] is None else str(row[key]) for key in keys)
            values = [row["value"], row["low"], row["high"]]
            told.setdefault(place, {}).setdefault(row["engine"], values)
        cells += [
            {
                "figure": view.entry.id,
                "panel": panel,
                "series": "" if series == panel else series,
                "x": x,
                "unit": "" if unit == "1" else unit,
                "more": unit in ("ops/s", "MB/s", "1/s"),
                "engines": engines,
            }
            for (panel, series, x, unit), engines in told.items()
            if len(engines) > 1
        ]
    return cells
