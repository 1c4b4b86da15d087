"""How words and numbers of things are written: their direction, the spaces between them, and the singular.

They are shown everywhere, so this is in the lowest room. Direction and spaces follow from the words alone, because what
is stored of a run has no more of the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import regex

_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\u3000-\u303f\u30fb-\u30fc\uff00-\uff65]"
)
"""The letters and punctuation marks of scripts that write words without spaces between them."""

_HANGUL = regex.compile(r"\p{Hangul}")


def is_right_to_left(words: Sequence[str]) -> bool:
    """Return whether more letters of some words are written from right to left than from left to right."""
    kinds = [unicodedata.bidirectional(character) for word in words for character in word]
    return kinds.count("R") + kinds.count("AL") > kinds.count("L")


def joined_words(words: Sequence[str]) -> tuple[int, ...]:
    """Return the words, counted from 0, that are written without a space before the next one.

    These are words at the border of which stands a letter or a punctuation mark of Chinese, Japanese, Thai, Lao, Khmer
    or Burmese. In the dev files of UD_Japanese-GSD and UD_Chinese-GSDSimp, this is what ``SpaceAfter=No`` says of
    99.4 % and 99.9 % of the words. Korean, which has Chinese characters too, separates its words.
    """
    return tuple(index for index, pair in enumerate(pairwise(words)) if _are_joined(*pair))


def _are_joined(word: str, following: str) -> bool:
    """Whether no space is written between two words."""
    at_border = word[-1:], following[:1]
    return any(map(_UNSPACED.match, at_border)) and not any(map(_HANGUL.match, at_border))


def running_text(words: Sequence[str]) -> str:
    """Return words as text, without spaces where their script has none: ``私は学生です。``, but ``I sleep .``"""
    joined = {*joined_words(words), len(words) - 1}
    return "".join(word if index in joined else f"{word} " for index, word in enumerate(words))


def amount(number: int, plural: str, singular: str = "") -> str:
    """A number with its unit: ``1 sentence``, ``2,001 sentences``."""
    unit = (singular or plural.removesuffix("s")) if number == 1 else plural
    return f"{number:,} {unit}"


def verb(number: int, plural: str, singular: str = "", *, of: int = 0) -> str:
    """The form of a verb whose subject is a number of things, or a number of so many things.

    Example:
        >>> f"1 of 5 relations {verb(1, 'are', 'is', of=5)}", f"0 of 1 relation {verb(0, 'differ', of=1)}"
        ('1 of 5 relations is', '0 of 1 relation differs')
    """
    return (singular or f"{plural}s") if 1 in (number, of) else plural
