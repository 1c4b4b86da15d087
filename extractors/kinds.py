"""The registry of map kinds: what may flow through the analyses under the name ``--map``.

A kind turns what a forward pass left behind into one map per layer. Register your own with

    @register_kind("mine", "what it is, and where it is defined")
    def mine(forward: Forward) -> Iterator[Tensor]: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Forward:
    """What one forward pass over a padded batch leaves for the map kinds.

    Attributes:
        attentions: per layer the attention weights α, shape (batch, heads, n, n).
        mask: True where there is a piece, False on padding; shape (batch, n).
    """

    attentions: tuple[Float[Tensor, "batch heads n n"], ...]
    mask: Bool[Tensor, "batch n"]


@dataclass(frozen=True)
class MapKind:
    """A named kind of map.

    Attributes:
        name: what ``--map`` takes.
        description: one line with the source.
        layers: the computation, one map (batch, heads or 1, n, n) per layer.
        rows_sum_to_one: whether every row is a distribution over positions (checked in every batch).
    """

    name: str
    description: str
    layers: Callable[[Forward], Iterable[Float[Tensor, "batch heads n n"]]]
    rows_sum_to_one: bool


_KINDS: dict[str, MapKind] = {}


def register_kind(
    name: str, description: str, *, rows_sum_to_one: bool = False
) -> Callable[
    [Callable[[Forward], Iterable[Float[Tensor, "batch heads n n"]]]],
    Callable[[Forward], Iterable[Float[Tensor, "batch heads n n"]]],
]:
    """Decorator that adds a kind to the registry.

    Raises:
        ValueError: the name is taken.
    """
    if name in _KINDS:
        raise ValueError(f"map kind {name!r} is already registered")

    def add(
        layers: Callable[[Forward], Iterable[Float[Tensor, "batch heads n n"]]],
    ) -> Callable[[Forward], Iterable[Float[Tensor, "batch heads n n"]]]:
        _KINDS[name] = MapKind(name, description, layers, rows_sum_to_one)
        return layers

    return add


def get_kind(name: str) -> MapKind:
    """The kind of that name.

    Raises:
        ValueError: unknown name; the message lists the choices.
    """
    try:
        return _KINDS[name]
    except KeyError:
        raise ValueError(f"unknown map kind {name!r}; choose from: {', '.join(list_kinds())}") from None


def list_kinds() -> list[str]:
    """Names of all registered kinds."""
    return sorted(_KINDS)


@register_kind("weight", "attention weights α (Clark et al. 2019)", rows_sum_to_one=True)
def weight(forward: Forward) -> Iterator[Float[Tensor, "batch heads n n"]]:
    """The attention weights as they are."""
    yield from forward.attentions
