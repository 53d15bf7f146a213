"""The artifact appendix: claims, commands, minutes and disk on two pages; all figures as a PDF."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
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
BODY, SMALL, CLAIM, HEADING = 9, 7.5, 5.8, 13  # points
LINE = 1.35
CLAIM_WIDTHS = (11, 23, 25, 17)
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

    def __init__(self, made: datetime) -> None:
        super().__init__(format="A4")
        fonts = Path(matplotlib.get_data_path()) / "fonts/ttf"
        self.add_font(FONT, "", fonts / "DejaVuSans.ttf")
        self.add_font(FONT, "B", fonts / "DejaVuSans-Bold.ttf")
        self.set_margins(15, 12)
        self.set_auto_page_break(True, 10)
        self.set_creation_date(made)
        self.add_page()

    def heading(self, text: str, size: float = HEADING) -> None:
        if self.get_y() > self.t_margin:
            self.ln(size / self.k)
        self.text_block(text, size, "B")

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
    # The day of the newest run, so that the same data give the same bytes.
    dates = (date for one in Results.load(published).campaigns for date in one.dates.values())
    document = _Document(datetime.fromisoformat(max(dates)[:10]).replace(tzinfo=UTC))
    document.heading("recompact: artifact appendix", HEADING + 3)
    document.text_block(
        f"Five papers on LSM-tree compaction as one artifact: {len(figures)} figures and tables, "
        f"and a computed verdict on each of {len(claims)} claims. Debian 12, two cores, "
        f"no special hardware: devices are emulated. All of it runs in containers and on real "
        f"disks too (docker/README.md, ansible/README.md)."
    )
    document.heading("Commands")
    document.rows([("command", "does"), *COMMANDS.items()], (30, 70), BODY)
    document.heading("Minutes and disk")
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
    document.heading("Verdicts")
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    counts = pd.crosstab(pd.Series({claim.id: claim.paper for claim in claims}), judged.verdict)
    counts = counts.reindex(index=papers, columns=[str(v) for v in Verdict], fill_value=0)
    table = [("paper", *MARKS.values())]
    counts.loc["all"] = counts.sum()
    table += [(paper, *(str(number) for number in counts.loc[paper])) for paper in counts.index]
    document.rows(table, (15, *(17,) * len(MARKS)), BODY)
    document.add_page()
    document.heading("Every claim: the paper's value, and ours with its interval")
    told = judged.to_dict("index")
    cells = [claim_cells(claim, told[claim.id]) for claim in claims]
    half = -(-len(cells) // 2)
    cells += [("",) * len(CLAIM_WIDTHS)] * (2 * half - len(cells))
    document.rows(
        [
            ("claim", "paper", "ours", "verdict") * 2,
            *(left + right for left, right in zip(cells[:half], cells[half:], strict=True)),
        ],
        CLAIM_WIDTHS * 2,
        CLAIM,
    )
    document.output(str(out))


def claim_cells(claim: Claim, row: Mapping[Hashable, Any]) -> tuple[str, ...]:
    ours = "" if pd.isna(row["measured"]) else f"{row['measured']:.3g}"
    if not pd.isna(row["low"]):
        ours += f" [{row['low']:.3g}, {row['high']:.3g}]"
    return claim.id, claim.paper_value.text, ours, MARKS[Verdict(row["verdict"])]


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
