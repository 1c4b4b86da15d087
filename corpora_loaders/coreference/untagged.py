"""The head word of an English mention in a corpus that has words but no tags and no trees.

It is the last word of the first simple noun phrase, which ends before the first punctuation mark or before a word of
`PHRASE_ENDS`. The exceptions below mostly concern names and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HYPHENS = frozenset("-–‐‑")
POSSESSIVES = frozenset(("'s", "’s", "'", "’"))

PHRASE_ENDS = frozenset(
    "i you he she it we they there about above across after against along among around as at because before "
    "behind below beneath beside besides between beyond but by despite down during except for from if in "
    "inside into like near of off on onto or out outside over past per since so than though through throughout "
    "till to toward towards under underneath unlike until up upon when where whether which while who whom "
    "whose why with within without and nor is are was were be been being has have had do does did can could "
    "will would shall should may might must".split()
)
"""Personal and relative pronouns, prepositions, conjunctions and auxiliaries. In a simple noun phrase, such a word can
only be the first."""

NAMES_TOO = frozenset(("may", "will"))
"""Words of `PHRASE_ENDS` that are names if they have a capital letter: *Stella May Tackett*."""

SURNAMES_TOO = frozenset("can do near off so than till".split())
"""Words of `PHRASE_ENDS` that are names if they have a capital letter and end a name: *Emmett Till*."""

ABBREVIATIONS = frozenset(
    "mr mrs ms messrs mme mlle dr prof rev fr hon msgr gen col lt capt maj sgt cpl pvt cmdr cdr adm gov sen rep pres "
    "supt insp det st ste mt ft jr sr esq ph phil wm chas geo thos jas jos no nos vs v vol ch pt fig sec art inc ltd "
    "co corp bros dept univ assn ave blvd rd approx ca cf al etc "
    "jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
"""Words that are written with a period, here without it. Single letters, and letters with periods between them, are
abbreviations as well."""

SUFFIXES = frozenset(("jr", "sr", "esq", "phd"))
"""Words that follow a name and are never its head, without their periods."""

MONTHS = frozenset(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec".split()
)
"""Months without their periods. The head of a date is the day (one or two digits) if there is one, otherwise the
month."""

DETERMINERS = frozenset(
    "a an the this that these those my your his her its our their some any no every each another all both".split()
)
"""Words that may start a noun phrase with a capital letter but are not names."""

_QUOTES = re.compile(r"['’‘`\"“”„«»]+")
_DOTTED = re.compile(r"[A-Za-z](\.[A-Za-z])*")
_INITIAL = re.compile(r"[A-Z]\.?")
_DAY = re.compile(r"[0-9]{1,2}")
_NUMBER = re.compile(r"[0-9][0-9.,:/-]*")
_THOUSANDS = re.compile(r"[0-9]{3}")
_ROMAN = re.compile(r"(?=.)X{0,3}(IX|IV|V?I{0,3})")


def is_word(form: str) -> bool:
    """Whether a form has a letter or a digit."""
    return any(letter.isalnum() for letter in form)


def untagged_head(forms: Sequence[str]) -> int:
    """Return the index of the head word among the words of a mention, of which there is at least one."""
    head: int | None = None  # the last word of the phrase so far that may be its head
    skipped = _quoted_in_a_name(forms)
    for index, form in enumerate(forms):
        if index in skipped:
            continue
        if not is_word(form):
            if head is not None and form not in HYPHENS and not _belongs_to_a_word(forms, index):
                break
        elif head is None:
            head = index
        elif _ends_phrase(forms, index) or (index == len(forms) - 1 and form.casefold() in POSSESSIVES):
            break
        elif not _follows_its_head(forms, index, forms[head]):
            head = index
    return len(forms) - 1 if head is None else head


def _quoted_in_a_name(forms: Sequence[str]) -> set[int]:
    """Return the indices of quotations, with their marks, and of single apostrophes after which a name goes on."""
    quoted: set[int] = set()
    if not _is_capitalized(forms[0]) or forms[0].casefold() in DETERMINERS:
        return quoted
    marks = [index for index, form in enumerate(forms) if _QUOTES.fullmatch(form)]
    starts = [index for index in marks if index - 1 not in marks]  # of runs of marks, because '' may be two words
    stops = [index + 1 for index in marks if index + 1 not in marks]
    goes_on = [_is_capitalized(_form_at(forms, stop)) for stop in stops]  # whether a name may go on after the run
    run = 0
    while run < len(starts):
        if run + 1 < len(starts) and goes_on[run + 1]:  # James " Whitey " Bulger
            quoted.update(range(starts[run], stops[run + 1]))
            run += 1
        elif forms[starts[run]] in POSSESSIVES and goes_on[run]:  # Catherine de ' Medici
            quoted.update(range(starts[run], stops[run]))
        run += 1
    return quoted


def _belongs_to_a_word(forms: Sequence[str], index: int) -> bool:
    """Whether a punctuation mark is the period of an abbreviation, or the comma inside a number."""
    before = forms[index - 1]
    if forms[index] == ".":
        return bool(_DOTTED.fullmatch(before)) or _bare(before) in ABBREVIATIONS
    return forms[index] == "," and before.isdecimal() and bool(_THOUSANDS.fullmatch(_form_at(forms, index + 1)))


def _ends_phrase(forms: Sequence[str], index: int) -> bool:
    """Whether the noun phrase ends before this word."""
    form = forms[index]
    if _bare(form) not in PHRASE_ENDS:
        return False
    is_last = not any(is_word(later) and later not in POSSESSIVES for later in forms[index + 1 :])
    follows_name = _is_capitalized(forms[index - 1])
    if form == "I":  # an initial, a numeral (Edward I), or the pronoun (the man I saw)
        is_initial = not is_last and forms[index + 1] == "."
        may_be_numeral = is_last or forms[index + 1].casefold() in PHRASE_ENDS or not is_word(forms[index + 1])
        return not (is_initial or (may_be_numeral and follows_name))
    if not form.istitle():
        return True
    folded = form.casefold()
    return not (folded in NAMES_TOO or (folded in SURNAMES_TOO and is_last and follows_name))


def _follows_its_head(forms: Sequence[str], index: int, head: str) -> bool:
    """Whether this word belongs to a name or date whose head is an earlier word."""
    form = forms[index]
    if _DAY.fullmatch(head):  # 8 May 2006
        words = forms[: index + 1] if _NUMBER.fullmatch(form) else (form,)
        return any(_is_capitalized(word) and _bare(word) in MONTHS for word in words)
    if not _is_capitalized(head) or head.casefold() in DETERMINERS:
        return False
    if _DAY.fullmatch(form):
        return _bare(head) not in MONTHS
    is_initial = bool(_INITIAL.fullmatch(form)) and (form.endswith(".") or _form_at(forms, index + 1) == ".")
    if is_initial or _ROMAN.fullmatch(form):
        return not _INITIAL.fullmatch(head)
    return bool(_NUMBER.fullmatch(form)) or _bare(form) in SUFFIXES


def _bare(form: str) -> str:
    """Return the form without its final period, in lower case."""
    return form.casefold().rstrip(".")


def _form_at(forms: Sequence[str], index: int) -> str:
    """Return the form at an index; empty after the last form."""
    return forms[index] if index < len(forms) else ""


def _is_capitalized(form: str) -> bool:
    return form[:1].isupper()
