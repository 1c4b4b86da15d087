"""Links of Itermax, against a naive loop in float64 that follows the paper's description word by word."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from attentionology.analyses.alignment.decisions import SAME, in_float64, iterate_links, itermax
from attentionology.analyses.alignment.links import LinkMaker
from attentionology.analyses.alignment.series import ITERMAX, Series
from attentionology.corpora_loaders.alignment import SentencePair
from attentionology.extractors import Columns, MapBatch
from attentionology.extractors.translation import read_pairs
from tests.reference.naive_alignment import naive_itermax
from tests.reference.test_pair_encoders import encoder_of

Links = set[tuple[int, int]]


def as_links(table: torch.Tensor) -> Links:
    return {(int(source), int(target)) for target, source in table.nonzero()}


@pytest.mark.parametrize("levels", [3, 10**6])
def test_links_are_those_of_a_naive_loop_also_where_similarities_are_equal(levels):
    generator = np.random.default_rng(0)
    discounted = several = 0
    for _ in range(60):
        n, m = generator.integers(1, 8, 2)
        cosines = generator.integers(-levels, levels, (n, m), endpoint=True) / levels
        links, close = itermax(torch.from_numpy(cosines)[None, None, None], torch.ones(1, n, m, dtype=torch.bool), 0.0)
        expected = naive_itermax(cosines)
        assert as_links(links[0, 0, 0]) == expected
        discounted += len(expected) > min(n, m)
        several += bool(close.any())
    assert discounted > 5  # some words have several links
    assert several > 30 if levels == 3 else several < 5


def test_layers_and_padding_change_nothing():
    generator = np.random.default_rng(1)
    sizes = [(3, 5), (6, 2), (1, 1)]
    maps = torch.full((3, 2, 1, 6, 5), 0.99)
    cells = torch.zeros(3, 6, 5, dtype=torch.bool)
    for index, (n, m) in enumerate(sizes):
        maps[index, ..., :n, :m] = torch.from_numpy(generator.uniform(-0.9, 0.9, (2, 1, n, m)))
        cells[index, :n, :m] = True
    links, close = itermax(maps, cells, 1e-6)
    assert not close.any()
    for index, (n, m) in enumerate(sizes):
        for layer in range(2):
            assert as_links(links[index, layer, 0]) == naive_itermax(maps[index, layer, 0, :n, :m].numpy())


def test_what_float32_cannot_decide_is_decided_in_float64():
    # In float32, both source words are equally similar to the first target word, and the first of them is taken.
    exact = torch.tensor([[0.5, 0.5 + 1e-9], [0.49, 0.1]], dtype=torch.float64)
    pair = SentencePair(id="1", source=("a", "b"), words=("A", "B"))
    columns = Columns(torch.tensor([2]), torch.zeros(1, 2, dtype=torch.bool))
    batch = MapBatch(
        exact.float()[None, None, None],
        torch.tensor([2]),
        torch.zeros(1, 2, dtype=torch.bool),
        (pair,),
        recompute=lambda *_: [exact[None, None]],
        columns=columns,
    )
    links, close = iterate_links(batch, batch.noise)
    assert close.tolist() == [[True]]
    assert as_links(links[0, 0, 0]) == naive_itermax(exact.float().numpy())
    links, close = iterate_links(in_float64(batch, 0), SAME * batch.noise)
    assert close.tolist() == [[False]]
    assert as_links(links[0, 0, 0]) == naive_itermax(exact.numpy()) == {(1, 0), (0, 1)}


def test_links_of_an_encoder_do_not_depend_on_batches():
    words = ("an", "unbelievably", "old", "garden", ".", "she", "sings", "museum", "trains")
    generator = random.Random(0)
    pairs = [
        SentencePair(
            id=str(k),
            source=tuple(generator.choices(words, k=generator.randint(1, 9))),  # words that are there twice are equal
            words=tuple(generator.choices(words, k=generator.randint(1, 9))),
        )
        for k in range(12)
    ]
    series = Series("similarity", "cosine", direction=ITERMAX)
    linked = []
    for cells, gather in ((1, 1), (2**16, 1), (2000, 256)):
        links = {}
        for batch in read_pairs(encoder_of("bert", "similarity"), pairs, batch_cells=cells, gather=gather):
            of_batch = LinkMaker((series,)).of(batch)
            for index, pair in enumerate(of_batch.pairs):
                links[pair.id] = of_batch.tables(series, index).tolist()
        linked.append(links)
    assert linked[0] == linked[1] == linked[2]
