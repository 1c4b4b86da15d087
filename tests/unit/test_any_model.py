"""What may be given where a model or a corpus is expected, and which sentence a map is of."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import attentionology
from attentionology import CorpusError, ModelError, OptionError, Sentence, Treebank, extract, extract_states, store_maps
from attentionology.corpora_loaders.in_memory import files_or_corpus
from attentionology.extractors import as_encoder
from attentionology.extractors.maps import batching
from tests import tiny

TEXTS = ["the dog sleeps", "cats", ["the", "old", "dog"]]


def maps_of(model, **options):
    """The maps of the texts in their order."""
    found: dict[int, Any] = {}
    for batch in extract(model, TEXTS, **options):
        arrays = [array for _, array in batch.unpadded()]
        found |= zip(batch.indices, arrays, strict=True)
    return [found[index] for index in range(len(TEXTS))]


def test_all_that_stands_for_a_model_gives_the_same_maps(tmp_path):
    folder = tiny.save(tmp_path)
    encoder = tiny.encoder("bert")
    loaded = transformers.AutoModel.from_pretrained(folder)
    with_head = transformers.BertForMaskedLM(loaded.config)
    with_head.bert.load_state_dict(loaded.state_dict(), strict=False)
    expected = maps_of(encoder)
    for model in (folder, tmp_path, loaded, (loaded, encoder.tokenizer), (with_head, encoder.tokenizer)):
        for mine, theirs in zip(maps_of(model), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert as_encoder(encoder) is encoder
    assert as_encoder(loaded).name == tmp_path.name
    store = store_maps(loaded, TEXTS, tmp_path / "maps")
    assert len(store) == 3
    [[view]] = attentionology.show(folder, [TEXTS[2]], head="2-1").views
    np.testing.assert_allclose(view.values, expected[2][1, 0], atol=1e-6)


def test_a_decoder_begins_as_if_it_was_loaded_by_its_name():
    tokenizer = tiny.fresh_tokenizer(tiny.style("gpt2"))
    tokenizer.bos_token = tokenizer.pad_token
    before, words = tokenizer("dog").input_ids, tiny.pieces(tiny.encoder("gpt2"), Sentence("s", ("dog",))).ids
    encoder = as_encoder((tiny.model("gpt2"), tokenizer))
    assert encoder.prepended == tokenizer.bos_token
    assert tiny.pieces(encoder, Sentence("s", ("dog",))).ids == [tokenizer.bos_token_id, *words]
    assert tokenizer("dog").input_ids == before


def test_types_of_weights():
    model, tokenizer = tiny.model("bert"), tiny.fresh_tokenizer(tiny.style("bert"))
    half = copy.deepcopy(model).to(torch.bfloat16)
    encoder = as_encoder((half, tokenizer))
    assert (encoder.dtype, encoder.held_dtype) == (torch.float32, torch.bfloat16)
    with pytest.raises(ModelError, match="float16; load it with"):
        as_encoder((copy.deepcopy(model).half(), tokenizer))


@pytest.mark.parametrize("call", [extract, extract_states])
def test_what_is_no_model_is_refused_by_the_call(call):
    with pytest.raises(TypeError, match=r"expected a model.*not 3"):
        call(3, "Cats sleep.")
    nameless = tiny.model("bert")
    nameless.config._name_or_path = nameless.name_or_path = ""
    with pytest.raises(ModelError, match=r"BertModel: .*\(model, tokenizer\)"):
        call(nameless, "Cats sleep.")


def test_batches_say_where_their_sentences_stood(monkeypatch):
    monkeypatch.setattr(batching, "WINDOW", 3)
    texts = [["dog"] * n for n in (1, 4, 2, 9, 3, 1)]
    encoder = tiny.encoder("bert")
    found: dict[int, Any] = {}
    for batch in extract(encoder, texts, max_length=12, batch_cells=1, too_long="skip", log=batching.ExtractionLog()):
        found |= {index: sentence.words for index, sentence in zip(batch.indices, batch.sentences, strict=True)}
    assert found == {index: tuple(words) for index, words in enumerate(texts) if index not in (3,)}
    states = list(extract_states(encoder, texts[:3], batch_cells=10**6))
    assert [batch.indices for batch in states] == [(1, 2, 0)]


def test_strings_are_files_where_a_corpus_is_expected_and_all_else_is_a_treebank(tmp_path):
    assert files_or_corpus("sample") == ("sample",)
    assert files_or_corpus(["a.conllu", tmp_path]) == ("a.conllu", tmp_path)
    named = (str(tmp_path / "of a pair.conllu"), str(tmp_path / "b.conllu"))
    (tmp_path / "of a pair.conllu").write_text("")
    assert files_or_corpus(named) == named
    row = {"tokens": ["She", "sings"], "head": ["2", "0"]}
    sentence = Sentence("s", ("Cats", "sleep"))
    given = [sentence, [sentence, row], row, [("Who sleeps?", "A cat.")], ("Who sleeps?", "A cat."), [["Cats"], "a b"]]
    for each, lengths in zip(given, [[2], [2, 2], [2], [6], [6], [1, 2]], strict=True):
        corpus = files_or_corpus(each)
        assert isinstance(corpus, Treebank)
        assert list(map(len, corpus)) == lengths
    with pytest.raises(CorpusError, match="a text is given as"):
        files_or_corpus(["sample", "The cat sleeps all day."])
    with pytest.raises(TypeError, match="expected sentences"):
        files_or_corpus(3)


def test_show_says_that_a_head_is_missing():
    with pytest.raises(OptionError, match="at least one head"):
        attentionology.show(tiny.encoder("bert"), [["the", "dog"]])
