"""Batches of maps: what is in them, what is left out, and what makes extraction refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from jaxtyping import TypeCheckError

from attentionology.analyses.shared.record import describe_reading
from attentionology.corpora_loaders import Corpus, Sentence
from attentionology.extractors import ExtractionError, ExtractionLog, ModelError, extract
from attentionology.extractors.maps import batching as module
from tests import tiny


def sentence(n: int, name: str = "") -> Sentence:
    return Sentence(name or f"of {n}", ("the",) * n, file="corpus.conllu", line=n)


def test_every_sentence_comes_once_longest_first_within_the_cell_budget():
    lengths = [3, 30, 7, 12, 7, 1, 25]
    batches = list(extract(tiny.encoder(), [sentence(n, str(i)) for i, n in enumerate(lengths)], batch_cells=1100))
    assert sorted(s.id for b in batches for s in b.sentences) == sorted(str(i) for i in range(len(lengths)))
    sizes = [n for b in batches for n in b.lengths.tolist()]
    assert sizes == sorted(sizes, reverse=True)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * batch.maps.shape[-1] ** 2 <= 1100
    assert len(batches) < len(lengths)


def test_sentences_are_read_one_window_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "WINDOW", 4)
    drawn = []

    def source():
        for i in range(100):
            drawn.append(i)
            yield sentence(3, str(i))

    next(extract(tiny.encoder(), source()))
    assert len(drawn) == 4


def test_maps_are_zero_outside_the_sentence_and_marked_inside():
    (batch,) = extract(tiny.encoder(), [sentence(2), sentence(5)])
    assert batch.lengths.tolist() == [7, 4]
    assert batch.special.tolist() == [
        [True, *[False] * 5, True],
        [True, False, False, True, False, False, False],
    ]
    assert batch.maps[1, :, :, 4:, :].abs().max() == 0
    assert batch.maps[1, :, :, :, 4:].abs().max() == 0
    assert batch.labels[1] == ("[CLS]", "the", "the", "[SEP]")
    shapes = {s.id: array.shape for s, array in batch.unpadded()}
    assert shapes == {"of 5": (3, 4, 7, 7), "of 2": (3, 4, 4, 4)}


def test_token_level_keeps_pieces():
    text = Sentence("s", ("unbelievable", "man"))
    (batch,) = extract(tiny.encoder(), [text], level="token")
    n = batch.maps.shape[-1]
    assert len(batch.labels[0]) == n > 4
    assert batch.special[0].tolist() == [True, *[False] * (n - 2), True]
    torch.testing.assert_close(batch.maps.sum(-1), torch.ones(1, 3, 4, n))


def test_too_long_sentences_are_logged_or_raise():
    log = ExtractionLog()
    batches = list(extract(tiny.encoder(), [sentence(62), sentence(63), sentence(3)], log=log))
    assert [s.id for b in batches for s in b.sentences] == ["of 62", "of 3"]
    assert log.read == 2
    assert [(one.sentence.id, one.reason) for one in log.skipped] == [("of 63", "too long: 65 pieces, the limit is 64")]
    with pytest.raises(ExtractionError, match=r"corpus.conllu:63: sentence 'of 63': too long"):
        list(extract(tiny.encoder(), [sentence(63)], too_long="error", log=log))


def test_the_record_counts_words_of_the_sentences_that_were_read():
    first = Sentence("s1", ("the", "man", "犬"), heads=(2, 0, None), relations=("det", "root", ""))
    long = Sentence("s2", ("the",) * 63, heads=(None,) * 63, relations=("",) * 63, file="corpus.conllu", line=7)
    corpus, log = Corpus((first, long, replace(first, id="s3", words=("犬", "\u200b", "man")))), ExtractionLog()
    list(extract(tiny.encoder(), corpus, log=log))
    assert describe_reading(corpus, log) == {
        "read": 2,
        "words": 6,
        "words_without_head": 2,
        "unknown_words": 3,
        "substituted_words": 1,
        "skipped": [
            {"id": "s2", "file": "corpus.conllu", "line": 7, "reason": "too long: 65 pieces, the limit is 64"},
        ],
    }


def test_without_a_log_a_warning_tells_what_was_skipped():
    with pytest.warns(UserWarning, match=r"sentences without a map: 1 \(of 63: too long"):
        batches = list(extract(tiny.encoder(), [sentence(63), sentence(3)]))
    assert [s.id for b in batches for s in b.sentences] == ["of 3"]


def test_max_length_counts_special_tokens_and_substituted_words_are_counted():
    log = ExtractionLog()
    strange = Sentence("s", ("the", "\u200b", "\u200b"))
    list(extract(tiny.encoder(), [sentence(8), sentence(9), strange], max_length=10, log=log))
    assert (log.read, [one.sentence.id for one in log.skipped]) == (2, ["of 9"])
    assert log.substituted_words == 2


@pytest.mark.parametrize(
    "options",
    [{"kind": "nope"}, {"level": "letter"}, {"too_long": "cut"}, {"batch_cells": 0}, {"max_length": 0}],
)
def test_impossible_options_are_refused_at_once(options):
    # Literal options are caught by the type checker of the tests before the function's own message.
    with pytest.raises((ValueError, TypeCheckError)):
        extract(tiny.encoder(), [], **options)


def test_attention_on_padding_is_refused():
    with pytest.raises(ModelError, match="falls on padding"):
        list(extract(tiny.unmasked_bert(), [sentence(3), sentence(9)]))


@pytest.mark.parametrize("spoil", [lambda a: a * 1.001, lambda a: torch.full_like(a, torch.nan)])
def test_rows_that_do_not_sum_to_one_are_refused(spoil):
    encoder = tiny.spoil_attention(lambda attentions: (*attentions[:2], spoil(attentions[2])))
    with pytest.raises(ModelError, match="cannot be trusted"):
        list(extract(encoder, [sentence(3)]))
