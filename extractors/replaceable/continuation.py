"""A forward pass that is continued with other attention in some heads of one layer.

This can be done in three ways (`Way`), which give the same logits at very different cost. Whether a way works for a
model is not known from its architecture alone, so when a model is wrapped every way is tried on two short texts: the
model's own attention is put back, and every word is given a weight of 1. The logits must be the model's own in the
first case, and those of the slowest way, which takes nothing for granted, in the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..errors import ModelError
from ..tokens.pieces import Pieces
from .attention_model import Special, TextState
from .attention_patch import (
    TOLERANCE,
    AttentionPatch,
    InputEmbeddings,
    WordRows,
    difference,
    resumed,
)

Way = Literal["first position", "from the layer", "whole model"]
"""How much is computed again under other attention. All ways give the same logits. The first needs the last layer and a
classifier that reads the first position alone; the second needs an architecture that has a row of names."""


@dataclass(frozen=True, eq=False)
class TransformerState(TextState):
    """A batch of texts as a transformer has read them.

    Attributes:
        pieces: the pieces of each text.
        ids: the ids of the pieces, padded.
        inside: True at pieces and special tokens, False at padding.
        rows: the rows of attention that can be replaced, taken apart into words and everything else.
        first: the attention of the first position, in all heads of the layer.
        values: the value vectors of the layer.
        hidden: the inputs of the layer; None if the architecture has no row of names.
        from_embeddings: whether the computational graph begins at the embeddings.
    """

    pieces: list[Pieces]
    ids: Int[Tensor, "batch positions"]
    inside: Bool[Tensor, "batch positions"]
    rows: WordRows
    first: Float[Tensor, "batch all_heads positions"]
    values: Float[Tensor, "batch all_heads positions head_dim"]
    hidden: Float[Tensor, "batch positions size"] | None
    from_embeddings: bool


@dataclass(frozen=True)
class ReplacedHeads:
    """The heads of a classifier whose attention is replaced.

    Attributes:
        model: the classifier.
        layer: the layer, 0-based.
        heads: the heads of that layer, 0-based.
        special: see `attentionology.extractors.replaceable.attention_model.Special`.
        modules: the modules of all layers; empty if the architecture has no row of names.
    """

    model: Any
    layer: int
    heads: Sequence[int]
    special: Special
    modules: Sequence[nn.Module]

    def logits(
        self, state: TransformerState, rows: WordRows, alpha: Float[Tensor, "batch k rows n"], way: Way
    ) -> Float[Tensor, "batch k classes"]:
        """Continue the forward pass of a batch with k other attentions per text."""
        k = alpha.shape[1]
        weights = rows.join(alpha, self.special == "renormalise")
        weights = weights.view(len(state), k, len(self.heads), -1, weights.shape[-1])
        positions, context = slice(None), None
        if way == "first position":
            positions = slice(1)
            first = state.first[:, None].repeat(1, k, 1, 1)
            first[:, :, self.heads] = weights[..., 0, :]
            context = torch.einsum("bkhn,bhnd->bkhd", first, state.values).flatten(0, 1)[:, None]
        with ExitStack() as stack:
            if way == "whole model":
                stack.enter_context(InputEmbeddings(self.model, state.embeddings.repeat_interleave(k, 0)))
                patch = AttentionPatch(self.layer, weights.flatten(0, 1), self.heads)
            else:
                assert state.hidden is not None  # noqa: S101 the other ways need an architecture with a row of names
                hidden = state.hidden[:, positions].repeat_interleave(k, 0)
                stack.enter_context(resumed(self.modules, self.layer, hidden))
                patch = AttentionPatch(0, weights.flatten(0, 1), self.heads, context)
            stack.enter_context(patch)
            ids, inside = (tensor[:, positions].repeat_interleave(k, 0) for tensor in (state.ids, state.inside))
            logits = model_logits(self.model, ids, inside)
        return logits.view(len(state), k, -1)


def model_logits(
    model: Any, ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"]
) -> Float[Tensor, "batch classes"]:
    """Run a classifier on a padded batch."""
    logits: Tensor = model(input_ids=ids, attention_mask=mask.long(), return_dict=True).logits
    return logits


def fastest_way(
    ways: Sequence[Way],
    logits: Callable[[Way], Float[Tensor, "batch 2 classes"]],
    original: Float[Tensor, "batch classes"],
    label: str,
) -> Way:
    """Find the first way that gives the logits of ``"whole model"``, which must be the original ones."""
    expected = logits("whole model")
    change = difference(expected[:, 0], original)
    if not change <= TOLERANCE:
        raise ModelError(
            f"{label}: when its original attention is put back, its logits change by {change:.2g}; this model "
            "uses its attention in another way, so it cannot be replaced"
        )
    for way in ways:
        with suppress(RuntimeError, ValueError, IndexError):  # not every architecture can be resumed
            if difference(logits(way), expected) <= TOLERANCE:
                return way
    return "whole model"
