"""The registry of map kinds: what may flow through the analyses under the name ``--map``.

A kind turns what a forward pass left behind into one map per layer. Register your own with

    @register_kind("mine", "what it is, and where it is defined")
    def mine(layer: Layer) -> Tensor: ...  # (batch, heads or 1, n, n), [from, to]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from jaxtyping import Float
from torch import Tensor

from attentionology.extractors.layers import Layer
from attentionology.extractors.maps.map_batch import FLOAT32_NOISE

LayerMap = Callable[[Layer], Float[Tensor, "batch heads n n"]]

ROLLOUT = "rollout"


@dataclass(frozen=True)
class MapKind:
    """A named kind of map.

    Attributes:
        name: what ``--map`` takes.
        description: one line with the source.
        layer_map: the computation: one map (batch, heads or 1, n, n) of one layer.
        rows_sum_to_one: whether every row is a distribution over positions (checked in every batch).
        reads_weights: whether it needs hidden states and weights, and so a row for the architecture.
        vectors: whether the map is made of norms of vectors, which may also be merged before the norm is taken.
        residual: whether the residual connection is part of the map; rollout adds it where it is not.
        noise: relative difference below which two float32 values must not be compared, see `MapBatch.exact`.
        rollout: whether the maps of the layers are multiplied, see `attentionology.extractors.kinds.rollout`.
    """

    name: str
    description: str
    layer_map: LayerMap
    rows_sum_to_one: bool = False
    reads_weights: bool = False
    vectors: bool = False
    residual: bool = False
    noise: float = FLOAT32_NOISE
    rollout: bool = False

    def __repr__(self) -> str:
        return f"MapKind({self.name!r})"


_KINDS: dict[str, MapKind] = {}


def register_kind(
    name: str,
    description: str,
    *,
    rows_sum_to_one: bool = False,
    reads_weights: bool = False,
    vectors: bool = False,
    residual: bool = False,
    noise: float = FLOAT32_NOISE,
) -> Callable[[LayerMap], LayerMap]:
    """Decorator that adds a kind to the registry; arguments as in `MapKind`.

    Raises:
        ValueError: the name is taken, or has a colon.
    """
    if name in list_kinds():
        raise ValueError(f"map kind {name!r} is already registered")
    if ":" in name:
        raise ValueError(f"the name of a map kind must not contain a colon: {name!r}")

    def add(layer_map: LayerMap) -> LayerMap:
        _KINDS[name] = MapKind(
            name,
            description,
            layer_map,
            rows_sum_to_one=rows_sum_to_one,
            reads_weights=reads_weights,
            vectors=vectors,
            residual=residual,
            noise=noise,
        )
        return layer_map

    return add


def get_kind(name: str) -> MapKind:
    """The kind of that name; ``rollout`` is that of the attention weights, ``rollout:KIND`` that of another kind.

    Raises:
        ValueError: unknown name; the message lists the choices.
    """
    prefix, _, base = name.partition(":")
    if prefix == ROLLOUT and base in ("", *_KINDS):
        rolled = _KINDS[base or "weight"]
        return replace(
            rolled,
            name=name,
            description=f"attention rollout of {rolled.name} (Abnar & Zuidema 2020)",
            rows_sum_to_one=True,
            vectors=False,
            rollout=True,
        )
    try:
        return _KINDS[name]
    except KeyError:
        raise ValueError(f"unknown map kind {name!r}; choose from: {', '.join(list_kinds())}, rollout:KIND") from None


def list_kinds() -> list[str]:
    """Names of all kinds, ``rollout`` of other kinds than the weights not among them."""
    return sorted([*_KINDS, ROLLOUT])
