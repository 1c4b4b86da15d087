"""Which sentences are trained, stopped and tested on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attentionology.corpora_loaders import Sentence, WordVectors
from attentionology.extractors import ExtractionLog, StoredMaps
from attentionology.extractors.maps.store_reader import MapLocation
from attentionology.probes import PAPER, TUNED, AttentionProbe, control_task, make_probe
from attentionology.probes.recipe import choose_recipe
from attentionology.probes.saved_probe import training_key
from attentionology.probes.splits import CorrectWords, Split, folds_of, make_splits, with_control_task


def sentences_of(lengths: Iterable[int], documents: Iterable[str | None] | None = None, name: str = "s"):
    lengths = list(lengths)
    documents = [None] * len(lengths) if documents is None else list(documents)
    return tuple(
        Sentence(f"{name}{i}", ("w",) * n, document=document)
        for i, (n, document) in enumerate(zip(lengths, documents, strict=True))
    )


def store(sentences: tuple[Sentence, ...]) -> StoredMaps:
    """A store of which nothing is read."""
    locations = tuple(MapLocation("", i, ()) for i in range(len(sentences)))
    return StoredMaps(Path(), sentences, "weight", (1, 1), 0, 0, ExtractionLog(), locations, None, {})


def ids(maps: StoredMaps | None) -> list[str]:
    assert maps is not None
    assert len(maps) == len(maps._locations)
    assert [f"{s.id[0]}{location.number}" for s, location in zip(maps.sentences, maps._locations, strict=True)] == [
        s.id for s in maps.sentences
    ]  # every sentence with its own map
    return [s.id for s in maps.sentences]


def random_lengths(seed: int, n: int) -> list[int]:
    return [int(length) for length in np.random.default_rng(seed).integers(1, 40, n)]


class TestFolds:
    @pytest.mark.parametrize("folds", [2, 5, 7])
    def test_are_balanced_in_words(self, folds):
        sentences = sentences_of(random_lengths(folds, 200))
        found = folds_of(sentences, folds)
        words = Counter[int]()
        for fold, sentence in zip(found, sentences, strict=True):
            words[fold] += len(sentence)
        assert sorted(words) == list(range(folds))
        assert max(words.values()) - min(words.values()) <= max(map(len, sentences))

    def test_by_hand(self):
        # words so far: 5 0 | 5 1 | 5 3 | 5 7 | 9 7
        assert folds_of(sentences_of([5, 1, 2, 4, 4]), 2) == [0, 1, 1, 1, 0]

    def test_documents_stay_whole_and_are_balanced_by_all_their_words(self):
        documents = [f"d{i % 13}" for i in range(130)]
        sentences = sentences_of(random_lengths(1, 130), documents)
        found = folds_of(sentences, 5)
        of_document, words, size = defaultdict(set), Counter[int](), Counter[str]()
        for fold, sentence in zip(found, sentences, strict=True):
            of_document[sentence.document].add(fold)
            words[fold] += len(sentence)
            size[str(sentence.document)] += len(sentence)
        assert {len(folds) for folds in of_document.values()} == {1}
        assert max(words.values()) - min(words.values()) <= max(size.values())

    @pytest.mark.parametrize(
        "documents",
        [["a", "b", "c", "d"] * 5, ["a"] * 12 + ["b", "c", "d", "e", "f", "g", "h", None]],
        ids=["fewer documents than folds", "a sentence in no document"],
    )
    def test_otherwise_sentences_go_alone(self, documents):
        assert sorted(Counter(folds_of(sentences_of([3] * 20, documents), 5)).values()) == [4] * 5


class TestSplits:
    @pytest.mark.parametrize("hold_out", [False, True])
    def test_folds_partition_the_tested_sentences(self, hold_out):
        test = store(sentences_of(random_lengths(2, 103)))
        splits = list(make_splits(None, None, test, folds=4, hold_out=hold_out, seed=0))
        assert len(splits) == 4
        assert sorted(place for split in splits for place in split.tested) == list(range(103))
        for split in splits:
            tested = [f"s{place}" for place in split.tested]
            assert ids(split.test) == tested
            known = ids(split.train) + (ids(split.dev) if hold_out else [])
            assert sorted(known + tested) == sorted(ids(test))  # nothing twice, nothing lost
            assert (split.dev is None) == (not hold_out)

    @pytest.mark.parametrize("hold_out", [False, True])
    def test_dev_sentences_that_are_there_are_used_and_none_is_held_out(self, hold_out):
        train, dev, test = (store(sentences_of([3] * 30, name=name)) for name in "sdt")
        (split,) = make_splits(train, dev, test, folds=5, hold_out=hold_out, seed=0)
        assert split.dev is dev
        assert split.train is train
        for split in make_splits(None, dev, test, folds=5, hold_out=hold_out, seed=0):
            assert split.dev is dev
            assert len(split.train) == 24

    def test_a_tenth_is_held_out(self):
        train, test = store(sentences_of([3] * 3000)), store(sentences_of([2], name="t"))
        (split,) = make_splits(train, None, test, folds=5, hold_out=True, seed=0)
        assert abs(len(ids(split.dev)) - 300) < 4 * (3000 * 0.1 * 0.9) ** 0.5
        assert sorted(ids(split.dev) + ids(split.train)) == sorted(ids(train))
        assert ids(split.train) == sorted(ids(split.train), key=lambda name: int(name[1:]))  # in the old order

    @pytest.mark.parametrize("seed", range(60))
    def test_documents_are_held_out_whole(self, seed):
        """Of twenty, a tenth may be none at all; then it is one."""
        documents = [f"d{i // 5}" for i in range(100)]
        train, test = store(sentences_of([3] * 100, documents)), store(sentences_of([2], name="t"))
        (split,) = make_splits(train, None, test, folds=5, hold_out=True, seed=seed)
        assert split.dev is not None
        dev, rest = ({s.document for s in maps.sentences} for maps in (split.dev, split.train))
        assert dev
        assert not dev & rest
        assert len(split.dev) == 5 * len(dev)
        assert len(split.dev) + len(split.train) == 100

    def test_with_few_documents_sentences_are_held_out(self):
        documents = [f"d{i % 19}" for i in range(400)]
        train, test = store(sentences_of([3] * 400, documents)), store(sentences_of([2], name="t"))
        (split,) = make_splits(train, None, test, folds=5, hold_out=True, seed=0)
        assert split.dev is not None
        assert {s.document for s in split.dev.sentences} & {s.document for s in split.train.sentences}

    def test_seed_decides_what_is_held_out(self):
        train, test = store(sentences_of([3] * 200)), store(sentences_of([2], name="t"))

        def held(seed: int) -> list[str]:
            (split,) = make_splits(train, None, test, folds=5, hold_out=True, seed=seed)
            return ids(split.dev)

        assert held(3) == held(3)
        assert len({tuple(held(seed)) for seed in range(8)}) == 8

    def test_a_sentence_is_held_out_in_any_company(self):
        """What is drawn depends on the id, so a few sentences more do not turn all over."""
        few, many = store(sentences_of([3] * 200)), store(sentences_of([3] * 230))
        test = store(sentences_of([2], name="t"))
        (one,), (other,) = (make_splits(m, None, test, folds=5, hold_out=True, seed=0) for m in (few, many))
        assert set(ids(one.dev)) == set(ids(other.dev)) & set(ids(few))

    @pytest.mark.parametrize("n", [2, 3])
    def test_few_sentences(self, n):
        train, test = store(sentences_of([3] * n)), store(sentences_of([2], name="t"))
        first = 0
        for seed in range(300):
            (split,) = make_splits(train, None, test, folds=5, hold_out=True, seed=seed)
            assert sorted(ids(split.dev) + ids(split.train)) == ids(train)
            assert len(split.train) >= 1
            assert len(ids(split.dev)) >= 1
            first += "s0" in ids(split.dev)
        assert abs(first - 300 / n) < 4 * (300 / n * (1 - 1 / n)) ** 0.5 + 15  # drawn, not always the same
        # one sentence cannot be both
        (split,) = make_splits(store(sentences_of([3])), None, test, folds=5, hold_out=True, seed=0)
        assert (split.dev, len(split.train)) == (None, 1)


def annotated(n: int, name: str = "s") -> tuple[Sentence, ...]:
    """Sentences of one to three words; in the last a word has no head."""
    made = []
    for i in range(n):
        k = 1 + i % 3
        made.append(
            Sentence(f"{name}{i}", tuple(f"w{i}-{j}" for j in range(k)), (0, 1, None)[:k], ("root", "x", "y")[:k])
        )
    return tuple(made)


@pytest.mark.parametrize(
    ("name", "sentences", "epochs", "expected", "reason"),
    [
        ("auto", annotated(20), None, PAPER, "one epoch has 20 steps, at least 20"),
        ("auto", annotated(19), None, TUNED, "one epoch would have 19 steps, fewer than 20"),
        ("auto", annotated(19) + sentences_of([3] * 4), None, TUNED, "one epoch would have 19 steps, fewer than 20"),
        ("auto", annotated(19), 3, replace(PAPER, epochs=3), "the number of epochs was given"),
        ("auto", annotated(1), None, PAPER, "would have 1 step, fewer than 20, but too few sentences to hold some out"),
        ("tuned", annotated(20), 4, replace(TUNED, epochs=4), "it was requested"),
    ],
)
def test_a_recipe_is_that_of_the_paper_where_its_epoch_is_long_enough(
    monkeypatch, name, sentences, epochs, expected, reason
):
    """Sentences without a head are no steps."""
    monkeypatch.setattr("attentionology.probes.recipe.FEWEST_STEPS", 20)
    train, test = store(sentences), store(annotated(3, "t"))
    chosen = choose_recipe(
        name, {"epochs": epochs}, lambda held: [*make_splits(train, None, test, folds=5, hold_out=held, seed=0)]
    )
    assert chosen.recipe == expected
    assert chosen.reason.endswith(reason)


class TestCorrectWords:
    def test_are_put_where_they_belong(self):
        test = store(annotated(7))
        right = CorrectWords(test.sentences)
        for split in make_splits(None, None, test, folds=3, hold_out=False, seed=0):
            # the first word of every sentence right, the second wrong, the third nothing known about
            right.add(split, [np.array([0, 2, 1])[: len(s)] for s in split.test.sentences])
        expected = [[True], [True, False], [True, False, False]]
        assert right.words.tolist() == [word for i in range(7) for word in expected[i % 3]]


class TestControlled:
    def test_all_parts_get_the_same_behaviors_and_keep_their_maps(self):
        parts = [store(annotated(9, name)) for name in "sdt"]
        before = Split(parts[0], parts[1], parts[2], range(9))
        after = with_control_task(before, 3)
        assert after.dev is not None
        for old, new in zip(parts, (after.train, after.dev, after.test), strict=True):
            assert new.sentences == tuple(control_task(old.sentences, 3))
            assert new.sentences != tuple(control_task(old.sentences, 4))
            assert new._locations == old._locations
        assert after.tested == before.tested
        # the same words in all three: sdt differ in the names of sentences only
        assert [s.heads for s in after.train.sentences] == [s.heads for s in after.test.sentences]


def key(split: Split) -> str:
    return training_key(AttentionProbe(), split)


class TestTrainingKey:
    """The name that a checkpoint goes by must change with all that training depends on."""

    def split(self, **changes: StoredMaps | None) -> Split:
        parts = {"train": store(annotated(9)), "dev": None, "test": store(annotated(4, "t")), **changes}
        return Split(**parts, tested=range(4))  # type: ignore[arg-type]

    def test_training_and_dev_sentences_matter_and_tested_ones_do_not(self):
        usual = key(self.split())
        train = store(annotated(9))
        assert key(self.split(test=store(annotated(2, "u")))) == usual
        others = [
            self.split(train=train.subset(range(8))),
            self.split(train=train.subset([1, 0, *range(2, 9)])),
            self.split(train=replace(train, folder=Path("elsewhere"))),
            self.split(train=train.relabeled([replace(s, heads=(0,) * len(s)) for s in train.sentences])),
            self.split(train=train.relabeled([replace(s, relations=("punct",) * len(s)) for s in train.sentences])),
            self.split(dev=train.subset(range(4))),
            self.split(dev=train.subset(range(5))),
            with_control_task(self.split(), 0),
            with_control_task(self.split(), 1),
        ]
        names = [usual, *(key(other) for other in others)]
        assert len(set(names)) == len(names)

    def test_the_probe_matters(self):
        vectors = [WordVectors(np.zeros((0, 2), dtype=np.float32), {}, sha256=sha) for sha in "ab"]
        probes = [
            AttentionProbe(),
            AttentionProbe(random_state=1),
            AttentionProbe(recipe=TUNED),
            *(make_probe(name, own) for name in ("attention+words", "words+distances") for own in vectors),
        ]
        assert len({training_key(probe, self.split()) for probe in probes}) == len(probes)
