"""Baselines that need no training: by hand, and against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import OFFSETS, Sentence
from attentionology.extractors import MapBatch
from attentionology.probes import FixedOffset, RelationOffset, SingleHead, TrainingError, count_heads, scored
from tests.maps import batch_of, one_head, random_corpus
from tests.probing import CAT, batches_of, blank, chain


class TestOffsets:
    @pytest.mark.parametrize(
        ("offset", "heads"),
        [(1, [2, 3, 4, 4]), (-1, [1, 1, 2, 3]), (5, [4, 4, 4, 4]), (-5, [1, 1, 1, 1]), (2, [3, 4, 4, 4])],
    )
    def test_are_clipped_to_the_sentence(self, offset, heads):
        assert FixedOffset(offset).fit([]).predict(blank(CAT))[0].tolist() == heads

    def test_of_equals_the_larger_is_taken(self):
        # word 2 of 2 has head 1: −1, …, −5 are all right
        assert FixedOffset().fit(blank(chain(2, 0, 1))).offset_ == -1
        assert FixedOffset().fit(blank(chain(3, 2, 0, 2))).offset_ == 1  # as often as −1; +5 goes to word 3

    def test_choice_equals_a_plain_loop(self):
        batches = batches_of(3)
        right = dict.fromkeys(OFFSETS, 0)
        for sentence in (b.sentences[0] for b in batches):
            n = len(sentence)
            for i, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1):
                for offset in OFFSETS:
                    right[offset] += head == min(max(i + offset, 1), n) and relation != "punct"
        best = max(OFFSETS, key=lambda offset: (right[offset], offset))
        probe = FixedOffset().fit(batches)
        assert probe.offset_ == best
        total = sum(int(scored(b.sentences[0]).sum()) for b in batches)
        assert probe.score(batches) == right[best] / total


class TestRelationOffset:
    SENTENCE = Sentence(
        "s", tuple("abcdefgh"), (2, 0, 2, 6, 6, 2, None, 2),
        ("det", "root", "obj", "case", "det", "obl", "dep", "punct"),
    )  # fmt: skip

    def test_every_relation_has_its_own(self):
        probe = RelationOffset().fit(blank(self.SENTENCE))
        own = {name: probe.offsets_[name] for name in ("det", "obj", "case", "obl", "")}
        assert own == {"det": 1, "obj": -1, "case": 2, "obl": -4, "": 1}
        assert set(probe.offsets_) == {*own, "root"}  # of words that count
        heads = probe.predict(blank(self.SENTENCE))[0].tolist()
        assert heads[:1] + heads[2:] == [2, 2, 6, 6, 2, 8, 8]  # the root's is wrong, whatever it is
        assert probe.score(blank(self.SENTENCE)) == 5 / 6

    def test_an_unseen_relation_gets_the_best_of_all_words(self):
        probe = RelationOffset().fit(blank(self.SENTENCE))
        other = chain(5, 0, 1, 1, 1, 1, relations=("vocative", "vocative", "det", "obj", "obl"))
        assert probe.predict(blank(other))[0].tolist() == [2, 3, 4, 3, 1]

    def test_never_loses_to_one_offset_on_what_it_was_fitted_to(self):
        for seed in range(5):
            batches = batches_of(seed)
            best = FixedOffset().fit(batches).score(batches)
            assert RelationOffset().fit(batches).score(batches) > best

    def test_nothing_learned_is_the_next_word(self):
        assert RelationOffset().fit([]).predict(blank(CAT))[0].tolist() == [2, 3, 4, 4]


class TestSingleHead:
    ROWS = (
        [0.9, 0.3, 0.2, 0.1],  # the: most to cat, itself left out: right
        [0.4, 0.8, 0.1, 0.3],  # cat: most to the: wrong
        [0.1, 0.6, 0.9, 0.2],  # saw: the root, never right
        [0.1, 0.2, 0.5, 0.9],  # it: most to saw: right
    )  # columns: the ← cat right, cat ← saw right, saw ← it, it ← cat wrong

    def test_by_hand(self):
        batch = batch_of([CAT], [one_head([list(row) for row in self.ROWS])])
        correct, total = count_heads([batch])
        assert correct.tolist() == [[[2]], [[2]]]
        assert total == 4
        probe = SingleHead().fit([batch])
        assert probe.best_ == (1, 0, 0)  # of equals the last
        assert probe.predict([batch])[0].tolist() == [2, 3, 4, 2]
        assert probe.score([batch]) == 0.5

    @pytest.mark.parametrize("shape", [(2, 3), (1, 4), (4, 1)])
    @pytest.mark.parametrize("seed", range(3))
    def test_counts_and_choice_equal_a_plain_loop(self, seed, shape):
        sentences, maps = random_corpus(seed, layers=shape[0], heads=shape[1])
        expected, total = np.zeros((2, *shape), dtype=int), 0
        picked: dict[tuple[int, ...], list[list[int]]] = {}
        for cell in itertools.product(range(2), *map(range, shape)):
            picked[cell] = []
            for sentence, full in zip(sentences, maps, strict=True):
                inner = full[cell[1], cell[2], 1:-1, 1:-1]
                inner = inner.T if cell[0] else inner
                n = len(sentence)
                chosen = [max((c for c in range(n) if c != i), key=lambda c: inner[i, c], default=0) + 1
                          for i in range(n)]  # fmt: skip
                picked[cell].append(chosen)
                for pick, head, relation in zip(chosen, sentence.heads, sentence.relations, strict=True):
                    counts = head is not None and relation != "punct"
                    expected[cell] += counts and pick == head
                    total += counts and cell == (0, 0, 0)
        batch = batch_of(sentences, maps)  # all padded to the longest
        correct, found_total = count_heads([batch])
        assert (correct == expected).all()
        assert found_total == total
        probe = SingleHead().fit([batch])
        assert (probe.correct_ == expected).all()
        assert probe.total_ == total
        assert probe.best_ == max(picked, key=lambda cell: (expected[cell], cell))
        assert [heads.tolist() for heads in probe.predict([batch])] == picked[probe.best_]
        assert probe.score([batch]) == expected.max() / total

    def test_special_tokens_and_padding_do_not_matter(self):
        sentences, maps = random_corpus(4)
        padded = batch_of(sentences, maps)
        bare = [
            MapBatch(torch.from_numpy(m[None, ..., 1:-1, 1:-1]), torch.tensor([len(s)]),
                     torch.zeros(1, len(s), dtype=torch.bool), (s,))
            for s, m in zip(sentences, maps, strict=True)
        ]  # fmt: skip
        one, other = SingleHead().fit([padded]), SingleHead().fit(bare)
        assert (one.correct_ == other.correct_).all()
        for own, same in zip(one.predict([padded]), other.predict(bare), strict=True):
            assert (own == same).all()

    def test_a_sentence_of_one_word_is_wrong(self):
        one = blank(chain(1, 0, relations=["root"]))
        probe = SingleHead().fit([*one, *blank(CAT)])
        assert probe.total_ == 5
        assert probe.predict(one)[0].tolist() == [1]
        assert probe.score(one) == 0.0

    def test_nothing_to_choose_by(self):
        with pytest.raises(TrainingError, match="no sentence"):
            SingleHead().fit([])
        silent = blank(chain(2, None, None))
        assert SingleHead().fit(silent).total_ == 0
        assert np.isnan(SingleHead().fit(silent).score(silent))
