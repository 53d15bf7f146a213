"""The declared engines, workloads, devices, scales and experiments."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from recompact.declarations import Declaration, DeclarationError, load

ROOT = Path(__file__).resolve().parents[2]

Scalar = bool | int | float | str
OptionName = Literal[
    "adaptive_pipeline",
    "block_cache_bytes",
    "block_restart_interval",
    "block_size",
    "bloom_bits_per_key",
    "compaction_input_bytes",
    "compression",
    "compute_threads",
    "expand_inputs",
    "fanout",
    "flush_to_l0_only",
    "frozen_bytes_limit_percent",
    "frozen_table_useless_percent",
    "l0_compaction_trigger",
    "l0_slowdown_trigger",
    "l0_stop_trigger",
    "level_base_bytes",
    "links_first",
    "max_file_size",
    "max_open_files",
    "min_allowed_seeks",
    "num_levels",
    "paranoid_checks",
    "pipeline_queue_depth",
    "pipelined_compaction",
    "read_threads",
    "reuse_logs",
    "seek_compaction",
    "slice_link_adaptive",
    "slice_link_adaptive_window",
    "slice_link_bytes_percent",
    "slice_link_threshold",
    "subtask_bytes",
    "track_obsolete_files",
    "user_key_aligned_outputs",
    "write_buffer_size",
    "write_threads",
]
ScaleName = Literal["smoke", "small", "paper"]


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
    """An engine: a LevelDB tree, our sources in it, and its options."""

    label: str
    paper: str
    tree: Literal["pristine", "patched"]
    sources: tuple[str, ...]
    options: dict[OptionName, Scalar]
    direct_io: bool = False
    kill_points: tuple[str, ...] = ()
    exempt_tests: dict[str, str] = {}
    colour: str = Field(pattern="^#[0-9a-f]{6}$")
    marker: str


class Variant(Declaration):
    """An engine under other options, compared like an engine of its own."""

    engine: str
    label: str
    options: dict[OptionName, Scalar]
    colour: str = Field(pattern="^#[0-9a-f]{6}$")
    marker: str


class Workload(Declaration):
    """What YCSB draws: the mix of operations and the distribution of keys."""

    title: str
    source: str
    mix: dict[
        Literal["insert", "update", "read", "scan", "delete", "readmodifywrite"],
        Annotated[float, Field(gt=0, le=1)],
    ]
    distribution: Literal["sequential", "uniform", "zipfian", "latest", "zipf", "ycsb_zipfian"]
    value_bytes: int = Field(gt=0)
    zipf_constant: float | None = None
    scrambled: bool = True
    scan_max: int | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Workload:
        if abs(sum(self.mix.values()) - 1) > 1e-9:
            raise ValueError(f"the proportions of mix sum to {sum(self.mix.values())}, not to 1")
        has_constant = self.distribution in ("zipf", "ycsb_zipfian")
        if has_constant != (self.zipf_constant is not None):
            raise ValueError(
                "zipf_constant goes with distribution zipf or ycsb_zipfian, and only with them"
            )
        if ("scan" in self.mix) != (self.scan_max is not None):
            raise ValueError("scan_max goes with scans in mix, and only with them")
        return self


class Scale(Declaration):
    """How large a run is."""

    purpose: str
    factor: dict[str, Annotated[int, Field(ge=1)]]
    repetitions: int = Field(ge=1)
    sweep: Literal["full", "thin"]
    unscaled_operations: int = Field(ge=1)


class Pace(Declaration):
    """Closed loop, or open loop at a rate of operations per second."""

    kind: Literal["closed", "open"] = "closed"
    rate_ops_s: float | None = Field(default=None, gt=0)


class Phase(Declaration):
    """One step of a run."""

    name: str = Field(pattern="^[a-z0-9_]+$")
    kind: Literal["replay", "wait_idle", "compact_range", "reopen"] = "replay"
    workload: str | FromSweep | None = None
    operations: int | FromSweep | None = None
    keys: int | FromSweep | None = None
    value_bytes: int | FromSweep | None = None
    unscaled: bool = False
    pace: Pace = Pace()
    threads: int = Field(default=1, ge=1)
    warmup_operations: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _replay_is_complete(self) -> Phase:
        replays = self.kind == "replay"
        if replays != (self.workload is not None) or replays != (self.operations is not None):
            raise ValueError("workload and operations go with kind replay, and only with it")
        if self.value_bytes is not None and not replays:
            raise ValueError("value_bytes goes with kind replay, and only with it")
        return self

    @property
    def from_sweep(self) -> tuple[FromSweep, ...]:
        """What the phase takes from the sweep."""
        fields = (self.workload, self.operations, self.keys, self.value_bytes)
        return tuple(value for value in fields if isinstance(value, FromSweep))


class Sweep(Declaration):
    """The values of one swept parameter."""

    full: tuple[Scalar, ...] = Field(min_length=1)
    thin: tuple[Scalar, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _thin_is_part_of_full(self) -> Sweep:
        missing = [value for value in self.thin if value not in self.full]
        if missing:
            raise ValueError(f"thin has {missing}, which full does not have")
        return self


class Experiment(Declaration):
    """A run matrix."""

    title: str
    paper: str
    engines: tuple[str, ...] = Field(min_length=1)
    device: str
    members: FromSweep | None = None
    processors: int | None = Field(default=None, ge=1)
    options: dict[OptionName, Scalar | FromSweep] = {}
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

    @property
    def size(self) -> str:
        """Whose scale factor applies: that of the paper, unless `sized_as` names another."""
        return self.sized_as or self.paper

    @property
    def from_sweep(self) -> tuple[FromSweep, ...]:
        """What the experiment and its phases take from the sweep."""
        own = (self.members, self.scale_factor, *self.options.values())
        phases = (*self.prepare, *self.phases)
        of_phases = (value for phase in phases for value in phase.from_sweep)
        return (*(value for value in own if isinstance(value, FromSweep)), *of_phases)


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


class Balance(Declaration):
    """How fast a device is, told by runs of another: see `recompact.calibration`.

    Attributes
    ----------
    experiment : str
        The runs that tell, of one engine at one point.
    phase : str
        Which of their phases.
    compute_share : float
        Share of a compaction's steps that is to be computation.
    """

    experiment: str
    phase: str = "run"
    compute_share: float = Field(gt=0, lt=1)


class Device(Declaration, extra="allow"):
    """A device; the driver knows and checks the parameters of each kind."""

    kind: Literal["memory", "path", "ssd", "hdd", "raid0"]
    title: str
    source: str
    balance: Balance | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything the driver is told, without the prose."""
        return self.model_dump(exclude={"title", "source", "balance"})


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
            self._check(name, "device", experiment.device, self.devices, "workloads/devices.yaml")
            for scale_name, scale in self.scales.items():
                if experiment.size not in scale.factor:
                    raise DeclarationError(
                        f"{self.root / 'workloads/scales.yaml'}: scales.{scale_name}.factor: "
                        f"has no entry {experiment.size}, which experiment {name} takes; add it"
                    )
            self._check_sweep_uses(name, experiment)
            self._check_members(name, experiment)
            for phase in (*experiment.prepare, *experiment.phases):
                for workload in self._workload_names(experiment, phase):
                    self._check(
                        name,
                        f"phases.{phase.name}.workload",
                        workload,
                        self.workloads,
                        "workloads/workloads.yaml",
                    )
        for name, device in self.devices.items():
            if device.balance is not None:
                self._check_balance(name, device.balance)

    def _check_balance(self, device: str, balance: Balance) -> None:
        place = f"{self.root / 'workloads/devices.yaml'}: devices.{device}.balance.experiment"
        experiment = self.experiments.get(balance.experiment)
        if experiment is None:
            raise DeclarationError(
                f"{place}: {balance.experiment!r} is not in {self.experiments_path}; "
                f"correct the name or declare it"
            )
        if len(experiment.engines) > 1 or experiment.sweep:
            raise DeclarationError(
                f"{place}: {balance.experiment} must have one engine and no sweep, so that its "
                f"runs are repetitions of each other"
            )
        if self.devices[experiment.device].balance is not None:
            raise DeclarationError(
                f"{place}: {balance.experiment} goes to {experiment.device}, which is balanced "
                f"itself; name one on a device as it is"
            )

    def _check_members(self, name: str, experiment: Experiment) -> None:
        if experiment.members is not None and self.devices[experiment.device].kind != "raid0":
            raise DeclarationError(
                f"{self.experiments_path}: experiments.{name}.members: goes with a device of kind "
                f"raid0, which {experiment.device} is not"
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
    def _workload_names(experiment: Experiment, phase: Phase) -> list[str]:
        if isinstance(phase.workload, FromSweep):
            return [str(value) for value in experiment.sweep[phase.workload.source].full]
        return [] if phase.workload is None else [phase.workload]


def _divides(point: Scalar) -> bool:
    return isinstance(point, (int, float)) and not isinstance(point, bool) and point > 0
