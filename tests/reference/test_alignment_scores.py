"""The counts of the alignment metric, its intervals and its choices against plain loops over sentence pairs."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from attentionology.analyses.alignment.accuracy import BASELINES, AlignmentAccuracy, AlignmentCounts, BaselineAccuracy
from attentionology.analyses.alignment.held_out import heldout_error_rate
from attentionology.analyses.alignment.links import LinkedPairs
from attentionology.analyses.alignment.scores import LinkCounts, count_links
from attentionology.analyses.alignment.series import Series
from attentionology.analyses.counting.outcomes import SPLITS
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.corpora_loaders.alignment import PairLinks, SentencePair
from attentionology.extractors import Columns, MapBatch
from tests.alignment import tables
from tests.maps import linked_pairs

LAYERS, HEADS, REPLICATES = 2, 3, 50
GENERATOR = random.Random(0)
PAIRS = [
    SentencePair(
        id=f"p{number}",
        source=tuple("abc.,"[GENERATOR.randrange(5)] for _ in range(GENERATOR.randint(1, 6))),
        words=tuple("xyz"[GENERATOR.randrange(3)] for _ in range(GENERATOR.randint(1, 5))),
    )
    for number in range(30)
]


def gold_links(pair: SentencePair) -> PairLinks:
    generator = random.Random(pair.id)
    links = [(i, j) for i in range(len(pair.source)) for j in range(len(pair)) if generator.random() < 0.5]
    return PairLinks.of([link for link in links if generator.random() < 0.6], links)


GOLD = {pair.id: gold_links(pair) for pair in PAIRS}
MAPS = {
    pair.id: torch.rand(LAYERS, HEADS, len(pair), len(pair.source) + 2, generator=torch.Generator().manual_seed(k))
    for k, pair in enumerate(PAIRS)
}


def batch_of(pairs: list[SentencePair]) -> MapBatch:
    n, m = max(map(len, pairs)), max(len(pair.source) for pair in pairs) + 2
    maps = torch.zeros(len(pairs), LAYERS, HEADS, n, m)
    special = torch.zeros(len(pairs), m, dtype=torch.bool)
    for row, pair in enumerate(pairs):
        maps[row, ..., : len(pair), : len(pair.source) + 2] = MAPS[pair.id]
        special[row, [0, len(pair.source) + 1]] = True
    columns = Columns(torch.tensor([len(pair.source) + 2 for pair in pairs]), special)
    lengths = torch.tensor([len(pair) for pair in pairs])
    with_gold = tuple(replace(pair, gold=GOLD[pair.id]) for pair in pairs)
    return MapBatch(maps, lengths, torch.zeros(len(pairs), n, dtype=torch.bool), with_gold, columns=columns)


SERIES = Series("AWI", "norm")


def linked(pairs: list[SentencePair]) -> LinkedPairs:
    return linked_pairs({SERIES: batch_of(pairs)})


def new_metric(direction: str = "forward", **changes: int) -> AlignmentAccuracy:
    sizes = {"n_layers": LAYERS, "n_heads": HEADS, "replicates": REPLICATES, "seed": 3, **changes}
    return AlignmentAccuracy("AWI", "norm", "all", direction, **sizes)


def counted(*parts: list[SentencePair]) -> AlignmentCounts:
    metric = new_metric()
    for part in parts:
        metric.update(linked(part))
    return metric.compute()


def naive_links(pair: SentencePair, layer: int, head: int) -> set[tuple[int, int]]:
    links = set()
    for target in range(len(pair)):
        row = MAPS[pair.id][layer, head, target].tolist()
        best = row.index(max(row))
        if 0 < best <= len(pair.source):
            links.add((best - 1, target))
    return links


def naive_total(layer: int, head: int, weights) -> LinkCounts:
    total = LinkCounts()
    for pair, weight in zip(PAIRS, weights, strict=True):
        for _ in range(int(weight)):
            total += count_links(naive_links(pair, layer, head), GOLD[pair.id])
    return total


def test_counts_are_those_of_loops_in_the_corpus_its_halves_and_replicates():
    counts = counted(PAIRS)
    ids = [pair.id for pair in PAIRS]
    weights = [np.ones(len(ids)), *halves(ids, SPLITS, 3), *poisson_weights(ids, REPLICATES, 3)]
    assert counts.links.shape == (1 + SPLITS + REPLICATES, LAYERS, HEADS, 3)
    for index in (0, 1, SPLITS, 1 + SPLITS, SPLITS + REPLICATES):
        for layer, head in np.ndindex(LAYERS, HEADS):
            total = naive_total(layer, head, weights[index])
            actual = LinkCounts(int(counts.links[index, layer, head, 0]), int(counts.sure[index]),
                                *map(int, counts.links[index, layer, head, 1:]))  # fmt: skip
            assert actual == total
            assert counts.error_rates()[index, layer, head] == pytest.approx(total.error_rate)


def test_rests_and_sizes_are_those_of_loops():
    counts = counted(PAIRS)
    for layer, head in np.ndindex(LAYERS, HEADS):
        special = punctuation = 0
        for pair in PAIRS:
            links = naive_links(pair, layer, head)
            special += len(pair) - len(links)
            punctuation += sum(pair.source[source] in ".," for source, _ in links)
        words = sum(map(len, PAIRS))
        assert counts.rests[layer, head].tolist() == [special, punctuation, words - special - punctuation]
        size = np.mean([MAPS[pair.id][layer, head].double().mean() for pair in PAIRS])
        assert counts.size[layer, head] == pytest.approx(size, abs=1e-6)
    assert counts.pairs == len(PAIRS)


def test_counts_do_not_depend_on_batches_order_or_parts():
    whole, cut = counted(PAIRS), counted(PAIRS[7:], PAIRS[:3], PAIRS[3:7])
    first, second = new_metric(), new_metric()
    first.update(linked(PAIRS[:11]))
    second.update(linked(PAIRS[11:]))
    first.merge_state(second)
    for other in (cut, first.compute()):
        assert all(np.array_equal(getattr(whole, name), getattr(other, name)) for name in whole._fields)


def test_the_held_out_choice_is_scored_on_the_other_half():
    counts = counted(PAIRS)
    ids = [pair.id for pair in PAIRS]
    total = LinkCounts()
    for first in halves(ids, SPLITS, 3):
        for choosing in (first, ~first):
            cells = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
            rates = [naive_total(layer, head, choosing).error_rate for layer, head in cells]
            layer, head = cells[rates.index(min(rates))]
            total += naive_total(layer, head, ~choosing)
    assert heldout_error_rate(counts).value == pytest.approx(total.error_rate)


def test_tables_have_the_best_layer_and_paired_differences():
    first, second = counted(PAIRS), counted(PAIRS)
    halved = second._replace(links=second.links * np.array([1, 0, 1]))
    baselines = {name: baseline(name) for name in BASELINES}
    results = tables({Series("AWI", "norm"): first, Series("AWI", "weight"): halved}, baselines)
    best = results.best.set_index("measure").loc["norm"]
    rates = first.error_rates()[0]
    assert best["error_rate"] == rates.min()
    assert rates[best["layer"] - 1].min() == rates.min()
    largest = np.unravel_index(first.size.argmax(), first.size.shape)
    assert best["largest_error_rate"] == rates[largest]
    worst = np.unravel_index(rates.argmax(), rates.shape)
    sized = first._replace(size=rates)  # the head with the most errors has the largest values
    of_heads = tables({Series("AWI", "norm", "single"): sized}, baselines).best.iloc[0]
    assert (of_heads["largest_layer"], of_heads["largest_head"]) == (worst[0] + 1, worst[1] + 1)
    assert of_heads["largest_head"] != of_heads["head"]
    expected = first.error_rates()[:, 1, 0] - halved.error_rates()[:, 1, 0]
    row = results.contrasts.query("layer == 2").iloc[0]
    assert row["difference"] == pytest.approx(expected[0])
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(expected[1 + SPLITS :], [0.025, 0.975])))
    for (_, row), rule in zip(results.baselines.iterrows(), BASELINES.values(), strict=True):
        total = sum((count_links(rule(pair), GOLD[pair.id]) for pair in PAIRS), LinkCounts())
        assert row["error_rate"] == pytest.approx(total.error_rate)
        assert row["low"] < row["error_rate"] < row["high"]


def baseline(name: str) -> AlignmentCounts:
    metric = BaselineAccuracy(name, replicates=REPLICATES, seed=3)
    metric.update(linked(PAIRS[:20]))
    metric.update(linked(PAIRS[20:]))
    return metric.compute()


def test_norms_correlate_with_error_rates_by_rank():
    counts = counted(PAIRS)
    row = tables({SERIES: counts}, {}).correlations.iloc[0]
    ranks = [np.argsort(np.argsort(each.ravel())).astype(float) for each in (counts.size, counts.error_rates()[0])]
    assert len(set(counts.error_rates()[0].ravel())) == LAYERS * HEADS  # no ties
    assert row["rho"] == pytest.approx(np.corrcoef(ranks[0], ranks[1])[0, 1])
    assert -1 <= row["low"] <= row["high"] <= 1


@pytest.mark.parametrize("heads", [1, 2])
def test_no_norms_correlate_over_fewer_than_five_points(heads):
    """Over two layers, ρ is always 1 or −1, in every replicate."""
    counts = counted(PAIRS)
    few = counts._replace(links=counts.links[:, :, :heads], rests=counts.rests[:, :heads], size=counts.size[:, :heads])
    row = tables({SERIES: few}, {}).correlations.iloc[0]
    assert row["n"] == LAYERS * heads < 5
    assert row[["rho", "low", "high"]].isna().all()


def test_without_gold_nothing_is_scored():
    results = tables({SERIES: counted(PAIRS)}, {}, has_gold=False)
    assert "error_rate" not in results.cells
    assert results.cells["on_special"].between(0, 1).all()
    assert results.answers.keys() == {"layers"}


def test_maps_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"expected links of \(1, 1\) layers and heads, found \(2, 3\)"):
        new_metric(n_layers=1, n_heads=1).update(linked(PAIRS))
