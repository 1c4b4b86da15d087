"""Where heads attend on the surface: neighbours, special tokens, punctuation, everywhere (Clark et al. 2019, §3)."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torchmetrics import Metric

from attentionology.analyses.surface.distributions import check_rows, check_shape
from attentionology.extractors import MapBatch, is_punctuation

SMOOTHING = 1e-4
"""What the published code mixes into each row before it takes the entropy: (1 − s) α + s / n."""

TO_CLASSES = ("first_special", "last_special", "period_comma", "punctuation", "other")
STATISTICS = (
    "self",
    "previous",
    "next",
    *TO_CLASSES,
    "first_to_first",
    "last_to_last",
    "rest_to_first",
    "rest_to_last",
    "entropy",
    "entropy_relative",
    "entropy_first",
    "entropy_first_relative",
)
SPECIALS = ("first_special", "last_special")


class SurfaceTables(NamedTuple):
    """What the analysis finds; layers and heads 1-based.

    Attributes:
        heads: one row per layer and head; each of `STATISTICS` as the mean over inputs (every input weighs the same)
            and, with ``_pooled`` appended, over all rows of all inputs.
        layers: one row per layer: mean, smallest and largest over heads; ``uniform_entropy``, what attention to all
            tokens alike would have; and ``sink``, which special tokens get more, with its ``sink_share``.
        offsets: one row per layer, head and offset (+1: the next token): attention, pooled attention, and how many
            rows have such a token.
        counts: per statistic, how many inputs and rows it is a mean over.
    """

    heads: pd.DataFrame
    layers: pd.DataFrame
    offsets: pd.DataFrame
    counts: pd.DataFrame


class SurfaceStatistics(Metric):
    """Surface statistics of every head.

    In an input with n tokens, over the map's cells [from i, to j]:

    * ``self``, ``previous``, ``next``, and every offset: sum of [i, i + o] over the rows that have such a token;
    * ``first_special`` (special tokens before the first word, [CLS]), ``last_special`` (all other special tokens,
      [SEP]), ``period_comma``, ``punctuation`` (all characters punctuation by Unicode), ``other`` (neither special nor
      punctuation): share of attention that goes there, mean over rows;
    * ``first_to_first``, ``last_to_last``: the same over rows that are such a token themselves; ``rest_to_first``,
      ``rest_to_last``: over all other rows;
    * ``entropy``: −Σ_j α ln α in nats, mean over rows; ``entropy_first``: over rows of the first special token;
      ``_relative``: divided by ln n, the entropy of uniform attention.

    The published code divides ``previous`` and ``next`` by n, and takes two [SEP] for granted.

    Args:
        n_layers, n_heads: shape of the maps.
        reach: offsets −reach … +reach are counted.
        smoothing: mixed into rows before the entropy; the published code has `SMOOTHING`.

    Raises:
        ValueError: a reach below 1, or smoothing outside 0 … 1.
    """

    full_state_update = False
    macro: Float[Tensor, "measures layers heads"]
    pooled: Float[Tensor, "measures layers heads"]
    inputs: Int[Tensor, " measures"]
    rows: Int[Tensor, " measures"]
    uniform: Float[Tensor, 2]

    def __init__(self, n_layers: int, n_heads: int, *, reach: int = 5, smoothing: float = 0.0) -> None:
        super().__init__(compute_with_cache=False)
        if reach < 1 or not 0 <= smoothing < 1:
            raise ValueError(f"reach must be at least 1 and smoothing from 0 to 1, not {reach} and {smoothing}")
        self.n_layers, self.n_heads, self.smoothing = n_layers, n_heads, smoothing
        self.offsets = range(-reach, reach + 1)
        measures = len(self.offsets) + len(STATISTICS)
        sums = torch.zeros(measures, n_layers, n_heads, dtype=torch.float64)
        self.add_state("macro", sums, "sum", persistent=True)
        self.add_state("pooled", sums.clone(), "sum", persistent=True)
        self.add_state("inputs", torch.zeros(measures, dtype=torch.int64), "sum", persistent=True)
        self.add_state("rows", torch.zeros(measures, dtype=torch.int64), "sum", persistent=True)
        self.add_state("uniform", torch.zeros(2, dtype=torch.float64), "sum", persistent=True)

    def update(self, batch: MapBatch) -> None:
        """Add a batch at token or word level.

        Raises:
            ValueError: rows that do not sum to 1 (extract with ``normalize="row"``), another shape, or no forms.
        """
        check_shape(batch, self.n_layers, self.n_heads)
        device = batch.maps.device
        lengths = batch.lengths.to(device)
        inside = torch.arange(batch.maps.shape[-1], device=device) < lengths[:, None]
        members = _members(batch).to(device)
        lookers = torch.stack([inside, members[..., 0], members[..., 1]], dim=1)
        divisors = self._divisors(lengths, *lookers[:, 1:].sum(-1).unbind(1))
        measures = [self._measure(layer, members, lookers, lengths) for layer in batch.maps.unbind(1)]
        numerators = torch.stack(measures, dim=2).cpu().double()
        counted = (divisors > 0).cpu()
        weights = counted / divisors.cpu().clamp(min=1).double()
        self.macro += torch.einsum("bmlh,bm->mlh", numerators, weights).to(self.macro.device)
        self.pooled += torch.einsum("bmlh,bm->mlh", numerators, counted.double()).to(self.pooled.device)
        self.inputs += counted.sum(0).to(self.inputs.device)
        self.rows += divisors.sum(0).to(self.rows.device)
        logarithms = batch.lengths.double().log()
        self.uniform += torch.stack([logarithms.sum(), (logarithms * batch.lengths).sum()]).to(self.uniform.device)

    def compute(self) -> SurfaceTables:
        """The tables; values are NaN where no input has such rows (a model without special tokens)."""
        inputs, rows = self.inputs.cpu(), self.rows.cpu()
        nan = torch.tensor(torch.nan, dtype=torch.float64)
        means = [
            torch.where(count > 0, sums.cpu().movedim(0, -1) / count.clamp(min=1), nan).flatten(0, 1).numpy()
            for sums, count in ((self.macro, inputs), (self.pooled, rows))
        ]
        k = len(self.offsets)
        index = [(layer + 1, head + 1) for layer in range(self.n_layers) for head in range(self.n_heads)]
        heads = pd.DataFrame(index, columns=["layer", "head"])
        for suffix, table in zip(("", "_pooled"), means, strict=True):
            for m, name in enumerate(STATISTICS):
                heads[name + suffix] = table[:, k + m]
        offsets = pd.DataFrame(
            {
                "layer": layer,
                "head": head,
                "offset": offset,
                "attention": means[0][row, m],
                "attention_pooled": means[1][row, m],
                "rows": int(rows[m]),
            }
            for row, (layer, head) in enumerate(index)
            for m, offset in enumerate(self.offsets)
        )
        counts = pd.DataFrame({"statistic": STATISTICS, "inputs": inputs[k:].numpy(), "rows": rows[k:].numpy()})
        uniform, uniform_pooled = (self.uniform.cpu() / torch.stack([inputs[k], rows[k]]).clamp(min=1)).tolist()
        layers = _by_layer(heads).assign(uniform_entropy=uniform, uniform_entropy_pooled=uniform_pooled)
        return SurfaceTables(heads, layers, offsets, counts)

    def _measure(
        self,
        alpha: Float[Tensor, "batch heads n n"],
        members: Bool[Tensor, "batch n classes"],
        lookers: Bool[Tensor, "batch 3 n"],
        lengths: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch measures heads"]:
        """Sums over rows of all measures in one layer."""
        profile = torch.stack([alpha.diagonal(o, -2, -1).sum(-1) for o in self.offsets], dim=1)
        rows = lookers.to(alpha.dtype)
        shares = torch.matmul(alpha.flatten(1, 2), members.to(alpha.dtype)).view(*alpha.shape[:3], -1)
        everyone, first, last = torch.einsum("brn,bhnc->rcbh", rows, shares)
        off = (everyone[[0, 1, 3, 4]].sum(0) / lengths[:, None] - 1).abs().max()
        check_rows(float(off))
        if self.smoothing:
            inside = lookers[:, None, 0]
            share = (self.smoothing / lengths)[:, None, None, None]
            alpha = torch.where(inside[..., None, :], (1 - self.smoothing) * alpha + share, alpha)
        entropies = torch.einsum("brn,bhn->rbh", rows[:, :2], _entropy(alpha))
        relative = entropies / lengths.clamp(min=2).log()[:, None]
        here = self.offsets.index(0)
        return torch.cat(
            [
                profile,
                profile[:, [here, here - 1, here + 1]],
                everyone.transpose(0, 1),
                torch.stack([first[0], last[1], everyone[0] - first[0], everyone[1] - last[1]], dim=1),
                torch.stack([entropies[0], relative[0], entropies[1], relative[1]], dim=1),
            ],
            dim=1,
        )

    def _divisors(
        self, n: Int[Tensor, " batch"], first: Int[Tensor, " batch"], last: Int[Tensor, " batch"]
    ) -> Int[Tensor, "batch measures"]:
        """How many rows each measure is a mean over; 0 where it is not defined."""
        several = torch.where(n > 1, n, 0)
        has_first, has_last = torch.where(first > 0, n, 0), torch.where(last > 0, n, 0)
        return torch.stack(
            [
                *((n - abs(o)).clamp(min=0) for o in self.offsets),
                *(n, n - 1, n - 1),
                *(has_first, has_last, n, n, n),
                *(first, last, has_first - first, has_last - last),
                *(n, several, first, torch.where(n > 1, first, 0)),
            ],
            dim=1,
        )


def _entropy(alpha: Float[Tensor, "batch heads n n"]) -> Float[Tensor, "batch heads n"]:
    """−Σ_j α ln α of each row in nats, with 0 ln 0 = 0; a quarter faster than `torch.special.entr`."""
    logarithms = alpha.clamp_min(torch.finfo(alpha.dtype).tiny).log_()
    return -logarithms.mul_(alpha).sum(-1)


def _members(batch: MapBatch) -> Bool[Tensor, "batch n classes"]:
    """Which of `TO_CLASSES` each position belongs to; none on padding.

    Raises:
        ValueError: the batch does not say what stands at each position.
    """
    if len(batch.forms) != len(batch):
        raise ValueError("the batch has no forms, which tell punctuation from words")
    n = batch.maps.shape[-1]
    marks, stops = torch.zeros(2, len(batch), n, dtype=torch.bool)
    for row, forms in enumerate(batch.forms):
        marks[row, : len(forms)] = torch.tensor([is_punctuation(form) for form in forms])
        stops[row, : len(forms)] = torch.tensor([form in (".", ",") for form in forms])
    words = batch.words
    first = batch.special & (words.cumsum(1) == 0)
    return torch.stack([first, batch.special & ~first, stops & words, marks & words, words & ~marks], dim=-1)


def _by_layer(heads: pd.DataFrame) -> pd.DataFrame:
    grouped = heads.groupby("layer")[[*STATISTICS]]
    spread = [grouped.mean(), grouped.min().add_suffix("_min"), grouped.max().add_suffix("_max")]
    layers = pd.concat(spread, axis=1)[[n + s for n in STATISTICS for s in ("", "_min", "_max")]].reset_index()
    specials = layers[[*SPECIALS]]
    layers["sink"] = ["" if row.isna().all() else str(row.idxmax()) for _, row in specials.iterrows()]
    layers["sink_share"] = specials.max(axis=1)
    return layers
