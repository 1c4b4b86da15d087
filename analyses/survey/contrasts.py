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
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import Row, Schema, TableColumn
from ...reports.drawing import TEXT, finish, panel, with_style
from ...reports.finding import Finding
from ...reports.table import ShownTable
from ...reports.tables import records
from ..comparison.differences import Difference, without_deviations
from ..comparison.figures import difference_rows
from ..comparison.findings import clearest, difference_text, sort_by_clarity
from ..comparison.results import Contrast, Pairing, Side, contrast, contrasts_of, row_of
from ..counting.comparable import Comparable, Measured, replicate_order
from ..dependency.accuracy import TOTALS
from .checkpoints import checkpoints_of
from .collecting import Collector, KeptCell
from .rows import (
    CONTRASTS,
    MEAN,
    About,
    SurveyContrast,
    SurveyContrasts,
    SurveyFacts,
    SurveyQuestion,
    join_tables,
    pair_name,
    view_of_relation,
)

SURVEY_CONTRASTS = Schema(
    "survey_contrasts",
    "One row per treebank, relation and pair of kinds of maps or models.",
    (
        TableColumn("about", "text", "`maps` or `models`: in what the sides differ"),
        TableColumn("treebank relation", "text", "the treebank and the relation"),
        TableColumn(
            "model_a map_a model_b map_b",
            "text",
            "the two sides: the first model or kind of the command, and another one",
        ),
        TableColumn("n_a n_b", "count", "words of the relation"),
        TableColumn("value_a value_b", "share", "the held-out accuracies"),
        TableColumn("difference low high", "points", "`value_a` − `value_b`; as everywhere, the first minus the other"),
        TableColumn("p p_holm", "p", "the p value, and the adjusted one"),
        TableColumn("choice_a choice_b", "text", "the best heads"),
        TableColumn("paired reason", "text", "as in `comparison.csv`"),
    ),
)


SURVEY_MEANS = Schema(
    "survey_means",
    "The same over all treebanks together.",
    (
        TableColumn("about relation", "text", "as in `survey_contrasts.csv`"),
        TableColumn("model_a map_a model_b map_b", "text", "the two sides"),
        TableColumn("n_a n_b", "count", "words of the relation on all treebanks"),
        TableColumn("value_a value_b", "share", "the means over treebanks"),
        TableColumn("difference low high", "points", "`value_a` − `value_b`"),
        TableColumn("p p_holm", "p", "the p value, and the adjusted one"),
        TableColumn("paired reason", "text", "as in `comparison.csv`"),
        TableColumn("treebanks", "count", "treebanks in the means"),
    ),
)


_OF_COMPARISON = {"group": "relation", "run_a": "model_a", "run_b": "model_b"}
"""The columns of comparisons of runs that have other names in a survey."""


_MOST_CONTRASTS = 60


class ContrastTables(NamedTuple):
    """The differences as tables."""

    within: pd.DataFrame  # treebanks
    means: pd.DataFrame  # over treebanks


class Differences(SurveyQuestion):
    """In which relations do kinds of maps or models differ?"""

    name = CONTRASTS
    tables = (SURVEY_CONTRASTS, SURVEY_MEANS)
    template = Path(__file__).with_name("contrasts.html.j2")
    collection = SurveyContrasts

    def collector(self, facts: SurveyFacts) -> ContrastCollector:
        """Return what compares the cells of each treebank."""
        return ContrastCollector(facts.min_count)

    def say(self, answer: ContrastTables, survey: SurveyFacts) -> Sequence[str]:
        """Return how many differences were tested, and how many of these are significant."""
        return differences_in_words(survey)

    def find(self, counts: SurveyFacts, lookups: Any, earlier: Mapping[str, Any]) -> ContrastTables:
        """Return the differences within treebanks, and those of means over treebanks."""
        within, means = counts.contrasts, counts.means
        return ContrastTables(differences_of(within, SURVEY_CONTRASTS), differences_of(means, SURVEY_MEANS))

    def frames(self, answer: ContrastTables, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the tables as they are written."""
        return {SURVEY_CONTRASTS.name: answer.within, SURVEY_MEANS.name: answer.means}

    def summary(self, answer: ContrastTables, results: SurveyFacts) -> Mapping[str, Any]:
        """Return the differences within treebanks."""
        return {SURVEY_CONTRASTS.name: records(answer.within)}

    def show(self, answer: ContrastTables, results: SurveyFacts) -> Sequence[ShownTable]:
        """Return how many relations differ significantly."""
        return (contrasts_table(results),)

    def draw(self, answer: ContrastTables, results: SurveyFacts, title: str) -> Mapping[str, Figure]:
        """Draw the differences of the relation of the survey, if there are any."""
        figure = differences_figure(results)
        return {} if figure is None else {"survey_differences": figure}

    def values(self, answer: ContrastTables, results: SurveyFacts) -> Mapping[str, Any]:
        """Return which differences there are."""
        return {"has_contrasts": bool(results.contrasts or results.means), "has_means": bool(results.means)}

    def findings(self, answer: ContrastTables, results: SurveyFacts) -> Sequence[Finding]:
        """Return in how many relations one side finds clearly more, and where most."""
        return survey_findings(results)


@dataclass(eq=False)
class _Pool:
    """What two sides have on all treebanks so far."""

    family: Comparable  # of the first side on the first treebank, for its name and unit
    pairings: set[Pairing] = field(default_factory=set)
    sums: dict[str, tuple[Measured, Measured]] = field(default_factory=dict)  # of both sides, by relation
    treebanks: dict[str, int] = field(default_factory=dict)  # how many are in the sums, by relation


class ContrastCollector(Collector[None, SurveyContrasts]):
    """Collects the contrasts of a survey, one treebank at a time."""

    def __init__(self, min_count: int) -> None:
        self.min_count = min_count
        self._within: list[SurveyContrast] = []
        self._pools: dict[tuple[About, Side, Side], _Pool] = {}

    def add(
        self,
        treebank: str,
        cells: Sequence[KeptCell],
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
        # On one treebank, rules find the same for both sides, and so gains differ as accuracies do, which come first.
        for compared in contrasts_of("dependency", first[:1], second[:1], sides, pairing, min_count=self.min_count):
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
            self._within.append(SurveyContrast(about, _without_deviations(compared), treebank))

    def collect(self) -> SurveyContrasts:
        """Return the differences within treebanks, and those of means."""
        return SurveyContrasts(tuple(self._within), tuple(self._means()))

    def _means(self) -> list[SurveyContrast]:
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
    rule = one.rule + other.rule
    return Measured(one.group, one.value + other.value, one.n + other.n, deviations, units=units, rule=rule)


def _mean(total: Measured, n_treebanks: int) -> Measured:
    deviations = total.deviations / n_treebanks
    rule = total.rule / n_treebanks
    return Measured(total.group, total.value / n_treebanks, total.n, deviations, units=total.units, rule=rule)


def _without_deviations(with_deviations: Contrast) -> Contrast:
    """Return a contrast whose statistics have no deviations, to save memory."""
    return replace(with_deviations, differences=tuple(map(without_deviations, with_deviations.differences)))


def differences_of(survey_contrasts: Sequence[SurveyContrast], schema: Schema) -> pd.DataFrame:
    """Return a row for each difference of each contrast, that is for each relation, with the columns of a schema."""
    rows = [
        {
            **row_of(survey_contrast.contrast, difference),
            "about": survey_contrast.about,
            "treebank": survey_contrast.treebank,
            "treebanks": survey_contrast.treebanks.get(difference.group),
        }
        for survey_contrast in survey_contrasts
        for difference in survey_contrast.contrast.differences
    ]
    return join_tables([pd.DataFrame(rows).rename(columns=_OF_COMPARISON)] if rows else [], schema)


def contrasts_table(survey: SurveyFacts) -> ShownTable:
    """Return how many relations differ significantly in each contrast."""
    columns = [
        TableColumn("name", "text", "", "difference"),
        TableColumn("treebanks", "text", "", "treebank"),
        TableColumn("tested", "count", "", "tested relations"),
        TableColumn("above", "count", "", "above 0"),
        TableColumn("below", "count", "", "below 0"),
        TableColumn("paired", "text", "", "inputs"),
    ]
    rows = [_contrast_row(one, survey.short_models) for one in (*survey.contrasts, *survey.means)]
    return ShownTable("survey_significant", "Significant differences", columns, rows)


def _contrast_row(one: SurveyContrast, models: dict[str, str]) -> Row:
    """Return how many relations of a contrast were tested, and differ significantly on either side."""
    tested = one.contrast.tested
    return {
        "name": pair_name(one.contrast, models),
        "treebanks": one.treebank or f"mean of up to {max(one.treebanks.values())}",
        "tested": len(tested),
        "above": sum(row.significant and row.difference > 0 for row in tested),
        "below": sum(row.significant and row.difference < 0 for row in tested),
        "paired": one.contrast.pairing,
    }


def differences_in_words(survey: SurveyFacts) -> list[str]:
    """Return sentences about how many differences were tested, and how many of these are significant."""
    rows = [row for one in survey.contrasts for row in one.contrast.differences]
    tested = [row for row in rows if row.tested]
    why = "see the column “reason” of tables/survey_contrasts.csv."
    if not tested:
        return [f"Differences that are tested: none of {len(rows):,}; {why}"] if rows else []
    significant, untested = sum(row.significant for row in tested), len(rows) - len(tested)
    return [
        f"Significant differences (p (Holm) below 0.05): {significant:,} of {len(tested):,} that are tested.",
        "The intervals in the report and in the tables are not adjusted for the number of tests.",
        *([f"Differences that are not tested: {untested:,}; {why}"] if untested else []),
    ]


@with_style
def differences_figure(survey: SurveyFacts) -> Figure | None:
    """Draw the differences of the survey's relation with their intervals, a row for each contrast and treebank, if any.

    If these are too many to read, only the means over treebanks are drawn, and none if these are too many as well.
    """
    means = _differences(survey, survey.means)
    rows = [*_differences(survey, survey.contrasts), *means]
    pairs = list(dict.fromkeys(pair for pair, _, _ in rows))
    rows.sort(key=lambda row: pairs.index(row[0]))  # the mean of a pair comes after its treebanks
    title = survey.relation
    if len(rows) > _MOST_CONTRASTS:
        title += f"\n(means over treebanks; all {len(rows):,} differences are in the table)"
        rows = means
    if not rows or len(rows) > _MOST_CONTRASTS:
        return None
    figure, axes = panel(TEXT, 1.15 + 0.2 * len(rows))
    names = [f"{pair}, {treebank}" for pair, treebank, _ in rows]
    difference_rows(axes, [difference for _, _, difference in rows], 100, names=names)
    axes.set_xlabel("difference of held-out accuracies (percentage points)")
    finish(figure, axes, title)
    return figure


def _differences(survey: SurveyFacts, contrasts: Sequence[SurveyContrast]) -> list[tuple[str, str, Difference]]:
    """Return the differences of the survey's relation that have intervals, with the names of the pair and treebank."""
    models, treebanks = survey.short_models, survey.short_treebanks
    return [
        (pair_name(one.contrast, models), treebanks.get(one.treebank, MEAN), row)
        for one in contrasts
        for row in one.contrast.differences
        if row.group == survey.relation and not math.isnan(row.low)
    ]


def survey_findings(survey: SurveyFacts) -> tuple[Finding, ...]:
    """Return for each pair of models or kinds of maps in how many relations one finds clearly more, and where most."""
    # A pair with means over treebanks is not listed by treebank again.
    pairs_with_means = {(mean.about, mean.contrast.first, mean.contrast.second) for mean in survey.means}
    models, findings = survey.short_models, []
    # What is said of the curve of a model says when it learns, and what is said of seeds how far they differ.
    together = {step.name for steps in checkpoints_of(survey.models).values() for step in steps}
    together |= {model for by_seed in survey.seed_groups.values() for model in by_seed.values()}
    for survey_contrast in (*survey.means, *survey.contrasts):
        about, contrast, treebank = survey_contrast.about, survey_contrast.contrast, survey_contrast.treebank
        rows = [row for row in contrast.tested if row.group not in TOTALS]
        if not rows or (treebank and (about, contrast.first, contrast.second) in pairs_with_means):
            continue
        if {contrast.first.run, contrast.second.run} <= together and about == "models":
            continue
        n_treebanks = max(survey_contrast.treebanks.values(), default=1)
        where = (
            f" of {survey.short_treebanks[treebank]}" if treebank else f" (means over up to {n_treebanks} treebanks)"
        )
        noun = ""
        if about == "maps":
            noun, where = "the map ", f"{where} in {models[contrast.first.run]}"
        else:
            kind = f" ({contrast.first.map})" if len(survey.maps) > 1 else ""
            first, second = (
                replace(side, name=f"{models[side.run]}{kind}") for side in (contrast.first, contrast.second)
            )
            contrast = replace(contrast, first=first, second=second)
        text = difference_text(contrast, rows, heads=True, noun=noun, where=where)
        findings.append((rows, Finding(text, view_of_relation(clearest(rows)[0].group))))
    return sort_by_clarity(findings)
