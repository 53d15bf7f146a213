"""What a user mistypes or lacks is told in one line, with a non-zero status."""

import re
import subprocess
from pathlib import Path

import pytest

from recompact import ROOT, build, checks, pipeline
from recompact import plan as planning
from recompact.__main__ import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["smoke", "--panels", "LDC-F99"], "no figure LDC-F99; there are LDC-F1"),
        (["test", "analysys"], "no check is named 'analysys'; did you mean analysis?"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("repro: ") and message in line


def test_nothing_to_publish_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("RAW", "FINISHED"):
        monkeypatch.setattr(pipeline, name, str(tmp_path / name))
    assert main(["publish", "paper"]) == 1
    assert "no run of scale paper is finished; start ./repro paper" in capsys.readouterr().err


def test_a_second_pipeline_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pipeline.lock():
        assert main(["smoke"]) == 1
    assert "another pipeline is at work in this checkout" in capsys.readouterr().err


def test_help_fits_one_screen_and_names_every_command() -> None:
    text = subprocess.run(
        [ROOT / "repro", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert len(text.splitlines()) <= 34
    for command in (
        *("smoke", "small", "full", "paper", "test", "figures", "publish", "bench", "clean"),
        *("pdf", "verify", "plan", "setup"),
    ):
        assert f"./repro {command}" in text


def test_without_the_right_to_install_the_missing_packages_are_named(tmp_path: Path) -> None:
    """Run as nobody, with a dpkg-query that knows all packages but Java's."""
    for name, body in {
        "dpkg-query": 'case "$*" in *openjdk*) exit 1 ;; *) echo installed ;; esac',
        "sudo": "exit 1",
        "id": "echo 1000",
    }.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        program.chmod(0o755)
    done = subprocess.run(
        [ROOT / "repro", "smoke"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "apt-get install openjdk-17-jdk-headless" in done.stderr
    assert "cmake" not in done.stderr


def test_checks_asked_for_by_name_fail_where_their_programs_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checks.run(ROOT, [*checks.MACHINES, "engine rocksdb_leveled"]) == 1
    said = capfd.readouterr().out
    assert said.endswith("0 passed, 4 failed\n"), said
    for packages in (
        *("slurm-wlm munge", "openssh-client", "(packages debootstrap)", "librocksdb-dev"),
    ):
        assert packages in said


def test_ci_measures_every_engine() -> None:
    panels = "".join(re.findall(r"^panels\+?=(.*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE))
    points = pipeline.select("smoke", panels, planning.EMULATED).plan.points
    declared = pipeline.declarations()
    here = set(declared.engines) - set(build.unavailable(declared))
    assert here <= {point["engine"] for point in points}


def test_checks_for_which_no_time_is_left_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def check(name: str) -> checks.Check:
        return checks.Check(name, lambda: not ran.append(name))

    monkeypatch.setattr(checks, "chosen", lambda *_: [check("first"), check("second")])
    assert checks.run(ROOT, within_s=60) == 0
    assert capsys.readouterr().out.endswith("2 passed, 0 failed\n")
    assert checks.run(ROOT, within_s=-1) == 0
    told = capsys.readouterr().out
    assert told == "no time was left for: first, second\n0 passed, 0 failed, 2 skipped\n"
    assert ran == ["first", "second"]
