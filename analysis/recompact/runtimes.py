"""What runs the replay driver: this host, or a container of the image with all drivers.

A container sees the databases, the traces and the results, each where the host has it; it has no
network, no capability and a root that it cannot write, and its processors and memory are limited.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from recompact import environment
from recompact.errors import RecompactError
from recompact.jobs import NATIVE, Run
from recompact.shell import run as command

CONTAINERS = ("docker", "podman")
RUNTIMES = (NATIVE, *CONTAINERS)
DOCKERFILE = "docker/Dockerfile"
DRIVERS = "/opt/recompact"  # in the image, one folder per engine
LABEL = "org.recompact"
# Environment variables.
BASE_IMAGE = "RECOMPACT_BASE_IMAGE"  # in place of the Dockerfile's: of the same release of Debian
CPUS = "RECOMPACT_CPUS"  # "0-3": processors of a container, all of this process by default
MEMORY = "RECOMPACT_MEMORY"  # "16g": memory of a container, most of the host's by default
MEMORY_SHARE = 0.9
# Every table takes a file. Podman that is told one limit asks for the most of the others.
LIMITS = (("nofile", resource.RLIMIT_NOFILE, 65536), ("nproc", resource.RLIMIT_NPROC, 16384))


class RuntimeMissing(RecompactError):
    """No such runtime here, or it cannot run containers; the message says what to do."""


def check(name: str) -> None:
    """Check that a runtime is known and, if it is a program, that it answers.

    Raises
    ------
    RuntimeMissing
        If not.
    """
    if name not in RUNTIMES:
        raise RuntimeMissing(f"runtime: {name!r} is not known; use {', '.join(RUNTIMES)}")
    if name == NATIVE:
        return
    if shutil.which(name) is None:
        raise RuntimeMissing(f"runtime {name}: not installed; install it, or use {NATIVE}")
    done = subprocess.run([name, "info"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise RuntimeMissing(
            f"runtime {name}: does not answer ({' '.join(last)}); start it, or use {NATIVE}"
        )


def words(run: Run, driver: Path, root: Path, data: Path, raw: Path) -> tuple[str, ...]:
    """Give the words before a program that is to run where the driver of a run does.

    Parameters
    ----------
    run : Run
        The run; its profile gets one capability, which not every runtime can give.
    driver : Path
        The driver as it was built here, or a file that names the image with it.
    root : Path
        The checkout, from which traces are named.
    data : Path
        Where databases live while they are measured: on the device under test.
    raw : Path
        Receives results.

    Returns
    -------
    tuple of str
        None natively.
    """
    if run.runtime == NATIVE:
        return ()
    volumes = [f"{folder}:{folder}" for folder in (data, raw)]
    traces = root / "build/traces"
    volumes += [f"{traces}:{traces}:ro"] if traces.is_dir() else []
    return (
        *(run.runtime, "run", "--rm", "--name", container(run)),
        *("--network", "none", "--read-only", "--cap-drop", "ALL"),
        *(("--cap-add", "PERFMON") if run.profile else ()),
        *("--security-opt", "no-new-privileges"),
        *("--cpuset-cpus", processors(), "--memory", memory()),
        *(word for limit in limits() for word in ("--ulimit", limit)),
        *("--user", f"{os.getuid()}:{os.getgid()}"),
        *(word for volume in volumes for word in ("--volume", volume)),
        *("--workdir", str(root), driver.read_text(encoding="utf-8").strip()),
    )


def container(run: Run) -> str:
    """Name the container of a run."""
    return f"recompact-{run.id}"


def program(run: Run, driver: Path) -> str:
    """Name the driver of a run where it runs: as it was built here, or in the image."""
    if run.runtime == NATIVE:
        return str(driver.resolve())
    return f"{DRIVERS}/{run.engine}/driver/recompact_driver"


def environment_of(run: Run) -> Mapping[str, str]:
    """Give the environment of a run: the driver's own, or that of what starts the container."""
    return environment.kept() if run.runtime == NATIVE else os.environ


def remove(run: Run) -> None:
    """Remove the container of a run that was broken off: it outlives what started it."""
    if run.runtime != NATIVE:
        subprocess.run(
            [run.runtime, "rm", "--force", container(run)], capture_output=True, check=False
        )


def processors() -> str:
    """Name the processors of a container: those of this process unless the user says which."""
    mine = sorted(os.sched_getaffinity(0))
    return os.environ.get(CPUS, ",".join(map(str, mine)))


def memory() -> str:
    """Give the memory limit of a container, databases that lie in memory included."""
    pages = int(os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
    return os.environ.get(MEMORY, f"{pages * os.sysconf('SC_PAGE_SIZE') // 2**20}m")


def limits() -> Iterator[str]:
    """Name the limits of a container's processes: it does not get more than this process may."""
    for name, kind, enough in LIMITS:
        hard = resource.getrlimit(kind)[1]
        yield f"{name}={enough if hard == resource.RLIM_INFINITY else min(enough, hard)}"


def build_image(runtime: str, root: Path, tag: str, target: str, log: Path) -> None:
    """Build an image, and label it with what its drivers say of themselves.

    Parameters
    ----------
    runtime : str
        docker or podman.
    root : Path
        The checkout.
    tag : str
        Name of the image.
    target : {'engines', 'analysis'}
        Stage of the Dockerfile.
    log : Path
        Receives what the build prints.

    Raises
    ------
    CommandError
        If it cannot be built.
    """
    words: list[str | Path] = [
        runtime,
        "build",
        "--file",
        root / DOCKERFILE,
        "--target",
        target,
        "--tag",
        tag,
    ]
    if os.environ.get(BASE_IMAGE):
        words += ["--build-arg", BASE_IMAGE]
    command([*words, root], env=os.environ, log=log)
    from recompact import upstream  # of all steps, runs are to begin soon

    # What a compiler was is known when it has compiled: one more layer, of labels alone.
    release = upstream.declared(root)
    told = {"upstream": release.sha256, **labels(runtime, tag)}
    lines = [f"FROM {tag}", *(f"LABEL {LABEL}.{name}={json.dumps(told[name])}" for name in told)]
    labelled = [runtime, "build", "--tag", tag, "-"]
    command(labelled, env=os.environ, said="\n".join(lines) + "\n")


def labels(runtime: str, tag: str) -> Mapping[str, str]:
    """Read what the drivers of an image say of their build.

    Returns
    -------
    mapping of str to str
        ``compiler``, ``flags`` and ``driver`` of all, and ``tree.<engine>`` of each.
    """
    script = 'for engine in *; do echo "$engine $($engine/driver/recompact_driver --build)"; done'
    words = [runtime, "run", "--rm", "--network", "none", "--entrypoint", "sh"]
    said = command([*words, "--workdir", DRIVERS, tag, "-c", script], env=os.environ)
    found = {}
    for line in said.splitlines():
        engine, record = line.split(maxsplit=1)
        content = json.loads(record)
        build = content["engine"]["build"]
        found[f"tree.{engine}"] = build["tree_hash"]
        found |= {"compiler": build["compiler"], "flags": build["flags"]}
        found["driver"] = content["driver"]["source_hash"]
    return found
