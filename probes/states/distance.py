"""The probe of distances in the tree (Hewitt & Manning 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from ...corpora_loaders import Sentence
from ..probed_sentence import annotate
from .annotation import NO_PATH, Heads, control_trees, kept_words, tree_distances
from .examples import StateExamples, StateModule
from .probe import StateProbe
from .tree_scores import Fraction, StateScore, correlate_distances, minimum_edges, score_edges

_BOUND = 0.05
"""Initial weights are uniform within this bound, as in the published code."""


class Projection(StateModule):
    """Projects states to a space of fewer dimensions, without bias."""

    def __init__(self, dim: int, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter((2 * torch.rand(dim, rank, generator=generator) - 1) * _BOUND)


class DistanceModule(Projection):
    """‖(h_i − h_j) B‖² of each two words."""

    def forward(self, examples: StateExamples) -> Float[Tensor, "batch words words"]:
        """Return the squared distances."""
        x = examples.states @ self.weight
        squares = (x**2).sum(-1)
        # Of ‖x_i‖² + ‖x_j‖² − 2 x_i·x_j, rounding may leave slightly less than 0. The differences x_i − x_j would take
        # rank times the memory and ten times as long.
        return (squares[:, :, None] + squares[:, None] - 2 * x @ x.transpose(1, 2)).clamp(min=0)


class DistanceProbe(StateProbe):
    """Squared distances of projected states that are near the numbers of edges between words in the tree.

    The loss of a sentence of n words is Σ_ij abs(d(i, j) − edges(i, j)) / n², over all of its words (Hewitt & Manning
    2019, §2.2). Pairs of words in different trees are left out. Scores: ``uuas``, the share of the tree's edges that
    are in the minimum spanning tree of the distances, without punctuation; ``dspr``, the mean correlation of a word's
    distances.

    Args:
        rank, recipe, random_state: see `StateProbe`.

    Example:
        >>> from attentionology import load_encoder, load_treebank, store_states
        >>> from attentionology.probes import DistanceProbe, StateRecipe
        >>> sentences = load_treebank("sample").sentences[:10]
        >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[2]).layer(2)
        >>> probe = DistanceProbe(recipe=StateRecipe(epochs=3)).fit(states)
        >>> probe.predict(states)[0].shape == (len(sentences[0]), len(sentences[0]))
        True
    """

    name = "distance"
    meaning = "squared distances of projected states, learned to be the distances of words in the tree"
    controls = ("trees",)
    metrics = (StateScore("uuas"), StateScore("dspr", by_length=True))

    def gold(self, sentence: Sentence) -> Heads:
        """Return the heads."""
        return annotate(sentence).heads

    def control(self, training: Sequence[Sentence], seed: int, task: str = "") -> Callable[[Sentence], Heads]:
        """Return the heads of control trees, see `attentionology.probes.control_trees`."""
        return lambda sentence: control_trees([sentence], seed)[0].heads

    def make_module(self, dim: int) -> StateModule:
        """Return a projection."""
        return DistanceModule(dim, self.rank, self.generator())

    def losses(self, predicted: Float[Tensor, "batch words words"], examples: StateExamples) -> Tensor:
        """Return the sum over sentences of the mean absolute error over all pairs."""
        gold = examples.padded([tree_distances(heads) for heads in examples.gold], NO_PATH)
        errors = (predicted - gold).abs() * (gold != NO_PATH)
        return (errors.sum((1, 2)) / examples.words.sum(1) ** 2).sum()

    def outcome(self, predicted: ndarray, gold: Heads, sentence: Sentence) -> dict[str, Fraction]:
        """Return the edges that are found, and the correlations of words."""
        distances = tree_distances(gold)
        return {
            "uuas": score_edges(predicted, distances, self.kept(sentence)),
            "dspr": correlate_distances(predicted, distances),
        }

    def floors(
        self, training: Sequence[Sentence], gold: Callable[[Sentence], Heads]
    ) -> dict[str, Callable[[Sentence], ndarray]]:
        """Return the chain, in which each word is linked to the next one."""

        def chain(sentence: Sentence) -> ndarray:
            number = np.arange(len(sentence))
            return np.asarray(np.abs(number[:, None] - number))

        return {"chain": chain}

    def of_links(self, links: ndarray) -> ndarray | None:
        """Return smaller distances for words with stronger links, in whichever direction is stronger."""
        return np.asarray(-np.maximum(links, links.T))

    def edges(self, predicted: ndarray, sentence: Sentence) -> set[tuple[int, int]] | None:
        """Return the edges of the minimum spanning tree of the distances."""
        return minimum_edges(predicted, self.kept(sentence))

    def kept(self, sentence: Sentence) -> ndarray:
        """Return which words are no punctuation."""
        return np.asarray(kept_words(sentence))
