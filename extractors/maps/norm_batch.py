"""What the analysis of norms needs to know of a batch besides maps: tokens, value norms, mixing ratios.

The mixing ratio is ``M / (M + P)``, where ``M = ‖Σ_{j≠i} c_ij‖`` is the norm of the sum of what all other tokens
contribute (not the sum of the norms), and ``P = ‖c_ii‖`` (Kobayashi et al. 2021, §3.3). All that follows is linear in
the contributions, so the two sums are pushed through it instead of n² single contributions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...corpora_loaders import Sentence
from ..kinds.attention_block import value_norms
from ..layers import FFBias, Layer
from ..layers.verification import check_attention
from .map_batch import batch_line
from .shared_pass import SharedBatch

MIXING_VARIANTS = ("attn-w", "attnres-w", "attn-n", "attnres-n", "attnresln-n", "atbff-n", "atbffres-n", "atbffresln-n")
"""The variants of the mixing ratio. Those in ``-w`` come from the attention weights alone: ``1 − mean_h α_ii``, and
half of it with the residual connection (Abnar & Zuidema 2020). Those in ``-n`` come from norms of the vectors of which
the map kind of the same name is made."""


@dataclass(frozen=True, eq=False, repr=False)
class NormBatch:
    """Token-level quantities of a padded batch. Values at padding are meaningless unless stated otherwise.

    Attributes:
        alpha: attention weights, shape (batch, layers, heads, n, n).
        value_norms: ‖f(x)‖, shape (batch, layers, heads, n).
        input_norms: ‖x‖ of the vectors that each layer reads, shape (batch, layers, n).
        ratios: mixing ratios, shape (batch, variants, layers, n), variants as in `MIXING_VARIANTS`.
        lengths: the number of pieces of each sentence.
        ids: vocabulary ids; shape (batch, n).
        classes: index into `TOKEN_CLASSES`, −1 on padding; shape (batch, n).
        sentences: the sentences.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import NormMaker, extract_many
        >>> [(batch,)] = extract_many(load_encoder("demo"), [Sentence.from_text("Cats sleep.")], [NormMaker()])
        >>> batch.value_norms.shape, batch.ratios.shape
        (torch.Size([1, 6, 12, 5]), torch.Size([1, 8, 6, 5]))
    """

    alpha: Float[Tensor, "batch layers heads n n"]
    value_norms: Float[Tensor, "batch layers heads n"]
    input_norms: Float[Tensor, "batch layers n"]
    ratios: Float[Tensor, "batch variants layers n"]
    lengths: Int[Tensor, " batch"]
    ids: Int[Tensor, "batch n"]
    classes: Int[Tensor, "batch n"]
    sentences: tuple[Sentence, ...]

    def __repr__(self) -> str:
        return batch_line(self, ["token level"], self.sentences, self.alpha)

    @property
    def mask(self) -> Bool[Tensor, "batch n"]:
        """True where there is a piece."""
        return self.classes >= 0

    @functools.cached_property
    def rows(self) -> Float[Tensor, "batch n"]:
        """The weight of each query in a mean over the queries of its sentence: 1/n, and 0 on padding."""
        return self.mask.to(self.alpha) / self.lengths.to(self.alpha.device)[:, None]

    @functools.cached_property
    def received(self) -> Float[Tensor, "batch layers heads n"]:
        """The attention weight that each piece receives, averaged over queries."""
        return torch.einsum("blhij,bi->blhj", self.alpha, self.rows)


@dataclass(frozen=True)
class NormMaker:
    """Makes a `NormBatch` of a forward pass.

    Attributes:
        ff_bias: see `attentionology.extractors.extract`.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import MIXING_VARIANTS, NormMaker, extract_many
        >>> sentences = [Sentence.from_text("Cats sleep.")]
        >>> [(batch,)] = extract_many(load_encoder("demo"), sentences, [NormMaker()])
        >>> mean = batch.ratios[0, MIXING_VARIANTS.index("attnresln-n")].mean(-1)  # one number per layer
        >>> bool((mean < 0.5).all())  # a token's new vector comes mostly from the token itself
        True
    """

    reads_weights: ClassVar[bool] = True

    ff_bias: FFBias = "input"

    @torch.inference_mode()
    def of(self, batch: SharedBatch) -> NormBatch:
        """Compute value norms and mixing ratios of a batch."""
        forward, encoder, pieces = batch.forward, batch.encoder, batch.pieces
        check_attention(forward.attentions, forward.mask, forward.mask, encoder.label, sinks=encoder.has_sinks)
        norms, input_norms, ratios = [], [], []
        for layer in forward.layers(ff_bias=self.ff_bias):
            norms.append(value_norms(layer))
            input_norms.append(layer.x.norm(dim=-1))
            by_variant = mixing_ratios(layer)
            ratios.append(torch.stack([by_variant[variant] for variant in MIXING_VARIANTS], dim=1))
        return NormBatch(
            alpha=torch.stack(list(forward.attentions), dim=1),
            value_norms=torch.stack(norms, dim=1),
            input_norms=torch.stack(input_norms, dim=1),
            ratios=torch.stack(ratios, dim=2),
            lengths=torch.tensor([len(p) for p in pieces]),
            ids=encoder.pad(pieces)[0].cpu(),
            classes=encoder.classes(pieces),
            sentences=batch.sentences,
        )


def mixing_ratios(layer: Layer) -> dict[str, Float[Tensor, "batch n"]]:
    """Compute the mixing ratios of every token by all `MIXING_VARIANTS`. Values at padding are meaningless."""
    weights = layer.weights
    by_weight = 1 - layer.alpha.diagonal(dim1=-2, dim2=-1).mean(1)  # over heads
    # The projection `moving` takes what heads have summed up of value vectors to what attention adds to a token: mixed
    # in from other tokens, or from the token itself.
    context_from_itself = layer.context_from_itself()
    mixed = (layer.moved_context - context_from_itself) @ weights.moving
    from_itself = context_from_itself @ weights.moving
    # The residual connection has as much weight as attention: 1 − (α_ii + 1) / 2 is half of 1 − α_ii.
    ratios = {"attn-w": by_weight, "attnres-w": by_weight / 2, "attn-n": _ratio(mixed, from_itself)}
    kept = from_itself + layer.x  # with the residual connection
    ratios["attnres-n"] = _ratio(mixed, kept)
    if weights.parallel:  # all that the feed-forward block adds comes from the token itself
        ratios["attnresln-n"] = ratios["attnres-n"]
        ratios["atbff-n"] = torch.zeros_like(by_weight)
        ratios |= dict.fromkeys(("atbffres-n", "atbffresln-n"), _ratio(mixed, kept + layer.ff_from_itself))
        return ratios
    mixed_stages, kept_stages = _stages(layer, mixed), _stages(layer, kept)
    for name in ("attnresln-n", "atbff-n", "atbffres-n", "atbffresln-n"):
        ratios[name] = _ratio(mixed_stages[name], kept_stages[name])
    return ratios


def _ratio(mixed: Float[Tensor, "batch n dim"], preserved: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch n"]:
    """Compute ``M / (M + P)`` from the sum of what comes from other tokens and what comes from the token itself."""
    m, p = mixed.norm(dim=-1), preserved.norm(dim=-1)
    ratio: Tensor = m / (m + p)
    return ratio


def _stages(layer: Layer, part: Float[Tensor, "batch n dim"]) -> dict[str, Float[Tensor, "batch n dim"]]:
    """Follow a part of each token's sum through layer norm, feed-forward block, residual and second layer norm."""
    weights = layer.weights
    normed = weights.linear_norm(part) * layer.scale
    units = [slope * (normed @ w) for slope, (w, _) in zip(layer.slopes, weights.ff_in, strict=True)]
    through = layer.scaled_ff(weights.out_of_units(units))
    whole = through + (part if weights.pre_norm else normed)
    last = whole if weights.norm_out is None else weights.norm_out.linear(whole) * layer.scale_out
    return {"attnresln-n": normed, "atbff-n": through, "atbffres-n": whole, "atbffresln-n": last}
