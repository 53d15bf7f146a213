"""Whether two ways to run a scale give the same bytes, as far as the noise floor can tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from recompact.statistics import NoiseFloor
from recompact.tables import NOISE_EXPERIMENTS

PANELS = "RC-NOISE"
METRICS = ["write_amplification", "write_amplification_device", "read_amplification"]
CELL = ["experiment", "engine", "metric"]
# A floor of two repetitions would hide everything, and medians of two are seldom within it.
REPETITIONS = 6

# Values of each cell, of identical runs in the order of their repetitions.
Bytes = Mapping[tuple[str, str, str], list[float]]


def repeat(root: Path) -> None:
    """Have the smoke scale of a copied checkout measure what is compared `REPETITIONS` times."""
    path = root / "workloads/experiments.yaml"
    declared = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name in NOISE_EXPERIMENTS:
        declared["experiments"][name]["repetitions"]["smoke"] = REPETITIONS
    path.write_text(yaml.safe_dump(declared, sort_keys=False), encoding="utf-8")


def read(folder: Path) -> Bytes:
    """Read the tables of a scale; they are overwritten by the next way to run it."""
    experiments = pd.read_csv(folder / "experiments.csv")
    runs = pd.read_csv(folder / "runs.csv")
    cells = experiments.merge(runs[runs.metric.isin(METRICS)], on="run")
    # Copies of an engine are further repetitions of it.
    assert all(set(json.loads(point)) == {"copy"} for point in cells.point)
    ordered = cells.sort_values(["repetition", "point"])
    return {cell: list(group.value) for cell, group in ordered.groupby(CELL)}


def compare(one: Bytes, other: Bytes) -> None:
    """Fail at a cell that one lacks, or whose medians differ by more than identical runs do.

    The floor of a cell is that of its own runs, each beside the next of the same side.
    """
    assert one.keys() == other.keys()
    assert len(one) > 0
    for cell in one:
        sides = (one[cell], other[cell])
        floor = NoiseFloor()(*([v for side in sides for v in side[k::2]] for k in (0, 1)))
        difference = np.median(other[cell]) / np.median(one[cell]) - 1
        assert abs(difference) <= floor, f"{cell}: {difference:+.3f}, floor {floor:.3f}"
