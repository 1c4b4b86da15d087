"""Where heads fail, and what they pick instead, against naive loops over words."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.failures import DependencyFailures, failure_tables
from attentionology.analyses.shared.failures import cluster_interval
from attentionology.corpora_loaders import Sentence
from tests.maps import RELATIONS, batch_of, random_corpus

CORE = {"nsubj", "nsubj:pass", "obj"}


def tagged(texts, seed=0):
    """Give random parts of speech to sentences, some of which have no tags."""
    rng = np.random.default_rng(seed)
    tags = ("NOUN", "VERB", "DET", "odd")
    return [
        replace(text, tags=tuple(rng.choice(tags, len(text)).tolist()) if i % 3 else ()) for i, text in enumerate(texts)
    ]


def kind_of(text: Sentence, i: int, picked: int | None, gold_value: float) -> str:
    """Name what is picked for word i (both from 1), written from the definition."""
    heads: tuple[Any, ...] = (None, *text.heads)
    if picked is None:
        return "none"
    if heads[i] == picked:
        return "head"
    if heads[i] and gold_value == 0:
        return "out of reach"
    if picked == i:
        return "itself"
    if text.relations[picked - 1] == "punct":
        return "punctuation"
    if heads[picked] == i:
        return "dependent"
    if heads[i] and heads[picked] == heads[i]:
        verb = not text.tags or text.tags[heads[i] - 1] == "VERB"
        return "argument" if verb and text.relations[picked - 1] in CORE else "sibling"
    if heads[i] and heads[heads[i]] == picked:
        return "grandparent"
    return "neighbor" if abs(picked - i) == 1 else "other"


def classes_of(text: Sentence, i: int, lengths):
    """The classes of word i, by aspect."""
    head = text.heads[i - 1]
    n = len(text)
    classes = {"words": "all", "words of the sentence": "1 to 10" if n <= 10 else "11 to 20"}
    if text.tags:
        classes["part of speech"] = {"odd": "another tag"}.get(text.tags[i - 1], text.tags[i - 1])
    if head:
        d = head - i
        names = {1: "1", 2: "2", 3: "3", 4: "4 to {}5", 5: "4 to {}5", 11: "11 or more"}
        sign = "−" if d < 0 else "+"
        classes["distance"] = sign + names.get(min(abs(d), 11), "6 to {}10").format(sign)
        classes["side"] = "head before" if d < 0 else "head after"
        if text.tags:
            classes["part of speech of the head"] = {"odd": "another tag"}.get(text.tags[head - 1], text.tags[head - 1])
        own, other = lengths[i - 1] > 1, lengths[head - 1] > 1
        classes["split into pieces"] = ("both" if other else "the word") if own else "its head" if other else "neither"
    return classes


def naive(corpus, relation, direction, layer, head):
    """The right and all words of each class, and what is picked, of one head for one relation."""
    right: Counter[Any] = Counter()
    total: Counter[Any] = Counter()
    picked: Counter[Any] = Counter()
    for text, word_map, pieces in zip(*corpus, strict=True):
        m = word_map[layer, head, 1:-1, 1:-1]
        m = {"dep->head": m, "head->dep": m.T, "both": m + m.T}[direction]
        for i in range(1, len(text) + 1):
            if text.heads[i - 1] is None or relation not in (text.relations[i - 1], "all"):
                continue
            others = [j for j in range(1, len(text) + 1) if j != i]
            pick = max(others, key=lambda j: (m[i - 1, j - 1], -j)) if others else None
            kind = kind_of(text, i, pick, m[i - 1, text.heads[i - 1] - 1] if text.heads[i - 1] else 1)
            picked[kind] += 1
            for item in classes_of(text, i, pieces).items():
                total[item] += 1
                right[item] += kind == "head"
    return right, total, picked


def counted(texts, maps, lengths, sizes=(7, 11), *, both=False):
    metric = DependencyFailures(RELATIONS, 2, 3, both=both)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, both=both, replicates=0)
    start = 0
    for size in (*sizes, len(texts)):
        rows = slice(start, start + size)
        if texts[rows]:
            batch = replace(batch_of(texts[rows], maps[rows]), word_lengths=tuple(lengths[rows]))
            metric.update(batch)
            accuracy.update(batch)
        start += size
    return metric, accuracy.compute()


@pytest.fixture(scope="module")
def corpus():
    texts, maps = random_corpus(3)
    texts = tagged(texts)
    rng = np.random.default_rng(1)
    lengths = [tuple(rng.integers(1, 3, len(text)).tolist()) for text in texts]
    for m in maps[::4]:
        m *= np.tril(np.ones(m.shape[-2:], dtype=np.float32))  # no word sees the words after it
    return texts, maps, lengths


@pytest.mark.parametrize(("relation", "both"), [("all", False), ("nsubj", False), ("punct", False), ("all", True)])
def test_failures_and_picks_are_those_of_a_loop(corpus, relation, both):
    metric, tables = counted(*corpus, both=both)
    heads = [f"{layer}-{head}" for layer in (1, 2) for head in (1, 2, 3)]
    failures, picked = failure_tables(metric, tables.best, tables.cells, ["best", *heads])
    kinds = set()
    for (layer, head, way), rows in failures[failures["relation"] == relation].groupby(["layer", "head", "direction"]):
        right, total, picks = naive(corpus, relation=relation, direction=way, layer=int(layer) - 1, head=int(head) - 1)
        cells = {(row["by"], row["class"]): (row["correct"], row["total"]) for row in rows.to_dict("records")}
        assert cells == {item: (right[item], n) for item, n in total.items()}
        mine = picked.query("relation == @relation and layer == @layer and head == @head and direction == @way")
        assert {row["picked"]: row["count"] for row in mine.to_dict("records") if row["count"]} == dict(picks)
        assert mine["count"].sum() == mine["total"].iloc[0] == sum(picks.values())
        kinds |= set(picks)
    assert relation != "all" or kinds >= {"head", "argument", "sibling", "grandparent", "dependent", "out of reach"}


def test_offsets_are_those_of_a_loop(corpus):
    metric, tables = counted(*corpus)
    failures, picked = failure_tables(metric, tables.best, tables.cells, ["best"])
    offset = int(tables.best.set_index("relation").loc["all", "offset"])
    picks: Counter[str] = Counter()
    for text in corpus[0]:
        for i, head in enumerate(text.heads, start=1):
            if head is not None:
                picks[kind_of(text, i, min(max(i + offset, 1), len(text)), 1)] += 1
    rows = picked[picked["relation"] == "all"]
    assert {row["picked"]: row["offset_count"] for row in rows.to_dict("records") if row["offset_count"]} == dict(picks)
    assert "itself" in picks
    whole = failures.query("relation == 'all' and by == 'words'").iloc[0]
    assert whole["offset_correct"] == picks["head"] == tables.best["offset_correct"].iloc[0]


def test_intervals_are_those_of_the_residuals_of_sentences(corpus):
    metric, tables = counted(*corpus)
    failures, _ = failure_tables(metric, tables.best, tables.cells, ["best"])
    row = failures.query("relation == 'all' and by == 'side'").iloc[0]
    by_sentence = []
    for one in zip(*corpus, strict=True):
        texts, maps, lengths = ([each] for each in one)
        right, total, _ = naive((texts, maps, lengths), "all", row["direction"], row["layer"] - 1, row["head"] - 1)
        item = ("side", row["class"])
        by_sentence.append((right[item], total[item]))
    x, n = np.array(by_sentence, dtype=float).T
    p = x.sum() / n.sum()
    variance = ((x - p * n) ** 2).sum() / n.sum() ** 2
    effective = min(p * (1 - p) / variance, n.sum())
    # Wilson's bounds are where the score test is just significant.
    for bound in (row["accuracy_low"], row["accuracy_high"]):
        assert abs(p - bound) / math.sqrt(bound * (1 - bound) / effective) == pytest.approx(1.959964, abs=1e-5)
    assert row["accuracy_low"] < p < row["accuracy_high"]


def test_an_interval_needs_words_that_differ():
    assert all(map(math.isnan, cluster_interval(5, 25, 25, 5, 25)))
    assert all(map(math.isnan, cluster_interval(2, 4, 10, 5, 25)))  # one sentence


def test_parts_add_up_to_the_same_states(corpus):
    texts, maps, lengths = corpus
    whole, _ = counted(texts, maps, lengths)
    first, _ = counted(texts[:13], maps[:13], lengths[:13])
    second, _ = counted(texts[13:], maps[13:], lengths[13:], sizes=(1, 2))
    first.merge_state(second)
    for name, state in whole.metric_state.items():
        assert torch.equal(first.metric_state[name], state), name
    fewer = DependencyFailures(RELATIONS[:4], 2, 3)
    fewer.load_state_dict(whole.metric_state)
    with pytest.raises(ValueError, match="cannot be added up"):
        fewer.compute()


@pytest.mark.parametrize("scale", [1e-6, 1, 1e6])
def test_close_races_between_wrong_words_are_decided_in_float64(corpus, scale):
    texts, _, lengths = corpus
    rng = np.random.default_rng(0)
    exact = [scale * (0.5 + 1e-9 * rng.random((2, 3, len(t) + 2, len(t) + 2))) for t in texts]
    rounded: Any = batch_of(texts, [m.astype(np.float32) for m in exact])
    batch = replace(
        rounded, word_lengths=tuple(lengths), recompute=lambda indices, _: [torch.from_numpy(exact[i]) for i in indices]
    )
    metric = DependencyFailures(RELATIONS, 2, 3)
    metric.update(batch)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=0)
    accuracy.update(batch)
    tables = accuracy.compute()
    _, picked = failure_tables(metric, tables.best, tables.cells, ["2-1"])
    rows = picked[picked["relation"] == "all"]
    *_, picks = naive((texts, exact, lengths), "all", rows["direction"].iloc[0], 1, 0)
    assert {row["picked"]: row["count"] for row in rows.to_dict("records") if row["count"]} == dict(picks)


def test_words_without_a_head_are_not_counted_whatever_their_relation_is():
    texts, maps = random_corpus(3, sentences=2)
    headless = replace(texts[0], id="headless", heads=(None,) * len(texts[0]), relations=("_",) * len(texts[0]))
    counted, with_headless = (DependencyFailures(RELATIONS, 2, 3) for _ in range(2))
    counted.update(batch_of(texts, maps))
    with_headless.update(batch_of([headless, *texts], [maps[0], *maps]))
    assert counted.total.any()
    assert all((getattr(counted, name) == getattr(with_headless, name)).all() for name in ("right", "picked", "total"))
