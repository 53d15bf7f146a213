"""Whether published tables and verdicts are what raw runs and this checkout's code give."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from recompact import tables
from recompact.claims import claims_table, load_claims
from recompact.publish import BY_RUN
from recompact.results import Results

MANIFEST = "SHA256SUMS"


def write_manifest(published: Path) -> None:
    """Write the checksums of all published files, as `sha256sum --check` reads them."""
    lines = [f"{_digest(path)}  {path.relative_to(published)}\n" for path in _files(published)]
    (published / MANIFEST).write_text("".join(lines), encoding="utf-8")


def differences(published: Path, raw: Path, claims_path: Path) -> Iterator[str]:
    """Yield what differs, one sentence each; nothing if all is as it should be.

    Parameters
    ----------
    published : Path
        results/published.
    raw : Path
        Raw runs; of published runs that are not there only what follows from their tables is
        computed again.
    claims_path : Path
        claims.yaml.

    Raises
    ------
    TableError
        If tables or the manifest are missing.
    """
    yield from _changed_files(published)
    results = Results.load(published)
    for campaign in results.campaigns:
        folder = campaign.directory
        noise = tables.noise_table(campaign.experiments, campaign.runs)
        yield from _rows_that_differ(folder / "noise.csv", noise)
        yield from _from_raw(folder, raw)
    verdicts = claims_table(load_claims(claims_path), results)
    yield from _rows_that_differ(published / "claims.csv", verdicts)


def runs_here(published: Path, raw: Path) -> tuple[int, int]:
    """Count the published runs, and those of them whose raw records are here."""
    runs = {
        run
        for path in published.glob("*/*/experiments.csv")
        for run in tables.read_table(path, tables.EXPERIMENT_COLUMNS).run
    }
    return len(runs), sum((raw / run / "run.json").exists() for run in runs)


def _files(published: Path) -> list[Path]:
    return sorted(path for path in published.rglob("*") if path.is_file() and path.name != MANIFEST)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _changed_files(published: Path) -> Iterator[str]:
    manifest = published / MANIFEST
    if not manifest.exists():
        raise tables.TableError(f"{manifest}: no such file; publish again")
    noted = {
        name: digest
        for digest, name in (line.split(maxsplit=1) for line in manifest.read_text().splitlines())
    }
    here = {str(path.relative_to(published)): path for path in _files(published)}
    for name in sorted(noted.keys() - here.keys()):
        yield f"{name}: in {MANIFEST}, but not here"
    for name, path in here.items():
        if name not in noted:
            yield f"{name}: not in {MANIFEST}"
        elif noted[name] != _digest(path):
            yield f"{name}: not what {MANIFEST} says"


def _from_raw(folder: Path, raw: Path) -> Iterator[str]:
    """Make the tables of a published folder again, of the runs that are here."""
    experiments = tables.read_table(folder / "experiments.csv", tables.EXPERIMENT_COLUMNS)
    specifications = tables.read_table(
        folder / "specifications.csv", tables.SPECIFICATION_COLUMNS
    ).set_index("run")
    here = experiments[[(raw / run / "run.json").exists() for run in experiments.run]]
    if here.empty:
        return
    events = folder / "events.csv"
    logged = set(tables.read_table(events, tables.EVENT_COLUMNS).run) if events.exists() else set()
    plan = {
        "scale": folder.name,
        "thinning": {},
        "runs": [
            {
                "experiment": row["experiment"],
                "run": row["run"],
                "engine": row["engine"],
                "built": specifications.engine[row["run"]],
                "repetition": row["repetition"],
                "point": json.loads(row["point"]),
                "factor": row["scale_factor"],
                "profile": bool(row["profiled"]),
                "events": row["run"] in logged,
            }
            for row in here.to_dict("records")
        ],
    }
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "plan.json"
        path.write_text(json.dumps(plan), encoding="utf-8")
        tables.build(raw, path, Path(made) / "tables")
        made_again = {
            name: tables.read_table(Path(made) / "tables" / f"{name}.csv", columns)
            for name, columns in BY_RUN.items()
        }
    # The same run may have been measured on several hosts.
    begun = made_again["specifications"].set_index("run")[["host", "date"]]
    published = specifications.loc[begun.index, ["host", "date"]]
    same = set(begun.index[(begun == published).all(axis=1)])
    for name, again in made_again.items():
        yield from _rows_that_differ(folder / f"{name}.csv", again, same)


def _rows_that_differ(
    path: Path, again: pd.DataFrame, runs: set[str] | None = None
) -> Iterator[str]:
    """Compare a published table with the same made again, of some runs or whole.

    Of a table that is kept for some experiments only, runs without a row are not compared.
    """
    columns = list(again.columns)
    published = tables.read_table(path, columns)
    if runs is not None:
        kept = runs & set(published.run)
        published = published[published.run.isin(kept)]
        again = again[again.run.isin(kept)]
    one, other = (set(_lines(frame)) for frame in (published, again))
    for line in sorted(one - other):
        yield f"{path.parent.name}/{path.name}: published, and not computed: {line}"
    for line in sorted(other - one):
        yield f"{path.parent.name}/{path.name}: computed, and not published: {line}"


def _lines(frame: pd.DataFrame) -> list[str]:
    text = frame.to_csv(index=False, header=False, float_format=tables.FLOAT_FORMAT)
    return text.splitlines()
