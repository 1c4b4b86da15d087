"""The three probes of Clark et al. (2019, §5)."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float
from numpy import ndarray

from ..corpora_loaders import WordVectors
from .probe import Probe
from .recipe import PAPER, Recipe
from .scorers import AttentionScorer, AttentionWordsScorer, DistanceScorer, Scorer


class AttentionProbe(Probe):
    """p(c | i) ∝ exp Σ_k w_k A^k[i, c] + u_k A^k[c, i]: one weight per head and direction (Clark et al. 2019, §5).

    Args:
        recipe, random_state: see `Probe`.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import AttentionProbe, Recipe, batch_from_array
        >>> sentence = Sentence("s1", ("the", "dog", "barks"), (2, 3, 2), ("det", "nsubj", "dep"))
        >>> attention = np.array([[[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]]], dtype=np.float32)
        >>> batch = batch_from_array(sentence, attention[None])
        >>> probe = AttentionProbe(recipe=Recipe(epochs=50, learning_rate=0.1)).fit([batch])
        >>> probe.score([batch])
        1.0
        >>> probe.coef_.shape  # directions, layers, heads
        (2, 1, 1)
    """

    name = "attention"
    meaning = "one learned weight per attention head and direction"
    beside = ("best offset", "best single head")
    color = "blue"

    @property
    def coef_(self) -> Float[ndarray, "2 layers heads"]:
        """The learned weights; direction 0 is ``dep->head`` (w), direction 1 ``head->dep`` (u)."""
        return self.scorer_.get_parameter("weight").detach().view(2, *self.shape_).numpy()

    def make_scorer(self, shape: tuple[int, int]) -> Scorer:
        """Return a scorer with one weight per head and direction."""
        return AttentionScorer(shape[0] * shape[1], self.generator())  # the number of all heads


class WordProbe(Probe):
    """Base class of the probes that read words.

    Args:
        vectors: the vectors of the words.
        recipe, random_state: see `Probe`.

    Example:
        >>> from attentionology.probes import AttentionWordsProbe, WordProbe
        >>> issubclass(AttentionWordsProbe, WordProbe), WordProbe.reads_words
        (True, True)
    """

    reads_words = True

    def __init__(self, vectors: WordVectors, *, recipe: Recipe = PAPER, random_state: int = 0) -> None:
        super().__init__(recipe=recipe, random_state=random_state)
        self._vectors = vectors

    @property
    def vectors(self) -> WordVectors:
        """The word vectors."""
        return self._vectors


class AttentionWordsProbe(WordProbe):
    """An attention probe whose weights depend on the vectors of the two words (Clark et al. 2019, §5).

    Args:
        vectors: the vectors of the words.
        recipe, random_state: see `Probe`.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence, WordVectors
        >>> from attentionology.probes import AttentionWordsProbe, batch_from_array
        >>> vectors = WordVectors(np.eye(2, dtype=np.float32), {"dog": 0, "barks": 1})
        >>> sentence = Sentence("s1", ("dog", "barks"), (2, 0), ("nsubj", "root"))
        >>> batch = batch_from_array(sentence, np.full((2, 3, 2, 2), 0.25, dtype=np.float32))
        >>> probe = AttentionWordsProbe(vectors).fit([batch])
        >>> probe.n_parameters  # 2 × 6 features, each with two vectors and a bias; two numbers for the root
        62
    """

    name = "attention+words"
    meaning = "weights of the heads that depend on the vectors of the two words"
    beside = ("attention", "words+distances")
    color = "orange"

    def make_scorer(self, shape: tuple[int, int]) -> Scorer:
        """Return a scorer whose weights depend on the words."""
        return AttentionWordsScorer(shape[0] * shape[1], self.vectors, self.generator())  # the number of all heads


class WordsDistancesProbe(WordProbe):
    """A network with one hidden layer that sees the two words and their distance, and no attention.

    It is the baseline of Clark et al. (2019, §5).

    Args:
        vectors: the vectors of the words.
        hidden: size of the hidden layer.
        recipe, random_state: see `Probe`.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence, WordVectors
        >>> from attentionology.probes import Recipe, WordsDistancesProbe, batch_from_array
        >>> vectors = WordVectors(np.eye(2, dtype=np.float32), {"dog": 0, "barks": 1})
        >>> sentence = Sentence("s1", ("dog", "barks"), (2, 0), ("nsubj", "root"))
        >>> batch = batch_from_array(sentence, np.zeros((1, 1, 2, 2), dtype=np.float32))
        >>> probe = WordsDistancesProbe(vectors, hidden=4, recipe=Recipe(epochs=30, learning_rate=0.1)).fit([batch])
        >>> probe.predict([batch])[0].tolist()
        [2, 0]
    """

    name = "words+distances"
    meaning = "a network that sees the vectors and the distance of two words, and no attention"
    beside = ()
    color = "purple"
    reads_attention = False

    def __init__(
        self, vectors: WordVectors, *, hidden: int = 256, recipe: Recipe = PAPER, random_state: int = 0
    ) -> None:
        super().__init__(vectors, recipe=recipe, random_state=random_state)
        self.hidden = hidden

    def make_scorer(self, shape: tuple[int, int]) -> Scorer:
        """Return a scorer of words and distances, which needs no shape because it reads no maps."""
        del shape
        return DistanceScorer(self.vectors, self.hidden, self.generator())

    def arguments(self) -> dict[str, Any]:
        """Return the size of the hidden layer."""
        return {"hidden": self.hidden}
