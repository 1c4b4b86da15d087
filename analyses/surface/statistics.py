"""The metric of surface statistics: attention to neighbors, special tokens and punctuation, and its entropy.

See Clark et al. (2019), §3. All statistics are means over the rows of a map, so that one weighted sum of rows gives all
of them. The attention is first added up over the columns of each class of tokens (one matrix product per layer), then
over the rows of three groups: all rows, those of the first special token, those of the other special tokens. Sums over
the remaining rows are differences of these. Sums over inputs are in fixed point, so their order has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...extractors import MapBatch
from ...extractors.deferred import use_values
from ..counting.exact_sums import ExactMetric, add_values, floating
from .batches import TO_CLASSES, check_rows, check_shape, class_members, entropy_of, replicate_sums
from .tables import SurfaceTables, by_layer

SMOOTHING = 1e-4
"""The share of uniform attention that the published code mixes into each row before it takes the entropy."""

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
LEARNED_SINK = "learned_sink"
"""The statistic that only heads with learned sinks have."""


class SurfaceStatistics(ExactMetric):
    """Surface statistics of every head.

    In an input with n tokens, over the map's cells [from i, to j], they are

    * ``self``, ``previous``, ``next``, and every offset o: the mean of [i, i + o] over the rows that have such a token;
    * ``first_special`` (special tokens before the first word, [CLS]), ``last_special`` (all other special tokens,
      [SEP]), ``period_comma``, ``punctuation`` (tokens all of whose characters are punctuation by Unicode) and
      ``other`` (neither special tokens nor punctuation): the share of attention that goes there, as the mean over rows;
    * ``first_to_first`` and ``last_to_last``: the same over rows of such tokens themselves; ``rest_to_first`` and
      ``rest_to_last``: the same over all other rows;
    * ``entropy``: −Σ_j α ln α in nats, as the mean over rows; ``entropy_first``: the same over the rows of the first
      special tokens. ``_relative`` means divided by ln n, the entropy of uniform attention; in row i of a causal map,
      counted from 1, by ln i, and the first row is left out.

    Heads with learned sinks (gpt-oss) give a part of every row to no token. It is their ``learned_sink``, 1 − Σ_j α, as
    the mean over rows. Their entropies are those of what goes to tokens, that is of rows divided by their sums.

    The published code divides ``previous`` and ``next`` by n, and assumes two [SEP] in every input.

    Args:
        n_layers, n_heads: the shape of the maps.
        reach: the largest offset; offsets from −reach to +reach are counted.
        smoothing: the share of uniform attention that is mixed into rows before the entropy; the published code uses
            `SMOOTHING`.
        replicates: the number of bootstrap replicates, for which the means over the heads of a layer are added up. They
            take ``16 × (layers + 1) × replicates × 8`` bytes.
        seed: the seed of the bootstrap.
        causal: whether row i attends to the first i tokens only.
        sinks: whether heads have learned sinks, so that rows sum to less than 1.

    Raises:
        ValueError: the reach is below 1, or the smoothing is not from 0 to below 1.

    Example:
        >>> from attentionology import Sentence
        >>> from attentionology.analyses import SurfaceStatistics
        >>> from attentionology.extractors import MapBatch
        >>> maps = torch.tensor([[0.25, 0.25, 0.25, 0.25]] * 4)[None, None, None]  # one head that attends to all alike
        >>> special = torch.tensor([[True, False, False, True]])
        >>> forms = (("[CLS]", "Birds", "sing", "[SEP]"),)
        >>> batch = MapBatch(maps, torch.tensor([4]), special, (Sentence("s1", ("Birds", "sing")),), forms=forms)
        >>> metric = SurfaceStatistics(n_layers=1, n_heads=1)
        >>> metric.update(batch)
        >>> metric.compute().heads[["next", "first_special", "entropy_relative"]].values.tolist()
        [[0.25, 0.25, 1.0]]
    """

    macro: Int[Tensor, "measures layers heads"]  # the means of inputs, added up; a measure is an offset or a statistic
    pooled: Int[Tensor, "measures layers heads"]  # the values of all rows, added up
    inputs: Int[Tensor, " measures"]  # the number of inputs that have rows for the measure
    rows: Int[Tensor, " measures"]
    uniform: Int[Tensor, 2]  # the entropy of uniform attention, added up over inputs and over rows
    bootstrap: Int[Tensor, "replicates statistics layers"]
    drawn: Int[Tensor, "replicates statistics"]

    def __init__(
        self,
        n_layers: int,
        n_heads: int,
        *,
        reach: int = 5,
        smoothing: float = 0.0,
        replicates: int = 0,
        seed: int = 0,
        causal: bool = False,
        sinks: bool = False,
    ) -> None:
        super().__init__()
        if reach < 1 or not 0 <= smoothing < 1:
            raise ValueError(f"reach must be at least 1 and smoothing from 0 to 1, not {reach} and {smoothing}")
        self.n_layers, self.n_heads, self.smoothing, self.causal = n_layers, n_heads, smoothing, causal
        self.offsets = range(-reach, reach + 1)
        self.statistics = (*STATISTICS, LEARNED_SINK) if sinks else STATISTICS
        self.replicates, self.seed = replicates, seed
        n_measures = len(self.offsets) + len(self.statistics)
        sums = torch.zeros(n_measures, n_layers, n_heads, dtype=torch.int64)
        self.add_state("macro", sums, "sum")
        self.add_state("pooled", sums.clone(), "sum")
        self.add_state("inputs", torch.zeros(n_measures, dtype=torch.int64), "sum")
        self.add_state("rows", torch.zeros(n_measures, dtype=torch.int64), "sum")
        self.add_state("uniform", torch.zeros(2, dtype=torch.int64), "sum")
        bootstrap = torch.zeros(replicates, len(self.statistics), n_layers, dtype=torch.int64)
        self.add_state("bootstrap", bootstrap, "sum")
        self.add_state("drawn", bootstrap.sum(-1), "sum")

    def update(self, batch: MapBatch) -> None:
        """Add a batch at token or word level.

        Raises:
            ValueError: rows do not sum to 1 (extract with ``normalize="row"``), the maps have another shape, or the
                batch has no forms.
            ExactSumError: a statistic is not finite, or a sum over the corpus is too large.
        """
        check_shape(batch, self.n_layers, self.n_heads)
        device = batch.maps.device
        inside = torch.arange(batch.maps.shape[-1]) < batch.lengths[:, None]
        members = class_members(batch)
        first, last = members[..., 0], members[..., 1]
        divisors = self._divisors(batch.lengths, first.sum(-1), last.sum(-1))
        of_device = [each.to(device) for each in (members, torch.stack([inside, first, last], dim=1), batch.lengths)]
        of_layers = [self._sums_over_rows(layer, *of_device) for layer in batch.maps.unbind(1)]
        sums_by_layer = torch.stack([sums for sums, _ in of_layers], dim=2)
        largest_deviation = torch.stack([deviation for _, deviation in of_layers]).max()
        ids = [sentence.id for sentence in batch.sentences]
        # Both in one copy, because each waits for the device, and no copy for each batch.
        use_values(
            torch.cat([sums_by_layer.flatten(), largest_deviation[None]]),
            partial(self._add, shape=sums_by_layer.shape, divisors=divisors, lengths=batch.lengths, ids=ids),
        )

    def _add(
        self,
        values: Float[Tensor, " values"],
        shape: Sequence[int],
        divisors: Int[Tensor, "batch measures"],
        lengths: Int[Tensor, " batch"],
        ids: Sequence[str],
    ) -> None:
        """Add the sums of a batch, behind which is how far its rows are from 1 at most."""
        check_rows(float(values[-1]))
        numerators = values[:-1].view(*shape).double()  # (batch, measures, layers, heads)
        denominators = divisors[..., None, None].double()
        n = lengths.double()
        logarithms = torch.lgamma(n + 1) / n if self.causal else n.log()  # the mean of ln i over rows, or ln n
        means = torch.where(denominators > 0, numerators / denominators.clamp(min=1), 0)
        macro = add_values(self.macro, means)
        pooled = add_values(self.pooled, torch.where(denominators > 0, numerators, 0))
        uniform = add_values(self.uniform, torch.stack([logarithms, logarithms * lengths], dim=1))
        if self.replicates:
            statistics = slice(len(self.offsets), None)
            is_defined = divisors[:, statistics] > 0
            sums, drawn = replicate_sums(means[:, statistics].mean(-1), is_defined, ids, self.replicates, self.seed)
            self.bootstrap = self.bootstrap + sums.to(self.bootstrap)
            self.drawn = self.drawn + drawn.to(self.drawn)
        # Only now, because any of the sums may be too large, and nothing is then counted.
        self.macro, self.pooled, self.uniform = macro, pooled, uniform
        self.inputs += (divisors > 0).sum(0)
        self.rows += divisors.sum(0)

    def compute(self) -> SurfaceTables:
        """Return the tables. A value is NaN if no input has rows for it, as in a model without special tokens."""
        inputs, rows = self.inputs.cpu(), self.rows.cpu()  # how many each measure is a mean over
        nan = torch.tensor(torch.nan, dtype=torch.float64)

        def means(sums: Tensor, divisors: Tensor) -> npt.NDArray[np.float64]:  # (heads of all layers, measures)
            by_head = floating(sums.cpu()).movedim(0, -1) / divisors.clamp(min=1)
            return torch.where(divisors > 0, by_head, nan).flatten(0, 1).numpy()

        macro, pooled = means(self.macro, inputs), means(self.pooled, rows)
        n_offsets = len(self.offsets)  # the first measures are the offsets, all others the statistics
        layer, head = np.indices((self.n_layers, self.n_heads)).reshape(2, -1) + 1
        statistics = {
            name + suffix: table[:, column]
            for suffix, table in (("", macro), ("_pooled", pooled))
            for column, name in enumerate(self.statistics, start=n_offsets)
        }
        heads = pd.DataFrame({"layer": layer, "head": head, **statistics})
        offsets = pd.DataFrame(
            {
                "layer": np.repeat(layer, n_offsets),
                "head": np.repeat(head, n_offsets),
                "offset": np.tile(self.offsets, len(heads)),
                "attention": macro[:, :n_offsets].ravel(),
                "attention_pooled": pooled[:, :n_offsets].ravel(),
                "rows": np.tile(rows[:n_offsets], len(heads)),
            }
        )
        columns = {"inputs": inputs[n_offsets:].numpy(), "rows": rows[n_offsets:].numpy()}
        counts = pd.DataFrame({"statistic": self.statistics, **columns})
        # Every input and row has the statistic ``self``, which is the first one, so its counts are those of all.
        total_counts = torch.stack([inputs[n_offsets], rows[n_offsets]]).clamp(min=1)
        uniform, uniform_pooled = (floating(self.uniform.cpu()) / total_counts).tolist()
        layers = by_layer(heads, self.statistics).assign(uniform_entropy=uniform, uniform_entropy_pooled=uniform_pooled)
        return SurfaceTables(heads, layers, offsets, counts)

    def layer_replicates(self, name: str) -> npt.NDArray[np.float64]:
        """Return the mean of a statistic over the heads of each layer, NaN if undefined; shape (layers, replicates)."""
        index = self.statistics.index(name)
        sums, drawn = floating(self.bootstrap[:, index].cpu()), self.drawn[:, index, None].cpu()
        means = sums / drawn.clamp(min=1)
        values: npt.NDArray[np.float64] = torch.where(drawn > 0, means, torch.nan).T.numpy()
        return values

    def _sums_over_rows(
        self,
        alpha: Float[Tensor, "batch heads n n"],
        members: Bool[Tensor, "batch n classes"],
        rows: Bool[Tensor, "batch 3 n"],
        lengths: Int[Tensor, " batch"],
    ) -> tuple[Float[Tensor, "batch measures heads"], Float[Tensor, ""]]:
        """Return all measures of one layer, added up over the rows of each input, and how far rows are from 1.

        ``rows`` are all rows of each input, those of its first special tokens, and those of its other special tokens.
        """
        # Uniform attention is mixed in after the shares are taken, because the published code smooths rows for the
        # entropy only.
        profile = torch.stack([alpha.diagonal(offset, -2, -1).sum(-1) for offset in self.offsets], dim=1)
        weights_of_rows = rows.to(alpha.dtype)
        shares = torch.matmul(alpha.flatten(1, 2), members.to(alpha.dtype)).view(*alpha.shape[:3], -1)
        # Three times (classes, batch, heads).
        from_all, from_first, from_last = torch.einsum("brn,bhnc->rcbh", weights_of_rows, shares)
        # The classes without that of periods and commas, which are punctuation, cover every token once. So their sum
        # over the rows of an input is its length if every row sums to 1: this checks the rows at no further cost.
        # A list of indices would be sent to the device, slices are not.
        to_tokens = torch.cat([from_all[:2], from_all[3:]]).sum(0)
        deviation = to_tokens / lengths[:, None] - 1
        sinks = []  # the share of the learned sink, if there is one
        if LEARNED_SINK in self.statistics:
            largest_deviation = deviation.max()  # nothing but the sink may take a share
            sinks = [lengths[:, None] - to_tokens]
            sums = alpha.sum(-1, keepdim=True)
            alpha = torch.where(sums > 0, alpha / sums, 0)
        else:
            largest_deviation = deviation.abs().max()
        if self.smoothing:
            is_token = rows[:, 0]
            uniform = (self.smoothing / lengths)[:, None, None, None]
            alpha = torch.where(is_token[:, None, None], (1 - self.smoothing) * alpha + uniform, alpha)
        (entropy, entropy_first), (relative, relative_first) = self._entropies(alpha, weights_of_rows[:, :2], lengths)
        # In the order of the offsets and of `STATISTICS`.
        zero = self.offsets.index(0)
        first_to_first, last_to_last = from_first[0], from_last[1]
        rest_to_first, rest_to_last = from_all[0] - first_to_first, from_all[1] - last_to_last
        measures = torch.cat(
            [
                profile,
                *(profile[:, at : at + 1] for at in (zero, zero - 1, zero + 1)),
                from_all.transpose(0, 1),
                torch.stack([first_to_first, last_to_last, rest_to_first, rest_to_last], dim=1),
                torch.stack([entropy, relative, entropy_first, relative_first, *sinks], dim=1),
            ],
            dim=1,
        )
        return measures, largest_deviation

    def _entropies(
        self, alpha: Float[Tensor, "batch heads n n"], rows: Float[Tensor, "batch 2 n"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "2 batch heads"], Float[Tensor, "2 batch heads"]]:
        """Return the entropies of all rows and of the first ones, added up, and as shares of uniform attention's."""
        by_row = entropy_of(alpha)
        entropies = torch.einsum("brn,bhn->rbh", rows, by_row)
        if not self.causal:
            return entropies, entropies / lengths.clamp(min=2).log()[:, None]
        # The first row sees one token and is not counted; with smoothing, its entropy is not even 0.
        seen = torch.arange(1, alpha.shape[-1] + 1, device=alpha.device, dtype=alpha.dtype)
        of_uniform = torch.where(seen > 1, by_row / seen.clamp(min=2).log(), 0)
        return entropies, torch.einsum("brn,bhn->rbh", rows, of_uniform)

    def _divisors(
        self, n: Int[Tensor, " batch"], first: Int[Tensor, " batch"], last: Int[Tensor, " batch"]
    ) -> Int[Tensor, "batch measures"]:
        """Return the number of rows that each measure is a mean over, 0 if it is not defined for an input.

        The arguments are the numbers of all tokens, of the first special tokens, and of the other special tokens.
        """
        # A row that sees one token only has no relative entropy.
        relative, relative_first = torch.where(n > 1, n, 0), torch.where(n > 1, first, 0)
        if self.causal:
            relative, relative_first = (n - 1).clamp(min=0), (first - 1).clamp(min=0)
        to_first, to_last = torch.where(first > 0, n, 0), torch.where(last > 0, n, 0)
        return torch.stack(
            [
                *((n - abs(offset)).clamp(min=0) for offset in self.offsets),
                *(n, n - 1, n - 1),  # itself, the previous and the next token
                *(to_first, to_last, n, n, n),  # `TO_CLASSES`
                # First to first, last to last, rest to first, rest to last.
                *(first, last, to_first - first, to_last - last),
                *(n, relative, first, relative_first),  # the entropies
                *([n] if LEARNED_SINK in self.statistics else []),
            ],
            dim=1,
        )
