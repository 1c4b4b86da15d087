"""The metric of word alignment by cross-attention, with bootstrap and halves (Kobayashi et al. 2020, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor

from attentionology.analyses.alignment.decisions import best_columns, column_words
from attentionology.analyses.shared.exact_sums import ExactMetric
from attentionology.analyses.shared.outcomes import SPLITS
from attentionology.analyses.shared.resampling import halves, poisson_weights
from attentionology.corpora_loaders.alignment import PairLinks, SentencePair
from attentionology.extractors import MapBatch, is_punctuation

RESTS = ("special", "punctuation", "word")
"""Where the largest value of a target word's row is: on a special token, on punctuation, or on another source word."""

Array = npt.NDArray[Any]


class AlignmentCounts(NamedTuple):
    """The counts of one series of maps, such as the norms of single heads in the setting AWI.

    The first axis of the first two arrays is the whole corpus, then the first half of each split, then each bootstrap
    replicate.

    Attributes:
        links: |A|, |A ∩ S| and |A ∩ P|; shape (1 + splits + replicates, layers, heads, 3).
        sure: |S|; shape (1 + splits + replicates,).
        rests: how many target words have their largest value on each of `RESTS`; shape (layers, heads, 3).
        size: the mean of all values of a pair's map, averaged over pairs; shape (layers, heads).
        pairs: the number of sentence pairs.
        splits: the number of splits.
    """

    links: Array
    sure: Array
    rests: Array
    size: Array
    pairs: int
    splits: int = SPLITS

    def error_rates(self) -> Array:
        """Compute alignment error rates; shape (1 + splits + replicates, layers, heads)."""
        return error_rate(self.links, self.sure[:, None, None])


def error_rate(links: Array, sure: Array) -> Array:
    """Compute alignment error rates from counts (Och & Ney 2003), NaN where there are neither links nor sure links.

    Example:
        >>> error_rate(np.array([10, 6, 9]), np.array(8)).round(3).item()
        0.167
    """
    whole = links[..., 0] + sure
    with np.errstate(invalid="ignore"):
        return np.asarray(1 - (links[..., 1] + links[..., 2]) / np.where(whole > 0, whole, np.nan))


class AlignmentAccuracy(ExactMetric):
    """How well the largest value of each target word's row aligns it with a source word, for each layer and head.

    This is a `torchmetrics.Metric`: `update` takes word-level maps of cross-attention, and `compute` returns counts.
    Parts of a corpus can be added up with `merge_state`. The units of the bootstrap are sentence pairs, whose weights
    depend on their ids alone, so that differences between two metrics are paired.

    Args:
        gold: the gold links of each sentence pair, by its id.
        n_layers, n_heads: the shape of the maps.
        replicates: the number of bootstrap replicates; 0 for no bootstrap.
        seed: the seed of the bootstrap and of the splits.

    Example:
        >>> from attentionology.corpora_loaders.alignment import PairLinks, SentencePair
        >>> from attentionology.extractors import Columns
        >>> pair = SentencePair(id="1", source=("das", "Haus"), words=("the", "house"))
        >>> columns = Columns(torch.tensor([3]), torch.tensor([[False, False, True]]))
        >>> maps = torch.tensor([[0.7, 0.1, 0.2], [0.1, 0.2, 0.7]]).view(1, 1, 1, 2, 3)
        >>> special = torch.zeros(1, 2, dtype=torch.bool)
        >>> batch = MapBatch(maps, torch.tensor([2]), special, (pair,), columns=columns)
        >>> metric = AlignmentAccuracy({"1": PairLinks.of([(0, 0), (1, 1)], [])}, 1, 1, replicates=0)
        >>> metric.update(batch)
        >>> metric.compute().links[0].tolist(), metric.compute().error_rates()[0].round(3).tolist()
        ([[[1, 1, 1]]], [[0.333]])
    """

    links: Int[Tensor, "resampled layers heads 3"]
    sure: Int[Tensor, " resampled"]
    rests: Int[Tensor, "layers heads 3"]
    size: Int[Tensor, "layers heads"]
    pairs: Int[Tensor, ""]

    def __init__(
        self,
        gold: Mapping[str, PairLinks],
        n_layers: int,
        n_heads: int,
        *,
        replicates: int = 1000,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.gold, self.shape, self.replicates, self.seed = gold, (n_layers, n_heads), replicates, seed
        resampled = 1 + SPLITS + replicates
        for name, shape in (
            ("links", (resampled, n_layers, n_heads, 3)),
            ("sure", (resampled,)),
            ("rests", (n_layers, n_heads, len(RESTS))),
            ("size", (n_layers, n_heads)),
            ("pairs", ()),
        ):
            self.add_state(name, torch.zeros(shape, dtype=torch.int64), "sum", persistent=True)

    def update(self, batch: MapBatch, best: Int[Tensor, "batch layers heads n"] | None = None) -> None:
        """Count a batch of word-level maps of sentence pairs.

        Args:
            batch: the maps.
            best: what `best_columns` returns for the batch, if it is known.

        Raises:
            ValueError: the maps are at token level or have another shape, or a pair has no gold links.
        """
        if batch.level != "word":
            raise ValueError("alignment needs word-level maps (level='word')")
        if tuple(batch.maps.shape[1:3]) != self.shape:
            raise ValueError(f"expected maps of {self.shape} layers and heads, found {tuple(batch.maps.shape[1:3])}")
        pairs = [pair for pair in batch.sentences if isinstance(pair, SentencePair)]
        if len(pairs) < len(batch) or any(pair.id not in self.gold for pair in pairs):
            raise ValueError("alignment needs maps of sentence pairs with gold links")
        best = best_columns(batch) if best is None else best
        words = column_words(batch)
        counts = np.zeros((len(pairs), *self.shape, 3), dtype=np.int64)
        sure = np.zeros(len(pairs), dtype=np.int64)
        for index, pair in enumerate(pairs):
            columns = best[index, ..., : len(pair)]
            linked = words[index][columns].numpy()
            is_sure, is_possible = _tables(pair, self.gold[pair.id])
            targets = np.arange(len(pair))
            counts[index, ..., 0] = (linked >= 0).sum(-1)
            counts[index, ..., 1] = is_sure[linked, targets].sum(-1)
            counts[index, ..., 2] = is_possible[linked, targets].sum(-1)
            sure[index] = len(self.gold[pair.id].sure)
            punctuation = np.array([*map(is_punctuation, pair.source), False])[linked] & (linked >= 0)
            rests = [(linked < 0).sum(-1), punctuation.sum(-1), ((linked >= 0) & ~punctuation).sum(-1)]
            self.rests += torch.from_numpy(np.stack(rests, -1))
        weights = self._weights([pair.id for pair in pairs])
        self.links += torch.from_numpy(np.einsum("rp,plhc->rlhc", weights, counts))
        self.sure += torch.from_numpy(weights @ sure)
        cells = batch.lengths * (batch.lengths if batch.columns is None else batch.columns.lengths)
        self.size = self.added(self.size, batch.maps.double().sum((-1, -2)).cpu() / cells[:, None, None])
        self.pairs += len(pairs)

    def compute(self) -> AlignmentCounts:
        """Return all counts so far."""
        pairs = int(self.pairs)
        size = self.floating(self.size).numpy() / max(1, pairs)
        return AlignmentCounts(self.links.numpy(), self.sure.numpy(), self.rests.numpy(), size, pairs)

    def _weights(self, ids: list[str]) -> npt.NDArray[np.int64]:
        """How often each pair is counted: in the whole corpus, in the first halves, and in the replicates."""
        parts = [
            np.ones((1, len(ids))),
            halves(ids, SPLITS, self.seed),
            poisson_weights(ids, self.replicates, self.seed),
        ]
        weights: npt.NDArray[np.int64] = np.concatenate([part.astype(np.int64) for part in parts])
        return weights


def _tables(pair: SentencePair, gold: PairLinks) -> tuple[Array, Array]:
    """Return which links are sure and possible, by source and target word. The last source row stands for no link."""
    tables = []
    for links in (gold.sure, gold.possible):
        table = np.zeros((len(pair.source) + 1, len(pair)), dtype=bool)
        for source, target in links:
            table[source, target] = True
        tables.append(table)
    return tables[0], tables[1]
