"""The playbooks on hosts of their own: first run, second, check, undo, lost hosts, refused disks.

`./repro test hosts` runs it; where such hosts cannot be made it fails and says why.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import debian_base
import machines
import pandas as pd
import pytest
import yaml
from machines import Limits, Machine

import checkout
import same_bytes
from recompact import ROOT

STATE = ROOT / "build/hosts"
ANSIBLE = ROOT / ".ansible/bin"
PACKAGES = {
    "debootstrap": "debootstrap",
    "ip": "iproute2",
    "losetup": "mount",
    "setpriv": "util-linux",
    "ssh": "openssh-client",
    "slirp4netns": "slirp4netns",
    "unshare": "util-linux",
}
PANELS = "RC-LIMITS"
# The first has those of the device `limited`, which it is compared with.
SSD = Limits(bytes_s=100_000_000, requests_s=2000)
HDD = Limits(bytes_s=60_000_000, requests_s=300)
DISK_BYTES = 2 * 2**30
UNREACHABLE = f"{machines.NETWORK}.99"

pytestmark = pytest.mark.machines


@dataclass
class Lab:
    """Two hosts, and a checkout whose playbooks know them."""

    root: Path
    ssd: Machine
    hdd: Machine
    key: Path

    def inventory(self, **more: dict[str, object]) -> Path:
        """Write the inventory, with more settings of hosts by name."""
        groups = {
            group: {
                "hosts": {
                    machine.name: {
                        "ansible_host": machine.address,
                        "recompact_device": machine.disk,
                        **more.get(machine.name, {}),
                    }
                }
            }
            for group, machine in (("ssd", self.ssd), ("hdd", self.hdd))
        }
        if "lost" in more:
            groups["hdd"]["hosts"]["lost"] = more["lost"]
        if "emulated1" in more:
            groups["emulated"] = {"hosts": {"emulated1": more["emulated1"]}}
        path = self.root / "ansible/inventory.yml"
        content = {
            "all": {
                "vars": {
                    "ansible_user": "root",
                    "ansible_ssh_private_key_file": str(self.key),
                    "ansible_ssh_common_args": "-o StrictHostKeyChecking=no"
                    " -o UserKnownHostsFile=/dev/null -o ConnectTimeout=2",
                    "recompact_panels": PANELS,
                    # The rest belongs to the machine on which these hosts are.
                    "recompact_settled": [],
                    "recompact_poll_s": 2,
                },
                "children": groups,
            }
        }
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path

    def play(self, book: str, *words: str, **more: dict[str, object]) -> Played:
        """Run a playbook, one host at a time: they share the processors."""
        self.inventory(**more)
        done = subprocess.run(
            [ANSIBLE / "ansible-playbook", book, "--forks", "1", *words],
            cwd=self.root / "ansible",
            env=os.environ | {"ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        (STATE / "log").open("a", encoding="utf-8").write(done.stdout)
        return Played(done.returncode, done.stdout)


@dataclass
class Played:
    """What a playbook did."""

    status: int
    said: str

    def recap(self, host: str) -> dict[str, int]:
        """Give the counts of one host."""
        line = re.search(rf"^{host} +: (.*)$", self.said, re.MULTILINE)
        assert line is not None, self.said[-3000:]
        return {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", line.group(1))}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    missing = [program for program in PACKAGES if shutil.which(program) is None]
    if missing:
        packages = " ".join(PACKAGES[program] for program in missing)
        told = f"{', '.join(missing)}: not installed (packages {packages})"
        pytest.fail(told, pytrace=False)
    _need_ansible()
    if os.getuid() != 0 or not machines.ROOT_GROUP.is_dir():
        told = "hosts with disks of their own need root and the blkio controller"
        pytest.fail(told, pytrace=False)
    STATE.mkdir(parents=True, exist_ok=True)
    base = debian_base.make(STATE / "base", machines.PACKAGES)
    key = STATE / "key"
    if not key.exists():
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
        subprocess.run(words, check=True)
    public = key.with_suffix(".pub").read_text(encoding="utf-8").strip()
    root = checkout.whole(tmp_path_factory.mktemp("hosts") / "checkout")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    _commit(root)
    ssd = Machine("ssd1", 11, DISK_BYTES, SSD, STATE)
    hdd = Machine("hdd1", 12, DISK_BYTES, HDD, STATE)
    with ExitStack() as undone:
        undone.enter_context(machines.prompt_writeback())
        machines.open_network()
        undone.callback(machines.close_network)
        for machine in (ssd, hdd):
            undone.callback(machine.remove)
            machine.start(base, public)
            machines.wait_for(machine, key)
        yield Lab(root, ssd, hdd, key)


def _commit(root: Path) -> None:
    git = ["git", "-c", "user.name=tests", "-c", "user.email=tests@example.org"]
    for words in (["add", "-A"], ["commit", "-q", "-m", "tests"]):
        subprocess.run([*git, *words], cwd=root, check=True)


def _there(machine: Machine, path: str) -> bool:
    return (machine.folder / "upper" / path).exists()


def _file_system(machine: Machine) -> str:
    words = ["blkid", "--probe", "--match-tag", "TYPE", "--output", "value", machine.disk]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def _need_ansible() -> None:
    if not ANSIBLE.is_dir():
        pytest.fail("there is no .ansible; make it as ansible/README.md says", pytrace=False)


def test_the_playbooks_are_of_the_production_profile() -> None:
    _need_ansible()
    words = [ANSIBLE / "ansible-lint", "--offline", "--profile", "production"]
    path = f"{ANSIBLE}:{os.environ['PATH']}"
    subprocess.run(words, cwd=ROOT / "ansible", env=os.environ | {"PATH": path}, check=True)


def test_a_check_changes_nothing(lab: Lab) -> None:
    played = lab.play("site.yml", "--check")
    assert played.status == 0, played.said[-3000:]
    assert _file_system(lab.ssd) == ""
    assert not _there(lab.ssd, "opt/recompact")


def test_a_disk_with_data_is_refused_unless_its_id_is_told(lab: Lab) -> None:
    subprocess.run(["mkfs.ext4", "-q", lab.hdd.disk], check=True)
    played = lab.play("site.yml", "--limit", "hdd1")
    assert played.recap("hdd1")["failed"] == 1
    assert (
        f"{lab.hdd.disk} is not blank (ext4); to erase it, set recompact_device_id" in played.said
    )
    words = ["blkid", "--probe", "--match-tag", "UUID", "--output", "value", lab.hdd.disk]
    uuid = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    told = lab.play("site.yml", "--check", "--limit", "hdd1", hdd1={"recompact_device_id": uuid})
    assert told.status == 0, told.said[-3000:]
    subprocess.run(["wipefs", "--quiet", "--all", lab.hdd.disk], check=True)


def test_a_mounted_disk_is_refused(lab: Lab) -> None:
    subprocess.run(["mkfs.ext4", "-q", lab.hdd.disk], check=True)
    inside = f"/proc/{_inner(lab.hdd)}/root"
    mount = ["nsenter", "--target", _inner(lab.hdd), "--mount", "--root"]
    subprocess.run([*mount, "mount", lab.hdd.disk, "/mnt"], check=True)
    try:
        played = lab.play("site.yml", "--limit", "hdd1")
        assert played.recap("hdd1")["failed"] == 1
        assert "is mounted at /mnt; unmount it" in " ".join(played.said.split())
    finally:
        subprocess.run([*mount, "umount", "/mnt"], check=True)
        subprocess.run(["wipefs", "--quiet", "--all", lab.hdd.disk], check=True)
    assert Path(inside).exists()


def _inner(machine: Machine) -> str:
    """Find the process that is init inside."""
    host = machine.processes[0].pid
    children = Path(f"/proc/{host}/task/{host}/children").read_text(encoding="utf-8").split()
    return children[0]


def test_two_hosts_measure_and_a_lost_one_is_skipped(lab: Lab) -> None:
    played = lab.play("site.yml", lost={"ansible_host": UNREACHABLE, "recompact_device": "/dev/x"})
    for host in ("ssd1", "hdd1"):
        recap = played.recap(host)
        assert recap["failed"] == 0, played.said[-5000:]
        assert recap["changed"] > 0
    assert played.recap("lost")["unreachable"] == 1
    folders = _tables(lab)
    assert {folder.parent.name.rsplit("-", 1)[-1] for folder in folders} == {"ssd", "hdd"}
    for folder in folders:
        host = json.loads((folder.parent / "host.json").read_text(encoding="utf-8"))
        assert host["data"]["fstype"] == "ext4"


def _tables(lab: Lab) -> list[Path]:
    found = (lab.root / "results/published").glob("*-ext4-on-*/smoke")
    return sorted(found)


def test_a_second_run_changes_nothing(lab: Lab) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.said[-3000:]
    assert {played.recap(host)["changed"] for host in ("ssd1", "hdd1")} == {0}


def test_both_stand_side_by_side_in_the_report(lab: Lab) -> None:
    subprocess.run(["./repro", "figures"], cwd=lab.root, check=True, stdin=subprocess.DEVNULL)
    data = pd.read_csv(lab.root / "paper_figures/rendered/published/RC-LIMITS.csv")
    told = " ".join(data.x)
    assert "ext4 on ssd" in told
    assert "ext4 on hdd" in told


def test_a_host_without_a_disk_has_the_bytes_of_this_one(lab: Lab) -> None:
    same_bytes.repeat(lab.root)
    _commit(lab.root)
    settings = {"ansible_host": lab.ssd.address, "recompact_panels": same_bytes.PANELS}
    played = lab.play("site.yml", "--limit", "emulated1", emulated1=settings)
    assert played.status == 0, played.said[-5000:]
    (fetched,) = (lab.root / "build/hosts/emulated1").glob("*-tmpfs/smoke")
    words = ["./repro", "smoke", "--panels", same_bytes.PANELS]
    subprocess.run(words, cwd=lab.root, check=True, stdin=subprocess.DEVNULL)
    same_bytes.compare(same_bytes.read(lab.root / "results/smoke"), same_bytes.read(fetched))


def test_undo_puts_everything_back(lab: Lab) -> None:
    played = lab.play("undo.yml")
    assert played.status == 0, played.said[-3000:]
    for machine in (lab.ssd, lab.hdd):
        assert _file_system(machine) == ""
        inside = Path(f"/proc/{_inner(machine)}/root")
        assert not (inside / "opt/recompact").exists()
        assert machine.disk not in (inside / "etc/fstab").read_text(encoding="utf-8")
    again = lab.play("undo.yml")
    assert {again.recap(host)["changed"] for host in ("ssd1", "hdd1")} == {0}
