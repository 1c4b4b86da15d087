"""Text alternatives of figures, made of the words in them."""

from __future__ import annotations

import html
import re

from matplotlib.axes import Axes
from matplotlib.figure import Figure

_MOST_SERIES = 12


def alternative(figure: Figure) -> str:
    """Say what a figure shows: its title, and for each of its axes the title, the labels and the series."""
    title = figure.get_suptitle()
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    described = dict.fromkeys(text for axes in figure.axes if (text := _describe(axes)))
    parts = [title, *described] if title else list(described)
    further = [label for label in dict.fromkeys(legends) if not any(label in part for part in parts)]
    if further:
        parts.append("Legend: " + ", ".join(further))
    return "Figure: " + ". ".join(" ".join(part.split()).rstrip(".") for part in parts) + "."


def _describe(axes: Axes) -> str:
    titles = [axes.get_title(loc=loc) for loc in ("left", "center", "right")]
    labels = [(axes.get_xlabel(), "horizontal"), (axes.get_ylabel(), "vertical")]
    named = ", ".join(f"{label} ({where})" for label, where in labels if label)
    series = [label for label in axes.get_legend_handles_labels()[1] if not label.startswith("_")]
    shown = ", ".join(series[:_MOST_SERIES]) + (" and others" if len(series) > _MOST_SERIES else "")
    return ": ".join(part for part in (" ".join(filter(None, titles)), "; ".join(filter(None, (named, shown)))) if part)


def with_alternative(svg: str, text: str) -> str:
    """An ``svg`` element that assistive technology reads as an image, or a group of links, with a text alternative."""
    role = "group" if "<a " in svg else "img"
    return re.sub(r"<svg\b", lambda _: f'<svg role="{role}" aria-label="{html.escape(text)}"', svg, count=1)
