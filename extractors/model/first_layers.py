"""Forward passes that compute no more of a model than is needed: the first layers, or attention alone.

A layer does not depend on those above it, and its attention does not depend on the feed-forward block that follows. So
a pass that only gives attention skips the feed-forward block of its last layer, which is 8 of the about 12 dim²
multiplications for each piece in a layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from attentionology.extractors.layers import ARCHITECTURES, Architecture


@contextmanager
def attention_only(model: Any, layers: int | None = None) -> Iterator[int | None]:
    """Let forward passes give only the attention of the first layers, and yield the number of layers they compute.

    All that a pass gives besides attention is meaningless. The whole model is computed if its family has no row of
    names, or if its layers share modules.

    Args:
        model: the model, whose list of layers is changed within the context.
        layers: the number of layers; None for all.

    Yields:
        the number of layers that are computed; None if that is not known.
    """
    row = ARCHITECTURES.get(str(model.config.model_type))
    modules = nn.ModuleList() if row is None else _layer_list(model, row)
    if row is None or len(modules) != int(model.config.num_hidden_layers):
        yield None
        return
    dim = int(model.config.hidden_size)
    with shortened(modules, layers or len(modules)), _without_feed_forward(modules[-1], row, dim):
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


@contextmanager
def _without_feed_forward(layer: nn.Module, row: Architecture, dim: int) -> Iterator[None]:
    """Let the feed-forward block of a layer give zeros within the context.

    Args:
        layer: the layer, two of whose modules are replaced.
        row: the names of its modules.
        dim: the dimension of what the block gives.
    """
    try:
        modules = {path: layer.get_submodule(path) for path in (row.ff_in, row.ff_out)}
    except AttributeError:  # the row does not fit, which matters only to kinds of maps that read weights
        yield
        return
    try:
        layer.set_submodule(row.ff_in, _Narrow(0))
        layer.set_submodule(row.ff_out, _Narrow(dim))
        yield
    finally:
        for path, module in modules.items():
            layer.set_submodule(path, module)


class _Narrow(nn.Module):
    """Takes the place of a linear map, and gives zeros. With 0 dimensions, what follows has nothing to compute."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return x.new_zeros(*x.shape[:-1], self.dim)


def _layer_list(model: Any, row: Architecture) -> nn.ModuleList:
    """Return the list of the layers of a model, empty if it is not one list."""
    try:
        modules = getattr(model, "base_model", model).get_submodule(row.layers)
    except AttributeError:  # no such module
        return nn.ModuleList()
    return modules if isinstance(modules, nn.ModuleList) else nn.ModuleList()
