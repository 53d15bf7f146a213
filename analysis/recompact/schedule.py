"""Which host measures what, for how long, and what fits into a budget.

Times come from the published runs: what a run of the same experiment, engine and point took, times
the ratio of the scales. That holds for work that grows with the data; it is an estimate, and what
it is made from is told with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import yaml

from recompact import tables
from recompact.claims.declarations import Claim
from recompact.errors import RecompactError
from recompact.experiments import Declarations, DiskKind
from recompact.jobs import Run
from recompact.plan import Host, Plan, make
from recompact.publish import seconds_of_runs

EMULATED_GROUP = "emulated"
GROUPS = (*get_args(DiskKind), EMULATED_GROUP)
ROOM = 4  # times what users write: what the driver asks of a disk before it starts
# A claim that states a number says more than one that states a direction.
WEIGHT = {"quant": 2, "derived": 1, "qual": 1}


class ScheduleError(RecompactError):
    """An inventory or a budget is not as it must be; the message says what to do."""


def read_inventory(path: Path) -> dict[str, list[str]]:
    """Read the hosts of each group from an Ansible inventory in YAML.

    Returns
    -------
    dict of str to list of str
        Groups of `GROUPS` that have hosts, in that order.

    Raises
    ------
    ScheduleError
        If the file cannot be read or none of these groups has a host.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ScheduleError(f"{path}: cannot be read as a YAML inventory: {error}") from error
    found: dict[str, list[str]] = {}

    def collect(groups: Any) -> None:
        for name, group in (groups or {}).items():
            content = group or {}
            hosts = list(content.get("hosts") or {})
            if name in GROUPS and hosts:
                found.setdefault(name, []).extend(hosts)
            collect(content.get("children"))

    collect(content if isinstance(content, dict) else {})
    if not found:
        raise ScheduleError(f"{path}: no host in any of the groups {', '.join(GROUPS)}; name some")
    return {name: found[name] for name in GROUPS if name in found}


def parse_budget(text: str) -> float:
    """Read a time such as 8h, 90m or 2d; give seconds.

    Raises
    ------
    ScheduleError
        If it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([mhd])", text)
    if match is None:
        raise ScheduleError(f"{text!r} is no time; write 90m, 8h or 2d")
    return float(match[1]) * {"m": 60, "h": 3600, "d": 86400}[match[2]]


@dataclass(frozen=True)
class Durations:
    """How long runs took that were published, and from that how long others will.

    Attributes
    ----------
    measured : DataFrame
        One row per published run: experiment, engine, point, seconds at factor 1.
    """

    measured: pd.DataFrame

    @classmethod
    def published(cls, folder: Path) -> Durations:
        """Read the durations of all published runs."""
        parts = []
        for scale in sorted(folder.glob("*/*/experiments.csv")):
            experiments = tables.read_table(scale, tables.EXPERIMENT_COLUMNS)
            runs = tables.read_table(scale.with_name("runs.csv"), tables.RUN_COLUMNS)
            seconds = seconds_of_runs(runs)
            whole = experiments.run.map(seconds) * experiments.scale_factor
            parts.append(experiments.assign(seconds=whole)[[*_KEYS, "seconds"]].dropna())
        if not parts:
            return cls(pd.DataFrame(columns=[*_KEYS, "seconds"]))
        return cls(pd.concat(parts, ignore_index=True))

    @cached_property
    def _medians(self) -> list[pd.Series[float]]:
        return [
            self.measured.groupby(_KEYS[:count]).seconds.median()
            for count in range(len(_KEYS), 0, -1)
        ]

    def seconds(self, experiment: str, engine: str, point: str, factor: float) -> float | None:
        """Estimate a run: from its like, or its engine, or its experiment; None if nothing is."""
        key = (experiment, engine, point)
        for medians, count in zip(self._medians, range(len(key), 0, -1), strict=True):
            name = key[:count] if count > 1 else key[0]
            if name in medians.index:
                return float(medians[name]) / factor
        return None


_KEYS = ["experiment", "engine", "point"]


@dataclass(frozen=True)
class Task:
    """All runs of one experiment on one host.

    Attributes
    ----------
    experiment : str
        Its name.
    runs : int
        How many, repetitions included.
    seconds : float
        What they take.
    disk_bytes : int
        What the largest of them needs, with the databases that are kept for them.
    """

    experiment: str
    runs: int
    seconds: float
    disk_bytes: int


def tasks(plan: Plan, durations: Durations) -> tuple[list[Task], list[str]]:
    """Give the tasks of a plan in its order, and the experiments whose time nobody knows."""
    points = pd.DataFrame(plan.points)
    found: list[Task] = []
    unknown: list[str] = []
    if points.empty:
        return found, unknown
    for experiment, rows in points.groupby("experiment", sort=False):
        estimates = [
            durations.seconds(
                row["experiment"], row["engine"], tables.canonical(row["point"]), row["factor"]
            )
            for row in rows.to_dict("records")
        ]
        if None in estimates:
            unknown.append(str(experiment))
        runs = [plan.runs[name] for name in rows.run.unique()]
        bases = {run.start_from for run in runs if run.start_from is not None}
        kept = sum(_user_bytes(plan, plan.runs[name]) for name in bases)
        found.append(
            Task(
                experiment=str(experiment),
                runs=len(rows),
                seconds=sum(estimate for estimate in estimates if estimate is not None),
                disk_bytes=kept + max(ROOM * _user_bytes(plan, run) for run in runs),
            )
        )
    return found, unknown


def _user_bytes(plan: Plan, run: Run) -> int:
    names = list(run.trace_ids)
    if run.start_from is not None:
        names += plan.runs[run.start_from].trace_ids
    total = 0.0
    for workload in (plan.traces[name].workload for name in names):
        writes = 1.0
        if workload["distribution"] != "sequential":
            writes = workload.get("insert", 0) + workload.get("update", 0)
        total += workload["operations"] * writes * workload["value_bytes"]
    return int(total)


@dataclass(frozen=True)
class Schedule:
    """What each host measures, in order.

    Attributes
    ----------
    hosts : mapping of str to list of Task
        By the name of the host.
    groups : mapping of str to str
        The group of each host.
    left_out : list of str
        Claims for which there is no time, or no host.
    unknown : list of str
        Experiments of whose time nothing is published; they count as none.
    """

    hosts: Mapping[str, list[Task]]
    groups: Mapping[str, str]
    left_out: list[str]
    unknown: list[str]


def schedule(
    declarations: Declarations,
    scale: Any,
    inventory: Mapping[str, Sequence[str]],
    claims: Sequence[Claim],
    durations: Durations,
    budget_s: float | None = None,
    always: Collection[str] = (),
) -> Schedule:
    """Share the experiments of a scale among hosts, and leave out what does not fit.

    An experiment goes to a host of its kind of disk, as a whole, since engines are compared on one
    host; what no real disk is there for is emulated, if a host does that. With a budget claims are
    taken one by one, each time the one with most weight per second that it adds, as long as no host
    has more to do than the budget.

    Parameters
    ----------
    declarations : Declarations
        The checked declarations.
    scale : str
        The scale.
    inventory : mapping of str to sequence of str
        Hosts of each group, see `read_inventory`.
    claims : sequence of Claim
        The claims, in the order in which equals are taken.
    durations : Durations
        What is known of times.
    budget_s : float, optional
        Seconds that each host has; without it everything is taken.
    always : collection of str, optional
        Experiments that every host measures: without a noise floor there is no verdict.
    """
    offers = _offers(declarations, scale, inventory, durations)
    hosts: dict[str, dict[str, Task]] = {}
    groups = {}
    for group, names in inventory.items():
        for name in names:
            groups[name] = group
            hosts[name] = {
                task: offers[group][0][task] for task in always if task in offers[group][0]
            }

    def best_host(experiment: str) -> str | None:
        able = [name for name in hosts if experiment in offers[groups[name]][0]]
        real = [name for name in able if groups[name] != EMULATED_GROUP]
        return min(real or able, key=lambda name: _seconds(hosts[name]), default=None)

    def placed(experiments: Collection[str]) -> dict[str, str] | None:
        missing = [
            name for name in experiments if not any(name in chosen for chosen in hosts.values())
        ]
        places = {name: best_host(name) for name in missing}
        if None in places.values():
            return None
        return {name: place for name, place in places.items() if place is not None}

    def cost(places: Mapping[str, str]) -> float:
        return sum(offers[groups[host]][0][name].seconds for name, host in places.items())

    def fits(places: Mapping[str, str]) -> bool:
        if budget_s is None:
            return True
        added = dict.fromkeys(places.values(), 0.0)
        for name, host in places.items():
            added[host] += offers[groups[host]][0][name].seconds
        return all(_seconds(hosts[host]) + more <= budget_s for host, more in added.items())

    waiting = [
        (claim, {name for check in claim.check for name in check.experiments}) for claim in claims
    ]
    while waiting:
        ranked = []
        for claim, experiments in waiting:
            places = placed(experiments)
            if places is not None and fits(places):
                weight = WEIGHT[claim.kind]
                ranked.append((weight / max(cost(places), 1e-9), claim.id, claim, places))
        if not ranked:
            break
        _, _, taken, places = max(ranked, key=lambda entry: entry[0])
        for name, host in places.items():
            hosts[host][name] = offers[groups[host]][0][name]
        waiting = [(claim, names) for claim, names in waiting if claim is not taken]
    if budget_s is None:  # figures without a claim
        for experiment in declarations.experiments:
            for name, host in (placed([experiment]) or {}).items():
                hosts[host][name] = offers[groups[host]][0][name]
    order = list(declarations.experiments)
    return Schedule(
        hosts={
            host: sorted(chosen.values(), key=lambda task: order.index(task.experiment))
            for host, chosen in hosts.items()
        },
        groups=groups,
        left_out=[claim.id for claim, _ in waiting],
        unknown=sorted({name for _, unknown in offers.values() for name in unknown}),
    )


def _seconds(chosen: Mapping[str, Task]) -> float:
    return sum(task.seconds for task in chosen.values())


def _offers(
    declarations: Declarations,
    scale: Any,
    inventory: Mapping[str, Sequence[str]],
    durations: Durations,
) -> dict[str, tuple[dict[str, Task], list[str]]]:
    """Tell what a host of each group could measure."""
    offers = {}
    for group in inventory:
        disk = None if group == EMULATED_GROUP else group
        plan = make(declarations, scale, host=Host(disk=disk))  # type: ignore[arg-type]
        found, unknown = tasks(plan, durations)
        offers[group] = ({task.experiment: task for task in found}, unknown)
    return offers


def text(found: Schedule) -> str:
    """Tell a schedule: a table per host, then what is left out."""
    lines = []
    for host, chosen in found.hosts.items():
        hours = sum(task.seconds for task in chosen) / 3600
        disk = max((task.disk_bytes for task in chosen), default=0) / 1e9
        runs = sum(task.runs for task in chosen)
        lines.append(f"{host} ({found.groups[host]}): {runs} runs, {hours:.1f} h, {disk:.1f} GB")
        frame = pd.DataFrame(
            [
                (task.experiment, task.runs, task.seconds / 3600, task.disk_bytes / 1e9)
                for task in chosen
            ],
            columns=["experiment", "runs", "hours", "GB"],
        )
        if not frame.empty:
            table = frame.to_string(index=False, float_format="{:.2f}".format)
            lines += [f"  {line}" for line in table.splitlines()]
    if found.left_out:
        lines.append(f"left out, {len(found.left_out)} claims: {', '.join(found.left_out)}")
    if found.unknown:
        lines.append(f"of unknown time, counted as none: {', '.join(found.unknown)}")
    return "\n".join(lines)
