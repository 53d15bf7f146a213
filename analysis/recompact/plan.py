"""From the declarations to the runs of one scale.

A run is named by the hash of everything that can change its result: its specification, the
engine's sources, the driver's sources, the compiler and, through the names of its traces, the
workloads. Two experiments that ask for the same run share it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from recompact.declarations import DeclarationError
from recompact.experiments import (
    OPTIONS_OF,
    OURS,
    Declarations,
    DiskKind,
    Experiment,
    FromSweep,
    OptionName,
    Phase,
    Scalar,
    Scale,
    ScaleName,
    Stream,
    Workload,
)
from recompact.hosts import (
    CALIBRATIONS,
    FIRST,
    HERE,
    REAL,
    Member,
    calibration_path,
    load_calibration,
    load_machines,
    specification,
)
from recompact.jobs import NATIVE, Run, Trace

REAL_DISK = "path"  # the device of a run on a real disk
SEED = 20190408  # any number; every trace derives from it
SHORTEST_TIMELINE_INTERVAL_MS = 10
# Class and distribution in the trace writer; what is not here is YCSB's own.
OWN_DISTRIBUTIONS = {
    "zipf": ("zipf", "zipfian"),
    "ycsb_zipfian": ("zipf", "ycsb_zipfian"),
    "latest_uniform": ("latest", "uniform"),
    "latest_zipfian": ("latest", "zipfian"),
    "latest_rangehot": ("latest", "rangehot"),
    "latest_keyrange": ("latest", "keyrange"),
    "queue": ("queue", "oldest"),
}

Point = dict[str, Scalar]


def digest(content: Any) -> str:
    """Name a JSON-like value by 16 hexadecimal digits of its SHA-256."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def hash_files(folder: Path, patterns: tuple[str, ...]) -> str:
    """Hash the names and contents of the files in a folder that match any pattern.

    Tests are left out: they change no result.
    """
    files = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return digest(
        [
            [path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
            for path in files
            if path.is_file() and not path.stem.endswith("_test")
        ]
    )


@dataclass(frozen=True)
class Sources:
    """Hashes of our sources, by what they can change."""

    root: Path

    def tree(self, declarations: Declarations, engine: str) -> str:
        """Hash the tree of an engine: upstream, patches, seams, its own sources."""
        entry = declarations.engines[engine]
        folder = self.root / "engines"
        patterns = ["upstream.yaml", "CMakeLists.txt", "seams/*"]
        patterns += ["patches/*"] if entry.tree == "patched" else ["pristine/*.cc"]
        if entry.family != "leveldb":
            patterns += [f"{entry.family}/*.h", f"{entry.family}/*.cc"]
        return hash_files(folder, (*patterns, *entry.sources))

    @property
    def driver(self) -> str:
        """Hash the driver, the device model and the simulator."""
        kinds = ("*.h", "*.cc", "CMakeLists.txt")
        patterns = [f"{part}/{kind}" for part in ("driver", "simulator") for kind in kinds]
        return hash_files(self.root / "workloads", tuple(patterns))

    @property
    def ycsb(self) -> str:
        """Hash the trace writer."""
        return hash_files(self.root / "workloads/ycsb", ("pom.xml", "src/main/**/*"))


@dataclass(frozen=True)
class Host:
    """How runs are carried out, of which no experiment says anything.

    Attributes
    ----------
    runtime : str
        native, or the program that runs the driver in a container, see `recompact.runtimes`.
    disk : {'ssd', 'hdd', 'smr', 'raid0'}, optional
        What the directory of databases lies on. Runs of devices of this kind go to it, all others
        are left out. Without it devices are emulated.
    builders : mapping of str to str
        What builds the drivers of each family, see `recompact.build.builders`.
    """

    runtime: str = NATIVE
    disk: DiskKind | None = None
    builders: Mapping[str, str] = field(default_factory=dict)


EMULATED = Host()


@dataclass
class Plan:
    """All runs of a scale, in the order in which they are to be measured."""

    scale: ScaleName
    scale_entry: Scale
    runs: dict[str, Run] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)
    points: list[dict[str, Any]] = field(default_factory=list)
    thinning: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def run(self, name: str) -> Run:
        """Give a run by its hash.

        Raises
        ------
        DeclarationError
            If the plan has no such run: a source changed after the pipeline was started.
        """
        if name not in self.runs:
            raise DeclarationError(
                f"run {name} is no longer planned: a declaration or source changed while the "
                f"pipeline was at work; start it again"
            )
        return self.runs[name]

    def finished_points(self, finished: Collection[str]) -> list[dict[str, Any]]:
        """Give the points of finished runs, on simulated hosts of whole experiments."""
        unfinished = {
            point["experiment"]
            for point in self.points
            if point["run"] not in finished and self.runs[point["run"]].simulated
        }
        return [
            point
            for point in self.points
            if point["run"] in finished and point["experiment"] not in unfinished
        ]

    @property
    def engines(self) -> list[str]:
        """The engines that have to be built."""
        return sorted({run.engine for run in self.runs.values()})

    def as_json(self) -> str:
        """What the tables are made from: which run is which point of which experiment."""
        content = {
            "schema": 1,
            "scale": self.scale,
            "thinning": self.thinning,
            "absent": self.absent,
            "runs": self.points,
        }
        return json.dumps(content, indent=1, sort_keys=True) + "\n"


def make(
    declarations: Declarations,
    scale: ScaleName,
    experiments: Iterable[str] | None = None,
    unavailable: Mapping[str, str] | None = None,
    host: Host = EMULATED,
) -> Plan:
    """Plan the runs of a scale.

    Parameters
    ----------
    declarations : Declarations
        The checked declarations.
    scale : {'smoke', 'small', 'paper'}
        The scale.
    experiments : iterable of str, optional
        Only these; all of them by default.
    unavailable : mapping of str to str, optional
        Engines that cannot be built here, and why: their runs are left out.
    host : Host, optional
        How they are carried out: natively and on emulated devices by default.

    Returns
    -------
    Plan
        Runs ordered by repetition, or member of an ensemble, so that engines, points and
        experiments interleave and a sweep that is broken off has whole ones.

    Raises
    ------
    DeclarationError
        If an experiment is not declared, or two of its runs come out the same.
    """
    names = list(declarations.experiments) if experiments is None else list(experiments)
    planner = _Planner(
        declarations, Plan(scale, declarations.scales[scale]), dict(unavailable or {}), host
    )
    for name in names:
        if name not in declarations.experiments:
            raise DeclarationError(
                f"{declarations.experiments_path}: experiments: has no {name!r}; "
                f"it has {', '.join(declarations.experiments)}"
            )
        planner.note_thinning(name, declarations.experiments[name])
    chosen = {name: declarations.experiments[name] for name in names}
    members = [planner.members(experiment) for experiment in chosen.values()]
    for in_turn in itertools.zip_longest(*members):
        for (name, experiment), member in zip(chosen.items(), in_turn, strict=True):
            if member is not None:
                planner.add(name, experiment, member)
    for name, experiment in chosen.items():
        if experiment.profile:
            planner.add(name, experiment, FIRST, profile=True)
    return planner.plan


class _Planner:
    def __init__(
        self,
        declarations: Declarations,
        plan: Plan,
        unavailable: Mapping[str, str],
        host: Host,
    ) -> None:
        self.declarations = declarations
        self.plan = plan
        self.unavailable = unavailable
        self.host = host
        self.sources = Sources(declarations.root)
        self.machines = load_machines(declarations.root)
        self.calibration = cache(partial(load_calibration, declarations.root))

    def simulates(self, experiment: Experiment) -> bool:
        """Tell whether an experiment's time is simulated.

        That of a real disk cannot be; nor are engines compared of which some are not calibrated.
        """
        if experiment.host == REAL or self.host.disk is not None:
            return False
        return experiment.host == HERE or not self._not_calibrated(experiment)

    def _not_calibrated(self, experiment: Experiment) -> list[str]:
        """Name the engines of an experiment of whose work nobody knows what it costs."""
        built = dict.fromkeys(self.declarations.engine_of(name) for name in experiment.engines)
        root = self.declarations.root
        return [
            name
            for name in built
            if name not in self.unavailable and not calibration_path(root, name).exists()
        ]

    def members(self, experiment: Experiment) -> list[Member]:
        """Give the repetitions of an experiment, or the members of its ensemble.

        A repetition draws other operations. Without noise, the members of an ensemble differ in
        one thing each. What is held against real time has no ensemble: costs are as fitted.
        """
        scale = self.plan.scale_entry
        if not self.simulates(experiment):
            times = experiment.repetitions.get(self.plan.scale, scale.repetitions)
            return [Member(number, seed=number) for number in range(1, times + 1)]
        if experiment.host == HERE:
            return [FIRST]
        ensemble = scale.ensemble
        differing: list[dict[str, Any]] = [
            *({"seed": seed} for seed in range(1, ensemble.seeds + 1)),
            *({"costs": draw} for draw in range(1, ensemble.costs + 1)),
            *({"ties": "higher"} for _ in range(ensemble.ties)),
        ]
        return [Member(number, **own) for number, own in enumerate(differing, start=1)]

    def add(self, name: str, experiment: Experiment, member: Member, profile: bool = False) -> None:
        """Add one repetition of an experiment, its engines in turn: A B A B."""
        for point, engine in itertools.product(self._points(experiment), experiment.engines):
            if self._why_not(experiment, engine, point) is None:
                run = self._run(experiment, engine, point, member, profile=profile)
                self._note(name, experiment, engine, run, point, member)

    def note_thinning(self, name: str, experiment: Experiment) -> None:
        """Note which points of a sweep and which engines are left out, and why."""
        left_out = {
            key: [value for value in sweep.full if value not in sweep.thin]
            for key, sweep in experiment.sweep.items()
            if self.plan.scale_entry.sweep == "thin" and set(sweep.full) != set(sweep.thin)
        }
        parts = [f"{key} {', '.join(map(str, values))}" for key, values in left_out.items()]
        absent: dict[str, dict[str, None]] = {}
        reasons = [
            (engine, self._why_not(experiment, engine, point))
            for point, engine in itertools.product(self._points(experiment), experiment.engines)
        ]
        for engine, reason in reasons:
            if reason is not None:
                absent.setdefault(reason, {})[engine] = None
        parts += [f"{', '.join(engines)}: {reason}" for reason, engines in absent.items()]
        told = [f"left out: {'; '.join(parts)}"] if parts else []
        if experiment.host != REAL and self.host.disk is None and not self.simulates(experiment):
            engines = ", ".join(self._not_calibrated(experiment))
            told.append(f"in real time, since these are not calibrated: {engines}")
        if told:
            self.plan.thinning[name] = "; ".join(told)
        if all(reason is not None for _, reason in reasons):
            self.plan.absent[name] = "; ".join(absent)

    def _why_not(self, experiment: Experiment, engine: str, point: Point) -> str | None:
        """Tell why an engine is left out: disk, scale, build or a size that it would not take."""
        reason = self._why_no_disk(experiment)
        if reason is not None:
            return reason
        thin = experiment.thin_engines if self.plan.scale_entry.sweep == "thin" else ()
        if thin and engine not in thin:
            return "at larger scales only"
        built = self.declarations.engine_of(engine)
        if built in self.unavailable:
            return self.unavailable[built]
        if self.simulates(experiment):
            path = calibration_path(self.declarations.root, built)
            if not path.exists():
                return f"no {path.name} in {CALIBRATIONS}: ./repro calibrate --engine {built}"
        elif experiment.processors is not None:
            wanted, there = int(_resolve(experiment.processors, point)), os.cpu_count() or 1
            if wanted > there:
                return f"{wanted} processors, of which there are {there}"
        options = self._options(experiment, engine, point, self._divisor(experiment, point))
        for name, least in self.declarations.engines[built].least.items():
            if int(options[name]) < least:
                return f"{name} {options[name]}, of which the least is {least}"
        return None

    def _why_no_disk(self, experiment: Experiment) -> str | None:
        """Tell why an experiment cannot go to the real disk of this host."""
        device = self.declarations.devices[experiment.device]
        if self.host.disk is not None and experiment.host == HERE:
            return "it is simulated beside another that is not"
        if self.host.disk is None or experiment.any_disk or device.kind == "memory":
            return None
        if device.kind != self.host.disk:
            return f"{device.title} is of kind {device.kind}, the disk here of {self.host.disk}"
        if experiment.members is not None:
            return "the number of disks is swept, and here it is what it is"
        return None

    def _device(self, experiment: Experiment, point: Point) -> dict[str, Any]:
        """Give the device of a run: the experiment's own, or the real disk in its place."""
        name = experiment.device
        if self.host.disk is not None and self.declarations.devices[name].kind != "memory":
            return {"id": self.host.disk} | self.declarations.devices[REAL_DISK].parameters
        device = {"id": name} | self.declarations.devices[name].parameters
        if experiment.page_cache_bytes is not None:
            divisor = self._divisor(experiment, point)
            device |= {"page_cache_bytes": experiment.page_cache_bytes // divisor}
        if experiment.members is not None:
            device |= {"members": int(_resolve(experiment.members, point))}
        return device

    def _note(
        self,
        name: str,
        experiment: Experiment,
        engine: str,
        run: Run,
        point: Point,
        member: Member,
    ) -> None:
        self.plan.points.append(
            {
                "experiment": name,
                "run": run.id,
                "engine": engine,
                "built": run.engine,
                "repetition": member.number,
                "varies": member.varies if run.simulated else "",
                "point": point,
                "factor": self._factor(experiment, point),
                "profile": run.profile,
                "events": engine in experiment.keep_events and member.number == 1,
            }
        )

    def _points(self, experiment: Experiment) -> Iterable[Point]:
        values = [
            getattr(sweep, self.plan.scale_entry.sweep) for sweep in experiment.sweep.values()
        ]
        for combination in itertools.product(*values):
            yield dict(zip(experiment.sweep, combination, strict=True))

    def _base(
        self, experiment: Experiment, engine: str, point: Point, member: Member
    ) -> dict[str, Any]:
        """Specify what a run has in common with the one that prepares its database."""
        divisor = self._divisor(experiment, point)
        built = self.declarations.engine_of(engine)
        base: dict[str, Any] = {
            "schema": 1,
            "engine": {
                "id": built,
                "options": self._options(experiment, engine, point, divisor),
            },
            "scale_factor": 1 if experiment.upstream_defaults else divisor,
            "seed": member.seed - 1,  # of keys: which those are that records have
            "compressibility": experiment.compressibility,
            "key_order": experiment.key_order,
            "value_checks": True,
            # A scale model runs that much faster.
            "timeline_interval_ms": max(
                SHORTEST_TIMELINE_INTERVAL_MS, round(experiment.timeline_interval_ms / divisor)
            ),
            "repetition": member.number,
        }
        # Keys that most runs do not have, so that those keep their names.
        if self.declarations.engines[built].direct_io and experiment.direct_io:
            base["engine"]["direct_io"] = True
        processors = {}
        if experiment.processors is not None:
            processors = {"processors": int(_resolve(experiment.processors, point))}
        if self.simulates(experiment):
            declared = self.declarations.hosts[experiment.host]
            calibration = self.calibration(built)
            told = specification(experiment.host, declared, calibration, self.machines, member)
            base["host"] = told | processors
        else:
            base |= processors
        if self.host.runtime != NATIVE:
            base["runtime"] = self.host.runtime
        return base

    def _run(
        self,
        experiment: Experiment,
        engine: str,
        point: Point,
        member: Member,
        profile: bool = False,
    ) -> Run:
        base = self._base(experiment, engine, point, member)
        first = self._base(experiment, engine, point, member.first_of_seed)
        prepared = self._prepared(experiment, first, point, member)
        if experiment.run_options:
            options = base["engine"]["options"] | _resolved(experiment.run_options, point)
            base["engine"] = base["engine"] | {"options": options}
        phases, traces = self._phases(experiment, experiment.phases, point, member)
        spec = base | {
            "device": self._device(experiment, point),
            "start_from": None
            if prepared is None
            else {
                "run": prepared.id,
                "database": f"build/databases/{prepared.id}",
                "traces": [self.plan.traces[trace].path for trace in prepared.trace_ids],
            },
            "keep_database": False,
            "phases": phases,
        }
        recent_keys = self._recent_keys(traces)
        if recent_keys is not None:
            spec["recent_keys"] = recent_keys
        if "copy" in point:
            spec["copy"] = point["copy"]
        if profile:
            spec["profile"] = True
        return self._register(spec, traces, prepared.id if prepared else None)

    def _recent_keys(self, traces: tuple[str, ...]) -> dict[str, int] | None:
        """Give the keys whose updates a recent read counts; nothing if it counts all."""
        ranges = []
        for trace in traces:
            workload = self.plan.traces[trace].workload
            if "recent_fraction" not in workload:
                continue
            hot = workload.get("hot_range", {"start": 0, "fraction": 1})
            keys = workload["records"]
            ranges.append(
                {
                    "first": int(hot["start"] * keys),
                    "count": max(1, round(hot["fraction"] * keys)),
                }
            )
            if ranges[-1] != ranges[0]:
                raise DeclarationError(
                    f"{self.declarations.experiments_path}: the phases of a run read recent "
                    f"updates of different ranges, one of them {workload['id']}; "
                    f"give each a run of its own"
                )
        return ranges[0] if ranges and ranges[0]["count"] < keys else None

    def _prepared(
        self,
        experiment: Experiment,
        base: dict[str, Any],
        point: Point,
        member: Member,
    ) -> Run | None:
        phases, traces = self._phases(experiment, experiment.prepare, point, member)
        if not phases:
            return None
        memory = {"id": "memory"} | self.declarations.devices["memory"].parameters
        spec = base | {
            "device": memory,
            "start_from": None,
            "keep_database": True,
            "phases": phases,
        }
        return self._register(spec, traces, None)

    def _register(
        self,
        spec: dict[str, Any],
        traces: tuple[str, ...],
        start_from: str | None,
    ) -> Run:
        engine = spec["engine"]["id"]
        tree = self.sources.tree(self.declarations, engine)
        content = {"spec": spec, "tree": tree, "driver": self.sources.driver}
        builder = self.host.builders.get(self.declarations.engines[engine].family)
        if builder is not None:
            content["builder"] = builder
        name = digest(content)
        run = Run(
            id=name,
            spec={"run": name} | spec,
            engine=engine,
            trace_ids=traces,
            start_from=start_from,
            profile=spec.get("profile", False),
            keeps_database=spec["keep_database"],
        )
        return self.plan.runs.setdefault(name, run)

    def _factor(self, experiment: Experiment, point: Point) -> int:
        if experiment.scale_factor is not None:
            return int(point[experiment.scale_factor.source])
        return self.plan.scale_entry.factor[experiment.size]

    def _divisor(self, experiment: Experiment, point: Point) -> int:
        """Give what sizes and times are divided by.

        Where sizes are kept, only operations and keys are divided: compactions take as long as at
        the paper's size, so neither a sync nor an interval of the timeline is shortened.
        """
        return 1 if experiment.keep_sizes else self._factor(experiment, point)

    def _options(
        self, experiment: Experiment, engine: str, point: Point, factor: int
    ) -> dict[OptionName, Scalar]:
        """Give the engine's options; where a later source names one again, the later one holds.

        Options that only engines of another family have are left out.
        """
        entry = self.declarations.engines[self.declarations.engine_of(engine)]
        if experiment.upstream_defaults:
            return dict(self.declarations.common_options)

        def scaled(sizes: Mapping[OptionName, int]) -> dict[OptionName, Scalar]:
            return {name: max(1, round(size / factor)) for name, size in sizes.items()}

        options = scaled(self.declarations.scaled_options)
        options |= self.declarations.common_options
        options |= self.declarations.shape_options
        options |= entry.options
        options |= scaled(entry.scaled_options)
        if experiment.paper != OURS:
            options |= entry.paper_options
        options |= scaled(experiment.scaled_options)
        options |= _resolved(experiment.options, point)
        if engine in self.declarations.variants:
            variant = self.declarations.variants[engine]
            options |= variant.options
            options |= scaled(variant.scaled_options)
        return {name: value for name, value in options.items() if name in OPTIONS_OF[entry.family]}

    def _phases(
        self, experiment: Experiment, phases: tuple[Phase, ...], point: Point, member: Member
    ) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        factor = self._factor(experiment, point)
        specs: list[dict[str, Any]] = []
        traces: list[str] = []
        for phase in phases:
            streams = []
            for stream in phase.streams:
                name = phase.name if stream is phase else f"{phase.name}.{stream.name}"
                trace = self._trace(experiment, stream, name, point, member)
                traces.append(trace.id)
                streams.append(_stream_specification(stream, trace, point))
            spec: dict[str, Any] = {"name": phase.name, "kind": phase.kind}
            if streams:
                spec |= streams[0] | {"warmup_operations": phase.warmup_operations}
            # Keys that most phases do not have, so that runs of the others keep their names.
            if phase.duration_s is not None:
                spec["duration_s"] = phase.duration_s / factor
            if phase.seconds is not None:
                spec["seconds"] = phase.seconds / factor
            if phase.beside:
                spec["beside"] = streams[1:]
            specs.append(spec)
        return specs, tuple(dict.fromkeys(traces))

    def _trace(
        self, experiment: Experiment, stream: Stream, name: str, point: Point, member: Member
    ) -> Trace:
        assert stream.workload is not None and stream.operations is not None
        factor = self._factor(experiment, point)
        workload_id = str(_resolve(stream.workload, point))
        full = int(_resolve(stream.operations, point))
        keys = int(_resolve(stream.keys, point)) if stream.keys is not None else full
        operations = (
            min(full, self.plan.scale_entry.unscaled_operations)
            if stream.unscaled
            else max(1, round(full / factor))
        )
        declared = self.declarations.workloads[workload_id]
        value_bytes = declared.value_bytes
        if stream.value_bytes is not None:
            value_bytes = int(_resolve(stream.value_bytes, point))
        workload = _trace_specification(
            workload_id,
            declared,
            value_bytes,
            operations,
            max(1, round(keys / factor)),
        )
        if stream.scan_records is not None:
            divisor = 1 if experiment.keep_sizes else factor
            records = max(1, round(int(_resolve(stream.scan_records, point)) / divisor))
            workload["scan_length"] = {"distribution": "uniform", "min": records, "max": records}
        # Phases draw differently, and the same phase of two experiments draws alike.
        seed = SEED + 1000 * member.seed + zlib.crc32(name.encode()) % 1000
        kind = "load" if workload["distribution"] == "sequential" else "run"
        trace = digest({"workload": workload, "seed": seed, "ycsb": self.sources.ycsb})
        return self.plan.traces.setdefault(trace, Trace(trace, workload, kind, seed))


def _resolved(
    options: Mapping[OptionName, Scalar | FromSweep], point: Point
) -> dict[OptionName, Scalar]:
    return {name: _resolve(value, point) for name, value in options.items()}


def _resolve(value: Scalar | FromSweep, point: Point) -> Scalar:
    if not isinstance(value, FromSweep):
        return value
    taken = point[value.source]
    if isinstance(taken, str):
        return taken
    if value.of is not None:
        return round(value.of / taken)
    if value.times == 1:
        return taken
    product = taken * value.times
    return int(product) if product == int(product) else product  # the driver reads whole numbers


def _stream_specification(stream: Stream, trace: Trace, point: Point) -> dict[str, Any]:
    return {
        "name": stream.name,
        "workload": trace.workload["id"],
        "trace": trace.path,
        "start": 0,
        "count": None,
        "pace": stream.pace.model_dump(exclude_none=True),
        "threads": int(_resolve(stream.threads, point)),
    }


def _trace_specification(
    name: str, workload: Workload, value_bytes: int, operations: int, keys: int
) -> dict[str, Any]:
    workload_class, distribution = OWN_DISTRIBUTIONS.get(
        workload.distribution, ("core", workload.distribution)
    )
    specification: dict[str, Any] = {
        "id": name,
        "class": workload_class,
        "records": keys,
        "operations": operations,
        "value_bytes": value_bytes,
        "distribution": distribution,
        **{str(operation): share for operation, share in workload.mix.items()},
    }
    if workload.zipf_constant is not None:
        specification["zipf_constant"] = workload.zipf_constant
    if workload_class == "zipf":
        specification["scrambled"] = workload.scrambled
    if workload.recent_fraction is not None:
        specification["recent_fraction"] = workload.recent_fraction
    if workload.hot_range is not None:
        specification["hot_range"] = workload.hot_range.model_dump()
    if workload.scan_max is not None:
        specification["scan_length"] = {"distribution": "uniform", "max": workload.scan_max}
    return specification
