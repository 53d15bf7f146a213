"""Figures: declared in figures.yaml, drawn from tidy tables, written as PNG, SVG and CSV.

Planning reads `declarations` only; `rendering` draws, and imports what that needs.
"""
