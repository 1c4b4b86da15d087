"""Checks of the files in a model folder before any other library opens them: they must be what their names say.

Weights are read as safetensors only. Everything that would make the libraries read something else (a pickle, code of
the model's authors, an adapter, quantized weights) is refused or reported here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import transformers
from safetensors import SafetensorError, safe_open

from ..errors import ModelError

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
OTHER_CLASS = (
    f'download the files again, or set tokenizer_class in {TOKENIZER_CONFIG} to "PreTrainedTokenizerFast", which reads '
    f"any {TOKENIZER}"
)
"""What to do about a tokenizer class that does not fit, for messages."""

_SIZES = (
    *("hidden_size", "d_model", "dim", "n_embd", "vocab_size"),
    *("num_hidden_layers", "n_layers", "n_layer", "encoder_layers"),
    *("num_attention_heads", "n_heads", "n_head", "encoder_attention_heads"),
)
"""Keys of config.json that count what every model has at least one of, by their names in all families."""

_MOST = 10_000
"""Layers or heads; the modules of more would fill the memory before the weights are looked at."""

_WIDTHS = ("embedding_size", "input_embedding_size", "hidden_size", "d_model", "dim", "n_embd", "emb_dim")
"""Keys of config.json of which the smallest is, up to a factor, a lower bound of the size of an embedding."""

_SAME_ARCHITECTURE = ({"roberta", "xlm-roberta", "camembert"}, {"t5", "mt5"})
"""Families whose models compute the same, so that one may stand in config.json for the other."""

_TOKENIZER_SETTINGS: tuple[tuple[str, Any, str], ...] = (
    ("tokenizer_class", str | None, "a string"),
    ("model_max_length", int | float | None, "a number"),
)
"""Keys of tokenizer_config.json, the types of their values, and the types in words."""

_LFS_POINTER = b"version https://git-lfs.github.com/"
_QUANTIZED = re.compile(r"I8|F[468]_.*|F4")
_WHOLE_NUMBERS = re.compile(r"[IU]\d+|BOOL")
_TRAINED = re.compile(r".*weight|.*(?<!attn\.)(?<!attention\.)bias")
"""Names of weights. GPT-2 and its relatives store a mask of booleans as the ``bias`` of their attention."""

_DISTRIBUTED = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")


def check_checkpoint(folder: str | Path) -> list[str]:
    """Check that the files of a model folder can be what their names say.

    Args:
        folder: with ``config.json``, a tokenizer, and weights as safetensors. Symbolic links are followed, as those of
            the Hub's cache must be.

    Returns:
        warnings about a folder that can be read, one sentence each.

    Raises:
        ModelError: a JSON file that cannot be parsed; sizes in ``config.json`` that no model has; a safetensors file
            that is truncated, empty, or something else; an index that names missing files, files outside the folder, or
            files that are not safetensors; an adapter, quantized weights, or a model that needs code of its own.
    """
    folder = Path(folder)
    config = read_object(folder / CONFIG)
    warnings = _check_config(folder, config)
    for name in (TOKENIZER, TOKENIZER_CONFIG):
        if (folder / name).exists():
            settings = read_object(folder / name)
            for key, kinds, expected in _TOKENIZER_SETTINGS:
                if not isinstance(settings.get(key), kinds):
                    raise ModelError(f"{str(folder / name)!r}: {key} must be {expected}, not {_kind(settings[key])}")
            if "auto_map" in settings:
                warnings.append(
                    f"{name} names code that comes with the model (auto_map), which is never run. The tokenizer is "
                    "read without it."
                )
    _check_weights(folder, config)
    return warnings


def check_tokenizer(folder: str | Path, tokenizer: Any) -> None:
    """Check that a tokenizer is of the kind that ``tokenizer.json`` describes.

    Transformers chooses a class by ``tokenizer_config.json`` and the type of the model, and may build the tokenizer of
    that class from the vocabulary alone. One of another kind would read most words as single characters or as unknown.

    Raises:
        ModelError: the tokenizer is of another kind.
    """
    path = Path(folder) / TOKENIZER
    if not path.is_file():
        return
    model = read_object(path).get("model")
    described = model.get("type") if isinstance(model, dict) else None
    backend = getattr(tokenizer, "backend_tokenizer", None)
    loaded = "another kind" if backend is None else type(backend.model).__name__
    if described not in (None, loaded):
        raise ModelError(
            f"{str(folder)!r}: tokenizer.json describes a {described} tokenizer, but the class that "
            f"tokenizer_config.json and config.json ask for, {type(tokenizer).__name__}, is of {loaded}; {OTHER_CLASS}"
        )


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
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ModelError(f"{_described(path)} is not a JSON file ({why}); download it again") from error
    if not isinstance(content, dict):
        raise ModelError(f"{_described(path)} must contain a JSON object, not {_kind(content)}; download it again")
    return content


def _check_config(folder: Path, config: dict[str, Any]) -> list[str]:
    path = str(folder / CONFIG)
    for key in _SIZES:
        value = config.get(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise ModelError(f"{path!r}: {key} must be a whole number of at least 1, not {value!r}")
        if key.endswith(("layers", "heads", "layer", "head")) and value is not None and value > _MOST:
            raise ModelError(f"{path!r}: {key} is {value:,}, more than any model has")
    for key, kind in (("model_type", str), ("architectures", list), ("auto_map", dict), ("id2label", dict)):
        if config.get(key) is not None and not isinstance(config[key], kind):
            raise ModelError(f"{path!r}: {key} must be {_NAMES[kind]}, not {_kind(config[key])}")
    for key, value in config.items():
        if "implementation" in key and isinstance(value, str) and "/" in value:  # code that would be downloaded and run
            raise ModelError(f"{path!r}: {key} names a kernel on the Hub ({value!r}), which is never run; remove {key}")
    if config.get("quantization_config") is not None:
        raise ModelError(
            f"{path!r}: the weights are quantized (quantization_config). Quantized models are not read, because "
            "rounding changes the comparisons on which the counts are based; use the original model"
        )
    family = config.get("model_type")
    known = family in transformers.CONFIG_MAPPING
    if config.get("auto_map") and not known:
        raise ModelError(
            f"{path!r}: a model of the type {family!r} needs code that comes with it (auto_map), which is never run, "
            "and transformers does not implement this type"
        )
    _check_architecture(path, config)
    if config.get("auto_map"):
        return [
            f"{CONFIG} names code that comes with the model (auto_map), which is never run. The model is read as "
            f"transformers' own {family!r}; if that code changes the architecture, its attention differs."
        ]
    return []


def _check_architecture(path: str, config: dict[str, Any]) -> None:
    """Check that the class that the weights were saved from belongs to the family that they will be read as."""
    family = config.get("model_type")
    for name in config.get("architectures") or ():
        saved_as = getattr(transformers, name, None) if isinstance(name, str) else None
        saved_family = getattr(getattr(saved_as, "config_class", None), "model_type", None)
        if saved_family in (None, family) or any({family, saved_family} <= same for same in _SAME_ARCHITECTURE):
            continue
        raise ModelError(
            f"{path!r} contradicts itself: model_type is {family!r}, but the weights were saved from {name}, "
            f"a {saved_family!r} model (architectures)"
        )


def _check_weights(folder: Path, config: dict[str, Any]) -> None:
    if (folder / "adapter_config.json").exists():
        raise ModelError(
            f"{str(folder)!r} contains an adapter (adapter_config.json), which is not read; merge it into its base "
            "model (merge_and_unload() of PEFT) and save that with save_pretrained()"
        )
    if config.get("transformers_weights") is not None:
        raise ModelError(
            f"{str(folder / CONFIG)!r} names other weights (transformers_weights: {config['transformers_weights']!r}); "
            f"only {WEIGHTS} and {INDEX} are read"
        )
    if distributed := sorted(path.name for path in folder.iterdir() if _DISTRIBUTED.fullmatch(path.name)):
        raise ModelError(
            f"{str(folder)!r} contains a distributed checkpoint ({distributed[0]}), which is not read; load it once "
            "with transformers and save it with save_pretrained()"
        )
    weights, index = folder / WEIGHTS, folder / INDEX
    if weights.is_symlink() or weights.exists():
        _check_safetensors(weights)
    elif index.exists():
        _check_shards(folder, index)
    else:
        return  # the loader says so, with the way out
    # Where a table may differ from the stored one (`load_classifier`), it would be made in memory first.
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    width = min((config[key] for key in _WIDTHS if isinstance(config.get(key), int)), default=1)
    if (config.get("vocab_size") or 1) * width > 4 * size:
        raise ModelError(
            f"{str(folder / CONFIG)!r}: vocab_size is {config['vocab_size']:,}, more than the weights ({size:,} bytes) "
            "can hold embeddings of"
        )


def _check_shards(folder: Path, index: Path) -> None:
    content = read_object(index)
    shards = content.get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise ModelError(f"{_described(index)} has no weight_map that maps weights to files")
    if not isinstance(content.get("metadata"), dict):
        raise ModelError(f'{_described(index)} has no metadata, which transformers needs; add "metadata": {{}} to it')
    for name in dict.fromkeys(map(str, shards.values())):
        path = PurePosixPath(name)
        leaves = path.is_absolute() or PureWindowsPath(name).anchor or ".." in re.split(r"[/\\]", name)
        if leaves or path.suffix != ".safetensors":
            why = "outside of the model's folder" if leaves else "no safetensors file"
            raise ModelError(f"{str(index)!r} names {name!r}, which is {why} and is not read")
        if not (folder / name).exists():
            raise ModelError(f"{str(index)!r} names {name!r}, which is missing; download it again")
        _check_safetensors(folder / name)


def _check_safetensors(path: Path) -> None:
    """Check a file by its header and its size; the weights themselves are not read."""
    if path.is_dir() or not path.exists():
        raise ModelError(f"{str(path)!r} is {'a folder' if path.is_dir() else 'a link to nowhere'}, not a file")
    try:
        with path.open("rb") as file:
            begin = file.read(len(_LFS_POINTER))
    except OSError as error:
        raise ModelError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if begin == _LFS_POINTER:
        raise ModelError(
            f"{_described(path)} is a pointer of Git LFS, not the weights; run 'git lfs pull' or download it again"
        )
    if not begin:
        raise ModelError(f"{_described(path)} is empty; download it again")
    try:
        with safe_open(path, framework="pt") as opened:
            types = {name: str(opened.get_slice(name).get_dtype()) for name in opened.keys()}  # noqa: SIM118 no dict
    except (SafetensorError, OSError, ValueError) as error:
        why = str(error).removeprefix("Error while deserializing header: ").split("\n", 1)[0]
        raise ModelError(f"{_described(path)} is not a whole safetensors file ({why}); download it again") from error
    if quantized := next((name for name, type_ in types.items() if _QUANTIZED.fullmatch(type_)), None):
        raise ModelError(
            f"{str(path)!r} contains quantized weights ({quantized!r} is stored as {types[quantized]}), which are not "
            "read"
        )
    if whole := next((n for n, t in types.items() if _WHOLE_NUMBERS.fullmatch(t) and _TRAINED.fullmatch(n)), None):
        raise ModelError(
            f"{str(path)!r}: {whole!r} is stored as {types[whole]}, but trained weights are no whole numbers or truth "
            "values; the file has been converted wrongly, or it is quantized, which is not read"
        )


def _described(path: Path) -> str:
    return f"{str(path)!r} ({path.stat().st_size:,} bytes)"


_NAMES: dict[type, str] = {dict: "an object", list: "a list", str: "a string"}


def _kind(value: object) -> str:
    return _NAMES.get(type(value), "null" if value is None else repr(value))
