"""Links of both directions put together, against a naive loop and a worked example; and the reverse direction."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from attentionology.analyses.alignment.accuracy import AlignmentAccuracy
from attentionology.analyses.alignment.decisions import symmetrize
from attentionology.analyses.alignment.links import links_of
from attentionology.analyses.alignment.scores import LinkCounts, count_links
from attentionology.analyses.alignment.series import SYMMETRIZATIONS, Series
from attentionology.corpora_loaders.alignment import PairLinks, SentencePair
from attentionology.extractors import Columns, MapBatch
from attentionology.extractors.translation import CrossMapMaker, extract_cross
from tests import tiny_translation
from tests.maps import linked_pairs
from tests.reference.naive_alignment import naive_links, naive_maps

Links = set[tuple[int, int]]


def naive_symmetrized(forward: Links, reverse: Links, size: tuple[int, int], method: str) -> Links:
    """The pseudocode of Koehn et al. (2005), with one set of links and no other state."""
    if method == "intersection":
        return forward & reverse
    if method == "union":
        return forward | reverse
    links = forward & reverse

    def is_free(source: int, target: int) -> bool:
        has_source = any(link[0] == source for link in links)
        has_target = any(link[1] == target for link in links)
        return not has_source or not has_target

    added = True
    while added:
        added = False
        for i in range(size[0]):
            for j in range(size[1]):
                if (i, j) in links:
                    for k, m in [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]:
                        point = (i + k, j + m)
                        if point not in links and point in forward | reverse and is_free(*point):
                            links = links | {point}
                            added = True
    if method == "grow-diag-final":
        for direction in (forward, reverse):
            for point in sorted(direction):
                if point not in links and is_free(*point):
                    links = links | {point}
    return links


def table(links: Links, size: tuple[int, int]) -> np.ndarray:
    result = np.zeros(size, dtype=bool)
    for link in links:
        result[link] = True
    return result


def as_links(table: np.ndarray) -> Links:
    return {(int(i), int(j)) for i, j in np.argwhere(table)}


@pytest.mark.parametrize("method", SYMMETRIZATIONS)
def test_symmetrization_is_that_of_the_pseudocode(method):
    generator = random.Random(1)
    grown = 0
    for _ in range(150):
        size = (generator.randint(1, 7), generator.randint(1, 7))
        forward = {(generator.randrange(size[0]), j) for j in range(size[1]) if generator.random() < 0.8}
        reverse = {(i, generator.randrange(size[1])) for i in range(size[0])}
        expected = naive_symmetrized(forward, reverse, size, method)
        assert as_links(symmetrize(table(forward, size), table(reverse, size), method)) == expected
        grown += len(expected - (forward & reverse))
    assert bool(grown) == (method != "intersection")


def test_a_worked_example():
    # forward: each target word has a source word; reverse: each source word has a target word
    forward = table({(0, 0), (1, 1), (1, 2), (3, 3)}, (5, 4))
    reverse = table({(0, 0), (1, 1), (2, 2), (3, 0), (4, 3)}, (5, 4))
    both = {(0, 0), (1, 1)}
    assert as_links(symmetrize(forward, reverse, "intersection")) == both
    grown = both | {(1, 2), (2, 2)}  # target word 2 is free, then source word 2; (3, 3) is beside (2, 2)
    assert as_links(symmetrize(forward, reverse, "grow-diag")) == grown | {(3, 3), (4, 3)}
    lone = table({(0, 0)}, (4, 4))
    far = table({(0, 0), (3, 3)}, (4, 4))
    assert as_links(symmetrize(lone, far, "grow-diag")) == {(0, 0)}
    assert as_links(symmetrize(lone, far, "grow-diag-final")) == {(0, 0), (3, 3)}
    with pytest.raises(ValueError, match="unknown symmetrization 'median'"):
        symmetrize(forward, reverse, "median")


def naive_reverse(cells: np.ndarray) -> Links:
    """The links of one map (target words, source words and special tokens), one for each source word."""
    links = set()
    for source in range(1, cells.shape[1] - 1):
        best = 0
        for target in range(len(cells)):
            if cells[target, source] > cells[best, source]:
                best = target
        links.add((source - 1, best))
    return links


@pytest.mark.parametrize("family", ["bart", "t5"])
def test_both_directions_of_a_model_are_those_of_a_naive_loop(family):
    translator = tiny_translation.translator(family)
    space = " " if tiny_translation.FAMILIES[family][0] == "bytes" else ""
    gold = PairLinks.of([(0, 0)], [(0, 1), (1, 0)])
    pairs = [replace(pair, gold=gold if len(pair.source) > 1 else PairLinks()) for pair in tiny_translation.PAIRS]
    series = Series("AWO", "norm")
    [(maps,)] = extract_cross(translator, pairs, [CrossMapMaker("attn", "AWO")])
    batch = linked_pairs({series: maps}, both=True)
    naive = {
        pair.id: naive_maps(translator.model, translator.tokenizer, pair, space=space)["attn", "AWO"] for pair in pairs
    }
    for direction in ("reverse", *SYMMETRIZATIONS):
        chosen = replace(series, direction=direction)
        n_layers = translator.n_layers
        metric = AlignmentAccuracy("AWO", "norm", direction=direction, n_layers=n_layers, n_heads=1, replicates=0)
        metric.update(batch)
        counts = metric.compute()
        for layer in range(n_layers):
            total = LinkCounts()
            for pair, links in zip(batch.pairs, links_of(batch, chosen, layer), strict=True):
                cells = naive[pair.id][layer, 0]
                size = (len(pair.source), len(pair))
                forward, reverse = naive_links(cells), naive_reverse(cells)
                expected = naive_symmetrized(forward, reverse, size, direction) if direction != "reverse" else reverse
                assert set(links) == expected
                total += count_links(expected, pair.gold or PairLinks())
            assert counts.links[0, layer, 0].tolist() == [total.links, total.hits_sure, total.hits_possible]
            assert counts.sure[0] == total.sure


def test_close_columns_are_decided_in_float64():
    maps = torch.tensor([[0.5, 0.1], [0.5, 0.2]]).view(1, 1, 1, 2, 2)
    exact = maps.double()
    exact[..., 1, 0] += 1e-12
    pair = SentencePair(id="1", source=("a", "b"), words=("x", "y"))
    none = torch.zeros(1, 2, dtype=torch.bool)
    columns = Columns(torch.tensor([2]), none)
    batch = MapBatch(maps, torch.tensor([2]), none, (pair,), recompute=lambda *_: [exact[0]], columns=columns)
    assert maps[0, 0, 0, :, 0].argmax() == 0
    series = Series("AWI", "norm")
    links = linked_pairs({series: batch}, both=True).links
    assert links[replace(series, direction="reverse")].tolist() == [[[[1, 1]]]]
