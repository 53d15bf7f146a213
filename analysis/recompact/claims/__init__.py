"""Claims of the papers: declared in claims.yaml, measured by checks, judged by one rule."""

from recompact.claims.declarations import Claim, Claims, PaperValue, load_claims
from recompact.claims.evaluation import CLAIM_COLUMNS, claims_table, evaluate
from recompact.claims.judgement import Judgement, Rules, Verdict, judge

__all__ = [
    "CLAIM_COLUMNS",
    "Claim",
    "Claims",
    "Judgement",
    "PaperValue",
    "Rules",
    "Verdict",
    "claims_table",
    "evaluate",
    "judge",
    "load_claims",
]
