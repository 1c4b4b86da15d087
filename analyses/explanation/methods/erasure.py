"""Does the decision depend on the most attended word? (Serrano & Smith 2019, §4)"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ....reports.columns import TableColumn
from ....reports.drawing import BLUE, GREY, SKY, TEXT, finish, panel, with_style
from ....reports.format import percent, rows_of
from ....reports.shapes import intervals, name_rows
from ....reports.table import ShownTable
from ..attention.batch import Rows, TextBatch
from ..attention.interventions import ORDERS, answers_without, columns, importance, ranks
from ..attention.measures import jsd
from ..contract.explanation_test import NATS, SHARE, Column, Drawing, ExplanationTest, Findings, Question
from ..contract.registry import in_items
from ..contract.results import ExplainResults
from ..contract.summary import OVERALL
from ..showing.plots import MAX_CLASSES, clip_name, has_values

BEST = {name: ORDERS[name] for name in ("attention", "gradient", "attention_gradient")}
"""The measures by which a word can be the best: their names in columns, and their names for readers."""

_COLUMNS = {
    f"single_{name}_{part}": column
    for name, label in BEST.items()
    for part, column in {
        "top_jsd": Column(f"JSD of the output without the best word by {label}", NATS),
        "random_jsd": Column(f"JSD of the output without another word ({label})", NATS),
        "difference": Column(f"JSD of the output, best word by {label} minus another word", NATS),
        "top_flip": Column(f"decisions changed without the best word by {label}", SHARE),
        "random_flip": Column(f"decisions changed without another word ({label})", SHARE),
        "weight_difference": Column(f"weight of the best word by {label} minus that of another word", "weight"),
    }.items()
}


def _share(name: str, heading: str) -> TableColumn:
    """Return the column of a count of `flip_table` as a share of the texts."""
    return TableColumn(name, "share", "", heading, cell=lambda row: percent(row[name] / row["n"]))


_FLIPS = (
    TableColumn("measure", "text", "", "best word by", cell=lambda row: str(BEST.get(row["measure"], row["measure"]))),
    TableColumn("n", "count", "", "n"),
    _share("both", "by both words"),
    _share("only_top", "by the best word alone"),
    _share("only_random", "by the other word alone"),
    _share("neither", "by neither"),
)


def single_weight(batch: TextBatch) -> Rows:
    """Remove the weight of the best word, and the weight of a random other word (Serrano & Smith 2019, §4)."""
    # The other word is drawn from all positions except that of the best word. (The published code draws a rank and uses
    # it as a position, so it can draw the best word, and never draws the first word.) Texts of fewer than two words
    # have no values.
    by_measure = importance(batch)
    positions = torch.arange(batch.mask.shape[-1])
    n_words = batch.mask.sum(-1)
    is_best = ranks(torch.stack(list(by_measure.values()), dim=1), batch.mask) == 0  # (batch, measures, n)
    best = (is_best * positions).sum(-1)
    other = torch.zeros_like(best)
    for i, n in enumerate(n_words.tolist()):
        if n > 1:
            other[i] = torch.from_numpy(batch.generator(i, "single weight").integers(n - 1, size=len(by_measure)))
    other += other >= best  # the numbers that are drawn count the words without the best one
    is_other = positions == other[..., None]

    before = batch.probabilities.double()[:, None]
    after = answers_without(batch, torch.cat([is_best, is_other], dim=1))
    moved = jsd(before.expand_as(after), after)
    flipped = (after.argmax(-1) != before.argmax(-1)).double()
    weights = batch.weights.double()[:, None]
    weight_difference = (weights * is_best).sum(-1) - (weights * is_other).sum(-1)
    values: dict[str, Tensor] = {}
    for top, name in enumerate(by_measure):
        random = top + len(by_measure)  # the best word by each measure comes first, then the other word of each
        values |= {
            f"single_{name}_top_jsd": moved[:, top],
            f"single_{name}_random_jsd": moved[:, random],
            f"single_{name}_difference": moved[:, top] - moved[:, random],
            f"single_{name}_top_flip": flipped[:, top],
            f"single_{name}_random_flip": flipped[:, random],
            f"single_{name}_weight_difference": weight_difference[:, top],
        }
    return columns(values, n_words > 1)


@with_style
def single_figure(results: ExplainResults, title: str) -> Figure | None:
    """Draw how much more the best word changes than another one, with its interval, for all texts and each class."""
    summary = results.summary
    measures = [name for name in BEST if has_values(results.texts, f"single_{name}_difference")]
    if not measures:
        return None
    classes = [OVERALL, *(results.classes if len(results.classes) <= MAX_CLASSES else ())]
    rows, names = [], []
    for name in measures:
        for row in rows_of(summary[summary["measure"] == f"single_{name}_difference"]):
            if row["predicted"] in classes and row["n"]:
                is_overall = row["predicted"] == OVERALL
                rows.append(row)
                names.append(
                    f"best word by {BEST[name]}" if is_overall else f"predicted: {clip_name(row['predicted'])}"
                )
    figure, axes = panel(TEXT, 1.0 + 0.2 * len(rows))
    overall = np.array([row["predicted"] == OVERALL for row in rows])
    means, low, high = (np.array([row[name] for row in rows]) for name in ("mean", "low", "high"))
    axes.axvline(0, color=GREY, lw=0.8, zorder=1)
    for is_drawn, color, group in ((overall, BLUE, "all texts"), (~overall, SKY, "texts of one predicted class")):
        if is_drawn.any():
            heights, label = np.flatnonzero(is_drawn), f"{group} (mean, 95 % interval)"
            intervals(axes, heights, low[is_drawn], high[is_drawn], color)
            axes.plot(means[is_drawn], heights, "o", color=color, ms=4.5, label=label, zorder=3)
    name_rows(axes, names, [f"{row['n']:,}" for row in rows], heading="n")
    axes.set_xlabel("JSD of the output without a word: best word minus another (nats)")
    finish(figure, axes, title)
    return figure


def flip_table(texts: pd.DataFrame, measures: Collection[str] = BEST.keys()) -> pd.DataFrame:
    """Count in which texts the removal of the best word, or of a random word, changed the decision."""
    # This is Table 1 of Serrano & Smith (2019), with numbers of texts of two or more words.
    rows = []
    for measure in measures:
        flips = texts[[f"single_{measure}_top_flip", f"single_{measure}_random_flip"]].dropna().to_numpy() > 0
        top, random = flips.T
        rows.append(
            {
                "measure": measure,
                "n": len(flips),
                "both": int((top & random).sum()),
                "only_top": int((top & ~random).sum()),
                "only_random": int((~top & random).sum()),
                "neither": int((~top & ~random).sum()),
            }
        )
    return pd.DataFrame(rows, columns=["measure", "n", "both", "only_top", "only_random", "neither"])


def _flips(results: ExplainResults) -> dict[str, Any]:
    """Return the table of changed decisions for the page; an empty text if there is none."""
    rows = [row for row in rows_of(results.table("flips")) if row["n"]]
    columns = [replace(column, heading=in_items(column.heading)) for column in _FLIPS]
    return {"flips": ShownTable("explain_flips", "Changed decisions (%)", columns, rows) if rows else ""}


TEST = ExplanationTest(
    name="erasure",
    heading="Does the decision depend on the most attended word?",
    columns=_COLUMNS,
    questions=(
        Question(
            "Does the decision depend on the most attended word?",
            "share of decisions that change without the weight of this word, against that of a random other word",
            "single_attention_top_flip",
            "single_attention_random_flip",
            "Removing its weight changes more decisions than removing the weight of another word.",
            "Removing its weight changes fewer decisions than removing the weight of another word.",
        ),
    ),
    shown=tuple(f"single_{name}_{part}" for name in BEST for part in ("difference", "top_flip", "random_flip")),
    key=("single_attention_top_flip", "single_attention_random_flip"),
    tables={"flips": True},
    figure=Drawing(
        "explain_single",
        "Means over texts. At the right of zero, the best word changes the output more than another word does.",
        single_figure,
    ),
    page="""
{% if flips %}
<p class="facts">Decisions that change when the weight of a word is removed, in % of the texts of two or more words:</p>
{{ flips }}
{% endif %}
<p>The weight of one word is set to zero, and the weights of all others are scaled up (Serrano &amp; Smith 2019, §4).
The other word is a random one. Often no single word changes the decision, so the comparison is what counts: decisions
that only the best word changes, against decisions that only the other word changes. If a word has much more attention
than another and changes the output no more, attention is misleading.</p>
""",
    examine=lambda batch, options: single_weight(batch),
    conclude=lambda texts, options: Findings(tables={"flips": flip_table(texts)}),
    page_values=_flips,
)
