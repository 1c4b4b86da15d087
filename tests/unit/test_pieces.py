"""Alignment of words and word pieces, for the words that break naive alignments."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tokenizers import pre_tokenizers

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ModelError
from attentionology.extractors.tokens.pieces import Pieces, Unalignable, align
from attentionology.extractors.tokens.tokenizer import prepare_tokenizer
from tests import tiny

STYLES = ["wordpiece", "bytes", "unigram", "bytes without specials"]


def pieces_of(words: list[str], style: str = "wordpiece") -> Pieces:
    (pieces,) = align(tiny.fresh_tokenizer(style), [Sentence("s", tuple(words))])
    assert isinstance(pieces, Pieces)
    return pieces


def text_of_words(pieces: Pieces) -> list[str]:
    """The pieces of each word glued together, special tokens left out."""
    glued = [""] * len(pieces.special)
    for token, position in zip(pieces.tokens, pieces.positions, strict=True):
        glued[position] += token.removeprefix("##")
    return [text for text, special in zip(glued, pieces.special, strict=True) if not special]


def test_pieces_glue_back_to_their_words_between_special_tokens():
    words = ["the", "unbelievable", "gardener", "don't", "."]
    pieces = pieces_of(words)
    assert text_of_words(pieces) == words
    assert (pieces.tokens[0], pieces.tokens[-1]) == ("[CLS]", "[SEP]")
    assert pieces.special == [True, *[False] * 5, True]


def test_literal_special_token_in_the_text_is_text():
    pieces = pieces_of(["the", "[SEP]", "man"])
    assert [i for i, token in enumerate(pieces.tokens) if token == "[SEP]"] == [len(pieces) - 1]
    assert pieces.special == [True, False, False, False, True]


@pytest.mark.parametrize("literal", ["</s>", "<pad>", "<mask>"])
def test_special_token_that_a_unigram_tokenizer_insists_on_becomes_unknown(literal):
    pieces = pieces_of(["the", literal, "man"], "unigram")
    assert pieces.tokens[0] == "<s>"
    assert not {"<s>", "</s>", "<pad>", "<mask>"} & set(pieces.tokens[1:-1])
    assert pieces.special == [True, False, False, False, True]
    assert pieces.unknown == 1


def test_words_after_a_splitting_step_get_one_space_not_one_per_part():
    tokenizer = tiny.fresh_tokenizer("bytes")
    digits = pre_tokenizers.Digits(individual_digits=True)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level])
    (pieces,) = align(tokenizer, [Sentence("s", ("the", "12", "man"))])
    assert isinstance(pieces, Pieces)
    assert pieces.ids == tokenizer(" the 12 man").input_ids
    assert text_of_words(pieces) == ["Ġthe", "Ġ12", "Ġman"]


@pytest.mark.parametrize(
    ("words", "read", "counts"),
    [
        # what tokenizes to nothing keeps its place
        (["\u200b", "the", "man"], ["[UNK]", "the", "man"], (1, 1)),
        (["the", "\x07", "man"], ["the", "[UNK]", "man"], (1, 1)),
        (["the", "man", "\u00ad"], ["the", "man", "[UNK]"], (1, 1)),
        (["\u200b", "\u200b"], ["[UNK]", "[UNK]"], (2, 2)),
        # every character is a piece, and the word is counted once
        (["日本", "the", "\u200b"], ["[UNK][UNK]", "the", "[UNK]"], (1, 2)),
        (["the", "a" * 150, "man"], ["the", "[UNK]", "man"], (0, 1)),  # a long word is one piece
    ],
)
def test_words_without_known_pieces_keep_their_places_and_are_counted(words, read, counts):
    pieces = pieces_of(words)
    assert text_of_words(pieces) == read
    assert pieces.special == [True, *[False] * len(words), True]
    assert (pieces.substituted, pieces.unknown) == counts


def test_without_an_unknown_token_such_a_sentence_cannot_be_aligned():
    tokenizer = tiny.fresh_tokenizer("wordpiece")
    tokenizer.unk_token = None
    (result,) = align(tokenizer, [Sentence("s", ("the", "\u200b"))])
    assert isinstance(result, Unalignable)
    assert "word 2" in str(result)


@pytest.mark.parametrize("style", STYLES)
def test_form_with_spaces_is_one_word(style):
    assert pieces_of(["the", "10 000", "man"], style).special.count(False) == 3


@pytest.mark.parametrize("style", STYLES)
def test_pieces_are_those_of_running_text_and_of_a_prepared_tokenizer(style):
    words = ["Marta", "opened", "the", "gate", "and", "laughed"]
    here = pieces_of(words, style)
    space = " " if style.startswith("bytes") else ""
    assert here.ids == tiny.fresh_tokenizer(style)(space + " ".join(words)).input_ids
    if space:  # every word is read after one
        assert [word[0] for word in text_of_words(here)] == ["Ġ"] * len(words)
    prepared = prepare_tokenizer(tiny.fresh_tokenizer(style))
    assert prepared(words, is_split_into_words=True).input_ids == here.ids
    assert align(prepared, [Sentence("s", tuple(words))]) == [here]


def test_slow_tokenizer_is_refused():
    with pytest.raises(ModelError, match="not a fast tokenizer"):
        prepare_tokenizer(SimpleNamespace(is_fast=False))
