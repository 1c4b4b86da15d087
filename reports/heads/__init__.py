"""Heads drawn on sentences: as lines between two columns of words, as arcs over the words, and as text."""

from attentionology.reports.heads.figure import LAYOUTS, Layout, draw
from attentionology.reports.heads.terminal import as_text
from attentionology.reports.heads.view import HeadView

__all__ = ["LAYOUTS", "HeadView", "Layout", "as_text", "draw"]
