"""What several files of tests look at, and none changes: made once, whoever comes first."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from recompact import ROOT, claims, report, tables
from recompact.figures.declarations import load_figures
from recompact.figures.rendering import draw, save
from recompact.results import Results
from synthetic import STYLES, Campaign

FOLDER = ROOT / "paper_figures"
DRAWN = ["LDC-F1", "LDC-T1", "LWC-F2b"]
DECLARED = report.Declared(
    figures=FOLDER / "figures.yaml",
    claims=FOLDER / "claims.yaml",
    purposes={"smoke": "shows that every step works"},
    styles=STYLES,
)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of all processes that run tests of this session."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


def _once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Make a folder unless another process has made it."""
    with FileLock(folder.with_suffix(".lock")):
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            partial.mkdir()
            make(partial)
            partial.rename(folder)
    return folder


@pytest.fixture(scope="session")
def smoke_tables(shared: Path) -> Path:
    """Tables of synthetic runs of all experiments, with the raw runs beside them."""

    def make(folder: Path) -> None:
        campaign = Campaign(folder)
        tables.build(campaign.raw, campaign.write(), folder / "smoke")

    return _once(shared / "results", make) / "smoke"


@pytest.fixture(scope="session")
def page_path(smoke_tables: Path) -> Path:
    """The page of a few figures of them."""

    def make(folder: Path) -> None:
        results = Path(shutil.copytree(smoke_tables, folder, dirs_exist_ok=True))
        claims.evaluate(results, results / "claims.csv", claims_path=FOLDER / "claims.yaml")
        rendered = smoke_tables.with_name("rendered")
        for figure in load_figures(FOLDER / "figures.yaml").chosen(DRAWN):
            save(draw(Results.load(results), figure, STYLES), figure.id, rendered)
        report.build(results, rendered, results / "report", DECLARED)

    return _once(smoke_tables.with_name("shown"), make) / "report/index.html"
