"""Which host measures what, and what fits into a budget."""

from pathlib import Path

import pandas as pd
import pytest

from recompact import ROOT, calibrate, pipeline, schedule
from recompact.claims.declarations import load_claims
from recompact.schedule import Durations, ScheduleError

CLAIMS = load_claims(ROOT / pipeline.CLAIMS).claims
HOUR = 3600


def _durations(seconds: float = 100.0) -> Durations:
    """Say that every run of every experiment takes as long, at the scale of its plan."""
    names = list(pipeline.declarations().experiments)
    frame = pd.DataFrame({"experiment": names, "engine": "any", "point": "{}", "seconds": seconds})
    return Durations(frame)


def _schedule(inventory: dict[str, list[str]], budget_s: float | None = None) -> schedule.Schedule:
    return schedule.schedule(
        pipeline.declarations(),
        "smoke",
        inventory,
        CLAIMS,
        _durations(),
        budget_s,
        always=pipeline.NOISE_EXPERIMENTS,
    )


def _names(found: schedule.Schedule, host: str) -> set[str]:
    return {task.experiment for task in found.hosts[host]}


def test_one_emulated_host_measures_everything() -> None:
    found = _schedule({"emulated": ["a"]})
    # With what no figure is drawn from.
    plan = pipeline.select("smoke", "all", also=calibrate.EXPERIMENTS).plan
    assert _names(found, "a") == {point["experiment"] for point in plan.points}
    assert found.left_out == []


def test_experiments_go_to_hosts_of_their_disk_and_noise_to_all() -> None:
    found = _schedule({"ssd": ["s"], "hdd": ["h"]})
    declared = pipeline.declarations()
    kinds = {
        host: {
            declared.devices[declared.experiments[name].device].kind for name in _names(found, host)
        }
        for host in ("s", "h")
    }
    anywhere = {"memory", "throttled"}
    assert kinds["s"] - anywhere == {"ssd"}
    assert kinds["h"] - anywhere == {"hdd", "ssd"}
    assert _names(found, "s") & _names(found, "h") == set(pipeline.NOISE_EXPERIMENTS)
    assert "DLSM-C01" in found.left_out  # its RAID-0 is nowhere


def test_what_no_real_disk_is_there_for_is_emulated() -> None:
    found = _schedule({"ssd": ["s"], "emulated": ["e"]})
    assert found.left_out == []
    assert "ldc_workloads" in _names(found, "s") - _names(found, "e")
    assert "dlsm_rangehot" in _names(found, "e") - _names(found, "s")


def test_hosts_of_a_group_share_the_work() -> None:
    found = _schedule({"emulated": ["a", "b"]})
    a, b = (sum(task.seconds for task in found.hosts[host]) for host in ("a", "b"))
    assert _names(found, "a") & _names(found, "b") == set(pipeline.NOISE_EXPERIMENTS)
    assert max(a, b) < 2 * min(a, b)


def test_a_budget_is_kept_and_what_is_left_out_told() -> None:
    whole = _schedule({"emulated": ["a"]})
    seconds = sum(task.seconds for task in whole.hosts["a"])
    found = _schedule({"emulated": ["a"]}, budget_s=seconds / 4)
    assert sum(task.seconds for task in found.hosts["a"]) <= seconds / 4
    assert 0 < len(found.left_out) < len(CLAIMS)
    assert f"left out, {len(found.left_out)} claims" in schedule.text(found)


def test_a_run_that_nobody_measured_is_estimated_from_its_like() -> None:
    measured = pd.DataFrame(
        [
            ("ldc_fanout", "ldc", '{"fanout": 10}', 40.0),
            ("ldc_fanout", "ldc", '{"fanout": 3}', 80.0),
            ("ldc_fanout", "leveldb", '{"fanout": 3}', 200.0),
        ],
        columns=["experiment", "engine", "point", "seconds"],
    )
    durations = Durations(measured)
    assert durations.seconds("ldc_fanout", "ldc", '{"fanout": 10}', 4) == 10
    assert durations.seconds("ldc_fanout", "ldc", '{"fanout": 5}', 1) == 60
    assert durations.seconds("ldc_fanout", "lwc", '{"fanout": 5}', 1) == 80
    assert durations.seconds("ldc_skew", "ldc", "{}", 1) is None


def test_published_runs_tell_times() -> None:
    durations = Durations.published(ROOT / "results/published")
    assert durations.seconds("noise", "leveldb", '{"copy": 1}', 8) is not None


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("8h", 8 * HOUR), ("1.5d", 129600)])
def test_a_budget_is_a_time(text: str, seconds: float) -> None:
    assert schedule.parse_budget(text) == seconds


def test_a_budget_that_is_no_time_is_told() -> None:
    with pytest.raises(ScheduleError, match="'8 hours' is no time"):
        schedule.parse_budget("8 hours")


INVENTORY = """\
all:
  children:
    lab:
      children:
        ssd: {hosts: {one: {recompact_device: /dev/sdb}, two: }}
    hdd:
      hosts:
    emulated: {hosts: {three: }}
"""


def test_an_inventory_tells_the_hosts_of_each_group(tmp_path: Path) -> None:
    path = tmp_path / "inventory.yml"
    path.write_text(INVENTORY, encoding="utf-8")
    assert schedule.read_inventory(path) == {"ssd": ["one", "two"], "emulated": ["three"]}


@pytest.mark.parametrize("content", ["all: {hosts: {one: }}", "- one", "all: [", ""])
def test_an_inventory_without_our_groups_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "inventory.yml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ScheduleError, match="inventory.yml"):
        schedule.read_inventory(path)
