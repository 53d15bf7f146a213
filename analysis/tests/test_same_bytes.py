"""The comparison of two ways to run a scale sees a difference and lets noise pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import same_bytes

CELL = ("noise", "leveldb", "write_amplification")


@pytest.fixture
def runs() -> Callable[[float], same_bytes.Bytes]:
    random = np.random.default_rng(1)

    def of_mean(mean: float) -> same_bytes.Bytes:
        return {CELL: list(mean * random.lognormal(0, 0.01, 2 * same_bytes.REPETITIONS))}

    return of_mean


def test_noise_is_no_difference(runs: Callable[[float], same_bytes.Bytes]) -> None:
    for _ in range(20):
        same_bytes.compare(runs(5.0), runs(5.0))


@pytest.mark.parametrize("other", [4.75, 5.25])
def test_a_difference_beyond_noise_is_told(
    runs: Callable[[float], same_bytes.Bytes], other: float
) -> None:
    with pytest.raises(AssertionError, match="write_amplification"):
        same_bytes.compare(runs(5.0), runs(other))


def test_a_cell_that_one_lacks_is_told(runs: Callable[[float], same_bytes.Bytes]) -> None:
    with pytest.raises(AssertionError):
        same_bytes.compare(runs(5.0), {})
