"""The look that all figures share: theme, stamp, repetitions with median and interval."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.axes
import matplotlib.axis
import matplotlib.figure
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.ticker import FuncFormatter, LogFormatter

from recompact.results import Stamp

PAPER_COLOUR = "#202020"
MODEL_COLOUR = "#6b6b6b"
PALETTE: Sequence[str] = sns.color_palette("colorblind").as_hex()
SMALL_PRINT_POINTS = 6.0
TITLE_POINTS = 10.0
INCH_POINTS = 72


@contextmanager
def theme() -> Iterator[None]:
    """Set the look of figures made inside."""
    settings: dict[Any, Any] = {
        "figure.constrained_layout.use": True,
        "figure.dpi": 150,  # as saved: letters are laid out in whole dots
        "svg.hashsalt": "recompact",
        "svg.fonttype": "none",
        "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so figures are alike anywhere
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.labelsize": 9,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "legend.fontsize": 7.5,
        "legend.framealpha": 0.9,
        "figure.titlesize": TITLE_POINTS,
        "axes.axisbelow": True,
    }
    with sns.axes_style("whitegrid"), plt.rc_context(settings):
        yield


def new_figure(
    columns: int, rows: int = 1, *, width: float = 6.5, height: float = 3.6
) -> tuple[matplotlib.figure.Figure, list[matplotlib.axes.Axes]]:
    """Make a figure of some panels, row by row; sizes in inches."""
    figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
    return figure, list(axes.flat)


def new_grid(
    count: int, columns: int, *, width: float = 3.6, height: float = 3.6
) -> tuple[matplotlib.figure.Figure, list[matplotlib.axes.Axes]]:
    """Make a figure of so many panels, at most so many in a row; sizes of one in inches."""
    columns = min(count, columns)
    rows = -(-count // columns)
    figure, panels = new_figure(columns, rows, width=width * columns, height=height * rows)
    for axes in panels[count:]:
        axes.remove()
    return figure, panels[:count]


def _characters(width: float, points: float) -> int:
    """Tell how many letters of a size fit into so many inches."""
    return int(width * INCH_POINTS / (points * 0.56))


def finish(figure: matplotlib.figure.Figure, title: str, stamp: Stamp) -> None:
    """Put the title above and the stamp, in small print, below."""
    width, height = figure.get_size_inches()
    figure.suptitle(textwrap.fill(title, _characters(width, TITLE_POINTS)))
    characters = _characters(width, SMALL_PRINT_POINTS)
    lines = [line for part in stamp_lines(stamp) for line in textwrap.wrap(part, characters)]
    share = (len(lines) * 1.35 + 0.8) * SMALL_PRINT_POINTS / INCH_POINTS / height
    figure.set_layout_engine("constrained", rect=(0, share, 1, 1 - share))
    figure.text(
        0.01,
        0.004,
        "\n".join(lines),
        fontsize=SMALL_PRINT_POINTS,
        color=MODEL_COLOUR,
        va="bottom",
        ha="left",
        linespacing=1.2,
    )


def notice(text: str) -> matplotlib.figure.Figure:
    """Make a figure that only says why there is nothing to draw."""
    figure, (axes,) = new_figure(1, height=1.6)
    axes.axis("off")
    wrapped = textwrap.fill(text, 80)
    axes.text(0.5, 0.5, wrapped, transform=axes.transAxes, ha="center", va="center")
    return figure


def stamp_lines(stamp: Stamp) -> list[str]:
    """Render a stamp: conditions, then how many runs the driver doubts."""
    repetitions = "1 repetition" if stamp.repetitions == 1 else f"{stamp.repetitions} repetitions"
    if stamp.varied:
        repetitions = f"ensemble of {stamp.repetitions} ({', '.join(stamp.varied)})"
    traces = [text for text in stamp.hashes if text.startswith("trace ")]
    hashes = [text for text in stamp.hashes if not text.startswith("trace ")]
    hashes.append(traces[0] if len(traces) == 1 else f"{len(traces)} traces")
    sizes = [factors(stamp.factors)] if stamp.factors else []
    if stamp.counts:
        sizes.append(f"{factors(stamp.counts)} of the operations at full size")
    conditions = [
        f"{stamp.scale} scale, {', '.join(sizes)}",
        f"device {', '.join(stamp.devices)}",
        repetitions,
        *(f"confined to {number} of the host's processors" for number in stamp.processors),
        *stamp.hosts,
        *stamp.errors,
        *stamp.thinning,
        *hashes,
    ]
    lines = [" · ".join(conditions)]
    if stamp.suspect:
        lines.append(f"{len(stamp.suspect)} of {len(stamp.runs)} runs are suspect")
    return lines


def factors(values: Sequence[float]) -> str:
    """Render scale factors: full size, 1/64, or several."""
    return ", ".join("full size" if value == 1 else f"1/{value:g}" for value in values)


def draw_series(
    axes: matplotlib.axes.Axes,
    data: pd.DataFrame,
    *,
    label: str,
    colour: str,
    marker: str,
    connected: bool = True,
) -> None:
    """Draw one measured series: all repetitions as points, median with interval on top.

    Parameters
    ----------
    axes : Axes
        Where to draw.
    data : DataFrame
        Rows of the figure's data with source "run" and "median" of one series; x numeric.
    label, colour, marker : str
        How it looks.
    connected : bool
        Whether a line joins the medians.
    """
    runs = data[data.source == "run"]
    medians = data[data.source == "median"].sort_values("x")
    x = medians.x.astype(float)
    axes.scatter(runs.x.astype(float), runs.value, s=12, color=colour, alpha=0.45, linewidths=0)
    axes.errorbar(
        x,
        medians.value,
        yerr=spread(medians),
        label=label,
        color=colour,
        marker=marker,
        markersize=5,
        linewidth=1.4 if connected else 0,
        elinewidth=1,
        capsize=2.5,
    )


def spread(medians: pd.DataFrame) -> list[list[float]]:
    """Tell the distances of interval ends from the medians; none where there is no interval."""
    low = (medians.value - medians.low).fillna(0).clip(lower=0)
    high = (medians.high - medians.value).fillna(0).clip(lower=0)
    return [list(low), list(high)]


def draw_paper(
    axes: matplotlib.axes.Axes,
    x: Sequence[float],
    y: Sequence[float],
    *,
    label: str | None,
    colour: str = PAPER_COLOUR,
) -> None:
    """Draw values that the paper states, as hollow diamonds."""
    axes.scatter(
        x,
        y,
        s=30,
        marker="D",
        facecolors="white",
        edgecolors=colour,
        linewidths=1.3,
        zorder=4,
        label=label,
    )


def plain_log_ticks(
    axis: matplotlib.axis.Axis, render: Callable[[float], str] = "{:g}".format
) -> None:
    """Label a logarithmic axis with plain numbers instead of powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: render(value)))
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))


def sweep_ticks(axes: matplotlib.axes.Axes, positions: Sequence[float]) -> None:
    """Label the x axis at the points of the sweep and nowhere else."""
    axes.set_xticks(list(positions), [f"{position:g}" for position in positions])
    axes.minorticks_off()
