"""Times of a compaction's stages as runs measured them, ready for the models of PCP."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from recompact.metrics import COMPUTE_STEPS, READ_STEPS, WRITE_STEPS
from recompact.models import StageTimes
from recompact.results import Results

MICROSECONDS = 1e6


def stage_times(
    results: Results, experiment: str, *, engine: str, phase: str = "run"
) -> pd.DataFrame:
    """Tell what the compactions of each run took in, and what their stages took.

    Parameters
    ----------
    results : Results
        Where to look.
    experiment, engine, phase : str
        Which runs; for the models, of an engine whose steps run in turn.

    Returns
    -------
    DataFrame
        The runs (see `Results.planned`), `data_bytes` read by compactions, and `times`, their
        `StageTimes` in seconds; syncs count to the write stage.

    Raises
    ------
    MissingCell
        If a run does not count its steps.
    """

    def column(metric: str) -> pd.Series[float]:
        return results.select(experiment, metric, phase=phase, engines=[engine]).value

    def seconds(steps: Sequence[str]) -> pd.Series[float]:
        return pd.concat([column(name) for name in steps], axis=1).sum(axis=1) / MICROSECONDS

    stages = zip(seconds(READ_STEPS), seconds(COMPUTE_STEPS), seconds(WRITE_STEPS), strict=True)
    runs = results.planned(experiment, engines=[engine])
    times = pd.Series([StageTimes(*stage) for stage in stages], index=runs.index, dtype=object)
    return runs.assign(data_bytes=column("compaction_bytes_read"), times=times)
