"""Is it the only attention that gives this output? (Jain & Wallace 2019, §4.2.2)"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attentionology.analyses.explanation.batch import Rows, TextBatch, single_words_out
from attentionology.analyses.explanation.compared_models import CurvePoint
from attentionology.analyses.explanation.contract import (
    NATS,
    TVD,
    Column,
    ExplanationTest,
    Findings,
    Question,
)
from attentionology.analyses.explanation.exact_adversary import EPSILON, exact_jsd, exactly_normalized, solvable
from attentionology.analyses.explanation.measures import LN2, jsd, tvd
from attentionology.analyses.explanation.options import ExplanationTestOptions
from attentionology.analyses.explanation.plots import has_values, legend
from attentionology.analyses.explanation.results import ExplainResults
from attentionology.extractors.replaceable.attention_model import LinearAttentionModel
from attentionology.reports.drawing import BLACK, BLUE, GREY, ORANGE, STYLE
from attentionology.reports.format import number

_HINGE = 0.01  # from here on the published loss punishes a change of the output, whatever ε is
_PENALTY = 500.0
_SPREAD = 3.0


class Adversarial(ExplanationTest):
    """The farthest attention that gives the same output, against shuffled attention."""

    name = "adversarial"
    heading = "Is it the only attention that gives this output?"
    columns: ClassVar[Mapping[str, Column]] = {
        "exact_jsd": Column("JSD of the farthest attention with the same output, exact", NATS),
        "ceiling_jsd": Column("largest JSD whatever the output", NATS),
        "adversarial_jsd": Column("JSD of the farthest attention found by gradient", NATS),
        "adversarial_tvd": Column("change of the output there", TVD),
    }
    questions = (
        Question(
            "Does the output rule out attention as different as shuffled weights?",
            "median JSD to shuffled weights, against JSD to the farthest attention that moves the output by at most ε",
            "permutation_jsd",
            "exact_jsd",
            "On average, no attention as different as a shuffled one gives the same output.",
            "On average, other attention that is more different than a shuffled one gives the same output: it is not "
            "the only explanation. (Whether a model would learn it is another question.)",
            searched="adversarial_jsd",
            floor_is_larger=True,
        ),
    )
    shown = ("exact_jsd", "adversarial_jsd", "adversarial_tvd", "ceiling_jsd", "permutation_jsd")
    key = ("exact_jsd", "adversarial_jsd", "ceiling_jsd")
    uses = ("draws", "steps")
    captions: ClassVar[Mapping[str, str]] = {
        "explain_adversarial": "The farthest attention whose output differs by at most ε = {{ epsilon }}, text by text."
    }
    page = """
<p>For each text alone, attention is sought that is as different as possible and gives the same output (Jain &amp;
Wallace 2019, §4.2.2). The Jensen-Shannon divergence is 0 for equal attention and ln 2 = 0.693 at most; the ceiling is
what can be reached if the output may be anything. The exact maximum can be computed for two classes and a linear
classifier; the search by gradient finds no more, often less. Close to the ceiling, the output binds the attention
hardly at all. No model was trained to attend so; whether one would learn to is another question.</p>
"""

    def impossible(self, model: Any, options: ExplanationTestOptions) -> str | None:
        """Without an exact solution and without a search there is nothing to compute."""
        if options.steps or solvable(model):
            return None
        return "except for two classes and a linear classifier, there is only the search by gradient, and --steps is 0"

    def examine(self, batch: TextBatch, options: ExplanationTestOptions) -> Rows:
        """See `exact` and `by_gradient`."""
        rows = exact(batch, epsilon=options.epsilon) if solvable(batch.model) else {}
        return rows | (by_gradient(batch, epsilon=options.epsilon, steps=options.steps) if options.steps else {})

    def conclude(self, texts: pd.DataFrame, options: ExplanationTestOptions) -> Findings:
        """The adversaries of single texts, for the plane of the trained ones."""
        points = []
        for name in ("exact", "adversarial"):
            if f"{name}_jsd" in texts:
                moved = texts["adversarial_tvd"].mean() if name == "adversarial" else options.epsilon
                points.append(CurvePoint("per text", name, math.nan, texts[f"{name}_jsd"].mean(), moved))
        return Findings(points=tuple(points))

    def figures(self, results: ExplainResults, title: str) -> Mapping[str, Figure]:
        """How far attention can move, text by text."""
        if not any(has_values(results.texts, name) for name in ("exact_jsd", "adversarial_jsd")):
            return {}
        return {"explain_adversarial": adversarial_figure(results.texts, title=title)}


def exact(batch: TextBatch, *, epsilon: float = EPSILON) -> Rows:
    """The exact maximum, for two classes and logits that are linear in one row of attention.

    The output depends on the attention a only through z · a, so the attentions that are allowed form the polytope
    {a in the simplex, low ≤ z · a ≤ high}. JSD(α, ·) is convex, its maximum is at a vertex, and a vertex has at most
    two words with weight: single words inside the bounds, and pairs of words on either side of a bound with the weights
    that meet it. All of them are tried.

    Args:
        batch: texts as read by a model that is `solvable`.
        epsilon: largest change of the probability.

    Returns:
        ``exact_jsd``; ``ceiling_jsd``: the most that any attention reaches, whatever it says (all on one word; below
        ln 2 if every weight is above 0). NaN for texts of fewer than two words.
    """
    model = batch.model
    assert isinstance(model, LinearAttentionModel)  # noqa: S101 the caller looked
    evidence, bias = model.evidence(batch.state)
    best, ceiling = exact_jsd(
        (evidence[..., 1] - evidence[..., 0]).detach().double(),
        float((bias[1] - bias[0]).detach()),
        exactly_normalized(batch.alpha[:, 0]),
        batch.mask,
        epsilon,
    )
    return single_words_out(batch, {"exact_jsd": best.numpy(), "ceiling_jsd": ceiling.numpy()})


def by_gradient(batch: TextBatch, *, epsilon: float = EPSILON, attempts: int = 5, steps: int = 500) -> Rows:
    """The published search: several attentions per text by Adam, away from the original and from one another.

    Loss of one text: Σ_k [500 · max(0, TVD_k − 0.01) − JSD(a_k, α)] − mean over k, k' of JSD(a_k, a_k'); JSD is the
    mean over the rows. Of the results within ε the farthest counts; the original is always one of them.

    Args:
        batch: texts as read.
        epsilon: largest TVD of the output.
        attempts: attentions per text.
        steps: of Adam (amsgrad, learning rate 0.01), as published.

    Returns:
        ``adversarial_jsd``: the largest JSD found; ``adversarial_tvd``: of the output there. NaN for texts of fewer
        than two words.
    """
    alpha, mask = batch.alpha[:, None], batch.mask[:, None, None]
    logits = _initial(batch, attempts).to(alpha).requires_grad_()
    adam = torch.optim.Adam([logits], lr=0.01, amsgrad=True)

    def attention() -> Tensor:
        weights = logits.masked_fill(~mask, -math.inf)
        attended: Tensor = torch.where(mask.any(-1, keepdim=True), weights, 0.0).softmax(-1) * mask
        return attended

    first, second = torch.triu_indices(attempts, attempts, offset=1)
    with torch.enable_grad():
        for _ in range(steps):
            a = attention()
            off = tvd(batch.decoded(a), batch.probabilities[:, None])
            between = jsd(a[:, first], a[:, second]).mean(-1).sum(1) * 2 / attempts**2  # each pair counts twice
            loss = (_PENALTY * (off - _HINGE).clamp(min=0) - jsd(a, alpha).mean(-1)).sum(1) - between
            adam.zero_grad()
            (logits.grad,) = torch.autograd.grad(loss.sum(), logits)
            adam.step()
    with torch.no_grad():
        a = attention()
        off = tvd(batch.decoded(a), batch.probabilities[:, None])
        far = jsd(a, alpha).mean(-1).masked_fill(off > epsilon, 0.0)
    best = far.argmax(1, keepdim=True)
    reached = far.gather(1, best)[:, 0]
    moved = torch.where(reached > 0, off.gather(1, best)[:, 0], 0.0)
    return single_words_out(
        batch,
        {
            "adversarial_jsd": reached.double().numpy(),
            "adversarial_tvd": moved.double().numpy(),
        },
    )


def _initial(batch: TextBatch, attempts: int) -> Float[Tensor, "batch k rows n"]:
    """Published start: log of uniform plus normal noise of standard deviation 3."""
    rows, n = batch.alpha.shape[1:]
    start = np.zeros((len(batch), attempts, rows, n))
    for index, text in enumerate(batch.texts):
        noise = batch.generator(index, "adversarial").normal(size=(attempts, rows, len(text)))
        start[index, ..., : len(text)] = _SPREAD * noise - math.log(max(1, len(text)))
    return torch.from_numpy(start)


def adversarial_figure(texts: pd.DataFrame, *, title: str) -> Figure:
    """How far attention can move without moving the output: histogram over texts, with what bounds it."""
    bins = np.linspace(0, LN2, 29).tolist()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.3, 2.9), layout="constrained")
        axes = figure.subplots()
        drawn: list[tuple[str, str, dict[str, Any]]] = [
            ("exact_jsd", "exact maximum", {"color": BLUE, "alpha": 0.6}),
            ("adversarial_jsd", "found by gradient", {"histtype": "step", "color": ORANGE, "linewidth": 1.4}),
        ]
        for column, label, style in drawn:
            if has_values(texts, column):
                values = texts[column].dropna().clip(0, LN2).to_numpy()
                weights = np.full(len(values), 100 / len(values))
                axes.hist(values, bins=bins, weights=weights, label=f"{label}, n = {len(values):,}", **style)
        for column, label, dashes in (
            ("permutation_jsd", "shuffled weights", "-."),
            ("ceiling_jsd", "ceiling whatever the output", "--"),
        ):
            if has_values(texts, column):
                mean = texts[column].mean()
                axes.axvline(mean, color=BLACK, linewidth=1, linestyle=dashes, label=f"{label}, mean {number(mean)}")
        axes.axvline(LN2, color=GREY, linewidth=1.4, label="ln 2, the bound of JSD")
        axes.set_xlim(0, 0.72)
        axes.grid(axis="y", color="#eeeeee", zorder=0)
        axes.set_axisbelow(True)
        axes.set_xlabel("largest JSD to the attention of the model (nats)")
        axes.set_ylabel("texts (%)")
        legend(figure, axes, title)
    return figure
