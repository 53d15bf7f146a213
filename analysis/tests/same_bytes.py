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
    """Fail at a cell that one lacks, or in which they differ by more than the noise of either.

    A floor of few pairs is itself uncertain, and both sides have one: the larger counts.
    """
    assert len(one.medians) > 0
    assert list(one.medians.index) == list(other.medians.index)
    for cell, value in one.medians.items():
        floor = max(one.floors[cell[-1]], other.floors[cell[-1]])
        difference = other.medians[cell] / value - 1
        assert abs(difference) <= floor, f"{cell}: {difference:+.3f}, floor {floor:.3f}"
