"""``attentionology doctor`` tells good models from bad ones."""

from __future__ import annotations

import json

import pytest
import torch

from corpora_loaders import Sentence, load_treebank
from corpora_loaders.sample import SAMPLE_TREEBANK
from extractors.doctor import examine
from scripts.cli import main
from tests import tiny


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
    assert {"nothing on padding", "padded batch equals single sentence"} <= failures(encoder)


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
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "ok   rows sum to 1" in out
    assert "FAIL" not in out
    assert "ok   map kind 'weight'" in out


def test_command_as_json_and_with_a_failing_model(tmp_path, capsys):
    tiny.model("bert", max_position_embeddings=5).save_pretrained(tmp_path)
    tiny.fresh_tokenizer("wordpiece").save_pretrained(tmp_path)
    assert main(["doctor", "--model", str(tmp_path), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["healthy"] is False
    assert record["checks"][-1] == {"name": "sentences", "passed": False, "found": "0 of 12 can be read"}


def test_command_with_a_model_that_cannot_be_loaded(tmp_path, capsys):
    assert main(["doctor", "--model", str(tmp_path)]) == 1
    assert "cannot load" in capsys.readouterr().err
