"""Analytical models of the papers, to be drawn beside the measurements.

Sizes are in bytes, throughputs in bytes per second (or any one rate unit, where said), times in
seconds. Sources: LDC (ICDE'19), section II-B; LWC-tree (MSST'17), section II; PCP (IPDPS'14),
section III; dLSM, sections III-A, IV-C, V-A and appendix A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


def levels(fanout: float, data_bytes: float, sstable_bytes: float) -> float:
    """Height of an LSM-tree, H = log_k(n/b) (LDC II-B).

    Parameters
    ----------
    fanout : float
        k, capacity ratio of adjacent levels; above 1.
    data_bytes : float
        n, data in the tree.
    sstable_bytes : float
        b, size of one SSTable; at most `data_bytes`.

    Returns
    -------
    float
        Number of levels (not rounded, as in the paper).

    Raises
    ------
    ValueError
        If the fan-out is not above 1 or the tree holds less than one SSTable.
    """
    if fanout <= 1:
        raise ValueError(f"a fan-out must be above 1, not {fanout}")
    if not 0 < sstable_bytes <= data_bytes:
        raise ValueError(f"a tree of {data_bytes} bytes holds no SSTable of {sstable_bytes} bytes")
    return math.log(data_bytes / sstable_bytes, fanout)


def write_amplification(fanout: float, data_bytes: float, sstable_bytes: float) -> float:
    """Write amplification of upper-level driven compaction (LDC Theorem 2.1).

    a_w = k log_k(n/b), the expression inside the O(); its constant is not given.

    Parameters
    ----------
    fanout, data_bytes, sstable_bytes : float
        k, n and b as in `levels`.

    Returns
    -------
    float
        a_w, dimensionless.
    """
    return fanout * levels(fanout, data_bytes, sstable_bytes)


def read_amplification(
    fanout: float, data_bytes: float, sstable_bytes: float, unsorted_sstables: float
) -> float:
    """Read amplification of upper-level driven compaction (LDC Theorem 2.2).

    a_r = log_k(n/b) + u, the number of SSTables asked per lookup without Bloom filters.

    Parameters
    ----------
    fanout, data_bytes, sstable_bytes : float
        k, n and b as in `levels`.
    unsorted_sstables : float
        u, SSTables of level 0.

    Returns
    -------
    float
        a_r, dimensionless.
    """
    return levels(fanout, data_bytes, sstable_bytes) + unsorted_sstables


def write_amplification_ldc(fanout: float, data_bytes: float, sstable_bytes: float) -> float:
    """Write amplification of lower-level driven compaction (LDC Theorem 3.1).

    a_w = log_k(n/b), the expression inside the O(); parameters as in `levels`.

    Returns
    -------
    float
        a_w, dimensionless.
    """
    return levels(fanout, data_bytes, sstable_bytes)


def read_amplification_ldc(
    fanout: float, data_bytes: float, sstable_bytes: float, unsorted_sstables: float
) -> float:
    """Read amplification of lower-level driven compaction (LDC Theorem 3.2).

    a_r = k log_k(n/b) + u: a lookup asks up to k slices per level besides the SSTable. With
    Bloom filters it is near that of `read_amplification`.

    Parameters
    ----------
    fanout, data_bytes, sstable_bytes, unsorted_sstables : float
        As in `read_amplification`.

    Returns
    -------
    float
        a_r, dimensionless.
    """
    return fanout * levels(fanout, data_bytes, sstable_bytes) + unsorted_sstables


def write_amplification_of_level(fanout: float, threshold: float) -> float:
    """Write amplification of one level of LDC, 1 + k/T (derived in models, D.1 item 10).

    With uniform keys a slice holds b/k, so that a merge takes in T b/k new bytes and rewrites b.
    Upper-level driven compaction has 1 + k.

    Parameters
    ----------
    fanout, threshold : float
        k, and T in slices.

    Returns
    -------
    float
        Bytes written to a level per byte that enters it.
    """
    return 1 + fanout / threshold


def store_throughput(device_throughput: float, amplification: float) -> float:
    """Throughput that a device leaves to the store (LDC Eq. 1).

    th_w = th_w^ssd / a_w, and th_r = th_r^ssd / a_r.

    Parameters
    ----------
    device_throughput : float
        th^ssd of writes or of reads, in bytes per second.
    amplification : float
        a_w or a_r, dimensionless.

    Returns
    -------
    float
        th_w or th_r in bytes per second.
    """
    return device_throughput / amplification


def total_throughput(write_ratio: float, write_throughput: float, read_throughput: float) -> float:
    """Throughput of a mixed workload (LDC Eq. 2).

    th = 1 / (r_w / th_w + (1 - r_w) / th_r)

    Parameters
    ----------
    write_ratio : float
        r_w, share of writes in 0..1.
    write_throughput, read_throughput : float
        th_w and th_r of pure workloads, in one unit of rate.

    Returns
    -------
    float
        th in the same unit.
    """
    return 1 / (write_ratio / write_throughput + (1 - write_ratio) / read_throughput)


def write_tail_latency(
    fanout: float,
    upper_sstables: float,
    sstable_bytes: float,
    device_write_throughput: float,
    read_throughput: float,
    memtable_write: float = 0.0,
) -> float:
    """Longest wait of a write behind one compaction (LDC Eq. 3).

    tl_w = (k + 1) c b / (th_w^ssd - th_read) + p

    Parameters
    ----------
    fanout : float
        k.
    upper_sstables : float
        c, SSTables of the upper level in one compaction.
    sstable_bytes : float
        b, in bytes.
    device_write_throughput : float
        th_w^ssd, in bytes per second.
    read_throughput : float
        th_read, device bandwidth taken by reads meanwhile, in bytes per second.
    memtable_write : float
        p, time of the write into the memtable, in seconds; the paper neglects it.

    Returns
    -------
    float
        tl_w in seconds.

    Raises
    ------
    ValueError
        If the reads leave no bandwidth.
    """
    if read_throughput >= device_write_throughput:
        raise ValueError(
            f"reads of {read_throughput} B/s leave no bandwidth of {device_write_throughput} B/s"
        )
    compaction_bytes = (fanout + 1) * upper_sstables * sstable_bytes
    return compaction_bytes / (device_write_throughput - read_throughput) + memtable_write


def compaction_bytes(amplification_factor: float, sstable_bytes: float = 1.0) -> float:
    """Disk I/O of one compaction (LWC-tree Eq. 1).

    S_data = (AF + 1) S_sst 2: one victim and AF overlapped SSTables, read and written.

    Parameters
    ----------
    amplification_factor : float
        AF, size ratio of adjacent levels.
    sstable_bytes : float
        S_sst; the default of 1 gives the result in SSTables.

    Returns
    -------
    float
        S_data in the unit of `sstable_bytes`.
    """
    return (amplification_factor + 1) * sstable_bytes * 2


@dataclass(frozen=True)
class StageTimes:
    """Time that a compaction spends in each stage of the pipeline (PCP III-A).

    Attributes
    ----------
    read : float
        t_1, of all sub-tasks together or of one; any unit, the same for all three.
    compute : float
        t_2 to t_6.
    write : float
        t_7.
    """

    read: float
    compute: float
    write: float

    @property
    def total(self) -> float:
        """Time of all steps in turn."""
        return self.read + self.compute + self.write

    def slowest(self, *, disks: int = 1, threads: int = 1, shared_device: bool = False) -> float:
        """Time of the stage that holds up the others: the denominator of PCP Eq. 2, 4 and 6.

        Parameters
        ----------
        disks : int
            k of S-PPCP, devices that share steps 1 and 7.
        threads : int
            k of C-PPCP, processors that share steps 2 to 6.
        shared_device : bool
            Whether reads and writes take turns on a device, t_1 + t_7 (models, D.4 item 9a); the
            paper takes them to go on side by side.

        Returns
        -------
        float
            In the unit of the times.
        """
        if shared_device:
            return max((self.read + self.write) / disks, self.compute / threads)
        return max(self.read / disks, self.compute / threads, self.write / disks)


def scp_bandwidth(data_bytes: float, times: StageTimes) -> float:
    """Bandwidth of a compaction whose steps run in turn (PCP Eq. 1).

    B_scp = l / (t_1 + ... + t_7)

    Parameters
    ----------
    data_bytes : float
        l, what is compacted in these times.
    times : StageTimes
        In seconds.

    Returns
    -------
    float
        In bytes per second.
    """
    return data_bytes / times.total


def pcp_bandwidth(
    data_bytes: float,
    times: StageTimes,
    *,
    disks: int = 1,
    threads: int = 1,
    shared_device: bool = False,
) -> float:
    """Bandwidth of a pipelined compaction: PCP Eq. 2, with several disks Eq. 4, threads Eq. 6.

    B_pcp = l / max{t_1, S, t_7}, B_s-ppcp = l / max{t_1/k, S, t_7/k} and
    B_c-ppcp = l / max{t_1, S/k, t_7}, with S = t_2 + ... + t_6

    Parameters
    ----------
    data_bytes, times
        As in `scp_bandwidth`.
    disks, threads, shared_device
        As in `StageTimes.slowest`.

    Returns
    -------
    float
        In bytes per second.
    """
    return data_bytes / times.slowest(disks=disks, threads=threads, shared_device=shared_device)


def pcp_speedup(
    times: StageTimes, *, disks: int = 1, threads: int = 1, shared_device: bool = False
) -> float:
    """Bandwidth of a pipelined compaction over that of steps in turn (PCP Eq. 3).

    Parameters
    ----------
    times : StageTimes
        Of the compaction whose steps run in turn.
    disks, threads, shared_device
        As in `StageTimes.slowest`.

    Returns
    -------
    float
        At least 1 for one disk and one thread.
    """
    return times.total / times.slowest(disks=disks, threads=threads, shared_device=shared_device)


def ppcp_gain(
    times: StageTimes, *, disks: int = 1, threads: int = 1, shared_device: bool = False
) -> float:
    """Bandwidth of a parallel pipeline over that of the plain one (PCP Eq. 5 and 7).

    B_s-ppcp / B_pcp = max{t_1, S, t_7} / max{t_1/k, S, t_7/k}, and with S/k for C-PPCP.

    Parameters
    ----------
    times : StageTimes
        Of one disk and one thread.
    disks, threads, shared_device
        As in `StageTimes.slowest`.

    Returns
    -------
    float
        At least 1, at most the number of disks or threads.
    """
    plain = times.slowest(shared_device=shared_device)
    return plain / times.slowest(disks=disks, threads=threads, shared_device=shared_device)


def fill_drain_speedup(times: StageTimes, subtasks: float, *, shared_device: bool = False) -> float:
    """Speedup of a pipeline that fills and drains over n sub-tasks (models, D.4 item 9b).

    T_pcp = t + (n - 1) max for sub-tasks of total time t, so n t / (t + (n - 1) max).

    Parameters
    ----------
    times : StageTimes
        Of the compaction or of one of its sub-tasks.
    subtasks : float
        n, sub-tasks of one compaction; a mean need not be whole.
    shared_device : bool
        As in `StageTimes.slowest`.

    Returns
    -------
    float
        1 for one sub-task; tends to `pcp_speedup`.

    Raises
    ------
    ValueError
        If there is less than one sub-task.
    """
    if subtasks < 1:
        raise ValueError(f"a compaction has at least one sub-task, not {subtasks}")
    slowest = times.slowest(shared_device=shared_device)
    return subtasks * times.total / (times.total + (subtasks - 1) * slowest)


def level_write_amplification(size_ratio: float, *, two_phase: bool = False) -> float:
    """Bytes written to a level per byte that enters it (dLSM III-A1 and IV-C).

    w / w_0 = 1 + r: a chunk is merged with the r chunks of its key range. A level that is filled
    from empty in each round has on average half of them, 1 + r/2.

    Parameters
    ----------
    size_ratio : float
        r, of adjacent levels.
    two_phase : bool
        Whether data enter an insertion part of their own.

    Returns
    -------
    float
        Dimensionless.
    """
    return 1 + size_ratio / (2 if two_phase else 1)


def level_update_rate(level: int, size_ratio: float) -> float:
    """Update rate of a level of a standard LSM-tree (dLSM Eq. 1).

    U_i = w / S_i = U_0 / r^i, here per w_0 / S_1, the rate at which S_1 bytes come in:
    (1 + r) / r^(i - 1). Eq. 4 is the same for the last level of dLSM.

    Parameters
    ----------
    level : int
        i, from 1.
    size_ratio : float
        r.

    Returns
    -------
    float
        How often the level is written anew per S_1 bytes that come in.
    """
    return level_write_amplification(size_ratio) / size_ratio ** (level - 1)


def buffer_update_rate(level: int, size_ratio: float) -> float:
    """Update rate of a level of dLSM's compaction buffer (dLSM Eq. 3).

    U_i^d = w_0 / S_i = U_i / (1 + r), in the unit of `level_update_rate`.

    Parameters
    ----------
    level, size_ratio
        As in `level_update_rate`.

    Returns
    -------
    float
        How often the level is written anew per S_1 bytes that come in.
    """
    return level_update_rate(level, size_ratio) / level_write_amplification(size_ratio)


def upper_share(levels_on_disk: int, size_ratio: float) -> float:
    """Share of all data that lies above the last level (dLSM Eq. 2).

    (r^(k-1) - 1) / (r^k - 1), below 1/r.

    Parameters
    ----------
    levels_on_disk : int
        k.
    size_ratio : float
        r; not 1.

    Returns
    -------
    float
        In 0..1.
    """
    return (size_ratio ** (levels_on_disk - 1) - 1) / (size_ratio**levels_on_disk - 1)


def bloom_bits(false_positive_rate: float, tables: float = 1) -> float:
    """Bits per key with which a lookup of some tables has a rate of false positives (dLSM V-A).

    log2(n / f) / ln 2: each of n filters may have f/n.

    Parameters
    ----------
    false_positive_rate : float
        f, of all tables together, in 0..1.
    tables : float
        n, whose filters a lookup asks: r of a level of the compaction buffer.

    Returns
    -------
    float
        Bits per key of each filter.
    """
    return math.log2(tables / false_positive_rate) / math.log(2)
