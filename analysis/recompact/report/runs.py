"""What the page of all runs shows: of each run its sources, traces, options and host."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from recompact.figures.declarations import Figure
from recompact.results import Campaign, Results
from recompact.tables import canonical

RAW_FOLDER = Path("../../raw")
SHORT = 12  # characters of a hash


@dataclass(frozen=True)
class RunView:
    """A run of an experiment.

    Attributes
    ----------
    name : str
        Its id.
    anchor : str
        Its place on the page; a run that serves several experiments has one in each.
    record : str or None
        Path of its raw record, where that lies on this host.
    engine, point, repetition, began
        What it is.
    sources : tuple of str
        Hashes of engine and driver, and the commit.
    traces : tuple of str
        Checksum of the trace of each phase.
    set_up : int
        Number of its options and device among all set-ups.
    marks : tuple of str
        Pitfalls, and the driver's doubts.
    """

    name: str
    anchor: str
    record: str | None
    engine: str
    point: str
    repetition: int
    began: str
    sources: tuple[str, ...]
    traces: tuple[str, ...]
    set_up: int
    marks: tuple[str, ...]


@dataclass(frozen=True)
class ExperimentView:
    """An experiment with its runs, on the host that answers for it."""

    name: str
    scale: str
    host: str
    figures: tuple[str, ...]
    runs: list[RunView] = field(default_factory=list)


def link(path: Path, out_dir: Path) -> str | None:
    """Give the link to a file beside the results, or None where it is not on this host."""
    exists = Path(os.path.normpath(out_dir.resolve() / path)).exists()
    return path.as_posix() if exists else None


def content(
    results: Results, figures: Sequence[Figure], marks: pd.DataFrame, out_dir: Path
) -> dict[str, Any]:
    """Collect what the template needs: ``experiments``, and ``set_ups`` by number.

    Parameters
    ----------
    results : Results
        The tables.
    figures : sequence of Figure
        Which experiment is shown where.
    marks : DataFrame
        Pitfalls, see `recompact.pitfalls.find`.
    out_dir : Path
        Where the page will be.
    """
    set_ups: dict[str, int] = {}
    texts: dict[int, dict[str, str]] = {}
    seen: set[str] = set()
    views = []
    told = {str(run): group for run, group in marks.groupby("run")}
    specified = {campaign: _specifications(campaign) for campaign in results.campaigns}
    replayed = {campaign: _traces(campaign) for campaign in results.campaigns}
    for name in results.experiments:
        campaign = results.campaign(name)
        specifications, traces = specified[campaign], replayed[campaign]
        planned = campaign.of(name)
        view = ExperimentView(
            name,
            campaign.scale,
            "; ".join(dict.fromkeys(specifications[run]["host"] for run in planned.run)),
            tuple(entry.id for entry in figures if name in entry.experiments),
        )
        for row in planned.to_dict("records"):
            run = row["run"]
            specification = specifications[run]
            text = _set_up(specification)
            number = set_ups.setdefault(canonical(text), len(set_ups) + 1)
            texts[number] = text
            pitfalls = told[run].to_dict("records") if run in told else ()
            doubts = [specification["suspect"]] if specification["suspect"] else []
            view.runs.append(
                RunView(
                    name=run,
                    anchor=run if run not in seen else f"{name}-{run}",
                    record=link(RAW_FOLDER / run / "run.json", out_dir),
                    engine=row["engine"],
                    point=row["point"],
                    repetition=row["repetition"],
                    began=specification["date"],
                    sources=_sources(specification),
                    traces=tuple(traces.get(run, ())),
                    set_up=number,
                    marks=tuple(
                        f"{one['pitfall']} {one['phase']}: {one['told']}" for one in pitfalls
                    )
                    + tuple(doubts),
                )
            )
            seen.add(run)
        views.append(view)
    return {"experiments": views, "set_ups": texts}


def _specifications(campaign: Campaign) -> dict[str, dict[Hashable, Any]]:
    return {row["run"]: row for row in campaign.specifications.to_dict("records")}


def _set_up(specification: Mapping[Hashable, Any]) -> dict[str, str]:
    """Tell what a run was told to be, the same for all its repetitions."""
    conditions, build = specification["conditions"], specification["build"]
    return {
        "options": canonical(specification["engine_options"]),
        "device": canonical(specification["device"]),
        "conditions": canonical(
            {key: value for key, value in conditions.items() if key != "commit"}
        ),
        "build": canonical({key: build.get(key, "") for key in ("compiler", "flags")}),
    }


def _sources(specification: Mapping[Hashable, Any]) -> tuple[str, ...]:
    conditions, build = specification["conditions"], specification["build"]
    told = [
        f"tree {str(specification['tree'])[:SHORT]}",
        f"driver {str(build.get('driver', ''))[:SHORT]}",
    ]
    if "commit" in conditions:
        told.append(f"commit {str(conditions['commit'])[:SHORT]}")
    return tuple(told)


def _traces(campaign: Campaign) -> dict[str, list[str]]:
    """Name, per run, the trace of each phase that replays one."""
    traces: dict[str, list[str]] = {}
    for row in campaign.phases.dropna(subset="trace").itertuples():
        traces.setdefault(str(row.run), []).append(f"{row.phase} {row.workload} {row.trace}")
    return traces
