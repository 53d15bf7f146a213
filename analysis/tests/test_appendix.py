"""The appendix and the figures as PDF, from published tables."""

import re

import pytest

from recompact import ROOT, tables
from recompact.claims import evaluate, load_claims
from recompact.figures.declarations import load_figures
from recompact.pipeline import CLAIMS, FIGURES
from recompact.publish import note_costs, publish
from recompact.report import appendix
from recompact.results import Results
from synthetic import STYLES, Campaign

DECLARED = load_claims(ROOT / CLAIMS).claims
DRAWN = load_figures(ROOT / FIGURES).figures


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    root = tmp_path_factory.mktemp("appendix")
    campaign = Campaign(root / "campaign", experiments={"matrix_ssd", "scale_model"})
    campaign.root.mkdir()
    tables.build(campaign.raw, campaign.write(), root / "tables")
    for folder in publish(root / "tables", root / "published", with_timeline=[]):
        note_costs(root / "published", folder, [campaign.raw])
    evaluate(root / "published", root / "published/claims.csv", claims_path=ROOT / CLAIMS)
    return root / "published"


def _pages(path) -> int:
    return len(re.findall(rb"/Type /Page\b", path.read_bytes()))


def test_the_appendix_has_two_pages_and_is_the_same_a_second_time(published, tmp_path):
    for name in ("one.pdf", "two.pdf"):
        appendix.write_appendix(published, DECLARED, DRAWN, tmp_path / name)
    assert _pages(tmp_path / "one.pdf") == 2
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


def test_a_claim_stands_with_both_values_and_its_verdict():
    (claim,) = (claim for claim in DECLARED if claim.id == "LDC-C02")
    row = {"measured": 0.61312, "low": 0.6, "high": 0.62, "verdict": "reproduced"}
    told = appendix.claim_cells(claim, row)
    assert told == ("LDC-C02", claim.paper_value.text, "0.613 [0.6, 0.62]", "reproduced")
    nothing = dict.fromkeys(("measured", "low", "high")) | {"verdict": "inconclusive"}
    assert appendix.claim_cells(claim, nothing)[2:] == ("", "inconclusive")


def test_each_figure_that_can_be_drawn_has_a_page(published, tmp_path):
    names = ("RC-SCALE", "RC-MATRIX-SSD", "LDC-F7")
    chosen = [figure for figure in DRAWN if figure.id in names]
    assert len(chosen) == len(names)
    out = tmp_path / "figures.pdf"
    appendix.write_figures(Results.load(published), chosen, STYLES, out)
    assert _pages(out) == 2  # LDC-F7 was not measured
