"""Differences within a survey: between kinds of maps in a cell, between models on a treebank, and of their means.

Every difference is the value of the first kind, or of the first model, minus that of another one, as in `compare`.
Within a treebank all sides read the same sentences, and the intervals are paired.

A mean over treebanks pools sentences that have nothing to do with each other. The weights of a sentence in the
bootstrap depend on its id alone, so two sentences of different treebanks with the same id (``1``, ``2``, …) would be
drawn together, and the interval of the mean would be wrong. The replicates of each treebank are therefore put into an
order of their own, which depends on the name of the treebank alone. This has the same effect as adding the name to the
ids. It is the same order for all sides, so pairs stay pairs, and the numbers of single cells remain those of single
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..comparison.results import Contrast, Pairing, Side, contrast, contrasts_of
from ..shared.comparable import Comparable, Measured, replicate_order

Array = npt.NDArray[Any]
About = Literal["maps", "models"]
"""Whether a contrast is between kinds of maps of one model, or between models with one kind of map."""

_EMPTY: Array = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Measurements:
    """What can be compared of a cell.

    Attributes:
        model: the name of the model.
        families: the statistics of each kind of map that was counted, by the name of the kind, in order.
    """

    model: str
    families: Mapping[str, Sequence[Comparable]]


@dataclass(frozen=True, eq=False)
class TreebankContrast:
    """The differences between two sides on one treebank.

    Attributes:
        about: what the sides differ in.
        treebank: the name of the treebank.
        contrast: the differences, first side minus other side. Its statistics have no deviations, to save memory.
    """

    about: About
    treebank: str
    contrast: Contrast


@dataclass(frozen=True, eq=False)
class MeanContrast:
    """The differences between the means of two sides over treebanks.

    Attributes:
        about: what the sides differ in.
        contrast: the differences. The value of a side is its mean over treebanks, each with the same weight.
        treebanks: the number of treebanks with enough words of a relation on both sides, by the relation.
    """

    about: About
    contrast: Contrast
    treebanks: Mapping[str, int]


Pair = tuple[About, Side, Side]


@dataclass
class _Sum:
    """The sums of one relation over treebanks, for both sides of a pair."""

    treebanks: int = 0
    n: list[int] = field(default_factory=lambda: [0, 0])
    values: list[float] = field(default_factory=lambda: [0.0, 0.0])
    deviations: list[Array] = field(default_factory=lambda: [_EMPTY, _EMPTY])

    def add(self, sides: Sequence[Measured], order: Array) -> None:
        self.treebanks += 1
        for index, measured in enumerate(sides):
            shuffled = measured.deviations[order]
            self.n[index] += measured.n
            self.values[index] += measured.value
            self.deviations[index] = shuffled + (self.deviations[index] if self.treebanks > 1 else 0)

    def mean(self, group: str, index: int) -> Measured:
        k = self.treebanks
        return Measured(group, self.values[index] / k, self.n[index], self.deviations[index] / k)


class Contrasts:
    """Collects the contrasts of a survey, one treebank at a time.

    Args:
        min_count: relations with fewer words on either side are listed, but not tested, and not part of means.
    """

    def __init__(self, min_count: int) -> None:
        self.min_count = min_count
        self.within: list[TreebankContrast] = []
        self._sums: dict[Pair, dict[str, _Sum]] = {}
        self._families: dict[Pair, Comparable] = {}
        self._pairings: dict[Pair, set[Pairing]] = {}

    def add(
        self, treebank: str, cells: Sequence[Measurements], pairing: Callable[[str, str], Pairing] | None = None
    ) -> None:
        """Compare all kinds of maps and all models on one treebank."""
        several = len({kind for cell in cells for kind in cell.families}) > 1
        for cell in cells:
            first, *others = cell.families or ("",)
            for kind in others:
                sides = Side(cell.model, first, first), Side(cell.model, kind, kind)
                self._compare(treebank, "maps", cell.families[first], cell.families[kind], sides, "paired")
        for kind in dict.fromkeys(kind for cell in cells for kind in cell.families):
            baseline, *rivals = [cell for cell in cells if kind in cell.families]
            for rival in rivals:
                names = [f"{cell.model} ({kind})" if several else cell.model for cell in (baseline, rival)]
                sides = Side(baseline.model, kind, names[0]), Side(rival.model, kind, names[1])
                paired = pairing(baseline.model, rival.model) if pairing else "paired"
                self._compare(treebank, "models", baseline.families[kind], rival.families[kind], sides, paired)

    def _compare(
        self,
        treebank: str,
        about: About,
        first: Sequence[Comparable],
        second: Sequence[Comparable],
        sides: tuple[Side, Side],
        pairing: Pairing,
    ) -> None:
        for one in contrasts_of("dependency", first, second, sides, pairing, min_count=self.min_count):
            self._pool((about, *sides), treebank, one, first[0])
            self.within.append(TreebankContrast(about, treebank, _without_deviations(one)))

    def _pool(self, pair: Pair, treebank: str, one: Contrast, family: Comparable) -> None:
        sums = self._sums.setdefault(pair, {})
        self._families.setdefault(pair, family)
        self._pairings.setdefault(pair, set()).add(one.pairing)
        for row in one.differences:
            if row.first is None or row.second is None or min(row.first.n, row.second.n) < self.min_count:
                continue
            if row.difference == row.difference and len(row.first.deviations):
                order = replicate_order(treebank, len(row.first.deviations))
                sums.setdefault(row.group, _Sum()).add((row.first, row.second), order)

    def means(self) -> list[MeanContrast]:
        """Return the differences of means over treebanks, for each pair that several treebanks have."""
        results = []
        for pair, sums in self._sums.items():
            pooled = {group: total for group, total in sums.items() if total.treebanks > 1}
            if not pooled:
                continue
            about, first_side, second_side = pair
            first, second = (
                replace(
                    self._families[pair], measured=tuple(total.mean(group, index) for group, total in pooled.items())
                )
                for index in (0, 1)
            )
            pairings = self._pairings[pair]
            pairing: Pairing = next(iter(pairings)) if len(pairings) == 1 else "partly paired"
            result = contrast("dependency", first, second, first_side, second_side, pairing, min_count=self.min_count)
            counts = {group: total.treebanks for group, total in pooled.items()}
            results.append(MeanContrast(about, _without_deviations(result), counts))
        return results


def _without_deviations(one: Contrast) -> Contrast:
    rows = [
        replace(
            row,
            first=replace(row.first, deviations=_EMPTY) if row.first else None,
            second=replace(row.second, deviations=_EMPTY) if row.second else None,
        )
        for row in one.differences
    ]
    return replace(one, differences=tuple(rows))
