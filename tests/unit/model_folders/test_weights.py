"""Weights that are not what they seem: each file is refused with its cause, and nothing legitimate is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file

from attentionology.extractors import Encoder, ModelError, load_classifier, load_masked_lm
from attentionology.extractors.model.files import check_files
from tests import tiny
from tests.unit.model_folders.folders import (
    INDEX,
    SHARDS,
    WEIGHTS,
    Change,
    change_weights,
    configure,
    cut,
    reindex,
    save,
)


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda path: cut(path, 5000), r"\(5,000 bytes\) is not a whole safetensors file .*download it again"),
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
    with pytest.raises(ModelError, match=rf"{SHARDS[1]}' is missing"):
        Encoder.from_pretrained(shards)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1]", "must contain a JSON object, not list"),
        ('{"metadata": {}, "weight_map": {}}', "must have metadata and a weight_map"),
        ('{"metadata": {}, "weight_map": {"a": 3}}', "names 3, which is not a safetensors file"),
        ('{"weight_map": {"a": "a.safetensors"}}', "must have metadata"),
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
        (lambda f: change_weights(f, lambda w: w.update({"x": torch.ones(3, dtype=torch.int8)})), "'x' .*I8"),
    ],
)
def test_what_would_be_read_otherwise_is_refused(folder, prepare: Change, says: str):
    prepare(folder)
    with pytest.raises(ModelError, match=says):
        Encoder.from_pretrained(folder)


def test_weights_that_are_complex_are_refused(folder):
    """Only their real parts would be read, with a warning of PyTorch that nobody sees."""
    name = "encoder.layer.0.attention.self.query.weight"
    try:
        change_weights(folder, lambda weights: weights.update({name: weights[name] * (1 + 1j)}))
    except KeyError:
        pytest.skip("this version of safetensors stores no complex numbers")
    with pytest.raises(ModelError, match=rf"'{name}' is stored as C64, complex numbers"):
        Encoder.from_pretrained(folder)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
@pytest.mark.parametrize("name", ["encoder.layer.0.attention.self.query.weight", "embeddings.LayerNorm.bias"])
def test_weights_that_are_whole_numbers_are_refused(folder, name: str, dtype: torch.dtype):
    change_weights(folder, lambda weights: weights.update({name: (10 * weights[name]).to(dtype)}))
    with pytest.raises(ModelError, match=rf"'{name}' is stored as (I64|BOOL), .* no whole numbers"):
        Encoder.from_pretrained(folder)


def test_masks_that_older_versions_stored_are_no_weights(tmp_path):
    save(tmp_path, "gpt2")
    mask = torch.ones(1, 1, 64, 64, dtype=torch.bool).tril()
    change_weights(tmp_path, lambda weights: weights.update({"h.0.attn.bias": mask}))
    assert Encoder.from_pretrained(tmp_path).n_layers == 3


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


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
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


def test_a_good_folder_has_nothing_to_tell_nor_constants_that_older_versions_stored(folder):
    assert check_files(folder) == ()
    assert Encoder.from_pretrained(folder).warnings == []
    change_weights(folder, lambda weights: weights.update({"embeddings.position_ids": torch.arange(64)[None]}))
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
