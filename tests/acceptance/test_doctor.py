"""``attentionology doctor`` tells good models from bad ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from attentionology.analyses.known_answers import sample
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine import known_answers
from attentionology.extractors import Encoder
from attentionology.extractors.model.doctor import examine
from attentionology.scripts.cli import main
from tests import tiny

GEOGRAPHY = "in full"


def failures(encoder, sentences=None):
    checks = list(examine(encoder, sentences or load_treebank(SAMPLE_TREEBANK, limit=4)))
    return {check.name for check in checks if check.passed is False}


@pytest.mark.parametrize("family", list(tiny.FAMILIES))
def test_every_family_is_healthy(family):
    size = {} if family == "gpt2" else {"max_position_embeddings": 128}
    assert failures(tiny.encoder(family, **size)) == set()


def test_model_that_attends_to_padding(monkeypatch):
    encoder = tiny.encoder(max_position_embeddings=128)
    honest = encoder._run
    monkeypatch.setattr(encoder, "_run", lambda ids, mask, *a, **kw: honest(ids, torch.ones_like(mask), *a, **kw))
    assert {"nothing on padding", "batch equals single sentence"} <= failures(encoder)


def test_left_over_weights_of_the_model_itself_fail_and_those_of_a_head_do_not(tmp_path):
    for name in ("cls.predictions.bias", "encoder.layer.0.adapter.weight"):
        tiny.model("bert", max_position_embeddings=128).save_pretrained(tmp_path)
        tiny.fresh_tokenizer("wordpiece").save_pretrained(tmp_path)
        weights = {**load_file(tmp_path / "model.safetensors"), name: torch.ones(3)}
        save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
        expected = {"checkpoint"} if name.startswith("encoder") else set()
        assert failures(Encoder.from_pretrained(tmp_path)) == expected


def test_model_that_padding_changes_is_healthy_because_it_is_not_padded():
    config = transformers.ConvBertConfig(
        **{**tiny.SIZE, "max_position_embeddings": 128}, embedding_size=24, vocab_size=374
    )
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(std=0.3)
    encoder = Encoder(model, tiny.fresh_tokenizer("wordpiece"))
    assert failures(encoder) == set()
    notes = [check.found for check in examine(encoder, load_treebank(SAMPLE_TREEBANK, limit=4)) if check.name == "note"]
    assert len(notes) == 1
    assert "same number of pieces" in notes[0]
    encoder.batching = "padded"
    assert "batch equals single sentence" in failures(encoder)


def test_model_with_dropout_left_on():
    encoder = tiny.encoder(max_position_embeddings=128)
    encoder.model.train()
    assert "same again, whatever the batch size" in failures(encoder)


def test_rows_that_do_not_sum_to_one(monkeypatch):
    encoder = tiny.encoder(max_position_embeddings=128)
    honest = encoder._run

    def spoiled(*inputs, **options):
        attentions, hidden = honest(*inputs, **options)
        return tuple(1.01 * alpha for alpha in attentions), hidden

    monkeypatch.setattr(encoder, "_run", spoiled)
    assert {"rows sum to 1", "map kind 'weight'"} <= failures(encoder)


def test_language_that_the_tokenizer_does_not_know():
    assert "words and pieces align" in failures(tiny.encoder(), [Sentence("s", tuple("漢字仮名交じり文"))])


def test_command_prints_a_checklist(demo_encoder, capsys):
    assert main(["doctor", "--sentences", "4"]) == 0
    out = capsys.readouterr().out
    assert "ok   rows sum to 1" in out
    assert "FAIL" not in out
    assert out.endswith("\n\nall-MiniLM-L6-v2: no check failed; the attention maps of this model can be trusted.\n")
    assert "ok   map kind 'weight'" in out


def test_command_as_json_and_with_a_failing_model(tmp_path, capsys):
    tiny.model("bert", max_position_embeddings=5).save_pretrained(tmp_path)
    tiny.fresh_tokenizer("wordpiece").save_pretrained(tmp_path)
    assert main(["doctor", "--model", str(tmp_path), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["healthy"] is False
    assert record["checks"][-1] == {"name": "sentences", "passed": False, "found": "0 of 12 can be read"}


def test_command_says_that_a_failing_model_is_not_to_be_trusted(tmp_path, capsys):
    tiny.model("bert", max_position_embeddings=5).save_pretrained(tmp_path)
    tiny.fresh_tokenizer("wordpiece").save_pretrained(tmp_path)
    assert main(["doctor", "--model", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "FAIL sentences: 0 of 12 can be read"
    assert captured.err.endswith(": do not trust the attention maps of this model; the checks marked FAIL say why.\n")


def test_command_with_a_model_that_cannot_be_loaded(tmp_path, capsys):
    assert main(["doctor", "--model", str(tmp_path)]) == 1
    assert "cannot load" in capsys.readouterr().err


@pytest.mark.slow
def test_known_answers(demo_encoder, capsys, monkeypatch):
    results = known_answers.sample_results(demo_encoder)
    monkeypatch.setattr(known_answers, "sample_results", lambda encoder: results)
    assert main(["doctor", "--known-answers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:4] for line in lines[:8]] == ["ok  "] * 8
    assert lines[-1] == "all-MiniLM-L6-v2: no result differs from the known ones."

    known = sample.known_answers()
    name = "dependency of all heads (weight)"
    tampered = replace(known, counts={**known.counts, name: "0" * 64})
    monkeypatch.setattr(sample, "known_answers", lambda: tampered)
    assert main(["doctor", "--known-answers"]) == 1
    captured = capsys.readouterr()
    assert [line for line in captured.out.splitlines() if line.startswith("FAIL")] == [
        f"FAIL counts: {name}: sha256 {known.counts[name][:12]} instead of 000000000000"
    ]
    assert "gives other results than the known ones" in captured.err


def test_known_answers_of_another_model(capsys):
    assert main(["doctor", "--known-answers", "--model", "roberta-base"]) == 2
    assert "not for 'roberta-base'" in capsys.readouterr().err
