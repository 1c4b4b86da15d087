"""What does the feed-forward block change in the mixing of context? (Kobayashi et al. 2024)

A map after the feed-forward network has other sizes than the map before it, so values cannot be compared directly. The
change is therefore a change of ranks, 1 − Spearman's ρ over all cells. For pairs of tokens, rows are divided by their
sums, so that shares are compared with shares.

The most amplified pairs are kept while the corpus is read. Amplifications are stored as whole numbers of 2⁻⁵⁰ beside
the hash of the sentence's id and the two positions; equal amplifications are ordered by these. The pairs that are kept
then do not depend on the order in which sentences are read or parts are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from scipy.stats import rankdata
from torch import Tensor

from ...extractors import ExtractionError, SharedBatch, StageBatch
from ...reports.columns import Schema, TableColumn
from ...reports.drawing import BLACK, BLUE, COLUMN, GREEN, PURPLE, by_layer, finish, layer_line, panel, with_style
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ...storage.writing import running_text
from ..contract import Reader, Request
from ..counting.counting import Counting
from ..counting.exact_sums import ExactMetric, ExactSumError, add_values, floating
from ..counting.metric import Metric
from ..counting.resampling import sentence_keys
from .rows import LookupContext, NormCounts, NormQuestion, NormResults, OfLayers, PlanContext, wide_by_layer

CHANGE = Schema(
    "norms_change",
    "One row per layer and component of the feed-forward block.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("component", "text", "`FF`, `RES`, `LN`, or `FFB` for all three"),
        TableColumn("change", "number, 0 to 2", "1 − Spearman's ρ between the maps before and after"),
        TableColumn("sentences", "count", "sentences for which it is defined"),
    ),
)

AMPLIFIED = Schema(
    "norms_amplified",
    "One row per layer and rank: the pairs of tokens that the feed-forward network amplifies most.",
    (
        TableColumn("layer", "number from 1", "the layer", "layer"),
        TableColumn("rank", "number from 1", "the rank of the pair in the layer", "rank"),
        TableColumn("from", "text", "the piece that attends", "from"),
        TableColumn("to", "text", "the piece that it attends to", "to"),
        TableColumn(
            "amplification",
            "points",
            "the cell of the row-normalized map after the network minus that before",
            "amplification",
        ),
        TableColumn("from_position to_position", "number from 1", "the positions of these pieces in the input"),
        TableColumn("sentence_id", "text", "the id of the sentence", "sentence"),
        TableColumn("text", "text", "its words", "text", wraps=True),
    ),
)

WHOLE_BLOCK = "FFB"
_FIXED_POINT = 2**50

_SHOWN_PAIRS = 5
_COMPONENTS = {"FF": (BLUE, "o"), "RES": (GREEN, "^"), "LN": (PURPLE, "D"), "FFB": (BLACK, "s")}


class FeedForwardTables(NamedTuple):
    """The results of `FeedForwardChange`. Layers and ranks are 1-based."""

    change: pd.DataFrame  # a table with the columns layer, component, change, sentences
    # a table with the columns layer, rank, from, to (0-based pieces), amplification, and key (the hash of the
    # sentence, see `attentionology.analyses.counting.resampling.sentence_keys`)
    amplified: pd.DataFrame


class FeedForward(NormQuestion):
    """What does the feed-forward block change?"""

    name = "feed_forward"
    tables = (CHANGE, AMPLIFIED)
    template = Path(__file__).with_name("feed_forward.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Follow the first sentences through the block."""
        corpus, n_layers = plan_context.setting.corpus, plan_context.setting.encoder.n_layers
        requests = plan_context.stages("stages", CountStages(n_layers))
        for request in requests:
            plan_context.kept[self.name] = {"layers": n_layers}
            n_first = len(request.inputs)
            if n_first < len(corpus):
                plan_context.notes.append(
                    f"What the feed-forward block changes is measured on the first {n_first:,} {corpus.unit}."
                )
        return requests

    def look(self, lookup_context: LookupContext) -> list[dict[str, Any]] | None:
        """Look up the sentences and pieces of the most amplified pairs."""
        tables = self._tables(lookup_context.counts)
        if tables is None:
            return None
        return read_texts(lookup_context.request(self.name), set(tables.amplified["key"].tolist()), lookup_context.read)

    def join(self, lookups: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the sentences of all runs."""
        return list(chain.from_iterable(lookups))

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> FeedForwardTables | None:
        """Return the changes of the maps, and the pairs that are amplified most with their pieces."""
        tables = self._tables(counts)
        return tables and tables._replace(amplified=with_examples(tables.amplified, lookups))

    def frames(self, answer: FeedForwardTables, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {CHANGE.name: answer.change, AMPLIFIED.name: answer.amplified}

    def show(self, answer: FeedForwardTables, results: NormResults) -> Sequence[ShownTable]:
        """Return the changes by layer, and the first pairs."""
        pairs = rows_of(answer.amplified[answer.amplified["rank"] <= _SHOWN_PAIRS])
        return (
            wide_by_layer(answer.change, "component", "change", "Change of the maps, 1 − ρ", name="norms_change"),
            ShownTable("norms_amplified", "Pairs that are amplified most (%)", AMPLIFIED.columns, pairs),
        )

    def by_layer(self, answer: FeedForwardTables) -> OfLayers:
        """Return the changes by the network and by the whole block."""
        rows: dict[int, dict[str, Any]] = {}
        for row in rows_of(answer.change):
            rows.setdefault(row["layer"], {})[row["component"]] = row["change"]
        note = "FF and FFB are the change of the map by the feed-forward network and by the whole block, 1 − ρ."
        return OfLayers([TableColumn(component, "number", "", component) for component in ("FF", "FFB")], rows, note)

    def draw(self, answer: FeedForwardTables, results: NormResults, title: str) -> Mapping[str, Figure]:
        """Draw the changes by layer."""
        return {"norms_change": change_figure(answer.change, title=title)}

    def values(self, answer: FeedForwardTables, results: NormResults) -> Mapping[str, Any]:
        """Return the number of sentences."""
        return {"changed_sentences": int(answer.change["sentences"].iloc[0])}

    def _tables(self, counts: NormCounts) -> FeedForwardTables | None:
        """Return the tables, which are empty if none of the first sentences could be read; None if not asked for."""
        for failure in (counts.failures.get(name) for name in counts.facts.requests.get(self.name, ())):
            if isinstance(failure, ExtractionError):  # no sentence could be read
                return FeedForwardChange(counts.facts.kept[self.name]["layers"], ("FF", "RES", "LN")).compute()
            if failure is not None:
                raise failure
        for metric in counts.metrics_of(self.name, FeedForwardChange):
            return metric.compute()
        return None


class FeedForwardChange(ExactMetric):
    """How far each component of the feed-forward block rearranges the map, and which pairs it amplifies."""

    # `change` is `1 − ρ`, where ρ is Spearman's rank correlation between all cells of the maps before and after a
    # component, as the mean over sentences. The components are FF (the two linear maps and the activation), RES (the
    # residual connection), LN (the layer norm) and FFB (all of them). Cells that are 0 in all maps, which a causal
    # model cannot see, are left out. So are sentences for which ρ is not defined because all cells of a map are
    # equal.
    # `amplified` are the pairs i ≠ j whose cell the FF raises most after the rows of both maps were divided by their
    # sums. (It is not known what the authors divide by.)

    sums: Int[Tensor, "layers components"]
    sentences: Int[Tensor, "layers components"]
    top: Int[Tensor, "layers top 4"]

    def __init__(self, n_layers: int, components: Sequence[str], *, top: int = 20) -> None:
        super().__init__()
        self.n_layers, self.components = n_layers, tuple(components)
        sums = torch.zeros(n_layers, len(components) + 1, dtype=torch.int64)  # the last column is of the whole block
        self.add_state("sums", sums, "sum")
        self.add_state("sentences", sums.clone(), "sum")
        # The four numbers are the amplification in fixed point, the key of the sentence, i, and j. A row that holds no
        # pair yet has an amplification of −1, which no pair can have.
        empty = torch.full((n_layers, top, 4), -_FIXED_POINT, dtype=torch.int64)
        self.add_state("top", empty, _merge_top)

    def update(self, batch: StageBatch) -> None:
        """Add a batch. Sentences of a single piece have no pairs to compare and are not counted."""
        if not bool(batch.maps.isfinite().all()):
            raise ExactSumError("a norm is not finite")
        keys = sentence_keys([sentence.id for sentence in batch.sentences]).view(np.int64)
        ff = self.components.index("FF")
        n_top = self.top.shape[1]
        for index, length in enumerate(batch.lengths.tolist()):
            if length < 2:
                continue
            maps = batch.maps[index, :, :, :length, :length].cpu().double()
            changes = torch.from_numpy(map_changes(maps.numpy()))
            is_defined = changes.isfinite()
            self.sums = add_values(self.sums, torch.where(is_defined, changes, 0)[None])
            self.sentences += is_defined.to(self.sentences.device)
            raised = raised_shares(maps, ff).masked_fill(torch.eye(length, dtype=torch.bool), -1)  # i ≠ j
            amplifications, cells = raised.flatten(1).topk(min(n_top, length * (length - 1)))  # (layers, pairs) each
            in_fixed_point = (amplifications * _FIXED_POINT).round().long()
            key = torch.full_like(cells, int(keys[index]))
            pairs = torch.stack([in_fixed_point, key, cells // length, cells % length], dim=-1)  # i and j of each cell
            self.top = _best(torch.cat([self.top, pairs.to(self.top.device)], dim=1), n_top)

    def compute(self) -> FeedForwardTables:
        """Return the mean changes of the maps, and the pairs that are amplified most."""
        sums, sentences = floating(self.sums.cpu()).numpy(), self.sentences.tolist()
        changes = mean_changes(sums, sentences, "component", (*self.components, WHOLE_BLOCK))
        amplified = [
            {"layer": layer + 1, "rank": rank, "from": i, "to": j, "amplification": value / _FIXED_POINT, "key": key}
            for layer, pairs in enumerate(self.top.tolist())
            for rank, (value, key, i, j) in enumerate(pairs, start=1)
            if value > 0  # rows that no pair has taken hold −1
        ]
        columns = ["layer", "rank", "from", "to", "amplification", "key"]
        return FeedForwardTables(changes, pd.DataFrame(amplified, columns=columns))


def map_changes(maps: Float[np.ndarray, "layers stages n n"]) -> Float[np.ndarray, "layers stages"]:
    """Return ``1 − ρ`` from each stage to the next and, in the last column, from the first to the last."""
    n_layers, n_stages = maps.shape[:2]
    changes = np.full((n_layers, n_stages), np.nan)
    for layer, cells in enumerate(maps.reshape(n_layers, n_stages, -1)):
        seen = (cells > 0).any(0)
        if seen.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                rho = np.corrcoef(rankdata(cells[:, seen], axis=1))
            changes[layer] = 1 - np.append(rho.diagonal(1), rho[0, -1])  # beside the diagonal are neighboring stages
    return changes


def mean_changes(
    sums: Float[np.ndarray, "layers names"], counts: Sequence[Sequence[int]], column: str, names: Sequence[Any]
) -> pd.DataFrame:
    """Return the mean change over sentences by layer and name, NaN without sentences; ``column`` has the names."""
    rows = []
    for layer, (sums_of_layer, counts_of_layer) in enumerate(zip(sums, counts, strict=True), start=1):
        for name, total, count in zip(names, sums_of_layer, counts_of_layer, strict=True):
            change = total / count if count else float("nan")
            rows.append({"layer": layer, column: name, "change": change, "sentences": count})
    return pd.DataFrame(rows)


def raised_shares(maps: Float[Tensor, "layers stages n n"], ff: int) -> Float[Tensor, "layers n n"]:
    """Return by how much the component ``ff`` raises each cell after rows of both maps are divided by their sums."""
    shares = maps[:, ff : ff + 2] / maps[:, ff : ff + 2].sum(-1, keepdim=True)  # before and after the component
    return shares[:, 1] - shares[:, 0]


def _best(pairs: Int[Tensor, "layers candidates 4"], top: int) -> Int[Tensor, "layers top 4"]:
    """Return the most amplified pairs of each layer, equal ones in the order of key and position."""
    best = []
    for candidates in pairs.cpu().numpy():
        value, key, i, j = candidates.T
        best.append(candidates[np.lexsort((j, i, key, -value))[:top]])  # the last one decides first
    return torch.from_numpy(np.stack(best)).to(pairs.device)


def _merge_top(parts: Int[Tensor, "parts layers top 4"]) -> Int[Tensor, "layers top 4"]:
    """Merge the pairs of several parts of a corpus."""
    return _best(torch.cat(list(parts), dim=1), parts.shape[2])


def with_examples(amplified: pd.DataFrame, texts: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Replace the numbers of pieces and sentences by their texts."""
    by_key = {text["key"]: text for text in texts}
    rows = []
    for row in rows_of(amplified):
        text = by_key[row["key"]]
        pieces = {"from": text["pieces"][row["from"]], "to": text["pieces"][row["to"]]}
        positions = {"from_position": row["from"] + 1, "to_position": row["to"] + 1}
        rows.append({**row, **pieces, **positions, "sentence_id": text["id"], "text": running_text(text["words"])})
    columns = ["layer", "rank", "from", "to", "amplification", "from_position", "to_position", "sentence_id", "text"]
    return pd.DataFrame(rows, columns=columns)


class _PieceReader:
    """A maker that needs no forward pass: it returns what the model would read of each sentence, as plain data."""

    reads_weights = False

    def of(self, batch: SharedBatch) -> list[dict[str, Any]]:
        return [
            {
                "key": _key_of(sentence.id),
                "id": sentence.id,
                "words": list(sentence.words),
                "pieces": list(pieces.tokens),  # those of the tokenizer, special tokens included
            }
            for sentence, pieces in zip(batch.sentences, batch.pieces, strict=True)
        ]


def _key_of(sentence_id: str) -> int:
    return int(sentence_keys([sentence_id]).view("int64")[0])  # signed, as in the states of the metric


def read_texts(request: Request, keys: Set[int], read: Reader) -> list[dict[str, Any]]:
    """Return the sentences with the given keys."""
    sentences = [sentence for sentence in request.inputs if _key_of(sentence.id) in keys]
    return [text for batch in read(sentences, _PieceReader()) for text in batch] if sentences else []


@dataclass(frozen=True)
class CountStages(Counting):
    """A factory of the metric, which takes the components from the first batch."""

    n_layers: int
    metric: type[Metric] = FeedForwardChange
    arguments: tuple[tuple[str, Any], ...] = ()

    def arguments_of(self, first: StageBatch) -> dict[str, Any]:
        """Return all arguments of the metric, which are stored with its states."""
        return {"n_layers": self.n_layers, "components": tuple(first.components)}


@with_style
def change_figure(change: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw how far each component of the feed-forward block rearranges the map, by layer."""
    figure, axes = panel(COLUMN, 2.6)
    for name, group in change.groupby("component", sort=False):
        layer_line(axes, group.set_index("layer")["change"], *_COMPONENTS[str(name)], str(name))
    axes.set_ylim(bottom=0)
    by_layer(axes, change["layer"], "change of the map (1 − ρ)")
    finish(figure, axes, title)
    return figure
