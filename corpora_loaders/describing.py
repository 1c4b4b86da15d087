"""How corpora and their parts are shown in a Python session: as one line, or as a small table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..storage.characters import in_html
from ..storage.writing import amount

__all__ = ["amount", "counts_table", "named_files", "quote_shortened"]

_LONGEST = 50


def quote_shortened(text: str) -> str:
    """The text in quotes, on one line, shortened to 50 characters."""
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def named_files(paths: list[str]) -> str:
    """The names of one or two files, or how many files there are."""
    if len(paths) > 2:
        return amount(len(paths), "files")
    return " and ".join(repr(Path(path).name) for path in paths)


def counts_table(title: str, counts: Mapping[str, int]) -> str:
    """An HTML table of counts. All text in it is escaped."""
    rows = "".join(
        f'<tr><th style="text-align: left">{in_html(name.replace("_", " "))}</th>'
        f'<td style="text-align: right">{number:,}</td></tr>'
        for name, number in counts.items()
    )
    return f'<table><caption style="white-space: nowrap">{in_html(title)}</caption>{rows}</table>'
