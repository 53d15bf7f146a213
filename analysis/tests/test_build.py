from __future__ import annotations

import os
from pathlib import Path

import pytest

from recompact import ROOT, build, pipeline, runtimes, traces
from recompact import plan as planning
from recompact.errors import RecompactError
from recompact.experiments import Declarations
from recompact.jobs import Trace

ROCKSDB = {"rocksdb_leveled", "rocksdb_universal"}


def test_a_rocksdb_that_is_new_enough_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "rocksdb_version", lambda: build.OLDEST_ROCKSDB)
    assert build.unavailable(Declarations(ROOT)) == {}


@pytest.mark.parametrize(
    ("version", "found"), [(None, "is not installed"), ((6, 21, 0), "is 6.21.0")]
)
def test_an_absent_or_old_rocksdb_is_told_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...] | None, found: str
) -> None:
    monkeypatch.setattr(build, "rocksdb_version", lambda: version)
    reason = f"RocksDB {found}; install 7.0 or newer (package librocksdb-dev)"
    assert build.unavailable(Declarations(ROOT)) == dict.fromkeys(ROCKSDB, reason)


def test_the_version_is_what_the_compiler_finds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    header = tmp_path / "rocksdb/version.h"
    header.parent.mkdir()
    header.write_text(
        "#define ROCKSDB_MAJOR 7\n#define ROCKSDB_MINOR 8\n#define ROCKSDB_PATCH 3\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("CXX", f"c++ -isystem '{tmp_path}'")
    assert build.rocksdb_version() == (7, 8, 3)
    header.write_text("#error no version\n", encoding="utf-8")
    assert build.rocksdb_version() is None
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.rocksdb_version() is None
    assert build.builders() == {}


# Each changes a build, a trace or a measurement, or breaks it, where it gets through.
HOSTILE = {
    **dict.fromkeys(("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"), "-O0 -DHOSTILE"),
    **dict.fromkeys(("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"), "/hostile"),
    **dict.fromkeys(("LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH", "GCC_EXEC_PREFIX"), "/hostile"),
    "CMAKE_BUILD_TYPE": "Debug",
    "CMAKE_GENERATOR": "Unix Makefiles",
    "CMAKE_TOOLCHAIN_FILE": "/hostile.cmake",
    "CMAKE_CXX_COMPILER_LAUNCHER": "hostile",
    "CCACHE_PREFIX": "hostile",
    "MAKEFLAGS": "-j1000",
    "GLIBC_TUNABLES": "glibc.malloc.arena_max=1",
    "MALLOC_ARENA_MAX": "1",
    "JAVA_TOOL_OPTIONS": "-Xmx1m",
    "MAVEN_OPTS": "-Dmaven.test.skip=false",
    "TAR_OPTIONS": "--hostile",
    "GTEST_FILTER": "-*",
    "LC_ALL": "tr_TR.UTF-8",
}
KEPT = {
    "https_proxy": "http://proxy.example.org:3128",
    "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Export all of it; programs called cmake and java write down their environment."""
    for name, value in (HOSTILE | KEPT).items():
        monkeypatch.setenv(name, value)
    for name in ("cmake", "java", "mvn"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nenv > {tmp_path}/told\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path / "told"


def _passed(told: Path) -> dict[str, str]:
    environment = dict(line.split("=", 1) for line in told.read_text().splitlines() if "=" in line)
    told.unlink()
    return {name: environment[name] for name in {*HOSTILE, *KEPT} & {*environment}}


def test_what_a_shell_exports_changes_no_build_and_no_trace(told: Path, tmp_path: Path) -> None:
    expected = KEPT | {"LC_ALL": "C.UTF-8"}
    build.configure(ROOT, "leveldb", tmp_path / "tree", tmp_path / "folder")
    assert _passed(told) == expected
    build.compile_targets(tmp_path / "folder", "recompact_driver")
    assert _passed(told) == expected
    build.build_trace_writer(ROOT)
    assert _passed(told) == expected
    trace = Trace("0" * 16, {"records": 1}, "load", 7)
    traces.write(tmp_path / "writer.jar", trace, tmp_path / "trace")
    assert _passed(told) == expected


def test_what_leads_java_to_a_registry_is_kept(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAVEN_OPTS", "-Xmx1m -Dhttps.proxyHost=proxy.example.org -Dmaven.home=/x")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-ea -Djavax.net.ssl.trustStore=/etc/store")
    build.build_trace_writer(ROOT)
    assert _passed(told)["MAVEN_OPTS"] == (
        "-Djavax.net.ssl.trustStore=/etc/store -Dhttps.proxyHost=proxy.example.org"
    )


def test_another_compiler_is_another_run_and_what_a_shell_exports_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def named() -> set[str]:
        host = planning.Host(builders=build.builders())
        return set(planning.make(Declarations(ROOT), "smoke", ["noise"], host=host).runs)

    usual = named()
    assert usual != set(planning.make(Declarations(ROOT), "smoke", ["noise"]).runs)
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    assert named() == usual
    monkeypatch.setenv("CXX", "g++")  # which is c++ by another name
    assert named() == usual
    monkeypatch.setenv("CXX", "g++ -O0")
    without_optimisation = named()
    assert not without_optimisation & usual
    monkeypatch.setenv("CXX", "g++ -march=x86-64-v2")
    assert not named() & (usual | without_optimisation)


def test_a_compiler_that_was_changed_builds_drivers_again() -> None:
    for engine, family in (("leveldb", "leveldb"), ("rocksdb_leveled", "rocksdb")):
        assert f"{pipeline.BUILDERS}/{family}" in pipeline.engine_files(engine)


def test_who_looks_later_goes_by_the_compiler_that_was_noted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pipeline, "ROOT", tmp_path)
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker/Dockerfile").write_text("FROM one\n")
    pipeline.note_builders()
    noted = pipeline.host({}).builders
    file = tmp_path / pipeline.BUILDERS / "leveldb"
    written = file.stat().st_mtime_ns
    monkeypatch.setenv("PATH", str(tmp_path))
    pipeline.note_builders()
    assert pipeline.host({}).builders == noted
    assert file.stat().st_mtime_ns == written


def test_another_base_of_an_image_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "check", lambda _: None)
    monkeypatch.setattr(pipeline, "BUILDERS", "build/tests/builders")
    pipeline.note_builders()
    usual = pipeline.host({"runtime": "podman"}).builders["leveldb"]
    monkeypatch.setenv(runtimes.BASE_IMAGE, "localhost/another")
    pipeline.note_builders()
    assert pipeline.host({"runtime": "podman"}).builders["leveldb"] != usual
    assert pipeline.host({}).builders["leveldb"] not in ("", usual)


def test_a_named_compiler_that_is_not_here_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(RecompactError, match="CXX: no-such-compiler: not installed"):
        pipeline.note_builders()
