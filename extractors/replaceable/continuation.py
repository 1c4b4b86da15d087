"""A forward pass that is continued with other attention in some heads of one layer.

There are three ways (`Way`), which give the same logits at very different cost. Which work for a model is tried on two
short texts: the model's own attention is put back, and every word is given a weight of 1.
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
from ..model.encoder import Encoder
from ..model.forward_pass import resume_at
from ..tokens.pieces import Pieces
from .attention_model import TextState
from .attention_patch import TOLERANCE, AttentionPatch, difference, input_embeddings, model_logits

Way = Literal["one position", "from the layer", "whole model"]
"""How much is computed again under other attention. All ways give the same logits. The first needs the last layer and a
classifier that reads one position alone; the second needs an architecture that has a row of names."""


@dataclass(frozen=True, eq=False)
class WordRows:
    """Rows of attention to pieces, taken apart into a distribution over words and everything else, which is kept here.

    A row is split into how much all words get together, how that is distributed over words, and how the weight of each
    word is distributed over its pieces. Only the second is exchanged. With the original, `join` gives back the row.
    """

    total: Float[Tensor, "batch rows"]  # the weight of all words together
    share: Float[Tensor, "batch rows pieces"]  # of the weight of a piece's word, 0 at special tokens and padding
    rest: Float[Tensor, "batch rows pieces"]  # the weights of special tokens, 0 elsewhere
    word_of: Int[Tensor, "batch pieces"]  # the 0-based word, −1 at special tokens and padding

    @classmethod
    def split(
        cls, rows: Float[Tensor, "batch rows pieces"], word_of: Int[Tensor, "batch pieces"]
    ) -> tuple[WordRows, Float[Tensor, "batch rows n"]]:
        """Return the parts, and the distribution over words, which is zero if words get nothing or there are none."""
        n = max(1, int(word_of.max()) + 1)
        is_of_word = (word_of[:, :, None] == torch.arange(n, device=word_of.device)).to(rows.dtype)  # pieces × words
        words = rows @ is_of_word
        total = words.sum(-1)
        alpha = words / total.where(total > 0, 1)[..., None]
        word_weights = words @ is_of_word.mT  # of the word of each piece: (batch, rows, pieces)
        # The pieces of a word that gets nothing have equal shares.
        equal_shares = (is_of_word @ (1 / is_of_word.sum(1).clamp(min=1))[..., None]).mT
        share = torch.where(word_weights > 0, rows / word_weights.where(word_weights > 0, 1), equal_shares)
        inside = (word_of >= 0)[:, None]
        return cls(total, share * inside, rows * ~inside, word_of), alpha

    def join(self, alpha: Float[Tensor, "batch k rows n"], renormalize: bool) -> Float[Tensor, "batch k rows pieces"]:
        """Compute the weights of pieces: total · alpha · share + rest. Rows may be divided by their sums, if not 0."""
        word = self.word_of.clamp(min=0)[:, None, None].expand(*alpha.shape[:3], -1)  # special tokens have no share
        words = self.total[:, None, :, None] * alpha
        rows = words.gather(-1, word) * self.share[:, None] + self.rest[:, None]
        if not renormalize:
            return rows
        sums = rows.sum(-1, keepdim=True)
        return rows / sums.where(sums > 0, 1)

    def detach(self) -> WordRows:
        """Return a copy without history, so that no gradient goes through it."""
        return WordRows(self.total.detach(), self.share.detach(), self.rest.detach(), self.word_of)


@dataclass(frozen=True, eq=False)
class TransformerState(TextState):
    """A batch of texts as a transformer has read them."""

    pieces: list[Pieces]
    ids: Int[Tensor, "batch positions"]
    inside: Bool[Tensor, "batch positions"]  # True at pieces and special tokens, False at padding
    segment_ids: Int[Tensor, "batch positions"] | None  # of texts and their queries; None without queries
    rows: WordRows  # the rows of attention that can be replaced
    read: Float[Tensor, "batch all_heads positions"]  # the attention of the position that is classified
    at: Int[Tensor, " batch"] | None  # where that is; None if all rows can be replaced
    values: Float[Tensor, "batch all_heads positions head_dim"]
    hidden: Float[Tensor, "batch positions size"] | None  # the inputs of the layer; None without a row of names
    from_embeddings: bool  # whether the computational graph begins at the embeddings

    def scores_in(self, heads: Tensor, query: str) -> Float[Tensor, "batch n"]:
        """Return the mean over heads, shape (batch, heads, n, n), of the row of a query: ``cls``, ``last``, ``all``."""
        scores = torch.zeros_like(self.alpha[:, 0])
        for index, pieces in enumerate(self.pieces):
            words = [position for position, special in enumerate(pieces.special) if not special]
            if query == "last":  # these are maps of pieces, so that what the pieces of a word have is added up
                is_in_word = self.word_of[index] >= 0
                last_row = heads[index, :, len(pieces) - 1].mean(0)
                scores[index].index_add_(0, self.word_of[index][is_in_word], last_row[is_in_word].to(scores.dtype))
            elif words:
                queries = [0] if query == "cls" else words
                scores[index, : len(words)] = heads[index].mean(0)[queries].mean(0)[words]
        return scores


@dataclass(frozen=True)
class ReplacedHeads:
    """The heads of one layer of a classifier whose attention is replaced; both are 0-based."""

    model: Any
    layer: int
    heads: Sequence[int]
    modules: Sequence[nn.Module]  # of all layers, none if the architecture has no row of names

    def logits(
        self, state: TransformerState, rows: Float[Tensor, "batch k rows positions"], way: Way
    ) -> Float[Tensor, "batch k classes"]:
        """Continue the forward pass of a batch with k other attentions per text."""
        k = rows.shape[1]
        weights = rows.view(len(state), k, len(self.heads), -1, rows.shape[-1])  # (batch, k, heads, queries, positions)
        context = self._context(state, weights) if way == "one position" else None
        at = state.at

        def repeat(tensor: Tensor) -> Tensor:
            """Repeat the values of each text k times, or only those of its one position if the way reads no other."""
            if way == "one position":
                assert at is not None  # noqa: S101 this way is for classifiers that read one position
                tensor = tensor[torch.arange(len(at), device=at.device), at][:, None]
            return tensor.repeat_interleave(k, 0)

        ids, inside = repeat(state.ids), repeat(state.inside)
        segments = None if state.segment_ids is None else repeat(state.segment_ids)
        with ExitStack() as stack:
            if way == "whole model":
                stack.enter_context(input_embeddings(self.model, state.embeddings.repeat_interleave(k, 0)))
                call = self.layer  # layers are counted by the calls of their attention
            else:
                assert state.hidden is not None  # noqa: S101 the other ways need an architecture with a row of names
                stack.enter_context(resume_at(self.modules, self.layer, repeat(state.hidden)))
                call = 0  # the pass begins at the layer
            repeated_at = None if at is None else at.repeat_interleave(k, 0)
            stack.enter_context(AttentionPatch(call, weights.flatten(0, 1), self.heads, context, repeated_at))
            logits = model_logits(self.model, ids, inside, segments)
        return logits.view(len(state), k, -1)

    def _context(
        self, state: TransformerState, weights: Float[Tensor, "batch k heads 1 positions"]
    ) -> Float[Tensor, "inputs 1 all_heads head_dim"]:
        """Compute the weighted sums of values of all heads at the position that is classified, k for each text."""
        weights_of_all = state.read[:, None].repeat(1, weights.shape[1], 1, 1)  # (batch, k, all heads, positions)
        weights_of_all[:, :, self.heads] = weights[..., 0, :]
        return torch.einsum("bkhn,bhnd->bkhd", weights_of_all, state.values).flatten(0, 1)[:, None]


def scope_of(encoder: Encoder, layer: int, heads: str | Sequence[int], label: str) -> tuple[int, list[int]]:
    """Return the 0-based layer, which may be counted from the end, and the heads; `ModelError` if there are none."""
    n_layers, n_heads = encoder.n_layers, encoder.n_heads
    if not -n_layers <= layer < n_layers:
        raise ModelError(f"{label} has the layers 0 to {n_layers - 1} (or −1 to −{n_layers}), not {layer}")
    chosen = list(range(n_heads)) if isinstance(heads, str) else sorted(set(heads))
    if not chosen or not 0 <= chosen[0] <= chosen[-1] < n_heads:
        raise ModelError(f"{label} has the heads 0 to {n_heads - 1}, and at least one is needed, not {heads}")
    return layer % n_layers, chosen


def fastest_way(
    ways: Sequence[Way],
    logits: Callable[[Way], Float[Tensor, "batch 2 classes"]],
    original: Float[Tensor, "batch classes"],
    label: str,
) -> Way:
    """Return the first way that gives the logits of ``"whole model"``, or else this, whose logits must be original."""
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
