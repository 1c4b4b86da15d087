"""Does it matter? How much a loss depends on each attention weight (Clark et al. 2019, §3.2, Figure 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import torch
from jaxtyping import Int
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from torch import Tensor
from torch.nn import functional

from ...extractors import TOKEN_CLASSES, GradientBatch, GradientMaker, ModelError
from ...reports.columns import Explored, Schema, TableColumn
from ...reports.drawing import CLASSES, TEXT, by_layer, finish, layer_line, panels, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Measure
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ...reports.tables import records
from ..contract import Request, Setting
from ..counting.counting import CountWith
from ..counting.exact_sums import ExactMetric, add_values, floating
from ..shared.measures import head_measures
from .options import SurfaceOptions
from .rows import PlanContext, Statistics, SurfaceQuestion, SurfaceResults, class_names, measure_id

GRADIENTS = Schema(
    "gradients",
    "With `--gradients`, or by default if the model has a masked-LM head. One row per head and class of tokens.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn(
            "class", "text", "the class of the attended tokens: `[CLS]`, `[SEP]`, `[MASK]`, `punctuation`, `other`"
        ),
        TableColumn(
            "gradient",
            "number, loss per unit of attention",
            "the mean absolute derivative of the loss with respect to a weight to the class, as a mean over inputs",
            explored=Explored(
                "How much attention matters to the loss", "gradient of attention to {target}", counted="inputs"
            ),
        ),
        TableColumn("gradient_pooled", "number, loss per unit of attention", "the same as a mean over all weights"),
        TableColumn("attention", "share", "the share of attention to the class"),
        TableColumn("inputs", "count", "inputs that have a token of the class"),
        TableColumn("weights", "count", "weights to the class in one head"),
        TableColumn("loss", "number", "the mean loss, the same in all rows"),
    ),
)

_GRADIENT_UNITS = 2**8
"""Means of gradients are far below 1, so they are counted in these parts of 1, and thus to 2⁻⁴⁰."""

_LOSSES = {
    "mlm": "the masked-LM loss, the mean over masked pieces",
    "hidden": "the squared distance of the final hidden states of masked pieces from those without masks",
}


class Gradients(SurfaceQuestion):
    """How much does a loss depend on attention?"""

    name = "gradients"
    tables = (GRADIENTS,)
    template = Path(__file__).with_name("gradients.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the gradients of the first inputs if the model has what the loss needs."""
        setting, chosen = plan_context.setting, plan_context.chosen
        if chosen.gradients == "none":
            return ()
        obstacle, head = _check_loss(chosen.gradients, setting)
        if obstacle and chosen.gradients != "auto":
            raise ModelError(f"{setting.encoder.name}: {obstacle}")
        if obstacle:
            plan_context.notes.append(f"Gradients were not computed: {obstacle}.")
            return ()
        loss, inputs = _loss(chosen), setting.corpus.sentences[: chosen.gradient_sentences]
        plan_context.asked[self.name] = len(inputs)
        shape = ("n_layers", setting.encoder.n_layers), ("n_heads", setting.encoder.n_heads)
        maker, counting = GradientMaker(loss, head, seed=setting.seed), CountWith(GradientImportance, shape)
        return (Request(f"gradients-{loss}", "gradients", inputs, maker, counting, optional=True),)

    def find(self, counts: Statistics, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table of gradients, and note how it was computed, or why there is none."""
        chosen, facts = counts.options[SurfaceOptions], counts.facts
        for failure in (counts.failures.get(name) for name in facts.requests.get(self.name, ())):
            if isinstance(failure, ModelError) and chosen.gradients != "auto":
                raise failure
            if failure is not None:
                counts.notes.append(f"Gradients were not computed: {failure}.")
                return None
        for metric in counts.metrics_of(self.name, GradientImportance):
            read, asked = int(metric.total), facts.asked[self.name]
            number = f"{read:,}" if read == asked else f"{read:,} of the first {asked:,}"
            counts.notes.append(
                f"Gradients are those of {_LOSSES[_loss(chosen)]}, on {number} {facts.unit} with 15 % of the pieces "
                "masked; always of attention weights, whatever the map."
            )
            return metric.compute()
        return None

    def frames(self, answer: pd.DataFrame, results: SurfaceResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {GRADIENTS.name: answer}

    def summary(self, answer: pd.DataFrame, results: SurfaceResults) -> Mapping[str, Any]:
        """Return the table."""
        return {GRADIENTS.name: records(answer)}

    def show(self, answer: pd.DataFrame, results: SurfaceResults) -> Sequence[ShownTable]:
        """Return the gradients and the attention by layer."""
        return (_by_layer(answer, results.specials),)

    def draw(self, answer: pd.DataFrame, results: SurfaceResults, title: str) -> Mapping[str, Figure]:
        """Draw the gradients beside the attention."""
        return {"surface_gradients": gradients_figure(answer, results.specials, title=title)}

    def values(self, answer: pd.DataFrame, results: SurfaceResults) -> Mapping[str, Any]:
        """Return the mean loss and the number of inputs."""
        mean_loss = float(answer["loss"].iloc[0])  # all rows have the same
        return {"gradients": {"loss": mean_loss, "inputs": int(answer["inputs"].max())}}

    def explore(self, answer: pd.DataFrame, counts: Statistics, results: SurfaceResults, kind: str) -> Contribution:
        """Add the gradients of all heads."""
        return Contribution(measures=tuple(_measures(answer, results.specials)))


class GradientImportance(ExactMetric):
    """Mean |∂L/∂α| per layer, head and class of the token attended to, with the attention that goes there."""

    # Attention is a no-op where it is large and its gradient is small: a change of such weights would not change the
    # loss.

    macro: Int[Tensor, "2 layers heads classes"]  # the means of inputs, of gradients and of attention, added up
    pooled: Int[Tensor, "layers heads classes"]  # the gradients of all weights, added up
    inputs: Int[Tensor, " classes"]  # the number of inputs that have the class
    weights: Int[Tensor, " classes"]  # the number of attention weights to the class
    total: Int[Tensor, ""]
    loss: Int[Tensor, ""]

    def __init__(self, n_layers: int, n_heads: int) -> None:
        super().__init__()
        self.n_layers, self.n_heads = n_layers, n_heads
        shape = (n_layers, n_heads, len(TOKEN_CLASSES))
        self.add_state("macro", torch.zeros(2, *shape, dtype=torch.int64), "sum")  # of gradients, of attention
        self.add_state("pooled", torch.zeros(shape, dtype=torch.int64), "sum")
        self.add_state("inputs", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum")
        self.add_state("weights", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum")
        self.add_state("total", torch.tensor(0), "sum")
        self.add_state("loss", torch.tensor(0), "sum")

    def update(self, batch: GradientBatch) -> None:
        """Add a batch of gradients."""
        device = self.macro.device
        classes = batch.classes.to(batch.alpha.device)
        is_token = classes >= 0
        members = functional.one_hot(classes.clamp(min=0), len(TOKEN_CLASSES)) * is_token[..., None]
        # Summed over the cells from any token to those of a class: (batch, layers, heads, classes).
        gradients, attention = (
            torch.einsum("blhij,bi,bjc->blhc", maps, is_token.to(maps.dtype), members.to(maps.dtype))
            .to(device)
            .double()
            for maps in (batch.gradients, batch.alpha)
        )
        lengths, class_sizes = is_token.sum(1).to(device), members.sum(1).to(device)
        cells = class_sizes * lengths[:, None]
        mean_gradients = gradients / cells.clamp(min=1)[:, None, None] * _GRADIENT_UNITS
        mean_attention = attention / lengths[:, None, None, None]
        macro = add_values(self.macro, torch.stack([mean_gradients, mean_attention], dim=1))
        pooled, loss = add_values(self.pooled, gradients), add_values(self.loss, batch.losses)
        # Only now, because any of the sums may be too large, and nothing is then counted.
        self.macro, self.pooled, self.loss = macro, pooled, loss
        self.inputs += (class_sizes > 0).sum(0)
        self.weights += cells.sum(0)
        self.total += len(lengths)

    def compute(self) -> pd.DataFrame:
        """Return a table with one row per layer, head and class that occurs. Layers and heads are 1-based."""
        n_inputs, n_weights, total = self.inputs.tolist(), self.weights.tolist(), int(self.total)
        gradients_of_inputs, attention_of_inputs = floating(self.macro.cpu()).numpy()
        gradients_of_weights, loss = floating(self.pooled.cpu()).numpy(), float(floating(self.loss.cpu()))
        return pd.DataFrame(
            {
                "layer": layer + 1,
                "head": head + 1,
                "class": name,
                "gradient": gradients_of_inputs[layer, head, index] / _GRADIENT_UNITS / n_inputs[index],
                "gradient_pooled": gradients_of_weights[layer, head, index] / n_weights[index],
                # Inputs without the class count as well, because no attention goes there.
                "attention": attention_of_inputs[layer, head, index] / total,
                "inputs": n_inputs[index],
                "weights": n_weights[index],
                "loss": loss / total,
            }
            for layer in range(self.n_layers)
            for head in range(self.n_heads)
            for index, name in enumerate(TOKEN_CLASSES)
            if n_inputs[index]
        )


def _loss(options: SurfaceOptions) -> Literal["mlm", "hidden"]:
    """Return the loss whose gradients are taken."""
    return "hidden" if options.gradients == "hidden" else "mlm"


def _check_loss(loss: str, setting: Setting) -> tuple[str, Any]:
    """Return the reason why the gradients of a loss cannot be computed, and the masked-LM head if the loss needs it."""
    if setting.encoder.tokenizer.mask_token_id is None:
        return "this tokenizer has no mask token, and the loss is that of masked pieces", None
    if loss == "hidden":
        return "", None
    head = setting.load_masked_lm()
    if head is not None:
        return "", head
    return (
        "this checkpoint has no masked-LM head, which the loss of the paper needs. --gradients hidden uses "
        "another loss, how far masking moves the final hidden states"
    ), None


def _by_layer(gradients: pd.DataFrame, specials: Mapping[str, str]) -> ShownTable:
    """Return the gradient of, and the attention to, each class of tokens by layer, as means over heads."""
    names = class_names(specials)
    classes = list(dict.fromkeys(gradients["class"]))
    means = gradients.groupby(["layer", "class"], as_index=False)[["gradient", "attention"]].mean()
    rows: dict[int, dict[str, Any]] = {}
    for mean in rows_of(means):
        row = rows.setdefault(mean["layer"], {"layer": mean["layer"]})
        row |= {f"{measure}:{mean['class']}": mean[measure] for measure in ("gradient", "attention")}
    columns = [
        TableColumn("layer", "number from 1", "", "layer"),
        *(_gradient_column(name, names.get(name, name)) for name in classes),
        *(TableColumn(f"attention:{name}", "share", "", f"α {names.get(name, name)}") for name in classes),
    ]
    return ShownTable("surface_gradients", "Gradients and attention by class of tokens", columns, list(rows.values()))


def _gradient_column(name: str, shown_name: str) -> TableColumn:
    return TableColumn("", "number", "", f"|∂L/∂α| {shown_name}", cell=lambda row: f"{row[f'gradient:{name}']:.1e}")


def _measures(gradients: pd.DataFrame, specials: Mapping[str, str]) -> Iterator[Measure]:
    """Yield the gradients of all heads for each class of tokens."""
    names = class_names(specials)
    for name, heads in gradients.groupby("class", sort=False):
        target = names.get(str(name), str(name))
        yield from head_measures(GRADIENTS, heads, partial(measure_id, about=str(name)), {"target": target})


@with_style
def gradients_figure(gradients: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """Draw how much the loss depends on attention, and beside it where attention goes, by layer (mean over heads)."""
    names = class_names(specials)
    figure, ((left, right),) = panels(TEXT, 2.6, columns=2)
    for name, group in gradients.groupby("class", sort=False):
        means = group.groupby("layer")[["gradient", "attention"]].mean()
        for axes, values in ((left, means["gradient"]), (right, means["attention"] * 100)):
            layer_line(axes, values, *CLASSES[str(name)], names.get(str(name), str(name)))
    left.set_yscale("log")
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    right.set_ylim(bottom=0)
    by_layer(left, gradients["layer"], "mean |∂L/∂α|, per weight")
    by_layer(right, gradients["layer"], "share of attention (%)")
    finish(figure, left, title)
    return figure
