"""Where do the heads fail? Where each head finds an antecedent, and what it picks where it does not.

Every count is kept for all heads, so that those of the best head, which is known only after counting, can be read.
Intervals have to respect that the mentions of a document depend on each other. The windows of a document may be counted
in different parts of a corpus, so sums of squares by document cannot be added up. Documents are therefore dealt into
groups by a hash of their names, and the counts of each group are kept: these add up, and the groups are the clusters of
the interval (the method of random groups, Wolter 2007, chapter 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders.coreference import TYPES, Document, Mention
from ...extractors import MapBatch
from ...reports.columns import TableColumn, bounds
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..contract import Request
from ..counting.counting import CountMaps
from ..counting.exact_sums import ConfiguredSums
from ..counting.resampling import sentence_keys
from ..shared.failures import (
    ChosenHead,
    FailureTables,
    Sums,
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
from .decisions import (
    ALL,
    BASELINES,
    DIRECTIONS,
    POLICIES,
    SENTENCE_BINS,
    WORD_BINS,
    Choice,
    Traits,
    baseline_picks,
    bin_name,
    bin_of,
    choices_of,
    column_name,
    distance,
    nearest_first,
    traits,
)
from .picks import ANTECEDENT, NONE, PICKS, picks, relationships
from .rows import CoreferenceQuestion, CoreferenceResults, Mentions, PlanContext, address_of, mentions_of, under

Array = npt.NDArray[np.int64]

CLUSTERS = 64
"""The number of groups into which documents are dealt."""

MENTION_BINS = (1, 2, 3, 4, 6, 11)
"""The smallest distance in mentions of each bin; 1 is the nearest candidate. The last bin has no upper end."""

GENDERS = {"Fem": "feminine", "Masc": "masculine", "Neut": "neuter"}
NUMBERS = {"Sing": "singular", "Plur": "plural"}


def _bin_names(bins: Sequence[int]) -> tuple[str, ...]:
    """Return the names of bins, such as ``6–10``, given the smallest distance of each."""
    return tuple(bin_name(index, bins) for index in range(len(bins)))


ASPECTS: Mapping[str, tuple[str, ...]] = {
    "mentions": ("all",),
    "distance in sentences": _bin_names(SENTENCE_BINS),
    "distance in words": _bin_names(WORD_BINS),
    "distance in mentions": _bin_names(MENTION_BINS),
    "type": TYPES,
    "type of the antecedent": TYPES,
    "gender": (*GENDERS.values(), "another gender", "unknown"),
    "number": (*NUMBERS.values(), "another number", "unknown"),
}
"""The properties by which mentions are counted, each with its classes. Distances are those to the nearest antecedent.
Every mention has one class of each property."""

CLASSES = tuple((aspect, name) for aspect, names in ASPECTS.items() for name in names)
"""All classes, in the order in which they are counted."""

_INDEX = {item: index for index, item in enumerate(CLASSES)}

GROUPS = (ALL, *TYPES)
"""The groups of mentions, each of which has a best head."""

_SHOWN_BASELINES = {
    "nearest": ("nearest", "the nearest candidate"),
    "head match": ("same head word", "the nearest candidate with the same head word"),
    "rule-based": ("rules", "the rules"),
}
"""The baselines that stand beside the heads, each with its heading and what it picks."""


def _of_baselines(count: str, rate: str, counted: str, help_text: str) -> tuple[TableColumn, ...]:
    """Return the columns of the baselines: counts, and shares with their intervals."""
    # The names of columns are those of a baseline followed by `count`, `rate`, `low` or `high`, as in `nearest_count`.
    # `counted` and `help_text` have `{}` in place of what a baseline picks.
    columns: list[TableColumn] = []
    for baseline, (heading, picked) in _SHOWN_BASELINES.items():
        name = column_name(baseline)
        three_names = f"{name}_{rate} {name}_low {name}_high"
        meaning = f"`{name}_{count}` / `total`"
        columns += [
            TableColumn(f"{name}_{count}", "count", counted.format(picked)),
            TableColumn(three_names, "share", meaning, heading, beside=bounds(name), help=help_text.format(picked)),
        ]
    return tuple(columns)


_TYPE = TableColumn("type", "text", "as in `coreference.csv`", "mentions")

FAILURES = failures_schema(
    "coreference_failures",
    "With `--failures`. One row per type of mention, chosen head and class of mentions, with the candidates of "
    "`--candidates`. The 95 % intervals are Wilson's, for the effective number of mentions, because those of one "
    "document depend on each other.",
    _TYPE,
    counted="mentions",
    found="antecedent",
    total="scored mentions in this class",
    correct="mentions whose antecedent is found",
    baselines=_of_baselines(
        "correct", "accuracy", "mentions whose antecedent {} is", "The accuracy of {} on the same mentions."
    ),
)

PICKED = picks_schema(
    "coreference_picks",
    "With `--failures`. One row per type of mention, chosen head and kind of word that is picked. Candidates and "
    "intervals are as in `coreference_failures.csv`.",
    _TYPE,
    counted="mentions",
    heading="picks",
    total="scored mentions",
    share_of="the n mentions",
    baselines=_of_baselines("count", "share", "mentions for which {} is such a word", "How often {} is such a word."),
)

_MISTAKES = {
    "same entity": "a later mention of the entity",
    "inside an antecedent": "a word of an antecedent that is not its head word",
    "inside the mention": "another word of the mention itself",
    "same head word": "a mention of another entity with the same head word",
    "nearest mention": "the nearest mention",
    "agreeing mention": "another mention that agrees in number, gender and person",
    "other mention": "a mention that does not agree",
    "other word": "a word that is the head word of no mention",
    "out of reach": "a word although it cannot see an antecedent",
}
"""What is picked by mistake, in a sentence."""


class Failures(CoreferenceQuestion):
    """Where do the heads fail, and what do they pick instead?"""

    name = "failures"
    tables = (FAILURES, PICKED)
    template = Path(__file__).with_name("failures.html.j2")

    def requests(self, plan_context: PlanContext) -> Sequence[Request]:
        """Count what all heads pick, with the option ``--failures``."""
        options, setting = plan_context.options[FailureOptions], plan_context.setting
        if not options.failures:
            return ()
        options.check_heads(setting.encoder.n_layers, setting.encoder.n_heads)
        arguments = {"candidates": plan_context.chosen.candidates, **plan_context.arguments}
        counting = CountMaps(CoreferenceFailures, tuple(arguments.items()))
        name = f"coreference-failures/{setting.maps.kind}"
        return (Request(name, "failures", plan_context.windows, setting.maps, counting),)

    def find(self, counts: Mentions, lookups: Any, earlier: Mapping[str, Any]) -> FailureTables | None:
        """Return the tables of the best head of each type of mention, or of the heads that were named."""
        chosen, tables = counts.options[FailureOptions].failures, counts.tables
        for metric in counts.metrics_of(self.name, CoreferenceFailures):
            return failure_tables(metric, tables.best, tables.cells, chosen)
        return None

    def frames(self, answer: FailureTables, results: CoreferenceResults) -> Mapping[str, pd.DataFrame]:
        """Return both tables."""
        return {FAILURES.name: answer.failures, PICKED.name: answer.picked}

    def show(self, answer: FailureTables, results: CoreferenceResults) -> Sequence[ShownTable]:
        """Return both tables."""
        return shown_failure_tables(answer, (FAILURES, PICKED), "mentions", PICKS[0])

    def values(self, answer: FailureTables, results: CoreferenceResults) -> Mapping[str, Any]:
        """Return the links to the wrong picks for each type of mention."""

        def query_of(type_: str) -> Mapping[str, str | None]:
            return {"relation": "coreference", "tag": None if type_ == ALL else type_}

        return {"mistakes": links_to_mistakes(rows_of(answer.picked), "type", query_of)}

    def explore(
        self, answer: FailureTables, counts: Mentions, results: CoreferenceResults, kind: str
    ) -> Contribution | None:
        """Say which mistake of the best head for all types is clearly first."""
        for row in results.best_rows[:1]:
            mistake = clear_mistake(rows_of(answer.picked), row, "type", PICKS[0])
            if row["type"] in results.claimed and mistake is not None:
                of_head = share(mistake["share"], mistake["share_low"], mistake["share_high"])
                of_nearest = share(mistake["nearest_share"], mistake["nearest_low"], mistake["nearest_high"])
                text = (
                    f"{of_head} of {amount(row['total'], 'mentions')}: where head "
                    f"{head_name(row['layer'], row['head'])}, the best for {mentions_of(row)}, is wrong, it most often "
                    f"picks {_MISTAKES[mistake['picked']]} (the nearest candidate: {of_nearest})."
                )
                return Contribution(findings=(Finding(text, address_of(row, kind)),))
        return None


class CoreferenceFailures(ConfiguredSums):
    """How often each head and each baseline finds an antecedent of mentions of each class, and what is picked else."""

    # All states are sums of whole numbers over mentions, so any split of the corpus gives the same bits. They take
    # about `42 × 4 × 64 × (2 · layers · heads + 4) × 8` bytes.
    # seed: the seed by which documents are dealt into groups, and of the random baseline.

    right: Int[Tensor, "classes groups clusters guessers+1"]
    picked: Int[Tensor, "picks groups clusters guessers"]

    def __init__(
        self, n_layers: int, n_heads: int, *, candidates: str = "preceding", singletons: bool = False, seed: int = 0
    ) -> None:
        if candidates not in POLICIES:
            raise ValueError(f"candidates must be one of {', '.join(POLICIES)}, not {candidates!r}")
        self.candidates, self.singletons, self.seed = candidates, singletons, seed
        self.shape = (len(DIRECTIONS), n_layers, n_heads)
        super().__init__(repr((self.shape, candidates, singletons, seed)))
        guessers = int(np.prod(self.shape)) + len(BASELINES)
        # Last come the numbers of all mentions, right or not.
        right = torch.zeros(len(CLASSES), len(GROUPS), CLUSTERS, guessers + 1, dtype=torch.int64)
        self.add_state("right", right, "sum")
        self.add_state("picked", torch.zeros(len(PICKS), len(GROUPS), CLUSTERS, guessers, dtype=torch.int64), "sum")

    def update(self, batch: MapBatch) -> None:
        """Count a batch of word-level maps of windows."""
        if batch.level != "word":
            raise ValueError("coreference failures need word-level maps (level='word')")
        self.check_configuration()
        choices = choices_of(batch, singletons=self.singletons)
        if not choices:
            return
        related: dict[int, Int[np.ndarray, "choices words"]] = {}
        classes, families, baselines = [], [], []
        for index in dict.fromkeys(index for index, _ in choices):
            in_window = [choice for index_of_choice, choice in choices if index_of_choice == index]
            window = in_window[0].window
            document = window.source
            by_mention = traits(document, window.start, window.stop)
            related[index] = relationships(window, in_window, by_mention)
            for kinds_of_words, choice in zip(related[index], in_window, strict=True):
                picked = baseline_picks(document, choice, by_mention, self.seed)
                heads = [None if mention is None else mention.head for mention in picked]
                baselines.append([NONE if head is None else kinds_of_words[head - window.start] for head in heads])
                classes.append(_classes(document, choice, by_mention[choice.mention]))
                families.append(document.family or document.id)
        head_picks = picks(batch, choices, related, self.candidates).reshape(len(choices), -1)
        kinds = torch.from_numpy(np.concatenate([head_picks, np.array(baselines, dtype=np.int8)], 1))
        cluster = torch.from_numpy((sentence_keys(families, self.seed) % np.uint64(CLUSTERS)).astype(np.int64))
        type_group = [GROUPS.index(choice.mention.type) for _, choice in choices]
        self._add(kinds, cluster, torch.tensor(type_group), torch.tensor(classes))

    def _add(
        self,
        kinds: Int[Tensor, "choices guessers"],
        cluster: Int[Tensor, " choices"],
        type_group: Int[Tensor, " choices"],
        classes: Int[Tensor, "choices aspects"],
    ) -> None:
        """Add decisions to the counts of all mentions and of those of their type."""
        every_mention = torch.ones(len(kinds), 1, dtype=torch.bool)
        right = torch.cat([kinds == ANTECEDENT, every_mention], 1).long()
        for group in (torch.full_like(type_group, GROUPS.index(ALL)), type_group):
            # The rows of each mention in the states, whose first dimensions are flattened.
            group_and_cluster = group * CLUSTERS + cluster
            for mention_class in classes.T:  # by each aspect
                class_group_and_cluster = mention_class * len(GROUPS) * CLUSTERS + group_and_cluster
                self.right.flatten(0, 2).index_add_(0, class_group_and_cluster, right)
            for kind in range(len(PICKS)):
                self.picked[kind].flatten(0, 1).index_add_(0, group_and_cluster, (kinds == kind).long())


def _classes(document: Document, choice: Choice, mention_traits: Traits) -> list[int]:
    """Return the class of a mention by each aspect, as an index of `CLASSES`."""
    candidates = nearest_first(document, choice)
    antecedent: Mention = next(candidate for candidate in candidates if candidate.entity == choice.mention.entity)
    # The distance to the nearest antecedent, in sentences, words and mentions.
    n_sentences, n_words = distance(document, choice)
    n_mentions = next(rank for rank, candidate in enumerate(candidates, start=1) if candidate.head in choice.gold)
    number, gender, _ = mention_traits
    class_names = (  # in the order of `ASPECTS`
        "all",
        bin_name(bin_of(n_sentences, SENTENCE_BINS), SENTENCE_BINS),
        bin_name(bin_of(n_words, WORD_BINS), WORD_BINS),
        bin_name(bin_of(n_mentions, MENTION_BINS), MENTION_BINS),
        choice.mention.type,
        antecedent.type,
        GENDERS.get(gender, "another gender") if gender else "unknown",
        NUMBERS.get(number, "another number") if number else "unknown",
    )
    return [_INDEX[aspect_and_name] for aspect_and_name in zip(ASPECTS, class_names, strict=True)]


def failure_tables(
    metric: CoreferenceFailures, best: pd.DataFrame, cells: pd.DataFrame, chosen: Sequence[str]
) -> FailureTables:
    """Make the tables of the best head of each type of mention (``best``), or of other heads (``2-2``)."""
    # best, cells: the tables of best heads and of all heads, of which the candidates that were counted are used.
    best, cells = under(metric.candidates, best), under(metric.candidates, cells)
    return tables_of_heads(_chosen_heads(metric, best, cells, chosen), (FAILURES, PICKED))


def _chosen_heads(
    metric: CoreferenceFailures, best: pd.DataFrame, cells: pd.DataFrame, chosen: Sequence[str]
) -> Iterator[ChosenHead]:
    """Yield the chosen heads of each type of mention."""
    counts = {name: state.numpy() for name, state in metric.compute().items()}
    n_heads = int(np.prod(metric.shape))
    for row in rows_of(best[best["total"] > 0]):
        kind = row["type"]
        right_by_class, by_pick = (counts[name][:, GROUPS.index(kind)] for name in ("right", "picked"))
        mentions = right_by_class[0, :, -1]  # the number of mentions of each cluster, which every class has last
        classes = {
            (aspect, name): _sums_over_clusters(right, right[:, -1])
            for (aspect, name), right in zip(CLASSES, right_by_class, strict=True)
            if aspect != "type" or kind == ALL  # all mentions of a type are of this type
        }
        picks = {name: _sums_over_clusters(picked, mentions) for name, picked in zip(PICKS, by_pick, strict=True)}
        for layer, head, way in chosen_heads(row, cells[cells["type"] == kind], chosen):
            columns = {"type": kind, "layer": layer, "head": head, "direction": way}
            # The index of the head and of each baseline among all that guess.
            guessers = {"": int(np.ravel_multi_index((DIRECTIONS.index(way), layer - 1, head - 1), metric.shape))}
            guessers |= {f"{column_name(name)}_": n_heads + BASELINES.index(name) for name in _SHOWN_BASELINES}
            yield ChosenHead(columns, guessers, classes, picks)


def _sums_over_clusters(x: Array, n: Array) -> Sums:
    """Add up x, x² and x · n of each guesser, and n and n², over clusters."""
    return np.stack([x.sum(0), (x * x).sum(0), n @ x]), np.array([n.sum(), n @ n])
