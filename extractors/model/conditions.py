"""Under which conditions a model's attention to a sentence is that of the sentence alone: beside what, and how long.

Sentences are read in batches, padded to the longest. A few architectures do not respect the attention mask everywhere
(convolutions of ConvBERT, the landmarks of Nyströmformer), so that what stands beside a sentence would change its map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from torch import Tensor

from attentionology.corpora_loaders import Sentence
from attentionology.extractors.errors import ModelError, cause
from attentionology.extractors.model.loading import max_length, quiet
from attentionology.extractors.tokens.pieces import Pieces

if TYPE_CHECKING:
    from attentionology.extractors.model.encoder import Encoder

T = TypeVar("T")

Batching = Literal["padded", "equal lengths", "one by one"]
"""Which sentences a model may read together: any, only those of the same number of pieces, or none."""

SAME = 1e-5
"""Largest difference of attention that counts as rounding."""

_LONG, _SHORT = tuple("abcdefghijkl"), ("m",)


def find_batching(encoder: Encoder) -> Batching:
    """Try which inputs can be read together without changing each other's attention.

    Costs four forward passes over two short inputs, and two more where padding matters.

    Raises:
        ModelError: attention is not finite, or the same input gives other attention each time.
    """
    sentences = [Sentence(id=words[0], words=words) for words in (_LONG, _SHORT)]
    aligned = [pieces for pieces in encoder.align(sentences) if isinstance(pieces, Pieces)]
    if len(aligned) < len(sentences):
        return "one by one"
    long, short = (replace(pieces, ids=pieces.ids[: encoder.max_length]) for pieces in aligned)
    alone = [*_attention(encoder, long), *_attention(encoder, short)]
    if not all(bool(alpha.isfinite().all()) for alphas in alone for alpha in alphas):
        raise ModelError(f"{encoder.name or encoder.family}: its attention is NaN or infinite")
    if not _same(_attention(encoder, long), alone[:1]):
        raise ModelError(
            f"{encoder.name or encoder.family}: the same input gives other attention each time, so maps of this model "
            "cannot be trusted"
        )
    if _same(_attention(encoder, long, short), alone):
        return "padded"
    other = replace(long, ids=long.ids[::-1])
    singles = [alone[0], *_attention(encoder, other)]
    return "equal lengths" if _same(_attention(encoder, long, other), singles) else "one by one"


def fitting(batching: Batching, candidates: list[T], length: Callable[[T], int]) -> list[T]:
    """The first of the candidates, and those after it that may be read together with it.

    Args:
        batching: what the model can do.
        candidates: sorted by length.
        length: how many pieces a candidate has.
    """
    if batching == "one by one":
        return candidates[:1]
    if batching == "equal lengths":
        return [candidate for candidate in candidates if length(candidate) == length(candidates[0])]
    return candidates


def check_vocabulary(model: Any, tokenizer: Any, name: str) -> None:
    """The model must have an embedding for every piece of the tokenizer.

    Raises:
        ModelError: it has not, or it has no table of embeddings at all.
    """
    try:
        table = model.get_input_embeddings()
        size = table.num_embeddings if hasattr(table, "num_embeddings") else len(table.weight)
    except (NotImplementedError, AttributeError, TypeError) as error:
        raise ModelError(f"{name}: it has no table of embeddings of pieces ({cause(error)})") from error
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= size:
        raise ModelError(
            f"{name}: the tokenizer has ids up to {largest}, the model only {size} embeddings; they do not belong "
            "together"
        )


def longest_input(model: Any) -> int | None:
    """The most pieces of which a model shows the attention that it was trained with; None if there is no limit."""
    limits = (max_length(model), _full_attention_limit(model))
    return min((limit for limit in limits if limit is not None), default=None)


def attend_fully(model: Any) -> None:
    """Let a model that attends in blocks to long inputs do at once what it would do at the first short one."""
    if _full_attention_limit(model) is not None and hasattr(model, "set_attention_type"):
        model.set_attention_type("original_full")


def switch_to_eager(model: Any) -> bool:
    """Let a model with another attention implementation form its attention weights.

    Whether it then gives them is for the caller to check.

    Returns:
        whether the implementation was another one and now is eager attention.
    """
    if getattr(model.config, "_attn_implementation", "eager") == "eager":
        return False
    with quiet():
        try:
            model.set_attn_implementation("eager")
        except (AttributeError, ValueError, NotImplementedError, ImportError):
            return False
    return bool(model.config._attn_implementation == "eager")  # models that cannot be switched only log a warning


def conditions_of(model: Any, batching: Batching) -> list[str]:
    """What a user should be told of how a model is read, a sentence or two each."""
    told = []
    if (limit := _full_attention_limit(model)) is not None:
        told.append(
            f"This model attends fully to inputs of at most {limit} pieces, and in blocks to longer ones "
            '(attention_type: block_sparse). Those are not read; with "attention_type": "original_full" in its '
            "config.json the model attends fully to all."
        )
    if batching != "padded":
        together = {"equal lengths": "only inputs of the same number of pieces", "one by one": "no two inputs"}
        told.append(
            f"The attention of this model changes with the padding beside an input, so {together[batching]} are read "
            "together. This is slower, and the results do not depend on it."
        )
    return told


def check_full_attention(model: Any, attentions: Sequence[Tensor | None], shape: tuple[int, ...], name: str) -> None:
    """Every layer must have given one square matrix per head.

    Args:
        model: the model.
        attentions: of all layers.
        shape: inputs × pieces of the batch.
        name: what to call the model.

    Raises:
        ModelError: it has not.
    """
    family, layers = model.config.model_type, model.config.num_hidden_layers
    if len(attentions) != layers or not layers:
        raise ModelError(
            f"{name}: {len(attentions)} of {layers} layers gave attention weights; either {family!r} models do not "
            f"return them, or this one was not loaded with attn_implementation='eager'"
        )
    inputs, n = shape
    heads = {None if alpha is None else alpha.shape[1] for alpha in attentions}
    for layer, alpha in enumerate(attentions, start=1):
        if alpha is None or len(heads) > 1 or tuple(alpha.shape) != (inputs, *heads, n, n):
            found = None if alpha is None else tuple(alpha.shape)
            raise ModelError(
                f"{name}: layer {layer} gave attention of shape {found} for {inputs} inputs of {n} pieces; only full "
                "attention matrices with the same number of heads in every layer can be analysed"
            )


def _full_attention_limit(model: Any) -> int | None:
    """Up to how many pieces a model that attends in blocks to long inputs attends fully; None if it always does.

    BigBird and BigBird-Pegasus switch from ``block_sparse`` to full attention at the first input of at most so many
    pieces, and then keep it: what they would show of longer inputs is not the attention that they were trained with.
    """
    config = model.config
    if getattr(config, "attention_type", None) != "block_sparse":
        return None
    return int((5 + 2 * config.num_random_blocks) * config.block_size)


def _attention(encoder: Encoder, *batch: Pieces) -> list[list[Tensor]]:
    """Attention to each input of a padded batch, layer by layer, without the padding."""
    attentions = encoder.forward(batch).attentions
    return [[alpha[row, :, : len(p), : len(p)] for alpha in attentions] for row, p in enumerate(batch)]


def _same(one: Sequence[Sequence[Tensor]], other: Sequence[Sequence[Tensor]]) -> bool:
    """Whether inputs have the same attention in two passes; NaN never is."""
    return all(
        bool(((alpha - beta).abs() <= SAME).all())
        for alphas, betas in zip(one, other, strict=True)
        for alpha, beta in zip(alphas, betas, strict=True)
    )
