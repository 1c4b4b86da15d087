"""Heads that were drawn on sentences, as text, as a table and as files."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..analyses.contract import OptionError
from ..reports.drawing import STYLE
from ..reports.explorer.data import Explorer
from ..reports.explorer.view import mount, page
from ..reports.fonts import advice, advice_of_direction, texts_of, use_fallbacks
from ..reports.heads import HeadView, Layout, as_text, draw, draw_into
from ..reports.heads.explorer_data import as_explorer, opening
from ..reports.tables import csv_text
from ..storage.characters import in_document, in_html
from ..storage.durable import write_durably
from ..storage.paths import check_file
from ..storage.writing import amount

FORMATS = (".svg", ".pdf", ".png", ".html", ".csv", ".txt")
"""The formats that `Shown.save` writes, by the ends of file names."""


@dataclass(frozen=True, eq=False)
class Shown:
    """Heads drawn on sentences.

    A notebook shows them as the explorer of the report draws sentences, which can be pointed at, and a figure where
    scripts do not run.

    Attributes:
        views: for each sentence the heads, each kind of map beside the others, with all special tokens.
        layout: ``"lines"`` or ``"arcs"``.
        model: the name of the model.
        special: whether special tokens are drawn.
        causal: whether words of the model see only the words before them.

    Example:
        >>> from attentionology import show
        >>> shown = show("demo", "The keys to the cabinet are on the table.", head=["3-9", "5-8"])
        >>> shown
        Shown(heads 3-9 and 5-8 of all-MiniLM-L6-v2 on 1 sentence)
        >>> table = shown.table()
        >>> list(table.columns)
        ['sentence', 'map', 'layer', 'head', 'from', 'to', 'from_word', 'to_word', 'value']
    """

    views: tuple[tuple[HeadView, ...], ...]
    layout: Layout
    model: str
    special: bool = True
    causal: bool = False

    @property
    def drawn(self) -> tuple[tuple[HeadView, ...], ...]:
        """The views without special tokens if these are not drawn."""
        if self.special:
            return self.views
        return tuple(tuple(view.without_special() for view in of_sentence) for of_sentence in self.views)

    @property
    def description(self) -> str:
        """Which heads of which model are drawn, and on how many sentences."""
        titles = list(dict.fromkeys(view.title for view in self.views[0]))
        heads = f"heads {', '.join(titles[:-1])} and {titles[-1]}" if len(titles) > 1 else f"head {titles[0]}"
        model = f"{self.model}, a causal model," if self.causal else self.model
        sentences = "1 sentence" if len(self.views) == 1 else f"{len(self.views)} sentences"
        return f"{heads} of {model} on {sentences}"

    def __repr__(self) -> str:
        return f"Shown({self.description})"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self._interactive_html()

    def text(self, width: int = 80) -> str:
        """Write the heads as text; see `attentionology.reports.heads.as_text`.

        Args:
            width: the number of columns.
        """
        return "\n\n".join(as_text(view, width=width) for view in chain.from_iterable(self.drawn))

    def figure(self) -> Figure:
        """Draw the heads; see `attentionology.reports.heads.draw`."""
        n_words = sum(len(row[0].words) - sum(row[0].special) for row in self.views)
        title = f"{self.description[0].upper()}{self.description[1:]}, {amount(n_words, 'words')}"
        return draw(self.drawn, layout=self.layout, title=title)

    def draw(self, axes: Axes) -> None:
        """Draw one head on one sentence into axes of another figure.

        Raises:
            OptionError: there are several heads or sentences.
        """
        if len(self.drawn) != 1 or len(self.drawn[0]) != 1:
            raise OptionError("axes take one head on one sentence; give each its own axes")
        draw_into(axes, self.drawn[0][0], self.layout)

    def table(self) -> pd.DataFrame:
        """Return all values as a table with a row for each pair of words.

        Layers and heads are counted from 1. ``from`` and ``to`` are positions in the sentence, special tokens included,
        counted from 1. ``head`` is empty for kinds that have one map for all heads of a layer.
        """
        rows: list[dict[str, Any]] = []
        for view in chain.from_iterable(self.drawn):
            head = {"sentence": view.sentence, "map": view.kind, "layer": view.layer, "head": view.head}
            for row, from_word in enumerate(view.words):
                for column, to_word in enumerate(view.words):
                    pair = {"from": row + 1, "to": column + 1, "from_word": from_word, "to_word": to_word}
                    rows.append({**head, **pair, "value": view.values[row, column]})  # noqa: PD011  # not of a DataFrame
        return pd.DataFrame(rows).astype({"head": "Int64"})

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the heads to a file, whose name says the format: .svg, .pdf, .png, .html, .csv or .txt.

        Args:
            path: the file.
            overwrite: whether to replace a file.

        Raises:
            OptionError: the name has another end.
            StorageError: the file exists, or cannot be written.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in FORMATS:
            raise OptionError(f"cannot tell the format of {path.name!r}; its name must end in {', '.join(FORMATS)}")
        target = check_file(path, overwrite=overwrite)
        if suffix == ".csv":
            content = csv_text(self.table()).encode()
        elif suffix == ".txt":
            content = in_document(f"{self.text(120)}\n").encode()
        elif suffix == ".html":
            content = self._page().encode()
        else:
            content = self._image(suffix[1:])
        write_durably(target, content)

    def _image(self, kind: str) -> bytes:
        """Return the content of a file with the figure, without the date, which changes from run to run."""
        date_entry = {"svg": "Date", "pdf": "CreationDate"}.get(kind)
        metadata = {date_entry: None} if date_entry else {}
        stream = BytesIO()
        figure, lines = self.figure(), list[str]()
        if kind != "svg":
            without = use_fallbacks(figure)
            lines = [
                advice(without, kind.upper()) if without else "", advice_of_direction(texts_of(figure), kind.upper()),
            ]  # fmt: skip
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            figure.savefig(stream, format=kind, metadata=metadata, bbox_inches="tight")
        for line in filter(None, lines):
            warnings.warn(line, stacklevel=3)
        return stream.getvalue()

    def explorer(self) -> Explorer:
        """Return the data of the interactive drawing, see `attentionology.reports.heads.explorer_data.as_explorer`."""
        return as_explorer(self.views, model=self.model, causal=self.causal)

    def _interactive_html(self, name: str = "", *, follow: bool = False) -> str:
        """Return the interactive drawing, which replaces the figure where scripts run, as HTML."""
        address = opening(self.views, layout=self.layout, special=self.special)
        svg = self._image("svg").decode()
        without_prolog = svg[svg.index("<svg") :]
        figure = f'<figure style="margin: 0; overflow-x: auto">{without_prolog}</figure>'
        return mount(self.explorer(), name=name, address=address, follow=follow, instead=figure)

    def _page(self) -> str:
        """Return a page with the drawing and the largest values as text, which needs no network."""
        title = self.description
        text = f"<details><summary>As text</summary><pre>{in_html(self.text(width=120))}</pre></details>"
        return page(f"{title[0].upper()}{title[1:]}", f"{self._interactive_html('shown', follow=True)}\n{text}")
