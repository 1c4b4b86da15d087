"""The explanation tests as an analysis: the results of a run from what it has stored, text by text."""

# ruff: noqa: RUF009  (merges_by is dataclasses.field with a rule)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from rich.console import RenderableType

from ...reports.finding import Finding
from ...reports.page import Section
from ...storage.plugins import name_extension
from ...storage.writing import amount
from ..contract import Analysis, OptionSet, Plan, PlanCounts, Setting, Titles
from ..counting.comparable import Comparable, Measured
from ..shared.merged_facts import merges_by
from .contract.explanation_test import SHARE, ExplanationTest, Findings
from .contract.options import ExplanationTestOptions
from .contract.registry import attending_to, column_of, in_order_of_use, owner_of, registered_tests, with_columns
from .contract.results import ExplainResults, HighlightedText
from .contract.summary import Bootstrap, mean_curve, quality, summarize
from .contract.verdict import verdicts
from .showing.findings import explain_findings
from .showing.section import explain_section, explain_table
from .showing.together import figures_together

NAME = "explanation"

_FEW_TEXTS = 200


@dataclass(frozen=True, eq=False)
class ExplainFacts:
    """Everything that the explanation tests have found, text by text. All results are made of it."""

    tests: tuple[str, ...]  # that ran
    classes: tuple[str, ...]
    options: ExplanationTestOptions
    seed: int  # of the bootstrap, on which the keys depend
    keys: pd.DataFrame = merges_by("rows")  # a column with the hash of the words of each text, by which it is drawn
    examined: pd.DataFrame = merges_by("rows")  # the per-text table of the tested model
    compared: Mapping[str, pd.DataFrame] = merges_by("rows")  # its columns, by test, of comparing it with others
    measured: Mapping[str, Mapping[str, pd.DataFrame]] = merges_by("rows")  # per-text tables, by test and other model
    models: pd.DataFrame = merges_by("rows")  # what each model predicts, see `Tested.score`
    points: pd.DataFrame = merges_by("rows")  # see `curve_points`
    history: pd.DataFrame = merges_by("first")  # ``model, epoch, loss, dev_auc`` of every training
    examples: tuple[HighlightedText, ...] = merges_by("first")
    phrases: tuple[str, ...] = merges_by("union")  # what was trained and tested on which texts
    notes: tuple[str, ...] = merges_by("union")  # on how the numbers were computed
    left_out: tuple[tuple[str, str], ...] = merges_by("union")  # tests that did not run, each with the reason
    item: str = "word"  # what attention runs over, ``word`` or ``sentence``

    def bootstrap(self) -> Bootstrap:
        """Return the bootstrap over the tested texts."""
        return Bootstrap(self.keys["key"].to_numpy(dtype=np.uint64), self.options.replicates)

    def chosen(self) -> list[ExplanationTest]:
        """Return the tests that ran."""
        return [registered_tests()[name] for name in self.tests]


class ExplanationTests(Analysis[ExplainFacts, ExplainResults]):
    """Tests whether attention can be read as an explanation. Its driver is `attentionology.explain`."""

    name = NAME
    of_maps = False
    facts_type = ExplainFacts
    summary = "explanation: whether the attention of a text classifier can be read as an explanation."

    def plan(self, options: OptionSet, setting: Setting) -> Plan[ExplainFacts]:
        """The tests train models and read texts themselves, so nothing is planned."""
        raise NotImplementedError("the explanation tests are run by attentionology.explain")

    def results(
        self, options: OptionSet, plan_counts: PlanCounts[ExplainFacts], needed: Mapping[str, Any], lookups: Any
    ) -> ExplainResults:
        """Make all tables of what was found text by text."""
        facts = plan_counts.facts
        with attending_to(facts.item):
            texts, findings = conclude(facts)
            bootstrap = facts.bootstrap()
            tables: dict[str, pd.DataFrame] = {}
            for test in facts.chosen():
                with name_extension("explanation test", test.name, "summarize()"):
                    tables |= test.summarize(facts.measured.get(test.name, {}), facts.classes, bootstrap)
            for finding in findings:
                tables |= finding.tables
            concluded_points = [rows for finding in findings for rows in finding.points]
            points = [rows for rows in (facts.points, *concluded_points) if len(rows)]
            return ExplainResults(
                texts=texts,
                summary=summarize(texts, measures_of(texts), facts.classes, bootstrap),
                verdicts=verdicts(texts, bootstrap, epsilon=facts.options.epsilon),
                models=_scores(facts, bootstrap),
                curve=mean_curve(pd.concat(points)) if points else pd.DataFrame(),
                tables=tables,
                history=facts.history,
                classes=facts.classes,
                examples=facts.examples,
                epsilon=facts.options.epsilon,
                facts=facts.phrases,
                notes=(*facts.notes, *(note for finding in findings for note in finding.notes)),
                left_out=facts.left_out,
                item=facts.item,
            )

    def section(self, results: ExplainResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return explain_section(results, model=titles.model, corpus=titles.corpus)

    def show(self, results: ExplainResults, width: int) -> RenderableType:
        """Return the verdicts and the most important numbers."""
        return explain_table(results, width=width)

    def findings(self, results: ExplainResults) -> Sequence[Finding]:
        """Return how many questions attention passes, and both numbers of each that is decided."""
        return explain_findings(results)

    def warnings(self, results: ExplainResults) -> list[str]:
        """Return what makes the numbers worth little."""
        warnings = []
        texts = results.texts
        # Pairs with the same text are resampled as one.
        n_texts = int(results.verdicts["n"].max()) if len(results.verdicts) else len(texts)
        if n_texts < _FEW_TEXTS:
            are_only = f"There {'is' if n_texts == 1 else 'are'} only {amount(n_texts, 'tested texts')}"
            warnings.append(f"{are_only}, so the intervals are not reliable.")
        accuracy = texts["correct"].mean()
        largest_class = texts["label"].value_counts().max() / len(texts)
        if accuracy <= largest_class:
            warnings.append(
                f"The model is right about {100 * accuracy:.0f} % of the tested texts; always predicting the most "
                f"frequent class would be right about {100 * largest_class:.0f} %. The attention of such a model "
                "explains nothing."
            )
        if (texts["predicted"] == texts["predicted"].iloc[0]).all():
            warnings.append("The model predicts the same class for every tested text.")
        return warnings

    def comparable(self, plan_counts: PlanCounts[ExplainFacts]) -> Sequence[Comparable]:
        """Return the means over texts of all measures, a family for each test and unit."""
        facts = plan_counts.facts
        with attending_to(facts.item):
            table, _ = conclude(facts)
            bootstrap = facts.bootstrap()
            test_of = {column: test for test, columns in measures_of(table).items() for column in columns}
            test_of["correct"] = "decisions"  # which no test owns
            families: dict[tuple[str, str], list[Measured]] = {}  # by test and unit
            for column in map(str, table.columns):
                if column in test_of:
                    declared = column_of(column)
                    measured = bootstrap.measure(declared.label, table[column].to_numpy(dtype=np.float64))
                    families.setdefault((test_of[column], declared.unit), []).append(measured)
            return tuple(
                Comparable(
                    family=f"{test} ({unit})",
                    measured=tuple(measured),
                    quantity="means over texts",
                    counted="texts",
                    seed=facts.seed,
                    unit="%" if unit == SHARE else unit.partition(",")[0],  # without the range after the comma
                )
                for (test, unit), measured in families.items()
            )

    def together(self, results: Mapping[str, ExplainResults]) -> Mapping[str, tuple[Figure, str]]:
        """Draw trained adversaries, shuffled weights and predictions from single words of several models together."""
        return figures_together(results)


def conclude(facts: ExplainFacts) -> tuple[pd.DataFrame, list[Findings]]:
    """Return the per-text table with the columns of all tests, and what follows from it."""
    chosen, table = facts.chosen(), facts.examined
    findings = []
    for test in chosen:
        with name_extension("explanation test", test.name, "conclude()"):
            findings.append(test.conclude(facts.examined, facts.options))
    for test, of_test in zip(chosen, findings, strict=True):
        table = with_columns(table, test, of_test.columns)
    for test in in_order_of_use(chosen):
        if test.name in facts.compared:  # nothing is compared if no models are trained
            columns = facts.compared[test.name]
            table = with_columns(table, test, {str(name): columns[name].to_numpy() for name in columns})
    return table, findings


def measures_of(table: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns of each test that are averaged, in their order in the per-text table."""
    measures: dict[str, list[str]] = {}
    for name in map(str, table.columns):
        owner = owner_of().get(name)
        if owner is not None and registered_tests()[owner].columns[name].averaged:
            measures.setdefault(owner, []).append(name)
    return measures


def _scores(facts: ExplainFacts, bootstrap: Bootstrap) -> pd.DataFrame:
    """Return how good each model is on the tested texts, see `quality`."""
    labels = np.array([facts.classes.index(label) for label in facts.examined["label"]])
    rows = []
    for (model, role), table in facts.models.groupby(["model", "role"], sort=False):
        probabilities = table.drop(columns=["model", "role"]).to_numpy(dtype=np.float64)
        measures = quality(probabilities, labels)
        accuracy = measures.pop("accuracy")  # goes before its interval, and the other measures after it
        is_correct = (probabilities.argmax(1) == labels).astype(np.float64)
        (low,), (high,) = bootstrap(is_correct[:, None])  # of one column
        rows.append({"model": model, "role": role, "accuracy": accuracy, "low": low, "high": high, **measures})
    return pd.DataFrame(rows)
