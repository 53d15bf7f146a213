"""Statistics over repetitions: medians with intervals, paired ratios, the noise floor.

Each statistic is a small frozen dataclass that holds its settings and is called on values.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


@dataclass(frozen=True)
class Estimate:
    """A value with its interval.

    Attributes
    ----------
    value : float
        The estimate, in the unit of what it estimates.
    low, high : float or None
        Ends of the confidence interval; ``None`` when one repetition leaves nothing to
        estimate a spread from.
    repetitions : int
        Number of independent repetitions behind the estimate.
    """

    value: float
    low: float | None
    high: float | None
    repetitions: int


@dataclass(frozen=True)
class MedianInterval:
    """Median over repetitions with a bootstrap interval.

    The interval is bias-corrected and accelerated (BCa, `scipy.stats.bootstrap`). Where BCa is
    undefined (its jackknife sees equal medians) the percentile interval stands in, and values
    that are all equal give an interval of width zero.

    Attributes
    ----------
    confidence : float
        Two-sided confidence level.
    resamples : int
        Number of bootstrap resamples.
    seed : int
        Seed of the resampling, so that equal values give equal intervals.
    """

    confidence: float = 0.95
    resamples: int = 2000
    seed: int = 0

    def __call__(self, values: ArrayLike) -> Estimate:
        """Estimate the median.

        Parameters
        ----------
        values : array_like, shape (repetitions,)
            One value per repetition.

        Returns
        -------
        Estimate
            The median and its interval; no interval for one repetition.

        Raises
        ------
        ValueError
            If `values` is empty or holds a value that is not finite.
        """
        return self.of_each([values])[0]

    def of_each(self, samples: Sequence[ArrayLike]) -> list[Estimate]:
        """Estimate the medians of many samples at once, which takes less time.

        Parameters
        ----------
        samples : sequence of array_like, shape (repetitions,)
            As of `__call__`; they may differ in length.

        Returns
        -------
        list of Estimate
            In the order of samples.

        Raises
        ------
        ValueError
            As `__call__`.
        """
        estimates: dict[int, Estimate] = {}
        spread: dict[int, dict[int, np.ndarray]] = {}
        for place, values in enumerate(samples):
            sample = np.asarray(values, dtype=float)
            if sample.size == 0 or not np.isfinite(sample).all():
                raise ValueError("a median needs at least one value, all of them finite")
            median = float(np.median(sample))
            if sample.size == 1:
                estimates[place] = Estimate(median, None, None, 1)
            elif np.ptp(sample) == 0:
                estimates[place] = Estimate(median, median, median, sample.size)
            else:
                spread.setdefault(sample.size, {})[place] = sample
        for size, alike in spread.items():
            table = np.stack(list(alike.values()))
            low, high = self._intervals(table, "BCa")
            undefined = ~(np.isfinite(low) & np.isfinite(high))
            if undefined.any():
                low[undefined], high[undefined] = self._intervals(table[undefined], "percentile")
            for row, place in enumerate(alike):
                median = float(np.median(table[row]))
                estimates[place] = Estimate(median, float(low[row]), float(high[row]), size)
        return [estimates[place] for place in range(len(samples))]

    def _intervals(
        self, samples: np.ndarray, method: Literal["BCa", "percentile"]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Bound the median of each row, shape (samples, repetitions)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            interval = stats.bootstrap(
                (samples,),
                np.median,
                axis=-1,
                confidence_level=self.confidence,
                n_resamples=self.resamples,
                method=method,
                rng=np.random.default_rng(self.seed),
            ).confidence_interval
        return np.array(interval.low), np.array(interval.high)


@dataclass(frozen=True)
class PairedRatio:
    """Ratio of two series paired by repetition.

    Engines replay the same trace interleaved (A B A B), so the ratio is taken within a
    repetition and drift of the host between repetitions cancels.

    Attributes
    ----------
    confidence, resamples, seed
        As in `MedianInterval`.
    """

    confidence: float = 0.95
    resamples: int = 2000
    seed: int = 0

    def __call__(self, numerator: Sequence[float], denominator: Sequence[float]) -> Estimate:
        """Estimate the median of the paired ratios.

        Parameters
        ----------
        numerator, denominator : sequence of float, shape (repetitions,)
            Values in the same order of repetitions.

        Returns
        -------
        Estimate
            The median ratio (dimensionless) and its interval.

        Raises
        ------
        ValueError
            If the lengths differ or a denominator is zero.
        """
        above = np.asarray(numerator, dtype=float)
        below = np.asarray(denominator, dtype=float)
        if above.shape != below.shape:
            raise ValueError(f"{above.size} values cannot be paired with {below.size}")
        if (below == 0).any():
            raise ValueError("a paired ratio needs denominators other than zero")
        return MedianInterval(self.confidence, self.resamples, self.seed)(above / below)


@dataclass(frozen=True)
class NoiseFloor:
    """Relative difference that identical runs reach (A/A pairs).

    With n pairs (a_i, b_i) of identical runs and d_i = ln(a_i / b_i), the expected d is zero,
    so the spread is estimated around zero with n degrees of freedom::

        s = sqrt(sum(d_i ** 2) / n)
        floor = exp(t(n, (1 + confidence) / 2) * s) - 1

    where t is Student's quantile. For many pairs t tends to 1.96 and the floor to the two-sided
    95 % bound of |d|; for one pair t is 12.7, which is the honest price of one pair.

    Attributes
    ----------
    confidence : float
        Two-sided confidence level.
    """

    confidence: float = 0.95

    def __call__(self, first: Sequence[float], second: Sequence[float]) -> float:
        """Bound the difference of identical runs.

        Parameters
        ----------
        first, second : sequence of float, shape (pairs,)
            The metric of each pair of identical runs; all values above zero.

        Returns
        -------
        float
            The floor as a relative difference: 0.08 means that identical runs differ by 8 %.

        Raises
        ------
        ValueError
            If there is no pair, the lengths differ, or a value is not above zero.
        """
        a = np.asarray(first, dtype=float)
        b = np.asarray(second, dtype=float)
        if a.size == 0 or a.shape != b.shape:
            raise ValueError(f"{a.size} values and {b.size} values do not make pairs")
        if (a <= 0).any() or (b <= 0).any():
            raise ValueError("log ratios need values above zero")
        spread = float(np.sqrt(np.mean(np.log(a / b) ** 2)))
        quantile = float(stats.t.ppf((1 + self.confidence) / 2, df=a.size))
        return float(np.expm1(quantile * spread))


@dataclass(frozen=True)
class ShareFloor:
    """Sampling error of shares taken from profiler samples.

    A share p of n samples is known to a relative standard error of sqrt((1 - p) / (p n));
    the error of a ratio of shares adds theirs in squares.

    Attributes
    ----------
    confidence : float
        Two-sided confidence level.
    """

    confidence: float = 0.95

    def __call__(self, shares: Sequence[float], samples: int) -> float:
        """Bound the relative error of a share, or of a ratio of shares.

        Parameters
        ----------
        shares : sequence of float
            The shares compared, each in 0..1; zero counts as one sample.
        samples : int
            Number of samples of the whole profile.

        Returns
        -------
        float
            The floor as a relative difference.

        Raises
        ------
        ValueError
            If there are no samples.
        """
        if samples <= 0:
            raise ValueError("a profile without samples has no shares")
        p = np.clip(np.asarray(shares, dtype=float), 1 / samples, 1)
        error = np.sqrt(np.sum((1 - p) / (p * samples)))
        return float(np.expm1(stats.norm.ppf((1 + self.confidence) / 2) * error))


def percent(share: float) -> str:
    """Render a relative difference; from twofold on as a factor."""
    return f"x{1 + share:.3g}" if share >= 1 else f"{share * 100:.3g} %"


def detectable(effect: Estimate, noise_floor: float) -> float:
    """Tell the smallest effect that could have been told from none.

    An interval is widened to the noise floor before it is judged, so this is the wider of the
    two around the effect that was measured.

    Parameters
    ----------
    effect : Estimate
        A ratio, above zero, with its interval.
    noise_floor : float
        Relative difference that identical runs reach.

    Returns
    -------
    float
        A relative difference: with 0.08 an effect of 8 % or more would not be inconclusive.
    """
    distances = [abs(np.log(end / effect.value)) for end in (effect.low, effect.high) if end]
    return float(np.expm1(max([np.log1p(noise_floor), *distances])))


@dataclass(frozen=True)
class Outliers:
    """Repetitions far from the others, to be looked at and never to be dropped.

    The distance is that of Iglewicz and Hoaglin (1993): from the median, in units of the median
    absolute deviation, here of logarithms, since metrics differ by factors.

    Attributes
    ----------
    distance : float
        From which on a repetition is told.
    least : int
        With fewer repetitions none can be told.
    """

    distance: float = 3.5
    least: int = 5

    def __call__(self, values: ArrayLike, noise_floor: float = 0.0) -> np.ndarray:
        """Mark outliers.

        Parameters
        ----------
        values : array_like, shape (repetitions,)
            One value per repetition, all above zero.
        noise_floor : float
            Relative difference within which nothing is an outlier.

        Returns
        -------
        ndarray of bool, shape (repetitions,)
        """
        sample = np.asarray(values, dtype=float)
        if sample.size < self.least or (sample <= 0).any():
            return np.zeros(sample.size, dtype=bool)
        logs = np.log(sample)
        from_median = np.abs(logs - np.median(logs))
        spread = stats.median_abs_deviation(logs, scale="normal")
        least = max(self.distance * float(spread), float(np.log1p(noise_floor)))
        return np.asarray(from_median > least)
