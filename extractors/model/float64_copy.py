"""A float64 view of a float32 model, which converts one parameter at a time.

A copy of BERT-large in float64 takes 2.7 GB beside the 1.3 GB of the model, and is needed for few sentences only. The
twin made here has the modules of the model but no weights: its parameters *are* those of the model, and each is
converted whenever ``module.weight`` is read, to a tensor that lives as long as it is used. The conversion is exact, so
the twin computes the bits of a converted copy, and it never goes stale. Of tables of words, the largest parameters,
only the rows that are looked up are converted. A model held in bfloat16 is computed with in float32 by the same means.
"""

from __future__ import annotations

import copy
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.overrides import TorchFunctionMode

from ..errors import ModelError


def float64_twin(model: Any) -> Any:
    """Make a view of the model in float64, on the CPU if the device of the model has no float64."""
    return _view(model, torch.float64)


def float32_view(model: Any) -> Any:
    """Make a view in float32 of a model whose weights are held in bfloat16, which takes half the memory."""
    # Every bfloat16 number is a float32 number, so a model whose checkpoint is in bfloat16 computes the same bits as if
    # its weights had been loaded in float32. To compute in bfloat16 would be of no use: attention weights are then off
    # by up to a third, so that almost every sentence would have to be computed again in float64. A model that makes
    # constants in the type of its weights, so that they are rounded, is a `ModelError`.
    stored = model.state_dict().keys()
    # The scale of embeddings is made again, without rounding, by `_CastAfterLookUp`.
    rounded = [
        name
        for name, buffer in model.named_buffers()
        if name not in stored and buffer.dtype == torch.bfloat16 and not name.endswith(".embed_scale")
    ]
    if rounded:
        raise ModelError(
            f"constants of this architecture would be rounded ({', '.join(rounded[:3])}), so that its weights cannot "
            "be held in bfloat16; leave out --dtype"
        )
    return _view(model, torch.float32)


def _view(model: Any, dtype: torch.dtype) -> Any:
    """Make a copy of the model that shares its parameters, and converts each whenever it is read."""
    tables = {id(table): _CastAfterLookUp(table, dtype) for table in _word_tables(model)}
    shared = {id(parameter): parameter for parameter in model.parameters()}
    converted = {id(buffer): _convert(buffer.clone(), dtype) for buffer in model.buffers()}
    # What deepcopy finds here it takes for the copy of an object.
    twin = copy.deepcopy(model, {**tables, **shared, **converted})
    for module in list(twin.modules()):
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.is_floating_point():
                # "unsafe" allows the type to change.
                parametrize.register_parametrization(module, name, _Converting(dtype), unsafe=True)
    if dtype == torch.float64:
        twin.set_experts_implementation("eager")  # the product of all experts at once is not there for float64
    twin.view_of = (model, dtype)  # by which `LoadedModel` recognizes it; in a tuple, the model is no submodule
    return twin


def _word_tables(model: Any) -> list[nn.Module]:
    """Return the modules that look up words: that of the model, and those of its encoder and decoder."""
    of_parts = [getattr(part, "embed_tokens", None) for part in model.modules()]
    # A table of another class (I-BERT) may return more than vectors. It is converted like all other modules.
    return [table for table in (model.get_input_embeddings(), *of_parts) if isinstance(table, nn.Embedding)]


def in_float64(stored: Tensor) -> Tensor:
    """Convert a tensor to float64 on a device that has it; integers stay integers."""
    if stored.device.type == "mps":  # which has no float64
        stored = stored.cpu()
    return stored.double() if stored.is_floating_point() else stored


def _convert(stored: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert a tensor to a type of decimal numbers; integers stay integers."""
    if dtype == torch.float64:
        return in_float64(stored)
    return stored.to(dtype) if stored.is_floating_point() else stored


class _Converting(nn.Module):
    """The parametrization that converts a parameter of the model whenever the view reads it."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self._dtype = dtype

    def forward(self, stored: Tensor) -> Tensor:
        return _convert(stored, self._dtype)


class _CastAfterLookUp(nn.Module):
    """Looks up rows of a table of words, and converts only these. The table is kept out of the submodules for that."""

    def __init__(self, table: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self._table, self._dtype = (table,), dtype  # in a tuple: not a submodule
        self.num_embeddings = table.num_embeddings

    def forward(self, ids: Tensor) -> Tensor:
        table = self._table[0]
        scale = getattr(table, "embed_scale", None)
        if isinstance(scale, Tensor) and scale.dtype == torch.bfloat16:  # it is rounded; the table has the number, too
            scale = torch.tensor(table.scalar_embed_scale, dtype=torch.float32)
        on_device = ids.to(next(table.parameters()).device)
        if scale is None:
            looked_up: Tensor = table(on_device)
            return looked_up.to(ids.device, self._dtype)
        # In the type of the table, the product would be rounded.
        rows = nn.functional.embedding(on_device, table.get_parameter("weight")).to(ids.device)
        return rows.to(self._dtype) * (scale.to(ids.device, self._dtype) if isinstance(scale, Tensor) else scale)


class InFloat64(TorchFunctionMode):
    """Keeps what a float64 model computes in float64, where its family converts it to float32 and back.

    Llama and its relatives do so in their RMS norms and softmax, so that a pass in bfloat16 is stable. Rotary tables
    are left as they are: they are constants of the model, which its float32 pass has rounded, too.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._n_running = 0  # how many modules that make rotary tables are running
        self._rotary = [module for module in model.modules() if "Rotary" in type(module).__name__]
        self._hooks = ExitStack()

    def __enter__(self) -> InFloat64:
        for module in self._rotary:
            self._hooks.callback(module.register_forward_pre_hook(self._begin).remove)
            self._hooks.callback(module.register_forward_hook(self._end, always_call=True).remove)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        self._hooks.close()

    def _begin(self, *_: Any) -> None:
        self._n_running += 1

    def _end(self, *_: Any) -> None:
        self._n_running -= 1

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch, which must not convert float64 to float32 outside of rotary tables."""
        kwargs = kwargs or {}
        first = args[0] if args else None
        if not self._n_running and isinstance(first, Tensor) and first.dtype == torch.float64:
            if function is Tensor.float or (function is Tensor.to and torch.float32 in args):
                return first
            if kwargs.get("dtype") is torch.float32:
                kwargs = {**kwargs, "dtype": torch.float64}
        return function(*args, **kwargs)
