"""The head word of an English mention of which nothing is known but the words.

It is the last word of the first simple noun phrase, which ends at the first punctuation mark or at a word of
`PHRASE_ENDS`. Some things that look like an end are none, above all in names: the full stop of an initial or an
abbreviation, whether it is a part of the word or a word of its own (*Howard M . Colvin*, *Dr . Magnus*); the comma
inside a number (*1 , 000 people*); and names that are function words too (*Stella May Tackett*). And some words at
the end of a name are not its head: initials, *Jr.*, Roman numerals, other numbers (*Edward IV*, *July 2003*).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attentionology.corpora_loaders.coreference.english import (
    ABBREVIATIONS,
    DETERMINERS,
    MONTHS,
    NAMES_TOO,
    PHRASE_ENDS,
    SUFFIXES,
    SURNAMES_TOO,
)

HYPHENS = frozenset("-–‐‑")
POSSESSIVES = frozenset(("'s", "’s", "'", "’"))

_DOTTED = re.compile(r"[A-Za-z](\.[A-Za-z])*")
_INITIAL = re.compile(r"[A-Z]\.?")
_DAY = re.compile(r"[0-9]{1,2}")
_NUMBER = re.compile(r"[0-9][0-9.,:/-]*")
_THOUSANDS = re.compile(r"[0-9]{3}")
_ROMAN = re.compile(r"(?=.)X{0,3}(IX|IV|V?I{0,3})")


def is_word(form: str) -> bool:
    """Whether it has a letter or digit."""
    return any(letter.isalnum() for letter in form)


def untagged_head(forms: Sequence[str]) -> int:
    """Index of the head word among the words of a mention.

    Args:
        forms: at least one.
    """
    head: int | None = None
    for at, form in enumerate(forms):
        if not is_word(form):
            if head is not None and form not in HYPHENS and not _belongs_to_a_word(forms, at):
                break
        elif head is None:
            head = at
        elif _ends_phrase(forms, at):
            break
        elif not _is_possessive_at_the_end(forms, at) and not _follows_its_head(forms, at, forms[head]):
            head = at
    return len(forms) - 1 if head is None else head


def _belongs_to_a_word(forms: Sequence[str], at: int) -> bool:
    """Whether a punctuation mark is the full stop of an abbreviation, or the comma inside a number."""
    before, after = forms[at - 1], forms[at + 1] if at + 1 < len(forms) else ""
    if forms[at] == ".":
        return bool(_DOTTED.fullmatch(before)) or _bare(before) in ABBREVIATIONS
    return forms[at] == "," and before.isdecimal() and bool(_THOUSANDS.fullmatch(after))


def _ends_phrase(forms: Sequence[str], at: int) -> bool:
    form = forms[at]
    if _bare(form) not in PHRASE_ENDS:
        return False
    last = not any(is_word(later) and later not in POSSESSIVES for later in forms[at + 1 :])
    if form == "I":  # an initial; Edward I; the man I saw
        is_initial = not last and forms[at + 1] == "."
        is_numeral = last or forms[at + 1].casefold() in PHRASE_ENDS or not is_word(forms[at + 1])
        return not (is_initial or (is_numeral and _capitalized(forms[at - 1])))
    if not form.istitle():
        return True
    name = form.casefold()
    return not (name in NAMES_TOO or (name in SURNAMES_TOO and last and _capitalized(forms[at - 1])))


def _is_possessive_at_the_end(forms: Sequence[str], at: int) -> bool:
    return at == len(forms) - 1 and forms[at].casefold() in POSSESSIVES


def _follows_its_head(forms: Sequence[str], at: int, head: str) -> bool:
    """Whether this word belongs to a name or date of which an earlier word is the head."""
    form = forms[at]
    if _DAY.fullmatch(head):  # 8 May 2006
        words = forms[: at + 1] if _NUMBER.fullmatch(form) else (form,)
        return any(_capitalized(word) and _bare(word) in MONTHS for word in words)
    if not _capitalized(head) or head.casefold() in DETERMINERS:
        return False
    if _DAY.fullmatch(form):
        return _bare(head) not in MONTHS
    is_initial = bool(_INITIAL.fullmatch(form)) and (form.endswith(".") or list(forms[at + 1 : at + 2]) == ["."])
    if is_initial or _ROMAN.fullmatch(form):
        return not _INITIAL.fullmatch(head)
    return bool(_NUMBER.fullmatch(form)) or _bare(form) in SUFFIXES


def _bare(form: str) -> str:
    """Without its full stop and capital letters."""
    return form.casefold().rstrip(".")


def _capitalized(form: str) -> bool:
    return form[:1].isupper()
