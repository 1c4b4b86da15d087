"""Messages about model folders that transformers cannot load: the file, the cause, and the way out.

The libraries report many causes as errors of their own code, for example an unknown activation as ``KeyError: 'zzz'``.
The functions of this module look for the cause in the files. They are called only after loading has failed, so they
never refuse a folder that can be loaded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers
import transformers
from transformers.activations import ACT2FN

from ..errors import cause
from .checkpoint import CONFIG, OTHER_CLASS, TOKENIZER, TOKENIZER_CONFIG, read_object

_CORRECT = "correct it, or download the file again"
_OTHER_VOCABULARY = (
    f"download {TOKENIZER} as well, or set tokenizer_class in {TOKENIZER_CONFIG} to the class that fits, such as "
    '"BertTokenizer", which reads vocab.txt'
)
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


def vocabulary_failure(folder: Path, tokenizer: Any) -> str | None:
    """Describe why a tokenizer that was loaded has no vocabulary, or cannot read unknown words; None if all is well.

    Args:
        folder: the folder of its files.
        tokenizer: the tokenizer.
    """
    kind, names = type(tokenizer).__name__, sorted({*type(tokenizer).vocab_files_names.values()} - {TOKENIZER_CONFIG})
    read = [name for name in names if (folder / name).is_file()]
    read = [TOKENIZER] if TOKENIZER in read else read  # no other file is read beside it
    special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    if len(tokenizer) > len(special.union(tokenizer.all_special_ids)) + 1:
        try:
            tokenizer.tokenize("\ua66e")  # a letter of a few medieval books, which hardly any vocabulary has
        except Exception as error:
            return f"cannot read unknown words ({cause(error)}); download {_and(read) or TOKENIZER} again"
        return None
    lacks = "has no vocabulary besides special tokens"
    if read:
        sizes = [f"{name} ({(folder / name).stat().st_size:,} bytes)" for name in read]
        return f"{lacks}: no other pieces could be read from {_and(sizes)}; download the tokenizer again"
    if not (others := _vocabularies(folder)):
        return f"{lacks}: the folder has no {' or '.join(names)}; download the tokenizer again"
    return f"{lacks}: {kind} reads {' or '.join(names)}, but the folder has {_and(others)}; {_OTHER_VOCABULARY}"


def _vocabularies(folder: Path) -> list[str]:
    """The files of a folder that may hold the vocabulary of some tokenizer."""
    patterns = (TOKENIZER, "vocab.*", "merges.txt", "*.model", "*.spm")
    return [path.name for pattern in patterns for path in sorted(folder.glob(pattern))]


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


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
        others = _vocabularies(folder)
        if "backend tokenizer" not in str(error):  # which says that none of the files fits the class
            return general
        there = f"has {_and(others)}, which it does not read" if others else "has no vocabulary"
        wanted = read_object(folder / TOKENIZER_CONFIG) if (folder / TOKENIZER_CONFIG).is_file() else {}
        kind = wanted.get("tokenizer_class", "the class of its model_type")
        return f"cannot load {name!r} (its tokenizer, {kind}): the folder {there}; {_OTHER_VOCABULARY}"
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
