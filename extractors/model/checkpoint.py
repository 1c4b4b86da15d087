"""Checks of a checkpoint: of its files before any other library opens them, and of the model that was loaded from them.

Weights are read as safetensors only. Everything that would make the libraries read something else (a pickle, code of
the model's authors, an adapter, quantized weights) is refused here, and so are sizes that no model has, and a model in
which a weight is missing. All else that is wrong with a configuration is left to transformers, whose message is passed
on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError, safe_open

from ..errors import ModelError, cause
from .files import (
    CONFIG,
    INDEX,
    TOKENIZER,
    TOKENIZER_CONFIG,
    WEIGHTS,
    LoadedFiles,
    UnusedWeights,
    described,
    read_object,
    shard_names,
)

_MOST = {"num_hidden_layers": 10_000, "num_attention_heads": 10_000, "hidden_size": 10**6, "vocab_size": 10**7}
"""More than any model has. All families give their sizes by these names, whatever config.json calls them."""

_SAME_ARCHITECTURE = ({"roberta", "xlm-roberta", "camembert"}, {"t5", "mt5"})
"""Families whose models compute the same, so that one may stand in config.json for the other."""

_QUANTIZED = re.compile(r"I8|F[468]_.*|F4")
_WHOLE_NUMBERS = re.compile(r"[IU]\d+|BOOL")
_TRAINED = re.compile(r".*weight|.*(?<!attn\.)(?<!attention\.)bias")
"""Names of weights. GPT-2 and its relatives store a mask of booleans as the ``bias`` of their attention."""

_DISTRIBUTED = "shard-?????-model-?????-of-?????.safetensors"
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_BUFFERS = ("position_ids", "token_type_ids", "inv_freq", "masked_bias", "attn.bias")
"""The ends of names of constants that older versions of transformers stored and that models compute today."""

_SHOWN = 5


def check_checkpoint(folder: str | Path) -> list[str]:
    """Check that the files of a model folder can be what their names say, and return warnings, one sentence each.

    Symbolic links are followed, as those of the Hub's cache must be.
    """
    folder = Path(folder)
    config = read_object(folder / CONFIG)
    _refuse_what_is_not_read(folder, config)
    _check_config(folder / CONFIG, config.get("model_type"))
    if (folder / WEIGHTS).exists() or (folder / WEIGHTS).is_symlink():
        _check_safetensors(folder / WEIGHTS)
    elif (folder / INDEX).exists():
        for name in shard_names(folder / INDEX):
            _check_safetensors(folder / name)
    there = [CONFIG, *(name for name in (TOKENIZER, TOKENIZER_CONFIG) if (folder / name).exists())]
    return [
        f"{name} names code that comes with the model (auto_map), which is never run. What transformers itself "
        f"implements for {config['model_type']!r} is used instead, and may differ from that code."
        for name in there
        if read_object(folder / name).get("auto_map")
    ]


def _refuse_what_is_not_read(folder: Path, config: dict[str, Any]) -> None:
    """Refuse everything that would make the libraries read other weights, or run code."""
    family = config.get("model_type")
    distributed = [path.name for path in folder.glob(_DISTRIBUTED)]
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


def _check_config(path: Path, family: Any) -> None:
    """Check the sizes of a configuration, and that it names the architecture that was saved.

    Models of another architecture may read the same weights without a complaint.
    """
    try:
        config = transformers.AutoConfig.from_pretrained(
            str(path.parent), local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # whatever the libraries raise, the cause is in the file
        raise ModelError(f"{str(path)!r}: transformers cannot read this configuration ({cause(error)})") from error
    for key, most in _MOST.items():  # before a model of such a size is made in memory
        size = getattr(config, key, None)
        if isinstance(size, int) and (isinstance(size, bool) or not 1 <= size <= most):
            raise ModelError(f"{str(path)!r}: {key} must be a whole number from 1 to {most:,}, not {size!r}")
    for name in config.architectures or ():  # the classes that the weights were saved from
        saved_as = getattr(transformers, name, None)
        saved_family = getattr(getattr(saved_as, "config_class", None), "model_type", None)
        if saved_family in (None, family) or any({family, saved_family} <= same for same in _SAME_ARCHITECTURE):
            continue
        raise ModelError(
            f"{str(path)!r} contradicts itself: model_type is {family!r}, but the weights were saved from {name}, "
            f"a {saved_family!r} model (architectures)"
        )


def _check_safetensors(path: Path) -> None:
    """Check a file by its header and its size; the weights themselves are not read."""
    if not path.is_file():
        raise ModelError(f"{str(path)!r} is missing, or it is a link to nowhere or a folder; download it again")
    try:
        with safe_open(path, framework="pt") as opened:
            types = {name: str(opened.get_slice(name).get_dtype()) for name in opened.keys()}  # noqa: SIM118 no dict
    except (SafetensorError, OSError, ValueError) as error:
        again = "download it again, with 'git lfs pull' if it is from a clone"
        raise ModelError(f"{described(path)} is not a whole safetensors file ({cause(error)}); {again}") from error
    for name, kind in types.items():
        if _QUANTIZED.fullmatch(kind) or (_WHOLE_NUMBERS.fullmatch(kind) and _TRAINED.fullmatch(name)):
            raise ModelError(
                f"{str(path)!r}: {name!r} is stored as {kind}, but trained weights are no whole numbers, truth values "
                "or quantized numbers; the file has been converted wrongly, or it is quantized, which is not read"
            )


def check_loaded(files: LoadedFiles, model: Any, info: dict[str, Any], *, decoder: bool = False) -> LoadedFiles:
    """Compare a model with the checkpoint that it was loaded from, and return the files with what it did not use.

    Only weights that attention is computed from have to be there: those of the base model without its pooler, and of
    an encoder-decoder those of the encoder, and of the decoder if its attention is needed, too.
    """
    needed = _needed(model, decoder=decoder)
    shapes = {key: (list(stored), list(here)) for key, stored, here in info["mismatched_keys"]}
    if conflicts := needed & shapes.keys():
        key = min(conflicts)
        raise ModelError(
            f"{files.name!r}: the shapes of {len(conflicts)} weights are not those that config.json describes: {key} "
            f"is {shapes[key][0]} in the checkpoint, and {shapes[key][1]} by config.json"
        )
    untrained = {*info["missing_keys"], *shapes}
    if missing := needed & untrained:
        raise ModelError(
            f"{files.name!r} lacks {len(missing)} weights of its architecture, which would be random: {listed(missing)}"
        )
    unused = _unused(model, needed, info["unexpected_keys"])
    patterns = {_NUMBER.sub("*", key.removeprefix(_prefix(model))) for key in needed}
    if layers := [key for key in unused.others if _NUMBER.sub("*", key) in patterns]:
        raise ModelError(
            f"{files.name!r}: the checkpoint has more layers than config.json says; {len(layers)} of its weights would "
            f"not be used: {listed(layers)}"
        )
    _check_finite(files.name, model)
    warnings = files.warnings
    if unused.others:  # heads are not mentioned, because most checkpoints have one
        warnings += (
            f"The checkpoint has {len(unused.others)} weights that do not belong to this architecture, so the model "
            f"may not be the one that was trained: {listed(unused.others)}.",
        )
    return replace(files, unused=unused, untrained=frozenset(untrained), warnings=warnings)


def listed(keys: Collection[str]) -> str:
    """Name the first few weights in a message."""
    return ", ".join(sorted(keys)[:_SHOWN]) + (" …" if len(keys) > _SHOWN else "")


def _prefix(model: Any) -> str:
    """Return the prefix of the names of the base model's weights, which is empty if the model is bare."""
    return "" if model.base_model is model else f"{model.base_model_prefix}."


def _needed(model: Any, *, decoder: bool) -> set[str]:
    """Return the names of the weights that the attention of a model depends on."""
    body = model.base_model
    if body.config.is_encoder_decoder and not decoder:
        body = body.get_encoder()
    tensors = {id(tensor) for tensor in chain(body.parameters(), body.buffers())}
    named = chain(model.named_parameters(remove_duplicate=False), model.named_buffers(remove_duplicate=False))
    return {key for key, tensor in named if id(tensor) in tensors and "pooler" not in key}


def _unused(model: Any, needed: Collection[str], unexpected: Iterable[str]) -> UnusedWeights:
    """Sort tensors by whether they belong to the base model, by their prefix or by the name of a part of it."""
    prefix = f"{model.base_model_prefix}."
    parts = {key.removeprefix(_prefix(model)).split(".")[0] for key in needed}
    heads, others = [], []
    for key in sorted(key for key in unexpected if not key.endswith(_BUFFERS)):
        inside = key.removeprefix(prefix)
        of_base = inside != key or inside.split(".")[0] in parts
        if of_base and "pooler" not in inside:
            others.append(inside)
        else:
            heads.append(key)
    return UnusedWeights(tuple(heads), tuple(others))


@torch.inference_mode()
def _check_finite(name: str, model: Any) -> None:
    for key, parameter in model.named_parameters():
        if not parameter.numel() or not parameter.is_floating_point():
            continue
        # The smallest and the largest value are NaN if any value is, and finding them makes no copy.
        low, high = parameter.aminmax()
        if not bool(low.isfinite() & high.isfinite()):
            bad = int((~parameter.isfinite()).sum())
            raise ModelError(
                f"{name!r}: {key} has {bad} of {parameter.numel():,} values that are NaN or infinite as "
                f"{str(parameter.dtype).removeprefix('torch.')}; results computed with it would be meaningless"
            )
