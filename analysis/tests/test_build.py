from __future__ import annotations

from pathlib import Path

import pytest

from recompact import ROOT, build
from recompact.experiments import Declarations

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
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(tmp_path))
    assert build.rocksdb_version() == (7, 8, 3)
    header.write_text("#error no version\n", encoding="utf-8")
    assert build.rocksdb_version() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.rocksdb_version() is None
