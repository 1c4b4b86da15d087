"""The conditions under which a model's attention to a sentence does not depend on anything else.

A few architectures do not respect the attention mask everywhere (the convolutions of ConvBERT, the landmarks of
Nyströmformer), so that padding changes the map of a sentence, a little and without an error. No list of them would stay
complete, so every model is tried when it is loaded, and if need be reads only inputs of equal lengths together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from torch import Tensor

from ..errors import ModelError, cause
from .checkpoint import untrained_weights
from .loading import quiet

Batching = Literal["padded", "equal lengths", "one by one"]
"""Which sentences a model may read together: any, only those of the same number of pieces, or none."""

SAME = 1e-5
"""The largest difference of attention that counts as rounding."""


def check_vocabulary(model: Any, tokenizer: Any, name: str) -> None:
    """Check that the model has an embedding for every piece of the tokenizer."""
    try:
        table = model.get_input_embeddings()
        size = table.num_embeddings if hasattr(table, "num_embeddings") else len(table.weight)
    except (NotImplementedError, AttributeError, TypeError) as error:
        raise ModelError(f"{name}: it has no table of embeddings of pieces ({cause(error)})") from error
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= size:
        raise ModelError(
            f"{name}: the tokenizer has ids up to {largest}, the model only {size} embeddings; they do not match"
        )


def max_length(model: Any) -> int | None:
    """Return the limit that the position embeddings set to the length of inputs."""
    limit = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit <= 0:
        return None
    # RoBERTa-like models count positions from after the padding index, so they take fewer pieces than there are rows.
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return limit - int(module.padding_idx) - 1
    return limit


def longest_input(model: Any) -> int | None:
    """Return the length up to which a model shows the attention that it was trained with; None if there is no limit."""
    limits = (max_length(model), _full_attention_limit(model))
    return min((limit for limit in limits if limit is not None), default=None)


def attend_fully(model: Any) -> None:
    """Switch a model that attends to long inputs in blocks to full attention, as its first short input would do."""
    if _full_attention_limit(model) is not None and hasattr(model, "set_attention_type"):
        model.set_attention_type("original_full")


def switch_to_eager(model: Any) -> bool:
    """Switch a model to eager attention, and return whether it had another; whether it gives weights is not checked."""
    if getattr(model.config, "_attn_implementation", "eager") == "eager":
        return False
    with quiet():
        try:
            model.set_attn_implementation("eager")
        except (AttributeError, ValueError, NotImplementedError, ImportError):
            return False
    return bool(model.config._attn_implementation == "eager")  # models that cannot be switched only log a warning


def has_sinks(model: Any) -> bool:
    """Whether heads of a model have learned sinks."""
    return any(name.endswith(".sinks") for name, _ in model.named_parameters())


def conditions_of(model: Any, batching: Batching) -> list[str]:
    """Say what a user should know about how a model is read, a sentence or two each."""
    conditions = untrained_weights(model)
    if (limit := _full_attention_limit(model)) is not None:
        conditions.append(
            f"This model attends fully to inputs of at most {limit} pieces, and in blocks to longer ones "
            '(attention_type: block_sparse). Longer inputs are skipped; with "attention_type": "original_full" in its '
            "config.json the model attends fully to all."
        )
    if has_sinks(model):
        conditions.append(
            "Heads of this model have learned sinks, which take a share of the attention and are no position, so that "
            "rows of attention sum to less than 1."
        )
    if batching != "padded":
        together = {"equal lengths": "only inputs of the same number of pieces", "one by one": "no two inputs"}
        conditions.append(
            f"The attention of this model changes with the padding beside an input, so {together[batching]} are read "
            "together. This is slower, and the results do not depend on it."
        )
    return conditions


def check_full_attention(
    model: Any,
    attentions: Sequence[Tensor | None],
    shape: tuple[int, ...],
    name: str,
    n_layers: int | None = None,
    what: str = "attention",
) -> None:
    """Check that every layer gave one matrix per head.

    The shape has the numbers of inputs, of rows, and of columns if there are not as many. The number of layers is that
    of the model if it is not given.
    """
    layers = model.config.num_hidden_layers if n_layers is None else n_layers
    if len(attentions) != layers or not layers:
        raise ModelError(
            f"{name}: {len(attentions)} of {layers} layers gave {what} weights; either {model.config.model_type!r} "
            "models do not return them, or this one was not loaded with attn_implementation='eager'"
        )
    inputs, rows, columns = (*shape, shape[-1])[:3]
    heads = {None if alpha is None else alpha.shape[1] for alpha in attentions}
    for layer, alpha in enumerate(attentions, start=1):
        if alpha is None or len(heads) > 1 or tuple(alpha.shape) != (inputs, *heads, rows, columns):
            actual = None if alpha is None else tuple(alpha.shape)
            raise ModelError(
                f"{name}: layer {layer} gave {what} of shape {actual} for {inputs} inputs of {columns} pieces; only "
                "full attention matrices with the same number of heads in every layer can be analyzed"
            )


def same_attention(first: Sequence[Sequence[Tensor]], second: Sequence[Sequence[Tensor]], most: float = SAME) -> bool:
    """Whether inputs have the same attention in two passes, layer by layer, up to rounding and without NaN."""
    return all(
        bool(((alpha - beta).abs() <= most).all())
        for alphas, betas in zip(first, second, strict=True)
        for alpha, beta in zip(alphas, betas, strict=True)
    )


def _full_attention_limit(model: Any) -> int | None:
    """Return the length up to which a model attends fully that attends to longer inputs in blocks; None for others."""
    # BigBird and BigBird-Pegasus switch from block_sparse to full attention at the first input of at most that length
    # and then keep it, so what they show of longer inputs is not the attention that they were trained with.
    config = model.config
    if getattr(config, "attention_type", None) != "block_sparse":
        return None
    return int((5 + 2 * config.num_random_blocks) * config.block_size)
