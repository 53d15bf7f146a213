"""Tidy tables of one or several measurement campaigns, asked by experiment and metric."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pandas as pd

from recompact import real_time, tables
from recompact.errors import RecompactError

SCALE_ORDER = ("smoke", "small", "full", "paper")
STAMPED_ERRORS = ("throughput_ops_s", "latency_all_p99_us")  # of simulated time
NOT_IN_POINT = ["engine", "repetition", "varies", "run", "scale_factor"]

Scalar = str | int | float | bool
Point = Mapping[str, Scalar]


class MissingCell(RecompactError):
    """A value that a figure or claim needs was not measured; the message names the cell."""


class Untold(MissingCell):
    """Runs were made, but tell no value of this metric, as no period of what does not swing."""


class NotPermitted(MissingCell):
    """A host, its software or device does not let it be measured; the message says why."""


@dataclass(frozen=True)
class Stamp:
    """Conditions under which the runs of a figure were measured.

    Attributes
    ----------
    scale : str
        smoke, small or paper.
    factors : tuple of float
        Scale factors by which sizes were divided.
    counts : tuple of float
        Factors by which only operations and keys were divided; sizes were kept.
    processors : tuple of int
        To how many processors runs were confined, where they were.
    devices : tuple of str
        Device ids with what they are, see `device_label`.
    hosts : tuple of str
        Hosts, described but not named.
    repetitions : int
        Fewest repetitions of any point, or members of its ensemble.
    varied : tuple of str
        What members of ensembles differ in.
    errors : tuple of str
        How far simulated time is from real time.
    hashes : tuple of str
        Short source hashes: engine trees, drivers and traces.
    thinning : tuple of str
        What the scale left out of the sweeps.
    suspect : tuple of str
        The driver's reasons to doubt a run, one per suspect run.
    runs : tuple of str
        Ids of the runs.
    """

    scale: str
    factors: tuple[float, ...]
    counts: tuple[float, ...]
    processors: tuple[int, ...]
    devices: tuple[str, ...]
    hosts: tuple[str, ...]
    repetitions: int
    varied: tuple[str, ...]
    errors: tuple[str, ...]
    hashes: tuple[str, ...]
    thinning: tuple[str, ...]
    suspect: tuple[str, ...]
    runs: tuple[str, ...]


def unite(stamps: Sequence[Stamp]) -> Stamp:
    """Make one stamp of those of several hosts, which measured at one scale."""
    first = stamps[0]
    lists = [field.name for field in fields(Stamp) if isinstance(getattr(first, field.name), tuple)]
    told = {name: [value for stamp in stamps for value in getattr(stamp, name)] for name in lists}
    united: dict[str, Any] = {
        name: tuple(values if name == "suspect" else dict.fromkeys(values))
        for name, values in told.items()
    }
    return replace(first, repetitions=min(stamp.repetitions for stamp in stamps), **united)


@dataclass(frozen=True)
class Campaign:
    """Tables of one scale on one host.

    Attributes
    ----------
    directory : Path
        Where the tables lie.
    """

    directory: Path

    @cached_property
    def _scale(self) -> Mapping[str, Any]:
        return tables.read_scale(self.directory)

    @property
    def scale(self) -> str:
        """Name of the scale."""
        return str(self._scale["scale"])

    @property
    def thinning(self) -> Mapping[str, str]:
        """What was left out, per experiment."""
        return dict(self._scale["thinning"])

    @property
    def absent(self) -> Mapping[str, str]:
        """Why experiments have no run: none of their engines could be had."""
        return dict(self._scale.get("absent", {}))

    @property
    def skipped_profiles(self) -> Mapping[str, str]:
        """Why a profiled run was skipped, per run."""
        return dict(self._scale["skipped_profiles"])

    @cached_property
    def experiments(self) -> pd.DataFrame:
        """experiments.csv with one column per key of the points."""
        frame = self._read("experiments", tables.EXPERIMENT_COLUMNS)
        points = pd.DataFrame(
            [json.loads(point) for point in frame.point], index=frame.index, dtype=object
        )
        return frame.join(points)

    def of(self, experiment: str) -> pd.DataFrame:
        """Rows of `experiments` of one experiment; none if it was not measured here."""
        return self._by_experiment.get(experiment, self.experiments.iloc[:0])

    @cached_property
    def _by_experiment(self) -> Mapping[str, pd.DataFrame]:
        groups = self.experiments.groupby("experiment", sort=False)
        return {str(name): group for name, group in groups}

    @cached_property
    def dates(self) -> Mapping[str, str]:
        """When the newest run of each experiment began, in ISO 8601."""
        dates = self.specifications[["run", "date"]]
        newest = self.experiments[["experiment", "run"]].merge(dates, on="run")
        return dict(newest.groupby("experiment").date.max())

    @cached_property
    def simulated(self) -> frozenset[str]:
        """Experiments whose time was simulated, whatever the machine."""
        hosts = self.specifications.set_index("run").host
        on = self.experiments.run.map(hosts).str.startswith(tables.SIMULATED)
        return frozenset(self.experiments.experiment[on])

    @cached_property
    def runs(self) -> pd.DataFrame:
        """runs.csv."""
        return self._read("runs", tables.RUN_COLUMNS)

    @cached_property
    def metrics(self) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
        """Value per run, phase and metric, as runs.csv has them."""
        columns = (self.runs[name].tolist() for name in ("run", "phase", "metric", "value"))
        metrics: dict[str, dict[str, dict[str, float]]] = {}
        for run, phase, metric, value in zip(*columns, strict=True):
            metrics.setdefault(run, {}).setdefault(phase, {})[metric] = value
        return metrics

    def told(self, run: str, phase: str) -> Mapping[str, float]:
        """Value per metric that a phase of a run tells; none if it tells nothing."""
        return self.metrics.get(run, {}).get(phase, {})

    @cached_property
    def phases(self) -> pd.DataFrame:
        """phases.csv."""
        return self._read("phases", tables.PHASE_COLUMNS)

    @cached_property
    def timeline(self) -> pd.DataFrame:
        """timeline.csv."""
        return self._read("timeline", tables.TIMELINE_COLUMNS)

    @cached_property
    def compactions(self) -> pd.DataFrame:
        """compactions.csv."""
        return self._read("compactions", tables.COMPACTION_COLUMNS)

    @cached_property
    def events(self) -> pd.DataFrame:
        """events.csv."""
        return self._read("events", tables.EVENT_COLUMNS)

    @cached_property
    def spans(self) -> pd.DataFrame:
        """spans.csv."""
        return self._read("spans", tables.SPAN_COLUMNS)

    @cached_property
    def profile(self) -> pd.DataFrame:
        """profile.csv."""
        return self._read("profile", tables.PROFILE_COLUMNS)

    @cached_property
    def noise(self) -> pd.DataFrame:
        """noise.csv."""
        return self._read("noise", tables.NOISE_COLUMNS)

    @cached_property
    def specifications(self) -> pd.DataFrame:
        """specifications.csv with its JSON columns read."""
        frame = self._read("specifications", tables.SPECIFICATION_COLUMNS)
        for column in ("engine_options", "device", "conditions", "build"):
            frame[column] = [json.loads(text) for text in frame[column]]
        return frame.fillna({"suspect": ""})

    def _read(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        return tables.read_table(self.directory / f"{name}.csv", columns)


@dataclass(frozen=True)
class Results:
    """Measurements of one scale, or published ones of several scales and hosts.

    An experiment that several campaigns measured is taken whole from one of them, never mixed:
    from the largest scale, then from a simulated host, then the one with most runs, then the
    newest, then the first by name.

    Attributes
    ----------
    campaigns : tuple of Campaign
        The campaigns, in the order of preference.
    member : int, optional
        Of ensembles only this one; see `of_member`.
    """

    campaigns: tuple[Campaign, ...]
    member: int | None = None

    @classmethod
    def load(cls, directory: Path) -> Results:
        """Find the tables under a directory.

        Parameters
        ----------
        directory : Path
            ``results/<scale>``, or a directory that holds several such, as
            ``results/published``.

        Returns
        -------
        Results
            All campaigns found.

        Raises
        ------
        TableError
            If there is none.
        """
        found = [Campaign(path.parent) for path in sorted(directory.rglob("experiments.csv"))]
        if not found:
            raise tables.TableError(f"{directory}: no experiments.csv below; build the tables")
        return cls(tuple(sorted(found, key=lambda c: SCALE_ORDER.index(c.scale), reverse=True)))

    @cached_property
    def experiments(self) -> tuple[str, ...]:
        """Experiments that were measured."""
        names = {name for campaign in self.campaigns for name in campaign.experiments.experiment}
        return tuple(sorted(names))

    def campaign(self, experiment: str) -> Campaign:
        """Choose the campaign that answers for an experiment.

        Raises
        ------
        MissingCell
            If no campaign measured it; `NotPermitted` if none could.
        """
        if experiment in self._answering:
            return self._answering[experiment]
        for campaign in self.campaigns:
            if experiment in campaign.absent:
                reason = campaign.absent[experiment]
                raise NotPermitted(f"experiment {experiment} was not measured: {reason}")
        raise MissingCell(f"experiment {experiment} was not measured")

    @cached_property
    def _answering(self) -> Mapping[str, Campaign]:
        """The preferred campaign of each experiment that was measured."""

        def preference(experiment: str, campaign: Campaign) -> tuple[int, bool, int, str]:
            return (
                SCALE_ORDER.index(campaign.scale),
                experiment in campaign.simulated,
                len(campaign.of(experiment)),
                campaign.dates[experiment],
            )

        return {
            name: max(
                (campaign for campaign in self.campaigns if name in campaign.dates),
                key=partial(preference, name),
            )
            for name in self.experiments
        }

    def is_simulated(self, experiment: str) -> bool:
        """Tell whether an experiment's time was simulated."""
        return experiment in self.campaign(experiment).simulated

    def members(self, experiments: Sequence[str]) -> Mapping[int, str]:
        """Tell what each member of the ensembles of experiments differs in from the first."""
        planned = [self.planned(name) for name in experiments if self.is_simulated(name)]
        return {
            number: varies
            for runs in planned
            for number, varies in zip(runs.repetition, runs.varies, strict=True)
        }

    def of_member(self, number: int) -> Results:
        """Leave of every ensemble one member; repetitions in real time stay."""
        return replace(self, member=number)

    def planned(
        self,
        experiment: str,
        *,
        engines: Sequence[str] | None = None,
        where: Point | None = None,
        profiled: bool = False,
    ) -> pd.DataFrame:
        """List the runs of an experiment.

        Parameters
        ----------
        experiment : str
            Id of the experiment.
        engines : sequence of str, optional
            Engine ids to keep; all by default.
        where : mapping, optional
            Values of the point that a run must have.
        profiled : bool
            List the profiled runs instead of the timed repetitions.

        Returns
        -------
        DataFrame
            Columns engine, repetition, run, scale_factor and one per key of the point.

        Raises
        ------
        MissingCell
            If no run is left.
        """
        chosen = None if engines is None else tuple(engines)
        asked = (experiment, profiled, chosen, tables.canonical(dict(where or {})))
        if asked not in self._planned:
            self._planned[asked] = self._plan(experiment, engines, where, profiled)
        return self._planned[asked].copy()

    @cached_property
    def _planned(self) -> dict[tuple[str, bool, tuple[str, ...] | None, str], pd.DataFrame]:
        """What was planned for whom, since each figure and claim asks for the same many times."""
        return {}

    def _plan(
        self,
        experiment: str,
        engines: Sequence[str] | None,
        where: Point | None,
        profiled: bool,
    ) -> pd.DataFrame:
        runs = self.campaign(experiment).of(experiment)
        runs = runs[runs.profiled == int(profiled)]
        if self.member is not None and self.is_simulated(experiment):
            runs = runs[runs.repetition == self.member]
        if engines is not None:
            runs = runs[runs.engine.isin(list(engines))]
        for key, value in (where or {}).items():
            runs = runs[runs[key] == value] if key in runs else runs.iloc[:0]
        if runs.empty:
            raise MissingCell(
                f"experiment {experiment} has no run of engine {', '.join(engines or ['any'])} "
                f"at {tables.canonical(dict(where or {}))}"
            )
        return (
            runs.drop(columns=["experiment", "point", "profiled"])
            .dropna(axis="columns", how="all")
            .infer_objects()
            .reset_index(drop=True)
        )

    def select(
        self,
        experiment: str,
        metric: str,
        *,
        phase: str = "run",
        engines: Sequence[str] | None = None,
        where: Point | None = None,
    ) -> pd.DataFrame:
        """Get one metric of an experiment, one row per run.

        Parameters
        ----------
        experiment, metric, phase : str
            What to get.
        engines, where
            As in `planned`.

        Returns
        -------
        DataFrame
            Columns engine, repetition, run, scale_factor, one per key of the point, and value.

        Raises
        ------
        MissingCell
            If there is no run; `Untold`, which names experiment, engine, point, phase and metric,
            if a run lacks the metric.
        """
        runs = self.planned(experiment, engines=engines, where=where)
        campaign = self.campaign(experiment)
        told = [campaign.told(run, phase) for run in runs.run]
        for metrics, row in zip(told, runs.to_dict("records"), strict=True):
            if metric not in metrics:
                keys = runs.columns.difference(NOT_IN_POINT)
                point = tables.canonical({key: row[key] for key in keys})
                raise Untold(
                    f"experiment {experiment}, engine {row['engine']}, point {point}, "
                    f"phase {phase}: a run tells no {metric}"
                )
        return runs.assign(value=[metrics[metric] for metrics in told])

    def rows(
        self,
        table: str,
        experiment: str,
        *,
        where: Point | None = None,
        profiled: bool = False,
    ) -> pd.DataFrame:
        """Get the rows of another table that belong to an experiment's runs.

        Parameters
        ----------
        table : str
            timeline, compactions, events, spans, profile or specifications.
        experiment : str
            Id of the experiment.
        where, profiled
            As in `planned`.

        Returns
        -------
        DataFrame
            The runs' columns (see `planned`) joined with the table's.

        Raises
        ------
        MissingCell
            If no row belongs to them; `NotPermitted` if the host does not allow the run.
        """
        campaign = self.campaign(experiment)
        runs = self.planned(experiment, where=where, profiled=profiled)
        rows: pd.DataFrame = getattr(campaign, table)
        joined = runs.merge(rows.drop(columns="engine", errors="ignore"), on="run")
        if joined.empty:
            for run in runs.run:
                if run in campaign.skipped_profiles:
                    reason = campaign.skipped_profiles[run]
                    raise NotPermitted(f"experiment {experiment} was not profiled: {reason}")
            raise MissingCell(f"experiment {experiment} has no rows in {table}.csv")
        return joined

    def device(self, experiment: str) -> Mapping[str, Any]:
        """Get the device of an experiment's runs, as the driver was told; of the first run.

        Raises
        ------
        MissingCell
            If it was not measured.
        """
        device: Mapping[str, Any] = self.rows("specifications", experiment).device.iloc[0]
        return device

    def noise_floor(self, metric: str, experiment: str) -> float | None:
        """Tell by how much identical runs differ on the host of an experiment.

        On a simulated host by nothing.

        Parameters
        ----------
        metric : str
            The metric.
        experiment : str
            The experiment whose campaign must have measured the noise.

        Returns
        -------
        float or None
            The floor as a relative difference; None if it was not measured.
        """
        if self.is_simulated(experiment):
            return 0.0
        noise = self.campaign(experiment).noise
        identical = (noise.engine_a == tables.ANY_ENGINE) & (noise.engine_b == tables.ANY_ENGINE)
        row = noise[(noise.metric == metric) & identical]
        return None if row.empty else float(row.floor.iloc[0])

    def stamp(self, experiments: Sequence[str], *, profiled: bool = False) -> Stamp:
        """Collect the conditions of some experiments' runs.

        Parameters
        ----------
        experiments : sequence of str
            The experiments.
        profiled : bool
            Of their profiled runs instead of the timed repetitions.

        Returns
        -------
        Stamp
            The conditions.

        Raises
        ------
        MissingCell
            If an experiment was not measured, or not profiled.
        """
        planned = {name: self.planned(name, profiled=profiled) for name in experiments}
        specifications = pd.concat(
            [self.rows("specifications", name, profiled=profiled) for name in experiments]
        )
        campaigns = {self.campaign(name).directory: self.campaign(name) for name in experiments}
        phases = pd.concat([campaign.phases for campaign in campaigns.values()])
        phases = phases[phases.run.isin(specifications.run)]
        scales = sorted({c.scale for c in campaigns.values()}, key=SCALE_ORDER.index)
        hashes = [f"tree {name[:8]}" for name in _distinct(specifications.tree)]
        hashes += [f"driver {build['driver'][:8]}" for build in specifications.build]
        hashes += [f"trace {name}" for name in _distinct(phases.trace.replace("", None))]
        factor = specifications.scale_factor.astype(float)
        of_sizes = specifications.conditions.map(lambda told: float(told["scale_factor"]))
        kept = (of_sizes == 1) & (factor != 1)
        processors = specifications.conditions.map(lambda told: told.get("processors"))
        by_run = specifications.drop_duplicates("run")
        suspect = [
            f"{run}: {why}" for run, why in zip(by_run.run, by_run.suspect, strict=True) if why
        ]
        thinning = [self.campaign(name).thinning.get(name) for name in experiments]
        simulated = any(self.is_simulated(name) for name in experiments)
        return Stamp(
            scale=" + ".join(scales),
            factors=tuple(sorted(set(factor[~kept]))),
            counts=tuple(sorted(set(factor[kept]))),
            processors=tuple(sorted(set(processors.dropna().astype(int)))),
            devices=_distinct(device_label(device) for device in specifications.device),
            hosts=_distinct(specifications.host),
            repetitions=min(fewest_repetitions(runs) for runs in planned.values()),
            varied=_distinct(v for runs in planned.values() for v in runs.varies if v),
            errors=real_time.errors(self, STAMPED_ERRORS) if simulated else (),
            hashes=_distinct(hashes),
            thinning=_distinct(thinning),
            suspect=tuple(suspect),
            runs=_distinct(specifications.run),
        )


def device_label(device: Mapping[str, Any]) -> str:
    """Name a device and say whether it is real, a model or memory."""
    match device["kind"]:
        case "memory":
            return "memory"
        case "path":
            return f"{device['id']} (real)"
        case kind:
            cache = device.get("page_cache_bytes") or 0
            cached = f", page cache {cache / 2**20:g} MiB" if cache else ""
            return f"{device['id']} ({kind} model{cached})"


def fewest_repetitions(runs: pd.DataFrame) -> int:
    """Count the repetitions of the point that has fewest of them."""
    keys = ["engine", *runs.columns.difference(NOT_IN_POINT)]
    return int(runs.groupby(keys, dropna=False).repetition.nunique().min())


def _distinct(values: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(value) for value in values if pd.notna(value)))
