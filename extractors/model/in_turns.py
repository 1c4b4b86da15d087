"""The attention of a forward pass, of which only a few layers are in memory at a time.

All layers of a decoder have heads × n² weights for an input of n pieces: 17 GB for 32 layers of 32 heads and 2,048
pieces, of which a kind with one map for all heads keeps a thirty-second. Where they are too many, the pass is made in
turns. Each begins with what the layers before have put out, so that every layer is computed once, and the weights are
those of a pass as a whole, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

from ..layers.verification import Recorder
from .forward_pass import resumed, shortened

MOST = 2**30
"""The bytes of attention that are in memory at a time."""

TAKES_APART = ("bloom", "falcon")
"""Families that take apart what each layer gives, so that a pass cannot begin at any of them."""


class InTurns(Sequence[Tensor]):
    """The attention of the first layers, in their order; what is no longer in memory is computed again if it is needed.

    ``run`` makes a forward pass that must give the attention of a number of layers. ``hidden`` is filled with the
    input of each layer and the output of the last.
    """

    def __init__(
        self, run: Callable[[int], tuple[Tensor, ...]], modules: nn.ModuleList, number: int, together: int
    ) -> None:
        self.hidden: list[Tensor] = [Tensor()] * (number + 1)
        self._run, self._modules, self._number, self._together = run, modules, number, together
        self._turn: dict[int, Tensor] = {}
        self._stop = 0

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, index: Any) -> Any:
        number = range(self._number)[index]
        if number not in self._turn and number != self._stop:
            self._stop = number - number % self._together
            if not len(self.hidden[self._stop]):
                self._stop = 0
        while number not in self._turn:
            self._next()
        return self._turn[number]

    def _next(self) -> None:
        """Compute the layers after those that were computed last, and drop these."""
        start, stop = self._stop, min(self._stop + self._together, self._number)
        self._turn.clear()
        with ExitStack() as stack:
            stack.enter_context(shortened(self._modules, stop))
            modules = list(self._modules)
            if start:
                stack.enter_context(resumed(modules, start, self.hidden[start]))
            recorded = stack.enter_context(Recorder(modules[start:]))
            attentions = self._run(stop - start)
        if not start:
            self.hidden[0] = recorded.inputs[0]
        self.hidden[start + 1 : stop + 1] = recorded.outputs
        self._turn = dict(enumerate(attentions, start))
        self._stop = stop
