"""Models with a head: for the classes of texts, for masked pieces, and for the next piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transformers

from ..errors import ModelError
from .files import LoadedFiles
from .loading import Location, find_model, load_from


def load_classifier(
    name_or_path: Location,
    revision: str | None = None,
    dtype: torch.dtype = torch.float32,
    labels: Sequence[str] | None = None,
) -> tuple[Any, LoadedFiles]:
    """Load the model with a classification head and eager attention, and return it with a record of its files.

    Args:
        name_or_path: a model folder, a name on the Hub, or the files that another loader returned.
        revision: a branch, tag or commit on the Hub.
        dtype: the type of the weights.
        labels: the names of the classes of a head that is to be trained. What the checkpoint lacks of the head is then
            initialized with random numbers from torch's generator. Without labels, the checkpoint must have a head.

    Raises:
        ModelError: the model cannot be found or loaded, or there is no trained classification head.
        ValueError: there are fewer than two labels, or one occurs twice.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import load_classifier
        >>> model, files = load_classifier(load_encoder("demo").files, labels=["dull", "fine"])
        >>> model.config.id2label
        {0: 'dull', 1: 'fine'}
    """
    head: dict[str, Any] = {}
    if labels is not None:
        if len(set(labels)) != len(labels) or len(labels) < 2:
            raise ValueError(f"labels must be two or more different names, not {list(labels)}")
        names = dict(enumerate(labels))
        numbers = {label: number for number, label in names.items()}
        head = {"num_labels": len(names), "id2label": names, "label2id": numbers}
    found = find_model(name_or_path, revision)
    model, files = load_from(transformers.AutoModelForSequenceClassification, found, dtype, **head)
    if labels is None and files.untrained:
        raise ModelError(f"{files.name!r} has no trained classification head; fine-tune one with --finetune")
    return model, files


def load_masked_lm(
    name_or_path: Location, revision: str | None = None, dtype: torch.dtype = torch.float32
) -> Any | None:
    """Load the model with its masked-LM head and eager attention; None if the checkpoint has no such head.

    Args:
        name_or_path, revision, dtype: see `load_classifier`.

    Raises:
        ModelError: it cannot be found or loaded.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import load_masked_lm
        >>> load_masked_lm(load_encoder("demo").files) is None  # a model of sentences, without a masked-LM head
        True
    """
    return _load_lm(find_model(name_or_path, revision), dtype, masked=True)


def load_causal_lm(
    name_or_path: Location, revision: str | None = None, dtype: torch.dtype = torch.float32
) -> Any | None:
    """Load the model with the head that predicts the next piece; None if it has none, or if its family masks pieces.

    Args:
        name_or_path, revision, dtype: see `load_classifier`.

    Raises:
        ModelError: it cannot be found or loaded.

    Example:
        >>> from attentionology import load_encoder
        >>> from attentionology.extractors import load_causal_lm
        >>> load_causal_lm(load_encoder("demo").files) is None  # a model of sentences, without a language-model head
        True
    """
    model = _load_lm(find_model(name_or_path, revision), dtype, masked=False)
    if model is not None:
        model.config.use_cache = False  # of keys and values, which no pass here reads again
    return model


def _load_lm(found: LoadedFiles, dtype: torch.dtype, *, masked: bool) -> Any | None:
    """Load the model with its masked-LM or causal LM head, if its family and its checkpoint have it."""
    config = transformers.AutoConfig.from_pretrained(str(found.folder), local_files_only=True, trust_remote_code=False)
    masks = type(config) in transformers.MODEL_FOR_MASKED_LM_MAPPING
    # BERT has a class for next pieces too, but unless it is a decoder its "next" piece is one that it has read.
    predicts = not masks and type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING
    if config.is_encoder_decoder or not (masks if masked else predicts):
        return None
    auto_class = transformers.AutoModelForMaskedLM if masked else transformers.AutoModelForCausalLM
    model, files = load_from(auto_class, found, dtype)
    return None if files.untrained else model
