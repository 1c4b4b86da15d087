"""What may be given where a model is expected."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, TypeAlias

import torch
from transformers import PreTrainedModel

from ..errors import ModelError
from .encoder import Encoder
from .float64_copy import float32_view
from .loading import begin_with, load_tokenizer
from .named import load_encoder

AnyModel: TypeAlias = Encoder | str | Path | PreTrainedModel | tuple[Any, Any]
"""A model: an encoder, a name, a folder, a model of transformers, or a pair of a model and its tokenizer."""


def as_encoder(model: AnyModel) -> Encoder:
    """Return a model as an encoder.

    A model that has been loaded is not copied, and is put into evaluation mode. Of one with a head, the part below the
    head is read. It reads inputs as if it had been loaded by its name: its tokenizer is copied, and a decoder whose
    tokenizer adds no special token gets the first token of a text, as by ``prepend="auto"`` of `load_encoder`.

    Args:
        model: an encoder; ``"demo"``, a folder, or a name on the Hugging Face Hub; a model of transformers, whose
            tokenizer is that of the folder or the name that it was loaded from; or a pair of a model and its tokenizer.

    Raises:
        ModelError: the model cannot be loaded, its tokenizer is not known, or it gives no attention.
        TypeError: it is something else.

    Example:
        >>> from attentionology.extractors import as_encoder
        >>> as_encoder("demo")
        Encoder('all-MiniLM-L6-v2', bert, 6 layers × 12 heads, torch.float32)
    """
    if isinstance(model, Encoder):
        return model
    if isinstance(model, str | Path):
        return load_encoder(str(model))
    if isinstance(model, PreTrainedModel):
        return _encoder_of(model, _tokenizer_of(model))
    if isinstance(model, tuple) and len(model) == 2 and hasattr(model[0], "config") and callable(model[1]):
        return _encoder_of(*model)
    raise TypeError(
        "expected a model: an Encoder (see load_encoder), a name, a folder, a model of transformers, or a pair of a "
        f"model and its tokenizer, not {model!r:.80}"
    )


def _encoder_of(model: Any, tokenizer: Any) -> Encoder:
    """Return the encoder of a model that has been loaded, and of its tokenizer."""
    source = str(getattr(model, "name_or_path", "") or "").rstrip("/")
    name = source.rsplit("/", 1)[-1] or type(model).__name__
    body = getattr(model, "base_model", model)
    dtype = getattr(body, "dtype", torch.float32)
    if dtype == torch.float16:
        raise ModelError(f"{name}: it is held in float16; load it with dtype=torch.float32 or torch.bfloat16")
    tokenizer = copy.deepcopy(tokenizer)
    prepended = begin_with(tokenizer, "auto") if getattr(tokenizer, "is_fast", False) else None
    encoder = Encoder(float32_view(body) if dtype == torch.bfloat16 else body, tokenizer, name)
    encoder.prepended = prepended
    return encoder


def _tokenizer_of(model: PreTrainedModel) -> Any:
    """Load the tokenizer from where a model was loaded."""
    if not model.name_or_path:
        why = "it was not loaded from a folder or by a name, so its tokenizer is not known"
        raise ModelError(f"{type(model).__name__}: {why}; give both, as (model, tokenizer)")
    try:
        return load_tokenizer(model.name_or_path)
    except ModelError as error:
        raise ModelError(f"{error}; or give the model with its tokenizer, as (model, tokenizer)") from error
