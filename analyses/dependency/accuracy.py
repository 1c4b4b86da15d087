"""Dependency accuracy per attention head (Clark et al. 2019, §4.2), with baselines and bootstrap, and its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ...corpora_loaders import OFFSETS, Corpus, coarse_relation, is_punct
from ...corpora_loaders.enhanced import enhanced_heads
from ...corpora_loaders.tree import is_root, plain_relation
from ...extractors import DIRECTIONS, MapBatch
from ..contract import OptionError
from ..counting.best_head import best_head, cells_of_groups, heldout, intervals, rate, rates, sum_groups
from ..counting.held_out import heldout_gain, index_of
from ..counting.outcomes import Counts, OutcomeCounts
from ..shared.picks import READINGS
from .decisions import ScoredWords, head_hits
from .options import Gold

ALL = "all"
ALL_NO_PUNCT = "all-nopunct"
ALL_NO_PUNCT_ROOT = "all-nopunct-noroot"
TOTALS = (ALL, ALL_NO_PUNCT, ALL_NO_PUNCT_ROOT)
"""The names of rows over several relations: every word (as in the paper's "All"), every word but punctuation (as the
paper's probes are scored), and every word but punctuation and roots, which no head can get right."""


@dataclass(frozen=True)
class RowChoice:
    """The rows of the tables, and hence the statistics that are compared, if they were chosen before the run."""

    relations: tuple[str, ...] = ()  # the relations and totals that have rows; empty for all
    unions: tuple[tuple[str, tuple[str, ...]], ...] = ()  # groups of relations, each a row of its own


class DependencyTables(NamedTuple):
    """The tables of the dependency report, whose columns `attentionology.analyses.dependency.best_heads` declares.

    Attributes:
        cells: one row per relation, direction, layer and head.
        best: one row per relation, the `TOTALS` first, then the others from the most frequent one on.
    """

    cells: pd.DataFrame
    best: pd.DataFrame


class DependencyAccuracy(OutcomeCounts):
    """How often each attention head picks the syntactic head of a word, by relation and direction.

    `update` takes word-level maps, and `compute` returns the tables. `merge_state`,
    ``state_dict`` and `torch.distributed` add up parts of a corpus, see `OutcomeCounts`. The units of the bootstrap are
    sentences. It takes ``relations × replicates × (2 · layers · heads + 11) × 4`` bytes.

    Args:
        relations: the relations that are counted. Words of other relations are left out, also of the totals, so for
            totals over all words give all relations of the corpus, as in ``list(treebank.relations)``. In treebanks
            whose relations do not say what is punctuation or a root, give those of
            ``attentionology.analyses.dependency.accuracy.inventory(treebank, "basic")`` instead.
        n_layers, n_heads: the shape of the maps.
        coarse: whether to count universal relations (`coarse_relation`) instead of subtypes as given. All words whose
            universal relation is among those of ``relations`` are then counted.
        both: whether maps are also read in both directions at once, as α_ij + α_ji.
        causal: whether words see only the words before. Maps are then read in both directions at once, too, and the
            words whose syntactic head each direction can reach are counted.
        trees: the gold: the ``"basic"`` tree, or the ``"enhanced"`` dependencies, of which a word may have several, or
            ``"pairs"`` in their place, see `attentionology.corpora_loaders.pairs`. A
            word then counts once for each of its relations, and once in each of the totals and ``unions``, and is
            right if any of its heads of this relation, or of these relations, is found. The root and empty nodes are
            no heads of words; the state ``left_out`` has the numbers of both, and of words that have no other head,
            whatever their relations.
        unions: with enhanced dependencies, groups of relations that are counted, each with its relations.
        replicates: the number of bootstrap replicates; 0 for no bootstrap.
        seed: the seed of the bootstrap and of the splits into halves.

    Raises:
        ValueError: a relation has the name of one of the `TOTALS`.

    Example:
        >>> import torch
        >>> from attentionology import Sentence
        >>> from attentionology.analyses import DependencyAccuracy
        >>> from attentionology.extractors import MapBatch
        >>> sentence = Sentence("s1", ("Birds", "sing"), heads=(2, 0), relations=("nsubj", "root"))
        >>> maps = torch.tensor([[0.1, 0.2, 0.6, 0.1]] * 4)[None, None, None]  # [CLS] Birds sing [SEP], one head
        >>> special = torch.tensor([[True, False, False, True]])
        >>> metric = DependencyAccuracy(["nsubj"], n_layers=1, n_heads=1, replicates=0)
        >>> metric.update(MapBatch(maps, torch.tensor([4]), special, (sentence,)))
        >>> metric.compute().best[["relation", "total", "correct"]].query("relation == 'nsubj'").values.tolist()
        [['nsubj', 1, 1]]
    """

    inventory = "relations"
    left_out: Int[Tensor, " 3"]

    def __init__(
        self,
        relations: Sequence[str],
        n_layers: int,
        n_heads: int,
        *,
        coarse: bool = False,
        both: bool = False,
        causal: bool = False,
        trees: Gold = "basic",
        unions: Sequence[tuple[str, Sequence[str]]] = (),
        replicates: int = 1000,
        seed: int = 0,
    ) -> None:
        names = check_relations(relations, coarse=coarse)
        self.trees = trees
        # In a basic tree, totals and unions are sums of their relations, so that they need no counts of their own.
        members = {} if trees == "basic" else members_by_group(names, {name: set(union) for name, union in unions})
        self._members = list(members.values())
        self.directions = READINGS if both or causal else DIRECTIONS
        self.causal = causal
        of_trees = () if trees == "basic" else (trees, *(is_member.tolist() for is_member in self._members))
        super().__init__(
            [*names, *members],
            (len(self.directions), n_layers, n_heads),
            len(OFFSETS) + 2 * causal,  # see `update` on the two more
            replicates=replicates,
            seed=seed,
            configuration=("dependency", coarse, *of_trees),
        )
        if trees != "basic":
            self.add_state("left_out", torch.zeros(3, dtype=torch.int64), "sum")
        self.coarse = coarse
        self._index = {name: i for i, name in enumerate(names)}

    def absorb(self, other: OutcomeCounts) -> None:
        """Add counts whose groups may be fewer, see `OutcomeCounts.absorb`."""
        super().absorb(other)
        if isinstance(other, DependencyAccuracy) and self.trees != "basic":
            self.left_out += other.left_out

    def update(self, batch: MapBatch) -> None:
        """Count a batch of word-level maps.

        Raises:
            ValueError: the maps are at token level or have another shape.
            CorpusError: the enhanced dependencies of a sentence cannot be read.
            TooManyDecisionsError: a relation has more words than the bootstrap can count.
        """
        if batch.level != "word":
            raise ValueError("dependency accuracy needs word-level maps (level='word')")
        self.check_shape(batch.maps.shape[1:3])
        enhanced = [enhanced_heads(sentence) for sentence in batch.sentences] if self.trees != "basic" else None
        arcs = None if enhanced is None else [heads.arcs for heads in enhanced]
        words = ScoredWords.of(batch.sentences, self._index, arcs, coarse=self.coarse)
        # Each baseline guesses the word at its offset, or the first or last word if the sentence ends before.
        guessed = np.clip(words.number[:, None] + np.array(OFFSETS), 1, words.length[:, None])
        is_right = guessed == words.head[:, None]  # word, offset
        if self.causal:  # whether each direction can reach the head stands in two more columns
            is_before = (words.head > 0) & (words.head < words.number)
            is_after = words.head > words.number
            is_right = np.concatenate([is_right, np.stack([is_before, is_after], 1)], 1)
        group, sentence = words.relation, words.sentence
        hits = head_hits(batch, words, len(self.directions))
        if enhanced is not None:
            group, sentence, hits, is_right = self._decisions(words, hits, is_right)
            left_out = [(heads.roots, heads.empty_nodes, heads.without_head) for heads in enhanced]
            self.left_out += torch.tensor(left_out).sum(0)
        self.add_outcomes(group, sentence, [sentence.id for sentence in batch.sentences], hits, is_right)

    def compute(self, asked: RowChoice | None = None) -> DependencyTables:
        """Return the tables, see `DependencyTables`.

        Args:
            asked: the rows; None for all relations and totals.

        Raises:
            ValueError: counts of another configuration were merged or loaded.
        """
        return tables(self.groups, *self.split_counts(), OFFSETS, asked)

    def _decisions(
        self, words: ScoredWords, hits: Bool[Tensor, "arcs ..."], baselines: Bool[np.ndarray, "arcs baselines"]
    ) -> tuple[Any, Any, Bool[Tensor, "decisions ..."], Bool[np.ndarray, "decisions baselines"]]:
        """Return the group, sentence and outcomes of decisions, which are right if any of their arcs is."""
        # All arcs of a word in a relation, total or union are one decision. So each arc counts in its relation, and
        # again in each total and union that has this relation.
        members = [np.flatnonzero(is_member[words.relation]) for is_member in self._members]
        arc = np.concatenate([np.arange(len(words.relation)), *members])
        n_relations = len(self.groups) - len(self._members)
        groups_of_members = [np.full(len(arcs), n_relations + index) for index, arcs in enumerate(members)]
        group = np.concatenate([words.relation, *groups_of_members])

        # A decision is one number, made of its group, its sentence and its word.
        n_sentences, n_numbers = int(words.sentence.max(initial=0)) + 1, int(words.number.max(initial=0)) + 1
        key = (group * n_sentences + words.sentence[arc]) * n_numbers + words.number[arc]
        decisions, decision_of_arc = np.unique(key, return_inverse=True)
        device = hits.device
        outcomes = torch.cat([hits.flatten(1), torch.from_numpy(baselines).to(device)], 1)
        outcomes = outcomes[torch.from_numpy(arc).to(device)]
        right_arcs = torch.zeros(len(decisions), outcomes.shape[1], dtype=torch.int32, device=device)
        right_arcs.index_add_(0, torch.from_numpy(decision_of_arc).to(device), outcomes.int())
        of_heads, of_baselines = right_arcs.bool().tensor_split([outcomes.shape[1] - baselines.shape[1]], 1)
        group, sentence = np.divmod(decisions // n_numbers, n_sentences)
        return group, sentence, of_heads.reshape(len(decisions), *hits.shape[1:]), of_baselines.cpu().numpy()

    def gold_facts(self) -> tuple[str, ...]:
        """Say what was left out of enhanced dependencies, or of pairs."""
        if self.trees == "basic":
            return ()
        roots, empty_nodes, words = self.left_out.tolist()
        if self.trees == "pairs":
            partners = "pairs of words, of which one has to be found for each label of a word"
            return (f"gold: {partners}; left out: {words:,} words that have no partner",)
        return (
            "gold: the enhanced dependencies, of which one has to be found for each relation of a word; left out: "
            f"{roots:,} heads that are the root, {empty_nodes:,} that are empty nodes, and hence {words:,} words that "
            "have no other head",
            "rules that know parts of speech are counted for basic trees only",
        )


def inventory(corpus: Corpus, trees: Gold) -> Counter[str]:
    """Return the relations of a corpus, as they are counted (`counted_relations`), each with the number of its words.

    Raises:
        CorpusError: no word has a head in its sentence.
        OptionError: the corpus has no enhanced dependencies, because its words are surface tokens.
    """
    if trees == "basic":
        corpus.check_trees("the analysis dependency", "; --analyses surface,clusters needs none")
        words: Counter[str] = Counter()
        for (relation, _), count in corpus.counted.tagged.items():
            words[relation] += count
        return Counter(dict(sorted(words.items(), key=lambda item: (-item[1], item[0]))))
    if trees == "enhanced" and getattr(corpus, "tokens", None) == "surface":
        raise OptionError("--trees enhanced needs the syntactic words, between which its arcs are; leave out --tokens")
    return corpus.enhanced_relations


def words_by_group(relations: Mapping[str, int], *, coarse: bool = False) -> Counter[str]:
    """Return the number of words of each relation that has a row, from those as they are counted."""
    words: Counter[str] = Counter()
    for relation, count in relations.items():
        words[plain_relation(coarse_relation(relation) if coarse else relation)] += count
    return words


def check_relations(relations: Sequence[str], *, coarse: bool = False) -> list[str]:
    """Return the relations that are counted, in alphabetical order; raise `ValueError` if one is named as a total."""
    names = sorted({coarse_relation(relation) if coarse else relation for relation in relations})
    if clash := set(map(plain_relation, names)) & set(TOTALS):
        raise ValueError(f"relation names {sorted(clash)} are reserved for totals")
    return names


def tables(
    relations: Sequence[str],
    subsets: Counts,
    replicates: Counts,
    offsets: Sequence[int],
    asked: RowChoice | None = None,
) -> DependencyTables:
    """Build the tables."""
    # Ties for the best head go to the higher layer, then to the higher head, then to the last direction. Ties for the
    # best offset go to the larger one. Both rules are those of the authors' code.
    members = members_of(relations, subsets, asked)
    correct = np.stack([subsets.correct[rows, 0].sum(0) for rows in members.values()])
    total = np.array([subsets.total[rows, 0].sum() for rows in members.values()])
    best = [_best_row(name, rows, subsets, replicates, offsets) for name, rows in members.items()]
    by_head = cells_of_groups(correct, total, READINGS, {"relation": list(members)})
    tables = DependencyTables(by_head, pd.DataFrame(best))
    if subsets.baselines.shape[-1] > len(offsets):  # of a causal model
        reach = {}  # by relation and direction
        for (name, rows), n_words in zip(members.items(), total.tolist(), strict=True):
            before, after = subsets.baselines[rows, 0, len(offsets) :].sum(0).tolist()
            # A word with several heads may have some on either side, so that the sum can be more than all words.
            together = min(before + after, n_words)
            for direction, reached in zip(READINGS, (before, after, together), strict=True):
                reach[name, direction] = rate(reached, n_words)
        for table in tables:
            table["reach"] = [reach[key] for key in zip(table["relation"], table["direction"], strict=True)]
    return tables


def members_of(relations: Sequence[str], subsets: Counts, asked: RowChoice | None = None) -> dict[str, list[int]]:
    """Return the indices of the relations that each row counts: totals, unions, then relations by falling frequency."""
    asked = asked or RowChoice()
    # With enhanced dependencies, a word counts once in a total or union, so these are counted apart from relations.
    sum_names = (*TOTALS, *(name for name, _ in asked.unions))
    counted_apart = {name: [index] for index, name in enumerate(relations) if name in sum_names}
    # Roots and punctuation whose relations do not say what they are have been counted apart from the other words of
    # their relations.
    indices_of: dict[str, list[int]] = {}
    for index, name in enumerate(relations):
        if name not in counted_apart:
            indices_of.setdefault(plain_relation(name), []).append(index)
    frequencies = {name: int(subsets.total[indices, 0].sum()) for name, indices in indices_of.items()}  # in all texts
    in_order = sorted(indices_of, key=lambda name: (-frequencies[name], name))
    by_frequency = [index for name in in_order for index in indices_of[name]]
    no_punct = [index for index in by_frequency if not is_punct(relations[index])]
    no_punct_root = [index for index in no_punct if not is_root(relations[index])]
    totals = {ALL: by_frequency, ALL_NO_PUNCT: no_punct, ALL_NO_PUNCT_ROOT: no_punct_root}
    totals |= {name: counted_apart[name] for name in TOTALS if name in counted_apart}
    # Where no relation is called root, none may be called punct. If no punctuation is known, the row would be `all`.
    has_roots = any(is_root(relations[index]) for index in by_frequency)
    if len(no_punct) == len(by_frequency) and has_roots and not any(map(is_root, indices_of)):
        del totals[ALL_NO_PUNCT]
    unions = {}
    for name, union in asked.unions:
        if members := [index for index in by_frequency if plain_relation(relations[index]) in union]:
            unions[name] = counted_apart.get(name, members)
    # The words of a treebank without relations are in the totals alone.
    single_rows = {} if in_order == ["_"] else {name: indices_of[name] for name in in_order}
    rows = {**totals, **unions, **single_rows}
    asked_names = {*asked.relations, *unions} if asked.relations else rows.keys()
    return {name: indices for name, indices in rows.items() if name in asked_names}


def members_by_group(
    relations: Sequence[str], unions: Mapping[str, Collection[str]]
) -> dict[str, Bool[np.ndarray, " relations"]]:
    """Return which relations belong to each of the `TOTALS` and of the groups of relations."""
    is_word = np.array([not is_punct(name) for name in relations], dtype=bool)
    are_roots = np.array([is_root(name) for name in relations], dtype=bool)
    totals = {ALL: np.ones(len(relations), dtype=bool), ALL_NO_PUNCT: is_word, ALL_NO_PUNCT_ROOT: is_word & ~are_roots}
    return totals | {
        name: np.array([plain_relation(relation) in members for relation in relations], dtype=bool)
        for name, members in unions.items()
    }


def _best_row(
    name: str, rows: list[int], subsets: Counts, replicates: Counts, offsets: Sequence[int]
) -> dict[str, Any]:
    """Return the row of the best head, beside the best offset, for the relations with these indices together."""
    groups = index_of(rows)
    correct, total = subsets.correct[groups].sum(0), subsets.total[groups].sum(0)
    n = int(total[0])
    chosen, columns = best_head(correct[0], n, READINGS)  # in the whole corpus
    by_offset = subsets.baselines[groups, 0].sum(0)[: len(offsets)]
    ascending = sorted(range(len(offsets)), key=lambda index: offsets[index])
    offset = max(ascending, key=lambda index: (by_offset[index], offsets[index]))
    right, right_by_offset = columns["correct"], int(by_offset[offset])
    # The same in each bootstrap replicate, shape (replicates,).
    drawn_total = sum_groups(replicates.total[groups])
    drawn_right = sum_groups(replicates.correct[(groups, slice(None), *chosen)])
    drawn_by_offset = sum_groups(replicates.baselines[groups, :, offset])
    drawn_rates = rates(np.stack([drawn_right, drawn_right - drawn_by_offset]), drawn_total)
    (low, high), (gain_low, gain_high) = intervals(drawn_rates)
    return {
        "relation": name,
        "total": n,
        **columns,
        "accuracy_low": low,
        "accuracy_high": high,
        "offset": offsets[offset],
        "offset_correct": right_by_offset,
        "offset_accuracy": rate(right_by_offset, n),
        "gain": rate(right - right_by_offset, n),
        "gain_low": gain_low,
        "gain_high": gain_high,
        **heldout(correct, total),
        **heldout_gain(rows, subsets, replicates, ascending),
    }
