"""A copy of this checkout's declarations and sources, to be changed by a test."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from recompact import ROOT, upstream
from recompact.experiments import Declarations
from recompact.hosts import ROLES, calibration_path, machines_path

FOLDERS = ("engines", "workloads", "paper_figures", "analysis")
LEFT_OUT = shutil.ignore_patterns("target", "rendered", "__pycache__")


def copy(destination: Path) -> Path:
    """Copy what the plan is made from."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, destination / folder, ignore=LEFT_OUT)
    return destination


def files(destination: Path) -> Path:
    """Copy all files that git knows, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    for name in names:
        (destination / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, destination / name, follow_symlinks=False)
    return destination


def whole(destination: Path) -> Path:
    """Copy all files that git knows, and the release of LevelDB."""
    tarball = files(destination) / upstream.TARBALL
    tarball.parent.mkdir(parents=True)
    shutil.copy2(upstream.fetched(ROOT), tarball)
    return destination


def replace(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text in a file; it must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


COSTS = {"puts": 1500.0, "compares": 12.5, "read_bytes": 0.25}
MACHINES = {"a host": {"rating": 3000.0, "primitives_ns": {"locks": 20.0}}}
FIT = {"costs_ns": COSTS, "intervals_ns": {name: [c / 2, c * 2] for name, c in COSTS.items()}}


def calibration(**changes: Any) -> dict[str, Any]:
    """Make up a calibration, as its file has it."""
    row = {"experiment": "time_memory", "point": "{}", "phase": "wh"}
    content: dict[str, Any] = {
        "engine": "leveldb",
        "machine": "a host",
        "compiler": "a compiler",
        "libraries": {"snappy": "1.1.9"},
        "roles": dict.fromkeys(ROLES, FIT),
        "held_out": [row | {"role": role, "processor_s": 2.0, "modelled_s": 2.1} for role in ROLES],
    }
    return content | changes


def calibrate(root: Path, content: dict[str, Any], engine: str) -> Path:
    """Write the calibration of an engine."""
    path = calibration_path(root, engine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    machines_path(root).write_text(yaml.safe_dump(MACHINES), encoding="utf-8")
    return path


def calibrated(folder: Path) -> Path:
    """Copy the checkout, with a calibration of every engine."""
    root = copy(folder)
    for engine in Declarations(root).engines:
        calibrate(root, calibration(engine=engine), engine)
    return root
