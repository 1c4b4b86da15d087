"""A float64 view of a float32 model, which converts one parameter at a time.

A copy of BERT-large in float64 takes 2.7 GB beside the 1.3 GB of the model, and is needed for the few sentences of
which some decision is too close for float32. The twin made here has the modules of the model but no weights of its
own: its parameters *are* those of the model, and whoever reads ``module.weight``, the module itself or another one,
gets a float64 copy that lives as long as it is used. The conversion is exact, so the twin computes the same bits as a
converted copy, and it never goes stale when the model's parameters are written to.
"""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn
from torch.nn.utils import parametrize


def float64_twin(model: Any) -> Any:
    """The same model in float64, on the CPU if the device of the model has no float64.

    Of the parameters only those in use are held in float64. The table of word embeddings, which is large and of which
    few rows are needed, is cast after the look-up.
    """
    words = model.get_input_embeddings()
    shared = {id(parameter): parameter for parameter in model.parameters()}
    twin = copy.deepcopy(model, {id(words): _CastAfterLookUp(words), **shared})
    for module in list(twin.modules()):
        for name, buffer in list(module.named_buffers(recurse=False)):
            setattr(module, name, in_float64(buffer))
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.is_floating_point():
                # "unsafe" allows the type to change.
                parametrize.register_parametrization(module, name, _InFloat64(), unsafe=True)
    return twin


def in_float64(stored: Tensor) -> Tensor:
    """The tensor as the twin sees it; integers stay integers."""
    available = stored.cpu() if stored.device.type == "mps" else stored
    return available.double() if available.is_floating_point() else available


class _InFloat64(nn.Module):
    """What is done to a parameter of the model whenever the twin reads it."""

    def forward(self, stored: Tensor) -> Tensor:
        return in_float64(stored)


class _CastAfterLookUp(nn.Module):
    """Looks up in a float32 table and gives float64, without owning (and so converting) the table."""

    def __init__(self, table: nn.Module) -> None:
        super().__init__()
        self._table = (table,)  # in a tuple: not a submodule
        self.num_embeddings = table.num_embeddings

    def forward(self, ids: Tensor) -> Tensor:
        table = self._table[0]
        looked_up: Tensor = table(ids.to(next(table.parameters()).device))
        return looked_up.to(ids.device).double()
