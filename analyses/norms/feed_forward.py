"""What the feed-forward block changes in the mixing of context (Kobayashi et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy.stats import rankdata
from torch import Tensor
from torchmetrics import Metric

from attentionology.analyses.shared.resampling import sentence_keys
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import StageBatch

WHOLE_BLOCK = "FFB"
_FIXED_POINT = 2**50


class FeedForwardTables(NamedTuple):
    """Results of `FeedForwardChange`.

    Attributes:
        change: columns layer, component, change, sentences.
        amplified: columns layer, rank, from, to (0-based pieces), amplification, key (of the sentence, see
            `attentionology.analyses.shared.resampling.sentence_keys`).
    """

    change: pd.DataFrame
    amplified: pd.DataFrame


class FeedForwardChange(Metric):
    """How far each component of the feed-forward block rearranges the map, and which pairs it amplifies.

    ``change`` is ``1 − ρ``, Spearman's ρ between all cells of the maps before and after a component (FF: the two linear
    maps and the activation; RES; LN; FFB: all of them), mean over sentences. Cells that are 0 in all maps (what a
    causal model cannot see) are left out.

    ``amplified`` are the pairs i ≠ j whose cell the FF raises most, the rows of both maps divided by their sums
    first (what the authors divide by is not known).

    Args:
        n_layers: of the model.
        components: as in the batches to come.
        top: how many pairs to keep per layer.
    """

    full_state_update = False
    sums: Float[Tensor, "layers components"]
    sentences: Int[Tensor, ""]
    top: Int[Tensor, "layers top 4"]

    def __init__(self, n_layers: int, components: tuple[str, ...], *, top: int = 20) -> None:
        super().__init__(compute_with_cache=False)
        self.n_layers, self.components = n_layers, components
        self.add_state("sums", torch.zeros(n_layers, len(components) + 1, dtype=torch.float64), "sum", persistent=True)
        self.add_state("sentences", torch.tensor(0), "sum", persistent=True)
        # Amplification in fixed point (nothing yet: −1 in it), key of the sentence, i, j.
        empty = torch.full((n_layers, top, 4), -_FIXED_POINT, dtype=torch.int64)
        self.add_state("top", empty, _merged_top, persistent=True)

    def update(self, batch: StageBatch) -> None:
        """Add a batch. Sentences of a single piece have nothing to compare and are not counted."""
        keys = sentence_keys([sentence.id for sentence in batch.sentences]).view(np.int64)
        ff = self.components.index("FF")
        for row, length in enumerate(batch.lengths.tolist()):
            if length < 2:
                continue
            maps = batch.maps[row, :, :, :length, :length].cpu().double()
            self.sums += torch.from_numpy(_changes(maps.numpy())).to(self.sums.device)
            self.sentences += 1
            shares = maps[:, ff : ff + 2] / maps[:, ff : ff + 2].sum(-1, keepdim=True)
            raised = (shares[:, 1] - shares[:, 0]).masked_fill(torch.eye(length, dtype=torch.bool), -1)
            amplification, at = raised.flatten(1).topk(min(self.top.shape[1], length * (length - 1)))
            found = torch.stack(
                [
                    (amplification * _FIXED_POINT).round().long(),
                    torch.full_like(at, int(keys[row])),
                    at // length,
                    at % length,
                ],
                dim=-1,
            )
            self.top = _best(torch.cat([self.top, found.to(self.top.device)], dim=1), self.top.shape[1])

    def compute(self) -> FeedForwardTables:
        """The tables."""
        count = int(self.sentences)
        sums = self.sums.cpu().numpy()
        change = [
            {
                "layer": layer + 1,
                "component": component,
                "change": sums[layer, c] / count if count else float("nan"),
                "sentences": count,
            }
            for layer in range(self.n_layers)
            for c, component in enumerate((*self.components, WHOLE_BLOCK))
        ]
        amplified = [
            {
                "layer": layer + 1,
                "rank": rank,
                "from": i,
                "to": j,
                "amplification": value / _FIXED_POINT,
                "key": key,
            }
            for layer, pairs in enumerate(self.top.tolist())
            for rank, (value, key, i, j) in enumerate(pairs, start=1)
            if value > 0
        ]
        columns = ["layer", "rank", "from", "to", "amplification", "key"]
        return FeedForwardTables(pd.DataFrame(change), pd.DataFrame(amplified, columns=columns))


def _changes(maps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """``1 − ρ`` from each stage to the next and from the first to the last; maps (layers, stages, n, n)."""
    changes = []
    for layer in maps:
        cells = layer.reshape(len(layer), -1)
        ranks = rankdata(cells[:, (cells > 0).any(0)], axis=1)
        rho = np.corrcoef(ranks)
        changes.append([*(1 - rho[s, s + 1] for s in range(len(layer) - 1)), 1 - rho[0, -1]])
    return np.array(changes)


def _best(pairs: Int[Tensor, "layers candidates 4"], top: int) -> Int[Tensor, "layers top 4"]:
    """The most amplified of each layer; equal ones in the order of key and place, so that merging is order-free."""
    kept = []
    for candidates in pairs.cpu().numpy():
        value, key, i, j = candidates.T
        kept.append(candidates[np.lexsort((j, i, key, -value))[:top]])
    return torch.from_numpy(np.stack(kept)).to(pairs.device)


def _merged_top(parts: Int[Tensor, "parts layers top 4"]) -> Int[Tensor, "layers top 4"]:
    return _best(torch.cat(list(parts), dim=1), parts.shape[2])


def with_examples(amplified: pd.DataFrame, texts: Mapping[int, tuple[Sentence, tuple[str, ...]]]) -> pd.DataFrame:
    """Pieces and sentence in place of numbers.

    Args:
        amplified: see `FeedForwardTables`.
        texts: for each key the sentence and its pieces.

    Returns:
        columns layer, rank, from, to (pieces), amplification, from_position, to_position (1-based), sentence_id, text.
    """
    rows = []
    for row in amplified.to_dict("records"):
        sentence, pieces = texts[row["key"]]
        rows.append(
            {
                "layer": row["layer"],
                "rank": row["rank"],
                "from": pieces[row["from"]],
                "to": pieces[row["to"]],
                "amplification": row["amplification"],
                "from_position": row["from"] + 1,
                "to_position": row["to"] + 1,
                "sentence_id": sentence.id,
                "text": " ".join(sentence.words),
            }
        )
    columns = ["layer", "rank", "from", "to", "amplification", "from_position", "to_position", "sentence_id", "text"]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True)
class CountStages:
    """Makes the metric for the components of a first batch."""

    n_layers: int

    def __call__(self, first: StageBatch) -> FeedForwardChange:
        """The metric."""
        return FeedForwardChange(self.n_layers, first.components)
