"""Figures that show the explanation tests of several models together (Tutek & Šnajder 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ....reports.drawing import BLUE, COLUMN, GREEN, GREY, ORANGE, PURPLE, SKY, TEXT, finish, panel, panels, with_style
from ..contract.registry import attending_to, in_items
from ..contract.results import ExplainResults, HighlightedText
from .plots import MOST_JSD, clip_name, draw_adversaries, has_values, violins

_COLORS = (ORANGE, GREEN, BLUE, PURPLE, SKY)


def figures_together(results: Mapping[str, ExplainResults]) -> dict[str, tuple[Figure, str]]:
    """Draw what the tests found about several models, the first of which may be the model without regularization."""
    # Returns the figures that can be drawn, by the names of their files, each with its caption.
    colors = {name: _COLORS[index % len(_COLORS)] for index, name in enumerate(results)}
    items = {of_model.item for of_model in results.values()}  # what their attention runs over
    if len(items) > 1:
        return {}
    with attending_to(*items):
        drawn = _draw_all(results, colors)
        return {name: (figure, in_items(caption)) for name, (figure, caption) in drawn.items() if figure is not None}


def _draw_all(results: Mapping[str, ExplainResults], colors: Mapping[str, str]) -> dict[str, tuple[Figure | None, str]]:
    """Return all figures with their captions; None for a figure that cannot be drawn."""
    return {
        "explain_together_curve": (
            curves_figure(results, colors),
            "Adversaries that were trained to give the output of each model while their attention moves away from it; "
            "the numbers are λ. If a curve rises early, the attention of this model cannot change without changing its "
            "output.",
        ),
        "explain_together_permutation": (
            shuffled_figure(results, colors),
            "Median change of the output over random orders of the weights, by how much attention the most attended "
            "word gets. Horizontal lines: medians. Fewer than ten texts are drawn as points.",
        ),
        "explain_together_words": (
            words_figure(results, colors),
            "Probability of the label of a text if all attention is on one of its words, with the state that the word "
            "has in the text. Dashed lines: the prediction from the whole text. If all words of a text predict the "
            "same, each of them has taken up the rest of the text.",
        ),
    }


@with_style
def curves_figure(results: Mapping[str, ExplainResults], colors: Mapping[str, str]) -> Figure | None:
    """Draw the trained adversaries of each model: the change of the output against that of the attention."""
    curves = {}
    for name, of_model in results.items():
        points = of_model.curve
        if len(points):
            adversaries = points[points["kind"] == "adversary"].dropna(subset=["jsd", "tvd"])
            if len(adversaries):
                curves[name] = adversaries.sort_values("lambda")
    if len(curves) < 2:
        return None
    tolerances = {of_model.epsilon for of_model in results.values()}
    top = 1.15 * max(*tolerances, *(float(rows["tvd"].max()) for rows in curves.values()))
    figure, axes = panel(TEXT, 3.4, "both")
    for epsilon in sorted(tolerances):
        axes.axhline(epsilon, color=GREY, linewidth=0.8, linestyle=":", label=f"ε = {epsilon:g}")
    axes.set_xlim(0, MOST_JSD)
    axes.set_ylim(0, top)
    for name, rows in curves.items():
        draw_adversaries(axes, rows, colors[name], clip_name(name), top)
    axes.set_xlabel("difference of the attention (mean JSD, nats)")
    axes.set_ylabel("change of the output\n(mean TVD)")
    finish(figure, axes, "Trained adversaries, by λ")
    return figure


def shuffled_figure(results: Mapping[str, ExplainResults], colors: Mapping[str, str]) -> Figure | None:
    """Draw how much the output of each model changes if its attention is shuffled."""
    column = "permutation_tvd"
    groups = [
        (clip_name(name), colors[name], of_model.texts.dropna(subset=[column, "max_attention"]))
        for name, of_model in results.items()
        if has_values(of_model.texts, column)
    ]
    if len(groups) < 2:
        return None
    return violins(groups, column, "median change\nof the output (TVD)", "Shuffled weights")


@with_style
def words_figure(results: Mapping[str, ExplainResults], colors: Mapping[str, str]) -> Figure | None:
    """Draw what each model predicts from single words of the texts that all of them show as examples."""
    examples = _shared_examples(results)
    if not examples:
        return None
    texts = [of_models[0] for of_models in examples]  # their words and labels are the same for all models
    width = COLUMN if 1.2 + 0.24 * max(len(text.words) for text in texts) < COLUMN else TEXT
    # Words stand upright below their axis and take 0.062 inches for each character.
    heights = [1.1 + 0.062 * max(len(clip_name(word)) for word in text.words) for text in texts]
    figure, grid = panels(width, 0.5 + sum(heights), rows=len(texts))
    for axes, text, of_models in zip(grid[:, 0], texts, examples, strict=True):
        for name, of_model in zip(results, of_models, strict=True):
            label, color = clip_name(name), colors[name]
            axes.plot(of_model.from_word, "o-", color=color, linewidth=0.8, markersize=3, label=label, zorder=3)
            axes.axhline(of_model.probability_of_label, color=color, linewidth=0.8, linestyle="--", zorder=2)
        axes.set_ylim(-0.03, 1.03)
        axes.set_ylabel(f"p({clip_name(text.label)})")
        axes.set_xticks(range(len(text.words)), [clip_name(word) for word in text.words], rotation=90)
        axes.grid(axis="y")
    finish(figure, grid[0, 0], in_items("Prediction from single words"))
    return figure


def _shared_examples(results: Mapping[str, ExplainResults]) -> list[Sequence[HighlightedText]]:
    """Return the examples that all models have with predictions from single words, each as a list by model."""
    by_model = [
        {(text.words, text.query, text.label): text for text in of_model.examples if text.from_word}
        for of_model in results.values()
    ]
    shared = [key for key in by_model[0] if all(key in by_key for by_key in by_model)]
    examples = [[by_key[key] for by_key in by_model] for key in shared]
    # A curve with a prediction that is not a finite number cannot be drawn.
    return [of_models for of_models in examples if all(np.isfinite(text.from_word).all() for text in of_models)]
