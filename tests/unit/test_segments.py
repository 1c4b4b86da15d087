"""Segments of plain text, as models read them."""

from __future__ import annotations

import pytest
import torch
from tokenizers.processors import TemplateProcessing

from attentionology.corpora_loaders import CorpusError, load_text
from attentionology.extractors import ModelError, Segment, extract, make_segments
from tests import tiny

TEXT = """the man saw the dog in the garden and the dog saw the man
a lighthouse stands on the rock
the end

one night train, one museum
it was a long letter that she wrote to the council about the garden and the lighthouse on the rock near the sea
x
"""


@pytest.fixture
def text(tmp_path):
    (tmp_path / "t.txt").write_text(TEXT)
    return load_text(tmp_path / "t.txt")


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


def test_special_tokens_stand_where_the_tokenizer_puts_them(text):
    segment = make_segments(tiny.encoder("bert"), text, max_length=16).sentences[0]
    places = [i for i, special in enumerate(segment.pieces.special) if special]
    assert [segment.pieces.tokens[i] for i in places] == ["[CLS]", "[SEP]", "[SEP]"]
    assert places[0] == 0
    assert places[2] == len(segment.pieces) - 1
    assert segment.pieces.positions == list(range(len(segment.pieces)))
    assert segment.pieces.segment_ids is None


def test_the_cut_is_a_paragraph_end_where_there_is_one(tmp_path):
    (tmp_path / "t.txt").write_text("the and\nthe was\n")
    (segment,) = make_segments(tiny.encoder("bert"), load_text(tmp_path / "t.txt"), max_length=32).sentences
    assert segment.pieces.tokens == ["[CLS]", "the", "and", "[SEP]", "the", "was", "[SEP]"]
    assert segment.words == ("the", "and", "the", "was")
    assert (segment.line, segment.document) == (1, "t.txt:1")


def test_segment_ids_reach_the_model(tmp_path):
    """Attention is that of Hugging Face's own reading of the pair, with zeros and with the ids of a pair."""
    (tmp_path / "t.txt").write_text("the and the\nthe was\n")
    encoder = tiny.encoder("bert")
    special = [(token, encoder.tokenizer.convert_tokens_to_ids(token)) for token in ("[CLS]", "[SEP]")]
    encoder.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    read = encoder.tokenizer("the and the", "the was", return_tensors="pt")
    read["token_type_ids"] = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1]])
    found = {}
    for ids in ("zeros", "pair"):
        segments = make_segments(encoder, load_text(tmp_path / "t.txt"), segment_ids=ids, max_length=32)
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


def test_every_segment_has_the_same_chance(tmp_path):
    (tmp_path / "t.txt").write_text("\n".join(["the man saw"] * 8))
    encoder, text = tiny.encoder("bert"), load_text(tmp_path / "t.txt")
    total = make_segments(encoder, text, max_length=9).made
    drawn = [s.id for k in range(300) for s in make_segments(encoder, text, 2, max_length=9, seed=k)]
    counts = [drawn.count(i) for i in set(drawn)]
    assert len(counts) == total
    assert all(abs(count - 600 / total) < 45 for count in counts)


def test_special_tokens_in_the_text_are_text(tmp_path):
    (tmp_path / "t.txt").write_text("the [SEP] man\n[CLS] dog\n")
    (segment,) = make_segments(tiny.encoder("bert"), load_text(tmp_path / "t.txt"), max_length=32).sentences
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


def test_a_text_too_short_for_any_segment(tmp_path):
    (tmp_path / "t.txt").write_text("the\n\nand\n")
    with pytest.raises(CorpusError, match="no document has two pieces"):
        make_segments(tiny.encoder("bert"), load_text(tmp_path / "t.txt"), max_length=32)
