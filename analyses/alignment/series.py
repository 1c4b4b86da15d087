"""The series of an alignment run: every way to read links off the maps of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...extractors.translation import AlignmentSetting

TOGETHER, SINGLE = "all", "single"
"""The names of the series of all heads of a layer together, and of each head by itself."""

FORWARD, REVERSE = "forward", "reverse"
"""The directions of links: from each target word to a source word, and from each source word to a target word."""

SYMMETRIZATIONS = ("intersection", "union", "grow-diag", "grow-diag-final")
"""The ways to put the links of both directions together."""

ITERMAX = "itermax"
"""The way to link similar words in two rounds, see `attentionology.analyses.alignment.itermax`."""

CROSS, SIMILARITY, SELF = METHODS = ("cross-attention", "similarity", "self-attention")
"""The methods: the cross-attention of a translation model, and the similarity of word vectors and the self-attention of
an encoder."""

SETTINGS: tuple[AlignmentSetting, ...] = ("AWI", "AWO")
"""The settings of cross-attention, see `attentionology.extractors.translation.cross_maps`."""


@dataclass(frozen=True, order=True)
class Series:
    """What a series of maps shows, and which links are read off it.

    Attributes:
        setting: ``"AWI"`` or ``"AWO"``; for an encoder, the method.
        measure: ``"weight"`` or ``"norm"``; for the method similarity ``"cosine"``.
        heads: ``"all"`` for all heads of a layer together, ``"single"`` for each head by itself.
        direction: ``"forward"`` for a link of each target word, ``"reverse"`` for a link of each source word, the
            way in which both are put together, or ``"itermax"`` for similar words.

    Example:
        >>> Series("AWI", "norm", direction="union").one_way
        Series(setting='AWI', measure='norm', heads='all', direction='forward')
    """

    setting: str
    measure: str
    heads: str = TOGETHER
    direction: str = FORWARD

    @property
    def one_way(self) -> Series:
        """The series of the same maps in the forward direction."""
        return self if self.direction == FORWARD else replace(self, direction=FORWARD)

    @property
    def is_cross(self) -> bool:
        """Whether the maps are those of cross-attention."""
        return self.setting in SETTINGS

    @property
    def kind(self) -> str:
        """The name of the kind of map in the explorer, such as ``AWI-norm``, or ``AWI-norm-all`` for all heads."""
        setting = f"{self.setting}-" if self.is_cross else ""
        return f"{setting}{self.measure}{'-all' if self.heads == TOGETHER and self.measure != 'cosine' else ''}"

    @property
    def label(self) -> str:
        """The name of the series in names of requests, such as ``AWI/norm/all/forward``."""
        return f"{self.setting}/{self.measure}/{self.heads}/{self.direction}"


def all_series(method: str = CROSS, *, both: bool = False) -> Iterator[Series]:
    """Yield all series of a method."""
    directions = (FORWARD, REVERSE, *SYMMETRIZATIONS) if both else (FORWARD,)
    if both and method == SIMILARITY:
        directions = (*directions, ITERMAX)
    for setting in SETTINGS if method == CROSS else (method,):
        for measure in ("cosine",) if method == SIMILARITY else ("norm", "weight"):
            for direction in directions:
                yield Series(setting, measure, TOGETHER, direction)
            if method != SIMILARITY:
                yield Series(setting, measure, SINGLE)
