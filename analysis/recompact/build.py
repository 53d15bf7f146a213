"""Building the engines and the trace writer."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from recompact import environment
from recompact.experiments import Declarations
from recompact.plan import Sources, digest
from recompact.shell import run

SEAM_SOURCES = (
    "seams/compaction_picker.cc",
    "seams/compaction_runner.cc",
    "seams/deletion_drain.cc",
    "seams/engine_property.cc",
    "seams/invariants.cc",
    "seams/mend_table.cc",
    "seams/obsolete_files.cc",
    "seams/open_tables.cc",
    "seams/repair.cc",
    "seams/sorted_runs.cc",
    "seams/statistics.cc",
    "seams/table_parts.cc",
    "seams/tree_format.cc",
    "seams/whole_files.cc",
)
YCSB = "workloads/ycsb"
REPOSITORY = ".m2/repository"  # Maven's, of a home
OLDEST_ROCKSDB = (7, 0)  # its interface of file systems
# Environment variables that choose the compilers, and what is taken without them.
COMPILERS = {"CC": ("cc", "gcc", "clang"), "CXX": ("c++", "g++", "clang++")}
LANGUAGES = {"CC": "c", "CXX": "c++"}
# What else is here may not change a build: libraries that upstream takes where it finds
# them, and packages that were noted in a home.
FIXED = (
    "-DHAVE_CRC32C=OFF",
    "-DHAVE_TCMALLOC=OFF",
    "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF",
)


def compiler_cache(root: Path) -> list[str]:
    """Give the words before the compiler: engines have most of their sources in common."""
    settings = (
        f"CCACHE_DIR={root / 'build/ccache'}",
        f"CCACHE_BASEDIR={root}",  # paths below it do not count, ...
        "CCACHE_NOHASHDIR=true",  # ... nor where the compiler is called
    )
    return ["env", *settings, "ccache"]


def compilers() -> dict[str, list[str]]:
    """Give the words that call each compiler: the user's, or else the first that is here."""
    found = {}
    for name, usual in COMPILERS.items():
        here = [program for program in usual if shutil.which(program)]
        found[name] = shlex.split(os.environ.get(name, "")) or [*here, usual[0]][:1]
    return found


def _macros(name: str, header: str) -> str:
    """Give all macros that a header leaves, the compiler's own included; nothing without it."""
    words = [*compilers()[name], "-E", "-dM", "-x", LANGUAGES[name], "-include", header]
    try:
        done = subprocess.run(
            [*words, "/dev/null"],
            env=environment.kept(),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def builders() -> dict[str, str]:
    """Name what builds the drivers of each family here.

    The name is a hash of what the compilers say of themselves and of the libraries that drivers
    are built with, and of the flags in CC and CXX.

    Returns
    -------
    dict of str to str
        By family; none of one that cannot be built.
    """
    libraries = {"leveldb": "snappy.h", "rocksdb": "rocksdb/version.h"}
    flags = [words[1:] for words in compilers().values()]
    said = {family: _macros("CXX", header) for family, header in libraries.items()}
    language = _macros("CC", "stdlib.h")
    return {
        family: digest([flags, language, said["leveldb"], macros])
        for family, macros in said.items()
        if macros and said["leveldb"]
    }


def rocksdb_version() -> tuple[int, ...] | None:
    """Tell which RocksDB the compiler finds; None if there is none, or no compiler."""
    macros = _macros("CXX", "rocksdb/version.h")
    found = dict(re.findall(r"#define ROCKSDB_(MAJOR|MINOR|PATCH) (\d+)", macros))
    return tuple(int(found[part]) for part in ("MAJOR", "MINOR", "PATCH")) if found else None


def unavailable(declarations: Declarations) -> dict[str, str]:
    """Tell which engines cannot be built here, and why; the others go on without them."""
    engines = [name for name, entry in declarations.engines.items() if entry.family == "rocksdb"]
    version = rocksdb_version()
    wanted = ".".join(map(str, OLDEST_ROCKSDB))
    if version is not None and version >= OLDEST_ROCKSDB:
        return {}
    found = "is not installed" if version is None else f"is {'.'.join(map(str, version))}"
    reason = f"RocksDB {found}; install {wanted} or newer (package librocksdb-dev)"
    return dict.fromkeys(engines, reason)


def configure(
    root: Path, engine: str, tree: Path, folder: Path, *settings: str, project: str = "engines"
) -> None:
    """Configure the CMake build of one engine in `folder`."""
    declarations = Declarations(root)
    entry = declarations.engines[engine]
    sources = Sources(root)
    own = [*SEAM_SOURCES, *entry.sources] if entry.tree == "patched" else []
    run(
        [
            "cmake",
            "--fresh",
            "-G",
            "Ninja",
            "-S",
            root / project,
            "-B",
            folder,
            f"-DLEVELDB_SOURCE={tree.resolve()}",
            f"-DENGINE_SOURCES={';'.join(own)}",
            f"-DENGINE_FAMILY={entry.family}",
            f"-DENGINE_EXEMPT_TESTS={';'.join(entry.exempt_tests)}",
            f"-DRECOMPACT_TREE_HASH={sources.tree(declarations, engine)}",
            f"-DRECOMPACT_DRIVER_HASH={sources.driver}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(compiler_cache(root))}",
            *FIXED,
            *settings,
        ],
        env=environment.kept() | {name: shlex.join(it) for name, it in compilers().items()},
        log=folder / "configure.log",
    )


def compile_targets(folder: Path, *targets: str) -> None:
    """Compile targets of a configured build."""
    words: list[str | Path] = ["cmake", "--build", folder, "--target", *targets]
    run([*words, "--parallel", str(os.cpu_count() or 1)], log=folder / "build.log")


def build_engine(root: Path, engine: str, tree: Path, folder: Path) -> None:
    """Build the replay driver on one engine; `folder`/driver/recompact_driver is the result."""
    configure(root, engine, tree, folder)
    compile_targets(folder, "recompact_driver")


def build_bench(root: Path, tree: Path, folder: Path) -> None:
    """Build db_bench and the driver on the unpatched release, with the same flags."""
    configure(root, "pristine", tree, folder, "-DRECOMPACT_BUILD_TESTS=ON")
    compile_targets(folder, "recompact_driver", "db_bench")


def maven(root: Path, *words: str) -> list[str | Path]:
    """Give the words that have Maven do something with the trace writer.

    Maven keeps what it fetches in the home that the list of users has for us; if that is not our
    home, it may not be there.
    """
    home = os.environ["HOME"]
    kept = [] if home == environment.listed()[1] else [f"-Dmaven.repo.local={home}/{REPOSITORY}"]
    return ["mvn", "--batch-mode", "--quiet", *kept, "-f", root / YCSB / "pom.xml", *words]


def build_trace_writer(root: Path) -> None:
    """Build the trace writer with Maven; its tests run with `./repro test`."""
    run(maven(root, "-DskipTests", "package"))
