"""A comparison: the differences of all families of statistics between runs, or between kinds of maps of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd

from ...reports.columns import Schema, TableColumn
from ...reports.explorer.preview import findings_html
from ...reports.finding import Finding
from ...reports.saved import Saved
from ...storage.characters import in_html
from ..counting.comparable import Comparable
from .differences import Difference, differences

COMPARISON = Schema(
    "comparison",
    "One row per statistic and pair of runs or kinds.",
    (
        TableColumn(
            "analysis family group",
            "text",
            "the analysis, the family of statistics, and the statistic, such as a relation",
        ),
        TableColumn(
            "run_a map_a run_b map_b", "text", "the two sides: the first run or kind of the command, and another one"
        ),
        TableColumn("n_a n_b", "count", "words, mentions or inputs on each side"),
        TableColumn(
            "value_a value_b",
            "as `unit` says",
            "the values; shares, or gains over a rule, if the unit is `%` or `points`",
        ),
        TableColumn("difference low high", "as `unit` says", "`value_a` − `value_b`"),
        TableColumn("p p_holm", "p", "the p value, and the one that is adjusted for all tests of the family"),
        TableColumn(
            "only_a only_b",
            "count",
            "for minimal pairs that both sides have read: those that only one side gets right, which the p value, of "
            "McNemar's exact test, is about",
        ),
        TableColumn("choice_a choice_b", "text", "the head that the value belongs to, if one was chosen"),
        TableColumn("unit", "text", "the unit of the values; `%` if they are shares, `points` if they are gains"),
        TableColumn(
            "paired", "text", "whether both sides read the same inputs: `paired`, `partly paired` or `unpaired`"
        ),
        TableColumn("reason", "text", "why a number is missing"),
    ),
)

KINDS = replace(COMPARISON, name="contrasts", rows="The same for the kinds of maps of one run.")

SCHEMAS = (COMPARISON, KINDS)
"""The tables of comparisons of runs, and of kinds of maps."""


_COUNTS = ("n_a", "n_b", "only_a", "only_b")

GAIN = "points"
"""The unit of gains over rules."""

Pairing = Literal["paired", "partly paired", "unpaired"]
"""Whether both sides of a comparison read the same inputs, some of the same inputs, or different ones."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    run: str  # differs from those of the other runs of the comparison
    map: str  # the kind of map; empty if the analysis does not depend on the chosen kinds
    name: str  # the short name in headings and figures


@dataclass(frozen=True, eq=False)
class Contrast:
    """The differences of one family of statistics between two sides, first side minus second side.

    Attributes:
        analysis: the name of the analysis.
        family: the name of the family.
        first, second: the sides.
        pairing: whether both sides read the same inputs.
        differences: one row for each group.
        quantity, counted, unit: see `Comparable`.
        names: those of `Comparable` if both sides have the same, otherwise none.
    """

    analysis: str
    family: str
    first: Side
    second: Side
    pairing: Pairing
    differences: tuple[Difference, ...]
    quantity: str
    counted: str
    unit: str
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def statement(self) -> str:
        """What the values are, what n counts, and whether both sides read the same inputs, as one or two sentences."""
        inputs = {
            "paired": "Both sides read the same inputs, so the intervals are paired.",
            "partly paired": "Both sides share some of their inputs, so the intervals are partly paired.",
            "unpaired": "The intervals are not paired.",
        }
        exact = ""
        if any(row.only_first is not None for row in self.differences):
            exact = " The p values are those of McNemar's exact test, of what only one side gets right."
        return f"Values: {self.quantity} ({self.unit}); n counts {self.counted}. {inputs[self.pairing]}{exact}"

    @property
    def scale(self) -> float:
        """The factor from values to displayed values."""
        return 100.0 if self.is_share else 1.0

    @property
    def is_share(self) -> bool:
        """Whether values are shares, or differences of shares, which are shown in percent."""
        return self.unit in ("%", "points")

    @property
    def tested(self) -> list[Difference]:
        """The rows with an adjusted p value, the largest difference first."""
        rows = [row for row in self.differences if row.tested]
        return sorted(rows, key=lambda row: (-row.difference, row.group))

    @property
    def is_shared(self) -> bool:
        """Whether both sides have any group of the family."""
        return any(row.first and row.second for row in self.differences)

    @property
    def others(self) -> list[Difference]:
        """The rows without an adjusted p value, in the order of the analysis."""
        return [row for row in self.differences if not row.tested]


@dataclass(frozen=True, repr=False)
class Comparison(Saved):
    """The differences of all statistics that the compared runs have.

    Like `attentionology.Run`, it has ``tables``, ``figures``, ``report()`` and ``save(folder)``.

    Attributes:
        contrasts: the families of statistics, each between two sides.
        min_count: groups with fewer decisions in either run are listed, but not tested.
        notes: sentences about what was compared, and what could not be.
        findings: what was found, which a notebook shows.

    Example:
        >>> import numpy as np
        >>> from attentionology.analyses import Comparable, Measured
        >>> deviations = np.array([-0.02, 0.0, 0.02])
        >>> first, second = (
        ...     Comparable("relations", (Measured("obj", value, 100, factor * deviations),), "words found", "words", 0)
        ...     for value, factor in ((0.8, 1), (0.6, 2))
        ... )
        >>> sides = Side("run", "norm", "norm"), Side("run", "weight", "weight")
        >>> comparison = Comparison((contrast("dependency", first, second, *sides, "paired", min_count=50),), 50)
        >>> comparison.table[["group", "difference", "low", "high"]].round(2).values.tolist()
        [['obj', 0.2, 0.16, 0.24]]
    """

    contrasts: tuple[Contrast, ...]
    min_count: int
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = field(default=(), repr=False)

    @property
    def table(self) -> pd.DataFrame:
        """All differences, one row per analysis, family, group and pair of sides.

        The columns are those of `attentionology.analyses.comparison.results.COMPARISON`.
        """
        rows = [row_of(one, difference) for one in self.contrasts for difference in one.differences]
        return pd.DataFrame(rows, columns=COMPARISON.names).astype(dict.fromkeys(_COUNTS, "Int64"))

    def __repr__(self) -> str:
        families = ", ".join(f"{one.analysis}: {one.first.name} − {one.second.name}" for one in self.contrasts)
        return f"Comparison({families})"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{in_html(note)}</p>" for note in self.notes)
        return f"<p>{in_html(repr(self))}</p>{findings_html(self.findings)}{notes}"


def contrast(
    analysis: str,
    first: Comparable | None,
    second: Comparable | None,
    first_side: Side,
    second_side: Side,
    pairing: Pairing,
    *,
    min_count: int,
) -> Contrast:
    """Compare a family of statistics between two sides, of which at most one does not have it."""
    family = first or second
    if family is None:
        raise ValueError("neither side has this family of statistics")
    if first and second and first.seed != second.seed:
        pairing = "unpaired"  # replicate r of one side draws other sentences than that of the other side
    short_names = first_side.name, second_side.name
    rows = differences(first, second, min_count=min_count, names=short_names, is_paired=pairing == "paired")
    about = family.quantity, family.counted, family.unit
    names = first.names if first and second and first.names == second.names else {}
    return Contrast(analysis, family.family, first_side, second_side, pairing, rows, *about, names)


def contrasts_of(
    analysis: str,
    first: Sequence[Comparable],
    second: Sequence[Comparable],
    sides: tuple[Side, Side],
    pairing: Pairing,
    *,
    min_count: int,
) -> list[Contrast]:
    """Compare all families of an analysis, those of the first side in its order, then those of the second side only.

    Gains over rules are compared on different text alone. On the same text, rules find the same for both sides, so that
    the differences would be those of the accuracies.
    """
    if pairing == "paired":
        first, second = ([family for family in side if family.unit != GAIN] for side in (first, second))
    in_first, in_second = ({family.family: family for family in families} for families in (first, second))
    return [
        contrast(analysis, in_first.get(name), in_second.get(name), *sides, pairing, min_count=min_count)
        for name in dict.fromkeys([*in_first, *in_second])
    ]


def row_of(one: Contrast, row: Difference) -> dict[str, Any]:
    """Return the row of the table about one difference."""
    columns: dict[str, Any] = {
        "analysis": one.analysis,
        "family": one.family,
        "group": row.group,
        "difference": row.difference,
        "low": row.low,
        "high": row.high,
        "p": row.p,
        "p_holm": row.p_holm,
        "only_a": row.only_first,
        "only_b": row.only_second,
        "unit": one.unit,
        "paired": one.pairing,
        "reason": row.reason,
    }
    for suffix, side, measured in (("a", one.first, row.first), ("b", one.second, row.second)):
        columns |= {
            f"run_{suffix}": side.run,
            f"map_{suffix}": side.map,
            f"n_{suffix}": measured.n if measured else None,
            f"value_{suffix}": measured.value if measured else float("nan"),
            f"choice_{suffix}": measured.choice if measured else "",
        }
    return columns


def contrasts_of_kinds(
    families: Sequence[tuple[str, str, Sequence[Comparable]]], run: str, *, min_count: int
) -> Comparison | None:
    """Compare the first kind of map with every other one, for each analysis that has statistics to compare."""
    # families: the name of each analysis, the kind of map, and what `attentionology.analyses.Analysis.comparable`
    # returned.
    contrasts: list[Contrast] = []
    for analysis in dict.fromkeys(name for name, _, _ in families):
        by_kind = {kind: comparable for name, kind, comparable in families if name == analysis and comparable}
        kinds = list(by_kind)
        for kind in kinds[1:]:
            sides = Side(run, kinds[0], kinds[0]), Side(run, kind, kind)
            contrasts += contrasts_of(analysis, by_kind[kinds[0]], by_kind[kind], sides, "paired", min_count=min_count)
    if not contrasts:
        return None
    other_kinds = " and ".join(dict.fromkeys(f"“{contrast.second.name}”" for contrast in contrasts))
    note = (
        f"“{contrasts[0].first.name}” is compared with {other_kinds}. All maps are made of the same inputs, so the "
        "intervals are paired."
    )
    return Comparison(tuple(contrasts), min_count, (note,))
