"""The names of all metrics, so that a mistyped one is told before anything is measured.

Counters come from the engines (engines/seams/statistics.cc) and from the driver
(workloads/driver/counters.cc); ratios and fluctuations are computed in `recompact.tables`.
"""

from __future__ import annotations

import difflib
import re

# Counters of a compaction's seven steps (PCP II-A), by the resource that they use.
READ_STEPS = ("compaction_read_us",)
COMPUTE_STEPS = (
    *("compaction_crc_us", "compaction_decompress_us", "compaction_sort_us"),
    *("compaction_compress_us", "compaction_recrc_us"),
)
WRITE_STEPS = ("compaction_write_us", "compaction_sync_us")
DEVICE_STEPS = (*READ_STEPS, *WRITE_STEPS)
# Shares of the time of all steps, and the counters that each sums up.
STEP_SHARES = {
    "step_read_share": READ_STEPS,
    "step_crc_share": ("compaction_crc_us",),
    "step_decompress_share": ("compaction_decompress_us",),
    "step_sort_share": ("compaction_sort_us",),
    "step_compress_share": ("compaction_compress_us",),
    "step_recrc_share": ("compaction_recrc_us",),
    "step_write_share": WRITE_STEPS,
    "compute_share": COMPUTE_STEPS,
}

ENGINE_COUNTERS = (
    *("table_bytes_written", "filter_bytes_written"),
    *("flush_count", "flush_bytes_written", "flush_us"),
    *("compaction_count", "compaction_bytes_read", "compaction_bytes_written", "compaction_us"),
    "compaction_flush_us",
    *(*DEVICE_STEPS, *COMPUTE_STEPS),
    *("compaction_subtasks", "compaction_readq_us", "compaction_writeq_us"),
    *("seek_compaction_count", "trivial_move_count", "trivial_move_bytes"),
    *("link_count", "merge_count"),
    *("wal_bytes_written", "manifest_bytes_written"),
    *("block_reads", "block_read_bytes", "block_cache_hits", "block_cache_misses"),
    *("compaction_block_reads", "compaction_block_read_bytes", "table_opens"),
    *("bloom_checks", "bloom_negatives", "bloom_positives", "bloom_false_positives"),
    *("stall_slowdown_us", "stall_slowdown_count", "stall_memtable_us", "stall_memtable_count"),
    *("stall_l0_us", "stall_l0_count", "stall_stop_count", "stall_us"),
    *("buffer_swap_count", "buffer_trimmed_tables", "buffer_fallbacks", "gets_from_buffer"),
    *("cache_invalidated_blocks", "scan_count", "scan_tables"),
)
DRIVER_COUNTERS = (
    *("user_bytes_written", "user_bytes_read", "process_write_bytes", "process_read_bytes"),
    *("cpu_user_us", "cpu_sys_us", "device_reads", "device_writes", "device_read_bytes"),
    *("device_write_bytes", "device_unsubmitted_bytes", "device_syncs", "device_busy_us"),
    *("device_lost_us", "device_max_lag_us", "page_cache_hits", "page_cache_misses"),
    *("device_cleaning_read_bytes", "device_cleaning_write_bytes", "device_media_cache_bytes"),
)
COMPUTED = (
    *("duration_s", "operations", "throughput_ops_s", "suspect", "processor_s"),
    *("write_amplification", "write_amplification_device", "write_amplification_process"),
    *("auxiliary_write_amplification", "overall_write_amplification"),
    *("read_amplification", "compaction_read_amplification", "tables_per_get", "blocks_per_get"),
    *("write_throughput_bytes_s", "read_throughput_bytes_s", "block_read_throughput_bytes_s"),
    *("compaction_io_bytes", "filter_share", "filter_bytes_per_sstable"),
    *STEP_SHARES,
    *("compaction_bandwidth_bytes_s", "compaction_only_bandwidth_bytes_s"),
    "compaction_output_bandwidth_bytes_s",
    *("subtasks_per_compaction", "read_queue_mean", "write_queue_mean"),
    *("write_latency_fluctuation", "read_latency_fluctuation"),
    *("space_table_bytes", "space_frozen_bytes", "space_slice_bytes"),
    *("space_peak_bytes", "space_mean_bytes", "space_overhead_max"),
    *("space_late_peak_bytes", "space_entries", "space_deletions"),
    *("frozen_share_max", "useless_share_max"),
    *("level_0_files_max", "sorted_runs_max", "low_throughput_s", "compaction_bytes_mean"),
    *("space_live_bytes", "space_pinned_bytes", "space_pending_bytes", "space_obsolete_bytes"),
    *("hit_ratio", "hit_ratio_interval_mean", "hit_ratio_std", "hit_ratio_period_s"),
    *("hit_ratio_min", "hit_ratio_max"),
    *("hit_ratio_compacting", "read_throughput_compacting_ops_s", "read_latency_interval_mean_us"),
    *(
        "filter_error_rate",
        "disk_accesses_per_get",
        "upper_tables_per_get",
        "buffer_get_share",
        "files_per_scan",
    ),
    *("cache_invalidated_blocks_per_s", "turnovers", "metadata_share"),
    *("space_tree_bytes", "space_buffer_bytes", "space_buffer_tables", "buffer_share_max"),
    "upper_tree_share",
)
NAMES = (*ENGINE_COUNTERS, *DRIVER_COUNTERS, *COMPUTED)
PATTERN = re.compile(
    r"latency_(read|write|scan|all)_(count|(mean|p50|p90|p95|p99|p99_9|p99_99|max)_us)"
    r"|level_\d+_(files|bytes|bytes_read|bytes_written)"
)


def known(metric: str) -> str:
    """Return a metric's name.

    Raises
    ------
    ValueError
        If there is no such metric; names the closest.
    """
    if metric in NAMES or PATTERN.fullmatch(metric):
        return metric
    close = difflib.get_close_matches(metric, NAMES, n=1)
    raise ValueError(f"no metric {metric!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
