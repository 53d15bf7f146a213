"""From declared figures to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

from recompact import tables
from recompact.declarations import DeclarationError
from recompact.figures.breakdown import stage_breakdown, step_breakdown
from recompact.figures.cache import cache_over_time
from recompact.figures.compactions import compaction_sizes
from recompact.figures.data import DATA_COLUMNS, Drawing
from recompact.figures.declarations import EngineStyle, Figure
from recompact.figures.dlsm_models import bytes_by_level, update_rates
from recompact.figures.equations import compaction_bytes_by_level, ldc_equations
from recompact.figures.gantt import pipeline_gantt
from recompact.figures.hosts import hosts_side_by_side
from recompact.figures.latency import latency_over_time, latency_percentiles
from recompact.figures.ldc_models import ldc_theorems
from recompact.figures.matrix import engine_matrix, pareto_fronts
from recompact.figures.noise import noise_ratios
from recompact.figures.pcp_models import pipeline_equations, pipeline_speedups
from recompact.figures.profile import time_by_module
from recompact.figures.settings import adaptive_settings
from recompact.figures.space import space_over_time
from recompact.figures.style import finish, notice, theme
from recompact.figures.sweeps import (
    bars_by_engine,
    bars_over_sweep,
    dots_by_engine,
    lines_over_sweep,
    scale_models,
)
from recompact.figures.throughput import levels_over_time, throughput_over_time
from recompact.figures.time import simulated_beside_real
from recompact.figures.tree import tree_over_time
from recompact.results import MissingCell, NotPermitted, Results

FUNCTIONS: Mapping[str, Callable[[Results, Figure, Mapping[str, EngineStyle]], Drawing]] = {
    function.__name__: function
    for function in (
        adaptive_settings,
        bars_by_engine,
        bars_over_sweep,
        bytes_by_level,
        cache_over_time,
        compaction_bytes_by_level,
        compaction_sizes,
        dots_by_engine,
        engine_matrix,
        hosts_side_by_side,
        latency_over_time,
        latency_percentiles,
        ldc_equations,
        levels_over_time,
        ldc_theorems,
        lines_over_sweep,
        noise_ratios,
        pareto_fronts,
        pipeline_equations,
        pipeline_gantt,
        pipeline_speedups,
        scale_models,
        simulated_beside_real,
        space_over_time,
        stage_breakdown,
        step_breakdown,
        throughput_over_time,
        time_by_module,
        tree_over_time,
        update_rates,
    )
}


def save(drawing: Drawing, name: str, out_dir: Path, *, png: bool = False) -> None:
    """Write ``<name>.svg``, ``<name>.csv`` and, if asked, ``<name>.png`` (150 dpi), and close."""
    out_dir.mkdir(parents=True, exist_ok=True)
    figure = drawing.figure
    layout = figure.get_layout_engine()
    # Laid out once for all files; with the setting on, saving would lay out the figure anew.
    with theme(), plt.rc_context({"figure.constrained_layout.use": False}):
        if layout is not None:
            layout.execute(figure)
        figure.set_layout_engine(None)
        if png:
            figure.savefig(out_dir / f"{name}.png")
        figure.savefig(out_dir / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    tables.write(drawing.data, out_dir / f"{name}.csv")


def draw(results: Results, figure: Figure, styles: Mapping[str, EngineStyle]) -> Drawing:
    """Draw one figure, or a notice where the host did not allow its runs.

    Parameters
    ----------
    results : Results
        Tidy tables.
    figure : Figure
        Its declaration.
    styles : mapping of str to EngineStyle
        Look per engine id.

    Raises
    ------
    DeclarationError
        If its function does not exist.
    MissingCell
        If a value was not measured; names the figure and the cell.
    """
    if figure.function not in FUNCTIONS:
        raise DeclarationError(
            f"figures.yaml: {figure.id}: no function {figure.function}; "
            f"there are {', '.join(sorted(FUNCTIONS))}"
        )
    with theme():
        try:
            return FUNCTIONS[figure.function](results, figure, styles)
        except NotPermitted as skipped:
            drawn = notice(f"Not measured: {skipped}")
            title = f"{figure.panel}: {figure.title}"
            if set(figure.experiments) <= set(results.experiments):
                finish(drawn, title, results.stamp(figure.experiments))
            else:
                drawn.suptitle(title)
            return Drawing(drawn, pd.DataFrame(columns=DATA_COLUMNS))
        except MissingCell as missing:
            raise MissingCell(f"figure {figure.id}: {missing}") from missing
