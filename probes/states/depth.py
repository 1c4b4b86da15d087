"""The probe of depths in the tree (Hewitt & Manning 2019)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from ...corpora_loaders import Sentence
from .annotation import NO_PATH, Heads, tree_depths
from .distance import DistanceProbe, Projection
from .examples import StateExamples, StateModule
from .tree_scores import Fraction, StateScore, correlate_depths, score_root


class DepthModule(Projection):
    """‖h_i B‖² of each word."""

    def forward(self, examples: StateExamples) -> Float[Tensor, "batch words"]:
        """Return the squared lengths."""
        squares: Tensor = ((examples.states @ self.weight) ** 2).sum(-1)
        return squares


class DepthProbe(DistanceProbe):
    """Squared lengths of projected states that are near the numbers of edges between words and their root.

    The loss of a sentence of n words is Σ_i abs(‖h_i B‖² − depth(i)) / n (Hewitt & Manning 2019, §2.3). Scores:
    ``root``, the share of sentences whose word of the smallest depth, without punctuation, is a root; ``nspr``, the
    correlation of the depths of a sentence.

    Args:
        rank, recipe, random_state: see `StateProbe`.

    Example:
        >>> from attentionology import load_encoder, load_treebank, store_states
        >>> from attentionology.probes import DepthProbe, StateRecipe
        >>> sentences = load_treebank("sample").sentences[:10]
        >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[2]).layer(2)
        >>> probe = DepthProbe(recipe=StateRecipe(epochs=3)).fit(states)
        >>> sorted(probe.outcomes(states)[0])
        ['nspr', 'root']
    """

    name = "depth"
    meaning = "squared lengths of projected states, learned to be the depths of words in the tree"
    metrics = (StateScore("root"), StateScore("nspr", by_length=True))

    def make_module(self, dim: int) -> StateModule:
        """Return a projection."""
        return DepthModule(dim, self.rank, self.generator())

    def losses(self, predicted: Float[Tensor, "batch words"], examples: StateExamples) -> Tensor:
        """Return the sum over sentences of the mean absolute error over words."""
        gold = examples.padded([tree_depths(heads) for heads in examples.gold], NO_PATH)
        errors = (predicted - gold).abs() * (gold != NO_PATH)
        return (errors.sum(1) / examples.words.sum(1)).sum()

    def floors(
        self, training: Sequence[Sentence], gold: Callable[[Sentence], Heads]
    ) -> dict[str, Callable[[Sentence], ndarray]]:
        """Return the mean depth of the training words at the same place, counted from the beginning of the sentence."""
        depths: defaultdict[int, list[int]] = defaultdict(list)
        for sentence in training:
            for place, depth in enumerate(tree_depths(gold(sentence))):
                if depth != NO_PATH:
                    depths[place].append(int(depth))
        means = {place: float(np.mean(of_place)) for place, of_place in depths.items()}
        deepest = max(means.values(), default=0.0)
        return {"depth by place": lambda sentence: np.array([means.get(n, deepest) for n in range(len(sentence))])}

    def of_links(self, links: ndarray) -> None:
        """Return None, because links of words give them no depth."""

    def edges(self, predicted: ndarray, sentence: Sentence) -> None:
        """Return None, because depths link no words."""

    def outcome(self, predicted: ndarray, gold: Heads, sentence: Sentence) -> dict[str, Fraction]:
        """Return whether the root is found, and the correlation."""
        depths = tree_depths(gold)
        return {
            "root": score_root(predicted, depths, self.kept(sentence)),
            "nspr": correlate_depths(predicted, depths),
        }
