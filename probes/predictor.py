"""What probes and baselines have in common: they predict the syntactic head of every word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jaxtyping import Int
from numpy import ndarray

from ..extractors import MapBatch
from .probed_sentence import uas


class HeadPredictor:
    """Base class of everything that predicts syntactic heads.

    As in scikit-learn, constructors only store their arguments, `fit` learns, and the names of what was learned end in
    an underscore.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import HeadPredictor, batch_from_array
        >>> import numpy as np
        >>> class AlwaysRoot(HeadPredictor):
        ...     def predict(self, batches):
        ...         return [np.zeros(len(sentence), dtype=int) for batch in batches for sentence in batch.sentences]
        >>> sentence = Sentence("s1", ("dogs", "bark"), (2, 0), ("nsubj", "root"))
        >>> AlwaysRoot().score([batch_from_array(sentence, np.zeros((1, 1, 2, 2), dtype=np.float32))])
        0.5
    """

    def fit(self, batches: Iterable[MapBatch]) -> HeadPredictor:
        """Learn from word maps and the heads of their sentences. By default nothing is learned."""
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

        Words without a head in the corpus are left out, and root words count (Clark et al. 2019, §5). The score is NaN
        if no word counts.
        """
        read = batches if iter(batches) is not batches else list(batches)
        return uas(read, self.predict(read))
