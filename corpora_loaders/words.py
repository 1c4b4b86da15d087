"""Running text → words, for a sentence that comes from no file.

The rule is that of Unicode's word boundaries (UAX #29), simplified, with hyphens and web addresses kept whole:

* Letters, digits and underscores that follow each other are a word. Apostrophes, hyphens and full stops between two of
  them belong to it (``don't``, ``well-known``, ``example.com``), and between two digits commas and colons do as well
  (``1,000``, ``10:30``). Contractions are not taken apart.
* Any other character is a word of its own: a punctuation mark, a sign, an emoji, and a Chinese character.
* Combining marks, joiners, and the other characters that only change their neighbor belong to that neighbor, so that
  ``é`` in two code points is a letter and a family emoji is one word.
* A web address that starts with a scheme (``https://``) or ``www.`` is a word up to the next white space, without the
  punctuation at its end.
* White space, the zero-width space and the byte-order mark separate words and are no part of them.

Scripts without spaces other than Chinese characters, such as Thai and kana, are not cut into words: a stretch of them
is one word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_ADDRESS = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{0,20}://|\bwww\.)\S*[\w/]")

_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_KINDS = {
    **dict.fromkeys("\u200b\ufeff", " "),
    **dict.fromkeys("'’", "a"),
    **dict.fromkeys("-\u2010\u2011", "h"),
    ".": "d",
    **dict.fromkeys(",:", "c"),
    "\u200d": "j",
}

# A text is matched by the kinds of its characters, one letter each: l letter, n digit, m mark, i ideograph, r letter of
# a flag, s sign, j joiner, and the punctuation of `_KINDS`.
_WORD = re.compile(
    r"m*+(?:"
    r"[ln][lnmj]*+(?:[ahd][ln][lnmj]*+|(?<=n)c(?=n)[lnmj]*+)*+"
    r"|(?:rr|[irsahdc])m*+(?:j++[rs]?m*+)*+"
    r")|[mj]++"
)


def split_words(text: str) -> tuple[str, ...]:
    """The words and punctuation marks of a text, by the rule above.

    Nothing but white space is lost: the words put together are the text without it.

    Example:
        >>> split_words("Don't pay $3.14 (yet)!")
        ("Don't", 'pay', '$', '3.14', '(', 'yet', ')', '!')
    """
    return tuple(_words(text))


def _words(text: str) -> Iterator[str]:
    start = 0
    for address in _ADDRESS.finditer(text):
        yield from _plain_words(text[start : address.start()])
        yield address[0]
        start = address.end()
    yield from _plain_words(text[start:])


def _plain_words(text: str) -> Iterator[str]:
    kinds = "".join(map(_kind, text))
    for word in _WORD.finditer(kinds):
        yield text[word.start() : word.end()]


def _kind(character: str) -> str:
    if character in _KINDS:
        return _KINDS[character]
    if character.isspace():
        return " "
    number, category = ord(character), unicodedata.category(character)
    if any(first <= number <= last for first, last in _IDEOGRAPHS):
        return "i"
    if number in _FLAG_LETTERS:
        return "r"
    if category[0] == "M" or category == "Cf" or number in _SKIN_TONES:
        return "m"
    if category[0] == "N":
        return "n"
    return "l" if category[0] == "L" or category == "Pc" else "s"
