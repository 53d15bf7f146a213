"""Traces, which YCSB writes."""

from __future__ import annotations

import json
from pathlib import Path

from recompact.jobs import Trace
from recompact.shell import run


def write(jar: Path, trace: Trace, destination: Path) -> None:
    """Let YCSB write one trace."""
    specification = destination.with_suffix(".json")
    destination.parent.mkdir(parents=True, exist_ok=True)
    specification.write_text(json.dumps(trace.workload, indent=1) + "\n", encoding="utf-8")
    run(
        [
            "java",
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
