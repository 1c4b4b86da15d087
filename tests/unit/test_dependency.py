"""Dependency accuracy on maps whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch
from tests.maps import RELATIONS, batch_of, one_head, random_corpus

# "the cat saw it": the → cat, cat → saw, saw is the root, it → saw
CAT = Sentence("cat", ("the", "cat", "saw", "it"), (2, 3, 0, 3), ("det", "nsubj", "root", "obj"))


def metric(layers: int = 1, heads: int = 1, **options: Any) -> DependencyAccuracy:
    return DependencyAccuracy(RELATIONS, layers, heads, **{"replicates": 50, **options})


def counted(batch: MapBatch, **options: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    accuracy = metric(*batch.maps.shape[1:3], **options)
    accuracy.update(batch)
    return accuracy.compute()


def correct(cells: pd.DataFrame, relation: str, direction: str) -> tuple[int, int]:
    row = cells[(cells["relation"] == relation) & (cells["direction"] == direction)].iloc[0]
    return int(row["correct"]), int(row["total"])


def test_a_worked_example():
    cells, _ = counted(
        batch_of(
            [CAT],
            [
                one_head(
                    [  # the  cat  saw   it
                        [0.9, 0.3, 0.2, 0.1],  # the: most to cat (itself left out)  → right
                        [0.4, 0.8, 0.1, 0.3],  # cat: most to the                    → wrong
                        [0.1, 0.6, 0.9, 0.2],  # saw: root, never right
                        [0.1, 0.2, 0.5, 0.9],  # it:  most to saw                    → right
                    ]
                )
            ],
        )
    )
    by_row = {relation: correct(cells, relation, "dep->head") for relation in RELATIONS}
    assert by_row == {
        "det": (1, 1),
        "nsubj": (0, 1),
        "obj": (1, 1),
        "root": (0, 1),
        "punct": (0, 0),
        "nsubj:pass": (0, 0),
    }
    # columns: the ← cat .4 right; cat ← saw .6 right; it ← cat .3 wrong
    by_column = {relation: correct(cells, relation, "head->dep") for relation in ("det", "nsubj", "obj", "all")}
    assert by_column == {"det": (1, 1), "nsubj": (1, 1), "obj": (0, 1), "all": (2, 4)}


def test_a_map_that_is_the_tree_is_always_right_and_its_transpose_in_the_other_direction():
    texts, _ = random_corpus(0)
    maps = []
    for sentence in texts:
        tree = np.zeros((1, 1, len(sentence) + 2, len(sentence) + 2), dtype=np.float32)
        for i, head in enumerate(sentence.heads, start=1):
            if head:
                tree[0, 0, i, head] = 1
        maps.append(tree)
    # Heads are random, so several dependents of one head make a column ambiguous, but every row has one answer.
    cells, _ = counted(batch_of(texts, maps))
    for relation in RELATIONS[:-1]:
        right, total = correct(cells, relation, "dep->head")
        assert right == total > 0
    transposed, _ = counted(batch_of(texts, [m.swapaxes(-1, -2) for m in maps]))
    for relation in RELATIONS[:-1]:
        right, total = correct(transposed, relation, "head->dep")
        assert right == total


def test_ties_go_to_the_lowest_index():
    flat = batch_of([CAT], [one_head([[1.0] * 4] * 4)])
    cells, _ = counted(flat)  # everybody picks word 1, word 1 picks word 2
    assert correct(cells, "det", "dep->head") == (1, 1)
    assert correct(cells, "nsubj", "dep->head") == (0, 1)
    assert correct(cells, "obj", "head->dep") == (0, 1)


def test_the_word_itself_is_no_candidate_even_if_all_else_is_zero():
    sentence = Sentence("s", ("a", "b", "c"), (2, 0, 1), ("det", "root", "obj"))
    only_self = one_head([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    cells, _ = counted(batch_of([sentence], [only_self]))
    assert correct(cells, "det", "dep->head") == (1, 1)  # first other word of word 1 is word 2
    assert correct(cells, "obj", "dep->head") == (1, 1)  # and of word 3 it is word 1


def test_words_without_a_head_are_read_but_not_counted():
    sentence = Sentence("s", ("a", "b"), (None, 0), ("det", "root"))
    cells, _ = counted(batch_of([sentence], [one_head([[0, 1], [1, 0]])]))
    assert correct(cells, "all", "dep->head") == (0, 1)


def test_one_word_sentence_counts_as_wrong_root():
    cells, _ = counted(batch_of([Sentence("s", ("a",), (0,), ("root",))], [one_head([[1.0]])]))
    assert correct(cells, "all", "head->dep") == (0, 1)


def test_totals_leave_out_punctuation_and_roots():
    sentence = Sentence("s", ("a", "b", "."), (2, 0, 2), ("det", "root", "punct"))
    cells, _ = counted(batch_of([sentence], [one_head([[0, 1, 0], [1, 0, 0], [0, 1, 0]])]))
    assert correct(cells, "all", "dep->head") == (2, 3)
    assert correct(cells, "all-nopunct", "dep->head") == (1, 2)
    assert correct(cells, "all-nopunct-noroot", "dep->head") == (1, 1)


def test_coarse_relations_add_up_subtypes():
    texts, maps = random_corpus(1)
    fine, _ = counted(batch_of(texts, maps))
    coarse, _ = counted(batch_of(texts, maps), coarse=True)
    assert "nsubj:pass" not in set(coarse["relation"])
    keys = ["direction", "layer", "head"]
    parts = fine[fine["relation"].isin(["nsubj", "nsubj:pass"])].groupby(keys)[["correct", "total"]].sum()
    whole = coarse[coarse["relation"] == "nsubj"].set_index(keys)[["correct", "total"]].sort_index()
    assert parts.sort_index().equals(whole)


def test_fixed_offsets_by_hand():
    # heads 2, 3, 0, 3; +1 predicts 2, 3, 4, 4(clipped): det and nsubj right; −1 predicts 1, 1, 2, 3: obj right
    _, best = counted(batch_of([CAT], [one_head([[1.0] * 4] * 4)]))
    rows = best.set_index("relation")
    assert tuple(rows.loc["all", ["offset", "offset_correct"]]) == (1, 2)
    assert tuple(rows.loc["obj", ["offset", "offset_correct"]]) == (-1, 1)
    # nsubj (word 2, head 3): +1 is right, and so is nothing larger, which would be clipped to word 4
    assert tuple(rows.loc["nsubj", ["offset", "offset_correct"]]) == (1, 1)


def test_offsets_never_predict_root():
    sentence = Sentence("s", ("a", "b"), (0, 1), ("root", "det"))
    _, best = counted(batch_of([sentence], [one_head([[1.0] * 2] * 2)]))
    assert best.set_index("relation").loc["root", "offset_correct"] == 0
    # offset −5 is clipped to the first word, so it finds head 1 of word 2; the largest of the equals wins
    assert tuple(best.set_index("relation").loc["det", ["offset", "offset_correct"]]) == (-1, 1)


def test_best_head_ties_go_to_the_later_layer_and_head_and_to_columns():
    same = np.ones((2, 2, 6, 6), dtype=np.float32)
    symmetric = same.copy()
    _, best = counted(batch_of([CAT], [symmetric]))
    row = best.set_index("relation").loc["obj"]  # nobody finds it: all 8 cells tie at 0
    assert (row["layer"], row["head"], row["direction"]) == (2, 2, "head->dep")


@pytest.mark.parametrize("seed", range(3))
def test_splitting_ordering_and_merging_change_no_bit(seed):
    texts, maps = random_corpus(seed)
    whole = metric(2, 3)
    whole.update(batch_of(texts, maps))
    order = np.random.default_rng(seed).permutation(len(texts))
    parts = [metric(2, 3) for _ in range(3)]
    for k, i in enumerate(order):
        parts[k % 3].update(batch_of([texts[i]], [maps[i]]))
    restored = metric(2, 3)
    restored.load_state_dict(parts[2].metric_state)
    parts[0].merge_state(parts[1])
    parts[0].merge_state(restored)
    for ours, theirs in zip(parts[0].compute(), whole.compute(), strict=True):
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True)


def test_wrong_maps_are_refused():
    texts, maps = random_corpus(6, sentences=2)
    batch = batch_of(texts, maps)
    with pytest.raises(ValueError, match="expected maps of 1 layers × 3 heads, got 2 × 3"):
        metric(1, 3).update(batch)
    with pytest.raises(ValueError, match="word-level"):
        metric(2, 3).update(MapBatch(batch.maps, batch.lengths, batch.special, batch.sentences, level="token"))
    none_special = torch.zeros_like(batch.special)
    with pytest.raises(ValueError, match="the sentence"):
        metric(2, 3).update(MapBatch(batch.maps, batch.lengths, none_special, batch.sentences))
