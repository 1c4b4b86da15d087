"""Does attention rank words as other measures of importance do? (Jain & Wallace 2019, §4.1)"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from ....extractors.replaceable.attention_model import (
    AttentionModel,
    PartReader,
    Words,
    drop,
    probabilities,
    probabilities_of_parts,
)
from ....reports.drawing import BLACK, COLUMN, GREY, TEXT, finish, panels, with_style
from ....reports.shapes import intervals
from ..attention.batch import Rows, TextBatch, Values, read
from ..attention.kendall import kendall
from ..attention.measures import GRADIENTS, LEFT_OUT, WEIGHTS, is_doubtful, levels, tvd
from ..contract.explanation_test import SHARE, TAU, Column, Drawing, ExplanationTest, Findings, Question
from ..contract.results import ExplainResults
from ..showing.plots import by_class, has_values, mean_of

Answers = Callable[[AttentionModel, Sequence[Words]], Float[Tensor, "texts classes"]]
"""A function that computes the class probabilities of texts."""

_ALLOWED = 16
"""How much larger the error of a difference of probabilities may be than the largest one that is seen in a batch."""

SIGNIFICANT = 0.05
"""The largest two-sided p value with which a τ counts as significant."""

_SHOWN = ("tau_gradient", "tau_loo", "tau_gradient_loo", "tau_random")
_TAUS = {
    "tau_gradient": "attention and gradient × input",
    "tau_loo": "attention and leave-one-out",
    "tau_gradient_loo": "gradient × input and leave-one-out",
}


def correlation(batch: TextBatch) -> Rows:
    """Compute Kendall's τ-b between attention and other measures, and between these.

    A τ is that of the text read alone, whatever else is in the batch: the last digits of scores depend on the other
    texts, and a τ can depend on last digits. Scores that differ only by noise are ties, see
    ``attentionology.analyses.explanation.attention.measures``. Where other last digits might change a tie, the text is
    read alone.

    Args:
        batch: the texts.

    Returns:
        ``tau_*`` and ``p_*``, in which the names ``gradient``, ``loo`` (leave-one-out) and ``random`` (random scores,
        the floor) stand for the measure that is compared with attention, and ``gradient_loo`` stands for the comparison
        of these two with each other. NaN if τ is not defined: for a text of fewer than two words, or if all words have
        the same score.

    Example:
        >>> from attentionology.analyses import correlation, examine
        >>> from attentionology.probes.classifiers import AttentionClassifier
        >>> texts = [("a", "fine", "film"), ("a", "dull", "film")] * 20
        >>> classifier = AttentionClassifier("average", dimensions=8).fit(texts, ["1", "0"] * 20)
        >>> examine(classifier, ["x", "y"], texts[:2], {"correlation": correlation})["tau_loo"].between(-1, 1).all()
        np.True_
    """
    attention, gradient, left_out = rank_words(batch)
    random = [batch.generator(i, "correlation").random(len(text)) for i, text in enumerate(batch.texts)]
    rows: Rows = {}
    for name, first, second in (
        ("gradient", attention, gradient),
        ("loo", attention, left_out),
        ("gradient_loo", gradient, left_out),
        ("random", attention, random),
    ):
        rows[f"tau_{name}"], rows[f"p_{name}"] = kendall(first, second)
    return rows


def rank_words(batch: TextBatch) -> tuple[list[Values], list[Values], list[Values]]:
    """Rank the words of each text by attention, by gradient × input and by leave-one-out; ties share a rank."""
    model, texts = batch.model, batch.texts
    # Other models take about as long for a batch of texts as for one at a time, and more memory for its gradients.
    are_together = isinstance(model, PartReader) and model.shares_states
    together = batch.scores.double().numpy(), np.empty(batch.mask.shape), [np.empty(len(text)) for text in texts]
    error = 0.0
    if are_together:
        # How far probabilities are from those in another batch depends on the model. So it is seen from whole texts,
        # which are read in two ways, and a multiple of that is allowed.
        of_parts = probabilities_of_parts(model, [*texts, *_without_each_word(texts)])
        error = _ALLOWED * float((of_parts[: len(texts)] - batch.probabilities).abs().max())
        left_out_together = _changes(batch, of_parts[len(texts) :])
        together = together[0], gradient_importance(model, texts).numpy(), left_out_together
    attention, gradient, left_out = [], [], []
    for text, weights, slopes, loo in zip(texts, *together, strict=True):
        weights, slopes = weights[: len(text)], slopes[: len(text)]
        # Without either of two equal neighbors a text is the same, so that these two have one score.
        is_other = np.array([i == 0 or text[i - 1] != word for i, word in enumerate(text)], dtype=bool)
        if not are_together or is_doubtful(weights, WEIGHTS):
            weights = read(model, ("",), (text,)).scores[0].double().numpy()
        if not are_together or is_doubtful(slopes, GRADIENTS):
            slopes = gradient_importance(model, (text,))[0].numpy()
        if not are_together or is_doubtful(loo[is_other], LEFT_OUT, error):
            loo = leave_one_out(read(model, ("",), (text,)), probabilities)[0]
        attention.append(levels(weights, WEIGHTS))
        gradient.append(levels(slopes, GRADIENTS))
        left_out.append(levels(loo, LEFT_OUT))
    return attention, gradient, left_out


def gradient_importance(model: AttentionModel, texts: Sequence[Words]) -> Float[Tensor, "batch n"]:
    """Compute gradient × input with the attention held fixed, normalized so that each text sums to 1."""
    # The importance of word t is Σ over classes of |Σ_d ∂p/∂e_td · e_td|, in which e are the input embeddings. The
    # products of the pieces of a word are added up before the absolute value is taken. The attention that is tested is
    # cut out of the computational graph, so gradients do not pass through the weights (Jain & Wallace 2019, §3, with
    # the input embedding of the observed word).
    # With respect to the *attended states*, the gradient of a linear classifier would be α_t times a constant. Its τ
    # with attention would be 1 whatever the model does, so this gradient is not computed.
    with torch.enable_grad():
        state = model.encode(texts, gradient=True)
        alpha, mask = model.attention(state)
        embeddings = model.embeddings(state)
        p = model.decode(state, alpha.detach()[:, None])[:, 0].double().softmax(-1)
        # The gradients of two classes differ only in their signs.
        classes = range(p.shape[1]) if p.shape[1] > 2 else (1,)
        gradients = [torch.autograd.grad(p[:, c].sum(), embeddings, retain_graph=True)[0] for c in classes]
    importance = torch.zeros(mask.shape, dtype=torch.float64)
    for gradient in gradients:
        per_position = (gradient * embeddings.detach()).sum(-1).double()
        importance += to_words(per_position, state.word_of, mask.shape[1]).abs()
    total = importance.sum(1, keepdim=True)
    return importance / torch.where(total > 0, total, 1.0)


def to_words(values: Float[Tensor, "batch positions"], word_of: Tensor, n: int) -> Float[Tensor, "batch n"]:
    """Add up the values of input positions by word. Special tokens and padding are left out."""
    # word_of: the 0-based word of each position, below 0 for none. Their values are added up in a column after the n
    # words, which is cut off.
    added = values.new_zeros(len(values), n + 1)
    added.scatter_add_(1, torch.where(word_of >= 0, word_of, n), values)
    return added[:, :n]


def leave_one_out(batch: TextBatch, answers: Answers = probabilities_of_parts) -> list[Values]:
    """Compute the TVD between the outputs for a text and for the text without each word (Jain & Wallace 2019, §3)."""
    # The word is deleted and not masked, and everything is computed anew. The result is NaN for a text of one word.
    return _changes(batch, answers(batch.model, _without_each_word(batch.texts)))


def _without_each_word(texts: Sequence[Words]) -> list[Words]:
    """Return all texts without each of their words; nothing is left of a text of one word."""
    return [drop(text, position) for text in texts if len(text) > 1 for position in range(len(text))]


def _changes(batch: TextBatch, answers: Float[Tensor, "shortened classes"]) -> list[Values]:
    """Return the TVD between the output for each text and those for the text without each word."""
    counts = [len(text) if len(text) > 1 else 0 for text in batch.texts]
    of_whole_texts = batch.probabilities.double().repeat_interleave(torch.tensor(counts), dim=0)
    changes = np.split(tvd(answers, of_whole_texts).numpy(), np.cumsum(counts)[:-1])
    return [
        of_text if len(text) > 1 else np.full(len(text), np.nan)
        for text, of_text in zip(batch.texts, changes, strict=True)
    ]


@with_style
def tau_figure(results: ExplainResults, title: str) -> Figure | None:
    """Draw the cumulative distribution of τ for each predicted class, and above it the mean with its interval."""
    # A dotted line shows random scores.
    columns = [name for name in _TAUS if has_values(results.texts, name)]
    if not {"tau_gradient", "tau_loo"} & {*columns}:
        return None
    groups = list(by_class(results.texts, results.classes))
    figure, (row,) = panels(TEXT if len(columns) > 1 else COLUMN, 2.7, columns=len(columns), sharex=True, sharey=True)
    for axes, column in zip(row, columns, strict=True):
        axes.grid(axis="y")
        axes.axvline(0, color=GREY, linewidth=0.6)
        for position, (name, color, of_group) in enumerate(groups):
            values = of_group[column].dropna().to_numpy()
            if len(values):
                axes.step(*cumulative(values), where="post", color=color, lw=1.2, label=name)
                mean = mean_of(results, column, of_group)
                height = 106 + 7 * position  # above the curves, which end at 100 %
                intervals(axes, [height], mean["low"], mean["high"], color)
                axes.plot(mean["mean"], height, "o", color=color, ms=4, label=f"_{name}", zorder=3)
        if column != "tau_gradient_loo" and has_values(results.texts, "tau_random"):
            random = results.texts["tau_random"].dropna().to_numpy()
            axes.step(*cumulative(random), where="post", color=BLACK, lw=1, ls=":", label="with random scores")
        axes.set_xlabel(f"Kendall’s τ,\n{_TAUS[column]}")
        axes.set_xlim(-1, 1)
    row[0].set_ylim(0, 104 + 7 * len(groups))
    row[0].set_yticks(range(0, 101, 25))
    row[0].set_ylabel("texts with at most this τ (%)")
    finish(figure, row[0], title)
    return figure


def cumulative(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return values in ascending order, from the least τ on, and the percentage of values up to each."""
    ordered = np.sort(values)
    return np.concatenate([[-1.0], ordered]), 100 * np.arange(len(ordered) + 1) / len(ordered)


def mark_significant(texts: pd.DataFrame) -> dict[str, Values]:
    """Return a column ``significant_*`` for each ``p_*``: 1 if p is at most 0.05, else 0; NaN if p is undefined."""
    columns = {}
    names_of_p = [name for name in TEST.columns if name.startswith("p_") and name in texts]
    for name in names_of_p:
        p = texts[name].to_numpy(dtype=np.float64)
        columns[f"significant_{name.removeprefix('p_')}"] = np.where(np.isnan(p), np.nan, p <= SIGNIFICANT)
    return columns


TEST = ExplanationTest(
    name="correlation",
    heading="Does attention rank words as other measures do?",
    columns={
        "tau_gradient": Column("τ, attention and gradient × input", TAU, significance="significant_gradient"),
        "p_gradient": Column("p of τ, attention and gradient × input", "p", averaged=False),
        "tau_loo": Column("τ, attention and leave-one-out", TAU, significance="significant_loo"),
        "p_loo": Column("p of τ, attention and leave-one-out", "p", averaged=False),
        "tau_gradient_loo": Column(
            "τ, gradient × input and leave-one-out", TAU, significance="significant_gradient_loo"
        ),
        "p_gradient_loo": Column("p of τ, gradient × input and leave-one-out", "p", averaged=False),
        "tau_random": Column("τ, attention and random scores", TAU, significance="significant_random"),
        "p_random": Column("p of τ, attention and random scores", "p", averaged=False),
        "significant_gradient": Column("p ≤ 0.05, attention and gradient × input", SHARE),
        "significant_loo": Column("p ≤ 0.05, attention and leave-one-out", SHARE),
        "significant_gradient_loo": Column("p ≤ 0.05, gradient × input and leave-one-out", SHARE),
        "significant_random": Column("p ≤ 0.05, attention and random scores", SHARE),
    },
    questions=(
        Question(
            "Does attention rank words as leave-one-out does, better than by chance?",
            "τ of attention and leave-one-out, against τ of attention and random scores",
            "tau_loo",
            "tau_random",
            "Attention agrees with leave-one-out more than with random scores.",
            "Attention agrees with leave-one-out less than with random scores: it tends to the reverse order.",
        ),
        Question(
            "Does attention rank words as gradients do, better than by chance?",
            "τ of attention and gradient × input, against τ of attention and random scores",
            "tau_gradient",
            "tau_random",
            "Attention agrees with gradients more than with random scores.",
            "Attention agrees with gradients less than with random scores: it tends to the reverse order.",
        ),
        Question(
            "Does attention agree with leave-one-out better than gradients do?",
            "τ with leave-one-out: of attention, against that of gradient × input",
            "tau_loo",
            "tau_gradient_loo",
            "Attention agrees with leave-one-out better than gradients do.",
            "Gradients agree with leave-one-out better than attention does.",
        ),
        Question(
            "Does attention agree with gradients better than leave-one-out does?",
            "τ with gradient × input: of attention, against that of leave-one-out",
            "tau_gradient",
            "tau_gradient_loo",
            "Attention agrees with gradients better than leave-one-out does.",
            "Leave-one-out agrees with gradients better than attention does.",
        ),
    ),
    shown=_SHOWN,
    key=_SHOWN,
    figure=Drawing(
        "explain_tau",
        "Share of texts with at most each τ. Dots above: means with 95 % intervals. Dotted: attention and random "
        "scores, which are unrelated.",
        tau_figure,
    ),
    page="""
<p>τ is 1 if two measures rank the words of a text alike, −1 if they rank them in reverse order, and around 0 if they
are unrelated (Jain &amp; Wallace 2019, §4.1). Gradient × input is computed with the attention held fixed; leave-one-out
deletes each word and reads the rest again. Short texts have few possible rankings, so their τ varies widely. The τ of
gradient and leave-one-out shows how well two other measures agree. Texts of one word, and texts in which a measure is
the same for all words, have no τ and are counted as undefined.</p>
""",
    examine=lambda batch, options: correlation(batch),
    conclude=lambda texts, options: Findings(mark_significant(texts)),
)
