"""A model's attention to a sentence must be that of the sentence alone, whatever it is read beside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from attentionology import CorpusOptions, CountOptions, analyze
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, ExtractionLog, ModelError, TransformerAttention, extract
from attentionology.extractors.maps.batching import cut
from attentionology.extractors.model.files import LoadedFiles
from attentionology.extractors.model.loading import load_tokenizer
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny

SENTENCES = list(load_treebank(SAMPLE_TREEBANK, limit=12))
SPARSE: dict[str, Any] = {"block_size": 4, "num_random_blocks": 1}  # attends fully to 4 · (5 + 2 · 1) = 28 pieces
CONFIGS = {
    "convbert": transformers.ConvBertConfig(**tiny.SIZE, embedding_size=24, vocab_size=374),
    "nystromformer": transformers.NystromformerConfig(
        **tiny.SIZE, num_landmarks=8, segment_means_seq_len=8, vocab_size=374
    ),
    "big_bird": transformers.BigBirdConfig(**tiny.SIZE, **SPARSE, vocab_size=374),
    "big_bird, full": transformers.BigBirdConfig(**tiny.SIZE, attention_type="original_full", vocab_size=374),
    "bigbird_pegasus": transformers.BigBirdPegasusConfig(
        d_model=24,
        encoder_layers=3,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
        vocab_size=374,
        **SPARSE,
    ),
}


def encoder(name: str) -> Encoder:
    return Encoder(tiny.build(CONFIGS[name]), tiny.fresh_tokenizer("wordpiece"), name)


def alone(built: Any, pieces: Pieces) -> list[torch.Tensor]:
    """Attention as the model itself gives it, one input at a time."""
    ids = torch.tensor([pieces.ids])
    with torch.no_grad():
        output = built(input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True)
    return [layer[0] for layer in output.attentions]


@pytest.mark.parametrize("name", ["convbert", "nystromformer"])
def test_sentences_are_not_padded_where_padding_changes_attention(name):
    read = encoder(name)
    assert read.batching == "equal lengths"
    assert any("padding" in warning for warning in read.warnings)
    seen = 0
    for batch in extract(read, SENTENCES, level="token", log=ExtractionLog()):
        for sentence, maps in batch.unpadded():
            pieces = tiny.pieces(read, sentence)
            for layer, expected in enumerate(alone(read.model, pieces)):
                torch.testing.assert_close(torch.as_tensor(maps[layer]), expected, atol=1e-5, rtol=0)
            seen += 1
    assert seen > 5


def test_the_control_is_read_in_the_same_batches_as_the_model():
    assert encoder("convbert").random_init(seed=0).batching == "equal lengths"


def test_a_model_whose_inputs_change_each_other_reads_one_at_a_time():
    built = tiny.model("bert")
    query = built.encoder.layer[1].attention.self.query
    query.register_forward_hook(lambda _module, _inputs, output: output * (1 + output.shape[0]))
    read = Encoder(built, tiny.fresh_tokenizer("wordpiece"))
    assert read.batching == "one by one"
    assert all(len(batch) == 1 for batch in extract(read, SENTENCES, log=ExtractionLog()))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda layer: layer.attention.self.query.register_forward_hook(lambda _m, _i, out: out * torch.rand(())),
            "different attention each time",
        ),
        (lambda layer: layer.attention.self.query.bias.data[:1].fill_(torch.nan), "attention is NaN"),
        (lambda layer: layer.register_forward_hook(lambda *_: 1 / 0), r"5 pieces in float32 \(ZeroDivisionError"),
    ],
)
def test_models_that_cannot_be_read_are_refused(spoil, message):
    built = tiny.model("bert")
    spoil(built.encoder.layer[1])
    with pytest.raises(ModelError, match=message):
        Encoder(built, tiny.fresh_tokenizer("wordpiece"))


def test_what_may_be_read_together():
    lengths = [5, 5, 3, 3, 2]

    def batches(batching, cells=2**16, pieces=2**16):
        return list(cut(lengths, int, batching, cells, pieces))

    assert batches("padded") == [[5, 5, 3, 3, 2]]
    assert batches("padded", cells=50) == [[5, 5], [3, 3, 2]]
    assert batches("padded", pieces=9) == [[5], [5], [3, 3, 2]]
    assert batches("padded", cells=1) == batches("one by one") == [[length] for length in lengths]
    assert batches("equal lengths") == [[5, 5], [3, 3], [2]]


def test_texts_for_explanations_are_batched_in_the_same_way():
    classifier = TransformerAttention(tiny.classifier("bert"), tiny.fresh_tokenizer("wordpiece"))
    texts = [("a", "b"), ("a",), ("b", "a")]
    assert [sorted(batch) for batch in classifier.batches(texts)] == [[0, 1, 2]]
    classifier._encoder.batching = "equal lengths"
    assert [sorted(batch) for batch in classifier.batches(texts)] == [[0, 2], [1]]


def test_bigbird_pegasus_reads_no_more_than_it_attends_to_fully():
    read = encoder("bigbird_pegasus")
    assert read.max_length == 28
    assert any("28 pieces" in warning for warning in read.warnings)
    log = ExtractionLog()
    long = Sentence("long", ("a",) * 40)
    pieces = tiny.pieces(read, long)
    assert len(list(extract(read, [long, Sentence("short", ("a", "b"))], log=log))) == 1
    assert [(skipped.sentence.id, skipped.reason) for skipped in log.skipped] == [
        ("long", f"too long: {len(pieces)} pieces, the limit is 28")
    ]
    full = transformers.BigBirdPegasusConfig(
        **{**CONFIGS["bigbird_pegasus"].to_dict(), "attention_type": "original_full"}
    )
    read = Encoder(transformers.AutoModel.from_config(full, attn_implementation="eager"), read.tokenizer)
    assert read.max_length == 64
    assert read.warnings == []


def test_big_bird_reads_short_inputs_as_it_does_with_full_attention():
    read = encoder("big_bird")
    assert read.max_length == 28
    assert any("28 pieces" in warning and "original_full" in warning for warning in read.warnings)
    full = tiny.build(CONFIGS["big_bird, full"])
    full.load_state_dict(read.model.state_dict())
    pieces = tiny.pieces(read, SENTENCES[2])
    pieces = replace(pieces, ids=pieces.ids[:20])
    for ours, theirs in zip(read.forward([pieces]).attentions, alone(full, pieces), strict=True):
        torch.testing.assert_close(ours[0], theirs, atol=1e-6, rtol=0)
    assert encoder("big_bird, full").warnings == []


def without_special_tokens(folder: Path) -> str:
    """A saved model whose tokenizer puts nothing around a text, although it has the tokens."""
    path = tiny.save(folder, max_position_embeddings=200)
    file = folder / "tokenizer.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "post_processor": None}))
    return path


def lacking(warnings) -> list[str]:
    return [warning for warning in warnings if "adds no special tokens, such as [CLS] and [SEP]" in warning]


def test_a_tokenizer_without_special_tokens_is_warned_of_where_all_words_are_seen(tmp_path):
    """Every position is a word then, and every analysis says so; decoders begin with a token, or need none."""
    encoder = Encoder.from_pretrained(without_special_tokens(tmp_path))
    assert len(lacking(encoder.warnings)) == 1
    (batch,) = extract(encoder, [Sentence("s", ("the", "garden", "began"))], level="word")
    assert batch.special.tolist() == [[False] * 3]
    options = [CountOptions(replicates=0), CorpusOptions(limit=6)]
    run = analyze(encoder, "sample", analyses=["dependency", "surface", "norms"], options=options)
    assert len(lacking(run.record["warnings"])) == 1
    for plain in (tiny.encoder("bert"), tiny.encoder("gpt2"), tiny.encoder("roberta")):
        assert lacking(plain.warnings) == []


def test_a_classifier_without_special_tokens_is_warned_of(tmp_path):
    tokenizer = load_tokenizer(LoadedFiles(folder=Path(without_special_tokens(tmp_path))))
    classifier = TransformerAttention(tiny.classifier("bert", max_position_embeddings=200), tokenizer)
    assert len(lacking(classifier.warnings)) == 1
    _, mask = classifier.attention(classifier.encode([("the", "garden"), ("began",)]))
    assert mask.sum(1).tolist() == [2, 1]  # all of them are words
