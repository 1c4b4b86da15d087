"""The maker of the chosen maps, and phrases that describe these maps to a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..contract import MapChoice

if TYPE_CHECKING:
    from ...extractors import MapMaker
    from ...extractors.maps.map_batch import Level


def map_maker(maps: MapChoice, level: Level = "word") -> MapMaker:
    """Return the maker of the chosen maps.

    Raises:
        ValueError: the kind is unknown, or vectors are to be merged and the kind has none.
    """
    from ...extractors import MapMaker, get_kind

    return MapMaker(get_kind(maps.kind), level, maps.merge, maps.normalize, maps.ff_bias)  # type: ignore[arg-type]


@dataclass(frozen=True)
class MapFacts:
    """A description of the maps of a run, made before they are counted.

    Attributes:
        description: the kind of map in words.
        treatment: one phrase for each choice of how maps are made that is not the usual one.
        n_heads: the number of heads of the model.
    """

    description: str
    treatment: tuple[str, ...]
    n_heads: int

    def phrases(self, n_heads: int) -> tuple[str, ...]:
        """Describe the maps, one phrase for each choice that is not the usual one.

        Args:
            n_heads: the number of heads of the maps, which is 1 if all heads of a layer share a map.
        """
        shared = () if n_heads == self.n_heads else ("one map for all heads of a layer, shown as head 1",)
        return (self.description, *shared, *self.treatment)


def map_facts(maps: MapChoice, n_heads: int, *, words: bool = True) -> MapFacts:
    """Describe maps before they are counted.

    Args:
        maps: the kind of map and how it is made.
        n_heads: the number of heads of the model.
        words: whether pieces were merged into words.
    """
    from ...extractors import get_kind

    kind = get_kind(maps.kind)
    treatment = []
    if kind.vectors and words:
        treatment.append(
            "pieces merged into words by " + {"norm": "adding norms", "vector": "adding vectors"}[maps.merge]
        )
    if maps.normalize == "row":
        treatment.append("rows divided by their sums")
    if maps.kind.removeprefix("rollout:").startswith("atbff"):
        treatment.append(f"feed-forward bias: {maps.ff_bias}")
    return MapFacts(f"map “{maps.kind}”: {kind.description}", tuple(treatment), n_heads)
