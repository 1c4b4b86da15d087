"""Figures that show the explanation tests of several models together (Tutek & Šnajder 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ...reports.drawing import BLUE, COLUMN, GREEN, GREY, ORANGE, PURPLE, SKY, TEXT, finish, panel, panels, styled
from .plots import clipped, has_values, violins
from .registry import attending_to, in_items
from .results import ExplainResults, HighlightedText
from .tests.imitation import MOST_JSD, draw_adversaries

_COLORS = (ORANGE, GREEN, BLUE, PURPLE, SKY)
_CHARACTERS = 0.062  # inches for each character of a word on the axis


def figures_together(results: Mapping[str, ExplainResults]) -> dict[str, tuple[Figure, str]]:
    """Draw what the tests found about several models, the first of which may be the model without regularization."""
    # Returns the figures that can be drawn, by the names of their files, each with its caption.
    colors = {name: _COLORS[index % len(_COLORS)] for index, name in enumerate(results)}
    items = {each.item for each in results.values()}
    if len(items) > 1:
        return {}
    with attending_to(*items):
        drawn = _drawn(results, colors)
        return {name: (figure, in_items(caption)) for name, (figure, caption) in drawn.items() if figure is not None}


def _drawn(results: Mapping[str, ExplainResults], colors: Mapping[str, str]) -> dict[str, tuple[Figure | None, str]]:
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


@styled
def curves_figure(results: Mapping[str, ExplainResults], colors: Mapping[str, str]) -> Figure | None:
    """Draw the trained adversaries of each model: the change of the output against that of the attention."""
    curves = {}
    for name, each in results.items():
        rows = each.curve
        rows = rows[rows["kind"] == "adversary"].dropna(subset=["jsd", "tvd"]) if len(rows) else rows
        if len(rows):
            curves[name] = rows.sort_values("lambda")
    if len(curves) < 2:
        return None
    tolerances = {each.epsilon for each in results.values()}
    top = 1.15 * max(*tolerances, *(float(rows["tvd"].max()) for rows in curves.values()))
    figure, axes = panel(TEXT, 3.4, "both")
    for epsilon in sorted(tolerances):
        axes.axhline(epsilon, color=GREY, linewidth=0.8, linestyle=":", label=f"ε = {epsilon:g}")
    axes.set_xlim(0, MOST_JSD)
    axes.set_ylim(0, top)
    for name, rows in curves.items():
        draw_adversaries(axes, rows, colors[name], clipped(name), top)
    axes.set_xlabel("difference of the attention (mean JSD, nats)")
    axes.set_ylabel("change of the output\n(mean TVD)")
    finish(figure, axes, "Trained adversaries, by λ")
    return figure


def shuffled_figure(results: Mapping[str, ExplainResults], colors: Mapping[str, str]) -> Figure | None:
    """Draw how much the output of each model changes if its attention is shuffled."""
    column = "permutation_tvd"
    groups = [
        (clipped(name), colors[name], each.texts.dropna(subset=[column, "max_attention"]))
        for name, each in results.items()
        if has_values(each.texts, column)
    ]
    return (
        violins(groups, column, "median change\nof the output (TVD)", "Shuffled weights") if len(groups) > 1 else None
    )


@styled
def words_figure(results: Mapping[str, ExplainResults], colors: Mapping[str, str]) -> Figure | None:
    """Draw what each model predicts from single words of the texts that all of them show as examples."""
    texts = _shared(results)
    if not texts:
        return None
    longest = max(len(of_runs[0].words) for of_runs in texts)
    width = COLUMN if 1.2 + 0.24 * longest < COLUMN else TEXT
    figure, grid = panels(width, 0.5 + sum(1.1 + _below(of_runs[0]) for of_runs in texts), rows=len(texts))
    for axes, of_runs in zip(grid[:, 0], texts, strict=True):
        for name, text in zip(results, of_runs, strict=True):
            label, color = clipped(name), colors[name]
            axes.plot(text.from_word, "o-", color=color, linewidth=0.8, markersize=3, label=label, zorder=3)
            axes.axhline(text.probability_of_label, color=color, linewidth=0.8, linestyle="--", zorder=2)
        axes.set_ylim(-0.03, 1.03)
        axes.set_ylabel(f"p({clipped(of_runs[0].label)})")
        axes.set_xticks(range(len(of_runs[0].words)), [clipped(word) for word in of_runs[0].words], rotation=90)
        axes.grid(axis="y")
    finish(figure, grid[0, 0], in_items("Prediction from single words"))
    return figure


def _below(text: HighlightedText) -> float:
    """The height of the names of the words below the axis, in inches."""
    return _CHARACTERS * max(len(clipped(word)) for word in text.words)


def _shared(results: Mapping[str, ExplainResults]) -> list[Sequence[HighlightedText]]:
    """The examples that all runs have with predictions from single words, each as a list with one of every run."""
    by_text = [
        {(text.words, text.query, text.label): text for text in each.examples if text.from_word}
        for each in results.values()
    ]
    texts = [[of_run[key] for of_run in by_text] for key in by_text[0] if all(key in of_run for of_run in by_text)]
    return [of_runs for of_runs in texts if all(np.isfinite(text.from_word).all() for text in of_runs)]
