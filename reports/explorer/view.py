"""The explorer in a cell of a notebook."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass

from ..page.bundle import bundled
from .data import Explorer
from .encoding import script_json

_CELLS = itertools.count(1)


@dataclass(frozen=True, repr=False)
class ExplorerView:
    """The explorer of a run, which a notebook shows."""

    # A notebook may show several. Each brings its data, the script and the styles along, so that a saved notebook
    # shows it again without a network.

    explorer: Explorer

    def __repr__(self) -> str:
        explorer = self.explorer
        heads, sentences = explorer.layers * explorer.heads, len(explorer.sample.sentences) if explorer.sample else 0
        measures = f"{len(explorer.measures)} measures of {heads} heads"
        return f"ExplorerView({explorer.model} on {explorer.corpus}, {measures}, {sentences} sentences)"

    def _repr_html_(self) -> str:
        return mounted(self.explorer, name=cell_name(self.explorer))


def cell_name(explorer: Explorer) -> str:
    """Return an id for the element of a cell."""
    # No two cells of a notebook have the same, even if they show the same. A notebook that is executed again from its
    # beginning has the same ids again.
    digest = hashlib.sha256(script_json(explorer).encode()).hexdigest()[:12]
    return f"explorer-{digest}-{next(_CELLS)}"


def mounted(explorer: Explorer, *, name: str, address: str = "", follow: bool = False, instead: str = "") -> str:
    """Return HTML that shows an explorer in any page, with its data, the script and the styles."""
    options = json.dumps({"hash": follow, "address": address}).replace("<", "\\u003c")
    styles, script = bundled("explorer.css"), bundled("explorer.js")
    return (
        f'<style>{styles}</style><div id="{name}">{instead}</div><script>{script}</script>'
        f'<script>attentionology.mount(document.getElementById("{name}"), {script_json(explorer)}, {options})</script>'
    )
