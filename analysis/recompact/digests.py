"""Digests of simulated runs: whether they come out the same to the last bit everywhere.

A digest is of all that a run tells of simulated time: the way its threads went, every latency,
counter, event and interval. The table is of one toolchain, since another compiler or library does
other work; and says which processors have come to these digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from recompact import pipeline
from recompact.declarations import Declaration, load
from recompact.experiments import ScaleName
from recompact.measure import MeasureError
from recompact.plan import make
from recompact.tables import canonical, processor_label

SCALE: ScaleName = "smoke"
# Every engine, kind of device, and number of clients.
EXPERIMENTS = (
    *("matrix_ssd", "matrix_hdd", "pcp_disks_hdd", "pcp_threads_ssd", "qacp_random", "clients"),
    *("lwc_smr_cache", "lwc_zoned", "lwc_load", "ldc_fanout", "pcp_entries_hdd"),
)
TABLE = "workloads/simulator/digests.yaml"
FILES = ("latency.*.f32", "timeline.csv", "events.jsonl")
# Of the machine that simulates, or of where a run lies.
NOT_SIMULATED = ("process_read_bytes",)


class Digests(Declaration):
    """Digests of runs by what they are.

    Attributes
    ----------
    toolchain : dict
        Compiler and libraries of the drivers.
    processors : tuple of str
        Those that came to these digests.
    runs : dict of str to str
        Digest by experiment, engine and point.
    """

    toolchain: dict[str, Any]
    processors: tuple[str, ...]
    runs: dict[str, str]


def digest(directory: Path) -> str:
    """Give the digest of a run in 16 hexadecimal digits of SHA-256."""
    record = json.loads((directory / "run.json").read_text(encoding="utf-8"))
    for phase in record["phases"]:
        for name in NOT_SIMULATED:
            phase["counters"].pop(name, None)
        del phase["work"]["own"]
        for work in phase["work"].values():
            del work["processor_ns"]
    told = hashlib.sha256(canonical({key: record[key] for key in ("schedule", "phases")}).encode())
    for path in sorted(path for pattern in FILES for path in directory.glob(pattern)):
        told.update(path.name.encode() + path.read_bytes())
    return told.hexdigest()[:16]


def compute(root: Path) -> Digests:
    """Make the runs that are not there, and give their digests.

    Raises
    ------
    MeasureError
        If no engine is calibrated, or a run fails.
    """
    pipeline.note_builders()  # they are part of the names of runs
    plan = make(pipeline.declarations(), SCALE, EXPERIMENTS, host=pipeline.host({}))
    points = sorted((p for p in plan.points if plan.runs[p["run"]].simulated), key=_name)
    if not points:
        raise MeasureError(f"{', '.join(EXPERIMENTS)}: no run is simulated; calibrate engines")
    pipeline.make_runs(root, SCALE, EXPERIMENTS, [point["run"] for point in points])
    directories = {_name(point): root / pipeline.RAW / point["run"] for point in points}
    first = json.loads((next(iter(directories.values())) / "run.json").read_text("utf-8"))
    built = first["engine"]["build"]
    return Digests(
        toolchain={"compiler": built["compiler"], "libraries": built["libraries"]},
        processors=(processor_label(first["host"]),),
        runs={name: digest(directory) for name, directory in directories.items()},
    )


def _name(point: Mapping[str, Any]) -> str:
    return f"{point['experiment']} {point['engine']} {canonical(point['point'])}"


def check(root: Path, keep: bool) -> bool:
    """Compare digests with the table, or write it; print what differs.

    Parameters
    ----------
    root : Path
        The checkout.
    keep : bool
        Write the table anew; where all digests are as they were, only add this processor to it.
    """
    found = compute(root)
    path = root / TABLE
    table = load(path, Digests) if path.exists() else None
    same = table is not None and (table.toolchain, table.runs) == (found.toolchain, found.runs)
    if keep:
        if table is not None and same:
            agreed = dict.fromkeys((*table.processors, *found.processors))
            found = found.model_copy(update={"processors": tuple(agreed)})
        content = found.model_dump(mode="json")
        path.write_text(yaml.safe_dump(content, sort_keys=False, width=1000), encoding="utf-8")
        print(f"wrote {TABLE}")
        return True
    if table is None:
        print(f"{TABLE}: no such file; write it with ./repro test digests --keep")
        return False
    print("\n".join(differences(table, found)))
    return table.toolchain != found.toolchain or same


def differences(table: Digests, found: Digests) -> list[str]:
    """Tell how digests differ from those of the table."""
    here = found.processors[0]
    if table.toolchain != found.toolchain:
        return [
            f"digests are of {table.toolchain}, and here is {found.toolchain}, which does other "
            f"work; they are not compared"
        ]
    lines = [
        f"{name}: {table.runs.get(name, 'none')} in {TABLE}, {found.runs.get(name, 'none')} here"
        for name in sorted(table.runs.keys() | found.runs.keys())
        if table.runs.get(name) != found.runs.get(name)
    ]
    if lines:
        return [*lines, "if that is meant, write them anew with ./repro test digests --keep"]
    known = "" if here in table.processors else "; add it with ./repro test digests --keep"
    return [
        f"{len(found.runs)} digests on {here} are those of {', '.join(table.processors)}{known}"
    ]
