"""WinoBias (Zhao et al. 2018): sentences with two occupations and a pronoun that refers to one of them.

The files are CoNLL-2012 and mark only the pronoun and the right occupation. The other one, without which there is
nothing to choose from, is found by the list of occupations of the paper, with the determiner before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from attentionology.corpora_loaders.coreference.document import Document, Mention, Question
from attentionology.corpora_loaders.coreference.english import PRONOUNS
from attentionology.corpora_loaders.errors import CorpusError

OCCUPATIONS = frozenset(
    "accountant analyst assistant attendant auditor baker carpenter cashier ceo chief cleaner clerk cook "
    "counselor designer developer driver editor farmer guard hairdresser housekeeper janitor laborer lawyer "
    "librarian manager mechanic mover nurse physician receptionist salesperson secretary sheriff supervisor "
    "tailor teacher worker writer".split()
)
"""The forty occupations; *worker* stands for the construction worker."""

PRO, ANTI = "pro-stereotypical", "anti-stereotypical"
FEMININE, MASCULINE = "feminine pronoun", "masculine pronoun"

_ID = re.compile(r"type(?P<type>[12])/(?P<anti>not_)?stereotype")
_DETERMINERS = frozenset(("the", "a", "an"))


def gender_label(pronoun: str) -> str | None:
    """`FEMININE` or `MASCULINE`; None for what is neither."""
    _, gender, _ = PRONOUNS.get(pronoun.casefold(), ("", "", ""))
    return {"Fem": FEMININE, "Masc": MASCULINE}.get(gender)


def winobias_document(document: Document) -> Document:
    """A document of WinoBias, told by its id, with questions and labels; any other document as it is.

    Every pronoun is a question; candidates are the occupations that stand before it, marked or not. The same sentence
    with a pronoun of the other gender is of the same family.

    Raises:
        CorpusError: a pronoun is said to refer to all the occupations before it.
    """
    found = _ID.search(document.id)
    if not found:
        return document
    words = document.words
    stereotype = ANTI if found["anti"] else PRO
    marked = {mention.head: mention for mention in document.mentions}
    occupations = [
        marked.get(at) or Mention(((_with_determiner(words, at), at + 1),), f"occupation {at}", at, "nominal")
        for at, word in enumerate(words)
        if word.casefold() in OCCUPATIONS
    ]
    pronouns = [m for m in document.mentions if m.head is not None and gender_label(words[m.head])]
    questions = [Question(p, tuple(one for one in occupations if one.stop <= p.start)) for p in pronouns]
    for question in questions:
        right = sum(candidate.entity == question.anaphor.entity for candidate in question.candidates)
        if right > 1 and right == len(question.candidates):
            message = "all occupations are marked as what the pronoun refers to; one is expected"
            raise CorpusError(message, file=document.file, line=question.anaphor.line, sentence=document.id)
    genders = {str(gender_label(words[p.head])) for p in pronouns if p.head is not None}
    neutral = " ".join("*" if gender_label(word) else word.casefold() for word in words)
    return replace(
        document,
        family=f"WinoBias: {neutral}",
        questions=tuple(question for question in questions if len(question.candidates) > 1),
        labels=(stereotype, f"type {found['type']}, {stereotype}", *(genders if len(genders) == 1 else ())),
    )


def _with_determiner(words: Sequence[str], at: int) -> int:
    start = at - 1 if words[at - 1].casefold() == "construction" else at
    return start - 1 if start and words[start - 1].casefold() in _DETERMINERS else start
