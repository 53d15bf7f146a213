"""Hosts that runs are simulated on, and what work costs there.

A run on a simulated host is told how many processors there are, how they are given to threads, and
what each kind of work costs (`workloads/simulator/README.md`). What it costs is fitted to real runs
of the same engine: a calibration, `recompact.calibrate`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel, model_validator

from recompact.declarations import Declaration, DeclarationError, load

REAL = "real"  # in place of a host: this one, in its own time
HERE = "here"  # the host of the calibrations, to hold simulated time against real time
HOSTS = "workloads/hosts.yaml"
CALIBRATIONS = "workloads/calibrations"
MACHINES = "machines.yaml"  # there
ROLES = ("client", "background")
# Kinds of work that the kernel does for the most part; all others are computation.
KERNEL_WORK = (
    *("reads", "read_bytes", "writes", "written_bytes", "file_operations", "listed_files"),
    *("locks", "signals", "waits", "clock_reads", "yields", "thread_starts"),
)


class Host(Declaration):
    """A simulated host.

    Attributes
    ----------
    processors : int
        How many there are.
    rating : float, optional
        Of one thread, in MIPS, by 7-Zip's benchmark (`7z b -mmt1`). Work takes as much longer here
        than on the host of a calibration as that one's rating is higher; as long without one.
    slice_us, wake_up_granularity_us : float
        After how much a thread gives its processor to one that has had less, and how much less a
        thread that wakes up must have had to get one at once.
    switch_ns, wake_ns : float
        What a processor loses with a change of threads, and a thread between being woken and going
        on.
    """

    title: str
    source: str
    processors: int = Field(ge=1)
    rating: float | None = Field(default=None, gt=0)
    slice_us: float = Field(gt=0)
    wake_up_granularity_us: float = Field(ge=0)
    switch_ns: float = Field(ge=0)
    wake_ns: float = Field(ge=0)


class _Hosts(Declaration):
    hosts: dict[str, Host]

    @model_validator(mode="after")
    def _none_is_real(self) -> _Hosts:
        if REAL in self.hosts:
            raise ValueError(f"hosts.{REAL}: is the name of the host that is not simulated")
        return self


# Of one of each kind of work, in ns. Which kinds there are, the driver knows (work.h) and checks.
Costs = dict[str, Annotated[float, Field(ge=0)]]


class Fit(Declaration):
    """What was fitted to the runs of one role.

    Attributes
    ----------
    costs_ns : dict
        Of one of each kind of work; what is not there costs nothing.
    intervals_ns : dict
        Where nine in ten costs lie that are fitted to runs drawn from those that there are.
    """

    costs_ns: Costs
    intervals_ns: dict[str, tuple[float, float]]


class HeldOut(Declaration):
    """A phase of a run that nothing was fitted to.

    Attributes
    ----------
    processor_s, modelled_s : float
        What its threads of a role took, and what the costs say.
    """

    experiment: str
    point: str
    phase: str
    role: str
    processor_s: float = Field(gt=0)
    modelled_s: float = Field(ge=0)

    @property
    def error(self) -> float:
        """How far the model is off, as a share of the truth."""
        return self.modelled_s / self.processor_s - 1


class Calibration(Declaration):
    """What the work of one engine costs on the host that it was measured on.

    Attributes
    ----------
    machine : str
        Where; how fast that is, `load_machines` tells.
    compiler, libraries : str, dict
        Of what the driver was built: these change counts, so the driver refuses others.
    """

    engine: str
    machine: str
    compiler: str
    libraries: dict[str, str]
    roles: dict[str, Fit]
    held_out: tuple[HeldOut, ...]

    @model_validator(mode="after")
    def _has_all_roles(self) -> Calibration:
        if set(self.roles) != set(ROLES):
            raise ValueError(f"roles: must be {' and '.join(ROLES)}")
        return self


class Machine(Declaration):
    """What all engines have in common that are calibrated on one host.

    Attributes
    ----------
    rating : float
        Of one thread, in MIPS, see `Host`.
    primitives_ns : dict of str to float
        What threads do to each other costs, by kind of work.
    """

    rating: float = Field(gt=0)
    primitives_ns: dict[str, Annotated[float, Field(ge=0)]]


class _Machines(RootModel[dict[str, Machine]]):
    pass


def load_hosts(root: Path) -> dict[str, Host]:
    """Read the hosts of a checkout.

    Raises
    ------
    DeclarationError
        If the file is not as it should be.
    """
    return load(root / HOSTS, _Hosts).hosts


def calibration_path(root: Path, engine: str) -> Path:
    """Name the file that has what the work of an engine costs."""
    return root / CALIBRATIONS / f"{engine}.yaml"


def load_calibration(root: Path, engine: str) -> Calibration:
    """Read what the work of an engine costs.

    Raises
    ------
    DeclarationError
        If there is no calibration, or it is of another engine.
    """
    path = calibration_path(root, engine)
    if not path.exists():
        raise DeclarationError(
            f"{path}: no such file, so nobody knows what the work of {engine} costs; "
            f"measure it with ./repro calibrate --engine {engine}"
        )
    found = load(path, Calibration)
    if found.engine != engine:
        raise DeclarationError(
            f"{path}: engine: is a calibration of {found.engine}, not of {engine}; "
            f"measure it with ./repro calibrate --engine {engine}"
        )
    return found


def machines_path(root: Path) -> Path:
    """Name the file that has what was measured of the hosts of calibrations."""
    return root / CALIBRATIONS / MACHINES


def load_machines(root: Path) -> dict[str, Machine]:
    """Read what was measured of the hosts of calibrations, whatever engine.

    Raises
    ------
    DeclarationError
        If the file is not as it should be.
    """
    path = machines_path(root)
    return load(path, _Machines).root if path.exists() else {}


@dataclass(frozen=True)
class Member:
    """A repetition of a point in real time, or a member of its ensemble on a simulated host.

    Attributes
    ----------
    number : int
        From 1 on.
    seed : int
        Of the workload: another draws other operations.
    costs : int
        Which draw of the costs within their error; 0: as they were fitted.
    ties : str
        Which of threads of equal time goes first, by their numbers: lower or higher.
    """

    number: int
    seed: int = 1
    costs: int = 0
    ties: Literal["lower", "higher"] = "lower"

    @property
    def varies(self) -> str:
        """What differs from the first member: seed, costs or ties; nothing of the first."""
        own = {"seed": self.seed != 1, "costs": self.costs != 0, "ties": self.ties != "lower"}
        return " ".join(name for name, differs in own.items() if differs)

    @property
    def first_of_seed(self) -> Member:
        """The first member of this seed, whose database all members of the seed start from."""
        return Member(self.seed, seed=self.seed)


FIRST = Member(1)


def drawn(calibration: Calibration, role: str, draw: int) -> Costs:
    """Draw costs within the error of a calibration; draw 0 is as they were fitted.

    Costs of computation are taken to be off as the model was off in one phase of this role that was
    held out, and costs of what the kernel does as in another. Every second draw is the opposite of
    the one before it. Engines and roles draw for themselves.
    """
    costs = calibration.roles[role].costs_ns
    errors = [row.error for row in calibration.held_out if row.role == role]
    if draw == 0 or not errors:
        return costs

    def factor(part: str) -> float:
        text = f"{calibration.engine} {role} {part} {(draw + 1) // 2}"
        place = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        off = 1 + errors[place % len(errors)]
        return off if draw % 2 == 0 else 1 / off

    computation, kernel = factor("computation"), factor("kernel")
    return {
        work: cost * (kernel if work in KERNEL_WORK else computation)
        for work, cost in costs.items()
    }


def specification(
    name: str,
    host: Host,
    calibration: Calibration,
    machines: Mapping[str, Machine],
    member: Member = FIRST,
) -> dict[str, Any]:
    """Give what the driver is told of a simulated host, for a member of an ensemble.

    Raises
    ------
    DeclarationError
        If nothing is known of the host of the calibration.
    """
    if calibration.machine not in machines:
        raise DeclarationError(
            f"{CALIBRATIONS}/{MACHINES}: has no {calibration.machine!r}, on which "
            f"{calibration.engine} was calibrated; calibrate it again"
        )
    slower = 1 if host.rating is None else machines[calibration.machine].rating / host.rating
    return {
        "id": name,
        "processors": host.processors,
        "slice_us": host.slice_us,
        "wake_up_granularity_us": host.wake_up_granularity_us,
        "switch_ns": host.switch_ns * slower,
        "wake_ns": host.wake_ns * slower,
        "ties": member.ties,
        "costs_ns": {
            role: {
                work: cost * slower for work, cost in drawn(calibration, role, member.costs).items()
            }
            for role in ROLES
        },
        "calibration": {
            "engine": calibration.engine,
            "machine": calibration.machine,
            "compiler": calibration.compiler,
            "libraries": calibration.libraries,
        },
    }
