"""Simulated hosts, and what work costs there."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import checkout
from recompact import ROOT, calibrate
from recompact.calibrate import CalibrationError, Row
from recompact.declarations import DeclarationError
from recompact.experiments import Declarations
from recompact.hosts import (
    ROLES,
    Calibration,
    Fit,
    HeldOut,
    calibration_path,
    load_calibration,
    specification,
)
from recompact.plan import Plan, make

COSTS = {"puts": 1500.0, "compares": 12.5, "read_bytes": 0.25}
FIT = {"costs_ns": COSTS, "intervals_ns": {name: [c / 2, c * 2] for name, c in COSTS.items()}}


def _content(**changes: Any) -> dict[str, Any]:
    row = {"experiment": "time_memory", "point": "{}", "phase": "wh", "role": "client"}
    content: dict[str, Any] = {
        "engine": "leveldb",
        "machine": "a host",
        "rating": 3000,
        "compiler": "a compiler",
        "libraries": {"snappy": "1.1.9"},
        "roles": dict.fromkeys(ROLES, FIT),
        "held_out": [row | {"processor_s": 2.0, "modelled_s": 2.1}],
    }
    return content | changes


def _write(root: Path, content: dict[str, Any], engine: str = "leveldb") -> Path:
    path = calibration_path(root, engine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_a_host_that_is_slower_takes_longer_for_each_work() -> None:
    host = Declarations(ROOT).hosts["here"]
    calibration = Calibration.model_validate(_content())
    told = specification("here", host, calibration)
    assert told["costs_ns"]["client"] == COSTS
    slow = specification("slow", host.model_copy(update={"rating": 1000}), calibration)
    assert slow["costs_ns"]["background"]["compares"] == 37.5
    assert slow["switch_ns"] == 3 * told["switch_ns"]
    assert slow["processors"] == told["processors"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "ldc"}, "leveldb.yaml: engine: is a calibration of ldc, not of leveldb"),
        ({"roles": {"client": FIT}}, "leveldb.yaml: .*must be client and background"),
        (
            {"roles": {role: {"costs_ns": {"puts": -1}, "intervals_ns": {}} for role in ROLES}},
            "leveldb.yaml: roles.client.costs_ns.puts: .*greater than or equal to 0",
        ),
    ],
)
def test_a_wrong_calibration_is_named(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    _write(tmp_path, _content(**changes))
    with pytest.raises(DeclarationError, match=message):
        load_calibration(tmp_path, "leveldb")


def test_an_unknown_host_is_named(tmp_path: Path) -> None:
    root = checkout.copy(tmp_path)
    checkout.replace(root / "workloads/experiments.yaml", "    host: here", "    host: there")
    with pytest.raises(DeclarationError, match="time_memory_here.host: 'there' is not in .*hosts"):
        Declarations(root)


def _planned(root: Path) -> Plan:
    return make(Declarations(root), "smoke", ["time_memory", "time_memory_here"])


def test_only_calibrated_engines_run_on_simulated_hosts(tmp_path: Path) -> None:
    root = checkout.copy(tmp_path)
    for path in calibration_path(root, "any").parent.glob("*"):
        path.unlink()
    plan = _planned(root)
    assert {point["experiment"] for point in plan.points} == {"time_memory"}
    assert "./repro calibrate --engine leveldb" in plan.thinning["time_memory_here"]
    _write(root, _content())
    plan = _planned(root)
    simulated = {point["experiment"]: plan.runs[point["run"]] for point in plan.points}
    assert not simulated["time_memory"].simulated
    run = simulated["time_memory_here"]
    assert run.simulated
    assert run.spec["host"]["costs_ns"]["client"]["puts"] == COSTS["puts"]
    assert run.spec["host"]["calibration"]["compiler"] == "a compiler"


def test_other_costs_are_another_run(tmp_path: Path) -> None:
    root = checkout.copy(tmp_path)
    names = []
    for puts in (1500.0, 1500.0, 1600.0):
        costs = FIT | {"costs_ns": COSTS | {"puts": puts}}
        _write(root, _content(roles=dict.fromkeys(ROLES, costs)))
        names.append(set(_planned(root).runs))
    assert names[0] == names[1]
    assert len(names[0] & names[2]) == len(names[0]) - 1


def _row(phase: str, seconds: float, **counts: int) -> Row:
    told = {name: counts.get(name, 0) for name in ("yields", *COSTS)}
    return Row("time_memory", "{}", phase, "client", told, seconds)


def _rows() -> list[Row]:
    """Make phases whose time is exactly that of their counts."""
    counts = [
        {"puts": 1000 * i, "compares": 90000 * (7 * i % 5), "read_bytes": 10**6 * (3 * i % 4)}
        for i in range(1, 12)
    ]
    return [
        _row(f"phase {i}", sum(COSTS[name] * n for name, n in one.items()) * 1e-9, **one)
        for i, one in enumerate(counts)
    ]


def test_costs_come_out_of_phases_that_have_them() -> None:
    fitted = calibrate.fit(_rows())
    assert fitted.costs_ns == pytest.approx(COSTS)
    for name, (low, high) in fitted.intervals_ns.items():
        assert low == pytest.approx(high, rel=1e-3), name


def test_what_is_held_out_is_not_fitted_to() -> None:
    odd = _row(calibrate.HELD_OUT[0], 100.0, puts=1)
    assert calibrate.fit([*_rows(), odd]) == calibrate.fit(_rows())
    with pytest.raises(CalibrationError, match="no phase took long enough"):
        calibrate.fit([odd])


def test_of_repetitions_the_one_that_took_least_counts() -> None:
    rows = [_row("load", seconds, puts=1) for seconds in (2.0, 1.0, 3.0)]
    assert calibrate.best([*rows, _row("run", 4.0)]) == [rows[1], _row("run", 4.0)]


def _held_out(*errors: float) -> Calibration:
    rows = [
        HeldOut(
            experiment="time_memory",
            point="{}",
            phase=f"phase {place}",
            role="client",
            processor_s=1,
            modelled_s=1 + error,
        )
        for place, error in enumerate(errors)
    ]
    fits = {role: Fit(costs_ns=COSTS, intervals_ns={}) for role in ROLES}
    return Calibration.model_validate(_content(roles=fits, held_out=rows))


def test_costs_that_miss_what_was_held_out_are_refused() -> None:
    calibrate.check(_held_out(*[0.05] * 9, -0.19))
    with pytest.raises(CalibrationError, match=r"off by 12.0% in the median"):
        calibrate.check(_held_out(*[-0.12] * 10))
    with pytest.raises(CalibrationError, match=r"90th percentile.*phase 8 client \+30.0%"):
        calibrate.check(_held_out(*[0.01] * 8, 0.3, 0.3))
    with pytest.raises(CalibrationError, match="no phase was held out"):
        calibrate.check(_held_out())
