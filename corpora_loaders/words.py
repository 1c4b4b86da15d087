"""Running text → words, for a sentence that is not read from a file.

The rule simplifies Unicode's word boundaries (UAX #29) and keeps hyphenated words and web addresses whole:

* A sequence of letters, digits and underscores is a word. Apostrophes, hyphens and periods between two of them belong
  to the word (``don't``, ``well-known``, ``example.com``), and so do commas and colons between two digits (``1,000``,
  ``10:30``). Contractions are not split.
* Any other character is a word by itself, for example a punctuation mark, a sign, an emoji or a Chinese character.
* Combining marks, joiners, and other characters that only modify a neighbor belong to that neighbor. So ``é`` is one
  letter even if it is written as two code points, and a family emoji is one word.
* A web address, which starts with a scheme (``https://``) or with ``www.``, is a word. It ends at the next white space
  and does not include final punctuation.
* White space, the zero-width space and the byte-order mark separate words and belong to none.

Thai, kana and other scripts without spaces, except for Chinese characters, are not segmented: each sequence of such
characters is one word.
"""

from __future__ import annotations

import functools
import unicodedata

import regex

_BLANK = r"[\s\x1C-\x1F\u200B\uFEFF]"
_MARK = r"[[\p{M}\p{Cf}\U0001F3FB-\U0001F3FF]--[\u200B\u200D\uFEFF]]"  # the range is that of skin tones
_IDEOGRAPH = r"[\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]"
_LETTER = rf"[[\p{{L}}\p{{N}}\p{{Pc}}]--{_IDEOGRAPH}]"
_WITHIN = r"'’\-\u2010\u2011."
_SIGN = rf"[[\S--[{_WITHIN},:\u200D]]--[{_BLANK}{_MARK}{_IDEOGRAPH}{_LETTER}]]"  # what a joiner joins, such as an emoji

# The repetitions are possessive, so that matching takes linear time whatever the text is.
_WORD = regex.compile(
    rf"""
    (?:[A-Za-z][A-Za-z0-9+.-]{{0,20}}://|\bwww\.)\S*[\w/]
    | {_MARK}*+ (?:
        {_LETTER} [{_LETTER}{_MARK}\u200D]*+
        (?: (?:[{_WITHIN}]|(?<=\p{{N}})[,:](?=\p{{N}})) {_LETTER} [{_LETTER}{_MARK}\u200D]*+ )*+
      | (?: [\U0001F1E6-\U0001F1FF]{{2}} | [^{_BLANK}\u200D] ) {_MARK}*+ (?: \u200D++ {_SIGN}? {_MARK}*+ )*+
    )
    | [{_MARK}\u200D]++
    """,
    regex.VERBOSE | regex.DOTALL | regex.VERSION1,
)


def split_words(text: str) -> tuple[str, ...]:
    """The words and punctuation marks of a text, by the rule above. Joined, they are the text without separators."""
    return tuple(match[0] for match in _WORD.finditer(text))


def is_punctuation(form: str) -> bool:
    """Whether a form has characters and all of them are punctuation by their Unicode category.

    Example:
        >>> from attentionology.extractors import is_punctuation
        >>> is_punctuation("..."), is_punctuation("e.g.")
        (True, False)
    """
    return bool(form) and not form[0].isalnum() and _are_signs(form)


@functools.lru_cache(maxsize=2**12)  # of few forms, because most words start with a letter or digit
def _are_signs(characters: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in characters)
