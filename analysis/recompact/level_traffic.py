"""Bytes that compactions read and write, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from recompact.results import MissingCell, Results

Bytes = Literal["bytes_read", "bytes_read_upper", "bytes_written"]
BYTES: tuple[Bytes, ...] = ("bytes_read", "bytes_read_upper", "bytes_written")
TYPES = ("compaction", "merge")


def level_traffic(results: Results, experiment: str) -> pd.DataFrame:
    """Sum up what the compactions of each run moved into each level.

    Parameters
    ----------
    results : Results
        Where to look.
    experiment : str
        Whose runs. All phases of a run count, not those that made the database it starts from.

    Returns
    -------
    DataFrame
        The runs (see `Results.planned`), `level` into which is written, and `BYTES`:
        `bytes_read_upper` is what enters the level, `bytes_read` that and what it is merged with.

    Raises
    ------
    MissingCell
        If no run compacted.
    """
    runs = results.planned(experiment)
    events = results.rows("compactions", experiment)
    events = events[events.type.isin(TYPES)]
    if events.empty:
        raise MissingCell(f"experiment {experiment} has no compaction")
    sums = events.groupby(["run", "level"], as_index=False)[list(BYTES)].sum()
    return runs.merge(sums, on="run")


def bytes_into(
    results: Results, experiment: str, engine: str, levels: Sequence[int], of: Sequence[Bytes]
) -> pd.Series[float]:
    """Tell the bytes that went into some levels of an engine, by repetition.

    Parameters
    ----------
    results, experiment
        As in `level_traffic`.
    engine : str
        Whose runs.
    levels : sequence of int
        Levels as the engine numbers them.
    of : sequence of str
        Which of `BYTES` to add up.

    Returns
    -------
    Series
        Bytes, indexed by repetition.

    Raises
    ------
    MissingCell
        If a repetition moved nothing into these levels.
    """
    traffic = level_traffic(results, experiment)
    traffic = traffic[(traffic.engine == engine) & traffic.level.isin(list(levels))]
    moved = traffic.set_index("repetition")[list(of)].sum(axis=1).groupby(level=0).sum()
    moved = moved[moved > 0]
    if moved.empty:
        raise MissingCell(
            f"experiment {experiment}: no compaction of {engine} into level "
            f"{', '.join(map(str, levels))}"
        )
    return moved
