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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """Yield a document for each row from a place on, with the place after it: the bytes and the lines before it.

    All that GAP marks becomes a mention, and it has no brackets, so that nothing goes to the account or is malformed.
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
    """Return the document of a row, whose only question asks to which of the two names the pronoun refers."""

    def fault(message: str) -> CorpusError:
        return CorpusError(message, file=path, line=line, sentence=columns[0] or None)

    if len(columns) != len(COLUMNS):
        raise fault(f"expected {len(COLUMNS)} tab-separated columns, found {len(columns)}")
    row = dict(zip(COLUMNS, columns, strict=True))
    if not row["ID"]:
        raise fault("the ID is empty")

    character_spans = {role: _character_span(row, role, fault) for role in ("Pronoun", "A", "B")}
    is_right = {role: _TRUE.get(row[f"{role}-coref"].casefold()) for role in ("A", "B")}
    if None in is_right.values():
        raise fault("A-coref and B-coref must be TRUE or FALSE")
    if all(is_right.values()):
        raise fault("A-coref and B-coref are both TRUE; at most one of them can be")

    words = _words(row["Text"], [edge for span in character_spans.values() for edge in span])
    marked: dict[str, Marked] = {}
    for role, (start, stop) in character_spans.items():
        inside = [index for index, (_, offset) in enumerate(words) if start <= offset < stop]
        if not inside:
            raise fault(f"{role} {row[role]!r} has no letter, digit or sign")
        entity = "pronoun" if role == "Pronoun" or is_right[role] else role
        marked[role] = Marked(((inside[0], inside[-1] + 1),), entity, line)

    forms = tuple(form for form, _ in words)
    sentence = Sentence(row["ID"], forms, text=row["Text"], document=row["ID"], file=str(path), line=line)
    document = build_document(row["ID"], [sentence], list(marked.values()))
    mention_at = {mention.spans: mention for mention in reversed(document.mentions)}  # the first one of equal spans
    mentions = {role: mention_at[mark.spans] for role, mark in marked.items()}
    for first, second in (("A", "B"), ("A", "Pronoun"), ("B", "Pronoun")):
        if mentions[first].head == mentions[second].head:  # they have the same words, or one contains the other
            both = f"{first} {row[first]!r} and {second} {row[second]!r}"
            raise fault(f"{both} have the same head word, so there is no choice")
    question = PronounQuestion(mentions["Pronoun"], (mentions["A"], mentions["B"]))
    label = gender_label(row["Pronoun"])
    return replace(document, questions=(question,), labels=(label,) if label else ())


def _character_span(row: Mapping[str, str], role: str, fault: Callable[[str], CorpusError]) -> tuple[int, int]:
    """Return where the text has the pronoun or a name: the characters before its beginning and before its end."""
    form, offset = row[role], row[f"{role}-offset"]
    if not WHOLE_NUMBER.fullmatch(offset):
        raise fault(f"{role}-offset is {offset!r}, not a number")
    start = int(offset)
    stop = start + len(form)
    in_text = row["Text"][start:stop]
    if not form.strip() or in_text != form:
        raise fault(f"{role} is {form!r}, but the text has {in_text!r} at {start}")
    return start, stop


def _words(text: str, edges: Iterable[int]) -> list[tuple[str, int]]:
    """Return the words of a text and how many characters are before each; the text is cut at the edges first."""
    cuts = pairwise(sorted({0, len(text), *edges}))
    return [(match[0], match.start() + start) for start, stop in cuts for match in _WORD.finditer(text[start:stop])]


def gender_label(pronoun: str) -> str | None:
    """Return `FEMININE` or `MASCULINE`; None for a word that is neither."""
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
    mention_of_head = {mention.head: mention for mention in document.mentions}
    occupations = []
    for index, word in enumerate(words):
        if word.casefold() in OCCUPATIONS:
            span = (_phrase_start(words, index), index + 1)
            unmarked = Mention((span,), f"occupation {index}", index, "nominal")
            occupations.append(mention_of_head.get(index, unmarked))

    questions, genders = [], set()
    for mention in document.mentions:
        gender = None if mention.head is None else gender_label(words[mention.head])
        if gender is None:  # not a pronoun that shows a gender
            continue
        genders.add(gender)
        candidates = tuple(occupation for occupation in occupations if occupation.stop <= mention.start)
        if len(candidates) > 1 and all(candidate.entity == mention.entity for candidate in candidates):
            message = "the pronoun refers to all occupations before it; expected only one"
            raise CorpusError(message, file=document.file, line=mention.line, sentence=document.id)
        if len(candidates) > 1:  # otherwise, there is no choice
            questions.append(PronounQuestion(mention, candidates))
    stereotype = ANTI if match["anti"] else PRO
    neutral_text = " ".join("*" if gender_label(word) else word.casefold() for word in words)
    return replace(
        document,
        family=f"WinoBias: {neutral_text}",
        questions=tuple(questions),
        labels=(stereotype, f"type {match['type']}, {stereotype}", *(genders if len(genders) == 1 else ())),
    )


def _phrase_start(words: Sequence[str], index: int) -> int:
    """Return the first word of the noun phrase of an occupation: its determiner, if it has one."""
    start = index - 1 if words[index - 1].casefold() == "construction" else index  # “construction worker”
    return start - 1 if start and words[start - 1].casefold() in _DETERMINERS else start
