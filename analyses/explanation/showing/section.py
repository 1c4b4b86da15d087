"""The tables, the figures, the section of the report and the terminal of the explanation tests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Group, RenderableType

from ....reports.columns import Row, TableColumn
from ....reports.format import number, percent, rows_of
from ....reports.page import Section
from ....reports.table import ShownTable, as_line
from ....reports.tables import records
from ....storage.writing import is_right_to_left, joined_words, running_text
from ..contract.explanation_test import SHARE, ExplanationTest
from ..contract.registry import (
    attending_to,
    column_of,
    find_borrowed,
    in_items,
    in_order_of_report,
    registered_tests,
    with_unit,
)
from ..contract.results import ExplainResults, HighlightedText
from ..contract.summary import OVERALL
from .columns import EXPLAIN_MODELS, EXPLAIN_VERDICTS, MEAN, shown_bounds, shown_value
from .plots import MAX_CLASSES, has_values, training_figure

_SCALE = (0.05, 0.1, 0.25, 0.5)
"""The weights whose colors the page shows; from the last one on, words have full color."""

_PAGE = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
_PAGE.filters |= {"percent": percent, "number": number, "value": shown_value, "bounds": shown_bounds}

_COMPARED = (TableColumn("test", "text", "", "test"), TableColumn("compared", "text", "", "compared", wraps=True))
_LEFT_OUT = (TableColumn("test", "text", "", "test"), TableColumn("why", "text", "", "why", wraps=True))
_NUMBERS = (TableColumn("label", "text", "", "measure", wraps=True), MEAN, TableColumn("n", "count", "", "n"))


def explain_section(results: ExplainResults, *, model: str = "", corpus: str = "") -> Section:
    """Make the tables, the figures and the section of the page."""
    with attending_to(results.item):
        tests = in_order_of_report()
        article = "the " if model.endswith(" classifier") else ""
        tables = {name: getattr(results, name) for name in ("verdicts", "summary", "texts", "models", "curve")}
        tables |= {**results.tables, "training": results.history}
        verdicts = verdict_rows(results.verdicts)
        gates = {test.name for test in tests if test.gate}
        summarized = [name for test in tests for name, is_in_summary in test.tables.items() if is_in_summary]
        left_out = [{"test": test, "why": why} for test, why in results.left_out]
        return Section(
            title=f"May the attention of {article}{model} be read as an explanation?",
            template=Path(__file__).with_name("section.html.j2"),
            context={
                "verdicts": len(verdicts),
                "counts": Counter(row["verdict"] for row in verdicts),
                "gate": next((row["verdict"] for row in verdicts if row["test"] in gates), ""),
                "parts": [part for test in tests if (part := _part(results, test))],
                "models": len(results.models),
                "has_f1": has_values(results.models, "f1"),
                "has_auc": has_values(results.models, "auc"),
                "item": results.item,
                "examples": [_add_shades(text) for text in results.examples],
                "scale": [(weight, _shade(weight)) for weight in _SCALE],
                "by_class": len(results.classes) <= MAX_CLASSES,
                "n_texts": len(results.texts),
                "facts": list(results.facts),
                "notes": list(results.notes),
                "not_run": len(results.left_out),
            },
            shown=[
                verdict_table(results),
                ShownTable("explain_models", "The models (%)", EXPLAIN_MODELS.columns, rows_of(results.models)),
                ShownTable("explain_left_out", "Tests left out", _LEFT_OUT, left_out),
            ],
            summary={
                "explain_verdicts": records(results.verdicts),
                "explain_summary": records(overall(results.summary)),
                "explain_models": records(results.models),
                **{f"explain_{name}": records(results.table(name)) for name in summarized},
                "explain_curve": records(results.curve),
                "explain_notes": list(results.notes),
                "explain_left_out": left_out,
            },
            tables={f"explain_{name}": table for name, table in tables.items() if len(table)},
            figures=explain_figures(results, f"{model} on {corpus}" if model and corpus else model),
        )


def verdict_table(results: ExplainResults) -> ShownTable:
    """Return the questions, each with both sides of its comparison and the verdict."""
    rows = verdict_rows(results.verdicts)
    title = "May attention be read as an explanation?"
    tests: dict[str, list[str]] = {}  # that are undecided, by the reason
    for row in rows:
        if row["verdict"] == "undecided":
            tests.setdefault(row["meaning"], []).append(row["test"])
    reasons = [f"Undecided: {', '.join(dict.fromkeys(names))}. {reason}" for reason, names in tests.items()]
    columns = EXPLAIN_VERDICTS.columns  # those of the page have the meaning below the verdict
    return ShownTable("explain_verdicts", title, columns, rows, css="verdicts", footnotes=reasons)


def overall(summary: pd.DataFrame) -> pd.DataFrame:
    """Select the rows over all texts."""
    return summary[summary["predicted"] == OVERALL] if len(summary) else summary  # an empty one has no columns


def verdict_rows(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the verdicts with the number and the floor as such, whichever of them should be larger."""
    # A positive difference is in favor of attention.
    questions = {
        (test.name, question.question): question for test in registered_tests().values() for question in test.questions
    }
    rows = rows_of(verdicts)
    for row in rows:
        question = questions.get((row["test"], row["question"]))
        sides = ["smaller", "larger"] if question and question.floor_is_larger else ["larger", "smaller"]
        for role, side in zip(("number", "floor"), sides, strict=True):
            column = column_of(row[side])
            row[role] = {"label": column.label, "unit": column.unit, "mean": row[f"{side}_mean"]}
        row["unit"] = row["number"]["unit"]
    return rows


def explain_figures(results: ExplainResults, title: str) -> dict[str, Figure]:
    """Draw the figures of all tests, and the figure of training."""
    with attending_to(results.item):
        drawings = [drawing for test in registered_tests().values() for drawing in test.drawings]
        drawn = {drawing.name: drawing.draw(results, title) for drawing in drawings}
        figures = {name: figure for name, figure in drawn.items() if figure is not None}
        if results.item != "word":
            for figure in figures.values():
                _put_items_for_words(figure)
    if has_values(results.history, "loss"):
        roles = dict(zip(results.models["model"], results.models["role"], strict=True)) if len(results.models) else {}
        figures["explain_training"] = training_figure(results.history, roles, title=title)
    return figures


def _put_items_for_words(figure: Figure) -> None:
    """Let labels and legends name the items that are attended to, where they say "word"."""
    for text in figure.findobj(Text):
        written = text.get_text()
        # The title and the names of classes are not texts of this package.
        if written != figure.get_suptitle() and not written.startswith("predicted: "):
            text.set_text(in_items(written))


def _part(results: ExplainResults, test: ExplanationTest) -> dict[str, Any]:
    """Return what the page shows of a test; empty if the test did not run."""
    measures = {*results.texts.columns, *(results.summary["measure"] if len(results.summary) else ())}
    borrowed_columns = {column for columns in find_borrowed(registered_tests()).values() for column in columns}
    if not test.ran(measures, borrowed_columns, results):
        return {}
    shown = [name for name in test.on_page if name in measures]
    values = {"there": shown, "epsilon": results.epsilon, **test.page_values(results)}
    captions = {drawing.name: _render(drawing.caption, values) for drawing in test.drawings}
    part = {"heading": test.heading, "captions": captions, "html": _render(test.page, values)}
    return {**part, **_measure_tables(results, test)}


def _render(template: str, values: Mapping[str, Any]) -> Markup:
    """Return the HTML of a template of a test."""
    return Markup(_PAGE.from_string(template).render(**values))  # noqa: S704 the values are escaped


def _measure_tables(results: ExplainResults, test: ExplanationTest) -> dict[str, Any]:
    """Return the tables of the measures of a test, over all texts and by predicted class; "" for one without rows."""
    summary = {(row["measure"], row["predicted"]): row for row in rows_of(results.summary)}
    # If there are too many classes for the page, their rows are only in the table on disk.
    classes = results.classes if len(results.classes) <= MAX_CLASSES else ()
    whole: list[Row] = []
    by_class: list[Row] = []
    for group in (OVERALL, *classes):
        for measure in test.on_page:
            row = summary.get((measure, group))
            if row is not None and (group == OVERALL or row["n"] + row["undefined"] > 0):
                column = column_of(measure)
                share_significant = summary.get((column.significance, group), {"mean": math.nan})["mean"]
                rows = whole if group == OVERALL else by_class
                rows.append({**row, "label": column.label, "unit": column.unit, "significant": share_significant})
    all_rows = [*whole, *by_class]
    predicted = TableColumn("predicted", "text", "", "predicted")
    return {
        "whole": _summarize(whole, all_rows) if whole else "",
        "by_class": _summarize(by_class, all_rows, predicted) if by_class else "",
    }


def _summarize(rows: Sequence[Row], all_rows: Sequence[Row], *first: TableColumn) -> ShownTable:
    """Return the means of measures, in the unit of each, beside the share of texts in which it is significant."""
    # Columns that only some of all rows need are in both tables of a test.
    has_undefined = any(row["undefined"] for row in all_rows)
    has_significant = any(not math.isnan(row["significant"]) for row in all_rows)
    columns = [
        *first,
        TableColumn("label", "text", "", "measure"),
        TableColumn("unit", "text", "", "unit"),
        TableColumn("n", "count", "", "n"),
        *([TableColumn("undefined", "count", "", "undefined")] if has_undefined else []),
        MEAN,
        TableColumn("sd", "number", "", "sd", cell=lambda row: shown_value(row["sd"], row["unit"])),
        *([TableColumn("significant", "share", "", "texts with p ≤ 0.05,")] if has_significant else []),
    ]
    return ShownTable("measured", "Means over texts", columns, rows)


def _add_shades(text: HighlightedText) -> dict[str, Any]:
    """Return an example with the shade of each word, from 0 to 1 on a scale that is the same for all panels."""
    joined = joined_words(text.words)  # the indices of words that no space follows
    panels = []
    for panel in text.panels:
        words = [
            {
                "word": word,
                "weight": weight,
                "shade": _shade(weight),
                "after": "" if index in joined else " ",
            }
            for index, (word, weight) in enumerate(zip(text.words, panel.weights, strict=True))
        ]
        panels.append({"name": panel.name, "note": panel.note, "words": words})
    return {
        "query": running_text(text.query),
        "label": text.label,
        "predicted": text.predicted,
        "probability": text.probability,
        "panels": panels,
        "is_right_to_left": is_right_to_left(text.words),
    }


def _shade(weight: float) -> float:
    """Return the shade of a weight, from 0 to 1. Weights are shares of a text, whatever measures them."""
    return min(1.0, abs(weight) / _SCALE[-1]) if math.isfinite(weight) else 0.0


def explain_table(results: ExplainResults, *, width: int) -> RenderableType:
    """Make the tables of the verdicts and of the most important numbers, with facts and notes below."""
    with attending_to(results.item):
        tables: list[RenderableType] = []
        lines = []  # below the tables
        if len(results.verdicts):
            title = "What is compared with what, in the same order"
            tables += [verdict_table(results).terminal(width), ""]
            tables += [ShownTable("compared", title, _COMPARED, rows_of(results.verdicts)).terminal(width), ""]
            lines.append(
                "Above 0, attention does better than the floor. Passing a test does not prove that attention is "
                "faithful."
            )
        if numbers := _key_numbers(results):
            tables.append(ShownTable("numbers", "Means over texts", _NUMBERS, numbers).terminal(width))
        lines += [f"{fact[0].upper()}{fact[1:]}." for fact in results.facts if fact]
        lines += results.notes
        lines += [f"Not run: {test} ({why})" for test, why in results.left_out]
        return Group(*tables, *(as_line(line, "table.caption") for line in lines))


def _key_numbers(results: ExplainResults) -> list[dict[str, Any]]:
    """Return the accuracy of the tested model, and the most important measures of all tests, as rows."""
    shown = []
    for row in rows_of(results.models):
        if row["role"] == "base":
            accuracy = {"label": "accuracy of the tested model (%)", "unit": SHARE, "mean": row["accuracy"]}
            shown.append({**row, **accuracy, "n": len(results.texts)})
    names = [name for test in in_order_of_report() for name in test.key]
    if not shown:
        names.insert(0, "correct")  # the same accuracy
    rows = {row["measure"]: row for row in rows_of(overall(results.summary))}
    for measure in dict.fromkeys(names):
        if measure in rows and rows[measure]["n"]:
            shown.append({**rows[measure], "label": with_unit(measure), "unit": column_of(measure).unit})
    return shown
