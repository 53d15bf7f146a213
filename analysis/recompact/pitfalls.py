"""Marks of runs that may not show what they are meant to show: pitfalls of benchmarking.

A mark is no verdict: some experiments fall into one on purpose, and say so. It stands beside the
figure and the run, so that nobody has to find it.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from recompact import tables
from recompact.figures.declarations import Figure
from recompact.publish import seconds_of_runs
from recompact.results import Campaign, MissingCell, Results
from recompact.statistics import Outliers

PITFALL_COLUMNS = ["experiment", "run", "phase", "pitfall", "told"]
LEAST_LEVELS = 3  # with fewer, compaction has next to nothing to choose
LEAST_TURNOVERS = 2
# Accounts of written bytes agree to so much (workloads/driver/README.md, Suspect runs).
ACCOUNTS_SHARE, ACCOUNTS_BYTES = 0.02, 256 * 1024
WARM_UP = "warmup"
PITFALLS = {
    "cached": "all data fit in the cache, which nobody asked for",
    "flat": "too few levels hold tables",
    "idle": "writes met no compaction",
    "unstalled": "no write waited for a compaction",
    "short": "shorter than its warm-up, or than two turnovers of level 1",
    "overlap": "another run was measured at the same time",
    "accounts": "the accounts of written bytes disagree",
    "debts": "compactions that were owed are not counted, and they matter",
    "outlier": "a repetition is far from the others",
}


@dataclass
class _Run:
    """What is known of one run."""

    experiment: str
    engine_options: Mapping[str, object]
    device: Mapping[str, object]
    phases: Mapping[str, Mapping[str, float]]


def find(results: Results, cached_on_purpose: Collection[str] = ()) -> pd.DataFrame:
    """Look for pitfalls in all runs.

    Parameters
    ----------
    results : Results
        Tables of one scale or of published ones.
    cached_on_purpose : collection of str
        Experiments whose data are to fit in a cache.

    Returns
    -------
    DataFrame
        `PITFALL_COLUMNS`, sorted; one row per mark.
    """
    marks: list[tuple[str, ...]] = []
    for experiment in results.experiments:
        campaign = results.campaign(experiment)
        for name, run in _runs(campaign, experiment).items():
            for phase, pitfall, told in _marks(run, experiment in cached_on_purpose):
                marks.append((experiment, name, phase, pitfall, told))
    for campaign in results.campaigns:
        marks += _overlaps(campaign)
    return tables.sort(pd.DataFrame(marks, columns=PITFALL_COLUMNS)).drop_duplicates()


def _runs(campaign: Campaign, experiment: str) -> dict[str, _Run]:
    """Collect the runs of an experiment with their metrics."""
    timed = campaign.of(experiment)
    timed = timed[timed.profiled == 0]
    specifications = campaign.specifications.set_index("run")
    options, devices = specifications.engine_options.to_dict(), specifications.device.to_dict()
    return {
        run: _Run(
            experiment,
            options[run],
            devices[run],
            campaign.metrics.get(run, {}),
        )
        for run in timed.run
    }


def _marks(run: _Run, cached_on_purpose: bool) -> Iterator[tuple[str, str, str]]:
    """Yield phase, pitfall and what is told of it."""
    for name, phase in run.phases.items():
        if "+" in name or "." in name or not phase.get("operations"):
            continue
        writes = phase.get("user_bytes_written", 0) > 0
        if not cached_on_purpose:
            yield from ((name, "cached", told) for told in _cached(run, phase))
        if writes:
            yield from ((name, pitfall, told) for pitfall, told in _writes(phase))
        yield from ((name, "accounts", told) for told in _accounts(phase))
        warm_up = run.phases.get(WARM_UP, {}).get("duration_s", 0)
        if name != WARM_UP and phase["duration_s"] < warm_up:
            told = f"{phase['duration_s']:.1f} s after {warm_up:.1f} s of warm-up"
            yield name, "short", told


def _cached(run: _Run, phase: Mapping[str, float]) -> Iterator[str]:
    reads = sum(phase.get(f"latency_{kind}_count", 0) for kind in ("read", "scan"))
    if not reads or run.device.get("kind") == "memory":
        return
    cache = float(str(run.engine_options.get("block_cache_bytes", 0)))
    cache += float(str(run.device.get("page_cache_bytes", 0)))
    data = phase.get("space_tree_bytes", 0)
    if 0 < data <= cache:
        yield f"{data / 2**20:.1f} MiB of tables, {cache / 2**20:.1f} MiB of caches"


def _writes(phase: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    levels = sum(
        value > 0
        for metric, value in phase.items()
        if metric.startswith("level_") and metric.endswith("_files")
    )
    if levels < LEAST_LEVELS:
        yield "flat", f"{levels} of at least {LEAST_LEVELS} levels"
    if phase.get("compaction_count", 1) + phase.get("merge_count", 0) == 0:
        yield "idle", "no compaction ended in this phase"
    elif phase.get("stall_us") == 0:
        yield "unstalled", "writes never waited: compactions kept up with them"
    turnovers = phase.get("turnovers")
    if turnovers is not None and turnovers < LEAST_TURNOVERS:
        yield "short", f"{turnovers:.2f} turnovers of level 1"


def _accounts(phase: Mapping[str, float]) -> Iterator[str]:
    """Compare what the device wrote with what the process did, and with the tables."""
    device, process = phase.get("device_write_bytes"), phase.get("process_write_bytes")
    if not device or not process:
        return
    if abs(device - process) > max(ACCOUNTS_SHARE * process, ACCOUNTS_BYTES):
        yield f"device {device:.0f} bytes, process {process:.0f}"
    written = phase.get("table_bytes_written", 0)
    if written - device > max(ACCOUNTS_SHARE * written, ACCOUNTS_BYTES):
        yield f"tables {written:.0f} bytes, device {device:.0f}"


def _overlaps(campaign: Campaign) -> list[tuple[str, ...]]:
    """Find runs of a host, in real time, that began before another one had ended.

    Beginnings are known to a second; what a run did before and after its phases is not in its
    duration, so no overlap is told that was none.
    """
    lasted = seconds_of_runs(campaign.runs)
    real = campaign.specifications[~campaign.specifications.host.str.startswith(tables.SIMULATED)]
    begun = real.set_index("run").date
    begun = begun[begun.str.contains("T", na=False)]  # older runs tell the day only
    timed = pd.DataFrame(
        {"begun": pd.to_datetime(begun, format="ISO8601"), "lasted": lasted.reindex(begun.index)}
    )
    timed = timed.dropna().sort_values("begun")
    ended = timed.begun + pd.to_timedelta(timed.lasted, unit="s")
    before = ended.cummax().shift()
    late = (before - timed.begun).dt.total_seconds() > 1
    experiments = campaign.experiments.drop_duplicates("run").set_index("run").experiment
    return [
        (
            experiments[str(run)],
            str(run),
            "",
            "overlap",
            f"began {seconds:.0f} s before another ended",
        )
        for run, seconds in (before - timed.begun).dt.total_seconds()[late].items()
    ]


def of_figure(figure: Figure, results: Results, data: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield pitfall and what is told of it, of what a figure shows rather than of a run.

    Parameters
    ----------
    figure : Figure
        Its declaration.
    results : Results
        The tables that it was drawn from.
    data : DataFrame
        Its data, see `recompact.figures.data`.
    """
    yield from (("debts", told) for told in _debts(figure, results))
    runs = data[(data.source == "run") & (pd.to_numeric(data.value, errors="coerce") > 0)]
    outliers = Outliers()
    cell = ["panel", "series", "engine", "x"]
    enough = runs.groupby(cell, dropna=False).value.transform("size") >= outliers.least
    for (panel, series, engine, x), group in runs[enough].groupby(cell, dropna=False):
        values = group.value.astype(float)
        for place in values[outliers(values)].index:
            ratio = values[place] / values.median()
            told = f"{panel}, {series}, {engine} at {x}: repetition {group.repetition[place]:.0f}"
            yield "outlier", f"{told} is {ratio:.3g} times the median"


def _debts(figure: Figure, results: Results) -> Iterator[str]:
    """Yield series of write amplification that leave out compactions which were owed."""
    metric = "write_amplification"
    series = [one for axes in (figure.sweep.axes if figure.sweep else ()) for one in axes.series]
    shown = {(one.experiment, one.phase) for one in series if one.metric == metric}
    for experiment, phase in sorted(shown):
        try:
            burst = results.select(experiment, metric, phase=phase)
        except MissingCell:
            continue
        phases = results.campaign(experiment).metrics
        drained = [
            (name, metrics[metric] / value)
            for run, value in zip(burst.run, burst.value, strict=True)
            for name, metrics in phases[run].items()
            if name.startswith(f"{phase}+") and metric in metrics
        ]
        if not drained or (experiment, drained[0][0]) in shown:
            continue
        ratio = statistics.median(ratio for _, ratio in drained)
        floor = results.noise_floor(metric, experiment) or 0
        if abs(ratio - 1) > floor:
            yield f"{experiment}: with what {phase} left to be done, {ratio:.3g} times as much"
