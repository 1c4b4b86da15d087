"""Are the most attended words a short reason for the decision? (Serrano & Smith 2019, §5)"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Int
from matplotlib.figure import Figure
from torch import Tensor

from ....reports.drawing import BLUE, GREEN, GREY, ORANGE, SKY, TEXT, finish, panel, with_style
from ....reports.shapes import direct_labels
from ....storage.writing import amount
from ..attention.batch import Rows, TextBatch
from ..attention.interventions import DRAWS, ORDERS, answers_without, columns, orderings, ranks
from ..attention.measures import tvd
from ..contract.explanation_test import SHARE, TVD, Column, Drawing, ExplanationTest, Question
from ..contract.results import ExplainResults
from ..showing.plots import has_values

_COLUMNS = {
    "removal_never": Column("decision is the same without any weights", SHARE),
    "all_zero_tvd": Column("change of the output without any weights", TVD),
} | {
    f"removal_{name}{part}": column
    for name, label in ORDERS.items()
    for part, column in {
        "": Column(f"words removed until the decision changes, {label}", SHARE),
        "_mass": Column(f"attention removed until then, {label}", SHARE),
        "_never": Column(f"decision never changes, {label}", SHARE),
    }.items()
}


def until_change(batch: TextBatch, rank: Int[Tensor, "batch n"]) -> Int[Tensor, " batch"]:
    """Count the words that are removed, in the order of their ranks, until another class is predicted; 0 for never."""
    # Even for texts without words there is one step, so that there is something to decode.
    steps = torch.arange(1, max(rank.shape[-1], 1) + 1)
    after = answers_without(batch, rank[:, None] < steps[:, None])
    is_other = after.argmax(-1) != batch.probabilities.argmax(-1, keepdim=True)
    is_other &= steps <= batch.mask.sum(-1, keepdim=True)
    first_other = is_other.int().argmax(-1)  # the index of the first step with another class
    return torch.where(is_other.any(-1), first_other + 1, 0)


def removal(batch: TextBatch, *, draws: int = DRAWS) -> Rows:
    """Remove weights one after the other until another class is predicted (Serrano & Smith 2019, §5)."""
    # Without any weights, all orders end with the same prediction. If this is the original prediction, an order changes
    # it for a while or never. How often it never does is part of the result, because the shares are means over the
    # other texts. Of random orders, the shares are means over those with a change. Texts without words have no values.
    n_words = batch.mask.sum(-1)
    before = batch.probabilities.double()
    empty = answers_without(batch, batch.mask[:, None])[:, 0]  # without any weights
    weights = batch.weights.double()[:, None]
    values = {"removal_never": (empty.argmax(-1) == before.argmax(-1)).double(), "all_zero_tvd": tvd(before, empty)}
    for name, scores in orderings(batch, draws).items():
        rank = ranks(scores, batch.mask)
        n_removed = torch.stack([until_change(batch, of_draw) for of_draw in rank.unbind(1)], dim=1)
        never = n_removed == 0
        mass = (weights * (rank < n_removed[..., None])).sum(-1) / weights.sum(-1)
        values |= {
            f"removal_{name}": (n_removed / n_words[:, None]).masked_fill(never, torch.nan).nanmean(-1),
            f"removal_{name}_mass": mass.masked_fill(never, torch.nan).nanmean(-1),
            f"removal_{name}_never": never.double().mean(-1),
        }
    return columns(values, n_words > 0)


@with_style
def removal_figure(results: ExplainResults, title: str) -> Figure | None:
    """Draw which share of the texts keep their decision while words are removed, a line for each order."""
    # Texts whose decision never changes are part of every line, so all orders are about the same texts.
    texts = results.texts
    names = [name for name in ORDERS if has_values(texts, f"removal_{name}_never")]
    if not any(has_values(texts, f"removal_{name}") for name in names):
        return None
    figure, axes = panel(TEXT, 2.8, "y")
    colors = dict(zip(ORDERS, (BLUE, GREEN, ORANGE, GREY, SKY), strict=True))
    ends = []
    for name in names:
        removed, kept = survival(texts[f"removal_{name}"], texts[f"removal_{name}_never"])
        axes.step(100 * removed, 100 * kept, where="post", color=colors[name], lw=1.2, label=f"_{name}")
        ends.append((float(100 * kept[-1]), ORDERS[name], colors[name]))
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 102)
    direct_labels(axes, ends, 6)
    count = int(texts[f"removal_{names[0]}_never"].notna().sum())
    axes.set_xlabel(f"words removed (% of the text; {amount(count, 'texts')})")
    axes.set_ylabel("texts with the same decision (%)")
    finish(figure, axes, title)
    return figure


def survival(shares: pd.Series, never: pd.Series) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return shares of removed words from 0 to 1, and after each the share of texts whose decision is the same."""
    # A text may have several random orders: `never` is the share of the orders in which its decision never changes, and
    # `shares` is the mean over the other orders.
    tested = never.notna()
    changed_at = (1 - never[tested]).groupby(shares[tested]).sum() / tested.sum()  # by share of removed words
    removed = np.concatenate([[0.0], changed_at.index.to_numpy(dtype=np.float64), [1.0]])
    return removed, 1 - np.concatenate([[0.0], changed_at.cumsum(), [changed_at.sum()]])


TEST = ExplanationTest(
    name="removal",
    heading="Are the most attended words a short reason for the decision?",
    columns=_COLUMNS,
    questions=(
        Question(
            "Are the most attended words a short reason for the decision?",
            "share of words removed until the decision changes: in the order of attention, against random order; less "
            "is better",
            "removal_random",
            "removal_attention",
            "Fewer words have to be removed than in random order.",
            "More words have to be removed than in random order.",
            floor_is_larger=True,
        ),
        Question(
            "Are the most attended words a shorter reason than the best by another measure?",
            "share of words removed until the decision changes: in the order of attention, against that of attention × "
            "gradient; less is better",
            "removal_attention_gradient",
            "removal_attention",
            "Fewer words have to be removed than in the order of attention × gradient.",
            "More words have to be removed than in the order of attention × gradient.",
            floor_is_larger=True,
        ),
    ),
    shown=(
        *(f"removal_{name}{part}" for part in ("", "_never") for name in ORDERS),
        *("removal_never", "all_zero_tvd"),
    ),
    key=("removal_attention", "removal_attention_gradient", "removal_random", "removal_attention_never"),
    figure=Drawing(
        "explain_removal",
        "Texts whose decision is still the same after some of their words were removed. A line that falls sooner is "
        "a shorter reason. At the right, without any words, all lines end with the texts whose decision never changes.",
        removal_figure,
    ),
    page="""
<p>Weights are set to zero one after the other, in the order of a measure, until another class is predicted (Serrano
&amp; Smith 2019, §5). If attention marks what matters, few words have to be removed. Texts whose decision never changes
have no share. They are part of every line of the figure, so all lines are about the same texts. If the decision without
any weights is the original one, every order ends where it began, and orders differ only in what they change on the
way.</p>
""",
    examine=lambda batch, options: removal(batch),
)
