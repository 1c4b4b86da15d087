"""How much a loss depends on each attention weight: |∂L/∂α| (Clark et al. 2019, §3.2, Figure 3).

The paper's code for this was not published. What it leaves open is chosen here: 15 % of the pieces are masked, each
sentence's loss is the mean over its masked pieces, and the gradient is taken with respect to each weight with all
others held as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.errors import out_of_memory
from attentionology.extractors.errors import ModelError
from attentionology.extractors.maps.batch_line import batch_line
from attentionology.extractors.maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong
from attentionology.extractors.maps.extraction import extract_many
from attentionology.extractors.maps.shared_pass import SharedBatch
from attentionology.extractors.model.conditions import check_full_attention, switch_to_eager
from attentionology.extractors.model.encoder import Encoder, model_inputs
from attentionology.extractors.tokens.masking import check_masking, mask_pieces
from attentionology.extractors.tokens.pieces import Pieces

GradientLoss = Literal["mlm", "hidden"]

MASK_RATE = 0.15
"""Share of pieces that are masked, as in the pre-training of BERT."""


@dataclass(frozen=True, eq=False, repr=False)
class GradientBatch:
    """Gradients of a padded batch at token level.

    Attributes:
        gradients: |∂L/∂α|, shape (batch, layers, heads, n, n), 0 outside the sentence.
        alpha: the attention weights of the same pass.
        classes: index into `extractors.TOKEN_CLASSES`, −1 on padding; shape (batch, n). Masked pieces are [MASK].
        losses: L of each sentence.
        sentences: the sentences.
    """

    gradients: Float[Tensor, "batch layers heads n n"]
    alpha: Float[Tensor, "batch layers heads n n"]
    classes: Int[Tensor, "batch n"]
    losses: Float[Tensor, " batch"]
    sentences: tuple[Sentence, ...]

    def __repr__(self) -> str:
        return batch_line(self, ["token level"], self.sentences, self.gradients)


def extract_gradients(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    loss: GradientLoss,
    *,
    masked_lm: Any = None,
    mask_rate: float = MASK_RATE,
    seed: int = 0,
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
) -> Iterator[GradientBatch]:
    """Gradients of all sentences; costs about three forward passes.

    Losses, each the mean over the masked pieces of a sentence:

    * ``"mlm"``: cross-entropy of the piece that stood there, the loss that BERT was trained with;
    * ``"hidden"``: squared distance of the final hidden states to those of the same sentence without masks, mean over
      components. It asks the same, what the model makes of a gap, of a model without a masked-LM head.

    Args:
        encoder, sentences, batch_cells, too_long, max_length, log: as for `attentionology.extractors.extract`.
        loss: one of these, to be chosen knowingly.
        masked_lm: the same model with its head, see `attentionology.extractors.load_masked_lm`; for ``"mlm"`` only. It
            is switched to eager attention where it gives no weights otherwise.
        mask_rate: probability of a piece to be masked; one per sentence is at least.
        seed: of the masks; they depend on the sentence's id and the seed alone.

    Raises:
        ValueError: a bad option, or no head for ``"mlm"``.
        ModelError: no mask token, an output that does not depend on the attention weights the model gives, or a loss or
            gradient that is NaN or infinite.
    """
    maker = GradientMaker(loss, masked_lm, mask_rate, seed)
    check_masking(encoder, mask_rate)
    options: dict[str, Any] = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": log}
    return (batch for (batch,) in extract_many(encoder, sentences, [maker], **options))


@dataclass(frozen=True)
class GradientMaker:
    """Makes a `GradientBatch`; the fields are the arguments of `extract_gradients`.

    It reads the model itself, because the pass of the other makers keeps no graph.

    Raises:
        ValueError: a bad option, or no head for ``"mlm"``.
    """

    loss: GradientLoss
    masked_lm: Any = None
    mask_rate: float = MASK_RATE
    seed: int = 0

    def __post_init__(self) -> None:
        if self.loss not in get_args(GradientLoss):
            raise ValueError(f"loss must be 'mlm' or 'hidden', not {self.loss!r}")
        if self.loss == "mlm" and self.masked_lm is None:
            raise ValueError("the masked-LM loss needs a model with a masked-LM head")
        if not 0 < self.mask_rate <= 1:
            raise ValueError(f"mask_rate must be above 0 and at most 1, not {self.mask_rate}")

    @property
    def reads_weights(self) -> bool:
        """It does not: the gradient is that of the attention weights."""
        return False

    def of(self, batch: SharedBatch) -> GradientBatch:
        """The gradients of a batch.

        Raises:
            ModelError: the output does not depend on the attention weights that the model gives, or a loss or gradient
                is NaN or infinite.
        """
        encoder, pairs = batch.encoder, list(zip(batch.sentences, batch.pieces, strict=True))
        model = self.masked_lm.to(encoder.device).eval() if self.loss == "mlm" else encoder.model
        return _gradient_batch(encoder, model, pairs, self.loss, self.mask_rate, self.seed)


def _gradient_batch(
    encoder: Encoder, model: Any, batch: Sequence[tuple[Sentence, Pieces]], loss: GradientLoss, rate: float, seed: int
) -> GradientBatch:
    clean = [pieces for _, pieces in batch]
    drawn = [mask_pieces(encoder, p, rate, f"{seed} {s.id}", one_at_least=True) for s, p in batch]
    masked = [pieces for pieces, _ in drawn]
    targets, mask = encoder.pad(clean)
    hit = torch.zeros_like(mask)
    for row, (_, places) in enumerate(drawn):
        hit[row, places] = True
    with torch.enable_grad():
        output = _read(encoder, model, masked)
        if not output.attentions and switch_to_eager(model):
            output = _read(encoder, model, masked)
        check_full_attention(model, output.attentions or (), tuple(hit.shape), encoder.name or encoder.family)
        if loss == "mlm":
            logits = output.logits
            errors = functional.cross_entropy(logits[hit], targets[hit], reduction="none")
        else:
            with torch.no_grad():
                aim = _read(encoder, model, clean)[0]
            errors = (output[0] - aim)[hit].square().mean(-1)
        by_piece = errors.new_zeros(hit.shape).masked_scatter(hit, errors)
        losses = by_piece.sum(1) / hit.sum(1).clamp(min=1)
        attentions = tuple(output.attentions)
        try:
            gradients = torch.autograd.grad(losses.sum(), attentions)
        except RuntimeError as error:
            if out_of_memory(error):
                raise
            raise ModelError(
                f"{encoder.name or encoder.family}: its output does not depend on the attention weights that it "
                f"gives, so there is no gradient ({str(error).split('. ', 1)[0]})"
            ) from error
    inside = mask[:, None, None, :, None] & mask[:, None, None, None, :]
    by_weight = torch.stack(gradients, dim=1).abs_().masked_fill_(~inside, 0)
    finite = losses.isfinite() & by_weight.flatten(1).isfinite().all(1)
    if not finite.all():
        sentence = batch[int(finite.logical_not().nonzero()[0])][0]
        what = "gradients are" if losses.isfinite().all() else "loss is"
        raise ModelError(
            f"{encoder.name or encoder.family}: the {loss!r} {what} NaN or infinite, first for the sentence "
            f"{sentence.id!r}; what the model computes after its attention cannot be used"
        )
    return GradientBatch(
        gradients=by_weight,
        alpha=torch.stack([alpha.detach() for alpha in attentions], dim=1),
        classes=encoder.classes(masked),
        losses=losses.detach(),
        sentences=tuple(sentence for sentence, _ in batch),
    )


def _read(encoder: Encoder, model: Any, pieces: Sequence[Pieces]) -> Any:
    inputs = model_inputs(*encoder.pad(pieces), encoder.segment_ids(pieces))
    # With all parameters frozen nothing would be recorded; a graph can always begin at the embedded words.
    start = model.get_input_embeddings().register_forward_hook(
        lambda _module, _inputs, embedded: embedded if embedded.requires_grad else embedded.requires_grad_()
    )
    try:
        return model(**inputs)
    finally:
        start.remove()
