"""How much a loss depends on each attention weight: |∂L/∂α| (Clark et al. 2019, §3.2, Figure 3).

The paper's code for this was not published. Three choices that it leaves open are made here: 15 % of the pieces are
masked, the loss of a sentence is the mean over its masked pieces, and the gradient with respect to each weight is taken
with all other weights held fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from ...corpora_loaders import Sentence
from ...storage.nearest import check_choice
from ..errors import ModelError
from ..layers.gradients import gradients_of, keeping_graph
from ..model.conditions import check_full_attention, switch_to_eager
from ..model.encoder import Encoder
from ..model.forward_pass import model_inputs
from ..tokens.pieces import Pieces
from .map_batch import batch_line
from .shared_pass import SharedBatch, check_masking, mask_batch

GradientLoss = Literal["mlm", "hidden"]
"""What is differentiated: the loss of masked language modeling, or the change of the last hidden states by masks."""

MASK_RATE = 0.15
"""The share of pieces that are masked, as in the pre-training of BERT."""


@dataclass(frozen=True, eq=False, repr=False)
class GradientBatch:
    """Gradients of a padded batch at token level.

    Attributes:
        gradients: the absolute values of ∂L/∂α, shape (batch, layers, heads, n, n), 0 outside the sentence.
        alpha: the attention weights of the same pass.
        classes: index into `extractors.TOKEN_CLASSES`, −1 on padding; shape (batch, n). Masked pieces are [MASK].
        losses: L of each sentence.
        sentences: the sentences.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import GradientMaker, extract_many
        >>> sentences = [Sentence.from_text("Cats sleep.")]
        >>> [(batch,)] = extract_many(load_encoder("demo"), sentences, [GradientMaker("hidden")])
        >>> batch
        GradientBatch(token level, 1 sentence, shape (1, 6, 12, 5, 5))
        >>> batch.gradients.shape == batch.alpha.shape
        True
    """

    gradients: Float[Tensor, "batch layers heads n n"]
    alpha: Float[Tensor, "batch layers heads n n"]
    classes: Int[Tensor, "batch n"]
    losses: Float[Tensor, " batch"]
    sentences: tuple[Sentence, ...]

    def __repr__(self) -> str:
        return batch_line(self, ["token level"], self.sentences, self.gradients)


@dataclass(frozen=True)
class GradientMaker:
    """Makes a `GradientBatch`, at the cost of about three forward passes.

    It runs the model itself, because the pass that other makers share keeps no computational graph. There are two
    losses, each the mean over the masked pieces of a sentence:

    * ``"mlm"`` is the cross-entropy of the piece that was masked, the loss that BERT was trained with.
    * ``"hidden"`` is the squared distance of the final hidden states to those of the same sentence without masks, the
      mean over components. It asks what a model without a masked-LM head makes of a gap.

    Attributes:
        loss: the name of the loss.
        masked_lm: the same model with its head, see `attentionology.extractors.load_masked_lm`; only for ``"mlm"``. It
            is switched to eager attention if it gives no weights otherwise.
        mask_rate: the probability that a piece is masked. At least one piece of every sentence is.
        seed: the seed of the masks, which depend on it and on the sentence's id alone.

    Raises:
        ValueError: an option has a value that cannot be used, or there is no head for ``"mlm"``.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import GradientMaker, extract_many
        >>> sentences = [Sentence.from_text("Cats sleep all day.")]
        >>> for (batch,) in extract_many(load_encoder("demo"), sentences, [GradientMaker("hidden", seed=1)]):
        ...     print(batch.losses.shape, bool((batch.gradients >= 0).all()))
        torch.Size([1]) True
    """

    reads_weights: ClassVar[bool] = False

    loss: GradientLoss
    masked_lm: Any = None
    mask_rate: float = MASK_RATE
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("loss", self.loss, GradientLoss)
        if self.loss == "mlm" and self.masked_lm is None:
            raise ValueError("the masked-LM loss needs a model with a masked-LM head")
        if not 0 < self.mask_rate <= 1:
            raise ValueError(f"mask_rate must be above 0 and at most 1, not {self.mask_rate}")

    def of(self, batch: SharedBatch) -> GradientBatch:
        """Compute the gradients of a batch.

        Raises:
            ModelError: there is no mask token, the output does not depend on the attention weights that the model
                gives, or a loss or gradient is NaN or infinite.
        """
        encoder = batch.encoder
        check_masking(encoder, self.mask_rate)
        ids, mask = encoder.pad(batch.pieces)
        is_masked = torch.zeros_like(mask)
        masked: list[Pieces] = []
        for row, (pieces, indices) in enumerate(mask_batch(batch, self.mask_rate, self.seed)):
            masked.append(pieces)
            is_masked[row, indices] = True
        model = self.masked_lm.to(encoder.device).eval() if self.loss == "mlm" else encoder.model
        with keeping_graph(model):
            losses, attentions = self._losses(batch, model, masked, is_masked, ids)
            gradients = gradients_of(losses, attentions, encoder.label)
        inside = mask[:, None, None, :, None] & mask[:, None, None, None, :]
        absolute_gradients = torch.stack(gradients, dim=1).abs_().masked_fill_(~inside, 0)
        is_finite = losses.isfinite() & absolute_gradients.flatten(1).isfinite().all(1)  # by sentence
        if not is_finite.all():
            sentence = batch.sentences[int(is_finite.logical_not().nonzero()[0])]
            culprit = "gradients are" if losses.isfinite().all() else "loss is"
            raise ModelError(
                f"{encoder.label}: the {self.loss!r} {culprit} NaN or infinite, first for the sentence "
                f"{sentence.id!r}; what the model computes after its attention cannot be used"
            )
        return GradientBatch(
            gradients=absolute_gradients,
            alpha=torch.stack([alpha.detach() for alpha in attentions], dim=1),
            classes=encoder.classes(masked),
            losses=losses.detach(),
            sentences=batch.sentences,
        )

    def _losses(
        self,
        batch: SharedBatch,
        model: Any,
        masked: Sequence[Pieces],
        is_masked: Bool[Tensor, "batch n"],
        targets: Int[Tensor, "batch n"],
    ) -> tuple[Float[Tensor, " batch"], tuple[Tensor, ...]]:
        """Read masked pieces, and return the loss of each sentence and the attention of each layer."""
        encoder = batch.encoder
        output = _read(encoder, model, masked)
        if not output.attentions and switch_to_eager(model):
            output = _read(encoder, model, masked)
        check_full_attention(model, output.attentions or (), tuple(is_masked.shape), encoder.label)
        if self.loss == "mlm":
            errors = functional.cross_entropy(output.logits[is_masked], targets[is_masked], reduction="none")
        else:
            with torch.no_grad():
                unmasked = _read(encoder, model, batch.pieces)[0]
            errors = (output[0] - unmasked)[is_masked].square().mean(-1)
        by_piece = errors.new_zeros(is_masked.shape).masked_scatter(is_masked, errors)  # 0 where nothing is masked
        return by_piece.sum(1) / is_masked.sum(1).clamp(min=1), tuple(output.attentions)


def _read(encoder: Encoder, model: Any, pieces: Sequence[Pieces]) -> Any:
    """Return the output of a model for a batch."""
    return model(**model_inputs(*encoder.pad(pieces), encoder.segment_ids(pieces)))
