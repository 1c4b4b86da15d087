"""Messages about model folders that transformers cannot load: the file, the cause, and the way out.

The libraries report many causes as errors of their own code, for example an unknown activation as ``KeyError: 'zzz'``.
The functions of this module look for the cause in the files. They are called only after loading has failed, so they
never refuse a folder that can be loaded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tokenizers
import transformers
from transformers.activations import ACT2FN

from attentionology.extractors.errors import cause
from attentionology.extractors.model.checkpoint import CONFIG, OTHER_CLASS, TOKENIZER, TOKENIZER_CONFIG, read_object

_CORRECT = "correct it, or download the file again"
_UNKNOWN_FUNCTION = re.compile(r"function (\S*) not found in .*", re.DOTALL)
"""What some models raise for an unknown activation; the others raise a `KeyError` with its name."""


def model_failure(name: str, folder: Path, error: Exception) -> str:
    """Describe in one line why transformers could not load a model.

    Args:
        name: the name of the model.
        folder: the folder of its files.
        error: what transformers raised.
    """
    return _configuration_failure(folder) or _weights_failure(name, folder, error)


def tokenizer_failure(name: str, folder: Path, error: Exception) -> str:
    """Describe in one line why transformers could not load a tokenizer.

    Args:
        name: the name of the model.
        folder: the folder of its files.
        error: what transformers raised.
    """
    return _configuration_failure(folder) or _tokenizer_failure(name, folder, error)


def _weights_failure(name: str, folder: Path, error: Exception) -> str:
    """Describe why a model with a readable configuration could not be loaded."""
    path, config = str(folder / CONFIG), read_object(folder / CONFIG)
    if isinstance(error, KeyError) and (key := _unknown_value(config, error)) is not None:
        known = f" (it knows {', '.join(ACT2FN)})" if "act" in key else ""
        return f"{path!r}: {key} is {config[key]!r}, which transformers does not know{known}; {_CORRECT}"
    if isinstance(error, AssertionError) and "padding_idx" in str(error).lower() and "pad_token_id" in config:
        size = config.get("vocab_size")
        vocabulary = "vocabulary" if size is None else f"vocabulary of {size:,} pieces (vocab_size)"
        return f"{path!r}: pad_token_id is {config['pad_token_id']}, which is outside the {vocabulary}; {_CORRECT}"
    return f"cannot load {name!r}: {cause(error)}"


def _tokenizer_failure(name: str, folder: Path, error: Exception) -> str:
    """Describe why a tokenizer could not be loaded although the configuration of the model is readable."""
    general = f"cannot load {name!r} (its tokenizer): {cause(error)}"
    path = folder / TOKENIZER
    if not path.is_file():
        return general
    try:
        kind = type(tokenizers.Tokenizer.from_file(str(path)).model).__name__
    except Exception as unreadable:  # the library raises nothing more specific
        size = f"{path.stat().st_size:,} bytes"
        return f"{str(path)!r} ({size}) does not describe a tokenizer ({cause(unreadable)}); download it again"
    settings = folder / TOKENIZER_CONFIG
    requested = read_object(settings).get("tokenizer_class") if settings.is_file() else None
    try:
        transformers.PreTrainedTokenizerFast.from_pretrained(str(folder), local_files_only=True)
    except Exception:  # another class fails as well, so the class is not the cause
        return general if requested is None else f"{general}; correct {str(settings)!r}, or download it again"
    if requested is None:
        subject = f"{str(folder / CONFIG)!r}: the tokenizer class of its model_type"
    else:
        subject = f"{str(settings)!r}: the tokenizer class {requested}"
    detail = "" if isinstance(error, TypeError) else f" ({cause(error)})"  # a type of an argument inside the library
    return f"{subject} cannot read {TOKENIZER}, which describes a {kind} tokenizer{detail}; {OTHER_CLASS}"


def _configuration_failure(folder: Path) -> str | None:
    """Describe why ``config.json`` cannot be read as the configuration of a model; None if it can."""
    try:
        transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # whatever the libraries raise, the cause is in the file
        reason = cause(error).rstrip(".")
        return f"{str(folder / CONFIG)!r}: transformers cannot read this configuration ({reason}); {_CORRECT}"
    return None


def _unknown_value(config: dict[str, Any], error: KeyError) -> str | None:
    """Return the key of ``config.json`` whose value is the one that was looked up in vain; None if there is none."""
    missing = str(error.args[0]) if error.args else ""
    if described := _UNKNOWN_FUNCTION.fullmatch(missing):
        missing = described[1]
    return next((key for key, value in config.items() if value == missing), None)
