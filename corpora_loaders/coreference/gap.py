"""GAP (Webster et al. 2018): a pronoun and two names in a text from Wikipedia, as tab-separated values.

The pronoun is to be resolved to one of the names, which may precede or follow it. If it refers to neither, it has no
antecedent. The text is split into words by rule: letters and digits with periods, hyphens and ampersands between them
form a word, so does an apostrophe with the letters after it, and every other character is a word by itself. An asterisk
beside a letter is a letter, because GAP writes letters with accents in this way (*Jolie G\\*bor*). A word also starts
and ends wherever a name or the pronoun does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ..errors import CorpusError
from ..lines import WHOLE_NUMBER, located_lines
from ..sentence import Sentence
from .building import Marked, build_document
from .document import Account, Document, PronounQuestion
from .winobias import gender_label

COLUMNS: tuple[str, ...] = (
    "ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL",
)  # fmt: skip
HEADER = "\t".join(COLUMNS[:4])

_LETTERS = r"(?:(?<!\*)\*+(?=\w))?\w[\w*]*"  # only the first asterisk looks ahead, or many would take quadratic time
_WORD = re.compile(rf"['’]{_LETTERS}|{_LETTERS}(?:[-.&]{_LETTERS})*|[^\w\s]")
_TRUE = {"true": True, "false": False}


def read_gap(
    path: str | Path, account: Account, *, lenient: bool = False, place: tuple[int, int] | None = None
) -> Iterator[tuple[Document, tuple[int, int]]]:
    """Yield one document per row from a place on, each with the place after it: the bytes and the lines before it.

    GAP has no brackets that could be malformed, and nothing that would not become a mention.
    """
    path = Path(path)
    offset, lines = place or (0, 0)
    for line, following, text in located_lines(path, offset=offset, lines=lines):
        columns = text.split("\t")
        if line == 1:
            if tuple(columns) != COLUMNS:
                raise CorpusError(f"expected the columns {', '.join(COLUMNS)}", file=path, line=line)
        elif text.strip():
            yield _document(path, line, columns), (following, line)


def _document(path: Path, line: int, columns: list[str]) -> Document:
    def fail(message: str) -> CorpusError:
        return CorpusError(message, file=path, line=line, sentence=columns[0] or None)

    if len(columns) != len(COLUMNS):
        raise fail(f"expected {len(COLUMNS)} tab-separated columns, found {len(columns)}")
    row = dict(zip(COLUMNS, columns, strict=True))
    if not row["ID"]:
        raise fail("the ID is empty")
    character_spans = {}
    for role in ("Pronoun", "A", "B"):
        form, offset = row[role], row[f"{role}-offset"]
        if not WHOLE_NUMBER.fullmatch(offset):
            raise fail(f"{role}-offset is {offset!r}, not a number")
        start = int(offset)
        in_text = row["Text"][start : start + len(form)]
        if not form.strip() or in_text != form:
            raise fail(f"{role} is {form!r}, but the text has {in_text!r} at {start}")
        character_spans[role] = (start, start + len(form))
    right = {role: _TRUE.get(row[f"{role}-coref"].casefold()) for role in ("A", "B")}
    if None in right.values():
        raise fail("A-coref and B-coref must be TRUE or FALSE")
    if all(right.values()):
        raise fail("A-coref and B-coref are both TRUE; at most one of them can be")
    cuts = sorted({0, len(row["Text"]), *(edge for span in character_spans.values() for edge in span)})
    words = [
        (match.start() + start, match[0])
        for start, stop in pairwise(cuts)
        for match in _WORD.finditer(row["Text"][start:stop])
    ]

    def mark(role: str, entity: str) -> Marked:
        start, stop = character_spans[role]
        inside = [number for number, (offset, _) in enumerate(words) if start <= offset < stop]
        if not inside:
            raise fail(f"{role} {row[role]!r} has no letter, digit or sign")
        return Marked(((inside[0], inside[-1] + 1),), entity, line)

    pronoun = mark("Pronoun", "pronoun")
    names = [mark(role, "pronoun" if right[role] else role) for role in ("A", "B")]
    sentence = Sentence(
        row["ID"], tuple(word for _, word in words), text=row["Text"], document=row["ID"], file=str(path), line=line
    )
    document = build_document(row["ID"], [sentence], [pronoun, *names])
    built = {mention.spans: mention for mention in reversed(document.mentions)}
    anaphor, *candidates = (built[mark.spans] for mark in (pronoun, *names))
    mentions = {"A": candidates[0], "B": candidates[1], "Pronoun": anaphor}
    for first, second in (("A", "B"), ("A", "Pronoun"), ("B", "Pronoun")):
        if mentions[first].head == mentions[second].head:  # they have the same words, or one contains the other
            both = f"{first} {row[first]!r} and {second} {row[second]!r}"
            raise fail(f"{both} have the same head word, so there is no choice")
    label = gender_label(row["Pronoun"])
    return replace(document, questions=(PronounQuestion(anaphor, tuple(candidates)),), labels=(label,) if label else ())
