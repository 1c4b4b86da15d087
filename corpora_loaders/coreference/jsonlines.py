"""Documents as JSON Lines, one object in each line, with sentences of words and clusters of mentions.

They are the files of the coreference systems that followed Lee et al. (2017): ``doc_key``, ``sentences``, and
``clusters``, in which a mention is its first and its last word, counted through the document from 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import CorpusError
from ..lines import text_lines
from ..sentence import Sentence
from .building import Marked, build_document
from .document import Account, Document

_EXPECTED = "an object with sentences, lists of words, and clusters, lists of [first word, last word]"


def read_jsonlines(
    path: str | Path, account: Account, *, lenient: bool = False, place: tuple[int, int] | None = None
) -> Iterator[tuple[Document, tuple[int, int]]]:
    """Yield one document per line, each with the place after it: an offset, and the number of lines before it.

    Raises:
        CorpusError: a line is not such an object, or a mention goes beyond the words; the message has the line.
    """
    start, lines = place or (0, 0)
    for line, offset, text in text_lines(path, offset=start, lines=lines, allow_returns=True):
        if text.strip():
            yield _document(path, line, text, account), (offset, line)


def _document(path: str | Path, line: int, text: str, account: Account) -> Document:
    """Read the document of a line."""
    try:
        row: Any = json.loads(text)
        name = str(row.get("doc_key") or f"{Path(path).name}:{line}")
        sentences = [
            Sentence(f"{name}:{number}", tuple(words), document=name, file=str(path), line=line)
            for number, words in enumerate(row["sentences"], start=1)
            if words
        ]
        marked = [
            Marked(((first, last + 1),), str(number), line)
            for number, cluster in enumerate(row["clusters"], start=1)
            for first, last in cluster
        ]
        if any(start >= stop for mention in marked for start, stop in mention.spans):
            raise ValueError("a mention ends before it starts")
    except CorpusError:
        raise
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise CorpusError(
            f"expected {_EXPECTED}: {type(error).__name__}: {error!s:.80}", file=path, line=line
        ) from error
    try:
        return build_document(name, sentences, marked, account)
    except CorpusError as error:
        raise CorpusError(error.reason, file=path, line=line) from error
