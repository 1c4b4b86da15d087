"""Benchmarks that ask to which of a few candidates a pronoun refers: GAP and WinoBias.

GAP (Webster et al. 2018) has a pronoun and two names in a text from Wikipedia, as tab-separated values. WinoBias (Zhao
et al. 2018) has sentences with two occupations in the CoNLL-2012 format.

Example:
    >>> from attentionology.corpora_loaders.coreference import ANTI, FEMININE, MASCULINE, PRO
    >>> PRO, ANTI
    ('pro-stereotypical', 'anti-stereotypical')
    >>> FEMININE, MASCULINE
    ('feminine pronoun', 'masculine pronoun')
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ..errors import CorpusError
from ..lines import WHOLE_NUMBER, located_lines
from ..sentence import Sentence
from .building import Marked, build_document
from .document import Account, Document, Mention, PronounQuestion
from .english import PRONOUNS

COLUMNS: tuple[str, ...] = (
    "ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL",
)  # fmt: skip
HEADER = "\t".join(COLUMNS[:4])

# A word has letters and digits, with periods, hyphens and ampersands between them, or it is an apostrophe with the
# letters after it. Every other character is a word by itself. An asterisk beside a letter is a letter, because GAP
# writes letters with accents in this way (*Jolie G*bor*).
_LETTERS = r"(?:(?<!\*)\*+(?=\w))?\w[\w*]*"  # only the first asterisk looks ahead, or many would take quadratic time
_WORD = re.compile(rf"['’]{_LETTERS}|{_LETTERS}(?:[-.&]{_LETTERS})*|[^\w\s]")
_TRUE = {"true": True, "false": False}

OCCUPATIONS = frozenset(
    "accountant analyst assistant attendant auditor baker carpenter cashier ceo chief cleaner clerk cook "
    "counselor designer developer driver editor farmer guard hairdresser housekeeper janitor laborer lawyer "
    "librarian manager mechanic mover nurse physician receptionist salesperson secretary sheriff supervisor "
    "tailor teacher worker writer".split()
)
"""The forty occupations of the paper. Its *construction worker* is found by the word *worker*."""

PRO = "pro-stereotypical"
"""The group of the questions whose pronoun has the gender that the stereotype of the occupation expects."""
ANTI = "anti-stereotypical"
"""The group of the questions whose pronoun has the other gender."""
FEMININE = "feminine pronoun"
"""The group of the questions about a feminine pronoun."""
MASCULINE = "masculine pronoun"
"""The group of the questions about a masculine pronoun."""

_ID = re.compile(r"type(?P<type>[12])/(?P<anti>not_)?stereotype")
_DETERMINERS = frozenset(("the", "a", "an"))


def read_gap(
    path: str | Path, account: Account, *, lenient: bool = False, place: tuple[int, int] | None = None
) -> Iterator[tuple[Document, tuple[int, int]]]:
    """Yield a document for each row, with the place after it: the numbers of bytes and of lines before that place.

    Args:
        path: the file.
        account: not used, because everything that GAP marks becomes a mention.
        lenient: not used, because GAP has no brackets that could be malformed.
        place: where to begin.
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


def gender_label(pronoun: str) -> str | None:
    """`FEMININE` or `MASCULINE`; None for a word that is neither."""
    _, gender, _ = PRONOUNS.get(pronoun.casefold(), ("", "", ""))
    return {"Fem": FEMININE, "Masc": MASCULINE}.get(gender)


def winobias_document(document: Document) -> Document:
    """Add questions and labels to a document of WinoBias, recognized by its id. Any other one is returned unchanged.

    Every pronoun becomes a question, whose candidates are the occupations before it, whether they are marked or not.
    The same sentence with a pronoun of the other gender belongs to the same family.
    """
    match = _ID.search(document.id)
    if not match:
        return document
    words = document.words
    stereotype = ANTI if match["anti"] else PRO
    marked = {mention.head: mention for mention in document.mentions}
    occupations = [
        marked.get(index)
        or Mention(((_phrase_start(words, index), index + 1),), f"occupation {index}", index, "nominal")
        for index, word in enumerate(words)
        if word.casefold() in OCCUPATIONS
    ]
    pronouns = [
        mention for mention in document.mentions if mention.head is not None and gender_label(words[mention.head])
    ]
    questions = [
        PronounQuestion(pronoun, tuple(mention for mention in occupations if mention.stop <= pronoun.start))
        for pronoun in pronouns
    ]
    for question in questions:
        right = sum(candidate.entity == question.anaphor.entity for candidate in question.candidates)
        if right > 1 and right == len(question.candidates):
            message = "the pronoun refers to all occupations before it; expected only one"
            raise CorpusError(message, file=document.file, line=question.anaphor.line, sentence=document.id)
    genders = {str(gender_label(words[pronoun.head])) for pronoun in pronouns if pronoun.head is not None}
    neutral = " ".join("*" if gender_label(word) else word.casefold() for word in words)
    return replace(
        document,
        family=f"WinoBias: {neutral}",
        questions=tuple(question for question in questions if len(question.candidates) > 1),
        labels=(stereotype, f"type {match['type']}, {stereotype}", *(genders if len(genders) == 1 else ())),
    )


def _phrase_start(words: Sequence[str], index: int) -> int:
    """The first word of the noun phrase of an occupation: its determiner, if it has one."""
    start = index - 1 if words[index - 1].casefold() == "construction" else index
    return start - 1 if start and words[start - 1].casefold() in _DETERMINERS else start
