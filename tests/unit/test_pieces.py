"""Alignment of words and word pieces, for the words that break naive alignments."""

from __future__ import annotations

import pytest
from tokenizers import pre_tokenizers

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ModelError
from attentionology.extractors.tokens.pieces import Pieces, Unalignable, align, prepare_tokenizer
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


def test_pieces_glue_back_to_their_words():
    words = ["the", "unbelievable", "gardener", "don't", "."]
    assert text_of_words(pieces_of(words)) == words


def test_special_tokens_are_positions_of_their_own():
    pieces = pieces_of(["the", "man"])
    assert pieces.tokens[0] == "[CLS]"
    assert pieces.tokens[-1] == "[SEP]"
    assert pieces.special == [True, False, False, True]


def test_literal_special_token_in_the_text_is_text():
    pieces = pieces_of(["the", "[SEP]", "man"])
    assert pieces.tokens.count("[SEP]") == 1
    assert pieces.special == [True, False, False, False, True]
    separator = pieces.tokens.index("[SEP]")
    assert separator == len(pieces) - 1


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


@pytest.mark.parametrize("nothing", ["\u200b", "\x07", "\u00ad"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_word_that_tokenises_to_nothing_keeps_its_place(nothing, place):
    words = ["the", "man"]
    words.insert(place, nothing)
    pieces = pieces_of(words)
    expected = ["the", "man"]
    expected.insert(place, "[UNK]")
    assert text_of_words(pieces) == expected
    assert pieces.special == [True, False, False, False, True]
    assert pieces.substituted == 1


def test_sentence_of_nothing_but_such_words():
    pieces = pieces_of(["\u200b", "\u200b"])
    assert pieces.tokens == ["[CLS]", "[UNK]", "[UNK]", "[SEP]"]
    assert pieces.positions == [0, 1, 2, 3]


def test_without_an_unknown_token_such_a_sentence_cannot_be_aligned():
    tokenizer = tiny.fresh_tokenizer("wordpiece")
    tokenizer.unk_token = None
    (result,) = align(tokenizer, [Sentence("s", ("the", "\u200b"))])
    assert isinstance(result, Unalignable)
    assert "word 2" in str(result)


def test_each_cjk_word_is_one_position_though_every_character_is_a_piece():
    pieces = pieces_of(["日本", "語"])
    assert pieces.positions == [0, 1, 1, 2, 3]


def test_over_long_word_is_one_unknown_piece():
    pieces = pieces_of(["the", "a" * 150, "man"])
    assert text_of_words(pieces) == ["the", "[UNK]", "man"]
    assert (pieces.substituted, pieces.unknown) == (0, 1)


def test_words_with_unknown_pieces_are_counted_once():
    pieces = pieces_of(["日本", "the", "\u200b"])
    assert pieces.tokens == ["[CLS]", "[UNK]", "[UNK]", "the", "[UNK]", "[SEP]"]
    assert (pieces.substituted, pieces.unknown) == (1, 2)


@pytest.mark.parametrize("style", STYLES)
def test_form_with_spaces_is_one_word(style):
    pieces = pieces_of(["the", "10 000", "man"], style)
    assert pieces.special.count(False) == 3


@pytest.mark.parametrize("style", ["bytes", "bytes without specials"])
def test_byte_level_tokenizers_read_every_word_after_a_space(style):
    together = pieces_of(["the", "man", "."], style)
    assert text_of_words(together) == ["Ġthe", "Ġman", "Ġ."]


@pytest.mark.parametrize("style", STYLES)
def test_a_prepared_tokenizer_reads_the_words_as_they_are_read_here(style):
    words = ["Marta", "opened", "the", "gate"]
    here = pieces_of(words, style)
    prepared = prepare_tokenizer(tiny.fresh_tokenizer(style))
    assert prepared(words, is_split_into_words=True).input_ids == here.ids
    (again,) = align(prepared, [Sentence("s", tuple(words))])
    assert again == here


def test_pieces_are_those_of_the_running_text_where_words_are_separated_by_spaces():
    words = ["Marta", "opened", "the", "gate", "and", "laughed"]
    for style in STYLES:
        tokenizer = tiny.fresh_tokenizer(style)
        space = " " if style.startswith("bytes") else ""
        assert pieces_of(words, style).ids == tokenizer(space + " ".join(words)).input_ids


def test_slow_tokenizer_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(ModelError, match="not a fast tokenizer"):
        prepare_tokenizer(Slow())
