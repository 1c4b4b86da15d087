"""Configurations and tokenizers that are not what they seem: each is refused with its cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Encoder, ModelError
from tests import tiny
from tests.unit.model_folders.folders import Change, change_weights, configure, configure_tokenizer, save


def test_code_beside_a_known_architecture_is_not_run_and_the_user_is_told(folder, tmp_path):
    configure(folder, auto_map={"AutoModel": "own.Own", "AutoConfig": "own.OwnConfig"})
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    encoder = Encoder.from_pretrained(folder)
    assert any("auto_map" in warning and "never run" in warning for warning in encoder.warnings)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_attention_heads": "12"}, "num_attention_heads' expected int, got str .*'12'"),
        ({"num_attention_heads": 5}, "multiple of the number of attention heads"),
        ({"_attn_implementation": "someone/kernel"}, r"a kernel of the Hub, .*\(_attn_implementation\)"),
        ({"vocab_size": 380}, r"word_embeddings.weight is \[374, 24\] in the checkpoint, and \[380, 24\]"),
        (
            {"max_position_embeddings": 32},
            r"position_embeddings.weight is \[64, 24\] in the checkpoint, and \[32, 24\]",
        ),
        ({"hidden_act": "nonsense"}, r"KeyError: 'nonsense'; correct its config\.json"),
        ({"pad_token_id": 9999}, r"Padding_idx must be within num_embeddings; correct its config\.json"),
        ({"model_type": ["bert"]}, r"config\.json': transformers cannot read this configuration .*list"),
        ({"model_type": "nonsense", "architectures": None}, "nonsense"),
    ],
)
def test_a_bad_value_in_the_configuration_is_named(folder, changes: dict[str, object], says: str):
    configure(folder, **changes)
    with pytest.raises(ModelError, match=says) as raised:
        Encoder.from_pretrained(folder)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("text", ["", "[]", "[" * 5000])
def test_a_json_file_that_is_none_is_named(folder, name: str, text: str):
    (folder / name).write_text(text)
    with pytest.raises(ModelError, match=name):
        Encoder.from_pretrained(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        *(
            (lambda folder, text=text: (folder / "tokenizer.json").write_text(text), "download the files again")
            for text in ("{}", '{"added_tokens": []}', '{"added_tokens": [3], "model": {}}')
        ),
        (lambda folder: configure_tokenizer(folder, pad_token=3), r"pad_token .*; correct tokenizer_config"),
    ],
)
def test_files_that_describe_no_tokenizer_are_named(folder, change: Change, says: str):
    change(folder)
    with pytest.raises(ModelError, match=rf"cannot load the tokenizer of .* {says}") as raised:
        Encoder.from_pretrained(folder)
    assert str(folder) in str(raised.value)


@pytest.mark.parametrize(
    ("tokenizer_class", "says"),
    [
        *((name, f"a WordPiece tokenizer, but {name}, .* is of") for name in ("RobertaTokenizer", "ByT5Tokenizer")),
        ("T5Tokenizer", "cannot load the tokenizer of "),
    ],
)
def test_a_tokenizer_class_that_does_not_fit_is_refused(folder, tokenizer_class: str, says: str):
    configure_tokenizer(folder, tokenizer_class=tokenizer_class)
    change_weights(folder, lambda w: w.update({"embeddings.word_embeddings.weight": torch.zeros(500, 24)}))
    configure(folder, vocab_size=500)  # so that a vocabulary that grew by other special tokens is not what is refused
    with pytest.raises(
        ModelError, match=rf'{says}.*; correct tokenizer_config\.json, .* "PreTrainedTokenizerFast" reads any'
    ) as raised:
        Encoder.from_pretrained(folder)
    assert str(folder) in str(raised.value)
    configure_tokenizer(folder, tokenizer_class="PreTrainedTokenizerFast")  # the way out that the message names
    pieces = tiny.pieces(Encoder.from_pretrained(folder), Sentence.from_text("a cat"))
    assert pieces.special[0]
    assert not pieces.unknown


def _without_pieces(folder: Path) -> None:
    described = json.loads((folder / "tokenizer.json").read_text())
    specials = [token["content"] for token in described["added_tokens"]]
    described["model"]["vocab"] = {piece: number for number, piece in enumerate(specials)}
    (folder / "tokenizer.json").write_text(json.dumps(described))


def _of_another_type(folder: Path) -> None:
    """Let the type of the model choose the class of the tokenizer."""
    (folder / "tokenizer_config.json").unlink()
    configure(folder, model_type="albert", architectures=None)


def _only(folder: Path, name: str, text: str | None = None) -> None:
    """Replace ``tokenizer.json`` by a file with its vocabulary, one piece a line, or with another text."""
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "tokenizer.json").unlink()
    (folder / name).write_text("\n".join(sorted(vocabulary, key=vocabulary.get)) if text is None else text)


@pytest.mark.parametrize(
    ("change", "tokenizer_class", "says"),
    [
        (_without_pieces, None, r"no vocabulary besides .* reads tokenizer\.json .* the folder has tokenizer\.json"),
        (
            lambda folder: _only(folder, "x.txt"),
            "BertTokenizer",
            r"reads tokenizer\.json or vocab\.txt, and the folder has tokenizer_config\.json; ",
        ),
        (
            lambda folder: _only(folder, "vocab.txt"),
            "RobertaTokenizer",
            r"RobertaTokenizer has no .* or vocab\.json, and the folder has .*vocab\.txt; ",
        ),
        (
            lambda folder: _only(folder, "vocab.txt"),
            "PreTrainedTokenizerFast",
            r'instantiate the backend tokenizer .* "BertTokenizer" reads vocab\.txt',
        ),
        (
            lambda folder: _only(folder, "vocab.txt", "version https://git-lfs.github.com/spec/v1\noid 12\nsize 3\n"),
            "BertTokenizer",
            r"Missing \[UNK\] token from the vocabulary; ",
        ),
        (_of_another_type, None, r'tokenizer .* "PreTrainedTokenizerFast" reads any tokenizer\.json'),
    ],
)
def test_a_vocabulary_that_is_not_read_is_named_with_its_cause(
    folder, change: Change, tokenizer_class: str | None, says: str
):
    change(folder)
    if tokenizer_class:
        configure_tokenizer(folder, tokenizer_class=tokenizer_class)
    with pytest.raises(ModelError, match=says) as raised:
        Encoder.from_pretrained(folder)
    assert "missing?" not in str(raised.value)


def test_the_way_out_that_the_message_names_reads_the_vocabulary(folder):
    expected = Encoder.from_pretrained(folder).tokenizer.get_vocab()
    _only(folder, "vocab.txt")
    configure_tokenizer(folder, tokenizer_class="BertTokenizer")
    assert Encoder.from_pretrained(folder).tokenizer.get_vocab() == expected


@pytest.mark.parametrize("auto_class", [transformers.AutoModel, transformers.AutoModelForMaskedLM])
@pytest.mark.parametrize("family", ["roberta", "gpt2"])
def test_weights_of_another_family_are_refused(tmp_path, auto_class: Any, family: str):
    configure(save(tmp_path, auto_class=auto_class), model_type=family)
    with pytest.raises(ModelError, match=rf"model_type is '{family}', but the weights were saved from Bert"):
        Encoder.from_pretrained(tmp_path)


def test_families_that_compute_the_same_may_stand_for_each_other(tmp_path):
    configure(save(tmp_path, "roberta"), model_type="xlm-roberta")
    assert Encoder.from_pretrained(tmp_path).family == "xlm-roberta"
