"""``attentionology explain`` with transformers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from attentionology.analyses.explanation.attention.batch import examine
from attentionology.extractors import TransformerAttention, load_classifier
from tests import tiny
from tests.acceptance.explain.explaining import record, run, said, table


class TestTransformers:
    @pytest.mark.slow
    def test_one_that_classifies_already(self, bert, sentences, tmp_path, capsys):
        options = ("--draws", 5, "--steps", 3, "--replicates", 20)
        assert run("--model", bert, "--test", sentences, *options, "--out", tmp_path / "run") == 0
        found = table(tmp_path / "run")
        assert len(found) == 12
        model = transformers.AutoModelForSequenceClassification.from_pretrained(bert).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(bert)
        lines = [line.split("\t")[1] for line in sentences.read_text().splitlines()[1:13]]
        with torch.no_grad():
            own = [model(**tokenizer(line, return_tensors="pt")).logits[0].double().softmax(-1) for line in lines]
        assert list(found["predicted"]) == [int(p.argmax()) for p in own]
        np.testing.assert_allclose(found["probability"], [float(p.max()) for p in own], atol=1e-5)
        assert {"null_space", "adversarial_jsd", "uniform_tvd", "comprehensiveness_attention"} <= set(found)
        assert not {"exact_jsd", "two_word_jsd", "conicity", "seed_jsd"} & set(found)
        assert (found["farthest_jsd"] >= found["adversarial_jsd"] - 1e-6).all()
        assert (found["farthest_jsd"] <= found["ceiling_jsd"]).all()

        skipped = record(tmp_path / "run")["sentences"]["skipped"]
        assert [(one["file"], one["line"]) for one in skipped] == [(str(sentences), 14)]
        assert "too long" in skipped[0]["reason"]
        printed = said(capsys.readouterr().out)
        assert "Tested texts that the model cannot read, left out: 1" in printed
        assert "too long" in (tmp_path / "run" / "report.html").read_text()

    @pytest.mark.slow
    def test_where_attention_is_changed_matters(self, bert, sentences, tmp_path):
        options = ("--tests", "permutation", "--draws", 5, "--replicates", 0, "--limit", 12)
        moved = {}
        for name, scope in (
            ("last", ()),
            ("first", ("--layer", 1)),
            ("heads", ("--heads", 1, 2)),
            ("all", ("--query", "all")),
            ("special", ("--special", "renormalize")),
        ):
            assert run("--model", bert, "--test", sentences, *options, *scope, "--out", tmp_path / name) == 0
            moved[name] = table(tmp_path / name)["permutation_tvd"].mean()
            scoped = record(tmp_path / name)["model"]["scope"]
            assert scoped["layer"] == (1 if name == "first" else 3)
            assert scoped["heads"] == ([1, 2] if name == "heads" else "all")
        assert len({round(value, 9) for value in moved.values()}) == 5

    def test_own_attention_put_back_changes_nothing(self, bert, sentences):
        model, files = load_classifier(str(bert))
        attention = TransformerAttention(model, tiny.fresh_tokenizer("wordpiece"), files=files)
        words = [tuple(line.split("\t")[1].split()) for line in sentences.read_text().splitlines()[1:9]]
        for batch in attention.batches(words):
            with torch.no_grad():
                state = attention.encode([words[i] for i in batch])
                put_back = attention.decode(state, state.alpha[:, None])[:, 0]
                own = model(input_ids=state.ids, attention_mask=state.inside.long()).logits
            torch.testing.assert_close(put_back, own, atol=1e-5, rtol=0)

    @pytest.mark.slow
    def test_one_that_is_fine_tuned(self, bert, files, tmp_path, capsys):
        data = ("--data", files / "dev.txt", "--test", files / "test.txt")
        trained = ("--finetune", "--epochs", 1, "--seeds", 1, "--learning-rate", 0.001)
        few = ("--replicates", 0, "--draws", 5, "--limit", 20)
        tests = ("--tests", "correlation", "permutation", "uniform", "seeds")
        assert run("--model", bert, *trained, *data, *few, *tests, "--out", tmp_path / "run") == 0
        assert list(table(tmp_path / "run", "models")["model"]) == ["base", "uniform", "seed 1"]
        assert record(tmp_path / "run")["model"]["classes"] == ["0", "1"]
        assert "The model was fine-tuned without dropout." in said(capsys.readouterr().out)
        saved = ("--model", tmp_path / "run" / "model", "--test", files / "test.txt", *few)
        assert run(*saved, "--tests", "correlation", "permutation", "--out", tmp_path / "again") == 0
        before, after = table(tmp_path / "run"), table(tmp_path / "again")
        pd.testing.assert_frame_equal(after, before[list(after)], check_exact=True)

    def test_pieces_in_place_of_words_are_refused(self, bert):
        """The tests delete and reorder words; they could not say anything of pieces."""
        model, _ = load_classifier(bert)
        pieces = TransformerAttention(model, tiny.fresh_tokenizer("wordpiece"), level="piece")
        with pytest.raises(ValueError, match="level='word'"):
            examine(pieces, ["a"], [("unquestionably", "fine")], {})


class TestWhatATransformerCannot:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--layer", "9"], "layers 1 to 3"),
            (["--heads", "9"], "heads 1 to 4"),
            (["--tests", "seeds"], "--tests seeds: it trains models, and nothing is trained in this run"),
            (["--encoder", "cnn"], "--encoder is for the classifiers that are trained here, not for --model"),
            (["--score", "colour"], "unknown map kind 'colour'; choose from: alti"),
        ],
    )
    def test_is_said(self, arguments, message, bert, sentences, tmp_path, capsys):
        assert run("--model", bert, "--test", sentences, *arguments, "--out", tmp_path / "run") in (1, 2)
        assert message in capsys.readouterr().err
        assert not (tmp_path / "run").exists()

    def test_without_a_head(self, sentences, tmp_path, capsys):
        tiny.save(tmp_path / "model")
        assert run("--model", tmp_path / "model", "--test", sentences, "--out", tmp_path / "run") == 1
        assert "has no trained classification head; fine-tune one with --finetune" in capsys.readouterr().err

    def test_architectures_that_hide_their_attention(self, sentences, tmp_path, capsys):
        tiny.classifier("deberta").save_pretrained(tmp_path / "model")
        tiny.fresh_tokenizer("bytes").save_pretrained(tmp_path / "model")
        assert run("--model", tmp_path / "model", "--test", sentences, "--out", tmp_path / "run") == 1
        assert "attention of this architecture cannot be replaced" in capsys.readouterr().err
