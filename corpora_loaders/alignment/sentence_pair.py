"""A sentence and its translation, with the links between their words."""

from __future__ import annotations

from dataclasses import dataclass

from ..describing import shortened
from ..sentence import Sentence
from .links import Link, PairLinks


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SentencePair(Sentence):
    """A sentence and its translation. As a `Sentence`, it is the translation: ``words`` are the target words.

    Attributes:
        source: the words of the source sentence.
        gold: the gold links between the words; None if they are not known.
        hypotheses: the links of other systems, each with its name.

    Example:
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> pair = SentencePair(id="1", words=("the", "house"), source=("das", "Haus"))
        >>> pair
        SentencePair('1', 'das Haus ||| the house', 2 source and 2 target words)
        >>> len(pair)
        2
    """

    source: tuple[str, ...]
    gold: PairLinks | None = None
    hypotheses: tuple[tuple[str, frozenset[Link]], ...] = ()

    def __repr__(self) -> str:
        words = shortened(f"{' '.join(self.source)} ||| {' '.join(self.words)}")
        return f"SentencePair({shortened(self.id)}, {words}, {len(self.source)} source and {len(self)} target words)"
