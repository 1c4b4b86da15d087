"""What the axes of the figures of the explanation tests name, and the numbers that stand in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from attentionology.analyses.explanation.contract.registry import registered_tests
from attentionology.analyses.explanation.contract.summary import mean_curve
from attentionology.analyses.explanation.methods.adversarial import adversarial_figure, farthest_by_weight
from attentionology.analyses.explanation.methods.imitation import curve_figure
from attentionology.analyses.explanation.methods.regularizers import regularizers_figure
from attentionology.analyses.explanation.showing.plots import training_figure
from attentionology.analyses.explanation.showing.together import curves_figure, shuffled_figure
from attentionology.reports.drawing import BLACK, BLUE, GREEN, ORANGE
from tests.unit.test_explain_reports import results as drawn

WEIGHT = "attention to the most attended word"
CURVE = ("difference of the attention (mean JSD, nats)", "change of the output (mean TVD)")
LABELS = {
    "explain_tau": [
        ("Kendall’s τ, attention and gradient × input", "texts with at most this τ (%)"),
        ("Kendall’s τ, attention and leave-one-out", ""),
        ("Kendall’s τ, gradient × input and leave-one-out", ""),
    ],
    "explain_permutation": [(WEIGHT, "median change of the output (TVD)")],
    "explain_adversarial": [("largest JSD to the attention of the model (nats)", "texts (%)")],
    "explain_adversarial_weight": [(WEIGHT, "largest JSD, exact (nats)")],
    "explain_seeds": [(WEIGHT, "JSD to other seeds (nats)")],
    "explain_curve": [CURVE],
    "explain_imitation": [(WEIGHT, "JSD of the trained adversary (nats)")],
    "explain_single": [("JSD of the output without a word: best word minus another (nats)", "")],
    "explain_removal": [("words removed (% of the text; 200 texts)", "texts with the same decision (%)")],
    "explain_regularizers": [
        ("accuracy (%)", ""),
        ("median change of the output, weights shuffled (TVD)", ""),
        ("JSD of the farthest attention with the same output, exact (nats)", ""),
        ("spread over words, each in context (probability)", ""),
        ("τ, attention and leave-one-out", ""),
        ("conicity of the states (cosine)", ""),
    ],
}
"""The labels of the horizontal and the vertical axis of each panel, by the name of the figure."""


@pytest.fixture(scope="module")
def results():
    return drawn(n=200)


def labels(figure: Any) -> list[tuple[str, str]]:
    """The labels of the axes of each panel, in one line each."""
    return [(" ".join(axes.get_xlabel().split()), " ".join(axes.get_ylabel().split())) for axes in figure.axes]


def test_axes_name_what_is_drawn(results):
    drawings = {drawing.name: drawing for test in registered_tests().values() for drawing in test.drawings}
    assert {name: labels(drawing.draw(results, "")) for name, drawing in drawings.items()} == LABELS
    found = results._replace(texts=results.texts.drop(columns="exact_jsd"))
    assert labels(farthest_by_weight(found, "")) == [(WEIGHT, "largest JSD, found by gradient (nats)")]
    found = found._replace(texts=found.texts.assign(farthest_jsd=0.6))
    assert labels(farthest_by_weight(found, "")) == [(WEIGHT, "largest JSD, as found (nats)")]


def test_axes_of_several_models_name_what_is_drawn(results):
    models, colors = {"base": results, "regularized": results}, {"base": ORANGE, "regularized": GREEN}
    assert labels(curves_figure(models, colors)) == [CURVE]
    figure: Any = curves_figure({**models, "regularized": results._replace(epsilon=0.01)}, colors)
    tolerances = {line.get_label(): line.get_ydata()[0] for line in figure.axes[0].lines if line.get_linestyle() == ":"}
    assert tolerances == {"ε = 0.01": 0.01, "ε = 0.05": 0.05}
    assert labels(shuffled_figure(models, colors)) == LABELS["explain_permutation"]


def test_panels_of_training_have_the_column_that_they_name():
    """Each in its own unit, adversaries apart from others in the panel of losses alone."""
    rows = [("tested", 1, 3.0, 0.4), ("tested", 2, 2.0, 0.5), ("wrong", 1, 9.0, 0.6), ("wrong", 2, 8.0, 0.7)]
    history = pd.DataFrame(rows, columns=["model", "epoch", "loss", "dev_auc"])
    figure: Any = training_figure(history, {"tested": "base", "wrong": "adversary"}, title="t")
    assert labels(figure) == [("epoch", name) for name in ("loss per text", "loss of adversaries", "dev AUC")]
    shown = [[list(line.get_ydata()) for line in axes.lines] for axes in figure.axes]
    assert shown == [[[3.0, 2.0]], [[9.0, 8.0]], [[0.4, 0.5], [0.6, 0.7]]]


def test_bars_are_the_texts_of_each_range_and_lines_are_means(results):
    """The means are not the medians, and fewer texts have adversaries that were found than exact ones."""
    texts = results.texts.copy()
    texts["permutation_jsd"] **= 2
    texts["ceiling_jsd"] = np.where(np.arange(200) < 50, 0.3, 0.68)
    texts.loc[:19, "adversarial_jsd"] = np.nan
    figure: Any = adversarial_figure(results._replace(texts=texts), "")
    (axes,) = figure.axes
    edges = np.linspace(0, np.log(2), 29)
    exact, found = np.histogram(texts["exact_jsd"], edges)[0], np.histogram(texts["adversarial_jsd"].dropna(), edges)[0]
    *bars, steps = axes.patches
    np.testing.assert_allclose([bar.get_height() for bar in bars], exact / 2)
    np.testing.assert_allclose([bar.get_x() for bar in bars], edges[:-1], atol=1e-12)
    np.testing.assert_allclose(steps.get_xy()[1:-1:2, 1], found / 1.8)
    means = {name: texts[f"{name}_jsd"].mean() for name in ("permutation", "ceiling")}
    assert {line.get_label(): line.get_xdata()[0] for line in axes.lines} == {
        f"shuffled weights, mean {means['permutation']:.3f}": means["permutation"],
        f"ceiling whatever the output, mean {means['ceiling']:.3f}": means["ceiling"],
        "ln 2, the bound of JSD": np.log(2),
    }
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"exact maximum, n = 200", "found by gradient, n = 180"} <= {*shown}
    searched = texts.rename(columns={"exact_jsd": "farthest_jsd"})
    figure = adversarial_figure(results._replace(texts=searched), "")
    *bars, _ = figure.axes[0].patches
    np.testing.assert_allclose([bar.get_height() for bar in bars], exact / 2)
    assert "farthest found, n = 200" in [text.get_text() for text in figure.legends[0].get_texts()]


def strengths(found: Any, points: Iterable[tuple[float, float, float]]) -> list[tuple[str, float, float]]:
    """The labels of λ that stand at points, given as λ, JSD and TVD of adversaries."""
    rows = [("adversary", "a", *point) for point in points]
    curve = pd.DataFrame(rows, columns=["kind", "name", "lambda", "jsd", "tvd"])
    figure: Any = curve_figure(found._replace(curve=curve), "")
    return [(text.get_text(), *text.xy) for text in figure.axes[0].texts]


def test_each_point_of_the_curve_has_its_strength_and_close_ones_share_a_label(results):
    assert strengths(results, [(0.01, 0.4, 0.2), (0, 0.1, 0.05), (0.001, 0.2, 0.1)]) == [
        ("0", 0.1, 0.05),
        ("0.001", 0.2, 0.1),
        ("0.01", 0.4, 0.2),
    ]
    close = strengths(results, [(0, 0.1, 0.2), (0.001, 0.11, 0.21), (0.01, 0.12, 0.19), (0.1, 0.4, 0.2)])
    assert close == [("0 to 0.01", pytest.approx(0.11), 0.21), ("0.1", 0.4, 0.2)]


def test_points_of_the_curve_are_means_over_the_texts_that_have_a_value():
    kinds = {"kind": ["seed"] * 3 + ["adversary"] * 3, "name": ["seed 1"] * 3 + ["λ = 0.1"] * 3}
    values = {"jsd": [0.1, 0.1, 0.7, np.nan, 0.2, 0.4], "tvd": [0.0, 0.3, 0.9, 0.5, 0.5, 0.8]}
    found = mean_curve(pd.DataFrame({**kinds, "lambda": [np.nan] * 3 + [0.1] * 3, **values}))
    assert found[["kind", "name"]].to_numpy().tolist() == [["seed", "seed 1"], ["adversary", "λ = 0.1"]]
    np.testing.assert_allclose(found[["lambda", "jsd", "tvd"]], [[np.nan, 0.3, 0.4], [0.1, 0.3, 0.6]])


def test_the_model_without_regularization_is_black_and_others_are_blue(results):
    """In each panel, with its interval."""
    figure: Any = regularizers_figure(results, "")
    for axes in figure.axes:
        names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        dots = [(each.get_offsets()[0][1], to_hex(each.get_facecolor()[0])) for each in axes.collections]
        bars = [(line.get_ydata()[0], to_hex(line.get_color())) for line in axes.lines]
        colors = [(row, to_hex(BLACK if name == "none" else BLUE)) for row, name in enumerate(names)]
        assert dots == bars == colors[: len(dots)]
    assert names == ["none", "concat", "tying"]
