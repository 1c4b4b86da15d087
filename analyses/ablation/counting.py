"""The metric of the effects of heads, by dependency relation and part of speech, with what their intervals need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from scipy.special import stdtrit
from torch import Tensor

from ...corpora_loaders import Sentence, coarse_relation
from ...corpora_loaders.tags import UPOS
from ..counting.exact_sums import ExactMetric, added, floating
from .effects import EffectBatch

EVERY = ("all", "all")

Values = npt.NDArray[np.float64]


class Effects(NamedTuple):
    """Mean effects with their 95 % intervals, each of shape (groups, heads, measures); NaN for groups without words."""

    # difference, difference_low, difference_high: those of a head minus the mean of the other heads of its layer that
    # are switched off; NaN where there are none.

    mean: Values
    low: Values
    high: Values
    difference: Values
    difference_low: Values
    difference_high: Values
    items: npt.NDArray[np.int64]  # the number of words, or of predictions, of each group, shape (groups,)
    sentences: npt.NDArray[np.int64]  # in how many sentences these are, shape (groups,)


class HeadEffects(ExactMetric):
    """The sums of the effects of each head over all words, those of each relation, and of each part of speech."""

    inventory = "relations"
    # The last two dimensions are effect and difference, and the sums over sentences of x, x² and x · n, where x is
    # the sum over the words of a sentence and n their number.
    sums: Int[Tensor, "groups heads measures 2 3"]
    items: Int[Tensor, "groups 3"]  # the sums over sentences of n, of n², and of 1
    pairs: Int[Tensor, "measures heads heads"]  # the sums over sentences of the products of x of two heads
    importance: Int[Tensor, " heads"]
    inputs: Int[Tensor, ""]

    def __init__(
        self, heads: Sequence[Sequence[int]], relations: Sequence[str], measures: Sequence[str], *, coarse: bool = False
    ) -> None:
        super().__init__()
        self.heads = [(layer, head) for layer, head in heads]
        self.measures = list(measures)
        self._group_of_relation = coarse_relation if coarse else str
        names = sorted({self._group_of_relation(relation) for relation in relations})
        # Words with tags that are not those of Universal Dependencies count among all words alone.
        self.groups = [EVERY, *(("relation", name) for name in names), *(("tag", name) for name in sorted(UPOS))]
        self._index = {group: index for index, group in enumerate(self.groups)}
        layers = torch.tensor([layer for layer, _ in self.heads])
        # Whether the head of the column is another head of the same layer as that of the row.
        self._others = (layers[:, None] == layers) & ~torch.eye(len(layers), dtype=torch.bool)
        groups, heads_off = len(self.groups), len(self.heads)
        self.add_state("sums", torch.zeros(groups, heads_off, len(self.measures), 2, 3, dtype=torch.int64), "sum")
        self.add_state("items", torch.zeros(groups, 3, dtype=torch.int64), "sum")
        no_pairs = torch.zeros(len(self.measures), heads_off, heads_off, dtype=torch.int64)
        self.add_state("pairs", no_pairs, "sum", since="attentionology 0.4")
        self.add_state("importance", torch.zeros(heads_off, dtype=torch.int64), "sum")
        self.add_state("inputs", torch.zeros((), dtype=torch.int64), "sum")

    def update(self, batch: EffectBatch) -> None:
        """Add the effects in a batch."""
        for index, sentence in enumerate(batch.sentences):
            in_sentence = batch.sentence == index
            values = batch.values[in_sentence].double()
            for group, is_member in self._members(sentence, batch.word[in_sentence].tolist()):
                n = int(is_member.sum())
                total = values[is_member].sum(0)  # before `added` rounds, so that a sentence is rounded only once
                x = torch.stack([total, self._differences(total)], dim=-1)  # (heads, measures, 2)
                # A mean over words is the ratio of the sums of x and n. Its variance needs their squares and products.
                self.sums[group] = added(self.sums[group], torch.stack([x, x * x, x * n], dim=-1)[None])
                self.items[group] += torch.tensor([n, n * n, 1])
                if group == self._index[EVERY]:
                    by_measure = total.T  # (measures, heads)
                    self.pairs = added(self.pairs, (by_measure[:, :, None] * by_measure[:, None])[None])
        if batch.importance is not None:
            self.importance = added(self.importance, batch.importance)
            self.inputs += len(batch.sentences)

    def _differences(self, total: Float[Tensor, "heads measures"]) -> Float[Tensor, "heads measures"]:
        """Return the effect of each head minus the mean of the others of its layer; `compute` drops lone heads."""
        is_other = self._others.double()
        return total - is_other @ total / is_other.sum(1, keepdim=True).clamp(min=1)

    def _members(self, sentence: Sentence, words: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
        """Yield the index of each group that has some of the items, and which; ``words`` has the word of each item."""
        if not words:
            return
        membership: dict[int, list[bool]] = {self._index[EVERY]: [True] * len(words)}  # by the index of the group
        for item, word in enumerate(words):
            groups_of_word = []
            if sentence.relations and sentence.heads[word] is not None:
                groups_of_word.append(("relation", self._group_of_relation(sentence.relations[word])))
            if sentence.tags:
                groups_of_word.append(("tag", sentence.tags[word]))
            for group in groups_of_word:
                if group in self._index:
                    membership.setdefault(self._index[group], [False] * len(words))[item] = True
        for index, is_member in membership.items():
            yield index, torch.tensor(is_member)

    def absorb(self, other: HeadEffects) -> None:
        """Add the sums of another part of the text, whose relations may be others, but are all among those here."""
        # Merging refuses sums that are too large, so the other sums are put into a metric with the groups of this one.
        with_these_groups: HeadEffects = self.clone()
        with_these_groups.reset()
        indices = [self._index[group] for group in other.groups]
        with_these_groups.sums[indices], with_these_groups.items[indices] = other.sums, other.items
        for name in ("pairs", "importance", "inputs"):
            setattr(with_these_groups, name, getattr(other, name))
        self.merge_state(with_these_groups)

    def compute(self) -> Effects:
        """Return the mean effects and their intervals."""
        # The last dimension is effect and difference, and before it are groups, heads and measures.
        sums = np.moveaxis(floating(self.sums).numpy(), -1, 0)
        items = self.items.numpy()[..., None, None, None]
        mean, low, high = _means(*sums, *np.moveaxis(items, 1, 0))
        for values in (mean, low, high):  # differences of heads that are alone in their layer
            values[:, ~self._others.any(1).numpy(), :, 1] = np.nan
        own = mean[..., 0], low[..., 0], high[..., 0]
        differences = mean[..., 1], low[..., 1], high[..., 1]
        return Effects(*own, *differences, self.items[:, 0].numpy(), self.items[:, 2].numpy())

    def leads(self, head: int, measure: int) -> tuple[Values, Values, Values]:
        """Return by how much the effect of a head on all words is larger than that of each head, with the intervals.

        The intervals are those of differences within sentences, and NaN in runs without products of pairs.
        """
        every = self._index[EVERY]
        x, squares, products = floating(self.sums[every, :, measure, 0]).numpy().T  # each of them (heads,)
        # The interval needs the products, without which it is NaN.
        both = floating(self.pairs[measure, head]).numpy() if self.was_counted("pairs") else np.full_like(x, np.nan)
        return _means(
            x[head] - x, squares[head] + squares - 2 * both, products[head] - products, *self.items[every].numpy()
        )

    def mean_importance(self) -> Values | None:
        """Return the mean over sentences of |z · ∂L/∂z| of each head; None if nothing was predicted."""
        return floating(self.importance).numpy() / int(self.inputs) if int(self.inputs) else None


def _means(
    x: Values, squares: Values, products: Values, n: Any, n_squares: Any, sentences: Any
) -> tuple[Values, Values, Values]:
    """Return means over words or predictions with their 95 % intervals, which are NaN for a single sentence.

    The arguments are sums over sentences: of x, x² and x · n, where x is the sum over the words of a sentence and n
    their number, and of n, n² and 1.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = x / n
        # The linearized variance of the ratio of two totals over sentences (Cochran 1977, section 6.4).
        spread = squares - 2 * mean * products + mean * mean * n_squares
        error = np.sqrt(np.maximum(spread, 0) * sentences / (sentences - 1)) / n
    error[~np.isfinite(error)] = np.nan
    # With few sentences, the standard error is itself uncertain, as Student's t takes into account.
    margin = stdtrit(np.maximum(sentences - 1, 1), 0.975) * error
    return mean, mean - margin, mean + margin
