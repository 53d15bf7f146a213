"""The words of `./repro`, which are read before anything is installed: with Python alone."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NoReturn

from recompact import environment
from recompact.errors import RecompactError

SCALES = ("smoke", "small", "full", "paper")
RUNTIMES = ("native", "docker", "podman")
DISKS = ("ssd", "hdd", "smr", "raid0")
# They build nothing and measure nothing, so the Python environment is all that they need.
NEED_PYTHON_ONLY = ("clean", "figures", "pdf", "plan", "publish", "verify")


class WordsError(RecompactError):
    """A word that is not known; the message names the one that is most like it."""


class _Parser(argparse.ArgumentParser):
    """Tells a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        raise WordsError(message)


def nearest(word: str, known: Collection[str]) -> str:
    """Say what a word that is not known may have been, or else all that are."""
    like = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {like[0]}?" if like else f"there are {', '.join(known)}"


def _one_of(known: Collection[str]) -> Callable[[str], str]:
    def read(word: str) -> str:
        if word not in known:
            raise argparse.ArgumentTypeError(f"{word!r} is not known; {nearest(word, known)}")
        return word

    return read


def _path(word: str) -> Path:
    """Read the name of a file where the caller is."""
    return Path(word).absolute()


def _commands() -> dict[str, argparse.ArgumentParser]:
    """Declare every command and its options."""
    commands: dict[str, argparse.ArgumentParser] = {}

    def command(name: str) -> argparse.ArgumentParser:
        commands[name] = _Parser(prog=f"repro {name}", allow_abbrev=False, add_help=False)
        return commands[name]

    def on_host(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--runtime", type=_one_of(RUNTIMES))
        parser.add_argument("--disk", type=_one_of(DISKS), help="a real one below RECOMPACT_DATA")

    for scale in SCALES:
        parser = command(scale)
        on_host(parser)
        parser.add_argument("--panels", default="all")
        parser.add_argument("snakemake", nargs="*", help="further words for snakemake, after --")
    test = command("test")
    test.add_argument("checks", nargs="*", help="only these checks")
    test.add_argument("--within", help="begin no check later, such as 50m")
    test.add_argument("--keep", action="store_true", help="write the table of digests anew")
    command("figures").add_argument("--png", action="store_true", help="besides SVG")
    publish = command("publish")
    on_host(publish)
    publish.add_argument("scale", type=_one_of(SCALES))
    plan = command("plan")
    plan.add_argument("--scale", type=_one_of(SCALES), default="paper")
    plan.add_argument("--hosts", type=_path, help="Ansible inventory in YAML")
    plan.add_argument("--budget", help="of each host, such as 8h")
    command("bench").add_argument("subject", type=_one_of(("driver", "rocksdb")))
    torture = command("torture")
    torture.add_argument("--engine", help="of engines.yaml")
    torture.add_argument("--seed", type=int, default=1)
    torture.add_argument("--minutes", type=float, default=0)
    torture.add_argument("--bugs", action="store_true", help="plant bugs and see them caught")
    command("calibrate").add_argument("--engine", required=True, help="of engines.yaml")
    patches = command("patches")
    patches.add_argument("act", type=_one_of(("checkout", "export")))
    patches.add_argument("folder", type=_path)
    for name in ("pdf", "verify", "setup", "clean"):
        command(name)
    return commands


def read(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command and its options.

    Raises
    ------
    WordsError
        If a word is not known, is missing, or is one too many.
    """
    commands = _commands()
    name = arguments[0] if arguments else ""
    if name not in commands:
        raise WordsError(f"no command {name!r}; {nearest(name, commands)}")
    parser = commands[name]
    words, unknown = parser.parse_known_args(arguments[1:])
    if unknown:
        word = unknown[0].split("=")[0]
        options = re.findall(r"--\w+", parser.format_usage())
        raise WordsError(f"{name} knows no {word}; {nearest(word, options or commands)}")
    if getattr(words, "snakemake", None) and "--" not in arguments:
        raise WordsError(f"{name} knows no {words.snakemake[0]}; words for snakemake follow --")
    words.command = name
    return words


def main(arguments: Sequence[str]) -> int:
    """Read the words, and print what the command needs: packages, or no more than python."""
    try:
        command = read(arguments).command
        python_only = command in NEED_PYTHON_ONLY
        environment.check_path(environment.UNFIT if python_only else environment.UNFIT_FOR_BUILDS)
    except RecompactError as error:
        print(f"repro: {error}", file=sys.stderr)
        return 2
    print("python" if python_only else "packages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
