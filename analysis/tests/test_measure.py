"""A run leaves a finished result, or nothing that looks like one."""

import json
from pathlib import Path

import pytest

from recompact import measure
from recompact.plan import Run

RUN = Run(id="0123456789abcdef", spec={"run": "0123456789abcdef"}, engine="leveldb", trace_ids=())


def _driver(folder: Path, body: str) -> Path:
    """Write a program that takes the driver's flags: $4 is --out, $6 is --data-dir."""
    path = folder / "driver"
    path.write_text(f'#!/bin/sh\nset -eu\nmkdir -p "$6"\n{body}\n', encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv(measure.DATA_ROOT, str(folder))
    return folder


def _measure(tmp_path: Path, driver: Path, run: Run = RUN) -> None:
    measure.measure(run, tmp_path, driver, tmp_path / "raw" / run.id, tmp_path / "database")


def test_a_finished_run_is_not_repeated(tmp_path: Path, data: Path) -> None:
    counting = _driver(
        tmp_path, f'echo x >> {tmp_path}/calls; echo \'{{"run": "{RUN.id}"}}\' > "$4/run.json"'
    )
    _measure(tmp_path, counting)
    _measure(tmp_path, counting)
    assert (tmp_path / "calls").read_text() == "x\n"
    assert list(data.glob("recompact-*")) == []


def test_what_a_killed_run_left_is_replaced(tmp_path: Path, data: Path) -> None:
    left = tmp_path / "raw" / RUN.id
    left.mkdir(parents=True)
    (left / "timeline.csv").write_text("half a line")
    (data / f"recompact-{RUN.id}").mkdir()
    _measure(tmp_path, _driver(tmp_path, f'echo \'{{"run": "{RUN.id}"}}\' > "$4/run.json"'))
    assert not (left / "timeline.csv").exists()
    assert measure.check_existing(left, RUN)


def test_a_database_left_by_a_run_killed_after_its_record_is_removed(
    tmp_path: Path, data: Path
) -> None:
    finished = tmp_path / "raw" / RUN.id
    finished.mkdir(parents=True)
    (finished / "run.json").write_text(json.dumps({"run": RUN.id}))
    (data / f"recompact-{RUN.id}").mkdir()
    _measure(tmp_path, _driver(tmp_path, "exit 1"))
    assert list(data.glob("recompact-*")) == []


def test_a_failing_driver_is_an_error_and_leaves_no_result(tmp_path: Path, data: Path) -> None:
    with pytest.raises(measure.MeasureError, match=f"status 5 in run {RUN.id}"):
        _measure(tmp_path, _driver(tmp_path, "exit 5"))
    assert not measure.check_existing(tmp_path / "raw" / RUN.id, RUN)
    assert list(data.glob("recompact-*")) == []


def test_the_result_of_another_run_is_refused_and_kept(tmp_path: Path) -> None:
    other = tmp_path / "raw" / RUN.id
    other.mkdir(parents=True)
    (other / "run.json").write_text(json.dumps({"run": "fedcba9876543210"}))
    with pytest.raises(measure.MeasureError, match="run fedcba9876543210, not of 0123456789abcdef"):
        _measure(tmp_path, _driver(tmp_path, "exit 0"))
    assert (other / "run.json").exists()


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "raw" / RUN.id
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{")
    with pytest.raises(measure.MeasureError, match="run.json: not a run record; remove"):
        measure.check_existing(broken, RUN)


def test_a_database_that_is_to_be_kept_is_kept(tmp_path: Path) -> None:
    keeping = Run(RUN.id, RUN.spec, RUN.engine, RUN.trace_ids, keeps_database=True)
    driver = _driver(
        tmp_path, f'touch "$6/CURRENT"; echo \'{{"run": "{RUN.id}"}}\' > "$4/run.json"'
    )
    _measure(tmp_path, driver, keeping)
    assert (tmp_path / "database/CURRENT").exists()


def test_an_unknown_runtime_is_named() -> None:
    with pytest.raises(measure.MeasureError, match="runtime: 'lxc' is not known"):
        measure.runtime_prefix("lxc")
