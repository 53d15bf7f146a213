"""From tidy tables to claims.csv."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from recompact import tables
from recompact.claims.declarations import Claim, Claims, load_claims
from recompact.claims.judgement import Verdict, judge
from recompact.results import MissingCell, Results, Untold
from recompact.statistics import Estimate

CLAIM_COLUMNS = [
    *("id", "verdict", "paper_value", "measured", "low", "high", "repetitions", "reason")
]

# A claim of several parts is worth what its weakest part is.
WEAKEST_FIRST = (
    Verdict.NOT_REPRODUCED,
    Verdict.INCONCLUSIVE,
    Verdict.DIRECTION,
    Verdict.REPRODUCED,
)


def evaluate(
    results_dir: Path, out_csv: Path, *, claims_path: Path, engines: Collection[str]
) -> None:
    """Write a verdict on every claim.

    Parameters
    ----------
    results_dir : Path
        Tidy tables, see `Results.load`.
    out_csv : Path
        The table to write, one row per claim in declared order, columns `CLAIM_COLUMNS`.
    claims_path : Path
        claims.yaml.
    engines : collection of str
        Ids of the engines that this version has.

    Raises
    ------
    DeclarationError
        If claims.yaml is not as it must be.
    TableError
        If there are no tables.
    """
    frame = claims_table(load_claims(claims_path), Results.load(results_dir), engines)
    out_csv.parent.mkdir(parents=True, exist_ok=True)
    tables.write(frame, out_csv)


def claims_table(claims: Claims, results: Results, engines: Collection[str]) -> pd.DataFrame:
    """Judge every claim; see `evaluate`."""
    rows = []
    for claim in claims.claims:
        measured, verdict, reason = _judge_claim(claim, claims, results, engines)
        rows.append(
            {
                "id": claim.id,
                "verdict": str(verdict),
                "paper_value": claim.paper_value.text,
                "measured": measured.value if measured else None,
                "low": measured.low if measured else None,
                "high": measured.high if measured else None,
                "repetitions": measured.repetitions if measured else 0,
                "reason": reason,
            }
        )
    return pd.DataFrame(rows, columns=CLAIM_COLUMNS)


def _judge_claim(
    claim: Claim, claims: Claims, results: Results, engines: Collection[str]
) -> tuple[Estimate | None, Verdict, str]:
    if not claim.check:
        absent = [engine for engine in claim.needs if engine not in engines]
        if absent:
            return (
                None,
                Verdict.NOT_RUN,
                f"needs engine {', '.join(absent)}, which this version does not have",
            )
        return None, Verdict.NOT_RUN, "its engines are here, but claims.yaml has no check for it"
    judged = []
    for check in claim.check:
        try:
            evidences = check.evidences(results)
        except Untold as untold:
            return None, Verdict.INCONCLUSIVE, str(untold)
        except MissingCell as missing:
            return None, Verdict.NOT_RUN, str(missing)
        stamp = check.stamp(results)
        for evidence in evidences:
            judgement = judge(
                evidence.measured,
                band=evidence.band,
                effect=evidence.effect,
                noise_floor=evidence.noise_floor,
                is_time_metric=check.time,
                rules=claims.rules,
            )
            notes = [judgement.reason, evidence.remark]
            if stamp.suspect:
                notes.append(f"{len(stamp.suspect)} of {len(stamp.runs)} runs are suspect")
            reason = "; ".join(note for note in notes if note)
            judged.append((evidence.measured, judgement.verdict, reason))
    measured, verdict, reason = min(judged, key=lambda one: WEAKEST_FIRST.index(one[1]))
    if len(judged) > 1:
        held = sum(other == Verdict.REPRODUCED for _, other, _ in judged)
        reason = f"{held} of {len(judged)} parts reproduced; shown: {reason}"
    return measured, verdict, reason
