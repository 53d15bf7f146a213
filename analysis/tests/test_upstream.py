"""The release is the one that the hash names, and the patches apply to it exactly."""

import shutil
from pathlib import Path

import pytest

import checkout
from recompact import ROOT, upstream
from recompact.shell import CommandError

MAX_CONTEXT_LINES = 3


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release, as the pipeline fetched it; fetched once if it did not."""
    copy = tmp_path_factory.mktemp("upstream") / "release.tar.gz"
    shutil.copyfile(upstream.fetched(ROOT), copy)
    return copy


def test_a_wrong_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "other.tar.gz"
    wrong.write_bytes(b"not the release")
    monkeypatch.setenv("RECOMPACT_LEVELDB_TARBALL", str(wrong))
    with pytest.raises(upstream.UpstreamError, match=r"other.tar.gz: SHA-256 is .*asks for"):
        upstream.fetch(ROOT, tmp_path / "out.tar.gz")
    assert not (tmp_path / "out.tar.gz").exists()


def test_a_missing_tarball_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOMPACT_LEVELDB_TARBALL", str(tmp_path / "absent.tar.gz"))
    with pytest.raises(upstream.UpstreamError, match=r"absent.tar.gz: no such file"):
        upstream.fetch(ROOT, tmp_path / "out.tar.gz")


def test_a_named_tarball_is_taken(
    tmp_path: Path, tarball: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOMPACT_LEVELDB_TARBALL", str(tarball))
    upstream.fetch(ROOT, tmp_path / "out.tar.gz")
    assert (tmp_path / "out.tar.gz").read_bytes() == tarball.read_bytes()


def test_exporting_the_series_gives_the_same_bytes(tmp_path: Path, tarball: Path) -> None:
    upstream.checkout(ROOT, tarball, tmp_path / "tree")
    (tmp_path / "patches").mkdir()
    upstream.export(tmp_path / "tree", tmp_path / "patches")
    expected = {path.name: path.read_bytes() for path in (ROOT / "engines/patches").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "patches").iterdir()} == expected


def test_a_patch_that_needs_fuzz_is_refused(tmp_path: Path, tarball: Path) -> None:
    root = checkout.copy(tmp_path / "checkout")
    checkout.replace(
        upstream.series(root)[0], "   const FilterPolicy* filter_policy", "   const Policy* filter"
    )
    with pytest.raises(CommandError, match="patch"):
        upstream.unpack(root, tarball, tmp_path / "tree", patched=True)
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize("patch", upstream.series(ROOT), ids=lambda path: path.stem)
def test_a_patch_adds_no_file_and_little_context(patch: Path) -> None:
    lines = patch.read_text(encoding="utf-8").splitlines()
    assert not any(line.startswith("--- /dev/null") for line in lines)
    run = 0
    for line in lines[lines.index("") :]:
        run = run + 1 if line.startswith(" ") else 0
        assert run <= 2 * MAX_CONTEXT_LINES
    for heading in ("Upstream: ", "Seam: ", "Why inside: "):
        assert any(line.startswith(heading) for line in lines)
