"""Analytical models of the papers, to be drawn beside the measurements.

Sizes are in bytes, throughputs in bytes per second (or any one rate unit, where said), times in
seconds. Sources: LDC (ICDE'19), section II-B; LWC-tree (MSST'17), section II.
"""

from __future__ import annotations

import math


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
