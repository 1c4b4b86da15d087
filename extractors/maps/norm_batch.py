"""What the analyses of norms need to know about a batch beside maps: tokens, value norms, mixing ratios."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentionology.corpora_loaders import Sentence
from attentionology.extractors.kinds.attention_block import attnres, attnresln, value_norms
from attentionology.extractors.kinds.feed_forward import FF_KINDS, feed_forward_norms
from attentionology.extractors.kinds.mixing import MIXING_VARIANTS, mixing_ratios
from attentionology.extractors.layers import FFBias
from attentionology.extractors.maps.attention_checks import check_attention
from attentionology.extractors.maps.batch_line import batch_line
from attentionology.extractors.maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong
from attentionology.extractors.maps.extraction import extract_many
from attentionology.extractors.maps.shared_pass import SharedBatch
from attentionology.extractors.model.encoder import Encoder


@dataclass(frozen=True, eq=False, repr=False)
class NormBatch:
    """Token-level quantities of a padded batch; padding holds garbage where nothing else is said.

    Attributes:
        alpha: attention weights, shape (batch, layers, heads, n, n).
        value_norms: ‖f(x)‖, shape (batch, layers, heads, n).
        ratios: mixing ratios, shape (batch, variants, layers, n), variants as in `MIXING_VARIANTS`.
        lengths: pieces of each sentence.
        ids: vocabulary ids; shape (batch, n).
        classes: index into `TOKEN_CLASSES`, −1 on padding; shape (batch, n).
        sentences: the sentences.
    """

    alpha: Float[Tensor, "batch layers heads n n"]
    value_norms: Float[Tensor, "batch layers heads n"]
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
        """What each query counts in a mean over the queries of its sentence: 1/n, 0 on padding."""
        return self.mask.to(self.alpha) / self.lengths.to(self.alpha.device)[:, None]

    @functools.cached_property
    def received(self) -> Float[Tensor, "batch layers heads n"]:
        """The attention weight that each piece gets, mean over queries."""
        return torch.einsum("blhij,bi->blhj", self.alpha, self.rows)


@dataclass(frozen=True, eq=False, repr=False)
class StageBatch:
    """Maps before, between and after the components of the feed-forward block, for a padded batch at token level.

    Attributes:
        maps: shape (batch, layers, stages, n, n), 0 outside the sentence.
        components: what lies between one stage and the next, FF, RES and LN in the architecture's order.
        lengths: pieces of each sentence.
        classes: as in `NormBatch`.
        labels: for each sentence its pieces.
        sentences: the sentences.
    """

    maps: Float[Tensor, "batch layers stages n n"]
    components: tuple[str, ...]
    lengths: Int[Tensor, " batch"]
    classes: Int[Tensor, "batch n"]
    labels: tuple[tuple[str, ...], ...]
    sentences: tuple[Sentence, ...]

    def __repr__(self) -> str:
        return batch_line(self, ["token level", "→".join(self.components)], self.sentences, self.maps)


def extract_norms(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    *,
    mask_rate: float = 0.0,
    seed: int = 0,
    ff_bias: FFBias = "input",
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
) -> Iterator[NormBatch]:
    """Value norms and mixing ratios of all sentences.

    Args:
        encoder, sentences, ff_bias, batch_cells, too_long, max_length, log: as for `attentionology.extractors.extract`.
        mask_rate: share of the pieces of words that are replaced by the mask token, each by its own draw from a
            generator that the sentence's id and the seed determine (Kobayashi et al. 2021 mask 12 %).
        seed: of the masking.

    Raises:
        ValueError: a rate outside 0 … 1.
        ModelError: nothing to mask with; or as for `attentionology.extractors.extract`.
    """
    masking: dict[str, Any] = {"mask_rate": mask_rate, "seed": seed}
    options: dict[str, Any] = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": log}
    for (batch,) in extract_many(encoder, sentences, [NormMaker(ff_bias)], **masking, **options):
        yield batch


@dataclass(frozen=True)
class NormMaker:
    """Makes a `NormBatch` of a forward pass; the field is the argument of `extract_norms`."""

    ff_bias: FFBias = "input"

    @property
    def reads_weights(self) -> bool:
        """It does: values and mixing ratios are recomputed from the weights."""
        return True

    @torch.inference_mode()
    def of(self, batch: SharedBatch) -> NormBatch:
        """Value norms and mixing ratios of a batch."""
        forward, encoder, pieces = batch.forward, batch.encoder, batch.pieces
        check_attention(forward, encoder)
        norms, ratios = [], []
        for layer in forward.layers(ff_bias=self.ff_bias):
            norms.append(value_norms(layer))
            by_variant = mixing_ratios(layer)
            ratios.append(torch.stack([by_variant[variant] for variant in MIXING_VARIANTS], dim=1))
        return NormBatch(
            alpha=torch.stack(forward.attentions, dim=1),
            value_norms=torch.stack(norms, dim=1),
            ratios=torch.stack(ratios, dim=2),
            lengths=torch.tensor([len(p) for p in pieces]),
            ids=encoder.pad(pieces)[0].cpu(),
            classes=encoder.classes(pieces),
            sentences=batch.sentences,
        )


def extract_stages(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    *,
    ff_bias: FFBias = "input",
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
) -> Iterator[StageBatch]:
    """Maps around the feed-forward block of all sentences; tens of times the cost of the forward pass.

    Arguments and errors as for `attentionology.extractors.extract`.
    """
    options: dict[str, Any] = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": log}
    for (batch,) in extract_many(encoder, sentences, [StageMaker(ff_bias)], **options):
        yield batch


@dataclass(frozen=True)
class StageMaker:
    """Makes a `StageBatch` of a forward pass; the field is the argument of `extract_stages`."""

    ff_bias: FFBias = "input"

    @property
    def reads_weights(self) -> bool:
        """It does: the feed-forward block is followed from the weights."""
        return True

    @torch.inference_mode()
    def of(self, batch: SharedBatch) -> StageBatch:
        """Maps around the feed-forward block of a batch."""
        forward, encoder, pieces = batch.forward, batch.encoder, batch.pieces
        check_attention(forward, encoder)
        by_layer, pre_norm = [], False
        for layer in forward.layers(ff_bias=self.ff_bias):
            pre_norm = layer.weights.pre_norm
            through = feed_forward_norms(layer)
            before = [attnres(layer), attnresln(layer)] if pre_norm else [attnresln(layer)]
            after = FF_KINDS[:2] if pre_norm else FF_KINDS
            by_layer.append(torch.cat([*before, *(through[kind] for kind in after)], dim=1))
        inside = forward.mask[:, None, None, :, None] & forward.mask[:, None, None, None, :]
        return StageBatch(
            maps=torch.stack(by_layer, dim=1).masked_fill(~inside, 0),
            components=("LN", "FF", "RES") if pre_norm else ("FF", "RES", "LN"),
            lengths=torch.tensor([len(p) for p in pieces]),
            classes=encoder.classes(pieces),
            labels=tuple(tuple(p.tokens) for p in pieces),
            sentences=batch.sentences,
        )
