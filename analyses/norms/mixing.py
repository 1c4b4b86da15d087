"""How much of a token's new vector comes from other tokens? Context mixing (Kobayashi et al. 2021, §4).

The mixing ratio of a token is M / (M + P), where M is the norm of the *sum* of all vectors that other tokens contribute
to it, and P the norm of the vector that it contributes to itself. The sum comes before the norm: contributions that
point in opposite directions cancel in the output of the layer, and a sum of norms would count them as mixing. The ratio
is taken per token, and tokens are averaged, because a ratio of sums over a corpus would weight tokens by the sizes of
their vectors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from ...extractors import MIXING_VARIANTS, TOKEN_CLASSES, NormBatch
from ...reports.columns import Row, Schema, TableColumn
from ...reports.drawing import (
    BLUE,
    CLASSES,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    TEXT,
    YELLOW,
    by_layer,
    finish,
    layer_line,
    panels,
    with_style,
)  # fmt: skip
from ...reports.format import rows_of
from ...reports.shapes import direct_labels
from ...reports.table import ShownTable
from ..contract import Masking, Request
from ..counting.counting import CountWith
from ..counting.exact_sums import ExactMetric, ExactSumError, add_values, floating
from .paper import PublishedNumbers
from .rows import NormCounts, NormQuestion, NormResults, OfLayers, PlanContext

ALL = "all"

MIXING = Schema(
    "norms_mixing",
    "One row per measure, layer and class of tokens: how much of a token's new vector comes from other tokens.",
    (
        TableColumn(
            "variant",
            "text",
            "the measure: the kind of map, and whether it is computed from weights (`-w`) or norms (`-n`)",
            "variant",
        ),
        TableColumn("layer", "number from 1", "the layer; 0 stands for all layers together"),
        TableColumn("class", "text", "the class of the tokens, or `all`"),
        TableColumn("mean", "share", "the mean mixing ratio", "mean"),
        TableColumn("max", "share", "the largest one", "largest"),
        TableColumn("min", "share", "the smallest one", "smallest"),
        TableColumn(
            "published",
            "share",
            "the mean of the paper, if it has one for this model",
            "published mean",
            beside=lambda row: row["published_range"],
        ),
        TableColumn("tokens", "count", "tokens of the class"),
    ),
)

_VARIANTS = {
    "attn-w": ("attention (weights)", GREY, "o", ":"),
    "attnres-w": ("+ residual (weights)", GREY, "s", ":"),
    "attn-n": ("attention", SKY, "o", "-"),
    "attnres-n": ("+ residual", YELLOW, "s", "-"),
    "attnresln-n": ("+ layer norm", BLUE, "D", "-"),
    "atbff-n": ("+ FF", PURPLE, "v", "--"),
    "atbffres-n": ("+ FF + residual", GREEN, "^", "--"),
    "atbffresln-n": ("+ layer norm after FF", ORANGE, "o", "--"),
}
"""The name, the color, the marker and the line of each variant."""

_BY_CLASS = "attnresln-n"
"""The variant that is shown by class of tokens."""


class Mixing(NormQuestion):
    """How much context does each layer mix in?"""

    name = "mixing"
    tables = (MIXING,)
    template = Path(__file__).with_name("mixing.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the ratios on masked text, if the tokenizer has a mask token."""
        setting, rate = plan_context.setting, plan_context.chosen.mask_rate
        if rate and setting.encoder.tokenizer.mask_token_id is None:
            rate = 0.0
            plan_context.notes.append(
                "Context mixing is measured on the unmasked text, because this tokenizer has no mask token."
            )
        elif rate:
            plan_context.notes.append(
                f"Context mixing is measured with {100 * rate:.3g} % of the pieces of words masked, and everything "
                "else without masks."
            )
        plan_context.kept[self.name] = {"mask_rate": rate}
        masking = Masking(rate, setting.seed) if rate else None
        counting = CountWith(MixingRatios, (plan_context.n_layers,))
        return (
            Request("norms-mixing", "context mixing", setting.corpus, plan_context.maker, counting, masking=masking),
        )

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the ratios, beside those of the paper if it has any of this model."""
        for metric in counts.metrics_of(self.name, MixingRatios):
            return with_published(metric.compute(), counts.published)
        return None

    def frames(self, answer: pd.DataFrame, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {MIXING.name: answer}

    def show(self, answer: pd.DataFrame, results: NormResults) -> Sequence[ShownTable]:
        """Return the ratios of all layers, and those of each beside its expansion rate."""
        published = {} if results.published is None else results.published.mixing
        ranges = {variant: f"[{low}, {high}]" for variant, (_mean, high, low) in published.items()}
        rows: list[Row] = [
            {**row, "published_range": ranges.get(row["variant"], "")}
            for row in rows_of(answer[(answer["layer"] == 0) & (answer["class"] == ALL)])
        ]
        all_layers = ShownTable("norms_mixing", "Mixing ratios over all layers (%)", MIXING.columns, rows)
        return all_layers, _mixing_by_layer(answer, results.answers.get("expansion"))

    def by_layer(self, answer: pd.DataFrame) -> OfLayers:
        """Return the ratios of some variants."""
        rows: dict[int, dict[str, Any]] = {}
        for row in rows_of(answer[(answer["class"] == ALL) & (answer["layer"] > 0)]):
            rows.setdefault(row["layer"], {})[row["variant"]] = row["mean"]
        columns = [TableColumn(name, "share", "", name) for name in ("attn-w", "attnresln-n", "atbffresln-n")]
        return OfLayers(columns, rows, "Mixing ratios are in %.")

    def draw(self, answer: pd.DataFrame, results: NormResults, title: str) -> Mapping[str, Figure]:
        """Draw the ratios by layer."""
        return {"norms_mixing": mixing_figure(answer, title=title)}

    def values(self, answer: pd.DataFrame, results: NormResults) -> Mapping[str, Any]:
        """Return the number of tokens."""
        return {"mixed_tokens": int(answer["tokens"].max())}


class MixingRatios(ExactMetric):
    """Mixing ratios per variant, layer and class of tokens: the mean, smallest and largest ratio of all tokens."""

    sums: Int[Tensor, "variants layers classes"]
    lowest: Float[Tensor, "variants layers classes"]
    highest: Float[Tensor, "variants layers classes"]
    tokens: Int[Tensor, " classes"]

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        self.n_layers = n_layers
        shape = (len(MIXING_VARIANTS), n_layers, len(TOKEN_CLASSES))
        self.add_state("sums", torch.zeros(shape, dtype=torch.int64), "sum")
        self.add_state("lowest", torch.full(shape, torch.inf, dtype=torch.float64), "min")
        self.add_state("highest", torch.full(shape, -torch.inf, dtype=torch.float64), "max")
        self.add_state("tokens", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum")

    def update(self, batch: NormBatch) -> None:
        """Add the mixing ratios of a batch, class by class."""
        ratios = batch.ratios.permute(0, 3, 1, 2).cpu().double()  # (batch, n, variants, layers)
        if not bool(ratios[batch.mask].isfinite().all()):
            raise ExactSumError("a mixing ratio is not finite")
        for index in range(len(TOKEN_CLASSES)):
            of_class = ratios[batch.classes == index].to(self.sums.device)
            if len(of_class):
                self.sums[..., index] = add_values(self.sums[..., index], of_class)
                self.lowest[..., index] = torch.minimum(self.lowest[..., index], of_class.amin(0))
                self.highest[..., index] = torch.maximum(self.highest[..., index], of_class.amax(0))
                self.tokens[index] += len(of_class)

    def compute(self) -> pd.DataFrame:
        """Return a table with one row per variant, layer and class that occurs."""
        sums, tokens = floating(self.sums.cpu()).numpy(), self.tokens.cpu().numpy()
        lowest, highest = self.lowest.cpu().numpy(), self.highest.cpu().numpy()
        present = [index for index in range(len(TOKEN_CLASSES)) if tokens[index]]
        all_layers = list(range(self.n_layers))
        # Each row of the table is about one layer or all, and one class or all.
        layer_choices = [(0, all_layers), *((layer + 1, [layer]) for layer in all_layers)]
        class_choices = [(ALL, present), *((TOKEN_CLASSES[index], [index]) for index in present)]
        choices = itertools.product(enumerate(MIXING_VARIANTS), layer_choices, class_choices)
        rows = []
        for (index, variant), (number, layers), (name, classes) in choices:
            cells = np.ix_([index], layers, classes)
            count = int(tokens[classes].sum())
            mean = sums[cells].sum() / (count * len(layers)) if count else float("nan")
            low = lowest[cells].min(initial=float("inf"))
            high = highest[cells].max(initial=float("-inf"))
            row = {"variant": variant, "layer": number, "class": name, "mean": mean, "min": low, "max": high}
            rows.append({**row, "tokens": count})
        return pd.DataFrame(rows)


def with_published(mixing: pd.DataFrame, published: PublishedNumbers | None) -> pd.DataFrame:
    """Return the ratios with a column ``published`` if the paper has numbers of this model."""
    if published is None:
        return mixing
    # By variant, layer and class. The paper gives ratios in %.
    ratios = {(variant, 0, ALL): mean / 100 for variant, (mean, _, _) in published.mixing.items()}
    for name, ratios_by_layer in published.mixing_by_layer.items():
        ratios |= {(_BY_CLASS, layer, name): ratio / 100 for layer, ratio in enumerate(ratios_by_layer, start=1)}
    keys = zip(mixing["variant"], mixing["layer"], mixing["class"], strict=True)
    return mixing.assign(published=[ratios.get(key, float("nan")) for key in keys])


def _mixing_by_layer(mixing: pd.DataFrame, expansion: pd.DataFrame | None) -> ShownTable:
    """Return the mixing ratios of one variant by layer and class, and the expansion rate of each layer."""
    of_variant = mixing[(mixing["variant"] == _BY_CLASS) & (mixing["layer"] > 0)]
    rows: dict[int, dict[str, Any]] = {int(layer): {"layer": int(layer)} for layer in of_variant["layer"].unique()}
    columns = [TableColumn("layer", "number from 1", "", "layer")]
    for name, group in of_variant.groupby("class", sort=False):
        columns.append(TableColumn(f"mean:{name}", "share", "", str(name)))
        if "published" in group and bool(group["published"].notna().any()):
            columns.append(TableColumn(f"published:{name}", "share", "", f"{name}, published"))
        for row in rows_of(group):
            rows[row["layer"]] |= {f"{column}:{name}": row.get(column) for column in ("mean", "published")}
    if expansion is not None:
        for row in rows_of(expansion):
            rows[row["layer"]] |= row
        columns.append(TableColumn("expansion", "number", "", "expansion rate of f", digits=2))
        if "published" in expansion and bool(expansion["published"].notna().any()):
            columns.append(TableColumn("published", "number", "", "expansion rate, published", digits=2))
    title = f"Mixing ratios of {_BY_CLASS} by class of tokens (%)"
    return ShownTable("norms_mixing_layers", title, columns, list(rows.values()))


@with_style
def mixing_figure(mixing: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the mixing ratio by layer: all variants over all tokens, and attnresln-n by class of tokens."""
    single_layers = mixing[mixing["layer"] > 0].set_index("layer").sort_index(kind="stable")
    figure, ((left, right),) = panels(TEXT, 3.0, columns=2)
    labels_of_variants = []  # a label stands at the end of its line, and has its color
    for variant, (name, color, marker, style) in _VARIANTS.items():
        is_line = (single_layers["variant"] == variant) & (single_layers["class"] == "all")
        values = single_layers[is_line]["mean"] * 100
        layer_line(left, values, color, marker, f"_{variant}", style)
        if len(values):
            labels_of_variants.append((float(values.iloc[-1]), name, color))
    direct_labels(left, labels_of_variants, 6)
    layer_norm = single_layers[single_layers["variant"] == "attnresln-n"]
    labels_of_classes = []
    for token_class, group in layer_norm.groupby("class", sort=False):
        color, marker = CLASSES[str(token_class)]
        layer_line(right, group["mean"] * 100, color, marker, f"_{token_class}")
        labels_of_classes.append((float(100 * group["mean"].iloc[-1]), str(token_class), color))
    left.set_ylim(0, 100)
    right.set_ylim(bottom=0)
    direct_labels(right, labels_of_classes, 0.06 * right.get_ylim()[1])
    by_layer(left, single_layers.index, "mixing ratio (%)")
    by_layer(right, single_layers.index, "mixing ratio (%)")
    left.set_title("all tokens", loc="left")
    right.set_title(f"{_VARIANTS['attnresln-n'][0]}, by class", loc="left")
    finish(figure, left, title)
    return figure
