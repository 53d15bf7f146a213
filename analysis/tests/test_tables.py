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
            "pcp_threads_ssd_balanced",
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


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("experiments", tables.EXPERIMENT_COLUMNS),
        ("runs", tables.RUN_COLUMNS),
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


def test_a_phase_and_its_debt_are_told_together(copy):
    out = build(copy)
    run = run_of(copy, "scale_model")
    alone = metrics_of(out, run, "load").write_amplification
    together = metrics_of(out, run, "load+settle").write_amplification
    assert together == pytest.approx(1.05 * alone)
    assert "write_amplification" not in metrics_of(out, run, "settle")  # no user wrote


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


def test_the_largest_space_holds_tables_that_are_written_or_wait_to_be_deleted():
    intervals = pd.DataFrame(
        {
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
        "frozen_share_max": 0.4,
        "useless_share_max": 0.25,
    }
    assert list(dict(tables.space_metrics(intervals.head(1)))) == ["space_peak_bytes"]
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
        ("compaction_count", "1"),
        ("compaction_bandwidth_bytes_s", "B/s"),
        ("compaction_sort_us", "us"),
        ("step_sort_share", "1"),
        ("read_queue_mean", "1"),
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
    run = run_of(copy, "pcp_threads_ssd_balanced", engine="pcp")
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
    run = run_of(copy, "pcp_threads_ssd_balanced", engine="pcp")
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
    run = run_of(copy, "pcp_threads_ssd_balanced", engine="pcp")
    text = events_with_spans((100, 4)).replace('"subtasks"', '"sub_tasks"')
    (copy / "raw" / run / "events.jsonl").write_text(text)
    with pytest.raises(tables.TableError, match=r"events.jsonl:2: key 'subtasks' is missing"):
        build(copy)
