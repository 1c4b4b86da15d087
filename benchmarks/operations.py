"""How much work counting gives a GPU for each batch, told without a GPU.

    python -m benchmarks.operations [--corpus FILE.conllu ...] [--sentences 300] [--where]

On a GPU, small operations take as long as large ones, and a GPU has nothing to do while the host waits for a value of
it and decides what comes next. So how long a batch takes follows from how many operations are launched, how often the
host waits for the device, and how many tensors it sends there. Here, the weights of the model are marked as if they
were on a GPU, and so is whatever is computed from them; batches are as large as on a GPU. Besides the three numbers,
operations of the host are counted, which take time, too, and operations between tensors of both sides, which would be
errors on a GPU. With ``--where``, the lines of the program that do most of it are listed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Encoder, shared_batches
from attentionology.extractors.maps.batching import usual_cells
from attentionology.extractors.model.named import load_encoder
from benchmarks.dependency import corpus
from benchmarks.engine import KINDS, counted

GPU = torch.device("cuda", 0)
"""The device that marked tensors say they are on. Their memory is that of the host."""

_LAUNCH_NOTHING = {
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"),
    *("detach", "alias", "lift_fresh", "_local_scalar_dense"),
}
"""Operations that only make a tensor, and the one that reads a value, which is counted as a wait."""

_OF_UNKNOWN_SIZE = {"nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "repeat_interleave"}
"""Operations for whose results the host has to know values, for which it waits."""

_READ = {"cpu", "numpy", "tolist", "item", "__array__", "__bool__", "__int__", "__float__", "__index__"}
"""Functions that give the host values of a tensor."""

_OF_DATA = {"tensor", "as_tensor", "asarray"}
"""Functions that make a tensor of what the host has."""

_ROOMS = ("analyses", "benchmarks", "corpora_loaders", "engine", "extractors", "probes")


@dataclass
class Work:
    """What was done, by the lines of the program."""

    operations: Counter[str] = field(default_factory=Counter)  # of the device
    waits: Counter[str] = field(default_factory=Counter)  # of the host for the device
    sent: Counter[str] = field(default_factory=Counter)  # tensors, from the host to the device
    of_host: Counter[str] = field(default_factory=Counter)  # operations of the host
    mixed: Counter[str] = field(default_factory=Counter)  # operations between tensors of both, errors on a GPU
    batches: int = 0

    def for_each_batch(self) -> dict[str, float]:
        """Return the numbers of operations, waits, …, divided by the number of batches."""
        return {name: lines.total() / max(1, self.batches) for name, lines in vars(self).items() if name != "batches"}


def is_marked(tensor: Any) -> bool:
    """Whether a tensor is taken to be on the device."""
    return isinstance(tensor, Tensor) and getattr(tensor, "_is_on_device", False)


def mark(tensor: Tensor, on_device: bool = True) -> Tensor:
    """Take a tensor to be on the device, or on the host."""
    tensor._is_on_device = on_device  # type: ignore[attr-defined]
    return tensor


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what is computed, and marks what is computed from marked tensors."""

    def __init__(self, work: Work) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.work = work

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        on_device = [is_marked(tensor) for tensor in tensors]
        result = func(*args, **kwargs)
        launches = not (func.is_view or name in _LAUNCH_NOTHING)
        if not any(on_device):
            if launches:
                self.work.of_host[_line()] += 1
            return result
        if launches:
            line = _line()
            self.work.operations[line] += 1
            if name in _OF_UNKNOWN_SIZE:
                self.work.waits[line] += 1
            is_index = name.lstrip("_").startswith("index") and len(args) > 1 and isinstance(args[1], list | tuple)
            for index in args[1] if is_index else ():
                if isinstance(index, Tensor) and not is_marked(index):
                    self.work.sent[line] += 1
                elif isinstance(index, Tensor) and index.dtype == torch.bool:
                    self.work.waits[line] += 1
            others = [tensor for tensor, marked in zip(tensors, on_device, strict=True) if not marked]
            if not is_index and any(tensor.dim() for tensor in others):  # a number of the host may be an operand
                self.work.mixed[line] += 1
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                mark(leaf)
        return result


class _Moves(TorchFunctionMode):
    """Counts what goes from one side to the other, and says that marked tensors are on a GPU."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        own = args[0] if args and isinstance(args[0], Tensor) else None
        if name == "to" and own is not None:
            return self._moved(func, own, args, kwargs)
        if kwargs.get("device") is not None and torch.device(kwargs["device"]) == GPU:
            made = func(*args, **{**kwargs, "device": "cpu"})
            (self.work.sent if name in _OF_DATA else self.work.operations)[_line()] += 1
            return mark(made)
        if own is None or not (is_marked(own) or name == "copy_"):
            return func(*args, **kwargs)
        if name == "__get__" and getattr(func, "__self__", None) is torch.Tensor.device:
            return GPU
        if name in _READ:
            self.work.waits[_line()] += 1
            with torch._C.DisableTorchFunction():
                read = func(*args, **kwargs)
            return mark(read.detach(), False) if isinstance(read, Tensor) else read
        if name == "copy_" and is_marked(args[1]) != is_marked(own):
            (self.work.sent if is_marked(own) else self.work.waits)[_line()] += 1
            with torch._C.DisableTorchFunction():
                own.numpy()[...] = args[1].numpy()  # which is not seen as an operation between both sides
            return own
        return func(*args, **kwargs)

    def _moved(self, func: Any, own: Tensor, args: Sequence[Any], kwargs: dict[str, Any]) -> Tensor:
        """Return what `Tensor.to` returns, on the side that it names."""
        on_device = is_marked(own)
        arguments = [*args[1:], *kwargs.values()]
        for value in arguments:
            if isinstance(value, Tensor):
                on_device = is_marked(value)
            elif isinstance(value, str | torch.device):
                on_device = torch.device(value) == GPU
        if is_marked(own) and not on_device:
            self.work.waits[_line()] += 1
        elif on_device and not is_marked(own):
            self.work.sent[_line()] += 1

        def on_host(value: Any) -> Any:
            return torch.device("cpu") if isinstance(value, str | torch.device) else value

        with torch._C.DisableTorchFunction():
            moved: Tensor = func(*map(on_host, args), **{name: on_host(value) for name, value in kwargs.items()})
        return moved if moved is own and is_marked(own) == on_device else mark(moved.detach(), on_device)


def _line() -> str:
    """Return the line of the toolkit that is being run, or say that the model runs."""
    frame: FrameType | None = sys._getframe(1)
    line = ""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if "transformers" in path.parts:
            return "the model"
        if not line and path.stem != "operations" and any(room in path.parts for room in _ROOMS):
            line = f"{'/'.join(path.parts[-3:])}:{frame.f_lineno}"
        frame = frame.f_back
    return line


@contextmanager
def work_of(encoder: Encoder) -> Iterator[Work]:
    """Count the work of everything that is done with the model inside of the context.

    The model is used once before, because what is done once for each model is no work of a batch.
    """
    models = encoder.model, encoder.double.model
    tensors = [tensor for model in models for tensor in (*model.parameters(), *model.buffers())]
    for tensor in tensors:
        mark(tensor)
    work, before = Work(), Work()
    with _Moves(before), _Operations(before):
        for batch in shared_batches(encoder, [Sentence("s1", ("Cats", "sleep"))], hidden_states=True):
            list(batch.forward.layers())
    passes = encoder.model.register_forward_pre_hook(lambda *_: _count_batch(work))
    try:
        with _Moves(work), _Operations(work):
            yield work
    finally:
        passes.remove()
        for tensor in tensors:
            mark(tensor, False)


def _count_batch(work: Work) -> None:
    """Count a forward pass in float32; sentences that are computed again in float64 belong to a batch of these."""
    work.batches += 1


def forward_passes(encoder: Encoder, sentences: list[Sentence]) -> None:
    """Make the plain forward passes in the batches of counting."""
    for batch in shared_batches(encoder, sentences, batch_cells=usual_cells(encoder.device)):
        _ = batch.forward


CONTESTANTS: dict[str, Callable[[Encoder, list[Sentence]], None]] = {
    "forward pass": forward_passes,
    "dependency": partial(counted, analyses=("dependency",)),
    "dependency, surface, clusters": counted,
    "dependency by six kinds": partial(counted, analyses=("dependency",), kinds=KINDS),
}


def main() -> None:
    """Print the table, and the lines that do most."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", default=[])
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--where", action="store_true", help="list the lines that do most")
    options = parser.parse_args()
    sentences, encoder = corpus(options.corpus, options.sentences), load_encoder("demo")
    table, lines = Table(title=f"For each batch of {len(sentences)} sentences"), Table()
    for column in ("", "batches", "operations", "waits", "sent", "operations of the host", "mixed"):
        table.add_column(column, justify="right" if column else "left")
    for column in ("", "what", "where", "for each batch"):
        lines.add_column(column)
    for name, run in CONTESTANTS.items():
        with work_of(encoder) as work:
            run(encoder, sentences)
        numbers = work.for_each_batch()
        table.add_row(name, str(work.batches), *(f"{number:,.1f}" for number in numbers.values()))
        for what in numbers:
            for line, number in getattr(work, what).most_common(12):
                lines.add_row(name, what, line, f"{number / work.batches:.1f}")
    Console(width=110).print(table)
    if options.where:
        Console(width=110).print(lines)


if __name__ == "__main__":
    main()
