"""The declared engines, workloads, devices, scales and experiments."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from recompact import ROOT
from recompact.declarations import Declaration, DeclarationError, load
from recompact.hosts import HOSTS, REAL, Host, load_hosts

Scalar = bool | int | float | str
# What every engine knows, whichever family it is of.
CommonName = Literal[
    "block_cache_bytes",
    "block_restart_interval",
    "block_size",
    "bloom_bits_per_key",
    "compression",
    "fanout",
    "l0_compaction_trigger",
    "l0_slowdown_trigger",
    "l0_stop_trigger",
    "level_base_bytes",
    "max_file_size",
    "max_open_files",
    "num_levels",
    "write_buffer_size",
]
LevelDbName = Literal[
    "adaptive_pipeline",
    "aggressive_compaction",
    "buffer_asks_tree_filters",
    "buffer_levels",
    "buffer_trim",
    "compaction_input_bytes",
    "compute_threads",
    "deletions_limit_percent",
    "dtable_balance_percent",
    "dtable_bytes",
    "dtable_files",
    "dtable_segments",
    "expand_inputs",
    "filter_base_lg",
    "flush_to_l0_only",
    "frozen_bytes_limit_percent",
    "frozen_table_useless_percent",
    "links_first",
    "min_allowed_seeks",
    "paranoid_checks",
    "pipeline_queue_depth",
    "pipelined_compaction",
    "read_inputs_whole",
    "read_threads",
    "reuse_logs",
    "seek_compaction",
    "slice_link_adaptive",
    "slice_link_adaptive_window",
    "slice_link_bytes_percent",
    "slice_link_threshold",
    "subtask_bytes",
    "sync_outputs_together",
    "tables_stay_open",
    "track_obsolete_files",
    "user_key_aligned_outputs",
    "write_pause_us",
    "write_threads",
]
# RocksDB's own names.
RocksDbName = Literal[
    "cache_index_and_filter_blocks",
    "compaction_options_universal",
    "compaction_readahead_size",
    "compaction_style",
    "compression_per_level",
    "hard_pending_compaction_bytes_limit",
    "level_compaction_dynamic_level_bytes",
    "max_background_jobs",
    "max_write_buffer_number",
    "prefix_extractor",
    "soft_pending_compaction_bytes_limit",
]
OptionName = CommonName | LevelDbName | RocksDbName
OPTIONS_OF = {
    "leveldb": {*get_args(CommonName), *get_args(LevelDbName)},
    "rocksdb": {*get_args(CommonName), *get_args(RocksDbName)},
}
ScaleName = Literal["smoke", "small", "full", "paper"]
OURS = "recompact"  # in place of a paper, of experiments that no paper has


class FromSweep(Declaration):
    """A value taken from the sweep: `{from: size_gb, times: 250000}`, `{from: value_bytes, of: N}`.

    Attributes
    ----------
    source : str
        Key of the sweep.
    times : float
        What its value is multiplied by.
    of : float, optional
        What is divided by its value, and rounded: N operations of so many bytes each.
    """

    source: str = Field(alias="from")
    times: float = 1
    of: float | None = Field(default=None, gt=0)


class Engine(Declaration):
    """An engine: a LevelDB tree, our sources in it, and its options.

    One of the family `rocksdb` is the system's RocksDB, of which the tree gives the files only.

    Attributes
    ----------
    paper_options : dict
        What it sets, in experiments of papers, instead of defaults that no paper has.
    """

    label: str
    paper: str
    family: Literal["leveldb", "rocksdb"] = "leveldb"
    tree: Literal["pristine", "patched"]
    sources: tuple[str, ...]
    options: dict[OptionName, Scalar]
    scaled_options: dict[OptionName, int] = {}
    paper_options: dict[OptionName, Scalar] = {}
    least: dict[OptionName, int] = {}
    direct_io: bool = False
    kill_points: tuple[str, ...] = ()
    exempt_tests: dict[str, str] = {}
    colour: str = Field(pattern="^#[0-9a-f]{6}$")
    marker: str


class Variant(Declaration):
    """An engine under other options, compared like an engine of its own.

    They, and its sizes at paper scale, take the place of those of every experiment.
    """

    engine: str
    label: str
    options: dict[OptionName, Scalar] = {}
    scaled_options: dict[OptionName, int] = {}
    colour: str = Field(pattern="^#[0-9a-f]{6}$")
    marker: str


class HotRange(Declaration):
    """A range of keys, as shares of all keys, and the proportion of reads that go elsewhere."""

    start: float = Field(ge=0, lt=1)
    fraction: float = Field(gt=0, le=1)
    elsewhere: float = Field(ge=0, lt=1)


class Workload(Declaration):
    """What YCSB draws: the mix of operations and the distribution of keys."""

    title: str
    source: str
    mix: dict[
        Literal["insert", "update", "read", "scan", "delete", "readmodifywrite"],
        Annotated[float, Field(gt=0, le=1)],
    ]
    distribution: Literal[
        "sequential",
        "uniform",
        "zipfian",
        "latest",
        "zipf",
        "ycsb_zipfian",
        "latest_uniform",
        "latest_zipfian",
        "latest_rangehot",
        "latest_keyrange",
        "queue",
    ]
    value_bytes: int = Field(gt=0)
    zipf_constant: float | None = None
    scrambled: bool = True
    scan_max: int | None = None
    recent_fraction: float | None = Field(default=None, gt=0, le=1)
    hot_range: HotRange | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Workload:
        if abs(sum(self.mix.values()) - 1) > 1e-9:
            raise ValueError(f"the proportions of mix sum to {sum(self.mix.values())}, not to 1")
        needs: dict[str, tuple[str, ...]] = {
            "zipf_constant": ("zipf", "ycsb_zipfian", "latest_zipfian"),
            "recent_fraction": ("latest_uniform", "latest_zipfian", "latest_rangehot"),
            "hot_range": ("latest_rangehot", "latest_keyrange"),
        }
        for key, distributions in needs.items():
            if (self.distribution in distributions) != (getattr(self, key) is not None):
                raise ValueError(
                    f"{key} goes with distribution {' or '.join(distributions)}, and no other"
                )
        if (self.distribution == "queue") != (self.mix == {"insert": 0.5, "delete": 0.5}):
            raise ValueError(
                "distribution queue goes with mix {insert: 0.5, delete: 0.5}, by turns"
            )
        if ("scan" in self.mix) != (self.scan_max is not None):
            raise ValueError("scan_max goes with scans in mix, and only with them")
        return self


class Ensemble(Declaration):
    """How many runs of a point there are on a simulated host, by what they differ in.

    Attributes
    ----------
    seeds : int
        Of the workload; all others have the first.
    costs : int
        Drawn within the error of the calibration, see `recompact.hosts.drawn`.
    ties : int
        With threads of equal time in the other order.
    """

    seeds: int = Field(ge=1)
    costs: int = Field(ge=0)
    ties: int = Field(ge=0, le=1)


class Scale(Declaration):
    """How large a run is, and how often there is one like it."""

    purpose: str
    factor: dict[str, Annotated[int, Field(ge=1)]]
    repetitions: int = Field(ge=1)
    ensemble: Ensemble
    sweep: Literal["full", "thin"]
    unscaled_operations: int = Field(ge=1)


class Pace(Declaration):
    """Closed loop, or open loop at a rate of operations per second."""

    kind: Literal["closed", "open"] = "closed"
    rate_ops_s: float | None = Field(default=None, gt=0)


class Stream(Declaration):
    """Operations and the clients that do them."""

    name: str = Field(pattern="^[a-z0-9_]+$")
    workload: str | FromSweep | None = None
    operations: int | FromSweep | None = None
    keys: int | FromSweep | None = None
    value_bytes: int | FromSweep | None = None
    scan_records: int | FromSweep | None = None
    unscaled: bool = False
    pace: Pace = Pace()
    threads: Annotated[int, Field(ge=1)] | FromSweep = 1

    @property
    def from_sweep(self) -> tuple[FromSweep, ...]:
        """What the stream takes from the sweep."""
        fields = (
            *(self.workload, self.operations, self.keys, self.value_bytes, self.scan_records),
            self.threads,
        )
        return tuple(value for value in fields if isinstance(value, FromSweep))


class Phase(Stream):
    """One step of a run.

    Attributes
    ----------
    duration_s : float, optional
        When a replay ends; without it, when its own operations are done. At paper scale.
    beside : tuple of Stream
        What runs side by side with a replay, until it ends.
    seconds : float, optional
        How long kind wait lasts. At paper scale.
    """

    kind: Literal["replay", "wait_idle", "wait", "compact_range", "reopen"] = "replay"
    warmup_operations: int = Field(default=0, ge=0)
    duration_s: float | None = Field(default=None, gt=0)
    beside: tuple[Stream, ...] = ()
    seconds: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _kind_has_what_it_needs(self) -> Phase:
        replays = self.kind == "replay"
        if replays != (self.workload is not None) or replays != (self.operations is not None):
            raise ValueError("workload and operations go with kind replay, and only with it")
        for key in ("value_bytes", "scan_records", "duration_s", "beside"):
            if getattr(self, key) and not replays:
                raise ValueError(f"{key} goes with kind replay, and only with it")
        if (self.kind == "wait") != (self.seconds is not None):
            raise ValueError("seconds goes with kind wait, and only with it")
        return self

    @model_validator(mode="after")
    def _streams_beside_are_complete(self) -> Phase:
        names = [stream.name for stream in self.streams]
        if len(names) != len(set(names)):
            raise ValueError(f"two streams have one name: {', '.join(names)}")
        for stream in self.beside:
            if stream.workload is None or stream.operations is None:
                raise ValueError(f"beside: {stream.name} needs workload and operations")
        if self.warmup_operations and self.is_cut:
            raise ValueError(
                "warmup_operations does not go with duration_s or beside; "
                "let a phase of its own warm up"
            )
        return self

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of a replay, its own first; none of another kind."""
        return (self, *self.beside) if self.kind == "replay" else ()

    @property
    def is_cut(self) -> bool:
        """Whether some of its operations may be left undone."""
        return self.duration_s is not None or bool(self.beside)


class Sweep(Declaration):
    """The values of one swept parameter.

    Those of the thin one are some of the full one, or smaller where these take too long.
    """

    full: tuple[Scalar, ...] = Field(min_length=1)
    thin: tuple[Scalar, ...] = Field(min_length=1)


class Experiment(Declaration):
    """A run matrix."""

    title: str
    paper: str
    engines: tuple[str, ...] = Field(min_length=1)
    thin_engines: tuple[str, ...] = ()  # those of a thin sweep; all unless said
    host: str = REAL
    device: str
    any_disk: bool = False  # of a host with a real disk, whatever its kind
    direct_io: bool = True  # of engines that have it
    members: FromSweep | None = None
    processors: Annotated[int, Field(ge=1)] | FromSweep | None = None
    options: dict[OptionName, Scalar | FromSweep] = {}
    scaled_options: dict[OptionName, int] = {}
    run_options: dict[OptionName, Scalar | FromSweep] = {}
    timeline_interval_ms: int = Field(default=1000, ge=1)  # LDC Fig. 1 shows means per second
    key_order: Literal["hashed", "ordered"] = "hashed"
    upstream_defaults: bool = False
    keep_sizes: bool = False
    compressibility: float = Field(default=0.5, gt=0, le=1)  # E10: LDC's filter sizes imply it
    scale_factor: FromSweep | None = None
    sized_as: str | None = None
    page_cache_bytes: int | None = Field(default=None, ge=0)
    prepare: tuple[Phase, ...] = ()
    phases: tuple[Phase, ...] = Field(min_length=1)
    sweep: dict[str, Sweep] = {}
    repetitions: dict[ScaleName, Annotated[int, Field(ge=1)]] = {}
    profile: bool = False
    keep_events: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _prepared_databases_are_known(self) -> Experiment:
        cut = [phase.name for phase in self.prepare if phase.is_cut]
        if cut:
            raise ValueError(
                f"prepare: {cut[0]} has duration_s or beside, so nobody could tell from its "
                f"traces what is in the database"
            )
        return self

    @property
    def size(self) -> str:
        """Whose scale factor applies: that of the paper, unless `sized_as` names another."""
        return self.sized_as or self.paper

    @property
    def from_sweep(self) -> tuple[FromSweep, ...]:
        """What the experiment and its phases take from the sweep."""
        own = (
            *(self.members, self.scale_factor, self.processors),
            *(*self.options.values(), *self.run_options.values()),
        )
        streams = (stream for phase in self.all_phases for stream in phase.streams)
        of_streams = (value for stream in streams for value in stream.from_sweep)
        return (*(value for value in own if isinstance(value, FromSweep)), *of_streams)

    @property
    def all_phases(self) -> tuple[Phase, ...]:
        """The phases of the run that prepares the database, and then its own."""
        return (*self.prepare, *self.phases)


class _Engines(Declaration):
    engines: dict[str, Engine]
    variants: dict[str, Variant]

    @model_validator(mode="after")
    def _variants_have_engines(self) -> _Engines:
        for name, variant in self.variants.items():
            if name in self.engines:
                raise ValueError(f"variants.{name}: is the name of an engine already")
            if variant.engine not in self.engines:
                raise ValueError(
                    f"variants.{name}.engine: there is no engine {variant.engine!r}; "
                    f"there are {', '.join(self.engines)}"
                )
        return self


class _Workloads(Declaration):
    workloads: dict[str, Workload]


class _Scales(Declaration):
    scales: dict[ScaleName, Scale]


class _Experiments(Declaration):
    scaled_options: dict[OptionName, int]
    common_options: dict[OptionName, Scalar]
    shape_options: dict[OptionName, Scalar]
    experiments: dict[str, Experiment]


DiskKind = Literal["ssd", "hdd", "smr", "raid0"]  # of a model, or of a real disk in its place
BLOCK_BYTES = 4096  # of files on a shingled disk, see workloads/driver/file_placement.h


class Device(Declaration, extra="allow"):
    """A device; the driver knows and checks the parameters of each kind.

    Attributes
    ----------
    band_bytes : int, optional
        What a shingled disk writes from its beginning on: a band, or a zone. At paper scale.
    media_cache_bytes : int, optional
        Where a disk of kind smr puts all other writes. At paper scale.
    clean_after_idle_ms : float, optional
        When a disk of kind smr begins to clean bands of itself. At paper scale.
    most_members : int, optional
        How many disks an experiment may give a device of kind raid0.
    own_bands : bool, optional
        Whether each table has bands of its own on a disk of kind smr; not if left out.
    """

    kind: Literal["memory", "path", "zoned_smr", "throttled"] | DiskKind
    title: str
    source: str
    band_bytes: int | None = Field(default=None, gt=0, multiple_of=BLOCK_BYTES)
    media_cache_bytes: int | None = None
    clean_after_idle_ms: float | None = Field(default=None, ge=0)
    own_bands: bool | None = None
    most_members: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _shingled_disk_is_complete(self) -> Device:
        if (self.band_bytes is not None) != (self.kind in ("smr", "zoned_smr")):
            raise ValueError("band_bytes goes with kind smr or zoned_smr, and no other")
        for key in ("media_cache_bytes", "clean_after_idle_ms"):
            if (getattr(self, key) is not None) != (self.kind == "smr"):
                raise ValueError(f"{key} goes with kind smr, and no other")
        if self.own_bands is not None and self.kind != "smr":
            raise ValueError("own_bands goes with kind smr, and no other")
        if self.media_cache_bytes is not None and self.media_cache_bytes < (self.band_bytes or 0):
            raise ValueError(f"media_cache_bytes must be at least band_bytes, {self.band_bytes}")
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything the driver is told, without the prose."""
        return self.model_dump(exclude={"title", "source", "most_members"}, exclude_none=True)


class _Devices(Declaration):
    devices: dict[str, Device]

    @model_validator(mode="before")
    @classmethod
    def _take_over(cls, content: Any) -> Any:
        """Give an entry `{like: NAME, ...}` what it does not say itself from NAME's entry."""
        entries = content.get("devices") if isinstance(content, dict) else None
        if not isinstance(entries, dict):
            return content
        whole = {}
        for name, entry in entries.items():
            like = entry.get("like") if isinstance(entry, dict) else None
            if like is not None:
                original = entries.get(like)
                if not isinstance(original, dict) or "like" in original:
                    raise ValueError(f"devices.{name}.like: {like!r} is no device of its own")
                own = {key: value for key, value in entry.items() if key != "like"}
                entry = {**original, **own}
            whole[name] = entry
        return {**content, "devices": whole}


class Declarations:
    """All declared YAML of a checkout, checked against each other.

    Parameters
    ----------
    root : Path
        The checkout.

    Raises
    ------
    DeclarationError
        If a file does not satisfy its schema, or names an engine, workload, device or swept
        parameter that is not declared.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.experiments_path = root / "workloads/experiments.yaml"
        self._check_references()

    @cached_property
    def _engine_file(self) -> _Engines:
        return load(self.root / "engines/engines.yaml", _Engines)

    @property
    def engines(self) -> dict[str, Engine]:
        return self._engine_file.engines

    @property
    def variants(self) -> dict[str, Variant]:
        return self._engine_file.variants

    @property
    def compared(self) -> dict[str, Engine | Variant]:
        """Everything that an experiment can compare, by the name that it has in tables."""
        return {**self.engines, **self.variants}

    def engine_of(self, name: str) -> str:
        """Tell which engine runs what an experiment compares under a name."""
        return self.variants[name].engine if name in self.variants else name

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        return load(self.root / "workloads/workloads.yaml", _Workloads).workloads

    @cached_property
    def devices(self) -> dict[str, Device]:
        return load(self.root / "workloads/devices.yaml", _Devices).devices

    @cached_property
    def hosts(self) -> dict[str, Host]:
        return load_hosts(self.root)

    @cached_property
    def scales(self) -> dict[ScaleName, Scale]:
        return load(self.root / "workloads/scales.yaml", _Scales).scales

    @cached_property
    def _experiment_file(self) -> _Experiments:
        return load(self.experiments_path, _Experiments)

    @property
    def experiments(self) -> dict[str, Experiment]:
        return self._experiment_file.experiments

    @property
    def scaled_options(self) -> dict[OptionName, int]:
        return self._experiment_file.scaled_options

    @property
    def common_options(self) -> dict[OptionName, Scalar]:
        return self._experiment_file.common_options

    @property
    def shape_options(self) -> dict[OptionName, Scalar]:
        return self._experiment_file.shape_options

    def _check_references(self) -> None:
        for name, experiment in self.experiments.items():
            for engine in experiment.engines:
                self._check(name, "engines", engine, self.compared, "engines/engines.yaml")
            own = dict.fromkeys(experiment.engines)
            for key in ("thin_engines", "keep_events"):
                for engine in getattr(experiment, key):
                    self._check(name, key, engine, own, "its engines")
            self._check(name, "device", experiment.device, self.devices, "workloads/devices.yaml")
            if experiment.host != REAL:
                self._check_host(name, experiment)
            for scale_name, scale in self.scales.items():
                if experiment.size not in scale.factor:
                    raise DeclarationError(
                        f"{self.root / 'workloads/scales.yaml'}: scales.{scale_name}.factor: "
                        f"has no entry {experiment.size}, which experiment {name} takes; add it"
                    )
            self._check_sweep_uses(name, experiment)
            self._check_members(name, experiment)
            for phase in experiment.all_phases:
                for stream in phase.streams:
                    beside = "" if stream is phase else f"beside.{stream.name}."
                    key = f"phases.{phase.name}.{beside}workload"
                    self._check_workload(name, experiment, key, stream)

    def _check_workload(self, name: str, experiment: Experiment, key: str, stream: Stream) -> None:
        for workload in self._workload_names(experiment, stream):
            self._check(name, key, workload, self.workloads, "workloads/workloads.yaml")
            declared = self.workloads[workload]
            kind = "reads a range of keys" if declared.hot_range is not None else ""
            if declared.distribution == "queue":
                kind = "is a queue of keys in order"
            if kind and experiment.key_order != "ordered":
                raise DeclarationError(
                    f"{self.experiments_path}: experiments.{name}.{key}: {workload} {kind}, "
                    f"which hashing takes apart; set key_order: ordered"
                )

    def _check_host(self, name: str, experiment: Experiment) -> None:
        self._check(name, "host", experiment.host, self.hosts, HOSTS)
        wrong = {
            "profile": experiment.profile and "perf profiles real hosts, in their time",
            "device": self.devices[experiment.device].kind == "path"
            and "it has no real directory; name a model of a device",
        }
        for key, why in wrong.items():
            if why:
                raise DeclarationError(
                    f"{self.experiments_path}: experiments.{name}.{key}: does not go with host "
                    f"{experiment.host}, which is simulated: {why}"
                )

    def _check_members(self, name: str, experiment: Experiment) -> None:
        if experiment.members is None:
            return
        device = self.devices[experiment.device]
        place = f"{self.experiments_path}: experiments.{name}"
        if device.kind != "raid0":
            raise DeclarationError(
                f"{place}.members: goes with a device of kind raid0, which {experiment.device} "
                f"is not"
            )
        counts = experiment.sweep[experiment.members.source].full
        if device.most_members is None or max(map(int, counts)) > device.most_members:
            raise DeclarationError(
                f"{place}.sweep.{experiment.members.source}: has {max(map(int, counts))} disks, "
                f"{experiment.device} in workloads/devices.yaml {device.most_members or 'no'} "
                f"most_members; sweep fewer, or give it more there"
            )

    def _check(
        self, experiment: str, key: str, value: str, known: dict[str, Any], file: str
    ) -> None:
        if value not in known:
            raise DeclarationError(
                f"{self.experiments_path}: experiments.{experiment}.{key}: {value!r} is not in "
                f"{file}, which has {', '.join(sorted(known))}; correct the name or declare it"
            )

    def _check_sweep_uses(self, name: str, experiment: Experiment) -> None:
        for value in experiment.from_sweep:
            if value.source not in experiment.sweep:
                raise DeclarationError(
                    f"{self.experiments_path}: experiments.{name}: takes a value from "
                    f"{value.source!r}, which its sweep does not have; add it to sweep or correct "
                    f"the name"
                )
            if value.of is not None and value.times != 1:
                raise DeclarationError(
                    f"{self.experiments_path}: experiments.{name}: takes {value.source!r} with "
                    f"times and of, which exclude each other; remove one"
                )
            points = experiment.sweep[value.source].full
            wrong = [point for point in points if not _divides(point)]
            if value.of is not None and wrong:
                raise DeclarationError(
                    f"{self.experiments_path}: experiments.{name}.sweep.{value.source}: has "
                    f"{wrong[0]!r}, by which {value.of:g} cannot be divided; of needs numbers "
                    f"above 0"
                )

    @staticmethod
    def _workload_names(experiment: Experiment, stream: Stream) -> list[str]:
        if isinstance(stream.workload, FromSweep):
            return [str(value) for value in experiment.sweep[stream.workload.source].full]
        return [] if stream.workload is None else [stream.workload]


def _divides(point: Scalar) -> bool:
    return isinstance(point, (int, float)) and not isinstance(point, bool) and point > 0
