"""Figures of several explained models: each curve, violin and word is that of the model it is named after."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

from attentionology import explain
from attentionology.analyses import ClassifierOptions, ClassifierTrainingOptions, ExplanationTestOptions
from attentionology.analyses.explanation.showing.together import (
    curves_figure,
    figures_together,
    shuffled_figure,
    words_figure,
)
from attentionology.engine.compare import compare_folders

pytestmark = pytest.mark.slow

COLORS = {"base": "#d55e00", "regularized": "#009e73"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A classifier and one that is regularized by the prediction of masked words, tested on the same texts."""
    folder = tmp_path_factory.mktemp("together")
    source = random.Random(0)
    lines = []
    for index in range(120):
        words = [source.choice(["a", "the", "film", "plot", "was"]) for _ in range(6 + index % 3)]
        words[source.randrange(len(words))] = ("dull", "fine")[index % 2]
        lines.append(f"{index % 2} {' '.join(words)}")
    (folder / "texts.txt").write_text("\n".join(lines))
    made = {}
    regularizers: dict[str, Any] = {"base": "none", "regularized": "mlm"}
    for name, regularizer in regularizers.items():
        options = [
            ClassifierOptions(encoder="lstm", dimensions=16, regularizer=regularizer),
            ClassifierTrainingOptions(epochs=4),
            ExplanationTestOptions(
                tests=("permutation", "single-token", "imitation"), draws=5, lambdas=(0.001, 1.0), adversary_epochs=1
            ),
        ]
        made[name] = explain(folder / "texts.txt", options=options, out=folder / name)
    return folder, {name: each.results for name, each in made.items()}


def test_each_curve_is_that_of_its_model(runs):
    _, results = runs
    figure: Any = curves_figure(results, COLORS)
    axes = figure.axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    for name, each in results.items():
        rows = each.curve[each.curve["kind"] == "adversary"].sort_values("lambda")
        assert list(rows["lambda"]) == [0, 0.001, 1]
        np.testing.assert_array_equal(lines[name].get_xdata(), rows["jsd"])
        np.testing.assert_array_equal(lines[name].get_ydata(), rows["tvd"])
        assert to_hex(lines[name].get_color()) == COLORS[name]
    assert lines["ε = 0.05"].get_ydata()[0] == 0.05


def test_violins_or_dots_have_the_changes_of_their_model(runs):
    _, results = runs
    figure: Any = shuffled_figure(results, COLORS)
    axes = figure.axes[0]
    texts = results["base"].texts
    counts = [int(label.get_text().rpartition("= ")[2]) for label in axes.get_xticklabels()]
    assert sum(counts) == sum(each.texts["permutation_tvd"].notna().sum() for each in results.values())
    medians = {round(float(line.get_ydata()[0]), 9) for line in axes.get_lines() if len(set(line.get_ydata())) == 1}
    for each in results.values():
        bins = np.digitize(each.texts["max_attention"], (0.25, 0.5, 0.75))
        for position in set(bins):
            assert round(each.texts["permutation_tvd"][bins == position].median(), 9) in medians
    assert len(texts) > 10


def test_words_have_the_predictions_of_their_model(runs):
    _, results = runs
    figure: Any = words_figure(results, COLORS)
    base, regularized = (each.examples for each in results.values())
    assert [text.words for text in base] == [text.words for text in regularized]
    assert len(figure.axes) == len(base) > 1
    for axes, *texts in zip(figure.axes, base, regularized, strict=True):
        assert [label.get_text() for label in axes.get_xticklabels()] == list(texts[0].words)
        assert axes.get_ylabel() == f"p({texts[0].label})"
        for name, text in zip(results, texts, strict=True):
            curve, whole = [line for line in axes.get_lines() if to_hex(line.get_color()) == COLORS[name]]
            np.testing.assert_array_equal(curve.get_ydata(), text.from_word)
            assert whole.get_ydata()[0] == text.probability_of_label
            assert curve.get_label() == name


def test_predictions_from_words_are_those_that_the_table_sums_up(runs):
    """Of two classes, the probability of the label varies as that of the predicted class does."""
    _, results = runs
    for each in results.values():
        spread = np.sort(each.texts["single_token_std"])
        for text in each.examples:
            own = np.std(text.from_word)
            assert np.abs(spread - own).min() < 1e-6
            right = text.probability_of_label > 0.5
            assert right == (text.label == text.predicted)
            assert text.probability_of_label == pytest.approx(text.probability if right else 1 - text.probability)


def test_only_what_all_models_have_is_drawn(runs):
    _, results = runs
    without = {name: each._replace(examples=()) if name == "base" else each for name, each in results.items()}
    assert list(figures_together(without)) == ["explain_together_curve", "explain_together_permutation"]
    base = results["base"]
    others = [dataclasses.replace(text, words=("other", *text.words[1:])) for text in base.examples]
    without = {**results, "base": base._replace(examples=tuple(others), curve=base.curve.iloc[:0])}
    assert list(figures_together(without)) == ["explain_together_permutation"]
    sentences = {**results, "base": base._replace(item="sentence")}
    assert figures_together(sentences) == {}


def test_figures_of_documents_name_sentences(runs):
    of_sentences = {name: each._replace(item="sentence") for name, each in runs[1].items()}
    figure, caption = figures_together(of_sentences)["explain_together_permutation"]
    assert figure.axes[0].get_xlabel() == "attention to the most attended sentence"
    assert "the most attended sentence gets" in caption


def test_compared_runs_are_named_by_their_models_and_drawn_together(runs, tmp_path):
    folder, _ = runs
    comparison, section = compare_folders([folder / "base", folder / "regularized"], tmp_path / "out", min_count=5)
    names = {(row.run_a, row.run_b) for row in comparison.table.itertuples()}
    assert names == {("additive attention, 256 dimensions", "additive attention, 256 dimensions, mlm")}
    page = (tmp_path / "out" / "report.html").read_text()
    drawn = [name for name in section.figures if name.startswith("explain_together")]
    assert drawn == ["explain_together_curve", "explain_together_permutation", "explain_together_words"]
    assert "its attention moves" not in page
    assert page.count("<figure>") == len(section.figures)
    for name in drawn:
        assert (tmp_path / "out" / "figures" / f"{name}.svg").exists()
