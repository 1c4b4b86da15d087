"""A float64 copy of a model that takes little more memory than its layers."""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn


def float64_twin(model: Any) -> Any:
    """The same model in float64.

    The table of word embeddings, most of a small model's memory, is shared and cast after the look-up,
    which is exact. Where the device has no float64 the copy lives on the CPU.
    """
    words = model.get_input_embeddings()
    twin = copy.deepcopy(model, {id(words): _CastAfterLookUp(words)})
    if next(model.parameters()).device.type == "mps":
        twin = twin.to("cpu")
    return twin.double()


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
