"""What an encoder needs of a model, which every model of transformers has, and a model of one's own can have."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from torch import nn

from ..errors import ModelError


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
        Encoder('uniform', uniform, 1 layers × 1 heads, torch.float32)
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
    """Check that a model has everything that is needed before its attention is asked for.

    Raises:
        ModelError: it has not; the message says what is missing.
    """
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
