"""The rows that all questions about dependencies share: what they plan with, look up with, answer from and show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders import Corpus, CorpusError, Sentence, coarse_relation
from ...corpora_loaders.tree import counted_relations, plain_relation
from ...extractors import DIRECTIONS, MapBatch, MapMaker
from ...extractors.maps.exact_maps import ExactMaker
from ...reports.columns import Row, TableColumn
from ...reports.format import head_name, rows_of
from ...storage.nearest import did_you_mean
from ...storage.writing import amount
from ..contract import Guesses, OptionError, OptionSet, Reader, Request, Setting
from ..counting.comparable import Comparable, measured_heads
from ..counting.held_out import side_of_baseline
from ..counting.resampling import FEWEST_UNITS, check_limit
from ..questions import Question
from ..shared.control import requests_with_control
from ..shared.ensembles import divide_rows
from ..shared.head_counts import HeadCounts
from ..shared.measures import address
from ..shared.merged_facts import key_of_texts
from ..shared.options import CountOptions
from ..shared.picks import READINGS, read_in
from ..shared.previews import Answers
from ..shared.record import MapFacts, map_facts
from .accuracy import TOTALS, DependencyAccuracy, RowChoice, check_relations, inventory, members_of, words_by_group
from .decisions import ScoredWords, head_guesses, word_positions
from .options import DependencyOptions

Array = npt.NDArray[Any]

SHOWN = 3
"""The number of relations that a finding names, and that the card of a head shows."""
SENTENCES = 1000
"""The number of sentences, from the first one on, whose maps are kept for what is asked after counting."""

_UNIVERSAL = frozenset(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed "
    "flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative "
    "xcomp".split()
)
"""The relations of Universal Dependencies, version 2."""


@dataclass(frozen=True)
class DependencyFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    maps: MapFacts
    seed: int
    asked: RowChoice = field(default_factory=RowChoice)  # the rows, if they were chosen before the run


class PlanContext:
    """What questions plan with. The options are checked against the corpus.

    Attributes:
        options, setting: those of the run.
        chosen: the options of the analysis.
        asked: the rows, if they were chosen before the run.
        groups: the arguments of a metric that counts words by relation.
        readings: the arguments that say in which directions maps are read, if not in the two of the paper.
    """

    def __init__(self, options: OptionSet, setting: Setting) -> None:
        self.options, self.setting = options, setting
        self.chosen = chosen = options[DependencyOptions]
        relations = _check_relations(setting.corpus, chosen)
        words_of_groups = words_by_group(relations, coarse=chosen.coarse)
        self.asked = _rows_asked_for(chosen, words_of_groups)
        check_limit(words_of_groups, options[CountOptions].replicates)
        self.groups = {"relations": tuple(relations), "coarse": chosen.coarse}
        # Only what is not the default is named, so that states of other models are those of former versions.
        self.readings = {"causal": True} if setting.encoder.causal else {"both": True} if chosen.both else {}

    def facts(self, requests: Mapping[str, tuple[str, ...]]) -> DependencyFacts:
        """Return what the results need."""
        maps = map_facts(self.setting.maps, self.setting.encoder.n_heads)
        return DependencyFacts(requests, maps, self.setting.seed, self.asked)

    def accuracy_requests(self) -> list[Request]:
        """Return the request that counts the heads of the model, and those of its copies with random weights."""
        setting, chosen = self.setting, self.chosen
        gold = {} if chosen.gold == "basic" else {"trees": chosen.gold, "unions": self.asked.unions}
        return requests_with_control(
            "dependency",
            setting.corpus,
            setting.maps,
            DependencyAccuracy,
            {**self.groups, "seed": setting.seed, **self.readings, **gold},
            self.options,
        )

    def check_basic_trees(self) -> None:
        """Raise `OptionError` if words may have several heads."""
        if (gold := self.chosen.gold) != "basic":
            other = "--trees enhanced" if gold == "enhanced" else "--pairs"
            raise OptionError(
                "--failures, --ensembles and --spanning-trees need basic trees, in which a word has one head; leave "
                f"out {other}"
            )


class Words(HeadCounts[DependencyFacts, DependencyAccuracy]):
    """What questions answer from: the counts of words, and the rows that tables have."""

    outcomes = DependencyAccuracy

    @cached_property
    def members(self) -> dict[str, list[int]]:
        """The indices of the counts that each row of the tables counts."""
        return self.members_of(self.metric)

    def members_of(self, metric: DependencyAccuracy) -> dict[str, list[int]]:
        """Return the indices of the counts of a metric, such as a copy's, that each row of the tables counts."""
        return members_of(metric.groups, metric.split_counts()[0], self.facts.asked)

    @cached_property
    def relations(self) -> dict[str, frozenset[str]]:
        """The relations that each row of the tables counts."""
        return {name: frozenset(self.metric.groups[index] for index in rows) for name, rows in self.members.items()}

    @property
    def single_relations(self) -> dict[str, frozenset[str]]:
        """The same without totals, and without roots, which no head finds."""
        return {name: relations for name, relations in self.relations.items() if name not in (*TOTALS, "root")}

    def comparable(self) -> Comparable:
        """Return the held-out accuracies of the best heads, which can be compared with those of other runs."""
        measured = measured_heads(self.members, self.subsets, self.replicates, READINGS)
        return Comparable("relations", measured, "words whose head is found", "words", self.metric.seed)


class LookupContext:
    """What questions look up with: the values that all heads give to the words of the first sentences.

    Attributes:
        options, words: the options, and the counts.
        read: what is kept of the sentences.
        shape: the numbers of layers, heads and readings.
        chosen_options: the options of the analysis.
        chosen: for questions that come later, the heads that were chosen on all sentences, and on each half, by row.
    """

    def __init__(self, words: Words, request: Request, read: Reader) -> None:
        self.options, self.words = words.options, words
        self.chosen_options = self.options[DependencyOptions]
        metric = words.metric
        self.shape = (metric.n_layers, metric.n_heads, len(metric.directions))
        name_of = coarse_relation if self.chosen_options.coarse else str
        batches = read(request.inputs[:SENTENCES], ExactMaker(cast("MapMaker", request.maker)))
        self.read = read_values(batches, name_of, len(metric.directions))
        self.key = key_of_texts(self.read.ids)
        self.chosen: dict[str, list[tuple[int, ...]]] = {}

    @property
    def replicates(self) -> int:
        """The number of bootstrap replicates."""
        return self.options[CountOptions].replicates


DependencyQuestion = Question[PlanContext, LookupContext, Words, Any]


@dataclass(frozen=True, repr=False)
class DependencyResults(Answers):
    """The results of the analysis ``dependency``. Layers and heads are 1-based, accuracies are shares of words.

    Attributes:
        cells: one row per ``relation``, ``direction``, ``layer`` and ``head``, with ``correct``, ``total`` and
            ``accuracy``.
        best: one row per ``relation`` with its best ``layer``, ``head`` and ``direction``; its ``accuracy``; the best
            fixed ``offset`` with its ``offset_accuracy``; the ``gain`` over it; and ``heldout_accuracy`` and
            ``heldout_gain``, of heads that were chosen on other sentences. Columns that end in ``_low`` and ``_high``
            are 95 % intervals. The columns that other questions add follow, such as those of a control.
        min_count: relations with fewer words are left out of the first figure and grayed in the page.
        map_facts: sentences about the maps.
        trees: the gold, the ``"basic"`` trees, the ``"enhanced"`` dependencies, or ``"pairs"`` of words.
        claimed: the relations of which something may be claimed: they have enough words in enough sentences.
        unclaimed: how many relations have enough words, but in too few sentences.
        added: the columns of ``best`` that other questions add.
        answers: the answers of all questions, by name.
    """

    cells: pd.DataFrame
    best: pd.DataFrame
    min_count: int = 50
    map_facts: tuple[str, ...] = ()
    trees: str = "basic"
    claimed: tuple[str, ...] = ()
    unclaimed: int = 0
    added: tuple[TableColumn, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def frequent(self) -> list[dict[str, Any]]:
        """The rows of the best heads of the relations of which something may be claimed."""
        return [row for row in rows_of(self.best) if row["relation"] in self.claimed]

    @property
    def certain(self) -> list[dict[str, Any]]:
        """Those of the frequent rows whose head finds more than every fixed offset, also on other text."""
        return [row for row in self.frequent if side_of_baseline(row) > 0]

    @property
    def largest_gains(self) -> Sequence[Mapping[str, Any]]:
        """The certain rows, that with the largest held-out gain first."""
        return sorted(self.certain, key=lambda row: -row["heldout_gain"])


def count_claims(results: DependencyResults) -> str:
    """Return how many relations there are of which something may be claimed, in words."""
    enough = f" in at least {FEWEST_UNITS} sentences" if results.unclaimed else ""
    return f"{amount(len(results.frequent), 'relations')} with at least {amount(results.min_count, 'words')}{enough}"


def guesses_of_heads(options: DependencyOptions, *, is_causal: bool) -> Guesses | None:
    """Return the word that each head picks for each word, in all directions."""
    if options.gold != "basic":
        return None  # the explorer draws the basic trees, by which it would call right picks wrong
    names = READINGS if is_causal or options.both else DIRECTIONS
    return Guesses(names, partial(head_guesses, readings=len(names)))


def is_total(relation: str) -> bool:
    """Return whether the name of a row is that of a total over all relations."""
    return relation in TOTALS


def style_of(row: Row) -> str:
    """Return how a row is shown: ``rare``, ``total``, both or neither."""
    return f"{'' if row['is_frequent'] else 'rare'} {'total' if row['relation'] in TOTALS else ''}".strip()


def address_of(row: Mapping[str, Any], kind: str) -> str:
    """Return the address of the best head for a relation."""
    head, measure = (
        head_name(row["layer"], row["head"]),
        measure_id("accuracy", row["relation"], row["direction"], kind),
    )
    return address(head=head, measure=measure, kind=kind, relation=row["relation"], direction=row["direction"])


def measure_id(column: str, relation: str, direction: str, kind: str) -> str:
    """Return the id of a measure of the explorer."""
    return f"dependency/{relation}/{direction}/{column}/{kind}"


@dataclass(frozen=True, eq=False)
class Read:
    """What is kept of the sentences that were read: the values of all heads for each word, in both directions."""

    ids: list[str]
    # For the words of each sentence that have a syntactic head: these heads, from 0, the relations, and the values of
    # all candidates, of shape (words, layers × heads × readings, words of the sentence), −∞ at the word itself.
    gold: list[Array]
    relations: list[list[str]]
    candidates: list[npt.NDArray[np.float32]]
    totals: list[npt.NDArray[np.float64]]  # the sums of the absolute values of rows over words, (layers × heads, words)
    numbers: list[Array]  # the indices of these words in the sentence
    is_tree: list[bool]  # whether all words but one have a syntactic head, and that one is the root

    def divide(self, sentence: int) -> npt.NDArray[np.float32]:
        """Return the values of a sentence's candidates if each row of a map is divided by its sum over words."""
        totals = self.totals[sentence]
        return divide_rows(self.candidates[sentence], totals[:, self.numbers[sentence]], totals)


def read_values(
    batches: Iterable[Iterable[tuple[Sequence[int], MapBatch]]], name_of: Callable[[str], str], readings: int
) -> Read:
    """Keep the values of all heads for the words of sentences, with the name that each relation is counted under.

    The maps are in float64, because sums of float32 maps would depend on the batch that a sentence is read in. Each
    batch comes in groups with the places of their sentences in it, which are kept in the order of the batch.
    """
    read = Read([], [], [], [], [], [], [])
    for batch in batches:
        of_batch = dict(chain.from_iterable(_words_of(group, places, readings) for places, group in batch))
        for _, (sentence, gold, number, candidates, totals) in sorted(of_batch.items(), key=itemgetter(0)):
            read.ids.append(sentence.id)
            read.gold.append(gold)
            relations = counted_relations(sentence)
            read.relations.append([name_of(relations[word]) for word in number])
            read.candidates.append(candidates)
            read.totals.append(totals)
            read.numbers.append(number)
            read.is_tree.append(None not in sentence.heads and sentence.heads.count(0) == 1)
    return read


def _words_of(
    group: MapBatch, places: Sequence[int], readings: int
) -> Iterator[tuple[int, tuple[Sentence, Array, Array, Array, Array]]]:
    """Yield what `Read` keeps of each sentence of a group that has scored words, after the place of the sentence."""
    all_relations = {relation: 0 for sentence in group.sentences for relation in sentence.relations}
    words = ScoredWords.of(group.sentences, all_relations)
    position = word_positions(group).numpy()
    for row, (place, sentence) in enumerate(zip(places, group.sentences, strict=True)):
        scored = (words.sentence == row) & (words.head > 0)
        if not scored.any():
            continue
        number = words.number[scored] - 1  # from 0
        at = position[row, : len(sentence)]
        maps = group.maps[row].cpu().numpy()[..., at[:, None], at]
        by_reading = np.stack(list(read_in(maps, readings)), 2)[..., number, :]  # layer, head, reading, word, candidate
        candidates = by_reading.reshape(-1, *by_reading.shape[3:]).swapaxes(0, 1).astype(np.float32)
        candidates[np.arange(len(number)), :, number] = -np.inf  # no word is its own candidate
        totals = np.abs(maps).sum(-1).reshape(-1, len(at))
        yield place, (sentence, words.head[scored] - 1, number, candidates, totals)


def _check_relations(corpus: Corpus, options: DependencyOptions) -> Counter[str]:
    """Return the relations of a corpus with their words, if there are any and none has the name of a total."""
    file = corpus.files[0].path if corpus.files else None
    relations = inventory(corpus, options.gold)
    if not relations:
        raise CorpusError("no word has an enhanced head that is a word, which --trees enhanced needs", file=file)
    try:
        check_relations(tuple(relations), coarse=options.coarse)
    except ValueError as error:
        raise CorpusError(str(error), file=file) from None
    return relations


def _rows_asked_for(options: DependencyOptions, known: Collection[str]) -> RowChoice:
    """Return the rows that the options ask for, if the corpus can have them."""
    unions = options.unions()
    if taken := next((name for name, _ in unions if name in known or name in TOTALS), None):
        raise OptionError(f"--group: {taken!r} is the name of a relation or total")
    wanted = [*options.relations, *(name for _, members in unions for name in members)]
    names = [*known, *TOTALS]
    absent = tuple(name for name in dict.fromkeys(wanted) if name not in names)
    # A treebank may lack a universal relation, or a subtype of one. Any other unknown name is a mistake.
    for name in absent:
        if coarse_relation(name) not in _UNIVERSAL:
            raise OptionError(f"the corpus has no relation {name!r}{did_you_mean(name, names)}")
    if wanted and len(absent) == len(set(wanted)):
        raise OptionError(f"the corpus has none of the relations {', '.join(absent)}")
    return RowChoice(options.relations, unions)


def asked_phrases(asked: RowChoice, groups_of_words: Sequence[str]) -> tuple[str, ...]:
    """Say which rows were chosen before the run."""
    wanted = [*asked.relations, *(name for _, members in asked.unions for name in members)]
    there = {*map(plain_relation, groups_of_words), *TOTALS}
    absent = [name for name in dict.fromkeys(wanted) if name not in there]
    groups = [f"{name} ({', '.join(members)})" for name, members in asked.unions]
    phrases = []
    if asked.relations:
        phrases.append(f"only the relations that were named before the run: {', '.join(asked.relations)}")
    phrases += [f"groups of relations: {'; '.join(groups)}"] if groups else []
    phrases += [f"not in the corpus: {', '.join(absent)}"] if absent else []
    return tuple(phrases)


MEAN = "mean"
"""The name that stands for all relations together."""


def reference_id(name: str, kind: str) -> str:
    """Return the id of what the measures of a relation are read beside; `MEAN` stands for all relations together."""
    return f"dependency/{name}/{kind}"
