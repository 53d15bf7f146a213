"""A job's file says what was planned."""

from pathlib import Path

import pytest

import checkout
from recompact import jobs, step
from recompact.declarations import DeclarationError
from recompact.experiments import Declarations
from recompact.pipeline import select
from recompact.plan import make


def test_what_is_written_is_read(tmp_path: Path) -> None:
    declarations = Declarations(checkout.calibrated(tmp_path))
    plan = make(declarations, "smoke", ["pcp_steps_ssd", "ldc_read_only"])
    jobs.write(tmp_path, [*plan.traces.values(), *plan.runs.values()])
    for run in plan.runs.values():
        assert jobs.read_run(tmp_path, run.id) == run
    assert any(run.simulated for run in plan.runs.values())
    assert any(run.start_from for run in plan.runs.values())
    for trace in plan.traces.values():
        assert jobs.read_trace(tmp_path, trace.id) == trace


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    trace = jobs.Trace("0123456789abcdef", {"records": 1}, "load", 7)
    jobs.write(tmp_path, [trace])
    path = tmp_path / jobs.FOLDER / f"{trace.id}.json"
    written = path.stat().st_mtime_ns
    jobs.write(tmp_path, [trace])
    assert path.stat().st_mtime_ns == written
    assert list(path.parent.iterdir()) == [path]


def test_a_job_that_nobody_planned_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--run", "0", "--driver", "none", "--raw", "none"]
    assert step.main(words) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("/build/jobs/0.json: no such file; the pipeline that planned it writes it")


def test_a_run_that_is_no_longer_planned_is_told() -> None:
    with pytest.raises(DeclarationError, match="run 0 is no longer planned"):
        select("smoke", "LDC-F1").plan.run("0")
    with pytest.raises(DeclarationError, match="has no 'tiny'"):
        select("tiny", "all")
