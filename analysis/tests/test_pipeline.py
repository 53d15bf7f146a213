"""The whole pipeline on real engines and traces, at a scale of seconds, ill-treated.

It runs in a copy of this checkout, which shares the built engines. Apart from the other tests
(`./repro test pipeline`), because it measures.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import checkout
from recompact import ROOT
from recompact.experiments import Declarations
from recompact.measure import DATA_ROOT

pytestmark = pytest.mark.pipeline

ENGINES = ("leveldb", "pristine")
BUILT = [
    *(f"build/engines/{engine}/driver/recompact_driver" for engine in ENGINES),
    "workloads/ycsb/target/recompact-ycsb.jsa",
]
SHARED = (
    "build/builders",
    "build/engines",
    "build/trees",
    "build/upstream",
    "workloads/ycsb/target",
)
TABLES = ("experiments.csv", "runs.csv", "noise.csv", "claims.csv")
RUNS = 10  # 2 copies x 3 repetitions of noise, 2 engines x 2 repetitions of parity


@pytest.fixture(scope="module")
def shared_builds() -> None:
    """Build what the copies share, in this checkout."""
    words = [".venv/bin/snakemake", "--profile", "profiles/smoke", *BUILT]
    subprocess.run(words, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def copy(shared_builds: None, tmp_path: Path) -> Path:
    """Copy the checkout, with a smoke scale of seconds."""
    root = checkout.copy(tmp_path / "checkout")
    for name in ("Snakefile", "README.md"):
        shutil.copy2(ROOT / name, root)
    shutil.copytree(ROOT / "profiles", root / "profiles")
    (root / "build").mkdir()
    for folder in (".venv", *SHARED):
        (root / folder).symlink_to(ROOT / folder)
    scales = root / "workloads/scales.yaml"
    declared = scales.read_text(encoding="utf-8")
    factors = Declarations(root).scales["smoke"].factor
    for name, factor in factors.items():
        declared = declared.replace(f"{name}: {factor}", f"{name}: 512", 1)
    scales.write_text(declared, encoding="utf-8")
    assert set(Declarations(root).scales["smoke"].factor.values()) == {512}
    return root


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """Give databases a place of their own in memory."""
    folder = Path("/dev/shm") / f"recompact-pipeline-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def _start(root: Path, data: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [root / ".venv/bin/python", "-m", "recompact", "smoke", "--panels", "RC-NOISE"],
        cwd=root,
        env=os.environ | {DATA_ROOT: str(data)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _smoke(root: Path, data: Path) -> tuple[int, str]:
    process = _start(root, data)
    output, _ = process.communicate()
    return process.returncode, output


def _records(root: Path) -> dict[str, tuple[bytes, int]]:
    """Give the content and time of every finished run's record."""
    return {
        path.parent.name: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in (root / "results/raw").glob("*/run.json")
    }


def _tables(root: Path) -> dict[str, bytes]:
    return {name: (root / "results/smoke" / name).read_bytes() for name in TABLES}


def test_java_takes_the_classes_that_were_archived_for_it(shared_builds: None) -> None:
    jar = "workloads/ycsb/target/recompact-ycsb.jar"
    java = ["java", "-Xshare:on", f"-XX:SharedArchiveFile={Path(jar).with_suffix('.jsa')}"]
    words = [*java, "-jar", jar, "--help"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Usage: recompact-ycsb" in done.stdout + done.stderr, done.stdout


def test_killed_in_the_middle_it_goes_on_and_ends_with_the_same_tables(
    copy: Path, data: Path
) -> None:
    process = _start(copy, data)
    while len(_records(copy)) < 3:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    finished = _records(copy)
    assert 3 <= len(finished) < RUNS

    status, output = _smoke(copy, data)
    assert status == 0, output
    assert "build_engine" not in output  # they are shared
    records = _records(copy)
    assert len(records) == RUNS
    assert {name: records[name] for name in finished} == finished
    assert list(data.glob("recompact-*")) == []

    tables = _tables(copy)
    status, output = _smoke(copy, data)
    assert status == 0 and "Nothing to be done" in output
    shutil.rmtree(copy / "results/smoke")
    status, output = _smoke(copy, data)
    assert status == 0, output
    assert _tables(copy) == tables
    assert _records(copy) == records

    words = ["--profile", "profiles/smoke", "--config", "scale=smoke", "panels=RC-NOISE"]
    done = subprocess.run(
        [".venv/bin/snakemake", *words, "--report", "report.html"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = (copy / "report.html").read_text(encoding="utf-8")
    assert "RC-NOISE.svg;base64," in report
    assert "claims.csv" in report


def test_a_locked_data_directory_is_told_and_costs_no_finished_run(copy: Path, data: Path) -> None:
    process = _start(copy, data)
    while not _records(copy):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    finished = _records(copy)
    with (data / "recompact.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, output = _smoke(copy, data)
    assert status != 0
    assert re.search(r"recompact_driver: .*recompact\.lock: .*another measurement", output), output
    assert _records(copy) == finished


def test_a_full_disk_is_told(copy: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("no right to mount a small file system")
    try:
        status, output = _smoke(copy, small)
    finally:
        subprocess.run(["umount", small], check=True)
    assert status != 0
    assert re.search(r"recompact_driver: .*(no space|free)", output), output
    assert _records(copy) == {}
