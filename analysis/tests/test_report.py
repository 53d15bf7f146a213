"""Tests of the report page."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from recompact import claims, report, tables
from recompact.figures.declarations import load_figures
from recompact.figures.rendering import render
from recompact.report.page import number
from synthetic import STYLES, Campaign

FOLDER = Path(__file__).parents[2] / "paper_figures"
DRAWN = ["LDC-F1", "LDC-T1", "LWC-F2b"]


class Links(HTMLParser):
    """Collects what a page refers to and shows."""

    def __init__(self):
        super().__init__()
        self.targets, self.ids, self.text = [], set(), ""

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.targets += [values[key] for key in ("href", "src") if key in values]
        self.ids |= {values["id"]} if "id" in values else set()

    def handle_data(self, data):
        self.text += f" {data}"


@pytest.fixture(scope="module")
def page_path(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkout")
    campaign = Campaign(root / "results")
    campaign.raw.parent.mkdir(exist_ok=True)
    results = root / "results/smoke"
    tables.build(campaign.raw, campaign.write(), results)
    claims.evaluate(results, results / "claims.csv", claims_path=FOLDER / "claims.yaml")
    rendered = root / "rendered"
    render(results, DRAWN, rendered, figures_path=FOLDER / "figures.yaml", styles=STYLES)
    report.build(
        results,
        rendered,
        results / "report",
        figures_path=FOLDER / "figures.yaml",
        claims_path=FOLDER / "claims.yaml",
        purposes={"smoke": "shows that every step works"},
    )
    return results / "report/index.html"


@pytest.fixture(scope="module")
def page(page_path):
    links = Links()
    links.feed(page_path.read_text())
    return links


def test_everything_the_page_refers_to_is_there(page, page_path):
    for target in page.targets:
        if target.startswith("#"):
            assert target[1:] in page.ids
        else:
            assert (page_path.parent / target).exists(), target


def test_the_page_says_what_its_scale_is_for(page):
    assert "Scale smoke: shows that every step works." in page.text


def test_the_page_needs_no_network(page_path):
    assert not re.search(r"https?:|//[a-z]|@import|<script", page_path.read_text())


def test_drawn_figures_have_picture_data_and_raw_records(page):
    for figure in DRAWN:
        for kind in ("png", "svg", "csv"):
            assert f"figures/{figure}.{kind}" in page.targets
        assert f"./repro smoke --panels {figure}" in page.text
    raw = [target for target in page.targets if target.endswith("run.json")]
    assert all(target.startswith("../../raw/") for target in raw)
    assert len(raw) > len(DRAWN)


def test_flame_graph_is_linked_where_there_is_one(page):
    assert [target for target in page.targets if target.endswith("flame.html")]


def test_figures_not_drawn_say_so(page):
    declared = load_figures(FOLDER / "figures.yaml").figures
    assert page.text.count("Not drawn at this scale.") == len(declared) - len(DRAWN)


def test_every_claim_stands_with_its_verdict_and_reason(page, page_path):
    table = pd.read_csv(page_path.parents[1] / "claims.csv")
    for row in table.itertuples():
        assert row.id in page.text
        assert row.reason in page.text
    assert "All 116 claims" in page.text


def test_paper_and_own_number_stand_side_by_side(page):
    text = " ".join(page.text.split())
    assert re.search(r"do not compress 10 11\.57 (9|10)\.\d+ 0\.\d+", text)
    assert "do not compress 6 10.69 not measured" in text


def test_an_absent_claims_table_says_what_to_do(page_path, tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    for path in page_path.parents[1].glob("*.*"):
        if path.name != "claims.csv":
            (results / path.name).write_bytes(path.read_bytes())
    with pytest.raises(tables.TableError, match=r"claims.csv: no such file; evaluate the claims"):
        report.build(
            results,
            tmp_path,
            tmp_path / "report",
            figures_path=FOLDER / "figures.yaml",
            claims_path=FOLDER / "claims.yaml",
            purposes={"smoke": "shows that every step works"},
        )


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (float("nan"), "-"), (0.614, "0.614"), (11.5678, "11.57"), (51234.5, "51,234")],
)
def test_numbers_are_short(value, text):
    assert number(value) == text
