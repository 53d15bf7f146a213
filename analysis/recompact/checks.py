"""`./repro test`: every test and linter of the project, one after another."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from recompact import build, command_line, digests, environment, torture, upstream
from recompact.errors import RecompactError
from recompact.experiments import Declarations

PYTHON_SOURCES = ("analysis", "docker", "ansible", "profiles")
TESTS = "build/tests"
SIMULATOR = "workloads/simulator"
LOCK = "requirements.lock"
TIMED = "timed"  # upstream_tests.cmake's label
CTEST = ("ctest", "--output-on-failure", "--parallel", str(os.cpu_count() or 1))
RULES = (
    "Snakefile",
    "engines/engines.smk",
    "workloads/workloads.smk",
    "analysis/analysis.smk",
    "paper_figures/figures.smk",
)


# They change the machine (daemons, devices, networks) and put it right again.
MACHINES = {
    "containers": "docker/test_containers.py",
    "hosts": "ansible/test_hosts.py",
    "cluster": "profiles/test_cluster.py",
}


@dataclass(frozen=True)
class Check:
    """One thing to test: a name, what returns whether it passed, whether it runs unless named."""

    name: str
    passes: Callable[[], bool]
    by_default: bool = True


def _command(root: Path, *words: str | Path, env: dict[str, str] | None = None) -> bool:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=root,
        env=environment.kept() | (env or {}),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0


def _cannot_run(reason: str) -> bool:
    print(reason)
    return False


def _cpp_sources(root: Path) -> list[str]:
    folders = (root / "engines", root / "workloads/driver", root / SIMULATOR)
    files = (path for folder in folders for path in folder.rglob("*.[hc]*"))
    return sorted(str(path.relative_to(root)) for path in files if path.suffix in (".h", ".cc"))


def _engine_tests(root: Path, engine: str, first: bool) -> bool:
    """Build one engine with asserts, and run upstream's tests and ours on it.

    The first patched engine is for what is the same in all of them, too.
    """
    tree = upstream.tree_for_tests(root, Declarations(root).engines[engine].tree)
    folder = root / TESTS / engine
    settings = ["-DRECOMPACT_BUILD_TESTS=ON", "-DCMAKE_BUILD_TYPE=Checked"]
    if first:
        settings.append("-DRECOMPACT_ALL_TESTS=ON")
    build.configure(root, engine, tree, folder, *settings)
    return _command(
        root, "cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1)
    ) and _command(folder, *CTEST, "-LE", TIMED, env=_scratch(folder))


def _sanitized_simulator(root: Path) -> bool:
    """Run the simulator's tests under each sanitizer; they need no engine."""
    engine = next(iter(Declarations(root).engines))
    tree = upstream.tree_for_tests(root, Declarations(root).engines[engine].tree)
    programs = [path.stem for path in (root / SIMULATOR).glob("*_test.cc")]
    passed = True
    for sanitizer in torture.SANITIZERS:
        folder = root / TESTS / f"simulator-{sanitizer}"
        settings = ["-DRECOMPACT_BUILD_TESTS=ON", "-DRECOMPACT_ALL_TESTS=ON"]
        settings += torture.sanitizer_settings(sanitizer)
        build.configure(root, engine, tree, folder, *settings)
        build.compile_targets(folder, *programs)
        passed &= _command(folder, *CTEST, "--no-tests=error", "--tests-regex", "^simulator")
    return passed


def _timed_tests(root: Path, engines: Iterable[str]) -> bool:
    """Run those of upstream's tests that take a fixed time, on all built engines at once."""
    folders = [root / TESTS / engine for engine in engines]
    built = [folder for folder in folders if (folder / "CTestTestfile.cmake").exists()]
    if not built:
        print("timed tests: no engine is built; name the check of one before them")
    running = [
        subprocess.Popen(
            (*CTEST, "--no-tests=error", "-L", TIMED),
            cwd=folder,
            env=environment.kept() | _scratch(folder),
            stdin=subprocess.DEVNULL,
        )
        for folder in built
    ]
    statuses = [process.wait() for process in running]
    return bool(built) and not any(statuses)


def _scratch(folder: Path) -> dict[str, str]:
    """Tell upstream's tests of one engine where their databases go."""
    memory = Path("/dev/shm")
    name = f"recompact-test-{os.getuid()}-{folder.name}"
    scratch = (memory if memory.is_dir() else folder) / name
    scratch.mkdir(exist_ok=True)  # upstream's tests take it to be there
    return {"TEST_TMPDIR": str(scratch)}


def all_checks(root: Path, keep: bool = False) -> list[Check]:
    """List every check, those first that tell most in the time that they take.

    `keep` is of digests.
    """

    def command(name: str, *words: str | Path) -> Check:
        return Check(name, lambda: _command(root, *words))

    checks = [
        command("ruff", "ruff", "check", *PYTHON_SOURCES),
        command("ruff format", "ruff", "format", "--check", *PYTHON_SOURCES),
        command("mypy", "mypy", "analysis/recompact"),
        command("snakefmt", "snakefmt", "--check", *RULES),
        command("snakemake lint", "snakemake", "--lint", "--config", "scale=smoke"),
        command("shellcheck", "shellcheck", "repro", ".ci/run"),
        command("hadolint", "hadolint", "docker/Dockerfile"),
        # What the registry has no word on is listed as not audited.
        command("audit", "pip-audit", "--require-hashes", "--disable-pip", "-r", LOCK),
        command("clang-format", "clang-format", "--dry-run", "--Werror", *_cpp_sources(root)),
        command(
            "analysis",
            *(sys.executable, "-m", "pytest", "-q", "-m", "not pipeline"),
            *("--numprocesses=auto", "--dist=loadfile"),
        ),
        command("trace writer", *build.maven(root, "verify")),
    ]
    checks.append(
        command("pipeline", sys.executable, "-m", "pytest", "-q", "-m", "pipeline", "--tb=short")
    )
    checks.append(Check("digests", partial(digests.check, root, keep)))
    declarations = Declarations(root)
    absent = build.unavailable(declarations)
    with_upstream_tests = []
    trees: set[str] = set()
    tortures, sanitizers = [], []
    for engine, entry in declarations.engines.items():
        if engine in absent:
            reason = f"{engine}: {absent[engine]}"
            for kind in ("engine", "torture"):
                checks.append(Check(f"{kind} {engine}", partial(_cannot_run, reason), False))
            continue
        # Upstream's own tests of what no engine changes are not run on the bare release.
        first = entry.tree == "patched" and entry.tree not in trees
        trees.add(entry.tree)
        checks.append(Check(f"engine {engine}", partial(_engine_tests, root, engine, first)))
        tortures.append(Check(f"torture {engine}", partial(torture.short, root, engine)))
        if entry.tree == "patched":  # the other has no code of ours
            passes = partial(torture.sanitized, root, engine)
            sanitizers.append(Check(f"sanitizers {engine}", passes))
            with_upstream_tests.append(engine)
    checks += tortures
    checks.append(Check("foreign databases", partial(torture.foreign_databases, root)))
    checks.append(Check("sanitizers simulator", partial(_sanitized_simulator, root)))
    checks += sanitizers
    checks.append(Check("timed tests", partial(_timed_tests, root, with_upstream_tests)))
    for name, file in MACHINES.items():
        words = (sys.executable, "-m", "pytest", "-q", "-rsfE", file)
        checks.append(Check(name, partial(_command, root, *words), by_default=False))
    return checks


def chosen(root: Path, names: Sequence[str] = (), keep: bool = False) -> list[Check]:
    """Give the checks of these names, or those that run unless named.

    Raises
    ------
    RecompactError
        If a name is not that of a check.
    """
    checks = all_checks(root, keep)
    known = [check.name for check in checks]
    for name in names:
        if name not in known:
            raise RecompactError(f"no check is named {name!r}; {command_line.nearest(name, known)}")
    return [check for check in checks if check.name in names or not names and check.by_default]


def run(
    root: Path, names: Sequence[str] = (), keep: bool = False, within_s: float = math.inf
) -> int:
    """Run the checks, or those named; say what passed; return the exit status.

    No check begins after `within_s` seconds; those that do not are named.
    """
    checks = chosen(root, names, keep)
    for engine, reason in build.unavailable(Declarations(root)).items() if not names else ():
        print(f"left out: {engine}: {reason}")
    failed, left_out = [], []
    begin = time.monotonic()
    for check in checks:
        if time.monotonic() - begin > within_s:
            left_out.append(check.name)
            continue
        print(f"== {check.name}", flush=True)
        start = time.monotonic()
        if not check.passes():
            failed.append(check.name)
        print(f"== {check.name}: {time.monotonic() - start:.0f} s", flush=True)
    for name in failed:
        print(f"failed: {name}")
    if left_out:
        print(f"no time was left for: {', '.join(left_out)}")
    passed = len(checks) - len(failed) - len(left_out)
    print(f"{passed} passed, {len(failed)} failed" + f", {len(left_out)} skipped" * bool(left_out))
    return 1 if failed else 0
