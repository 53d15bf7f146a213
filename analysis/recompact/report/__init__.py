"""The report: pages that open offline and show every figure, verdict and run."""

from recompact.report.page import Declared, build

__all__ = ["Declared", "build"]
