"""A copy of this checkout's declarations and sources, to be changed by a test."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from recompact import ROOT, upstream

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
