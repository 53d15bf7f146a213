"""Every metric has a name that declarations can be checked against."""

import re

import pandas as pd
import pytest

import checkout
from recompact import ROOT, metrics
from recompact.claims.declarations import load_claims
from recompact.declarations import DeclarationError
from recompact.figures.declarations import load_figures


def test_every_counter_of_the_engines_is_known() -> None:
    source = (ROOT / "engines/seams/statistics.cc").read_text(encoding="utf-8")
    (names,) = re.findall(r"kTickerNames\[kNumTickers\] = \{(.*?)\};", source, re.DOTALL)
    tickers = re.findall(r'"(\w+)"', names)
    assert len(tickers) > 20
    of_rocksdb_alone = {"stall_us", "stall_stop_count"}
    assert set(tickers) | {"bloom_checks"} | of_rocksdb_alone == set(metrics.ENGINE_COUNTERS)


def test_every_published_metric_is_known() -> None:
    tables = list((ROOT / "results/published").glob("*/*/runs.csv"))
    assert tables
    for table in tables:
        for name in pd.read_csv(table, usecols=["metric"]).metric.unique():
            assert metrics.known(name) == name


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("figures", "metric: throughput_ops_s", "metric: thruput_ops_s", "LDC-F7|figures"),
        ("figures", "- throughput_ops_s", "- thruput_ops_s", "metrics"),
        ("claims", "metric: throughput_ops_s", "metric: thruput_ops_s", "claims"),
    ],
)
def test_an_unknown_metric_is_told_with_the_closest(tmp_path, file, old, new, message) -> None:
    root = checkout.copy(tmp_path)
    path = root / f"paper_figures/{file}.yaml"
    checkout.replace(path, old, new)
    read = {"figures": load_figures, "claims": load_claims}[file]
    with pytest.raises(DeclarationError, match=message) as error:
        read(path)
    assert f"{file}.yaml" in str(error.value)
    assert "no metric 'thruput_ops_s'; did you mean 'throughput_ops_s'?" in str(error.value)
