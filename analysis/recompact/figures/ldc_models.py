"""LDC's own theorems beside the measurement: 3.1, 3.2, and 1 + k/T per level."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import matplotlib.axes
import pandas as pd

from recompact import models
from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.figures.equations import (
    FANOUT,
    FANOUT_LABEL,
    draw_models,
    fitted_constant,
    headroom,
    median_by_x,
    model_rows,
    thinned,
    with_shape,
)
from recompact.results import MissingCell, Results

THRESHOLD = "ldc_threshold"
UDC, LDC = "leveldb", "ldc"
THEOREM_31 = "Thm 2.1 and 3.1: write amplification over k"
THEOREM_32 = "Thm 3.2: tables and blocks per get of LDC"
PER_LEVEL = "write amplification of one level over T"


def ldc_theorems(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw LDC's theorems and its write amplification per level beside the measurement.

    The theorems leave a constant open; it is fitted as in `ldc_equations`. Per level, bytes
    written by merges chosen for their slices are divided by the bytes of those slices.
    """
    figure, panels = style.new_figure(3, width=11.5, height=4.0)
    frames = [_write_amplification(results), _lookups(results), _per_level(results)]
    for axes, frame in zip(panels, frames, strict=True):
        _draw(axes, frame, styles)
    panels[0].set_ylabel("write amplification")
    panels[0].set_xlabel(FANOUT_LABEL)
    panels[1].set_ylabel("per get")
    panels[1].set_xlabel(FANOUT_LABEL)
    panels[2].set_ylabel("bytes written per byte of slices")
    panels[2].set_xlabel("SliceLink threshold T")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def _write_amplification(results: Results) -> pd.DataFrame:
    frames = []
    theorems: dict[str, tuple[str, Callable[[float, float, float], float]]] = {
        UDC: ("k log_k(n/b)", models.write_amplification),
        LDC: ("log_k(n/b)", models.write_amplification_ldc),
    }
    for engine, (formula, theorem) in theorems.items():
        runs = with_shape(results, FANOUT, "run", [engine])
        shapes = zip(runs.fanout, runs.data_bytes, runs.sstable_bytes, strict=True)
        model = median_by_x(runs.assign(x=runs.fanout, model=[theorem(*shape) for shape in shapes]))
        measured = results.select(FANOUT, "write_amplification", engines=[engine])
        constant = fitted_constant(measured.groupby("fanout").value.median(), model)
        fitted = {k: constant * value for k, value in model.items()}
        frames.append(
            rows.measured(measured, x="fanout", panel=THEOREM_31, series="measured", unit="1")
        )
        frames.append(model_rows(fitted, THEOREM_31, f"{constant:.2g} x {formula}", "1"))
    return rows.combine(frames)


def _lookups(results: Results) -> pd.DataFrame:
    runs = with_shape(results, FANOUT, "run", [LDC])
    unsorted = results.select(FANOUT, "level_0_files", engines=[LDC])
    runs = runs.merge(unsorted[["run", "value"]], on="run")
    shapes = zip(runs.fanout, runs.data_bytes, runs.sstable_bytes, runs.value, strict=True)
    values = [models.read_amplification_ldc(*shape) for shape in shapes]
    frames = [
        rows.measured(
            results.select(FANOUT, metric, engines=[LDC]),
            x="fanout",
            panel=THEOREM_32,
            series=series,
            unit="1",
        )
        for metric, series in [
            ("tables_per_get", "tables asked"),
            ("blocks_per_get", "blocks looked at"),
        ]
    ]
    model = median_by_x(runs.assign(x=runs.fanout, model=values))
    return rows.combine([*frames, model_rows(model, THEOREM_32, "k log_k(n/b) + u", "1")])


def _per_level(results: Results) -> pd.DataFrame:
    merges = results.rows("compactions", THRESHOLD)
    merges = merges[(merges.engine == LDC) & (merges.reason == "slices")]
    if merges.empty:
        raise MissingCell(f"experiment {THRESHOLD}: no merge chosen for its slices")
    keys = ["engine", "repetition", "threshold", "level"]
    levels = merges.groupby(keys, as_index=False)[["bytes_read_upper", "bytes_written"]].sum()
    levels = levels.assign(value=levels.bytes_written / levels.bytes_read_upper)
    frames = [
        rows.measured(one, x="threshold", panel=PER_LEVEL, series=f"level {level}", unit="1")
        for level, one in levels.groupby("level")
    ]
    options = results.campaign(THRESHOLD).specifications.set_index("run").engine_options
    fanout = options[results.planned(THRESHOLD).run.iloc[0]]["fanout"]
    model = {
        float(threshold): models.write_amplification_of_level(fanout, threshold)
        for threshold in sorted(levels.threshold.unique())
    }
    return rows.combine([*frames, model_rows(model, PER_LEVEL, "1 + k/T", "1")])


def _draw(
    axes: matplotlib.axes.Axes, data: pd.DataFrame, styles: Mapping[str, EngineStyle]
) -> None:
    measured = data[data.source != rows.MODEL]
    pairs = measured[["engine", "series"]].drop_duplicates().to_records(index=False)
    for place, (engine, series) in enumerate(pairs):
        look = styles[engine]
        first = place == 0 or engine != pairs[0][0]
        style.draw_series(
            axes,
            measured[(measured.engine == engine) & (measured.series == series)],
            label=f"{look.label}: {series}",
            colour=look.colour if first else style.PALETTE[place + 1],
            marker=look.marker if first else "^",
        )
    draw_models(axes, data)
    axes.set_title(data.panel.iloc[0])
    axes.set_xscale("log")
    axes.set_yscale("log")
    style.sweep_ticks(axes, thinned(sorted({float(x) for x in data.x})))
    headroom(axes)
    axes.legend(loc="upper left")
