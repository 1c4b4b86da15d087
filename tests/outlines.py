"""Figures as outlines: their words and numbers, without the seconds that drawing them takes."""

from __future__ import annotations

import contextlib
import hashlib
import html
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><desc>{}</desc></svg>\n'


def words(artist: Artist) -> str:
    """The text that an artist shows; the label of an axis, and those of its ticks if they were given."""
    if isinstance(artist, Axis):
        return " ".join([artist.get_label_text(), *getattr(artist.get_major_formatter(), "seq", ())])
    return artist.get_text() if isinstance(artist, Text) else ""


def numbers(artist: Artist) -> list[Any]:
    """The data of an artist, as arrays."""
    if isinstance(artist, Line2D):
        return [artist.get_xydata()]
    if isinstance(artist, AxesImage):
        return [artist.get_array()]
    if isinstance(artist, Collection):
        array = [] if artist.get_array() is None else [artist.get_array()]
        return [artist.get_offsets(), *array, *(path.vertices for path in artist.get_paths())]
    if isinstance(artist, Patch):
        return [artist.get_patch_transform().transform(artist.get_path().vertices)]
    return []


def artists(artist: Artist) -> Iterator[Artist]:
    """An artist and all those in it. The ticks of an axis are left out, because asking for them makes them."""
    yield artist
    for child in [] if isinstance(artist, Axis) else artist.get_children():
        yield from artists(child)


def outline(figure: Figure) -> tuple[str, list[tuple[str, bool]]]:
    """The SVG of the words and of a digest of the numbers; the kinds of artists, each with whether it has gaps."""
    texts, digest, kinds = [], hashlib.sha256(), set()
    for artist in artists(figure):
        data = [np.ma.filled(np.ma.asarray(array, dtype=np.float64), np.nan) for array in numbers(artist)]
        kind = (type(artist).__name__, any(bool(np.isnan(array).any()) for array in data))
        kinds.add(kind)
        digest.update(repr((kind, artist.get_visible())).encode())
        for array in data:
            digest.update(repr(array.shape).encode() + array.tobytes())
        texts.append(words(artist))
    shown_words = "\n".join(filter(None, texts))
    return SVG.format(html.escape(f"{shown_words}\n{digest.hexdigest()}")), sorted(kinds)


class Figures:
    """What takes the place of `Figure.savefig`.

    An SVG holds the outline of its figure, so that runs whose figures differ have different files. It is drawn, too, if
    it is the first of its name with these kinds of artists and these gaps in the data. What follows a hyphen in a name,
    which is mostly the kind of maps, does not count. A PNG, which is drawn by the same calls, is a copy of the first
    PNG, whatever that shows; where the SVGs are drawn, it is a copy of the first of its name.

    Args:
        draw: False writes outlines without drawing anything, and empty files instead of PNGs.

    Attributes:
        shared: a folder in which several processes note which SVGs they draw, so that the first of all draws it.
    """

    def __init__(self, *, draw: bool = True) -> None:
        self.draw = draw
        self.savefig = Figure.savefig
        self.outlined: tuple[str, ...] = ()
        self.drawn: set[str] = set()
        self.shared: Path | None = None
        self.pngs: dict[str, bytes] = {}

    def save(self, figure: Figure, path: Path | BytesIO, **options: Any) -> None:
        """Write the outline or the copy, or the figure itself if its kind of file is not to be outlined."""
        if not isinstance(path, Path) or path.suffix not in self.outlined:
            self.savefig(figure, path, **options)
        elif not self.draw:
            path.write_text(outline(figure)[0] if path.suffix == ".svg" else "", encoding="utf-8")
        elif path.suffix == ".png":
            name = "" if ".svg" in self.outlined else path.name
            if name not in self.pngs:
                self.savefig(figure, path, **options)
                self.pngs[name] = path.read_bytes()
            path.write_bytes(self.pngs[name])
        else:
            svg, kinds = outline(figure)
            if self.is_first(repr((path.stem.partition("-")[0], kinds))):
                self.savefig(figure, path, **options)
            path.write_text(svg, encoding="utf-8")

    def is_first(self, figure: str) -> bool:
        """Whether a figure is the first that is described like this. The next one is not."""
        if figure in self.drawn:
            return False
        self.drawn.add(figure)
        if self.shared is None:
            return True
        try:
            (self.shared / hashlib.sha256(figure.encode()).hexdigest()).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    @contextlib.contextmanager
    def replaced(self, *suffixes: str) -> Iterator[None]:
        """Let the files of these kinds be outlines within this block."""
        before, self.outlined = self.outlined, suffixes
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Figure, "savefig", lambda figure, path, **options: self.save(figure, path, **options))
                yield
        finally:
            self.outlined = before

    def in_full(self) -> contextlib.AbstractContextManager[None]:
        """Draw every figure within this block."""
        return self.replaced()


FIGURES = Figures()
