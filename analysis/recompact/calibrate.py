"""What the work of an engine costs: fitted to real runs, and held against others.

A driver counts what each thread does (`workloads/simulator/work.h`) and how much processor time it
has. The time of a phase's threads of one role is taken for the sum of their counts times the costs,
none negative, that come nearest to all phases relative to what each took.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml
from scipy.optimize import nnls

from recompact import pipeline, shell
from recompact.errors import RecompactError
from recompact.experiments import ScaleName
from recompact.hosts import ROLES, Calibration, Fit, HeldOut, calibration_path
from recompact.jobs import Run
from recompact.plan import make
from recompact.tables import canonical, host_label

SCALE: ScaleName = "small"
NO_FIGURE = "RC-NOISE"  # it needs no run that is not made anyway
EXPERIMENTS = ("time_memory",)  # in real time
HELD_OUT = ("wh", "c", "e")  # phases; chosen before anything was fitted
LEAST_S = 0.02  # of a phase: of less the clock tells little
SAMPLES = 200
MEDIAN_ERROR, HIGH_ERROR = 0.10, 0.20  # of what is held out: in the median, of nine in ten
SEED = 1


class CalibrationError(RecompactError):
    """Costs that the runs do not bear out, or runs that are not there."""


@dataclass(frozen=True)
class Row:
    """What the threads of one role did in a phase, and the processor time that they had."""

    experiment: str
    point: str
    phase: str
    role: str
    counts: dict[str, int]
    processor_s: float


def calibrate(root: Path, engine: str) -> Calibration:
    """Measure, fit and write what the work of an engine costs on this host.

    Raises
    ------
    CalibrationError
        If the costs are too far from the runs that were held out; the message names them.
    """
    plan = make(pipeline.declarations(), SCALE, EXPERIMENTS, host=pipeline.host({}))
    points = [point for point in plan.points if point["built"] == engine]
    if not points:
        raise CalibrationError(f"{', '.join(EXPERIMENTS)}: engine {engine} is in none of them")
    _measure(root, [plan.runs[point["run"]] for point in points])
    records = [
        (point, json.loads((root / pipeline.RAW / point["run"] / "run.json").read_text("utf-8")))
        for point in points
    ]
    rows = best([row for point, record in records for row in _rows(point, record)])
    first = records[0][1]
    found = Calibration(
        engine=engine,
        machine=host_label(first["host"]),
        rating=rating(),
        compiler=first["engine"]["build"]["compiler"],
        libraries=first["engine"]["build"]["libraries"],
        roles={role: fit([row for row in rows if row.role == role]) for role in ROLES},
        held_out=(),
    )
    found = found.model_copy(update={"held_out": tuple(_held_out(found, rows))})
    print(text(found))
    check(found)
    path = calibration_path(root, engine)
    path.parent.mkdir(exist_ok=True)
    content = found.model_dump(mode="json")
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return found


def _measure(root: Path, runs: Iterable[Run]) -> None:
    marks = sorted({f"{pipeline.FINISHED}/{run.id}" for run in runs})
    words = [sys.executable, "-m", "snakemake", "--profile", f"profiles/{SCALE}", *marks]
    words += ["--config", f"scale={SCALE}", f"panels={NO_FIGURE}", f"also={' '.join(EXPERIMENTS)}"]
    if subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise CalibrationError("the runs to calibrate with failed; the messages above say why")


def rating() -> float:
    """Rate one thread of this host, in MIPS, by 7-Zip's benchmark (dictionary of 4 MiB).

    Time that others took does not count.

    Raises
    ------
    CalibrationError
        If 7-Zip tells no rating.
    """
    said = shell.run(["7zz", "b", "1", "-mmt1", "-md22"])
    # Totals of packing and unpacking: usage in %, rating at full usage, rating as it was.
    total = re.search(r"^Tot: +\d+ +(\d+) +\d+$", said, re.MULTILINE)
    if total is None:
        raise CalibrationError(f"7zz b: has no line of totals: {said[-200:]}")
    return float(total[1])


def _rows(point: dict[str, Any], record: dict[str, Any]) -> Iterable[Row]:
    for phase in record["phases"]:
        for role in ROLES:
            counts = dict(phase["work"][role])
            seconds = counts.pop("processor_ns") * 1e-9
            if seconds >= LEAST_S:
                # Variants of an engine are other points of it.
                place = canonical({"as": point["engine"]} | point["point"])
                yield Row(point["experiment"], place, phase["name"], role, counts, seconds)


def best(rows: Iterable[Row]) -> list[Row]:
    """Of repetitions of one phase keep the one with the least processor time: others only add."""
    least: dict[tuple[str, str, str, str], Row] = {}
    for row in rows:
        key = (row.experiment, row.point, row.phase, row.role)
        if key not in least or row.processor_s < least[key].processor_s:
            least[key] = row
    return list(least.values())


def fit(rows: Sequence[Row]) -> Fit:
    """Fit the costs of one role to the phases that are not held out.

    Raises
    ------
    CalibrationError
        If there are none.
    """
    fitted = [row for row in rows if row.phase not in HELD_OUT]
    if not fitted:
        raise CalibrationError("no phase took long enough to fit costs to")
    names = list(fitted[0].counts)
    counts = np.array([[row.counts[name] for name in names] for row in fitted], dtype=float)
    seconds = np.array([row.processor_s for row in fitted])
    costs = _solve(counts, seconds)
    draw = np.random.default_rng(SEED)
    drawn = [draw.integers(len(fitted), size=len(fitted)) for _ in range(SAMPLES)]
    samples = np.array([_solve(counts[chosen], seconds[chosen]) for chosen in drawn])
    low, high = np.quantile(samples, [0.05, 0.95], axis=0)
    there = [i for i, cost in enumerate(costs) if cost > 0]
    return Fit(
        costs_ns={names[i]: _round(costs[i]) for i in there},
        intervals_ns={names[i]: (_round(low[i]), _round(high[i])) for i in there},
    )


def _solve(
    counts: npt.NDArray[np.float64], seconds: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Solve for costs in ns, each row weighted by what it took."""
    scale = np.where(counts.max(axis=0) > 0, counts.max(axis=0), 1)
    solution, _ = nnls(counts / scale / seconds[:, None], np.ones(len(seconds)))
    costs: npt.NDArray[np.float64] = solution / scale * 1e9
    return costs


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def _held_out(calibration: Calibration, rows: Iterable[Row]) -> Iterable[HeldOut]:
    for row in rows:
        if row.phase in HELD_OUT:
            costs = calibration.roles[row.role].costs_ns
            modelled = sum(cost * row.counts[name] for name, cost in costs.items()) * 1e-9
            yield HeldOut(
                experiment=row.experiment,
                point=row.point,
                phase=row.phase,
                role=row.role,
                processor_s=_round(row.processor_s),
                modelled_s=_round(modelled),
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
