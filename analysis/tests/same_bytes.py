"""Whether two ways to run a scale give the same bytes, as far as the noise floor can tell."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

BYTES = ["write_amplification", "write_amplification_device", "read_amplification"]
CELL = ["experiment", "engine", "point", "metric"]


def medians(folder: Path) -> pd.Series[float]:
    """Give the medians over repetitions of what tables tell in bytes, per cell."""
    experiments = pd.read_csv(folder / "experiments.csv")
    runs = pd.read_csv(folder / "runs.csv")
    cells = experiments.merge(runs[runs.metric.isin(BYTES)], on="run")
    return cells.groupby(CELL).value.median()


def floors(folder: Path) -> pd.Series[float]:
    """Give the noise floor of each metric, as a share."""
    noise = pd.read_csv(folder / "noise.csv")
    return noise[noise.engine_a == "any"].set_index("metric").floor


def compare(one: pd.Series[float], other: pd.Series[float], floor: pd.Series[float]) -> None:
    """Fail at a cell that one lacks, or in which they differ by more than noise."""
    assert len(one) > 0
    assert list(one.index) == list(other.index)
    for cell, value in one.items():
        difference = abs(other[cell] / value - 1)
        assert difference <= floor[cell[-1]], f"{cell}: {value} and {other[cell]}"
