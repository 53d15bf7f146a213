"""The tidy data behind a figure: one row per repetition, median, paper value or model point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.figure
import pandas as pd

from recompact.statistics import MedianInterval

DATA_COLUMNS = [
    *("panel", "series", "source", "engine", "x", "repetition", "value", "low", "high", "unit")
]
RUN, MEDIAN, PAPER, MODEL = "run", "median", "paper", "model"


@dataclass(frozen=True)
class Drawing:
    """A figure and the data behind it (`DATA_COLUMNS`)."""

    figure: matplotlib.figure.Figure
    data: pd.DataFrame


def measured(
    frame: pd.DataFrame, *, x: str, panel: str, series: str, unit: str, factor: float = 1
) -> pd.DataFrame:
    """Make rows of all repetitions and of their medians.

    Parameters
    ----------
    frame : DataFrame
        Columns engine, repetition, value and the column named by `x`.
    x : str
        Column of the position on the x axis.
    panel, series, unit : str
        What the rows are.
    factor : float
        Turns values into `unit`.

    Returns
    -------
    DataFrame
        `DATA_COLUMNS`.
    """
    runs = pd.DataFrame(
        {
            "source": RUN,
            "engine": frame.engine,
            "x": frame[x],
            "repetition": frame.repetition,
            "value": frame.value * factor,
        }
    )
    groups = {key: group.value for key, group in runs.groupby(["engine", "x"])}
    rows = [
        {
            "source": MEDIAN,
            "engine": engine,
            "x": position,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
        }
        for (engine, position), estimate in zip(
            groups, MedianInterval().of_each(list(groups.values())), strict=True
        )
    ]
    both = pd.concat([runs, pd.DataFrame(rows)], ignore_index=True)
    return _complete(both, panel, series, unit)


def stated(
    values: Mapping[Any, float],
    *,
    panel: str,
    series: str,
    unit: str,
    source: str = PAPER,
) -> pd.DataFrame:
    """Make rows of values that the paper states or that a model gives, x -> value."""
    frame = pd.DataFrame({"x": list(values), "value": list(values.values())})
    return _complete(frame.assign(source=source), panel, series, unit)


def bends(curve: pd.DataFrame) -> pd.DataFrame:
    """Make rows of a curve in the order of x, without points that lie between two of their value.

    Parameters
    ----------
    curve : DataFrame
        Columns of `DATA_COLUMNS`, and others.
    """
    same = (curve.value == curve.value.shift()) & (curve.value == curve.value.shift(-1))
    return curve[~same].reindex(columns=DATA_COLUMNS)


def combine(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Stack data of several series."""
    return pd.concat([frame.astype(object) for frame in frames], ignore_index=True).astype(
        {"value": float, "low": float, "high": float}
    )


def _complete(frame: pd.DataFrame, panel: str, series: str, unit: str) -> pd.DataFrame:
    named = frame.assign(panel=panel, series=series, unit=unit)
    return named.reindex(columns=DATA_COLUMNS)
