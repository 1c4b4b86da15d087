"""Decoding, the control task, baselines, and sentences as probes see them: by hand, and against plain loops."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import OFFSETS, Sentence
from attentionology.extractors import MapBatch
from attentionology.probes import (
    DecodingError,
    FixedOffset,
    RelationOffset,
    SingleHead,
    TrainingError,
    control_task,
    count_heads,
    decode,
    gold_heads,
    scored,
    uas,
)
from attentionology.probes.probed_sentence import probed_sentences
from tests.maps import batch_of, random_corpus
from tests.probing import CAT, batches_of, blank, chain, predictors


def trees(n: int) -> Iterator[tuple[int, ...]]:
    """All heads of n words that are a tree with exactly one root."""
    for heads in itertools.product(range(n + 1), repeat=n):
        if heads.count(0) == 1:
            reached = {0}
            for _ in range(n):
                reached |= {word for word, head in enumerate(heads, start=1) if head in reached}
            if len(reached) == n + 1:
                yield heads


class TestDecoding:
    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    @pytest.mark.parametrize("kind", ["random", "whole numbers", "all want the root", "huge", "none wants the root"])
    def test_tree_is_the_best_of_all_trees(self, n, kind):
        pytest.importorskip("ufal.chu_liu_edmonds")
        rng = np.random.default_rng(n)
        for _ in range(40):
            scores = rng.normal(size=(n, n + 1)).astype(np.float32)
            if kind == "whole numbers":
                scores = rng.integers(-2, 3, (n, n + 1)).astype(np.float32)
            scores[:, 0] += {"all want the root": 50, "none wants the root": -50}.get(kind, 0)
            scores *= 1e6 if kind == "huge" else 1
            before = scores.copy()
            found = tuple(decode(scores, "tree").tolist())
            totals = {heads: float(scores.astype(float)[range(n), heads].sum()) for heads in trees(n)}
            assert totals[found] == pytest.approx(max(totals.values()), rel=1e-6, abs=1e-6)
            assert (scores == before).all()

    def test_tree_differs_from_argmax_where_that_is_none(self):
        pytest.importorskip("ufal.chu_liu_edmonds")
        scores = np.array([[1, 0, 5], [2, 5, 0]], dtype=np.float32)  # each wants the other
        assert decode(scores, "argmax").tolist() == [2, 1]
        assert decode(scores, "tree").tolist() == [2, 0]  # 5 + 2 is more than 1 + 5

    def test_argmax_takes_the_first_of_equals_and_may_take_the_word_itself(self):
        scores = np.array([[0, 3, 3, 1], [4, 1, 4, 4], [0, 0, 0, 9]], dtype=np.float32)
        assert decode(scores, "argmax").tolist() == [1, 0, 3]

    def test_missing_library_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ufal.chu_liu_edmonds", None)
        assert decode(np.zeros((1, 2), dtype=np.float32), "argmax").tolist() == [0]
        with pytest.raises(DecodingError, match=r"attentionology\[tree\]"):
            decode(np.zeros((1, 2), dtype=np.float32), "tree")


class TestControlTask:
    @pytest.fixture
    def words(self):
        """Forty words, each in three sentences at different places, in two cases."""
        names = [f"w{i}" for i in range(40)]
        orders = [names, names[::-1], [name.upper() for name in names[7:] + names[:7]]]
        return [Sentence(str(k), tuple(order), (0,) * 40, ("dep",) * 40) for k, order in enumerate(orders)]

    def test_a_word_behaves_alike_wherever_it_occurs(self, words):
        seen: dict[str, set[str]] = {}
        for sentence in control_task(words):
            for i, (word, head) in enumerate(zip(sentence.words, sentence.heads, strict=True), start=1):
                if 1 < i < 40:  # at either end two behaviors are the same
                    seen.setdefault(word.lower(), set()).add({i: "itself", 1: "first", 40: "last"}[head or 0])
        assert all(len(behaviors) == 1 for behaviors in seen.values())
        assert set.union(*seen.values()) == {"itself", "first", "last"}

    def test_behaviors_are_equally_likely(self):
        n = 3000
        (found,) = control_task([Sentence("s", tuple(f"w{i}" for i in range(n)), (0,) * n, ("dep",) * n)])
        counts = [sum(h == i for i, h in enumerate(found.heads, 1)), found.heads.count(1), found.heads.count(n)]
        assert all(abs(count - n / 3) < 4 * (n * 2 / 9) ** 0.5 for count in counts)

    def test_annotation_otherwise_stays(self):
        sentences, _ = random_corpus(0)
        for before, after in zip(sentences, control_task(sentences, 5), strict=True):
            assert replace(after, heads=before.heads) == before
            for i, (old, new) in enumerate(zip(before.heads, after.heads, strict=True), start=1):
                assert (old is None) == (new is None)
                assert new in (None, i, 1, len(before))
            assert (scored(after) == scored(before)).all()

    def test_seed(self, words):
        one, same, *others = (control_task(words, seed)[0].heads for seed in (0, 0, 1, 2, 3))
        assert one == same
        for other in others:
            assert sum(a != b for a, b in zip(one, other, strict=True)) > 10  # two thirds of 40 are expected


class TestExamples:
    @pytest.mark.parametrize(
        ("special", "words", "ends"),
        [
            ([0, 0, 0], slice(0, 3), (None, None)),
            ([1, 0, 0], slice(1, 3), (0, None)),
            ([0, 0, 1], slice(0, 2), (None, 2)),
            ([1, 1, 0, 0, 1, 1], slice(2, 4), (0, 5)),
        ],
    )
    def test_special_tokens_of_all_sorts(self, special, words, ends):
        n = special.count(0)
        batch = MapBatch(
            torch.rand(1, 1, 1, len(special) + 2, len(special) + 2),  # two of padding
            torch.tensor([len(special)]),
            torch.tensor([[bool(s) for s in special] + [False, False]]),
            (chain(n, *range(n)),),
        )
        (example,) = probed_sentences([batch])
        assert (example.words, (example.start, example.end)) == (words, ends)
        assert example.ends.sum(0).tolist() == [float(end is not None) for end in ends]
        assert [tuple(place) for place in example.ends.nonzero().tolist()] == [
            (end, column) for column, end in enumerate(ends) if end is not None
        ]

    def test_token_level_maps_are_refused(self):
        (batch,) = blank(CAT)
        for predictor in predictors():
            if not isinstance(predictor, FixedOffset | RelationOffset):
                with pytest.raises(ValueError, match="word-level"):
                    predictor.fit([replace(batch, level="token")])

    @pytest.mark.parametrize("heads", [(2, 0, 1), (2, 0, 1, 1, 1)])
    def test_another_number_of_words_is_an_error(self, heads):
        (batch,) = blank(CAT)
        with pytest.raises(ValueError, match=f"'chain' has 4 words, the sentence {len(heads)}"):
            list(probed_sentences([replace(batch, sentences=(chain(len(heads), *heads),))]))

    def test_a_special_token_among_the_words_is_an_error(self):
        (batch,) = blank(CAT)
        special = torch.tensor([[True, False, False, True, False, True]])
        with pytest.raises(ValueError, match="has 3 words"):
            list(probed_sentences([replace(batch, special=special)]))
        with pytest.raises(ValueError, match="has 3 words"):
            list(probed_sentences([replace(batch, special=special, sentences=(chain(3, 2, 0, 2),))]))

    def test_what_counts(self):
        sentence = Sentence(
            "s", tuple("abcdefg"), (0, None, 1, 1, 1, None, 2),
            ("root", "obj", "punct", "PUNCT", "punct:x", "punct", "punctual"),
        )  # fmt: skip
        assert scored(sentence).tolist() == [True, False, False, False, False, False, True]
        assert gold_heads(sentence).tolist() == [0, -1, 1, 1, 1, -1, 2]
        (batch,) = blank(sentence)
        assert uas([batch], [np.array([0, 9, 9, 9, 9, 9, 9])]) == 0.5
        assert uas([batch, batch], [np.array([1, -1, 1, 1, 1, -1, 2]), np.array([0, 0, 0, 0, 0, 0, 2])]) == 0.75

    @pytest.mark.parametrize("bare", [Sentence("s", ("a", "b")), Sentence("s", ("a", "b"), (None, None), ("_", "_"))])
    def test_a_sentence_without_a_tree_is_predicted_and_counts_for_nothing(self, bare):
        known = batches_of(0, layers=1, heads=1)
        silent = blank(bare)
        for predictor in predictors():
            alone, beside = predictor.fit(known).predict(known), predictor.fit([*known, *silent]).predict(known)
            assert all((a == b).all() for a, b in zip(alone, beside, strict=True))
            (heads,) = predictor.predict(silent)
            assert heads.shape == (2,)
            assert np.isnan(predictor.score(silent))
            assert predictor.score([*known, *silent]) == predictor.score(known)
        assert control_task([bare])[0].heads == (None, None)


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


class TestSingleHead:
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
