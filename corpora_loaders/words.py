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

# The pattern is applied not to the text itself but to the kinds of its characters, one letter for each: l is a letter,
# n a digit, m a mark, i an ideograph, r a letter of a flag, s a sign, j a joiner, and `_KINDS` adds kinds of
# punctuation. The repetitions are possessive, so that matching takes linear time whatever the text is.
_WORD_KINDS = re.compile(
    r"m*+(?:"
    r"[ln][lnmj]*+(?:[ahd][ln][lnmj]*+|(?<=n)c(?=n)[lnmj]*+)*+"
    r"|(?:rr|[irsahdc])m*+(?:j++[rs]?m*+)*+"
    r")|[mj]++"
)


def split_words(text: str) -> tuple[str, ...]:
    """The words and punctuation marks of a text, by the rule above.

    Only the separators are dropped: joined together, the words are the text without them.

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
    for word in _WORD_KINDS.finditer(kinds):
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
