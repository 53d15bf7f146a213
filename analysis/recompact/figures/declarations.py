"""The content of paper_figures/figures.yaml."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from recompact.declarations import Declaration, DeclarationError, MetricName, check_declared, load

Unit = Literal["1", "ops/s", "1/s", "us", "ms", "s", "MB/s", "KiB", "MiB", "GiB"]


@dataclass(frozen=True)
class EngineStyle:
    """How an engine looks, as engines.yaml declares it."""

    label: str
    colour: str
    marker: str


class PaperData(Declaration):
    """The paper's own numbers.

    Attributes
    ----------
    source : str
        Where in the paper they stand.
    values : dict
        Per series, the value per position on the x axis, in the unit of the axes.
    """

    source: str
    values: dict[str, dict[str | int | float, float]]


class Per(Declaration):
    """What a metric of a run is divided by: another metric, of the same phase or another."""

    phase: str
    metric: MetricName


class Series(Declaration):
    """One measured series.

    Attributes
    ----------
    label : str
        Name in the legend and in the data; the paper's data use the same.
    experiment, phase, metric : str
        What is measured.
    engines : tuple of str
        Of which engines; of all that the experiment compares by default.
    where : dict
        Values of the point that the runs must have.
    scaled_up : bool
        Whether to multiply by the scale factor, to tell bytes at the paper's size.
    per : Per, optional
        What to divide by, of the same run.
    """

    label: str
    experiment: str
    phase: str
    metric: MetricName
    engines: tuple[str, ...] | None = None
    where: dict[str, str | int | float | bool] = Field(default={})
    scaled_up: bool = False
    per: Per | None = None


class Axes(Declaration):
    """One panel of a figure over a sweep.

    Attributes
    ----------
    label, unit : str
        Name and unit of the y axis.
    over : str, optional
        Engine by whose value of the same repetition and point every other engine's is divided.
    series : tuple of Series
        What is drawn.
    """

    label: str
    unit: Unit
    over: str | None = None
    series: tuple[Series, ...] = Field(min_length=1)


class Sweep(Declaration):
    """The x axis of a figure over a sweep, and its panels.

    Attributes
    ----------
    key : str
        Key of the experiments' points.
    label : str
        Name of the axis.
    logarithmic : bool
        Whether the axis is logarithmic.
    order : tuple of str
        Points that have names, from left to right.
    axes : tuple of Axes
        The panels.
    """

    key: str
    label: str
    logarithmic: bool = False
    order: tuple[str, ...] = ()
    axes: tuple[Axes, ...] = Field(min_length=1)


class Along(Declaration):
    """The x axis of a figure that knows its own metrics.

    Attributes
    ----------
    key : str
        Key of the experiments' points.
    label : str
        Name of the axis.
    parallel : str, optional
        What of the pipeline the points are a number of.
    """

    key: str
    label: str
    parallel: Literal["disks", "threads"] | None = None


class Figure(Declaration):
    """One figure or table.

    Attributes
    ----------
    id : str
        Id of the panel, such as LDC-F7.
    paper : str
        LDC, LWC, QACP, PCP, DLSM, or recompact for figures of our own.
    panel : str
        Name in the paper.
    title : str
        What it shows.
    function : str
        Name of the function that draws it.
    experiments : tuple of str
        Experiments that it is drawn from.
    engine : str
        For figures of one engine, which.
    timeline : bool
        Whether it draws the runs' timelines.
    spans : bool
        Whether it draws what the threads of one compaction of each run did.
    profiled : bool
        Whether it is drawn from the experiments' profiled runs.
    paper_numbers : str
        What the paper states, in our words.
    paper_data : PaperData, optional
        The paper's numbers as data.
    look_for : str
        One sentence: what to look at.
    deviations : tuple of str
        Where this measurement differs from the paper's.
    claims : tuple of str
        Ids of the claims that it shows.
    sweep : Sweep, optional
        For figures over a sweep.
    along : Along, optional
        For figures over the points of experiments that know their own metrics.
    metrics : tuple of str
        For figures that list metrics.
    table_in : str
        Document whose block of the figure's id is to hold its medians as a table.
    tolerance : float, optional
        For figures that draw a band around a reference, its relative half width.
    """

    id: str
    paper: Literal["LDC", "LWC", "QACP", "PCP", "DLSM", "recompact"]
    panel: str
    title: str
    function: str
    experiments: tuple[str, ...] = Field(min_length=1)
    engine: str = "leveldb"
    timeline: bool = False
    spans: bool = False
    profiled: bool = False
    paper_numbers: str = ""
    paper_data: PaperData | None = None
    look_for: str
    deviations: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    sweep: Sweep | None = None
    along: Along | None = None
    metrics: tuple[MetricName, ...] = ()
    table_in: str = ""
    tolerance: float | None = None

    @model_validator(mode="after")
    def _declares_its_experiments(self) -> Self:
        used = {s.experiment for axes in self._axes() for s in axes.series}
        undeclared = ", ".join(sorted(used - set(self.experiments)))
        if undeclared:
            raise ValueError(f"{self.id} draws experiments that it does not list: {undeclared}")
        return self

    def _axes(self) -> tuple[Axes, ...]:
        return self.sweep.axes if self.sweep else ()


class Figures(Declaration):
    """All figures."""

    figures: tuple[Figure, ...]

    @model_validator(mode="after")
    def _unique(self) -> Self:
        ids = [figure.id for figure in self.figures]
        for figure in ids:
            if ids.count(figure) > 1:
                raise ValueError(f"figure {figure} is declared twice")
        return self

    def chosen(self, ids: Collection[str]) -> tuple[Figure, ...]:
        """Choose figures by id, in declared order.

        Raises
        ------
        DeclarationError
            If an id is not declared; the message names those that are.
        """
        known = [figure.id for figure in self.figures]
        unknown = sorted(set(ids) - set(known))
        if unknown:
            raise DeclarationError(
                f"figures.yaml: no figure {', '.join(unknown)}; there are {', '.join(known)}"
            )
        return tuple(figure for figure in self.figures if figure.id in ids)


def load_figures(path: Path) -> Figures:
    """Read figures.yaml.

    Raises
    ------
    DeclarationError
        If the file is not as it must be.
    """
    return load(path, Figures)


def check_experiments(figures: Figures, experiments: Collection[str]) -> None:
    """Check that every figure's experiments are declared; see `check_declared`."""
    used = [(figure.id, name) for figure in figures.figures for name in figure.experiments]
    check_declared("figures.yaml", used, experiments)


def check_sizes(figures: Figures, kept: Collection[str]) -> None:
    """Check that no bytes of an experiment that keeps its sizes are multiplied by its factor.

    Parameters
    ----------
    figures : Figures
        The figures.
    kept : collection of str
        Experiments whose factor divides operations only: fewer of them leave a smaller tree, and
        no scale model of a larger one.

    Raises
    ------
    DeclarationError
        If a series does; names the figure and the experiment.
    """
    for figure in figures.figures:
        for axes in figure.sweep.axes if figure.sweep else ():
            for series in axes.series:
                if series.scaled_up and series.experiment in kept:
                    raise DeclarationError(
                        f"figures.yaml: {figure.id}: {series.experiment} keeps its sizes, so its "
                        f"bytes are no model of more; remove scaled_up"
                    )


def along_of(figure: Figure) -> Along:
    """Get the x axis of a figure that must have one of its own.

    Raises
    ------
    DeclarationError
        If it has none.
    """
    if figure.along is None:
        raise DeclarationError(f"figures.yaml: {figure.id}: along is missing; declare it")
    return figure.along
