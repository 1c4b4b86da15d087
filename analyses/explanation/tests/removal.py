"""Are the most attended words a short reason for the decision? (Serrano & Smith 2019, §5)"""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ....reports.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, STYLE, finish, name_rows
from ....reports.format import percent
from ..batch import Rows, TextBatch
from ..contract import SHARE, TVD, Column, Drawing, ExplanationTest, Question
from ..interventions import DRAWS, ORDERS, columns, orderings, ranks, without
from ..measures import tvd
from ..plots import FEW, MANY, has_values
from ..results import ExplainResults

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
    after = without(batch, rank[:, None] < steps[:, None])
    changed = after.argmax(-1) != batch.probabilities.argmax(-1, keepdim=True)
    changed &= steps <= batch.mask.sum(-1, keepdim=True)
    return torch.where(changed.any(-1), changed.int().argmax(-1) + 1, 0)


def removal(batch: TextBatch, *, draws: int = DRAWS) -> Rows:
    """Remove weights one after the other until another class is predicted (Serrano & Smith 2019, §5).

    Without any weights, all orders end with the same prediction. If this is the original prediction, an order changes
    it for a while or never. How often it never does is part of the result, because the shares are means over the other
    texts. Of random orders, the shares are means over those with a change. Texts without words have no values.
    """
    words = batch.mask.sum(-1)
    before, empty = batch.probabilities.double(), without(batch, batch.mask[:, None])[:, 0]
    weights = batch.weights.double()[:, None]
    values = {
        "removal_never": (empty.argmax(-1) == before.argmax(-1)).double(),
        "all_zero_tvd": tvd(before, empty),
    }
    for name, scores in orderings(batch, draws).items():
        rank = ranks(scores, batch.mask)
        removed = torch.stack([until_change(batch, order) for order in rank.unbind(1)], dim=1)
        never = removed == 0
        mass = (weights * (rank < removed[..., None])).sum(-1) / weights.sum(-1)
        values |= {
            f"removal_{name}": (removed / words[:, None]).masked_fill(never, torch.nan).nanmean(-1),
            f"removal_{name}_mass": mass.masked_fill(never, torch.nan).nanmean(-1),
            f"removal_{name}_never": never.double().mean(-1),
        }
    return columns(values, words > 0)


def removal_figure(results: ExplainResults, title: str) -> Figure | None:
    """Draw the share of words removed until the decision changes, by order.

    The left-hand panel shows the texts that each order changes, the right-hand panel those that all orders change.
    """
    texts = results.texts
    names = [name for name in ORDERS if f"removal_{name}" in texts]
    if not any(has_values(texts, f"removal_{name}") for name in names):
        return None
    shares = 100 * texts[[f"removal_{name}" for name in names]]
    common = shares.dropna()
    colors = dict(zip(ORDERS, (BLUE, GREEN, ORANGE, GREY, SKY), strict=True))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.3, 0.9 + 0.34 * len(names)), layout="constrained")
        first, second = figure.subplots(1, 2, sharex=True)
        for axes, table in ((first, shares), (second, common)):
            for height, name in enumerate(names):
                _box(axes, table[f"removal_{name}"].dropna().to_numpy(), height, colors[name])
            axes.grid(axis="x", color="#eeeeee", zorder=0)
            axes.set_axisbelow(True)
            axes.set_xlim(0, 101)
        name_rows(first, [ORDERS[name] for name in names], [_never(texts, name) for name in names])
        name_rows(second, [""] * len(names), [""] * len(names))
        first.set_title("texts that change", loc="left")
        second.set_title(f"texts that change in every order (n = {len(common):,})", loc="left")
        if not len(common):
            second.text(0.5, 0.5, "none", transform=second.transAxes, ha="center", color=GREY)
        figure.supxlabel("words removed until the decision changes (% of the text)", fontsize=8)
        finish(figure, first, title)
    return figure


def _box(axes: Axes, values: npt.NDArray[np.float64], height: int, color: str) -> None:
    """Draw a horizontal box plot with whiskers of at most 1.5 box lengths, or points if there are few texts."""
    if len(values) < FEW:
        axes.scatter(values, [height] * len(values), s=12, color=color, zorder=2)
        return
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    near = values[(values >= low - 1.5 * (high - low)) & (values <= high + 1.5 * (high - low))]
    axes.plot([near.min(), near.max()], [height, height], color=BLACK, linewidth=0.8, zorder=1)
    axes.barh(height, high - low, left=low, height=0.55, color=color, edgecolor=BLACK, linewidth=0.6, zorder=2)
    axes.plot([middle, middle], [height - 0.27, height + 0.27], color=BLACK, linewidth=1.6, zorder=3)
    far = values[(values < near.min()) | (values > near.max())]
    axes.scatter(far, [height] * len(far), s=3, color=BLACK, alpha=0.4, linewidths=0, rasterized=len(far) > MANY)


def _never(texts: pd.DataFrame, order: str) -> str:
    column = f"removal_{order}_never"
    return f"{percent(texts[column].mean())} % never" if has_values(texts, column) else ""


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
        "Boxes: middle half of the texts, with the median. Farther left is a shorter reason. Fewer "
        "than ten texts are drawn as points.",
        removal_figure,
    ),
    page="""
<p>Weights are set to zero one after the other, in the order of a measure, until another class is predicted (Serrano
&amp; Smith 2019, §5). If attention marks what matters, few words have to be removed. Texts whose decision never changes
have no share and are missing from the boxes. They are not the same texts in each order, so the right-hand panel shows
only the texts whose decision changes in every order. If the decision without any weights is the original one, every
order ends where it began, and orders differ only in what they change on the way.</p>
""",
    examine=lambda batch, options: removal(batch),
)
