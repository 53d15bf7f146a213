"""What a job of the pipeline is told: a trace to write, a run to measure.

Planning takes a second, which a job does not have to spend again. So whoever plans leaves each
trace and each run in a file of its name; names are hashes, and a file that is there is right.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recompact.errors import RecompactError

FOLDER = "build/jobs"
NATIVE = "native"  # without a container


class JobError(RecompactError):
    """A job's file is not there."""


@dataclass(frozen=True)
class Trace:
    """A trace to be written: `workload` is what the trace writer reads."""

    id: str
    workload: dict[str, Any]
    phase: str
    seed: int

    @property
    def path(self) -> str:
        return f"build/traces/{self.id}.trace"


@dataclass(frozen=True)
class Run:
    """A run: its hash, what the driver is told, and what it needs."""

    id: str
    spec: dict[str, Any]
    engine: str
    trace_ids: tuple[str, ...]
    start_from: str | None = None
    profile: bool = False
    keeps_database: bool = False

    @property
    def simulated(self) -> bool:
        """Whether its time is simulated, and so the same beside whatever else runs."""
        return "host" in self.spec

    @property
    def runtime(self) -> str:
        """What runs the driver, see `recompact.runtimes`."""
        return str(self.spec.get("runtime", NATIVE))


def write(root: Path, jobs: Iterable[Trace | Run]) -> None:
    """Leave the files of jobs in a checkout, those that are not there."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    there = {path.stem for path in folder.glob("*.json")}
    for job in jobs:
        if job.id not in there:
            partial = folder / f"{job.id}.partial"
            partial.write_text(json.dumps(asdict(job)) + "\n", encoding="utf-8")
            partial.rename(folder / f"{job.id}.json")


def read_trace(root: Path, name: str) -> Trace:
    """Read a trace to be written.

    Raises
    ------
    JobError
        If there is none of this name.
    """
    return Trace(**_read(root, name))


def read_run(root: Path, name: str) -> Run:
    """Read a run to be measured.

    Raises
    ------
    JobError
        If there is none of this name.
    """
    content = _read(root, name)
    content["trace_ids"] = tuple(content["trace_ids"])
    return Run(**content)


def _read(root: Path, name: str) -> dict[str, Any]:
    path = root / FOLDER / f"{name}.json"
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise JobError(f"{path}: no such file; the pipeline that planned it writes it") from error
    return content
