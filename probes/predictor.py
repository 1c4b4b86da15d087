"""What probes and baselines have in common: they predict the syntactic head of every word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from ..corpora_loaders import AttentionologyError
from ..extractors import MapBatch
from ..storage.nearest import check_choice
from .estimator import Estimator
from .probed_sentence import uas

Decoding = Literal["argmax", "tree"]
"""Whether each word gets its best head, or all words of a sentence the best tree."""


class DecodingError(AttentionologyError, ImportError):
    """The library that finds trees is not installed."""


def decode(scores: Float[ndarray, "words candidates"], decoding: Decoding) -> Int[ndarray, " words"]:
    """Return the head of every word: 1-based, 0 for the root.

    Args:
        scores: the score of every candidate for every word; candidate 0 is the root, candidate k is word k.
        decoding: ``"argmax"`` takes the best candidate of each word alone, which may be the word itself; of equal
            candidates it takes the first. ``"tree"`` finds the maximum spanning tree with exactly one root by the
            algorithm of Chu & Liu (1965) and Edmonds (1967).

    Raises:
        ValueError: the decoding is unknown.
        DecodingError: a tree was asked for, and ``ufal.chu_liu_edmonds`` is not installed.

    Example:
        >>> import numpy as np
        >>> from attentionology.probes import decode
        >>> scores = np.array([[1, 0, 5], [2, 5, 0]], dtype=np.float32)
        >>> decode(scores, "argmax").tolist()  # each word wants the other one
        [2, 1]
    """
    check_choice("decoding", decoding, Decoding)
    if decoding == "argmax":
        best: Int[ndarray, " words"] = scores.argmax(1)
        return best
    n = len(scores)
    # From a word (row) to its head (column). There is no edge from the root, and none from a word to itself.
    # Differences of scores must survive beside the cost of a root, which is larger than all of them: float64.
    edges = np.full((n + 1, n + 1), np.nan)
    edges[1:] = scores
    np.fill_diagonal(edges, np.nan)
    # A root is so costly that a second one never pays.
    edges[1:, 0] -= (n + 1) * (np.ptp(scores.astype(np.float64)) + 1)
    return maximum_tree(edges)[1:]


def maximum_tree(scores: Float[ndarray, "nodes nodes"]) -> Int[ndarray, " nodes"]:
    """Return the parent of each node in the maximum spanning tree from node 0, which has the parent −1."""
    # Rows are children and columns parents; NaN stands where there is no edge.
    try:
        # The library is optional, and compiled without stubs.
        from ufal.chu_liu_edmonds import chu_liu_edmonds  # pyright: ignore[reportAttributeAccessIssue, reportMissingImports]
    except ImportError:
        raise DecodingError("trees need the library ufal.chu_liu_edmonds: pip install 'attentionology[tree]'") from None
    parents, _ = chu_liu_edmonds(np.asarray(scores, dtype=np.float64))
    return np.array(parents, dtype=np.int64)


class HeadPredictor(Estimator):
    """Base class of everything that predicts syntactic heads.

    It is an estimator of scikit-learn, whose X is a sequence of batches and which needs no y, as the batches have the
    heads: constructors only store their arguments, `fit` learns, and the names of what was learned end in an
    underscore. ``cross_val_score(probe, list(maps))``, grids and pipelines work.

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

    def __sklearn_clone__(self) -> Self:
        # By default, clone would copy the word vectors, which may take gigabytes and do not change.
        kind: Any = type(self)
        copy: Self = kind(**self.get_params())
        return copy

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            kind = type(self).__name__
            if name.endswith("_") and not name.startswith("_"):  # the name of what is learned
                raise AttributeError(f"this {kind} is not fitted yet, so it has no {name!r}; call fit first")
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")

    def predict(self, batches: Iterable[MapBatch]) -> list[Int[ndarray, " _"]]:
        """Return the head of every word, sentence by sentence in the order of the batches: 1-based, 0 for the root."""
        raise NotImplementedError

    def score(self, batches: Iterable[MapBatch], y: None = None) -> float:
        """Unlabeled attachment score: the share of words whose head is right, without punctuation; ``y`` has no use.

        Words without a head in the corpus are left out, and root words count (Clark et al. 2019, §5). The score is NaN
        if no word counts.
        """
        repeatable = list(batches) if iter(batches) is batches else batches  # an iterator can be read only once
        return uas(repeatable, self.predict(repeatable))
