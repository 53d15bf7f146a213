"""What a container is told."""

import os
from pathlib import Path

import pytest

from recompact import runtimes
from recompact.jobs import Run


def _run(runtime: str, profile: bool = False) -> Run:
    return Run("0" * 16, {"runtime": runtime}, "leveldb", (), profile=profile)


def _words(tmp_path: Path, run: Run) -> tuple[str, ...]:
    name = tmp_path / "docker.name"
    name.write_text("recompact-engines:1\n", encoding="utf-8")
    (tmp_path / "build/traces").mkdir(parents=True)
    return runtimes.words(run, name, tmp_path, Path("/dev/shm"), tmp_path / "raw")


def test_natively_nothing_stands_before_the_driver(tmp_path: Path) -> None:
    assert _words(tmp_path, Run("0" * 16, {}, "leveldb", ())) == ()
    driver = tmp_path / "driver"
    assert runtimes.program(Run("0" * 16, {}, "leveldb", ()), driver) == str(driver)


def test_a_container_sees_what_a_run_needs_where_the_host_has_it(tmp_path: Path) -> None:
    words = _words(tmp_path, _run("podman"))
    volumes = [words[place + 1] for place, word in enumerate(words) if word == "--volume"]
    traces = tmp_path / "build/traces"
    raw = tmp_path / "raw"
    assert volumes == ["/dev/shm:/dev/shm", f"{raw}:{raw}", f"{traces}:{traces}:ro"]
    assert words[-3:] == ("--workdir", str(tmp_path), "recompact-engines:1")
    assert words[:2] == ("podman", "run")


def test_only_a_profile_gets_a_capability(tmp_path: Path) -> None:
    assert "--cap-add" not in _words(tmp_path / "timed", _run_in(tmp_path / "timed", False))
    words = _words(tmp_path / "profiled", _run_in(tmp_path / "profiled", True))
    assert words[words.index("--cap-add") + 1] == "PERFMON"


def _run_in(folder: Path, profile: bool) -> Run:
    folder.mkdir()
    return _run("docker", profile)


def test_processors_and_memory_are_those_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runtimes.processors() == ",".join(map(str, sorted(os.sched_getaffinity(0))))
    monkeypatch.setenv(runtimes.CPUS, "0-3")
    monkeypatch.setenv(runtimes.MEMORY, "16g")
    words = _words(tmp_path, _run("docker"))
    assert words[words.index("--cpuset-cpus") + 1] == "0-3"
    assert words[words.index("--memory") + 1] == "16g"


def test_an_unknown_runtime_is_named() -> None:
    with pytest.raises(runtimes.RuntimeMissing, match="runtime: 'lxc' is not known"):
        runtimes.check("lxc")


def test_a_runtime_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(runtimes.RuntimeMissing, match="runtime docker: not installed"):
        runtimes.check("docker")


def test_a_runtime_that_does_not_answer_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "podman"
    program.write_text("#!/bin/sh\necho 'no daemon here' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(runtimes.RuntimeMissing, match=r"does not answer \(no daemon here\)"):
        runtimes.check("podman")
