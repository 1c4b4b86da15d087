"""Baselines, decoding, control task, examples, arcs: by hand, against plain loops, with input nobody asked for."""

from __future__ import annotations

import inspect
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import OFFSETS, Sentence, WordVectors
from attentionology.extractors import MapBatch
from attentionology.probes import (
    TUNED,
    ArcWeights,
    AttentionProbe,
    AttentionWordsProbe,
    DecodingError,
    FixedOffset,
    HeadPredictor,
    Probe,
    RelationOffset,
    SingleHead,
    TrainingError,
    added_up,
    arc_weights,
    control_task,
    count_heads,
    decode,
    gold_heads,
    load_probe,
    make_probe,
    scored,
    uas,
)
from attentionology.probes.probed_sentence import probed_sentences
from attentionology.storage.sealed import ANYWHERE, read_json, write_json
from tests.maps import batch_of, one_head, random_corpus

CAT = Sentence("cat", ("the", "cat", "saw", "it"), (2, 3, 0, 3), ("det", "nsubj", "root", "obj"))
VECTORS = WordVectors(
    np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32), {f"w{i}": i for i in range(5)}, sha256="abc"
)


def blank(*sentences: Sentence, layers: int = 1, heads: int = 1) -> list[MapBatch]:
    """Batches of one sentence each, whose maps say nothing."""
    return [batch_of([s], [np.ones((layers, heads, len(s) + 2, len(s) + 2), dtype=np.float32)]) for s in sentences]


def chain(n: int, *heads: int | None, relations: Sequence[str] = ()) -> Sentence:
    return Sentence("chain", ("w",) * n, heads, tuple(relations) or ("dep",) * n)


def batches_of(seed: int, **options: int) -> list[MapBatch]:
    sentences, maps = random_corpus(seed, **options)
    return [batch_of([s], [m]) for s, m in zip(sentences, maps, strict=True)]


def predictors() -> list[HeadPredictor]:
    return [
        FixedOffset(), FixedOffset(1), RelationOffset(), SingleHead(), AttentionProbe(), AttentionWordsProbe(VECTORS),
        make_probe("words+distances", VECTORS, hidden=4),
    ]  # fmt: skip


class TestOffsets:
    @pytest.mark.parametrize(
        ("offset", "heads"),
        [(1, [2, 3, 4, 4]), (-1, [1, 1, 2, 3]), (5, [4, 4, 4, 4]), (-5, [1, 1, 1, 1]), (2, [3, 4, 4, 4])],
    )
    def test_are_clipped_to_the_sentence(self, offset, heads):
        assert FixedOffset(offset).fit([]).predict(blank(CAT))[0].tolist() == heads

    def test_the_best_is_chosen(self):
        # +2: right for words 1, 2; +1: for word 3; −1: for word 4 (word 5 is the root)
        probe = FixedOffset().fit(blank(chain(5, 3, 4, 4, 3, 0)))
        assert probe.offset_ == 2
        assert probe.predict(blank(chain(3, 0, 1, 1)))[0].tolist() == [3, 3, 3]

    def test_of_equals_the_larger_is_taken(self):
        # word 2 of 2 has head 1: −1, …, −5 are all right
        assert FixedOffset().fit(blank(chain(2, 0, 1))).offset_ == -1
        assert FixedOffset().fit(blank(chain(3, 2, 0, 2))).offset_ == 1  # as often as −1; +5 goes to word 3

    def test_only_words_that_count_choose(self):
        commas = chain(4, 0, 1, 2, 3, relations=("root", "punct", "PUNCT", "punct:x"))
        assert FixedOffset().fit(blank(commas, commas, chain(4, 2, 3, 4, None))).offset_ == 1

    def test_a_given_offset_is_kept(self):
        assert FixedOffset(-2).fit(blank(chain(5, 2, 3, 4, 5, 0))).offset_ == -2

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
    def test_number_of_trees(self):
        assert [len(list(trees(n))) for n in range(1, 5)] == [n ** (n - 1) for n in range(1, 5)]  # Cayley

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

    def test_unknown_decoding(self):
        unchecked: Any = inspect.unwrap(decode)  # tests check types, users need not
        with pytest.raises(ValueError, match="'beam'"):
            unchecked(np.zeros((1, 2)), "beam")

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
        return [Sentence(str(k), tuple(order), (1,) * 40, ("dep",) * 40) for k, order in enumerate(orders)]

    def test_a_word_behaves_alike_wherever_it_occurs(self, words):
        seen: dict[str, set[str]] = {}
        for sentence in control_task(words):
            for i, (word, head) in enumerate(zip(sentence.words, sentence.heads, strict=True), start=1):
                if 1 < i < 40:  # at either end two behaviours are the same
                    seen.setdefault(word.lower(), set()).add({i: "itself", 1: "first", 40: "last"}[head or 0])
        assert all(len(behaviours) == 1 for behaviours in seen.values())
        assert set.union(*seen.values()) == {"itself", "first", "last"}

    def test_behaviours_are_equally_likely(self):
        n = 3000
        (found,) = control_task([Sentence("s", tuple(f"w{i}" for i in range(n)), (1,) * n, ("dep",) * n)])
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

    def test_sentence_of_one_word_points_to_itself(self):
        (found,) = control_task([Sentence("s", ("w",), (0,), ("root",))])
        assert found.heads == (1,)

    def test_baselines_cannot_know_it_but_words_can(self):
        """A stand-in for what a probe may learn by heart: the behaviour of each word, read off other sentences."""
        rng = np.random.default_rng(0)
        texts = [
            Sentence(str(k), tuple(f"w{w}" for w in rng.integers(0, 30, 12)), (1,) * 12, ("dep",) * 12)
            for k in range(40)
        ]
        controlled = control_task(texts)
        assert FixedOffset().fit(blank(*controlled)).score(blank(*controlled)) < 0.5
        known: dict[str, int] = {}
        for sentence in controlled[:30]:
            for i, (word, head) in enumerate(zip(sentence.words, sentence.heads, strict=True), start=1):
                if 1 < i < 12:
                    known[word] = 0 if head == i else (head or 0)
        guesses = [np.array([known[w] or i for i, w in enumerate(s.words, start=1)]) for s in controlled[30:]]
        assert uas(blank(*controlled[30:]), guesses) == 1.0


class TestExamples:
    def test_where_things_are(self):
        array = np.random.default_rng(0).random((2, 3, 6, 6), dtype=np.float32)
        short = Sentence("s", ("a", "b"), (None, 0), ("x", "root"))
        small = np.random.default_rng(1).random((2, 3, 4, 4), dtype=np.float32)
        one, two = probed_sentences([batch_of([CAT, short], [array, small])])
        assert (one.words, one.start, one.end) == (slice(1, 5), 0, 5)
        assert (two.words, two.start, two.end) == (slice(1, 3), 0, 3)  # without the padding
        assert two.maps.shape == (6, 4, 4)
        for layer, head in itertools.product(range(2), range(3)):
            assert (two.maps[3 * layer + head].numpy() == small[layer, head]).all()
        assert gold_heads(one.sentence).tolist() == [2, 3, 0, 3]
        assert gold_heads(two.sentence).tolist() == [-1, 0]
        assert two.ends.tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]

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

    def test_predictions_of_other_sentences_are_an_error(self):
        with pytest.raises(ValueError, match="zip"):
            uas(blank(CAT, CAT), [np.array([2, 3, 0, 3])])

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

    def test_heads_without_relations(self):
        plain = Sentence("s", CAT.words, CAT.heads)
        assert scored(plain).tolist() == [True] * 4
        for predictor in predictors():
            assert predictor.fit(blank(plain)).score(blank(plain)) == predictor.score(blank(CAT))


class TestArcWeights:
    def naive(self, sentences, maps, weights_of, layers, heads):
        """Relation → arcs, sums of weight and of weight × attention; weights_of: words of the arc → features."""
        found: dict[str, list[Any]] = {}
        for sentence, array in zip(sentences, maps, strict=True):
            for i, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1):
                if not head or relation == "punct":
                    continue
                weight = weights_of(sentence.words[i - 1], sentence.words[head - 1]).reshape(2, layers, heads)
                attention = np.stack([array[..., i, head], array[..., head, i]])
                own = found.setdefault(relation, [0, 0, 0])
                own[0] += 1
                own[1] = own[1] + weight
                own[2] = own[2] + weight * attention
        return found

    @pytest.mark.parametrize("words", [False, True])
    @pytest.mark.parametrize("shape", [(2, 3), (3, 1)])
    def test_equal_a_plain_loop(self, words, shape):
        sentences, maps = random_corpus(7, layers=shape[0], heads=shape[1])
        batches = [batch_of(sentences[:9], maps[:9]), batch_of(sentences[9:], maps[9:])]
        probe = (AttentionWordsProbe(VECTORS) if words else AttentionProbe()).fit(batches)
        p = {name: value.detach().double().numpy() for name, value in probe.scorer_.named_parameters()}

        def weights_of(dependent: str, head: str) -> np.ndarray:
            if not words:
                return np.asarray(p["weight"].ravel())
            v_i, v_c = VECTORS([dependent, head]).astype(float)
            return np.asarray(p["dependent"] @ v_i + p["candidate"] @ v_c + p["bias"])

        expected = self.naive(sentences, maps, weights_of, *shape)
        found = arc_weights(probe, batches)
        assert set(found) == set(expected) == {"det", "nsubj", "nsubj:pass", "obj"}
        for relation, (arcs, weight, contribution) in expected.items():
            assert found[relation].arcs == arcs
            np.testing.assert_allclose(found[relation].weight, weight, rtol=0, atol=1e-4)
            np.testing.assert_allclose(found[relation].contribution, contribution, rtol=0, atol=1e-4)
        apart = added_up([arc_weights(probe, batches[:1]), {}, arc_weights(probe, batches[1:])])
        for relation, own in found.items():
            assert apart[relation].arcs == own.arcs
            np.testing.assert_allclose(apart[relation].contribution, own.contribution, rtol=1e-12)

    def test_contributions_of_the_right_arcs_are_their_scores(self):
        """What all heads together add to a candidate is the score of the probe."""
        batches = batches_of(8, sentences=12)
        probe = AttentionWordsProbe(VECTORS).fit(batches)
        arcs = added_up([arc_weights(probe, batches)])
        total = 0.0
        for batch, scores in zip(batches, probe.scores(batches), strict=True):
            gold, counts = gold_heads(batch.sentences[0]), scored(batch.sentences[0])
            total += sum(float(scores[i, gold[i]]) for i in np.flatnonzero(counts & (gold > 0)))
        assert sum(own.contribution.sum() for own in arcs.values()) == pytest.approx(total, abs=1e-4)

    def test_added_up(self):
        def one(arcs: int, value: float) -> ArcWeights:
            return ArcWeights(arcs, np.full((2, 1, 1), value), np.full((2, 1, 1), 10 * value))

        parts = [{"a": one(1, 1.0), "b": one(2, 5.0)}, {"a": one(4, 2.0)}]
        found = added_up(parts)
        assert {name: (own.arcs, own.weight[0, 0, 0], own.contribution[1, 0, 0]) for name, own in found.items()} == {
            "a": (5, 3.0, 30.0), "b": (2, 5.0, 50.0),
        }  # fmt: skip
        assert parts[0]["a"].weight[0, 0, 0] == 1.0  # left as it was
        assert added_up([]) == {}

    def test_order_is_the_same_in_every_process(self):
        """Sums of floating-point numbers depend on it, and the order of a set is another in every process."""
        names = tuple(f"relation{i}" for i in range(12))
        sentence = Sentence("s", names, (*range(2, 13), 1), names[::-1])
        found = arc_weights(AttentionProbe().fit(blank(sentence)), blank(sentence))
        assert list(found) == sorted(names)

    def test_other_maps_are_refused(self):
        probe = AttentionProbe().fit(blank(CAT))
        with pytest.raises(ValueError, match="trained on maps 'weight'"):
            arc_weights(probe, [replace(blank(CAT)[0], kind="norm")])

    def test_roots_and_punctuation_are_no_arcs(self):
        sentence = Sentence("s", ("a", "b"), (0, 1), ("root", "punct"))
        assert arc_weights(AttentionProbe().fit(blank(sentence)), blank(sentence)) == {}


@pytest.fixture(scope="module")
def batches() -> list[MapBatch]:
    return batches_of(1)


class TestDemandingUsers:
    """What people try with ``from probes import …``."""

    def test_streams_are_lists(self, batches):
        for predictor in predictors():
            score = predictor.fit(batches).score(batches)
            heads = predictor.predict(batches)
            assert predictor.fit(iter(batches)).score(iter(batches)) == score
            assert all((a == b).all() for a, b in zip(predictor.predict(iter(batches)), heads, strict=True))

    def test_dev_sentences_may_be_a_stream(self, batches):
        for recipe in (TUNED, replace(TUNED, patience=None, epochs=2)):
            one = AttentionProbe(recipe=recipe).fit(batches[:20], iter(batches[20:]))
            other = AttentionProbe(recipe=recipe).fit(batches[:20], batches[20:])
            assert one.history_ == other.history_
            assert (one.coef_ == other.coef_).all()

    def test_nothing_at_all(self):
        for probe in predictors()[3:]:
            with pytest.raises(TrainingError, match="no sentence to learn from"):
                probe.fit([])
            with pytest.raises(TrainingError, match="no sentence to learn from"):
                probe.fit(iter([]))
        fitted = AttentionProbe().fit(blank(CAT))
        assert fitted.predict([]) == []
        assert np.isnan(fitted.score([]))

    def test_before_it_is_fitted(self, batches, tmp_path):
        for predictor in predictors():
            with pytest.raises(AttributeError, match=f"this {type(predictor).__name__} is not fitted yet"):
                predictor.predict(batches)
            assert not hasattr(predictor, "scorer_")
        with pytest.raises(AttributeError, match=r"'coef_'; call fit first"):
            _ = AttentionProbe().coef_
        with pytest.raises(AttributeError, match="call fit first"):
            AttentionProbe().save(tmp_path)
        mistyped: Any = AttentionProbe()
        with pytest.raises(AttributeError, match="has no attribute 'shape'"):
            _ = mistyped.shape

    def test_fit_that_fails_leaves_what_was_learned(self, batches):
        probe = AttentionProbe().fit(batches)
        before = probe.coef_.copy()
        with pytest.raises(TrainingError):
            probe.fit(blank(chain(2, None, None)))
        assert (probe.coef_ == before).all()
        assert probe.shape_ == (2, 3)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
    def test_maps_of_other_precision(self, batches, dtype):
        rounded = [replace(b, maps=b.maps.to(dtype).float()) for b in batches]
        given = [replace(b, maps=b.maps.to(dtype)) for b in batches]
        for predictor in predictors():
            expected = predictor.fit(rounded).predict(rounded)
            assert all((a == b).all() for a, b in zip(predictor.fit(given).predict(given), expected, strict=True))

    def test_without_special_tokens_the_root_scores_zero(self, batches):
        bare = [MapBatch(b.maps[..., 1:-1, 1:-1], b.lengths - 2, b.special[:, 1:-1], b.sentences) for b in batches]
        for probe in (AttentionProbe(), AttentionWordsProbe(VECTORS)):
            for batch, scores in zip(bare, probe.fit(bare).scores(bare), strict=True):
                assert scores.shape == (len(batch.sentences[0]), len(batch.sentences[0]) + 1)
                assert (scores[:, 0] == 0).all()
                assert (scores[:, 1:] != 0).all()

    def test_one_head_per_layer(self):
        batches = batches_of(2, layers=3, heads=1)
        probe = AttentionProbe().fit(batches)
        assert probe.coef_.shape == (2, 3, 1)
        assert probe.coef_.ravel() == pytest.approx(probe.scorer_.get_parameter("weight").detach().numpy().ravel())
        assert SingleHead().fit(batches).correct_.shape == (2, 3, 1)

    def test_one_word_has_itself_and_the_root(self):
        pytest.importorskip("ufal.chu_liu_edmonds")
        one = blank(chain(1, 0, relations=["root"]), layers=2, heads=3)
        for probe in predictors()[4:]:
            assert isinstance(probe, Probe)
            (scores,) = probe.fit(one).scores(one)
            assert scores.shape == (1, 2)
            assert probe.predict(one, "tree")[0].tolist() == [0]

    def test_batches_of_any_size_give_the_same_heads(self):
        sentences, maps = random_corpus(9)
        together, apart = batch_of(sentences, maps), [batch_of([s], [m]) for s, m in zip(sentences, maps, strict=True)]
        for predictor in predictors():
            expected = predictor.fit(apart).predict(apart)
            found = predictor.fit([together]).predict([together])
            assert all((a == b).all() for a, b in zip(found, expected, strict=True))
            assert predictor.score([together]) == predictor.score(apart)

    def test_scores_that_are_read_in_part_change_nothing_around(self, batches):
        probe = AttentionProbe().fit(batches)
        expected = AttentionProbe(random_state=1).fit(batches).coef_
        threads = torch.get_num_threads()
        torch.set_num_threads(2)
        scores = probe.scores(batches)
        next(scores)
        assert not torch.is_inference_mode_enabled()
        assert torch.get_num_threads() == 2
        assert (AttentionProbe(random_state=1).fit(batches).coef_ == expected).all()
        assert len(list(scores)) == len(batches) - 1
        torch.set_num_threads(threads)

    def test_argmax_and_tree_are_decoded_from_the_scores(self, batches):
        pytest.importorskip("ufal.chu_liu_edmonds")
        probe = AttentionProbe().fit(batches)
        for batch, scores in zip(batches, probe.scores(batches), strict=True):
            assert probe.predict([batch])[0].tolist() == [max(range(len(row)), key=row.__getitem__) for row in scores]
            heads = probe.predict([batch], "tree")[0]
            assert (heads == 0).sum() == 1
            assert (heads != np.arange(1, len(heads) + 1)).all()

    def test_maps_that_are_not_numbers(self, batches):
        broken = [replace(batches[0], maps=batches[0].maps * float("nan"))]
        with pytest.raises(TrainingError, match="'s0' is nan"):
            AttentionProbe().fit(broken)


def description(saved: Path) -> dict[str, Any]:
    """What ``probe.json`` says, without its seal."""
    return read_json(saved / "probe.json", ANYWHERE)


class TestBrokenFiles:
    @pytest.fixture
    def saved(self, tmp_path: Path) -> Path:
        AttentionProbe().fit(batches_of(1)).save(tmp_path / "probe")
        return tmp_path / "probe"

    @pytest.mark.parametrize("kept", [0, 20, -8])
    @pytest.mark.parametrize("sealed", [True, False])
    def test_weights_that_are_cut_off(self, saved, kept, sealed):
        path = saved / "probe.safetensors"
        path.write_bytes(path.read_bytes()[:kept])
        if not sealed:  # the first versions wrote no digests
            described = description(saved)
            del described["weights"]
            (saved / "probe.json").write_text(json.dumps(described))
        message = "probe is damaged: .* SHA-256 digest" if sealed else "probe is no saved probe, or broken: Safetensor"
        with pytest.raises(ValueError, match=message):
            load_probe(saved)

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", "\udcff\udcfe"])
    def test_description_that_is_none(self, saved, text):
        (saved / "probe.json").write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(ValueError, match="probe is no saved probe, or broken"):
            load_probe(saved)

    @pytest.mark.parametrize(
        "name", ["probe", "layers", "heads", "kind", "recipe", "random_state", "options", "vectors"]
    )
    def test_description_that_lacks_something(self, saved, name):
        described = description(saved)
        del described[name]
        write_json(saved / "probe.json", described, ANYWHERE)
        with pytest.raises(ValueError, match=f"broken: KeyError.*{name}"):
            load_probe(saved)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"layers": 7}, "weights do not fit the description"),
            ({"recipe": {"epoch": 1}}, "broken: TypeError"),
            ({"probe": "mlp"}, "unknown probe 'mlp'"),
        ],
    )
    def test_description_of_something_else(self, saved, changes, message):
        write_json(saved / "probe.json", description(saved) | changes, ANYWHERE)
        with pytest.raises(ValueError, match=message):
            load_probe(saved)

    def test_description_that_was_changed_by_hand(self, saved):
        text = (saved / "probe.json").read_text()
        assert '"random_state": 0' in text
        (saved / "probe.json").write_text(text.replace('"random_state": 0', '"random_state": 1'))
        with pytest.raises(ValueError, match="probe is damaged: its content does not match its SHA-256 digest"):
            load_probe(saved)

    def test_weights_of_another_probe(self, saved, tmp_path):
        AttentionWordsProbe(VECTORS).fit(batches_of(1)).save(tmp_path / "words")
        (tmp_path / "words" / "probe.safetensors").replace(saved / "probe.safetensors")
        with pytest.raises(ValueError, match=r"probe\.safetensors does not belong to probe\.json"):
            load_probe(saved)
        described = description(saved) | {"weights": description(tmp_path / "words")["weights"]}
        write_json(saved / "probe.json", described, ANYWHERE)
        with pytest.raises(ValueError, match="weights do not fit the description"):
            load_probe(saved)

    @pytest.mark.parametrize("missing", ["probe.json", "probe.safetensors", None])
    def test_files_that_are_not_there(self, saved, missing):
        if missing:
            (saved / missing).unlink()
        with pytest.raises(FileNotFoundError, match=missing or "probe.json"):
            load_probe(saved if missing else saved / "elsewhere")

    def test_what_was_loaded_is_saved_the_same(self, saved, tmp_path):
        load_probe(str(saved)).save(str(tmp_path / "again"))
        for name in ("probe.json", "probe.safetensors"):
            assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()
