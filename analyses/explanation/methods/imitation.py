"""Can a model learn to give the same output and attend elsewhere? (Wiegreffe & Pinter 2019, §4)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ....probes.classifiers import LAMBDAS, Imitation
from ....probes.classifiers.trainings import ClassifierTraining
from ....reports.drawing import BLUE, GREEN, GREY, ORANGE, TEXT, finish, panel, with_style
from ..attention.readings import ModelReading, chance, curve_points, divergences, reading
from ..contract.explanation_test import NATS, TVD, Column, Drawing, ExplanationTest, Findings, Question
from ..contract.results import ExplainResults
from ..examination.subject import Tested
from ..examination.texts import words_of
from ..showing.plots import MOST_JSD, draw_adversaries, max_attention_figure

_HOLLOW: dict[str, Any] = {"s": 24, "marker": "s", "facecolor": "white", "edgecolor": GREEN}


def imitation(tested: Tested, earlier: Mapping[str, Findings]) -> Findings:
    """Train the adversaries, and choose the one with the most different attention and the same output."""
    # The choice is made on the training texts: it is the adversary with the farthest attention among those whose output
    # is, on average, at most ε farther from that of the tested model than the output of plain imitation (λ = 0), which
    # is a candidate too.
    options, seed = tested.options.tests, tested.options.seed
    assert tested.texts.train is not None  # noqa: S101 there is training
    trained_on = words_of(tested.texts.train)
    with tested.stages("read the training texts"):
        base_on_train = reading(tested.model, trained_on)
    strengths = sorted({0.0, *(LAMBDAS if options.lambdas is None else options.lambdas)})
    models = tested.train([_training(tested, base_on_train, strength) for strength in strengths], "train adversaries")
    chosen, chosen_on_test = next(iter(models)), tested.base
    largest_jsd, plain_tvd = -1.0, np.nan
    scores, points = [], []
    for strength, (name, model) in zip(strengths, models.items(), strict=True):
        train_jsd, train_tvd = divergences(base_on_train, reading(model, trained_on))
        mean_jsd, mean_tvd = float(np.nan_to_num(train_jsd).mean()), train_tvd.mean()
        if strength == 0:  # plain imitation, which comes first
            plain_tvd = mean_tvd
        on_test = reading(model, tested.words)
        scores.append(tested.score(name, "adversary", on_test.probabilities)[0])
        points.append(curve_points("adversary", name, strength, *divergences(tested.base, on_test)))
        if mean_tvd <= plain_tvd + options.epsilon and mean_jsd > largest_jsd:
            largest_jsd, chosen, chosen_on_test = mean_jsd, name, on_test
    attention_jsd, output_tvd = divergences(tested.base, chosen_on_test)
    shuffled_jsd = chance(tested.base, [chosen_on_test], tested.words, draws=options.draws, seed=seed)
    has_same_output = output_tvd <= options.epsilon
    return Findings(
        columns={
            "imitation_jsd": attention_jsd,
            "imitation_tvd": output_tvd,
            "imitation_same_jsd": np.where(has_same_output, attention_jsd, np.nan),
            "imitation_same_shuffled_jsd": np.where(has_same_output, shuffled_jsd, np.nan),
        },
        models=tuple(scores),
        points=tuple(points),
        adversary=(chosen, models[chosen]),
        notes=(f"The verdicts refer to the trained adversary with {chosen}, which was chosen on the training texts.",),
    )


def _training(tested: Tested, base: ModelReading, strength: float) -> ClassifierTraining:
    """Return the training of an adversary that imitates what the tested model gives for the training texts."""
    assert tested.source is not None  # noqa: S101 there is training
    divergence = tested.options.tests.divergence
    name = f"λ = {repr(strength).removesuffix('.0')}"
    training = tested.training(name, "adversary", tested.options.seed + 1)  # not the initial weights of the base
    return replace(
        training,
        objective=Imitation(base.probabilities, base.attention, strength, divergence),
        identity={**training.identity, "what": f"imitation {strength!r} {divergence}", "of": tested.base_key()},
        recipe=tested.source.imitation,
        dev=None,
    )


@with_style
def curve_figure(results: ExplainResults, title: str) -> Figure | None:
    """Draw the change of the output against the difference of the attention."""
    # The figure shows the trained adversaries by λ, the models with other seeds, and the adversaries of single texts.
    curve, epsilon = results.curve, results.epsilon
    if curve.empty:
        return None
    points = curve.dropna(subset=["jsd", "tvd"])
    adversaries = points[points["kind"] == "adversary"].sort_values("lambda")
    if adversaries.empty:
        return None
    top = 1.15 * max(float(points["tvd"].max()), epsilon)
    figure, axes = panel(TEXT, 3.4, "both")
    axes.axhline(epsilon, color=GREY, linewidth=0.8, linestyle=":", label=f"ε = {epsilon:g}")
    draw_adversaries(axes, adversaries, ORANGE, "trained adversaries, by λ", top)
    alone = adversaries[adversaries["lambda"] == 0]
    seeds, of_texts = (points[points["kind"] == kind] for kind in ("seed", "per text"))
    exact, farthest = (of_texts["name"] == name for name in ("exact", "farthest"))
    groups: tuple[tuple[str, pd.DataFrame, dict[str, Any]], ...] = (
        ("λ = 0: imitation alone", alone, {"s": 36, "marker": "o", "facecolor": "white", "edgecolor": ORANGE}),
        ("other seeds", seeds, {"s": 24, "marker": "^", "color": BLUE, "alpha": 0.8}),
        ("text by text, exact", of_texts[exact], {"s": 24, "marker": "D", "color": GREEN}),
        ("text by text, farthest", of_texts[farthest], {"s": 24, "marker": "d", "color": GREEN}),
        ("text by text", of_texts[~exact & ~farthest], _HOLLOW),
    )
    for label, rows, style in groups:
        if len(rows):
            axes.scatter(rows["jsd"], rows["tvd"], zorder=3, label=label, clip_on=False, **style)
    axes.set_xlim(0, MOST_JSD)
    axes.set_ylim(0, top)
    axes.set_xlabel("difference of the attention (mean JSD, nats)")
    axes.set_ylabel("change of the output\n(mean TVD)")
    finish(figure, axes, title)
    return figure


TEST = ExplanationTest(
    name="imitation",
    heading="Can a model learn to give the same output and attend elsewhere?",
    trains=True,
    by_default=False,
    columns={
        "imitation_jsd": Column("JSD of the trained adversary", NATS),
        "imitation_tvd": Column("change of the output, trained adversary", TVD),
        "imitation_same_jsd": Column("JSD of the trained adversary where its output is the same", NATS),
        "imitation_same_shuffled_jsd": Column(
            "JSD of the trained adversary where its output is the same, its weights shuffled", NATS
        ),
    },
    questions=(
        Question(
            "Does a model that learned to give the same output and attend elsewhere still attend to the same words?",
            "JSD to this adversary where its output is the same, against that with shuffled weights; less is better",
            "imitation_same_shuffled_jsd",
            "imitation_same_jsd",
            "Where the output of a trained adversary is the same, its attention is more similar than by chance.",
            "Where the output of a trained adversary is the same, its attention is less similar than by chance.",
            floor_is_larger=True,
        ),
    ),
    shown=("imitation_jsd", "imitation_tvd", "imitation_same_jsd", "imitation_same_shuffled_jsd"),
    key=("imitation_jsd", "imitation_tvd"),
    uses=("draws", "lambdas", "divergence", "adversary_epochs"),
    figure=Drawing(
        "explain_curve",
        "Means over the texts. The numbers at the dots are λ. A model at the lower right gives the "
        "same output and attends elsewhere. For the exact adversary, the change of the output is its bound ε. All "
        "values are in <code>tables/explain_curve.csv</code>.",
        curve_figure,
    ),
    more_figures=(
        Drawing(
            "explain_imitation",
            "Divergence of the attention of the trained adversary from that of the tested model, by how much attention "
            "the most attended word gets. Horizontal lines: medians.",
            max_attention_figure("imitation_jsd", "JSD of the trained\nadversary (nats)"),
        ),
    ),
    page="""
<p>New models are trained to give the output of the tested model while their attention moves away from it; the larger λ
is, the more it moves (Wiegreffe &amp; Pinter 2019, §4). With λ = 0 the models only imitate the output, and the change
of their output is the floor for all other points. If the curve rises early, attention cannot change without changing
the output; if it stays flat to the right, it can. The curve depends on how long and how well the models were
trained.</p>
""",
    compare=imitation,
)
