"""A run leaves a finished result, or nothing that looks like one."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from recompact import measure
from recompact.jobs import Run

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


def test_where_another_user_left_a_database_a_run_goes_beside(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = data / f"recompact-{RUN.id}"
    left.mkdir()
    remove = shutil.rmtree
    monkeypatch.setattr(
        shutil, "rmtree", lambda path, **how: None if path == left else remove(path, **how)
    )
    where = f'echo "$6" > {tmp_path}/where; echo \'{{"run": "{RUN.id}"}}\' > "$4/run.json"'
    _measure(tmp_path, _driver(tmp_path, where))
    assert (tmp_path / "where").read_text() == f"{left}-{os.getuid()}\n"
    assert list(data.glob("recompact-*")) == [left]


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


KEEPING = Run(RUN.id, RUN.spec, RUN.engine, RUN.trace_ids, keeps_database=True)
STARTING = Run(
    id="fedcba9876543210",
    spec={"run": "fedcba9876543210", "start_from": {"run": RUN.id, "database": "database"}},
    engine="leveldb",
    trace_ids=(),
    start_from=RUN.id,
)
READING = f"""\
from=$(sed -n 's/.*"database": "\\(.*\\)".*/\\1/p' "$2")
test "$(cat "$from/CURRENT")" = tree
echo '{{"run": "{STARTING.id}"}}' > "$4/run.json"
"""


def test_a_run_starts_from_the_database_that_another_kept(tmp_path: Path, data: Path) -> None:
    keeping = f'echo tree > "$6/CURRENT"; echo \'{{"run": "{RUN.id}"}}\' > "$4/run.json"'
    _measure(tmp_path, _driver(tmp_path, keeping), KEEPING)
    _measure(tmp_path, _driver(tmp_path, READING), STARTING)
    assert measure.check_existing(tmp_path / "raw" / STARTING.id, STARTING)
    assert list(data.glob("recompact-*")) == []


def test_a_database_that_cannot_be_read_is_named(tmp_path: Path, data: Path) -> None:
    with pytest.raises(measure.MeasureError, match=f"{tmp_path / 'database'}: Cannot open"):
        _measure(tmp_path, _driver(tmp_path, "exit 0"), STARTING)
    assert list(data.glob("recompact-*")) == []


def _finishing(tmp_path: Path, run: Run, first: str = "") -> Path:
    return _driver(tmp_path, f'{first}\necho \'{{"run": "{run.id}"}}\' > "$4/run.json"')


def test_a_run_is_confined_to_its_processors(tmp_path: Path) -> None:
    confined = Run("1" * 16, {"run": "1" * 16, "processors": 1}, "leveldb", ())
    listed = f"grep Cpus_allowed_list /proc/self/status > {tmp_path}/processors"
    _measure(tmp_path, _finishing(tmp_path, confined, listed), confined)
    assert (tmp_path / "processors").read_text().split() == ["Cpus_allowed_list:", "0"]
    assert measure.pinning(RUN) == ()
    two = Run("2" * 16, {"processors": 2}, "leveldb", ())
    assert measure.pinning(two) == ("taskset", "-c", "0-1")


def test_what_a_shell_exports_does_not_reach_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = {"LD_LIBRARY_PATH": "/x", "GLIBC_TUNABLES": "x", "MALLOC_PERTURB_": "1"}
    hostile |= {"TAR_OPTIONS": "--no-such-option", "GIT_DIR": "/x", "OMP_NUM_THREADS": "1"}
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    listed = f'echo tree > "$6/CURRENT"; env > {tmp_path}/environment'
    keeping = Run(RUN.id, RUN.spec, RUN.engine, RUN.trace_ids, keeps_database=True)
    _measure(tmp_path, _finishing(tmp_path, keeping, listed), keeping)
    names = {line.split("=")[0] for line in (tmp_path / "environment").read_text().splitlines()}
    assert not names & set(hostile)
    assert {"PATH", "HOME", measure.DATA_ROOT} <= names


def test_a_run_says_from_which_commit_it_comes(tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (tmp_path / ".commit").write_text("$Format:%H$\n")
    assert measure.commit(tmp_path) == "unknown"
    for words in (["init", "-q"], ["add", ".commit"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    words = [*git, "rev-parse", "HEAD"]
    head = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    assert measure.commit(tmp_path) == head
    (tmp_path / ".commit").write_text(f"{head}\n")
    assert measure.commit(tmp_path) == f"{head}-dirty"
    shutil.rmtree(tmp_path / ".git")
    assert measure.commit(tmp_path) == head
