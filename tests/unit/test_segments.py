"""Segments of plain text and windows of documents, as models read them, and how documents are cut."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.processors import TemplateProcessing

from attentionology.analyses.coreference.decisions import account
from attentionology.corpora_loaders import CorpusError, Pair, load_text, pair_paragraphs
from attentionology.corpora_loaders.documents import Documents, load_documents
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import (
    LONG_WINDOW,
    ExtractionLog,
    ModelError,
    Segment,
    extract,
    make_segments,
    make_windows,
)
from tests import tiny
from tests.documents import corpus, document

TEXT = """the man saw the dog in the garden and the dog saw the man
a lighthouse stands on the rock
the end

one night train, one museum
it was a long letter that she wrote to the council about the garden and the lighthouse on the rock near the sea
x
"""


@pytest.fixture
def text_of(write):
    return lambda content: load_text(write(content, "text.txt"))


@pytest.fixture
def text(text_of):
    return text_of(TEXT)


def own_pieces(segment: Segment) -> list[str]:
    return [token for token, special in zip(segment.pieces.tokens, segment.pieces.special, strict=True) if not special]


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "gpt2"])
def test_segments_hold_the_whole_text(family, text):
    encoder = tiny.encoder(family)
    segments = make_segments(encoder, text, max_length=16)
    read = [token for segment in segments.sentences for token in own_pieces(segment)]
    whole = [encoder.tokenizer.tokenize(p.text, add_special_tokens=False) for p in text]
    assert segments.left_over in (0, 1, 2)
    assert len(read) + segments.left_over == segments.text_pieces == sum(map(len, whole))
    if family == "bert":  # the others have the space inside the piece, and no paragraph end to see here
        assert read[:20] == [token for paragraph in whole for token in paragraph][:20]
    assert all(len(s.pieces) <= 16 for s in segments.sentences)
    assert all(len(s.words) == len(own_pieces(s)) for s in segments.sentences)
    assert segments.made == len(segments)
    assert len({s.id for s in segments.sentences}) == len(segments)


def test_remarks_are_about_all_segments_also_if_some_are_sampled(text_of):
    text = text_of("the and the was the and the\n\nthe man\nthe dog saw\n")
    every, some = (make_segments(tiny.encoder(), text, count, max_length=7) for count in (None, 2))
    assert [len(every), len(some)] == [4, 2]
    halves = "No paragraph ends within 3 of the 4, so they were divided in the middle."
    left_over = "Pieces at the end of documents that were too few for a segment: 1."
    given = "16 pieces of 2 documents give 4 segments"
    assert every.remarks() == [f"{given}.", halves, left_over]
    assert some.remarks() == [f"{given}, of which 2 were sampled at random.", halves, left_over]
    counts = [some.counts()[name] for name in ("sentences", "segments_made", "segments_halved", "text_documents")]
    assert counts == [2, 4, 3, 2]
    assert (some.counts()["text_pieces"], some.counts()["text_pieces_left_over"]) == (16, 1)


def test_the_cut_is_a_paragraph_end_where_there_is_one(text_of):
    (segment,) = make_segments(tiny.encoder(), text_of("the and\nthe was\n"), max_length=32).sentences
    assert segment.pieces.tokens == ["[CLS]", "the", "and", "[SEP]", "the", "was", "[SEP]"]
    assert segment.words == ("the", "and", "the", "was")
    assert segment.pieces.special == [True, False, False, True, False, False, True]
    assert segment.pieces.positions == list(range(7))
    assert segment.pieces.segment_ids is None
    assert (segment.line, segment.document) == (1, "text.txt:1")


def test_segment_ids_reach_the_model(text_of):
    """Attention is that of Hugging Face's own reading of the pair, with zeros and with the ids of a pair."""
    encoder = tiny.encoder("bert")
    special = [(token, encoder.tokenizer.convert_tokens_to_ids(token)) for token in ("[CLS]", "[SEP]")]
    encoder.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    read = encoder.tokenizer("the and the", "the was", return_tensors="pt")
    read["token_type_ids"] = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1]])
    found = {}
    for ids in ("zeros", "pair"):
        segments = make_segments(encoder, text_of("the and the\nthe was\n"), segment_ids=ids, max_length=32)
        (batch,) = extract(encoder, segments, level="token")
        expected = dict(read) if ids == "pair" else {**read, "token_type_ids": 0 * read["token_type_ids"]}
        with torch.no_grad():
            attentions = torch.stack(encoder.model(**expected, output_attentions=True).attentions, dim=1)
        assert torch.allclose(batch.maps, attentions, atol=1e-6)
        assert torch.allclose(batch.exact([0])[0].float(), attentions[0], atol=1e-5)
        found[ids] = attentions
    assert not torch.allclose(found["zeros"], found["pair"], atol=1e-3)


def test_models_without_segment_embeddings_refuse_pairs(text):
    with pytest.raises(ModelError, match="do not distinguish the texts of a pair"):
        make_segments(tiny.encoder("distilbert"), text, segment_ids="pair", max_length=32)


def test_a_sample_is_drawn_by_the_seed(text):
    encoder = tiny.encoder("bert")
    every = make_segments(encoder, text, max_length=12)
    some = make_segments(encoder, text, 4, max_length=12, seed=0)
    assert len(some) == 4 < len(every) == some.made
    assert [s.id for s in some] == [s.id for s in every if s.id in {one.id for one in some}]
    assert some == make_segments(encoder, text, 4, max_length=12, seed=0)
    assert len({tuple(s.id for s in make_segments(encoder, text, 4, max_length=12, seed=k)) for k in range(8)}) > 4
    assert "of which 4 were sampled at random" in some.remarks()[0]
    assert len(make_segments(encoder, text, 1000, max_length=12)) == len(every)


def test_every_segment_has_the_same_chance(text_of):
    encoder, text = tiny.encoder("bert"), text_of("\n".join(["the man saw"] * 8))
    total = make_segments(encoder, text, max_length=9).made
    drawn = [s.id for k in range(300) for s in make_segments(encoder, text, 2, max_length=9, seed=k)]
    counts = [drawn.count(i) for i in set(drawn)]
    assert len(counts) == total
    assert all(abs(count - 600 / total) < 45 for count in counts)


def test_special_tokens_in_the_text_are_text(text_of):
    (segment,) = make_segments(tiny.encoder(), text_of("the [SEP] man\n[CLS] dog\n"), max_length=32).sentences
    assert sum(segment.pieces.special) == 3
    assert sum(token in ("[CLS]", "[SEP]") for token in segment.pieces.tokens) == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"count": 0, "max_length": 32}, ValueError, "count must be at least 1"),
        ({"max_length": 4}, ValueError, "are too short for a pair; 5 is the minimum"),
        ({"max_length": 999}, ModelError, "this model takes 64"),
    ],
)
def test_impossible_options(text, options, error, message):
    with pytest.raises(error, match=message):
        make_segments(tiny.encoder("bert"), text, **options)


def test_a_text_too_short_for_any_segment(text_of):
    with pytest.raises(CorpusError, match="no document has two pieces"):
        make_segments(tiny.encoder("bert"), text_of("the\n\nand\n"), max_length=32)


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(2, 50), st.integers(0, 5))
def test_every_piece_is_in_one_segment(lengths, room, seed):
    pairs = list(pair_paragraphs(lengths, room, random.Random(seed)))
    size = sum(lengths)
    covered = [i for pair in pairs for i in range(pair.start, pair.stop)]
    assert covered == list(range(len(covered)))
    assert size - len(covered) in ((0, 1) if size % room == 1 or size < 2 else (0,))
    ends = set(accumulate(lengths))
    for pair in pairs:
        assert pair.start < pair.cut < pair.stop
        assert pair.stop - pair.start == min(room, size - pair.start)
        inside = [end for end in ends if pair.start < end < pair.stop]
        assert pair.halved == (not inside)
        assert pair.cut in inside or pair.cut == (pair.start + pair.stop) // 2


def test_by_hand():
    """Three paragraphs, the second too long for a segment by itself: nothing is lost behind it."""
    assert list(pair_paragraphs([3, 12, 4], 6, random.Random(0))) == [
        Pair(0, 3, 6, halved=False),
        Pair(6, 9, 12, halved=True),
        Pair(12, 15, 18, halved=False),
    ]
    assert list(pair_paragraphs([10], 6, random.Random(0))) == [Pair(0, 3, 6, halved=True), Pair(6, 8, 10, halved=True)]
    assert list(pair_paragraphs([1], 6, random.Random(0))) == list(pair_paragraphs([], 6, random.Random(0))) == []


def test_the_cut_is_any_paragraph_end_with_equal_chance():
    rng = random.Random(1)
    cuts = Counter(next(pair_paragraphs([1, 2, 3, 4], 10, rng)).cut for _ in range(3000))
    assert set(cuts) == {1, 3, 6}
    assert all(900 < count < 1100 for count in cuts.values())


def test_no_room():
    with pytest.raises(ValueError, match="room must be at least 2"):
        list(pair_paragraphs([3], 1, random.Random(0)))


bert = cache(tiny.encoder)


@pytest.fixture
def encoder():
    return bert()


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
    said = f"10 documents are longer; {windows.words_left_out:,} of their words were not read."
    assert windows.remarks()[0] == f"Read of each document: the first 50 pieces. {said}"
    counts = windows.counts()
    assert (counts["documents_cut"], counts["words_left_out"]) == (10, windows.words_left_out)
    assert (counts["sentences"], counts["document_sentences"], counts["words"]) == (10, 157, 2809)


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
    asked = Documents(ordinary.sentences, documents=(replace(ordinary, id="b", questions=()),))
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
