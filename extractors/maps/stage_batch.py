"""What the analysis of norms needs to know of the feed-forward block: maps around its components, vectors, outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...corpora_loaders import Sentence
from ..errors import ModelError
from ..kinds.attention_block import attnres, attnresln
from ..kinds.feed_forward import FF_KINDS, feed_forward_projections, feed_forward_vectors
from ..layers import FFBias, Layer
from ..layers.contributions import Block, contribution_blocks, parts_of
from ..layers.verification import check_attention
from .map_batch import batch_line
from .shared_pass import SharedBatch

LEFT_OUT = (1, 3, 10)
"""How many of the largest dimensions are left out of the layer norm, one number after the other."""


@dataclass(frozen=True, eq=False, repr=False)
class StageBatch:
    """Maps before, between and after the components of the feed-forward block, for a padded batch at token level.

    Attributes:
        maps: shape (batch, layers, stages, n, n), 0 outside the sentence.
        without: the maps before and after LN without the largest dimensions, shape (batch, layers, counts, 2, n, n),
            counts as in `LEFT_OUT`. The largest dimensions are those in which the vectors that LN reads have the
            largest absolute values, on average over the pieces of the sentence. LN is computed with all dimensions; its
            mean and its deviation do not change.
        components: what lies between one stage and the next: FF, RES and LN in the architecture's order.
        ff_norms: the norms of what FF computes, its bias included, shape (batch, layers, n).
        residual_norms: the norms of what RES adds to it, shape (batch, layers, n).
        angles: the angle between both in degrees, shape (batch, layers, n).
        sizes: the mean absolute value of each dimension of what LN reads, shape (batch, layers, dim).
        gammas: the weight γ that LN has for each dimension, shape (layers, dim).
        lengths: the number of pieces of each sentence.
        classes: as in `NormBatch`.
        words: the 0-based word of each piece, −1 at special tokens and on padding; shape (batch, n).
        labels: the pieces of each sentence.
        sentences: the sentences.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import StageMaker, extract_many
        >>> [(batch,)] = extract_many(load_encoder("demo"), [Sentence.from_text("Cats sleep.")], [StageMaker()])
        >>> batch
        StageBatch(token level, FF→RES→LN, 1 sentence, shape (1, 6, 4, 5, 5))
    """

    maps: Float[Tensor, "batch layers stages n n"]
    without: Float[Tensor, "batch layers counts 2 n n"]
    components: tuple[str, ...]
    ff_norms: Float[Tensor, "batch layers n"]
    residual_norms: Float[Tensor, "batch layers n"]
    angles: Float[Tensor, "batch layers n"]
    sizes: Float[Tensor, "batch layers dim"]
    gammas: Float[Tensor, "layers dim"]
    lengths: Int[Tensor, " batch"]
    classes: Int[Tensor, "batch n"]
    words: Int[Tensor, "batch n"]
    labels: tuple[tuple[str, ...], ...]
    sentences: tuple[Sentence, ...]

    def __repr__(self) -> str:
        return batch_line(self, ["token level", "→".join(self.components)], self.sentences, self.maps)


@dataclass(frozen=True)
class StageMaker:
    """Makes a `StageBatch` of a forward pass, at tens of times the cost of the pass.

    Attributes:
        ff_bias: see `attentionology.extractors.extract`.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import StageMaker, extract_many
        >>> sentences = [Sentence.from_text("Cats sleep.")]
        >>> [(batch,)] = extract_many(load_encoder("demo"), sentences, [StageMaker("fixed")])
        >>> batch.components
        ('FF', 'RES', 'LN')
    """

    reads_weights: ClassVar[bool] = True

    ff_bias: FFBias = "input"

    @torch.inference_mode()
    def of(self, batch: SharedBatch) -> StageBatch:
        """Compute the maps around the feed-forward block of a batch."""
        forward, encoder, pieces = batch.forward, batch.encoder, batch.pieces
        check_attention(forward.attentions, forward.mask, forward.mask, encoder.label, sinks=encoder.has_sinks)
        weights = encoder.layers.weights
        if weights[0].parallel or weights[0].norm is None:
            raise ModelError(
                f"{encoder.label}: no layer norm stands between attention and the feed-forward block of this model, so "
                "the components around the block cannot be compared one by one"
            )
        layers = [_around_block(layer) for layer in forward.layers(ff_bias=self.ff_bias)]
        pre_norm = weights[0].pre_norm
        norms = [layer_weights.norm if pre_norm else layer_weights.last_norm for layer_weights in weights]
        words = [torch.tensor(p.word_of) for p in pieces]
        return StageBatch(
            components=("LN", "FF", "RES") if pre_norm else ("FF", "RES", "LN"),
            gammas=torch.stack([norm.gamma for norm in norms if norm is not None]),
            lengths=torch.tensor([len(p) for p in pieces]),
            classes=encoder.classes(pieces),
            words=pad_sequence(words, batch_first=True, padding_value=-1),
            labels=tuple(tuple(p.tokens) for p in pieces),
            sentences=batch.sentences,
            **{name: torch.stack([layer[name] for layer in layers], dim=1) for name in layers[0]},
        )


def _around_block(layer: Layer) -> dict[str, Tensor]:
    """Compute the fields of a `StageBatch` that have layers, for one layer."""
    # p is the output of attention with its residual, a is p after its layer norm, u the pre-activations of FF, and q
    # the output of FF with its residual, as `Layer` says.
    weights, pre_norm = layer.weights, layer.weights.pre_norm
    ff = weights.feed_forward(layer.u)
    residual = layer.p if pre_norm else layer.a
    read_by_norm = layer.p if pre_norm else layer.q
    # The mean absolute value of each dimension over the pieces of a sentence, and the dimensions with the largest.
    sizes = torch.einsum("bnd,bn->bd", read_by_norm.abs(), layer.mask / layer.mask.sum(1, keepdim=True))
    largest = sizes.topk(min(max(LEFT_OUT), sizes.shape[-1])).indices
    cosine = torch.cosine_similarity(ff.double(), residual.double(), dim=-1)
    # Pre-LN models begin the block with the layer norm, and post-LN models end it with theirs.
    maps_before = [attnres(layer), attnresln(layer)] if pre_norm else [attnresln(layer)]
    kinds_after = FF_KINDS[:2] if pre_norm else FF_KINDS
    batch, _, n, _ = layer.alpha.shape
    maps_after = layer.alpha.new_zeros(batch, len(kinds_after), n, n)
    without = layer.alpha.new_zeros(batch, len(LEFT_OUT), 2, n, n)  # before and after the layer norm
    projections = feed_forward_projections(weights)
    # Post-LN models have both sides of their layer norm among the vectors of FF. In pre-LN models the norm comes before
    # FF, so the vectors around it are those of attention.
    for sentences, part in parts_of(layer):
        for block, vectors in feed_forward_vectors(part, projections):
            for stage, kind in enumerate(kinds_after):
                maps_after[sentences, stage, block.queries, block.keys] = vectors[kind].norm(dim=-1).mT
            if not pre_norm:
                around_norm = vectors["atbffres"], vectors["atbffresln"]
                _fill_without(without[sentences], block, around_norm, largest[sentences])
        if pre_norm:
            for block in contribution_blocks(part, [weights.moving], residuals=[part.x]):
                (before_norm,) = block.vectors
                after_norm = weights.linear_norm(before_norm) * part.scale[:, None, block.queries]
                _fill_without(without[sentences], block, (before_norm, after_norm), largest[sentences])
    inside = layer.mask[:, None, :, None] & layer.mask[:, None, None, :]
    return {
        "maps": torch.cat([*maps_before, maps_after], dim=1).masked_fill(~inside, 0),
        "without": without,
        "ff_norms": ff.norm(dim=-1),
        "residual_norms": residual.norm(dim=-1),
        "angles": cosine.clamp(-1, 1).acos().rad2deg(),
        "sizes": sizes,
    }


def _fill_without(
    without: Float[Tensor, "batch counts 2 n n"],
    block: Block,
    before_and_after: tuple[Float[Tensor, "batch keys queries dim"], Float[Tensor, "batch keys queries dim"]],
    largest: Int[Tensor, "batch most"],
) -> None:
    """Fill in the norms of a block's vectors before and after the layer norm, without the largest dimensions."""
    for side, vectors in enumerate(before_and_after):
        # The squares that stay are added up. An outlier can be nearly the whole sum, and to subtract it loses digits.
        dimensions = largest[:, None, None].expand(*vectors.shape[:-1], -1)
        squares_of_largest = vectors.gather(-1, dimensions).square()  # the largest dimension first
        square_of_rest = vectors.scatter(-1, dimensions, 0).square().sum(-1)
        for index, n_left_out in enumerate(LEFT_OUT):
            norms = (square_of_rest + squares_of_largest[..., n_left_out:].sum(-1)).sqrt()
            without[:, index, side, block.queries, block.keys] = norms.mT
