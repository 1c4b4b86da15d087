"""``attentionology doctor`` tells good models from bad ones."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from attentionology.analyses.known_answers import sample
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine import known_answers
from attentionology.extractors import Encoder, extract
from attentionology.extractors.checks.doctor import Examination
from attentionology.extractors.checks.precision import Precision
from attentionology.extractors.kinds import list_kinds, registry
from attentionology.extractors.model.files import LoadedFiles, UnusedWeights
from attentionology.extractors.tokens.pieces import Pieces
from attentionology.extractors.tokens.text_fit import TextFit
from attentionology.scripts.cli import main
from tests import tiny

GEOGRAPHY = "in full"
FRENCH = Path(__file__).parents[2] / "docs/tutorials/data/french.conllu"


def examined(encoder, sentences=None, kinds=None):
    """The examination after its checks, and the checks without the three verdicts."""
    examination = Examination(encoder, sentences or load_treebank(SAMPLE_TREEBANK, limit=4), kinds)
    checks = list(examination.checks())
    assert checks[-3:] == examination.verdicts()
    return examination, checks[:-3]


def healthy(examination):
    return [verdict.name for verdict in examination.verdicts() if verdict.passed is False] == []


def failures(encoder, kinds=None):
    return {check.name for check in examined(encoder, kinds=kinds)[1] if check.passed is False}


def saved(model, folder, style="wordpiece"):
    model.save_pretrained(folder)
    tiny.fresh_tokenizer(style).save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("family", list(tiny.FAMILIES))
def test_every_family_is_healthy(family):
    size = {} if family == "gpt2" else {"max_position_embeddings": 128}
    examination, checks = examined(tiny.encoder(family, **size))
    assert [check for check in checks if check.passed is False] == []
    assert healthy(examination)


SAME_MAPS = "same maps again, alone and in any batch"


def test_model_that_attends_to_padding():
    two = load_treebank(SAMPLE_TREEBANK, limit=2)
    examination, checks = examined(tiny.unmasked_bert(max_position_embeddings=128), two)
    assert {"nothing on padding", SAME_MAPS} <= {check.name for check in checks if check.passed is False}
    assert set(examination.obstacles) == set(list_kinds())


def test_unused_weights_are_counted_by_what_they_belong_to():
    encoder = tiny.encoder(max_position_embeddings=128)
    encoder.files = LoadedFiles(sha256={"a": "0"}, unused=UnusedWeights(heads=("b", "c"), others=("d",) * 3))
    _, checks = examined(encoder, kinds=["weight"])
    (found,) = (check.found for check in checks if check.name == "checkpoint")
    others, head = found.partition("unused: ")[2].split(" and ")
    assert others == "3 tensors that do not belong to the architecture"
    assert head == "2 tensors of a task head, which attention does not need"


@pytest.mark.slow
def test_left_over_weights_of_the_model_itself_fail_and_those_of_a_head_do_not(tmp_path):
    for name in ("cls.predictions.bias", "encoder.layer.0.adapter.weight"):
        saved(tiny.model("bert", max_position_embeddings=128), tmp_path)
        weights = {**load_file(tmp_path / "model.safetensors"), name: torch.ones(3)}
        save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
        expected = {"checkpoint"} if name.startswith("encoder") else set()
        assert failures(Encoder.from_pretrained(tmp_path)) == expected


def test_model_that_padding_changes_is_healthy_because_it_is_not_padded():
    config = transformers.ConvBertConfig(
        **{**tiny.SIZE, "max_position_embeddings": 128}, embedding_size=24, vocab_size=374
    )
    encoder = Encoder(tiny.build(config), tiny.fresh_tokenizer("wordpiece"))
    _, checks = examined(encoder, kinds=["weight"])
    assert [check for check in checks if check.passed is False] == []
    [note] = [check.found for check in checks if check.name == "note"]
    assert "same number of pieces" in note
    with_dropout = tiny.encoder(max_position_embeddings=128)
    encoder.batching = "padded"
    with_dropout.model.train()
    assert all(SAME_MAPS in failures(changed, ["weight"]) for changed in (encoder, with_dropout))


def test_rows_that_do_not_sum_to_one():
    encoder = tiny.spoil_attention(
        lambda attentions: tuple(1.01 * alpha for alpha in attentions), max_position_embeddings=128
    )
    examination, checks = examined(encoder)
    assert "rows sum to 1" in {check.name for check in checks if check.passed is False}
    assert "rows of attention" in examination.refused["weight"]
    assert not healthy(examination)


def test_large_rounding_is_no_failure_where_it_changes_no_decision():
    torch.manual_seed(0)
    encoder = tiny.encoder(max_position_embeddings=128)
    for parameter in encoder.model.parameters():
        if parameter.dim() > 1:
            parameter.data.normal_()
    examination, checks = examined(encoder, load_treebank(SAMPLE_TREEBANK, limit=12), ["weight"])
    assert [check.found for check in checks if check.passed is False] == []
    assert examination.precision["weight"].error > 2e-5  # above the noise that is declared for the kind
    assert examination.precision["weight"].differing == 0


@pytest.mark.slow
def test_one_bad_kind_does_not_condemn_the_others(monkeypatch):
    """In float32, values of one kind are off by 0.9 %, which swaps some decisions, those of another by half."""
    encoder = tiny.encoder(max_position_embeddings=128)
    spoiling = {
        "norm": lambda maps: maps * (1 + 0.009 * (-1.0) ** torch.arange(maps.shape[-1])),
        "attn": lambda maps: 1.5 * maps,
    }
    for name, spoil in spoiling.items():
        kind = registry._KINDS[name]

        def spoiled(layer, made=kind.layer_map, spoil=spoil):
            layer_map = made(layer)
            return layer_map if layer_map.dtype == torch.float64 else spoil(layer_map)

        monkeypatch.setitem(registry._KINDS, name, replace(kind, layer_map=spoiled))
    sentences = load_treebank(SAMPLE_TREEBANK, limit=40)
    examination, checks = examined(encoder, sentences)
    assert [check.name for check in checks if check.passed is False] == ["map kind 'norm'"]
    assert list(examination.obstacles) == ["attn"]
    differing = examination.precision["norm"].differing
    assert 0 < differing < examination.precision["norm"].decisions / 10
    verdicts = {verdict.name: verdict for verdict in examination.verdicts()}
    assert verdicts["maps"].found.endswith("; not for attn")
    assert verdicts["decisions"].found == "not those of float64 for norm"
    assert healthy(examination)
    for kinds, expected in ((["weight", "attn"], False), (["norm"], False), (["weight", "attnres"], True)):
        assert healthy(examined(encoder, sentences, kinds)[0]) == expected


def test_decisions_that_differ_are_counted(monkeypatch):
    """The two largest values of every row and column are swapped in float32 in the first head of the first layer."""
    encoder = tiny.encoder(max_position_embeddings=128)
    sentences = [Sentence("s", ("the", "cat", "sees", "a", "dog"))]
    kind = registry._KINDS["weight"]

    def spoiled(layer):
        layer_map = kind.layer_map(layer).clone()
        if layer_map.dtype == torch.float32 and not calls:
            layer_map[:, 0] = 1.004 * layer_map[:, 0].amax()
            layer_map[:, 0] -= 1e-3 * torch.arange(layer_map.shape[-1]) * layer_map[:, 0].amax()
        calls.append(layer_map)
        return layer_map

    calls = []
    [exact] = [batch.exact([0])[0] for batch in extract(encoder, sentences)]
    monkeypatch.setitem(registry._KINDS, "weight", replace(kind, layer_map=spoiled, rows_sum_to_one=False))
    counted = Precision.of(encoder, sentences, "weight")
    words = exact[0, 0, 1:-1, 1:-1].clone().fill_diagonal_(-1)
    # In float32, the first other word has the largest value of each row, and all values of a column are alike.
    first = [1, 0, 0, 0, 0]
    expected = sum(int(words[row].argmax()) != first[row] for row in range(5))
    assert counted.differing == expected > 0
    assert counted.decisions == 3 * 4 * 5 * 2


@pytest.mark.slow
def test_constant_weights_are_unsound_and_analyze_warns(tmp_path, capsys):
    for value in (0.0, 1.0):
        model = tiny.model("bert", max_position_embeddings=128)
        for parameter in model.parameters():
            parameter.data.fill_(value)
        folder = saved(model, tmp_path / str(value))
        examination, checks = examined(Encoder.from_pretrained(folder))
        [weights] = [check for check in checks if check.name == "weights"]
        assert weights.passed is False
        assert "hold one value throughout" in weights.found
        assert not healthy(examination)
        assert set(examination.obstacles) == set(list_kinds())
        run = ["analyze", "--model", str(folder), "--limit", "3", "--replicates", "0", "--out", str(tmp_path / "run")]
        assert main([*run, "--analyses", "surface", "--overwrite"]) == 0
        record = json.loads((tmp_path / "run" / "run.json").read_text())
        assert [warning for warning in record["warnings"] if "hold one value throughout" in warning] == [weights.found]
    assert weights.found in capsys.readouterr().out


def test_whole_numbers_are_no_trained_weights():
    """Integers are refused, also between other matrices; a matrix with one other value may be a trained one."""
    encoder = tiny.encoder("bert", max_position_embeddings=128)
    weight = encoder.model.encoder.layer[1].attention.self.key.weight
    weight.data.mul_(9).round_()
    examination, checks = examined(encoder, kinds=["weight"])
    (failed,) = [check for check in checks if check.passed is False]
    assert failed.name == "weights"
    assert "1 of" in failed.found
    assert "only whole numbers" in failed.found
    assert "encoder.layer.1.attention.self.key.weight" in failed.found
    assert not healthy(examination)
    weight.data[-1, -1] += 0.5
    assert healthy(examined(encoder, kinds=["weight"])[0])


def test_the_first_position_with_and_without_the_prepended_token(tmp_path):
    """Both shares are means over the rows of all heads, by hand for one sentence."""
    folder = saved(tiny.model("gpt2", n_positions=128), tmp_path, "bytes without specials")
    tokenizer = tiny.fresh_tokenizer("bytes without specials")
    tokenizer.bos_token = "<|endoftext|>"
    tokenizer.save_pretrained(folder)
    sentence = Sentence("s", ("a", "dog", "sleeps"))
    shares = []
    for prepend in ("auto", "none"):
        encoder = Encoder.from_pretrained(folder, prepend=prepend)
        (batch,) = extract(encoder, [sentence])
        shares.append(f"{100 * float(batch.maps[0, ..., 0].mean()):.0f} % on the first position")
        _, checks = examined(encoder, [sentence], ["weight"])
        (sink,) = [check.found for check in checks if check.name == "where attention rests"]
        assert sink.startswith(shares[-1])
        assert ("without" in sink) == (prepend == "auto")
        if prepend == "auto":
            both = sink
    assert f"; without <|endoftext|>, which --prepend added, {shares[1]} (mean over heads)" in both
    assert shares[0] != shares[1]


def test_unused_embeddings_may_be_zero():
    encoder = tiny.encoder("bert", max_position_embeddings=128)
    encoder.model.embeddings.token_type_embeddings.weight.data.zero_()
    assert encoder.warnings == []
    encoder.model.encoder.layer[1].attention.self.key.weight.data.fill_(0.5)
    [warning] = encoder.warnings
    assert "encoder.layer.1.attention.self.key.weight" in warning


def test_language_that_the_tokenizer_does_not_know():
    examination, checks = examined(tiny.encoder(), [Sentence("s", tuple("漢字仮名交じり文"))], ["weight"])
    [words] = [check for check in checks if check.passed is False]
    assert words.name == "words and pieces"
    assert "; with more than 10 % unknown, " in words.found
    assert [verdict.passed for verdict in examination.verdicts()] == [True, True, False]


@pytest.mark.slow
def test_french_with_an_english_model(demo_encoder):
    french = load_treebank(FRENCH)
    examination, _ = examined(demo_encoder, french, ["weight"])
    assert (examination.text.fits, examination.text.unknown, examination.text.words) == ("poorly", 2, 262)
    assert healthy(examination)
    words = [(word, len(demo_encoder.tokenizer.tokenize(word))) for sentence in french for word in sentence.words]
    pieces = [count for word, count in words if any(character.isalpha() for character in word)]
    assert examination.text.pieces_per_word == pytest.approx(sum(pieces) / len(pieces))
    assert examined(demo_encoder, None, ["weight"])[0].text.fits == "yes"


def test_an_ideograph_counts_as_a_word():
    sentence = Sentence("s", ("漢字", "文", "a", "."))
    aligned = Pieces([0] * 7, ["p"] * 7, [0, 0, 1, 1, 2, 3, 4], [False] * 5, 0, 0)
    assert TextFit.of([(Sentence("s", (*sentence.words, "1")), aligned)]).pieces_per_word == 5 / 4


def test_a_sample_of_a_large_corpus_is_read(monkeypatch):
    encoder = tiny.encoder(max_position_embeddings=128)
    short = [sentence for sentence in load_treebank(SAMPLE_TREEBANK) if len(sentence) < 10][:5]
    sentences = [replace(s, id=f"{s.id}-{n}") for n in range(20) for s in short]
    read: set[tuple[str, str]] = set()
    honest = Precision.of

    def noted(model, few, kind):
        read.update((kind, sentence.id) for sentence in few)
        return honest(model, few, kind)

    monkeypatch.setattr(Precision, "of", noted)
    examination, checks = examined(encoder, sentences, ["weight", "norm"])
    [line] = [check.found for check in checks if check.name == "sentences"]
    assert line.startswith("100 of 100 can be read; the checks of the model read 12 of them")
    assert line.endswith("checked on 4")
    assert Counter(kind for kind, _ in read) == {"weight": 12, "norm": 4}
    assert examination.text.words == sum(map(len, sentences))
    before = set(read)
    examined(encoder, sentences, ["weight", "norm"])
    assert read == before


def test_tokenizer_without_special_tokens_gets_a_note():
    for family, expected in (("gpt2", True), ("bert", False)):
        _, checks = examined(tiny.encoder(family), [Sentence("s", ("a", "b"))], ["weight"])
        assert any("no special tokens" in check.found for check in checks) == expected


def test_command_prints_a_checklist_and_three_verdicts(demo_encoder, capsys):
    assert main(["doctor", "--sentences", "4", "--map", "weight", "norm"]) == 0
    out = capsys.readouterr().out
    assert "ok   rows sum to 1" in out
    # A line that only informs has no mark.
    assert re.search(r"(?m)^     where attention rests: [1-9]\d? % on the first position, \d+ % on the last", out)
    assert "FAIL" not in out
    assert "ok   map kind 'norm'" in out
    assert "map kind 'alti'" not in out
    assert out.endswith(
        """
ok   maps: sound for weight, norm
ok   decisions: those of float64
ok   text: the model fits it

all-MiniLM-L6-v2: no verdict is bad.
"""
    )
    assert main(["doctor", "--sentences", "4", "--map", "weight", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["healthy"] is True
    assert record["maps"] == {"weight": {"sound": True, "reason": ""}}
    assert record["decisions"]["weight"]["differing"] == 0
    assert record["text"]["fits"] == "yes"


def test_command_says_that_a_failing_model_is_not_to_be_trusted(tmp_path, capsys):
    saved(tiny.model("bert", max_position_embeddings=5), tmp_path)
    assert main(["doctor", "--model", str(tmp_path), "--sentences", "12"]) == 1
    captured = capsys.readouterr()
    assert "FAIL sentences: 0 of 12 can be read" in captured.out
    assert captured.out.splitlines()[-1] == "FAIL text: the model cannot read it"
    assert captured.err.endswith(" on this text; the lines marked FAIL say why.\n")
    assert main(["doctor", "--model", str(tmp_path), "--sentences", "12", "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["healthy"] is False
    assert not any(kind["sound"] for kind in record["maps"].values())


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--map", "nrom"], "--map: unknown map kind 'nrom'"),
        (["--known-answers", "--model", "roberta-base"], "not for 'roberta-base'"),
    ],
)
def test_options_that_do_not_fit_are_named(options, message, capsys):
    assert main(["doctor", *options]) == 2
    assert message in capsys.readouterr().err
