"""Whether the vocabulary of a model fits a text: what its words are cut into, and what the tokenizer does not know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from ...corpora_loaders import Sentence
from .pieces import Pieces, count_visible

MOST_UNKNOWN = 0.1
"""The largest share of words with unknown pieces in a text that a model can read."""

MOST_PIECES = 1.5
"""The largest number of pieces per word in a text that fits a model. The English demo model has 1.1 in English
treebanks, 1.6 in French and 2.9 in Turkish."""

HARDLY_PIECES = 4.0
"""The largest number of pieces per word in a text whose language the model was made for. With more, most words are
spelled letter by letter, as those of an alphabet are of which the vocabulary has the letters alone."""

WARNED_PIECES = 3.0
"""The largest number of pieces per word without a warning. With more, words go to pieces, between which attention then
is rather than between words. Most multilingual models have fewer in the languages that they were made for."""

_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_VERDICTS = {
    "yes": "the vocabulary of the model fits this text",
    "poorly": "the vocabulary of the model fits this text poorly",
    "no": "this model was hardly made for this language",
}


@dataclass(frozen=True)
class TextFit:
    """Whether a model fits a text, from counts that add up over parts of the text."""

    words: int = 0
    unknown: int = 0  # how many words have unknown pieces
    split: int = 0  # how many words have several pieces
    pieces: int = 0  # how many pieces all words have
    unknown_pieces: int = 0
    characters: int = 0  # of all words, composed (NFC) and without white space
    lost_characters: int = 0  # those of them that are in unknown pieces, or in no piece
    spelled: int = 0  # the words with a letter, in which an ideograph counts as a word
    spelled_pieces: int = 0  # how many pieces these have

    @classmethod
    def of(cls, read: Iterable[tuple[Sentence, Pieces]]) -> TextFit:
        """Count the words and pieces of sentences."""
        fit = cls()
        for sentence, aligned in read:
            lengths = aligned.word_lengths
            words = zip(sentence.words, lengths, strict=True)
            with_letters = [(word, length) for word, length in words if any(map(str.isalpha, word))]
            fit += cls(
                words=len(sentence),
                unknown=aligned.unknown,
                split=sum(length > 1 for length in lengths),
                pieces=sum(lengths),
                unknown_pieces=aligned.unknown_pieces,
                characters=sum(map(count_visible, sentence.words)),
                lost_characters=aligned.lost,
                spelled=sum(max(1, len(_IDEOGRAPH.findall(word))) for word, _ in with_letters),
                spelled_pieces=sum(length for _, length in with_letters),
            )
        return fit

    @classmethod
    def read_record(cls, record: Mapping[str, Any]) -> TextFit:
        """Read the counts of a record, see `record`."""
        return cls(**{field.name: record[field.name] for field in fields(cls)})

    def __add__(self, other: TextFit) -> TextFit:
        return TextFit(**{name: count + getattr(other, name) for name, count in vars(self).items()})

    @property
    def pieces_per_word(self) -> float:
        """The mean of the words with a letter, in which an ideograph counts as a word."""
        return self.spelled_pieces / max(1, self.spelled)

    @property
    def fits(self) -> Literal["yes", "poorly", "no"]:
        """Whether the vocabulary fits the text, by one fixed rule.

        ``no`` if more than `MOST_UNKNOWN` of the words have unknown pieces or words have more than `HARDLY_PIECES`
        pieces, ``poorly`` if they have more than `MOST_PIECES`.
        """
        if not self.words or self.unknown > MOST_UNKNOWN * self.words or self.pieces_per_word > HARDLY_PIECES:
            return "no"
        return "yes" if self.pieces_per_word <= MOST_PIECES else "poorly"

    @property
    def passed(self) -> bool | None:
        """The same as a mark in a list of checks. Many pieces are no failure: the vocabulary may be one of letters."""
        if not self.words or self.unknown > MOST_UNKNOWN * self.words:
            return False
        return True if self.fits == "yes" else None

    @property
    def verdict(self) -> str:
        """What people read of `fits`."""
        return _VERDICTS[self.fits]

    @property
    def warning(self) -> str:
        """What a reader is warned of before any number; empty if the model reads the words of the text.

        A warning is given if the verdict is ``no``, or if words have more than `WARNED_PIECES` pieces.
        """
        if not self.words or (self.fits != "no" and self.pieces_per_word <= WARNED_PIECES):
            return ""
        found = {
            f"words go to {self.pieces_per_word:.1f} pieces each": self.pieces_per_word > WARNED_PIECES,
            f"{100 * self.shares['unknown_words']:.0f} % of the words have unknown pieces": self.unknown
            > MOST_UNKNOWN * self.words,
            f"{100 * self.shares['lost_characters']:.0f} % of the characters are lost": self.lost_characters
            > MOST_UNKNOWN * self.characters,
        }
        reasons = ", ".join(reason for reason, is_so in found.items() if is_so)
        verdict = self.verdict[0].upper() + self.verdict[1:]
        return f"{verdict}: {reasons}. What the heads do here may say little about the language."

    @property
    def shares(self) -> dict[str, float]:
        """The numbers of the tables, by their columns."""
        return {
            "pieces_per_word": self.pieces_per_word,
            "split_words": self.split / max(1, self.words),
            "unknown_words": self.unknown / max(1, self.words),
            "unknown_pieces": self.unknown_pieces / max(1, self.pieces),
            "lost_characters": self.lost_characters / max(1, self.characters),
        }

    def summary(self) -> str:
        """Return the numbers and the verdict as a sentence."""
        shares = {name: f"{100 * share:.1f} %" for name, share in self.shares.items()}
        return (
            f"Pieces per word: {self.pieces_per_word:.2f}; split words: {shares['split_words']}, unknown pieces: "
            f"{shares['unknown_pieces']}, lost characters: {shares['lost_characters']}; {self.verdict}."
        )

    def record(self) -> dict[str, Any]:
        """Return the counts, from which all else follows, and what people read, for a run record."""
        return {**asdict(self), "pieces_per_word": self.pieces_per_word, "fits": self.fits, "summary": self.summary()}

    def __str__(self) -> str:
        if self.unknown > MOST_UNKNOWN * self.words:
            most = round(100 * MOST_UNKNOWN)
            reason = f"; with more than {most} % unknown, the tokenizer does not know this language or script"
        elif self.pieces_per_word > HARDLY_PIECES:
            reason = f"; with more than {HARDLY_PIECES:g}, {self.verdict}"
        elif self.fits == "poorly":
            reason = f"; with more than {MOST_PIECES}, the vocabulary was probably made for other text"
        else:
            reason = ""
        found = f"{self.unknown:,} of {self.words:,} words have unknown pieces"
        return f"{found}, {self.pieces_per_word:.2f} pieces per word{reason}"
