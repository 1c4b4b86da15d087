"""The probes of the head of every word, from states alone and together with attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ...corpora_loaders import Sentence
from ...extractors import MapBatch, StateBatch
from ..predictor import Decoding, decode
from ..probed_sentence import UNKNOWN, annotate, probed_sentences, scored
from ..scorers import AttentionScorer
from ..splits import control_task
from .annotation import Heads, control_trees
from .examples import StandardizedModule, StateExamples, StateModule
from .probe import StateProbe
from .training import StateRecipe
from .tree_scores import Fraction, StateScore

_START = 0.1
"""Initial weights are this small, so that all candidates begin nearly equal. With weights of 1, a product of two
vectors begins far from 0, and from 1,500 sentences the probe learned to find 65 % of the heads instead of 69 %."""


class ArcModule(StandardizedModule):
    """s(i, c) = (W₁h_i + b₁)·(W₂h_c + b₂) + v·(W₂h_c + b₂), where ROOT has a learned vector in place of W₂h_c + b₂."""

    def __init__(self, dim: int, rank: int, generator: torch.Generator) -> None:
        super().__init__(dim)

        def draw(*shape: int, fan: int) -> nn.Parameter:
            return nn.Parameter(_START * (2 * torch.rand(shape, generator=generator) - 1) / math.sqrt(fan))

        self.dependent, self.candidate = draw(dim, rank, fan=dim), draw(dim, rank, fan=dim)
        self.dependent_bias, self.candidate_bias = nn.Parameter(torch.zeros(rank)), nn.Parameter(torch.zeros(rank))
        self.prior, self.root = draw(rank, fan=rank), draw(rank, fan=rank)

    def forward(self, examples: StateExamples) -> Float[Tensor, "batch words candidates"]:
        """Return the score of every candidate for every word; candidate 0 is ROOT, and padding is none."""
        states = self.in_units(examples)
        dependents = states @ self.dependent + self.dependent_bias + self.prior  # as v·x adds to (…)·x
        words = states @ self.candidate + self.candidate_bias
        candidates = torch.cat([self.root.expand(len(words), 1, -1), words], 1)
        scores = dependents @ candidates.transpose(1, 2)
        is_word = nn.functional.pad(examples.words, (1, 0), value=True)
        return scores.masked_fill(~is_word[:, None], -math.inf)


class ArcAttentionModule(ArcModule):
    """The same, to which the scores of the attention probe are added; all is trained together."""

    def __init__(self, dim: int, rank: int, heads: int, generator: torch.Generator) -> None:
        super().__init__(dim, rank, generator)
        self.attention = AttentionScorer(heads, generator)
        # It begins as the classifier of states alone. With random weights of the heads, training could end too early.
        nn.init.zeros_(self.attention.weight)

    def forward(self, examples: StateExamples) -> Float[Tensor, "batch words candidates"]:
        """Return the score of every candidate for every word; candidate 0 is ROOT, and padding is none."""
        scores = super().forward(examples)
        rows = []
        for own, batch in zip(scores, examples.maps, strict=True):
            [example] = probed_sentences([batch])
            n = len(example.sentence)
            rows.append(nn.functional.pad(self.attention(example), (0, own.shape[1] - n - 1, 0, own.shape[0] - n)))
        return scores + torch.stack(rows)


class ArcProbe(StateProbe):
    """A biaffine classifier that finds the head of a word among ROOT and all words of the sentence.

    It is to states what `attentionology.probes.AttentionProbe` is to attention: the same candidates, loss, words that
    are scored, and score, ``uas``, by which its training ends as well. By the dev loss, which soon grows again because
    few words are very wrong, it would end early: on 1,500 sentences of EWT after 2 epochs, with 66.5 % of the
    heads instead of 68.6 % (layer 3 of the demo model).

    Args:
        rank: the number of dimensions that states are projected to before they are multiplied.
        recipe, random_state: see `StateProbe`.

    Example:
        >>> from attentionology import load_encoder, load_treebank, store_states
        >>> from attentionology.probes import ArcProbe, StateRecipe
        >>> sentences = load_treebank("sample").sentences[:10]
        >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[2]).layer(2)
        >>> probe = ArcProbe(recipe=StateRecipe(epochs=3)).fit(states)
        >>> len(probe.predict_heads(states)[0]) == len(sentences[0])
        True
    """

    name = "arcs"
    meaning = "a biaffine classifier that finds the head of a word from the states of a layer"
    usual = StateRecipe(batch=10, factor=0.5, better=0.001, judge="score")
    metrics = (StateScore("uas"),)
    controls = ("trees", "behaviors")
    softmax = True
    finds_heads = True
    beside = ("attention", "best single head")
    color = "orange"

    def gold(self, sentence: Sentence) -> Heads:
        """Return the heads."""
        return annotate(sentence).heads

    def control(self, training: Sequence[Sentence], seed: int, task: str = "") -> Callable[[Sentence], Heads]:
        """Return the heads of control trees, or those of `attentionology.probes.control_task` (``behaviors``).

        States hold the position of every word, so that behaviors are easy for them.
        """
        controlled = control_task if task == "behaviors" else control_trees
        return lambda sentence: controlled([sentence], seed)[0].heads

    def make_module(self, dim: int) -> StateModule:
        """Return a biaffine classifier."""
        return ArcModule(dim, self.rank, self.generator())

    def losses(self, predicted: Float[Tensor, "batch words candidates"], examples: StateExamples) -> Tensor:
        """Return the cross-entropy of the candidates in nats, summed over the words that have a head."""
        gold = examples.padded([self.numbers(heads) for heads in examples.gold], UNKNOWN)
        return cross_entropy(predicted.flatten(0, 1), gold.flatten(), ignore_index=UNKNOWN, reduction="sum")

    def numbers(self, gold: Heads) -> ndarray:
        """Return the heads as numbers of candidates."""
        return np.array([UNKNOWN if head is None else head for head in gold], dtype=np.int64)

    def alternatives(self, words: int) -> int:
        """Return the number of candidates: ROOT and all words."""
        return words + 1

    def cut(self, predicted: Tensor, words: int) -> ndarray:
        """Return the scores of the candidates of a sentence, ROOT first."""
        return predicted[:words, : words + 1].numpy()

    def predict_heads(
        self, states: Sequence[StateBatch], maps: Sequence[MapBatch] = (), decoding: Decoding = "argmax"
    ) -> list[ndarray]:
        """Return the head of every word, sentence by sentence: 1-based, 0 for the root."""
        return [decode(scores, decoding) for scores in self.predict(states, maps)]

    def outcome(self, predicted: ndarray, gold: Heads, sentence: Sentence) -> dict[str, Fraction]:
        """Return how many words without punctuation get their head."""
        is_scored = scored(sentence)
        right = decode(predicted, "argmax") == self.numbers(gold)
        return {"uas": Fraction(int(right[is_scored].sum()), int(is_scored.sum()))}


class ArcAttentionProbe(ArcProbe):
    """`ArcProbe` together with `attentionology.probes.AttentionProbe`: what each adds to the other.

    Args:
        rank, recipe, random_state: see `ArcProbe`.

    Example:
        >>> from attentionology.probes import ArcAttentionProbe
        >>> ArcAttentionProbe.reads_maps
        True
    """

    name = "arcs+attention"
    meaning = "a biaffine classifier of the states of a layer, and one learned weight per attention head and direction"
    reads_maps = True
    beside = ("arcs", "attention")
    color = "purple"

    def make_module(self, dim: int) -> StateModule:
        """Return both classifiers."""
        return ArcAttentionModule(dim, self.rank, self.heads_, self.generator())
