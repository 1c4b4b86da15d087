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

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ..comparison.results import Contrast, Pairing, Side, contrast, contrasts_of
from ..counting.comparable import Comparable, Measured, replicate_order

About = Literal["maps", "models"]
"""Whether a contrast is between kinds of maps of one model, or between models with one kind of map."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """What can be compared of a cell."""

    model: str
    families: Mapping[str, Sequence[Comparable]]  # of each kind of map that was counted, by its name, in order


@dataclass(frozen=True, eq=False)
class SurveyContrast:
    """The differences between two sides on one treebank, or between their means over treebanks."""

    about: About  # what the sides differ in
    # the differences, first side minus other side. Its statistics have no deviations, to save memory. The mean of a
    # side gives each treebank the same weight.
    contrast: Contrast
    treebank: str = ""  # the name of the treebank; empty for means
    # for means, the number of treebanks with enough words of a relation on both sides, by the relation
    treebanks: Mapping[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class _Pool:
    """What two sides have on all treebanks so far."""

    family: Comparable  # of the first side on the first treebank, for its name and unit
    pairings: set[Pairing] = field(default_factory=set)
    sums: dict[str, tuple[Measured, Measured]] = field(default_factory=dict)  # of both sides, by relation
    treebanks: dict[str, int] = field(default_factory=dict)  # how many are in the sums, by relation


class Contrasts:
    """Collects the contrasts of a survey, one treebank at a time."""

    def __init__(self, min_count: int) -> None:
        self.min_count = min_count
        self.within: list[SurveyContrast] = []
        self._pools: dict[tuple[About, Side, Side], _Pool] = {}

    def add(
        self,
        treebank: str,
        cells: Sequence[Measurements],
        pairing_of: Callable[[str, str], Pairing] = lambda first_model, other_model: "paired",
    ) -> None:
        """Compare all kinds of maps and all models on one treebank; two models may have read different sentences."""
        for cell in cells:
            first_kind, *other_kinds = cell.families or ("",)
            for kind in other_kinds:
                sides = Side(cell.model, first_kind, first_kind), Side(cell.model, kind, kind)
                self._compare(treebank, "maps", cell.families[first_kind], cell.families[kind], sides, "paired")
        kinds = list(dict.fromkeys(kind for cell in cells for kind in cell.families))
        for kind in kinds:
            first_cell, *other_cells = [cell for cell in cells if kind in cell.families]
            in_parentheses = f" ({kind})" if len(kinds) > 1 else ""
            first_side = Side(first_cell.model, kind, f"{first_cell.model}{in_parentheses}")
            for cell in other_cells:
                sides = first_side, Side(cell.model, kind, f"{cell.model}{in_parentheses}")
                pairing = pairing_of(first_cell.model, cell.model)
                self._compare(treebank, "models", first_cell.families[kind], cell.families[kind], sides, pairing)

    def _compare(
        self,
        treebank: str,
        about: About,
        first: Sequence[Comparable],
        second: Sequence[Comparable],
        sides: tuple[Side, Side],
        pairing: Pairing,
    ) -> None:
        """Keep the contrasts of two sides on a treebank, and add them to what the sides have on all treebanks."""
        for compared in contrasts_of("dependency", first, second, sides, pairing, min_count=self.min_count):
            pool = self._pools.setdefault((about, *sides), _Pool(first[0]))
            pool.pairings.add(compared.pairing)
            for row in compared.differences:
                if row.first is None or row.second is None or min(row.first.n, row.second.n) < self.min_count:
                    continue
                if not math.isnan(row.difference) and len(row.first.deviations):
                    # An order of its own, as if the name of the treebank were part of the ids of its sentences.
                    order = replicate_order(treebank, len(row.first.deviations))
                    first_sum, second_sum = (
                        replace(measured, deviations=measured.deviations[order]) for measured in (row.first, row.second)
                    )
                    if row.group in pool.sums:
                        earlier_first, earlier_second = pool.sums[row.group]
                        first_sum, second_sum = _sum(earlier_first, first_sum), _sum(earlier_second, second_sum)
                    pool.sums[row.group] = first_sum, second_sum
                    pool.treebanks[row.group] = pool.treebanks.get(row.group, 0) + 1
            self.within.append(SurveyContrast(about, _without_deviations(compared), treebank))

    def means(self) -> list[SurveyContrast]:
        """Return the differences of means over treebanks, for each pair that several treebanks have."""
        results = []
        for (about, first_side, second_side), pool in self._pools.items():
            # The number of treebanks by relation. The difference on a single one is in `within`, and is no mean.
            several = {relation: n_treebanks for relation, n_treebanks in pool.treebanks.items() if n_treebanks > 1}
            if not several:
                continue
            first_means, second_means = [], []
            for relation, n_treebanks in several.items():
                first_sum, second_sum = pool.sums[relation]  # over treebanks
                first_means.append(_mean(first_sum, n_treebanks))
                second_means.append(_mean(second_sum, n_treebanks))
            first = replace(pool.family, measured=tuple(first_means))
            second = replace(pool.family, measured=tuple(second_means))
            pairing: Pairing = next(iter(pool.pairings)) if len(pool.pairings) == 1 else "partly paired"
            compared = contrast("dependency", first, second, first_side, second_side, pairing, min_count=self.min_count)
            results.append(SurveyContrast(about, _without_deviations(compared), treebanks=several))
        return results


def _sum(one: Measured, other: Measured) -> Measured:
    deviations = one.deviations + other.deviations
    units = one.units + other.units
    return Measured(one.group, one.value + other.value, one.n + other.n, deviations, units=units)


def _mean(total: Measured, n_treebanks: int) -> Measured:
    deviations = total.deviations / n_treebanks
    return Measured(total.group, total.value / n_treebanks, total.n, deviations, units=total.units)


def _without_deviations(with_deviations: Contrast) -> Contrast:
    """Return a contrast whose statistics have no deviations, to save memory."""

    def bare(measured: Measured | None) -> Measured | None:
        return replace(measured, deviations=np.zeros(0)) if measured else None

    rows = (replace(row, first=bare(row.first), second=bare(row.second)) for row in with_deviations.differences)
    return replace(with_deviations, differences=tuple(rows))
