"""Where does attention go, by weight and by norm? (Kobayashi et al. 2020, §4.2)

An attention weight says how much of a vector is moved, not how large the vector is. The effect on the output is their
product, ‖αf(x)‖. The authors add these norms up over a class of tokens, and in such sums rows with long vectors
prevail. The share therefore divides each row by its sum first: it can be compared with the weight, which is already a
share. Where the share is far below the weight, attention to a class is a no-op.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from jaxtyping import Int
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional

from ...extractors import TOKEN_CLASSES, NormBatch
from ...reports.columns import Explored, Schema, TableColumn
from ...reports.drawing import CLASSES, TEXT, by_layer, finish, layer_line, panels, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...reports.table import ShownTable
from ...reports.tables import records
from ..contract import Request
from ..counting.counting import CountWith
from ..counting.exact_sums import ExactMetric, add_values, floating
from ..shared.measures import address, head_measures, share
from .rows import NormCounts, NormQuestion, NormResults, OfLayers, PlanContext, layers_table

SHARES = Schema(
    "norms_shares",
    "One row per head and class of tokens.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("class", "text", "the class of the attended tokens", "tokens"),
        TableColumn(
            "weight",
            "share",
            "the share of attention to the class",
            "attention weight α",
            explored=Explored("Where attention goes by weight", "to {class}"),
        ),
        TableColumn(
            "value_norm", "number", "the mean of ‖f(x)‖ over the tokens of the class", "norm of f(x)", digits=2
        ),
        TableColumn(
            "norm",
            "number",
            "the mean over queries of the sum of ‖αf(x)‖ over the tokens of the class",
            "‖αf(x)‖, sum per query",
        ),
        TableColumn(
            "norm_share",
            "share",
            "the share of what a head moves to the class, by norms whose rows are divided by their sums",
            "share of ‖αf(x)‖",
            explored=Explored("Where attention goes by norm", "to {class}"),
        ),
        TableColumn("sentences", "count", "sentences that have a token of the class"),
    ),
)

_SHARES = (
    ("weight", "attention weight α (%)", 100),
    ("value_norm", "norm of f(x)", 1),
    ("norm_share", "share of norms ‖αf(x)‖ (%)", 100),
)


class Shares(NormQuestion):
    """Where does attention go, by weight and by norm?"""

    name = "shares"
    tables = (SHARES,)
    template = Path(__file__).with_name("shares.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the shares of all heads."""
        return (plan_context.request("shares", CountWith(NormShares, plan_context.shape)),)

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the shares of all heads and classes of tokens."""
        (metric,) = counts.metrics_of(self.name, NormShares)
        return metric.compute()

    def frames(self, answer: pd.DataFrame, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {SHARES.name: answer}

    def summary(self, answer: pd.DataFrame, results: NormResults) -> Mapping[str, Any]:
        """Return the means over the heads of each layer."""
        columns = [*NormShares.MEASURES, "sentences"]
        means = answer.groupby(["layer", "class"], sort=False, as_index=False)[columns].mean()
        return {SHARES.name: records(means)}

    def show(self, answer: pd.DataFrame, results: NormResults) -> Sequence[ShownTable]:
        """Return the classes of tokens, and the layers."""
        classes = ShownTable("norms_classes", "Where attention goes (%)", SHARES.columns, class_rows(answer))
        return classes, layers_table(results)

    def by_layer(self, answer: pd.DataFrame) -> OfLayers:
        """Return the shares of special tokens by weight and by norm."""
        means = answer.groupby(["layer", "class"], as_index=False)[["weight", "norm_share"]].mean()
        rows: dict[int, dict[str, Any]] = {}
        for row in rows_of(means):
            values = {f"{column}:{row['class']}": row[column] for column in ("weight", "norm_share")}
            rows.setdefault(row["layer"], {}).update(values)
        columns = []
        for name in ("[CLS]", "[SEP]"):
            if name in set(answer["class"]):
                columns.append(TableColumn(f"weight:{name}", "share", "", f"α {name}"))
                columns.append(TableColumn(f"norm_share:{name}", "share", "", f"‖αf‖ {name}"))
        return OfLayers(columns, rows, "α and ‖αf‖ are shares of attention weights and of norms (%).")

    def draw(self, answer: pd.DataFrame, results: NormResults, title: str) -> Mapping[str, Figure]:
        """Draw weights, norms and shares by layer."""
        return {"norms_shares": shares_figure(answer, title=title)}

    def values(self, answer: pd.DataFrame, results: NormResults) -> Mapping[str, Any]:
        """Return the notes, and whether the table by layer has changes by the feed-forward block."""
        changed = results.answers.get("feed_forward")
        return {"notes": results.notes, "has_changes": changed is not None and bool(changed.change["sentences"].any())}

    def explore(self, answer: pd.DataFrame, counts: NormCounts, results: NormResults, kind: str) -> Contribution:
        """Add the shares of all heads, and the class of tokens for which weight and norm differ most."""
        return explored_shares(answer)


class NormShares(ExactMetric):
    """The attention weight, ‖f(x)‖ and ‖αf(x)‖ per layer, head and class of tokens."""

    # In each sentence, over its n pieces, these are
    # * `weight`: the mean over queries of the sum of α over the keys of the class;
    # * `norm`: the same of `‖αf(x)‖`, without any normalization (the authors' numbers);
    # * `norm_share`: the same after every row was divided by its sum, which can be compared with `weight`;
    # * `value_norm`: the mean of `‖f(x)‖` over the tokens of the class.
    # The results are means over sentences, for `value_norm` over those that have a token of the class.

    sums: Int[Tensor, "measures layers heads classes"]
    sentences: Int[Tensor, " classes"]
    total: Int[Tensor, ""]

    MEASURES = ("weight", "value_norm", "norm", "norm_share")

    def __init__(self, n_layers: int, n_heads: int) -> None:
        super().__init__()
        self.n_layers, self.n_heads = n_layers, n_heads
        shape = (len(self.MEASURES), n_layers, n_heads, len(TOKEN_CLASSES))
        self.add_state("sums", torch.zeros(shape, dtype=torch.int64), "sum")
        self.add_state("sentences", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum")
        self.add_state("total", torch.tensor(0), "sum")

    def update(self, batch: NormBatch) -> None:
        """Add a batch of norms."""
        device = batch.alpha.device
        mask = batch.mask.to(device)
        # Whether each token is of each class, as numbers of shape (batch, n, classes).
        members = functional.one_hot(batch.classes.to(device).clamp(min=0), len(TOKEN_CLASSES)).to(batch.alpha.dtype)
        members = members * mask[..., None]
        values = batch.value_norms * mask[:, None, None]
        row_sums = torch.einsum("blhij,blhj->blhi", batch.alpha, values)
        # Dividing the weights of the rows instead of the cells gives the sums over rows without a second map.
        row_weights = batch.rows[:, None, None] / row_sums.clamp(min=1e-30)
        shares = torch.einsum("blhij,blhi->blhj", batch.alpha, row_weights) * values
        sizes = members.sum(1)  # how many tokens of each class a sentence has
        measures = (batch.received, values, batch.received * values, shares)  # (batch, layers, heads, n) each
        weight, value_norm, norm, norm_share = (
            torch.einsum("blhj,bjc->blhc", measure, members) for measure in measures
        )
        value_norm = value_norm / sizes.clamp(min=1)[:, None, None]
        self.sums = add_values(self.sums, torch.stack([weight, value_norm, norm, norm_share], dim=1).cpu())
        self.sentences += (sizes > 0).sum(0).to(self.sentences.device)
        self.total += len(batch.lengths)

    def compute(self) -> pd.DataFrame:
        """Return a table with one row per layer, head and class that occurs. Layers and heads are 1-based."""
        sums = floating(self.sums.cpu()).numpy()
        total, sentences = int(self.total), self.sentences.tolist()
        rows = []
        cells = itertools.product(range(self.n_layers), range(self.n_heads), enumerate(TOKEN_CLASSES))
        for layer, head, (index, name) in cells:
            count = sentences[index]  # of sentences that have the class; only the norm of f(x) is a mean over these
            if count:
                weight, value_norm, norm, norm_share = sums[:, layer, head, index]
                row = {"layer": layer + 1, "head": head + 1, "class": name, "weight": weight / total}
                row |= {"value_norm": value_norm / count, "norm": norm / total, "norm_share": norm_share / total}
                rows.append({**row, "sentences": count})
        return pd.DataFrame(rows)


def class_rows(shares: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the means over layers and heads, one row per class."""
    means = shares.groupby("class", sort=False)[["weight", "value_norm", "norm", "norm_share"]].mean()
    return [{"class": name, **means.loc[name].to_dict()} for name in means.index]


def explored_shares(shares: pd.DataFrame) -> Contribution:
    """Return the shares of all heads by weight and by norm, and the class of tokens for which both differ most."""
    measures: list[Measure] = []
    for name, shares_of_class in shares.groupby("class", sort=False):
        measures += head_measures(SHARES, shares_of_class, partial(_id, name=str(name)), {"class": str(name)})
    facts = {}
    for _, shares_of_head in shares.groupby(["layer", "head"], sort=False):
        row = max(rows_of(shares_of_head), key=_difference)
        text = f"to {row['class']}: {share(row['weight'])} by weight, {share(row['norm_share'])} by norm"
        facts[head_name(row["layer"], row["head"])] = (Fact("weight and norm", text, _id("norm_share", row["class"])),)
    return Contribution(tuple(measures), _findings(shares), facts=facts)


def _id(column: str, name: str) -> str:
    """Return the id of a measure of the explorer, which is about a class of tokens."""
    return f"norms/{column}/{name}"


def _difference(row: dict[str, Any]) -> float:
    """Return how far the shares of a class by weight and by norm differ."""
    return float(abs(row["weight"] - row["norm_share"]))


def _findings(shares: pd.DataFrame) -> tuple[Finding, ...]:
    """Return the class of tokens for which weight and norm differ most."""
    rows = class_rows(shares)
    if not rows:
        return ()
    row = max(rows, key=_difference)
    less = "less" if row["norm_share"] < row["weight"] else "more"
    text = (
        f"{share(row['norm_share'])} of what is moved by norm comes from {row['class']}, {less} than their weights "
        f"suggest: {share(row['weight'])} of the weights, both on average over all heads."
    )
    return (Finding(text, address(measure=_id("norm_share", row["class"]))),)


@with_style
def shares_figure(shares: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the weight, the norm of f(x) and the share of norms by class and layer, as means over heads."""
    figure, grid = panels(TEXT, 2.5, columns=3)
    for axes, (column, label, factor) in zip(grid.flat, _SHARES, strict=True):
        for name, group in shares.groupby("class", sort=False):
            layer_line(axes, group.groupby("layer")[column].mean() * factor, *CLASSES[str(name)], str(name))
        axes.set_ylim(bottom=0)
        by_layer(axes, shares["layer"], label)
    finish(figure, grid[0, 0], title)
    return figure
