"""Raw run directories and the plan become the tidy tables of one scale.

One row per (run, phase, metric), per interval, per kind of compaction, per span of work of one
compaction, per profiled function group. Rows are sorted and numbers have a fixed format, so the
same runs give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recompact.cache_timeline import cache_metrics
from recompact.errors import RecompactError
from recompact.jobs import NATIVE
from recompact.metrics import COMPUTE_STEPS, DEVICE_STEPS, STEP_SHARES
from recompact.statistics import NoiseFloor

EXPERIMENT_COLUMNS = [
    *("experiment", "run", "engine", "repetition", "varies", "point", "scale_factor", "profiled")
]
RUN_COLUMNS = ["run", "phase", "metric", "value", "unit"]
PHASE_COLUMNS = ["run", "phase", "workload", "trace"]
TIMELINE_COLUMNS = [
    *("run", "phase", "time_s", "operations", "reads", "writes", "scans", "mean_latency_us"),
    *("mean_read_latency_us", "mean_write_latency_us", "max_latency_us", "block_cache_hits"),
    *("block_cache_misses", "stall_us", "live_bytes", "frozen_bytes", "slice_bytes"),
    *("pinned_bytes", "pending_bytes", "obsolete_bytes", "device_read_bytes"),
    *("device_write_bytes", "device_queue_us", "cache_invalidated_blocks", "buffer_bytes"),
    "level_files",
]
COMPACTION_COLUMNS = [
    *("run", "type", "reason", "level", "count", "inputs_upper", "inputs_lower", "bytes_read"),
    *("bytes_read_upper", "bytes_written", "total_bytes_p10", "total_bytes_p50"),
    *("total_bytes_p90", "micros", "micros_max"),
]
EVENT_COLUMNS = [
    *("run", "end_s", "duration_s", "type", "reason", "level", "inputs_upper", "inputs_lower"),
    *("bytes_read_upper", "bytes_read_lower", "bytes_written"),
]
SPAN_COLUMNS = ["run", "compaction", "subtask", "stage", "thread", "begin_us", "end_us"]
PROFILE_COLUMNS = ["run", "engine", "workload", "module", "function_group", "samples", "share"]
NOISE_COLUMNS = ["metric", "engine_a", "engine_b", "pairs", "floor"]
SPECIFICATION_COLUMNS = [
    *("run", "engine", "host", "date", "tree", "engine_options", "device", "conditions", "build"),
    "suspect",
]

EVENT_KEYS = (
    *("type", "reason", "level", "inputs_upper", "inputs_lower", "bytes_read_upper"),
    *("bytes_read_lower", "bytes_written", "micros"),
)
NOISE_EXPERIMENTS = ("noise", "parity")
NOISE_PHASES = ("run", "read")  # a run's metric is taken from the first that has it
ANY_ENGINE = "any"
TABLE_SPACE = ("live_bytes", "pinned_bytes", "pending_bytes", "obsolete_bytes")
PAPER_SSTABLE_BYTES = 2**21  # of every paper, and LevelDB's own
FLOAT_FORMAT = "%.10g"
# Of a stream's rate, below which a phase beside it had another load than it should.
SERVED_SHARE = 0.95
TEXT_COLUMNS = ("run", "trace", "tree", "suspect", "level_files", "varies")
SIMULATED = "simulated "  # how the label of a simulated host begins
SIMULATION = "simulation"  # in place of a phase: real time of the machine that simulates

ModelT = TypeVar("ModelT", bound=BaseModel)


class TableError(RecompactError):
    """Raw data lack a file, column or cell; the message names it and says what to do."""


class _Record(BaseModel):
    """Part of a generated file: what the tables need is required, the rest is let through."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class PlannedRun(_Record):
    """One run of the plan: what it is for, which engine was built, whether its events are kept."""

    experiment: str
    run: str
    engine: str
    built: str
    repetition: int
    varies: str = ""
    point: dict[str, str | bool | int | float]
    factor: float
    profile: bool
    events: bool = False


class RunPlan(_Record):
    """The runs of one scale.

    Attributes
    ----------
    scale : str
        smoke, small or paper.
    thinning : dict of str to str
        Per thinned experiment, what was left out of its sweep.
    absent : dict of str to str
        Per experiment that has no run since none of its engines can be had, why.
    runs : tuple of PlannedRun
        All runs; one run may serve several experiments. A profiled run stands beside the timed
        repetitions and may have been skipped where the host does not allow it.
    """

    scale: str
    thinning: dict[str, str]
    absent: dict[str, str] = {}
    runs: tuple[PlannedRun, ...]


class ProfileStatus(_Record):
    """The content of profile.json: whether a run could be profiled."""

    status: str
    reason: str


class TraceRecord(_Record):
    """The trace that a phase replayed."""

    crc32c: int


class StreamRecord(_Record):
    """What one stream of operations measured."""

    name: str
    duration_s: float
    operations: int | None = None
    throughput_ops_s: float | None = None
    latency_us: dict[str, dict[str, float | None]] = {}


class PhaseRecord(StreamRecord):
    """What one phase of a run measured: its own stream, those beside it, and the engine."""

    kind: str
    counters: dict[str, float]
    trace: TraceRecord | None = None
    levels: list[dict[str, float]] = []
    space: dict[str, float] = {}
    beside: list[StreamRecord] = []
    turnovers: float | None = None


class EngineSpecification(_Record):
    """Engine of a run and its options."""

    id: str
    options: dict[str, Any]


class PaceSpecification(_Record):
    """When operations are issued: one after another, or at a rate."""

    rate_ops_s: float | None = None


class StreamSpecification(_Record):
    """What a stream of operations was told to do."""

    name: str
    workload: str = ""
    pace: PaceSpecification = PaceSpecification()


class PhaseSpecification(StreamSpecification):
    """What a phase was told to do; only a replay has a workload."""

    beside: list[StreamSpecification] = []


class SimulatedHost(_Record):
    """What a run was told of a simulated host."""

    id: str
    processors: int


class RunSpecification(BaseModel):
    """Specification of a run, as the driver copied it; all keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    engine: EngineSpecification
    host: SimulatedHost | None = None
    device: dict[str, Any]
    runtime: str = NATIVE
    scale_factor: float
    seed: int
    phases: list[PhaseSpecification]


class EngineBuild(_Record):
    """How the engine's binary came about."""

    build: dict[str, Any]


class DriverRecord(_Record):
    """The driver's source."""

    source_hash: str


class RunRecord(_Record):
    """The content of run.json."""

    run: str
    spec: RunSpecification
    host: dict[str, Any]
    started: str
    engine: EngineBuild
    driver: DriverRecord
    phases: list[PhaseRecord] = Field(min_length=1)
    simulating_s: float | None = None
    suspect: list[str] = []

    def doubts(self) -> Iterator[str]:
        """Yield why the run may not be what it should be.

        These are the driver's reasons, and streams beside a phase that were served so much more
        slowly than they were issued that the phase did not see the load that was asked for.
        """
        yield from self.suspect
        told = {phase.name: phase.beside for phase in self.spec.phases}
        for phase in self.phases:
            rates = {stream.name: stream.pace.rate_ops_s for stream in told.get(phase.name, [])}
            for stream in phase.beside:
                rate, served = rates.get(stream.name), stream.throughput_ops_s
                if rate and served is not None and served < SERVED_SHARE * rate:
                    yield (
                        f"{phase.name}.{stream.name} was served at {served:.0f} "
                        f"of {rate:.0f} operations per second"
                    )


def build(raw_dir: Path, plan_path: Path, out_dir: Path) -> None:
    """Write the tidy tables of one scale.

    Parameters
    ----------
    raw_dir : Path
        Folder of run directories, ``<raw_dir>/<run>/run.json`` and its neighbours.
    plan_path : Path
        The plan (JSON), see `RunPlan`.
    out_dir : Path
        Receives experiments.csv, runs.csv, phases.csv, timeline.csv, compactions.csv, events.csv,
        spans.csv, profile.csv, noise.csv, specifications.csv and scale.json.

    Raises
    ------
    TableError
        If a planned run, a column or a cell is missing.
    """
    plan = read_json(plan_path, RunPlan)
    skipped = skipped_profiles(raw_dir, plan)
    engines = {entry.run: entry.built for entry in plan.runs if entry.run not in skipped}
    directories = {run: raw_dir / run for run in sorted(engines)}
    records = {run: read_run(directory) for run, directory in directories.items()}
    timelines = {run: read_timeline(directory) for run, directory in directories.items()}
    for run, record in records.items():
        if (record.run, record.spec.engine.id) != (run, engines[run]):
            raise TableError(
                f"{directories[run] / 'run.json'}: run {record.run} of engine "
                f"{record.spec.engine.id}, but the plan says run {run} of engine "
                f"{engines[run]}; remove the directory and run again"
            )

    experiments = experiments_table(plan)
    runs = runs_table(records, timelines)
    kept = sorted({entry.run for entry in plan.runs if entry.events})
    events = (read_events(directories[run]) for run in kept)
    spans = (read_spans(directory) for directory in directories.values())
    profiles = (read_profile(directory) for directory in directories.values())
    out_dir.mkdir(parents=True, exist_ok=True)
    write(experiments, out_dir / "experiments.csv")
    write(runs, out_dir / "runs.csv")
    write(phases_table(records), out_dir / "phases.csv")
    write(concatenate(timelines.values(), TIMELINE_COLUMNS), out_dir / "timeline.csv")
    write(compactions_table(directories.values()), out_dir / "compactions.csv")
    write(concatenate(events, EVENT_COLUMNS), out_dir / "events.csv")
    write(concatenate(spans, SPAN_COLUMNS), out_dir / "spans.csv")
    write(concatenate(profiles, PROFILE_COLUMNS), out_dir / "profile.csv")
    write(noise_table(experiments, runs), out_dir / "noise.csv")
    write(specifications_table(records), out_dir / "specifications.csv")
    scale = {
        "scale": plan.scale,
        "thinning": plan.thinning,
        "absent": plan.absent,
        "skipped_profiles": skipped,
    }
    text = json.dumps(scale, indent=1, sort_keys=True) + "\n"
    (out_dir / "scale.json").write_text(text, encoding="utf-8")


def skipped_profiles(raw_dir: Path, plan: RunPlan) -> dict[str, str]:
    """Tell which profiled runs the host did not allow, and why."""
    skipped = {}
    for entry in plan.runs:
        directory = raw_dir / entry.run
        if entry.profile and not (directory / "run.json").exists():
            status = read_json(directory / "profile.json", ProfileStatus)
            skipped[entry.run] = status.reason
    return skipped


def read_json(path: Path, model: type[ModelT]) -> ModelT:
    """Read a generated JSON file into its model; mistakes name the file and the key."""
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such file; finish the run that writes it") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "(whole file)"
        raise TableError(f"{path}: {key}: {first['msg']}; run again") from error


def canonical(value: Mapping[str, Any]) -> str:
    """Render a mapping as canonical JSON (sorted keys)."""
    return json.dumps(value, sort_keys=True)


def experiments_table(plan: RunPlan) -> pd.DataFrame:
    """Tell which run serves which experiment, at which point and repetition."""
    rows = [
        (
            *(entry.experiment, entry.run, entry.engine, entry.repetition, entry.varies),
            *(canonical(entry.point), entry.factor, int(entry.profile)),
        )
        for entry in plan.runs
    ]
    return sort(pd.DataFrame(rows, columns=EXPERIMENT_COLUMNS))


def read_run(directory: Path) -> RunRecord:
    """Read run.json and check that each replay phase tells what it must."""
    path = directory / "run.json"
    record = read_json(path, RunRecord)
    for phase in record.phases:
        for key in ("trace", "operations", "throughput_ops_s", "latency_us"):
            if phase.kind == "replay" and not getattr(phase, key):
                raise TableError(f"{path}: phase {phase.name}: {key} is missing; run again")
        for stream in phase.beside:
            for key in ("operations", "throughput_ops_s", "latency_us"):
                if not getattr(stream, key):
                    raise TableError(
                        f"{path}: phase {phase.name}, beside {stream.name}: {key} is missing; "
                        f"run again"
                    )
    return record


def read_timeline(directory: Path) -> pd.DataFrame:
    """Read timeline.csv of a run, one row per interval."""
    frame = read_table(directory / "timeline.csv", TIMELINE_COLUMNS[1:])
    return frame.assign(run=directory.name)[TIMELINE_COLUMNS]


def compactions_table(directories: Iterable[Path]) -> pd.DataFrame:
    """Aggregate events.jsonl of the runs per type, reason and level.

    Returns
    -------
    DataFrame
        `COMPACTION_COLUMNS`: counts, summed bytes and microseconds, quantiles of the bytes read
        and written by one event, and the longest event. No rows of an engine without event log.
    """
    logs = [(directory.name, directory / "events.jsonl") for directory in directories]
    read = {run: pd.DataFrame(_read_events(log, EVENT_KEYS)) for run, log in logs if log.exists()}
    filled = [events.assign(run=run) for run, events in read.items() if not events.empty]
    if not filled:
        return pd.DataFrame(columns=COMPACTION_COLUMNS)
    events = pd.concat(filled, ignore_index=True)
    events["bytes_read"] = events.bytes_read_upper + events.bytes_read_lower
    events["total_bytes"] = events.bytes_read + events.bytes_written
    groups = events.groupby(["run", "type", "reason", "level"])
    table = groups.agg(
        count=("micros", "size"),
        inputs_upper=("inputs_upper", "sum"),
        inputs_lower=("inputs_lower", "sum"),
        bytes_read=("bytes_read", "sum"),
        bytes_read_upper=("bytes_read_upper", "sum"),
        bytes_written=("bytes_written", "sum"),
        micros=("micros", "sum"),
        micros_max=("micros", "max"),
    )
    for percent in (10, 50, 90):
        table[f"total_bytes_p{percent}"] = groups.total_bytes.quantile(percent / 100)
    return sort(table.reset_index()[COMPACTION_COLUMNS])


def read_events(directory: Path) -> pd.DataFrame:
    """Read every event of a run: when it ended since the database was opened, and how long it took.

    Returns
    -------
    DataFrame
        `EVENT_COLUMNS`; `level` is the one that receives the bytes. Empty for an engine without an
        event log.
    """
    path = directory / "events.jsonl"
    events = pd.DataFrame(_read_events(path, ("t_us", *EVENT_KEYS)) if path.exists() else [])
    if events.empty:
        return pd.DataFrame(columns=EVENT_COLUMNS)
    return events.assign(
        run=directory.name, end_s=events.t_us / 1e6, duration_s=events.micros / 1e6
    )[EVENT_COLUMNS]


def read_spans(directory: Path) -> pd.DataFrame:
    """Read what the threads of one compaction of a run did, and when.

    Of the longer half of the run's compactions it is the one with the median number of sub-tasks,
    the earlier of equals: a long one shows the stages at work, and the median is no outlier.

    Returns
    -------
    DataFrame
        `SPAN_COLUMNS`: the number of the compaction in the log, and spans in microseconds from its
        beginning. Empty for an engine whose events have no spans.
    """
    path = directory / "events.jsonl"
    lines = path.read_text(encoding="utf-8") if path.exists() else ""
    if '"spans"' not in lines:
        return pd.DataFrame(columns=SPAN_COLUMNS)
    keys = ("micros", "subtasks", "spans")
    logged = enumerate(_read_events(path, keys, only_with="spans"))
    found = [(number, event) for number, event in logged if event["spans"]]
    if not found:
        return pd.DataFrame(columns=SPAN_COLUMNS)
    longest = sorted(found, key=lambda one: -one[1]["micros"])[: (len(found) + 1) // 2]
    ranked = sorted(longest, key=lambda one: (one[1]["subtasks"], one[0]))
    number, event = ranked[(len(ranked) - 1) // 2]
    spans = pd.DataFrame(event["spans"], columns=SPAN_COLUMNS[2:])
    return spans.assign(run=directory.name, compaction=number)[SPAN_COLUMNS]


def read_profile(directory: Path) -> pd.DataFrame:
    """Read profile.csv of a profiled run; empty for all others."""
    path = directory / "profile.csv"
    if not path.exists():
        return pd.DataFrame(columns=PROFILE_COLUMNS)
    return read_table(path, PROFILE_COLUMNS)


def runs_table(
    records: Mapping[str, RunRecord], timelines: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Tell every metric of every phase of every run, one per row.

    What a stream beside a phase did stands as a phase of its own, ``<phase>.<stream>``; what
    counters and the timeline tell is of the phase with all its streams. What simulating a run took
    stands as a phase `SIMULATION`.
    """
    rows: list[tuple[Any, ...]] = []
    for run, record in records.items():
        nothing = timelines[run].iloc[:0]
        by_phase = dict(iter(timelines[run].groupby("phase")))
        for phase in with_debts(record.phases):
            intervals = by_phase.get(phase.name, nothing)
            metrics = dict(phase_metrics(phase)) | dict(fluctuation_metrics(intervals))
            metrics |= dict(space_metrics(intervals)) | dict(cache_metrics(intervals))
            metrics |= dict(buffer_metrics(phase, intervals))
            metrics |= dict(run_metrics(intervals)) | dict(low_metrics(intervals))
            metrics["suspect"] = float(any(record.doubts()))
            told = {phase.name: metrics} | {
                f"{phase.name}.{stream.name}": dict(stream_metrics(stream))
                for stream in phase.beside
            }
            rows += [
                (run, name, metric, value, unit(metric))
                for name, metrics in told.items()
                for metric, value in metrics.items()
            ]
        if record.simulating_s is not None:
            rows.append((run, SIMULATION, "processor_s", record.simulating_s, "s"))
    return sort(pd.DataFrame(rows, columns=RUN_COLUMNS))


def phases_table(records: Mapping[str, RunRecord]) -> pd.DataFrame:
    """Tell what each phase of each run replayed, and so did each stream beside it.

    Phases without a workload, and together with the `wait_idle` after them, have none.
    """
    rows = []
    for run, record in records.items():
        crcs = {phase.name: f"{phase.trace.crc32c:08x}" for phase in record.phases if phase.trace}
        rows += [
            (run, name, workload, crcs.get(name, ""))
            for name, workload in _workloads(record.spec.phases)
            if workload
        ]
    return sort(pd.DataFrame(rows, columns=PHASE_COLUMNS))


def _workloads(phases: Iterable[PhaseSpecification]) -> Iterator[tuple[str, str]]:
    """Yield the workload of each phase, and of each stream beside it as ``phase.stream``."""
    for phase in phases:
        yield phase.name, phase.workload
        for stream in phase.beside:
            yield f"{phase.name}.{stream.name}", stream.workload


def with_debts(phases: Sequence[PhaseRecord]) -> Iterator[PhaseRecord]:
    """Yield the phases, and each replay together with the `wait_idle` right after it.

    ``load+settle`` holds what ``load`` cost with the compactions that it left to be done, which
    are more where compactions are slower than writes.
    """
    yield from phases
    for first, second in pairwise(phases):
        if (first.kind, second.kind) == ("replay", "wait_idle"):
            yield PhaseRecord(
                name=f"{first.name}+{second.name}",
                kind="replay+wait_idle",
                duration_s=first.duration_s + second.duration_s,
                counters={
                    name: value + second.counters[name]
                    for name, value in first.counters.items()
                    if name in second.counters
                },
                trace=first.trace,
                levels=second.levels,
                space=second.space,
            )


def stream_metrics(stream: StreamRecord) -> Iterator[tuple[str, float]]:
    """Yield what a stream of operations tells: how long, how many, how fast."""
    yield "duration_s", stream.duration_s
    if stream.operations is not None and stream.throughput_ops_s is not None:
        yield "operations", stream.operations
        yield "throughput_ops_s", stream.throughput_ops_s
    for operation, statistics in stream.latency_us.items():
        for name, value in statistics.items():
            if value is not None and statistics.get("count"):
                suffix = "count" if name == "count" else f"{name}_us"
                yield f"latency_{operation}_{suffix}", value


def phase_metrics(phase: PhaseRecord) -> Iterator[tuple[str, float]]:
    """Yield the metrics that a phase tells directly or by a ratio of its counters.

    ``write_amplification`` is bytes of tables written per user byte written;
    ``_device`` and ``_process`` are all bytes that the device and the process wrote (log and
    MANIFEST included) per user byte. ``read_amplification`` is bytes of blocks read for the
    user per user byte read, ``compaction_read_amplification`` bytes read by compactions per
    user byte written, ``tables_per_get`` Bloom filters asked and ``blocks_per_get`` data blocks
    looked at per get (phases without scans). ``compaction_io_bytes`` is what flushes write and
    compactions read and write; ``filter_bytes_per_sstable`` is per 2 MiB of tables written, so
    that scale models can be compared; ``space_table_bytes`` is every table on the device. Shares
    of a compaction's steps are of the work of all threads, syncs counted to the write step;
    ``compaction_bandwidth_bytes_s`` is bytes of all inputs per second (E30) from the beginning of
    a compaction to its end, memtables that its thread flushes meanwhile included;
    ``compaction_only_bandwidth_bytes_s`` leaves out the time in which a compaction stands still
    for them, as upstream's statistics and PCP's equations do. A pipeline never stands still, so
    the first compares what a compaction takes, and the second is to the pipeline's disadvantage.
    ``compaction_bytes_mean`` is what one compaction reads and writes.
    The queues' means are sub-tasks that wait.

    A shingled disk tells ``auxiliary_write_amplification`` (AWA), the bytes that it wrote, cleaning
    included, per byte that its host wrote to it, and ``overall_write_amplification`` (MWA),
    ``write_amplification`` times AWA, as LWC has it. What is in its media cache when a phase ends
    (``device_media_cache_bytes``) is not in them: it is cleaned later.

    ``hit_ratio`` is of the blocks that users look at; ``disk_accesses_per_get`` are those that the
    block cache does not have. ``upper_tables_per_get`` leaves out one filter, that of the last
    level, where most gets of a full tree end. ``filter_error_rate`` is of the filters asked for a
    key that they do not cover, those that say otherwise. ``files_per_scan`` are the tables that a
    user's iterator touches. ``metadata_share`` is what tables hold beside their data blocks,
    indexes and filters, as compactions tell that find no block in the cache. ``turnovers`` is how
    often level 1 was rewritten; ``upper_tree_share`` is of the bytes in levels, those above the
    last one that has data. Gets are those of all streams of a phase. A ratio whose parts are absent
    is left out.
    """
    yield from stream_metrics(phase)
    yield from phase.counters.items()
    if phase.turnovers is not None:
        yield "turnovers", phase.turnovers
    for name, value in phase.space.items():
        yield f"space_{name}", value
    yield "space_table_bytes", sum(phase.space.get(name, 0) for name in TABLE_SPACE)
    tree = sum(level["bytes"] for level in phase.levels)
    yield "space_tree_bytes", tree
    if tree > 0:
        last = max((level["level"], level["bytes"]) for level in phase.levels if level["files"])
        yield "upper_tree_share", 1 - last[1] / tree
    for level in phase.levels:
        if level["level"] == 0 or level["files"]:
            yield f"level_{int(level['level'])}_files", level["files"]
            yield f"level_{int(level['level'])}_bytes", level["bytes"]

    count = dict(phase.counters)
    count["seconds"] = phase.duration_s
    streams = (phase, *phase.beside)
    if not any(_operations(stream, "scan") for stream in streams):
        count["gets"] = sum(_operations(stream, "read") for stream in streams)
    hits, misses = count.get("block_cache_hits"), count.get("block_cache_misses")
    if hits is not None and misses is not None:
        count["blocks_looked_at"] = hits + misses
    if "bloom_checks" in count and "gets" in count:
        count["upper_bloom_checks"] = max(count["bloom_checks"] - count["gets"], 0)
    if "bloom_negatives" in count and "bloom_false_positives" in count:
        count["keys_not_there"] = count["bloom_negatives"] + count["bloom_false_positives"]
    if "compaction_bytes_read" in count and "compaction_block_read_bytes" in count:
        data = count["compaction_block_read_bytes"]
        count["metadata_bytes"] = max(count["compaction_bytes_read"] - data, 0)
    if "compaction_bytes_read" in count and "compaction_bytes_written" in count:
        count["compaction_bytes"] = count["compaction_bytes_read"]
        count["compaction_bytes"] += count["compaction_bytes_written"]
    count["compaction_io_bytes"] = count.get("table_bytes_written", 0) + count.get(
        "compaction_bytes_read", 0
    )
    yield "compaction_io_bytes", count["compaction_io_bytes"]
    count["steps_us"] = sum(count.get(name, 0) for name in (*DEVICE_STEPS, *COMPUTE_STEPS))
    compacting = count.get("compaction_us", 0)
    count["compacting_seconds"] = compacting / 1e6
    count["compaction_seconds"] = (compacting + count.get("compaction_flush_us", 0)) / 1e6
    # Without sub-tasks nothing waits for a stage.
    count["pipeline_us"] = compacting * bool(count.get("compaction_subtasks"))
    count["sstables_written"] = count.get("table_bytes_written", 0) / PAPER_SSTABLE_BYTES
    ratios = {
        "write_amplification": (["table_bytes_written"], "user_bytes_written"),
        "write_amplification_device": (["device_write_bytes"], "user_bytes_written"),
        "write_amplification_process": (["process_write_bytes"], "user_bytes_written"),
        "auxiliary_write_amplification": (
            ["device_write_bytes", "device_cleaning_write_bytes"],
            "device_write_bytes",
        ),
        "compaction_read_amplification": (["compaction_bytes_read"], "user_bytes_written"),
        "compaction_bytes_mean": (["compaction_bytes"], "compaction_count"),
        "read_amplification": (["block_read_bytes"], "user_bytes_read"),
        "filter_share": (["filter_bytes_written"], "table_bytes_written"),
        "filter_bytes_per_sstable": (["filter_bytes_written"], "sstables_written"),
        "tables_per_get": (["bloom_checks"], "gets"),
        "upper_tables_per_get": (["upper_bloom_checks"], "gets"),
        "filter_error_rate": (["bloom_false_positives"], "keys_not_there"),
        "blocks_per_get": (["blocks_looked_at"], "gets"),
        "disk_accesses_per_get": (["block_cache_misses"], "gets"),
        "buffer_get_share": (["gets_from_buffer"], "gets"),
        "hit_ratio": (["block_cache_hits"], "blocks_looked_at"),
        "cache_invalidated_blocks_per_s": (["cache_invalidated_blocks"], "seconds"),
        "files_per_scan": (["scan_tables"], "scan_count"),
        "metadata_share": (["metadata_bytes"], "compaction_bytes_read"),
        "write_throughput_bytes_s": (["user_bytes_written"], "seconds"),
        "read_throughput_bytes_s": (["user_bytes_read"], "seconds"),
        "block_read_throughput_bytes_s": (["block_read_bytes"], "seconds"),
        "compaction_bandwidth_bytes_s": (["compaction_bytes_read"], "compaction_seconds"),
        "compaction_only_bandwidth_bytes_s": (["compaction_bytes_read"], "compacting_seconds"),
        "compaction_output_bandwidth_bytes_s": (["compaction_bytes_written"], "compaction_seconds"),
        "subtasks_per_compaction": (["compaction_subtasks"], "compaction_count"),
        "read_queue_mean": (["compaction_readq_us"], "pipeline_us"),
        "write_queue_mean": (["compaction_writeq_us"], "pipeline_us"),
        **{metric: (list(names), "steps_us") for metric, names in STEP_SHARES.items()},
    }
    told = {
        metric: sum(count[part] for part in parts) / count[whole]
        for metric, (parts, whole) in ratios.items()
        if count.get(whole) and all(part in count for part in parts)
    }
    yield from told.items()
    if "write_amplification" in told and "auxiliary_write_amplification" in told:
        yield (
            "overall_write_amplification",
            told["write_amplification"] * told["auxiliary_write_amplification"],
        )


def _operations(stream: StreamRecord, operation: str) -> float:
    """Tell how many operations of a kind a stream had."""
    return (stream.latency_us.get(operation) or {}).get("count") or 0


def buffer_metrics(phase: PhaseRecord, intervals: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield what dLSM's compaction buffer takes at most over a phase, as a share of the tree.

    The tree is all levels at the end of the phase: tables of the buffer alone are not in it.
    """
    tree = sum(level["bytes"] for level in phase.levels)
    largest = intervals.buffer_bytes.max()
    if tree > 0 and largest > 0:
        yield "buffer_share_max", float(largest) / tree


def fluctuation_metrics(intervals: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield how far the mean latency per interval swings: largest over smallest (LDC Fig. 1)."""
    for operation in ("read", "write"):
        smallest, largest = latency_extremes(intervals, operation)
        if smallest > 0:
            yield f"{operation}_latency_fluctuation", largest / smallest


def space_metrics(intervals: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield what tables take at most over a phase, and how much of it in frozen tables (LDC III-D).

    ``space_peak_bytes`` is what a device must hold: every table, those that a compaction is
    writing or that wait to be deleted included; ``space_mean_bytes`` is its mean over the
    intervals, and ``space_overhead_max`` at most how often it holds what is live.
    ``space_late_peak_bytes`` is the peak of the second half of the phase, when what a database
    began with is gone and a bound on its space shows.
    ``useless_share_max`` counts of the frozen bytes only those outside of every slice: merged
    already, but in tables with slices that are still needed. Shares are of all live table bytes.
    Engines without seams have none of these, engines without frozen tables no share.
    """
    tables = intervals[intervals.live_bytes > 0]
    if not tables.empty:
        held = tables[list(TABLE_SPACE)].sum(axis=1)
        yield "space_peak_bytes", float(held.max())
        yield "space_mean_bytes", float(held.mean())
        yield "space_overhead_max", float((held / tables.live_bytes).max())
        late = tables.time_s >= intervals.time_s.max() / 2
        yield "space_late_peak_bytes", float(held[late].max())
    frozen = tables[tables.frozen_bytes > 0]
    if not frozen.empty:
        yield "frozen_share_max", float((frozen.frozen_bytes / frozen.live_bytes).max())
        useless = (frozen.frozen_bytes - frozen.slice_bytes).clip(lower=0)
        yield "useless_share_max", float((useless / frozen.live_bytes).max())


def files_of_levels(text: str) -> list[int]:
    """Read how many tables each level has, from level 0 on, as the timeline tells: "4 9 71"."""
    return [int(files) for files in text.split()]


def sorted_runs(files: Sequence[int]) -> int:
    """Count the tables of level 0 and the levels below it that have any."""
    return files[0] + sum(count > 0 for count in files[1:])


def run_metrics(intervals: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield how many tables level 0 has at most over a phase, and how many sorted runs the tree."""
    levels = [files_of_levels(text) for text in intervals.level_files.dropna()]
    if levels:
        yield "level_0_files_max", max(files[0] for files in levels)
        yield "sorted_runs_max", max(sorted_runs(files) for files in levels)


def low_metrics(intervals: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield for how many seconds throughput stays below half of its median, at most (QACP Fig. 2e).

    The median is of the intervals of the phase, and nothing shorter than one of them can be seen: a
    phase without such a period tells the length of an interval. A phase without operations has no
    such metric.
    """
    if intervals.operations.sum() == 0:
        return
    seconds = intervals.time_s.diff().fillna(intervals.time_s.iloc[0])
    throughput = intervals.operations / seconds
    low = throughput < throughput.median() / 2
    periods = seconds.where(low, 0.0).groupby((~low).cumsum()).sum()
    yield "low_throughput_s", max(float(periods.max()), float(seconds.median()))


def latency_extremes(intervals: pd.DataFrame, operation: str) -> tuple[float, float]:
    """Find the smallest and largest mean latency per interval.

    The last interval is cut short by the end of the phase and left out. The smallest is taken
    from the intervals with at least the median number of operations: one that a stall leaves
    with a handful of operations tells its mean badly.

    Parameters
    ----------
    intervals : DataFrame
        timeline.csv of one phase of one run.
    operation : str
        read or write.

    Returns
    -------
    tuple of float
        Smallest and largest in microseconds; zeros if there was no such operation.
    """
    whole = intervals.iloc[:-1]
    whole = whole[whole[f"{operation}s"] > 0]
    if whole.empty:
        return 0.0, 0.0
    means = whole[f"mean_{operation}_latency_us"]
    count = whole[f"{operation}s"]
    return float(means[count >= count.median()].min()), float(means.max())


def unit(metric: str) -> str:
    """Tell the unit of a metric from its name: us, s, ops/s, 1/s, B, B/s or 1."""
    if metric.endswith("_ops_s"):
        return "ops/s"
    if metric.endswith("_bytes_s"):
        return "B/s"
    if metric.endswith("_us"):
        return "us"
    if metric.endswith("_per_s"):
        return "1/s"
    if metric.endswith("_s"):
        return "s"
    if "amplification" not in metric and "bytes" in metric:
        return "B"
    return "1"


def host_label(host: Mapping[str, Any], disk: str = "", runtime: str = NATIVE) -> str:
    """Describe a host without naming it: processor, cores, memory, kernel, file system.

    To these come the kind of a real disk and the runtime of containers.
    """
    gibibytes = round(float(host.get("memory_bytes", 0)) / 2**30)
    parts = [
        f"{host.get('cores', '?')} x {processor_label(host)}",
        f"{gibibytes} GiB",
        str(host.get("kernel", "unknown kernel")).split("-")[0],
        str(host.get("filesystem", "unknown file system")) + (f" on {disk}" if disk else ""),
    ]
    if runtime != NATIVE:
        parts.append(runtime)
    return ", ".join(parts)


def processor_label(host: Mapping[str, Any]) -> str:
    """Describe a processor.

    One name may stand for processors of several generations, which their family and model tell
    apart; a record of an older driver has neither.
    """
    processor = str(host.get("cpu", "unknown processor"))
    if host.get("cpu_family", "unknown") != "unknown":
        processor += f" (family {host['cpu_family']}, model {host['cpu_model']})"
    return processor


def simulated_host_label(host: SimulatedHost) -> str:
    """Describe a simulated host, which is the same whatever machine simulates it."""
    return f"{SIMULATED}{host.id}, {host.processors} processors"


def noise_table(experiments: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Tell how far identical runs differ, per metric (see `NoiseFloor`).

    Within a repetition of an experiment, the copies of one engine make A/A pairs: a row per
    engine, and one of all pairs together (engine `ANY_ENGINE`) that verdicts use. The first copies
    of two engines make a pair of engines that should behave alike.
    Metrics that are zero or absent in a run of a pair have no log ratio and no row.
    """
    order = runs.phase.map({phase: place for place, phase in enumerate(NOISE_PHASES)})
    measured = runs.assign(order=order).dropna(subset="order")
    used = experiments.experiment.isin(NOISE_EXPERIMENTS)
    cells = experiments[used].merge(measured[["run", "metric", "value", "order"]], on="run")
    first = cells.groupby(["metric", "run"]).order.transform("min")
    cells = cells[(cells.value > 0) & (cells.order == first)]
    if cells.empty:
        return pd.DataFrame(columns=NOISE_COLUMNS)
    cells = cells.assign(copy=[json.loads(point)["copy"] for point in cells.point])
    pairs = cells.merge(cells, on=["metric", "experiment", "repetition"], suffixes=("_a", "_b"))
    identical = pairs[(pairs.engine_a == pairs.engine_b) & (pairs.copy_a < pairs.copy_b)]
    alike = pairs[(pairs.engine_a < pairs.engine_b) & (pairs.copy_a == 1) & (pairs.copy_b == 1)]
    together = identical.assign(engine_a=ANY_ENGINE, engine_b=ANY_ENGINE)
    floor = NoiseFloor()
    rows = [
        (metric, first, second, len(group), floor(list(group.value_a), list(group.value_b)))
        for (metric, first, second), group in pd.concat([identical, alike, together]).groupby(
            ["metric", "engine_a", "engine_b"]
        )
    ]
    return sort(pd.DataFrame(rows, columns=NOISE_COLUMNS))


def specifications_table(records: Mapping[str, RunRecord]) -> pd.DataFrame:
    """Tell the full conditions of each run, once per run; paths of the host are left out."""
    conditions = (
        *("scale_factor", "seed", "compressibility", "key_order", "timeline_interval_ms"),
        *("processors", "commit"),
    )
    paths = ("path", "mounts")
    rows = []
    for run, record in records.items():
        spec = record.spec.model_dump()
        disk = spec["device"]["id"] if spec["device"]["kind"] == "path" else ""
        host = (
            host_label(record.host, disk, record.spec.runtime)
            if record.spec.host is None
            else simulated_host_label(record.spec.host)
        )
        rows.append(
            (
                *(run, record.spec.engine.id, host, record.started),
                str(record.engine.build.get("tree_hash", ""))[:16],
                canonical(record.spec.engine.options),
                canonical({k: v for k, v in record.spec.device.items() if k not in paths}),
                canonical({key: spec[key] for key in conditions if key in spec}),
                canonical({**record.engine.build, "driver": record.driver.source_hash}),
                "; ".join(record.doubts()),
            )
        )
    return sort(pd.DataFrame(rows, columns=SPECIFICATION_COLUMNS))


def concatenate(frames: Iterable[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Stack frames of equal columns; no frame with rows gives an empty table."""
    filled = [frame for frame in frames if not frame.empty]
    if not filled:
        return pd.DataFrame(columns=list(columns))
    return sort(pd.concat(filled, ignore_index=True)[list(columns)])


def sort(frame: pd.DataFrame) -> pd.DataFrame:
    """Order rows by all columns from the left, so that a table is a function of its rows."""
    return frame.sort_values(list(frame.columns), kind="stable", ignore_index=True)


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table with a fixed number format."""
    frame.to_csv(path, index=False, float_format=FLOAT_FORMAT, lineterminator="\n")


def read_table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a table and check its columns.

    Parameters
    ----------
    path : Path
        A CSV file.
    columns : sequence of str
        Columns that it must have; others are left out.

    Returns
    -------
    DataFrame
        The columns in the given order; names and hashes are text even where they look like
        numbers.

    Raises
    ------
    TableError
        If the file or a column is missing; names it.
    """
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(TEXT_COLUMNS, str))
    except (FileNotFoundError, pd.errors.EmptyDataError) as error:
        raise TableError(f"{path}: missing or empty; make it again") from error
    for column in columns:
        if column not in frame.columns:
            raise TableError(f"{path}: column {column} is missing; make it again")
    frame = frame[list(columns)]
    return frame.fillna({"varies": ""}) if "varies" in frame else frame


def read_scale(directory: Path) -> dict[str, Any]:
    """Read scale.json: the scale, what was left out of sweeps, why profiles were skipped."""
    path = directory / "scale.json"
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such file; build the tables") from error
    return content


def _read_events(
    path: Path, keys: Sequence[str], only_with: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield keys of the events of a log, or of those that have a key."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            event = json.loads(line)
            if only_with is None or only_with in event:
                yield {key: event[key] for key in keys}
        except (json.JSONDecodeError, TypeError) as error:
            raise TableError(f"{path}:{number}: not a JSON object; run again") from error
        except KeyError as error:
            raise TableError(f"{path}:{number}: key {error} is missing; run again") from error
