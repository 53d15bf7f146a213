"""The same runs on several hosts: emulated, throttled and real disks side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

import pandas as pd

from recompact.figures import data as rows
from recompact.figures import style
from recompact.figures.declarations import EngineStyle, Figure
from recompact.figures.sweeps import UNIT_FACTORS, axis_label, draw_bars, sweep_of
from recompact.results import SCALE_ORDER, MissingCell, Results, unite

LABEL_CHARACTERS = 26


def hosts_side_by_side(
    results: Results, entry: Figure, styles: Mapping[str, EngineStyle]
) -> rows.Drawing:
    """Draw each panel's metric as bars, one per host that measured the experiment.

    Of several scales it is the one of most hosts, or the largest of such. Elsewhere an experiment
    is taken from one host alone; here hosts are what is compared.
    """
    sweep = sweep_of(entry)
    (experiment,) = entry.experiments
    hosts = dict(_hosts(results, experiment))
    if not hosts:
        raise MissingCell(f"experiment {experiment} was not measured")
    frames = []
    for declared in sweep.axes:
        for series in declared.series:
            measured = [
                one.select(experiment, series.metric, phase=series.phase).assign(host=host)
                for host, one in hosts.items()
            ]
            frames.append(
                rows.measured(
                    pd.concat(measured),
                    x="host",
                    panel=declared.label,
                    series=series.label,
                    unit=declared.unit,
                    factor=UNIT_FACTORS[declared.unit],
                )
            )
    data = rows.combine(frames)
    height = 1.6 + 0.55 * len(hosts)
    figure, panels = style.new_figure(len(sweep.axes), width=3.2 * len(sweep.axes), height=3.6)
    figure.set_figheight(max(3.6, height))
    names = list(hosts)
    for axes, declared in zip(panels, sweep.axes, strict=True):
        here = data[data.panel == declared.label]
        width = 0.8 / len(declared.series)
        for place, series in enumerate(declared.series):
            shift = (place - (len(declared.series) - 1) / 2) * width
            one = here[here.series == series.label]
            one = one.assign(x=[names.index(host) + shift for host in one.x])
            draw_bars(axes, one, width=width, label=series.label, colour=style.PALETTE[place])
        labels = [textwrap.fill(name, LABEL_CHARACTERS) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=30, ha="right", fontsize=6)
        axes.grid(axis="x", visible=False)
        axes.set_ylabel(axis_label(declared.label, declared.unit))
        if len(declared.series) > 1:
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(declared.series))
    stamp = unite([one.stamp([experiment]) for one in hosts.values()])
    style.finish(figure, f"{entry.panel}: {entry.title}", stamp)
    return rows.Drawing(figure, data)


def _hosts(results: Results, experiment: str) -> Iterator[tuple[str, Results]]:
    """Yield each host that measured an experiment at the chosen scale, named with its device."""
    campaigns = [one for one in results.campaigns if experiment in one.dates]
    scales = [one.scale for one in campaigns]
    chosen = max(scales, key=lambda name: (scales.count(name), SCALE_ORDER.index(name)), default="")
    for campaign in campaigns:
        if campaign.scale == chosen:
            one = Results((campaign,))
            stamp = one.stamp([experiment])
            yield f"{', '.join(stamp.devices)}: {', '.join(stamp.hosts)}", one
