"""From tidy tables to claims.csv."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from recompact import real_time, tables
from recompact.claims.checks import Evidence, MetricCheck
from recompact.claims.declarations import Claim, Claims, load_claims
from recompact.claims.judgement import Verdict, judge
from recompact.results import MissingCell, Results, Stamp, Untold
from recompact.statistics import Estimate, detectable

CLAIM_COLUMNS = [
    *("id", "verdict", "paper_value", "measured", "low", "high", "repetitions", "detectable"),
    "reason",
]

# What members of an ensemble differ in.
VARIED = {"seed": "another seed", "costs": "other costs", "ties": "another order of ties"}
# A claim of several parts is worth what its weakest part is.
WEAKEST_FIRST = (
    Verdict.NOT_REPRODUCED,
    Verdict.INCONCLUSIVE,
    Verdict.DIRECTION,
    Verdict.REPRODUCED,
)


def evaluate(results_dir: Path, out_csv: Path, *, claims_path: Path) -> None:
    """Write a verdict on every claim.

    Parameters
    ----------
    results_dir : Path
        Tidy tables, see `Results.load`.
    out_csv : Path
        The table to write, one row per claim in declared order, columns `CLAIM_COLUMNS`.
    claims_path : Path
        claims.yaml.

    Raises
    ------
    DeclarationError
        If claims.yaml is not as it must be.
    TableError
        If there are no tables.
    """
    frame = claims_table(load_claims(claims_path), Results.load(results_dir))
    out_csv.parent.mkdir(parents=True, exist_ok=True)
    tables.write(frame, out_csv)


def claims_table(claims: Claims, results: Results) -> pd.DataFrame:
    """Judge every claim; see `evaluate`."""
    rows = []
    for claim in claims.claims:
        judged = _judge_claim(claim, claims, results)
        measured = judged.measured
        rows.append(
            {
                "id": claim.id,
                "verdict": str(judged.verdict),
                "paper_value": claim.paper_value.text,
                "measured": measured.value if measured else None,
                "low": measured.low if measured else None,
                "high": measured.high if measured else None,
                "repetitions": measured.repetitions if measured else 0,
                "detectable": judged.detectable,
                "reason": judged.reason,
            }
        )
    return pd.DataFrame(rows, columns=CLAIM_COLUMNS)


@dataclass(frozen=True)
class _Judged:
    """The verdict on a claim, or on one of its parts.

    Attributes
    ----------
    verdict : Verdict
        What is said.
    reason : str
        Why.
    measured : Estimate or None
        What was measured, if anything.
    detectable : float or None
        The smallest effect that could have been told from none, as a relative difference.
    """

    verdict: Verdict
    reason: str
    measured: Estimate | None = None
    detectable: float | None = None


def _judge_claim(claim: Claim, claims: Claims, results: Results) -> _Judged:
    """Judge a claim, and tell what its verdict hangs on: what members of ensembles differ in."""
    judged = _judge_parts(claim, claims, results)
    if judged.verdict == Verdict.NOT_RUN:
        return judged
    experiments = [name for check in claim.check for name in check.experiments]
    # One member is all that there is of its kind.
    rules = claims.rules.model_copy(update={"time_repetitions": 1})
    of_one = claims.model_copy(update={"rules": rules})
    others: dict[str, dict[str, None]] = {}
    first: Verdict = judged.verdict
    for number, varies in sorted(results.members(experiments).items()):
        verdict = _judge_parts(claim, of_one, results.of_member(number)).verdict
        if not varies:
            first = verdict
        elif verdict != first:
            others.setdefault(varies, {})[str(verdict)] = None
    judged = replace(judged, reason=judged.reason + _errors(claim, results))
    if not others:
        return judged
    hangs = ", ".join(f"with {VARIED[name]} {' or '.join(told)}" for name, told in others.items())
    return replace(judged, reason=f"{judged.reason}; as fitted {first}, {hangs}")


def _errors(claim: Claim, results: Results) -> str:
    """Tell how far from real time what a claim is judged by is, where that was simulated."""
    metrics = dict.fromkeys(
        check.metric
        for check in claim.check
        if check.time
        and isinstance(check, MetricCheck)
        and any(results.is_simulated(name) for name in check.experiments)
    )
    return "".join(f"; {error}" for error in real_time.errors(results, metrics))


def _judge_parts(claim: Claim, claims: Claims, results: Results) -> _Judged:
    parts = []
    for check in claim.check:
        try:
            evidences = check.evidences(results)
        except Untold as untold:
            return _Judged(Verdict.INCONCLUSIVE, str(untold))
        except MissingCell as missing:
            return _Judged(Verdict.NOT_RUN, str(missing))
        stamp = check.stamp(results)
        parts += [_judge_part(evidence, check.time, claims, stamp) for evidence in evidences]
    weakest = min(parts, key=lambda part: WEAKEST_FIRST.index(part.verdict))
    if len(parts) > 1:
        held = sum(part.verdict == Verdict.REPRODUCED for part in parts)
        reason = f"{held} of {len(parts)} parts reproduced; shown: {weakest.reason}"
        weakest = replace(weakest, reason=reason)
    return weakest


def _judge_part(evidence: Evidence, of_time: bool, claims: Claims, stamp: Stamp) -> _Judged:
    judgement = judge(
        evidence.measured,
        band=evidence.band,
        effect=evidence.effect,
        noise_floor=evidence.noise_floor,
        is_time_metric=of_time,
        rules=claims.rules,
    )
    notes = [judgement.reason, evidence.remark]
    if stamp.suspect:
        notes.append(f"{len(stamp.suspect)} of {len(stamp.runs)} runs are suspect")
    effect, floor = evidence.effect, evidence.noise_floor
    if effect is not None and effect.value <= 0:
        effect = None
    return _Judged(
        judgement.verdict,
        "; ".join(note for note in notes if note),
        evidence.measured,
        detectable(effect, floor) if effect is not None and floor is not None else None,
    )
