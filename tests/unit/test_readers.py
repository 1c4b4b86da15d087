"""Which models read which inputs, and the error of an analysis that needs another model."""

from __future__ import annotations

import pytest

from attentionology import Sentence
from attentionology.analyses.plans import Setting
from attentionology.analyses.shared.record import describe_model
from attentionology.corpora_loaders import Corpus
from attentionology.corpora_loaders.alignment import Bitext, SentencePair
from attentionology.engine.passes import Readers, batches_of
from attentionology.extractors.translation import Translator, load_sample_translator
from tests import tiny

SENTENCES = Corpus((Sentence("s1", ("the", "cats")), Sentence("s2", ("dogs",))))
PAIRS = Bitext((SentencePair(id="1", source=("bad", "dag"), words=("mä",)),))


@pytest.fixture(scope="module")
def translator() -> Translator:
    return load_sample_translator()


def test_each_model_reads_its_inputs(translator):
    [of_pairs] = batches_of(translator, PAIRS, hidden_states=False)
    assert of_pairs.sentences == PAIRS.pairs
    batches = list(batches_of(tiny.encoder("bert"), SENTENCES, hidden_states=False))
    assert {sentence.id for batch in batches for sentence in batch.sentences} == {"s1", "s2"}


def test_a_copy_is_made_once_and_then_replaced_by_the_next(translator):
    readers = Readers(translator, seed=3)
    assert readers.of(None) is translator
    first = readers.of(0)
    assert readers.of(0) is first
    assert first.weights_sha256() == translator.random_init(3).weights_sha256()
    assert readers.of(1).weights_sha256() == translator.random_init(4).weights_sha256()


def test_a_setting_has_any_model_and_its_encoder_is_an_encoder(translator):
    encoder = tiny.encoder("bert")
    assert Setting(encoder, SENTENCES).encoder is encoder
    setting = Setting(translator, PAIRS)
    assert setting.model is translator
    with pytest.raises(TypeError, match=r"needs an encoder, not Translator\('made-up pair'"):
        _ = setting.encoder


def test_the_record_says_which_attention_a_model_gives(translator):
    assert describe_model(translator)["shape"] == "2 layers × 4 heads of cross-attention"
    encoder = tiny.encoder("bert")
    assert describe_model(encoder)["shape"] == f"{encoder.n_layers} layers × {encoder.n_heads} heads"
