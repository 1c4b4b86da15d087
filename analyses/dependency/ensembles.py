"""Ensembles of heads: averaged maps that find a relation better than one head, chosen on one half of the sentences.

Heads are added greedily (Limisiewicz et al. 2020; Ravishankar et al. 2021): the first one is the head with the most
right decisions, each further one is that with which the average has most, and nothing is added that does not help.
A map may be read in either direction: `head->dep` is averaged as its transpose. Whatever is chosen on one half of the
sentences is scored on the other, over the ten splits that single heads have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...extractors import MapBatch
from ...reports.columns import Schema, TableColumn, bounds
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..shared.best_head import interval, rate
from ..shared.outcomes import SPLITS
from ..shared.picked import read_in
from ..shared.resampling import halves, poisson_weights
from .decisions import ScoredWords, word_positions

Array = npt.NDArray[Any]

SENTENCES = 1000
"""The number of sentences, from the first one on, that ensembles are chosen and scored on. Their maps are kept."""

ENSEMBLES = Schema(
    "dependency_ensembles",
    "With `--ensembles`. One row per relation with `--min-count` words in the first 1,000 sentences.",
    (
        TableColumn("relation", "text", "the relation", "relation"),
        TableColumn("total", "count", "words of the relation in these sentences", "n"),
        TableColumn(
            "heads",
            "text",
            "the heads that are chosen on all of these sentences, in the order in which they are added",
            "heads",
            wraps=True,
            help="The heads whose maps are averaged, chosen on all of the sentences. An arrow ← marks heads whose "
            "map is transposed (head→dep), and ↔ those whose map and its transpose are added up (both).",
        ),
        TableColumn("correct", "count", "words whose syntactic head these heads find together"),
        TableColumn(
            "accuracy",
            "share",
            "`correct` / `total`",
            "ensemble",
            help="The accuracy of these heads together, on the sentences that chose them.",
        ),
        TableColumn("heldout_correct heldout_total", "count", "found and scored words over all halves of all splits"),
        TableColumn(
            "heldout_accuracy",
            "share",
            "the accuracy of ensembles that were chosen on the other half",
            "ensemble, held-out",
            beside=bounds("heldout", "min", "max"),
            help="The accuracy if the heads are chosen on one half of the sentences and scored on the other, in both "
            "directions. It is the mean over ten random halvings, with the lowest and highest of them in brackets.",
        ),
        TableColumn("heldout_min heldout_max", "share", "the lowest and highest accuracy of a split"),
        TableColumn("single_correct", "count", "the same for the best single head"),
        TableColumn(
            "single_accuracy",
            "share",
            "`single_correct` / `heldout_total`",
            "one head, held-out",
            help="The same for the best single head, on the same halves.",
        ),
        TableColumn(
            "gain gain_low gain_high",
            "points",
            "`heldout_accuracy` − `single_accuracy`",
            "held-out gain",
            beside=bounds("gain"),
            help="The difference of the two, with its 95 % bootstrap interval over sentences, for the choices as they "
            "were made.",
        ),
    ),
)


@dataclass(frozen=True, eq=False)
class Read:
    """What is kept of the sentences that were read: the values of all heads for each word, in both directions."""

    ids: list[str]
    # For the words of each sentence that have a syntactic head: these heads, from 0, the relations, and the values of
    # all candidates, of shape (words, layers × heads × readings, words of the sentence), −∞ at the word itself.
    gold: list[Array]
    relations: list[list[str]]
    candidates: list[npt.NDArray[np.float32]]
    numbers: list[Array]  # the indices of these words in the sentence
    is_tree: list[bool]  # whether all words but one have a syntactic head, and that one is the root


class Chosen(NamedTuple):
    """The ensembles that were chosen."""

    rows: list[dict[str, Any]]  # the counts of each relation, as plain data
    # By relation, the heads that were chosen on all sentences, then those of both halves of each split in turn.
    heads: dict[str, list[tuple[int, ...]]]


def read_values(batches: Iterable[MapBatch], name_of: Callable[[str], str], readings: int) -> Read:
    """Keep the values of all heads for the words of sentences."""
    read = Read([], [], [], [], [], [])
    for batch in batches:
        words = ScoredWords.of(batch.sentences, {r: 0 for s in batch.sentences for r in s.relations})
        position = word_positions(batch).numpy()
        for row, sentence in enumerate(batch.sentences):
            scored = (words.sentence == row) & (words.head > 0)
            if not scored.any():
                continue
            number, places = words.number[scored] - 1, position[row, : len(sentence)]
            # Float64, because sums of float32 maps would depend on the batch that a sentence is read in.
            maps = batch.exact([row])[0].cpu().numpy()[..., places[:, None], places]
            by_reading = np.stack(list(read_in(maps, readings)), 2)[..., number, :]
            values = by_reading.reshape(-1, *by_reading.shape[3:]).swapaxes(0, 1).astype(np.float32)
            values[np.arange(len(number)), :, number] = -np.inf
            read.ids.append(sentence.id)
            read.gold.append(words.head[scored] - 1)
            read.relations.append([name_of(sentence.relations[word]) for word in number])
            read.candidates.append(values)
            read.numbers.append(number)
            read.is_tree.append(None not in sentence.heads and sentence.heads.count(0) == 1)
    return read


def ensemble_rows(
    read: Read, groups: Mapping[str, frozenset[str]], shape: tuple[int, int, int], *, most: int, min_count: int,
    replicates: int, seed: int,
) -> Chosen:  # fmt: skip
    """Choose and score ensembles of up to ``most`` heads for each group with enough words.

    The shape has the numbers of layers, heads and readings.
    """
    first = halves(read.ids, SPLITS, seed).T  # sentence, split
    draws = poisson_weights(read.ids, replicates, seed).astype(np.float64)
    rows, by_group = [], {}
    for name, members in groups.items():
        used = [[i for i, relation in enumerate(each) if relation in members] for each in read.relations]
        sentence = np.repeat(np.arange(len(used)), [len(each) for each in used])
        if len(sentence) < max(min_count, 1):
            continue
        longest = max(values.shape[-1] for values, each in zip(read.candidates, used, strict=True) if each)
        values = np.full((len(sentence), read.candidates[0].shape[1], longest), -np.inf, dtype=np.float32)
        start = 0
        for of_sentence, each in zip(read.candidates, used, strict=True):
            if each:  # other sentences may be longer than all of these
                values[start : start + len(each), :, : of_sentence.shape[-1]] = of_sentence[each]
                start += len(each)
        gold = np.concatenate([gold[each] for gold, each in zip(read.gold, used, strict=True)])
        search = Greedy(values, gold, most)
        whole = search.chosen(np.ones(len(gold), dtype=bool))
        by_group[name] = [whole]
        ensemble, single = np.zeros(len(gold), dtype=np.int64), np.zeros(len(gold), dtype=np.int64)
        scored = np.zeros(len(gold), dtype=np.int64)
        by_split = []
        for split in range(SPLITS):
            before = ensemble.sum(), scored.sum()
            for half in (True, False):
                choosing = first[sentence, split] == half
                heads = search.chosen(choosing) if choosing.any() else ()
                by_group[name].append(heads)
                if heads:
                    ensemble += search.right(heads) & ~choosing
                    single += search.right(heads[:1]) & ~choosing
                    scored += ~choosing
            right, all_words = int(ensemble.sum() - before[0]), int(scored.sum() - before[1])
            if all_words:
                by_split.append(right / all_words)
        sums = np.stack([np.bincount(sentence, each, len(used)) for each in (ensemble - single, scored)])
        drawn = draws @ sums.T
        low, high = interval(drawn[drawn[:, 1] > 0, 0] / drawn[drawn[:, 1] > 0, 1])
        rows.append(
            {
                "relation": name,
                "total": len(gold),
                "heads": [named_reading(head, shape) for head in whole],
                "correct": int(search.right(whole).sum()),
                "heldout_correct": int(ensemble.sum()),
                "heldout_total": int(scored.sum()),
                "heldout_min": min(by_split, default=0.0),
                "heldout_max": max(by_split, default=0.0),
                "single_correct": int(single.sum()),
                "gain_low": None if np.isnan(low) else low,
                "gain_high": None if np.isnan(high) else high,
            }
        )
    return Chosen(rows, by_group)


class Greedy:
    """Chooses heads one by one on some of the words.

    Args:
        values: the values of the candidates of each word, shape (words, heads, candidates), −∞ where there is none.
        gold: the right candidate of each word.
        most: the largest number of heads.
    """

    def __init__(self, values: npt.NDArray[np.float32], gold: Array, most: int) -> None:
        self.values, self.gold, self.most = values, gold, most
        self._right: dict[tuple[int, ...], npt.NDArray[np.bool_]] = {}

    def chosen(self, choosing: npt.NDArray[np.bool_]) -> tuple[int, ...]:
        """Return the heads that are chosen on these words, in the order in which they are added."""
        heads: tuple[int, ...] = ()
        best = -1
        while len(heads) < min(self.most, self.values.shape[1]):
            counts = self._with_each(heads)[choosing].sum(0)
            counts[list(heads)] = -1
            # Ties go to the higher layer, the higher head and the last direction, as for single heads.
            head = len(counts) - 1 - int(counts[::-1].argmax())
            if counts[head] <= best:
                break
            heads, best = (*heads, head), int(counts[head])
        return heads

    def right(self, heads: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Return for each word whether these heads find its syntactic head together."""
        return self._with_each(heads[:-1])[:, heads[-1]]

    def _with_each(self, heads: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Return for each word, and each head, whether it is right if it is added to these heads."""
        key = tuple(sorted(heads))  # the sums of up to four float32 values in float64 do not depend on their order
        if key not in self._right:
            total = self.values[:, list(key)].sum(1, dtype=np.float64)[:, None]
            right = np.empty(self.values.shape[:2], dtype=bool)
            for start in range(0, len(right), 64):  # a few words at a time take little memory
                words = slice(start, start + 64)
                right[words] = (total[words] + self.values[words]).argmax(-1) == self.gold[words, None]
            self._right[key] = right
        return self._right[key]


def named_reading(head: int, shape: tuple[int, int, int]) -> str:
    """Return the name of a head, with an arrow for the direction in which it is read."""
    layer, number, direction = np.unravel_index(head, shape)
    return f"{layer + 1}-{number + 1}{('', '←', '↔')[direction]}"


def ensemble_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the table of the counts of `ensemble_rows`."""
    table = pd.DataFrame(rows, columns=[name for name in ENSEMBLES.names if rows and name in rows[0]])
    if not rows:
        return pd.DataFrame(columns=ENSEMBLES.names)
    table["heads"] = [" + ".join(heads) for heads in table["heads"]]
    table["accuracy"] = [rate(row["correct"], row["total"]) for row in rows_of(table)]
    table["heldout_accuracy"] = [rate(row["heldout_correct"], row["heldout_total"]) for row in rows_of(table)]
    table["single_accuracy"] = [rate(row["single_correct"], row["heldout_total"]) for row in rows_of(table)]
    table["gain"] = table["heldout_accuracy"] - table["single_accuracy"]
    return table.astype({"gain_low": float, "gain_high": float})[ENSEMBLES.names]


def shown_ensembles(table: pd.DataFrame) -> ShownTable:
    """Return the table for the page and LaTeX."""
    return ShownTable(ENSEMBLES.name, "Ensembles of heads (accuracy in %)", ENSEMBLES.columns, rows_of(table))
