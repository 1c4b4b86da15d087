"""Cross-attention maps and links of all families against a naive float64 loop over single sentence pairs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from attentionology.analyses.alignment.scores import count_links
from attentionology.analyses.alignment.series import Series, average_heads
from attentionology.corpora_loaders.alignment import PairLinks
from attentionology.extractors.layers import ARCHITECTURES
from attentionology.extractors.translation import CrossMapMaker, Translator, extract_cross
from tests import tiny_translation
from tests.maps import linked_pairs
from tests.reference.naive_alignment import naive_links, naive_maps

KINDS = ("weight", "norm", "attn", "norm vector", "attn vector")
MAKERS = {
    (kind, setting): CrossMapMaker(kind.split()[0], setting, merge="vector" if kind.endswith("vector") else "norm")
    for kind in KINDS
    for setting in ("AWI", "AWO")
}


def batches_of(translator: Translator, batch_cells: int) -> list[Any]:
    return list(extract_cross(translator, tiny_translation.PAIRS, list(MAKERS.values()), batch_cells=batch_cells))


def maps_of(batches: list[Any]) -> dict[tuple[str, str, str], np.ndarray]:
    """The map of each kind, setting and pair."""
    return {
        (*name, pair.id): array
        for of_makers in batches
        for name, batch in zip(MAKERS, of_makers, strict=True)
        for pair, array in batch.unpadded()
    }


def gold_of(pair, seed: int) -> PairLinks:
    generator = random.Random(seed)
    links = [(i, j) for i in range(len(pair.source)) for j in range(len(pair)) if generator.random() < 0.4]
    return PairLinks.of(links[::2], links[1::2])


@pytest.mark.parametrize("family", tiny_translation.FAMILIES)
def test_maps_and_counts_are_those_of_a_naive_loop(family):
    translator = tiny_translation.translator(family)
    assert translator.batching == "padded"
    space = " " if tiny_translation.FAMILIES[family][0] == "bytes" else ""
    batches = batches_of(translator, 2**16)
    padded, alone = maps_of(batches), maps_of(batches_of(translator, 1))
    # The scores of T5 are not divided by the square root of the width, so the softmax amplifies their rounding.
    tolerance = 1e-4 if "t5" in family else 1e-5
    links = {}
    for of_makers in batches:
        for name, of_maker in zip(MAKERS, of_makers, strict=True):
            both = [(name, of_maker)]
            if name[0] == "weight":
                both.append((("mean weight", name[1]), average_heads(of_maker)))
            for label, maps in both:
                series = Series(label[1], label[0])
                for pair, words in zip(maps.sentences, linked_pairs({series: maps}).links[series], strict=True):
                    links[(*label, pair.id)] = words[..., : len(pair)].numpy()
    for number, pair in enumerate(tiny_translation.PAIRS):
        gold = gold_of(pair, number)
        naive = naive_maps(translator.model, translator.tokenizer, pair, space=space)
        for name, cells in naive.items():
            for actual in (padded, alone):
                np.testing.assert_allclose(actual[*name, pair.id], cells, rtol=1e-5, atol=tolerance * cells.max())
        naive |= {("mean weight", s): naive["weight", s].mean(1, keepdims=True) for s in ("AWI", "AWO")}
        for name, cells in naive.items():
            for layer, head in np.ndindex(cells.shape[:2]):
                row = links[*name, pair.id][layer, head]
                actual_links = {(int(word), target) for target, word in enumerate(row) if word >= 0}
                expected = naive_links(cells[layer, head])
                assert actual_links == expected
                assert count_links(actual_links, gold) == count_links(expected, gold)


def test_all_rows_of_cross_attention_are_tested():
    assert {family for family, row in ARCHITECTURES.items() if row.cross} == set(tiny_translation.FAMILIES)
