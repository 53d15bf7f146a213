"""How far simulated time is from real time: the same runs in both."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from recompact import tables
from recompact.statistics import percent

if TYPE_CHECKING:  # whose stamps tell errors
    from recompact.results import Results

SIMULATED_HERE = "_here"  # ends the name of an experiment that is another one, simulated
KEYS = ["engine", "point", "phase"]
# Of these a whole run is asked, as users' bytes weigh its phases. A phase in which users write
# less than one compaction does tells by how much real time is late, not what it writes: of scans
# with a few inserts the amplification is 0.4 or 40 as the last compaction ends before or within.
AMPLIFICATIONS = (
    "write_amplification",
    "write_amplification_device",
    "write_amplification_process",
)
WHOLE_RUN = "whole run"


def simulated_over_real(results: Results, experiment: str, metric: str) -> pd.DataFrame:
    """Divide the simulated median of a metric by the real value, phase by phase.

    Amplifications are those of whole runs. Of the repetitions in real time that which took least
    speaks: what others on the host take can only slow them, and costs are those of a quiet host.
    Phases without the metric, or in which it is zero, are left out.

    Parameters
    ----------
    results : Results
        Tidy tables.
    experiment : str
        The one in real time; the simulated one has its name and `SIMULATED_HERE`.
    metric : str
        The metric.

    Returns
    -------
    DataFrame
        Columns engine, point, phase, place and value, one row per phase.
    """
    took = _values(results, experiment, "duration_s")
    if metric in AMPLIFICATIONS:
        took = _total(took)
    took = took.sort_values("value")
    quickest = took.drop_duplicates(KEYS)[[*KEYS, "run"]]
    real = _values(results, experiment, metric).merge(quickest, on=[*KEYS, "run"])
    simulated = _values(results, experiment + SIMULATED_HERE, metric)
    medians = simulated.groupby(KEYS).value.median().reset_index()
    both = real.merge(medians, on=KEYS, suffixes=("_real", ""))
    both = both[(both.value > 0) & (both.value_real > 0)]
    both["value"] = both.value / both.value_real
    both["place"] = both.point + " " + both.phase
    return both[[*KEYS, "place", "value"]]


def distance(ratios: pd.Series[float]) -> pd.Series[float]:
    """Tell how far ratios are from 1, the larger over the smaller less 1."""
    return ratios.where(ratios > 1, 1 / ratios) - 1


def _values(results: Results, experiment: str, metric: str) -> pd.DataFrame:
    """Give a metric for every engine, point, run and phase, or whole run; none may be told."""
    if metric not in AMPLIFICATIONS:
        return _by_phase(results, experiment, metric)
    written = _by_phase(results, experiment, "user_bytes_written")
    amplified = _by_phase(results, experiment, metric).merge(
        written[["run", "phase", "value"]], on=["run", "phase"], suffixes=("", "_user")
    )
    bytes_written = _total(amplified.assign(value=amplified.value * amplified.value_user))
    user_bytes = _total(amplified.assign(value=amplified.value_user))
    return bytes_written.assign(value=bytes_written.value / user_bytes.value)


def _by_phase(results: Results, experiment: str, metric: str) -> pd.DataFrame:
    campaign = results.campaign(experiment)
    runs = campaign.of(experiment)
    told = campaign.runs[
        (campaign.runs.metric == metric) & (campaign.runs.phase != tables.SIMULATION)
    ]
    return runs[["run", "engine", "point"]].merge(told, on="run")


def _total(values: pd.DataFrame) -> pd.DataFrame:
    """Add up the phases of each run, without streams beside them and debts that are told again."""
    single = values[~values.phase.str.contains("[.+]")]
    return (
        single.groupby(["run", "engine", "point"]).value.sum().reset_index().assign(phase=WHOLE_RUN)
    )


@lru_cache
def error(results: Results, metric: str) -> tuple[float, float] | None:
    """Tell how far a simulated metric is from real time, over all phases that were made in both.

    Returns
    -------
    tuple of float, or None
        The median distance, and the one that nine in ten phases do not exceed; None if no phase
        was made in both.
    """
    both = [
        name.removesuffix(SIMULATED_HERE)
        for name in results.experiments
        if name.endswith(SIMULATED_HERE)
    ]
    ratios = [
        simulated_over_real(results, name, metric).value
        for name in both
        if name in results.experiments
    ]
    together = pd.concat(ratios) if ratios else pd.Series(dtype=float)
    if together.empty:
        return None
    median, most = np.quantile(distance(together), [0.5, 0.9])
    return float(median), float(most)


def errors(results: Results, metrics: Iterable[str]) -> tuple[str, ...]:
    """Say of each metric how far simulated values are from real time, where that was measured."""
    told = {metric: error(results, metric) for metric in metrics}
    return tuple(
        f"simulated {metric} is within {percent(found[1])} of real time in nine of ten "
        f"{'runs' if metric in AMPLIFICATIONS else 'phases'}"
        for metric, found in told.items()
        if found is not None
    )
