"""Forward passes of a model of transformers without some heads, for programs that call the model themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .heads_off import Head, switch_off


@contextmanager
def without_heads(model: Any, heads: str | Iterable[str]) -> Iterator[None]:
    """Let a model of transformers compute without some heads, each of which gives zeros at every position.

    The zeros stand in place of what the head gives, before the output projection, as those of ``--ablate zero`` and of
    the served page. What the head attends to stays. All passes within the context have to go through all layers.

    Args:
        model: the model, which may have a head for predictions. The architecture must be known, see
            `attentionology.extractors.register_architecture`.
        heads: a head or several, such as ``"3-9"``; layers and heads count from 1.

    Raises:
        ModelError: where the heads of the architecture can be switched off is not known.
        ValueError: something is no head, or the model does not have it.

    Example:
        >>> import torch
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import without_heads
        >>> encoder = load_encoder("demo")
        >>> inputs = encoder.tokenizer("The keys are here.", return_tensors="pt")
        >>> with torch.inference_mode():
        ...     before = encoder.model(**inputs).last_hidden_state
        ...     with without_heads(encoder.model, ["3-9", "5-8"]):
        ...         after = encoder.model(**inputs).last_hidden_state
        >>> float((1 - torch.cosine_similarity(before, after, dim=-1)).max())
        0.0...
    """
    names = (heads,) if isinstance(heads, str) else tuple(heads)
    pairs = [_pair(name, model.config.num_hidden_layers, model.config.num_attention_heads) for name in names]
    with switch_off(model, pairs, model.config.num_attention_heads):
        yield


def _pair(name: str, n_layers: int, n_heads: int) -> Head:
    """Return the layer and the head of a name, both from 0."""
    match = re.fullmatch(r"(\d+)-(\d+)", name)
    if match is None:
        raise ValueError(f"a head must be LAYER-HEAD, counted from 1, for example '3-9', not {name!r}")
    layer, head = int(match[1]), int(match[2])
    if not (1 <= layer <= n_layers and 1 <= head <= n_heads):
        raise ValueError(f"there is no head {name}: the model has {n_layers} layers with {n_heads} heads each")
    return layer - 1, head - 1
