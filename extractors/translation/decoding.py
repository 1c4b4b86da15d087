"""What forced decoding of a padded batch of sentence pairs leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ...corpora_loaders.describing import amount
from ..errors import ModelError
from ..layers import AttentionBlock
from ..layers.cross_attention import CrossBlocks, verify_cross_attention
from ..maps.attention_checks import ROW_SUM_TOLERANCE
from ..model.conditions import SAME, Batching

SAME_IN_FLOAT64 = 1e-12
"""The largest difference between attention weights in float64 that is taken for rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class ForcedDecoding:
    """The results of one forward pass over sentence pairs.

    Attributes:
        attentions: the cross-attention α of each layer of the decoder, shape (batch, heads, target, source).
        source_mask, target_mask: True where there is a piece, False on padding.
        encoded: the output of the encoder; None if the pass kept only attention.
        outputs: what each cross-attention block gave, shape (batch, target, dim).
        blocks: the weights of the blocks; None if the pass kept only attention.

    Example:
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> from attentionology.extractors.translation import load_sample_translator
        >>> translator = load_sample_translator()
        >>> pieces = translator.align([SentencePair(id="1", words=("mä",), source=("bad",))])
        >>> translator.decode(pieces)
        ForcedDecoding(1 sentence pair, 2 source and 2 target pieces, 2 layers)
    """

    attentions: Sequence[Float[Tensor, "batch heads target source"]]
    source_mask: Bool[Tensor, "batch source"]
    target_mask: Bool[Tensor, "batch target"]
    encoded: Float[Tensor, "batch source dim"] | None = None
    outputs: Sequence[Float[Tensor, "batch target dim"]] = ()
    blocks: CrossBlocks | None = None

    def __repr__(self) -> str:
        (pairs, source), target = self.source_mask.shape, self.target_mask.shape[1]
        pieces = f"{source} source and {target} target pieces"
        layers = amount(len(self.attentions), "layers")
        return f"ForcedDecoding({amount(pairs, 'sentence pairs')}, {pieces}, {layers})"

    def layer(self, number: int) -> AttentionBlock:
        """Return the cross-attention of a layer, verified if the pass kept what it takes.

        Args:
            number: the layer, 0-based.

        Raises:
            ModelError: what is recomputed is not what the model computed.
        """
        alpha = self.attentions[number]
        if self.blocks is None:
            return AttentionBlock(alpha, self.source_mask)
        block = AttentionBlock(alpha, self.source_mask, weights=self.blocks.weights[number], x=self.encoded)
        where = f"{self.blocks.family!r} decoder layer {number + 1}"
        verify_cross_attention(block, self.outputs[number], self.target_mask, where)
        return block

    def check(self, name: str) -> None:
        """Check that every row of attention is a distribution over the pieces of its source sentence.

        Args:
            name: the name of the model, for the message.

        Raises:
            ModelError: a row is not, for example because attention falls on padding.
        """
        inside = self.source_mask.to(self.attentions[0].dtype)[:, None, :, None]
        rows = torch.stack([torch.matmul(alpha, inside).squeeze(-1).sub(1).abs().amax(1) for alpha in self.attentions])
        error = float(rows.amax(0)[self.target_mask].max())
        if not error <= ROW_SUM_TOLERANCE:
            raise ModelError(
                f"{name}: rows of cross-attention sum to 1 over their source sentence only within {error:.2g}; maps of "
                "this model cannot be trusted"
            )


def check_shapes(
    attentions: Sequence[Tensor], config: Any, shape: tuple[int, int, int], name: str, depth: int | None = None
) -> None:
    """Check that every layer of the decoder gave one matrix per head, and as many heads as the others."""
    layers = depth or getattr(config, "num_decoder_layers", None) or getattr(config, "decoder_layers", None)
    if not attentions or (layers is not None and len(attentions) != layers):
        raise ModelError(
            f"{name}: {len(attentions)} of {layers} decoder layers gave cross-attention; either {config.model_type!r} "
            "models do not return it, or this model was not loaded with attn_implementation='eager'"
        )
    pairs, target, source = shape
    expected = (pairs, attentions[0].shape[1], target, source)
    for number, alpha in enumerate(attentions, start=1):
        if tuple(alpha.shape) != expected:
            raise ModelError(
                f"{name}: layer {number} gave cross-attention of shape {tuple(alpha.shape)}, not {expected}"
            )


def find_pair_batching(name: str, together: ForcedDecoding, *alone: ForcedDecoding) -> Batching:
    """Find out whether padding changes the cross-attention of a sentence pair by more than rounding."""
    if not all(bool(alpha.isfinite().all()) for forward in alone for alpha in forward.attentions):
        raise ModelError(f"{name}: its cross-attention is NaN or infinite")
    same = SAME if together.attentions[0].dtype == torch.float32 else SAME_IN_FLOAT64
    for row, forward in enumerate(alone):
        target, source = forward.target_mask.shape[1], forward.source_mask.shape[1]
        for padded, single in zip(together.attentions, forward.attentions, strict=True):
            if not bool(((padded[row, :, :target, :source] - single[0]).abs() <= same).all()):
                return "one by one"
    return "padded"
