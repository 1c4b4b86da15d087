"""Model folders that are not what they seem: each is refused with its cause, and nothing legitimate is."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from attentionology.extractors import Encoder, ModelError, load_classifier, load_masked_lm
from attentionology.extractors.model.checkpoint import check_checkpoint
from tests import tiny

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
Change = Callable[[Path], object]


def save(folder: Path, family: str = "bert", auto_class: Any = transformers.AutoModel) -> Path:
    """A model of a family under some head, with its tokenizer."""
    model = auto_class.from_config(tiny.model(family).config)
    model.save_pretrained(folder)
    tiny.fresh_tokenizer(tiny.FAMILIES[family][0]).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("saved"))


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.fixture
def shards(folder: Path) -> Path:
    """The same in two files with an index."""
    weights = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    shard_of = {name: SHARDS[number % 2] for number, name in enumerate(sorted(weights))}
    for shard in SHARDS:
        part = {name: weights[name] for name in weights if shard_of[name] == shard}
        save_file(part, folder / shard, metadata={"format": "pt"})
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": shard_of}))
    return folder


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def configure(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


def reindex(folder: Path, shard: str) -> None:
    """Let the index name another file in place of the second shard."""
    content = json.loads((folder / INDEX).read_text())
    names = {name: shard if file == SHARDS[1] else file for name, file in content["weight_map"].items()}
    (folder / INDEX).write_text(json.dumps({**content, "weight_map": names}))


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda path: cut(path, 5000), r"\(5,000 bytes\) is not a whole safetensors file .*download it again"),
        (lambda path: cut(path, 100), r"\(100 bytes\) is not a whole"),
        (lambda path: cut(path, 3), r"\(3 bytes\) is not a whole"),
        (lambda path: cut(path, 0), r"\(0 bytes\) is empty; download it again"),
        (lambda path: path.write_bytes(path.read_bytes() + b"more"), "is not a whole"),
        (lambda path: path.write_bytes(struct.pack("<Q", 40) + b"x" * 40), r"\(48 bytes\) is not a whole .*JSON"),
        (lambda path: path.write_text("<html>not found</html>"), r"\(22 bytes\) is not a whole"),
        (lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1"), "git lfs pull"),
        (lambda path: (path.unlink(), path.symlink_to("nowhere")), "link to nowhere"),
    ],
)
def test_a_broken_weights_file_is_named_with_its_size(folder, break_it: Change, says: str):
    break_it(folder / WEIGHTS)
    with pytest.raises(ModelError, match=says) as raised:
        Encoder.from_pretrained(folder)
    assert str(folder / WEIGHTS) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_broken_shard_is_named(shards):
    assert Encoder.from_pretrained(shards).n_layers == 3
    cut(shards / SHARDS[1], 2000)
    with pytest.raises(ModelError, match=rf"{SHARDS[1]}' \(2,000 bytes\) is not a whole"):
        Encoder.from_pretrained(shards)
    (shards / SHARDS[1]).unlink()
    with pytest.raises(ModelError, match=rf"names '{SHARDS[1]}', which is missing"):
        Encoder.from_pretrained(shards)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not a JSON file"),
        ("[1]", "holds no JSON object but a list"),
        ("{}", "no weight_map"),
        ('{"metadata": {}, "weight_map": []}', "no weight_map"),
        ('{"metadata": {}, "weight_map": {}}', "no weight_map"),
        ('{"metadata": {}, "weight_map": {"a": 3}}', "names '3'"),
        ('{"weight_map": {"a": "a.safetensors"}}', "no metadata"),
    ],
)
def test_a_broken_index_is_named(shards, text: str, says: str):
    (shards / INDEX).write_text(text)
    with pytest.raises(ModelError, match=says) as raised:
        Encoder.from_pretrained(shards)
    assert INDEX in str(raised.value)


@pytest.mark.parametrize("shard", ["weights.bin", "../outside.safetensors", "{folder}/outside.safetensors"])
def test_an_index_names_nothing_but_safetensors_in_the_folder(shards, monkeypatch: pytest.MonkeyPatch, shard: str):
    shard = shard.format(folder=shards.parent)
    target = shards / shard
    if target.suffix == ".bin":
        torch.save(load_file(shards / SHARDS[1]), target)
    else:
        shutil.copy(shards / SHARDS[1], target)
    reindex(shards, shard)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("a pickle was opened"))
    with pytest.raises(ModelError, match="is not read"):
        Encoder.from_pretrained(shards)


def test_a_snapshot_of_the_hub_cache_is_links_out_of_its_folder(shards, tmp_path):
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(shards.iterdir())):
        shutil.move(file, blobs / str(number))
        (snapshot / file.name).symlink_to(Path("../../blobs") / str(number))
    assert Encoder.from_pretrained(snapshot).n_layers == 3


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda f: (f / "adapter_config.json").write_text('{"peft_type": "LORA"}'), "adapter .*merge"),
        (lambda f: configure(f, quantization_config={"quant_method": "gptq"}), "quantized"),
        (lambda f: configure(f, transformers_weights="adapter_model.bin"), "transformers_weights"),
        (
            lambda f: configure(f, model_type="own", architectures=["Own"], auto_map={"AutoModel": "own.Own"}),
            "auto_map",
        ),
        (lambda f: shutil.copy(f / WEIGHTS, f / "shard-00001-model-00001-of-00001.safetensors"), "distributed"),
        (lambda f: change_weights(f, lambda w: w.update({"x": torch.ones(3, dtype=torch.int8)})), "'x' .*I8"),
    ],
)
def test_what_would_be_read_otherwise_is_refused(folder, prepare: Change, says: str):
    prepare(folder)
    with pytest.raises(ModelError, match=says):
        Encoder.from_pretrained(folder)


def test_code_beside_a_known_architecture_is_not_run_and_the_user_is_told(folder, tmp_path):
    configure(folder, auto_map={"AutoModel": "own.Own", "AutoConfig": "own.OwnConfig"})
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    encoder = Encoder.from_pretrained(folder)
    assert any("auto_map" in warning and "never run" in warning for warning in encoder.warnings)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_attention_heads": 0}, "num_attention_heads must be a whole number of at least 1, not 0"),
        ({"num_attention_heads": "12"}, "num_attention_heads .* not '12'"),
        ({"num_attention_heads": True}, "num_attention_heads .* not True"),
        ({"num_attention_heads": 5}, "multiple of the number of attention heads"),
        ({"num_hidden_layers": -1}, "num_hidden_layers .* not -1"),
        ({"_attn_implementation": "someone/kernel"}, "_attn_implementation names a kernel on the Hub"),
        ({"num_hidden_layers": 10**8}, "num_hidden_layers is 100,000,000"),
        ({"hidden_size": 24.0}, r"hidden_size .* not 24\.0"),
        ({"vocab_size": -5}, "vocab_size .* not -5"),
        ({"vocab_size": 10**9}, "vocab_size is 1,000,000,000, more than the weights"),
        ({"vocab_size": 380}, r"word_embeddings.weight is \[374, 24\] in the checkpoint, and \[380, 24\]"),
        (
            {"max_position_embeddings": 32},
            r"position_embeddings.weight is \[64, 24\] in the checkpoint, and \[32, 24\]",
        ),
        ({"layer_norm_eps": "x"}, "layer_norm_eps"),
        ({"hidden_act": "nonsense"}, "nonsense"),
        ({"pad_token_id": 99999}, "padding_idx|Padding_idx"),
        ({"model_type": ["bert"]}, "model_type must be a string"),
        ({"id2label": [1]}, "id2label must be an object"),
        ({"model_type": "nonsense", "architectures": None}, "nonsense"),
    ],
)
def test_a_bad_value_in_the_configuration_is_named(folder, changes: dict[str, object], says: str):
    configure(folder, **changes)
    with pytest.raises(ModelError, match=says) as raised:
        Encoder.from_pretrained(folder)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 5000, "\x00"])
def test_a_json_file_that_is_none_is_named(folder, name: str, text: str):
    (folder / name).write_text(text)
    with pytest.raises(ModelError, match=name):
        Encoder.from_pretrained(folder)


@pytest.mark.parametrize("tokenizer_class", ["RobertaTokenizer", "GPT2Tokenizer", "T5Tokenizer", "ByT5Tokenizer", 3])
def test_a_tokenizer_class_that_does_not_fit_is_refused(folder, tokenizer_class: object):
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "tokenizer_class": tokenizer_class}))
    change_weights(folder, lambda w: w.update({"embeddings.word_embeddings.weight": torch.zeros(500, 24)}))
    configure(folder, vocab_size=500)  # so that a vocabulary that grew by other special tokens is not what is refused
    with pytest.raises(ModelError, match="tokenizer"):
        Encoder.from_pretrained(folder)


@pytest.mark.parametrize("auto_class", [transformers.AutoModel, transformers.AutoModelForMaskedLM])
@pytest.mark.parametrize("family", ["roberta", "electra", "gpt2"])
def test_weights_of_another_family_are_refused(tmp_path, auto_class: Any, family: str):
    configure(save(tmp_path, auto_class=auto_class), model_type=family)
    with pytest.raises(ModelError, match=rf"model_type is '{family}', but the weights were saved from Bert"):
        Encoder.from_pretrained(tmp_path)


def test_families_that_compute_the_same_may_stand_for_each_other(tmp_path):
    configure(save(tmp_path, "roberta"), model_type="xlm-roberta")
    assert Encoder.from_pretrained(tmp_path).family == "xlm-roberta"


@pytest.mark.parametrize(
    "load", [Encoder.from_pretrained, lambda f: load_classifier(f, labels=["a", "b"])], ids=["bare", "classifier"]
)
@pytest.mark.parametrize("auto_class", [transformers.AutoModel, transformers.AutoModelForMaskedLM])
def test_layers_that_would_not_be_used_are_an_error(tmp_path, auto_class: Any, load: Any):
    configure(save(tmp_path, auto_class=auto_class), num_hidden_layers=2)
    with pytest.raises(ModelError, match=r"more layers than config.json says; 16 .*encoder\.layer\.2\."):
        load(tmp_path)


@pytest.mark.parametrize("name", ["embeddings.word_embeddings.weight", "embeddings.LayerNorm.bias"])
@pytest.mark.parametrize(
    "load", [Encoder.from_pretrained, lambda f: load_classifier(f, labels=["a", "b"])], ids=["bare", "classifier"]
)
def test_embeddings_that_are_not_the_checkpoints_are_an_error(folder, name: str, load: Any):
    change_weights(folder, lambda weights: weights.pop(name))
    with pytest.raises(ModelError, match=rf"lacks 1 weights .*{name}"):
        load(folder)


def test_left_over_tensors_of_the_model_itself_are_a_warning(folder):
    change_weights(folder, lambda weights: weights.update({"encoder.layer.0.adapter.weight": torch.ones(3)}))
    encoder = Encoder.from_pretrained(folder)
    assert encoder.files.unused.others == ("encoder.layer.0.adapter.weight",)
    assert any("encoder.layer.0.adapter.weight" in warning for warning in encoder.warnings)


def test_constants_that_older_versions_stored_are_nothing_to_tell(folder):
    change_weights(folder, lambda weights: weights.update({"embeddings.position_ids": torch.arange(64)[None]}))
    assert Encoder.from_pretrained(folder).warnings == []


HEADS = (
    transformers.AutoModel,
    transformers.AutoModelForMaskedLM,
    transformers.AutoModelForPreTraining,
    transformers.AutoModelForSequenceClassification,
    transformers.AutoModelForTokenClassification,
    transformers.AutoModelForQuestionAnswering,
    transformers.AutoModelForCausalLM,
)


@pytest.mark.slow
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_heads_of_all_families_are_left_over_without_a_warning(tmp_path, family: str):
    tried, config = 0, tiny.model(family).config
    for auto_class in HEADS:
        if type(config) not in auto_class._model_mapping or (family == "bart" and "Causal" in auto_class.__name__):
            continue  # BartForCausalLM has no encoder
        folder = tmp_path / auto_class.__name__
        save(folder, family, auto_class)
        loaded = Encoder.from_pretrained(folder)
        assert loaded.warnings == [], auto_class.__name__
        assert loaded.files.unused.others == ()
        base = auto_class is transformers.AutoModel
        if type(config) in transformers.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING:
            load_classifier(folder, labels=["a", "b"])
        assert not (base and loaded.files.unused.heads)
        tried += 1
    assert tried >= 3


def test_the_decoder_is_not_needed(tmp_path):
    save(tmp_path, "bart")
    change_weights(tmp_path, lambda w: [w.pop(name) for name in list(w) if name.startswith("decoder.")])
    assert Encoder.from_pretrained(tmp_path).warnings == []
    change_weights(tmp_path, lambda w: w.pop("encoder.layers.0.fc1.weight"))
    with pytest.raises(ModelError, match=r"lacks 1 weights .*encoder\.layers\.0\.fc1\.weight"):
        Encoder.from_pretrained(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["encoder.layer.2.output.dense.weight", "embeddings.word_embeddings.weight"])
def test_weights_that_are_not_finite_are_an_error(folder, name: str, value: float):
    change_weights(folder, lambda weights: weights[name].view(-1)[7:9].fill_(value))
    with pytest.raises(ModelError, match=rf"{name} has 2 of "):
        Encoder.from_pretrained(folder)


def test_weights_too_large_for_float32_are_an_error(folder):
    name = "encoder.layer.0.output.dense.bias"
    change_weights(folder, lambda weights: weights.update({name: torch.full((24,), 1e300, dtype=torch.float64)}))
    with pytest.raises(ModelError, match=f"{name} has 24 of 24 values .* as float32"):
        Encoder.from_pretrained(folder)


def test_a_head_that_is_not_finite_is_an_error(tmp_path):
    save(tmp_path, auto_class=transformers.AutoModelForMaskedLM)
    change_weights(tmp_path, lambda weights: weights["cls.predictions.bias"].fill_(float("nan")))
    assert Encoder.from_pretrained(tmp_path).n_layers == 3  # attention does not depend on it
    with pytest.raises(ModelError, match=r"cls\.predictions\.bias"):
        load_masked_lm(tmp_path)


def test_a_good_folder_has_nothing_to_tell(folder):
    assert check_checkpoint(folder) == []
    assert Encoder.from_pretrained(folder).warnings == []


def test_a_pooler_that_was_never_trained_is_no_part_of_the_checksum(tmp_path):
    save(tmp_path, auto_class=transformers.AutoModelForMaskedLM)
    first, second = Encoder.from_pretrained(tmp_path), Encoder.from_pretrained(tmp_path)
    poolers = [encoder.model.pooler.dense.weight for encoder in (first, second)]
    assert not torch.equal(*poolers)  # random numbers, since a masked-LM checkpoint has no pooler
    assert first.weights_sha256() == second.weights_sha256()
    with torch.no_grad():
        first.model.embeddings.word_embeddings.weight[3, 0] += 1
    assert first.weights_sha256() != second.weights_sha256()
