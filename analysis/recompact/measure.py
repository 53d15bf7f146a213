"""One measured run: the driver, its data directory, and what is left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from recompact import environment, runtimes
from recompact.errors import RecompactError
from recompact.jobs import Run

DATA_ROOT = "RECOMPACT_DATA"  # environment variable: where databases live while they are measured
DEFAULT_DATA_ROOT = Path("/dev/shm")


class MeasureError(RecompactError):
    """A run could not be measured; the message says why and what to do."""


def data_root() -> Path:
    """Say where databases live while they are measured: memory, unless the user names a place."""
    return Path(os.environ.get(DATA_ROOT, DEFAULT_DATA_ROOT))


def check_existing(run_directory: Path, run: Run) -> bool:
    """Say whether the run is finished: measured, or profiled, or skipped for want of `perf`.

    Raises
    ------
    MeasureError
        If the directory holds the result of another specification.
    """
    record = run_directory / "run.json"
    if run.profile and not (run_directory / "profile.json").exists():
        return False
    if not record.exists():
        return run.profile  # skipped, for want of `perf`
    try:
        found = json.loads(record.read_text(encoding="utf-8"))["run"]
    except (ValueError, KeyError) as error:
        raise MeasureError(f"{record}: not a run record; remove {run_directory}") from error
    if found != run.id:
        raise MeasureError(
            f"{record}: is the result of run {found}, not of {run.id}; remove {run_directory}"
        )
    return True


def commit(root: Path) -> str:
    """Name the commit that is checked out, with ``-dirty`` behind it where files differ from it.

    An archive that git made of a commit has its name in ``.commit``; elsewhere nobody knows.
    """
    if (root / ".git").exists():
        words = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=40"]
        done = subprocess.run(
            words,
            cwd=root,
            env=environment.kept(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout.strip()
    named = root / ".commit"
    name = named.read_text(encoding="utf-8").strip() if named.exists() else "$"
    return "unknown" if name.startswith("$") else name


def pinning(run: Run) -> tuple[str, ...]:
    """Words that keep the driver, and all its threads, on the first processors."""
    processors = run.spec.get("processors")
    if processors is None:
        return ()
    return ("taskset", "-c", "0" if processors == 1 else f"0-{processors - 1}")


def _make_room(run: Run) -> tuple[Path, Path]:
    """Name where a run has its database and what it starts from; nothing is there.

    What another user's run left when it was killed stays, and ours go beside it.
    """
    for name in (run.id, f"{run.id}-{os.getuid()}"):
        data = data_root() / f"recompact-{name}"
        folders = (data, data.with_suffix(".base"))
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        if not any(folder.exists() for folder in folders):
            return folders
    raise MeasureError(f"{data}: cannot be removed; remove it, or name a place with {DATA_ROOT}")


def _keep(data: Path, database: Path) -> None:
    """Archive a database so that it is there as a whole or not at all.

    It may be ten thousand small tables, which most file systems are slow to make and remove.
    """
    partial = database.with_suffix(".partial")
    database.parent.mkdir(parents=True, exist_ok=True)
    _tar("-C", data, "-cf", partial, ".")
    partial.replace(database)


def _tar(*words: str | Path) -> None:
    done = subprocess.run(
        ["tar", *words], env=environment.kept(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise MeasureError(f"prepared database: {done.stderr.strip()[-300:]}")


def measure(
    run: Run,
    root: Path,
    driver: Path,
    run_directory: Path,
    database: Path,
    prefix: tuple[str, ...] = (),
) -> None:
    """Measure one run unless its result is there already.

    Parameters
    ----------
    run : Run
        The run.
    root : Path
        The checkout, from which the run's traces are named.
    driver : Path
        The replay driver of the run's engine, or the name of the image that has it, see
        `recompact.runtimes`.
    run_directory : Path
        Receives the result; run.json comes last.
    database : Path
        Receives the database of a run that keeps it, as an archive.
    prefix : tuple of str
        Words before the driver: a profiler.

    Raises
    ------
    MeasureError
        If the driver fails, or the directory holds another result.
    """
    runtimes.remove(run)  # left by a run that was killed
    data, base = _make_room(run)
    if check_existing(run_directory, run) and (database.exists() or not run.keeps_database):
        return
    content = run.spec | {"commit": commit(root)}
    start = content.get("start_from")
    if start is not None:
        content["start_from"] = start | {"database": str(base)}
    shutil.rmtree(run_directory, ignore_errors=True)
    run_directory.mkdir(parents=True)
    path = run_directory / "specification.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    # The driver dies with this process: nobody measures beside an orphan.
    words = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        *runtimes.words(run, driver, root, data_root(), run_directory.parent.resolve()),
        *prefix,
        *pinning(run),
        runtimes.program(run, driver),
        "--spec",
        str(path.resolve()),
        "--out",
        str(run_directory.resolve()),
        "--data-dir",
        str(data),
        "--lock",
        str(data_root() / "recompact.lock"),
    ]
    try:
        if start is not None:
            base.mkdir()
            _tar("-C", base, "-xf", root / start["database"])
        status = subprocess.run(
            words,
            cwd=root,
            env=runtimes.environment_of(run),
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode
        if status != 0:
            (run_directory / "run.json").unlink(missing_ok=True)
            print(f"run {run.id} failed; its output stays in {run_directory}", file=sys.stderr)
            raise MeasureError(f"{driver}: status {status} in run {run.id}")
        if run.keeps_database:
            _keep(data, database)
    finally:
        runtimes.remove(run)
        for folder in (data, base):
            shutil.rmtree(folder, ignore_errors=True)
