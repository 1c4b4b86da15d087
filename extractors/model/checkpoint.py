"""Whether the weights of a model are those of its checkpoint, and can be those of a trained model."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from itertools import chain
from typing import Any

import torch

from ..errors import ModelError
from .files import LoadedFiles, UnusedWeights

_BUFFERS = ("position_ids", "token_type_ids", "inv_freq", "masked_bias", "attn.bias")
"""The ends of names of constants that older versions of transformers stored and that models compute today."""

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def check_loaded(files: LoadedFiles, model: Any, info: dict[str, Any], *, decoder: bool = False) -> LoadedFiles:
    """Compare a model with the checkpoint that it was loaded from, and return the files with what it did not use.

    Only weights that attention is computed from have to be there: those of the base model without its pooler, and of
    an encoder-decoder those of the encoder, and of the decoder if its attention is needed, too.
    """
    needed = _needed_weights(model, decoder=decoder)
    mismatched = {key: (list(stored), list(described)) for key, stored, described in info["mismatched_keys"]}
    if conflicts := needed & mismatched.keys():
        key = min(conflicts)
        stored_shape, described_shape = mismatched[key]
        raise ModelError(
            f"{files.name!r}: the shapes of {len(conflicts)} weights are not those that config.json describes: {key} "
            f"is {stored_shape} in the checkpoint, and {described_shape} by config.json"
        )
    untrained = {*info["missing_keys"], *mismatched}
    if missing := needed & untrained:
        raise ModelError(
            f"{files.name!r} lacks {len(missing)} weights of its architecture, which would be random: "
            f"{list_weights(missing)}"
        )
    prefix = f"{model.base_model_prefix}."
    names = needed if model.base_model is model else {key.removeprefix(prefix) for key in needed}
    unused = _unused_weights(info["unexpected_keys"], prefix, {name.split(".")[0] for name in names})
    # A left-over weight whose name differs from that of a needed one only in a number is that of a further layer.
    patterns = {_NUMBER.sub("*", name) for name in names}
    if layers := [key for key in unused.others if _NUMBER.sub("*", key) in patterns]:
        raise ModelError(
            f"{files.name!r}: the checkpoint has more layers than config.json says; {len(layers)} of its weights would "
            f"not be used: {list_weights(layers)}"
        )
    _check_finite(files.name, model)
    warnings = files.warnings
    if unused.others:  # heads are not mentioned, because most checkpoints have one
        warnings += (
            f"The checkpoint has {len(unused.others)} weights that do not belong to this architecture, so the model "
            f"may not be the one that was trained: {list_weights(unused.others)}.",
        )
    return replace(files, unused=unused, untrained=frozenset(untrained), warnings=warnings)


def _needed_weights(model: Any, *, decoder: bool) -> set[str]:
    """Name the weights that attention is computed from."""
    body = model.base_model
    if body.config.is_encoder_decoder and not decoder:
        body = body.get_encoder()
    ids_of_body = {id(tensor) for tensor in chain(body.parameters(), body.buffers())}
    named = chain(model.named_parameters(remove_duplicate=False), model.named_buffers(remove_duplicate=False))
    return {key for key, tensor in named if id(tensor) in ids_of_body and "pooler" not in key}


def _unused_weights(unexpected: Collection[str], prefix: str, parts: Collection[str]) -> UnusedWeights:
    """Sort tensors by whether they belong to the base model, by their prefix or by the name of a part of it."""
    heads, others = [], []
    for key in sorted(key for key in unexpected if not key.endswith(_BUFFERS)):
        bare_key = key.removeprefix(prefix)
        is_of_base = bare_key != key or bare_key.split(".")[0] in parts
        if is_of_base and "pooler" not in bare_key:
            others.append(bare_key)
        else:
            heads.append(key)
    return UnusedWeights(tuple(heads), tuple(others))


@torch.inference_mode()
def _check_finite(name: str, model: Any) -> None:
    """Raise `ModelError` if a weight is NaN or infinite."""
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


@torch.inference_mode()
def untrained_weights(model: Any) -> list[str]:
    """Say, in at most two sentences, which weight matrices cannot be trained ones: one value, or whole numbers only.

    Of the tables of embeddings, only that of words counts: converters leave zeros in those that a model does not use,
    such as the segments of XLM-RoBERTa.
    """
    words = model.get_input_embeddings()
    tables = [part for part in model.modules() if type(part).__name__.endswith("Embedding") and part is not words]
    spared = {id(parameter) for table in tables for parameter in table.parameters(recurse=False)}
    matrices = {
        key: matrix
        for key, matrix in model.named_parameters()
        if matrix.dim() > 1 and matrix.numel() > 1 and id(matrix) not in spared
    }
    constant = [key for key, matrix in matrices.items() if bool(torch.eq(*matrix.aminmax()))]  # smallest is largest
    whole = [key for key, matrix in matrices.items() if key not in constant and _is_whole(matrix)]
    return [
        f"{len(keys)} of {len(matrices)} weight matrices hold {what}, which training does not leave behind, so that "
        f"maps computed from them mean nothing: {list_weights(keys)}."
        for keys, what in ((constant, "one value throughout"), (whole, "only whole numbers"))
        if keys
    ]


def _is_whole(matrix: torch.Tensor) -> bool:
    """Whether all values are whole numbers. Of most matrices that have others, the first row alone shows them."""
    if not matrix.is_floating_point():
        return True
    return all(bool((values == values.round()).all()) for values in (matrix[0], matrix))


def list_weights(keys: Collection[str]) -> str:
    """Name the first few weights in a message."""
    return ", ".join(sorted(keys)[:5]) + (" …" if len(keys) > 5 else "")
