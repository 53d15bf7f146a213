"""The speed of a balanced device: what gives a sequential compaction the paper's shares.

A paper's processor is not ours. A device that is faster by one factor leaves the computation of a
compaction the share that it had on the paper's host; the factor comes from runs on the device as
it was, and never from the engine that is to gain by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from recompact.errors import RecompactError
from recompact.jobs import Calibration
from recompact.metrics import COMPUTE_STEPS, DEVICE_STEPS

SIGNIFICANT_DIGITS = 4


class CalibrationError(RecompactError):
    """A run that tells the speed of a device is not there, or cannot tell it."""


def speed(calibration: Calibration, raw: Path) -> float:
    """Compute how many times faster the balanced device is than the device as it was.

    With D the time of the device's steps (read, write, sync) and C that of computation (steps 2 to
    6), D / speed : C = (1 - share) : share. The median over the runs, rounded.

    Parameters
    ----------
    calibration : Calibration
        The runs, and the share.
    raw : Path
        Folder of run directories.

    Returns
    -------
    float
        The factor, above 0.

    Raises
    ------
    CalibrationError
        If a run is missing or has no times of steps.
    """
    ratios = [_device_over_computation(calibration, raw / run) for run in calibration.runs]
    share = calibration.compute_share
    factor = median(ratios) * share / (1 - share)
    return float(f"{factor:.{SIGNIFICANT_DIGITS}g}")


def _device_over_computation(calibration: Calibration, directory: Path) -> float:
    path = directory / "run.json"
    advice = (
        f"it tells the speed of device {calibration.device}: measure experiment "
        f"{calibration.experiment} again"
    )
    try:
        phases = json.loads(path.read_text(encoding="utf-8"))["phases"]
        (phase,) = [phase for phase in phases if phase["name"] == calibration.phase]
        counters: Mapping[str, float] = phase["counters"]
    except FileNotFoundError as error:
        raise CalibrationError(f"{path}: no such file; {advice}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CalibrationError(
            f"{path}: has no phase {calibration.phase} with counters; {advice}"
        ) from error
    device = sum(counters.get(name, 0) for name in DEVICE_STEPS)
    computation = sum(counters.get(name, 0) for name in COMPUTE_STEPS)
    if device <= 0 or computation <= 0:
        raise CalibrationError(f"{path}: has no times of a compaction's steps; {advice}")
    return device / computation
