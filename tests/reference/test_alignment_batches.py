"""Links that do not depend on what a sentence pair is read with, for models about which float32 cannot decide."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from attentionology.analyses.alignment.links import LinkMaker
from attentionology.analyses.alignment.series import REVERSE, Series, all_series
from attentionology.corpora_loaders.alignment import SentencePair
from attentionology.extractors.translation import (
    CrossMapMaker,
    PairBatch,
    PairPieces,
    Translator,
    read_pairs,
)
from tests import tiny_translation

WORDS = ("an", "unbelievably", "old", "garden", ".", "she", "sings", "museum", "trains")
SERIES = tuple(all_series(both=True))
Links = dict[tuple[str, Series, str], list[list[list[int]]]]


def made_up_pairs(number: int) -> list[SentencePair]:
    """Pairs of different lengths, whose source sentences repeat words."""
    generator = random.Random(0)
    sides = [tuple(generator.choices(WORDS[: generator.randint(1, 9)], k=generator.randint(1, 12))) for _ in range(60)]
    return [
        SentencePair(id=str(k), source=generator.choice(sides), words=generator.choice(sides)) for k in range(number)
    ]


PAIRS = made_up_pairs(16)


def uniform_model() -> Translator:
    """A model whose first layer attends to everything alike, and the others nearly so."""
    model = tiny_translation.model("marian", max_position_embeddings=256)
    with torch.no_grad():
        for number, layer in enumerate(model.model.decoder.layers):
            for parameter in layer.encoder_attn.q_proj.parameters():
                parameter *= number * 1e-5
    return Translator(model, tiny_translation.tokenizer("marian"))


def repeating_model() -> Translator:
    """A model in which the encoder gives the same vector for every occurrence of a word."""
    model = tiny_translation.model("t5")
    with torch.no_grad():
        for block in model.encoder.block:
            block.layer[0].SelfAttention.o.weight.zero_()
    return Translator(model, tiny_translation.tokenizer("t5"))


def links_of(
    model: Translator, pairs: list[SentencePair], batch_cells: int = 2**16, gather: int = 1
) -> tuple[Links, Counter[int]]:
    """The links of all pairs in both directions, and how many pairs the batches have."""
    links: Links = {}
    sizes: Counter[int] = Counter()
    for batch in read_pairs(model, pairs, batch_cells=batch_cells, gather=gather):
        sizes[len(batch)] += 1
        linked = LinkMaker(SERIES).of(batch)
        for index, pair in enumerate(linked.pairs):
            for series, of_batch in linked.links.items():
                n = len(pair.source) if series.direction == REVERSE else len(pair)
                links[series.direction, series.one_way, pair.id] = of_batch[index, ..., :n].tolist()
                assert bool((of_batch[index, ..., n:] == -1).all())
    return links, sizes


@pytest.mark.slow
@pytest.mark.parametrize("make_model", [uniform_model, repeating_model])
def test_links_do_not_depend_on_batches_order_or_threads(make_model):
    model = make_model()
    alone, sizes = links_of(model, PAIRS, batch_cells=1)
    assert sizes == {1: len(PAIRS)}
    generator = random.Random(1)
    n_threads = torch.get_num_threads()
    for cells, gather in ((2**16, 1), (2000, 256), (500, 7)):
        shuffled = generator.sample(PAIRS, len(PAIRS))
        torch.set_num_threads(generator.choice([1, 2]))
        try:
            together, sizes = links_of(model, shuffled, batch_cells=cells, gather=gather)
        finally:
            torch.set_num_threads(n_threads)
        assert min(sizes) >= min(gather, len(PAIRS)) or sum(size < gather for size in sizes.elements()) == 1
        assert together == alone


def test_the_first_of_equal_columns_is_linked():
    """Uniform weights rest on the first of the source words with the most pieces, which are summed."""
    model = uniform_model()
    links, _ = links_of(model, PAIRS)
    for pair, pieces in zip(PAIRS, model.align(PAIRS), strict=True):
        assert isinstance(pieces, PairPieces)
        sizes = Counter(pieces.source.positions)
        columns = [sizes[position] for position in range(len(pieces.source.special))]
        best = columns.index(max(columns))
        expected = -1 if pieces.source.special[best] else best - pieces.source.special.index(False)
        for setting in ("AWI", "AWO"):
            for heads in ("all", "single"):
                first_layer = links["forward", Series(setting, "weight", heads), pair.id][0]
                assert first_layer == [[expected] * len(pair)] * len(first_layer)


def test_the_first_of_equal_words_is_linked():
    links, _ = links_of(repeating_model(), PAIRS)
    repeated = 0
    for pair in PAIRS:
        for (name, _, id_), by_layer in links.items():
            if id_ == pair.id and name == "forward":
                linked = {word for of_heads in by_layer for row in of_heads for word in row if word >= 0}
                repeated += sum(pair.source.count(pair.source[word]) > 1 for word in linked)
                assert all(pair.source.index(pair.source[word]) == word for word in linked)
    assert repeated > 100


def exact_maps(
    batch: PairBatch, makers: Sequence[CrossMapMaker], indices: Sequence[int], depths: dict[int, int] | None = None
) -> dict[int, list[torch.Tensor]]:
    """The maps of some pairs in float64, without padding."""
    return {
        index: [of_group.exact([number])[0] for of_group in batches]
        for group, batches in batch.exact(makers, indices, depths)
        for number, index in enumerate(group)
    }


def test_maps_in_float64_do_not_depend_on_padding():
    model = tiny_translation.translator("marian", max_position_embeddings=256)
    makers = [CrossMapMaker("attn"), CrossMapMaker("norm", "AWO"), CrossMapMaker("weight", level="token")]
    [batch] = read_pairs(model, PAIRS, gather=len(PAIRS))
    indices = [0, 3, 7, 15]
    together = exact_maps(batch, makers, indices)
    assert sorted(together) == indices
    for index, maps in together.items():
        one = PairBatch(model, batch.sentences[index : index + 1], batch.pieces[index : index + 1])
        for first, second in zip(maps, exact_maps(one, makers, [0])[0], strict=True):
            assert first.dtype == torch.float64
            np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-14)


def read_together(monkeypatch, lengths: list[int], depths: dict[int, int]) -> list[list[int]]:
    """Which pairs of such lengths, in pieces, are read together in float64, where each needs some layers."""
    model = tiny_translation.translator("marian", max_position_embeddings=512)
    batch = PairBatch(model, tuple(PAIRS[: len(lengths)]), [range(length) for length in lengths])
    monkeypatch.setattr(Translator, "maps", lambda *_: [])
    return [group for group, _ in batch.exact([], range(len(lengths)), depths)]


def test_a_model_that_padding_disturbs_reads_pairs_one_by_one_in_float64(monkeypatch):
    whole = dict.fromkeys(range(4), 3)
    assert read_together(monkeypatch, [3, 9, 9, 5], whole) == [[1, 2, 3, 0]]
    assert read_together(monkeypatch, [300, 300], whole) == [[0], [1]]
    assert read_together(monkeypatch, [], whole) == []
    monkeypatch.setattr("attentionology.extractors.translation.translator.same_attention", lambda *_: False)
    assert read_together(monkeypatch, [3, 9, 9, 5], whole) == [[1], [2], [3], [0]]


def test_pairs_that_need_the_same_depth_are_read_together(monkeypatch):
    depths = {0: 1, 1: 2, 2: 1, 3: 2, 4: 3}
    assert read_together(monkeypatch, [100, 80, 100, 80, 20], depths) == [[4, 1, 3], [0, 2]]


@pytest.mark.slow
@pytest.mark.parametrize("family", tiny_translation.FAMILIES)
def test_the_first_layers_are_those_of_the_whole_model(family):
    """Later layers, which the decoder does not run, change nothing in what is needed."""
    model = tiny_translation.translator(family)
    makers = (CrossMapMaker("attn", "AWO"), CrossMapMaker("norm"), CrossMapMaker("weight", "AWO"))
    [batch] = read_pairs(model, tiny_translation.PAIRS, gather=len(tiny_translation.PAIRS))
    whole = exact_maps(batch, makers, range(len(batch)))
    depths = {0: 1, 1: 2}
    read = exact_maps(batch, makers, list(depths), depths)
    assert sorted(read) == sorted(depths)
    for index, depth in depths.items():
        for part, expected in zip(read[index], whole[index], strict=True):
            assert len(expected) == model.n_layers
            np.testing.assert_allclose(part[:depth], expected[:depth], rtol=1e-12, atol=1e-14)
    if family == "marian":
        assert all(len(maps) == 2 for maps in read[0])  # of 3 layers


@pytest.mark.slow
def test_a_batch_of_several_passes_makes_no_maps_at_once():
    model = tiny_translation.translator("marian", max_position_embeddings=256)
    [batch] = read_pairs(model, PAIRS, batch_cells=500, gather=len(PAIRS))
    assert sum(batch.sizes) == len(batch) == len(PAIRS)
    passes = list(batch.passes())
    assert [len(each) for each in passes] == list(batch.sizes)
    assert tuple(pair for each in passes for pair in each.sentences) == batch.sentences
    with pytest.raises(ValueError, match=rf"in {len(passes)} forward passes"):
        batch.maps([CrossMapMaker()])
    assert all(len(each.maps([CrossMapMaker()])[0]) == len(each) for each in passes)
