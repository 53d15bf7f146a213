"""The one rule that turns a measurement into a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from recompact.declarations import Declaration
from recompact.statistics import Estimate

Band = tuple[float | None, float | None]


class Verdict(StrEnum):
    """What a measurement says about a claim."""

    REPRODUCED = "reproduced"
    DIRECTION = "direction"
    NOT_REPRODUCED = "not reproduced"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"


class Rules(Declaration):
    """Numbers of the rule, declared once in claims.yaml.

    Attributes
    ----------
    time_repetitions : int
        A claim about time needs at least so many repetitions.
    far_above_floor : float
        With fewer, its effect must be so many times the noise floor (both as log ratios).
    """

    time_repetitions: int
    far_above_floor: float


@dataclass(frozen=True)
class Judgement:
    """A verdict and, in one sentence, its reason."""

    verdict: Verdict
    reason: str


def judge(
    measured: Estimate,
    *,
    band: Band,
    effect: Estimate | None,
    noise_floor: float | None,
    is_time_metric: bool,
    rules: Rules,
) -> Judgement:
    """Judge a claim.

    Every interval is widened to at least the noise floor around its value, so that nothing
    below the floor can decide. Then, in this order:

    * no floor known, or the effect's interval covers 1: *inconclusive*;
    * a claim about time with too few repetitions, or members of an ensemble, and an effect
      (without one: a distance to the band's edges) that is not far above the floor, or a floor of
      0, above which everything is far: *inconclusive*;
    * effect below 1: *not reproduced*;
    * measured interval inside the band: *reproduced*; across an edge: *inconclusive*; outside:
      *direction* with an effect, *not reproduced* without.

    Parameters
    ----------
    measured : Estimate
        The measured value, in the unit of the claim's check; not negative.
    band : tuple of (float or None)
        Smallest and largest value with which the check counts as met; None is no limit.
    effect : Estimate or None
        Ratio to the neutral case in the direction of the claim: 1 is no effect, above 1 as the
        paper says, below 1 the opposite. None for a claim that only a band defines.
    noise_floor : float or None
        Relative difference that identical runs reach, 0 on a simulated host; None if unknown.
    is_time_metric : bool
        Whether the claim is about time (throughput, latency, processor share).
    rules : Rules
        Declared numbers of the rule.

    Returns
    -------
    Judgement
        The verdict and its reason.
    """
    if noise_floor is None:
        return Judgement(
            Verdict.INCONCLUSIVE, "no noise floor of this metric: run the experiment noise"
        )
    floor = math.log1p(noise_floor)
    low, high = _widened(measured, floor)
    percent = f"{noise_floor:.1%}" if noise_floor < 1 else f"a factor of {1 + noise_floor:.3g}"
    noise = f", noise floor {percent}" if noise_floor else ""

    if effect is not None:
        strength = abs(_log(effect.value))
        least, most = _widened(effect, floor)
        if least <= 1 <= most:
            return Judgement(
                Verdict.INCONCLUSIVE,
                f"effect x{effect.value:.3g}, or x{least:.3g} to x{most:.3g}"
                f"{noise and f' with the noise floor of {percent}'}, may be none",
            )
    else:
        strength = min(
            (abs(_log(edge) - _log(measured.value)) for edge in band if edge), default=math.inf
        )

    repetitions = measured.repetitions
    if (
        is_time_metric
        and repetitions < rules.time_repetitions
        and (floor == 0 or strength < rules.far_above_floor * floor)
    ):
        return Judgement(
            Verdict.INCONCLUSIVE,
            f"a claim about time with {repetitions} of {rules.time_repetitions} repetitions"
            f"{noise and f', not far above the noise floor of {percent}'}",
        )
    if effect is not None and effect.value < 1:
        return Judgement(
            Verdict.NOT_REPRODUCED,
            f"the opposite: effect x{effect.value:.3g}{noise}",
        )
    if effect is not None and band == (None, None):
        return Judgement(Verdict.REPRODUCED, f"effect x{effect.value:.3g}{noise}")
    return _place(low, high, band, has_effect=effect is not None, widened=bool(noise))


def _place(low: float, high: float, band: Band, *, has_effect: bool, widened: bool) -> Judgement:
    """Judge by where the interval lies relative to the band."""
    smallest = -math.inf if band[0] is None else band[0]
    largest = math.inf if band[1] is None else band[1]
    interval = f"{low:.3g} to {high:.3g}" + " (widened to the noise floor)" * widened
    edges = _edges(band)
    if smallest <= low and high <= largest:
        return Judgement(Verdict.REPRODUCED, f"{interval} is as claimed: {edges}")
    if high < smallest or low > largest:
        verdict = Verdict.DIRECTION if has_effect else Verdict.NOT_REPRODUCED
        right = "right direction, but " if has_effect else ""
        return Judgement(verdict, f"{right}{interval} is not as claimed: {edges}")
    return Judgement(
        Verdict.INCONCLUSIVE, f"{interval} crosses an edge of what is claimed: {edges}"
    )


def _edges(band: Band) -> str:
    low, high = band
    if low is None:
        return "any value" if high is None else f"at most {high:.3g}"
    return f"at least {low:.3g}" if high is None else f"{low:.3g} to {high:.3g}"


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _widened(estimate: Estimate, floor: float) -> tuple[float, float]:
    """Widen an interval to the noise floor, given as a log ratio, around its value."""
    low, high = estimate.value * math.exp(-floor), estimate.value * math.exp(floor)
    return (
        low if estimate.low is None else min(low, estimate.low),
        high if estimate.high is None else max(high, estimate.high),
    )
