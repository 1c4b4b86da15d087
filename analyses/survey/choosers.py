"""Which treebanks choose heads that transfer better than those of others, scored on the same treebanks.

The mean loss over all other treebanks does not tell which heads are better: the heads of each treebank are scored on
other treebanks, and losses depend on where heads are scored. Two treebanks are therefore compared on the treebanks that
are neither of them, and in the relations that both have there. On each of these, both heads are scored on the same
sentences and have the same held-out accuracy beside them, which cancels out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...corpora_loaders.describing import amount
from ..comparison.differences import Difference, differences, without_deviations
from ..counting.comparable import Comparable, Measured
from ..shared.measures import points

Array = npt.NDArray[Any]

_MOST_NAMED = 2
"""The number of pairs of treebanks, and of treebanks that score, that a finding names."""


class Loss(NamedTuple):
    """The loss of a head in one relation on another treebank."""

    value: float
    n: int  # the scored words
    deviations: Array


@dataclass(frozen=True, eq=False)
class ChooserContrast:
    """The mean losses of the heads of two treebanks on the same other treebanks, and their difference."""

    first: str  # the treebanks that choose
    second: str
    scored_on: tuple[str, ...]
    relations: int
    difference: Difference  # of the mean losses, first minus second; its p value is adjusted for all pairs


@dataclass(frozen=True, eq=False)
class ModelChoosers:
    """The differences between treebanks that choose, of one model with one kind of map."""

    model: str
    map: str
    contrasts: tuple[ChooserContrast, ...]


@dataclass(eq=False)
class _Sums:
    """What two treebanks that choose have on other treebanks so far."""

    scored_on: list[str] = field(default_factory=list)
    relations: set[str] = field(default_factory=set)
    n: int = 0
    values: Array = field(default_factory=lambda: np.zeros(2))
    deviations: Array | float = 0.0  # shape (2, replicates)


class Choosers:
    """Collects the losses on one treebank after the other."""

    def __init__(self, units: Mapping[str, float]) -> None:
        self._units = units  # the effective number of sentences of each treebank
        self._sums: dict[tuple[str, str], _Sums] = {}

    def add(self, scored_on: str, losses: Mapping[str, Mapping[str, Loss]]) -> None:
        """Add the losses on a treebank: of each relation that is part of means, by the treebank that chose."""
        for pair in combinations(losses, 2):
            first, second = (losses[name] for name in pair)
            common = [relation for relation in first if relation in second]
            if not common:
                continue
            sums = self._sums.setdefault(pair, _Sums())
            sums.scored_on.append(scored_on)
            sums.relations.update(common)
            sums.n += sum(first[relation].n for relation in common)
            sides = [[side[relation] for relation in common] for side in (first, second)]
            sums.values = sums.values + [np.mean([loss.value for loss in side]) for side in sides]
            sums.deviations = sums.deviations + np.stack(
                [np.mean([loss.deviations for loss in side], axis=0) for side in sides]
            )

    def contrasts(self) -> list[ChooserContrast]:
        """Return the differences of all pairs of treebanks that were scored on a common one."""
        sides: list[list[Measured]] = [[], []]
        for (first, second), sums in self._sums.items():
            number = len(sums.scored_on)
            units = min(self._units[name] for name in (first, second, *sums.scored_on))
            for side, value, deviations in zip(sides, sums.values, np.asarray(sums.deviations), strict=True):
                name = f"{first}\n{second}"  # differs for all pairs
                side.append(Measured(name, float(value) / number, sums.n, deviations / number, units=units))
        families = [Comparable("transfer", tuple(side), "mean loss", "words", 0) for side in sides]
        compared = differences(*families, min_count=1)
        return [
            ChooserContrast(first, second, tuple(sums.scored_on), len(sums.relations), without_deviations(difference))
            for ((first, second), sums), difference in zip(self._sums.items(), compared, strict=True)
        ]


def transfer_findings(choosers: Sequence[ModelChoosers]) -> Iterator[str]:
    """Yield a sentence for each model and kind of map: which treebanks choose heads that transfer clearly worse."""
    several_maps = len({of_model.map for of_model in choosers}) > 1
    for of_model in choosers:
        tested = [one for one in of_model.contrasts if one.difference.tested]
        if not tested:
            continue
        name = f"{of_model.model} ({of_model.map})" if several_maps else of_model.model
        clear = [one for one in tested if one.difference.significant]
        pairs = amount(len(tested), "pairs of treebanks", "pair of treebanks")
        if not clear:
            yield (
                f"{name}: scored on the same other treebanks, no treebank's heads clearly transfer worse than those of "
                f"another ({pairs}, p values adjusted for their number)."
            )
            continue
        clear.sort(key=lambda one: -abs(one.difference.difference))
        named = "; ".join(map(_name_treebanks, clear[:_MOST_NAMED])) + ("; …" if len(clear) > _MOST_NAMED else ".")
        yield (
            f"{name}: in {len(clear)} of {pairs}, the heads of one clearly transfer worse than those of the other, "
            f"scored on the same other treebanks (p values adjusted for the number of pairs): {named}"
        )


def _name_treebanks(one: ChooserContrast) -> str:
    """Name both treebanks with their mean losses, the worse one first, and the difference with its evidence."""
    row, first, second, sign = one.difference, one.first, one.second, 1
    losses = [side.value for side in (row.first, row.second) if side]
    low, high = row.low, row.high
    if row.difference > 0:
        first, second, sign, losses, (low, high) = second, first, -1, losses[::-1], (-high, -low)
    where = " and ".join(one.scored_on) if len(one.scored_on) <= _MOST_NAMED else f"{len(one.scored_on)} others"
    n = row.first.n if row.first else 0
    return (
        f"those of {first} lose {points(losses[0])} on {where}, and those of {second} {points(losses[1])} (difference "
        f"{points(sign * row.difference, low, high)}, {amount(one.relations, 'relations')}, n = {n:,})"
    )
