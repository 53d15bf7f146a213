"""Tests of medians, paired ratios and floors."""

import math

import numpy as np
import pytest
from scipy import stats

from recompact.statistics import (
    Estimate,
    MedianInterval,
    NoiseFloor,
    Outliers,
    PairedRatio,
    ShareFloor,
    detectable,
)


def test_one_repetition_has_no_interval():
    assert MedianInterval()([3.5]) == Estimate(3.5, None, None, 1)


def test_equal_values_have_an_interval_of_width_zero():
    assert MedianInterval()([2.0, 2.0, 2.0]) == Estimate(2.0, 2.0, 2.0, 3)


@pytest.mark.parametrize("count", [2, 3, 5, 20])
def test_interval_holds_the_median_and_stays_within_the_values(count):
    values = np.random.default_rng(count).normal(10, 1, count)
    estimate = MedianInterval()(values)
    assert estimate.low is not None
    assert estimate.high is not None
    assert values.min() <= estimate.low <= estimate.value <= estimate.high <= values.max()
    assert estimate.low < estimate.high


def test_interval_covers_the_true_median_about_as_often_as_stated():
    random = np.random.default_rng(1)
    interval = MedianInterval(resamples=500)
    hits = 0
    for _ in range(200):
        estimate = interval(random.normal(0, 1, 15))
        hits += estimate.low <= 0 <= estimate.high
    assert 0.88 <= hits / 200 <= 0.99


def test_interval_is_a_function_of_values_and_seed():
    values = [1.0, 2.0, 4.0, 8.0, 9.0]
    assert MedianInterval(seed=3)(values) == MedianInterval(seed=3)(values)


def test_medians_of_many_samples_are_those_of_each_alone():
    samples = [[1.0, 2.0, 4.0], [3.0], [2.0, 2.0], [5.0, 1.0, 9.0, 2.0], [7.0, 8.0, 8.0]]
    assert MedianInterval().of_each(samples) == [MedianInterval()(one) for one in samples]


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_median_of_nothing_or_of_infinities_is_refused(values):
    with pytest.raises(ValueError, match="finite"):
        MedianInterval()(values)


def test_paired_ratio_cancels_what_a_repetition_shares():
    drift = np.array([1.0, 3.0, 10.0])
    assert PairedRatio()(list(2 * drift), list(drift)) == Estimate(2.0, 2.0, 2.0, 3)


def test_paired_ratio_is_the_median_of_ratios_not_the_ratio_of_medians():
    estimate = PairedRatio()([1.0, 40.0, 9.0], [1.0, 20.0, 3.0])
    assert (estimate.value, estimate.low, estimate.high) == (2.0, 1.0, 3.0)


def test_paired_ratio_refuses_series_that_do_not_pair():
    with pytest.raises(ValueError, match="paired"):
        PairedRatio()([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="zero"):
        PairedRatio()([1.0], [0.0])


def test_noise_floor_of_one_pair_pays_for_having_one():
    floor = NoiseFloor()([1.01], [1.0])
    assert floor == pytest.approx(math.expm1(12.706 * math.log(1.01)), rel=1e-3)


def test_noise_floor_of_many_pairs_is_the_two_sided_bound_of_their_log_ratios():
    logs = np.random.default_rng(2).normal(0, 0.05, 4000)
    floor = NoiseFloor()(list(np.exp(logs)), [1.0] * len(logs))
    assert floor == pytest.approx(math.expm1(1.96 * 0.05), rel=0.04)
    assert np.mean(np.abs(logs) > math.log1p(floor)) == pytest.approx(0.05, abs=0.015)


def test_noise_floor_does_not_depend_on_the_order_within_a_pair():
    assert NoiseFloor()([1.0, 2.0], [1.1, 1.9]) == pytest.approx(NoiseFloor()([1.1, 1.9], [1, 2]))


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [0.0]), ([1.0], [1.0, 2.0])])
def test_noise_floor_needs_pairs_of_positive_values(first, second):
    with pytest.raises(ValueError, match=r"pairs|above zero"):
        NoiseFloor()(first, second)


def test_share_floor_is_the_binomial_bound():
    samples, share = 10_000, 0.2
    spread = np.std(np.random.default_rng(4).binomial(samples, share, 20_000) / samples) / share
    expected = math.expm1(stats.norm.ppf(0.975) * spread)
    assert ShareFloor()([share], samples) == pytest.approx(expected, rel=0.03)


def test_share_floor_of_a_ratio_is_larger_and_an_absent_share_is_finite():
    assert ShareFloor()([0.2, 0.1], 1000) > ShareFloor()([0.2], 1000)
    assert math.isfinite(ShareFloor()([0.0], 1000))
    with pytest.raises(ValueError, match="samples"):
        ShareFloor()([0.5], 0)


def test_an_effect_can_be_told_from_noise_or_from_its_own_spread():
    assert detectable(Estimate(2, 1.9, 2.1, 5), 0.2) == pytest.approx(0.2)
    assert detectable(Estimate(2, 1.5, 2.1, 5), 0.2) == pytest.approx(2 / 1.5 - 1)
    assert detectable(Estimate(2, None, None, 1), 0.2) == pytest.approx(0.2)


def test_an_outlier_is_far_from_the_median_and_above_the_noise():
    values = [10, 10.1, 9.9, 10.05, 30]
    assert list(Outliers()(values)) == [False] * 4 + [True]
    assert not Outliers()(values, noise_floor=3).any()
    assert not Outliers()(values[1:]).any()
    assert not Outliers()([10] * 6).any()
