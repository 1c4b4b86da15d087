"""Checks of the files in a model folder before any other library opens them: they must be what their names say.

Weights are read as safetensors only. Everything that would make the libraries read something else (a pickle, code of
the model's authors, an adapter, quantized weights) is refused or reported here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import transformers
from safetensors import SafetensorError, safe_open

from ..errors import ModelError, cause

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
CONVERSION_HINT = (
    "Weights are only read as safetensors. To convert a pytorch_model.bin that you trust, load it once with "
    "torch.load(..., weights_only=True) and save it with safetensors.torch.save_file, as docs/how-to/hub.md shows."
)

TOKENIZER_FILE = re.compile(
    r"tokenizer(\.\d[\d.]*)?\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json|vocab\.txt"
    r"|vocab\.json|merges\.txt|entity_vocab\.json|bpe\.codes|dict\.txt|prophetnet\.tokenizer|tokenizer\.model"
    r"|spiece\.model|spm\.model|sentencepiece(\.bpe)?\.model|word_(shape|pronunciation)\.json"
)
"""Names that the tokenizers of transformers read."""

_MOST = 10_000
"""Layers or heads; the modules of more would fill the memory before the weights are looked at."""

_WIDTHS = ("embedding_size", "input_embedding_size", "hidden_size", "d_model", "dim", "n_embd", "emb_dim")
"""Keys of config.json of which the smallest is, up to a factor, a lower bound of the size of an embedding."""

_SAME_ARCHITECTURE = ({"roberta", "xlm-roberta", "camembert"}, {"t5", "mt5"})
"""Families whose models compute the same, so that one may stand in config.json for the other."""

_LFS_POINTER = b"version https://git-lfs.github.com/"
_QUANTIZED = re.compile(r"I8|F[468]_.*|F4")
_WHOLE_NUMBERS = re.compile(r"[IU]\d+|BOOL")
_TRAINED = re.compile(r".*weight|.*(?<!attn\.)(?<!attention\.)bias")
"""Names of weights. GPT-2 and its relatives store a mask of booleans as the ``bias`` of their attention."""

_DISTRIBUTED = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")


def check_checkpoint(folder: str | Path) -> list[str]:
    """Check that the files of a model folder can be what their names say, and return warnings, one sentence each.

    Symbolic links are followed, as those of the Hub's cache must be.
    """
    folder = Path(folder)
    config = read_object(folder / CONFIG)
    _refuse_what_is_not_read(folder, config)
    _check_config(folder, config)
    _check_weights(folder, config)
    warnings = []
    if config.get("auto_map"):
        warnings.append(
            f"{CONFIG} names code that comes with the model (auto_map), which is never run. The model is read as "
            f"transformers' own {config['model_type']!r}; if that code changes the architecture, its attention differs."
        )
    for name in (TOKENIZER, TOKENIZER_CONFIG):
        if (folder / name).exists() and "auto_map" in read_object(folder / name):
            warnings.append(
                f"{name} names code that comes with the model (auto_map), which is never run. The tokenizer is read "
                "without it."
            )
    return warnings


def read_object(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file.

    Raises:
        ModelError: the file cannot be read, or does not hold an object.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{_described(path)} is not a JSON file ({cause(error)}); download it again") from error
    if not isinstance(content, dict):
        raise ModelError(
            f"{_described(path)} must contain a JSON object, not {type(content).__name__}; download it again"
        )
    return content


def shard_names(index: Path) -> list[str]:
    """Return the names of the files in an index of sharded weights, each a safetensors file beside the index.

    Raises:
        ModelError: the index cannot be read, or names anything else.
    """
    content = read_object(index)
    shards = content.get("weight_map")
    if not isinstance(shards, dict) or not shards or not isinstance(content.get("metadata"), dict):
        raise ModelError(f"{_described(index)} must have metadata and a weight_map that maps weights to files")
    names = list(dict.fromkeys(shards.values()))
    for name in names:
        if not isinstance(name, str) or not name.endswith(".safetensors") or re.search(r"[/\\\0]", name):
            why = "is not a safetensors file in the model's folder and is not read"
            raise ModelError(f"{str(index)!r} names {name!r}, which {why}")
    return sorted(names)


def _refuse_what_is_not_read(folder: Path, config: dict[str, Any]) -> None:
    """Refuse everything that would make the libraries read other weights, or run code."""
    family = config.get("model_type")
    distributed = [path.name for path in folder.iterdir() if _DISTRIBUTED.fullmatch(path.name)]
    # Such code would be downloaded and run.
    kernels = [key for key, value in config.items() if "implementation" in key and "/" in str(value)]
    if (folder / "adapter_config.json").exists():
        what = "an adapter (adapter_config.json); merge it into its base model with merge_and_unload() of PEFT"
    elif distributed:
        what = f"a distributed checkpoint ({distributed[0]}); load it once with transformers and save it"
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


def _check_config(folder: Path, config: dict[str, Any]) -> None:
    """Check that transformers can read ``config.json``, and that it describes the model that was saved."""
    path, family = str(folder / CONFIG), config.get("model_type")
    try:
        read = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # whatever the libraries raise, the cause is in the file
        raise ModelError(f"{path!r}: transformers cannot read this configuration ({cause(error)})") from error
    # All families give their sizes by these names, whatever config.json calls them.
    for key in ("hidden_size", "vocab_size", "num_hidden_layers", "num_attention_heads"):
        size = getattr(read, key, None)
        if isinstance(size, int) and (size < 1 or isinstance(size, bool)):
            raise ModelError(f"{path!r}: {key} must be a whole number of at least 1, not {size!r}")
        if isinstance(size, int) and key.startswith("num_") and size > _MOST:
            raise ModelError(f"{path!r}: {key} is {size:,}, more than any model has")
    for name in read.architectures or ():  # the classes that the weights were saved from
        saved_as = getattr(transformers, name, None)
        saved_family = getattr(getattr(saved_as, "config_class", None), "model_type", None)
        if saved_family in (None, family) or any({family, saved_family} <= same for same in _SAME_ARCHITECTURE):
            continue
        raise ModelError(
            f"{path!r} contradicts itself: model_type is {family!r}, but the weights were saved from {name}, "
            f"a {saved_family!r} model (architectures)"
        )


def _check_weights(folder: Path, config: dict[str, Any]) -> None:
    weights, index = folder / WEIGHTS, folder / INDEX
    if weights.is_symlink() or weights.exists():
        paths = [weights]
    elif index.exists():
        paths = [folder / name for name in shard_names(index)]
    else:
        return  # there may be a tokenizer only; the loader of a model says so, with the way out
    for path in paths:
        _check_safetensors(path)
    # Weights of other shapes than config.json describes would be made in memory before they are refused.
    size = sum(path.stat().st_size for path in paths)
    width = min((config[key] for key in _WIDTHS if isinstance(config.get(key), int)), default=1)
    if (config.get("vocab_size") or 1) * width > 4 * size:
        raise ModelError(
            f"{str(folder / CONFIG)!r}: vocab_size is {config['vocab_size']:,}, more than the weights ({size:,} bytes) "
            "can hold embeddings of"
        )


def _check_safetensors(path: Path) -> None:
    """Check a file by its header and its size; the weights themselves are not read."""
    if not path.is_file():
        raise ModelError(f"{str(path)!r} is missing, or it is a link to nowhere or a folder; download it again")
    with path.open("rb") as file:
        if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
            why = "is a pointer of Git LFS, not the weights; run 'git lfs pull' or download it again"
            raise ModelError(f"{_described(path)} {why}")
    try:
        with safe_open(path, framework="pt") as opened:
            types = {name: str(opened.get_slice(name).get_dtype()) for name in opened.keys()}  # noqa: SIM118 no dict
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(
            f"{_described(path)} is not a whole safetensors file ({cause(error)}); download it again"
        ) from error
    for name, kind in types.items():
        if _QUANTIZED.fullmatch(kind):
            raise ModelError(f"{str(path)!r} contains quantized weights ({name!r} is {kind}), which are not read")
        if _WHOLE_NUMBERS.fullmatch(kind) and _TRAINED.fullmatch(name):
            raise ModelError(
                f"{str(path)!r}: {name!r} is stored as {kind}, but trained weights are no whole numbers or truth "
                "values; the file has been converted wrongly, or it is quantized, which is not read"
            )


def _described(path: Path) -> str:
    return f"{str(path)!r} ({path.stat().st_size:,} bytes)"
