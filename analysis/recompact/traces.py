"""Traces, which YCSB writes."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from recompact.jobs import Trace
from recompact.shell import run


def write(jar: Path, trace: Trace, destination: Path) -> None:
    """Let YCSB write one trace."""
    _java(jar, f"-XX:SharedArchiveFile={_archive(jar)}", trace, destination)


def share_classes(jar: Path) -> None:
    """Archive the classes that writing a trace loads, with which Java starts in half the time.

    Where the archive is missing, or of another Java, that takes its usual time.
    """
    sample = {"id": "sample", "class": "core", "records": 10, "operations": 10}
    sample |= {"value_bytes": 100, "distribution": "zipfian", "read": 0.5, "update": 0.5}
    with TemporaryDirectory() as folder:
        flag = f"-XX:ArchiveClassesAtExit={_archive(jar)}"
        _java(jar, flag, Trace("sample", sample, "run", 1), Path(folder) / "sample.trace")


def _archive(jar: Path) -> Path:
    return jar.with_suffix(".jsa")


def _java(jar: Path, flag: str, trace: Trace, destination: Path) -> None:
    specification = destination.with_suffix(".json")
    destination.parent.mkdir(parents=True, exist_ok=True)
    specification.write_text(json.dumps(trace.workload, indent=1) + "\n", encoding="utf-8")
    run(
        [
            "java",
            flag,
            "-Xlog:cds*=off",
            "--add-opens",
            "java.base/java.lang=ALL-UNNAMED",
            "-jar",
            jar,
            "--spec",
            specification,
            "--phase",
            trace.phase,
            "--seed",
            str(trace.seed),
            "--out",
            destination,
        ]
    )
