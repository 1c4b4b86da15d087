"""What the terminal, figures and page of a survey say about the numbers: n, the baseline, warnings and tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from rich.console import Group
from rich.table import Table

from attentionology.analyses.shared.comparable import Comparable, Measured
from attentionology.analyses.survey.cells import Cell, CellFacts, CellResult, MapResult
from attentionology.analyses.survey.contrasts import Contrasts, Measurements
from attentionology.analyses.survey.figures import accuracies_figure, differences_figure
from attentionology.analyses.survey.matrices import MatrixMaker
from attentionology.analyses.survey.results import Survey
from attentionology.analyses.survey.section import survey_section
from attentionology.analyses.survey.terminal import survey_matrix
from attentionology.reports.console import Terminal
from attentionology.reports.drawing import BLUE, GREY
from attentionology.reports.page import write_report
from tests.unit.test_reports import RUN

NS = {"few": 3, "many": 100}
HELDOUT = {"a": {"few": 1 / 3, "many": 0.6}, "b": {"few": 2 / 3, "many": 0.5}}
WARNING = "84 % of the words contain pieces that the model's tokenizer does not know."


def result(model: str, treebank: str) -> CellResult:
    """A cell with one relation, which few or many words have; model b does not fit the text."""
    n = NS[treebank]
    best = {
        "relation": "obj", "direction": "dep->head", "layer": 2, "head": 1, "total": n, "correct": n // 2 + 1,
        "offset_accuracy": 0.45, "heldout_accuracy": HELDOUT[model][treebank],
    }  # fmt: skip
    warnings = (WARNING,) if model == "b" else ()
    facts = CellFacts(None, "0" * 64, 2, 2, ((treebank, "0" * 64),), 10, 0, 100, warnings)
    return CellResult(Cell(model, treebank), (MapResult("weight", pd.DataFrame([best])),), (), facts)


def surveyed(min_count: int = 50) -> Survey:
    contrasts = Contrasts(min_count=min_count)
    noise = {model: np.random.default_rng(seed).normal(scale=0.3, size=200) for seed, model in enumerate(HELDOUT)}
    for treebank, n in NS.items():
        cells = []
        for model in HELDOUT:
            measured = (Measured("obj", HELDOUT[model][treebank], n, noise[model]),)
            family = Comparable("relations", measured, "words whose head is found", "words", 0)
            cells.append(Measurements(model, {"weight": (family,)}))
        contrasts.add(treebank, cells)
    results = tuple(result(model, treebank) for treebank in NS for model in HELDOUT)
    return Survey(tuple(HELDOUT), tuple(NS), ("weight",), results, tuple(contrasts.within), (), "obj", min_count)


def printed(survey: Survey) -> str:
    terminal = Terminal(140)
    with terminal.capture() as captured:
        terminal.print(survey_matrix(survey))
    return captured.get()


def test_the_terminal_shows_n_and_the_offset_and_puts_few_words_in_parentheses():
    lines = [" ".join(line.split()) for line in printed(surveyed()).splitlines()]
    row = lines.index("a 33.3 (offset 45.0) 60.0 (offset 45.0)")
    assert lines[row + 1] == "(n = 3) n = 100"
    assert "n in parentheses: fewer than 50 words, too few for reliable conclusions." in lines
    assert "of the best fixed offset" in lines[0]


def test_entries_with_few_words_are_gray():
    shown = survey_matrix(surveyed())
    assert isinstance(shown, Group)
    table = shown.renderables[1]
    assert isinstance(table, Table)
    assert next(iter(table.columns[1].cells)) == "[dim]33.3 (offset 45.0)\n(n = 3)[/dim]"
    assert next(iter(table.columns[2].cells)) == "60.0 (offset 45.0)\nn = 100"


def test_the_terminal_gives_the_warnings_of_the_report():
    survey = surveyed()
    assert survey.warnings == [f"b on few, b on many: {WARNING}"]
    assert f"Warning: b on few, b on many: {WARNING}" in printed(survey)


def test_the_terminal_says_what_is_not_tested_and_that_intervals_are_not_adjusted():
    text = printed(surveyed())
    assert "Significant differences (p (Holm) below 0.05): 0 of 1 that are tested." in text
    assert "The intervals in the report and in the tables are not adjusted for the number of tests." in text
    assert "Differences that are not tested: 1; see the column “reason” of tables/survey_contrasts.csv." in text
    none = printed(surveyed(min_count=101))
    assert "Differences that are tested: none of 2; see" in none
    assert "ignificant" not in none


@pytest.mark.parametrize(
    ("min_count", "labels", "colors"),
    [
        (1, ["not significant"], [BLUE, BLUE]),
        (50, ["not significant", "not tested"], [GREY, BLUE]),
        (101, ["not tested"], [GREY, GREY]),
    ],
)
def test_differences_that_are_not_tested_are_not_drawn_as_not_significant(min_count, labels, colors):
    figure = differences_figure(surveyed(min_count))
    assert figure is not None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["p (Holm) below 0.05", *labels]
    drawn = [(line, np.asarray(line.get_xdata())) for line in figure.axes[0].lines[1:]]
    dots = [line for line, x in drawn if line.get_marker() == "o" and len(x)]
    assert [line.get_markeredgecolor() for line in dots] == colors
    assert all((abs(x) <= 100).all() for _, x in drawn)


def test_the_figure_of_accuracies_puts_few_words_in_parentheses():
    survey = surveyed()
    figure = accuracies_figure(survey, MatrixMaker(survey).of("obj"))
    assert figure is not None
    assert [text.get_text() for text in figure.axes[0].texts] == ["(33.3)", "60.0", "(66.7)", "50.0"]
    assert figure.axes[0].get_title("left") == "obj\nin parentheses: fewer than 50 words"


def test_the_page_shows_the_offset_and_grays_what_is_not_tested(tmp_path):
    write_report(tmp_path, run=RUN, sections=[survey_section(surveyed())])
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "2-1 dep→head, n = 3, offset 45.0" in page
    assert '<td class="weak">-33.3<br><span class="range">[-100.0, ' in page
    assert "which are not\nadjusted for their number; bold ones are significant, and gray ones are not tested." in page
