"""The makers of the chosen maps, and phrases that describe these maps to a reader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..option_groups import OptionError

if TYPE_CHECKING:
    from ...extractors import FFBias, MapMaker, Merge, Normalize


def map_makers(
    kinds: Iterable[str], merge: Merge = "norm", normalize: Normalize = "none", ff_bias: FFBias = "input"
) -> tuple[MapMaker, ...]:
    """Return the makers of the kinds of maps that options name, of words."""
    from ...extractors import MapMaker, get_kind

    try:
        return tuple(MapMaker(get_kind(kind), "word", merge, normalize, ff_bias) for kind in kinds)
    except ValueError as error:
        raise OptionError(str(error)) from None


@dataclass(frozen=True)
class MapFacts:
    """A description of the maps of a run, made before they are counted."""

    description: str  # the kind of map in words
    treatment: tuple[str, ...]  # one phrase for each choice of how maps are made that is not the usual one
    n_heads: int  # the number of heads of the model

    def phrases(self, n_heads: int) -> tuple[str, ...]:
        """Describe the maps, one phrase for each choice that is not the usual one."""
        shared = () if n_heads == self.n_heads else ("one map for all heads of a layer, shown as head 1",)
        return (self.description, *shared, *self.treatment)


def map_facts(maker: MapMaker, n_heads: int) -> MapFacts:
    """Describe maps of a maker before they are counted, for a model of this many heads."""
    kind, treatment = maker.kind, []
    if kind.vectors and maker.level == "word":
        treatment.append(
            "pieces merged into words by " + {"norm": "adding norms", "vector": "adding vectors"}[maker.merge]
        )
    if maker.normalize == "row":
        treatment.append("rows divided by their sums")
    if kind.name.removeprefix("rollout:").startswith("atbff"):
        treatment.append(f"feed-forward bias: {maker.ff_bias}")
    return MapFacts(f"map “{kind}”: {kind.description}", tuple(treatment), n_heads)
