"""`repro` and the programs of its environment, called from wherever, however, by whomever."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import checkout
from recompact import ROOT, environment

USUAL_PATH = "/usr/bin:/bin"
UNKNOWN = ("smoke", "--panels", "NO-SUCH")  # which a checkout answers from its own files
ANSWER = "repro: figures.yaml: no figure NO-SUCH; there are "


def _run(
    *words: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=os.environ | (env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _program(folder: Path, name: str, body: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def _named(root: Path, first: str) -> Path:
    """Give the first figure of a checkout a name of its own."""
    checkout.replace(root / "paper_figures/figures.yaml", "id: LDC-F1\n", f"id: {first}\n")
    return root


@pytest.fixture
def complete(tmp_path: Path) -> Path:
    """Give a checkout with an environment of its own, as it was made elsewhere."""
    root = checkout.files(tmp_path / "first")
    words = ["cp", "--archive", "--link", ROOT / ".venv", root / ".venv"]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        shutil.rmtree(root / ".venv", ignore_errors=True)
        shutil.copytree(ROOT / ".venv", root / ".venv", symlinks=True)
    return _named(root, "LDC-FIRST")


def _works_on_itself(root: Path, first: str) -> None:
    done = _run(root / "repro", *UNKNOWN, cwd=root)
    assert (done.returncode, done.stderr[: len(ANSWER + first)]) == (1, ANSWER + first)
    assert done.stdout == ""  # nothing was installed
    programs = root / ".venv/bin"
    asked = _run(programs / "python", "-c", "import recompact; print(recompact.ROOT)")
    assert asked.stdout == f"{root}\n"
    assert f" from {root}/.venv/lib/" in _run(programs / "pip", "--version").stdout
    assert _run(programs / "snakemake", "--version").returncode == 0
    for program in programs.iterdir():
        assert str(ROOT).encode() not in program.read_bytes()[:1000], program


def test_a_copied_and_then_a_moved_checkout_work_on_themselves(
    complete: Path, tmp_path: Path
) -> None:
    copied = tmp_path / "copied"
    subprocess.run(["cp", "-a", complete, copied], check=True)
    checkout.replace(copied / "paper_figures/figures.yaml", "LDC-FIRST", "LDC-COPIED")
    _works_on_itself(copied, "LDC-COPIED")
    _works_on_itself(complete.rename(tmp_path / "moved to"), "LDC-FIRST")


def test_checkouts_that_share_an_environment_work_on_themselves(tmp_path: Path) -> None:
    root = _named(checkout.files(tmp_path / "second"), "LDC-SECOND")
    (root / ".venv").symlink_to(ROOT / ".venv")
    done = _run(root / "repro", *UNKNOWN, cwd=root)
    assert done.stderr.startswith(ANSWER + "LDC-SECOND")
    asked = "from recompact import ROOT; print(ROOT)"
    assert _run(root / ".venv/bin/python", "-c", asked).stdout == f"{root}\n"
    (tmp_path / "snakemake").symlink_to(root / ".venv/bin/snakemake")
    assert _run(tmp_path / "snakemake", "--version").returncode == 0


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """Link to `repro` directly, through another link, and by a relative one."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "direct").symlink_to(ROOT / "repro")
    (folder / "indirect").symlink_to("direct")
    (folder / "relative").symlink_to(os.path.relpath(ROOT / "repro", folder.resolve()))
    (folder / "checkout").symlink_to(ROOT)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["./direct"],
        ["./indirect"],
        ["./relative"],
        ["sh", "relative"],
        ["bash", "./indirect"],
        ["checkout/repro"],
        ["relative"],  # found in PATH
        ["sh", "-c", 'rmdir "$PWD" && exec "${PWD%/gone}/direct" "$@"', "sh"],
    ],
    ids=" ".join,
)
def test_called_through_a_link_it_finds_its_checkout(links: Path, words: list[str]) -> None:
    (links / "analysis").mkdir()  # where CDPATH leads
    cwd = links
    if "rmdir" in " ".join(words):
        cwd = links / "gone"
        cwd.mkdir()
    environment = {"CDPATH": str(links), "PATH": f"{links}:{os.environ['PATH']}"}
    done = _run(*words, *UNKNOWN, cwd=cwd, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith(ANSWER)  # dash misses a folder that is gone


def test_called_as_a_relative_name_with_cdpath_it_finds_its_checkout(tmp_path: Path) -> None:
    for folder in (ROOT.name, "analysis", ".ci"):
        (tmp_path / folder).mkdir()
    done = _run(
        "sh", f"{ROOT.name}/repro", *UNKNOWN, cwd=ROOT.parent, env={"CDPATH": str(tmp_path)}
    )
    assert done.stderr.startswith(ANSWER)


def test_ci_finds_its_checkout_with_cdpath(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    (root / "build").mkdir(parents=True)
    (root / ".ci").mkdir()
    shutil.copy2(ROOT / ".ci/run", root / ".ci/run")
    _program(root, "repro", 'echo "$PWD $1"')
    (tmp_path / "elsewhere/.ci").mkdir(parents=True)
    done = _run("bash", ".ci/run", cwd=root, env={"CDPATH": str(tmp_path / "elsewhere")})
    assert (done.returncode, done.stdout) == (0, f"{root} test\n{root} smoke\n"), done.stderr


def test_files_are_named_where_the_caller_is(tmp_path: Path) -> None:
    (tmp_path / "mine.yml").write_text("emulated: {hosts: {my_host: }}\n", encoding="utf-8")
    words = ("plan", "--scale", "smoke", "--hosts", "mine.yml")
    done = _run(ROOT / "repro", *words, cwd=tmp_path)
    assert "my_host (emulated): " in done.stdout, done.stderr


def test_packages_and_settings_of_another_python_are_not_taken(tmp_path: Path) -> None:
    for name in ("pydantic", "snakemake", "yaml", "recompact_foreign"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('foreign')\n", encoding="utf-8")
    environment = {
        "PYTHONPATH": f"{tmp_path}:/nonexistent",
        "PYTHONWARNINGS": "error",
        "PYTHONOPTIMIZE": "2",
        "PYTHONSTARTUP": "/nonexistent",
        "MPLBACKEND": "module://no_such_module",
    }
    done = _run(ROOT / "repro", *UNKNOWN, env=environment | {"PYTHONHOME": "/nonexistent"})
    assert done.stderr.startswith(ANSWER)
    environment |= {"PYTHONWARNINGS": "ignore"}  # Python reads it before we can look
    assert _run(ROOT / ".venv/bin/snakemake", "--version", env=environment).returncode == 0
    asked = "import os, sys; print(sys.path, os.environ)"
    told = _run(ROOT / ".venv/bin/python", "-c", asked, env=environment).stdout
    assert str(tmp_path) not in told and "MPLBACKEND" not in told


def test_settings_of_pip_and_uv_hold_where_they_lead_to_a_registry(tmp_path: Path) -> None:
    root = checkout.files(tmp_path / "checkout")
    making = f"""\
case "$*" in
    *command_line*) echo python ;;
    *venv*)
        mkdir -p .venv/bin
        for name in pip uv; do
            printf '#!/bin/sh\nenv > {tmp_path}/%s\n' $name > .venv/bin/$name
            chmod +x .venv/bin/$name
        done
        printf '#!/bin/sh\necho .venv\n' > .venv/bin/python
        chmod +x .venv/bin/python
        ;;
esac"""
    _program(tmp_path / "bin", "python3", making)
    kept = {
        "PIP_INDEX_URL": "https://registry.example.org/simple",
        "PIP_EXTRA_INDEX_URL": "https://registry.example.org/more",
        "PIP_TRUSTED_HOST": "registry.example.org",
        "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
        "PIP_PROXY": "http://proxy.example.org",
        "PIP_FIND_LINKS": "/wheels",
        "PIP_CONFIG_FILE": "/etc/pip.conf",
        "UV_DEFAULT_INDEX": "https://registry.example.org/simple",
        "UV_INDEX_URL": "https://registry.example.org/simple",
        "UV_INDEX_OURS_PASSWORD": "secret",
        "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
        "https_proxy": "http://proxy.example.org",
    }
    left_out = (
        *("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV"),
        *("PIP_CONSTRAINT", "PIP_REQUIREMENT", "PIP_NO_BINARY", "PIP_DRY_RUN", "PIP_PYTHON"),
        *("UV_SYSTEM_PYTHON", "UV_TARGET", "UV_PYTHON", "UV_CONSTRAINT", "UV_NO_BINARY"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE"),
    )
    exported = kept | dict.fromkeys(left_out, "/nonexistent")
    exported["PATH"] = f"{tmp_path / 'bin'}:{USUAL_PATH}"
    _run(root / "repro", "figures", cwd=root, env=exported)
    for name in ("pip", "uv"):
        told = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        assert {f"{name}={value}" for name, value in kept.items()} <= set(told)
        assert not {line.split("=")[0] for line in told} & set(left_out)


@pytest.mark.parametrize("home", ["/dev/null/home", "", None], ids=["missing", "empty", "unset"])
def test_without_a_home_a_pipeline_is_planned_and_a_figure_drawn(
    tmp_path: Path, home: str | None
) -> None:
    root = checkout.files(tmp_path / "checkout")
    (root / ".venv").symlink_to(ROOT / ".venv")
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    environment |= {} if home is None else {"HOME": home}
    environment |= dict.fromkeys(("XDG_CACHE_HOME", "XDG_CONFIG_HOME"), "/dev/null/x")
    asking = "import matplotlib, os; print(matplotlib.get_configdir(), os.environ['HOME'])"
    words = ["--profile", "profiles/smoke", "--dry-run", "--quiet"]
    words += ["--config", "scale=smoke", "panels=LDC-F1"]
    for command in (["snakemake", *words], ["python", "-c", asking]):
        done = subprocess.run(
            [root / ".venv/bin" / command[0], *command[1:]],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert all(Path(folder).is_dir() for folder in done.stdout.split())
    assert done.stderr == ""


def test_maven_goes_by_our_home_where_the_list_of_users_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recompact import build

    said = tmp_path / "said"
    _program(tmp_path / "bin", "mvn", f'echo "$@" > {said}')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    build.build_trace_writer(ROOT)
    there = environment.listed()[1] == os.environ["HOME"]
    assert ("-Dmaven.repo.local" in said.read_text()) != there
    monkeypatch.setenv("HOME", str(tmp_path / "my home"))
    build.build_trace_writer(ROOT)
    assert f"-Dmaven.repo.local={tmp_path}/my home/.m2/repository" in said.read_text()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Give a checkout without an environment, on a host without our packages."""
    root = checkout.files(tmp_path / "checkout")
    _program(tmp_path / "bin", "dpkg-query", "exit 1")
    _program(tmp_path / "bin", "sudo", "exit 1")
    _program(tmp_path / "bin", "id", "echo 1000")
    _program(tmp_path / "bin", "apt-get", f"touch {tmp_path}/installed")
    (tmp_path / "bin/python3").symlink_to(Path(sys.executable).resolve())
    return root


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["smok"], "no command 'smok'; did you mean smoke?"),
        (["figure"], "no command 'figure'; did you mean figures?"),
        (["xyz"], "no command 'xyz'; there are smoke, small, full, paper, test, "),
        (["smoke", "--panel", "LDC-F1"], "smoke knows no --panel; did you mean --panels?"),
        (["smoke", "--pannels=LDC-F1"], "smoke knows no --pannels; did you mean --panels?"),
        (["smoke", "LDC-F1"], "smoke knows no LDC-F1; words for snakemake follow --"),
        (["smoke", "--panels"], "argument --panels: expected one argument"),
        (
            ["small", "--runtime", "dokcer"],
            "--runtime: 'dokcer' is not known; did you mean d",
        ),
        (["paper", "--disk", "sdd"], "argument --disk: 'sdd' is not known; did you mean "),
        (["publish", "smal"], "argument scale: 'smal' is not known; did you mean small?"),
        (["torture", "--seed", "one"], "argument --seed: invalid int value: 'one'"),
        (["setup", "now"], "setup knows no now; "),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else None,
)
def test_a_mistyped_word_is_told_before_anything_is_installed(
    bare: Path, words: list[str], answer: str
) -> None:
    environment = {"PATH": f"{bare.parent / 'bin'}:{USUAL_PATH}"}
    done = _run(bare / "repro", *words, cwd=bare, env=environment)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert line.startswith("repro: ") and answer in line
    assert not (bare / ".venv").exists() and not (bare.parent / "installed").exists()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (UNKNOWN, ANSWER),
        (("torture", "--engine", "ldcc"), "engines.yaml: engines: has no 'ldcc'"),
        (("test", "analysys"), "no check is named 'analysys'"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else None,
)
def test_what_our_files_do_not_have_is_told_before_packages_are_installed(
    bare: Path, words: tuple[str, ...], answer: str
) -> None:
    (bare / ".venv").symlink_to(ROOT / ".venv")
    environment = {"PATH": f"{bare.parent / 'bin'}:{USUAL_PATH}"}
    done = _run(bare / "repro", *words, cwd=bare, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert answer in line
    assert not (bare.parent / "installed").exists()


@pytest.mark.parametrize("words", [["clean"], ["plan", "--scale", "smoke"]], ids=" ".join)
def test_what_builds_nothing_needs_no_package_and_no_right(bare: Path, words: list[str]) -> None:
    (bare / ".venv").symlink_to(ROOT / ".venv")
    environment = {"PATH": f"{bare.parent / 'bin'}:{USUAL_PATH}"}
    done = _run(bare / "repro", *words, cwd=bare, env=environment)
    assert done.returncode == 0, done.stderr
    assert not (bare.parent / "installed").exists()


@pytest.mark.parametrize("character", [*environment.UNFIT_FOR_BUILDS])
def test_a_path_that_cannot_be_built_in_is_told_before_anything_is_made(
    tmp_path: Path, character: str
) -> None:
    root = checkout.files(tmp_path / f"a{character}b")
    told = f"so no checkout can have {character!r} in its path; move it to a path without\n"
    done = _run(root / "repro", "smoke", cwd=root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("repro: ") and done.stderr.endswith(told)
    assert not (root / ".venv").exists()
    (root / ".venv").symlink_to(ROOT / ".venv")
    done = _run(root / ".venv/bin/snakemake", "--profile", "profiles/smoke", cwd=root)
    assert done.returncode != 0 and told in done.stdout + done.stderr
    assert not (root / "build").exists()


def test_a_path_with_other_odd_characters_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path("/ü !#%&'()*+,-=?@[]^{}~")
    monkeypatch.setattr(environment, "ROOT", root)
    environment.check_path(root=root)


def test_the_python_of_another_checkout_is_refused(tmp_path: Path) -> None:
    root = checkout.files(tmp_path / "second")
    words = [ROOT / ".venv/bin/snakemake", "--profile", "profiles/smoke", "--dry-run"]
    done = _run(*words, cwd=root)
    assert done.returncode != 0
    assert f"{root}: this Python is that of {ROOT}; use {root}/.venv/bin" in (
        done.stdout + done.stderr
    )
    assert not (root / "build").exists()


def test_the_words_are_those_that_are_declared_elsewhere() -> None:
    from typing import get_args

    from recompact import command_line, experiments, runtimes

    assert get_args(experiments.ScaleName) == command_line.SCALES
    assert command_line.RUNTIMES == runtimes.RUNTIMES
    assert get_args(experiments.DiskKind) == command_line.DISKS
