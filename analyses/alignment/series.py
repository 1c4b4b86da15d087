"""The series of an alignment run: every way to read links off the maps of a model, and what makes these maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from ...extractors import MapBatch, MapMaker, Merge, get_kind
from ...extractors.translation import AlignmentSetting, CrossMapMaker, SimilarityMaker

TOGETHER, SINGLE = "all", "single"
"""The names of the series of all heads of a layer together, and of each head by itself."""

FORWARD, REVERSE = "forward", "reverse"
"""The directions of links: from each target word to a source word, and from each source word to a target word."""

TO_SOURCE = "target->source"
"""The name of what the explorer draws: for each target word, the column with the largest value."""

SYMMETRIZATIONS = ("intersection", "union", "grow-diag", "grow-diag-final")
"""The ways to put the links of both directions together."""

ITERMAX = "itermax"
"""The way to link similar words in two rounds, see `attentionology.analyses.alignment.decisions`."""

CROSS, SIMILARITY, SELF = METHODS = ("cross-attention", "similarity", "self-attention")
"""The methods: the cross-attention of a translation model, and the similarity of word vectors and the self-attention of
an encoder."""

SETTINGS: tuple[AlignmentSetting, ...] = ("AWI", "AWO")
"""The settings of cross-attention, see `attentionology.extractors.translation.cross_maps`."""


@dataclass(frozen=True, order=True)
class Series:
    """What a series of maps shows, and which links are read off it."""

    setting: str  # `"AWI"` or `"AWO"`; for an encoder, the method
    measure: str  # `"weight"` or `"norm"`; for the method similarity `"cosine"`
    heads: str = TOGETHER  # `"all"` for all heads of a layer together, `"single"` for each head by itself
    # `"forward"` for a link of each target word, `"reverse"` for a link of each source word, the way in which both are
    # put together, or `"itermax"` for similar words
    direction: str = FORWARD

    @property
    def one_way(self) -> Series:
        """The series of the same maps in the forward direction."""
        return self if self.direction == FORWARD else replace(self, direction=FORWARD)

    @property
    def parts(self) -> tuple[Series, ...]:
        """The series whose links make up those of this one: of each direction, if both are put together."""
        if self.direction in (FORWARD, REVERSE, ITERMAX):
            return (self,)
        return self.one_way, replace(self, direction=REVERSE)

    @property
    def is_cross(self) -> bool:
        """Whether the maps are those of cross-attention."""
        return self.setting in SETTINGS

    @property
    def kind(self) -> str:
        """The name of the kind of map in the explorer, such as ``AWI-norm``, or ``AWI-norm-all`` for all heads."""
        setting = f"{self.setting}-" if self.is_cross else ""
        together = "-all" if self.heads == TOGETHER and self.measure != "cosine" else ""
        return f"{setting}{self.measure}{together}"

    @property
    def label(self) -> str:
        """The name of the series in names of requests, such as ``AWI/norm/all/forward``."""
        return f"{self.setting}/{self.measure}/{self.heads}/{self.direction}"

    def columns(self, layer: int, head: int) -> dict[str, object]:
        """Return the columns that say what a row is about, given the 0-based layer and head."""
        return {**vars(self), "layer": layer + 1, "head": self.number(head)}

    def number(self, head: int) -> int:
        """Return the number of a head, from 1; 0 stands for all heads together."""
        return 0 if self.heads == TOGETHER else head + 1


def all_series(method: str = CROSS, *, both: bool = False) -> Iterator[Series]:
    """Yield all series of a method; links of single heads are only made in the forward direction."""
    settings = SETTINGS if method == CROSS else (method,)
    measures = ("cosine",) if method == SIMILARITY else ("norm", "weight")
    directions = (FORWARD, REVERSE, *SYMMETRIZATIONS) if both else (FORWARD,)
    if both and method == SIMILARITY:
        directions = (*directions, ITERMAX)
    for setting in settings:
        for measure in measures:
            for direction in directions:
                yield Series(setting, measure, TOGETHER, direction)
            if method != SIMILARITY:
                yield Series(setting, measure, SINGLE)


def map_makers(series: Iterable[Series], merge: Merge) -> list[Any]:
    """Return what makes the maps of several series, each maker once. Directions have no effect."""
    return list(dict.fromkeys(_map_maker(one_series, merge) for one_series in series))


def maps_of(series: Iterable[Series], merge: Merge, made: Sequence[MapBatch]) -> dict[Series, MapBatch]:
    """Return the maps of several series in the forward direction, given what each of their `map_makers` has made."""
    forward = dict.fromkeys(one_series.one_way for one_series in series)
    by_maker = dict(zip(map_makers(forward, merge), made, strict=True))
    maps = {}
    for one_series in forward:
        batch = by_maker[_map_maker(one_series, merge)]
        # The norm of all heads together is that of their sum, which has a maker of its own. The weight is a mean.
        is_mean = one_series.measure == "weight" and one_series.heads == TOGETHER
        maps[one_series] = average_heads(batch) if is_mean else batch
    return maps


def average_heads(batch: MapBatch) -> MapBatch:
    """Return the mean over the heads of each layer, which is the map of attention weights for all heads together."""

    def recompute(indices: Sequence[int], first_layers: int | None = None) -> list[Float[Tensor, "layers 1 n m"]]:
        return [maps.mean(1, keepdim=True) for maps in batch.exact(indices, first_layers)]

    maps = batch.maps.mean(2, keepdim=True)
    return replace(batch, maps=maps, recompute=None if batch.recompute is None else recompute)


def _map_maker(series: Series, merge: Merge) -> CrossMapMaker | MapMaker | SimilarityMaker:
    """Return what makes the maps of a series. Single heads and all of them together have the same maps of weights."""
    if series.measure == "cosine":
        return SimilarityMaker()
    kind = "weight"
    merging: Merge = "norm"  # the only way to merge weights
    if series.measure != "weight":
        kind = "norm" if series.heads == SINGLE else "attn"
        merging = merge
    if series.is_cross:
        return CrossMapMaker(kind, "AWI" if series.setting == "AWI" else "AWO", merge=merging)
    return MapMaker(get_kind(kind), merge=merging)
