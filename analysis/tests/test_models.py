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


HDD, SSD = models.StageTimes(44, 38, 18), models.StageTimes(17, 62, 21)  # PCP Fig. 5


@pytest.mark.parametrize(
    ("times", "pipelined", "shared"), [(HDD, 2.27, 1.61), (SSD, 1.61, 1.61)], ids=["hdd", "ssd"]
)
def test_pcp_speedup_of_the_shares_in_fig_5(times, pipelined, shared):
    assert models.pcp_speedup(times) == pytest.approx(pipelined, abs=0.005)
    assert models.pcp_speedup(times, shared_device=True) == pytest.approx(shared, abs=0.005)


def test_computation_parallel_pipeline_ends_where_the_device_is_the_slowest():
    at = {k: models.pcp_speedup(SSD, threads=k) for k in (1, 2, 3, 8)}
    assert at[2] == pytest.approx(100 / 31)
    assert at[3] == at[8] == pytest.approx(4.76, abs=0.005)
    assert models.pcp_speedup(SSD, threads=8, shared_device=True) == pytest.approx(2.63, abs=0.005)


def test_storage_parallel_pipeline_ends_where_the_processor_is_the_slowest():
    assert models.pcp_speedup(HDD, disks=1) == pytest.approx(100 / 44)
    assert models.pcp_speedup(HDD, disks=2) == pytest.approx(2.63, abs=0.005)
    shared = [models.pcp_speedup(HDD, disks=k, shared_device=True) for k in (1, 2, 10)]
    assert shared == pytest.approx([100 / 62, 100 / 38, 100 / 38])


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_parallel_gains_keep_the_papers_bounds(k):
    compute, device = SSD.compute, max(SSD.read, SSD.write)
    assert 1 <= models.ppcp_gain(SSD, threads=k) <= min(k, compute / device) + 1e-9
    assert 1 <= models.ppcp_gain(HDD, disks=k) <= min(k, max(HDD.read, HDD.write) / HDD.compute)
    assert models.ppcp_gain(SSD, threads=k) == pytest.approx(
        models.pcp_bandwidth(5, SSD, threads=k) / models.pcp_bandwidth(5, SSD)
    )


def test_bandwidths_are_bytes_over_time():
    assert models.scp_bandwidth(1000, SSD) == 10
    assert models.pcp_bandwidth(1240, SSD) == 20
    assert models.pcp_bandwidth(1240, SSD, threads=2) == 40
    assert models.pcp_bandwidth(440, HDD, disks=2) == pytest.approx(440 / 38)
    assert models.pcp_bandwidth(380, SSD, threads=9, shared_device=True) == 10


@pytest.mark.parametrize(
    ("subtasks", "speedup"), [(1, 1.00), (2, 1.23), (4, 1.40), (6, 1.46), (10, 1.52)]
)
def test_fill_and_drain_cost_short_compactions_their_speedup(subtasks, speedup):
    assert models.fill_drain_speedup(SSD, subtasks) == pytest.approx(speedup, abs=0.006)


def test_fill_and_drain_vanish_over_many_subtasks():
    many = models.fill_drain_speedup(HDD, 1e6, shared_device=True)
    assert many == pytest.approx(models.pcp_speedup(HDD, shared_device=True), rel=1e-5)


def test_a_compaction_without_subtasks_is_refused():
    with pytest.raises(ValueError, match="at least one sub-task, not 0"):
        models.fill_drain_speedup(SSD, 0)


def test_dlsm_equations_give_the_papers_values_at_a_ratio_of_10():
    assert models.level_write_amplification(10) == 11
    assert models.level_write_amplification(10, two_phase=True) == 6
    assert models.upper_share(3, 10) == pytest.approx(0.0991, abs=5e-5)
    share = models.buffer_update_rate(2, 10) / models.level_update_rate(2, 10)
    assert share == pytest.approx(1 / 11)


def test_dlsm_equation_1_falls_by_the_ratio_and_equation_4_meets_the_buffer():
    rates = [models.level_update_rate(level, 10) for level in (1, 2, 3)]
    assert rates == pytest.approx([11, 1.1, 0.11])
    assert rates[2] == pytest.approx(models.buffer_update_rate(2, 10), rel=0.11)


def test_dlsm_bits_of_filters_are_the_papers():
    assert models.bloom_bits(0.01) == pytest.approx(9.585, abs=5e-4)
    assert models.bloom_bits(0.01, 10) == pytest.approx(14.378, abs=5e-4)
