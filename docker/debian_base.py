"""A base image of Debian 12 made by debootstrap, with what this host knows of mirrors and keys."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PACKAGES = "ca-certificates"
# What a lab has set up for its hosts, such as a mirror or a certificate of its own.
OF_THIS_HOST = (
    "etc/apt/sources.list",
    "etc/apt/sources.list.d",
    "etc/apt/apt.conf.d",
    "etc/pip.conf",
    "usr/local/share/ca-certificates",
)


def make(folder: Path, packages: str = PACKAGES) -> Path:
    """Make a root file system, unless it is there.

    Parameters
    ----------
    folder : Path
        Receives it.
    packages : str
        Debian packages beside the smallest system, separated by commas.

    Raises
    ------
    CalledProcessError
        If debootstrap fails.
    """
    finished = folder.with_suffix(".made")
    if finished.exists() and finished.read_text(encoding="utf-8") == packages:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    words = ["debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", folder]
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL)
    for name in OF_THIS_HOST:
        source, destination = Path("/") / name, folder / name
        if destination.is_file():  # such as a list of the same sources in another form
            destination.unlink()
        if source.is_dir():
            shutil.copytree(source, destination, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy2(source, destination)
    subprocess.run(["chroot", str(folder), "update-ca-certificates"], check=True)
    finished.write_text(packages, encoding="utf-8")
    return folder
