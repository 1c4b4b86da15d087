"""In which relations do treebanks differ? The gains of heads over rules, beside their accuracies.

Two treebanks with other word orders have other offsets, and rules find more in one of them. So a difference of
accuracies is not a difference of heads: gains over rules are compared, too. The replicates of one treebank have nothing
to do with those of another, so that the intervals are unpaired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.columns import Row, Schema, TableColumn, bounds
from ...reports.finding import Finding
from ...reports.format import percent
from ...reports.table import ShownTable
from ..comparison.differences import without_deviations
from ..comparison.findings import clearest, difference_text, join_findings
from ..comparison.results import GAIN, Contrast, Pairing, Side, contrasts_of, row_of
from ..comparison.section import p_value
from ..counting.comparable import Comparable
from ..dependency.accuracy import TOTALS
from .checkpoints import checkpoints_of
from .collecting import Collector, KeptCell
from .rows import SurveyFacts, SurveyQuestion, join_tables, view_of_relation

SURVEY_TREEBANKS = Schema(
    "survey_treebanks",
    "One row per relation, model, kind of map, family of statistics and treebank, which is compared with the first one "
    "that the model could read.",
    (
        TableColumn("family", "text", "`relations` (accuracies), `gains over the offset` or `gains over the rules`"),
        TableColumn("relation model map", "text", "the relation, the model and the kind of map"),
        TableColumn("treebank_a treebank_b", "text", "the first treebank, and another one"),
        TableColumn("n_a n_b", "count", "words of the relation"),
        TableColumn("value_a value_b", "as `unit` says", "the held-out accuracies, or the gains over a rule"),
        TableColumn("difference low high", "as `unit` says", "`value_a` − `value_b`"),
        TableColumn("p p_holm", "p", "the p value, and the adjusted one"),
        TableColumn("choice_a choice_b", "text", "the best heads"),
        TableColumn("unit reason", "text", "as in `comparison.csv`"),
    ),
)

_ACCURACIES, _CLEAR, _MOST_CLEAR = "accuracies", "treebank-differences", 40

_SAYS_MORE = ("gains over the rules", "gains over the offset", _ACCURACIES)
"""What is compared. The first say more than those after them."""


def _value(key: str, row: Row) -> str:
    """Write a side of a difference: an accuracy, or a gain with its sign."""
    return percent(row[key], sign=row["family"] != _ACCURACIES)


_CLEAR_COLUMNS = (
    TableColumn("group", "text", "", "relation"),
    TableColumn("name", "text", "", "treebanks"),
    TableColumn("model", "text", "", "model"),
    TableColumn("family", "text", "", "of"),
    TableColumn("n_a n_b", "count", "", "n", cell=lambda row: f"{row['n_a']:,} / {row['n_b']:,}"),
    TableColumn("value_a", "number", "", "first", cell=partial(_value, "value_a")),
    TableColumn("value_b", "number", "", "second", cell=partial(_value, "value_b")),
    TableColumn("difference low high", "points", "", "difference", beside=bounds(), beside_in="any"),
    TableColumn("p_holm", "p", "", "p (Holm)", cell=lambda row: p_value(row["p_holm"])),
)

_RENAMED = {"group": "relation", "run_a": "treebank_a", "run_b": "treebank_b", "map_a": "map"}


@dataclass(frozen=True)
class TreebankContrast:
    """The differences between two treebanks, which are the runs of the sides, for one model and kind of map."""

    model: str
    contrast: Contrast


@dataclass(frozen=True)
class TreebankContrasts:
    """The differences between the first treebank and each other one."""

    contrasts: tuple[TreebankContrast, ...] = ()


class TreebankCollector(Collector[None, TreebankContrasts]):
    """Compares the treebanks of a survey with the first one, one at a time."""

    def __init__(self, min_count: int) -> None:
        self.min_count = min_count
        self._first: dict[tuple[str, str], tuple[str, Sequence[Comparable]]] = {}  # by model and kind of map
        self._contrasts: list[TreebankContrast] = []

    def add(self, treebank: str, cells: Sequence[KeptCell], pairing_of: Callable[[str, str], Pairing]) -> None:
        """Compare the cells of a treebank with those of the first treebank that their models could read."""
        for cell in cells:
            for kind, families in cell.families.items():
                first, of_first = self._first.setdefault((cell.model, kind), (treebank, families))
                if first == treebank:
                    continue
                sides = Side(first, kind, first), Side(treebank, kind, treebank)
                others = [family.independent(treebank) for family in families]
                found = contrasts_of("dependency", of_first, others, sides, "unpaired", min_count=self.min_count)
                for one in found:
                    rows = tuple(map(without_deviations, one.differences))
                    self._contrasts.append(TreebankContrast(cell.model, replace(one, differences=rows)))

    def collect(self) -> TreebankContrasts:
        """Return the differences."""
        return TreebankContrasts(tuple(self._contrasts))


class Treebanks(SurveyQuestion):
    """In which relations do heads find more in one treebank than in another, and is it more than rules find?"""

    name = "treebanks"
    tables = (SURVEY_TREEBANKS,)
    template = Path(__file__).with_name("treebanks.html.j2")
    collection = TreebankContrasts

    def collector(self, facts: SurveyFacts) -> TreebankCollector | None:
        """Return what compares treebanks, if there are several."""
        return TreebankCollector(facts.min_count) if len(facts.treebanks) > 1 else None

    def find(
        self, counts: SurveyFacts, lookups: TreebankContrasts | None, earlier: Mapping[str, Any]
    ) -> pd.DataFrame | None:
        """Return the differences; None if no model could read two treebanks."""
        if lookups is None or not lookups.contrasts:
            return None
        rows = [
            {**row_of(one.contrast, difference), "model": one.model}
            for one in lookups.contrasts
            for difference in one.contrast.differences
        ]
        return join_tables([pd.DataFrame(rows).rename(columns=_RENAMED)], SURVEY_TREEBANKS)

    def frames(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the table as it is written."""
        return {SURVEY_TREEBANKS.name: answer}

    def show(self, answer: pd.DataFrame, results: SurveyFacts) -> Sequence[ShownTable]:
        """Return in how many relations the treebanks differ significantly, of those that could be tested."""
        columns = [
            TableColumn("name", "text", "", "treebanks"),
            TableColumn("model", "text", "", "model"),
            TableColumn("family", "text", "", "of"),
            TableColumn("tested", "count", "", "tested relations"),
            TableColumn("above", "count", "", "above 0"),
            TableColumn("below", "count", "", "below 0"),
        ]
        rows, clear = [], []
        for one in _contrasts_of(results):
            contrast = _shortly_named(one.contrast, results)
            if not contrast.tested:
                continue
            rows.append(
                {
                    **(named := _names(one.model, contrast, results)),
                    "tested": len(contrast.tested),
                    "above": sum(row.significant and row.difference > 0 for row in contrast.tested),
                    "below": sum(row.significant and row.difference < 0 for row in contrast.tested),
                }
            )
            clear += [{**row_of(contrast, row), **named} for row in contrast.tested if row.significant]
        if not rows:
            return ()
        clear.sort(key=lambda row: (_SAYS_MORE.index(row["family"]), -abs(row["difference"])))
        most = f"The first {_MOST_CLEAR} of {len(clear):,}; all are in the table."
        return (
            ShownTable("survey_treebank_pairs", "Differences between treebanks", columns, rows),
            ShownTable(
                "survey_treebank_differences",
                "Relations that differ clearly (accuracies in %, gains and differences in points)",
                _CLEAR_COLUMNS,
                clear[:_MOST_CLEAR],
                notes=(most,) if len(clear) > _MOST_CLEAR else (),
            ),
        )

    def values(self, answer: pd.DataFrame, results: SurveyFacts) -> Mapping[str, Any]:
        """Return how many comparisons have no relation that could be tested."""
        return {"untested_pairs": sum(not one.contrast.tested for one in _contrasts_of(results))}

    def findings(self, answer: pd.DataFrame, results: SurveyFacts) -> Sequence[Finding]:
        """Say in how many relations heads gain more over rules in one treebank than in another."""
        return join_findings(_describe(results))


def _names(model: str, contrast: Contrast, survey: SurveyFacts) -> dict[str, str]:
    """Return what tables say of a contrast: its treebanks, its model and what is compared."""
    kind = f" ({contrast.first.map})" if len(survey.maps) > 1 else ""
    return {
        "name": f"{contrast.first.name} − {contrast.second.name}",
        "model": f"{survey.short_models[model]}{kind}",
        "family": contrast.family if contrast.unit == GAIN else _ACCURACIES,
    }


def _contrasts_of(survey: SurveyFacts) -> Sequence[TreebankContrast]:
    collected: TreebankContrasts = survey.collected.get(Treebanks.name, TreebankContrasts())
    return collected.contrasts


def _shortly_named(contrast: Contrast, survey: SurveyFacts) -> Contrast:
    """Return a contrast whose sides have the short names of treebanks."""
    short = survey.short_treebanks
    first, second = (replace(side, name=short.get(side.run, side.run)) for side in (contrast.first, contrast.second))
    return replace(contrast, first=first, second=second)


def _describe(survey: SurveyFacts) -> Iterator[tuple[tuple[str, ...], Contrast, Sequence[Any], Finding]]:
    """Yield what is said of each family, with what the families of one pair have in common, its contrast and rows."""
    # Of the checkpoints of a model, the last one is compared.
    earlier = {step.name for steps in checkpoints_of(survey.models).values() for step in steps[:-1]}
    for one in _contrasts_of(survey):
        contrast = _shortly_named(one.contrast, survey)
        rows = [row for row in contrast.tested if row.group not in TOTALS]
        if rows and one.model not in earlier:
            kind = f", map “{contrast.first.map}”" if len(survey.maps) > 1 else ""
            model = f" of {survey.short_models[one.model]}" if len(survey.models) > 1 else ""
            text = difference_text(contrast, rows, heads=True, where=f"{model}{kind}")
            key = (one.model, contrast.first.map, contrast.second.run)
            first = clearest(rows)[0]
            view = "#treebanks" if contrast.unit == GAIN else view_of_relation(first.group)
            if contrast.unit == GAIN and first.significant:
                view = f"#{_CLEAR}"
            yield key, contrast, rows, Finding(text, view)
