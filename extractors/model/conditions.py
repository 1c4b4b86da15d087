"""The conditions under which a model's attention to a sentence does not depend on anything else.

A few architectures do not respect the attention mask everywhere (ConvBERT, Nyströmformer), so that padding changes the
map of a sentence, a little and without an error. So every model is tried when it is loaded, and if need be reads only
inputs of equal lengths together. `ReadableModel` is what an encoder needs of a model at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, runtime_checkable

from torch import Tensor, nn

from ...corpora_loaders import Sentence
from ..errors import ModelError, cause
from ..tokens.pieces import Pieces
from .checkpoint import untrained_weights
from .loading import quiet

Batching = Literal["padded", "equal lengths", "one by one"]
"""Which sentences a model may read together: any, only those of the same number of pieces, or none."""

SAME = 1e-5
"""The largest difference of attention that counts as rounding."""


def missing_tokens(tokenizer: Any) -> list[str]:
    """Return a warning if the tokenizer of a model that sees all words adds no special tokens, such as [CLS] and [SEP].

    In a causal model, a token is put before each input where none is added (`begin_with`).
    """
    count = getattr(tokenizer, "num_special_tokens_to_add", None)
    if count is None or count() > 0:
        return []
    return [
        "The tokenizer adds no special tokens, such as [CLS] and [SEP], with which most such models are trained: idle "
        "attention rests on words, and the two parts of a segment or a pair are not separated. Check the tokenizer's "
        "post_processor (tokenizer.json)."
    ]


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
    inputs, rows, columns = (*shape, shape[-1])[:3]  # two numbers stand for as many columns as rows
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
        bool(((alpha - other_alpha).abs() <= most).all())
        for layers, other_layers in zip(first, second, strict=True)
        for alpha, other_alpha in zip(layers, other_layers, strict=True)
    )


def batching_of(
    align: Callable[[list[Sentence]], list[Any]],
    read: Callable[..., list[list[Tensor]]],
    max_length: int | None,
    label: str,
) -> Batching:
    """Find out by a few short passes which inputs can be read together without changing each other's attention.

    The function ``read`` returns for each input of a padded batch the attention of its layers, without the padding.
    """
    sentences = [Sentence(id=words[0], words=words) for words in (tuple("abcdefghijkl"), ("m",))]
    aligned = [pieces for pieces in align(sentences) if isinstance(pieces, Pieces)]
    if len(aligned) < len(sentences):
        return "one by one"
    long, short = (replace(pieces, ids=pieces.ids[:max_length]) for pieces in aligned)
    [long_alone], [short_alone] = read(long), read(short)
    if not all(bool(alpha.isfinite().all()) for alpha in (*long_alone, *short_alone)):
        raise ModelError(f"{label}: its attention is NaN or infinite")
    if same_attention(read(long, short), [long_alone, short_alone]):  # then it is the same each time
        return "padded"
    if not same_attention(read(long), [long_alone]):
        raise ModelError(
            f"{label}: the same input gives different attention each time, so maps of this model cannot be trusted"
        )
    reversed_ = replace(long, ids=long.ids[::-1])  # another input of the same length
    both_alone = [long_alone, *read(reversed_)]
    return "equal lengths" if same_attention(read(long, reversed_), both_alone) else "one by one"


def _full_attention_limit(model: Any) -> int | None:
    """Return the length up to which a model attends fully that attends to longer inputs in blocks; None for others."""
    # BigBird and BigBird-Pegasus switch from block_sparse to full attention at the first input of at most that length
    # and then keep it, so what they show of longer inputs is not the attention that they were trained with.
    config = model.config
    if getattr(config, "attention_type", None) != "block_sparse":
        return None
    return int((5 + 2 * config.num_random_blocks) * config.block_size)


@runtime_checkable
class ReadableModel(Protocol):
    """A `torch.nn.Module` that `attentionology.Encoder` can read: any model of transformers, or one of your own.

    This is enough for all maps that are made of attention weights. Maps that need values, layer norms or norms of
    vectors also need to know where the layers keep them (`attentionology.extractors.register_architecture`), and
    gradients and switched-off heads need a model of transformers.

    Attributes:
        config: a ``transformers.PretrainedConfig`` with ``model_type``, the name of the architecture, and
            ``num_hidden_layers``. If it has ``max_position_embeddings``, longer inputs are skipped.

    Example:
        >>> import torch, transformers
        >>> from types import SimpleNamespace
        >>> from attentionology import Encoder, extract, load_encoder
        >>> class Uniform(torch.nn.Module):
        ...     '''One layer of one head that attends to all pieces alike.'''
        ...     def __init__(self, pieces):
        ...         super().__init__()
        ...         self.config = transformers.PretrainedConfig(model_type="uniform", num_hidden_layers=1)
        ...         self.embeddings = torch.nn.Embedding(pieces, 4)
        ...     def get_input_embeddings(self):
        ...         return self.embeddings
        ...     def forward(self, input_ids, attention_mask, **asked):
        ...         alpha = attention_mask / attention_mask.sum(-1, keepdim=True)
        ...         alpha = alpha[:, None, None].expand(-1, 1, input_ids.shape[1], -1)
        ...         return SimpleNamespace(attentions=(alpha,))
        >>> tokenizer = load_encoder("demo").tokenizer
        >>> encoder = Encoder(Uniform(len(tokenizer)), tokenizer, "uniform")
        >>> encoder
        Encoder('uniform', uniform, 1 layer × 1 head, torch.float32)
        >>> next(extract(encoder, "Cats sleep.")).maps.shape
        torch.Size([1, 1, 1, 5, 5])
    """

    config: Any

    def get_input_embeddings(self) -> nn.Module:
        """Return the table of embeddings, with a row for every piece of the tokenizer."""
        ...

    def forward(self, input_ids: Any, attention_mask: Any, **asked: Any) -> Any:
        """Read a batch that is padded on the right.

        Args:
            input_ids: the ids of pieces, shape (batch, n).
            attention_mask: 1 at pieces and 0 at padding, which must get no attention; shape (batch, n).
            asked: ``output_attentions`` and ``return_dict``, which are True, ``output_hidden_states``, and
                ``token_type_ids`` if the tokenizer gives them.

        Returns:
            an object whose ``attentions`` are a tuple with the attention weights of each layer, of shape (batch, heads,
            n, n). If hidden states are asked for, ``hidden_states`` are the input of each layer and what follows the
            last, of shape (batch, n, dim).
        """
        ...


def check_readable(model: Any, name: str) -> None:
    """Raise `ModelError` unless a model has everything that is needed before its attention is asked for."""
    config = getattr(model, "config", None)
    missing = [] if isinstance(model, nn.Module) else ["it is no torch.nn.Module"]
    if config is None:
        missing.append("config is missing")
    missing += [
        f"config.{entry} is missing"
        for entry in ("model_type", "num_hidden_layers", "is_encoder_decoder", "to_dict")
        if config is not None and not hasattr(config, entry)
    ]
    if not callable(getattr(model, "get_input_embeddings", None)):
        missing.append("the method get_input_embeddings is missing")
    if missing:
        needed = "what attentionology.extractors.ReadableModel describes is needed"
        raise ModelError(f"{name}: {'; '.join(missing)}; {needed}")


def hidden_states_of(output: Any, name: str) -> tuple[Any, ...]:
    """Return the hidden states in the output of a model."""
    if not getattr(output, "hidden_states", None):
        raise ModelError(f"{name}: the model gives no hidden_states, which are needed besides attentions")
    return tuple(output.hidden_states)
