"""Does the decision depend on the most attended word? (Serrano & Smith 2019, §4)"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import pandas as pd
import torch
from matplotlib.figure import Figure
from torch import Tensor

from ....reports.columns import Row, TableColumn
from ....reports.drawing import BLACK, BLUE, ORANGE, STYLE, finish
from ....reports.format import percent, rows_of
from ....reports.table import ShownTable
from ..batch import Rows, TextBatch
from ..contract import NATS, SHARE, Column, Drawing, ExplanationTest, Findings, Question
from ..interventions import ORDERS, columns, measures, ranks, without
from ..measures import jsd
from ..plots import MANY, has_values
from ..registry import in_items
from ..results import ExplainResults

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
    def cell(row: Row) -> str:
        return percent(row[name] / row["n"])

    return TableColumn(name, "share", "", heading, cell=cell)


_FLIPS = (
    TableColumn("measure", "text", "", "best word by", cell=lambda row: str(BEST.get(row["measure"], row["measure"]))),
    TableColumn("n", "count", "", "n"),
    _share("both", "by both words"),
    _share("only_top", "by the best word alone"),
    _share("only_random", "by the other word alone"),
    _share("neither", "by neither"),
)


def single_weight(batch: TextBatch) -> Rows:
    """Remove the weight of the best word, and the weight of a random other word (Serrano & Smith 2019, §4).

    The other word is drawn from all positions except that of the best word. (The published code draws a rank and uses
    it as a position, so it can draw the best word, and never draws the first word.) Texts of fewer than two words have
    no values.
    """
    scored = measures(batch)
    position = torch.arange(batch.mask.shape[-1])
    words = batch.mask.sum(-1)
    top = ranks(torch.stack(list(scored.values()), dim=1), batch.mask) == 0
    best = (top * position).sum(-1)
    other = torch.zeros_like(best)
    for i, n in enumerate(words.tolist()):
        if n > 1:
            other[i] = torch.from_numpy(batch.generator(i, "single weight").integers(n - 1, size=len(scored)))
    other += other >= best
    drawn = position == other[..., None]

    before = batch.probabilities.double()[:, None]
    after = without(batch, torch.cat([top, drawn], dim=1))
    moved = jsd(before.expand_as(after), after)
    flipped = (after.argmax(-1) != before.argmax(-1)).double()
    weights = batch.weights.double()[:, None]
    difference = (weights * top).sum(-1) - (weights * drawn).sum(-1)
    values: dict[str, Tensor] = {}
    for m, name in enumerate(scored):
        r = m + len(scored)
        values |= {
            f"single_{name}_top_jsd": moved[:, m],
            f"single_{name}_random_jsd": moved[:, r],
            f"single_{name}_difference": moved[:, m] - moved[:, r],
            f"single_{name}_top_flip": flipped[:, m],
            f"single_{name}_random_flip": flipped[:, r],
            f"single_{name}_weight_difference": difference[:, m],
        }
    return columns(values, words > 1)


def single_figure(results: ExplainResults, title: str) -> Figure | None:
    """Draw how much more the best word changes than another one, against how much more attention it has."""
    texts = results.texts
    panels = [name for name in BEST if has_values(texts, f"single_{name}_difference")]
    if not panels:
        return None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(0.6 + 2.0 * len(panels), 3.4), 2.9), layout="constrained")
        row = figure.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True)[0]
        for axes, name in zip(row, panels, strict=True):
            x, y = texts[f"single_{name}_weight_difference"], texts[f"single_{name}_difference"]
            flipped = texts[f"single_{name}_top_flip"] > 0
            for chosen, color, marker, label in (
                (~flipped, BLUE, "o", "decision stays the same without the best word"),
                (flipped, ORANGE, "^", "decision changes"),
            ):
                axes.scatter(
                    *(x[chosen], y[chosen]),
                    s=10,
                    marker=marker,
                    color=color,
                    alpha=0.5,
                    linewidths=0,
                    label=label,
                    rasterized=len(texts) > MANY,
                )
            axes.axhline(0, color=BLACK, linewidth=0.6)
            axes.axvline(0, color=BLACK, linewidth=0.6)
            axes.set_title(f"best word by {BEST[name]}", loc="left")
        row[0].set_ylabel("JSD of the output:\nbest word minus another (nats)")
        row[len(row) // 2].set_xlabel("attention: best word minus another")
        finish(figure, row[0], title)
    return figure


def flip_table(texts: pd.DataFrame, measures: Collection[str] = BEST.keys()) -> pd.DataFrame:
    """Count in which texts the removal of the best word, or of a random word, changed the decision.

    This is Table 1 of Serrano & Smith (2019), with numbers of texts of two or more words.
    """
    rows = []
    for measure in measures:
        both = texts[[f"single_{measure}_top_flip", f"single_{measure}_random_flip"]].dropna().to_numpy() > 0
        top, random = both[:, 0], both[:, 1]
        rows.append(
            {
                "measure": measure,
                "n": len(both),
                "both": int((top & random).sum()),
                "only_top": int((top & ~random).sum()),
                "only_random": int((~top & random).sum()),
                "neither": int((~top & ~random).sum()),
            }
        )
    return pd.DataFrame(rows, columns=["measure", "n", "both", "only_top", "only_random", "neither"])


def _flips(results: ExplainResults) -> dict[str, Any]:
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
        "Each dot is a text. Above the line, the best word changes the output more than the other word does.",
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
