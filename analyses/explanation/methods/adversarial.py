"""Does only this attention give this output? (Jain & Wallace 2019, §4.2.2)"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from ....extractors.replaceable.attention_model import AttentionModel, LinearAttentionModel
from ....reports.drawing import BLACK, BLUE, GREY, ORANGE, TEXT, finish, panel, with_style
from ....reports.format import number
from ..attention.batch import Rows, TextBatch, single_words_out
from ..attention.exact_adversary import EPSILON, exact_jsd, exactly_normalized, is_solvable
from ..attention.measures import LN2, jsd, tvd
from ..attention.readings import curve_points
from ..attention.two_words import EVALUATIONS, TOLERANCE, decoders, farthest_on_two_words, farthest_tried, has_decoder
from ..contract.explanation_test import NATS, SHARE, TVD, Column, Drawing, ExplanationTest, Findings, Question
from ..contract.options import ExplanationTestOptions
from ..contract.results import ExplainResults
from ..showing.plots import has_values, max_attention_figure

_HINGE = 0.01  # the published loss punishes larger changes of the output, whatever ε is
_PENALTY = 500.0
_SPREAD = 3.0
_EQUAL = 1e-6  # divergences that differ by less are equal, because attention is computed in float32


def exact_adversary(batch: TextBatch, *, epsilon: float = EPSILON) -> Rows:
    """Compute how far from the original attention can be without changing the output by more than ``epsilon``."""
    # The module `attentionology.analyses.explanation.attention.exact_adversary` explains why it can be computed. The
    # ceiling, with all weight on one word, is below ln 2 if every weight of the original is above 0. The model must
    # satisfy `is_solvable`: it has two classes, whose logits are linear in one row of attention.
    model = batch.model
    assert isinstance(model, LinearAttentionModel)  # noqa: S101 the caller has checked that it is solvable
    evidence, bias = model.evidence(batch.state)  # the bias and what full attention to each word adds, by class
    largest_jsd, ceiling = exact_jsd(
        (evidence[..., 1] - evidence[..., 0]).detach().double(),
        float((bias[1] - bias[0]).detach()),
        exactly_normalized(batch.alpha[:, 0]),
        batch.mask,
        epsilon,
    )
    return single_words_out(batch, {"exact_jsd": largest_jsd.numpy(), "ceiling_jsd": ceiling.numpy()})


def by_gradient(batch: TextBatch, *, epsilon: float = EPSILON, attempts: int = 5, steps: int = 500) -> Rows:
    """Search with Adam for attention that is far from the original, as published."""
    # Several attentions a_k per text are moved away from the original α and from each other. The loss of a text is
    # Σ_k [500 · max(0, TVD_k − 0.01) − JSD(a_k, α)] minus the mean over k and k' of JSD(a_k, a_k'), in which JSD is the
    # mean over the rows. The result is the farthest attention whose output changes by at most ε; the original attention
    # is always a candidate.
    alpha, mask = batch.alpha[:, None], batch.mask[:, None, None]
    logits = _initial_logits(batch, attempts).to(alpha).requires_grad_()
    adam = torch.optim.Adam([logits], lr=0.01, amsgrad=True)

    def attention() -> Tensor:  # (batch, attempts, rows, n)
        of_words = logits.masked_fill(~mask, -math.inf)
        # A text without words would have only -inf, whose softmax is NaN.
        weights: Tensor = torch.where(mask.any(-1, keepdim=True), of_words, 0.0).softmax(-1) * mask
        return weights

    first, second = torch.triu_indices(attempts, attempts, offset=1)  # all pairs of attempts
    with torch.enable_grad():
        for _ in range(steps):
            a = attention()
            output_tvd = tvd(batch.decoded(a), batch.probabilities[:, None])
            between = jsd(a[:, first], a[:, second]).mean(-1).sum(1) * 2 / attempts**2  # each pair counts twice
            loss = (_PENALTY * (output_tvd - _HINGE).clamp(min=0) - jsd(a, alpha).mean(-1)).sum(1) - between
            adam.zero_grad()
            (logits.grad,) = torch.autograd.grad(loss.sum(), logits)
            adam.step()
    with torch.no_grad():
        a = attention()
        output_tvd = tvd(batch.decoded(a), batch.probabilities[:, None])
        allowed_jsd = jsd(a, alpha).mean(-1).masked_fill(output_tvd > epsilon, 0.0)
    farthest_jsd, farthest = allowed_jsd.max(1, keepdim=True)
    farthest_tvd = torch.where(farthest_jsd > 0, output_tvd.gather(1, farthest), 0.0)
    columns = {"adversarial_jsd": farthest_jsd, "adversarial_tvd": farthest_tvd}
    return single_words_out(batch, {name: column[:, 0].double().numpy() for name, column in columns.items()})


def farthest(batch: TextBatch, searched: Rows, *, epsilon: float = EPSILON) -> Rows:
    """Compute the farthest attention that was found, by the search by gradient or on two words, and the ceiling."""
    # Nothing is farther than the ceiling, so what reaches it is exact. For attention on two words, see the module
    # `attentionology.analyses.explanation.attention.two_words`. ``searched`` is what `by_gradient` returned, if it was
    # called.
    columns: Rows = {}
    if has_decoder(batch.model):
        found = [farthest_on_two_words(decoder, alpha, epsilon) for decoder, alpha in decoders(batch)]
        farthest_jsd, ceiling = (np.array([getattr(text, name) for text in found]) for name in ("jsd", "ceiling"))
        columns = {"two_word_jsd": farthest_jsd, "two_word_gap": np.array([text.gap for text in found])}
    else:
        farthest_jsd, ceiling = farthest_tried(batch, epsilon)
    farthest_jsd = np.fmin(np.fmax(farthest_jsd, searched.get("adversarial_jsd", farthest_jsd)), ceiling)
    is_exact = (farthest_jsd >= ceiling - _EQUAL).astype(np.float64)
    columns |= {"farthest_jsd": farthest_jsd, "exact": is_exact, "ceiling_jsd": ceiling}
    return single_words_out(batch, columns)


def _initial_logits(batch: TextBatch, attempts: int) -> Float[Tensor, "batch k rows n"]:
    """Return the published starting point: the log of uniform weights plus normal noise of standard deviation 3."""
    rows, n = batch.alpha.shape[1:]
    start = np.zeros((len(batch), attempts, rows, n))
    for index, text in enumerate(batch.texts):
        noise = batch.generator(index, "adversarial").normal(size=(attempts, rows, len(text)))
        start[index, ..., : len(text)] = _SPREAD * noise - math.log(max(1, len(text)))
    return torch.from_numpy(start)


def farthest_by_weight(results: ExplainResults, title: str) -> Figure | None:
    """Draw the largest JSD against the weight of the most attended word, by predicted class: exact, or as found."""
    ways = {"exact_jsd": "exact", "farthest_jsd": "as found", "adversarial_jsd": "found by gradient"}
    column = next((name for name in ways if has_values(results.texts, name)), "adversarial_jsd")
    return max_attention_figure(column, f"largest JSD, {ways[column]}\n(nats)")(results, title)


@with_style
def adversarial_figure(results: ExplainResults, title: str) -> Figure | None:
    """Draw how far attention can move without moving the output, as a histogram over texts with its bounds."""
    texts = results.texts
    if not any(has_values(texts, name) for name in ("exact_jsd", "farthest_jsd", "adversarial_jsd")):
        return None
    bins = np.linspace(0, LN2, 29)
    figure, axes = panel(TEXT, 2.9, "y")
    distributions: list[tuple[str, str, dict[str, Any]]] = [
        ("exact_jsd", "exact maximum", {"color": BLUE, "alpha": 0.6}),
        ("farthest_jsd", "farthest found", {"color": BLUE, "alpha": 0.6}),
        ("adversarial_jsd", "found by gradient", {"histtype": "step", "color": ORANGE, "linewidth": 1.4}),
    ]
    for column, name, style in distributions:
        if has_values(texts, column):
            values = texts[column].dropna().clip(0, LN2).to_numpy()
            percent_each = np.full(len(values), 100 / len(values))
            label = f"{name}, n = {len(values):,}"
            axes.hist(values, bins=bins.tolist(), weights=percent_each, label=label, **style)
    for column, label, dashes in (
        ("permutation_jsd", "shuffled weights", "-."),
        ("ceiling_jsd", "ceiling whatever the output", "--"),
    ):
        if has_values(texts, column):
            mean = texts[column].mean()
            axes.axvline(mean, color=BLACK, linewidth=1, linestyle=dashes, label=f"{label}, mean {number(mean)}")
    axes.axvline(LN2, color=GREY, linewidth=1.4, label="ln 2, the bound of JSD")
    axes.set_xlim(0, 0.72)
    axes.set_xlabel("largest JSD to the attention of the model (nats)")
    axes.set_ylabel("texts (%)")
    finish(figure, axes, title)
    return figure


def _reason_to_skip(model: AttentionModel, options: ExplanationTestOptions) -> str | None:
    """Return why there is no adversary to find; None if there is."""
    if options.steps or has_decoder(model):
        return None
    return (
        "it is not known how the logits of this model depend on its attention, so it needs the search, and --steps is 0"
    )


def _adversaries(batch: TextBatch, options: ExplanationTestOptions) -> Rows:
    """Return the columns of the search by gradient, and of the exact adversary or else of the farthest one."""
    searched = by_gradient(batch, epsilon=options.epsilon, steps=options.steps) if options.steps else {}
    if is_solvable(batch.model):
        return exact_adversary(batch, epsilon=options.epsilon) | searched
    return farthest(batch, searched, epsilon=options.epsilon) | searched


def _conclude(texts: pd.DataFrame, options: ExplanationTestOptions) -> Findings:
    """Return the adversaries of single texts, for the figure of the trained adversaries, and remarks on the search."""
    points, no_lambda = [], math.nan
    for column, name in (("exact_jsd", "exact"), ("farthest_jsd", "farthest")):  # their outputs differ by ε or less
        if column in texts:
            points.append(curve_points("per text", name, no_lambda, texts[column], options.epsilon))
    if "adversarial_jsd" in texts:
        found_jsd, found_tvd = texts["adversarial_jsd"], texts["adversarial_tvd"]
        points.append(curve_points("per text", "adversarial", no_lambda, found_jsd, found_tvd))
    return Findings(points=tuple(points), notes=tuple(_notes(texts)))


def _notes(texts: pd.DataFrame) -> Iterator[str]:
    """Yield remarks on what the search by gradient has missed, and on texts whose search on two words was cut short."""
    if has_values(texts, "farthest_jsd") and has_values(texts, "adversarial_jsd"):
        missed = (texts["farthest_jsd"] - texts["adversarial_jsd"]).dropna()
        if n_missed := int((missed > _EQUAL).sum()):
            yield (
                f"On average, the JSD found by gradient is at least {number(missed.mean())} below the largest one: "
                f"attention on one or two words is farther in {n_missed:,} of {len(missed):,} texts."
            )
    if has_values(texts, "two_word_gap"):
        cut_short = texts.loc[texts["two_word_gap"] > TOLERANCE, "two_word_gap"]
        if len(cut_short):
            yield (
                f"In {len(cut_short):,} of {len(texts):,} texts, the search on two words ended after "
                f"{EVALUATIONS:,} outputs. Attention on two words may be farther there, by {number(cut_short.max())} "
                "at most."
            )


TEST = ExplanationTest(
    name="adversarial",
    heading="Does only this attention give this output?",
    columns={
        "exact_jsd": Column("JSD of the farthest attention with the same output, exact", NATS),
        "ceiling_jsd": Column("largest JSD whatever the output", NATS),
        "two_word_jsd": Column("JSD of the farthest attention on two words with the same output", NATS),
        "two_word_gap": Column("how much farther attention on two words can be at most", NATS, averaged=False),
        "farthest_jsd": Column("JSD of the farthest attention found with the same output", NATS),
        "exact": Column("texts for which no other attention is farther", SHARE),
        "adversarial_jsd": Column("JSD of the farthest attention found by gradient", NATS),
        "adversarial_tvd": Column("change of the output there", TVD),
    },
    questions=(
        Question(
            "Does the output rule out attention that is as different as shuffled weights?",
            "median JSD to shuffled weights, against JSD to the farthest attention with the same output (within ε)",
            "permutation_jsd",
            "exact_jsd",
            "On average, no attention that is as different as shuffled weights gives the same output.",
            "On average, attention that is more different than shuffled weights gives the same output, so the "
            "attention of the model is not the only explanation. (Whether a model would learn such attention is "
            "another question.)",
            searched=("farthest_jsd", "adversarial_jsd"),
            floor_is_larger=True,
        ),
    ),
    shown=(
        *("exact_jsd", "farthest_jsd", "two_word_jsd", "adversarial_jsd", "adversarial_tvd", "exact", "ceiling_jsd"),
        "permutation_jsd",
    ),
    key=("exact_jsd", "farthest_jsd", "two_word_jsd", "adversarial_jsd", "exact", "ceiling_jsd"),
    uses=("draws", "steps"),
    figure=Drawing(
        "explain_adversarial",
        "The farthest attention whose output differs by at most ε = {{ epsilon }}, text by text.",
        adversarial_figure,
    ),
    more_figures=(
        Drawing(
            "explain_adversarial_weight",
            "The same divergences by how much attention the most attended word gets. Horizontal lines: medians.",
            farthest_by_weight,
        ),
    ),
    page="""
<p>For each single text, the test looks for attention that is as different as possible and gives the same output (Jain
&amp; Wallace 2019, §4.2.2). The Jensen-Shannon divergence is 0 for equal attention and at most ln 2 = 0.693; the
ceiling is the largest divergence whatever the output is. The exact maximum can be computed for two classes and a linear
classifier; the search by gradient cannot find more, and often finds less.
{% if "two_word_jsd" in there %}
For this classifier, the maximum is computed among attentions on one or two words. It is a lower bound: attention on
more words can be farther.
{% elif "farthest_jsd" in there %}
For this model, some attentions on one or two words are tried beside the search.
{% endif %}
{% if "farthest_jsd" in there %}
The farthest attention that was found in either way enters the verdict. Where it equals the ceiling, no attention is
farther; elsewhere, the maximum lies between the two.
{% endif %}
If the maximum is close to the ceiling, the output hardly constrains the attention. No model was trained to attend in
this way, and whether a model would learn to is another question.</p>
""",
    impossible=_reason_to_skip,
    examine=lambda batch, options: _adversaries(batch, options),
    conclude=_conclude,
)
