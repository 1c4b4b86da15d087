"""The explorer in a cell of a notebook, and on a page of its own."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ...storage.characters import in_html
from ...storage.durable import write_durably
from ...storage.paths import check_file
from ...storage.writing import amount
from ..page import read_bundle
from .data import Bench, Explorer, script_json

_CELLS = itertools.count(1)

_PAGE_STYLE = (
    ":root { color-scheme: light dark; background: light-dark(#ffffff, #14171b); } "
    "body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; } "
    "h1 { font-size: 1.3rem; } details { margin-top: 2rem; } pre { overflow-x: auto; }"
)


@dataclass(frozen=True, repr=False)
class ExplorerView:
    """The explorer of a run, or of sentences of one's own, which a notebook shows."""

    # A notebook may show several. Each that is not live brings its data, the script and the styles along, so that a
    # saved notebook shows it again without a network.

    explorer: Explorer
    address: str = ""  # the address of the view with which it opens
    # returns the HTML of a cell that shows a live page at this address, or None where there is none
    live: Callable[[str], str | None] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"ExplorerView({self.description})"

    @property
    def description(self) -> str:
        """The model, what it read, and what can be seen of it."""
        explorer, measures = self.explorer, amount(len(self.explorer.measures), "measures")
        return f"{self.title}, {measures} of {amount(explorer.layers * explorer.heads, 'heads')}"

    @property
    def title(self) -> str:
        """The model, and what it read."""
        n_sentences = len(self.explorer.sample.sentences) if self.explorer.sample else 0
        sentences = "1 sentence" if n_sentences == 1 else f"{n_sentences} sentences"
        corpus = self.explorer.corpus
        of_corpus = f" of {corpus}" if corpus not in ("", sentences) else ""  # what has no file is called by its number
        return f"{self.explorer.model} on {sentences}{of_corpus}"

    def _repr_html_(self) -> str:
        frame = None if self.live is None else self.live(self.address)
        return mount(self.explorer, address=self.address) if frame is None else frame

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the explorer as one page that needs no network.

        Args:
            path: the file.
            overwrite: whether to replace a file.

        Raises:
            StorageError: the file exists, or cannot be written.
        """
        target = check_file(path, overwrite=overwrite)
        body = mount(self.explorer, name="explorer", address=self.address, follow=True)
        write_durably(target, page(self.title, body).encode())


def page(title: str, body: str) -> str:
    """Return a page with a title and a body, which is HTML."""
    title = in_html(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def mount(explorer: Explorer, *, name: str = "", address: str = "", follow: bool = False, instead: str = "") -> str:
    """Return HTML that shows an explorer in any page, with its data, the script and the styles.

    The name is the id of its element; by default, it is that of a cell of a notebook. The explorer opens with the view
    of this address, or if it is to ``follow``, with that in the address of the page, which then names what is seen.
    Until the script has run, the page shows the HTML ``instead``.

    In a cell, it stands in a shadow root, where the styles of the notebook do not reach it, nor its own the notebook.
    Such a cell shows what is stored, without a server: a notebook that is saved or opened elsewhere shows it again, and
    draws no new sentences.
    """
    data = script_json(Bench((explorer,)))
    options: dict[str, bool | str] = {"hash": follow, "address": address}
    if not name:
        # No two cells of a notebook have the same, even if they show the same. A notebook that is executed again from
        # its beginning has the same ids again.
        name = f"explorer-{hashlib.sha256(data.encode()).hexdigest()[:12]}-{next(_CELLS)}"
        options["styles"] = read_bundle("explorer.css")
    styles = "" if "styles" in options else f"<style>{read_bundle('explorer.css')}</style>"
    as_json = json.dumps(options).replace("<", "\\u003c")
    return (
        f'{styles}<div id="{name}">{instead}</div><script>{read_bundle("explorer.js")}</script>'
        f'<script>attentionology.mount(document.getElementById("{name}"), {data}, {as_json})</script>'
    )
