"""What the Snakemake rules ask: which files a rule needs, and in which order runs go."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TextIO, cast, get_args

from recompact import ROOT, runtimes
from recompact.build import builders, compilers, unavailable
from recompact.declarations import DeclarationError
from recompact.errors import RecompactError
from recompact.experiments import Declarations, DiskKind, ScaleName
from recompact.figures.declarations import Figure, check_experiments, check_sizes, load_figures
from recompact.jobs import NATIVE, Run
from recompact.measure import MeasureError, check_existing
from recompact.plan import EMULATED, Host, Plan, digest, hash_files, make

NOISE_EXPERIMENTS = ("noise", "parity")
NO_FIGURE = "RC-NOISE"  # it needs no run that is not made anyway
FIGURES = "paper_figures/figures.yaml"
CLAIMS = "paper_figures/claims.yaml"
RAW = "results/raw"
DATABASES = "build/databases"
FINISHED = "build/finished"
BUILDERS = "build/builders"
# Of ours, what installs and what builds in an image.
IMAGE_MODULES = ("build.py", "command_line.py", "environment.py", "upstream.py")
IMAGE = "image"  # beside the families of engines: what builds all of them in an image


@dataclass(frozen=True)
class Selection:
    """The figures to draw and the plan of the runs that they need."""

    scale: ScaleName
    figures: tuple[Figure, ...]
    plan: Plan


class BusyError(RecompactError):
    """Another pipeline is at work in this checkout, or it is another user's."""


def lock() -> TextIO:
    """Take this checkout for one pipeline, until the returned file is closed or the process ends.

    Raises
    ------
    BusyError
        If another pipeline is at work here, or the checkout is not ours to write.
    """
    path = ROOT / "build/pipeline.lock"
    try:
        path.parent.mkdir(exist_ok=True)
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise BusyError(f"{path}: {error.strerror}; take a checkout of your own") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise BusyError(
            f"{path}: another pipeline is at work in this checkout; wait for it or stop it"
        ) from error
    return file


@cache
def declarations() -> Declarations:
    """Read and check every declared YAML file of this checkout once."""
    return Declarations(ROOT)


def select(scale: str, panels: str, host: Host = EMULATED, also: Collection[str] = ()) -> Selection:
    """Choose figures and plan their runs.

    Parameters
    ----------
    scale : str
        smoke, small or paper.
    panels : str
        Figure ids separated by commas, or "all".
    host : Host, optional
        How runs are carried out: natively and on emulated devices by default.
    also : collection of str, optional
        Experiments whose runs are wanted though no chosen figure is drawn from them.

    Raises
    ------
    DeclarationError
        If the scale, a figure or an experiment is not declared.
    MeasureError
        If a result directory holds the result of another run.
    """
    declared = declarations()
    if scale not in declared.scales:
        raise DeclarationError(
            f"workloads/scales.yaml: scales: has no {scale!r}; it has {', '.join(declared.scales)}"
        )
    figures = load_figures(ROOT / FIGURES)
    check_experiments(figures, declared.experiments)
    check_sizes(figures, [name for name, entry in declared.experiments.items() if entry.keep_sizes])
    wanted = figures.figures if panels == "all" else figures.chosen(panels.split(","))
    used = {name for figure in wanted for name in figure.experiments}
    # The noise floor is needed for every verdict.
    used.update(NOISE_EXPERIMENTS, also)
    experiments = [name for name in declared.experiments if name in used]
    absent = unavailable(declared) if host.runtime == NATIVE else {}
    plan = make(declared, scale, experiments, absent, host)
    for run in plan.runs.values():
        if not check_existing(ROOT / RAW / run.id, run):
            (ROOT / FINISHED / run.id).unlink(missing_ok=True)  # its result was removed
    return Selection(plan.scale, wanted, plan)


def make_runs(
    root: Path, scale: ScaleName, experiments: Collection[str], runs: Collection[str]
) -> None:
    """Have Snakemake make runs of experiments, whatever figures are drawn from them.

    Raises
    ------
    MeasureError
        If one fails.
    """
    marks = sorted({f"{FINISHED}/{run}" for run in runs})
    words = [sys.executable, "-m", "snakemake", "--profile", f"profiles/{scale}", *marks]
    words += ["--config", f"scale={scale}", f"panels={NO_FIGURE}", f"also={' '.join(experiments)}"]
    if subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise MeasureError(f"runs of {', '.join(experiments)} failed; the messages above say why")


def host(settings: Mapping[str, str]) -> Host:
    """Read how runs are carried out from the settings of a profile: `runtime` and `disk`.

    Raises
    ------
    DeclarationError
        If there is no such kind of disk.
    RuntimeMissing
        If the runtime is not known, or is not here.
    """
    folder = ROOT / BUILDERS
    noted = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*")}
    disk = settings.get("disk")
    if disk is not None and disk not in get_args(DiskKind):
        raise DeclarationError(
            f"disk: {disk!r} is no kind of disk; use {', '.join(get_args(DiskKind))}"
        )
    runtime = settings.get("runtime", NATIVE)
    runtimes.check(runtime)
    if runtime != NATIVE and IMAGE in noted:
        noted = dict.fromkeys(noted, noted[IMAGE])
    return Host(runtime=runtime, disk=cast(DiskKind | None, disk), builders=noted)


def note_builders() -> None:
    """Note what builds drivers here, which is part of a run's name and makes them built again.

    Who looks at the names later, on a node of a cluster or where no compiler is, finds it noted.

    Raises
    ------
    RecompactError
        If CC or CXX names a compiler that is not here.
    """
    for name, words in compilers().items():
        if name in os.environ and shutil.which(words[0]) is None:
            raise RecompactError(f"{name}: {words[0]}: not installed; name another compiler")
    base = os.environ.get(runtimes.BASE_IMAGE, "")
    image = {IMAGE: digest([hash_files(ROOT, (runtimes.DOCKERFILE,)), base])}
    for name, builder in (builders() | image).items():
        _write(f"{BUILDERS}/{name}", builder)


def write_plan(selection: Selection) -> str:
    """Write the plan for the tables."""
    return _write(f"build/plans/{selection.scale}.json", selection.plan.as_json())


def write_finished_plan(scale: str, host: Host = EMULATED) -> str:
    """Write the part of a scale's plan whose runs are finished.

    An experiment on a simulated host is left out until all of its runs are finished: what was
    simulated answers in place of what was measured, and would answer for a part only.

    Raises
    ------
    MeasureError
        If none is.
    """
    plan = select(scale, "all", host).plan
    finished = {name for name, run in plan.runs.items() if check_existing(ROOT / RAW / name, run)}
    points = plan.finished_points(finished)
    if not points:
        raise MeasureError(f"no run of scale {scale} is finished; start ./repro {scale}")
    return _write(f"build/plans/{scale}.finished.json", replace(plan, points=points).as_json())


def _write(name: str, text: str) -> str:
    """Write a file of this checkout; leave it alone where it says the same already."""
    path = ROOT / name
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path.relative_to(ROOT).as_posix()


def _files(folder: str, *patterns: str) -> list[str]:
    found = {path for pattern in patterns for path in (ROOT / folder).glob(pattern)}
    return sorted(path.relative_to(ROOT).as_posix() for path in found if path.is_file())


def patch_files(tree: str) -> list[str]:
    """List the patches that make a tree."""
    return _files("engines/patches", "*") if tree == "patched" else []


def tree_of(engine: str) -> str:
    """Name the tree that an engine is built from."""
    entry = declarations().engines.get(engine)
    if entry is None:
        raise DeclarationError(f"engines/engines.yaml: engines: has no {engine!r}")
    return entry.tree


def engine_files(engine: str) -> list[str]:
    """List what an engine's driver is built from: our sources, and the note of the compiler."""
    entry = declarations().engines[engine]
    return [
        f"{BUILDERS}/{entry.family}",
        *_files("engines", "CMakeLists.txt", "seams/*", "pristine/*.cc", *entry.sources),
        *(_files(f"engines/{entry.family}", "*.h", "*.cc") if entry.family != "leveldb" else []),
        *_files("workloads/driver", "CMakeLists.txt", "*.h", "*.cc"),
        *_files("workloads/simulator", "CMakeLists.txt", "*.h", "*.cc"),
    ]


def trace_writer_files() -> list[str]:
    """List the sources of the trace writer."""
    return _files("workloads/ycsb", "pom.xml", "src/main/**/*")


def image_files() -> list[str]:
    """List the sources of the image with the drivers."""
    return [
        *("repro", "requirements.lock", ".dockerignore"),
        *_files("docker", "*"),
        *_files("engines", "**/*"),
        *_files("workloads/driver", "*"),
        *_files("workloads/simulator", "*"),
        *_files("analysis/recompact", *IMAGE_MODULES),
    ]


def image() -> str:
    """Name the image with the drivers, by its content."""
    content = [[name, hash_files(ROOT, (name,))] for name in image_files()]
    base = os.environ.get(runtimes.BASE_IMAGE, "")
    return f"recompact-engines:{digest([content, base])}"


def driver_of(run: Run) -> str:
    """Name the driver that replays a run, or the file that names the image with it."""
    if run.runtime != NATIVE:
        return f"build/images/{run.runtime}.name"
    return f"build/engines/{run.engine}/driver/recompact_driver"


def traces_of(plan: Plan, name: str) -> list[str]:
    """List the traces that a run replays, those of the database it starts from included."""
    run = plan.runs[name]
    base = plan.runs[run.start_from].trace_ids if run.start_from else ()
    return [plan.traces[trace].path for trace in (*base, *run.trace_ids)]


def base_of(run: Run) -> list[str]:
    """Name the mark of the run whose database a run starts from, and the database, if any."""
    folders = (FINISHED, DATABASES) if run.start_from else ()
    return [f"{folder}/{run.start_from}" for folder in folders]


def prepared(plan: Plan) -> str:
    """Give a regular expression of the runs whose database others start from."""
    return "|".join(run.id for run in plan.runs.values() if run.keeps_database) or "none"


def marks_of(plan: Plan) -> list[str]:
    """List the marks of all runs of a plan."""
    return [f"{FINISHED}/{name}" for name in plan.runs]


def priority(plan: Plan, name: str) -> int:
    """Order runs as planned: the earlier, the higher."""
    return len(plan.runs) - list(plan.runs).index(name)


def folder_of(path: str) -> str:
    """Name the folder that a file lies in."""
    return Path(path).parent.as_posix()
