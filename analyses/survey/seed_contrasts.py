"""Do two groups of models differ, such as two steps of the training, whatever the seed?

The groups are compared over the seeds that both have, and each replicate draws the same seeds and the same sentences
for both sides. Groups without two seeds in common are drawn independently, but read the same sentences. See
`attentionology.analyses.counting.multi_bootstrap`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...reports.columns import Row, Schema, TableColumn, bounds
from ...reports.finding import Finding
from ...reports.table import ShownTable
from ...storage.short_names import distinguishing
from ..comparison.differences import Difference, holm, without_deviations
from ..comparison.findings import difference_text, sort_by_clarity
from ..comparison.results import Contrast, Pairing, Side, contrast, row_of
from ..counting.comparable import Comparable
from ..counting.multi_bootstrap import FEWEST_SEEDS, mean_over_seeds
from ..dependency.accuracy import TOTALS
from .collecting import Collector, KeptCell
from .rows import SurveyFacts, SurveyQuestion, join_tables
from .seeds import counted_seeds, measured_by_relation, name_of_seeds, values_in_words

SURVEY_SEED_CONTRASTS = Schema(
    "survey_seed_contrasts",
    "One row per treebank, kind of map, relation and other group of seeds, which is compared with the first group.",
    (
        TableColumn("treebank map relation", "text", "what was read, and the relation"),
        TableColumn("group_a group_b", "text", "the first group, and another one"),
        TableColumn("seeds_a seeds_b", "count", "the seeds of both sides; if some are in both groups, only these"),
        TableColumn("n_a n_b", "count", "words of the relation"),
        TableColumn("value_a value_b", "share", "the means over these seeds"),
        TableColumn("difference low high", "points", "`value_a` − `value_b`"),
        TableColumn("p p_holm", "p", "the p value, and the adjusted one"),
        TableColumn("values", "text", "the difference of each seed in points, if seeds are paired"),
        TableColumn("paired", "text", "`paired` if both sides have the same seeds, else `unpaired`"),
        TableColumn("reason", "text", "as in `comparison.csv`"),
    ),
)

_RENAMED = {"group": "relation", "run_a": "group_a", "run_b": "group_b", "map_a": "map"}

_MOST_ROWS = 40
"""The number of rows of the page. All are in the table."""


@dataclass(frozen=True, eq=False)
class SeedContrast:
    """The differences between two groups, which are the runs of the sides, on a treebank."""

    treebank: str
    contrast: Contrast
    seeds: tuple[int, int]
    by_seed: Mapping[str, str]  # the difference of each seed, by relation


@dataclass(frozen=True)
class SeedContrasts:
    """The differences between the first group and each other one."""

    contrasts: tuple[SeedContrast, ...] = ()


class SeedDifferences(SurveyQuestion):
    """In which relations do groups of models differ that have several seeds each?"""

    name = "seed_contrasts"
    tables = (SURVEY_SEED_CONTRASTS,)
    template = Path(__file__).with_name("seed_contrasts.html.j2")
    collection = SeedContrasts

    def collector(self, facts: SurveyFacts) -> SeedContrastCollector | None:
        """Return what compares groups, if there are several."""
        return SeedContrastCollector(facts.seed_groups, facts.min_count) if len(facts.seed_groups) > 1 else None

    def find(
        self, counts: SurveyFacts, lookups: SeedContrasts | None, earlier: Mapping[str, Any]
    ) -> SeedContrasts | None:
        """Return the differences; None if no two groups were counted."""
        return lookups if lookups and lookups.contrasts else None

    def frames(self, answer: SeedContrasts, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the table as it is written."""
        rows = pd.DataFrame([row for one in answer.contrasts for row in _rows(one)])
        return {SURVEY_SEED_CONTRASTS.name: join_tables([rows.rename(columns=_RENAMED)], SURVEY_SEED_CONTRASTS)}

    def show(self, answer: SeedContrasts, results: SurveyFacts) -> Sequence[ShownTable]:
        """Return the differences, those of the relation of the survey first."""
        return (contrasts_table(answer, results),)

    def values(self, answer: SeedContrasts, results: SurveyFacts) -> Mapping[str, Any]:
        """Return how many seeds an interval needs."""
        return {"fewest_seeds": FEWEST_SEEDS}

    def findings(self, answer: SeedContrasts, results: SurveyFacts) -> Sequence[Finding]:
        """Say in how many relations two groups differ clearly."""
        return _findings(answer, results)


class SeedContrastCollector(Collector[None, SeedContrasts]):
    """Compares the groups with the first one, treebank by treebank."""

    def __init__(self, groups: Mapping[str, Mapping[str, str]], min_count: int) -> None:
        self.groups, self.min_count = groups, min_count
        self._contrasts: list[SeedContrast] = []

    def add(self, treebank: str, cells: Sequence[KeptCell], pairing_of: Callable[[str, str], Pairing]) -> None:
        """Compare the groups on a treebank."""
        for kind, groups in counted_seeds(cells, self.groups).items():
            families = {
                group: {seed: cell.families[kind][0] for seed, cell in seeds.items()} for group, seeds in groups.items()
            }
            first, *others = families.items()
            self._contrasts += [group_contrast(treebank, kind, first, other, self.min_count) for other in others]

    def collect(self) -> SeedContrasts:
        """Return the differences on all treebanks."""
        return SeedContrasts(tuple(self._contrasts))


def group_contrast(
    treebank: str,
    kind: str,
    first: tuple[str, Mapping[str, Comparable]],
    other: tuple[str, Mapping[str, Comparable]],
    min_count: int,
) -> SeedContrast:
    """Compare two groups, each given by its name and the statistics of each seed; seeds of both are drawn together."""
    (first_name, first_seeds), (other_name, other_seeds) = first, other
    common = [seed for seed in first_seeds if seed in other_seeds]
    paired = len(common) > 1
    if paired:
        first_seeds, other_seeds = ({seed: seeds[seed] for seed in common} for seeds in (first_seeds, other_seeds))
    family = next(iter(first_seeds.values()))
    # The draws of paired seeds have one name, so that both sides draw the same ones.
    draws = ("paired", "paired") if paired else (first_name, other_name)
    by_relation = measured_by_relation(first_seeds), measured_by_relation(other_seeds)
    first_means, other_means = (
        replace(
            family,
            measured=tuple(mean_over_seeds(name, seeds, family.seed, draw) for name, seeds in relations.items()),
        )
        for relations, draw in zip(by_relation, draws, strict=True)
    )
    first_side, other_side = (Side(name, kind, name) for name in (first_name, other_name))
    pairing: Pairing = "paired" if paired else "unpaired"
    found = contrast("dependency", first_means, other_means, first_side, other_side, pairing, min_count=min_count)
    few = min(len(first_seeds), len(other_seeds)) < FEWEST_SEEDS
    rows = [
        replace(row, reason=f"no interval: fewer than {FEWEST_SEEDS} seeds")
        if few and row.first and row.second
        else row
        for row in found.differences
    ]
    rows = _with_least_p(rows)
    values = {}
    for name in by_relation[0].keys() & by_relation[1].keys() if paired else ():
        of_first, of_other = (np.array([one.value for one in relations[name]]) for relations in by_relation)
        values[name] = values_in_words(common, of_first - of_other, sign=True)
    return SeedContrast(
        treebank,
        replace(found, differences=tuple(map(without_deviations, rows))),
        (len(first_seeds), len(other_seeds)),
        values,
    )


def _with_least_p(rows: Sequence[Difference]) -> list[Difference]:
    """Return differences whose p values are at least 1 / replicates, and are adjusted again."""
    # That is the least value of the share of replicates beyond 0, as published. The normal distribution of a few seeds
    # would give values such as 10⁻²⁵, which they cannot support.
    least = {
        index: max(row.p, 1 / len(row.first.deviations)) for index, row in enumerate(rows) if row.tested and row.first
    }
    adjusted = dict(zip(least, holm([*least.values()]), strict=True))
    return [
        replace(row, p=least[index], p_holm=adjusted[index]) if index in least else row
        for index, row in enumerate(rows)
    ]


def _rows(one: SeedContrast) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``survey_seed_contrasts.csv`` about two groups."""
    for difference in one.contrast.differences:
        yield {
            **row_of(one.contrast, difference),
            "treebank": one.treebank,
            "seeds_a": one.seeds[0],
            "seeds_b": one.seeds[1],
            "values": one.by_seed.get(difference.group, ""),
        }


def contrasts_table(answer: SeedContrasts, survey: SurveyFacts) -> ShownTable:
    """Return the differences between groups, those of the relation of the survey first."""
    columns = [
        TableColumn("name", "text", "", "difference", wraps=True),
        TableColumn("relation", "text", "", "relation"),
        TableColumn("seeds", "text", "", "seeds"),
        TableColumn("difference low high", "points", "", "points", beside=_beside),
        TableColumn("p_holm", "p", "", "p (Holm)"),
        TableColumn("paired", "text", "", "seeds are"),
    ]
    rows: list[Row] = []
    for one in answer.contrasts:
        pair = " − ".join(_short_names(answer, one))
        names = {"treebank": one.treebank, "map": one.contrast.first.map}
        shown = {
            "name": name_of_seeds(names, {}, survey, pair),
            "seeds": " and ".join(map(str, dict.fromkeys(one.seeds))),
        }
        rows += [
            {**row, **shown, "relation": row["group"]}
            for row in _rows(one)
            if min(row["n_a"] or 0, row["n_b"] or 0) >= survey.min_count and row["group"] != "root"
        ]
    rows.sort(key=lambda row: (row["relation"] != survey.relation, row["relation"] in TOTALS))
    return ShownTable(
        "survey_seed_differences", "Differences of the means over seeds (in %)", columns, rows[:_MOST_ROWS]
    )


def _beside(row: Row) -> str:
    """Return the interval of a difference or, if there are few seeds, the difference of each seed."""
    return row["values"] if min(row["seeds_a"], row["seeds_b"]) < FEWEST_SEEDS else bounds()(row)


def _short_names(answer: SeedContrasts, one: SeedContrast) -> tuple[str, str]:
    """Return the short names of both groups."""
    sides = [side.run for each in answer.contrasts for side in (each.contrast.first, each.contrast.second)]
    short = distinguishing(list(dict.fromkeys(sides)))
    return short[one.contrast.first.run], short[one.contrast.second.run]


def _findings(answer: SeedContrasts, survey: SurveyFacts) -> Sequence[Finding]:
    """Return what is said of each pair of groups, for the first kind of map."""
    found = []
    for one in answer.contrasts:
        first, second = _short_names(answer, one)
        named = replace(
            one.contrast,
            first=replace(one.contrast.first, name=first),
            second=replace(one.contrast.second, name=second),
        )
        rows = [row for row in named.tested if row.group not in TOTALS]
        if rows and named.first.map == survey.maps[0]:
            seeds = " and ".join(map(str, dict.fromkeys(one.seeds)))
            where = f" of {survey.short_treebanks[one.treebank]} over {seeds} seeds"
            found.append((rows, Finding(difference_text(named, rows, heads=True, where=where), "#seed_contrasts")))
    return sort_by_clarity(found)
