"""Simulated hosts, and what work costs there."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import checkout
from checkout import COSTS, FIT, MACHINES
from recompact import ROOT, calibrate
from recompact.calibrate import CalibrationError, Row
from recompact.declarations import DeclarationError
from recompact.experiments import Declarations
from recompact.hosts import (
    ROLES,
    Calibration,
    Fit,
    HeldOut,
    Machine,
    calibration_path,
    drawn,
    load_calibration,
    load_machines,
    machines_path,
    specification,
)
from recompact.plan import Plan, make

THERE = {name: Machine.model_validate(told) for name, told in MACHINES.items()}


def test_a_host_that_is_slower_takes_longer_for_each_work() -> None:
    host = Declarations(ROOT).hosts["here"]
    calibration = Calibration.model_validate(checkout.calibration())
    told = specification("here", host, calibration, THERE)
    assert told["costs_ns"]["client"] == COSTS
    slow = specification("slow", host.model_copy(update={"rating": 1000}), calibration, THERE)
    assert slow["costs_ns"]["background"]["compares"] == 37.5
    assert slow["switch_ns"] == 3 * told["switch_ns"]
    assert slow["processors"] == told["processors"]
    with pytest.raises(DeclarationError, match="has no 'a host', on which leveldb was calibrated"):
        specification("slow", host, calibration, {"another host": THERE["a host"]})


def test_a_rating_that_is_none_is_named(tmp_path: Path) -> None:
    assert load_machines(tmp_path) == {}
    checkout.calibrate(tmp_path, checkout.calibration(), "leveldb")
    assert load_machines(tmp_path) == THERE
    machines_path(tmp_path).write_text(
        "a host: {rating: -1, primitives_ns: {}}\n", encoding="utf-8"
    )
    with pytest.raises(DeclarationError, match="machines.yaml: .*greater than 0"):
        load_machines(tmp_path)


def test_costs_are_drawn_within_the_error_of_what_was_held_out() -> None:
    calibration = _held_out(0.25, -0.2)
    fitted = drawn(calibration, "client", 0)
    assert fitted == COSTS
    seen = set()
    for draw in range(1, 40):
        costs = drawn(calibration, "client", draw)
        by = {work: round(costs[work] / cost, 6) for work, cost in COSTS.items()}
        assert by["puts"] == by["compares"]  # computation
        assert set(by.values()) <= {0.8, 1.25}
        seen.add((by["puts"], by["read_bytes"]))
        opposite = drawn(calibration, "client", draw + 1 if draw % 2 else draw - 1)
        assert all(
            costs[work] * opposite[work] == pytest.approx(COSTS[work] ** 2) for work in COSTS
        )
    assert len(seen) == 4  # computation and the kernel's work are drawn apart


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
    checkout.calibrate(tmp_path, checkout.calibration(**changes), "leveldb")
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
    checkout.calibrate(root, checkout.calibration(), "leveldb")
    plan = _planned(root)
    simulated = {point["experiment"]: plan.runs[point["run"]] for point in plan.points}
    assert not simulated["time_memory"].simulated
    run = simulated["time_memory_here"]
    assert run.simulated
    assert run.spec["host"]["costs_ns"]["client"]["puts"] == COSTS["puts"]
    assert run.spec["host"]["calibration"]["compiler"] == "a compiler"


def test_engines_of_which_one_is_not_calibrated_are_compared_in_real_time(tmp_path: Path) -> None:
    root = checkout.calibrated(tmp_path)
    chosen = ["ldc_fanout", "processors", "lwc_load"]
    assert all(run.simulated for run in make(Declarations(root), "small", chosen).runs.values())
    calibration_path(root, "ldc").unlink()
    plan = make(Declarations(root), "small", chosen)
    simulated = {point["experiment"] for point in plan.points if plan.runs[point["run"]].simulated}
    assert simulated == {"lwc_load"}
    told = plan.thinning["ldc_fanout"]
    assert told == "in real time, since these are not calibrated: ldc"
    repetitions = [p["repetition"] for p in plan.points if p["experiment"] == "ldc_fanout"]
    assert set(repetitions) == set(range(1, plan.scale_entry.repetitions + 1))
    there = os.cpu_count() or 1
    wanted = {p["point"]["processors"] for p in plan.points if p["experiment"] == "processors"}
    assert wanted == {number for number in (1, 2, 4, 8, 12) if number <= there}


def test_other_costs_are_another_run(tmp_path: Path) -> None:
    root = checkout.copy(tmp_path)
    names = []
    for puts in (1500.0, 1500.0, 1600.0):
        costs = FIT | {"costs_ns": COSTS | {"puts": puts}}
        checkout.calibrate(root, checkout.calibration(roles=dict.fromkeys(ROLES, costs)), "leveldb")
        names.append(set(_planned(root).runs))
    assert names[0] == names[1]
    assert len(names[0] & names[2]) == len(names[0]) - 1


def _row(phase: str, seconds: float, point: str = "{}", run: str = "run", **counts: int) -> Row:
    told = {name: counts.get(name, 0) for name in ("yields", *COSTS)}
    return Row(run, "time_memory", point, phase, "client", told, seconds)


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


def test_costs_come_out_of_phases_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "RIDGE", 1e-9)
    fitted = calibrate.fit(_rows(), {})
    assert fitted.costs_ns == pytest.approx(COSTS, rel=1e-3)
    for name, (low, high) in fitted.intervals_ns.items():
        assert low == pytest.approx(high, rel=1e-2), name


def test_costs_that_are_known_are_not_fitted() -> None:
    puts = {"puts": COSTS["puts"]}
    fitted = calibrate.fit(_rows(), puts)
    assert fitted.costs_ns["puts"] == COSTS["puts"]
    assert fitted.costs_ns == pytest.approx(COSTS, rel=0.1)
    wrong = calibrate.fit(_rows(), {"puts": 10 * COSTS["puts"]})
    assert wrong.costs_ns["puts"] == 10 * COSTS["puts"]


def test_kinds_that_come_together_share_their_time() -> None:
    """However little the one that the fit would choose is better."""
    rows = [
        _row(f"phase {i}", 1e-3 * i, puts=1000 * i, compares=5000 * i + i % 2) for i in range(1, 9)
    ]
    costs = calibrate.fit(rows, {}).costs_ns
    assert costs["puts"] * 1000 == pytest.approx(costs["compares"] * 5000, rel=0.05)


def test_what_is_held_out_is_not_fitted_to() -> None:
    phase, size = calibrate.HELD_OUT_PHASES[0], calibrate.HELD_OUT_VALUE_BYTES
    odd = _row(phase, 100.0, json.dumps({"as": "leveldb", "value_bytes": size}), puts=1)
    assert calibrate.fit([*_rows(), odd], {}) == calibrate.fit(_rows(), {})
    assert not _row(phase, 1.0, json.dumps({"as": "leveldb", "value_bytes": 2 * size})).is_held_out
    assert not _row("load", 1.0, odd.point).is_held_out
    with pytest.raises(CalibrationError, match="no phase took long enough"):
        calibrate.fit([odd], {})


def test_what_a_busy_machine_adds_averages_out() -> None:
    """Repetitions that take a fifth more or less, or do more or less."""
    quiet = _rows()
    rows = [
        _row(
            row.phase,
            row.processor_s * share * busy,
            **{k: int(n * share) for k, n in row.counts.items()},
        )
        for row in quiet
        for share in (0.9, 1.1)
        for busy in (0.8, 1, 1.2)
    ]
    told, known = calibrate.fit(rows, {}).costs_ns, calibrate.fit(quiet, {}).costs_ns
    assert told == pytest.approx(known, rel=0.1)
    assert calibrate.medians(rows[:6]) == {
        rows[0].what: pytest.approx(quiet[0].processor_s, rel=0.11)
    }


def test_what_others_take_of_a_whole_run_is_taken_out() -> None:
    """As much as runs are slower than the quietest; phases that are held out have no say."""
    quiet = _rows()
    phase, size = calibrate.HELD_OUT_PHASES[0], calibrate.HELD_OUT_VALUE_BYTES
    point = json.dumps({"as": "leveldb", "value_bytes": size})
    slowness = {"quiet": 1.0, "as quiet": 1.0, "busy": 1.3, "very busy": 2.1}
    rows = [
        replace(row, run=run, processor_s=row.processor_s * slow)
        for run, slow in slowness.items()
        for row in [*quiet, _row(phase, 1e-3, point, puts=1000)]
    ]
    evened = calibrate.even_out(rows, {})
    fitted = calibrate.fit(evened, {}).costs_ns
    assert fitted == pytest.approx(calibrate.fit(quiet, {}).costs_ns, rel=1e-2)
    assert [row.processor_s for row in evened if row.is_held_out] == pytest.approx(
        [1e-3] * len(slowness), rel=1e-2
    )


def test_a_host_is_measured_once_and_at_its_quietest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = [(2000.0 + i, {"waits": 5000.0 - 100 * i, "locks": 20.0 + i}) for i in range(9)]
    made: list[Path] = []
    (tmp_path / "workloads").mkdir()

    def measure(driver: Path) -> tuple[float, dict[str, float]]:
        made.append(driver)
        return passes[len(made) - 1]

    monkeypatch.setattr(calibrate, "_measure_host", measure)
    found = calibrate._machine(tmp_path, "a host", "ldc")
    assert set(made) == {tmp_path / "build/engines/ldc/driver/recompact_driver"}
    last = passes[len(made) - 1]
    assert (found.rating, found.primitives_ns) == (last[0], last[1] | {"locks": 20.0})
    many = len(made)
    assert (
        calibrate._machine(tmp_path, "a host", "pcp") == found == load_machines(tmp_path)["a host"]
    )
    assert len(made) == many


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
    return Calibration.model_validate(checkout.calibration(roles=fits, held_out=rows))


def test_costs_that_miss_what_was_held_out_are_refused() -> None:
    calibrate.check(_held_out(*[0.05] * 9, -0.19))
    with pytest.raises(CalibrationError, match=r"off by 12.0% in the median"):
        calibrate.check(_held_out(*[-0.12] * 10))
    with pytest.raises(CalibrationError, match=r"90th percentile.*phase 8 client \+30.0%"):
        calibrate.check(_held_out(*[0.01] * 8, 0.3, 0.3))
    with pytest.raises(CalibrationError, match="no phase was held out"):
        calibrate.check(_held_out())
