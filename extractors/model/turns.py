"""Forward passes of decoders in turns: the attention of a few layers at a time, where that of all would not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

from ..layers.verification import Recorder
from .forward_pass import resume_at, shorten

MOST = 2**30
"""The bytes of attention that are in memory at a time."""

TAKES_APART = ("bloom", "falcon")
"""Families that take apart what each layer gives, so that a pass cannot begin at any of them."""


class InTurns(Sequence[Tensor]):
    """The attention of the first layers, of which only a few are in memory; others are computed again if needed."""

    # All layers of a decoder have heads × n² weights for an input of n pieces: 17 GB for 32 layers of 32 heads and
    # 2,048 pieces, of which a kind with one map for all heads keeps a thirty-second. Where they are too many, the pass
    # is made in turns. Each begins with what the layers before have put out, so that every layer is computed once, and
    # the weights are those of a pass as a whole, bit by bit. `run` makes a pass that must give the attention of a
    # number of layers. `hidden` is filled with the input of each layer and the output of the last.

    def __init__(
        self, run: Callable[[int], tuple[Tensor, ...]], modules: nn.ModuleList, n_layers: int, layers_per_turn: int
    ) -> None:
        self.hidden: list[Tensor] = [Tensor()] * (n_layers + 1)
        self._run, self._modules, self._n_layers, self._layers_per_turn = run, modules, n_layers, layers_per_turn
        self._turn: dict[int, Tensor] = {}  # the attention that is in memory, by the layer
        self._next_layer = 0  # with which the next turn begins

    def __len__(self) -> int:
        return self._n_layers

    def __getitem__(self, index: Any) -> Any:
        layer = range(self._n_layers)[index]
        if layer not in self._turn and layer != self._next_layer:
            self._next_layer = layer - layer % self._layers_per_turn
            if not len(self.hidden[self._next_layer]):  # no pass has reached this layer yet
                self._next_layer = 0
        while layer not in self._turn:
            self._compute_turn()
        return self._turn[layer]

    def _compute_turn(self) -> None:
        """Compute the layers of the next turn, and drop those of the last one."""
        start = self._next_layer
        stop = min(start + self._layers_per_turn, self._n_layers)
        self._turn.clear()
        with ExitStack() as stack:
            stack.enter_context(shorten(self._modules, stop))
            modules = list(self._modules)
            if start:
                stack.enter_context(resume_at(modules, start, self.hidden[start]))
            recorded = stack.enter_context(Recorder(modules[start:]))
            attentions = self._run(stop - start)
        if not start:
            self.hidden[0] = recorded.inputs[0]
        self.hidden[start + 1 : stop + 1] = recorded.outputs
        self._turn = dict(enumerate(attentions, start))
        self._next_layer = stop


def layers_per_turn(bytes_of_layer: int, n_layers: int, *, causal: bool, family: str) -> int | None:
    """Return how many layers a turn has, given the bytes of a layer's attention; None if one pass gives all of it."""
    fitting = max(1, MOST // bytes_of_layer)
    # Between the layers of other models, there may be more than the output of one and the input of the next.
    return fitting if fitting < n_layers and causal and family not in TAKES_APART else None
