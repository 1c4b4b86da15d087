"""The vocabulary of a classifier: the row of each word in the table of embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...corpora_loaders import WordVectors
from ...extractors.replaceable.attention_model import Words

PAD, UNKNOWN, START, END, MASK = range(5)
SPECIAL = ("[PAD]", "[UNK]", "[SOS]", "[EOS]", "[MASK]")


class _Rows(dict[str, int]):
    """The row of each word."""

    def __missing__(self, word: str) -> int:
        """Return the row of a word that has none as it is written."""
        return self.get(word.lower(), UNKNOWN)


@dataclass(frozen=True)
class Vocabulary:
    """The words that have a row of their own; all others share that of the unknown word.

    Attributes:
        words: the words in the order of their rows, which follow the rows of `SPECIAL`.
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[Words], *, min_count: int = 1, vectors: WordVectors | None = None) -> Vocabulary:
        """Collect the words that are frequent in the training texts, and the words that have a vector.

        Args:
            texts: the words of the training texts.
            min_count: how often a word must occur in them to have a row.
            vectors: word vectors; their words have rows whether or not they occur in the texts.
        """
        counts = Counter(word for text in texts for word in text)
        # Sorted, because the rows decide which initial weights a word gets, and texts may come in another order.
        frequent = sorted(word for word, count in counts.items() if count >= min_count)
        return cls(tuple(dict.fromkeys([*frequent, *(vectors.index if vectors else ())])))

    def __len__(self) -> int:
        return len(SPECIAL) + len(self.words)

    @cached_property
    def _rows(self) -> _Rows:
        """The row of each word."""
        return _Rows((word, row) for row, word in enumerate(self.words, start=len(SPECIAL)))

    def ids(self, text: Words) -> list[int]:
        """Look up the row of each word, as it is written and then in lower case."""
        rows = self._rows
        return [rows[word] for word in text]

    def unknown(self, texts: Sequence[Words]) -> int:
        """Count the words of the texts that have no row."""
        return sum(self.ids(text).count(UNKNOWN) for text in texts)
