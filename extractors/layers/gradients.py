"""Gradients of a loss with respect to attention weights, in one backward pass, and the check that they can be trusted.

Gradients come from autograd, so they need no row of names. What autograd cannot know is whether the attention weights
that a model gives are those by which it sums up its values; a model may also give a copy, or weights that it changes
afterwards. The first is an error of autograd. For the second, every row is checked: by the chain rule, the products of
its weights and their gradients add up to the product of the sum of values, which the output projection reads, and the
gradient of that sum (`check_gradients`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ...corpora_loaders.errors import out_of_memory
from ..errors import ModelError
from .architectures import ARCHITECTURES
from .attention_weights import find_modules
from .verification import TOLERANCE, Recorder
from .weights import layer_modules

TextLoss = Callable[[Float[Tensor, "batch n dim"], Bool[Tensor, "batch n"]], Float[Tensor, " batch"]]
"""Computes one number for each text of a padded batch, from the final hidden states and the mask that is True where
there is a piece. It is what is differentiated, whether a model was trained with it or not."""


@contextmanager
def keeping_graph(model: Any) -> Iterator[Recorder]:
    """Let forward passes keep a graph from the embedded words on, and record what output projections of attention read.

    Nothing is recorded if the family of the model has no row of names, or if its row does not fit.
    """
    names = ARCHITECTURES.get(str(model.config.model_type))
    layers = layer_modules(model) if names and names.layers else []
    projections: list[Any] = [next(find_modules(layer, names.output), None) for layer in layers] if names else []
    with ExitStack() as stack:
        # The caller may be in inference mode, in which no graph can be kept.
        stack.enter_context(torch.inference_mode(mode=False))
        stack.enter_context(torch.enable_grad())
        # If all parameters are frozen, no graph is recorded. It can always begin at the embedded words.
        stack.enter_context(model.get_input_embeddings().register_forward_hook(_require_gradient))
        fits = all(isinstance(projection, nn.Module) for projection in projections)
        yield stack.enter_context(Recorder(projections if fits else []))


def _require_gradient(_module: nn.Module, _inputs: Any, embedded: Any) -> None:
    vectors = embedded if isinstance(embedded, Tensor) else embedded[0]  # I-BERT's table also returns a scale
    if not vectors.requires_grad:
        vectors.requires_grad_()


def gradients_of(
    loss: Float[Tensor, " batch"], tensors: Sequence[Tensor], label: str, *, keep_graph: bool = False
) -> tuple[Tensor, ...]:
    """Compute the gradients of the loss of each text with respect to tensors, such as the attention of layers.

    Raises:
        ModelError: the loss does not depend on one of the tensors.
    """
    try:
        # The texts of a batch do not see one another, so that the gradient of the sum has that of each.
        return torch.autograd.grad(loss.sum(), tensors, retain_graph=keep_graph)
    except RuntimeError as error:
        if out_of_memory(error):
            raise
        raise ModelError(
            f"{label}: its output does not depend on the attention weights that it gives, so there is no gradient "
            f"({str(error).split('. ', 1)[0]})"
        ) from error


def attention_gradients(
    losses: Mapping[TextLoss, Float[Tensor, " batch"]],
    attentions: Sequence[Float[Tensor, "batch heads n n"]],
    mask: Bool[Tensor, "batch n"],
    contexts: Sequence[Any],
    label: str,
) -> dict[TextLoss, list[Float[Tensor, "batch heads n n"]]]:
    """Compute and check the gradients of losses with respect to the attention weights of each layer.

    They are 0 where no attention goes: on padding, in the future of a causal model, and outside of a window.

    Args:
        losses: the values of each loss for the texts of a batch.
        attentions: the attention weights in the graph of the losses.
        mask: True where there is a piece.
        contexts: what the output projections read, as recorded by `keeping_graph`.
        label: what messages call the model.

    Raises:
        ModelError: a loss or a gradient is NaN or infinite, or is not that of the weights by which values are summed.
    """
    # Where a module was called with other arguments than those that are recorded, there is nothing to compare with.
    checked = len(contexts) == len(attentions) and all(isinstance(context, Tensor) for context in contexts)
    read = list(contexts) if checked else []
    inside = mask[:, None, :, None] & mask[:, None, None, :]
    results: dict[TextLoss, list[Tensor]] = {}
    for loss, values in losses.items():
        keep_graph = len(results) + 1 < len(losses)
        found = gradients_of(values, [*attentions, *read], label, keep_graph=keep_graph)
        gradients, of_contexts = found[: len(attentions)], found[len(attentions) :]
        with torch.no_grad():
            for alpha, gradient in zip(attentions, gradients, strict=True):
                gradient.masked_fill_(~inside | (alpha == 0), 0)
            if not all(bool(tensor.isfinite().all()) for tensor in (values, *gradients)):
                raise ModelError(f"{label}: a loss or its gradient with respect to attention is NaN or infinite")
            if checked:
                layers = zip(attentions, gradients, read, of_contexts, strict=True)
                for number, layer in enumerate(layers, start=1):
                    check_gradients(*layer, mask, f"{label}: layer {number}")
        results[loss] = list(gradients)
    return results


def check_gradients(
    alpha: Float[Tensor, "batch heads n n"],
    gradient: Float[Tensor, "batch heads n n"],
    context: Float[Tensor, "*rows inner"],
    of_context: Float[Tensor, "*rows inner"],
    mask: Bool[Tensor, "batch n"],
    where: str,
) -> None:
    """Raise `ModelError` unless ``Σ_j α_ij ∂L/∂α_ij = ⟨c_i, ∂L/∂c_i⟩`` for the sum of values ``c_i = Σ_j α_ij v_j``."""
    batch, heads, n, _ = alpha.shape
    by_key = alpha * gradient
    by_unit = (context * of_context).reshape(batch, n, heads, -1).transpose(1, 2)
    # Terms of both signs may nearly cancel, so that errors are compared with the sizes of the terms.
    error = (by_key.sum(-1) - by_unit.sum(-1)).abs()
    size = by_key.abs().sum(-1) + by_unit.abs().sum(-1)
    wrong = (error > TOLERANCE * size) & mask[:, None]
    if bool(wrong.any()):
        difference = float((error / size)[wrong].max())
        raise ModelError(
            f"{where}: the attention weights that the model gives are not those by which it sums up values (their "
            f"gradients differ by {difference:.1%}), so kinds of maps that read gradients cannot be trusted"
        )
