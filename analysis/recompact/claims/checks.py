"""How claims are measured: each check is declared data and turns results into evidence."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import stats

from recompact import models
from recompact.claims.judgement import Band
from recompact.declarations import Declaration
from recompact.metrics import MetricName
from recompact.results import MissingCell, Results, Stamp
from recompact.statistics import Estimate, MedianInterval, PairedRatio, ShareFloor

RISE_POINTS = 3  # fewer show a difference, no trend

Scalars = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Evidence:
    """What a check measured, ready to be judged (see `judge`).

    Attributes
    ----------
    measured : Estimate
        Value shown beside the paper's.
    band : tuple of (float or None)
        The check's band, open where the effect alone decides.
    effect : Estimate or None
        Ratio to the neutral case in the claim's direction.
    noise_floor : float or None
        Relative difference that identical runs reach.
    remark : str
        What else the reason should say.
    """

    measured: Estimate
    band: Band
    effect: Estimate | None
    noise_floor: float | None
    remark: str = ""


class Check(Declaration):
    """What all checks declare.

    Attributes
    ----------
    experiment, engine, phase : str
        Which runs.
    band : tuple of (float or None)
        Values with which the claim counts as reproduced.
    time : bool
        Whether the claim is about time.
    """

    experiment: str
    engine: str = "leveldb"
    phase: str = "run"
    band: Band = (None, None)
    time: bool

    @property
    def experiments(self) -> tuple[str, ...]:
        """Experiments that the check looks at."""
        return (self.experiment,)

    def stamp(self, results: Results) -> Stamp:
        """Collect the conditions of the runs that the check looks at."""
        return results.stamp(self.experiments)

    @abstractmethod
    def evidence(self, results: Results) -> Evidence:
        """Measure; raises `MissingCell` if a value was not measured."""


class MetricCheck(Check):
    """A check on one metric of the runs.

    Attributes
    ----------
    metric : str
        Metric of runs.csv.
    noise_metric : str, optional
        Metric whose noise floor counts; `metric` itself by default.
    """

    metric: MetricName
    noise_metric: MetricName | None = None

    def values(self, results: Results, where: Scalars) -> pd.DataFrame:
        """Get the metric of the engine, one row per run."""
        return results.select(
            self.experiment, self.metric, phase=self.phase, engines=[self.engine], where=where
        )

    def floor(self, results: Results) -> float | None:
        """Get the noise floor."""
        return results.noise_floor(self.noise_metric or self.metric, self.experiment)


class Level(MetricCheck):
    """The metric itself, at one point.

    Attributes
    ----------
    where : dict
        Point of the sweep.
    neutral : float
        Value that would mean no effect; the claim is that the metric is above.
    """

    function: Literal["level"]
    where: Scalars = Field(default={})
    neutral: float

    def evidence(self, results: Results) -> Evidence:
        """Compare the median over repetitions with the neutral value."""
        values = self.values(results, self.where).value
        median = MedianInterval()
        return Evidence(
            median(values), self.band, median(values / self.neutral), self.floor(results)
        )


class MeanRatio(MetricCheck):
    """The metric in one experiment over that in another, averaged over the sweep.

    Attributes
    ----------
    over : str
        Experiment in the denominator, with the same sweep and phase.
    sweep : str
        Key of the points over which ratios are averaged, as the paper does.
    """

    function: Literal["mean_ratio"]
    over: str
    sweep: str

    @property
    def experiments(self) -> tuple[str, ...]:
        """Both experiments."""
        return (self.experiment, self.over)

    def evidence(self, results: Results) -> Evidence:
        """Average the paired ratios over the sweep, then take the median over repetitions."""
        above = sweep_table(self.values(results, {}), self.sweep)
        below = sweep_table(
            results.select(self.over, self.metric, phase=self.phase, engines=[self.engine]),
            self.sweep,
        )
        repetitions = above.index.intersection(below.index)
        if repetitions.empty or not above.columns.equals(below.columns):
            raise MissingCell(
                f"experiments {self.experiment} and {self.over} have no repetition of the same "
                f"points in common"
            )
        ratios = (above / below).loc[repetitions].mean(axis=1)
        ratio = MedianInterval()(ratios)
        return Evidence(ratio, self.band, ratio, self.floor(results))


class Rise(MetricCheck):
    """The metric rises over a sweep.

    The band holds the smallest value; the effect is the last value of the sweep over the first.

    Attributes
    ----------
    sweep : str
        Key of the points.
    """

    function: Literal["rise"]
    sweep: str

    def evidence(self, results: Results) -> Evidence:
        """Compare the ends of the sweep and tell the rank correlation."""
        wide = sweep_table(self.values(results, {}), self.sweep)
        if wide.shape[1] < RISE_POINTS:
            raise MissingCell(
                f"a rise needs {RISE_POINTS} points of {self.sweep}, experiment "
                f"{self.experiment} has {wide.shape[1]} at this scale"
            )
        median = MedianInterval()
        smallest = wide[wide.median().idxmin()]
        correlation = stats.spearmanr(wide.columns, wide.median()).statistic
        effect = PairedRatio()(wide.iloc[:, -1].to_list(), wide.iloc[:, 0].to_list())
        remark = (
            f"x{effect.value:.3g} from {self.sweep} {wide.columns[0]:g} to {wide.columns[-1]:g}, "
            f"Spearman {correlation:.2f} over {wide.shape[1]} points"
        )
        return Evidence(median(smallest), self.band, effect, self.floor(results), remark)


class BestGain(MetricCheck):
    """What the best point of a sweep gains over the point that is the default.

    Attributes
    ----------
    sweep : str
        Key of the points.
    default : float
        The default point.
    """

    function: Literal["best_gain"]
    sweep: str
    default: float

    def evidence(self, results: Results) -> Evidence:
        """Divide the best point's value by the default's; a band alone decides."""
        wide = sweep_table(self.values(results, {}), self.sweep)
        if self.default not in wide:
            raise MissingCell(
                f"experiment {self.experiment} has no point {self.sweep} {self.default:g}"
            )
        best = wide.median().idxmax()
        gain = PairedRatio()(wide[best].to_list(), wide[self.default].to_list())
        remark = f"best at {self.sweep} {best:g} of {_points(wide)}"
        return Evidence(gain, self.band, None, self.floor(results), remark)


class BestPoint(MetricCheck):
    """Where in a sweep the metric is largest.

    The effect is the best value inside the band over the best outside. The interval spans the
    points that the noise floor does not tell from the best.

    Attributes
    ----------
    sweep : str
        Key of the points.
    """

    function: Literal["best_point"]
    sweep: str

    def evidence(self, results: Results) -> Evidence:
        """Find the best point and compare the best on both sides of the band's edge."""
        wide = sweep_table(self.values(results, {}), self.sweep)
        medians = wide.median()
        low, high = self.band
        points = medians.index.to_numpy()
        inside = (points >= (-np.inf if low is None else low)) & (
            points <= (np.inf if high is None else high)
        )
        if inside.all() or not inside.any():
            raise MissingCell(
                f"experiment {self.experiment} has no {self.sweep} "
                f"{'outside' if inside.all() else 'inside'} the band, only {_points(wide)}"
            )
        effect = PairedRatio()(
            wide[medians[inside].idxmax()].to_list(), wide[medians[~inside].idxmax()].to_list()
        )
        floor = self.floor(results)
        alike = points[medians >= medians.max() / (1 + (floor or 0))]
        best = Estimate(
            float(points[medians.argmax()]), float(alike.min()), float(alike.max()), len(wide)
        )
        remark = f"of {self.sweep} {_points(wide)}, those within the floor of the best are "
        remark += ", ".join(f"{point:g}" for point in alike)
        return Evidence(best, (None, None), effect, floor, remark)


class ProfileShare(Check):
    """Share of a function group in a profile.

    Groups are ranked without `others`, which is what the paper's table leaves unnamed. The
    noise floor is the sampling error of the shares compared.

    Attributes
    ----------
    group : str
        Function group of profile.csv.
    rank : int, optional
        Rank that the claim gives to the group; none if only the band counts.
    """

    function: Literal["profile_share"]
    group: str
    rank: int | None = None

    def stamp(self, results: Results) -> Stamp:
        """Collect the conditions of the profiled runs."""
        return results.stamp(self.experiments, profiled=True)

    def evidence(self, results: Results) -> Evidence:
        """Compare the share with the shares ranked before and after it."""
        profile = results.rows("profile", self.experiment, profiled=True)
        profile = profile[profile.engine == self.engine]
        wide = profile.pivot_table(
            index="run", columns="function_group", values="share", aggfunc="sum", fill_value=0
        )
        if self.group not in wide:
            raise MissingCell(
                f"experiment {self.experiment}: no function group {self.group} in profile.csv"
            )
        samples = int(profile.samples.sum())
        named = wide.drop(columns="others", errors="ignore").median()
        own = float(named[self.group])
        measured = MedianInterval()(wide[self.group])
        if self.rank is None:
            return Evidence(measured, self.band, None, ShareFloor()([own], samples))
        others = named.drop(self.group).sort_values(ascending=False)
        before, after = others.iloc[: self.rank - 1], others.iloc[self.rank - 1 :]
        ratios = [share / own if own else np.inf for share in before.tail(1)]
        ratios += [own / share if share else np.inf for share in after.head(1)]
        effect = Estimate(float(min(ratios, default=np.inf)), None, None, measured.repetitions)
        compared = [own, *before.tail(1), *after.head(1)]
        rank = int((named > own).sum()) + 1
        return Evidence(
            measured,
            self.band,
            effect,
            ShareFloor()(compared, samples),
            f"rank {rank} of {len(named)} named groups",
        )


class CompactionSize(Check):
    """Mean bytes that one compaction reads and writes, in SSTables.

    Counts compactions chosen by size into level 2 and below: Eq. 1 of LWC-tree speaks of levels
    of unique keys, and level 0 is none.

    Attributes
    ----------
    where : dict
        Point of the sweep.
    noise_metric : str
        Metric whose noise floor counts.
    """

    function: Literal["compaction_size"]
    where: Scalars
    noise_metric: MetricName

    def evidence(self, results: Results) -> Evidence:
        """Take the median over repetitions of the mean bytes per compaction."""
        frame = compaction_sizes(results, self.experiment, self.where)
        frame = frame[frame.engine == self.engine]
        if frame.empty:
            raise MissingCell(
                f"experiment {self.experiment}: no compaction below level 1 at {self.where}"
            )
        totals = frame.groupby("run")[["count", "total_bytes", "sstable_bytes"]].agg(
            {"count": "sum", "total_bytes": "sum", "sstable_bytes": "first"}
        )
        sizes = totals.total_bytes / totals["count"] / totals.sstable_bytes
        options = frame.engine_options.iloc[0]
        remark = f"Eq. 1 says {models.compaction_bytes(options['fanout']):g}"
        floor = results.noise_floor(self.noise_metric, self.experiment)
        return Evidence(MedianInterval()(sizes), self.band, None, floor, remark)


AnyCheck = Annotated[
    Level | MeanRatio | Rise | BestGain | BestPoint | ProfileShare | CompactionSize,
    Field(discriminator="function"),
]


def sweep_table(values: pd.DataFrame, sweep: str) -> pd.DataFrame:
    """Arrange a selection as repetitions x points.

    A repetition that lacks a point, as the last one of an unfinished sweep may, is left out.

    Raises
    ------
    MissingCell
        If no repetition has every point.
    """
    wide = values.pivot(index="repetition", columns=sweep, values="value").sort_index(axis=1)
    complete = wide.dropna()
    if complete.empty:
        lacking = ", ".join(f"{point:g}" for point in wide.columns[wide.isna().any()])
        raise MissingCell(f"no repetition has all points: {sweep} {lacking}")
    return complete


def compaction_sizes(results: Results, experiment: str, where: Scalars) -> pd.DataFrame:
    """Tell per run and output level the bytes of compactions chosen by size.

    Returns
    -------
    DataFrame
        Rows of compactions.csv from level 2 on, with the point, `total_bytes` (read and
        written, summed), `sstable_bytes` and `engine_options`.
    """
    frame = results.rows("compactions", experiment, where=where)
    frame = frame[(frame.type == "compaction") & (frame.reason == "size") & (frame.level > 1)]
    options = results.campaign(experiment).specifications[["run", "engine_options"]]
    frame = frame.merge(options, on="run")
    return frame.assign(
        total_bytes=frame.bytes_read + frame.bytes_written,
        sstable_bytes=[options["max_file_size"] for options in frame.engine_options],
    )


def _points(wide: pd.DataFrame) -> str:
    return ", ".join(f"{point:g}" for point in wide.columns)
