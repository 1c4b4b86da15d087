"""The files of a model: where they come from, and checks of them before any other library opens them.

Weights are read as safetensors or, where there are none, from ``pytorch_model.bin``, a pickle, in the one way in which
it can hold nothing but tensors: with ``torch.load(…, weights_only=True)``. Everything that would make the libraries
read something else (code of the model's authors, an adapter, quantized weights) is refused here. Other faults are left
to transformers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import transformers
from safetensors import SafetensorError, safe_open

from ..errors import ModelError, cause
from .pickles import pickled_types

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLE, PICKLE_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
TOKENIZER_FILE = re.compile(
    r"tokenizer(\.\d[\d.]*)?\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json|vocab\.txt"
    r"|vocab\.json|merges\.txt|entity_vocab\.json|bpe\.codes|dict\.txt|prophetnet\.tokenizer|tokenizer\.model"
    r"|spiece\.model|spm\.model|sentencepiece(\.bpe)?\.model|word_(shape|pronunciation)\.json"
)
"""Names that the tokenizers of transformers read."""

WEIGHTS_HINT = (
    f"Weights are read as safetensors or, if there are none, as {PICKLE} with torch.load(..., weights_only=True); "
    "other formats are not read."
)

_SAME_ARCHITECTURE = ({"roberta", "xlm-roberta", "camembert"}, {"t5", "mt5"})
"""Families whose models compute the same, so that one may stand in config.json for the other."""

_SAFE = ".safetensors", "safetensors file"

_QUANTIZED = re.compile(r"I8|F[468]_.*|F4")
_WHOLE_NUMBERS = re.compile(r"[IU]\d+|BOOL")
_COMPLEX = re.compile(r"C\d+")
_TRAINED = re.compile(r".*weight|.*(?<!attn\.)(?<!attention\.)bias")
"""Names of weights. GPT-2 and its relatives store a mask of booleans as the ``bias`` of their attention."""


@dataclass(frozen=True)
class UnusedWeights:
    """Tensors of a checkpoint that the model has no place for."""

    heads: tuple[str, ...] = ()  # of a head on top of the model, which attention does not need, such as a pooler
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedFiles:
    """The origin of a model. For a local folder, what is about the Hub is None."""

    revision: str | None = None  # the commit on the Hub
    sha256: dict[str, str] = field(default_factory=dict)  # of each file of weights by its name
    requested: str | None = None  # the branch, tag or commit that the user asked for, if any
    endpoint: str | None = None  # the address of the Hub
    offline: bool | None = None  # whether the Hub was not asked or did not answer
    folder: Path | None = None
    name: str = ""  # on the Hub, or the folder as the user gave it
    unused: UnusedWeights = field(default_factory=UnusedWeights)
    untrained: frozenset[str] = frozenset()  # weights that the files lack and no map depends on, such as a pooler's
    warnings: tuple[str, ...] = ()  # what a user should know before reading the numbers, one sentence each


def check_files(folder: Path) -> tuple[str, ...]:
    """Check that the files of a model folder can be what their names say, and return warnings, one sentence each."""
    config = read_object(folder / CONFIG)
    _refuse_what_is_not_read(folder, config)
    _check_config(folder / CONFIG, config.get("model_type"))
    main = main_weights({path.name for path in folder.iterdir()})
    for name in shard_names(folder / main) if main in (INDEX, PICKLE_INDEX) else [main] if main else []:
        _check_weights(folder / name)
    there = [CONFIG, *(name for name in (TOKENIZER, TOKENIZER_CONFIG) if (folder / name).exists())]
    return tuple(
        f"{name} names code that comes with the model (auto_map), which is never run. What transformers itself "
        f"implements for {config['model_type']!r} is used instead, and may differ from that code."
        for name in there
        if read_object(folder / name).get("auto_map")
    )


def read_object(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file, or raise `ModelError`."""
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError(f"it must contain a JSON object, not {type(content).__name__}")
    except OSError as error:
        raise ModelError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{_with_size(path)} is not a JSON file ({cause(error)}); download it again") from error
    return content


def main_weights(names: Collection[str]) -> str:
    """Return the file of weights or the index that is read of the files of a model; empty if there is none."""
    return next((name for name in (WEIGHTS, INDEX, PICKLE, PICKLE_INDEX) if name in names), "")


def shard_names(index: Path) -> list[str]:
    """Return the names of the files in an index of sharded weights, each a file of its format beside the index."""
    content = read_object(index)
    shards = content.get("weight_map")
    if not isinstance(shards, dict) or not shards or not isinstance(content.get("metadata"), dict):
        raise ModelError(f"{_with_size(index)} must have metadata and a weight_map that maps weights to files")
    names = list(dict.fromkeys(shards.values()))
    ending, what = (".bin", "file of pickled weights") if index.name == PICKLE_INDEX else _SAFE
    for name in names:
        # A separator could lead out of the folder, and a file of another kind could be a pickle.
        if not isinstance(name, str) or not name.endswith(ending) or re.search(r"[/\\\0]", name):
            why = f"is not a {what} in the model's folder and is not read"
            raise ModelError(f"{str(index)!r} names {name!r}, which {why}")
    return sorted(names)


def stored_types(path: Path) -> dict[str, str]:
    """Return the type of each tensor in a file by its name, as safetensors names it, such as F32."""
    if not path.name.endswith(_SAFE[0]):
        return pickled_types(path)
    with safe_open(path, framework="pt") as opened:
        return {name: str(opened.get_slice(name).get_dtype()) for name in opened.keys()}  # noqa: SIM118 no dict


def _refuse_what_is_not_read(folder: Path, config: dict[str, Any]) -> None:
    """Refuse everything that would make the libraries read other weights, or run code."""
    family = config.get("model_type")
    # Such code would be downloaded and run.
    kernels = [key for key, value in config.items() if "implementation" in key and "/" in str(value)]
    if (folder / "adapter_config.json").exists():
        what = "an adapter (adapter_config.json); merge it into its base model with merge_and_unload() of PEFT"
    elif config.get("transformers_weights") is not None:
        what = f"a {CONFIG} that names other weights (transformers_weights)"
    elif config.get("quantization_config") is not None:  # rounding changes the comparisons that all counts are made of
        what = f"quantized weights (quantization_config in {CONFIG}); use the original model"
    elif kernels:
        what = f"a kernel of the Hub, which {CONFIG} names ({kernels[0]}); remove it there"
    elif config.get("auto_map") and str(family) not in transformers.CONFIG_MAPPING:
        what = f"code for its architecture (auto_map), and transformers does not implement the type {family!r}"
    else:
        return
    raise ModelError(f"{str(folder)!r} has what is never read or run: {what}")


def _check_config(path: Path, family: Any) -> None:
    """Check that transformers can read a configuration, and that it names the architecture that was saved."""
    try:
        config = transformers.AutoConfig.from_pretrained(
            str(path.parent), local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # whatever the libraries raise, the cause is in the file
        raise ModelError(f"{str(path)!r}: transformers cannot read this configuration ({cause(error)})") from error
    # A model of another architecture may read the same weights without a complaint, and compute something else.
    for architecture in config.architectures or ():
        model_class = getattr(transformers, architecture, None)
        saved_family = getattr(getattr(model_class, "config_class", None), "model_type", None)
        if saved_family in (None, family) or any({family, saved_family} <= same for same in _SAME_ARCHITECTURE):
            continue
        raise ModelError(
            f"{str(path)!r} contradicts itself: model_type is {family!r}, but the weights were saved from "
            f"{architecture}, a {saved_family!r} model (architectures)"
        )


def _check_weights(path: Path) -> None:
    """Check a file by its header and its size; the weights themselves are not read."""
    if not path.is_file():
        raise ModelError(f"{str(path)!r} is missing, or it is a link to nowhere or a folder; download it again")
    try:
        types = stored_types(path)
    except ModelError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        again = "download it again, with 'git lfs pull' if it is from a clone"
        raise ModelError(f"{_with_size(path)} is not a whole safetensors file ({cause(error)}); {again}") from error
    for name, kind in types.items():
        if _COMPLEX.fullmatch(kind) and _TRAINED.fullmatch(name):  # of which transformers would read the real part
            raise ModelError(
                f"{str(path)!r}: {name!r} is stored as {kind}, complex numbers, from which attention is not "
                "computed here; if the imaginary parts mean nothing, store the real parts as F32"
            )
        if _QUANTIZED.fullmatch(kind) or (_WHOLE_NUMBERS.fullmatch(kind) and _TRAINED.fullmatch(name)):
            raise ModelError(
                f"{str(path)!r}: {name!r} is stored as {kind}, but trained weights are no whole numbers, truth values "
                "or quantized numbers; the file has been converted wrongly, or it is quantized, which is not read"
            )


def _with_size(path: Path) -> str:
    """Name a file in a message, with its size, which tells when it was cut off."""
    return f"{str(path)!r} ({path.stat().st_size:,} bytes)"
