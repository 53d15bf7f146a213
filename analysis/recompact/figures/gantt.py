"""What the threads of one real compaction did, and when: PCP Fig. 3, 6 and 7 as measured."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.axes
import pandas as pd

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.results import MissingCell, Results

STAGES = {"read": style.PALETTE[0], "compute": style.PALETTE[2], "write": style.PALETTE[1]}
SPAN = "span"
MILLISECOND = 1e-3  # of a microsecond
# Engine and compute threads, from top to bottom.
CHARTS = (("scp", 1), ("pcp", 1), ("pcp", 2))


def pipeline_gantt(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw a compaction of the first repetition in turn, pipelined, and with two compute threads.

    A bar is the work of one thread on one sub-task; every other bar of a thread is paler. The title
    tells how many sub-tasks waited for a stage, as a mean over all compactions of the run.
    """
    (experiment,) = entry.experiments
    spans = results.rows("spans", experiment)
    spans = spans[spans.repetition == spans.repetition.min()]
    figure, panels = style.new_figure(1, rows=len(CHARTS), width=8.4, height=6.6)
    frames = []
    for axes, (engine, threads) in zip(panels, CHARTS, strict=True):
        one = spans[(spans.engine == engine) & (spans.threads == threads)]
        if one.empty:
            raise MissingCell(
                f"experiment {experiment} has no spans of engine {engine} with {threads} threads"
            )
        name = styles[engine].label + (f", {threads} compute threads" if threads > 1 else "")
        frames.append(_data(one, name))
        _chart(axes, one)
        axes.set_title(f"{name}: {_described(results, experiment, one)}", loc="left")
    longest = max(axes.get_xlim()[1] for axes in panels)
    for axes in panels:
        axes.set_xlim(0, longest)
    panels[-1].set_xlabel("time since the beginning of the compaction (ms)")
    style.finish(figure, f"{entry.panel}: {entry.title}", results.stamp(entry.experiments))
    return rows.Drawing(figure, rows.combine(frames))


def _described(results: Results, experiment: str, spans: pd.DataFrame) -> str:
    """Say how long the compaction took, in how many sub-tasks, and how many of them waited."""
    metrics = results.campaign(experiment).told(spans.run.iloc[0], "run")
    text = f"{spans.subtask.nunique()} sub-tasks in {spans.end_us.max() * MILLISECOND:.3g} ms"
    queues = {"compute": "read_queue_mean", "write": "write_queue_mean"}
    waiting = [
        f"{metrics[metric]:.2g} to {stage}" for stage, metric in queues.items() if metric in metrics
    ]
    return f"{text}; waiting on average: {', '.join(waiting)}" if waiting else text


def _chart(axes: matplotlib.axes.Axes, spans: pd.DataFrame) -> None:
    lanes = [
        (stage, thread)
        for stage in STAGES
        for thread in sorted(spans[spans.stage == stage].thread.unique())
    ]
    several = spans.groupby("stage").thread.nunique()
    for place, (stage, thread) in enumerate(lanes):
        lane = spans[(spans.stage == stage) & (spans.thread == thread)].sort_values("begin_us")
        axes.barh(
            [-place] * len(lane),
            (lane.end_us - lane.begin_us) * MILLISECOND,
            left=lane.begin_us * MILLISECOND,
            height=0.8,
            color=[(STAGES[stage], 0.55 if number % 2 else 1.0) for number in range(len(lane))],
            linewidth=0,
        )
    names = [f"{stage} {thread + 1}" if several[stage] > 1 else stage for stage, thread in lanes]
    axes.set_yticks([-place for place in range(len(lanes))], names)
    axes.grid(axis="y", visible=False)


def _data(spans: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Make a row per span: its sub-task is x, its length the value between begin and end."""
    frame = pd.DataFrame(
        {
            "series": spans.stage + " " + (spans.thread + 1).astype(str),
            "engine": spans.engine,
            "x": spans.subtask,
            "repetition": spans.repetition,
            "value": (spans.end_us - spans.begin_us) * MILLISECOND,
            "low": spans.begin_us * MILLISECOND,
            "high": spans.end_us * MILLISECOND,
        }
    )
    return frame.assign(panel=panel, source=SPAN, unit="ms").reindex(columns=rows.DATA_COLUMNS)
