"""The colors, style, axes and files of all figures, which are legible at the width of a journal column or page."""

from __future__ import annotations

import functools
import json
import math
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar, cast

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullFormatter

from ..storage.characters import in_document
from .fonts import advice, advice_of_direction, texts_of, use_fallbacks
from .streams import complain

PALETTE: dict[str, Any] = json.loads((Path(__file__).parent / "palette.json").read_text(encoding="utf-8"))
"""The colors of figures and of the page, for light paper first and then for a dark page."""

# The palette of Okabe and Ito, whose colors are distinguishable with any color vision.
BLUE, ORANGE, GREY, BLACK = (PALETTE["named"][name][0].upper() for name in ("blue", "orange", "grey", "black"))
GREEN, PURPLE, SKY, YELLOW = (PALETTE["named"][name][0].upper() for name in ("green", "purple", "sky", "yellow"))

# With fifty colors or more, matplotlib would draw the bars of these scales as pixels.
SCALE, DARK_SCALE = (
    LinearSegmentedColormap.from_list("more", PALETTE["sequential"][scheme], 48) for scheme in ("light", "dark")
)
REVERSED = SCALE.reversed()
"""The scale of error rates, of which fewer are better."""
AROUND_ZERO, DARK_AROUND_ZERO = (
    LinearSegmentedColormap.from_list("signed", PALETTE["diverging"][scheme], 47) for scheme in ("light", "dark")
)

COLUMN, TEXT = 3.03, 6.3
"""The widths in inches of a column and of the text of a paper, for which all figures are drawn."""

CLASSES = {
    "[CLS]": (BLUE, "o"),
    "[SEP]": (ORANGE, "s"),
    "[MASK]": (PURPLE, "D"),
    "punctuation": (GREEN, "^"),
    "other": (GREY, "v"),
    "all": (BLACK, "o"),
}
"""The color and the marker of each class of tokens."""

MARKERS = "osD^vP"
"""The markers of lines that could not be told apart in gray by their colors."""

_LETTERS_PER_INCH = 16  # of the titles and legends

PAGE = "../report.html"
"""The report beside the folder of figures, to which links of figures lead."""

STYLE: Any = {
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "figure.titlesize": 8,
    "axes.unicode_minus": True,
    "axes.axisbelow": True,
    "grid.color": "#eeeeee",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "attentionology",  # the same input gives the same file
    "svg.fonttype": "none",  # text stays text, so that it can be searched and edited
    "text.parse_math": False,  # relations may contain $
    "savefig.dpi": 200,
}

Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn", bound=Figure | None)


_BLANK: ContextVar[bool] = ContextVar("whether figures are blank", default=False)


@contextmanager
def blank_figures() -> Iterator[None]:
    """Let figures be blank while the block runs, because only the tables beside them are asked for."""
    token = _BLANK.set(True)
    try:
        yield
    finally:
        _BLANK.reset(token)


def with_style(draw: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
    """Let a function draw its figure in the style of all figures, with the control characters of names as text."""

    @functools.wraps(draw)
    def drawn(*arguments: Arguments.args, **options: Arguments.kwargs) -> Drawn:
        if _BLANK.get():
            return cast(Drawn, Figure())
        with mpl.rc_context(STYLE):
            figure = draw(*arguments, **options)
        if figure is not None:
            show_controls(figure)
        return figure

    return drawn


def show_controls(figure: Figure) -> None:
    """Write control characters in a figure, with which it would be no XML, as text."""
    for artist in _artists(figure):
        if isinstance(artist, Text):
            if (shown_text := in_document(artist.get_text())) != artist.get_text():
                artist.set_text(shown_text)
        elif isinstance(artist, Axis) and isinstance(artist.get_major_locator(), FixedLocator):
            positions = list(artist.get_majorticklocs())
            labels = artist.get_major_formatter().format_ticks(positions)
            if (shown := [in_document(label) for label in labels]) != labels:
                artist.set_ticks(positions, shown)


def _artists(artist: Artist) -> Iterator[Artist]:
    """Yield an artist and all those in it, but of an axis only its label, because asking for ticks makes them."""
    yield artist
    for child in [artist.label] if isinstance(artist, Axis) else artist.get_children():
        yield from _artists(child)


class _Formats(NamedTuple):
    """The formats beside SVG in which figures are written, and what is said when all are written."""

    endings: tuple[str, ...]
    without: set[str]  # characters that no font has
    remarks: set[str]


_FURTHER_FORMATS: ContextVar[_Formats] = ContextVar("further formats of figures")


@contextmanager
def figure_formats(*further: str) -> Iterator[None]:
    """Let figures be written in further formats beside SVG while the block runs, and say at its end what they lack."""
    formats = _Formats(further, set(), set())
    token = _FURTHER_FORMATS.set(formats)
    try:
        yield
    finally:
        _FURTHER_FORMATS.reset(token)
    if formats.without:
        formats.remarks.add(advice("".join(sorted(formats.without)), " or ".join(map(str.upper, further))))
    for line in sorted(formats.remarks):
        complain(f"Warning: {line}", 0)


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as ``name.svg``, and in the formats of `figure_formats`."""
    show_controls(figure)
    engine = figure.get_layout_engine()

    def lay_out(renderer: RendererBase) -> None:
        del vars(figure)["draw"]  # so that the next call, which writes the file, draws
        if engine:
            engine.execute(figure)

    formats = _FURTHER_FORMATS.get(_Formats((), set(), set()))
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # for which there is one line of advice
        for number, ending in enumerate(("svg", *formats.endings)):
            if number == 1:  # the fonts of an SVG are those of its reader, so that it is the same on every machine
                _use_fallbacks(figure, formats)
            if ending == "svg" and engine:
                # `savefig` draws twice, the first time into nothing and only for the layout: a third of its time.
                vars(figure)["draw"] = lay_out
            dated = {"svg": "Date", "pdf": "CreationDate"}.get(ending)  # the same figure gives the same file
            metadata = {dated: None} if dated else None
            figure.savefig(folder / f"{name}.{ending}", metadata=metadata, bbox_inches="tight")


def _use_fallbacks(figure: Figure, formats: _Formats) -> None:
    """Let a figure have fonts of the system, and note what they lack."""
    formats.without.update(use_fallbacks(figure))
    if line := advice_of_direction(texts_of(figure), " or ".join(map(str.upper, formats.endings))):
        formats.remarks.add(line)


def panels(
    width: float, height: float, rows: int = 1, columns: int = 1, **sharing: Any
) -> tuple[Figure, npt.NDArray[Any]]:
    """Return a figure of this size in inches, and its axes in rows and columns."""
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **sharing)
    for axes in grid.flat if sharing else ():
        axes.label_outer(remove_inner_ticks=True)  # ticks without labels took a fifth of the time of all figures
    return figure, grid


def panel(width: float, height: float, grid: Literal["x", "y", "both"] | None = None) -> tuple[Figure, Axes]:
    """Return a figure with one panel, and its axes, with a grid behind what is drawn in these directions."""
    figure, ((axes,),) = panels(width, height)
    if grid:
        axes.grid(axis=grid)
    return figure, axes


def ticks(n: int) -> list[int]:
    """The 0-based positions of at most seven tick labels for ``n`` items. The first item always has one."""
    return list(range(0, n, max(1, math.ceil(n / 6))))


def number_ticks(axis: Axis, n: int) -> None:
    """Label ``n`` rows or columns of an image, which have 0-based positions, with numbers from 1."""
    # `set_ticks` would make all ticks now, those of inner panels, too, which show none.
    axis.set_major_locator(FixedLocator(ticks(n)))
    axis.set_major_formatter(FixedFormatter([str(position + 1) for position in ticks(n)]))


def layer_shades(n_layers: int) -> npt.NDArray[Any]:
    """Return a color for each layer, from light to dark, which are colors of the scale."""
    return np.asarray(SCALE(np.linspace(0.4, 1, n_layers)))


LAYER_LOOKS = tuple(zip((GREY, SKY, BLUE, GREEN, YELLOW, ORANGE, PURPLE, BLACK), cycle(MARKERS), strict=False))
"""The color and the marker of the line of each layer. Lines of more layers could not be told apart."""


def layer_line(axes: Axes, values: pd.Series, color: str, marker: str, label: str, style: str = "-") -> None:
    """Draw a line through values by layer, which is the index of the series."""
    axes.plot(values.index, values, style, marker=marker, color=color, ms=3.5, lw=1.2, label=label)


def by_layer(axes: Axes, layers: Iterable[Any], label: str) -> None:
    """Label the axes of a figure that has layers, from 1, on the horizontal axis."""
    positions = ticks(max(layers))
    axes.set_xticks([position + 1 for position in positions], [str(position + 1) for position in positions])
    axes.set_xlabel("layer")
    axes.set_ylabel(label)
    axes.grid(visible=True, axis="y")  # without `visible`, a second call would turn it off


def log_scale(axes: Axes, *names: Literal["x", "y"]) -> None:
    """Make the axes of these names logarithmic, with a plain number at each power of 10."""
    for name in names:
        axes.set(**{f"{name}scale": "log"})
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def series_label(name: str) -> str:
    """Return the label of a series with a name. Matplotlib leaves labels that begin with ``_`` out of legends."""
    return f" {name}" if name.startswith("_") else name


def finish(figure: Figure, axes: Axes, title: str, handles: Sequence[Any] = (), *, labeled: bool = True) -> None:
    """Add the title and, if anything has a label, one legend for all axes below them, both as wide as the figure.

    The legend has the handles and, if ``labeled``, what has a label in the axes.
    """
    letters = int(figure.get_figwidth() * _LETTERS_PER_INCH)  # that fit into a line
    legend_handles = [*handles, *(axes.get_legend_handles_labels()[0] if labeled else ())]
    if legend_handles:
        longest = max(len(str(handle.get_label())) for handle in legend_handles)
        fitting_columns = letters // (longest + 5)  # a mark takes as much as 5 letters
        columns = max(1, min(len(legend_handles), fitting_columns))
        figure.legend(
            handles=legend_handles, loc="outside lower center", ncols=columns, frameon=False, handletextpad=0.4
        )
    figure.suptitle(wrap(title, figure.get_figwidth()), x=0.01, ha="left")


def wrap(title: str, inches: float) -> str:
    """Return a title in lines that are no wider than some inches."""
    return "\n".join(textwrap.fill(line, int(inches * _LETTERS_PER_INCH)) for line in title.split("\n"))
