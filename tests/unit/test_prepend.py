"""The token with which every input begins: added once, where the tokenizer does not add one, and a special position."""

from __future__ import annotations

import pytest

from attentionology import ModelOptions, analyze
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Encoder, ModelError, extract
from attentionology.extractors.model.loading import begin_with
from attentionology.extractors.tokens.pieces import Pieces
from attentionology.scripts.cli import main
from tests import tiny

SENTENCE = Sentence("a", ("an", "unbelievably", "old", "dog"))
START = "<|endoftext|>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny GPT-2 whose tokenizer has a token for the beginning of a text, and does not use it."""
    folder = tmp_path_factory.mktemp("gpt2")
    tiny.model("gpt2").save_pretrained(folder)
    tokenizer = tiny.fresh_tokenizer("bytes without specials")
    tokenizer.bos_token = START
    tokenizer.save_pretrained(folder)
    return folder


def read(folder, prepend) -> tuple[Encoder, Pieces]:
    encoder = Encoder.from_pretrained(folder, prepend=prepend)
    (pieces,) = encoder.align([SENTENCE])
    assert isinstance(pieces, Pieces)
    return encoder, pieces


def test_the_first_position_is_special_and_all_others_move(folder):
    _, plain = read(folder, "none")
    encoder, pieces = read(folder, "auto")
    assert plain.special == [False] * 4
    assert pieces.special == [True, *plain.special]
    assert pieces.tokens == [START, *plain.tokens]
    assert pieces.ids == [encoder.tokenizer.bos_token_id, *plain.ids]
    assert pieces.positions == [0, *(position + 1 for position in plain.positions)]
    assert pieces.labels(SENTENCE.words) == (START, *SENTENCE.words)


def test_maps_are_those_of_the_longer_input_and_words_have_their_rows(folder):
    encoder, pieces = read(folder, START)
    plain, _ = read(folder, "none")
    (batch,) = extract(encoder, [SENTENCE], level="token")
    by_hand = plain.forward([pieces]).attentions
    for layer, alpha in enumerate(by_hand):
        assert abs(batch.maps[0, layer] - alpha[0]).max() < 1e-6
    (by_word,) = extract(encoder, [SENTENCE])
    assert by_word.words[0].tolist() == [False, True, True, True, True]


def test_a_tokenizer_that_adds_tokens_itself_is_left_alone():
    tokenizer = tiny.fresh_tokenizer("wordpiece")
    tokenizer.bos_token = "[CLS]"
    assert begin_with(tokenizer, "auto") is None
    assert begin_with(tokenizer, "[CLS]") is None
    with pytest.raises(ModelError, match="adds special tokens by itself"):
        begin_with(tokenizer, "[MASK]")
    assert tokenizer("a").tokens()[0] == "[CLS]"
    assert begin_with(tiny.fresh_tokenizer("bytes without specials"), "auto") is None


def test_an_unknown_token_is_refused(folder, capsys):
    with pytest.raises(ModelError, match=r"--prepend <s>: the tokenizer has no such token"):
        Encoder.from_pretrained(folder, prepend="<s>")
    assert main(["align", "--prepend", "<s>", "--out", str(folder / "out")]) == 2
    assert "--prepend is for encoders and decoders" in capsys.readouterr().err


def test_a_run_records_what_was_prepended(folder):
    runs = {
        prepend: analyze(folder, analyses="surface", options=[ModelOptions(prepend=prepend)])
        for prepend in ("auto", "none")
    }
    assert {name: run.record["options"]["prepend"] for name, run in runs.items()} == {"auto": "auto", "none": "none"}
    sizes = [run.record["sentences"]["words"] for run in runs.values()]
    assert sizes[0] == sizes[1]
