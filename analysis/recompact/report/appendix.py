"""The artifact appendix: claims, commands, minutes and disk on two pages; all figures as a PDF."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from fpdf import FPDF
from matplotlib.backends.backend_pdf import PdfPages

from recompact.claims import Claim, Verdict
from recompact.figures.declarations import EngineStyle, Figure
from recompact.figures.rendering import draw
from recompact.figures.style import theme
from recompact.results import MissingCell, Results

FONT = "DejaVu"
BODY, SMALL, HEADING = 8, 6.2, 11  # points
LINE = 1.25
CLAIMS_OF_A_ROW = 4
MARKS = {
    Verdict.REPRODUCED: "reproduced",
    Verdict.DIRECTION: "direction",
    Verdict.NOT_REPRODUCED: "not reproduced",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_RUN: "not run",
}
COMMANDS = {
    "./repro smoke": "everything at the smallest scale",
    "./repro test": "all tests and linters",
    "./repro small": "full sweeps with repetitions: what claims about time need",
    "./repro figures": "every figure and this page from the published tables, nothing is run",
    "./repro verify": "published tables and verdicts computed again, and what differs",
}


class _Document(FPDF):
    """An A4 document in one font that has all letters that we use."""

    def __init__(self) -> None:
        super().__init__(format="A4")
        fonts = Path(matplotlib.get_data_path()) / "fonts/ttf"
        self.add_font(FONT, "", fonts / "DejaVuSans.ttf")
        self.add_font(FONT, "B", fonts / "DejaVuSans-Bold.ttf")
        self.set_margins(15, 12)
        self.set_auto_page_break(True, 10)
        self.set_creation_date(None)  # the same data give the same bytes
        self.add_page()

    def text_block(self, text: str, size: float = BODY, style: str = "") -> None:
        self.set_font(FONT, style, size)
        self.multi_cell(0, size * LINE / self.k, text, new_x="LMARGIN", new_y="NEXT", align="L")

    def rows(self, rows: Sequence[Sequence[str]], widths: Sequence[int], size: float) -> None:
        self.set_font(FONT, "", size)
        with self.table(
            rows,
            col_widths=tuple(widths),
            line_height=size * LINE / self.k,
            text_align="LEFT",
            borders_layout="HORIZONTAL_LINES",
        ):
            pass


def write_appendix(
    published: Path, claims: Sequence[Claim], figures: Sequence[Figure], out: Path
) -> None:
    """Write the appendix.

    Parameters
    ----------
    published : Path
        results/published, with claims.csv and costs.csv.
    claims : sequence of Claim
        The declared claims.
    figures : sequence of Figure
        The declared figures.
    out : Path
        The PDF to write.
    """
    judged = pd.read_csv(published / "claims.csv").set_index("id")
    costs = pd.read_csv(published / "costs.csv")
    document = _Document()
    document.text_block("recompact: artifact appendix", HEADING + 3, "B")
    document.text_block(
        f"Five papers on LSM-tree compaction as one artifact: {len(figures)} figures and tables, "
        f"and a computed verdict on each of {len(claims)} claims. Debian 12, two cores, "
        f"no special hardware: devices are emulated. All of it runs in containers and on real "
        f"disks too (docker/README.md, ansible/README.md)."
    )
    document.text_block("Commands", HEADING, "B")
    document.rows([("command", "does"), *COMMANDS.items()], (30, 70), BODY)
    document.text_block("Minutes and disk", HEADING, "B")
    header = ("scale", "host", "runs", "minutes", "disk")
    rows = [
        (
            str(row["scale"]),
            str(row["host"]),
            str(row["runs"]),
            f"{row['minutes']:.0f}",
            f"{row['disk_bytes'] / 1e9:.1f} GB",
        )
        for row in costs.to_dict("records")
    ]
    document.rows([header, *rows], (10, 60, 10, 10, 10), SMALL)
    document.text_block("Verdicts", HEADING, "B")
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    counts = pd.crosstab(pd.Series({claim.id: claim.paper for claim in claims}), judged.verdict)
    counts = counts.reindex(index=papers, columns=[str(v) for v in Verdict], fill_value=0)
    table = [("paper", *MARKS.values())]
    table += [(paper, *(str(number) for number in counts.loc[paper])) for paper in papers]
    document.rows(table, (15, *(17,) * len(MARKS)), BODY)
    document.text_block("Every claim: what we measured, and the paper's value", HEADING, "B")
    told = judged.to_dict("index")
    cells = [_cell(claim, told[claim.id]) for claim in claims]
    cells += [""] * (-len(cells) % CLAIMS_OF_A_ROW)
    document.rows(
        [cells[place : place + CLAIMS_OF_A_ROW] for place in range(0, len(cells), CLAIMS_OF_A_ROW)],
        (25,) * CLAIMS_OF_A_ROW,
        SMALL - 1.2,
    )
    document.output(str(out))


def _cell(claim: Claim, row: Mapping[Hashable, Any]) -> str:
    measured = "" if pd.isna(row["measured"]) else f" {row['measured']:.3g}"
    paper = f" (paper {claim.paper_value.number:g})" if claim.paper_value.number else ""
    return f"{claim.id} {row['verdict']}{measured}{paper}"


def write_figures(
    results: Results,
    figures: Sequence[Figure],
    styles: Mapping[str, EngineStyle],
    out: Path,
) -> None:
    """Write all figures that can be drawn as one PDF, a page each."""
    with PdfPages(out, metadata={"CreationDate": None}) as pages:
        for figure in figures:
            try:
                drawing = draw(results, figure, styles)
            except MissingCell:
                continue  # the page says why
            with theme():
                pages.savefig(drawing.figure)
            plt.close(drawing.figure)
