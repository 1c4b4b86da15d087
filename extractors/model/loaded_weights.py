"""The comparison of a model with its checkpoint: no weight may be missing, and what is left over is reported."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import torch

from ..errors import ModelError
from .files import LoadedFiles, UnusedWeights

_SHOWN = 5
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_BUFFERS = ("position_ids", "token_type_ids", "inv_freq", "masked_bias", "attn.bias")
"""The ends of names of constants that older versions of transformers stored and that models compute today."""


def check_loaded(files: LoadedFiles, model: Any, info: dict[str, Any], *, decoder: bool = False) -> LoadedFiles:
    """Compare a model with the checkpoint that it was loaded from, and return the files with what it did not use.

    Only weights that attention is computed from have to be there: those of the base model without its pooler, and of
    an encoder-decoder those of the encoder, and of the decoder if its attention is needed, too.

    Raises:
        ModelError: weights are missing or have another shape, the checkpoint has layers that the model does not have,
            or a weight is NaN or infinite.
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
            f"{files.name!r} lacks {len(missing)} weights of its architecture, which would be random: "
            f"{_listed(missing)}"
        )
    unused = _unused(model, needed, info["unexpected_keys"])
    patterns = {_NUMBER.sub("*", key.removeprefix(_prefix(model))) for key in needed}
    if layers := [key for key in unused.others if _NUMBER.sub("*", key) in patterns]:
        raise ModelError(
            f"{files.name!r}: the checkpoint has more layers than config.json says; {len(layers)} of its weights would "
            f"not be used: {_listed(layers)}"
        )
    _check_finite(files.name, model)
    warnings = files.warnings
    if unused.others:  # heads are not mentioned, because most checkpoints have one
        warnings += (
            f"The checkpoint has {len(unused.others)} weights that do not belong to this architecture, so the model "
            f"may not be the one that was trained: {_listed(unused.others)}.",
        )
    return replace(files, unused=unused, untrained=frozenset(untrained), warnings=warnings)


@torch.inference_mode()
def constant_weights(model: Any) -> list[str]:
    """Say, in at most one sentence, which weight matrices hold a single value, as those of no trained model do.

    Of the tables of embeddings, only that of words counts: converters leave zeros in those that a model does not use,
    such as the segments of XLM-RoBERTa.
    """
    words = model.get_input_embeddings()
    tables = [part for part in model.modules() if type(part).__name__.endswith("Embedding") and part is not words]
    spared = {id(parameter) for table in tables for parameter in table.parameters(recurse=False)}
    matrices = {
        key: parameter
        for key, parameter in model.named_parameters()
        if parameter.dim() > 1
        and parameter.numel() > 1
        and parameter.is_floating_point()
        and id(parameter) not in spared
    }
    constant = [key for key, matrix in matrices.items() if bool(torch.eq(*matrix.aminmax()))]
    return constant and [
        f"{len(constant)} of {len(matrices)} weight matrices hold one value throughout, which training does not leave "
        f"behind, so that maps computed from them mean nothing: {_listed(constant)}."
    ]


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
    for key in sorted(unexpected):
        inside = key.removeprefix(prefix)
        of_base = inside != key or inside.split(".")[0] in parts
        if key.endswith(_BUFFERS):
            continue
        if not of_base or "pooler" in inside:
            heads.append(key)
        else:
            others.append(inside)
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


def _listed(keys: Collection[str]) -> str:
    return ", ".join(sorted(keys)[:_SHOWN]) + (" …" if len(keys) > _SHOWN else "")
