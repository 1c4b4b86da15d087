"""What probes and baselines have in common: they predict the syntactic head of every word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jaxtyping import Int
from numpy import ndarray

from attentionology.extractors import MapBatch
from attentionology.probes.examples import uas


class HeadPredictor:
    """Predicts heads; subclasses say how. Constructors only store, `fit` learns, what is learned ends in ``_``."""

    def fit(self, batches: Iterable[MapBatch]) -> HeadPredictor:
        """Learn from word maps and the heads of their sentences; nothing if there is nothing to learn."""
        del batches
        return self

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            learned = name.endswith("_") and not name.startswith("_")
            raise AttributeError(
                f"this {type(self).__name__} is not fitted yet, so it has no {name!r}; call fit first"
                if learned
                else f"{type(self).__name__!r} object has no attribute {name!r}"
            )

    def predict(self, batches: Iterable[MapBatch]) -> list[Int[ndarray, " _"]]:
        """The head of every word, sentence by sentence in the order of the batches: 1-based, 0 for the root."""
        raise NotImplementedError

    def score(self, batches: Iterable[MapBatch]) -> float:
        """Unlabelled attachment score: the share of words whose head is right, without punctuation.

        Words without a head in the corpus are left out, root words count (Clark et al. 2019, §5). NaN if none counts.
        """
        read = batches if iter(batches) is not batches else list(batches)
        return uas(read, self.predict(read))
