"""Whether two ways to run a scale give the same bytes, as far as the noise floor can tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

BYTES = ["write_amplification", "write_amplification_device", "read_amplification"]
CELL = ["experiment", "engine", "point", "metric"]


def _medians(folder: Path) -> pd.Series[float]:
    """Give the medians over repetitions of what tables tell in bytes, per cell."""
    experiments = pd.read_csv(folder / "experiments.csv")
    runs = pd.read_csv(folder / "runs.csv")
    cells = experiments.merge(runs[runs.metric.isin(BYTES)], on="run")
    return cells.groupby(CELL).value.median()


def _floors(folder: Path) -> pd.Series[float]:
    """Give the noise floor of each metric, as a share."""
    noise = pd.read_csv(folder / "noise.csv")
    return noise[noise.engine_a == "any"].set_index("metric").floor


@dataclass(frozen=True)
class Bytes:
    """What the tables of one way to run a scale tell in bytes, and how far they can be trusted."""

    medians: pd.Series[float]
    floors: pd.Series[float]


def read(folder: Path) -> Bytes:
    """Read the tables of a scale; they are overwritten by the next way to run it."""
    return Bytes(_medians(folder), _floors(folder))


def compare(one: Bytes, other: Bytes) -> None:
    """Fail at a cell that one lacks, or at a metric in which they differ by more than noise.

    How it is run would tell in all cells alike, so a metric's difference is the median over them;
    single ones, of which there are many, leave a floor of few pairs now and then.
    """
    assert len(one.medians) > 0
    assert list(one.medians.index) == list(other.medians.index)
    difference = (other.medians / one.medians - 1).groupby("metric").median()
    for metric, share in difference.items():
        floor = max(one.floors[metric], other.floors[metric])
        assert abs(share) <= floor, f"{metric}: {share:+.3f}, floor {floor:.3f}"
