"""The base of every error that is told to the user in one message."""

from __future__ import annotations


class RecompactError(Exception):
    """Something that the user can set right; the message says where, what and how."""
