"""Formats of annotated corpora that are recognized, but not read: their error is the name of the format.

A reader of another format would list one mistake for each line. To read one of these formats, add a row to
`attentionology.corpora_loaders.formats.FORMATS`, and remove it here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..lines import WHOLE_NUMBER
from .conll2012 import BEGIN

_STANDARD_COLUMNS = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
_COLUMNS = re.compile(r"#\s*global\.columns\s*=\s*(?P<names>.*)")
_COLUMNS_2009, _COLUMNS_2010 = 14, 14  # the least numbers of columns
_HEADS_2009 = slice(8, 10)  # the columns HEAD and PHEAD


@dataclass(frozen=True)
class Beginning:
    """The beginning of a file, by which its format is recognized."""

    comments: tuple[str, ...] = ()  # the lines before the first row that start with ``#``
    row: str = ""  # the first line that is neither blank nor a comment
    line: int = 0  # the number of that line, from 1


def unread_columns(beginning: Beginning) -> str:
    """Return what a file is that has columns like those of a format that is read; empty if it is no such file."""
    columns = beginning.row.partition("\r")[0].split()  # line ends may be CR alone
    if names := next((match["names"].split() for match in map(_COLUMNS.match, beginning.comments) if match), None):
        return "" if names == _STANDARD_COLUMNS else f"CoNLL-U Plus with the columns {' '.join(names)[:200]}"
    if columns[:1] != ["1"] or any(map(WHOLE_NUMBER.fullmatch, columns[1:3])):
        return ""  # rows of CoNLL-2012 begin with a document, a part and a number
    if any(map(BEGIN.match, beginning.comments)):
        return "coreference in the columns of SemEval-2010" if len(columns) >= _COLUMNS_2010 else ""
    heads = columns[_HEADS_2009]
    are_heads = all(head == "_" or WHOLE_NUMBER.fullmatch(head) for head in heads)
    return "CoNLL-2009" if len(columns) >= _COLUMNS_2009 and are_heads else ""


def unread_text(beginning: Beginning) -> str:
    """Return what a file is that has no columns at all; empty if it may have some."""
    row = beginning.row
    if re.match(r'\{\s*"', row):
        of_clusters = '"clusters"' in row and '"sentences"' in row
        return f"JSON Lines{' of documents with sentences and clusters' if of_clusters else ''}"
    return "XML" if row.startswith(("<?xml", "<!DOCTYPE")) else ""
