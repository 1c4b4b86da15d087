"""From which words does the preference come, through each head? Attention × gradient of the difference of the scores.

The scalar y that is differentiated is score(good) − score(bad), in nats. In each sentence, every attention weight times
∂y/∂α is, to first order, how much of y is lost without that weight; it is added up over all queries and all inputs that
the score reads, by the word that is attended to. What a head gives to all words together, special tokens included, is
the estimate by which heads are chosen (`needed`), because Σ_j α_ij ∂y/∂α_ij = ⟨z_i, ∂y/∂z_i⟩ for z_i = Σ_j α_ij v_j.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from ...corpora_loaders.minimal_pairs import BAD, GOOD
from ...extractors import Encoder, SharedBatch
from ...extractors.layers.gradients import gradients_of, keeping_graph
from ...extractors.model.conditions import check_full_attention, switch_to_eager
from ...reports.columns import Schema, TableColumn
from ...reports.format import head_name, rows_of
from ...reports.shapes import shorten
from ...reports.table import ShownTable
from .options import PairsOptions
from .positions import SPECIAL, names_of_positions, position_of, shown_position
from .rows import (
    ALL,
    WITHOUT_INTERVAL,
    LookupContext,
    PairCounts,
    PairQuestion,
    PairResults,
    PlanContext,
    nats_bounds,
)
from .scores import Scorer, as_written, by_pair, log_p

_ROWS = 16  # how many inputs a model reads at once while it keeps a graph

CONTRIBUTIONS = Schema(
    "pairs_contributions",
    "With `--needed-heads`, of pairs with as many words in both sentences. One row per group, position and head.",
    (
        TableColumn("layer head", "number from 1", "one of the heads with the largest estimates"),
        TableColumn("group", "text", "the group"),
        TableColumn("position", "text", "where the word stands that is attended to, as in `pairs_positions`"),
        TableColumn("example", "text", "the word there in the first pair that has one, acceptable sentence"),
        TableColumn("pairs", "count", "pairs that have a word there"),
        TableColumn(
            "contribution contribution_low contribution_high",
            "nats",
            "Σ α ∂y/∂α over the attention to what is there in both sentences, y being the score of the acceptable "
            "sentence minus that of the other; and its 95 % interval over pairs",
        ),
    ),
)


@dataclass(frozen=True)
class ContributionMaker:
    """Makes α ∂score/∂α by head and position, shape (sentences, positions, layers, heads), in nats.

    Attributes:
        scorer: scores the sentences.
        places: for each sentence, its id, the first word that differs, and the end of those that differ.
        positions: the names of the positions.
    """

    reads_weights: ClassVar[bool] = False

    scorer: Scorer
    places: tuple[tuple[str, int, int], ...]
    positions: tuple[str, ...]

    def of(self, batch: SharedBatch) -> tuple[list[str], Float[Tensor, "sentences positions layers heads"]]:
        """Add up the products of each sentence by position."""
        known = {name: slot for slot, name in enumerate(self.positions)}
        places = {name: (start, stop) for name, start, stop in self.places}
        found = []
        for sentence in batch.sentences:
            text = sentence.text or ""
            by_piece = contributions(self.scorer, batch.encoder, text)
            names = [
                SPECIAL if word < 0 else position_of(word, *places[sentence.id], known)
                for word in words_of_pieces(self.scorer, batch.encoder.tokenizer, text)
            ]
            slots = torch.tensor([known[name] for name in names])
            by_position = by_piece.new_zeros(*by_piece.shape[:2], len(known)).index_add(2, slots, by_piece)
            found.append(by_position.permute(2, 0, 1))
        return [sentence.id for sentence in batch.sentences], torch.stack(found)


def words_of_pieces(scorer: Scorer, tokenizer: Any, text: str) -> list[int]:
    """Return the word of each piece that the model reads, from 0, as white space divides the text; −1 for special ones.

    A word of the tokenizer may be a part of it, such as its punctuation.
    """
    written = f" {text}" if scorer.causal and scorer.harness else text
    with as_written(tokenizer):
        encoding = tokenizer(written, add_special_tokens=not scorer.causal).encodings[0]
    words = [
        -1 if special or stop <= start else len(written[:stop].split()) - 1
        for (start, stop), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
    ]
    missing = len(scorer.plan(tokenizer, text).rows[0]) - len(words)  # the token with which texts begin
    return [-1] * missing + words


def contributions(scorer: Scorer, encoder: Encoder, text: str) -> Float[Tensor, "layers heads pieces"]:
    """Return ``Σ_i α_ij ∂score/∂α_ij`` for each piece j, summed over all inputs that the score of a sentence reads."""
    planned = scorer.plan(encoder.tokenizer, text)
    model = scorer.lm.to(encoder.device).eval()
    total: Tensor | None = None
    for start in range(0, len(planned.rows), _ROWS):
        ids = torch.tensor(planned.rows[start : start + _ROWS], device=encoder.device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "output_attentions": True}
        with keeping_graph(model):
            output = model(**inputs)
            if not output.attentions and switch_to_eager(model):
                output = model(**inputs)
            attentions = tuple(output.attentions or ())
            check_full_attention(model, attentions, tuple(ids.shape), encoder.label)
            gradients = gradients_of(log_p(output.logits, planned, start), attentions, encoder.label)
        products = [
            (alpha.detach().double() * gradient.double()).sum((0, 2))
            for alpha, gradient in zip(attentions, gradients, strict=True)
        ]
        of_rows = torch.stack(products).cpu()
        total = of_rows if total is None else total + of_rows
    assert total is not None  # noqa: S101  # a sentence has a piece
    return total


class Contributions(PairQuestion):
    """From which words does the preference come, through each head?"""

    name = "contributions"
    tables = (CONTRIBUTIONS,)
    needs = ("accuracy",)  # what scores sentences is that of its request
    template = Path(__file__).with_name("contributions.html.j2")

    def passes(self, plan_context: PlanContext) -> float:
        """Return about how many forward passes of single inputs the gradients take."""
        if plan_context.scorer is None or not plan_context.options[PairsOptions].needed_heads:
            return 0
        rows = 1 if plan_context.scorer.causal else 10  # of a sentence of about ten pieces
        return 2.0 * len(plan_context.pairs) * rows * 3

    def look(self, lookup_context: LookupContext) -> dict[str, Any] | None:
        """Return what the heads with the largest sums contribute to the difference of each pair, by position."""
        number = lookup_context.options[PairsOptions].needed_heads
        if lookup_context.scorer is None or not number:
            return None
        pairs = lookup_context.counts.pairs
        places = [
            (f"{row['pair']} {end}", row["start"], row[f"{end}_stop"]) for row in rows_of(pairs) for end in (GOOD, BAD)
        ]
        words = [len(text.split()) for end in (GOOD, BAD) for text in pairs[end]]
        stops = [*pairs["good_stop"], *pairs["bad_stop"]]
        positions = names_of_positions([*zip([*pairs["start"]] * 2, stops, words, strict=True)])
        maker = ContributionMaker(lookup_context.scorer, tuple(places), tuple(positions))
        values = by_pair(pairs["pair"].tolist(), lookup_context.read(lookup_context.inputs, maker))
        differences = values[:, 0] - values[:, 1]  # pair, position, layer, head
        size = differences.sum(1).nanmean(0).abs().flatten()
        order = size.argsort(descending=True, stable=True)[:number].tolist()
        heads = [divmod(index, differences.shape[-1]) for index in order]
        layers, numbers = torch.tensor(heads).T
        chosen = differences[:, :, layers, numbers].tolist()
        plain = [[[None if value != value else value for value in row] for row in pair] for pair in chosen]
        return {"heads": [list(head) for head in heads], "positions": list(positions), "values": plain}

    def find(self, counts: PairCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table of positions; None if heads were not switched off."""
        if lookups is None:
            return None
        rows = [*_rows(counts, lookups)]
        return pd.DataFrame(rows, columns=CONTRIBUTIONS.names) if rows else None

    def frames(self, answer: pd.DataFrame, results: PairResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {CONTRIBUTIONS.name: answer}

    def show(self, answer: pd.DataFrame, results: PairResults) -> Sequence[ShownTable]:
        """Return for each group and head the word to which attention contributes most."""
        return (contributions_table(answer),)


def _rows(counts: PairCounts, lookups: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table."""
    values = np.array(lookups["values"], dtype=np.float64)  # (pairs, positions, heads)
    positions = {name: slot for slot, name in enumerate(lookups["positions"])}
    pairs = rows_of(counts.pairs)
    words = [row[GOOD].split() for row in pairs]
    places = [
        [position_of(word, row["start"], row["good_stop"], positions) for word in range(len(of_pair))]
        for row, of_pair in zip(pairs, words, strict=True)
    ]
    equal = np.array([len(of_pair) == len(row[BAD].split()) for row, of_pair in zip(pairs, words, strict=True)])
    for group, chosen in counts.groups.items():
        if group == ALL and len(counts.groups) > 1:  # of other groups, the same position is another part of speech
            continue
        for position, slot in positions.items():
            has = np.array([position == SPECIAL or position in of_pair for of_pair in places])
            used = chosen & equal & has & ~np.isnan(values[:, slot]).any(1)
            if not used.any():
                continue
            first = int(np.flatnonzero(used)[0])
            there = [word for word, place in zip(words[first], places[first], strict=True) if place == position]
            means = counts.means(values[:, slot], used)
            for number, (layer, head) in enumerate(lookups["heads"]):
                mean, low, high = (float(each[number]) for each in means)
                row = {"layer": layer + 1, "head": head + 1, "group": group, "position": position}
                row |= {"example": " ".join(there), "pairs": int(used.sum()), "contribution": mean}
                yield {**row, "contribution_low": low, "contribution_high": high}


def contributions_table(table: pd.DataFrame) -> ShownTable:
    """Return for each group and head the word to which attention contributes most to the preference, or takes most."""
    columns = [
        TableColumn("group", "text", "", "group"),
        TableColumn("head", "text", "", "head", cell=lambda row: head_name(row["layer"], row["head"])),
        TableColumn("position", "text", "", "position", cell=lambda row: shown_position(row["position"])),
        TableColumn("example", "text", "", "such as", cell=lambda row: shorten(row["example"])),
        TableColumn(
            "contribution contribution_low contribution_high",
            "nats",
            "",
            "contribution, nats",
            beside=nats_bounds("contribution"),
        ),
        TableColumn("pairs", "count", "", "pairs"),
    ]
    of_words = table[table["position"] != SPECIAL]
    largest = (
        of_words["contribution"].abs().groupby([of_words["group"], of_words["layer"], of_words["head"]], sort=False)
    )
    title = "Attention × gradient of score(good) − score(bad), the word to which attention contributes most"
    return ShownTable(
        CONTRIBUTIONS.name, title, columns, rows_of(table.loc[largest.idxmax()]), uncertain=WITHOUT_INTERVAL
    )
