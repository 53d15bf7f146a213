"""What the shell that calls us may change, and what it may not.

The Python of a checkout settles its environment when it starts (`.venv` calls `settle`), so that
every program in .venv/bin works, however it is called. What makes or measures something gets the
part that `kept` gives, so that nothing that a shell exports changes a build, a trace or a run.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from recompact import ROOT
from recompact.errors import RecompactError

# What the path of a checkout cannot have, and why: of none, and of one in which we build.
UNFIT = {":": "PATH takes it for the end of a folder"}
UNFIT_FOR_BUILDS = UNFIT | {
    ";": "CMake takes it for the end of a name",
    "$": "CMake and Ninja take it for a variable",
    '"': "CMake takes it for the end of a name",
    "\\": "CMake takes it for a separator of folders",
    "|": "CMake takes it for the end of a name",
    "<": "CMake takes it for the beginning of an expression",
    ">": "CMake takes it for the end of an expression",
    "`": "the compiler is called by a shell, which takes it for a command",
    "\n": "Ninja takes it for the end of a line",
}
# Who and where we are, and the compilers, which are part of a run's name.
KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "XDG_CACHE_HOME"),
    *("CC", "CXX"),
    # How registries are reached.
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "APT_CONFIG"),
    *(f"{kind}_proxy" for kind in ("http", "https", "ftp", "all", "no")),
    *(f"{kind}_PROXY" for kind in ("HTTP", "HTTPS", "FTP", "ALL", "NO")),
)
KEPT_BEGINNINGS = ("RECOMPACT_", "SSL_CERT_", "PIP_", "UV_")
# Settings of Pythons and of what draws.
FOREIGN_BEGINNINGS = ("PYTHON", "MATPLOTLIB", "MPL")
# Of Java's settings: what leads through a proxy, or to certificates.
JAVA_SETTINGS = ("JAVA_TOOL_OPTIONS", "MAVEN_OPTS")
JAVA_NETWORK = ("-Dhttp.", "-Dhttps.", "-DsocksProxy", "-Djava.net.", "-Djavax.net.ssl.")


def kept() -> dict[str, str]:
    """Give the environment of a program that makes or measures something."""
    names = [name for name in os.environ if name in KEPT or name.startswith(KEPT_BEGINNINGS)]
    network = [
        word
        for name in JAVA_SETTINGS
        for word in os.environ.get(name, "").split()
        if word.startswith(JAVA_NETWORK)
    ]
    return {
        **{name: os.environ[name] for name in names},
        "LC_ALL": "C.UTF-8",
        **({"MAVEN_OPTS": " ".join(network)} if network else {}),
    }


class PathError(RecompactError):
    """The checkout lies where it cannot work, or is not the one whose Python this is."""


def check_path(unfit: Mapping[str, str] = UNFIT_FOR_BUILDS, root: Path = ROOT) -> None:
    """Check the path of the checkout, before anything is made in it.

    Raises
    ------
    PathError
        If it has a character that a program which we need cannot have there, or if this Python
        is another checkout's.
    """
    if root.resolve() != ROOT:
        raise PathError(f"{root}: this Python is that of {ROOT}; use {root}/.venv/bin")
    for character, reason in unfit.items():
        if character in str(ROOT):
            raise PathError(
                f"{str(ROOT)!r}: {reason}, so no checkout can have {character!r} in its path; "
                f"move it to a path without"
            )


def listed() -> tuple[str, str]:
    """Give the name and home that the list of users has for us: a number and none if nothing."""
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        return str(os.getuid()), ""
    return entry.pw_name, entry.pw_dir


def settle() -> None:
    """Make this process, and all that it starts, independent of who calls.

    No setting or package of another Python is taken; a user without a name has a number; a home
    or a cache that is missing, or not ours to write, gives way to one in the checkout; the
    checkout's programs are found first.
    """
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    foreign = {str(Path(entry).absolute()) for entry in named}
    foreign -= {str(ROOT / "analysis"), str(Path(os.__file__).parent)}
    sys.path[:] = [path for path in sys.path if path not in foreign]
    for name in [name for name in os.environ if name.startswith(FOREIGN_BEGINNINGS)]:
        del os.environ[name]

    name, home = listed()
    os.environ.setdefault("LOGNAME", name)
    home = os.environ.get("HOME") or home
    if not os.access(home, os.W_OK | os.X_OK):
        home = str(ROOT / ".cache/home")
        _is_ours(home)
    os.environ["HOME"] = home
    if not _is_ours(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"):
        os.environ["XDG_CACHE_HOME"] = str(ROOT / ".cache")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        if name in os.environ and not _is_ours(os.environ[name]):
            del os.environ[name]  # those below HOME are there

    programs = f"{sys.prefix}/bin"
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([programs, *(name for name in path if name != programs)])


def _is_ours(folder: str | Path) -> bool:
    """Say whether we can write in a folder, which is made if need be."""
    with suppress(OSError):
        Path(folder).mkdir(parents=True, exist_ok=True)
    return os.access(folder, os.W_OK | os.X_OK)
