"""How claims are measured: each check is declared data and turns results into evidence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy import stats

from recompact import models
from recompact.claims.judgement import Band
from recompact.declarations import Declaration, MetricName
from recompact.level_traffic import TYPES, Bytes, bytes_into
from recompact.results import NOT_IN_POINT, MissingCell, Results, Stamp
from recompact.stages import stage_times
from recompact.statistics import Estimate, MedianInterval, PairedRatio, ShareFloor

TREND_POINTS = 3  # fewer show a difference, no trend

Scalars = dict[str, str | int | float | bool]
Points = dict[str, tuple[str | int | float, ...]]


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

    def evidences(self, results: Results) -> list[Evidence]:
        """Measure everything that must hold; raises `MissingCell` as `evidence` does."""
        return [self.evidence(results)]

    @abstractmethod
    def evidence(self, results: Results) -> Evidence:
        """Measure; raises `MissingCell` if a value was not measured."""


class Over(Declaration):
    """What a metric is divided by: the same metric of other runs, repetition by repetition.

    Attributes
    ----------
    experiment, engine, phase : str, optional
        Which runs; the check's own by default.
    where : dict, optional
        Their point; each point's own value by default.
    """

    experiment: str | None = None
    engine: str | None = None
    phase: str | None = None
    where: Scalars | None = None


class MetricCheck(Check):
    """A check on one metric of the runs, or on its ratio to that of other runs.

    Attributes
    ----------
    metric : str
        Metric of runs.csv.
    over : Over, optional
        Makes it a ratio, paired by repetition.
    noise_metric : str, optional
        Metric whose noise floor counts; `metric` itself by default.
    """

    metric: MetricName
    over: Over | None = None
    noise_metric: MetricName | None = None

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiment, and that of the denominator."""
        other = self.over.experiment if self.over else None
        return (self.experiment, other) if other else (self.experiment,)

    def values(self, results: Results, where: Scalars) -> pd.DataFrame:
        """Get the metric or the ratio, one row per repetition and point.

        Raises
        ------
        MissingCell
            If a value was not measured, or no repetition has both parts of a ratio.
        """
        values = results.select(
            self.experiment, self.metric, phase=self.phase, engines=[self.engine], where=where
        )
        if self.over is None:
            return values
        below = results.select(
            self.over.experiment or self.experiment,
            self.metric,
            phase=self.over.phase or self.phase,
            engines=[self.over.engine or self.engine],
            where=where if self.over.where is None else self.over.where,
        )
        keys = ["repetition"]
        if self.over.where is None:
            keys += point_keys(values)
        paired = values.merge(below[[*keys, "value"]], on=keys, suffixes=("", "_below"))
        if paired.empty:
            raise MissingCell(
                f"experiment {self.experiment}: {self.metric} of {self.engine} has no repetition "
                f"in common with what it is compared with"
            )
        return paired.assign(value=paired.value / paired.value_below)

    def floor(self, results: Results) -> float | None:
        """Get the noise floor."""
        return results.noise_floor(self.noise_metric or self.metric, self.experiment)


class Level(MetricCheck):
    """The metric or ratio itself: at a point, or over the points of a sweep.

    Attributes
    ----------
    where : dict
        Point of the sweep.
    mean_of, each_of : dict, optional
        Key of the points and those of which the mean counts, or each for itself; all of them if
        none is named.
    best_of : str, optional
        Key of the points of which the best counts, by its median.
    neutral : float, optional
        Value that would mean no effect; none if the band alone decides.
    direction : str
        Whether the claim is that the metric is above the neutral value or below.
    """

    function: Literal["level"]
    where: Scalars = Field(default={})
    mean_of: Points = Field(default={}, max_length=1)
    each_of: Points = Field(default={}, max_length=1)
    best_of: str | None = None
    neutral: float | None = None
    direction: Literal["up", "down"] = "up"

    def per_repetition(self, results: Results) -> pd.Series[float]:
        """Tell the value of each repetition, by its number."""
        values = self.values(results, self.where)
        if self.best_of:
            wide = sweep_table(values, self.best_of)
            return wide[wide.median().idxmax()]
        for sweep, points in self.mean_of.items():
            return self._chosen(values, sweep, points).mean(axis=1)
        return values.set_index("repetition").value

    def evidences(self, results: Results) -> list[Evidence]:
        """Judge every point of `each_of` for itself."""
        for sweep, points in self.each_of.items():
            wide = self._chosen(self.values(results, self.where), sweep, points)
            return [
                self._evidence(wide[point], results, f"{sweep} {_names([point])}") for point in wide
            ]
        return [self.evidence(results)]

    def evidence(self, results: Results) -> Evidence:
        """Compare the median over repetitions with the neutral value."""
        return self._evidence(self.per_repetition(results), results)

    def _chosen(
        self, values: pd.DataFrame, sweep: str, points: tuple[str | int | float, ...]
    ) -> pd.DataFrame:
        measured = set(values[sweep])
        missing = [point for point in points if point not in measured]
        if missing:
            raise MissingCell(
                f"experiment {self.experiment} has no {sweep} {_names(missing)} at this scale"
            )
        kept = values[values[sweep].isin(points)] if points else values
        return sweep_table(kept, sweep)

    def _evidence(self, values: pd.Series[float], results: Results, remark: str = "") -> Evidence:
        median = MedianInterval()
        effect = None
        if self.neutral is not None:
            up = self.direction == "up"
            effect = median(values / self.neutral if up else self.neutral / values)
        return Evidence(median(values), self.band, effect, self.floor(results), remark)


class OfTwoLevels(Check):
    """Compares one level with another, repetition by repetition.

    Attributes
    ----------
    first, second : Level
        What is claimed to be greater than what; their bands are not used.
    """

    experiment: str = ""
    first: Level
    second: Level

    @property
    def experiments(self) -> tuple[str, ...]:
        """Those of both levels."""
        return tuple(dict.fromkeys((*self.first.experiments, *self.second.experiments)))


class Greater(OfTwoLevels):
    """One level is above another; the effect is their ratio."""

    function: Literal["greater"]

    def evidence(self, results: Results) -> Evidence:
        """Divide the levels repetition by repetition."""
        ratios = (self.first.per_repetition(results) / self.second.per_repetition(results)).dropna()
        if ratios.empty:
            raise MissingCell(f"{' and '.join(self.experiments)}: no repetition in common")
        ratio = MedianInterval()(ratios)
        return Evidence(ratio, self.band, ratio, self.first.floor(results))


class Difference(OfTwoLevels):
    """How far one level is above another, in the unit of the metric; the effect is their ratio.

    Identical runs differ by the noise floor of the level, which is a larger part of the difference.
    """

    function: Literal["difference"]

    def evidence(self, results: Results) -> Evidence:
        """Subtract the levels repetition by repetition."""
        above = self.first.per_repetition(results)
        below = self.second.per_repetition(results)
        differences = (above - below).dropna()
        if differences.empty:
            raise MissingCell(f"{' and '.join(self.experiments)}: no repetition in common")
        median = MedianInterval()
        difference = median(differences)
        floor = self.first.floor(results)
        if floor is not None:
            larger = max(float(above.median()), float(below.median()))
            floor = floor * larger / abs(difference.value) if difference.value else np.inf
        effect = median((above / below).dropna())
        return Evidence(difference, self.band, effect, floor)


class Trend(MetricCheck):
    """The metric or ratio rises, or falls, over a sweep.

    The band holds the smallest value; the effect is the last value of the sweep over the first,
    or the first over the last.

    Attributes
    ----------
    sweep : str
        Key of the points.
    direction : str
        Whether it rises or falls.
    """

    function: Literal["trend"]
    sweep: str
    direction: Literal["up", "down"] = "up"

    def evidence(self, results: Results) -> Evidence:
        """Compare the ends of the sweep and tell the rank correlation."""
        wide = sweep_table(self.values(results, {}), self.sweep)
        if wide.shape[1] < TREND_POINTS:
            raise MissingCell(
                f"a trend needs {TREND_POINTS} points of {self.sweep}, experiment "
                f"{self.experiment} has {wide.shape[1]} at this scale"
            )
        median = MedianInterval()
        smallest = wide[wide.median().idxmin()]
        correlation = stats.spearmanr(wide.columns, wide.median()).statistic
        ends = [wide.iloc[:, -1].to_list(), wide.iloc[:, 0].to_list()]
        ratio = PairedRatio()(*ends)
        effect = ratio if self.direction == "up" else PairedRatio()(*reversed(ends))
        remark = (
            f"x{ratio.value:.3g} from {self.sweep} {wide.columns[0]:g} to {wide.columns[-1]:g}, "
            f"Spearman {correlation:.2f} over {wide.shape[1]} points"
        )
        return Evidence(median(smallest), self.band, effect, self.floor(results), remark)


class Spread(MetricCheck):
    """How far the metric changes over a sweep: its largest value over its smallest.

    Attributes
    ----------
    sweep : str
        Key of the points.
    """

    function: Literal["spread"]
    sweep: str

    def evidence(self, results: Results) -> Evidence:
        """Divide the values of the two points; a band alone decides."""
        wide = sweep_table(self.values(results, {}), self.sweep)
        largest, smallest = wide.median().idxmax(), wide.median().idxmin()
        ratio = PairedRatio()(wide[largest].to_list(), wide[smallest].to_list())
        remark = f"largest at {self.sweep} {largest:g}, smallest at {smallest:g} of {_points(wide)}"
        return Evidence(ratio, self.band, None, self.floor(results), remark)


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


class Knee(MetricCheck):
    """Where in a sweep the metric stops rising: the first point that is nearly as good as the best.

    The interval spans where the first such point lies as the noise floor widens or narrows what is
    nearly as good; points are not widened themselves. A metric that rises to the last point has its
    knee there or anywhere beyond.

    Attributes
    ----------
    sweep : str
        Key of the points.
    tolerance : float
        Relative difference from the best that is nearly as good.
    """

    function: Literal["knee"]
    sweep: str
    tolerance: float = Field(default=0.05, gt=0)

    def evidence(self, results: Results) -> Evidence:
        """Find the first point near the best; a band alone decides."""
        wide = sweep_table(self.values(results, {}), self.sweep)
        if wide.shape[1] < TREND_POINTS:
            raise MissingCell(
                f"a knee needs {TREND_POINTS} points of {self.sweep}, experiment "
                f"{self.experiment} has {wide.shape[1]} at this scale"
            )
        medians = wide.median()

        def first(within: float) -> float:
            return float(medians.index[medians >= medians.max() / (1 + within)][0])

        floor = self.floor(results)
        noise = floor or 0.0
        place = first(self.tolerance)
        still_rises = place == medians.index[-1]  # and may beyond the sweep
        knee = Estimate(
            place,
            first(self.tolerance + noise),
            np.inf if still_rises else first(max(self.tolerance - noise, 0)),
            len(wide),
        )
        remark = f"first of {self.sweep} {_points(wide)} within {self.tolerance:.0%} of the best"
        return Evidence(knee, self.band, None, None if floor is None else 0.0, remark)


class Extreme(MetricCheck):
    """The metric is the largest, or the smallest, of several metrics of a run, at every point.

    The effect is the distance to the next of them as a ratio, at the point where it is least.

    Attributes
    ----------
    among : tuple of str
        The others.
    direction : str
        Whether it is the largest or the smallest.
    """

    function: Literal["extreme"]
    among: tuple[MetricName, ...] = Field(min_length=1)
    direction: Literal["largest", "smallest"] = "largest"

    def evidence(self, results: Results) -> Evidence:
        """Compare with the nearest of the others, repetition by repetition."""
        own = self.values(results, {})
        keys = ["repetition", *point_keys(own)]
        others = pd.concat(
            [
                self.model_copy(update={"metric": metric}).values(results, {}).assign(of=metric)
                for metric in self.among
            ]
        ).pivot(index=keys, columns="of", values="value")
        mine = own.set_index(keys).value
        largest = self.direction == "largest"
        ratios = mine / others.max(axis=1) if largest else others.min(axis=1) / mine
        next_one = others.median()
        nearest = next_one.idxmax() if largest else next_one.idxmin()
        median = MedianInterval()
        return Evidence(
            median(mine.groupby(level="repetition").mean()),
            self.band,
            median(ratios.groupby(level="repetition").min()),
            self.floor(results),
            f"next is {nearest}; the effect is that of the point where it is least",
        )


class OfModel(MetricCheck):
    """What a pipelined compaction gains, over what Eq. 3 of PCP says that it can (D.4).

    The gain is the metric over that of the engine whose steps run in turn (`over`), of which the
    model takes the measured times; the mean over the points of the sweep counts.

    Attributes
    ----------
    sweep : str
        Key of the points.
    shared_device : bool
        Whether reads and writes take turns on the device.
    """

    function: Literal["of_model"]
    over: Over
    sweep: str
    shared_device: bool = True

    def evidence(self, results: Results) -> Evidence:
        """Divide the measured gain by the model's; a band alone decides."""
        gains = sweep_table(self.values(results, {}), self.sweep)
        runs = stage_times(
            results,
            self.over.experiment or self.experiment,
            engine=self.over.engine or self.engine,
            phase=self.phase,
        )
        ideal = sweep_table(
            runs.assign(
                value=[
                    models.pcp_speedup(times, shared_device=self.shared_device)
                    for times in runs.times
                ]
            ),
            self.sweep,
        )
        reached = (gains / ideal).dropna().mean(axis=1)
        if reached.empty:
            raise MissingCell(f"experiment {self.experiment}: no repetition of both engines")
        remark = (
            f"x{gains.median().mean():.3g} where the model says x{ideal.median().mean():.3g}, mean "
            f"over {self.sweep} {_points(gains)}"
        )
        return Evidence(MedianInterval()(reached), self.band, None, self.floor(results), remark)


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


class LevelsOf(Declaration):
    """Bytes that the compactions of an engine move into some levels.

    Attributes
    ----------
    engine : str
        Whose runs.
    levels : tuple of int
        Levels as the engine numbers them.
    of : tuple of str
        Which bytes, see `recompact.level_traffic`.
    """

    engine: str
    levels: tuple[int, ...] = Field(min_length=1)
    of: tuple[Bytes, ...] = Field(min_length=1)


class CompactionBytes(Check):
    """Bytes that compactions move into some levels, over those of another engine.

    The claim is that they are fewer: the effect is the inverse.

    Attributes
    ----------
    levels, of
        As in `LevelsOf`, of the check's own engine.
    over : LevelsOf
        What they are compared with, in the same repetition.
    noise_metric : str
        Metric whose noise floor counts.
    """

    function: Literal["compaction_bytes"]
    levels: tuple[int, ...] = Field(min_length=1)
    of: tuple[Bytes, ...] = Field(min_length=1)
    over: LevelsOf
    noise_metric: MetricName

    def evidence(self, results: Results) -> Evidence:
        """Divide the bytes repetition by repetition."""
        above = bytes_into(results, self.experiment, self.engine, self.levels, self.of)
        over = self.over
        below = bytes_into(results, self.experiment, over.engine, over.levels, over.of)
        ratios = (above / below).dropna()
        if ratios.empty:
            raise MissingCell(f"experiment {self.experiment}: no repetition of both engines")
        median = MedianInterval()
        floor = results.noise_floor(self.noise_metric, self.experiment)
        remark = f"levels {_names(self.levels)} over {_names(over.levels)} of {over.engine}"
        return Evidence(median(ratios), self.band, median(1 / ratios), floor, remark)


class FilterMemory(Check):
    """Memory for larger Bloom filters of the compaction buffer, over that of the tree (dLSM V-A).

    As the paper has it: filters of the buffer with log2(r/f) / ln 2 instead of log2(1/f) / ln 2
    bits, and the memory of a standard tree without its read cache: the write buffer, and filters
    and indexes of all tables. Sizes are measured; every filter had the bits that the run set, so
    that its size is taken in proportion.

    Attributes
    ----------
    false_positive_rate : float
        f.
    noise_metric : str
        Metric whose noise floor counts.
    """

    function: Literal["filter_memory"]
    false_positive_rate: float = Field(gt=0, lt=1)
    noise_metric: MetricName

    def evidence(self, results: Results) -> Evidence:
        """Divide the extra bits by the memory; a band alone decides."""

        def of(metric: str) -> pd.Series[float]:
            values = results.select(
                self.experiment, metric, phase=self.phase, engines=[self.engine]
            )
            return values.set_index("run").value

        tree, buffer = of("space_tree_bytes"), of("space_buffer_bytes")
        filters, metadata = of("filter_share"), of("metadata_share")
        options = results.campaign(self.experiment).specifications.set_index("run").engine_options
        shares = []
        for run in tree.index:
            told = options[run]
            plain = models.bloom_bits(self.false_positive_rate)
            larger = models.bloom_bits(self.false_positive_rate, told["fanout"])
            per_bit = filters[run] / told["bloom_bits_per_key"]
            indexes = metadata[run] - filters[run]
            standard = told["write_buffer_size"] + tree[run] * (indexes + per_bit * plain)
            shares.append(buffer[run] * per_bit * (larger - plain) / standard)
        floor = results.noise_floor(self.noise_metric, self.experiment)
        return Evidence(MedianInterval()(shares), self.band, None, floor)


AnyCheck = Annotated[
    Level
    | Greater
    | Difference
    | Trend
    | Spread
    | BestGain
    | BestPoint
    | Knee
    | Extreme
    | OfModel
    | ProfileShare
    | CompactionSize
    | CompactionBytes
    | FilterMemory,
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
        lacking = _names(wide.columns[wide.isna().any()])
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
    frame = frame[frame.type.isin(TYPES) & (frame.reason == "size") & (frame.level > 1)]
    options = results.campaign(experiment).specifications[["run", "engine_options"]]
    frame = frame.merge(options, on="run")
    return frame.assign(
        total_bytes=frame.bytes_read + frame.bytes_written,
        sstable_bytes=[options["max_file_size"] for options in frame.engine_options],
    )


def point_keys(values: pd.DataFrame) -> list[str]:
    """Name the columns of a selection that tell its points apart."""
    return [str(name) for name in values if name not in (*NOT_IN_POINT, "value")]


def _points(wide: pd.DataFrame) -> str:
    return _names(wide.columns)


def _names(points: Iterable[Any]) -> str:
    return ", ".join(point if isinstance(point, str) else f"{point:g}" for point in points)
