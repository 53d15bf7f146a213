"""Images are built and runs measured in them for real, by podman and by Docker.

They stand on a base that debootstrap makes, so that nothing but Debian's packages is needed. Where
one runtime is not installed the other's tests remain; without any they fail and say what to
install. `./repro test containers` runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import debian_base
import pandas as pd
import pytest
import yaml

import checkout
import same_bytes
from recompact import ROOT, pipeline, runtimes, upstream
from recompact.jobs import Run
from recompact.plan import Sources

STATE = ROOT / "build/containers"
BASE = "localhost/recompact-base:bookworm"
PACKAGES = {
    "debootstrap": "debootstrap",
    "podman": "podman buildah runc",
    "docker": "docker.io",
    "dockerd": "docker.io",
}
USER = 1000  # of containers, where no other is named
PODMAN = """\
[containers]
default_ulimits = [{limits}]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""

pytestmark = pytest.mark.machines


def _need(program: str) -> None:
    """Fail where what was asked for by name cannot run."""
    if shutil.which(program) is None:
        pytest.fail(f"{program} is not installed (packages {PACKAGES[program]})", pytrace=False)
    if os.getuid() != 0:
        pytest.fail("debootstrap and a private daemon need root", pytrace=False)


@pytest.fixture(scope="module")
def root_file_system() -> Path:
    _need("debootstrap")
    STATE.mkdir(parents=True, exist_ok=True)
    return debian_base.make(STATE / "base")


@pytest.fixture(scope="module", params=runtimes.CONTAINERS)
def runtime(request: pytest.FixtureRequest, root_file_system: Path) -> Iterator[str]:
    """Start a runtime that keeps all it has below build/containers, with the base in it."""
    name: str = request.param
    if shutil.which(name) is None and any(map(shutil.which, runtimes.CONTAINERS)):
        pytest.skip(f"{name} is not installed (packages {PACKAGES[name]})")
    _need(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(runtimes.BASE_IMAGE, BASE)
        starting = _podman(patch) if name == "podman" else _docker(patch)
        try:
            next(starting)
            tarball = ["tar", "-C", str(root_file_system), "-c", "."]
            with subprocess.Popen(tarball, stdout=subprocess.PIPE) as packing:
                subprocess.run([name, "import", "-", BASE], stdin=packing.stdout, check=True)
            yield name
        finally:
            starting.close()


def _podman(patch: pytest.MonkeyPatch) -> Iterator[None]:
    configuration = STATE / "containers.conf"
    limits = ", ".join(f'"{limit}"' for limit in runtimes.limits())
    configuration.write_text(PODMAN.format(limits=limits), encoding="utf-8")
    storage = STATE / "storage.conf"
    storage.write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{STATE}/podman"\nrunroot = "{STATE}/run"\n',
        encoding="utf-8",
    )
    patch.setenv("CONTAINERS_CONF", str(configuration))
    patch.setenv("CONTAINERS_STORAGE_CONF", str(storage))
    patch.setenv("BUILDAH_ISOLATION", "chroot")
    done = subprocess.run(["podman", "info"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"podman cannot start: {done.stderr.strip()[-300:]}", pytrace=False)
    yield


def _docker(patch: pytest.MonkeyPatch) -> Iterator[None]:
    _need("dockerd")
    socket = STATE / "docker.sock"
    patch.setenv("DOCKER_HOST", f"unix://{socket}")
    patch.setenv("DOCKER_BUILDKIT", "0")
    words = ["dockerd", "--host", f"unix://{socket}", "--data-root", STATE / "docker"]
    words += ["--exec-root", STATE / "docker-run", "--pidfile", STATE / "docker.pid"]
    words += ["--storage-driver", "overlay2"]
    with (STATE / "dockerd.log").open("w", encoding="utf-8") as log:
        daemon = subprocess.Popen([str(word) for word in words], stdout=log, stderr=log)
    try:
        for _ in range(100):
            if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0:
                break
            if daemon.poll() is not None:
                last = (STATE / "dockerd.log").read_text(encoding="utf-8")[-300:]
                pytest.fail(f"dockerd cannot start: {last}", pytrace=False)
            time.sleep(0.2)
        yield
    finally:
        daemon.terminate()
        daemon.wait()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy this checkout as git has it, with the release that it has fetched."""
    root = checkout.whole(tmp_path_factory.mktemp("containers") / "checkout")
    same_bytes.repeat(root)
    return root


@pytest.fixture(scope="module")
def image(runtime: str, copy: Path) -> str:
    runtimes.build_image(runtime, copy, "recompact-engines:test", "engines", STATE / "build.log")
    return "recompact-engines:test"


def _inspected(runtime: str, image: str) -> dict[str, object]:
    done = subprocess.run([runtime, "inspect", image], capture_output=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)[0]["Config"]
    return found


def test_an_image_is_labelled_with_what_it_was_built_from(runtime: str, image: str) -> None:
    labels = _inspected(runtime, image)["Labels"]
    assert isinstance(labels, dict)
    declared = pipeline.declarations()
    sources = Sources(ROOT)
    assert labels["org.recompact.upstream"] == upstream.declared(ROOT).sha256
    assert labels["org.recompact.driver"] == sources.driver
    for engine in declared.engines:
        assert labels[f"org.recompact.tree.{engine}"] == sources.tree(declared, engine)
    assert "-O2" in labels["org.recompact.flags"]
    assert labels["org.recompact.compiler"]


def test_an_image_runs_as_a_user_without_rights(runtime: str, image: str) -> None:
    assert _inspected(runtime, image)["User"] == str(USER)


def test_a_container_has_nothing_but_what_a_run_needs(
    runtime: str, image: str, tmp_path: Path
) -> None:
    name = tmp_path / "image"
    name.write_text(image, encoding="utf-8")
    data, raw = tmp_path / "data", tmp_path / "raw"
    data.mkdir()
    raw.mkdir()
    run = Run(id="0" * 16, spec={"runtime": runtime}, engine="leveldb", trace_ids=())
    script = (
        "grep CapEff /proc/self/status; ls /sys/class/net; "
        f"touch /opt/here 2>&1; touch {data}/there && echo written"
    )
    words = (*runtimes.words(run, name, tmp_path, data, raw), "sh", "-c", script)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    capabilities, network, root, written = done.stdout.splitlines()
    assert int(capabilities.split()[1], 16) == 0
    assert network == "lo"
    assert "Read-only file system" in root
    assert written == "written"
    assert (data / "there").exists()


def test_a_smoke_run_in_containers_has_the_bytes_of_a_native_one(runtime: str, copy: Path) -> None:
    same_bytes.compare(_measured(copy, "native"), _measured(copy, runtime))


def _measured(root: Path, runtime: str) -> same_bytes.Bytes:
    """Run smoke in a checkout; give what its tables tell in bytes."""
    words = ["./repro", "smoke", "--panels", same_bytes.PANELS, "--runtime", runtime]
    subprocess.run(words, cwd=root, check=True, stdin=subprocess.DEVNULL)
    folder = root / "results/smoke"
    hosts = pd.read_csv(folder / "specifications.csv").host
    assert hosts.str.endswith(runtime).all() == (runtime != "native")
    return same_bytes.read(folder)


def test_the_compose_file_runs_smoke(copy: Path, runtime: str, tmp_path: Path) -> None:
    compose = Path(sys.executable).with_name("podman-compose")
    if runtime != "podman" or not compose.exists():
        pytest.skip("podman-compose is not installed, or not of this runtime")
    services = yaml.safe_load((copy / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert "smoke" in services
    page = copy / "results/smoke/report/index.html"
    for made in ("raw", "smoke"):  # by runs outside, which would not be repeated
        shutil.rmtree(copy / "results" / made, ignore_errors=True)
    # The checkout and the place for databases belong to the user of the container.
    for folder in (copy / "results", tmp_path):
        for path in (folder, *folder.rglob("*")):
            os.chown(path, USER, USER)
    words = [str(compose), "run", "--build", "--rm", "smoke"]
    words += ["smoke", "--panels", same_bytes.PANELS]
    environment = os.environ | {"RECOMPACT_DATA": str(tmp_path)}
    subprocess.run(words, cwd=copy, env=environment, check=True, stdin=subprocess.DEVNULL)
    assert page.stat().st_uid == USER
