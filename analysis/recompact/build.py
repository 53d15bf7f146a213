"""Building the engines and the trace writer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from recompact.experiments import Declarations
from recompact.plan import Sources
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
OLDEST_ROCKSDB = (7, 0)  # its interface of file systems


def compiler_cache(root: Path) -> list[str]:
    """Give the words before the compiler: engines have most of their sources in common."""
    settings = (
        f"CCACHE_DIR={root / 'build/ccache'}",
        f"CCACHE_BASEDIR={root}",  # paths below it do not count, ...
        "CCACHE_NOHASHDIR=true",  # ... nor where the compiler is called
    )
    return ["env", *settings, "ccache"]


def rocksdb_version() -> tuple[int, ...] | None:
    """Tell which RocksDB the compiler finds; None if there is none, or no compiler."""
    if shutil.which("c++") is None:
        return None
    command = ["c++", "-E", "-dM", "-x", "c++", "-include", "rocksdb/version.h", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = dict(re.findall(r"#define ROCKSDB_(MAJOR|MINOR|PATCH) (\d+)", done.stdout))
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
            *settings,
        ],
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


def build_trace_writer(root: Path) -> None:
    """Build the trace writer with Maven; its tests run with `./repro test`."""
    run(["mvn", "--batch-mode", "--quiet", "-DskipTests", "-f", root / YCSB / "pom.xml", "package"])
