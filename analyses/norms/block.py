"""Which pairs does the feed-forward network amplify, and what lies behind its changes? (Kobayashi et al. 2024, §4.2)

*RES overwrites.* What the feed-forward network computes is small beside what the residual connection adds to it, or it
points elsewhere. Norms and angles are counted on fixed grids, so that parts of a corpus add up exactly. Quantiles are
those of the tokens up to half a step: 0.4 % of a norm, an eighth of a degree.

*LN shrinks outliers.* If a few dimensions make up most of a vector, the map before the layer norm is the map of these
dimensions. The weights γ of the layer norm are small there, so the map after it is another one. Without the largest
dimensions, the layer norm should then change little.

*Which pairs FF amplifies.* In each sentence, these are the hundredth part of the pairs of different pieces, rounded up,
whose cells FF raises most after the rows were divided by their sums. Each pair has one type, the first in the order of
`PAIR_TYPES` that fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import TOKEN_CLASSES, StageBatch
from ...extractors.maps.stage_batch import LEFT_OUT
from ...reports.columns import Schema, TableColumn
from ...reports.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, TEXT, YELLOW, finish, panel, with_style
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..contract import Request
from ..counting.counting import Counting
from ..counting.exact_sums import ExactMetric, ExactSumError, add_values, floating
from ..counting.metric import Metric
from ..shared.grid import OctaveGrid
from .feed_forward import map_changes, mean_changes, raised_shares
from .rows import NormCounts, NormQuestion, NormResults, PlanContext

PAIRS = Schema(
    "norms_pairs",
    "One row per layer, type of pair and relation: which pairs of tokens the feed-forward network amplifies.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("type", "text", "the type of the pair", "type"),
        TableColumn("relation", "text", "the relation, if one word is the head of the other", "relation"),
        TableColumn("amplified", "count", "pairs of the type among those that are amplified most", "amplified"),
        TableColumn("share", "share", "their share of those that are amplified most", "of amplified"),
        TableColumn("pairs", "count", "pairs of the type", "pairs"),
        TableColumn("share_of_all", "share", "their share of all pairs", "of all pairs"),
    ),
)

PAIR_TYPES = ("special token", "pieces of a word", "same form", "punctuation", "relation", "adjacent", "other")
"""The types of pairs: one of both is a special token; both are pieces of one word; their words are equal but for case;
one of both is punctuation; one word is the head of the other; their words are neighbors; none of these."""

_NORMS = OctaveGrid(-10, 14, steps=128)
_DEGREES = 720
"""The number of steps of angles from 0 to 180°."""

_SPECIAL = [TOKEN_CLASSES.index(name) for name in ("[CLS]", "[SEP]")]

_TYPES = dict(zip(PAIR_TYPES, (ORANGE, BLUE, SKY, GREEN, PURPLE, YELLOW, GREY), strict=True))
_SHOWN_RELATIONS = 10


class BlockTables(NamedTuple):
    """The results of `FeedForwardBlock`. Layers and ranks are 1-based; dimensions are 0-based, as in the weights."""

    overwriting: pd.DataFrame  # columns layer, quantity, median, low, high, tokens
    dimensions: pd.DataFrame  # columns layer, rank, dimension, size, median_size, gamma, median_gamma
    left_out: pd.DataFrame  # columns layer, left_out, change, sentences
    pairs: pd.DataFrame  # columns layer, type, relation, amplified, share, pairs, share_of_all


class Block(NormQuestion):
    """Which types of pairs does the feed-forward network amplify?"""

    name = "block"
    tables = (PAIRS,)
    template = Path(__file__).with_name("block.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Follow the first sentences through the block."""
        setting = plan_context.setting
        return plan_context.stages("block", CountBlock(setting.encoder.n_layers, tuple(setting.corpus.relations)))

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> BlockTables | None:
        """Return all that is known of the block, also what other questions show."""
        for metric in counts.metrics_of(self.name, FeedForwardBlock):
            return metric.compute()
        return None

    def frames(self, answer: BlockTables, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return the pairs."""
        return {PAIRS.name: answer.pairs}

    def show(self, answer: BlockTables, results: NormResults) -> Sequence[ShownTable]:
        """Return the types of pairs, and relations."""
        return _pairs(answer.pairs), _relations(answer.pairs)

    def draw(self, answer: BlockTables, results: NormResults, title: str) -> Mapping[str, Figure]:
        """Draw the types of pairs by layer."""
        return {"norms_pairs": pairs_figure(answer.pairs, title=title)} if len(answer.pairs) else {}


class FeedForwardBlock(ExactMetric):
    """How large FF and the residual are, what outlier dimensions do in LN, and which pairs FF amplifies."""

    inventory = "relations"
    norms: Int[Tensor, "layers 2 cells"]  # of what FF computes, and of the residual
    angles: Int[Tensor, "layers degrees"]
    sizes: Int[Tensor, "layers dim"]
    gammas: Float[Tensor, "layers dim"]  # the same in all parts
    changes: Int[Tensor, "layers counts"]  # by LN, summed over sentences, with all dimensions and without the largest
    changed: Int[Tensor, "layers counts"]  # the number of sentences for which the change is defined
    pairs: Int[Tensor, "layers 2 types"]  # of the pairs that are amplified most, and of all pairs
    sentences: Int[Tensor, ""]

    def __init__(self, n_layers: int, components: Sequence[str], dim: int, relations: Sequence[str]) -> None:
        super().__init__()
        self.components, self.relations = tuple(components), tuple(relations)
        counts = torch.zeros(n_layers, 1 + len(LEFT_OUT), dtype=torch.int64)
        self.add_state("norms", torch.zeros(n_layers, 2, len(_NORMS), dtype=torch.int64), "sum")
        self.add_state("angles", torch.zeros(n_layers, _DEGREES, dtype=torch.int64), "sum")
        self.add_state("sizes", torch.zeros(n_layers, dim, dtype=torch.int64), "sum")
        self.add_state("gammas", torch.full((n_layers, dim), -torch.inf, dtype=torch.float64), "max")
        self.add_state("changes", counts, "sum")
        self.add_state("changed", counts.clone(), "sum")
        # Pairs with a relation are counted behind the types, relation by relation.
        types = len(PAIR_TYPES) + len(self.relations)
        self.add_state("pairs", torch.zeros(n_layers, 2, types, dtype=torch.int64), "sum")
        self.add_state("sentences", torch.tensor(0), "sum")

    def absorb(self, other: FeedForwardBlock) -> None:
        """Add the counts of another corpus, whose relations are among those of this metric."""
        n_types = len(PAIR_TYPES)
        pairs = self.pairs.new_zeros(self.pairs.shape)
        pairs[..., :n_types] = other.pairs[..., :n_types]
        places = [n_types + self.relations.index(relation) for relation in other.relations]
        pairs[..., places] = other.pairs[..., n_types:]
        self.merge_state({**other.metric_state, "pairs": pairs})

    def update(self, batch: StageBatch) -> None:
        """Add a batch. Sentences of a single piece have no pairs."""
        if not bool(batch.maps.isfinite().all()):
            raise ExactSumError("a norm is not finite")
        device = self.norms.device
        is_token = (batch.classes >= 0).cpu()
        for layer in range(len(self.norms)):
            for index, norms in enumerate((batch.ff_norms, batch.residual_norms)):
                norm_cells = _NORMS.cells(norms[:, layer].cpu()[is_token])
                self.norms[layer, index] += torch.bincount(norm_cells, minlength=len(_NORMS)).to(device)
            angles = batch.angles[:, layer].cpu()[is_token]
            angle_cells = (angles * (_DEGREES / 180)).long().clamp(max=_DEGREES - 1)
            self.angles[layer] += torch.bincount(angle_cells, minlength=_DEGREES).to(device)
        self.sizes = add_values(self.sizes, batch.sizes.cpu())
        self.gammas = torch.maximum(self.gammas, batch.gammas.to(self.gammas))
        self.sentences += len(batch.lengths)
        for row, length in enumerate(batch.lengths.tolist()):
            if length > 1:
                maps = batch.maps[row, :, :, :length, :length].cpu().double()
                without = batch.without[row, :, :, :, :length, :length].cpu().double()
                self._add_changes(maps, without)
                self._add_pairs(maps, self._types(batch, row, length))

    def _add_changes(self, maps: Float[Tensor, "layers stages n n"], without: Float[Tensor, "layers k 2 n n"]) -> None:
        """Add how far LN changes the maps of a sentence, with all dimensions and without the largest."""
        ln = self.components.index("LN")
        before_and_after = torch.cat([maps[:, None, ln : ln + 2], without], dim=1).flatten(0, 1)
        changes = torch.from_numpy(map_changes(before_and_after.numpy())[:, 0]).view_as(self.changes)
        is_defined = changes.isfinite()
        self.changes = add_values(self.changes, torch.where(is_defined, changes, 0)[None])
        self.changed += is_defined.to(self.changed.device)

    def _add_pairs(self, maps: Float[Tensor, "layers stages n n"], types: Int[Tensor, "n n"]) -> None:
        """Count the types of the pairs of a sentence, those that FF amplifies most and all."""
        raised = raised_shares(maps, self.components.index("FF"))
        for layer in range(len(maps)):
            # Pairs that cannot see each other have no cell before or after FF.
            is_pair = maps[layer].sum(0).fill_diagonal_(0) > 0
            increases = raised[layer][is_pair].numpy()
            types_of_pairs = types[is_pair]
            n_most = -(-len(increases) // 100)  # one pair in a hundred, rounded up
            most_raised = np.argsort(-increases, kind="stable")[:n_most]
            types_of_amplified = types_of_pairs[most_raised[increases[most_raised] > 0]]
            for index, counted_types in enumerate((types_of_amplified, types_of_pairs)):
                counts = torch.bincount(counted_types, minlength=self.pairs.shape[-1])
                self.pairs[layer, index] += counts.to(self.pairs.device)

    def _types(self, batch: StageBatch, row: int, length: int) -> Int[Tensor, "n n"]:
        """Return the index of the type of all pairs of pieces; those of relations come after all others."""
        sentence = batch.sentences[row]
        words = batch.words[row, :length].numpy()  # the index of the word of each piece
        classes = batch.classes[row, :length].cpu().numpy()
        special = np.isin(classes, _SPECIAL)
        punctuation = classes == TOKEN_CLASSES.index("punctuation")
        # Equal words have equal numbers. A sentence may have no words.
        forms_of_words = np.unique([word.casefold() for word in sentence.words] or [""], return_inverse=True)[1]
        forms = np.where(special, -1, forms_of_words[words])
        relations = np.full((length, length), -1)
        if sentence.heads:
            relations = self._relations(sentence)[np.ix_(words, words)]
        conditions = [  # in the order of `PAIR_TYPES`; the first that is met decides
            special[:, None] | special,
            words[:, None] == words,
            forms[:, None] == forms,
            punctuation[:, None] | punctuation,
            relations >= 0,
            abs(words[:, None] - words) == 1,
        ]
        types = [np.full_like(relations, index) for index in range(len(conditions))]
        types[PAIR_TYPES.index("relation")] = len(PAIR_TYPES) + relations
        return torch.from_numpy(np.select(conditions, types, PAIR_TYPES.index("other")))

    def _relations(self, sentence: Sentence) -> npt.NDArray[np.int64]:
        """Return the index of the relation of each pair of words, −1 for none."""
        relations = np.full((len(sentence), len(sentence)), -1)
        for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
            if head:  # 1-based, and 0 for the root
                relations[word, head - 1] = relations[head - 1, word] = self.relations.index(relation)
        return relations

    def compute(self) -> BlockTables:
        """Return the tables: on overwriting, large dimensions, changes if these are left out, and pairs of words."""
        sums_of_changes, n_sentences = floating(self.changes.cpu()).numpy(), self.changed.tolist()
        # Changes by the numbers of largest dimensions that are left out: 0 for none, then those of `LEFT_OUT`.
        changes = mean_changes(sums_of_changes, n_sentences, "left_out", (0, *LEFT_OUT))
        return BlockTables(self._overwriting(), self._dimensions(), changes, self._pair_types())

    def _overwriting(self) -> pd.DataFrame:
        """Return the quartiles of the norms of FF and the residual, and of the angle between them, by layer."""
        edges = _NORMS.edges
        # A cell reaches from its edge to the next one. The last cell has no end, so its edge stands for it. The first
        # cell has all norms below the grid, and its middle says no more than that they are small.
        middles = np.append((edges[:-1] + edges[1:]) / 2, edges[-1])
        degrees = (np.arange(_DEGREES) + 0.5) * (180 / _DEGREES)
        rows = []
        layers = zip(self.norms.cpu().numpy(), self.angles.cpu().numpy(), strict=True)
        for layer, (norms, angles) in enumerate(layers, start=1):
            for quantity, counts, values in (
                ("FF", norms[0], middles), ("residual", norms[1], middles), ("angle", angles, degrees),
            ):  # fmt: skip
                if counts.any():
                    # The first value that a quarter, half and three quarters of all counted values do not exceed.
                    below = np.cumsum(counts)
                    low, median, high = (values[np.searchsorted(below, p * below[-1])] for p in (0.25, 0.5, 0.75))
                    rows.append((layer, quantity, median, low, high, int(counts.sum())))
        return pd.DataFrame(rows, columns=["layer", "quantity", "median", "low", "high", "tokens"])

    def _dimensions(self) -> pd.DataFrame:
        """Return the largest dimensions of what LN reads, by layer; none if there are no sentences."""
        count = int(self.sentences)
        rows = []
        if count:
            layers = zip(floating(self.sizes.cpu()).numpy() / count, self.gammas.cpu().numpy(), strict=True)
            for layer, (sizes, gammas) in enumerate(layers, start=1):
                medians = {"median_size": np.median(sizes), "median_gamma": np.median(gammas)}
                for rank, index in enumerate(np.argsort(-sizes, kind="stable")[: max(LEFT_OUT)], start=1):
                    row = {"layer": layer, "rank": rank, "dimension": index}
                    rows.append({**row, "size": sizes[index], "gamma": gammas[index], **medians})
        columns = ["layer", "rank", "dimension", "size", "median_size", "gamma", "median_gamma"]
        return pd.DataFrame(rows, columns=columns)

    def _pair_types(self) -> pd.DataFrame:
        """Return how many pairs have each type and relation, among those that FF amplifies most and all, by layer."""
        types = [(name, "") for name in PAIR_TYPES] + [("relation", relation) for relation in self.relations]
        totals = self.pairs[:, 1].sum(0).tolist()
        # Relations stand where their type stands, frequent ones first: the order of `relations` depends on merges.
        keys = [
            (PAIR_TYPES.index(name), -total if relation else 0, relation)
            for (name, relation), total in zip(types, totals, strict=True)
        ]
        order = sorted(range(len(types)), key=keys.__getitem__)
        rows = []
        for layer, (amplified, pairs) in enumerate(self.pairs.cpu().numpy(), start=1):
            for index in order:
                if pairs[index]:
                    share = amplified[index] / amplified.sum() if amplified.any() else float("nan")
                    share_of_all = pairs[index] / pairs.sum()
                    rows.append((layer, *types[index], int(amplified[index]), share, int(pairs[index]), share_of_all))
        return pd.DataFrame(rows, columns=["layer", "type", "relation", "amplified", "share", "pairs", "share_of_all"])


@dataclass(frozen=True)
class CountBlock(Counting):
    """A factory of the metric, which takes the components and the dimensions from the first batch."""

    n_layers: int
    relations: tuple[str, ...]
    metric: type[Metric] = FeedForwardBlock
    arguments: tuple[tuple[str, Any], ...] = ()

    def arguments_of(self, first: StageBatch) -> dict[str, Any]:
        """Return all arguments of the metric, which are stored with its states."""
        return {
            "n_layers": self.n_layers,
            "components": first.components,
            "dim": first.gammas.shape[1],
            "relations": self.relations,
        }


def _pairs(pairs: pd.DataFrame) -> ShownTable:
    """Return the shares of the types of pairs among those that are amplified most, layer by layer, and among all."""
    sums = pairs.groupby(["layer", "type"], sort=False)[["share", "share_of_all"]].sum(min_count=1).reset_index()
    mean_shares_of_all = sums.groupby("type")["share_of_all"].mean()
    rows = []
    for name in PAIR_TYPES:
        sums_of_type = sums[sums["type"] == name]
        if len(sums_of_type):
            shares = {f"share:{row['layer']}": row["share"] for row in rows_of(sums_of_type)}
            rows.append({"type": name, "share_of_all": float(mean_shares_of_all[name]), **shares})
    columns = [
        TableColumn("type", "text", "", "type of pair"),
        TableColumn("share_of_all", "share", "", "of all pairs"),
        *(TableColumn(f"share:{layer}", "share", "", f"layer {layer}") for layer in dict.fromkeys(sums["layer"])),
    ]
    return ShownTable("norms_pairs", "Types of the pairs that are amplified most (%)", columns, rows)


def _relations(pairs: pd.DataFrame) -> ShownTable:
    """Return the relations that are most frequent among the amplified pairs of all layers."""
    sums = pairs.groupby(["type", "relation"], as_index=False)[["amplified", "pairs"]].sum()
    sums["share"] = sums["amplified"] / sums["amplified"].sum()
    sums["share_of_all"] = sums["pairs"] / sums["pairs"].sum()
    related = sums[(sums["relation"] != "") & (sums["amplified"] > 0)]
    rows = rows_of(related.sort_values(["amplified", "relation"], ascending=[False, True]).head(_SHOWN_RELATIONS))
    columns = [column for column in PAIRS.columns if column.names not in ("layer", "type")]
    return ShownTable("norms_relations", "Relations of pairs that are amplified most, all layers (%)", columns, rows)


@with_style
def pairs_figure(pairs: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the types of the pairs that FF amplifies most, layer by layer, beside those of all pairs."""
    figure, axes = panel(TEXT, 2.8)
    shares = pairs.pivot_table(index="layer", columns="type", values="share", aggfunc="sum").fillna(0)
    shares_of_all = pairs.pivot_table(index="layer", columns="type", values="share_of_all", aggfunc="sum").fillna(0)
    shares.loc[0] = shares_of_all.mean()  # the bar of all pairs, left of the layers
    shares = shares.sort_index()
    bottom = pd.Series(0.0, index=shares.index)
    for name in PAIR_TYPES:
        if name in shares:
            axes.bar(shares.index, shares[name] * 100, bottom=bottom * 100, color=_TYPES[name], width=0.8, label=name)
            bottom += shares[name]
    axes.set_xticks(shares.index, ["all\npairs", *(str(layer) for layer in shares.index[1:])])
    axes.set_xlabel("layer, the pairs that are amplified most")
    axes.set_ylabel("share of pairs (%)")
    axes.set_ylim(0, 100)
    finish(figure, axes, title)
    return figure
