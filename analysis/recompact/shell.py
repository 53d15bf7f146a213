"""Running other programs so that a failure says what failed and why."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from recompact import environment
from recompact.errors import RecompactError


class CommandError(RecompactError):
    """A program failed; the message holds the command, its status and its last words."""


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    said: str = "",
) -> str:
    """Run a program and return what it printed.

    Parameters
    ----------
    command : sequence of str or Path
        The program and its arguments; no shell is involved.
    cwd : Path, optional
        Working directory.
    env : mapping, optional
        The whole environment; by default the part of ours that changes no build and no run.
    log : Path, optional
        File that receives the output as well.
    said : str, optional
        What the program reads from standard input.

    Raises
    ------
    CommandError
        If the program is missing or its status is not 0.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=environment.kept() if env is None else env,
            input=said,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise CommandError(f"{words[0]}: not installed; run ./repro to install it") from error
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(done.stdout, encoding="utf-8")
    if done.returncode != 0:
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise CommandError(f"{' '.join(words)}: status {done.returncode}\n{tail}")
    return done.stdout
