"""Forward passes that compute no more of a model than is needed: the first layers, or attention alone.

A layer does not depend on those above it, and its attention depends neither on the values nor on what follows it in the
layer. So a pass that only gives attention skips the projections to values and of the output and the feed-forward block
of its last layer, which are 10 of the about 12 dim² multiplications for each piece in a layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from ..errors import ModelError
from ..layers import ARCHITECTURES, Architecture, CrossAttention
from ..layers.attention_weights import read_linear


@contextmanager
def attention_only(model: Any, layers: int | None = None) -> Iterator[int | None]:
    """Let forward passes give only the attention of the first layers, and yield the number of layers they compute.

    All that a pass gives besides attention is meaningless. The whole model is computed, and the number is None, if its
    family has no row of names, or if its layers share modules.
    """
    row = ARCHITECTURES.get(str(model.config.model_type))
    modules = nn.ModuleList() if row is None else layer_list(getattr(model, "base_model", model), row.layers)
    if row is None or len(modules) != int(model.config.num_hidden_layers):
        yield None
        return
    unneeded = {row.output: None, **feed_forward(row)}
    if row.fused == "no":  # otherwise the same map gives the queries and keys
        unneeded[row.value] = None
    with shortened(modules, layers or len(modules)), giving_zeros(modules[-1], unneeded):
        yield len(modules)


def feed_forward(names: Architecture | CrossAttention) -> dict[str, int | None]:
    """Return what `giving_zeros` takes to skip the feed-forward block of a layer, empty if it must be computed."""
    return {names.ff_in: 0, names.ff_out: None} if names.ff_in else {}


@contextmanager
def shortened(modules: nn.ModuleList, number: int) -> Iterator[None]:
    """Leave only the first modules in a list within the context."""
    above = list(modules[number:])
    del modules[number:]
    try:
        yield
    finally:
        modules.extend(above)


@contextmanager
def giving_zeros(module: nn.Module, dims: Mapping[str, int | None]) -> Iterator[None]:
    """Let linear maps give zeros within the context, instead of what nobody needs.

    For each path from the module, ``dims`` has the dimension of what the map gives, None for the usual one. With 0
    dimensions, what follows has nothing to compute.
    """
    try:
        linear = {path: module.get_submodule(path) for path in dims}
        zeros = {
            path: _Zeros(read_linear(linear[path], path)[0].shape[1] if dim is None else dim)
            for path, dim in dims.items()
        }
    except (AttributeError, ModelError):
        # The row does not fit, which matters only to kinds of maps that read weights. Then all is computed.
        linear, zeros = {}, {}
    try:
        for path, replacement in zeros.items():
            module.set_submodule(path, replacement)
        yield
    finally:
        for path, replaced in linear.items():
            module.set_submodule(path, replaced)


class _Zeros(nn.Module):
    """Takes the place of a linear map, and gives zeros."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return x.new_zeros(*x.shape[:-1], self.dim)


def layer_list(model: Any, path: str) -> nn.ModuleList:
    """Return the list of the layers of a model, empty if there is no list at the path."""
    try:
        modules = model.get_submodule(path)
    except AttributeError:  # no such module
        return nn.ModuleList()
    return modules if isinstance(modules, nn.ModuleList) else nn.ModuleList()
