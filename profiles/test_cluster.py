"""The pipeline on a real cluster of one node: slurmctld, slurmd and munged of Debian.

`./repro test cluster` runs it; where the daemons cannot start it fails and says why.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

import checkout
import same_bytes
from recompact import ROOT

STATE = ROOT / "build/cluster"
# Where a job looks for it, too: Snakemake takes Slurm's variables out of its environment.
CONFIGURATION = Path("/etc/slurm/slurm.conf")
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scancel", "sinfo")
QUICK = ("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1")

pytestmark = pytest.mark.machines


@pytest.fixture(scope="module")
def slurm() -> Iterator[None]:
    """Start a cluster whose files all lie below build/cluster."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.fail(f"{program} is not installed (packages slurm-wlm munge)", pytrace=False)
    if os.getuid() != 0:
        pytest.fail("the daemons need root", pytrace=False)
    mark = f"# by {Path(__file__).name}\n"  # one that was killed may have left it
    if CONFIGURATION.exists() and not CONFIGURATION.read_text(encoding="utf-8").startswith(mark):
        pytest.fail(f"{CONFIGURATION} is there: this machine is in a cluster", pytrace=False)
    shutil.rmtree(STATE, ignore_errors=True)
    for folder in ("state", "spool", "munge"):
        (STATE / folder).mkdir(parents=True)
    key = STATE / "munge/key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (STATE / "munge").chmod(0o755)
    node, processors = socket.gethostname(), os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 * 9 // 10
    CONFIGURATION.parent.mkdir(exist_ok=True)
    CONFIGURATION.write_text(
        f"""\
{mark}ClusterName=recompact
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={STATE}/munge/socket
CredType=cred/munge
StateSaveLocation={STATE}/state
SlurmdSpoolDir={STATE}/spool
SlurmctldPidFile={STATE}/slurmctld.pid
SlurmdPidFile={STATE}/slurmd.pid
SlurmctldLogFile={STATE}/slurmctld.log
SlurmdLogFile={STATE}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
NodeName={node} NodeAddr=127.0.0.1 CPUs={processors} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP
""",
        encoding="utf-8",
    )
    commands = (
        ["munged", "--foreground", "--force", "--key-file", key]
        + ["--socket", STATE / "munge/socket", "--pid-file", STATE / "munge/pid"]
        + ["--log-file", STATE / "munge/log", "--seed-file", STATE / "munge/seed"],
        ["slurmctld", "-D"],
        ["slurmd", "-D"],
    )
    daemons = []
    try:
        for words in commands:
            log = (STATE / f"{words[0]}.out").open("w", encoding="utf-8")
            daemons.append(subprocess.Popen([str(word) for word in words], stdout=log, stderr=log))
            time.sleep(1)
        _wait_for_the_node()
        yield
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()
        CONFIGURATION.unlink()


def _wait_for_the_node() -> None:
    for _ in range(60):
        done = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True, check=False
        )
        if done.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    logs = "".join(path.read_text(encoding="utf-8")[-300:] for path in STATE.glob("*.out"))
    said = f"{done.stdout}{done.stderr}{logs}"
    pytest.fail(f"the cluster does not start: {said}", pytrace=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = checkout.whole(tmp_path_factory.mktemp("cluster") / "checkout")
    (root / ".venv").symlink_to(ROOT / ".venv")
    same_bytes.repeat(root)
    return root


def _words(profile: str) -> list[str]:
    settings = ["--config", "scale=smoke", f"panels={same_bytes.PANELS}"]
    quick = ["--slurm-status-command", "squeue", *QUICK] if profile == "slurm" else []
    return [
        ".venv/bin/snakemake",
        "--profile",
        f"profiles/{profile}",
        "--latency-wait",
        "10",
        *quick,
        *settings,
    ]


def _run(root: Path, profile: str) -> str:
    done = subprocess.run(
        _words(profile),
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def _records(root: Path) -> dict[str, int]:
    return {
        path.parent.name: path.stat().st_mtime_ns for path in root.glob("results/raw/*/run.json")
    }


def test_a_killed_job_is_retried_and_no_finished_run_repeated(slurm: None, copy: Path) -> None:
    said = STATE / "pipeline.out"
    with (
        said.open("w", encoding="utf-8") as log,
        subprocess.Popen(
            _words("slurm"),
            cwd=copy,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ) as pipeline,
    ):
        killed, before = _kill_a_measurement(copy, pipeline)
    assert pipeline.returncode == 0, said.read_text(encoding="utf-8")[-3000:]
    after = _records(copy)
    assert killed in after
    assert {run: after[run] for run in before} == before
    assert (copy / "results/smoke/report/index.html").exists()
    assert "Nothing to be done" in _run(copy, "slurm")


def _kill_a_measurement(
    root: Path, pipeline: subprocess.Popen[bytes]
) -> tuple[str, dict[str, int]]:
    """Wait until one run is finished and another at work, and end the job of that."""
    while pipeline.poll() is None:
        before = _records(root)
        begun = {path.parent.name for path in root.glob("results/raw/*/specification.json")}
        working = begun - set(before)
        if before and working:
            listed = subprocess.run(
                ["squeue", "--noheader", "--format=%i %T %k"],
                capture_output=True,
                text=True,
                check=True,
            )
            jobs = [line.split() for line in listed.stdout.splitlines() if "rule_run" in line]
            running = [words[0] for words in jobs if words[1] == "RUNNING"]
            if running:
                subprocess.run(["scancel", "--signal=KILL", "--full", running[0]], check=True)
                return working.pop(), before
        time.sleep(0.1)
    pytest.fail("no measurement was seen at work; the pipeline's words are in build/cluster")


def test_measurements_have_the_node_for_themselves(slurm: None, copy: Path) -> None:
    times = []
    for path in copy.glob("results/raw/*/run.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        began = datetime.fromisoformat(record["started"]).timestamp()
        times.append((began, began + record["wall_s"]))
    times.sort()
    assert len(times) > 1
    # A record tells its beginning in whole seconds.
    assert all(end <= begin + 1 for (_, end), (begin, _) in pairwise(times))


def test_the_tables_are_those_of_a_native_run(slurm: None, copy: Path) -> None:
    folder = copy / "results/smoke"
    on_cluster = same_bytes.read(folder)
    for name in ("results/raw", "build/finished"):
        shutil.rmtree(copy / name)
    _run(copy, "smoke")
    same_bytes.compare(same_bytes.read(folder), on_cluster)
