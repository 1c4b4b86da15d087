"""The sample of inputs by which runs over the same sentences are noticed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attentionology.corpora_loaders import Sentence
from attentionology.engine.stored_run import merged_samples, sample_inputs, shared_ids

NAMES = st.lists(st.text("abcdef", min_size=1, max_size=3), unique=True)


def sentences(names: list[str], word: str = "word") -> list[Sentence]:
    return [Sentence(name, (word, name)) for name in names]


@given(NAMES, st.integers(0, 40), st.randoms(use_true_random=False))
def test_samples_of_parts_make_the_sample_of_the_whole(names, cut, random):
    whole = sample_inputs(sentences(names), 7)
    assert len(whole) == min(7, len(names))
    shuffled = sentences(names)
    random.shuffle(shuffled)
    parts = [sample_inputs(shuffled[:cut], 7), sample_inputs(shuffled[cut:], 7)]
    assert list(merged_samples(parts, 7).items()) == list(whole.items())


def test_equal_ids_are_told_apart_by_words():
    first = sample_inputs(sentences(["a", "b", "c"]))
    second = sample_inputs([*sentences(["c", "d"]), *sentences(["b"], "other")])
    assert shared_ids(first, second) == (["c"], ["b"])


def test_words_that_are_joined_are_other_words():
    joined = sample_inputs([Sentence("a", ("x y",))])
    assert shared_ids(joined, sample_inputs([Sentence("a", ("x", "y"))])) == ([], ["a"])


def test_two_large_samples_share_inputs_in_proportion():
    first = sample_inputs((Sentence(f"s{i}", ("w",)) for i in range(3000)), 256)
    second = sample_inputs((Sentence(f"s{i}", ("w",)) for i in range(2000, 5000)), 256)
    same, other = shared_ids(first, second)
    assert other == []
    assert 60 < len(same) < 110  # about 256 · 1000 / 3000
