"""Fetching LevelDB, and the patch series on it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from pydantic import Field

from recompact import environment
from recompact.declarations import Declaration, load
from recompact.errors import RecompactError
from recompact.shell import run

APT_SOURCES = Path("/etc/apt")
NAMED_TARBALL = "RECOMPACT_LEVELDB_TARBALL"  # environment variable: the release as a file
TARBALL = "build/upstream/leveldb.tar.gz"  # of a checkout
DATE = "2026-11-21T00:00:00Z"  # of every patch, so that an export is always the same bytes


class UpstreamError(RecompactError):
    """Upstream could not be fetched, or is not the release that the hash names."""


class Upstream(Declaration):
    """The release that every engine starts from."""

    name: str
    version: str
    debian_source: str
    tarball: str
    folder: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


def declared(root: Path) -> Upstream:
    """Read engines/upstream.yaml."""
    return load(root / "engines/upstream.yaml", Upstream)


def fetch(root: Path, destination: Path) -> None:
    """Put the release's tarball at `destination`, checked against its hash.

    The tarball is the file named by the environment variable RECOMPACT_LEVELDB_TARBALL, or else
    Debian's source package, which is fetched without a change to the system's apt configuration.

    Raises
    ------
    UpstreamError
        If there is no such file, apt has no sources, or the hash differs.
    """
    upstream = declared(root)
    destination.parent.mkdir(parents=True, exist_ok=True)
    named = os.environ.get(NAMED_TARBALL)
    if named is not None:
        tarball = Path(named)
        if not tarball.is_file():
            raise UpstreamError(
                f"{tarball}: no such file; RECOMPACT_LEVELDB_TARBALL must name {upstream.tarball}"
            )
        _check(tarball, upstream)
        shutil.copyfile(tarball, destination)
        return
    with tempfile.TemporaryDirectory() as folder:
        tarball = _download(Path(folder), upstream)
        _check(tarball, upstream)
        shutil.copyfile(tarball, destination)


def fetched(root: Path) -> Path:
    """Give the tarball that this checkout has, fetched where it has none."""
    tarball = root / TARBALL
    if not tarball.exists():
        fetch(root, tarball)
    return tarball


def _check(tarball: Path, upstream: Upstream) -> None:
    actual = hashlib.sha256(tarball.read_bytes()).hexdigest()
    if actual != upstream.sha256:
        raise UpstreamError(
            f"{tarball}: SHA-256 is {actual}, but engines/upstream.yaml asks for "
            f"{upstream.sha256}; this is not {upstream.name} {upstream.version}: name another "
            f"tarball with RECOMPACT_LEVELDB_TARBALL"
        )


def _download(folder: Path, upstream: Upstream) -> Path:
    """Fetch the Debian source package with a private apt state."""
    for name in ("parts", "state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    found = _private_sources(folder / "parts")
    if not found:
        raise UpstreamError(
            f"{APT_SOURCES}: no Debian or Ubuntu package sources here to fetch "
            f"{upstream.debian_source} from; name {upstream.tarball} with RECOMPACT_LEVELDB_TARBALL"
        )
    options = []
    for setting in (
        "Dir::Etc::sourcelist=/dev/null",
        f"Dir::Etc::sourceparts={folder}/parts",
        f"Dir::State={folder}/state",
        f"Dir::Cache={folder}/cache",
        "APT::Get::List-Cleanup=0",
        "APT::Sandbox::User=",
    ):
        options += ["-o", setting]
    run(["apt-get", *options, "update"])
    run(
        ["apt-get", *options, "source", "--download-only", upstream.debian_source],
        cwd=folder,
    )
    return folder / upstream.tarball


def _private_sources(parts: Path) -> bool:
    """Copy the system's sources, asking for source packages instead of binary ones."""
    found = False
    for path in sorted(APT_SOURCES.glob("sources.list.d/*.sources")):
        text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", path.read_text(encoding="utf-8"))
        (parts / path.name).write_text(text, encoding="utf-8")
        found = True
    for path in [APT_SOURCES / "sources.list", *sorted(APT_SOURCES.glob("sources.list.d/*.list"))]:
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            sources = [re.sub(r"^deb\s", "deb-src ", line) for line in lines if line[:4] == "deb "]
            (parts / path.name).write_text("\n".join(sources) + "\n", encoding="utf-8")
            found = found or bool(sources)
    return found


def series(root: Path) -> list[Path]:
    """List the patches in the order in which they apply."""
    folder = root / "engines/patches"
    return [folder / name for name in (folder / "series").read_text(encoding="utf-8").split()]


def apply(patch: Path, tree: Path, *options: str) -> None:
    """Apply a patch to `tree`, with no line of context amiss.

    Raises
    ------
    CommandError
        If it does not apply exactly.
    """
    words = ["patch", "--strip=1", "--fuzz=0", "--no-backup-if-mismatch", "--silent", *options]
    run([*words, f"--directory={tree}", f"--input={patch.resolve()}"])


def unpack(root: Path, tarball: Path, destination: Path, *, patched: bool) -> None:
    """Unpack the release into `destination`, and apply the series to it.

    Raises
    ------
    CommandError
        If a patch does not apply exactly.
    """
    if destination.exists():
        shutil.rmtree(destination)
    with tempfile.TemporaryDirectory(dir=tarball.parent) as folder:
        run(["tar", "--extract", "--file", tarball, "--directory", folder])
        tree = Path(folder) / declared(root).folder
        for patch in series(root) if patched else []:
            apply(patch, tree)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(tree, destination)


def tree_for_tests(root: Path, name: str) -> Path:
    """Give the pristine or the patched tree that tests are built from, unpacked where it is old."""
    tarball = fetched(root)
    tree = root / "build/tests/trees" / name
    unpacked = tree.with_suffix(".unpacked")
    newest = max(path.stat().st_mtime for path in (root / "engines/patches").iterdir())
    if not unpacked.exists() or unpacked.stat().st_mtime < newest:
        unpack(root, tarball, tree, patched=name == "patched")
        unpacked.touch()
    return tree


def _git(tree: Path, *words: str) -> str:
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "recompact"), ("EMAIL", "recompact@localhost"), ("DATE", DATE))
    }
    return run(
        ["git", "-C", tree, "-c", "core.autocrlf=false", *words], env=environment.kept() | identity
    )


def checkout(root: Path, tarball: Path, tree: Path) -> None:
    """Make `tree` a git repository with one commit per patch on top of the release."""
    unpack(root, tarball, tree, patched=False)
    _git(tree, "init", "--quiet", "--initial-branch=engines")
    _git(tree, "add", "--all", "--force")
    _git(tree, "commit", "--quiet", "--message=upstream")
    for patch in series(root):
        _git(tree, "am", "--quiet", "--committer-date-is-author-date", str(patch.resolve()))


def export(tree: Path, patches: Path) -> None:
    """Write one patch per commit of `tree` after the first, and the series file.

    A commit's subject gives the patch its name. Exporting twice gives the same bytes.
    """
    first = _git(tree, "rev-list", "--max-parents=0", "HEAD").strip()
    with tempfile.TemporaryDirectory() as folder:
        _git(
            tree,
            "format-patch",
            "--quiet",
            "--zero-commit",
            "--no-signature",
            "--no-numbered",
            "--no-stat",
            "--unified=1",
            "--full-index",
            "--no-renames",
            f"--output-directory={folder}",
            f"{first}..HEAD",
        )
        written = sorted(Path(folder).iterdir())
        for old in patches.glob("*.patch"):
            old.unlink()
        names = [re.sub(r"^\d+-", "", path.name).lower() for path in written]
        for path, name in zip(written, names, strict=True):
            shutil.copyfile(path, patches / name)
    (patches / "series").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
