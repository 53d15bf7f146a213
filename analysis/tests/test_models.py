"""Tests of the papers' equations against the values that the papers state."""

import pytest

from recompact import models

MEGABYTE = 1e6


def test_total_throughput_gives_the_two_examples_of_ldc_ii_c():
    before = models.total_throughput(0.5, write_throughput=1, read_throughput=10)
    after = models.total_throughput(0.5, write_throughput=2, read_throughput=5)
    assert before == pytest.approx(1.82, abs=0.005)
    assert after == pytest.approx(2.86, abs=0.005)
    assert after / before - 1 == pytest.approx(0.57, abs=0.005)


@pytest.mark.parametrize(("ratio", "expected"), [(0, 10), (1, 2)])
def test_total_throughput_of_a_pure_workload_is_its_own(ratio, expected):
    assert models.total_throughput(ratio, 2, 10) == pytest.approx(expected)


def test_compaction_bytes_give_22_sstables_at_af_10():
    assert models.compaction_bytes(10) == 22
    assert models.compaction_bytes(10, 2 * MEGABYTE) == 44 * MEGABYTE
    assert models.compaction_bytes(10, 4 * MEGABYTE) == 88 * MEGABYTE


def test_levels_of_a_full_tree():
    assert models.levels(10, data_bytes=1000, sstable_bytes=1) == pytest.approx(3)


def test_write_amplification_is_fanout_times_levels():
    assert models.write_amplification(10, 1000, 1) == pytest.approx(30)
    assert models.write_amplification(100, 1000, 1) == pytest.approx(150)


def test_read_amplification_counts_levels_and_unsorted_sstables():
    assert models.read_amplification(10, 1000, 1, unsorted_sstables=4) == pytest.approx(7)


def test_store_throughput_divides_by_amplification():
    assert models.store_throughput(500 * MEGABYTE, 10) == 50 * MEGABYTE


def test_write_tail_latency_is_the_time_of_one_compaction():
    seconds = models.write_tail_latency(
        fanout=10,
        upper_sstables=1,
        sstable_bytes=2 * MEGABYTE,
        device_write_throughput=230 * MEGABYTE,
        read_throughput=10 * MEGABYTE,
        memtable_write=0.001,
    )
    assert seconds == pytest.approx(22 / 220 + 0.001)


def test_write_tail_latency_grows_as_reads_take_bandwidth():
    quiet = models.write_tail_latency(10, 1, 2e6, 200e6, 0)
    busy = models.write_tail_latency(10, 1, 2e6, 200e6, 150e6)
    assert busy == pytest.approx(4 * quiet)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: models.levels(1, 10, 1), "fan-out"),
        (lambda: models.levels(10, 1, 2), "SSTable"),
        (lambda: models.write_tail_latency(10, 1, 2e6, 1e6, 1e6), "bandwidth"),
    ],
)
def test_values_outside_a_model_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
