"""Heads drawn on sentences: as lines between two columns of words, as arcs over the words, and as text."""

from .figure import LAYOUTS, Layout, draw, draw_into
from .terminal import as_text
from .view import HeadView

__all__ = ["LAYOUTS", "HeadView", "Layout", "as_text", "draw", "draw_into"]
