"""How documents are cut for the model."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentionology.analyses.coreference.choices import account
from attentionology.corpora_loaders.coreference import Documents, load_documents
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import LONG_WINDOW, ExtractionLog, extract, make_windows
from tests import tiny
from tests.documents import corpus, document


@pytest.fixture(scope="module")
def encoder():
    return bert()


@cache
def bert():
    return tiny.encoder("bert")


def pieces_of(encoder, words):
    [aligned] = encoder.align([document("x", [" ".join(words)], []).sentences[0]])
    return len(aligned)


def test_the_beginning_of_each_document_in_whole_words(encoder):
    docs = load_documents(SAMPLE_TREEBANK)
    windows = make_windows(encoder, docs, length=50, stride=0)
    assert [w.source.id for w in windows.sentences] == [d.id for d in docs.documents]
    for window in windows.sentences:
        words = window.source.words
        assert window.words == words[: len(window)]
        assert pieces_of(encoder, words[: len(window)]) <= 50 < pieces_of(encoder, words[: len(window) + 1])
    assert windows.cut == 10
    assert windows.words_left_out == sum(len(d.words) for d in docs.documents) - sum(map(len, windows))
    assert windows.remarks()[0].startswith("Read of each document: the first 50 pieces. 10 documents are longer;")


@given(st.integers(4, 62), st.integers(1, 60))
@settings(max_examples=20, deadline=None)
def test_windows_cover_every_word_and_every_mention_is_new_once(length, stride):
    encoder, docs = bert(), load_documents(SAMPLE_TREEBANK, limit=1)
    if stride > length - 2:
        with pytest.raises(ValueError, match=f"windows of {length - 2} pieces must start at most as many"):
            make_windows(encoder, docs, length=length, stride=stride)
        return
    windows = make_windows(encoder, docs, length=length, stride=stride).sentences
    for one in docs.documents:
        own = [window for window in windows if window.source is one]
        assert own[0].start == own[0].seen == 0
        assert own[-1].stop == len(one.words)
        for before, after in pairwise(own):
            assert before.start < after.start <= before.stop == after.seen < after.stop
        for mention in one.mentions:
            inside = [w for w in own if w.start <= mention.start and mention.stop <= w.stop]
            new = [w for w in inside if mention.stop > w.seen]
            assert new == inside[:1]


def test_what_is_read_by_default(encoder):
    ordinary = document("a", ["a b c d e f g h i j " * 20], [])
    asked = Documents(
        ordinary.sentences, documents=(type(ordinary)(**{**vars_of(ordinary), "id": "b", "questions": ()}),)
    )
    big = tiny.encoder("bert", max_position_embeddings=1024)
    assert max(pieces_of(big, w.words) for w in make_windows(big, corpus(ordinary), stride=0)) == 128
    assert max(pieces_of(big, w.words) for w in make_windows(big, corpus(ordinary), stride=100)) == 202
    assert [len(w) for w in make_windows(big, asked, stride=0)] == [200]
    long = make_windows(big, corpus(document("a", ["a b c d e f g h i j " * 90], [])))
    assert [(w.start, w.stop) for w in long.sentences] == [(0, 510), (255, 765), (510, 900)]  # each word is one piece
    assert long.remarks()[0] == "Read of each document: windows of up to 512 pieces that start at most 255 apart."
    assert LONG_WINDOW == 512
    assert (
        max(pieces_of(encoder, w.words) for w in make_windows(encoder, corpus(ordinary), stride=0)) == 64
    )  # all it takes


def vars_of(one):
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 65}, "windows must have 3 pieces or more, at most 64, not 65"),
        ({"length": 2}, "windows must have 3 pieces or more, at most 64, not 2"),
        ({"stride": -1}, "must start at most as many pieces apart, not -1"),
        ({"stride": 63}, "windows of 62 pieces must start at most as many pieces apart, not 63"),
    ],
)
def test_impossible_windows_are_refused(encoder, options, message):
    with pytest.raises(ValueError, match=message):
        make_windows(encoder, load_documents(SAMPLE_TREEBANK, limit=1), **options)


def test_a_word_longer_than_a_window_is_left_out_and_told(encoder):
    long = document("a", ["a b qqqqqqqqqqqqqqqqqqqqqq c d"], [(0, 1, "x"), (4, 5, "x")])
    windows = make_windows(encoder, corpus(long), length=8, stride=6)
    log = ExtractionLog()
    list(extract(encoder, windows, log=log, max_length=8))
    assert [one.reason.split(":")[0] for one in log.skipped] == ["too long"]
    assert account(corpus(long), windows.sentences)["no antecedent"] == 1


def test_models_without_special_tokens():
    encoder = tiny.encoder("gpt2")
    docs = load_documents(SAMPLE_TREEBANK, limit=1)
    windows = make_windows(encoder, docs, length=20, stride=0)
    [batch] = extract(encoder, windows)
    assert batch.maps.shape[-1] == len(windows[0])
