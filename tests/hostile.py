"""Names that mean something elsewhere, and the characters that no reader gets as they are."""

from __future__ import annotations

from attentionology.testing.names import HOSTILE as NAMES
from attentionology.testing.names import RAW

__all__ = ["NAMES", "RAW", "SPACED"]

SPACED = ("y\u2028z", "y\x85z", "y\x0bz", "y\x1cz", "y\rz", "a  b")
"""Words with white space of all kinds but those that end a cell or a line."""
