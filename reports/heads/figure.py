"""Figures of heads on sentences, in the style of Clark et al. (2019), Figures 1 and 5.

A grid has a row for each sentence and a column for each head. All words are legible at the width of a page as long as
there are at most three heads in a row; more heads make a wider figure.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from ..drawing import BLACK, BLUE, GREEN, GREY, ORANGE, with_style
from .view import HeadView

Layout = Literal["lines", "arcs"]
"""How a head is drawn: as lines between two columns of words, or as arcs over the words."""
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
"""All layouts."""

FAINTEST = 0.02
"""Lines that are fainter than this are not drawn."""

_SPECIAL = "#666666"

_LINE = 0.19  # the height of a line of text, in inches
_LETTER = 0.075  # the width of a letter, in inches
_SMALL_LETTER = 0.05  # the width of a letter of the name of a relation
_SMALL_LINE = 0.12  # the height of the name of a relation with its frame
_ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)  # where on its arc a name may stand, as shares of the way
_GAP = 1.0  # the width between the two columns of words, in inches
_MARGIN = 0.3
_MAX_APEX = 1.2  # no arc is higher, in inches
_ARC_SHIFT = 0.05  # how far beside the center of a word the arcs to its dependents start, in inches
_ROOT = 0.2  # how far the arrow to the root reaches above the arcs, in inches
_LETTERS = 17  # of a legend or title in an inch
_GUESSES = "Arrows lead from a head to its dependent and show the guess for each word: the darker, the larger its value"
_LEGENDS: dict[Layout, tuple[str, str]] = {  # of all heads, and of those whose sentences have a tree
    "lines": (
        "Lines lead from each word to those that it attends to: the darker, the larger the value",
        "Lines to the syntactic head of a word are green.",
    ),
    "arcs": (_GUESSES, "Guesses are green if right, orange and dashed if wrong. The annotation is above the words."),
}
"""What lines and arrows mean."""


@with_style
def draw(
    views: Sequence[Sequence[HeadView]], *, layout: Layout = "lines", title: str = "", legend: str | None = None
) -> Figure:
    """Draw heads on sentences.

    Args:
        views: for each sentence the heads to draw, in the order of the grid. Each sentence needs equally many.
        layout: ``"lines"``: the words twice, as two columns, with a line from each word on the left to the words on
            the right that it attends to. ``"arcs"``: the words once, with the tree above them, and below them an arrow
            to each word from its guess, as on the page. As in Universal Dependencies, arrows lead from head to
            dependent and have the name of the relation. Both are mirrored for words that are read from right to left.
        title: what is above all heads.
        legend: what is below them; by default, what lines or arrows mean.

    Returns:
        the figure. The opacity of lines and of the arrows below the words shows the value. If there is a tree, green
        ones belong to a word and its syntactic head, and wrong guesses are orange and dashed, as in the page.

    Raises:
        ValueError: there is nothing to draw, or the sentences have different numbers of heads.
    """
    if not views or not views[0] or len({len(row) for row in views}) > 1:
        raise ValueError("each sentence needs the same number of heads, at least one")
    size_of = _line_size if layout == "lines" else size_of_arcs
    widths = [max(size_of(view).width for view in column) for column in zip(*views, strict=True)]
    heights = [max(size_of(view).height for view in row) for row in views]
    total_width = sum(widths)
    below_heads = _lines(legend_of(views, layout) if legend is None else legend, total_width)
    titles = _lines(title, total_width)
    above, below = (_LINE * (len(lines) + 0.5) if lines else 0.0 for lines in (titles, below_heads))
    total_height = sum(heights) + above + below
    figure = Figure(figsize=(total_width, total_height))
    top = total_height - above
    for row, height in zip(views, heights, strict=True):
        left = 0.0
        for view, width in zip(row, widths, strict=True):
            position = (left / total_width, (top - height) / total_height, width / total_width, height / total_height)
            draw_into(figure.add_axes(position), view, layout, _Size(width, height))
            left += width
        top -= height
    if titles:
        figure.suptitle("\n".join(titles), x=0.01, y=1.0, ha="left", va="top", fontsize=7.5)
    if below_heads:
        bottom = 0.3 * _LINE / total_height
        figure.text(0.01, bottom, "\n".join(below_heads), color=BLACK, ha="left", va="bottom", fontsize=7)
    return figure


def legend_of(views: Sequence[Sequence[HeadView]], layout: Layout) -> str:
    """Say what lines or arrows mean, and which value of each kind of map is drawn in full color."""
    of_all, of_trees = _LEGENDS[layout]
    scales: dict[str, set[float]] = {}
    for view in (view for row in views for view in row):
        scales.setdefault(view.kind, set()).add(1.0 if view.scale is None else view.scale)
    ends = ", ".join(f"{kind} {' or '.join(f'{each:.3g}' for each in sorted(of))}" for kind, of in scales.items())
    has_gold = any(head is not None for row in views for view in row for head in view.gold)
    return f"{of_all} (full color: {ends}).{f' {of_trees}' if has_gold else ''}"


def _lines(text: str, inches: float) -> list[str]:
    """Return a text in lines that are no wider than some inches."""
    return textwrap.wrap(text, max(20, int(inches * _LETTERS)))


def draw_into(axes: Axes, view: HeadView, layout: Layout = "lines", size: _Size | None = None) -> None:
    """Draw one head into axes, which should be as large as the head needs in inches if no size is given."""
    size_of, draw_view = (_line_size, _draw_lines) if layout == "lines" else (size_of_arcs, _draw_arcs)
    size = size or size_of(view)
    axes.set_axis_off()
    axes.set_xlim(0, size.width)  # the unit of both axes is an inch
    axes.set_ylim(size.height, 0)
    draw_view(axes, view)
    for text in axes.texts:  # words are no formulas
        text.set_parse_math(False)


@dataclass(frozen=True)
class _Size:
    """The size of a panel in inches, and where its line of words is if it has arcs."""

    width: float
    height: float
    baseline: float = 0.0


def _line_size(view: HeadView) -> _Size:
    """Return the size of a head that is drawn as lines."""
    longest = max(map(len, view.words))
    return _Size(2 * longest * _LETTER + _GAP + _MARGIN, (len(view.words) + 2.5) * _LINE)


def _draw_lines(axes: Axes, view: HeadView) -> None:
    """Draw the words as two columns with lines between them."""
    center = axes.get_xlim()[1] / 2
    left, right = center - _GAP / 2, center + _GAP / 2
    sides = [right, left] if view.is_right_to_left else [left, right]
    axes.text(center, 0.8 * _LINE, view.heading, ha="center", va="center")
    heights = [(row + 2) * _LINE for row in range(len(view.words))]
    for word, special, height in zip(view.words, view.special, heights, strict=True):
        color = _SPECIAL if special else BLACK
        axes.text(left - 0.05, height, word, ha="right", va="center", color=color)
        axes.text(right + 0.05, height, word, ha="left", va="center", color=color)
    for start in range(len(heights)):
        for end in range(len(heights)):
            opacity = view.opacity(start, end)
            if opacity >= FAINTEST:
                color = GREEN if view.is_gold(start, end) else BLUE
                axes.plot(sides, [heights[start], heights[end]], color=color, alpha=opacity, linewidth=1.4)


def _widths(view: HeadView) -> list[float]:
    """The widths of the words in one line, in inches, with room for the names of their relations."""
    names = [relation or "" for relation in view.relations] or [""] * len(view.words)
    return [
        max((len(word) + 1.5) * _LETTER, (len(name) + 4) * _SMALL_LETTER)
        for word, name in zip(view.words, names, strict=True)
    ]


def _centers(view: HeadView) -> list[float]:
    """The horizontal centers of the words in one line, in inches."""
    step = -1 if view.is_right_to_left else 1
    widths = _widths(view)[::step]
    return [_MARGIN / 2 + sum(widths[:index]) + width / 2 for index, width in enumerate(widths)][::step]


def _guess_arcs(view: HeadView) -> list[tuple[int, int]]:
    """Return the arcs below the words: the guess for a word, and the word, for each that has a guess."""
    return [(guess, row) for row, guess in enumerate(view.guesses) if guess is not None]


def _tree_arcs(view: HeadView) -> list[tuple[int, int]]:
    """Return the arcs above the words: the syntactic head of a word, and the word, for each whose head is a word."""
    heads = map(view.head_of, range(len(view.words)))
    return [(head, row) for row, head in enumerate(heads) if head is not None]


def _apex(centers: Sequence[float], arc: tuple[int, int]) -> float:
    """The height of an arc above or below the words, in inches. Longer arcs are higher, but not without limit."""
    distance = abs(centers[arc[0]] - centers[arc[1]])
    return _MAX_APEX * distance / (distance + 3 * _MAX_APEX)


def label_places(
    centers: Sequence[float], arcs: Sequence[tuple[int, int]], names: Sequence[str | None]
) -> list[tuple[float, float]]:
    """Return where the names of arcs stand, in inches from the left and above the words: on their arcs, and apart.

    A name stands at the apex of its arc, unless the name of a shorter arc is there. Then it goes down on its own arc.
    """
    places: dict[tuple[int, int], tuple[float, float, float]] = {}  # x, height, width
    for head, row in sorted(arcs, key=lambda arc: abs(arc[0] - arc[1])):
        width, apex = _SMALL_LETTER * (len(names[row] or "") + 1), _apex(centers, (head, row))
        spots = [
            (centers[head] + along * (centers[row] - centers[head]), 4 * along * (1 - along) * apex, width)
            for along in _ALONG
        ]
        free = (spot for spot in spots if not any(_meet(spot, other) for other in places.values()))
        places[head, row] = next(free, spots[0])
    return [places[arc][:2] for arc in arcs]


def _meet(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    """Whether two names at x and height, with their widths, would cover each other."""
    return abs(one[0] - other[0]) < (one[2] + other[2]) / 2 and abs(one[1] - other[1]) < _SMALL_LINE


def _tree_height(view: HeadView, centers: Sequence[float]) -> float:
    """The height of the tree above the words, in inches."""
    return max([_apex(centers, arc) for arc in _tree_arcs(view)], default=0.0) + _ROOT


def size_of_arcs(view: HeadView) -> _Size:
    """Return the size of a head that is drawn as arcs."""
    centers = _centers(view)
    above = _tree_height(view, centers) if view.gold else 0.0
    below = max([_apex(centers, arc) for arc in _guess_arcs(view)], default=0.0)
    rightmost = 0 if view.is_right_to_left else -1
    width = centers[rightmost] + _widths(view)[rightmost] / 2 + _MARGIN / 2
    baseline = above + 3 * _LINE
    return _Size(width, baseline + below + 1.5 * _LINE, baseline)


def _draw_arcs(axes: Axes, view: HeadView) -> None:
    """Draw the words in one line, the tree above them and the guesses of the head below."""
    centers, baseline = _centers(view), size_of_arcs(view).baseline
    axes.text(_MARGIN / 2, 0.8 * _LINE, view.heading, ha="left", va="center")
    for word, special, center in zip(view.words, view.special, centers, strict=True):
        axes.text(center, baseline, word, ha="center", va="center", color=_SPECIAL if special else BLACK)
    for guess, row in _guess_arcs(view):
        opacity = max(view.opacity_of_guess(row, guess), 0.15)
        color = {True: GREEN, False: ORANGE, None: BLUE}[view.is_right(row)]
        _draw_arc(axes, centers, (guess, row), baseline + 0.6 * _LINE, color, opacity, above=False)
    level = baseline - 0.6 * _LINE
    arcs = _tree_arcs(view)
    for arc in arcs:
        _draw_arc(axes, centers, arc, level, GREY, 1.0, above=True)
    for (_, row), (x, height) in zip(arcs, label_places(centers, arcs, view.relations), strict=True):
        _write_relation(axes, x, level - height, view.relations[row])
    for root in [row for row, head in enumerate(view.gold) if head == -1]:
        top = level - _tree_height(view, centers)
        _draw_arrow(axes, (centers[root], top), (centers[root], level), GREY, 1.0)
        _write_relation(axes, centers[root], top, view.relations[root])


def _write_relation(axes: Axes, x: float, y: float, relation: str | None) -> None:
    """Write the name of a relation on its arrow."""
    frame = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    axes.text(x, y, relation or "", ha="center", va="center", color=BLACK, fontsize=6, bbox=frame)


def _draw_arc(
    axes: Axes, centers: Sequence[float], arc: tuple[int, int], level: float, color: str, opacity: float, *, above: bool
) -> None:
    """Draw an arrow from a word to another one, whose indices are the arc."""
    center, end = (centers[index] for index in arc)
    start = center + (_ARC_SHIFT if center < end else -_ARC_SHIFT)
    bend = 2 * _apex(centers, arc) / abs(end - start)  # a curve is half as high as the point that bends it
    _draw_arrow(axes, (start, level), (end, level), color, opacity, bend if (end < start) == above else -bend)


def _draw_arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str, opacity: float, bend: float = 0.0
) -> None:
    """Draw an arrow from a point to another one."""
    line: dict[str, Any] = {"color": color, "alpha": opacity, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    if color == ORANGE:
        line["linestyle"] = (0, (4, 2))  # what is wrong differs from what is right also in gray
    shape = f"arc3,rad={bend}"
    axes.add_patch(FancyArrowPatch(start, end, connectionstyle=shape, arrowstyle="-|>", mutation_scale=6, **line))
