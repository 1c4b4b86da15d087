"""The script and the styles of the page, which are built from the folder ``src`` by ``make page``."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def script() -> str:
    """The script of the page, which contains nothing that ends a ``script`` element."""
    # It defines `attentionology.mount(element, data, {hash})`, which shows an explorer in an element. On the page of
    # a report it also shows the explorer whose data are in the element `explorer-data`.
    return (_FOLDER / "explorer.js").read_text(encoding="utf-8")


def styles() -> str:
    """The styles of the explorer."""
    return (_FOLDER / "explorer.css").read_text(encoding="utf-8")


def page_styles() -> str:
    """The styles of the report around the explorer."""
    return (_FOLDER / "page.css").read_text(encoding="utf-8")
