"""The plan: what runs, in which order, under which name."""

import json
from pathlib import Path

import pytest

import checkout
from recompact import ROOT
from recompact.declarations import DeclarationError
from recompact.experiments import OURS, Declarations, ScaleName
from recompact.jobs import Run
from recompact.plan import Host, Plan, hash_files, make


@pytest.fixture(scope="module")
def declarations(tmp_path_factory: pytest.TempPathFactory) -> Declarations:
    """This checkout's, with a calibration of every engine."""
    return Declarations(checkout.calibrated(tmp_path_factory.mktemp("checkout")))


@pytest.fixture(scope="module")
def smoke(declarations: Declarations) -> Plan:
    return make(declarations, "smoke")


def test_names_do_not_change_between_plans(smoke: Plan, declarations: Declarations) -> None:
    again = make(Declarations(declarations.root), "smoke")
    assert list(again.runs) == list(smoke.runs)
    assert again.as_json() == smoke.as_json()


def test_every_point_has_a_run_and_every_trace_is_planned(smoke: Plan) -> None:
    assert {point["run"] for point in smoke.points} <= set(smoke.runs)
    for run in smoke.runs.values():
        assert set(run.trace_ids) <= set(smoke.traces)
        if run.start_from is not None:
            assert smoke.runs[run.start_from].keeps_database


def test_experiments_share_a_run_that_both_ask_for(tmp_path: Path) -> None:
    root = checkout.copy(tmp_path)
    with (root / "workloads/experiments.yaml").open("a", encoding="utf-8") as file:
        file.write("  another_latency: {<<: *ldc_latency, title: The same runs again}\n")
    checkout.replace(
        root / "workloads/experiments.yaml", "  ldc_latency:", "  ldc_latency: &ldc_latency"
    )
    plan = make(Declarations(root), "smoke", ["ldc_latency", "another_latency"])
    assert {point["experiment"] for point in plan.points} == {"ldc_latency", "another_latency"}
    assert len(plan.points) == 2 * len(plan.runs)


def test_repetitions_interleave_engines() -> None:
    declarations = Declarations(ROOT)
    fanouts = declarations.experiments["ldc_fanout"].sweep["fanout"].full
    plan = make(declarations, "small", ["parity", "ldc_fanout"])
    places = [(point["experiment"], point["engine"]) for point in plan.points]
    once = [
        *(("parity", "pristine"), ("parity", "leveldb")),
        *(("ldc_fanout", name) for _ in fanouts for name in ("leveldb", "ldc")),
    ]
    assert places[: 2 * len(once)] == once + once
    repetitions = [point["repetition"] for point in plan.points]
    assert repetitions == sorted(repetitions)


def test_compared_runs_replay_the_same_traces() -> None:
    plan = make(Declarations(ROOT), "small", ["parity"])
    by_repetition: dict[int, set[tuple[str, ...]]] = {}
    for point in plan.points:
        traces = plan.runs[point["run"]].trace_ids
        by_repetition.setdefault(point["repetition"], set()).add(traces)
    assert all(len(traces) == 1 for traces in by_repetition.values())
    assert len(set.union(*by_repetition.values())) == len(by_repetition)


def test_a_scale_divides_sizes_but_not_unscaled_operations(smoke: Plan) -> None:
    point = next(p for p in smoke.points if p["experiment"] == "lwc_load")
    run = smoke.runs[point["run"]]
    factor = run.spec["scale_factor"]
    assert run.spec["engine"]["options"]["write_buffer_size"] == 4194304 // factor
    load, _, read = (smoke.traces[trace].workload for trace in run.trace_ids)
    assert load["operations"] == round(250000 * point["point"]["size_gb"] / factor)
    assert read["operations"] == smoke.scale_entry.unscaled_operations
    assert read["records"] == load["records"]


@pytest.mark.parametrize(
    ("changed", "engines"),
    [
        ("engines/leveldb/leveled_picker.cc", {"leveldb"}),
        ("engines/seams/statistics.cc", {"leveldb", "pristine"}),
        ("engines/pristine/option_fields.cc", {"pristine"}),
        ("workloads/driver/replay.cc", {"leveldb", "pristine"}),
    ],
)
def test_a_changed_source_renames_the_runs_that_it_can_change(
    tmp_path: Path, changed: str, engines: set[str]
) -> None:
    root = checkout.copy(tmp_path)
    before = make(Declarations(root), "smoke", ["parity"])
    with (root / changed).open("a", encoding="utf-8") as file:
        file.write("// changed\n")
    hash_files.cache_clear()
    after = make(Declarations(root), "smoke", ["parity"])
    renamed = {before.runs[name].engine for name in set(before.runs) - set(after.runs)}
    assert renamed == engines


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "experiments",
            "engines: [leveldb, ldc, ldc_release, ",
            "engines: [levelbd, ldc, ldc_release, ",
            "ldc_latency.engines: 'levelbd'",
        ),
        (
            "experiments",
            "thin_engines: [two_phase, dlsm]",
            "thin_engines: [two_phase, ldc]",
            "dlsm_zipfian.thin_engines: 'ldc'",
        ),
        ("experiments", "device: pcie_ssd", "device: floppy", "ldc_latency.device: 'floppy'"),
        ("experiments", "workload: RWB", "workload: RWX", "phases.run.workload: 'RWX'"),
        ("experiments", "{from: fanout}", "{from: fan}", "ldc_fanout: takes a value from 'fan'"),
        ("experiments", "num_levels: 14", "levels: 14", "ldc_fanout.options.levels"),
        ("scales", "factor: {LDC: 256, ", "factor: {", "has no entry LDC, which experiment"),
        ("workloads", "mix: {update: 1.0}", "mix: {update: 0.9}", "workloads.WO: .*sum to 0.9"),
        ("workloads", "mix: {update: 1.0}", "mix: {updates: 1.0}", "workloads.WO.mix.updates"),
        ("workloads", "value_bytes: 1024", "bytes: 1024", "workloads.WO.bytes"),
        ("scales", "repetitions: 1", "repetitions: 0", "scales.smoke.repetitions"),
        ("devices", "kind: memory", "kind: paper", "devices.memory.kind"),
        ("devices", "kind: hdd\n", "kind: smr\n", "hdd_7200: .*band_bytes goes with kind smr or"),
        ("devices", "kind: smr\n", "kind: zoned_smr\n", "smr: .*media_cache_bytes goes with kind"),
        ("devices", "band_bytes: 31457280", "band_bytes: 0", "devices.smr.band_bytes: .*than 0"),
        ("devices", "band_bytes: 31457280", "band_bytes: 30000000", "multiple of 4096"),
        ("devices", "band_bytes: 31457280", "band_byte: 31457280", "devices.smr: .*band_bytes"),
        (
            "devices",
            "media_cache_bytes: 20000000000",
            "media_cache_bytes: 20000000",
            "devices.smr: .*media_cache_bytes must be at least band_bytes, 31457280",
        ),
        ("devices", "clean_after_idle_ms: 1000", "clean_after_idle_ms: -1", "clean_after_idle_ms"),
        ("devices", "    like: smr\n", "    like: hdd_7200\n", "own_bands: .*own_bands goes with"),
        ("devices", "    like: smr\n", "    like: smr2\n", "smr_own_bands.like: 'smr2' is no"),
        (
            "devices",
            "    like: smr\n",
            "    like: smr_small_cache\n",
            "smr_own_bands.like: 'smr_small_cache' is no device of its own",
        ),
        ("experiments", "of: 5000000000", "of: 0", "operations.FromSweep.of"),
        ("experiments", "of: 5000000000", "of: 5, times: 2", "with times and of, which exclude"),
        (
            "experiments",
            "value_bytes: {full: [64,",
            "value_bytes: {full: [0, 64,",
            "pcp_values_ssd.sweep.value_bytes: has 0, by which 5e.09 cannot be divided",
        ),
        (
            "experiments",
            "value_bytes: {full: [64,",
            "value_bytes: {full: [small, 64,",
            "pcp_values_ssd.sweep.value_bytes: has 'small', by which",
        ),
        (
            "experiments",
            "{name: settle, kind: wait_idle}",
            "{name: settle, kind: wait_idle, value_bytes: 100}",
            "value_bytes goes with kind replay",
        ),
        ("experiments", "members: {from: disks}", "members: {from: dis}", "a value from 'dis'"),
        (
            "experiments",
            "device: hdd_7200_raid0\n",
            "device: hdd_7200\n",
            "pcp_disks_hdd.members: goes with a device of kind raid0, which hdd_7200 is not",
        ),
        (
            "devices",
            "most_members: 10",
            "most_members: 9",
            "pcp_disks_hdd.sweep.disks: has 10 disks",
        ),
        ("devices", "    most_members: 10\n", "", "disks, hdd_7200_raid0 in .* no most_members"),
        (
            "experiments",
            "    host: here\n",
            "    host: here\n    profile: true\n",
            "time_memory_here.profile: does not go with host here, which is simulated: perf",
        ),
        (
            "experiments",
            "    host: here\n",
            "    host: here\n    device: path\n",
            "time_memory_here.device: does not go with host here, .* no real directory",
        ),
        ("experiments", "processors: 1", "processors: 0", "pcp_alone_overhead.processors"),
        (
            "workloads",
            "insert: 0.5, delete: 0.5",
            "insert: 0.6, delete: 0.4",
            "queue goes with mix",
        ),
        ("workloads", "distribution: queue", "distribution: sequential", "queue goes with mix"),
        (
            "experiments",
            "key_order: ordered\n    compressibility: 1\n",
            "compressibility: 1\n",
            "queue.phases.run.workload: QUEUE is a queue of keys in order, which hashing",
        ),
        ("workloads", "    recent_fraction: 0.01\n", "", "LATEST-UNIFORM: .*recent_fraction goes"),
        ("workloads", "elsewhere: 0.02", "elsewhere: 2", "LATEST-RANGEHOT.hot_range.elsewhere"),
        ("workloads", "distribution: latest_keyrange", "distribution: uniform", "hot_range goes"),
        (
            "experiments",
            "{name: settle, kind: wait_idle}",
            "{name: settle, kind: wait}",
            "seconds goes with kind wait",
        ),
        (
            "experiments",
            "{name: settle, kind: wait_idle}",
            "{name: settle, kind: wait_idle, duration_s: 3}",
            "duration_s goes with kind replay",
        ),
    ],
)
def test_a_wrong_declaration_is_told_by_file_and_key(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    root = checkout.copy(tmp_path)
    path = root / f"workloads/{file}.yaml"
    checkout.replace(path, old, new)
    with pytest.raises(DeclarationError, match=message) as error:
        make(Declarations(root), "smoke")
    assert path.name in str(error.value)


STREAMS = """\
  streams:
    title: Reads beside updates
    paper: LDC
    sized_as: LWC
    engines: [leveldb]
    device: memory
    key_order: ordered
    timeline_interval_ms: 25600
    scaled_options: {level_base_bytes: 2097152000}
    prepare:
      - {name: load, workload: LOAD, operations: 2560000}
    phases:
      - {name: pause, kind: wait, seconds: 128}
      - name: run
        workload: LATEST-RANGEHOT
        operations: 25600000
        keys: 2560000
        duration_s: 640
        beside:
          - name: writer
            workload: WO
            operations: 640000
            keys: 2560000
            value_bytes: 1008
            pace: {kind: open, rate_ops_s: 1000}
      - {name: range, workload: LATEST-KEYRANGE, operations: 2560, keys: 2560000}
      - {name: ranges, workload: DLSM-RANGES, operations: 2560, scan_records: 2560}
"""


def _with_streams(folder: Path, old: str = "", new: str = "") -> Path:
    """Copy the checkout with one experiment more, changed in one place."""
    root = checkout.copy(folder)
    assert old in STREAMS
    with (root / "workloads/experiments.yaml").open("a", encoding="utf-8") as file:
        file.write(STREAMS.replace(old, new, 1))
    return root


def test_sizes_of_an_engine_are_divided_like_all_others() -> None:
    plan = make(Declarations(ROOT), "small", ["matrix_ssd"])
    options = {run.engine: run.spec["engine"]["options"] for run in plan.runs.values()}
    divided = 524288 // plan.scale_entry.factor["matrix"]
    assert options["pcp"]["subtask_bytes"] == options["ldc_pcp"]["subtask_bytes"] == divided
    assert "subtask_bytes" not in options["ldc"]


def test_streams_beside_a_phase_are_planned(tmp_path: Path) -> None:
    plan = make(Declarations(_with_streams(tmp_path)), "smoke", ["streams"])
    assert plan.scale_entry.factor["LWC"] == 256
    (entry,) = plan.points
    run = plan.runs[entry["run"]]
    assert run.spec["key_order"] == "ordered"
    assert run.spec["timeline_interval_ms"] == 100
    assert run.spec["engine"]["options"]["level_base_bytes"] == 8192000
    pause, phase, key_range, ranges = run.spec["phases"]
    assert pause == {"name": "pause", "kind": "wait", "seconds": 0.5}
    assert phase["duration_s"] == 2.5
    (writer,) = phase["beside"]
    assert set(writer) == {"name", "workload", "trace", "start", "count", "pace", "threads"}
    assert (writer["name"], writer["workload"]) == ("writer", "WO")
    assert writer["pace"] == {"kind": "open", "rate_ops_s": 1000}
    assert "beside" not in key_range and "duration_s" not in key_range
    by_path = {trace.path: trace for trace in plan.traces.values()}
    reads, writes = by_path[phase["trace"]], by_path[writer["trace"]]
    assert {reads.id, writes.id} < set(run.trace_ids)
    assert reads.seed != writes.seed
    assert (reads.workload["class"], reads.workload["distribution"]) == ("latest", "rangehot")
    assert set(reads.workload["hot_range"]) == {"start", "fraction", "elsewhere"}
    assert (writes.workload["operations"], writes.workload["value_bytes"]) == (2500, 1008)
    assert reads.workload["recent_fraction"] == 0.021
    assert run.spec["recent_keys"] == {"first": 3330, "count": 1000}
    contiguous = by_path[key_range["trace"]].workload
    assert (contiguous["distribution"], contiguous["hot_range"]["fraction"]) == (
        "keyrange",
        0.00475,
    )
    assert "recent_fraction" not in contiguous
    length = {"distribution": "uniform", "min": 10, "max": 10}
    assert by_path[ranges["trace"]].workload["scan_length"] == length


def test_a_thin_sweep_may_have_fewer_engines_and_says_so(tmp_path: Path) -> None:
    engines = "engines: [leveldb, ldc]\n    thin_engines: [ldc]"
    declarations = Declarations(_with_streams(tmp_path, "engines: [leveldb]", engines))
    smoke, small = (make(declarations, scale, ["streams"]) for scale in ("smoke", "small"))
    assert {point["engine"] for point in smoke.points} == {"ldc"}
    assert smoke.thinning["streams"] == "left out: leveldb: at larger scales only"
    assert {point["engine"] for point in small.points} == {"leveldb", "ldc"}
    assert not small.thinning and not small.absent


def test_recent_updates_are_of_all_keys_unless_the_workload_has_a_range(tmp_path: Path) -> None:
    root = _with_streams(tmp_path, "LATEST-RANGEHOT", "LATEST-ZIPFIAN")
    plan = make(Declarations(root), "smoke", ["streams"])
    (entry,) = plan.points
    run = plan.runs[entry["run"]]
    assert "recent_keys" not in run.spec
    by_path = {trace.path: trace for trace in plan.traces.values()}
    zipfian = by_path[run.spec["phases"][1]["trace"]].workload
    assert (zipfian["distribution"], zipfian["zipf_constant"]) == ("zipfian", 0.99)
    assert zipfian["recent_fraction"] == 0.01 and "scrambled" not in zipfian


def test_a_run_has_one_range_of_recent_updates(tmp_path: Path) -> None:
    root = _with_streams(tmp_path, "LATEST-KEYRANGE", "LATEST-UNIFORM")
    with pytest.raises(DeclarationError, match="different ranges, one of them LATEST-UNIFORM"):
        make(Declarations(root), "smoke", ["streams"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("workload: WO", "workload: WOO", "phases.run.beside.writer.workload: 'WOO'"),
        ("name: writer", "name: run", "two streams have one name: run, run"),
        ("            workload: WO\n", "", "beside: writer needs workload and operations"),
        ("duration_s: 640", "duration_s: 0", "phases.1.duration_s"),
        (
            "duration_s: 640",
            "warmup_operations: 5",
            "warmup_operations does not go with duration_s or beside",
        ),
        (
            "operations: 2560000}",
            "operations: 2560000, duration_s: 9}",
            "prepare: load has duration_s or beside",
        ),
        (
            "key_order: ordered",
            "key_order: hashed",
            "phases.run.workload: LATEST-RANGEHOT reads a range of keys",
        ),
        ("operations: 640000", "operations: {from: rate}", "takes a value from 'rate'"),
        ("seconds: 128", "seconds: 128, duration_s: 3", "duration_s goes with kind replay"),
    ],
)
def test_a_wrong_stream_is_told_by_file_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    root = _with_streams(tmp_path, old, new)
    with pytest.raises(DeclarationError, match=message) as error:
        make(Declarations(root), "smoke")
    assert "experiments.yaml" in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tree: pristine", "tree: forked", "engines.yaml: engines.pristine.tree"),
        ("engine: ldc", "engine: lcd", "engines.yaml: .*there is no engine 'lcd'"),
        ("  ldc_adaptive:", "  leveldb:", "engines.yaml: .*is the name of an engine already"),
    ],
)
def test_a_wrong_engine_entry_is_told_by_file_and_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    root = checkout.copy(tmp_path)
    checkout.replace(root / "engines/engines.yaml", old, new)
    with pytest.raises(DeclarationError, match=message):
        make(Declarations(root), "smoke")


def test_a_variant_is_its_engine_with_other_options() -> None:
    declarations = Declarations(ROOT)
    plan = make(declarations, "smoke", ["ldc_workloads"])
    runs = {p["engine"]: plan.runs[p["run"]] for p in plan.points if p["point"]["workload"] == "WO"}
    ours, variant = runs["ldc"], runs["ldc_adaptive"]
    assert "ldc_adaptive" not in plan.engines
    assert variant.engine == ours.engine == "ldc"
    changed = declarations.variants["ldc_adaptive"].options
    assert changed
    assert variant.spec["engine"]["options"] == ours.spec["engine"]["options"] | changed


def test_an_engine_that_is_not_here_is_left_out_and_says_why() -> None:
    declarations = Declarations(ROOT)
    absent = {"rocksdb_leveled": "not installed", "rocksdb_universal": "not installed"}
    plan = make(declarations, "small", ["ldc_workloads", "qacp_random"], absent)
    engines = {point["engine"] for point in plan.points}
    assert engines == {"leveldb", "ldc", "ldc_adaptive", "ldc_release"}
    assert plan.thinning["qacp_random"] == (
        "left out: rocksdb_leveled, rocksdb_universal: not installed"
    )
    assert "rocksdb_universal_defaults: not installed" in plan.thinning["ldc_workloads"]
    assert plan.absent == {"qacp_random": "not installed"}


def test_an_engine_is_left_out_where_it_would_not_take_a_size(declarations: Declarations) -> None:
    plan = make(declarations, "smoke", ["ldc_workloads"])
    engines = {point["engine"] for point in plan.points}
    assert "rocksdb_leveled_defaults" in engines
    assert "rocksdb_leveled_8mb_tables" not in engines
    memtable = 4 * 2**20 // plan.scale_entry.factor["LDC"]
    assert plan.thinning["ldc_workloads"].endswith(
        "rocksdb_leveled_8mb_tables, rocksdb_universal_8mb_tables: "
        f"write_buffer_size {memtable}, of which the least is 65536"
    )


def test_options_of_runs_alone_leave_the_database_that_they_start_from_as_it_is() -> None:
    plan = make(Declarations(ROOT), "small", ["qacp_index"])
    first = [p for p in plan.points if (p["engine"], p["repetition"]) == ("rocksdb_leveled", 1)]
    runs = [plan.runs[point["run"]] for point in first]
    assert {run.spec["engine"]["options"]["max_open_files"] for run in runs} == {20, 50000}
    (prepared,) = {run.start_from for run in runs}
    assert prepared is not None
    assert plan.runs[prepared].spec["engine"]["options"]["max_open_files"] == 50000


def test_an_experiment_can_be_sized_apart_from_its_paper() -> None:
    plan = make(Declarations(ROOT), "small", ["ldc_latency", "ldc_skew"])
    factors = {p["experiment"]: p["factor"] for p in plan.points}
    assert factors["ldc_latency"] == plan.scale_entry.factor["LDC latency"]
    assert factors["ldc_skew"] == plan.scale_entry.factor["LDC long"]


def test_an_unknown_experiment_is_named() -> None:
    with pytest.raises(DeclarationError, match="has no 'ldc_fan'"):
        make(Declarations(ROOT), "smoke", ["ldc_fan"])


def _runs(plan: Plan, experiment: str, **point: object) -> list[Run]:
    """List the runs of an experiment at a point, one per engine and repetition."""
    chosen = [entry for entry in plan.points if entry["experiment"] == experiment]
    return [
        plan.runs[entry["run"]]
        for entry in chosen
        if all(entry["point"].get(key) == value for key, value in point.items())
    ]


def test_where_sizes_are_kept_a_scale_divides_operations_only(smoke: Plan) -> None:
    (run,) = _runs(smoke, "pcp_steps_ssd")
    (entry,) = [p for p in smoke.points if p["experiment"] == "pcp_steps_ssd"]
    assert run.spec["engine"]["options"]["write_buffer_size"] == 4194304
    assert run.spec["engine"]["options"]["max_file_size"] == 2097152
    assert run.spec["scale_factor"] == 1  # a sync takes what it takes
    assert run.spec["timeline_interval_ms"] == 1000
    (trace,) = (smoke.traces[name].workload for name in run.trace_ids)
    assert entry["factor"] == smoke.scale_entry.factor["PCP"] > 1
    assert trace["operations"] == trace["records"] == round(50_000_000 / entry["factor"])


def test_a_constant_volume_is_fewer_of_larger_values(smoke: Plan) -> None:
    factor = smoke.scale_entry.factor["PCP sweeps"]
    for size in (64, 1024):
        (run,) = _runs(smoke, "pcp_values_ssd", value_bytes=size)
        workload = smoke.traces[run.trace_ids[0]].workload
        assert workload["value_bytes"] == size
        assert workload["operations"] == round(round(5_000_000_000 / size) / factor)


def test_a_multiple_of_a_swept_value_is_a_whole_number(smoke: Plan) -> None:
    (run,) = _runs(smoke, "pcp_subtasks_ssd", subtask_kib=512)
    value = run.spec["engine"]["options"]["subtask_bytes"]
    assert (value, type(value)) == (524288, int)


def test_experiments_of_pcp_share_the_runs_of_their_common_point(smoke: Plan) -> None:
    (run,) = _runs(smoke, "pcp_steps_ssd")
    assert run in _runs(smoke, "pcp_subtasks_ssd", subtask_kib=512)
    assert run in _runs(smoke, "pcp_entries_ssd", entries=50)
    assert run in _runs(smoke, "pcp_threads_ssd", threads=1)


def test_shingled_disks_differ_in_who_manages_them() -> None:
    devices = Declarations(ROOT).devices
    smr = devices["smr"].parameters
    assert devices["smr_own_bands"].parameters == smr | {"own_bands": True}
    cache = smr["media_cache_bytes"] // 10
    assert devices["smr_small_cache"].parameters == smr | {"media_cache_bytes": cache}
    theirs = {"kind", "band_bytes", "media_cache_bytes", "clean_after_idle_ms"}
    zoned = devices["zoned_smr"].parameters
    assert {key: zoned[key] for key in smr if key not in theirs} == {
        key: smr[key] for key in smr if key not in theirs
    }
    for name in ("hdd_7200", "memory", "pcie_ssd"):  # runs on others keep what they are told
        assert not {*theirs, "own_bands"} - {"kind"} & set(devices[name].parameters)
        assert None not in devices[name].parameters.values()


def test_dlsm_runs_turn_level_1_over_as_often_at_any_scale() -> None:
    for scale in ("smoke", "small"):
        plan = make(Declarations(ROOT), scale, ["dlsm_rangehot", "dlsm_zipfian"])
        factor = plan.scale_entry.factor["DLSM"]
        hot = [p for p in plan.points if p["experiment"] == "dlsm_rangehot"]
        run = next(plan.runs[p["run"]] for p in hot if p["engine"] == "dlsm")
        options = run.spec["engine"]["options"]
        assert options["level_base_bytes"] == round(1048576000 / factor)
        assert options["block_cache_bytes"] == round(524288000 / factor)
        phase = run.spec["phases"][-1]
        (writer,) = phase["beside"]
        written = plan.traces[Path(writer["trace"]).stem].workload
        assert writer["pace"]["rate_ops_s"] == 1000
        assert phase["duration_s"] * 1000 == written["operations"] == 1_500_000 / factor
        # Its trees are prepared once for all workloads, once for each engine and seed.
        starts = {(p["engine"], plan.runs[p["run"]].start_from) for p in plan.points}
        seeds = {run.spec["seed"] for run in plan.runs.values()}
        assert len(starts) == len({p["engine"] for p in hot}) * len(seeds)


@pytest.mark.parametrize("scale", ["smoke", "small", "full", "paper"])
def test_no_open_loop_falls_silent_before_its_phase_ends(scale: ScaleName) -> None:
    plan = make(Declarations(ROOT), scale)
    streams = [
        (phase["duration_s"], stream)
        for run in plan.runs.values()
        for phase in run.spec["phases"]
        if "duration_s" in phase
        for stream in (phase, *phase.get("beside", ()))
        if stream["pace"]["kind"] == "open"
    ]
    assert streams
    for duration_s, stream in streams:
        operations = plan.traces[Path(stream["trace"]).stem].workload["operations"]
        assert operations >= stream["pace"]["rate_ops_s"] * duration_s


def test_the_number_of_disks_comes_from_the_sweep(smoke: Plan) -> None:
    for run in _runs(smoke, "pcp_disks_hdd", disks=5):
        options = run.spec["engine"]["options"]
        assert (options["read_threads"], options["write_threads"]) == (5, 5)
        assert (run.spec["device"]["kind"], run.spec["device"]["members"]) == ("raid0", 5)


def test_only_runs_that_need_them_have_direct_io_and_processors(smoke: Plan) -> None:
    engines = Declarations(ROOT).engines
    through_it = {run.id for name in ("matrix_ssd", "matrix_hdd") for run in _runs(smoke, name)}
    for run in smoke.runs.values():
        direct = engines[run.engine].direct_io and run.id not in through_it
        assert run.spec["engine"].get("direct_io") is (True if direct else None)
    alone = _runs(smoke, "pcp_overhead")
    assert {run.spec["host"]["processors"] for run in alone} == {1}
    assert {run.spec.get("processors") for run in alone} == {None}
    assert {run.spec["host"]["processors"] for run in _runs(smoke, "pcp_entries_ssd")} == {12}
    assert {run.spec.get("processors") for run in _runs(smoke, "parity")} == {None}


def test_the_members_of_an_ensemble_differ_in_one_thing_each(declarations: Declarations) -> None:
    plan = make(declarations, "small", ["pcp_steps_ssd"])
    told = [(point["repetition"], point["varies"]) for point in plan.points]
    assert told == [(1, ""), (2, "seed"), (3, "costs"), (4, "costs"), (5, "ties")]
    first, seed, costs, others, ties = _runs(plan, "pcp_steps_ssd")
    assert seed.trace_ids != first.trace_ids
    assert seed.spec["host"] == first.spec["host"]
    for run in (costs, others, ties):
        assert run.trace_ids == first.trace_ids
    assert ties.spec["host"] == first.spec["host"] | {"ties": "higher"}
    as_fitted = first.spec["host"]["costs_ns"]["background"]
    up, down = (run.spec["host"]["costs_ns"]["background"] for run in (costs, others))
    for work, cost in as_fitted.items():
        assert up[work] * down[work] == pytest.approx(cost**2)
    assert up != as_fitted


def test_of_simulated_experiments_only_whole_ones_are_finished(declarations: Declarations) -> None:
    plan = make(declarations, "small", ["pcp_threads_ssd", "noise"])
    runs = {
        name: [p for p in plan.points if p["experiment"] == name]
        for name in ("noise", "pcp_threads_ssd")
    }
    real, simulated = runs["noise"], runs["pcp_threads_ssd"]
    first, last = real[0]["run"], simulated[-1]["run"]
    assert plan.finished_points(set(plan.runs) - {first, last}) == real[1:]  # one by one
    assert len(plan.finished_points(set(plan.runs) - {first})) == len(plan.points) - 1


def test_members_start_from_the_database_of_their_seed(declarations: Declarations) -> None:
    plan = make(declarations, "small", ["dlsm_scales"])
    runs = _runs(plan, "dlsm_scales")
    bases = {run.start_from for run in runs}
    by_seed = {plan.runs[base].spec["repetition"] for base in bases if base is not None}
    assert None not in bases and by_seed == {1, 2}
    for base in bases:
        assert plan.runs[base].spec["host"]["ties"] == "lower"
        costs = {json.dumps(run.spec["host"]["costs_ns"]) for run in runs if run.start_from == base}
        assert len(costs) == (3 if plan.runs[base].spec["repetition"] == 1 else 1)


def test_real_time_is_held_against_costs_as_they_are_fitted(declarations: Declarations) -> None:
    plan = make(declarations, "small", ["time_ssd", "time_ssd_here"])
    members = {(p["experiment"], p["repetition"], p["varies"]) for p in plan.points}
    assert members == {("time_ssd", 1, ""), ("time_ssd", 2, ""), ("time_ssd_here", 1, "")}


def test_on_a_real_disk_time_is_real_and_repeated() -> None:
    plan = make(Declarations(ROOT), "small", ["pcp_steps_ssd"], host=Host(disk="ssd"))
    assert [(point["repetition"], point["varies"]) for point in plan.points] == [
        (number, "") for number in range(1, 6)
    ]
    assert not any(run.simulated for run in plan.runs.values())


@pytest.mark.parametrize("scale", ["smoke", "small", "full", "paper"])
def test_the_limit_of_deletions_is_of_our_experiments_alone(scale: ScaleName) -> None:
    declarations = Declarations(ROOT)
    with_own_tree = {
        name
        for name, entry in declarations.engines.items()
        if entry.tree == "patched" and "leveldb/leveled_picker.cc" not in entry.sources
    }
    plan = make(declarations, scale)
    limits: dict[tuple[bool, bool], set[object]] = {}
    for point in plan.points:
        experiment = declarations.experiments[point["experiment"]]
        options = plan.runs[point["run"]].spec["engine"]["options"]
        limit = options.get("deletions_limit_percent", "its default")
        has_it = declarations.engine_of(point["engine"]) in with_own_tree
        if point["experiment"] != "queue_unlimited":
            limits.setdefault((experiment.paper == OURS, has_it), set()).add(limit)
    default = {"its default"}
    assert limits == {
        (False, True): {0},
        (False, False): default,
        (True, True): default,
        (True, False): default,
    }


def test_a_queue_holds_what_its_load_left_at_any_scale() -> None:
    for scale in ("smoke", "small"):
        plan = make(Declarations(ROOT), scale, ["queue", "queue_unlimited", "queue_upstream"])
        for point in plan.points:
            load, run = (plan.traces[trace].workload for trace in plan.runs[point["run"]].trace_ids)
            assert (
                load["operations"]
                == run["records"]
                == point["point"]["live_mib"] * 1024 / (plan.scale_entry.factor["queue"])
            )
            through = run["operations"] / 2 / run["records"]
            assert through == {8: 64, 40: 12.8}[point["point"]["live_mib"]]
            assert (run["class"], run["distribution"]) == ("queue", "oldest")
        engines = {(point["experiment"], point["engine"]) for point in plan.points}
        assert ("queue_upstream", "pristine") in engines
