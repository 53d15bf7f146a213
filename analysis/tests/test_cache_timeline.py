"""Tests of what the timeline tells of the block cache."""

import numpy as np
import pandas as pd
import pytest

from recompact.cache_timeline import cache_metrics, hit_ratio, period_s, read_rate


def timeline(**columns):
    """Make a timeline of one second per interval; what is not named is zero."""
    (length,) = {len(values) for values in columns.values()}
    names = (
        *("reads", "writes", "mean_read_latency_us", "block_cache_hits", "block_cache_misses"),
        "device_write_bytes",
    )
    frame = pd.DataFrame(0.0, index=range(length), columns=list(names))
    frame["time_s"] = np.arange(length) + 1.0
    return frame.assign(**columns)


def wave(period, length=200, height=0.3):
    return pd.Series(0.5 + height * np.sin(2 * np.pi * np.arange(length) / period))


def test_hit_ratio_is_of_the_blocks_looked_at_and_skips_idle_intervals():
    intervals = timeline(block_cache_hits=[3, 0, 0], block_cache_misses=[1, 0, 4])
    assert hit_ratio(intervals).to_dict() == {0: 0.75, 2: 0.0}


def test_an_engine_that_counts_no_blocks_has_no_hit_ratio():
    intervals = timeline(reads=[1, 1]).assign(block_cache_hits=np.nan, block_cache_misses=np.nan)
    assert hit_ratio(intervals).empty
    assert "hit_ratio_std" not in dict(cache_metrics(intervals))


def test_a_rate_is_per_second_of_its_interval():
    intervals = timeline(reads=[10, 10, 5]).assign(time_s=[0.5, 1.0, 2.0])
    assert list(read_rate(intervals)) == [20, 20, 5]


@pytest.mark.parametrize("period", [10, 40, 100])
def test_the_period_of_a_wave_is_found(period):
    assert period_s(wave(period), 0.5) == pytest.approx(period / 2, rel=0.1)


def test_a_longer_wave_has_a_longer_period_under_noise():
    noise = np.random.default_rng(3).normal(0, 0.1, 200)
    assert period_s(wave(60) + noise, 1) > 2 * period_s(wave(20) + noise, 1)


@pytest.mark.parametrize(
    "ratio",
    [
        pd.Series([0.5] * 50),
        pd.Series([0.1, 0.9]),
        pd.Series(np.random.default_rng(7).normal(0.5, 0.1, 100)),
    ],
)
def test_what_does_not_swing_beyond_chance_has_no_period(ratio):
    assert period_s(ratio, 1) is None


def test_the_last_interval_does_not_count():
    intervals = timeline(block_cache_hits=[8, 6, 0], block_cache_misses=[2, 4, 10])
    metrics = dict(cache_metrics(intervals))
    assert (metrics["hit_ratio_min"], metrics["hit_ratio_max"]) == (0.6, 0.8)
    assert metrics["hit_ratio_std"] == pytest.approx(0.2 / 2**0.5)


def test_each_interval_counts_alike_for_the_mean_over_time():
    intervals = timeline(block_cache_hits=[99, 0, 0], block_cache_misses=[1, 10, 0])
    metrics = dict(cache_metrics(intervals))
    assert metrics["hit_ratio_interval_mean"] == pytest.approx(0.99 / 2)


def test_each_interval_counts_alike_for_the_mean_of_means():
    intervals = timeline(reads=[1, 99, 0, 1], mean_read_latency_us=[100, 1, 0, 7])
    assert dict(cache_metrics(intervals))["read_latency_interval_mean_us"] == 50.5


def test_until_compactions_are_done_counts_apart():
    intervals = timeline(
        reads=[10, 20, 90, 90, 90],
        block_cache_hits=[1, 90, 90, 90, 90],
        block_cache_misses=[9, 10, 0, 0, 0],
        device_write_bytes=[7, 7, 0, 0, 0],
    )
    metrics = dict(cache_metrics(intervals))
    assert metrics["hit_ratio_compacting"] == 0.5
    assert metrics["read_throughput_compacting_ops_s"] == 15


@pytest.mark.parametrize("beside", [{"writes": [1, 1, 1]}, {"device_write_bytes": [0, 0, 0]}])
def test_beside_writes_or_without_compactions_there_is_no_such_time(beside):
    columns = {"device_write_bytes": [7, 7, 0], "reads": [1, 1, 1]} | beside
    assert not [name for name in dict(cache_metrics(timeline(**columns))) if "compacting" in name]
