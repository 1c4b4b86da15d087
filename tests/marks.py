"""The marks of all figures: which color, marker and line belongs to which name, in `marks.csv`.

A figure whose orange dots have become blue still has all its numbers, and says something else. So whatever a figure of
the toolkit draws in a test, whether that test asks for it or not, must be in the list of its function. ``make shown``
adds those that the quick tests draw.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from attentionology.reports import drawing
from tests.renew import HINT, MARKS, RENEW, rows_of

Mark = tuple[str, ...]
"""What an artist is, its label, its color, its filling, its marker or shape, and its line."""

KNOWN = {tuple(row) for row in rows_of(MARKS)}

LIMITS = {-2, -1, 0, 1, 100, 102, 180}
"""Limits of panels that do not depend on what is shown."""

NAMED_BY_DATA = {
    "analyses.survey.training.training_figure",
    "analyses.survey.seeds.seeds_figure",
    "analyses.explanation.showing.plots.violins",
}
"""Figures whose labels are relations, classes or runs, and whose colors follow the order of these."""

NAMES = {colors[0].lower(): name for name, colors in drawing.PALETTE["named"].items()}
NAMES |= {to_hex(drawing.SCALE(level)): "scale" for level in range(drawing.SCALE.N)}


def check_marks() -> None:
    """Let every figure of the toolkit be compared with the list from now on; call it before figures are imported."""
    styled = drawing.with_style

    def checked(draw: Callable[..., Any]) -> Callable[..., Any]:
        styled_draw = styled(draw)

        @functools.wraps(draw)
        def drawn(*arguments: Any, **options: Any) -> Any:
            result = styled_draw(*arguments, **options)
            name = f"{draw.__module__.removeprefix('attentionology.')}.{draw.__qualname__}"
            for figure in result.values() if isinstance(result, dict) else [result]:
                if draw.__module__.startswith("attentionology.") and isinstance(figure, Figure):
                    _compare(name, figure)
            return result

        return drawn

    drawing.with_style = checked


def _compare(name: str, figure: Figure) -> None:
    """Check that all marks of a figure are in the list, or add them to those that `renew` is collecting."""
    marks = set(marks_of(figure))
    if name in NAMED_BY_DATA:
        marks = {(kind, "", *rest) for kind, _, *rest in marks}
    marks -= {(f"legend {kind}", *rest) for kind, *rest in marks}  # of a legend, only what is nowhere else
    missing = "".join(f"{','.join(row)}\n" for row in sorted({(name, *mark) for mark in marks} - KNOWN))
    if RENEW:
        with Path(RENEW, f"{os.getpid()}.csv").open("a", encoding="utf-8") as new:
            new.write(missing)
        return
    assert not missing, f"tests/marks.csv does not have these marks:\n{missing}{HINT}, or add these lines"


def marks_of(figure: Figure) -> Iterator[Mark]:
    """Yield what is drawn in a figure, in its panels and in its legends, which may repeat itself."""
    legends = list(figure.legends)
    for axes in figure.axes:
        yield _panel(axes)
        legends += filter(None, [axes.get_legend()])
        for artist in axes.get_children():
            if artist.get_visible() and artist not in axes.spines.values() and artist is not axes.patch:
                yield from mark_of(artist)
    for legend in legends:
        yield "legend", "", "framed" if legend.get_frame_on() else "", "", "", ""
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            for kind, _, *rest in mark_of(handle) if handle else ():
                yield f"legend {kind}", _named(text.get_text()), *rest


def _panel(axes: Axes) -> Mark:
    """Return the scales of a panel, its limits if they do not depend on data, its grid, and sides without labels.

    A panel whose axes are off has neither grid nor labels, whatever its sides are set to, which depends on Matplotlib.
    """
    limits = [
        "" if is_automatic else " ".join(f"{end:g}" if end in LIMITS else "*" for end in ends)
        for is_automatic, ends in (
            (axes.get_autoscalex_on(), axes.get_xlim()),
            (axes.get_autoscaley_on(), axes.get_ylim()),
        )
    ]
    # Asking for the lines of a grid would make all ticks, which takes longer than making the rest of a figure.
    grid = [axis.get_tick_params().get("gridOn", False) for axis in (axes.xaxis, axes.yaxis)]
    scales = f"{axes.get_xscale()} {axes.get_yscale()}"
    ways = " ".join(f"grid {way}" for way, has in zip("xy", grid, strict=True) if has)
    if not axes.axison:
        return "panel", scales, *limits, "", ""
    sides = ((axes.xaxis, "labelbottom"), (axes.yaxis, "labelleft"))
    inner = " ".join(f"no {side}" for axis, side in sides if not axis.get_tick_params().get(side, True))
    return "panel", scales, *limits, ways, inner


def mark_of(artist: Artist) -> Iterator[Mark]:
    """Yield the mark of an artist, unless it belongs to the axes or shows nothing."""
    label = _named(str(artist.get_label() or ""))
    if isinstance(artist, Line2D):
        # A marker without a line shows the color of its edge, and not the one that it would have as a line.
        color = artist.get_markeredgecolor() if artist.get_linestyle() == "None" else artist.get_color()
        filling = _color(artist.get_markerfacecolor())
        yield "line", label, _color(color), filling, f"{artist.get_marker()}", f"{artist.get_linestyle()}"
    elif isinstance(artist, Collection):
        shades: Any = artist.get_edgecolor() if isinstance(artist, LineCollection) else artist.get_facecolor()
        colors = {_color(shade) for shade in shades} if artist.get_array() is None else {artist.get_cmap().name}
        corners: Any = artist.get_paths()[0].vertices if isinstance(artist, PathCollection) else ()
        # Since Matplotlib 3.10, what lies between two lines has a class of its own.
        kind = "PolyCollection" if isinstance(artist, PolyCollection) else type(artist).__name__
        for color in colors:
            yield kind, label, color, "", str(len(corners) or ""), ""
    elif isinstance(artist, Legend):
        return
    elif isinstance(artist, Patch):
        yield type(artist).__name__, label, _color(artist.get_edgecolor()), _color(artist.get_facecolor()), "", ""
    elif isinstance(artist, Text) and artist.get_text():
        yield "text", "", _color(artist.get_color()), "", f"{artist.get_fontweight()}", ""


def _named(label: str) -> str:
    """Return a label without its numbers; nothing for a label that matplotlib has made up."""
    label = re.sub(r"^predicted: .*", "predicted: *", label)  # the name of a class
    return "" if label.startswith("_") else re.sub(r"[\d.,]+", "#", label)


def _color(color: Any) -> str:
    """Return the name of a color in the palette, or its code."""
    if isinstance(color, str) and color in ("none", "auto"):
        return color
    code = to_hex(color)
    return str(NAMES.get(code, code))
