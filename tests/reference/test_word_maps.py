"""Word maps of every family against a naive loop over single sentences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, ExtractionLog, extract
from attentionology.extractors.tokens.pieces import Pieces
from attentionology.extractors.tokens.word_merging import WordMerger
from tests import tiny
from tests.reference import naive

SENTENCES = [
    Sentence("one word", ("Yes",)),
    Sentence("split", ("unbelievable", "gardeners", "don't", "rest", ".")),
    Sentence("spaces and scripts", ("10 000", "日本語", "Straße", "!")),
    *load_treebank(SAMPLE_TREEBANK, limit=6),
]


@pytest.mark.parametrize("family", list(tiny.FAMILIES))
def test_word_maps_equal_the_naive_loop(family):
    encoder = tiny.encoder(family, max_position_embeddings=128) if family != "gpt2" else tiny.encoder(family)
    expected: dict[str, np.ndarray] = {}
    for batch_cells in (1, 2000, 2**20):
        log = ExtractionLog()
        extracted: dict[str, np.ndarray] = {}
        for batch in extract(encoder, SENTENCES, batch_cells=batch_cells, log=log):
            extracted |= {sentence.id: array for sentence, array in batch.unpadded()}
        assert len(extracted) + len(log.skipped) == len(SENTENCES)
        assert len(extracted) >= 6
        for sentence in SENTENCES:
            if sentence.id in extracted:
                if sentence.id not in expected:
                    expected[sentence.id] = naive.word_map(encoder.model, encoder.tokenizer, sentence.words)
                np.testing.assert_allclose(extracted[sentence.id], expected[sentence.id], atol=1e-5)


def test_exact_word_maps_equal_the_naive_loop_in_float64():
    encoder = tiny.encoder()
    double = Encoder(tiny.model("bert").double(), tiny.fresh_tokenizer("wordpiece"))
    (batch,) = extract(encoder, SENTENCES[:3])
    for sentence, exact in zip(batch.sentences, batch.exact(range(3)), strict=True):
        expected = naive.word_map(double.model, double.tokenizer, sentence.words)
        np.testing.assert_allclose(exact, expected, atol=1e-12)


@pytest.mark.parametrize("n", [12, 47, 48, 49, 90])
def test_merging_of_short_and_long_inputs_is_the_sum_over_to_and_the_mean_over_from(n):
    """Inputs above and below the length from which pieces are gathered instead of multiplied, padded and not."""
    rng = np.random.default_rng(n)
    batch = []
    for length in (n, n - 5):
        positions = np.minimum(np.cumsum(rng.integers(0, 2, size=length)), length).tolist()
        first = positions[0]
        positions = [p - first for p in positions]
        special = [False] * (positions[-1] + 1)
        batch.append(Pieces([0] * length, ["x"] * length, positions, special, 0, 0))
    merger = WordMerger(batch, n, dtype=torch.float64, device=torch.device("cpu"))
    maps = torch.from_numpy(rng.random((2, 3, n, n)))
    out = torch.full((2, 3, merger.k, merger.k), 7.0, dtype=torch.float64)
    merger(maps, out)
    for row, pieces in enumerate(batch):
        expected = np.zeros((3, merger.k, merger.k))
        sizes = np.bincount(pieces.positions)
        for i, a in enumerate(pieces.positions):
            for j, b in enumerate(pieces.positions):
                expected[:, a, b] += maps[row, :, i, j].numpy() / sizes[a]
        np.testing.assert_allclose(out[row].numpy(), expected, rtol=1e-12)
