"""The analyses of norms against loops over single sentences in float64."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from attentionology.analyses.norms.feed_forward import FeedForwardChange
from attentionology.analyses.norms.frequency import FrequencyCorrelation, frequency_ranks
from attentionology.analyses.norms.mixing import MixingRatios
from attentionology.analyses.norms.shares import NormShares
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import (
    MIXING_VARIANTS,
    ExtractionLog,
    ModelError,
    NormMaker,
    StageMaker,
    is_punctuation,
)
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny
from tests.reference.naive_layers import READERS, Naive, naive_layers

FAMILIES = tuple(READERS)
VOCABULARY = 10_000


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    short = [s for s in load_treebank(SAMPLE_TREEBANK) if len(s) <= 10][:7]
    return [*short, Sentence("one", ("Yes",))]


def classes_of(pieces: Pieces, sentence: Sentence) -> list[str]:
    found = []
    for at in pieces.positions:
        if pieces.special[at]:
            found.append("[CLS]" if at == 0 else "[SEP]")
        else:
            word = sentence.words[at - sum(pieces.special[:at])]
            found.append("punctuation" if word in ".,!?;:-\"'()" or word == "..." else "other")
    return found


def ratio(vectors: np.ndarray, i: int) -> float:
    others = np.delete(vectors[i], i, axis=0).sum(0)
    m, p = np.linalg.norm(others), np.linalg.norm(vectors[i, i])
    return float(m / (m + p))


def naive_ratios(layer: Naive, i: int) -> dict[str, float]:
    own_weight = 1 - layer.alpha[:, i, i].mean()
    kinds = ("attn", "attnres", "attnresln", "atbff", "atbffres", "atbffresln")
    return {
        "attn-w": own_weight,
        "attnres-w": own_weight / 2,
        **{f"{kind}-n": ratio(layer.vectors(kind), i) for kind in kinds},
    }


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_mixing_ratios(family, sentences):
    encoder = tiny.randomize(family)
    metric = MixingRatios(encoder.n_layers)
    for batch in tiny.batches(NormMaker(), encoder, sentences, batch_cells=300):
        metric.update(batch)
    table = metric.compute().set_index(["variant", "layer", "class"])
    values: dict[Any, list[float]] = defaultdict(list)
    for sentence in sentences:
        pieces, layers = naive_layers(encoder, sentence)
        for i, name in enumerate(classes_of(pieces, sentence)):
            for number, layer in enumerate(layers, start=1):
                for variant, value in naive_ratios(layer, i).items():
                    for key in itertools.product([variant], (number, 0), (name, "all")):
                        values[key].append(value)
    assert set(table.index) == set(values)
    for key, found in values.items():
        row = table.loc[key]
        assert row["mean"] == pytest.approx(np.mean(found), rel=1e-4, abs=1e-6)
        assert row["min"] == pytest.approx(min(found), rel=1e-3, abs=1e-5)
        assert row["max"] == pytest.approx(max(found), rel=1e-4)
        assert row["tokens"] * (encoder.n_layers if key[1] == 0 else 1) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_shares(family, sentences):
    encoder = tiny.randomize(family)
    metric = NormShares(encoder.n_layers, encoder.n_heads)
    for batch in tiny.batches(NormMaker(), encoder, sentences, batch_cells=300):
        metric.update(batch)
    table = metric.compute().set_index(["layer", "head", "class"])
    values: dict[Any, list[list[float]]] = defaultdict(list)
    for sentence in sentences:
        pieces, layers = naive_layers(encoder, sentence)
        names = classes_of(pieces, sentence)
        for number, layer in enumerate(layers, start=1):
            for head, (alpha, af, f) in enumerate(zip(layer.alpha, layer.af, layer.f, strict=True), start=1):
                norms = np.linalg.norm(af, axis=-1)
                shares = norms / norms.sum(-1, keepdims=True)
                for name in ("[CLS]", "[SEP]", "punctuation", "other"):
                    keys = [j for j, own in enumerate(names) if own == name]
                    value = np.linalg.norm(f[keys], axis=-1).mean() if keys else np.nan
                    sums = [m[:, keys].sum(-1).mean() for m in (alpha, norms, shares)]
                    values[number, head, name].append([*sums, value])
    for key, rows in values.items():
        if np.isnan(np.array(rows)[:, 3]).all():
            assert key not in table.index
            continue
        expected = np.nanmean(np.array(rows), axis=0)
        row = table.loc[key]
        np.testing.assert_allclose(row[["weight", "norm", "norm_share", "value_norm"]], expected, rtol=1e-4, atol=1e-6)
    totals = table.groupby(["layer", "head"])[["weight", "norm_share"]].sum()
    np.testing.assert_allclose(totals, 1, atol=1e-5)


@pytest.mark.slow
def test_frequency(sentences):
    encoder = tiny.randomize("bert")
    metric = FrequencyCorrelation(VOCABULARY)
    for batch in tiny.batches(NormMaker(), encoder, sentences, batch_cells=300):
        metric.update(batch)
    table = metric.compute().set_index(["measure", "tokens"])
    measures: dict[str, list[Any]] = defaultdict(list)
    ids: list[int] = []
    word: list[bool] = []
    for sentence in sentences:
        pieces, layers = naive_layers(encoder, sentence)
        ids += pieces.ids
        word += [not pieces.special[at] for at in pieces.positions]
        for i in range(len(pieces)):
            measures["value_norm"].append(float(np.mean([np.linalg.norm(layer.f[:, i], axis=-1) for layer in layers])))
            measures["weight"].append(np.mean([layer.alpha[:, :, i] for layer in layers]))
            measures["norm"].append(np.mean([np.linalg.norm(layer.af[:, :, i], axis=-1) for layer in layers]))
            ratios = [naive_ratios(layer, i) for layer in layers]
            for variant in MIXING_VARIANTS:
                measures[variant].append(np.mean([one[variant] for one in ratios]))
    counts = Counter(ids)
    rank = np.array([-counts[i] for i in ids])  # Spearman's ρ only sees the order
    for measure, values in measures.items():
        for tokens, chosen in (("all", np.ones(len(ids), dtype=bool)), ("words", np.array(word))):
            expected = spearmanr(rank[chosen], np.array(values)[chosen]).statistic
            assert table.loc[(measure, tokens), "rho"] == pytest.approx(expected, abs=1e-3)
            assert table.loc[(measure, tokens), "count"] == chosen.sum()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_change_and_amplification(family, sentences):
    encoder = tiny.randomize(family)
    pre = family != "bert"
    kinds = ("attnres", "attnresln", "atbff", "atbffres") if pre else ("attnresln", "atbff", "atbffres", "atbffresln")
    components = ("LN", "FF", "RES") if pre else ("FF", "RES", "LN")
    metric = FeedForwardChange(encoder.n_layers, components, top=5)
    for batch in tiny.batches(StageMaker(), encoder, sentences, batch_cells=300):
        assert batch.components == components
        metric.update(batch)
    result = metric.compute()
    change = result.change.set_index(["layer", "component"])
    changes: dict[Any, list[Any]] = defaultdict(list)
    raised: dict[int, list[float]] = defaultdict(list)
    for sentence in sentences:
        pieces, layers = naive_layers(encoder, sentence)
        if len(pieces) < 2:
            continue
        for number, layer in enumerate(layers, start=1):
            maps = [np.linalg.norm(layer.vectors(kind), axis=-1) for kind in kinds]
            seen = np.any([m > 0 for m in maps], axis=0)
            for name, (a, b) in zip((*components, "FFB"), ((0, 1), (1, 2), (2, 3), (0, 3)), strict=True):
                changes[number, name].append(1 - spearmanr(maps[a][seen], maps[b][seen]).statistic)
            before = components.index("FF")
            shares = [m / m.sum(-1, keepdims=True) for m in maps[before : before + 2]]
            raised[number] += (shares[1] - shares[0])[~np.eye(len(pieces), dtype=bool)].tolist()
    for key, values in changes.items():
        assert change.loc[key, "change"] == pytest.approx(np.mean(values), abs=2e-3)
        assert change.loc[key, "sentences"] == len(values)
    for number, values in raised.items():
        own = result.amplified[result.amplified["layer"] == number]
        expected = [v for v in sorted(values, reverse=True)[:5] if v > 0]
        np.testing.assert_allclose(own["amplification"], expected, rtol=1e-3, atol=1e-6)


def test_parts_of_a_corpus_merge_to_the_whole(sentences):
    encoder = tiny.randomize("bert")
    norms = list(tiny.batches(NormMaker(), encoder, sentences, batch_cells=300))
    stages = list(tiny.batches(StageMaker(), encoder, sentences, batch_cells=300))
    makers: list[tuple[Any, list[Any]]] = [
        (lambda: NormShares(encoder.n_layers, encoder.n_heads), norms),
        (lambda: MixingRatios(encoder.n_layers), norms),
        (lambda: FrequencyCorrelation(VOCABULARY), norms),
        (lambda: FeedForwardChange(encoder.n_layers, stages[0].components, top=4), stages),
    ]
    for make, batches in makers:
        assert len(batches) > 2
        whole, first, second = make(), make(), make()
        for k, batch in enumerate(batches):
            whole.update(batch)
            (first if k % 2 else second).update(batch)
        first.merge_state(second)
        results = [metric.compute() for metric in (first, whole)]
        tables = [one if isinstance(one, tuple) else (one,) for one in results]
        for a, b in zip(*tables, strict=True):
            pd.testing.assert_frame_equal(a, b, check_exact=True)


@pytest.mark.slow
def test_masking_hits_words_alone_and_does_not_depend_on_batches():
    encoder = tiny.encoder(max_position_embeddings=128)
    encoder.tokenizer.mask_token = "[MASK]"
    corpus = load_treebank(SAMPLE_TREEBANK, limit=60)
    mask = encoder.tokenizer.mask_token_id

    def masked(batch_cells: int) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        options: Any = {"mask_rate": 0.3, "seed": 1, "batch_cells": batch_cells}
        for batch in tiny.batches(NormMaker(), encoder, corpus, log=ExtractionLog(), **options):
            for sentence, ids, length in zip(batch.sentences, batch.ids.tolist(), batch.lengths.tolist(), strict=True):
                found[sentence.id] = [i for i, one in enumerate(ids[:length]) if one == mask]
        return found

    hits = masked(2000)
    assert hits == masked(20000)
    total = sum(len(p) - 2 for p in encoder.align(list(corpus)) if isinstance(p, Pieces))
    assert 0.25 < sum(map(len, hits.values())) / total < 0.35
    assert not any(0 in found for found in hits.values())


def test_masked_tokens_are_a_class_of_their_own():
    encoder = tiny.encoder()
    with pytest.raises(ModelError, match="no mask token"):
        next(tiny.batches(NormMaker(), encoder, [Sentence("s", ("the", "dog", "."))], mask_rate=1.0))
    encoder.tokenizer.mask_token = "[MASK]"
    (batch,) = tiny.batches(NormMaker(), encoder, [Sentence("s", ("the", "dog", "."))], mask_rate=1.0)
    n = int(batch.lengths[0])
    assert batch.classes[0].tolist() == [0, *[2] * (n - 2), 1]
    (batch,) = tiny.batches(NormMaker(), encoder, [Sentence("s", ("the", "...", "dog", "."))])
    assert batch.classes[0, [0, 1, -2, -1]].tolist() == [0, 4, 3, 1]


def test_ranks():
    assert frequency_ranks({7: 5, 3: 9, 4: 5, 1: 1}) == {3: 1, 7: 2, 4: 2, 1: 4}
    encoder = tiny.encoder()
    (batch,) = tiny.batches(NormMaker(), encoder, [Sentence("s", ("the", "dog", "the"))])
    ids = batch.ids[0].tolist()
    given = FrequencyCorrelation(VOCABULARY, {ids[1]: 1})
    given.update(batch)
    same = FrequencyCorrelation(VOCABULARY, {ids[1]: 1, **{i: 2 for i in ids if i != ids[1]}})
    same.update(batch)
    assert given.compute().equals(same.compute())
    assert not given.compute()["rho"].isna().all()


def test_punctuation():
    assert all(map(is_punctuation, (".", "...", "«", "。", "-")))
    assert not any(map(is_punctuation, ("a.", "$", "1", "+")))
