"""What the work of an engine costs: fitted to real runs, and held against others.

A driver counts what each thread does (`workloads/simulator/work.h`) and how much processor time it
has. The time of a phase's threads of one role is taken for the sum of their counts times the costs,
none negative, that come nearest to all phases relative to what each took. All repetitions count:
one that was quick may have had less to do. What others on the host take slows all phases of a run,
and no run is quicker than a quiet host: so each run has one slowness, found together with the costs
from phases that are not held out, and times are those at the slowness of the quietest tenth. Of
kinds that come together, such as a read and its bytes, the fit cannot tell whose the time is; a
small penalty on large shares lets both have some. What threads do to each other is measured alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml
from scipy.optimize import nnls

from recompact import pipeline, shell
from recompact.errors import RecompactError
from recompact.experiments import ScaleName
from recompact.hosts import (
    ROLES,
    Calibration,
    Fit,
    HeldOut,
    Machine,
    calibration_path,
    load_machines,
    machines_path,
)
from recompact.plan import make
from recompact.tables import canonical, host_label

SCALE: ScaleName = "small"
EXPERIMENTS = ("time_memory", "time_sizes")  # in real time
HELD_OUT_PHASES, HELD_OUT_VALUE_BYTES = ("wh", "c", "e"), 1024
LEAST_S = 0.02  # of a phase: of less the clock tells little
SAMPLES = 200
ROUNDS = 5  # of finding costs and the slowness of runs in turns; both settle after three
QUIET = 0.1  # quantile of the slowness of runs that a quiet host is taken for
RIDGE = 0.01  # penalty on the squared share of a kind, as against the squared relative error
PASSES = 7  # of 7-Zip's benchmark and of primitives; the best counts, since others only take
MEDIAN_ERROR, HIGH_ERROR = 0.10, 0.20  # of what is held out: in the median, of nine in ten
SEED = 1


class CalibrationError(RecompactError):
    """Costs that the runs do not bear out, or runs that are not there."""


_Numbers = npt.NDArray[np.float64]
Phase = tuple[str, str, str, str]  # experiment, point, phase, role


@dataclass(frozen=True)
class Row:
    """What the threads of one role did in a phase, and the processor time that they had."""

    run: str
    experiment: str
    point: str
    phase: str
    role: str
    counts: dict[str, int]
    processor_s: float

    @property
    def what(self) -> Phase:
        """What it is a repetition of."""
        return self.experiment, self.point, self.phase, self.role

    @property
    def is_held_out(self) -> bool:
        """Whether costs are held against it, and not fitted to it."""
        value_bytes = json.loads(self.point).get("value_bytes")
        return self.phase in HELD_OUT_PHASES and value_bytes == HELD_OUT_VALUE_BYTES


def calibrate(root: Path, engine: str) -> Calibration:
    """Measure, fit and write what the work of an engine costs on this host.

    Raises
    ------
    CalibrationError
        If the costs are too far from the runs that were held out; the message names them.
    """
    pipeline.note_builders()  # they are part of the names of runs
    plan = make(pipeline.declarations(), SCALE, EXPERIMENTS, host=pipeline.host({}))
    points = [point for point in plan.points if point["built"] == engine]
    if not points:
        raise CalibrationError(f"{', '.join(EXPERIMENTS)}: engine {engine} is in none of them")
    pipeline.make_runs(root, SCALE, EXPERIMENTS, [point["run"] for point in points])
    records = [
        (point, json.loads((root / pipeline.RAW / point["run"] / "run.json").read_text("utf-8")))
        for point in points
    ]
    first = records[0][1]
    machine = host_label(first["host"])
    primitives = _machine(root, machine, engine).primitives_ns
    rows = even_out([row for point, record in records for row in _rows(point, record)], primitives)
    found = Calibration(
        engine=engine,
        machine=machine,
        compiler=first["engine"]["build"]["compiler"],
        libraries=first["engine"]["build"]["libraries"],
        roles={role: fit([row for row in rows if row.role == role], primitives) for role in ROLES},
        held_out=(),
    )
    found = found.model_copy(update={"held_out": tuple(_held_out(found, rows))})
    print(text(found))
    check(found)
    path = calibration_path(root, engine)
    content = found.model_dump(mode="json")
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return found


def _machine(root: Path, label: str, engine: str) -> Machine:
    """Measure this host once: engines that were calibrated on it are compared with each other.

    Raises
    ------
    CalibrationError
        If 7-Zip tells no rating.
    """
    known = load_machines(root)
    if label not in known:
        driver = root / f"build/engines/{engine}/driver/recompact_driver"
        passes = [_measure_host(driver) for _ in range(PASSES)]
        told = [primitives for _, primitives in passes]
        found = Machine(
            rating=max(rating for rating, _ in passes),
            primitives_ns={
                work: _round(min(primitives[work] for primitives in told)) for work in told[0]
            },
        )
        known |= {label: found}
        content = {name: machine.model_dump() for name, machine in sorted(known.items())}
        machines_path(root).parent.mkdir(exist_ok=True)
        machines_path(root).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return known[label]


def _measure_host(driver: Path) -> tuple[float, dict[str, float]]:
    """Rate one thread, in MIPS with a dictionary of 4 MiB, and measure primitives, in ns."""
    said = shell.run(["7zz", "b", "1", "-mmt1", "-md22"])
    # Totals of packing and unpacking: usage in %, rating at full usage, rating as it was.
    total = re.search(r"^Tot: +\d+ +(\d+) +\d+$", said, re.MULTILINE)
    if total is None:
        raise CalibrationError(f"7zz b: has no line of totals: {said[-200:]}")
    primitives: dict[str, float] = json.loads(shell.run([str(driver), "--primitives"]))
    return float(total[1]), primitives


def _rows(point: dict[str, Any], record: dict[str, Any]) -> Iterable[Row]:
    for phase in record["phases"]:
        for role in ROLES:
            counts = dict(phase["work"][role])
            seconds = counts.pop("processor_ns") * 1e-9
            if seconds >= LEAST_S:
                # Variants of an engine are other points of it.
                place = canonical({"as": point["engine"]} | point["point"])
                what = (point["experiment"], place, phase["name"], role)
                yield Row(point["run"], *what, counts, seconds)


def medians(rows: Iterable[Row]) -> dict[Phase, float]:
    """Give the median processor time of the repetitions of each phase, in seconds."""
    times: dict[Phase, list[float]] = {}
    for row in rows:
        times.setdefault(row.what, []).append(row.processor_s)
    return {what: float(np.median(taken)) for what, taken in times.items()}


def even_out(rows: Sequence[Row], primitives: Mapping[str, float]) -> list[Row]:
    """Give all rows the processor time that they would have had on the quiet host.

    Parameters
    ----------
    rows : sequence of Row
        All repetitions of phases, of both roles.
    primitives : mapping of str to float
        Costs that are known, in ns.
    """
    slowness = {row.run: 1.0 for row in rows}
    for _ in range(ROUNDS):
        evened = [replace(row, processor_s=row.processor_s / slowness[row.run]) for row in rows]
        costs = {}
        for role in {row.role for row in rows}:
            names, *problem = _problem([row for row in evened if row.role == role], primitives)
            costs[role] = dict(zip(names, _solve(*problem), strict=True)) | dict(primitives)
        ratios: dict[str, list[float]] = {}
        for row in rows:
            if not row.is_held_out:
                modelled = _time_s(row, costs[row.role])
                ratios.setdefault(row.run, []).append(row.processor_s / modelled)
        found = {run: float(np.median(told)) for run, told in ratios.items()}
        quiet = np.quantile(list(found.values()), QUIET)
        slowness |= {run: value / quiet for run, value in found.items()}
    return [replace(row, processor_s=row.processor_s / slowness[row.run]) for row in rows]


def fit(rows: Sequence[Row], primitives: Mapping[str, float]) -> Fit:
    """Fit the costs of one role to the phases that are not held out.

    Parameters
    ----------
    rows : sequence of Row
        All repetitions of phases.
    primitives : mapping of str to float
        Costs that are known, in ns.

    Raises
    ------
    CalibrationError
        If there are none.
    """
    names, *problem = _problem(rows, primitives)
    costs = _solve(*problem)
    draw = np.random.default_rng(SEED)
    number = len(problem[0])
    drawn = [draw.integers(number, size=number) for _ in range(SAMPLES)]
    samples = np.array([_solve(*(part[chosen] for part in problem)) for chosen in drawn])
    low, high = np.quantile(samples, [0.05, 0.95], axis=0)
    there = [i for i, cost in enumerate(costs) if cost > 0]
    return Fit(
        costs_ns={names[i]: _round(costs[i]) for i in there} | dict(primitives),
        intervals_ns={names[i]: (_round(low[i]), _round(high[i])) for i in there}
        | {name: (cost, cost) for name, cost in primitives.items()},
    )


def _problem(
    rows: Sequence[Row], primitives: Mapping[str, float]
) -> tuple[list[str], _Numbers, _Numbers, _Numbers]:
    """Give the kinds of work to be fitted, and what `_solve` takes."""
    fitted = [row for row in rows if not row.is_held_out]
    if not fitted:
        raise CalibrationError("no phase took long enough to fit costs to")
    names = [name for name in fitted[0].counts if name not in primitives]
    counts = np.array([[row.counts[name] for name in names] for row in fitted], dtype=float)
    left = np.array([row.processor_s - _time_s(row, primitives) for row in fitted])
    usual = medians(fitted)
    weights = np.array([1 / usual[row.what] for row in fitted])
    return names, counts, left, weights


def _solve(
    counts: _Numbers,
    seconds: _Numbers,
    weights: _Numbers,
) -> _Numbers:
    """Solve for costs in ns.

    Parameters
    ----------
    counts : ndarray of float, shape (rows, kinds)
        How often each kind was done.
    seconds, weights : ndarray of float, shape (rows,)
        What that took, and how much a second counts.
    """
    shares = counts * weights[:, None]  # of a row's time, were the cost a second
    scale = np.sqrt((shares**2).mean(axis=0))
    scale[scale == 0] = 1
    penalty = np.sqrt(RIDGE * len(seconds)) * np.eye(counts.shape[1])
    solution, _ = nnls(
        np.vstack([shares / scale, penalty]),
        np.append(seconds * weights, np.zeros(counts.shape[1])),
    )
    costs: _Numbers = solution / scale * 1e9
    return costs


def _time_s(row: Row, costs_ns: Mapping[str, float]) -> float:
    """Tell what a row takes at some costs."""
    return sum(cost * row.counts[name] for name, cost in costs_ns.items()) * 1e-9


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def _held_out(calibration: Calibration, rows: Iterable[Row]) -> Iterable[HeldOut]:
    """Hold costs against phases that are held out, by the median over the repetitions of each."""
    ratios: dict[Phase, list[float]] = {}
    held_out = [row for row in rows if row.is_held_out]
    for row in held_out:
        modelled = _time_s(row, calibration.roles[row.role].costs_ns)
        ratios.setdefault(row.what, []).append(modelled / row.processor_s)
    for what, taken in medians(held_out).items():
        experiment, point, phase, role = what
        yield HeldOut(
            experiment=experiment,
            point=point,
            phase=phase,
            role=role,
            processor_s=_round(taken),
            modelled_s=_round(taken * float(np.median(ratios[what]))),
        )


def text(calibration: Calibration) -> str:
    """Tell costs with their intervals, and the error of each phase that was held out."""
    lines = [f"{calibration.engine}, {calibration.machine}, {calibration.compiler}"]
    for role, fitted in calibration.roles.items():
        for name, cost in fitted.costs_ns.items():
            low, high = fitted.intervals_ns[name]
            lines.append(f"  {role:10} {name:20} {cost:10.4g} ns  [{low:.4g}, {high:.4g}]")
    lines += [
        f"  held out: {row.experiment} {row.point} {row.phase} {row.role}: "
        f"{row.processor_s:.3g} s, modelled {row.modelled_s:.3g} s ({row.error:+.1%})"
        for row in calibration.held_out
    ]
    return "\n".join(lines)


def check(calibration: Calibration) -> None:
    """Refuse costs that are too far from what was held out.

    Raises
    ------
    CalibrationError
        If nothing was held out, or the error is beyond the bounds; names the rows that miss.
    """
    errors = [abs(row.error) for row in calibration.held_out]
    if not errors:
        raise CalibrationError(f"{calibration.engine}: no phase was held out")
    median, high = np.quantile(errors, [0.5, 0.9])
    if median <= MEDIAN_ERROR and high <= HIGH_ERROR:
        return
    worst = [
        f"{row.experiment} {row.point} {row.phase} {row.role} {row.error:+.1%}"
        for row in calibration.held_out
        if abs(row.error) > HIGH_ERROR
    ]
    raise CalibrationError(
        f"{calibration.engine}: phases that were held out are off by {median:.1%} in the median "
        f"and {high:.1%} at the 90th percentile; allowed are {MEDIAN_ERROR:.0%} and "
        f"{HIGH_ERROR:.0%}. Those beyond: {'; '.join(worst) or 'none'}. Measure on a quiet machine"
    )
