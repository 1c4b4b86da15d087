"""Which heads matter? The effects of switching off each head, by dependency relation and part of speech."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from scipy.special import stdtrit
from torch import Tensor

from ...corpora_loaders import Sentence, coarse_relation
from ...corpora_loaders.tags import UPOS
from ...reports.columns import HEAD, Schema, TableColumn
from ...reports.drawing import COLUMN, finish, number_ticks, panel, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact
from ...reports.finding import Finding
from ...reports.format import head_name, name_head, number, rows_of, shown_head
from ...reports.shapes import heatmap, signed_heatmap
from ...reports.table import ShownTable
from ...reports.tables import records
from ..contract import Request
from ..counting.counting import CountWith
from ..counting.exact_sums import ExactMetric, add_values, floating
from ..dependency.options import DependencyOptions
from ..shared.measures import address, head_measures
from .effects import EffectBatch
from .rows import (
    DIGITS,
    EFFECT_COLUMNS,
    EFFECTS,
    FEWEST_SENTENCES,
    INTERVALS,
    LABELS,
    AblationQuestion,
    AblationResults,
    Effects,
    PlanContext,
    effect_bounds,
)  # fmt: skip
from .rows import HEADS as NAME

EVERY = ("all", "all")

Values = npt.NDArray[np.float64]

LARGEST = (
    *("effect", "sentences", "layer", "head", "rival_layer", "rival_head"),
    *("lead", "lead_low", "lead_high"),
)
"""The columns of the table of the heads with the largest effects."""

ABLATION = Schema(
    "ablation",
    f"One row per head that was switched off: what changes in the model. {INTERVALS}",
    (
        HEAD,
        *EFFECT_COLUMNS,
        TableColumn(
            "importance",
            "number",
            "the mean over sentences of |Σ z · ∂L/∂z|, where z is what the head gives and L the loss (Michel et al. "
            "2019); only with a language-model head",
        ),
    ),
)

GROUPS = Schema(
    "ablation_groups",
    "One row per head and group of words: those of each dependency relation and of each part of speech of Universal "
    "Dependencies that occurs.",
    (
        TableColumn("by", "text", "`all`, `relation` or `tag`"),
        TableColumn("group", "text", "the relation or part of speech; `all` for all words"),
        HEAD,
        TableColumn("total", "count", "words of the group"),
        TableColumn("predicted", "count", "masked pieces or words that are predicted; only with a language-model head"),
        TableColumn("sentences predicted_sentences", "count", "sentences with such words, and with such predictions"),
        *EFFECT_COLUMNS,
    ),
)


class HeadTables(NamedTuple):
    """The answer: the effects of each head, and which one has the largest."""

    heads: pd.DataFrame  # on all words
    groups: pd.DataFrame  # by relation and part of speech
    largest: pd.DataFrame  # one row per effect, with the head that has the largest one, and its closest rival
    cells: pd.DataFrame  # all of these effects, with the differences from the other heads of the layer


class Heads(AblationQuestion):
    """Which heads matter?"""

    name = NAME
    tables = (ABLATION, GROUPS)
    template = Path(__file__).with_name("heads.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the effects on final vectors, and on predictions if the model has a language-model head."""
        corpus = plan_context.setting.corpus
        for outputs, maker in plan_context.makers.items():
            arguments = {
                "heads": plan_context.heads,
                "relations": tuple(corpus.relations),
                "measures": maker.measures,
                "coarse": plan_context.options[DependencyOptions].coarse,
            }
            counting = CountWith(HeadEffects, tuple(arguments.items()))
            label, passes = f"ablation of {outputs}", maker.forward_passes
            yield Request(f"ablation-{outputs}", label, corpus, maker, counting, further_passes=passes)

    def find(self, counts: Effects, lookups: Any, earlier: Mapping[str, Any]) -> HeadTables:
        """Return the tables of the effects on vectors and, if there are any, on predictions."""
        return head_tables(counts.metrics_of(self.name, HeadEffects))

    def frames(self, answer: HeadTables, results: AblationResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {ABLATION.name: answer.heads, GROUPS.name: answer.groups}

    def summary(self, answer: HeadTables, results: AblationResults) -> Mapping[str, Any]:
        """Return the effects of each head on all words."""
        return {ABLATION.name: records(answer.heads)}

    def show(self, answer: HeadTables, results: AblationResults) -> Sequence[ShownTable]:
        """Return the heads with the largest effects."""
        return (heads_table(results),)

    def draw(self, answer: HeadTables, results: AblationResults, title: str) -> Mapping[str, Figure]:
        """Draw the effect of every head."""
        return {"ablation_heads": heads_figure(answer.heads, results.effect, title=title)}

    def values(self, answer: HeadTables, results: AblationResults) -> Mapping[str, Any]:
        """Return the notes."""
        return {"notes": results.remarks}

    def explore(self, answer: HeadTables, counts: Effects, results: AblationResults, kind: str) -> Contribution:
        """Add the effects as measures, unless some heads were left out, and the head that matters most."""
        return explored_heads(results, complete=counts.complete)


class MeanEffects(NamedTuple):
    """Mean effects with their 95 % intervals, each of shape (groups, heads, measures); NaN for groups without words."""

    # difference, difference_low, difference_high: those of a head minus the mean of the other heads of its layer that
    # are switched off; NaN where there are none.

    mean: Values
    low: Values
    high: Values
    difference: Values
    difference_low: Values
    difference_high: Values
    items: npt.NDArray[np.int64]  # the number of words, or of predictions, of each group, shape (groups,)
    sentences: npt.NDArray[np.int64]  # in how many sentences these are, shape (groups,)


class HeadEffects(ExactMetric):
    """The sums of the effects of each head over all words, those of each relation, and of each part of speech."""

    inventory = "relations"
    # The last two dimensions are effect and difference, and the sums over sentences of x, x² and x · n, where x is
    # the sum over the words of a sentence and n their number.
    sums: Int[Tensor, "groups heads measures 2 3"]
    items: Int[Tensor, "groups 3"]  # the sums over sentences of n, of n², and of 1
    pairs: Int[Tensor, "measures heads heads"]  # the sums over sentences of the products of x of two heads
    importance: Int[Tensor, " heads"]
    inputs: Int[Tensor, ""]

    def __init__(
        self, heads: Sequence[Sequence[int]], relations: Sequence[str], measures: Sequence[str], *, coarse: bool = False
    ) -> None:
        super().__init__()
        self.heads = [(layer, head) for layer, head in heads]
        self.measures = list(measures)
        self._group_of_relation = coarse_relation if coarse else str
        names = sorted({self._group_of_relation(relation) for relation in relations})
        # Words with tags that are not those of Universal Dependencies count among all words alone.
        self.groups = [EVERY, *(("relation", name) for name in names), *(("tag", name) for name in sorted(UPOS))]
        self._index = {group: index for index, group in enumerate(self.groups)}
        layers = torch.tensor([layer for layer, _ in self.heads])
        # Whether the head of the column is another head of the same layer as that of the row.
        self._others = (layers[:, None] == layers) & ~torch.eye(len(layers), dtype=torch.bool)
        groups, heads_off = len(self.groups), len(self.heads)
        self.add_state("sums", torch.zeros(groups, heads_off, len(self.measures), 2, 3, dtype=torch.int64), "sum")
        self.add_state("items", torch.zeros(groups, 3, dtype=torch.int64), "sum")
        no_pairs = torch.zeros(len(self.measures), heads_off, heads_off, dtype=torch.int64)
        self.add_state("pairs", no_pairs, "sum", since="attentionology 0.4")
        self.add_state("importance", torch.zeros(heads_off, dtype=torch.int64), "sum")
        self.add_state("inputs", torch.zeros((), dtype=torch.int64), "sum")

    def update(self, batch: EffectBatch) -> None:
        """Add the effects in a batch."""
        for index, sentence in enumerate(batch.sentences):
            in_sentence = batch.sentence == index
            values = batch.values[in_sentence].double()  # noqa: PD011  # no table
            for group, is_member in self._members(sentence, batch.word[in_sentence].tolist()):
                n = int(is_member.sum())
                total = values[is_member].sum(0)  # before `added` rounds, so that a sentence is rounded only once
                x = torch.stack([total, self._differences(total)], dim=-1)  # (heads, measures, 2)
                # A mean over words is the ratio of the sums of x and n. Its variance needs their squares and products.
                self.sums[group] = add_values(self.sums[group], torch.stack([x, x * x, x * n], dim=-1)[None])
                self.items[group] += torch.tensor([n, n * n, 1])
                if group == self._index[EVERY]:
                    by_measure = total.T  # (measures, heads)
                    self.pairs = add_values(self.pairs, (by_measure[:, :, None] * by_measure[:, None])[None])
        if batch.importance is not None:
            self.importance = add_values(self.importance, batch.importance)
            self.inputs += len(batch.sentences)

    def _differences(self, total: Float[Tensor, "heads measures"]) -> Float[Tensor, "heads measures"]:
        """Return the effect of each head minus the mean of the others of its layer; `compute` drops lone heads."""
        is_other = self._others.double()
        return total - is_other @ total / is_other.sum(1, keepdim=True).clamp(min=1)

    def _members(self, sentence: Sentence, words: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
        """Yield the index of each group that has some of the items, and which; ``words`` has the word of each item."""
        if not words:
            return
        membership: dict[int, list[bool]] = {self._index[EVERY]: [True] * len(words)}  # by the index of the group
        for item, word in enumerate(words):
            groups_of_word = []
            if sentence.relations and sentence.heads[word] is not None:
                groups_of_word.append(("relation", self._group_of_relation(sentence.relations[word])))
            if sentence.tags:
                groups_of_word.append(("tag", sentence.tags[word]))
            for group in groups_of_word:
                if group in self._index:
                    membership.setdefault(self._index[group], [False] * len(words))[item] = True
        for index, is_member in membership.items():
            yield index, torch.tensor(is_member)

    def absorb(self, other: HeadEffects) -> None:
        """Add the sums of another part of the text, whose relations may be others, but are all among those here."""
        # Merging refuses sums that are too large, so the other sums are put into a metric with the groups of this one.
        with_these_groups: HeadEffects = self.clone()
        with_these_groups.reset()
        indices = [self._index[group] for group in other.groups]
        with_these_groups.sums[indices], with_these_groups.items[indices] = other.sums, other.items
        for name in ("pairs", "importance", "inputs"):
            setattr(with_these_groups, name, getattr(other, name))
        self.merge_state(with_these_groups)

    def compute(self) -> MeanEffects:
        """Return the mean effects and their intervals."""
        # The last dimension is effect and difference, and before it are groups, heads and measures.
        sums = np.moveaxis(floating(self.sums).numpy(), -1, 0)
        items = self.items.numpy()[..., None, None, None]
        mean, low, high = _means(*sums, *np.moveaxis(items, 1, 0))
        for values in (mean, low, high):  # differences of heads that are alone in their layer
            values[:, ~self._others.any(1).numpy(), :, 1] = np.nan
        own = mean[..., 0], low[..., 0], high[..., 0]
        differences = mean[..., 1], low[..., 1], high[..., 1]
        return MeanEffects(*own, *differences, self.items[:, 0].numpy(), self.items[:, 2].numpy())

    def leads(self, head: int, measure: int) -> tuple[Values, Values, Values]:
        """Return by how much the effect of a head on all words is larger than that of each head, with the intervals.

        The intervals are those of differences within sentences, and NaN in runs without products of pairs.
        """
        every = self._index[EVERY]
        x, squares, products = floating(self.sums[every, :, measure, 0]).numpy().T  # each of them (heads,)
        # The interval needs the products, without which it is NaN.
        both = floating(self.pairs[measure, head]).numpy() if self.was_counted("pairs") else np.full_like(x, np.nan)
        return _means(
            x[head] - x, squares[head] + squares - 2 * both, products[head] - products, *self.items[every].numpy()
        )

    def mean_importance(self) -> Values | None:
        """Return the mean over sentences of |z · ∂L/∂z| of each head; None if nothing was predicted."""
        return floating(self.importance).numpy() / int(self.inputs) if int(self.inputs) else None


def _means(
    x: Values, squares: Values, products: Values, n: Any, n_squares: Any, sentences: Any
) -> tuple[Values, Values, Values]:
    """Return means over words or predictions with their 95 % intervals, which are NaN for a single sentence.

    The arguments are sums over sentences: of x, x² and x · n, where x is the sum over the words of a sentence and n
    their number, and of n, n² and 1.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = x / n
        # The linearized variance of the ratio of two totals over sentences (Cochran 1977, section 6.4).
        spread = squares - 2 * mean * products + mean * mean * n_squares
        error = np.sqrt(np.maximum(spread, 0) * sentences / (sentences - 1)) / n
    error[~np.isfinite(error)] = np.nan
    # With few sentences, the standard error is itself uncertain, as Student's t takes into account.
    margin = stdtrit(np.maximum(sentences - 1, 1), 0.975) * error
    return mean, mean - margin, mean + margin


def head_tables(metrics: Sequence[HeadEffects]) -> HeadTables:
    """Make the tables of the effects on vectors and, if there are any, on predictions."""
    frames = [_effects_frame(metric) for metric in metrics]
    keys = ["by", "group", "layer", "head"]
    cells = frames[0].rename(columns={"items": "total"})
    for frame in frames[1:]:
        frame = frame.rename(columns={"items": "predicted", "sentences": "predicted_sentences"})
        cells = cells.merge(frame, on=keys, how="left")
    heads = cells[(cells["by"] == EVERY[0]) & (cells["group"] == EVERY[1])]
    importance = metrics[-1].mean_importance()  # the last metric is that of predictions, if they were measured
    if importance is not None:
        heads = heads.assign(importance=importance)
    largest = [
        {"effect": measure, **_find_largest(metric, index)}
        for metric in metrics
        for index, measure in enumerate(metric.measures)
    ]
    return HeadTables(
        _select_columns(heads, ABLATION.names),
        _select_columns(cells, GROUPS.names),
        pd.DataFrame(largest, columns=LARGEST),
        cells,
    )


def _select_columns(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return those of the columns that the table has, in their order."""
    return table[[name for name in names if name in table]].reset_index(drop=True)


def _effects_frame(metric: HeadEffects) -> pd.DataFrame:
    """Return the effects with the differences from other heads, one row per group that occurs and head."""
    effects = metric.compute()
    by_ending = {  # each array has the shape (groups, heads, measures)
        "": effects.mean,
        "_low": effects.low,
        "_high": effects.high,
        "_difference": effects.difference,
        "_difference_low": effects.difference_low,
        "_difference_high": effects.difference_high,
    }
    rows = []
    for at_group, (by, group) in enumerate(metric.groups):
        if items := effects.items[at_group]:
            counts = {"items": items, "sentences": effects.sentences[at_group]}
            for at_head, (layer, head) in enumerate(metric.heads):
                row = {"by": by, "group": group, "layer": layer + 1, "head": head + 1, **counts}
                for at_measure, measure in enumerate(metric.measures):
                    place = at_group, at_head, at_measure
                    row |= {f"{measure}{ending}": values[place] for ending, values in by_ending.items()}
                rows.append(row)
    effect_columns = [f"{measure}{ending}" for measure in metric.measures for ending in by_ending]
    return pd.DataFrame(rows, columns=["by", "group", "layer", "head", "items", "sentences", *effect_columns])


def _find_largest(metric: HeadEffects, measure: int) -> dict[str, Any]:
    """Return the head with the largest effect on all words, and the head that comes closest to it."""
    effects = metric.compute()
    values, sentences = effects.mean[0, :, measure], int(effects.sentences[0])
    largest = int(np.argmax(values))
    layer, head = metric.heads[largest]
    found: dict[str, Any] = {"sentences": sentences, "layer": layer + 1, "head": head + 1}
    lead, low, high = metric.leads(largest, measure)
    # Where there are no paired intervals, the end of each head's own interval takes their place.
    closeness = np.where(np.isnan(low), effects.high[0, :, measure], -low)
    closeness[largest] = -np.inf
    if len(values) > 1 and not np.isnan(closeness).any():
        rival = int(np.argmax(closeness))
        layer, head = metric.heads[rival]
        found |= {"rival_layer": layer + 1, "rival_head": head + 1}
        found |= {"lead": lead[rival], "lead_low": low[rival], "lead_high": high[rival]}
    return found


def heads_table(results: AblationResults) -> ShownTable:
    """Return the heads with the largest effects."""
    effect, heads = results.effect, results.tables.heads

    columns = [
        TableColumn("layer head", "number from 1", "", "head", cell=shown_head),
        TableColumn(effect, "number", "", EFFECTS[effect], digits=DIGITS, beside=effect_bounds(effect)),
        *([TableColumn("cosine", "number", "", EFFECTS["cosine"], digits=DIGITS)] if effect != "cosine" else []),
        *([TableColumn("importance", "number", "", "importance", digits=4)] if "importance" in heads else []),
    ]
    top = heads.sort_values(effect, ascending=False, kind="stable").head(10)
    return ShownTable("ablation_heads", "The heads that matter most", columns, rows_of(top), notes=results.remarks)


def largest_effect(results: AblationResults) -> str:
    """Say which head matters most, or that this was not shown; empty for a single head and for too few sentences."""
    row, effect = results.lead, results.effect
    if row["sentences"] < FEWEST_SENTENCES or pd.isna(row["lead"]):
        return ""
    of_heads = {(each["layer"], each["head"]): each for each in rows_of(results.tables.heads)}
    top, rival = (of_heads[int(row[f"{of}layer"]), int(row[f"{of}head"])] for of in ("", "rival_"))
    value = f"{number(top[effect], DIGITS)} {effect_bounds(effect)(top)} ({EFFECTS[effect]})"
    lead = f"{number(row['lead'], DIGITS)} {effect_bounds('lead')(row)}".strip()
    doubts = []
    if top[f"{effect}_low"] <= 0:
        doubts.append("its interval contains 0")
    # Without the paired interval, that of one head has to be above that of the other.
    least_lead = row["lead_low"] if not pd.isna(row["lead_low"]) else top[f"{effect}_low"] - rival[f"{effect}_high"]
    if least_lead <= 0:
        doubts.append(f"that of {name_head(rival)} may be as large (difference {lead})")
    if doubts:
        return (
            f"{value} is the largest effect of switching off a head, that of {name_head(top)}, but it was not shown "
            f"that this head changes most: {', and '.join(doubts)}."
        )
    return (
        f"{value} is the effect of switching off {name_head(top)}, which changes most: {lead} more than "
        f"{name_head(rival)}."
    )


def explored_heads(results: AblationResults, *, complete: bool) -> Contribution:
    """Return the effects as measures, unless some heads were left out, and the head that matters most."""
    heads = results.tables.heads
    measures = tuple(head_measures(ABLATION, heads, "ablation/{}".format)) if complete else ()
    measure_id = f"ablation/{results.effect}" if complete else None
    facts = {}
    for row in rows_of(heads):
        text = f"{EFFECTS[results.effect]}: {number(row[results.effect], DIGITS)}"
        facts[head_name(row["layer"], row["head"])] = (Fact("without it", text, measure_id),)
    text = largest_effect(results)
    findings = (Finding(text, address(head=name_head(results.lead), measure=measure_id)),) if text else ()
    return Contribution(measures, findings, facts=facts)


@with_style
def heads_figure(heads: pd.DataFrame, effect: str, *, title: str = "") -> Figure:
    """Draw the effect of every head as a heatmap: layers are rows, the first on top, and heads are columns."""
    values = heads.pivot_table(effect, "layer", "head", dropna=False)
    values = values.reindex(index=range(1, heads["layer"].max() + 1), columns=range(1, heads["head"].max() + 1))
    figure, axes = panel(COLUMN, 2.6)
    low, high = float(np.nanmin(values.to_numpy())), float(np.nanmax(values.to_numpy()))
    image = signed_heatmap(axes, values, max(-low, high)) if low < 0 else heatmap(axes, values, 0.0, high)
    number_ticks(axes.xaxis, values.shape[1])
    number_ticks(axes.yaxis, values.shape[0])
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    figure.colorbar(image, ax=axes, label=LABELS[effect])
    finish(figure, axes, title)
    return figure
