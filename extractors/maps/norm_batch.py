"""What the analysis of norms needs to know of a batch besides maps: tokens, value norms, mixing ratios."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...corpora_loaders import Sentence
from ..kinds.attention_block import value_norms
from ..kinds.mixing import MIXING_VARIANTS, mixing_ratios
from ..layers import FFBias
from .attention_checks import check_attention
from .map_batch import batch_line
from .shared_pass import SharedBatch


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
        >>> from attentionology.extractors import extract_many
        >>> from attentionology.extractors import NormMaker
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
        >>> from attentionology.extractors import extract_many
        >>> from attentionology.extractors import MIXING_VARIANTS, NormMaker
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
        norms, inputs, ratios = [], [], []
        for layer in forward.layers(ff_bias=self.ff_bias):
            norms.append(value_norms(layer))
            inputs.append(layer.x.norm(dim=-1))
            by_variant = mixing_ratios(layer)
            ratios.append(torch.stack([by_variant[variant] for variant in MIXING_VARIANTS], dim=1))
        return NormBatch(
            alpha=torch.stack(list(forward.attentions), dim=1),
            value_norms=torch.stack(norms, dim=1),
            input_norms=torch.stack(inputs, dim=1),
            ratios=torch.stack(ratios, dim=2),
            lengths=torch.tensor([len(p) for p in pieces]),
            ids=encoder.pad(pieces)[0].cpu(),
            classes=encoder.classes(pieces),
            sentences=batch.sentences,
        )
