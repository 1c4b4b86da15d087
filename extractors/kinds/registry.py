"""The registry of map kinds: the names that ``--map`` takes, and what computes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from jaxtyping import Float
from torch import Tensor

from ...storage.nearest import UnknownNameError, describe_unknown
from ...storage.plugins import Plugins, RegistryError, load_entry_point, source_of
from ..layers import Layer, TextLoss
from .rollout import AGGREGATIONS

LayerMap = Callable[[Layer], Float[Tensor, "batch heads n n"]]
Registered = TypeVar("Registered", bound=LayerMap)

ROLLOUT = "rollout"

FLOAT32_NOISE = 2e-5
"""The relative difference below which two float32 values must not be compared; see
`attentionology.extractors.MapBatch.exact`.

Attention weights and norms of vectors are that precise. Kinds that are made of differences declare more where they are
registered. Over 60,000 close decisions of a 6-layer model in three languages, the relative difference of
the two best candidates had an error of at most 1.6e-5 in float32 (less than 7e-6 in 99.99 % of them); in a 12-layer
model it was at most 9e-6. `attentionology.extractors.checks.precision` measures it for any model.
"""


@dataclass(frozen=True)
class MapKind:
    """A named kind of map.

    Attributes:
        name: the name that ``--map`` takes.
        description: one line that names the source.
        layer_map: the function that computes the map of one layer, of shape (batch, heads or 1, n, n).
        rows_sum_to_one: whether every row is a distribution over positions, which is then checked in every batch.
        reads_weights: whether the kind needs hidden states and weights, and so a row for the architecture.
        vectors: whether the map is made of norms of vectors, which may also be merged before the norm is taken.
        residual: whether the residual connection is part of the map; rollout adds it where it is not.
        noise: the relative difference below which two float32 values must not be compared, see `MapBatch.exact`.
        gradient_of: the loss of each text whose gradient the kind reads as `Layer.gradient`, a function of the final
            hidden states and the mask of a batch. None if it reads no gradient; then no backward pass is made.
        aggregation: the name of the rule by which the maps of the layers are put together, such as ``rollout``, see
            `attentionology.extractors.kinds.rollout`. It is empty if each layer has a map of its own.

    Example:
        >>> from attentionology.extractors import MapKind, get_kind
        >>> kind = get_kind("norm")
        >>> isinstance(kind, MapKind), kind.description
        (True, '‖αf(x)‖ per head (Kobayashi et al. 2020)')
        >>> kind.reads_weights, kind.rows_sum_to_one
        (True, False)
    """

    name: str
    description: str
    layer_map: LayerMap
    rows_sum_to_one: bool = False
    reads_weights: bool = False
    vectors: bool = False
    residual: bool = False
    noise: float = FLOAT32_NOISE
    gradient_of: TextLoss | None = None
    aggregation: str = ""

    @property
    def base(self) -> str:
        """The name of the kind whose maps are put together, or its own name."""
        return self.name.rpartition(":")[2]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"MapKind({self.name!r})"


_KINDS: dict[str, MapKind] = {}


def _own_names() -> list[str]:
    """Return the names of the kinds that come with the toolkit."""
    toolkit = __name__.partition(".")[0] + "."
    return [ROLLOUT, *(name for name, kind in _KINDS.items() if kind.layer_map.__module__.startswith(toolkit))]


_PLUGINS = Plugins("map kind", _own_names)


def _find(name: str) -> MapKind | None:
    """Return the kind of a name, after importing the package that adds it; None if there is none."""
    # The entry point of a kind names its decorated function, so that the import registers the kind.
    point = _PLUGINS.find_additions().get(name)
    if point is not None and name not in _KINDS:
        load_entry_point(_PLUGINS.what, point)
        if name not in _KINDS:
            raise RegistryError(f"{source_of(point)} has no @register_kind({name!r}, …), as its entry point says")
    return _KINDS.get(name)


def register_kind(name: str, description: str, **properties: Any) -> Callable[[Registered], Registered]:
    """Make a decorator that adds a map kind to the registry.

    The decorated function takes a `Layer` and returns a map of shape (batch, heads or 1, n, n), whose rows are the
    positions attended from.

    Args:
        name: the name that ``--map`` takes.
        description: one line that names the source.
        properties: ``rows_sum_to_one``, ``reads_weights``, ``vectors``, ``residual``, ``noise`` and
            ``gradient_of``, see `MapKind`.

    Raises:
        ValueError: the name is taken or contains a colon.
        TypeError: there is no such property.

    Example:
        >>> from attentionology import Sentence, extract, load_encoder, register_kind
        >>> @register_kind("squared", "squared attention weights")
        ... def squared(layer):
        ...     return layer.alpha**2
        >>> sentences = [Sentence.from_text("Cats sleep.")]
        >>> [batch] = extract(load_encoder("demo"), sentences, kind="squared")
        >>> batch
        MapBatch('squared', word level, 1 sentence, shape (1, 6, 12, 5, 5))
    """
    if name in (*_KINDS, *AGGREGATIONS):
        raise ValueError(f"map kind {name!r} is already registered")
    if ":" in name:
        raise ValueError(f"the name of a map kind must not contain a colon: {name!r}")

    def add(layer_map: Registered) -> Registered:
        _KINDS[name] = MapKind(name, description, layer_map, **properties)
        return layer_map

    return add


def get_kind(name: str | MapKind) -> MapKind:
    """Return the map kind of a name. A kind is returned as it is.

    ``rollout`` is the rollout of the attention weights, and ``rollout:KIND`` that of another kind. ``product:KIND`` and
    ``relevance:KIND`` put the maps of layers together by other rules.

    Raises:
        ValueError: there is no such kind; the message lists the choices.

    Example:
        >>> from attentionology.extractors import get_kind
        >>> get_kind("rollout:attnresln").description
        'attention rollout of attnresln (Abnar & Zuidema 2020)'
    """
    if isinstance(name, MapKind):
        return name
    if not isinstance(name, str):
        raise UnknownNameError(f"expected the name of a kind, not {name!r:.80}; register_kind gives a function a name")
    prefix, _, base = name.partition(":")
    rule = AGGREGATIONS.get(prefix)
    base_kind = _find("weight" if name == ROLLOUT else base) if rule else None
    if rule is not None and base_kind is not None:
        of_base = f": {base_kind.description}" if base_kind.gradient_of else ""  # which names the loss
        return replace(
            base_kind,
            name=name,
            description=f"{rule.description} of {base_kind.name} ({rule.source}){of_base}",
            rows_sum_to_one=rule.rows_sum_to_one,
            vectors=False,
            aggregation=prefix,
        )
    kind = _find(name)
    if kind is None:
        kinds = list_kinds()
        together = [f"{rule}:{kind}" for rule in AGGREGATIONS for kind in kinds if kind != ROLLOUT]
        raise UnknownNameError(
            describe_unknown(_PLUGINS.what, name, [*kinds, *(f"{rule}:KIND" for rule in AGGREGATIONS)], together)
        )
    return kind


def list_kinds() -> list[str]:
    """List the names of all kinds, also of other packages, without rollouts other than that of the attention weights.

    Example:
        >>> from attentionology import list_kinds
        >>> "weight" in list_kinds(), "rollout" in list_kinds()
        (True, True)
    """
    return sorted({*_KINDS, *_PLUGINS.names()})
