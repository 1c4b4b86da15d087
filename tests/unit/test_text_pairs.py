"""Pairs of texts: how they are told from words, and what the model reads of them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tokenizers import processors

from attentionology import CorpusError, Encoder, Sentence, extract
from attentionology.corpora_loaders import as_sentences
from attentionology.extractors.maps.store_folder import described_inputs
from attentionology.extractors.tokens.pieces import Unalignable
from tests import tiny

PAIRS_OF = {
    "bert": ("[CLS]", "[SEP]", "{0} $A {1} $B:1 {1}:1"),
    "roberta": ("<s>", "</s>", "{0} $A {1} {1} $B {1}"),
}
"""How the published models of a family join two texts: their first and last token, and their template."""


def encoder_of_pairs(family):
    encoder = tiny.encoder(family)
    tokenizer = copy.deepcopy(encoder.tokenizer)
    first, last, pair = PAIRS_OF[family]
    ids = [(token, tokenizer.convert_tokens_to_ids(token)) for token in (first, last)]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=pair.format(first, last), special_tokens=ids
    )
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    return Encoder(encoder.model, tokenizer)


PAIR = ("Who sleeps?", "The dog sleeps.")


def test_a_tuple_of_two_strings_of_which_one_has_a_space_is_a_pair():
    words = ("Who", "sleeps", "?", "The", "dog", "sleeps", ".")
    for texts in (PAIR, [PAIR], (pair for pair in [PAIR])):
        [sentence] = as_sentences(texts)
        assert (sentence.words, sentence.second, sentence.id) == (words, 3, "Who sleeps? | The dog sleeps.")
    assert [each.second for each in as_sentences(list(PAIR))] == [None, None]  # two texts
    assert [each.words for each in as_sentences([("Cats", "sleep"), [*PAIR]])] == [("Cats", "sleep"), PAIR]  # words
    assert [each.words for each in as_sentences(("Cats", "Dogs"))] == [("Cats",), ("Dogs",)]
    assert Sentence.pair("Why?", ["Be", "cause"]).words == ("Why", "?", "Be", "cause")


@pytest.mark.parametrize("second", [0, 2, -1])
def test_both_texts_have_words(second):
    with pytest.raises(CorpusError, match=f"cannot begin after word {second} of 2"):
        Sentence("s", ("Cats", "sleep"), second=second)
    with pytest.raises(CorpusError, match="expected a text with a word"):
        Sentence.pair("Cats sleep.", " ")


@pytest.mark.parametrize("family", PAIRS_OF)
def test_the_model_reads_what_its_tokenizer_makes_of_two_texts(family):
    encoder = encoder_of_pairs(family)
    pair = Sentence.pair(["who", "sleeps"], ["the", "dog", "sleeps"])
    single = Sentence("a", ("the", "dog", "sleeps"))
    joined = encoder.tokenizer("who sleeps", "the dog sleeps")
    [pieces, alone] = encoder.align([pair, single])
    assert pieces.ids == joined["input_ids"]
    assert (pieces.segment_ids or [0] * len(pieces)) == joined["token_type_ids"]
    assert alone.ids == encoder.align([single])[0].ids
    assert pieces.labels(pair.words) == (
        *pieces.tokens[:1],
        *("who", "sleeps"),
        *(token for token, word in zip(pieces.tokens[1:-1], pieces.word_of[1:-1], strict=True) if word < 0),
        *("the", "dog", "sleeps"),
        *pieces.tokens[-1:],
    )


def test_maps_of_a_pair_are_those_of_the_model_with_both_segments():
    encoder = encoder_of_pairs("bert")
    pair = Sentence.pair(["the", "dog"], ["cats", "sleep"])
    [batch] = extract(encoder, [pair], level="token")
    encoded = encoder.tokenizer("the dog", "cats sleep", return_tensors="pt")
    assert encoded["token_type_ids"].any()
    attentions = encoder.model(**encoded, output_attentions=True).attentions
    [(_, maps)] = batch.unpadded()
    np.testing.assert_allclose(maps, np.stack([each[0].detach().numpy() for each in attentions]), atol=1e-6)


def test_words_without_a_piece_stay_in_their_text():
    encoder = encoder_of_pairs("bert")
    blank = "\u200b"
    pair = Sentence("s", ("the", blank, "the", blank), second=2)
    [pieces] = encoder.align([pair])
    assert not isinstance(pieces, Unalignable)
    assert pieces.word_of == [-1, 0, 1, -1, 2, 3, -1]
    assert pieces.segment_ids == [0, 0, 0, 0, 1, 1, 1]
    assert pieces.substituted == 2
    [unread] = encoder.align([Sentence("s", (blank, "dog"), second=1)])
    assert str(unread) == "the tokenizer has no piece for the first text"


def test_maps_of_a_pair_are_not_stored_as_those_of_its_words():
    encoder = tiny.encoder("bert")
    words = ("the", "dog", "sleeps")
    names = {described_inputs(encoder, [Sentence("s", words, second=cut)])["words"] for cut in (None, 1, 2)}
    assert len(names) == 3
