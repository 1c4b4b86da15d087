"""Counts of where each head is right, and of what it picks where it is wrong, by properties of the words.

Every count is kept for all heads, so that those of the best head, which is known only after counting, can be read. The
sums of squares by sentence beside them give intervals that respect that the words of a sentence depend on each other,
without one count per bootstrap replicate: `attentionology.analyses.shared.failures.cluster_interval`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ...corpora_loaders import OFFSETS, coarse_relation
from ...corpora_loaders.tree import counted_relations, plain_relation
from ...extractors import DIRECTIONS, MapBatch
from ...reports.columns import TableColumn, bounds
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..contract import Request
from ..counting.counting import CountMaps
from ..counting.exact_sums import ConfiguredSums
from ..shared.failures import (
    ChosenHead,
    FailureTables,
    chosen_heads,
    clear_mistake,
    failures_schema,
    links_to_mistakes,
    picks_schema,
    shown_failure_tables,
    tables_of_heads,
)
from ..shared.measures import share
from ..shared.options import FailureOptions
from ..shared.picks import READINGS
from .accuracy import TOTALS, check_relations, members_by_group
from .decisions import TAGS, ScoredWords, tag_indices
from .picks import HEAD, PICKS, picks, relationships
from .rows import SHOWN, DependencyQuestion, DependencyResults, PlanContext, Words, address_of

DISTANCES = (
    *("−11 or more", "−6 to −10", "−4 to −5", "−3", "−2", "−1"),
    *("+1", "+2", "+3", "+4 to +5", "+6 to +10", "+11 or more"),
)
LENGTHS = ("1 to 10", "11 to 20", "21 to 30", "31 to 40", "41 or more")
ASPECTS: Mapping[str, tuple[str, ...]] = {
    "words": ("all",),
    "distance": DISTANCES,
    "side": ("head before", "head after"),
    "part of speech": TAGS,
    "part of speech of the head": TAGS,
    "words of the sentence": LENGTHS,
    "split into pieces": ("neither", "the word", "its head", "both"),
}
"""The properties by which words are counted, each with its classes. Distances are those of offsets: +1 is the next
word. A root has no distance, no side and no part of speech of its head."""

CLASSES = tuple((aspect, name) for aspect, names in ASPECTS.items() for name in names)
"""All classes, in the order in which they are counted."""

_FIRST = {aspect: CLASSES.index((aspect, names[0])) for aspect, names in ASPECTS.items()}
_EDGES = np.array([1, 2, 3, 4, 6, 11])  # the smallest distance in each class, on either side

_MAX_RELATIONS = 8
"""The number of relations that are shown."""

_RELATION = TableColumn("relation", "text", "the relation", "relation")
_OFFSET = TableColumn("offset", "number, words", "the best fixed distance for the relation")

FAILURES = failures_schema(
    "dependency_failures",
    "With `--failures`. One row per relation, chosen head and class of words. The 95 % intervals are Wilson's, for the "
    "effective number of words, because those of one sentence depend on each other.",
    _RELATION,
    counted="words",
    found="head",
    total="words of the relation in this class",
    correct="words whose syntactic head is found",
    baselines=(
        _OFFSET,
        TableColumn("offset_correct", "count", "words whose syntactic head is at this distance"),
        TableColumn(
            "offset_accuracy offset_low offset_high",
            "share",
            "`offset_correct` / `total`",
            "offset",
            beside=bounds("offset"),
            help="The accuracy of the best fixed offset of the relation on the same words.",
        ),
    ),
)

PICKED = picks_schema(
    "dependency_picks",
    "With `--failures`. One row per relation, chosen head and kind of word that is picked. Intervals are as in "
    "`dependency_failures.csv`.",
    _RELATION,
    counted="words",
    heading="words",
    total="words of the relation",
    share_of="the n words of the relation",
    baselines=(
        _OFFSET,
        TableColumn("offset_count", "count", "words for which the best fixed offset picks it"),
        TableColumn(
            "offset_share offset_low offset_high",
            "share",
            "`offset_count` / `total`",
            "offset",
            beside=bounds("offset"),
            help="The same for the best fixed offset of the relation.",
        ),
    ),
)

_MISTAKES = {
    "punctuation": "a punctuation mark",
    "dependent": "a dependent of the word",
    "argument": "another argument of the verb",
    "sibling": "another dependent of its head",
    "grandparent": "the head of its head",
    "neighbor": "an unrelated neighbor",
    "other": "a word that is none of its relatives or neighbors",
    "out of reach": "a word although it cannot see the head",
    "none": "nothing",
}
"""What is picked by mistake, in a sentence."""


class Failures(DependencyQuestion):
    """Where do the heads fail, and what do they pick instead?"""

    name = "failures"
    tables = (FAILURES, PICKED)
    needs = ("best_heads",)
    template = Path(__file__).with_name("failures.html.j2")

    def requests(self, plan_context: PlanContext) -> Sequence[Request]:
        """Count what all heads pick, with the option ``--failures``."""
        options, setting = plan_context.options[FailureOptions], plan_context.setting
        if not options.failures:
            return ()
        plan_context.check_basic_trees()
        options.check_heads(setting.encoder.n_layers, setting.encoder.n_heads)
        both = {"both": True} if plan_context.readings else {}
        arguments = {**plan_context.groups, "unions": plan_context.asked.unions, **both}
        counting = CountMaps(DependencyFailures, tuple(arguments.items()))
        name = f"dependency-failures/{setting.maps.kind}"
        return (Request(name, "failures", setting.corpus, setting.maps, counting),)

    def find(self, counts: Words, lookups: Any, earlier: Mapping[str, Any]) -> FailureTables | None:
        """Return the tables of the best head of each relation, or of the heads that were named."""
        chosen, of_heads = counts.options[FailureOptions].failures, earlier["best_heads"]
        for metric in counts.metrics_of(self.name, DependencyFailures):
            return failure_tables(metric, of_heads.best, of_heads.cells, chosen)
        return None

    def frames(self, answer: FailureTables, results: DependencyResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {FAILURES.name: answer.failures, PICKED.name: answer.picked}

    def show(self, answer: FailureTables, results: DependencyResults) -> Sequence[ShownTable]:
        """Return both tables of the most frequent relations."""
        return shown_failures(answer, results.min_count)

    def values(self, answer: FailureTables, results: DependencyResults) -> Mapping[str, Any]:
        """Return the links to the wrong picks of the most frequent relations."""
        _, picked = self.show(answer, results)
        return {"mistakes": links_to_mistakes(picked.rows, "relation", lambda relation: {"relation": relation})}

    def explore(self, answer: FailureTables, counts: Words, results: DependencyResults, kind: str) -> Contribution:
        """Say which mistake of the best heads is clearly first."""
        return Contribution(findings=tuple(_clear_mistakes(answer, results.frequent, kind)))


class DependencyFailures(ConfiguredSums):
    """How often each head, and each fixed offset, is right for words of each class, and what is picked otherwise."""

    # All states are sums of whole numbers over sentences, so any split of the corpus gives the same bits. They take
    # about `groups × 73 × 3 × (2 · layers · heads + 10) × 8` bytes.

    inventory = "relations"
    right: Int[Tensor, "groups classes 3 guessers"]
    picked: Int[Tensor, "groups picks 3 guessers"]
    total: Int[Tensor, "groups classes 2"]

    def __init__(
        self,
        relations: Sequence[str],
        n_layers: int,
        n_heads: int,
        *,
        coarse: bool = False,
        both: bool = False,
        unions: Sequence[tuple[str, Sequence[str]]] = (),
    ) -> None:
        names = check_relations([plain_relation(name) for name in relations], coarse=coarse)
        self.coarse = coarse
        self.shape = (len(READINGS if both else DIRECTIONS), n_layers, n_heads)
        self.unions = {name: frozenset(members) for name, members in unions}
        self.groups = (*names, *TOTALS, *self.unions)
        unions_in_order = sorted((name, sorted(members)) for name, members in self.unions.items())
        super().__init__(repr((self.groups, self.shape, coarse, unions_in_order)))
        guessers = int(np.prod(self.shape)) + len(OFFSETS)
        # Of each class and guesser: the sums over sentences of x, of x² and of x · n, where x of its n words are right.
        self.add_state("right", torch.zeros(len(self.groups), len(CLASSES), 3, guessers, dtype=torch.int64), "sum")
        # The same of the words that are picked, where n is the number of all words of the group in the sentence.
        self.add_state("picked", torch.zeros(len(self.groups), len(PICKS), 3, guessers, dtype=torch.int64), "sum")
        # The sums of n and n².
        self.add_state("total", torch.zeros(len(self.groups), len(CLASSES), 2, dtype=torch.int64), "sum")

    def absorb(self, other: DependencyFailures) -> None:
        """Add counts whose groups may be fewer and in another order."""
        rows = [self.groups.index(group) for group in other.groups]
        for name in ("right", "picked", "total"):
            getattr(self, name)[rows] += getattr(other, name)

    def update(self, batch: MapBatch) -> None:
        """Count a batch of word-level maps."""
        if batch.level != "word":
            raise ValueError("dependency failures need word-level maps (level='word')")
        self.check_configuration()
        with_heads = (
            name
            for sentence in batch.sentences
            for name, head in zip(counted_relations(sentence), sentence.heads, strict=True)
            if head is not None  # other words are not counted, and the corpus may have their relations nowhere else
        )
        names = list(dict.fromkeys(with_heads))
        words = ScoredWords.of(batch.sentences, {name: index for index, name in enumerate(names)})
        if not len(words.number):
            return
        head_picks = picks(batch, words, self.shape[0]).reshape(len(words.number), -1)
        picked = torch.from_numpy(np.concatenate([head_picks, _offset_picks(batch, words)], 1))  # (words, guessers)
        classes = torch.from_numpy(_classes(batch, words))
        sentence = torch.from_numpy(words.sentence)
        for group, is_member in self._groups_of_words(words, names):
            rows = torch.from_numpy(np.flatnonzero(is_member))
            picked_by_members = picked[rows], torch.from_numpy(group)[rows], sentence[rows]
            for word_class in classes[rows].T:  # by each aspect
                self._add_right(*picked_by_members, word_class)
            self._add_picked(*picked_by_members)

    def _groups_of_words(
        self, words: ScoredWords, names: Sequence[str]
    ) -> Iterator[tuple[Int[np.ndarray, " words"], Bool[np.ndarray, " words"]]]:
        """Yield the group of each word and which words are in it: first by relation, then for totals and unions.

        The names are those of the relations as they are counted, to which the words refer.
        """
        relation, index = words.relation, {name: i for i, name in enumerate(self.groups)}
        counted_names = list(map(coarse_relation, names)) if self.coarse else names
        try:
            group_of_name = np.array([index[plain_relation(name)] for name in counted_names], dtype=np.int64)
        except KeyError as error:
            raise ValueError(f"relation {error} is not in the inventory") from None
        yield group_of_name[relation], np.ones(len(relation), dtype=bool)
        for name, is_member in members_by_group(counted_names, self.unions).items():
            yield np.full_like(relation, index[name]), is_member[relation]

    def _add_right(self, picked: Tensor, group: Tensor, sentence: Tensor, word_class: Tensor) -> None:
        """Add the right decisions of each class; words of class −1 have none."""
        used = word_class >= 0
        cell, pair_of_word, n = _cells_by_sentence(group[used] * len(CLASSES) + word_class[used], sentence[used])
        sums = _sums_by_pair(picked[used] == HEAD, pair_of_word, n)
        self.right.flatten(0, 1).index_add_(0, cell, sums)
        self.total.flatten(0, 1).index_add_(0, cell, torch.stack([n, n * n], 1))

    def _add_picked(self, picked: Tensor, group: Tensor, sentence: Tensor) -> None:
        """Add how often each kind of word is picked."""
        group_of_pair, pair_of_word, n = _cells_by_sentence(group, sentence)
        for kind in range(len(PICKS)):
            self.picked[:, kind].index_add_(0, group_of_pair, _sums_by_pair(picked == kind, pair_of_word, n))


def _cells_by_sentence(cell: Tensor, sentence: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the cell of each pair of a cell and a sentence, the pair of each word, and the words of each pair."""
    n_sentences = int(sentence.max()) + 1 if len(sentence) else 1
    pairs, pair_of_word = torch.unique(cell * n_sentences + sentence, return_inverse=True)
    words_of_pair = torch.bincount(pair_of_word, minlength=len(pairs))
    return torch.div(pairs, n_sentences, rounding_mode="floor"), pair_of_word, words_of_pair


def _sums_by_pair(is_counted: Bool[Tensor, "words guessers"], pair_of_word: Tensor, n: Tensor) -> Tensor:
    """Return x, x² and x · n for each pair and guesser, where x of its n words are counted: (pairs, 3, guessers)."""
    x = torch.zeros(len(n), is_counted.shape[1], dtype=torch.int64)
    x.index_add_(0, pair_of_word, is_counted.long())
    return torch.stack([x, x * x, x * n[:, None]], 1)


def _offset_picks(batch: MapBatch, words: ScoredWords) -> Int[np.ndarray, "words offsets"]:
    """Return what each fixed offset picks for each word, as an index of `PICKS`."""
    predicted = np.clip(words.number[:, None] + np.array(OFFSETS), 1, words.length[:, None])
    result = np.empty(predicted.shape, dtype=np.int8)
    for row, sentence in enumerate(batch.sentences):
        scored = np.flatnonzero(words.sentence == row)
        if len(scored):
            related = relationships(sentence)
            result[scored] = related[words.number[scored, None] - 1, predicted[scored] - 1]
    return result


def _classes(batch: MapBatch, words: ScoredWords) -> Int[np.ndarray, "words aspects"]:
    """Return the class of each word by each aspect, as an index of `CLASSES`; −1 if it has none."""
    result = np.full((len(words.number), len(ASPECTS)), -1)
    any_word = np.ones(len(words.number), dtype=bool)
    has_head = words.head > 0
    dependent, head = words.number - 1, np.maximum(words.head - 1, 0)

    def fill(aspect: str, class_in_aspect: Int[np.ndarray, " words"], has_class: Bool[np.ndarray, " words"]) -> None:
        result[has_class, list(ASPECTS).index(aspect)] = _FIRST[aspect] + class_in_aspect[has_class]

    fill("words", np.zeros_like(dependent), any_word)
    distance = words.head - words.number
    size = np.searchsorted(_EDGES, np.abs(distance), side="right") - 1  # 0 for neighbors
    # The classes on the left come first, from the largest distance on.
    fill("distance", np.where(distance < 0, len(_EDGES) - 1 - size, len(_EDGES) + size), has_head)
    fill("side", (distance > 0).astype(np.int64), has_head)
    fill("words of the sentence", np.minimum((words.length - 1) // 10, len(LENGTHS) - 1), any_word)
    tags = [tag_indices(sentence) for sentence in batch.sentences]
    is_tagged = np.array([bool(sentence.tags) for sentence in batch.sentences])[words.sentence]
    fill("part of speech", words.look_up(tags, dependent), is_tagged)
    fill("part of speech of the head", words.look_up(tags, head), is_tagged & has_head)
    if batch.word_lengths:
        is_split = [(np.array(lengths) > 1).astype(np.int64) for lengths in batch.word_lengths]
        # The classes are in the order neither, the word, its head, both.
        fill("split into pieces", words.look_up(is_split, dependent) + 2 * words.look_up(is_split, head), has_head)
    return result


def failure_tables(
    metric: DependencyFailures, best: pd.DataFrame, cells: pd.DataFrame, chosen: Sequence[str]
) -> FailureTables:
    """Make the tables of the best head of each relation (``best``), or of other heads (``8-10``)."""
    # cells: the table of all heads. A head is read in the direction in which it is better for the relation.
    return tables_of_heads(_chosen_heads(metric, best, cells, chosen), (FAILURES, PICKED))


def _chosen_heads(
    metric: DependencyFailures, best: pd.DataFrame, cells: pd.DataFrame, chosen: Sequence[str]
) -> Iterator[ChosenHead]:
    """Yield the chosen heads of each relation."""
    counts = {name: state.numpy() for name, state in metric.compute().items()}
    cells_of_relation = {str(name): table for name, table in cells.groupby("relation", sort=False)}
    for row in rows_of(best):
        relation, offset = row["relation"], row["offset"]
        group = metric.groups.index(relation)
        right_by_class, by_pick, total_by_class = (counts[name][group] for name in ("right", "picked", "total"))
        classes = dict(zip(CLASSES, zip(right_by_class, total_by_class, strict=True), strict=True))
        _, total = classes["words", "all"]
        picks = {name: (sums, total) for name, sums in zip(PICKS, by_pick, strict=True)}
        for layer, head, reading in chosen_heads(row, cells_of_relation[relation], chosen):
            columns = {"relation": relation, "layer": layer, "head": head, "direction": reading, "offset": offset}
            # The index of the head and of the offset among all that guess.
            guessers = {"": int(np.ravel_multi_index((READINGS.index(reading), layer - 1, head - 1), metric.shape))}
            guessers["offset_"] = int(np.prod(metric.shape)) + OFFSETS.index(offset)
            yield ChosenHead(columns, guessers, classes, picks)


def shown_failures(tables: FailureTables, min_count: int) -> tuple[ShownTable, ShownTable]:
    """Return the tables for LaTeX, with the most frequent relations."""
    shown = []
    for table in tables:
        words = table.groupby("relation", sort=False)["total"].max()
        relations = [name for name in words.index if name not in (*TOTALS, "root")]
        frequent = [name for name in relations if words[name] >= min_count]
        shown.append(table[table["relation"].isin((frequent or relations)[:_MAX_RELATIONS])])
    return shown_failure_tables(FailureTables(*shown), (FAILURES, PICKED), "words", "head")


def _clear_mistakes(failures: FailureTables, frequent: Sequence[Mapping[str, Any]], kind: str) -> Iterator[Finding]:
    """Yield what the best heads pick most often instead of the syntactic head, where one mistake is clearly first."""
    picked = rows_of(failures.picked)
    mistakes = [(row, clear_mistake(picked, row, "relation", "head")) for row in frequent]
    clear_mistakes = [(row, mistake) for row, mistake in mistakes if mistake is not None]
    if not clear_mistakes:
        return
    texts = []
    for row, mistake in clear_mistakes[:SHOWN]:
        of_head = share(mistake["share"], mistake["share_low"], mistake["share_high"])
        of_offset = share(mistake["offset_share"], mistake["offset_low"], mistake["offset_high"])
        texts.append(
            f"{of_head} of {amount(row['total'], 'words')} with {row['relation']}, for which head "
            f"{head_name(row['layer'], row['head'])} picks {_MISTAKES[mistake['picked']]} (the best fixed offset: "
            f"{of_offset})"
        )
    row, mistake = clear_mistakes[0]
    # The explorer does not know what is out of reach.
    shown = "wrong" if mistake["picked"] in ("out of reach", "none") else f"wrong:{mistake['picked']}"
    text = f"{'; '.join(texts)}: the most frequent mistakes of the best heads."
    yield Finding(text, f"{address_of(row, kind)}&show={shown}")
