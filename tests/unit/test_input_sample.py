"""The sample of inputs that the report shows: who is drawn, what is kept of them, and what heads guess."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attentionology.analyses.coreference.decisions import (
    POLICIES,
    AntecedentGuesses,
    antecedent_hits,
    choices_of,
)
from attentionology.analyses.counting.resampling import sentence_keys
from attentionology.analyses.counting.stored_metrics import MetricStates, add_up
from attentionology.analyses.dependency.decisions import ScoredWords, head_guesses, head_hits
from attentionology.analyses.plans import Guesses
from attentionology.analyses.shared.input_sample import MOST_ROWS, InputSample
from attentionology.analyses.shared.picks import READINGS
from attentionology.analyses.shared.sampled_input import LEVELS, NO_GUESS
from attentionology.corpora_loaders import Sentence
from attentionology.engine.results.explorer import _explain_absence, _notes, _sample
from attentionology.engine.stored_run import merge_samples, sample_inputs, shared_ids
from attentionology.extractors import MapBatch
from tests import documents
from tests.maps import RELATIONS, batch_of, random_sentence

LAYERS, HEADS = 2, 3


def batch(rng: np.random.Generator, names: list[str], owners: Sequence[str | None]) -> MapBatch:
    """Random maps of sentences with these ids, of these documents."""
    sentences = [
        replace(random_sentence(rng, name, 5), document=owner) for name, owner in zip(names, owners, strict=True)
    ]
    maps = [rng.random((LAYERS, HEADS, len(s) + 2, len(s) + 2), dtype=np.float32) for s in sentences]
    return batch_of(sentences, maps)


def sample(size: int, *, preferring: bool = False, **options: object) -> InputSample:
    guessers = PREFERRING if preferring else GUESSERS
    return InputSample(LAYERS, HEADS, size=size, unit=False, guesses=READINGS, guessers=guessers, **options)  # type: ignore[arg-type]


def long_ones(sentence: Sentence) -> dict[int, set[int]]:
    """A case in sentences of four words and more."""
    return {0: {2}} if len(sentence) > 3 else {}


GUESSERS = (Guesses(READINGS, partial(head_guesses, readings=len(READINGS))),)
PREFERRING = (replace(GUESSERS[0], cases="long", right=long_ones),)


def states(metric: InputSample) -> dict[str, bytes]:
    return {
        name: b"".join(tensor.numpy().tobytes() for tensor in (state if isinstance(state, list) else [state]))
        for name, state in metric.metric_state.items()
    }


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 9),
    cells=st.integers(0, 400),
    repeated=st.booleans(),
    preferring=st.booleans(),
)
# An id occurs twice in a batch, and only one of both inputs is drawn.
@example(seed=39916800, size=3, cells=0, repeated=True, preferring=False)
# The input that no longer fits is in another part than one after it, which would fit.
@example(seed=20698, size=1, cells=41, repeated=False, preferring=False)
def test_any_split_order_and_nesting_gives_the_same_bytes(seed, size, cells, repeated, preferring):
    rng, choices = np.random.default_rng(seed), random.Random(seed)
    owners = [None, "a", "b", "c"]
    batches = []
    for number in range(choices.randint(1, 6)):
        count = choices.randint(1, 4)
        names = [f"s{choices.randint(0, 6)}" if repeated else f"s{number}-{row}" for row in range(count)]
        batches.append(batch(rng, names, [choices.choice(owners) for _ in names]))
    whole = sample(size, cells=cells, preferring=preferring)
    for each in batches:
        whole.update(each)
    choices.shuffle(batches)
    parts = []
    while batches:
        part = sample(size, cells=cells, preferring=preferring)
        for each in [batches.pop() for _ in range(choices.randint(0, len(batches)))]:
            part.update(each)
        parts.append(part)
    while len(parts) > 1:
        first, second = (parts.pop(choices.randrange(len(parts))) for _ in range(2))
        first.merge_state(second if choices.random() < 0.5 else copy.deepcopy(second.metric_state))
        parts.append(first)
    assert states(parts[0]) == states(whole)


@pytest.mark.parametrize("cells", [0, 1, 60, 200, 10**6])
@pytest.mark.parametrize("preferring", [False, True])
def test_further_inputs_fill_the_space_by_their_hashes(cells: int, preferring: bool) -> None:
    """One input after the other is added by its hash alone, those with cases first, until the space is full."""
    given_batch = batch(np.random.default_rng(0), [f"s{number}" for number in range(30)], ["long"] * 20 + ["b"] * 10)
    metrics = [sample(3, cells=space, preferring=preferring) for space in (0, cells)]
    for metric in metrics:
        metric.update(given_batch)
    spread, drawn = ([each.annotation.id for each in metric.sort_inputs()] for metric in metrics)
    by_hash = sorted(given_batch.sentences, key=lambda each: int(sentence_keys([each.id], 0)[0]) >> 1)
    if preferring:
        by_hash.sort(key=lambda each: not long_ones(each))
    further, taken = list[str](), 0
    while taken < cells and by_hash:
        sentence = by_hash.pop(0)
        further.append(sentence.id)
        taken += max((len(sentence) + 2) ** 2, cells // 600)
    assert len(spread) == 3
    assert drawn == [*spread, *(name for name in further if name not in spread)]


def test_a_full_sample_takes_what_was_said() -> None:
    """The bound by which memory is checked is above what is kept, and that of a dry run is near it."""
    rng = np.random.default_rng(0)
    few, full = sample(2, cells=2000), sample(2, cells=2000)
    few.update(batch(rng, [f"a{number}" for number in range(10)], [None] * 10))
    for start in range(0, 200, 20):
        full.update(batch(rng, [f"s{start + number}" for number in range(20)], [None] * 20))
    taken = sum(tensor.nbytes for tensor in [*full.keys, *full.content])
    words = sum(each.annotation_bytes for each in full.sort_inputs())
    assert 12 * taken > InputSample.state_bytes(n_layers=LAYERS, n_heads=HEADS, size=2, cells=2000) > taken - words
    assert taken / 1.5 < few.most_bytes() < 1.5 * taken


def test_the_smaller_of_two_samples_is_that_of_all_inputs() -> None:
    """Samples that were kept with other limits add up to what the smallest would have kept of everything."""
    rng = np.random.default_rng(3)
    batches = [batch(rng, [f"{name}{number}" for number in range(20)], [name] * 20) for name in "ab"]
    sizes: list[dict[str, Any]] = [{"size": 4, "cells": 300}, {"size": 9}]
    stored = []
    for each, limits in zip(batches, sizes, strict=True):
        metric = sample(**limits)
        metric.update(each)
        arguments = {"n_layers": LAYERS, "n_heads": HEADS, **limits, "unit": False, "guesses": list(READINGS)}
        stored.append(MetricStates.of(metric, arguments))
    whole = sample(4)
    for each in batches:
        whole.update(each)
    for order in (stored, stored[::-1]):
        merged, joined = add_up(order, InputSample)
        assert joined == {"n_layers": 2, "n_heads": 3, "size": 4, "unit": False, "guesses": list(READINGS)}
        assert states(merged) == states(whole)


def test_inputs_come_from_as_many_documents_as_possible():
    rng = np.random.default_rng(0)
    owners = ["long"] * 50 + ["short"] * 3 + ["single"]
    metric = sample(8)
    metric.update(batch(rng, [f"s{number}" for number in range(len(owners))], list(owners)))
    documents_of_inputs = [each.annotation.document for each in metric.sort_inputs()]
    assert Counter(documents_of_inputs) == {"long": 4, "short": 3, "single": 1}
    assert set(documents_of_inputs[:3]) == {"long", "short", "single"}


def test_inputs_with_cases_come_first_from_as_many_documents_as_possible():
    rng = np.random.default_rng(0)
    owners: list[str | None] = [*["long"] * 50, *["short"] * 3, "single"]
    given_batch = batch(rng, [f"s{number}" for number in range(len(owners))], owners)
    having = {sentence.id: sentence.document for sentence in given_batch.sentences if long_ones(sentence)}
    metric = sample(len(having) + 2, preferring=True)
    metric.update(given_batch)
    drawn = [each.annotation.id for each in metric.sort_inputs()]
    assert set(drawn[: len(having)]) == set(having)
    assert not having.keys() & set(drawn[len(having) :])
    of_documents = [having[name] for name in drawn[: len(having)]]
    assert len(set(of_documents[: len(set(of_documents))])) == len(set(having.values())) > 1
    assert [each.annotation.cases[0].right for each in metric.sort_inputs()[: len(having)]] == [(3,)] * len(having)


def test_another_seed_draws_others():
    ids = []
    for seed in (0, 0, 1):
        metric = sample(5, seed=seed)
        metric.update(batch(np.random.default_rng(0), [f"s{number}" for number in range(40)], [None] * 40))
        ids.append([each.annotation.id for each in metric.sort_inputs()])
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize("unit", [True, False])
def test_quantized_maps_are_close_to_the_maps(unit):
    rng = np.random.default_rng(1)
    given_batch = batch(rng, ["s1", "s2", "s3"], [None] * 3)
    factor = 1.0 if unit else 7.5
    given_batch = replace(given_batch, maps=given_batch.maps * factor)
    metric = InputSample(LAYERS, HEADS, size=3, unit=unit)
    metric.update(given_batch)
    maps = {sentence.id: array for sentence, array in given_batch.unpadded()}
    for each in metric.sort_inputs():
        expected = maps[each.annotation.id]
        quantized = np.frombuffer(each.maps, dtype=np.uint8).reshape(expected.shape)
        scales = np.array(each.scales).reshape(LAYERS, HEADS, 1, 1)
        assert np.allclose(scales[..., 0, 0], 1.0 if unit else expected.max((-1, -2)))
        assert np.abs(quantized / LEVELS * scales - expected).max() <= 0.5001 / LEVELS * scales.max()
        assert each.annotation.special == (True, *[False] * (expected.shape[-1] - 2), True)


def test_long_inputs_are_counted_but_not_kept():
    rng = np.random.default_rng(0)
    words = [Sentence("long", ("w",) * (MOST_ROWS - 1)), Sentence("kept", ("w",) * (MOST_ROWS - 2))]
    maps = [rng.random((LAYERS, HEADS, len(s) + 2, len(s) + 2), dtype=np.float32) for s in words]
    metric = InputSample(LAYERS, HEADS, size=5)
    metric.update(batch_of(words, maps))
    assert [each.annotation.id for each in metric.sort_inputs()] == ["kept"]
    assert (int(metric.inputs), int(metric.too_long)) == (2, 1)


@pytest.mark.parametrize(("space", "shown"), [(10**6, 3), (1, 1)])
def test_the_note_counts_inputs_that_are_shown_read_and_left_out(space, shown, monkeypatch):
    monkeypatch.setattr("attentionology.engine.results.explorer.most_bytes", lambda *_: space)
    metric = sample(3)
    metric.update(batch(np.random.default_rng(0), [f"s{number}" for number in range(5)], list("abcde")))
    on_page = _sample({"treebank/weight": metric}, LAYERS, HEADS, causal=False)
    assert on_page is not None
    assert len(on_page.sentences) == shown
    first, *_, last = on_page.note.split(". ")
    assert first.startswith(f"{shown} of 5 inputs, sampled by a hash of their ids")
    left_out = "The page has no space for 2 further inputs that were stored."
    assert last == (left_out if shown == 1 else "Values are rounded to 255 levels; guesses are stored exactly.")


def test_the_note_says_what_was_too_long_and_which_inputs_are_from_as_many_documents_as_possible():
    shown: Any = [SimpleNamespace(cases=[SimpleNamespace(name=name)]) for name in ("b", "a", "b")]
    few: Any = SimpleNamespace(inputs=1030, size=60, too_long=12, compute=lambda: 60)
    many: Any = SimpleNamespace(inputs=20, size=7, too_long=0, compute=lambda: 8)
    levels = "Values are rounded to 255 levels; guesses are stored exactly."
    long = f"Inputs of more than {MOST_ROWS} words are not stored: 12."
    cases = "Inputs with a case of a or b come first."
    by_hash = "3 of 1,050 inputs, sampled by a hash of their ids from as many documents as possible"
    spread = f"{by_hash} (67 of them) and then by these hashes alone."
    assert list(_notes([few, many], shown, 3)) == [spread, cases, levels, long]
    assert list(_notes([few], shown, 3)) == [f"{by_hash.replace('1,050', '1,030')}.", cases, levels, long]
    whole: Any = SimpleNamespace(inputs=3, size=60, too_long=0, compute=lambda: 3)
    assert list(_notes([whole], shown, 3)) == ["All 3 inputs.", levels]
    one: Any = SimpleNamespace(inputs=1, size=60, too_long=0, compute=lambda: 1)
    space = "The page has no space for 1 further input that was stored."
    assert list(_notes([one], shown[:1], 2)) == ["The only input.", levels, space]


def test_a_page_without_examples_says_that_all_inputs_are_too_long():
    long: Any = SimpleNamespace(inputs=torch.tensor(6), too_long=torch.tensor(6), texts=list)
    short: Any = SimpleNamespace(inputs=torch.tensor(6), too_long=torch.tensor(5), texts=list)
    none: Any = SimpleNamespace(inputs=torch.tensor(0), too_long=torch.tensor(0), texts=list)
    why = "No example is drawn, because all windows have more than 128 words."
    assert _explain_absence([long, long], "windows") == why
    assert [_explain_absence(samples, "windows") for samples in ([], [none], [short], [long, short])] == [""] * 4


def test_the_annotation_is_that_of_the_rows():
    relations, tags = ("nsubj", "root", "punct"), ("NOUN", "VERB", "PUNCT")
    sentence = Sentence("s1", ("Birds", "sing", "!"), (2, 0, None), relations, tags, document="d", file="f")
    metric = InputSample(1, 1, size=1)
    metric.update(batch_of([sentence], [np.full((1, 1, 5, 5), 0.2, dtype=np.float32)]))
    annotation = metric.sort_inputs()[0].annotation
    assert annotation.heads == (None, 2, -1, None, None)
    assert annotation.relations == (None, "nsubj", "root", None, None)
    assert annotation.tags == (None, "NOUN", "VERB", "PUNCT", None)
    assert (annotation.document, annotation.file, annotation.line) == ("d", "f", None)


def with_ties(rng: np.random.Generator, given_batch: MapBatch) -> MapBatch:
    """The same with few different values, so that many comparisons are close."""
    return replace(given_batch, maps=torch.from_numpy(rng.integers(1, 4, given_batch.maps.shape)).float() / 4)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_guesses_are_right_where_the_accuracy_counts_them(seed, ties):
    rng = np.random.default_rng(seed)
    given_batch = batch(rng, [f"s{number}" for number in range(9)], [None] * 9)
    given_batch = with_ties(rng, given_batch) if ties else given_batch
    metric = sample(9)
    metric.update(given_batch)
    words = ScoredWords.of(given_batch.sentences, dict.fromkeys(RELATIONS, 0))
    hits = head_hits(given_batch, words, len(READINGS)).numpy()
    kept = {each.annotation.id: each for each in metric.sort_inputs()}
    for decision in range(len(words.head)):
        sentence = given_batch.sentences[words.sentence[decision]]
        rows = len(sentence) + 2
        for direction in range(len(READINGS)):
            guesses = np.frombuffer(kept[sentence.id].guesses(direction), dtype="<u2").reshape(LAYERS, HEADS, rows)
            picked = guesses[..., words.number[decision]]
            assert np.array_equal(
                picked == words.head[decision], hits[decision, direction] & (words.head[decision] > 0)
            )
            if len(sentence) > 1:
                assert ((picked >= 1) & (picked <= len(sentence)) & (picked != words.number[decision])).all()
            else:
                assert (picked == NO_GUESS).all()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(4))
def test_guessed_antecedents_are_right_where_the_accuracy_counts_them(seed, policy):
    rng = np.random.default_rng(seed)
    windows = [documents.window(documents.random_document(rng, f"d{number}")) for number in range(4)]
    maps = [rng.random((LAYERS, HEADS, len(w) + 2, len(w) + 2), dtype=np.float32) for w in windows]
    given_batch = batch_of(windows, maps)
    choices = choices_of(given_batch)
    hits = antecedent_hits(given_batch, choices)[:, POLICIES.index(policy)]
    guesses = AntecedentGuesses(policy, singletons=False)(given_batch)
    seen = set()
    for decision, (index, choice) in enumerate(choices):
        if (index, choice.head) in seen:
            continue
        seen.add((index, choice.head))
        picked = guesses[index, ..., choice.head + 1] - 1
        right = torch.tensor([[[word in choice.gold for word in row] for row in rows] for rows in picked.tolist()])
        assert torch.equal(right, hits[decision])
        assert set(picked.flatten().tolist()) <= choice.candidates(policy) | choice.gold
    scored = torch.zeros(guesses.shape, dtype=torch.bool)
    for index, row in seen:
        scored[index, ..., row + 1] = True
    assert bool((guesses[~scored] == -1).all())
    assert seen


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
    assert list(merge_samples(parts, 7).items()) == list(whole.items())


def test_equal_ids_are_told_apart_by_words():
    first = sample_inputs(sentences(["a", "b", "c"]))
    second = sample_inputs([*sentences(["c", "d"]), *sentences(["b"], "other")])
    assert shared_ids(first, second, with_same_words=True) == ["c"]
    assert shared_ids(first, second, with_same_words=False) == ["b"]


def test_words_that_are_joined_are_other_words():
    joined = sample_inputs([Sentence("a", ("x y",))])
    other = sample_inputs([Sentence("a", ("x", "y"))])
    assert not shared_ids(joined, other, with_same_words=True)
    assert shared_ids(joined, other, with_same_words=False) == ["a"]


def test_two_large_samples_share_inputs_in_proportion():
    first = sample_inputs((Sentence(f"s{i}", ("w",)) for i in range(3000)), 256)
    second = sample_inputs((Sentence(f"s{i}", ("w",)) for i in range(2000, 5000)), 256)
    same, other = (shared_ids(first, second, with_same_words=same) for same in (True, False))
    assert other == []
    assert 60 < len(same) < 110  # about 256 · 1000 / 3000
