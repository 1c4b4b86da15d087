"""Forward passes that end after the first layers, for what needs no more of a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from attentionology.extractors.layers import ARCHITECTURES


@contextmanager
def only_first_layers(model: Any, layers: int) -> Iterator[int]:
    """Let forward passes end after the first layers, and yield the number of layers that they compute.

    A layer does not depend on those above it, so the attention of the first layers stays the same. All layers are
    computed if the family of the model has no row of names, or if its layers share modules.

    Args:
        model: the model, whose list of layers is cut within the context.
        layers: the number of layers.
    """
    modules, n_layers = _layer_list(model), int(model.config.num_hidden_layers)
    if len(modules) != n_layers:
        yield n_layers
        return
    with shortened(modules, layers):
        yield len(modules)


@contextmanager
def shortened(modules: nn.ModuleList, number: int) -> Iterator[None]:
    """Leave only the first modules in a list within the context.

    Args:
        modules: the list, which is changed.
        number: the number of modules that are left.
    """
    above = list(modules[number:])
    del modules[number:]
    try:
        yield
    finally:
        modules.extend(above)


def _layer_list(model: Any) -> nn.ModuleList:
    """Return the list of the layers of a model, empty if its place is not known."""
    row = ARCHITECTURES.get(str(model.config.model_type))
    try:
        modules = getattr(model, "base_model", model).get_submodule("" if row is None else row.layers)
    except AttributeError:  # no such module
        return nn.ModuleList()
    return modules if isinstance(modules, nn.ModuleList) else nn.ModuleList()
