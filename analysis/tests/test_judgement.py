"""Tests of the rule on both sides of each of its boundaries."""

import itertools
import math

import pytest

from recompact.claims import Rules, Verdict, judge
from recompact.statistics import Estimate

RULES = Rules(time_repetitions=3, far_above_floor=3)
FLOOR = 0.10
WINS = (Verdict.REPRODUCED, Verdict.DIRECTION)


def exact(value, repetitions=5):
    return Estimate(value, value, value, repetitions)


def verdict(measured, effect, *, band=(2, 4), floor=FLOOR, time=False):
    judgement = judge(
        measured, band=band, effect=effect, noise_floor=floor, is_time_metric=time, rules=RULES
    )
    assert judgement.reason
    return judgement.verdict


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (1.09, Verdict.INCONCLUSIVE),
        (1.11, Verdict.REPRODUCED),
        (1 / 1.09, Verdict.INCONCLUSIVE),
        (1 / 1.11, Verdict.NOT_REPRODUCED),
    ],
)
def test_effect_must_leave_the_noise_floor(effect, expected):
    assert verdict(exact(3), exact(effect)) is expected


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (2 / 1.12, Verdict.DIRECTION),  # outside even when widened to the floor
        (2 / 1.05, Verdict.INCONCLUSIVE),  # outside, closer to the edge than the floor
        (2 * 1.05, Verdict.INCONCLUSIVE),  # inside, closer to the edge than the floor
        (2 * 1.12, Verdict.REPRODUCED),
        (4 / 1.12, Verdict.REPRODUCED),
        (4 / 1.05, Verdict.INCONCLUSIVE),
        (4 * 1.05, Verdict.INCONCLUSIVE),
        (4 * 1.12, Verdict.DIRECTION),
    ],
)
def test_band_edges_with_an_effect(measured, expected):
    assert verdict(exact(measured), exact(measured)) is expected


@pytest.mark.parametrize(
    ("measured", "expected"),
    [(1.5, Verdict.NOT_REPRODUCED), (2.1, Verdict.INCONCLUSIVE), (3, Verdict.REPRODUCED)],
)
def test_band_alone_knows_no_direction(measured, expected):
    assert verdict(exact(measured), None) is expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (2.5, 3.5, Verdict.REPRODUCED),
        (1.9, 3.5, Verdict.INCONCLUSIVE),
        (2.5, 4.1, Verdict.INCONCLUSIVE),
    ],
)
def test_interval_must_lie_within_the_band(low, high, expected):
    assert verdict(Estimate(3, low, high, 5), exact(3)) is expected


@pytest.mark.parametrize(
    ("low", "expected"), [(0.99, Verdict.INCONCLUSIVE), (1.01, Verdict.REPRODUCED)]
)
def test_interval_of_the_effect_must_not_hold_1(low, expected):
    assert verdict(exact(3), Estimate(1.5, low, 2, 5)) is expected


@pytest.mark.parametrize(
    ("repetitions", "time", "expected"),
    [
        (2, True, Verdict.INCONCLUSIVE),
        (3, True, Verdict.REPRODUCED),
        (1, False, Verdict.REPRODUCED),
    ],
)
def test_time_needs_repetitions_and_bytes_do_not(repetitions, time, expected):
    measured, effect = exact(3, repetitions), exact(1.2, repetitions)
    assert verdict(measured, effect, time=time) is expected


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (1.1**3 * 0.99, Verdict.INCONCLUSIVE),
        (1.1**3 * 1.01, Verdict.REPRODUCED),
        (1.1**-3 * 1.01, Verdict.INCONCLUSIVE),
        (1.1**-3 * 0.99, Verdict.NOT_REPRODUCED),
    ],
)
def test_one_repetition_of_a_time_must_be_far_above_the_floor(effect, expected):
    measured = Estimate(3, None, None, 1)
    assert verdict(measured, Estimate(effect, None, None, 1), time=True) is expected


@pytest.mark.parametrize(
    ("edge", "expected"),
    [(3 * 1.1**3 * 1.01, Verdict.REPRODUCED), (3 * 1.1**3 * 0.99, Verdict.INCONCLUSIVE)],
)
def test_one_repetition_of_a_time_in_a_band_must_be_far_from_its_edges(edge, expected):
    measured = Estimate(3, None, None, 1)
    assert verdict(measured, None, band=(None, edge), time=True) is expected


@pytest.mark.parametrize(
    ("members", "time", "expected"),
    [
        (2, True, Verdict.INCONCLUSIVE),
        (3, True, Verdict.REPRODUCED),
        (1, False, Verdict.REPRODUCED),
    ],
)
def test_however_large_an_effect_few_members_of_an_ensemble_do_not_decide_on_time(
    members, time, expected
):
    effect = exact(100, members)
    assert verdict(exact(3, members), effect, floor=0, time=time) is expected
    assert verdict(exact(3, members), None, floor=0, time=time) is expected


def test_one_repetition_is_widened_to_the_noise_floor():
    single = Estimate(2.1, None, None, 1)
    assert verdict(single, single) is Verdict.INCONCLUSIVE


def test_without_a_noise_floor_nothing_is_decided():
    judgement = judge(
        exact(3),
        band=(2, 4),
        effect=exact(3),
        noise_floor=None,
        is_time_metric=False,
        rules=RULES,
    )
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "experiment noise" in judgement.reason


def test_effect_alone_decides_where_the_band_is_open():
    assert verdict(exact(0.2), exact(2), band=(None, None)) is Verdict.REPRODUCED
    assert verdict(exact(0.2), exact(0.5), band=(None, None)) is Verdict.NOT_REPRODUCED


def test_a_share_of_zero_is_judged():
    assert verdict(exact(0), exact(0), band=(0.4, None)) is Verdict.NOT_REPRODUCED
    assert verdict(exact(0), None, band=(None, 0.2)) is Verdict.REPRODUCED


@pytest.mark.parametrize("time", [False, True])
def test_nothing_within_the_noise_floor_is_ever_a_win(time):
    bands = [(None, None), (0.5, None), (None, 5), (0.9, 1.1), (2, 4)]
    spreads = [None, 0, 0.001, 0.3]
    cells = itertools.product([0.01, 0.1, 1.0], [-1, -0.5, 0, 0.5, 0.999], spreads, bands)
    for floor, part, spread, band in cells:
        value = math.exp(part * math.log1p(floor))
        ends = (None, None) if spread is None else (value - spread * value, value + spread * value)
        for repetitions in (1, 5):
            effect = Estimate(value, *ends, repetitions)
            assert verdict(effect, effect, band=band, floor=floor, time=time) not in WINS
