"""Tests of the report page."""

import base64
import hashlib
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from conftest import DECLARED, DRAWN, FOLDER
from recompact import report, tables
from recompact.figures.declarations import load_figures
from recompact.report.page import number
from synthetic import STYLES


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
def page(page_path):
    links = Links()
    links.feed(page_path.read_text())
    return links


@pytest.fixture(scope="module")
def runs(page_path):
    links = Links()
    links.feed(page_path.with_name("runs.html").read_text())
    return links


def test_everything_the_pages_refer_to_is_there(page, runs, page_path):
    ids = {"index.html": page.ids, "runs.html": runs.ids}
    for name, one in (("index.html", page), ("runs.html", runs)):
        for target in one.targets:
            path, _, place = target.partition("#")
            assert not path or (page_path.parent / path).exists(), target
            if place and "=" not in place:
                assert place in ids[path or name], target


def test_the_page_says_what_its_scale_is_for(page):
    assert "Scale smoke: shows that every step works." in page.text


def test_the_pages_need_no_network(page_path):
    for name in ("index.html", "runs.html"):
        text = (page_path.with_name(name)).read_text()
        assert not re.search(r"(src|href)=.https?:|url\(|@import", text)
        assert "default-src 'none'" in text


def test_only_the_script_of_the_page_may_run(page_path):
    text = page_path.read_text()
    (allowed,) = re.findall(r"script-src '(sha256-[^']+)'", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    assert [f"sha256-{base64.b64encode(digest).decode()}" for digest in digests] == [allowed]


def test_drawn_figures_have_picture_and_data(page):
    for figure in DRAWN:
        for kind in ("svg", "csv"):
            assert f"figures/{figure}.{kind}" in page.targets
        assert f"./repro smoke --panels {figure}" in page.text


def test_each_run_has_its_record_sources_traces_and_set_up(runs, page_path):
    tables_here = page_path.parents[1]
    experiments = pd.read_csv(tables_here / "experiments.csv", dtype={"run": str})
    assert set(experiments.run) <= runs.ids
    raw = [target for target in runs.targets if target.endswith("run.json")]
    assert set(raw) == {f"../../raw/{run}/run.json" for run in experiments.run}
    assert "tree 3f9a1c523f9a" in runs.text
    assert "driver c0ffee123456" in runs.text
    phases = pd.read_csv(tables_here / "phases.csv", dtype=str)
    assert phases.trace.iloc[0] in runs.text
    assert '"fanout": 10' in runs.text


def test_markup_in_a_name_stays_text(page_path, tmp_path):
    results = page_path.parents[1]
    evil = "<script>alert(1)</script>"
    styles = STYLES | {"ldc": replace(STYLES["ldc"], label=evil)}
    claims_csv = pd.read_csv(results / "claims.csv")
    changed = tmp_path / "results"
    shutil.copytree(results, changed, ignore=shutil.ignore_patterns("report"))
    claims_csv.loc[0, "reason"] = evil
    tables.write(claims_csv, changed / "claims.csv")
    rendered = tmp_path / "rendered"
    rendered.mkdir()
    for path in (page_path.parent / "figures").iterdir():
        shutil.copy(path, rendered)
    data = pd.read_csv(rendered / "LDC-F1.csv", dtype=str)
    data.loc[:, "series"] = evil
    data.to_csv(rendered / "LDC-F1.csv", index=False)
    report.build(changed, rendered, tmp_path / "report", replace(DECLARED, styles=styles))
    text = (tmp_path / "report/index.html").read_text()
    assert "alert(1)" in text
    assert evil not in text


def test_figures_can_be_chosen_by_paper_engine_device_and_verdict(page_path):
    text = page_path.read_text()
    (article,) = re.findall(r'<article id="LDC-F1"[^>]*>', text)
    assert 'data-paper="LDC"' in article
    assert re.search(r'data-engine="[^"]*\bleveldb\b', article)
    assert 'data-device="pcie_ssd"' in article
    assert re.search(r'data-verdict="(reproduced|inconclusive|direction|not reproduced)', article)
    for name in ("paper", "engine", "device", "verdict"):
        assert f'<select name="{name}">' in text


def test_cells_of_several_engines_can_be_compared(page_path):
    text = page_path.read_text()
    (found,) = re.findall(r'id="measured">(.*?)</script>', text)
    cells = json.loads(found)
    assert {cell["figure"] for cell in cells} <= set(DRAWN)
    both = [cell for cell in cells if {"leveldb", "ldc"} <= cell["engines"].keys()]
    assert both
    assert all(len(values) == 3 for cell in both for values in cell["engines"].values())


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
    assert re.search(r"do not compress UDC \(LevelDB 1\.23\) 10 11\.57 (9|10)\.\d+ 0\.\d+", text)
    assert "do not compress 6 10.69 not measured" in text


def test_an_absent_claims_table_says_what_to_do(page_path, tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    for path in page_path.parents[1].glob("*.*"):
        if path.name != "claims.csv":
            (results / path.name).write_bytes(path.read_bytes())
    with pytest.raises(tables.TableError, match=r"claims.csv: no such file; evaluate the claims"):
        report.build(results, tmp_path, tmp_path / "report", DECLARED)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (float("nan"), "-"), (0.614, "0.614"), (11.5678, "11.57"), (51234.5, "51,234")],
)
def test_numbers_are_short(value, text):
    assert number(value) == text
