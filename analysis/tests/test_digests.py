"""Digests of runs, and the table that they are compared with."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import checkout
from recompact import digests
from recompact.digests import TABLE, Digests
from recompact.experiments import Declarations
from recompact.plan import make

FOUND = Digests(
    toolchain={"compiler": "gcc 12.2.0", "libraries": {"snappy": "1.1.9"}},
    processors=("processor A",),
    runs={"matrix_ssd leveldb {}": "a" * 16, "matrix_ssd ldc {}": "b" * 16},
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose runs have the digests of FOUND."""
    (tmp_path / TABLE).parent.mkdir(parents=True)
    monkeypatch.setattr(digests, "compute", lambda _: FOUND)
    return tmp_path


def _keep(root: Path, **changes: Any) -> None:
    content = FOUND.model_copy(update=changes).model_dump(mode="json")
    (root / TABLE).write_text(yaml.safe_dump(content))


def test_digests_that_are_the_same_pass(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not digests.check(root, keep=False)
    assert "no such file; write it with ./repro test digests --keep" in capsys.readouterr().out
    assert digests.check(root, keep=True)
    assert digests.check(root, keep=False)
    assert "2 digests on processor A are those of processor A\n" in capsys.readouterr().out


def test_a_digest_that_differs_is_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _keep(root, runs=FOUND.runs | {"matrix_ssd ldc {}": "c" * 16, "gone": "d" * 16})
    assert not digests.check(root, keep=False)
    told = capsys.readouterr().out
    assert f"matrix_ssd ldc {{}}: {'c' * 16} in {TABLE}, {'b' * 16} here" in told
    assert f"gone: {'d' * 16} in {TABLE}, none here" in told
    assert "leveldb" not in told


def test_another_toolchain_is_told_and_not_compared(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _keep(root, toolchain={"compiler": "gcc 14"}, runs={})
    assert digests.check(root, keep=False)
    assert "and here is {'compiler': 'gcc 12.2.0'" in capsys.readouterr().out


def test_processors_that_agree_add_up(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _keep(root, processors=("processor B",))
    assert digests.check(root, keep=False)
    assert "those of processor B; add it with" in capsys.readouterr().out
    digests.check(root, keep=True)
    kept = yaml.safe_load((root / TABLE).read_text())
    assert kept["processors"] == ["processor B", "processor A"]
    _keep(root, processors=("processor B",), runs={})
    digests.check(root, keep=True)
    assert yaml.safe_load((root / TABLE).read_text())["processors"] == ["processor A"]


def test_a_digest_is_of_simulated_time_alone(tmp_path: Path) -> None:
    def write(**changes: Any) -> str:
        work = {"processor_ns": changes.pop("processor_ns", 1), "puts": changes.pop("puts", 2)}
        phase = {
            "name": "run",
            "counters": {"process_read_bytes": changes.pop("process_read_bytes", 3)},
            "work": {"client": work, "own": {"processor_ns": 1}},
        }
        record = {"schedule": {"hash": "0"}, "phases": [phase], "started": "now"} | changes
        (tmp_path / "run.json").write_text(json.dumps(record))
        return digests.digest(tmp_path)

    (tmp_path / "latency.run.f32").write_bytes(b"1234")
    first = write()
    assert first == write(processor_ns=7, process_read_bytes=8, started="later")
    assert first != write(puts=3)
    assert first != write(schedule={"hash": "1"})
    (tmp_path / "latency.run.f32").write_bytes(b"1235")
    assert first != write()


def test_runs_are_of_every_engine_and_kind_of_device(tmp_path: Path) -> None:
    declared = Declarations(checkout.calibrated(tmp_path))
    plan = make(declared, digests.SCALE, digests.EXPERIMENTS)
    assert all(run.simulated for run in plan.runs.values())
    assert set(plan.engines) == set(declared.engines) - {"pristine"}
    devices = [declared.experiments[name].device for name in digests.EXPERIMENTS]
    kinds = {declared.devices[device].kind for device in devices}
    assert kinds == {"ssd", "hdd", "raid0", "smr", "zoned_smr"}
    assert 30 <= len(plan.points) <= 45
