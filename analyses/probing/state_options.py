"""The options of probes of hidden states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from tyro.conf import arg

from ..contract import OptionError, OptionGroup
from ..option_groups import Bounds
from ..shared.numbers import Number
from ..shared.option_types import split_names

_MIX = "mix"


@dataclass(frozen=True)
class StateProbeOptions(OptionGroup):
    """Options of probes of hidden states.

    Example:
        >>> from attentionology.analyses import StateProbeOptions
        >>> StateProbeOptions(layers=("0", "3")).chosen(6)
        (0, 3)
        >>> StateProbeOptions(layers=("last",)).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --layers must be all, numbers from 0, or mix, not 'last'
    """

    layers: Annotated[tuple[str, ...], arg(metavar="L [L ...]")] = ("all",)
    """The layers whose hidden states are probed, separated by spaces or commas: 0 is the output of the embedding block.
    By default all are. With mix, alone or beside them, probes also read a weighted mean of the states of all layers,
    whose weights are learned."""

    pooling: Literal["mean", "first", "last"] = "mean"
    """How the states of the pieces of a word become one: their mean, or the state of the first or of the last piece.
    In a decoder, only the last piece has seen the whole word."""

    rank: Number = 64
    """The number of dimensions to which the probes arcs, distance and depth project states."""

    hidden: Annotated[int, Bounds(0), arg(metavar="N")] = 0
    """The size of a hidden layer of the probes of labels and relations. By default they are linear."""

    codelength: bool = False
    """Also compute how many bits per word tell the labels, relations or heads of the training sentences (of the first
    fold) to someone who has the states: the online code of Voita & Titov (2020), in which new probes are trained on
    ever longer beginnings of the shuffled sentences. With one fold, it takes about as long as all other trainings of
    these probes. It is not defined for the probes distance and depth."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        names = split_names(self.layers)
        for name in names:
            if name not in ("all", _MIX) and not name.isdecimal():
                raise OptionError(f"--layers must be all, numbers from 0, or mix, not {name!r}")
        if not names or ("all" in names and {*names} - {"all", _MIX}):
            raise OptionError("--layers must be all, or numbers of layers from 0, either with or without mix")

    def chosen(self, last: int) -> tuple[int, ...]:
        """Return the layers of a model that are probed one by one, given its last one.

        Raises:
            OptionError: the model has no such layer.
        """
        names = [name for name in split_names(self.layers) if name != _MIX]
        if "all" in names:
            return tuple(range(last + 1))
        numbers = sorted({int(name) for name in names})
        if numbers and numbers[-1] > last:
            raise OptionError(f"--layers: the layers of the model are 0 to {last}; there is no layer {numbers[-1]}")
        return tuple(numbers)

    @property
    def mixed(self) -> bool:
        """Whether a mix of all layers is probed."""
        return _MIX in split_names(self.layers)

    def stored(self, last: int, *, decays: bool = False) -> tuple[int, ...]:
        """Return the layers of a model whose states are needed, given its last one and whether layer 0 decays."""
        return tuple(range(last + 1)) if self.mixed else tuple(sorted({*self.chosen(last), *((0,) if decays else ())}))
