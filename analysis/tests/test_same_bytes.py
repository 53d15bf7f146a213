"""Whether the comparison of two ways to run a scale can fail."""

from __future__ import annotations

import pandas as pd
import pytest

import same_bytes

METRICS = ("read_amplification", "write_amplification")


def _bytes(floor: float, **changed: float) -> same_bytes.Bytes:
    """Three engines whose cells are 2, but for the write amplification of those named."""
    cells = {
        ("noise", engine, "{}", metric): changed.get(engine, 2.0)
        if metric == "write_amplification"
        else 2.0
        for engine in ("a", "b", "c")
        for metric in METRICS
    }
    index = pd.MultiIndex.from_tuples(cells, names=same_bytes.CELL)
    floors = pd.Series(dict.fromkeys(METRICS, floor))
    return same_bytes.Bytes(pd.Series(list(cells.values()), index=index), floors)


def test_what_lies_within_the_noise_of_either_is_the_same() -> None:
    same_bytes.compare(_bytes(0.01), _bytes(0.04, a=2.06))
    same_bytes.compare(_bytes(0.04), _bytes(0.01, a=1.94))


@pytest.mark.parametrize("value", [1.9, 2.1])
def test_one_cell_beyond_the_noise_fails(value: float) -> None:
    with pytest.raises(AssertionError, match="'b'.*write_amplification"):
        same_bytes.compare(_bytes(0.01), _bytes(0.04, b=value))


def test_a_cell_that_one_lacks_fails() -> None:
    other = _bytes(0.04)
    lacking = same_bytes.Bytes(other.medians.iloc[1:], other.floors)
    with pytest.raises(AssertionError):
        same_bytes.compare(_bytes(0.04), lacking)
