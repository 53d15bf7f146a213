"""From tidy tables to claims.csv."""

from __future__ import annotations

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
        measured, verdict, reason = _judge_claim(claim, claims, results)
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
    claim: Claim, claims: Claims, results: Results
) -> tuple[Estimate | None, Verdict, str]:
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
