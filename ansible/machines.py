"""Hosts for tests: a root file system, an address, an sshd and a throttled disk of their own.

A host is an overlay on a base that debootstrap made, in namespaces for processes, mounts and
network. It reaches the package registries through slirp4netns, so nothing of this machine's network
is changed but for a bridge. Its disk is a loop device on a file in memory, with the limits that the
kernel's own throttling (the blkio controller of cgroup v1) holds it to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BRIDGE = "recompact0"
NETWORK = "10.77.0"
PACKAGES = "openssh-server,python3,python3-apt,procps,iproute2,ca-certificates,sudo"
ROOT_GROUP = Path("/sys/fs/cgroup/blkio")
# What the model of a limited disk has: its host writes back at once, and little waits for it.
WRITEBACK = {"dirty_background_bytes": 2**20, "dirty_bytes": 2**24}
_KERNEL = Path("/proc/sys/vm")
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")


@dataclass(frozen=True)
class Limits:
    """What a disk gives: bytes and requests per second, of reads and of writes alike."""

    bytes_s: int
    requests_s: int


@dataclass
class Machine:
    """One host.

    Attributes
    ----------
    name : str
        Of its network namespace, and in the inventory.
    number : int
        Last part of its address.
    disk_bytes : int
        Size of its disk.
    limits : Limits
        Of its disk.
    state : Path
        Receives its files.
    """

    name: str
    number: int
    disk_bytes: int
    limits: Limits
    state: Path
    disk: str = ""
    processes: tuple[subprocess.Popen[bytes], ...] = ()

    @property
    def address(self) -> str:
        return f"{NETWORK}.{self.number}"

    @property
    def folder(self) -> Path:
        return self.state / self.name

    @property
    def _image(self) -> Path:
        return Path("/dev/shm") / f"{self.name}.disk"

    def start(self, base: Path, public_key: str) -> None:
        """Attach the disk, join the network and start sshd.

        Parameters
        ----------
        base : Path
            The root file system below, which stays as it is.
        public_key : str
            Who may log in as root.
        """
        if not self.disk:
            self.remove()  # what a killed test left
            self._attach()
        for part in ("upper", "work", "root"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        self._join()
        layers = f"lowerdir={base},upperdir={self.folder}/upper,workdir={self.folder}/work"
        root = self.folder / "root"
        script = f"""
            set -e
            mount --make-rprivate /
            mount -t overlay overlay -o {layers} {root}
            mount -t proc proc {root}/proc
            mount --rbind /sys {root}/sys
            mount --rbind /dev {root}/dev
            mount -t tmpfs tmpfs {root}/dev/shm
            mount -t tmpfs tmpfs {root}/run
            mkdir -p {root}/run/sshd {root}/root/.ssh
            echo '{public_key}' > {root}/root/.ssh/authorized_keys
            echo {self.name} > {root}/etc/hostname
            echo 'nameserver 10.0.2.3' > {root}/etc/resolv.conf
            hostname {self.name}
            exec chroot {root} /usr/sbin/sshd -D -e
        """
        inside = [*ENDS_WITH_US, "ip", "netns", "exec", self.name]
        inside += ["unshare", "--mount", "--uts", "--pid", "--fork"]
        log = (self.folder / "log").open("ab")
        host = subprocess.Popen(
            [*inside, "--kill-child", "sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_join_root_group,
        )
        tap = [f"/run/netns/{self.name}", "tap0"]
        network = subprocess.Popen(
            [*ENDS_WITH_US, "slirp4netns", "--configure", "--netns-type=path", *tap],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        self.processes = (host, network)

    def _attach(self) -> None:
        """Give the machine a disk: a file in memory behind a loop device."""
        with self._image.open("wb") as file:
            file.truncate(self.disk_bytes)
        self.disk = _output("losetup", "--find", "--show", "--direct-io=on", str(self._image))
        _limit(self.disk, self.limits)

    def _join(self) -> None:
        _run("ip", "netns", "add", self.name)
        here, there = f"rc{self.number}", "eth0"
        _run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", self.name)
        _run("ip", "link", "set", here, "master", BRIDGE, "up")
        for words in (
            ["addr", "add", f"{self.address}/24", "dev", there],
            ["link", "set", there, "up"],
            ["link", "set", "lo", "up"],
        ):
            _run("ip", "-n", self.name, *words)

    def stop(self) -> None:
        """End its processes and leave the network; the disk and all files stay."""
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = ()
        _try("ip", "netns", "delete", self.name)
        _try("ip", "link", "delete", f"rc{self.number}")

    def remove(self) -> None:
        """Stop it, and take away its disk and files."""
        self.stop()
        attached = _output("losetup", "--noheadings", "--output", "NAME", "-j", str(self._image))
        for disk in attached.split():
            _limit(disk, Limits(bytes_s=0, requests_s=0))
            _run("losetup", "--detach", disk)
        self._image.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def _limit(disk: str, limits: Limits) -> None:
    """Throttle a disk, or with zeros no more.

    The limits are the root group's, in which the kernel writes back and keeps journals: those of
    another group would hold for the processes in it alone.
    """
    device = _output("lsblk", "--nodeps", "--noheadings", "--output", "MAJ:MIN", disk)
    for kind in ("read", "write"):
        for unit, limit in (("bps", limits.bytes_s), ("iops", limits.requests_s)):
            path = ROOT_GROUP / f"blkio.throttle.{kind}_{unit}_device"
            path.write_text(f"{device} {limit}\n", encoding="utf-8")


def _join_root_group() -> None:
    """Put this process, and so all that it starts, where the limits of disks hold."""
    (ROOT_GROUP / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")


@contextmanager
def prompt_writeback() -> Iterator[None]:
    """Let this kernel, which all machines share, write back at once; then as before."""
    before = {}
    for name, value in WRITEBACK.items():
        for path in (_KERNEL / name, _KERNEL / name.replace("bytes", "ratio")):
            if path.read_text(encoding="utf-8").strip() != "0":  # the other of the two holds
                before[path] = path.read_text(encoding="utf-8")
        (_KERNEL / name).write_text(f"{value}\n", encoding="utf-8")
    try:
        yield
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def open_network() -> None:
    """Make the bridge that joins the machines with this one."""
    close_network()  # what a killed test left
    _run("ip", "link", "add", BRIDGE, "type", "bridge")
    _run("ip", "addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
    _run("ip", "link", "set", BRIDGE, "up")


def close_network() -> None:
    """Remove the bridge."""
    _try("ip", "link", "delete", BRIDGE)


def wait_for(machine: Machine, key: Path) -> None:
    """Wait until a machine lets us in."""
    words = ["ssh", "-i", str(key), "-o", "StrictHostKeyChecking=no", "-o", "ConnectTimeout=1"]
    words += ["-o", "UserKnownHostsFile=/dev/null", f"root@{machine.address}", "true"]
    for _ in range(50):
        done = subprocess.run(words, capture_output=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(0.2)
    raise RuntimeError(f"{machine.name} does not answer: {done.stderr.decode()[-300:]}")


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def _try(*words: str) -> None:
    """Remove what may not be there."""
    subprocess.run(words, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _output(*words: str) -> str:
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
