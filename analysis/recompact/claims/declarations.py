"""The content of paper_figures/claims.yaml."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from recompact.claims.checks import AnyCheck
from recompact.claims.judgement import Rules
from recompact.declarations import Declaration, check_declared, load


class PaperValue(Declaration):
    """What the paper states: its words, and the number where there is one."""

    text: str
    number: float | None = None


class Claim(Declaration):
    """One claim of one paper.

    Attributes
    ----------
    id : str
        Such as LDC-C01.
    paper : str
        LDC, LWC, QACP, PCP or DLSM.
    panels : tuple of str
        Figures, tables and sections that make it.
    metric, direction : str
        What is claimed of what.
    paper_value : PaperValue
        The paper's value.
    proposed_check : str
        The check in words.
    kind : str
        quant, qual or derived.
    note : str
        What to keep in mind.
    check : tuple of Check
        How it is measured: one check, or several that must all hold.
    """

    id: str
    paper: Literal["LDC", "LWC", "QACP", "PCP", "DLSM"]
    panels: tuple[str, ...]
    metric: str
    direction: str
    paper_value: PaperValue
    proposed_check: str
    kind: Literal["quant", "qual", "derived"]
    note: str = ""
    check: tuple[AnyCheck, ...] = Field(min_length=1)

    @field_validator("check", mode="before")
    @classmethod
    def _one_check_is_a_list_of_one(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value


class Claims(Declaration):
    """All claims and the numbers of the rule that judges them."""

    rules: Rules
    claims: tuple[Claim, ...]

    @model_validator(mode="after")
    def _unique(self) -> Self:
        ids = [claim.id for claim in self.claims]
        for claim in ids:
            if ids.count(claim) > 1:
                raise ValueError(f"claim {claim} is declared twice")
        return self


def check_experiments(claims: Claims, experiments: Collection[str]) -> None:
    """Check that the experiments that claims look at are declared; see `check_declared`."""
    checked = [(claim.id, check) for claim in claims.claims for check in claim.check]
    used = [(claim, name) for claim, check in checked for name in check.experiments]
    check_declared("claims.yaml", used, experiments)


def load_claims(path: Path) -> Claims:
    """Read claims.yaml.

    Raises
    ------
    DeclarationError
        If the file is not as it must be.
    """
    return load(path, Claims)
