"""What the explanation tests show at the limits of classes, texts and epochs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from attentionology.analyses.explanation.contract.registry import column_of, registered_tests
from attentionology.analyses.explanation.contract.summary import OVERALL
from attentionology.analyses.explanation.methods.imitation import curve_figure
from attentionology.analyses.explanation.methods.regularizers import regularizers_figure
from attentionology.analyses.explanation.showing.columns import SCHEMAS
from attentionology.analyses.explanation.showing.findings import explain_findings
from attentionology.analyses.explanation.showing.plots import by_class, has_values, mean_of, training_figure, violins
from attentionology.analyses.explanation.showing.section import explain_section, explain_table, verdict_table
from attentionology.analyses.explanation.showing.together import words_figure
from attentionology.reports.drawing import GREEN, ORANGE
from attentionology.reports.format import rows_of
from attentionology.reports.table import ShownTable
from tests.shown_tables import assert_declared, distinct_table, on_page, percent, read_terminal
from tests.unit.test_explain_reports import results as drawn


@pytest.fixture(scope="module")
def results():
    """All questions, whose numbers are all different, and two verdicts of each kind at least."""
    found = drawn(n=200)
    table = distinct_table(found.verdicts).assign(
        n=np.arange(len(found.verdicts)) + 1030,
        verdict=[("passes", "fails", "undecided")[index % 3] for index in range(len(found.verdicts))],
    )
    table["difference"] *= np.where(table["verdict"] == "fails", -1, 1)
    return found._replace(verdicts=table)


def written(value: float, unit: str, sign: str = "") -> str:
    return percent(value, sign) if unit == "%" else f"{value:{sign}.3f}"


def test_why_a_question_is_undecided_is_said_below_the_table(results):
    few, includes = "Only 21 different texts have both values, which is too few.", "The interval includes 0."
    verdicts = results.verdicts.assign(verdict="passes", meaning="It passes.")
    for row, test, meaning in ((0, "uniform", few), (1, "uniform", few), (2, "erasure", few), (3, "seeds", includes)):
        verdicts.loc[verdicts.index[row], ["verdict", "meaning", "test"]] = ["undecided", meaning, test]
    made = results._replace(verdicts=verdicts)
    lines = read_terminal(explain_table(made, width=300), 300).splitlines()
    reasons = [f"Undecided: uniform, erasure. {few}", f"Undecided: seeds. {includes}"]
    assert [line.strip() for line in lines if line.startswith("Undecided")] == reasons
    latex = verdict_table(made).latex().splitlines()
    below = [line for line in latex if "Undecided" in line]
    assert [line.partition("linewidth}}")[2] for line in below] == [rf"{{{reason}}} \\" for reason in reasons]
    assert latex.index(r"\bottomrule") < latex.index(below[0])
    assert few in str(verdict_table(made))  # on the page, below the verdict
    assert not verdict_table(results._replace(verdicts=verdicts.assign(verdict="fails"))).footnotes


def test_columns_are_as_declared():
    numbers = ("larger_mean", "smaller_mean", "loss", "lambda")
    assert_declared(explain_section(drawn(n=200)).tables, SCHEMAS, numbers)


def test_measures_have_the_columns_that_only_some_of_them_need(results):
    """A text of one class without a value, and p values of some measures, give columns to both tables of a test."""
    summary = distinct_table(results.summary[results.summary["measure"] != "significant_loo"]).assign(undefined=0)
    summary.loc[(summary["measure"] == "tau_random") & (summary["predicted"] == "positive"), "undefined"] = 1030
    rows = {(row["measure"], row["predicted"]): row for row in rows_of(summary)}
    test = registered_tests()["correlation"]
    parts = explain_section(results._replace(summary=summary)).context["parts"]
    (part,) = (part for part in parts if part["heading"] == test.heading)
    for table, groups in ((part["whole"], [OVERALL]), (part["by_class"], results.classes)):
        expected = []
        for group, name in itertools.product(groups, (name for name in test.on_page if (name, OVERALL) in rows)):
            row, column = rows[name, group], column_of(name)
            significant = rows.get((column.significance, group), {"mean": np.nan})["mean"]
            values = {place: written(row[place], column.unit) for place in ("mean", "low", "high", "sd")}
            cells = {
                "measure": column.label,
                "unit": column.unit,
                "n": f"{row['n']:,}",
                "undefined": f"{row['undefined']:,}",
                "mean": f"{values['mean']} [{values['low']}, {values['high']}]",
                "sd": values["sd"],
                "texts with p ≤ 0.05, %": percent(significant),
            }
            expected.append(cells if group == OVERALL else {"predicted": group, **cells})
        assert on_page(table) == expected


def page_table(results, test: str, name: str):
    table = registered_tests()[test].page_values(results)[name]
    assert isinstance(table, ShownTable)
    return table


def test_flips_are_shares_of_the_texts(results):
    flips = pd.DataFrame(
        [{"measure": "attention", "n": 8, "both": 1, "only_top": 2, "only_random": 0, "neither": 5},
         {"measure": "gradient", "n": 0, "both": 0, "only_top": 0, "only_random": 0, "neither": 0}]
    )  # fmt: skip
    table = page_table(results._replace(tables={"flips": flips}), "erasure", "flips")
    shares = {"by both words %": "12.5", "by the best word alone %": "25.0", "by the other word alone %": "0.0"}
    assert on_page(table) == [{"best word by": "attention", "n": "8", **shares, "by neither %": "62.5"}]


def test_regularizers_are_columns(results):
    own = distinct_table(results.tables["regularizers"])
    table = page_table(results._replace(tables={"regularizers": own}), "regularizers", "measures")
    for shown in on_page(table):
        for row in own[own["measure"].map(lambda name: column_of(name).label) == shown["measure"]].to_dict("records"):
            unit = column_of(row["measure"]).unit
            interval = f"[{written(row['low'], unit)}, {written(row['high'], unit)}]"
            assert shown[row["regularizer"]] == f"{written(row['mean'], unit)} {interval}"
    conicity = next(row for row in on_page(table) if row["measure"] == column_of("conicity").label)
    assert conicity["tying"] == "–"


def test_up_to_six_classes_have_their_own_groups():
    texts = pd.DataFrame({"predicted": [0, 1, 1, 2, 3, 4, 6]})
    groups = list(by_class(texts, ["a" * 24, "b" * 25, *"cdef"]))
    assert [(label, len(rows)) for label, _, rows in groups] == [
        (f"predicted: {'a' * 24}", 1),
        (f"predicted: {'b' * 23}…", 2),
        *((f"predicted: {name}", 1) for name in "cde"),
    ]
    assert len({color for _, color, _ in groups}) == 5
    assert [(label, len(rows)) for label, _, rows in by_class(texts, "abcdefg")] == [("all 7 classes", 7)]


def test_a_column_has_values_if_one_text_has_one():
    table = pd.DataFrame({"x": [np.nan, 1.0], "none": [np.nan] * 2})
    assert [has_values(table, name) for name in ("x", "none", "other")] == [True, False, False]


def test_means_are_those_of_the_group(results):
    six, seven = (results._replace(classes=tuple("abcdefg"[:n])) for n in (6, 7))
    numbers = {"measure": "m", "predicted": ["b", OVERALL], "mean": [0.1, 0.4], "low": [0.0, 0.3], "high": [0.2, 0.5]}
    texts = pd.DataFrame({"predicted": [1, 1]})
    for found, row in ((six, 0), (seven, 1)):
        own = mean_of(found._replace(summary=pd.DataFrame(numbers)), "m", texts)
        assert own == {name: numbers[name][row] for name in ("mean", "low", "high")}


def test_few_texts_are_points_and_many_a_distribution():
    """The two groups of a range of weights stand side by side, each value above its range."""
    rng = np.random.default_rng(0)
    first = pd.DataFrame({"max_attention": [0.1] * 9 + [0.25] * 10 + [0.9] * 12, "x": [*rng.random(19), *[0.5] * 12]})
    second = pd.DataFrame({"max_attention": [0.3] * 10 + [0.2] * 10, "x": [*rng.random(10), *[0.25] * 10]})
    figure: Any = violins([("a", "#111111", first), ("b", "#222222", second)], "x", "label", "")
    (axes,) = figure.axes
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["0–0.25\nn = 19", "0.25–0.5\nn = 20", "0.5–1\nn = 12"]  # no range has fewer than ten
    assert axes.get_xlim() == (-0.5, 2.5)
    points = [each for each in axes.collections if isinstance(each, PathCollection) and np.size(each.get_offsets())]
    bodies = [each for each in axes.collections if not isinstance(each, PathCollection)]
    drawn_points = (first["x"][:9], first["x"][19:], second["x"][10:])  # few, or all alike
    for dots, values, middle in zip(points, drawn_points, (-0.2, 1.8, 0.2), strict=True):
        offsets = np.asarray(dots.get_offsets())
        np.testing.assert_allclose(offsets[:, 1], values)
        assert np.abs(offsets[:, 0] - middle).max() <= 0.08  # a fifth of the width of a group
    for body, color, middle in zip(bodies, ("#111111", "#222222"), (0.8, 1.2), strict=True):
        outline = body.get_paths()[0].vertices[:, 0]
        assert (outline.min(), outline.max()) == pytest.approx((middle - 0.18, middle + 0.18))
        assert to_hex(body.get_facecolor()[0]) == to_hex(body.get_edgecolor()[0]) == color
    medians = [np.asarray(line.get_data()).T.tolist() for line in axes.lines if line.get_color() == "#000000"]
    drawn_values = (first["x"][:9], first["x"][9:19], first["x"][19:], second["x"][10:], second["x"][:10])
    expected = [
        [[m - 0.12, v.median()], [m + 0.12, v.median()]]
        for m, v in zip((-0.2, 0.8, 1.8, 0.2, 1.2), drawn_values, strict=True)
    ]
    np.testing.assert_allclose(medians, expected)
    assert [key.get_text() for key in figure.legends[0].get_texts()] == ["a", "b"]


@pytest.mark.parametrize("last", [20, 21])
def test_figure_of_training_has_a_line_for_each_model(last):
    """Losses of adversaries have their own panel, and without dev texts the last one says so."""
    rows = [
        {"model": model, "epoch": epoch, "loss": place + 1 / epoch, "dev_auc": np.nan}
        for place, model in enumerate(("tested", "tying", "mlm", "seed_1", "wrong"))
        for epoch in range(1, last + 1)
    ]
    roles = {"tested": "base", "tying": "regularizer", "mlm": "regularizer", "seed_1": "seed", "wrong": "adversary"}
    figure: Any = training_figure(pd.DataFrame(rows), roles, title="t")
    others, adversaries, dev = figure.axes
    drawn = [*others.lines, *adversaries.lines]
    assert (len(others.lines), len(adversaries.lines), len(dev.lines)) == (4, 1, 0)
    labels = ["tested", "tying", "mlm", "other seeds", "trained adversaries"]
    for place, (line, label) in enumerate(zip(drawn, labels, strict=True)):
        epochs = np.arange(1, last + 1)
        np.testing.assert_allclose(np.asarray(line.get_data()), [epochs, place + 1 / epochs])
        assert (line.get_marker() != "None", line.get_label()) == (last == 20, label)
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in drawn}) == 5
    assert drawn[0].get_zorder() > drawn[1].get_zorder()  # the tested model is in front
    assert [axes.get_yscale() for axes in figure.axes] == ["log", "linear", "linear"]  # from 0.05 to 4
    assert [axes.get_xlim() for axes in figure.axes] == [(0.5, last + 0.5)] * 2 + [(0.5, 1.5)]
    ticks = list(range(1, last + 1, 4))
    assert [axes.get_xticks().tolist() for axes in figure.axes] == [ticks, ticks, [1]]
    assert [[text.get_text() for text in axes.texts] for axes in figure.axes] == [[], [], ["no dev texts"]]
    assert [key.get_text() for key in figure.legends[0].get_texts()] == labels


def test_words_are_shaded_on_one_scale(results):
    """Uniform attention is as faint as it is small, and half of all weight has full color."""
    (example,) = explain_section(results).context["examples"]
    shades = [[word["shade"] for word in panel["words"]] for panel in example["panels"]]
    assert shades == [pytest.approx(each) for each in ([0.2, 1, 0.6, 0], [0.4, 0.2, 0, 0.2], [0, 0, 0, 0])]
    assert [panel["name"] for panel in example["panels"]] == ["attention", "gradient × input", "nothing"]


def test_a_terminal_has_all_facts_and_notes(results):
    facts, notes = ("200 texts", "an LSTM"), ("First note.", "Second note.", "Third note.")
    lines = read_terminal(explain_table(results._replace(facts=facts, notes=notes), width=120), 120).splitlines()
    proof = "Above 0, attention does better than the floor. Passing a test does not prove that attention is faithful."
    left_out = "Not run: eraser (took <too> long [really])"
    assert [line.strip() for line in lines[-7:]] == [proof, "200 texts.", "An LSTM.", *notes, left_out]


def test_dots_of_regularizers_are_their_means_and_shares_are_in_percent(results):
    own = distinct_table(results.tables["regularizers"])
    figure: Any = regularizers_figure(results._replace(tables={"regularizers": own}), "")
    measures = ("accuracy", "permutation_tvd", "exact_jsd", "single_token_std", "tau_loo", "conicity")
    for axes, measure in zip(figure.axes, measures, strict=True):
        rows = own[own["measure"] == measure]
        factor = 100 if measure == "accuracy" else 1
        assert axes.get_xlabel().endswith("(%)") == (factor == 100)
        dots = np.concatenate([each.get_offsets() for each in axes.collections if isinstance(each, PathCollection)])
        np.testing.assert_allclose(dots, np.column_stack([factor * rows["mean"], np.arange(len(rows))]))
        ends = [line.get_xdata() for line in axes.lines if len(line.get_xdata())]
        np.testing.assert_allclose(ends, factor * rows[["low", "high"]])


def test_single_words_are_compared_with_the_probability_of_the_label(results):
    """Not with that of the class that is predicted, which is another one for a text that is classified wrongly."""
    wrong = replace(results.examples[0], probability=0.75, probability_of_label=0.25, from_word=(0.1, 0.4, 0.2, 0.3))
    models = {name: results._replace(examples=(wrong,)) for name in ("base", "regularized")}
    figure: Any = words_figure(models, {"base": ORANGE, "regularized": GREEN})
    (axes,) = figure.axes
    assert axes.get_ylabel() == "p(negative)"
    assert [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"] == [0.25, 0.25]
    assert [list(line.get_ydata()) for line in axes.lines if line.get_linestyle() == "-"] == [[0.1, 0.4, 0.2, 0.3]] * 2


def test_points_of_the_curve_are_those_of_their_adversaries_and_seeds(results):
    figure: Any = curve_figure(results, "")
    (axes,) = figure.axes
    assert {each.get_label(): np.asarray(each.get_offsets()).tolist() for each in axes.collections} == {
        "λ = 0: imitation alone": [[0.05, 0.0]],
        "other seeds": [[0.2, 0.02]],
        "text by text, exact": [[0.6, 0.05]],
        "text by text": [[0.5, 0.03]],
    }
    farthest = results.curve.replace({"name": {"exact": "farthest"}})
    figure = curve_figure(results._replace(curve=farthest), "")
    points = {each.get_label(): np.asarray(each.get_offsets()).tolist() for each in figure.axes[0].collections}
    assert points["text by text, farthest"] == [[0.6, 0.05]]
    assert points["text by text"] == [[0.5, 0.03]]


def test_findings_are_the_count_the_gate_and_decided_questions(results):
    """Both numbers, their difference with the interval and n are those of the table; undecided ones are counted."""
    verdicts = results.verdicts.reset_index(drop=True)
    verdicts.loc[verdicts["test"] == "uniform", "verdict"] = "undecided"
    count, gate, *decided = explain_findings(results._replace(verdicts=verdicts))
    totals = [int((verdicts["verdict"] == verdict).sum()) for verdict in ("passes", "fails", "undecided")]
    assert count.text == (
        f"{totals[0]} of {len(verdicts)} questions are passed by attention, {totals[1]} are failed, and {totals[2]} "
        "are undecided."
    )
    assert "“Does the task need attention?” is undecided: " in gate.text
    rows = [*rows_of(verdicts[verdicts["verdict"] == "fails"]), *rows_of(verdicts[verdicts["verdict"] == "passes"])]
    assert len(decided) == len(rows) == totals[0] + totals[1]
    questions = {question.question: question for test in registered_tests().values() for question in test.questions}
    for finding, row in zip(decided, rows, strict=True):
        sides = ["smaller", "larger"] if questions[row["question"]].floor_is_larger else ["larger", "smaller"]
        columns = [column_of(row[side]) for side in sides]
        unit = columns[0].unit
        percents, points = (" %", " points") if unit == "%" else ("", "")
        number, floor = (
            f"{written(row[f'{side}_mean'], unit)}{percents} ({column.label})"
            for side, column in zip(sides, columns, strict=True)
        )
        means = [row[f"{side}_mean"] for side in sides]
        less = " (less is better)" if (means[0] > means[1]) != (row["difference"] > 0) else ""
        low, high = (written(row[end], unit) for end in ("low", "high"))
        difference = f"{written(row['difference'], unit, '+')}{points} [{low}, {high}]"
        assert finding.text == (
            f"{number}, beside {floor}, the floor{less}: {difference}, n = {row['n']:,}. Attention {row['verdict']} "
            f"“{row['question']}”: {row['meaning']}"
        )
        assert finding.number.startswith(written(means[0], unit))
    assert len({finding.address for finding in (count, gate, *decided)}) > 5


def test_nothing_is_found_without_questions(results):
    assert explain_findings(results._replace(verdicts=pd.DataFrame())) == ()
