"""WinoBias (Zhao et al. 2018): sentences with two occupations and a pronoun that refers to one of them.

The files are in the CoNLL-2012 format and mark only the pronoun and the right occupation. The other occupation, without
which there would be no choice, is found with the list of occupations from the paper, and includes the determiner before
it.

Example:
    >>> from attentionology.corpora_loaders.coreference import ANTI, FEMININE, MASCULINE, PRO
    >>> PRO, ANTI
    ('pro-stereotypical', 'anti-stereotypical')
    >>> FEMININE, MASCULINE
    ('feminine pronoun', 'masculine pronoun')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..errors import CorpusError
from .document import Document, Mention, PronounQuestion
from .english import PRONOUNS

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
