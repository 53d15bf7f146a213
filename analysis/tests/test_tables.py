"""Tests of the tidy tables, on raw runs as the driver writes them."""

import json
import shutil

import pandas as pd
import pytest

from recompact import tables
from synthetic import Campaign


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    campaign = Campaign(
        tmp_path_factory.mktemp("campaign"),
        experiments={
            *("ldc_latency", "ldc_profile", "lwc_eq1", "noise", "parity", "scale_model"),
            *("pcp_threads_ssd", "dlsm_rangehot", "dlsm_low_reads"),
        },
    )
    campaign.write()
    return campaign


@pytest.fixture
def copy(campaign, tmp_path):
    """A copy of the campaign that a test may damage."""
    shutil.copytree(campaign.root, tmp_path / "copy")
    return tmp_path / "copy"


def build(root, out=None):
    out = out or root / "tables"
    tables.build(root / "raw", root / "plan.json", out)
    return out


def run_of(root, experiment, **conditions):
    for entry in json.loads((root / "plan.json").read_text())["runs"]:
        wanted = {"experiment": experiment, **conditions}
        if all(entry[key] == value for key, value in wanted.items()):
            return entry["run"]
    raise AssertionError(f"no run of {experiment} with {conditions}")


def metrics_of(out, run, phase="run"):
    runs = pd.read_csv(out / "runs.csv", dtype={"run": str})
    rows = runs[(runs.run == run) & (runs.phase == phase)]
    return rows.set_index("metric").value


def workloads_of(out, run):
    phases = pd.read_csv(out / "phases.csv", dtype={"run": str})
    return phases[phases.run == run].set_index("phase").workload


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("experiments", tables.EXPERIMENT_COLUMNS),
        ("runs", tables.RUN_COLUMNS),
        ("phases", tables.PHASE_COLUMNS),
        ("timeline", tables.TIMELINE_COLUMNS),
        ("compactions", tables.COMPACTION_COLUMNS),
        ("spans", tables.SPAN_COLUMNS),
        ("profile", tables.PROFILE_COLUMNS),
        ("noise", tables.NOISE_COLUMNS),
        ("specifications", tables.SPECIFICATION_COLUMNS),
    ],
)
def test_tables_have_their_columns_and_rows(copy, name, columns):
    frame = pd.read_csv(build(copy) / f"{name}.csv")
    assert list(frame.columns) == columns
    assert len(frame) > 0


def test_a_restart_ends_with_the_same_bytes(copy):
    first = build(copy)
    plan = json.loads((copy / "plan.json").read_text())
    plan["runs"].reverse()
    (copy / "plan.json").write_text(json.dumps(plan))
    second = build(copy, copy / "again")
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_ratios_are_those_of_the_counters(copy):
    run = run_of(copy, "ldc_latency")
    metrics = metrics_of(build(copy), run)
    record = json.loads((copy / "raw" / run / "run.json").read_text())
    counters = record["phases"][0]["counters"]
    user = counters["user_bytes_written"]
    assert metrics.write_amplification == pytest.approx(counters["table_bytes_written"] / user)
    assert metrics.write_amplification_device == pytest.approx(
        counters["device_write_bytes"] / user
    )
    assert metrics.tables_per_get == pytest.approx(3.4)
    assert metrics.blocks_per_get == pytest.approx(1.15)
    assert metrics.suspect == 0


def test_a_shingled_disk_tells_what_it_writes_beside_its_host(copy):
    run = run_of(copy, "ldc_latency")
    plain = metrics_of(build(copy), run)
    assert "auxiliary_write_amplification" not in plain
    assert "overall_write_amplification" not in plain
    path = copy / "raw" / run / "run.json"
    record = json.loads(path.read_text())
    counters = record["phases"][0]["counters"]
    counters["device_cleaning_write_bytes"] = 3 * counters["device_write_bytes"]
    path.write_text(json.dumps(record))
    metrics = metrics_of(build(copy), run)
    assert metrics.auxiliary_write_amplification == 4
    assert metrics.overall_write_amplification == pytest.approx(4 * metrics.write_amplification)
    # Host-managed: nothing is cleaned.
    counters["device_cleaning_write_bytes"] = 0
    path.write_text(json.dumps(record))
    metrics = metrics_of(build(copy), run)
    assert metrics.auxiliary_write_amplification == 1
    assert metrics.overall_write_amplification == metrics.write_amplification


def test_a_phase_and_its_debt_are_told_together(copy):
    out = build(copy)
    run = run_of(copy, "scale_model")
    alone = metrics_of(out, run, "load").write_amplification
    together = metrics_of(out, run, "load+settle").write_amplification
    assert together == pytest.approx(1.05 * alone)
    assert "write_amplification" not in metrics_of(out, run, "settle")  # no user wrote


def test_a_stream_beside_a_phase_stands_as_a_phase_of_its_own(copy):
    run = run_of(copy, "ldc_latency")
    path = copy / "raw" / run / "run.json"
    record = json.loads(path.read_text())
    phase, told = record["phases"][0], record["spec"]["phases"][0]
    reads = {"count": 300, "mean": 7.5}
    phase["turnovers"] = 2.5
    phase["beside"] = [
        {
            **{"name": "reader", "duration_s": phase["duration_s"], "operations": 300},
            **{"throughput_ops_s": 12.5, "trace": phase["trace"]},
            "latency_us": {"read": reads, "write": {"count": 0}, "all": reads},
        }
    ]
    told["beside"] = [{"name": "reader", "workload": "LATEST-ZIPFIAN"}]
    path.write_text(json.dumps(record))
    out = build(copy)
    metrics, beside = metrics_of(out, run), metrics_of(out, run, "run.reader")
    assert metrics.turnovers == 2.5
    assert metrics.throughput_ops_s == pytest.approx(phase["throughput_ops_s"])
    gets = phase["latency_us"]["read"]["count"] + 300
    assert metrics.tables_per_get == pytest.approx(phase["counters"]["bloom_checks"] / gets)
    assert beside.throughput_ops_s == 12.5
    assert (beside.operations, beside.latency_read_mean_us) == (300, 7.5)
    assert "write_amplification" not in beside and "latency_write_count" not in beside
    assert workloads_of(out, run)["run.reader"] == "LATEST-ZIPFIAN"

    del phase["beside"][0]["operations"]
    path.write_text(json.dumps(record))
    with pytest.raises(tables.TableError, match="phase run, beside reader: operations is missing"):
        build(copy)


def test_pristine_has_no_counters_of_the_seams(copy):
    metrics = metrics_of(build(copy), run_of(copy, "parity", engine="pristine"))
    assert "write_amplification" not in metrics
    assert "write_amplification_device" in metrics


def test_fluctuation_leaves_out_idle_and_starved_intervals_and_the_last():
    intervals = pd.DataFrame(
        {
            "reads": [0, 0, 0, 0, 0],
            "writes": [5, 0, 5, 1, 5],
            "mean_write_latency_us": [10.0, 0.0, 40.0, 2.0, 9000.0],
            "mean_read_latency_us": [0.0, 0.0, 0.0, 0.0, 0.0],
        }
    )
    assert dict(tables.fluctuation_metrics(intervals)) == {"write_latency_fluctuation": 4.0}


def test_sorted_runs_are_the_tables_of_level_0_and_the_levels_below_with_any():
    intervals = pd.DataFrame({"level_files": [None, "3", "2 0 5 40", "0 1"]})
    assert dict(tables.run_metrics(intervals)) == {"level_0_files_max": 3, "sorted_runs_max": 4}
    assert not dict(tables.run_metrics(intervals.head(1)))


@pytest.mark.parametrize(
    ("operations", "longest"),
    [
        ([10, 10, 10, 10], 1.0),  # none, so as long as can be seen
        ([10, 4, 10, 4, 4, 10, 10], 2.0),
        ([4, 4, 4, 10, 10, 10, 10], 4.0),  # the first interval took two seconds
    ],
)
def test_a_low_period_is_below_half_of_the_median(operations, longest):
    first = 2.0 if operations[0] == 4 else 1.0
    times = [first + i for i in range(len(operations))]
    counts = [operations[0] * first, *operations[1:]]
    intervals = pd.DataFrame({"time_s": times, "operations": counts})
    assert dict(tables.low_metrics(intervals)) == {"low_throughput_s": longest}


def test_a_phase_without_operations_has_no_low_period():
    assert not dict(tables.low_metrics(pd.DataFrame({"time_s": [1.0], "operations": [0]})))


def test_the_largest_space_holds_tables_that_are_written_or_wait_to_be_deleted():
    intervals = pd.DataFrame(
        {
            "time_s": [1.0, 2.0, 4.5],
            "live_bytes": [100, 200, 300],
            "frozen_bytes": [0, 80, 90],
            "slice_bytes": [0, 30, 60],
            "pinned_bytes": [0, 20, 0],
            "pending_bytes": [10, 60, 0],
            "obsolete_bytes": [0, 40, 5],
        }
    )
    assert dict(tables.space_metrics(intervals)) == {
        "space_peak_bytes": 320,
        "space_mean_bytes": 245,
        "space_overhead_max": 1.6,
        "space_late_peak_bytes": 305,
        "frozen_share_max": 0.4,
        "useless_share_max": 0.25,
    }
    only = dict(tables.space_metrics(intervals.head(1)))
    assert only == {
        "space_peak_bytes": 110,
        "space_mean_bytes": 110,
        "space_overhead_max": 1.1,
        "space_late_peak_bytes": 110,
    }
    assert not dict(tables.space_metrics(intervals.assign(live_bytes=float("nan"))))


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("throughput_ops_s", "ops/s"),
        ("write_throughput_bytes_s", "B/s"),
        ("latency_all_p99_us", "us"),
        ("duration_s", "s"),
        ("user_bytes_written", "B"),
        ("space_live_bytes", "B"),
        ("write_amplification", "1"),
        ("auxiliary_write_amplification", "1"),
        ("device_cleaning_write_bytes", "B"),
        ("compaction_count", "1"),
        ("compaction_bandwidth_bytes_s", "B/s"),
        ("compaction_sort_us", "us"),
        ("step_sort_share", "1"),
        ("read_queue_mean", "1"),
        ("cache_invalidated_blocks_per_s", "1/s"),
        ("hit_ratio_period_s", "s"),
        ("read_throughput_compacting_ops_s", "ops/s"),
        ("space_buffer_bytes", "B"),
        ("buffer_share_max", "1"),
    ],
)
def test_units_follow_names(metric, unit):
    assert tables.unit(metric) == unit


def test_compactions_are_aggregated_per_kind_and_level(copy):
    run = run_of(copy, "lwc_eq1")
    events = [
        {"type": "compaction", "reason": "size", "level": 2, "inputs_upper": 1, "inputs_lower": n,
         "bytes_read_upper": 10, "bytes_read_lower": 10 * n, "bytes_written": 10 + 10 * n,
         "micros": 100 * n}
        for n in (1, 2, 3)
    ]  # fmt: skip
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (copy / "raw" / run / "events.jsonl").write_text(lines)
    frame = pd.read_csv(build(copy) / "compactions.csv", dtype={"run": str})
    (row,) = frame[frame.run == run].to_dict("records")
    assert (row["count"], row["inputs_lower"], row["micros"], row["micros_max"]) == (3, 6, 600, 300)
    assert (row["bytes_read"], row["bytes_written"]) == (90, 90)
    assert (row["total_bytes_p10"], row["total_bytes_p50"]) == (44, 60)


def test_noise_pairs_are_of_identical_runs(copy):
    noise = pd.read_csv(build(copy) / "noise.csv").set_index(["metric", "engine_a", "engine_b"])
    pairs = noise.pairs["throughput_ops_s"]
    assert pairs.to_dict() == {
        ("any", "any"): 2,
        ("leveldb", "leveldb"): 2,
        ("leveldb", "pristine"): 2,
    }
    assert ("write_amplification", "leveldb", "pristine") not in noise.index
    assert noise.floor["throughput_ops_s", "any", "any"] > 0


def test_tables_hold_no_path_of_the_host(copy):
    path = copy / "raw" / run_of(copy, "ldc_latency") / "run.json"
    record = json.loads(path.read_text())
    record["spec"]["device"] |= {"kind": "path", "path": "/secret/mount"}
    record["phases"][0]["trace"]["file"] = "/secret/traces/abc.trace"
    path.write_text(json.dumps(record))
    out = build(copy)
    for table in out.iterdir():
        assert "/secret" not in table.read_text(), table.name


def test_a_processor_is_told_by_its_generation_where_it_is_known():
    host = {"cpu": "AMD EPYC", "cores": 2, "memory_bytes": 2**30, "kernel": "Linux 6.1.0-30"}
    host["filesystem"] = "tmpfs"
    assert tables.host_label(host) == "2 x AMD EPYC, 1 GiB, Linux 6.1.0, tmpfs"
    for family, label in (
        ("25", "2 x AMD EPYC (family 25, model 17), 1 GiB, Linux 6.1.0, tmpfs"),
        ("unknown", "2 x AMD EPYC, 1 GiB, Linux 6.1.0, tmpfs"),
    ):
        known = host | {"cpu_family": family, "cpu_model": "17"}
        assert tables.host_label(known) == label


def test_a_run_named_by_digits_only_keeps_its_name(copy):
    old, new = run_of(copy, "ldc_profile", profile=True), "0000000000001e10"
    plan = (copy / "plan.json").read_text()
    (copy / "plan.json").write_text(plan.replace(old, new))
    (copy / "raw" / old).rename(copy / "raw" / new)
    for path in (copy / "raw" / new).iterdir():
        path.write_text(path.read_text().replace(old, new))
    profile = pd.read_csv(build(copy) / "profile.csv", dtype=str)
    assert new in set(profile.run)


def test_a_skipped_profile_is_noted_with_its_reason(tmp_path):
    campaign = Campaign(tmp_path, experiments={"ldc_profile"}, skip_profile="no perf here")
    campaign.write()
    out = build(tmp_path)
    runs = {
        run_of(tmp_path, "ldc_profile", profile=True, engine=name) for name in ("leveldb", "ldc")
    }
    skipped = tables.read_scale(out)["skipped_profiles"]
    assert skipped == dict.fromkeys(runs, "no perf here")
    assert len(pd.read_csv(out / "profile.csv")) == 0


def damage_run_json(root, change):
    run = run_of(root, "ldc_latency")
    path = root / "raw" / run / "run.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record["phases"][0].pop("duration_s"), r"run.json: phases.0.duration_s"),
        (lambda record: record["phases"][0].pop("latency_us"), r"phase run: latency_us is missing"),
        (lambda record: record["spec"].pop("seed"), r"run.json: spec.seed"),
        (lambda record: record.update(run="other"), r"run other .* but the plan says"),
        (lambda record: record["spec"]["engine"].update(id="ldc"), r"engine ldc, but the plan"),
    ],
)
def test_a_wrong_run_record_is_named_by_file_and_key(copy, change, message):
    damage_run_json(copy, change)
    with pytest.raises(tables.TableError, match=message):
        build(copy)


def test_a_missing_run_is_named(copy):
    run = run_of(copy, "ldc_latency")
    (copy / "raw" / run / "run.json").unlink()
    with pytest.raises(tables.TableError, match=f"{run}/run.json: no such file; finish the run"):
        build(copy)


def test_a_missing_column_is_named(copy):
    path = copy / "raw" / run_of(copy, "ldc_latency") / "timeline.csv"
    pd.read_csv(path).drop(columns="stall_us").to_csv(path, index=False)
    with pytest.raises(tables.TableError, match=r"timeline.csv: column stall_us is missing"):
        build(copy)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"type": "flush"', r"events.jsonl:1: not a JSON object"),
        ('{"type": "flush"}', r"events.jsonl:1: key 'reason' is missing"),
    ],
)
def test_a_wrong_event_is_named_by_file_and_line(copy, line, message):
    (copy / "raw" / run_of(copy, "ldc_latency") / "events.jsonl").write_text(line + "\n")
    with pytest.raises(tables.TableError, match=message):
        build(copy)


def test_shares_of_steps_and_bandwidths_are_those_of_the_counters(copy):
    run = run_of(copy, "pcp_threads_ssd", engine="pcp")
    path = copy / "raw" / run / "run.json"
    record = json.loads(path.read_text())
    record["phases"][0]["counters"] |= {
        **{"compaction_read_us": 170, "compaction_crc_us": 40, "compaction_decompress_us": 30},
        **{"compaction_sort_us": 200, "compaction_compress_us": 300, "compaction_recrc_us": 50},
        **{"compaction_write_us": 180, "compaction_sync_us": 30, "compaction_us": 500},
        "compaction_flush_us": 125,
        **{"compaction_bytes_read": 50000, "compaction_bytes_written": 40000},
        **{"compaction_count": 5, "compaction_subtasks": 30},
        **{"compaction_readq_us": 1250, "compaction_writeq_us": 125},
    }
    path.write_text(json.dumps(record))
    metrics = metrics_of(build(copy), run)
    assert metrics.step_read_share == 0.17
    assert metrics.step_write_share == 0.21  # with syncs
    assert metrics.compute_share == 0.62
    steps = ("crc", "decompress", "sort", "compress", "recrc")
    assert [metrics[f"step_{name}_share"] for name in steps] == [0.04, 0.03, 0.2, 0.3, 0.05]
    assert metrics.compaction_bandwidth_bytes_s == 8e7
    assert metrics.compaction_only_bandwidth_bytes_s == 1e8
    assert metrics.compaction_output_bandwidth_bytes_s == 6.4e7
    assert metrics.subtasks_per_compaction == 6
    assert (metrics.read_queue_mean, metrics.write_queue_mean) == (2.5, 0.25)


def test_an_engine_without_subtasks_has_no_queues(copy):
    metrics = metrics_of(build(copy), run_of(copy, "noise"))
    assert "step_sort_share" in metrics and "compaction_bandwidth_bytes_s" in metrics
    assert "read_queue_mean" not in metrics and "write_queue_mean" not in metrics


def events_with_spans(*compactions):
    """Write a log of compactions, each a number of microseconds and of sub-tasks."""
    event = {
        **{"type": "compaction", "reason": "size", "level": 1, "inputs_upper": 1},
        **{"inputs_lower": 1, "bytes_read_upper": 1, "bytes_read_lower": 1, "bytes_written": 2},
    }
    lines = [event | {"type": "flush", "micros": 7}]
    for micros, subtasks in compactions:
        spans = [[n, "read", 0, 10 * n, 10 * n + 9] for n in range(subtasks)]
        lines.append(event | {"micros": micros, "subtasks": subtasks, "spans": spans})
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("compactions", "number", "subtasks"),
    [
        ([(100, 4)], 0, 4),
        ([(100, 2), (900, 9), (800, 3), (50, 1), (700, 5), (60, 8)], 4, 5),
        ([(100, 3), (100, 3), (100, 3)], 0, 3),  # the earlier of equals
    ],
)
def test_the_spans_of_one_middling_long_compaction_are_kept(copy, compactions, number, subtasks):
    run = run_of(copy, "pcp_threads_ssd", engine="pcp")
    (copy / "raw" / run / "events.jsonl").write_text(events_with_spans(*compactions))
    spans = pd.read_csv(build(copy) / "spans.csv", dtype={"run": str})
    spans = spans[spans.run == run]
    assert set(spans.compaction) == {number}
    assert list(spans.subtask) == list(range(subtasks))
    assert list(spans.end_us - spans.begin_us) == [9] * subtasks


def test_engines_without_stages_have_no_spans(copy):
    spans = pd.read_csv(build(copy) / "spans.csv", dtype={"run": str})
    assert run_of(copy, "noise") not in set(spans.run)


def test_spans_without_their_number_of_subtasks_are_named(copy):
    run = run_of(copy, "pcp_threads_ssd", engine="pcp")
    text = events_with_spans((100, 4)).replace('"subtasks"', '"sub_tasks"')
    (copy / "raw" / run / "events.jsonl").write_text(text)
    with pytest.raises(tables.TableError, match=r"events.jsonl:2: key 'subtasks' is missing"):
        build(copy)


def change_phase(root, run, change):
    """Change the last phase of a run's record."""
    path = root / "raw" / run / "run.json"
    record = json.loads(path.read_text())
    change(record["phases"][-1])
    path.write_text(json.dumps(record))


def test_a_reader_and_the_writer_beside_it_do_not_share_their_numbers(copy):
    run = run_of(copy, "dlsm_rangehot", engine="dlsm")
    out = build(copy)
    own, writer = metrics_of(out, run), metrics_of(out, run, "run.writer")
    assert writer.throughput_ops_s == pytest.approx(1000, rel=0.05)
    assert own.throughput_ops_s > 2000
    assert "latency_write_mean_us" in writer and "latency_write_mean_us" not in own
    assert "hit_ratio" in own and "hit_ratio" not in writer
    workloads = workloads_of(out, run)
    assert (workloads["run"], workloads["run.writer"]) == ("DLSM", "WO")


@pytest.mark.parametrize(
    ("served", "doubt"),
    [(960, ""), (711.6, "run.writer was served at 712 of 1000 operations per second")],
)
def test_a_run_whose_writer_was_not_served_is_suspect(copy, served, doubt):
    run = run_of(copy, "dlsm_rangehot", engine="dlsm")
    path = copy / "raw" / run / "run.json"
    record = json.loads(path.read_text())
    record["suspect"] = []
    record["phases"][-1]["beside"][0]["throughput_ops_s"] = served
    record["spec"]["phases"][-1]["beside"][0]["pace"] = {"kind": "open", "rate_ops_s": 1000.0}
    path.write_text(json.dumps(record))
    out = build(copy)
    assert metrics_of(out, run).suspect == bool(doubt)
    specifications = pd.read_csv(out / "specifications.csv", dtype={"run": str, "suspect": str})
    told = specifications.set_index("run").suspect.fillna("")
    assert told[run] == doubt


def test_gets_of_a_stream_beside_count_for_what_counters_tell(copy):
    run = run_of(copy, "dlsm_low_reads", engine="two_phase")
    changes = {"bloom_checks": 16000, "block_cache_hits": 1000, "block_cache_misses": 3400}
    changes |= {"bloom_negatives": 11640, "bloom_false_positives": 360}
    change_phase(copy, run, lambda phase: phase["counters"].update(changes))
    metrics = metrics_of(build(copy), run)
    assert metrics.filter_error_rate == 0.03
    assert metrics_of(build(copy), run, "run.reader").operations == 4000
    assert metrics.tables_per_get == 4
    assert metrics.upper_tables_per_get == 3
    assert metrics.blocks_per_get == 1.1
    assert metrics.disk_accesses_per_get == 0.85
    assert metrics.hit_ratio == pytest.approx(1 / 4.4)


def test_what_scans_and_the_cache_lose_is_counted(copy):
    run = run_of(copy, "dlsm_rangehot", engine="dlsm")
    changes = {"scan_count": 4, "scan_tables": 26, "cache_invalidated_blocks": 90}
    changes |= {"compaction_bytes_read": 1000, "compaction_block_read_bytes": 990}

    def change(phase):
        phase["counters"].update(changes)
        phase |= {"duration_s": 30, "turnovers": 1.5}

    change_phase(copy, run, change)
    metrics = metrics_of(build(copy), run)
    assert metrics.files_per_scan == 6.5
    assert metrics.cache_invalidated_blocks_per_s == 3
    assert metrics.metadata_share == 0.01
    assert metrics.turnovers == 1.5


def test_the_buffer_is_told_as_a_share_of_the_tree(copy):
    run = run_of(copy, "dlsm_rangehot", engine="dlsm")
    levels = [{"level": level, "files": 1, "bytes": 100 * level} for level in (1, 3, 5)]
    levels.append({"level": 6, "files": 0, "bytes": 0})
    change_phase(copy, run, lambda phase: phase.update(levels=levels))
    path = copy / "raw" / run / "timeline.csv"
    timeline = pd.read_csv(path)
    timeline["buffer_bytes"] = [30.0] * (len(timeline) - 1) + [90.0]
    timeline.to_csv(path, index=False)
    metrics = metrics_of(build(copy), run)
    assert metrics.space_tree_bytes == 900
    assert metrics.buffer_share_max == 0.1
    assert metrics.upper_tree_share == pytest.approx(4 / 9)


def test_an_engine_without_a_buffer_has_no_share_of_it(copy):
    metrics = metrics_of(build(copy), run_of(copy, "dlsm_rangehot", engine="two_phase"))
    assert "upper_tree_share" in metrics
    assert "buffer_share_max" not in metrics and "space_buffer_bytes" not in metrics


def test_noise_is_of_pairs_of_its_experiments_alone():
    cells = [  # experiment, engine, copy, phase, metric, value
        *(("noise", "leveldb", copy, "run", "a", 1.0) for copy in (1, 2)),
        ("parity", "leveldb", 1, "read", "a", 1.0),
        ("parity", "pristine", 1, "read", "a", 2.0),
        *(("ldc_fanout", "leveldb", copy, "run", "b", 1.0 + copy) for copy in (1, 2)),
    ]
    frame = pd.DataFrame(
        cells, columns=["experiment", "engine", "copy", "phase", "metric", "value"]
    )
    frame["run"] = frame.experiment + frame.engine + frame["copy"].astype(str)
    frame = frame.assign(
        repetition=1,
        varies="",
        scale_factor=1,
        profiled=0,
        unit="1",
        point=[json.dumps({"copy": copy}) for copy in frame["copy"]],
    )
    experiments = frame[tables.EXPERIMENT_COLUMNS].drop_duplicates()
    noise = tables.noise_table(experiments, frame[tables.RUN_COLUMNS])
    noise = noise.set_index(["metric", "engine_a", "engine_b"])
    assert noise.floor["a", "leveldb", "pristine"] > 0
    assert (noise.pairs["a", "any", "any"], noise.floor["a", "any", "any"]) == (1, 0)
    assert "b" not in noise.index  # of no experiment on noise
