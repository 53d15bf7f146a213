"""Merging the finished runs of a scale into results/published, which is kept in git.

Parts that were measured at different times add up: a newer run of the same point, engine and
repetition takes the place of the older one. Everything else stays, unless its experiment was
measured anew with another scale factor or device, or its engine at this point with another build or
other options: such runs are no repetitions of each other. What was measured on another host than
its experiment declares goes, too, once there is something in its place (`drop`).
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recompact import tables
from recompact.claims.judgement import Verdict
from recompact.real_time import distance
from recompact.statistics import percent

POINT = ["experiment", "engine", "repetition", "point", "profiled"]
# Row order and keys of the tables that hold one run per row or more.
BY_RUN = {
    "runs": tables.RUN_COLUMNS,
    "phases": tables.PHASE_COLUMNS,
    "timeline": tables.TIMELINE_COLUMNS,
    "compactions": tables.COMPACTION_COLUMNS,
    "events": tables.EVENT_COLUMNS,
    "spans": tables.SPAN_COLUMNS,
    "profile": tables.PROFILE_COLUMNS,
    "specifications": tables.SPECIFICATION_COLUMNS,
}


def host_folder(host: str) -> str:
    """Name a host's folder by what it is, not by its name.

    A simulated host has one, whatever number of its processors an experiment sweeps over.
    """
    if host.startswith(tables.SIMULATED):
        host = host.split(",")[0]
    return re.sub(r"[^a-z0-9]+", "-", host.lower()).strip("-")


def publish(
    measured: Path,
    published: Path,
    with_timeline: Collection[str],
    with_spans: Collection[str] = (),
) -> list[Path]:
    """Merge the tables of one scale into the published ones of their hosts.

    Parameters
    ----------
    measured : Path
        Tables of finished runs of one scale, see `recompact.tables.build`.
    published : Path
        results/published.
    with_timeline : collection of str
        Experiments whose runs keep their timeline, which is larger than all the rest.
    with_spans : collection of str
        Experiments whose runs keep the spans of a compaction.

    Returns
    -------
    list of Path
        The folders that were written, results/published/<host>/<scale>.

    Raises
    ------
    TableError
        If the scale has no tables, or a table lacks a column.
    """
    scale = tables.read_scale(measured)
    made = tables.read_table(measured / "specifications.csv", tables.SPECIFICATION_COLUMNS)
    written = []
    drawn = {"timeline": with_timeline, "spans": with_spans}
    for host, of_host in made.groupby(made.host.map(host_folder)):
        folder = published / str(host) / str(scale["scale"])
        _merge(measured, folder, set(of_host.run), scale, drawn)
        written.append(folder)
    return written


def _merge(
    measured: Path,
    folder: Path,
    chosen: set[str],
    scale: dict[str, object],
    drawn: Mapping[str, Collection[str]],
) -> None:
    experiments = _merged_experiments(measured, folder, chosen)
    kept = set(experiments.run)
    merged = {}
    for name, columns in BY_RUN.items():
        new = tables.read_table(measured / f"{name}.csv", columns)
        new = new[new.run.isin(chosen)]
        old_path = folder / f"{name}.csv"
        if old_path.exists():
            old = tables.read_table(old_path, columns)
            # One without rows has no types, and would take those of the other's numbers.
            parts = [part for part in (old[~old.run.isin(chosen)], new) if not part.empty]
            new = pd.concat(parts) if parts else new
        merged[name] = new[new.run.isin(kept)]
    for name, wanted in drawn.items():
        runs = experiments[experiments.experiment.isin(wanted)].run
        merged[name] = merged[name][merged[name].run.isin(runs)]
    _write(folder, experiments, merged, _merged_scale(folder / "scale.json", scale))


def _write(
    folder: Path,
    experiments: pd.DataFrame,
    by_run: Mapping[str, pd.DataFrame],
    scale: dict[str, object],
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tables.write(experiments, folder / "experiments.csv")
    for name, frame in by_run.items():
        tables.write(frame, folder / f"{name}.csv")
    tables.write(tables.noise_table(experiments, by_run["runs"]), folder / "noise.csv")
    text = json.dumps(scale, indent=1, sort_keys=True)
    (folder / "scale.json").write_text(text + "\n", encoding="utf-8")


def drop(published: Path, hosts: Mapping[str, str]) -> None:
    """Take out runs of experiments that are declared no more, or on another host.

    The latter stay until their experiment has runs on the host that it is declared on.

    Parameters
    ----------
    published : Path
        results/published.
    hosts : mapping of str to str
        Folder of the simulated host of each experiment; "" for any real one.
    """
    folders = sorted(path.parent for path in published.glob("*/*/experiments.csv"))
    experiments = {
        folder: tables.read_table(folder / "experiments.csv", tables.EXPERIMENT_COLUMNS)
        for folder in folders
    }

    def is_right(name: str, folder: Path) -> bool:
        host = folder.parent.name
        wanted = hosts.get(name)
        return host == wanted or (
            wanted == "" and not host.startswith(host_folder(tables.SIMULATED))
        )

    moved = {
        name
        for folder, rows in experiments.items()
        for name in set(rows.experiment)
        if is_right(name, folder)
    }
    for folder, rows in experiments.items():
        stays = [
            is_right(name, folder) or (name in hosts and name not in moved)
            for name in rows.experiment
        ]
        if all(stays):
            continue
        kept = rows[stays]
        if kept.empty:
            shutil.rmtree(folder)
            if not any(folder.parent.iterdir()):
                folder.parent.rmdir()
            continue
        by_run = {
            name: tables.read_table(folder / f"{name}.csv", columns)
            for name, columns in BY_RUN.items()
            if (folder / f"{name}.csv").exists()  # an older build kept fewer
        }
        by_run = {name: frame[frame.run.isin(kept.run)] for name, frame in by_run.items()}
        scale = json.loads((folder / "scale.json").read_text(encoding="utf-8"))
        for key in ("thinning", "skipped_profiles"):
            told = scale.get(key, {})
            scale[key] = {name: it for name, it in told.items() if name in set(kept.experiment)}
        _write(folder, kept, by_run, scale)
        note_costs(published, folder, None)
    costs = pd.read_csv(published / "costs.csv")
    is_there = [
        (published / host / scale).is_dir()
        for scale, host in zip(costs.scale, costs.host, strict=True)
    ]
    tables.write(costs[is_there], published / "costs.csv")


def _merged_experiments(measured: Path, folder: Path, chosen: set[str]) -> pd.DataFrame:
    new = tables.read_table(measured / "experiments.csv", tables.EXPERIMENT_COLUMNS)
    new = new[new.run.isin(chosen)]
    path = folder / "experiments.csv"
    if path.exists():
        old = tables.read_table(path, tables.EXPERIMENT_COLUMNS)
        stays = ~_group(old).isin(_group(new))
        alike = _set_up(folder, old).isin(_set_up(measured, new))
        again = _cell(old).isin(_cell(new)) & ~_made(folder, old).isin(_made(measured, new))
        new = pd.concat([old[(stays | alike) & ~again], new])
    return new.drop_duplicates(POINT, keep="last")


def _group(experiments: pd.DataFrame) -> pd.Series[str]:
    """Name of each row the runs that it is compared with: a profiled run to none that is timed."""
    return experiments.experiment + " " + experiments.profiled.astype(str)


def _set_up(folder: Path, experiments: pd.DataFrame) -> pd.Series[str]:
    """Tell of each row what all runs of its group have in common, as one text."""
    device = experiments.run.map(_specifications(folder).device)
    return _group(experiments) + " " + experiments.scale_factor.astype(str) + " " + device


def _cell(experiments: pd.DataFrame) -> pd.Series[str]:
    """Name of each row what its repetitions are repetitions of."""
    return _group(experiments) + " " + experiments.engine + " " + experiments.point


def _made(folder: Path, experiments: pd.DataFrame) -> pd.Series[str]:
    """Tell of each row what all runs of its cell have in common, as one text."""
    specifications = _specifications(folder)
    made = specifications.build + " " + specifications.engine_options
    return _cell(experiments) + " " + experiments.run.map(made)


def _specifications(folder: Path) -> pd.DataFrame:
    path = folder / "specifications.csv"
    return tables.read_table(path, tables.SPECIFICATION_COLUMNS).set_index("run")


def _merged_scale(path: Path, new: dict[str, object]) -> dict[str, object]:
    if not path.exists():
        return new
    old = json.loads(path.read_text(encoding="utf-8"))
    for key in ("thinning", "absent", "skipped_profiles"):
        new = new | {key: {**old.get(key, {}), **new[key]}}  # type: ignore[dict-item]
    return new


def seconds_of_runs(runs: pd.DataFrame) -> pd.Series[float]:
    """Tell what each run took of the machine, in seconds, by its name.

    That is the time of its phases, and of one whose time is simulated what processors had to do.
    Streams run beside their phase, and debts are told once more with what left them.
    """
    durations = runs[(runs.metric == "duration_s") & ~runs.phase.str.contains("[.+]")]
    seconds = durations.groupby("run").value.sum()
    simulated = runs[runs.phase == tables.SIMULATION].set_index("run").value
    seconds.update(simulated)
    return seconds


COSTS = ["scale", "host", "runs", "minutes", "disk_bytes"]


def note_costs(published: Path, folder: Path, disk: Sequence[Path] | None) -> None:
    """Note in costs.csv what the runs of a published folder took.

    Minutes are those of the measured phases, or of processors that simulated them. Disk is what the
    given files and folders hold, or held when more of the folder's runs had been made in this
    checkout; it is not known where none are given.
    """
    seconds = seconds_of_runs(tables.read_table(folder / "runs.csv", tables.RUN_COLUMNS))
    paths = (path for top in disk or () for path in (top, *top.rglob("*")))
    held = sum(path.stat().st_size for path in paths if path.is_file())
    row = [
        folder.name,
        folder.parent.name,
        len(seconds),
        seconds.sum() / 60,
        math.nan if disk is None else held,
    ]
    costs = pd.DataFrame([row], columns=COSTS)
    path = published / "costs.csv"
    if path.exists():
        old = pd.read_csv(path)
        same = (old.scale == folder.name) & (old.host == folder.parent.name)
        if disk is not None:
            costs["disk_bytes"] = max(held, *old.disk_bytes[same].dropna(), 0)
        costs = pd.concat([old[~same], costs])
    tables.write(costs, path)


def write_costs(readme: Path, published: Path) -> None:
    """Write the table of costs into its block of the README."""
    lines = [
        "| scale | host | runs | minutes | disk |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in pd.read_csv(published / "costs.csv").to_dict("records"):
        held = row["disk_bytes"]
        disk = "" if math.isnan(held) else f"{held / 1e9:.1f} GB"
        lines.append(
            f"| {row['scale']} | {row['host']} | {row['runs']} | {row['minutes']:.0f} | {disk} |"
        )
    write_block(readme, "costs", lines)


def write_verdicts(readme: Path, published: Path, papers: Mapping[str, str]) -> None:
    """Write the verdicts on the claims of each paper into their block of the README.

    Parameters
    ----------
    readme : Path
        The document.
    published : Path
        results/published, with claims.csv.
    papers : mapping of str to str
        Paper of each claim.
    """
    claims = pd.read_csv(published / "claims.csv")
    counts = pd.crosstab(claims.id.map(papers), claims.verdict)
    order = [str(verdict) for verdict in Verdict if verdict in counts]
    counts = counts.reindex(list(dict.fromkeys(papers.values())))[order]
    counts.loc["all"] = counts.sum()
    lines = [
        f"| paper | {' | '.join(order)} | claims |",
        f"|{' --- |' * (len(order) + 2)}",
    ]
    for paper, row in counts.iterrows():
        lines.append(f"| {paper} | {' | '.join(str(n) for n in row)} | {row.sum()} |")
    write_block(readme, "claims", lines)


def write_medians(document: Path, name: str, data: pd.DataFrame, labels: Mapping[str, str]) -> None:
    """Write the medians of a figure into its block of a document: a row per engine.

    Parameters
    ----------
    document : Path
        The document.
    name : str
        Name of the block.
    data : DataFrame
        What is behind the figure (`recompact.figures.data.DATA_COLUMNS`).
    labels : mapping of str to str
        What each engine is called, in the order of the rows.
    """
    medians = data[data.source == "median"]
    columns = list(dict.fromkeys(zip(medians.panel, medians.series, strict=True)))
    cells = medians.set_index(["engine", "panel", "series"]).value
    lines = [
        f"| engine | {' | '.join(f'{panel}: {series}' for panel, series in columns)} |",
        f"|{' --- |' * (len(columns) + 1)}",
    ]
    for engine in (name for name in labels if name in set(medians.engine)):
        found = [cells.get((engine, *column)) for column in columns]
        told = ["" if value is None else f"{value:.3g}" for value in found]
        lines.append(f"| {labels[engine]} | {' | '.join(told)} |")
    write_block(document, name, lines)


def write_errors(document: Path, data: pd.DataFrame) -> None:
    """Write how far simulated metrics are from real time into its block of a document.

    Parameters
    ----------
    document : Path
        The document.
    data : DataFrame
        What is behind figure RC-TIME (`recompact.figures.data.DATA_COLUMNS`): ratios, of which
        each has its metric as panel and its device as series.
    """
    ratios = data[data.source == "run"]
    off = ratios.assign(value=distance(ratios.value))
    together = pd.concat([off.assign(series="all"), off])
    found = together.groupby(["panel", "series"]).value.quantile(np.array([0.5, 0.9])).unstack()
    devices = list(dict.fromkeys(together.series))
    lines = [f"| metric | {' | '.join(devices)} |", f"|{' --- |' * (len(devices) + 1)}"]
    for metric in dict.fromkeys(ratios.panel):
        pairs = [found.loc[(metric, device)] for device in devices]
        told = [f"{percent(median)} / {percent(most)}" for median, most in pairs]
        lines.append(f"| `{metric}` | {' | '.join(told)} |")
    write_block(document, "errors", lines)


def _block(document: Path, name: str, text: str) -> re.Match[str]:
    """Find the block of a document that a command writes: its first line, the others, its end.

    The block begins with a comment `<!-- name: ... -->` and ends with `<!-- name: end -->`.

    Raises
    ------
    TableError
        If the document has no such block.
    """
    block = re.compile(rf"(<!-- {name}: .*? -->\n)(.*?)(<!-- {name}: end -->)", re.DOTALL)
    found = block.search(text)
    if found is None:
        raise tables.TableError(f"{document}: has no block <!-- {name}: ... -->")
    return found


def read_block(document: Path, name: str) -> list[str]:
    """Give the lines of the block of a document, see `write_block`."""
    return _block(document, name, document.read_text(encoding="utf-8"))[2].splitlines()


def write_block(document: Path, name: str, lines: Sequence[str]) -> None:
    """Put lines into the block of a document that a command writes.

    Raises
    ------
    TableError
        If the document has no such block.
    """
    text = document.read_text(encoding="utf-8")
    old = _block(document, name, text)
    body = "".join(f"{line}\n" for line in lines)
    document.write_text(text[: old.start(2)] + body + text[old.end(2) :], encoding="utf-8")
