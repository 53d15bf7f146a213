"""How well the block cache serves gets over time: what timeline.csv tells of one phase."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import signal

CHANCE = 0.05  # how often a ratio without a period may seem to have one
SHORTEST = 8  # intervals that show a period


def seconds(intervals: pd.DataFrame) -> pd.Series[float]:
    """Tell how long each interval of one phase of one run is."""
    return intervals.time_s.diff().fillna(intervals.time_s)


def hit_ratio(intervals: pd.DataFrame) -> pd.Series[float]:
    """Tell the share of the block reads of users that the block cache serves, per interval.

    Parameters
    ----------
    intervals : DataFrame
        Rows of timeline.csv.

    Returns
    -------
    Series
        In 0..1; intervals without block reads, and engines that count none, have none.
    """
    looked_at = intervals.block_cache_hits + intervals.block_cache_misses
    return (intervals.block_cache_hits / looked_at.where(looked_at > 0)).dropna()


def read_rate(intervals: pd.DataFrame) -> pd.Series[float]:
    """Tell the reads per second of each interval of one phase of one run."""
    lasted = seconds(intervals)
    return (intervals.reads / lasted.where(lasted > 0)).dropna()


def period_s(ratio: pd.Series[float], spacing_s: float) -> float | None:
    """Tell the period of a hit ratio that rises and falls: that of its strongest oscillation.

    It is the highest peak of the periodogram, the trend taken out, if Fisher's test for a hidden
    period tells the peak from chance. Periods are the length of the phase over a whole number, so
    long ones are told roughly: of waves as long as a third of the phase to a quarter's difference.

    Parameters
    ----------
    ratio : Series
        The ratio per interval, in order of time.
    spacing_s : float
        Length of an interval in seconds.

    Returns
    -------
    float or None
        The period in seconds; None if the ratio swings no more than chance would have it.
    """
    if len(ratio) < SHORTEST or np.ptp(ratio) == 0:
        return None
    frequencies, power = signal.periodogram(signal.detrend(ratio.to_numpy()), fs=1 / spacing_s)
    frequencies, power = frequencies[1:], power[1:]
    share = power.max() / power.sum()
    by_chance = len(power) * (1 - share) ** (len(power) - 1)  # the first term bounds Fisher's sum
    return None if by_chance > CHANCE else float(1 / frequencies[power.argmax()])


def cache_metrics(intervals: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield how the hit ratio of a phase swings, and what reads reach while compactions go on.

    The last interval is cut short by the end of the phase and left out. ``hit_ratio_std``,
    ``_min``, ``_max``, ``_interval_mean`` and ``_compacting`` are over the intervals, each of which
    counts alike: of one reader in a closed loop good intervals have many more reads than bad ones,
    so the share of all reads that hit is larger than what a curve over time shows. ``_period_s``
    see `period_s`. For a phase without writes, ``_compacting`` metrics are of the intervals up to
    the last in which the device wrote: until compactions are done (dLSM Fig. 13).
    ``read_latency_interval_mean_us`` counts each interval alike, not each read (E36).
    """
    whole = intervals.iloc[:-1]
    read = whole[whole.reads > 0]
    if not read.empty:
        yield "read_latency_interval_mean_us", float(read.mean_read_latency_us.mean())
    ratio = hit_ratio(whole)
    if len(ratio) > 1:
        yield "hit_ratio_interval_mean", float(ratio.mean())
        yield "hit_ratio_std", float(ratio.std())
        yield "hit_ratio_min", float(ratio.min())
        yield "hit_ratio_max", float(ratio.max())
        period = period_s(ratio, float(seconds(whole).mean()))
        if period is not None:
            yield "hit_ratio_period_s", period
    wrote = np.flatnonzero(whole.device_write_bytes > 0)
    if whole.writes.sum() == 0 and wrote.size > 0:
        compacting = whole.iloc[: wrote[-1] + 1]
        meanwhile = hit_ratio(compacting)
        if not meanwhile.empty:
            yield "hit_ratio_compacting", float(meanwhile.mean())
        lasted = float(seconds(compacting).sum())
        yield "read_throughput_compacting_ops_s", float(compacting.reads.sum()) / lasted
