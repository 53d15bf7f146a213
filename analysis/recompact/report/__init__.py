"""The report: one page that opens offline and shows every figure and verdict."""

from recompact.report.page import build

__all__ = ["build"]
