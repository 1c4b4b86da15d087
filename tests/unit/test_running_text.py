"""Inputs that are too long to be kept with their maps are kept with their words and guesses."""

from __future__ import annotations

import base64
import copy
import random
import zlib
from collections.abc import Sequence

import numpy as np
import pytest

import attentionology
from attentionology import CountOptions
from attentionology.analyses.coreference.decisions import DIRECTIONS, POLICIES, AntecedentGuesses
from attentionology.analyses.counting.resampling import sentence_keys
from attentionology.analyses.plans import Guesses
from attentionology.analyses.shared import input_sample
from attentionology.analyses.shared.input_sample import InputSample
from attentionology.analyses.shared.running_text import TEXT_ROWS
from attentionology.analyses.shared.sampled_input import NO_GUESS
from attentionology.corpora_loaders.coreference import Document
from attentionology.engine.results.explorer import _sample
from attentionology.extractors import Window
from tests import documents, tiny
from tests.maps import batch_of

LAYERS = 2
COREFERENCE = Guesses(DIRECTIONS, AntecedentGuesses(POLICIES[0], singletons=False))


def states(metric: InputSample) -> dict[str, bytes]:
    return {
        name: b"".join(tensor.numpy().tobytes() for tensor in (state if isinstance(state, list) else [state]))
        for name, state in metric.metric_state.items()
    }


LONG = [documents.document(name, [" ".join(["Ann"] * 150)] * 7, [(0, 1, "e"), (149, 150, "e")]) for name in "abcd"]


def windows_of(*long_documents: Document) -> list[Window]:
    """Windows of 150 words, of which the last one of each document has 20."""
    cuts = [(start, start + 150) for start in range(0, 900, 75)] + [(975, 995)]
    return [documents.window(each, start, stop, seen=start + 75) for each in long_documents for start, stop in cuts]


def test_windows_of_documents_are_kept_without_maps_and_parts_of_a_corpus_add_up_to_the_whole() -> None:
    """Whole documents are kept, one after another, until there are enough rows; and their maps are not."""
    rng, choices = np.random.default_rng(0), random.Random(0)
    windows = windows_of(*LONG)
    maps = {each.id: rng.random((1, 1, len(each) + 2, len(each) + 2), dtype=np.float32) for each in windows}

    def kept(some: Sequence[Window]) -> InputSample:
        metric = InputSample(1, 1, size=2, guesses=DIRECTIONS, guessers=(COREFERENCE,))
        for start in range(0, len(some), 30):
            part = some[start : start + 30]
            metric.update(batch_of(part, [maps[each.id] for each in part]))
        return metric

    whole = kept(windows)
    order = sorted("abcd", key=lambda name: int(sentence_keys([name], 0)[0]))
    expected, rows = list[str](), 0
    for each in (each for name in order for each in windows if each.source.id == name):
        if rows < TEXT_ROWS:
            expected.append(each.id)
            rows += len(each) + 2
    assert [each.annotation.id for each in whole.texts()] == expected
    assert {f"{order[0]}@975", f"{order[1]}@0"} <= set(expected)  # the last window is short
    assert f"{order[2]}@0" not in expected
    assert {len(each.maps) for each in whole.texts()} == {0}
    choices.shuffle(windows)
    parts = [kept(windows[index::3]) for index in range(3)]
    for merged in (parts, parts[::-1]):
        first, *others = copy.deepcopy(merged)
        for other in others:
            first.merge_state(other)
        assert states(first) == states(whole)


def test_guesses_without_maps_are_those_of_the_analysis_and_an_earlier_version_kept_none() -> None:
    rng = np.random.default_rng(1)
    windows = windows_of(LONG[0])[:2]
    given_batch = batch_of(
        windows, [rng.random((LAYERS, 1, len(w) + 2, len(w) + 2), dtype=np.float32) for w in windows]
    )
    metric = InputSample(LAYERS, 1, size=2, guesses=DIRECTIONS, guessers=(COREFERENCE,))
    metric.update(given_batch)
    right = COREFERENCE.of(given_batch)
    for index, each in enumerate(metric.texts()):
        assert (each.annotation.start, each.annotation.id) == (windows[index].start, windows[index].id)
        for direction in range(2):
            guesses = np.frombuffer(each.guesses(direction), dtype="<u2").reshape(LAYERS, 1, 152)
            assert np.array_equal(guesses, np.where(right[index, direction] < 0, NO_GUESS, right[index, direction]))
    assert int((right >= 0).sum()) > 0
    page = _sample({"windows/weight": metric}, LAYERS, 3, causal=False)  # the heads of a layer share the map
    assert page is not None
    text = page.sentences[0]
    assert (text.maps, text.start, len(page.sentences)) == ({}, 0, 2)
    assert (
        len(zlib.decompress(base64.b64decode(text.guesses["weight/mention->antecedent"]), -15)) == LAYERS * 3 * 152 * 2
    )
    assert "2 inputs are shown as running text, without maps" in page.note
    older = {name: state for name, state in metric.metric_state.items() if name != "running"}
    metric.load_state_dict(older)
    assert metric.texts() == []
    assert _sample({"windows/weight": metric}, LAYERS, 1, causal=False) is None


def test_a_long_document_is_on_the_page_by_default_and_is_judged_as_the_table_judges_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Windows that overlap have each decision of the table once."""
    monkeypatch.setattr(input_sample, "MOST_ROWS", 20)  # the windows of a tiny model are short
    text = " ".join(np.random.default_rng(2).choice(("Ann", "she", "dog", "it"), size=120))
    mentions = [(word, word + 1, f"e{word % 3}") for word in range(0, 120, 4)]
    corpus = documents.corpus(documents.document("d", [text], mentions))
    options = [CountOptions(replicates=0, min_count=1)]
    run = attentionology.analyze(tiny.encoder(), corpus, analyses="coreference", options=options)
    sample = run.explorer().sample
    assert sample is not None
    assert all(not sentence.maps for sentence in sample.sentences)
    cells = run["coreference"].tables.cells.query("candidates == 'preceding' and type == 'all'")
    for direction, of_direction in cells.groupby("direction"):
        right, asked = 0, 0
        for sentence in sample.sentences:
            inflated = zlib.decompress(base64.b64decode(sentence.guesses[f"weight/{direction}"]), -15)
            guesses = np.frombuffer(inflated, dtype="<u2").reshape(-1, len(sentence.rows))[0]  # of head 1-1
            entities = {mention.head: mention.entity for mention in sentence.mentions}
            picks = [(row, pick) for row, pick in enumerate(guesses.tolist()) if pick != NO_GUESS]
            asked += len(picks)
            right += sum(entities[row] == entities.get(pick) for row, pick in picks)
        first = of_direction.query("layer == 1 and head == 1").iloc[0]
        assert (right, asked) == (first["correct"], first["total"])
        assert 0 < right < asked
