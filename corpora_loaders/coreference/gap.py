"""GAP (Webster et al. 2018): a pronoun and two names in a stretch of Wikipedia, as tab-separated values.

The pronoun is to be resolved to one of the names, before or after it; where it refers to neither, it has no antecedent.
Words are cut by rule: letters and digits with dots, hyphens and ampersands between them are a word, an apostrophe
with what follows is one, other characters are one each; and wherever a name or the pronoun starts or ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from attentionology.corpora_loaders.coreference.brackets import Marked
from attentionology.corpora_loaders.coreference.building import build_document
from attentionology.corpora_loaders.coreference.document import Document, Question
from attentionology.corpora_loaders.coreference.winobias import gender_label
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import WHOLE_NUMBER, numbered_lines
from attentionology.corpora_loaders.sentence import Sentence

COLUMNS: tuple[str, ...] = (
    "ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL",
)  # fmt: skip
HEADER = "\t".join(COLUMNS[:4])

_WORD = re.compile(r"['’]\w+|\w+(?:[-.&]\w+)*|[^\w\s]")
_TRUE = {"true": True, "false": False}


def read_gap(path: str | Path) -> Iterator[Document]:
    """Yield one document per row.

    Raises:
        CorpusError: with file and line: another header or number of columns, an offset that is no number or where the
            text says something else, two of the three with one head word, an answer that is neither TRUE nor FALSE, or
            both names right.
    """
    path = Path(path)
    for line, text in numbered_lines(path):
        columns = text.split("\t")
        if line == 1:
            if tuple(columns) != COLUMNS:
                raise CorpusError(f"expected the columns {', '.join(COLUMNS)}", file=path, line=line)
        elif text.strip():
            yield _document(path, line, columns)


def _document(path: Path, line: int, columns: list[str]) -> Document:
    def fail(message: str) -> CorpusError:
        return CorpusError(message, file=path, line=line, sentence=columns[0] or None)

    if len(columns) != len(COLUMNS):
        raise fail(f"expected {len(COLUMNS)} tab-separated columns, found {len(columns)}")
    row = dict(zip(COLUMNS, columns, strict=True))
    if not row["ID"]:
        raise fail("the ID is empty")
    places = {}
    for what in ("Pronoun", "A", "B"):
        given, offset = row[what], row[f"{what}-offset"]
        if not WHOLE_NUMBER.fullmatch(offset):
            raise fail(f"{what}-offset is {offset!r}, not a number")
        start = int(offset)
        found = row["Text"][start : start + len(given)]
        if not given.strip() or found != given:
            raise fail(f"{what} is {given!r}, but the text has {found!r} at {start}")
        places[what] = (start, start + len(given))
    right = {what: _TRUE.get(row[f"{what}-coref"].casefold()) for what in ("A", "B")}
    if None in right.values():
        raise fail("A-coref and B-coref must be TRUE or FALSE")
    if all(right.values()):
        raise fail("A-coref and B-coref are both TRUE; one at most can be")
    cuts = sorted({0, len(row["Text"]), *(edge for place in places.values() for edge in place)})
    words = [
        (match.start() + start, match[0])
        for start, stop in pairwise(cuts)
        for match in _WORD.finditer(row["Text"][start:stop])
    ]

    def mark(what: str, entity: str) -> Marked:
        start, stop = places[what]
        own = [number for number, (at, _) in enumerate(words) if start <= at < stop]
        if not own:
            raise fail(f"{what} {row[what]!r} has no letter, digit or sign")
        return Marked(((own[0], own[-1] + 1),), entity, line)

    pronoun = mark("Pronoun", "pronoun")
    names = [mark(what, "pronoun" if right[what] else what) for what in ("A", "B")]
    sentence = Sentence(
        row["ID"], tuple(word for _, word in words), text=row["Text"], document=row["ID"], file=str(path), line=line
    )
    document = build_document(row["ID"], [sentence], [pronoun, *names])
    anaphor, *candidates = (document.mention_at(mark.spans) for mark in (pronoun, *names))
    asked = {"A": candidates[0], "B": candidates[1], "Pronoun": anaphor}
    for one, other in (("A", "B"), ("A", "Pronoun"), ("B", "Pronoun")):
        if asked[one].head == asked[other].head:  # they have the same place, or one is inside the other
            raise fail(
                f"{one} {row[one]!r} and {other} {row[other]!r} have one head word, so nothing is left to choose"
            )
    label = gender_label(row["Pronoun"])
    return replace(document, questions=(Question(anaphor, tuple(candidates)),), labels=(label,) if label else ())
