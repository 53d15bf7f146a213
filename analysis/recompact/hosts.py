"""Hosts that runs are simulated on, and what work costs there.

A run on a simulated host is told how many processors there are, how they are given to threads, and
what each kind of work costs (`workloads/simulator/README.md`). What it costs is fitted to real runs
of the same engine: a calibration, `recompact.calibration`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from recompact.declarations import Declaration, DeclarationError, load

REAL = "real"  # in place of a host: this one, in its own time
HOSTS = "workloads/hosts.yaml"
CALIBRATIONS = "workloads/calibrations"
ROLES = ("client", "background")


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
    machine, rating : str, float
        Where, and how fast that is, see `Host`.
    compiler, libraries : str, dict
        Of what the driver was built: these change counts, so the driver refuses others.
    """

    engine: str
    machine: str
    rating: float = Field(gt=0)
    compiler: str
    libraries: dict[str, str]
    roles: dict[str, Fit]
    held_out: tuple[HeldOut, ...]

    @model_validator(mode="after")
    def _has_all_roles(self) -> Calibration:
        if set(self.roles) != set(ROLES):
            raise ValueError(f"roles: must be {' and '.join(ROLES)}")
        return self


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


def specification(name: str, host: Host, calibration: Calibration) -> dict[str, Any]:
    """Give what the driver is told of a simulated host."""
    slower = 1 if host.rating is None else calibration.rating / host.rating
    return {
        "id": name,
        "processors": host.processors,
        "slice_us": host.slice_us,
        "wake_up_granularity_us": host.wake_up_granularity_us,
        "switch_ns": host.switch_ns * slower,
        "wake_ns": host.wake_ns * slower,
        "costs_ns": {
            role: {work: cost * slower for work, cost in fitted.costs_ns.items()}
            for role, fitted in calibration.roles.items()
        },
        "calibration": {
            "engine": calibration.engine,
            "machine": calibration.machine,
            "compiler": calibration.compiler,
            "libraries": calibration.libraries,
        },
    }
