"""Word maps of every family against a naive loop over single sentences."""

from __future__ import annotations

import numpy as np
import pytest

from corpora_loaders import Sentence, load_treebank
from corpora_loaders.sample import SAMPLE_TREEBANK
from extractors import Encoder, ExtractionLog, extract
from tests import tiny
from tests.reference import naive

SENTENCES = [
    Sentence("one word", ("Yes",)),
    Sentence("split", ("unbelievable", "gardeners", "don't", "rest", ".")),
    Sentence("spaces and scripts", ("10 000", "日本語", "Straße", "!")),
    *load_treebank(SAMPLE_TREEBANK, limit=6),
]


@pytest.mark.parametrize("batch_cells", [1, 2000, 2**20])
@pytest.mark.parametrize("family", list(tiny.FAMILIES))
def test_word_maps_equal_the_naive_loop(family, batch_cells):
    encoder = tiny.encoder(family, max_position_embeddings=128) if family != "gpt2" else tiny.encoder(family)
    log = ExtractionLog()
    extracted: dict[str, np.ndarray] = {}
    for batch in extract(encoder, SENTENCES, batch_cells=batch_cells, log=log):
        extracted |= {sentence.id: array for sentence, array in batch.unpadded()}
    assert len(extracted) + len(log.skipped) == len(SENTENCES)
    assert len(extracted) >= 6
    for sentence in SENTENCES:
        if sentence.id in extracted:
            expected = naive.word_map(encoder.model, encoder.tokenizer, sentence.words)
            np.testing.assert_allclose(extracted[sentence.id], expected, atol=1e-5, err_msg=sentence.id)


def test_exact_word_maps_equal_the_naive_loop_in_float64():
    encoder = tiny.encoder()
    double = Encoder(tiny.model("bert").double(), tiny.fresh_tokenizer("wordpiece"))
    (batch,) = extract(encoder, SENTENCES[:3])
    for sentence, exact in zip(batch.sentences, batch.exact(range(3)), strict=True):
        expected = naive.word_map(double.model, double.tokenizer, sentence.words)
        np.testing.assert_allclose(exact, expected, atol=1e-12)
