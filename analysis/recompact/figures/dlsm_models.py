"""What compactions do to each level, beside dLSM's equations 1 to 4 and its two phases."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.axes
import pandas as pd

from recompact import models
from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.figures.equations import draw_models, headroom, model_rows
from recompact.figures.sweeps import draw_bars
from recompact.level_traffic import BYTES, level_traffic
from recompact.results import MissingCell, Results

LEVELED, TWO_PHASE, DLSM = "leveldb", "two_phase", "dlsm"
# Levels of the tree that make up one level of the paper: parts for insertion and deletion.
PARTS = {LEVELED: 1, TWO_PHASE: 2, DLSM: 2}
WRITE_RATE = "bytes written to a level per byte inserted"
UPDATE_RATE = "update rate of a level"
UPPER_SHARE = "share of data above the last level"
TRAFFIC, OVER_LEVELED = "read and written per byte inserted", "the same, over UDC"
MEASURED, BUFFER = "measured", "compaction buffer"
UPPER = "above the last"
LEVEL_LABEL = "level on disk"


def update_rates(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw how often compactions write each level anew, beside Eq. 1 to 4.

    Rates are per S_1 bytes inserted, so that they depend on no speed; what enters a level of the
    buffer is what is merged into the same level of the tree (dLSM IV-B). The third panel is Eq. 2.
    """
    (experiment,) = entry.experiments
    traffic = by_level(results, experiment)
    ratio = _size_ratio(results, experiment)
    frames = [
        _write_rates(traffic, ratio),
        _update_rates(traffic, ratio),
        _upper_shares(results, experiment, int(traffic.level.max()), ratio),
    ]
    figure, panels = style.new_figure(3, width=11.5, height=4.0)
    for axes, frame in zip(panels[:2], frames[:2], strict=True):
        _draw_by_level(axes, frame, styles)
    panels[1].set_yscale("log")
    panels[0].set_ylabel("bytes per byte inserted")
    panels[1].set_ylabel("rewritten per S_1 bytes inserted")
    _draw_shares(panels[2], frames[2], styles)
    for axes, frame in zip(panels, frames, strict=True):
        headroom(axes, 0.6)
        axes.set_title(frame.panel.iloc[0])
        axes.legend(loc="upper right" if axes is panels[1] else "upper left")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def bytes_by_level(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw what compactions read and write per level and byte inserted, and over leveled ones.

    Dashes are 2 (1 + r) of a level that is full, and 2 (1 + r/2) of one that is filled from empty
    in each round (dLSM IV-C).
    """
    (experiment,) = entry.experiments
    traffic = by_level(results, experiment)
    ratio, last = _size_ratio(results, experiment), int(traffic.level.max())
    names = [str(level) for level in range(1, last + 1)] + [UPPER]
    upper = traffic[traffic.level < last].assign(name=UPPER)
    named = pd.concat([traffic.assign(name=traffic.level.astype(str)), upper])
    keys = ["engine", "repetition", "name", "inserted"]
    sums = named.groupby(keys, as_index=False)[list(BYTES)].sum()
    sums = sums.assign(value=(sums.bytes_read + sums.bytes_written) / sums.inserted)
    below = sums[sums.engine == LEVELED][["repetition", "name", "value"]]
    over = sums[sums.engine != LEVELED].merge(
        below, on=["repetition", "name"], suffixes=("", "_below")
    )
    over = over.assign(value=over.value / over.value_below)
    frames = [rows.measured(sums, x="name", panel=TRAFFIC, series=MEASURED, unit="1")]
    for engine, one in over.groupby("engine"):
        series = styles[str(engine)].label
        frames.append(rows.measured(one, x="name", panel=OVER_LEVELED, series=series, unit="1"))
    for two_phase, name in ((False, "2 (1 + r)"), (True, "2 (1 + r/2)")):
        cost = 2 * models.level_write_amplification(ratio, two_phase=two_phase)
        levels = names[: last - 1] if two_phase else names[:last]
        frames.append(model_rows(dict.fromkeys(levels, cost), TRAFFIC, name, "1"))
    stated = entry.paper_data.values if entry.paper_data else {}
    for series, values in stated.items():
        frames.append(rows.stated(values, panel=OVER_LEVELED, series=series, unit="1"))
    data = rows.combine(frames)
    figure, panels = style.new_figure(2, width=9.5, height=3.8)
    for axes, panel in zip(panels, (TRAFFIC, OVER_LEVELED), strict=True):
        _draw_bars_by_name(axes, data[data.panel == panel], names, styles)
        axes.set_ylabel(panel)
    panels[1].axhline(1, color=style.MODEL_COLOUR, linestyle="--", linewidth=1)
    panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, data)


def by_level(results: Results, experiment: str) -> pd.DataFrame:
    """Tell what compactions moved into each level as the paper numbers them.

    Returns
    -------
    DataFrame
        As `level_traffic` of the engines in `PARTS`, with `inserted`, the bytes that users wrote.

    Raises
    ------
    MissingCell
        If one of the engines is missing.
    """
    traffic = level_traffic(results, experiment)
    missing = [engine for engine in PARTS if engine not in set(traffic.engine)]
    if missing:
        raise MissingCell(f"experiment {experiment} has no compaction of {', '.join(missing)}")
    traffic = traffic[traffic.engine.isin(PARTS)]
    parts = traffic.engine.map(PARTS)
    traffic = traffic.assign(level=(traffic.level + parts - 1) // parts)
    inserted = results.select(experiment, "user_bytes_written").set_index("run").value
    keys = ["engine", "repetition", "run", "level"]
    moved = traffic.groupby(keys, as_index=False)[list(BYTES)].sum()
    return moved.assign(inserted=moved.run.map(inserted))


def _size_ratio(results: Results, experiment: str) -> float:
    options = results.rows("specifications", experiment).engine_options.iloc[0]
    return float(options["fanout"])


def _write_rates(traffic: pd.DataFrame, ratio: float) -> pd.DataFrame:
    frame = traffic.assign(value=traffic.bytes_written / traffic.inserted)
    last = int(traffic.level.max())
    full = dict.fromkeys(range(1, last + 1), models.level_write_amplification(ratio))
    half = models.level_write_amplification(ratio, two_phase=True)
    return rows.combine(
        [
            rows.measured(frame, x="level", panel=WRITE_RATE, series=MEASURED, unit="1"),
            model_rows(full, WRITE_RATE, "1 + r", "1"),
            model_rows(dict.fromkeys(range(1, last), half), WRITE_RATE, "1 + r/2", "1"),
        ]
    )


def _update_rates(traffic: pd.DataFrame, ratio: float) -> pd.DataFrame:
    size = ratio ** (traffic.level - 1)  # in S_1
    tree = traffic.assign(value=traffic.bytes_written / traffic.inserted / size)
    entered = traffic.assign(value=traffic.bytes_read_upper / traffic.inserted / size)
    last = int(traffic.level.max())
    buffer = entered[(entered.engine == DLSM) & (entered.level < last)]
    standard = {level: models.level_update_rate(level, ratio) for level in range(1, last + 1)}
    of_buffer = {level: models.buffer_update_rate(level, ratio) for level in range(1, last)}
    return rows.combine(
        [
            rows.measured(tree, x="level", panel=UPDATE_RATE, series=MEASURED, unit="1"),
            rows.measured(buffer, x="level", panel=UPDATE_RATE, series=BUFFER, unit="1"),
            model_rows(standard, UPDATE_RATE, "Eq. 1 and 4", "1"),
            model_rows(of_buffer, UPDATE_RATE, "Eq. 3", "1"),
        ]
    )


def _upper_shares(results: Results, experiment: str, last: int, ratio: float) -> pd.DataFrame:
    shares = results.select(experiment, "upper_tree_share", engines=list(PARTS))
    model = dict.fromkeys(PARTS, models.upper_share(last, ratio))
    return rows.combine(
        [
            rows.measured(
                shares.assign(x=shares.engine),
                x="x",
                panel=UPPER_SHARE,
                series=MEASURED,
                unit="1",
            ),
            model_rows(model, UPPER_SHARE, "Eq. 2", "1"),
        ]
    )


def _draw_by_level(
    axes: matplotlib.axes.Axes, data: pd.DataFrame, styles: Mapping[str, EngineStyle]
) -> None:
    for engine in PARTS:
        look = styles[engine]
        one = data[(data.engine == engine) & (data.series == MEASURED)]
        style.draw_series(axes, one, label=look.label, colour=look.colour, marker=look.marker)
    buffer = data[data.series == BUFFER]
    if not buffer.empty:
        style.draw_series(axes, buffer, label=BUFFER, colour=style.PALETTE[2], marker="^")
    draw_models(axes, data)
    style.sweep_ticks(axes, sorted({float(x) for x in data.x}))
    axes.set_xlabel(LEVEL_LABEL)


def _draw_shares(
    axes: matplotlib.axes.Axes, data: pd.DataFrame, styles: Mapping[str, EngineStyle]
) -> None:
    engines = list(PARTS)
    for place, engine in enumerate(engines):
        one = data[(data.x == engine) & (data.series == MEASURED)].assign(x=place)
        draw_bars(axes, one, width=0.7, label=styles[engine].label, colour=styles[engine].colour)
    axes.axhline(
        data[data.source == rows.MODEL].value.iloc[0],
        color=style.MODEL_COLOUR,
        linestyle=":",
        linewidth=1.4,
        label="Eq. 2",
    )
    axes.set_xticks([])
    axes.grid(axis="x", visible=False)


def _draw_bars_by_name(
    axes: matplotlib.axes.Axes,
    data: pd.DataFrame,
    names: list[str],
    styles: Mapping[str, EngineStyle],
) -> None:
    data = data.assign(x=[names.index(str(x)) for x in data.x])
    engines = [engine for engine in PARTS if engine in set(data.engine.dropna())]
    width = 0.8 / len(engines)
    for place, engine in enumerate(engines):
        one = data[data.engine == engine]
        shift = (place - (len(engines) - 1) / 2) * width
        look = styles[engine]
        draw_bars(
            axes, one.assign(x=one.x + shift), width=width, label=look.label, colour=look.colour
        )
    model = data[data.source == rows.MODEL]
    for place, (series, one) in enumerate(model.groupby("series", sort=False)):
        axes.scatter(
            one.x,
            one.value,
            s=900,
            marker="_",
            color=style.PAPER_COLOUR if place else style.MODEL_COLOUR,
            label="_",
        )
        axes.plot([], [], color=style.PAPER_COLOUR if place else style.MODEL_COLOUR, label=series)
    paper = data[data.source == rows.PAPER]
    if not paper.empty:
        style.draw_paper(axes, list(paper.x), list(paper.value), label="paper")
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1.0))
    axes.set_xticks(range(len(names)), names)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(LEVEL_LABEL)
