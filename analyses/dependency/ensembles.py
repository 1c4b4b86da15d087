"""Ensembles of heads that find a relation, chosen on one half of the sentences and scored on the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...corpora_loaders.tree import counted_relations
from ...extractors import MapBatch
from ...reports.columns import TableColumn
from ..counting.outcomes import SPLITS
from ..counting.resampling import halves, poisson_weights
from ..shared.ensembles import ensemble_schema, scored_ensembles
from ..shared.picked import read_in
from .decisions import ScoredWords, word_positions

Array = npt.NDArray[Any]

SENTENCES = 1000
"""The number of sentences, from the first one on, that ensembles are chosen and scored on. Their maps are kept."""

ENSEMBLES = ensemble_schema(
    "dependency_ensembles",
    "With `--ensembles`. One row per relation with `--min-count` words in the first 1,000 sentences.",
    (TableColumn("relation", "text", "the relation", "relation"),),
    of="words of the relation",
    found="words whose syntactic head these heads find together",
    units="sentences",
    arrows="An arrow ← marks heads whose map is transposed (head→dep), and ↔ those whose map and its transpose are "
    "added up (both).",
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


def read_values(batches: Iterable[MapBatch], name_of: Callable[[str], str], readings: int) -> Read:
    """Keep the values of all heads for the words of sentences, with the name that each relation is counted under."""
    read = Read([], [], [], [], [], [])
    for batch in batches:
        all_relations = {relation: 0 for sentence in batch.sentences for relation in sentence.relations}
        words = ScoredWords.of(batch.sentences, all_relations)
        position = word_positions(batch).numpy()
        for row, sentence in enumerate(batch.sentences):
            scored = (words.sentence == row) & (words.head > 0)
            if not scored.any():
                continue
            number = words.number[scored] - 1  # from 0
            places = position[row, : len(sentence)]
            # Float64, because sums of float32 maps would depend on the batch that a sentence is read in.
            maps = batch.exact([row])[0].cpu().numpy()[..., places[:, None], places]
            # layer, head, reading, word, candidate
            by_reading = np.stack(list(read_in(maps, readings)), 2)[..., number, :]
            values = by_reading.reshape(-1, *by_reading.shape[3:]).swapaxes(0, 1).astype(np.float32)
            values[np.arange(len(number)), :, number] = -np.inf  # no word is its own candidate
            read.ids.append(sentence.id)
            read.gold.append(words.head[scored] - 1)
            relations = counted_relations(sentence)
            read.relations.append([name_of(relations[word]) for word in number])
            read.candidates.append(values)
            read.numbers.append(number)
            read.is_tree.append(None not in sentence.heads and sentence.heads.count(0) == 1)
    return read


def ensemble_rows(
    read: Read, groups: Mapping[str, frozenset[str]], shape: tuple[int, int, int], *, most: int, min_count: int,
    replicates: int, seed: int,
) -> tuple[list[dict[str, Any]], dict[str, list[tuple[int, ...]]]]:  # fmt: skip
    """Choose and score ensembles of up to ``most`` heads for each group with enough words."""
    # The shape has the numbers of layers, heads and readings.
    # Returns the counts of each group, as plain data, and by group the heads that were chosen on all sentences, then
    # those of both halves of each split in turn.
    in_first_half = halves(read.ids, SPLITS, seed).T  # sentence, split
    draws = poisson_weights(read.ids, replicates, seed).astype(np.float64)
    rows, heads_of_group = [], {}
    for name, members in groups.items():
        # The words of each sentence that belong to the group, as indices into what was read of it.
        used = [
            [word for word, relation in enumerate(relations) if relation in members] for relations in read.relations
        ]
        sentence = np.repeat(np.arange(len(used)), list(map(len, used)))  # of each word
        if len(sentence) < max(min_count, 1):
            continue
        # The candidates are the words of a sentence. No head picks a padded one, whose value is −∞.
        longest = max(values.shape[-1] for values, words in zip(read.candidates, used, strict=True) if words)
        padded = np.full((len(sentence), read.candidates[0].shape[1], longest), -np.inf, dtype=np.float32)
        for index in np.unique(sentence):
            values = read.candidates[index][used[index]]
            padded[sentence == index, :, : values.shape[-1]] = values
        gold = np.concatenate([heads[words] for heads, words in zip(read.gold, used, strict=True)])
        is_gold = gold[:, None] == np.arange(longest)  # word, candidate
        row, heads_of_group[name] = scored_ensembles(padded, is_gold, sentence, in_first_half, draws, most, shape)
        rows.append({"relation": name, **row})
    return rows, heads_of_group
