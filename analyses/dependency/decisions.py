"""Which heads pick the right word: the argmax decisions of Clark et al. (2019, §4.2), made exactly.

A decision compares the attention values of all candidates. In float32 these values depend in their last digits on the
batch size, the padding and the number of threads, and a head that attends to two words nearly alike would pick one or
the other by chance: counts would change with the batches. To compute everything in float64 would cost more than twice
the time and memory. Therefore float32 decides first. It needs no argmax for that: the gold word is right if its value
is above the largest value of all other candidates. Where these two differ relatively by no more than the measured
rounding noise (`MapBatch.noise`) for any head, the sentence is decided again on maps recomputed in float64, up to the
last layer in doubt, by the plain argmax with its rule for ties. What is compared is gold against the best of the rest,
because a close race between two wrong candidates has no effect on the count. On treebanks in three languages, 1 to 3 %
of the sentences are decided again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from ...corpora_loaders import Sentence, coarse_relation
from ...corpora_loaders.enhanced import counted_arcs
from ...corpora_loaders.tags import UPOS
from ...corpora_loaders.tree import counted_relations, plain_relation
from ...extractors import DIRECTIONS, MapBatch
from ..shared.picks import READINGS, read_in

TAGS = (*sorted(UPOS), "another tag")
"""The universal parts of speech, and one for all other tags."""

_COPIED = 2**22  # the number of cells of all heads that are copied at a time, if one layer has no more than that


@dataclass(frozen=True)
class ScoredWords:
    """The words of a batch that have gold heads. Every field has one entry per word, or per head of a word."""

    sentence: Int[np.ndarray, " words"]  # the index of the sentence in the batch, 0-based
    number: Int[np.ndarray, " words"]  # the number of the word in its sentence, 1-based
    head: Int[np.ndarray, " words"]  # the number of its syntactic head, 1-based, 0 for the root
    relation: Int[np.ndarray, " words"]  # the index of its relation in the inventory, 0-based
    length: Int[np.ndarray, " words"]  # the number of words of its sentence

    @classmethod
    def of(
        cls,
        sentences: tuple[Sentence, ...],
        relation_index: Mapping[str, int],
        arcs: Sequence[Sequence[tuple[int, int, str]]] | None = None,
        *,
        coarse: bool = False,
    ) -> ScoredWords:
        """Collect the words that have a head: that of the tree, or those of arcs (word, head, relation).

        Words whose relation, or whose universal relation if ``coarse``, is not in the index are left out. A relation is
        looked up as it is counted (`counted_relations`), then as it is in the file.
        """
        rows = [
            (index, number, head, relation_index[name], len(sentence))
            for index, sentence in enumerate(sentences)
            for number, head, relation in (_tree(sentence) if arcs is None else counted_arcs(sentence, arcs[index]))
            if (name := name_in(relation_index, coarse_relation(relation) if coarse else relation)) is not None
        ]
        return cls(*np.array(rows, dtype=np.int64).reshape(-1, 5).T)

    def look_up(
        self, by_sentence: Sequence[npt.NDArray[Any]], word: Int[np.ndarray, " words"]
    ) -> Shaped[np.ndarray, "words ..."]:
        """Return an entry for each scored word: that of a 0-based ``word`` in the array of its sentence."""
        starts = np.cumsum([0, *map(len, by_sentence)])
        return np.asarray(np.concatenate(by_sentence)[starts[self.sentence] + word])


def _tree(sentence: Sentence) -> Iterator[tuple[int, int, str]]:
    """Yield the number, the head and the relation of each word that has a head in the tree."""
    for number, (head, relation) in enumerate(zip(sentence.heads, counted_relations(sentence), strict=True), start=1):
        if head is not None:
            yield number, head, relation


def name_in(index: Mapping[str, Any], relation: str) -> str | None:
    """Return the name under which an index has a relation: as it is counted, or as in the file; None if it has none."""
    if relation in index:
        return relation
    plain = plain_relation(relation)
    return plain if plain in index else None


def head_hits(
    batch: MapBatch, words: ScoredWords, readings: int = len(DIRECTIONS)
) -> Bool[Tensor, "words readings layers heads"]:
    """Return whether each attention head picks the gold head word, in the first ``readings`` of the `READINGS`.

    The result is on the device of the maps.
    """
    # The candidates are the other words of the sentence: special tokens and the word itself are left out, nothing is
    # renormalized, and ties go to the lowest index. The root is no candidate, so root words are never right.
    device = batch.maps.device
    hits = torch.zeros(len(words.head), readings, *batch.maps.shape[1:3], dtype=torch.bool, device=device)
    rows = np.flatnonzero(words.head > 0)
    if not len(rows):
        return hits
    position = word_positions(batch)
    sentence = torch.from_numpy(words.sentence[rows])
    dependent = position[sentence, torch.from_numpy(words.number[rows] - 1)]
    governor = position[sentence, torch.from_numpy(words.head[rows] - 1)]
    # The first candidate, which wins ties, is word 1; for word 1 itself it is word 2.
    is_first = torch.from_numpy(words.head[rows] == np.where(words.number[rows] == 1, 2, 1))
    word_id = words.sentence[rows] * batch.maps.shape[-1] + words.number[rows]  # differs for all words of the batch
    is_right, doubts = _compare(batch, sentence, dependent, governor, is_first, readings, _rounds(word_id))
    hits.index_copy_(0, torch.from_numpy(rows).to(device), is_right)
    last_in_doubt = doubts.cpu()  # the only wait for the device, unless a sentence is in doubt
    # Layers in doubt are counted from 1, so that the last one is also the number of layers to be computed again.
    for index in sorted(set(sentence[last_in_doubt > 0].tolist())):
        in_sentence = sentence == index
        n_layers = int(last_in_doubt[in_sentence].max())
        # One sentence at a time, and no variable that keeps its maps alive, because float64 takes twice the memory.
        picked = _argmax(
            batch.exact([index], n_layers)[0],
            batch.words[index],
            dependent[in_sentence],
            governor[in_sentence],
            readings,
        )
        hits[torch.from_numpy(rows[in_sentence.numpy()]).to(device), :, :n_layers] = picked.to(device)
    return hits


def _rounds(word_id: Int[np.ndarray, " rows"]) -> Sequence[slice | Tensor]:
    """Return indices of rows, divided so that each word is used once in a round: with its first head, its second, …"""
    order = np.argsort(word_id, kind="stable")
    _, starts, counts = np.unique(word_id[order], return_index=True, return_counts=True)
    if counts.max() == 1:
        return [slice(None)]  # all rows, without a copy
    round_of_row = np.empty_like(order)
    round_of_row[order] = np.arange(len(order)) - np.repeat(starts, counts)  # 0, 1, … within the rows of each word
    return [torch.from_numpy(np.flatnonzero(round_of_row == k)) for k in range(counts.max())]


def word_positions(batch: MapBatch) -> Int[Tensor, "batch words"]:
    """Return the position in the map of the k-th word of each sentence, 0-based, then those of other tokens."""
    is_word = batch.words
    for sentence, n_words in zip(batch.sentences, is_word.sum(1).tolist(), strict=True):
        if n_words != len(sentence):
            raise ValueError(f"the map of sentence {sentence.id!r} has {n_words} words, the sentence {len(sentence)}")
    return torch.argsort((~is_word).int(), dim=1, stable=True)  # the words first, in their order


def barred_cells(candidate: Bool[Tensor, "*batch n"]) -> Bool[Tensor, "*batch n n"]:
    """Return the cells of a map that are no candidates: not from a word to a word, or from a word to itself."""
    itself = torch.eye(candidate.shape[-1], dtype=torch.bool, device=candidate.device)
    return ~(candidate[..., :, None] & candidate[..., None, :]) | itself


def _compare(
    batch: MapBatch,
    sentence: Tensor,
    dependent: Tensor,
    governor: Tensor,
    is_first: Bool[Tensor, " words"],
    readings: int,
    rounds: Sequence[slice | Tensor],
) -> tuple[Bool[Tensor, "words readings layers heads"], Int[Tensor, " words"]]:
    """Return whether gold has the largest value, in float32, and the last layer in doubt of each word, 0 for none."""
    # sentence, dependent, governor: the index in the batch, and the positions in the map, of each word and its head.
    # is_first: whether the gold candidate is the first one, which is picked if all values are equal.
    device = batch.maps.device
    is_first = is_first.to(device)[:, None]
    # Found by the host, which would have to wait for the device to say how many they are.
    barred = torch.nonzero(barred_cells(batch.words).flatten()).flatten().to(device)
    sentence, dependent, governor = torch.stack([sentence, dependent, governor]).to(device)
    rounds = [in_round if isinstance(in_round, slice) else in_round.to(device) for in_round in rounds]
    is_right = torch.zeros(len(sentence), readings, *batch.maps.shape[1:3], dtype=torch.bool, device=device)
    last_in_doubt = torch.zeros(len(sentence), dtype=torch.long, device=device)
    n_layers, n_heads, n, _ = batch.maps.shape[1:]
    step = max(1, _COPIED * n_layers // batch.maps.numel())
    for start in range(0, n_layers, step):
        layers = slice(start, start + step)
        # With the heads last, a maximum over a row or a column and the value of a cell are those of adjacent numbers.
        # It is a copy also for a model with a single head, whose maps have this order already, and must not change.
        heads_last = batch.maps[:, layers].permute(0, 3, 4, 1, 2).clone(memory_format=torch.contiguous_format)
        candidates = heads_last.flatten(3)
        candidates.flatten(0, 2).index_fill_(0, barred, -torch.inf)
        for reading in range(readings):
            is_read_by_column = READINGS[reading] == "head->dep"
            row, column = (governor, dependent) if is_read_by_column else (dependent, governor)
            if READINGS[reading] == "both":
                # The noise of a sum of two values that are not negative is no larger, relatively, than theirs.
                candidates = candidates + candidates.transpose(1, 2)
            for in_round in rounds:
                gold, best_other = _gold_and_best_other(
                    candidates,
                    ((sentence * n + row) * n + column)[in_round],
                    (sentence * n + dependent)[in_round],
                    axis=1 if is_read_by_column else 2,
                )
                largest = torch.maximum(gold, best_other)
                # Values that are 0 are equal whatever the rounding: a causal head gives 0 to all that stands after a
                # word. The first candidate is then picked, and the sentence need not be computed again.
                is_zero = largest == 0
                close = ((gold - best_other).abs_() <= largest.abs_().mul_(batch.noise)) & ~is_zero
                in_layer = close.view(len(close), -1, n_heads).any(2)
                numbers = torch.arange(start + 1, start + 1 + in_layer.shape[1], device=device)
                last_in_doubt[in_round] = torch.maximum(last_in_doubt[in_round], (in_layer * numbers).amax(1))
                right = (gold > best_other) | (is_zero & is_first[in_round])
                is_right[in_round, reading, layers] = right.view(len(right), -1, n_heads)
    return is_right, last_in_doubt


def _gold_and_best_other(
    candidates: Float[Tensor, "batch n n maps"], gold_cell: Tensor, line: Tensor, *, axis: int
) -> tuple[Float[Tensor, "words maps"], Float[Tensor, "words maps"]]:
    """Return the value of the gold cell of each word, and the largest other one of its row (axis 2) or column (1)."""
    # gold_cell, line: indices of the cells, and of the rows or columns, of all sentences. A line has one gold cell at
    # most. It loses this cell, so that its maximum is the best other candidate. Then the cell is restored.
    cells = candidates.view(-1, candidates.shape[-1])
    gold = cells.index_select(0, gold_cell)
    cells.index_fill_(0, gold_cell, -torch.inf)
    best_other = candidates.amax(axis).flatten(0, 1).index_select(0, line)
    cells.index_copy_(0, gold_cell, gold)
    return gold, best_other


def _argmax(
    maps: Float[Tensor, "layers heads n n"],
    candidate: Bool[Tensor, " padded"],
    dependent: Tensor,
    governor: Tensor,
    readings: int,
) -> Bool[Tensor, "words readings layers heads"]:
    """Return whether gold is picked in one sentence: the candidate with the largest value, the first one of equals."""
    # candidate: whether each position of the batch is a word. dependent, governor: the positions of words and heads.
    barred = barred_cells(candidate[: maps.shape[-1]])
    by_layer = []
    for layer in maps:
        allowed = layer.cpu().masked_fill(barred, -torch.inf).numpy()
        picked = np.stack([values.argmax(-1) for values in read_in(allowed, readings)])  # reading, head, word
        by_layer.append(picked[..., dependent.numpy()] == governor.numpy())
    right = np.stack(by_layer)  # layer, reading, head, word
    return torch.from_numpy(np.ascontiguousarray(right.transpose(3, 1, 0, 2)))


def head_guesses(batch: MapBatch, readings: int = len(DIRECTIONS)) -> Int[Tensor, "batch readings layers heads n"]:
    """Return the position that each head picks for each word, in the `READINGS`; −1 if there is no candidate."""
    # Whether a guess is right is what `head_hits` says, which decides close races in float64. Where the gold word is
    # not picked, the guess is the best of the other candidates in float32: a close race between two wrong candidates is
    # not decided again.
    all_relations = {relation: 0 for sentence in batch.sentences for relation in sentence.relations}
    words = ScoredWords.of(batch.sentences, all_relations)
    is_right = head_hits(batch, words, readings).cpu().numpy()  # scored word, reading, layer, head
    position = word_positions(batch).numpy()
    maps = batch.maps.cpu()
    guesses = np.full((len(batch), readings, *maps.shape[1:4]), -1, dtype=np.int64)
    for index in range(len(batch)):
        scored = np.flatnonzero((words.sentence == index) & (words.head > 0))
        dependent = position[index, words.number[scored] - 1]
        governor = position[index, words.head[scored] - 1]
        barred = barred_cells(batch.words[index])
        # One layer at a time, because a long sentence has large maps, and several copies of them are made.
        for layer, of_layer in enumerate(maps[index]):
            allowed = of_layer.masked_fill(barred, -torch.inf).numpy()
            for reading, values in enumerate(read_in(allowed, readings)):  # head, word, candidate
                wrong_candidates = values.copy()
                wrong_candidates[:, dependent, governor] = -np.inf
                guess = np.where(np.isinf(wrong_candidates.max(-1)), -1, wrong_candidates.argmax(-1))
                gold_is_picked = is_right[scored, reading, layer].T  # head, scored word
                guess[:, dependent] = np.where(gold_is_picked, governor, guess[:, dependent])
                guesses[index, reading, layer] = guess
    return torch.from_numpy(guesses)


def tag_indices(sentence: Sentence) -> Int[np.ndarray, " words"]:
    """Return the index in `TAGS` of the part of speech of each word."""
    known = {tag: i for i, tag in enumerate(TAGS)}
    return np.array([known.get(tag, len(TAGS) - 1) for tag in sentence.tags or ("",) * len(sentence)])
