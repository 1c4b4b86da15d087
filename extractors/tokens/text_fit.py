"""Whether the vocabulary of a model fits a text: words with unknown pieces, and pieces per word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...corpora_loaders import Sentence
from .pieces import Pieces

MOST_UNKNOWN = 0.1
"""The largest share of words with unknown pieces in a text that a model can read."""

MOST_PIECES = 1.5
"""The largest number of pieces per word in a text that fits a model. The English demo model has 1.1 in English
treebanks, 1.6 in French and 2.9 in Turkish."""

_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True)
class TextFit:
    """Whether a model fits a text."""

    words: int
    unknown: int  # how many words have unknown pieces
    pieces_per_word: float  # the mean of the words with a letter, in which an ideograph counts as a word

    @classmethod
    def of(cls, read: Sequence[tuple[Sentence, Pieces]]) -> TextFit:
        """Count the words and pieces of sentences."""
        pieces = parts = 0
        for sentence, aligned in read:
            for word, count in zip(sentence.words, aligned.word_lengths, strict=True):
                if any(map(str.isalpha, word)):
                    pieces += count
                    parts += max(1, len(_IDEOGRAPH.findall(word)))
        words, unknown = sum(len(sentence) for sentence, _ in read), sum(aligned.unknown for _, aligned in read)
        return cls(words, unknown, pieces / max(1, parts))

    @property
    def fits(self) -> Literal["yes", "poorly", "no"]:
        """Not if too many words are unknown, and poorly if words are cut into too many pieces."""
        if not self.words or self.unknown > MOST_UNKNOWN * self.words:
            return "no"
        return "yes" if self.pieces_per_word <= MOST_PIECES else "poorly"

    @property
    def passed(self) -> bool | None:
        """The same as a mark in a list of checks."""
        return {"yes": True, "poorly": None, "no": False}[self.fits]

    def __str__(self) -> str:
        most = round(100 * MOST_UNKNOWN)
        reasons = {
            "yes": "",
            "no": f"; with more than {most} % unknown, the tokenizer does not know this language or script",
            "poorly": f"; with more than {MOST_PIECES}, the vocabulary was probably made for other text",
        }
        found = f"{self.unknown:,} of {self.words:,} words have unknown pieces"
        return f"{found}, {self.pieces_per_word:.2f} pieces per word{reasons[self.fits]}"
