"""Weights in pickles: read if they are tensors and nothing else, and refused before anything in them runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from attentionology.extractors import Encoder, ModelError
from attentionology.extractors.model.loading import find_model
from attentionology.extractors.model.pickles import pickled_types
from tests import tiny

BIN, INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"


class Writes:
    """An object whose pickle writes a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.write_text, (self.path, "has run")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model without weights."""
    encoder = tiny.encoder()
    encoder.model.config.save_pretrained(tmp_path / "model")
    encoder.tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def weights() -> dict[str, torch.Tensor]:
    return dict(tiny.encoder().model.state_dict())


@pytest.mark.parametrize("new", [True, False])
def test_weights_in_a_pickle_are_those_of_the_model(folder: Path, new: bool) -> None:
    """Also in the format before PyTorch 1.6, with a prefix, a task head, and the names of old layer norms."""
    old_names = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): each
        for name, each in weights().items()
    }
    old_names |= {"cls.predictions.bias": torch.zeros(2), "bert.embeddings.position_ids": torch.arange(64)[None]}
    torch.save(old_names, folder / BIN, _use_new_zipfile_serialization=new)
    encoder = Encoder.from_pretrained(folder)
    loaded = encoder.model.state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in weights().items())
    assert encoder.files.sha256 == {BIN: hashlib.sha256((folder / BIN).read_bytes()).hexdigest()}
    assert encoder.files.warnings == ()


def test_several_pickles_are_read_by_their_index(folder: Path) -> None:
    names = list(weights())
    parts = {"pytorch_model-1.bin": names[::2], "pytorch_model-2.bin": names[1::2]}
    for file, of_part in parts.items():
        torch.save({name: weights()[name] for name in of_part}, folder / file)
    index = {"metadata": {}, "weight_map": {name: file for file, of_part in parts.items() for name in of_part}}
    (folder / INDEX).write_text(json.dumps(index))
    encoder = Encoder.from_pretrained(folder)
    assert all(torch.equal(encoder.model.state_dict()[name], tensor) for name, tensor in weights().items())
    assert [*encoder.files.sha256] == sorted(parts)


@pytest.mark.parametrize("name", ["../other.bin", "model.safetensors", "a/b.bin"])
def test_an_index_of_pickles_names_pickles_beside_it(folder: Path, name: str) -> None:
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": {"a": name}}))
    with pytest.raises(ModelError, match="is not a file of pickled weights in the model's folder and is not read"):
        find_model(folder)


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("nested", [True, False])
def test_a_pickle_that_would_run_code_is_refused_before_it_does(
    folder: Path, tmp_path: Path, new: bool, nested: bool
) -> None:
    trace = tmp_path / "trace"
    content = {**weights(), "x": Writes(trace)} if nested else Writes(trace)
    torch.save(content, folder / BIN, _use_new_zipfile_serialization=new)
    with pytest.raises(ModelError, match=r"pytorch_model\.bin.*may run code; it was not read .*(GLOBAL|Unsupported)"):
        Encoder.from_pretrained(folder)
    assert not trace.exists()
    torch.load(folder / BIN, weights_only=False)  # what the file does if it is opened in any other way
    assert trace.read_text() == "has run"


def test_a_pickle_beside_safetensors_is_not_opened(folder: Path, tmp_path: Path) -> None:
    torch.save(Writes(tmp_path / "trace"), folder / BIN)
    tiny.encoder().model.save_pretrained(folder)
    encoder = Encoder.from_pretrained(folder)
    assert [*encoder.files.sha256] == ["model.safetensors"]
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([torch.zeros(2)], "must contain tensors by their names, not list"),
        ({"a": torch.zeros(2), "b": {"c": 1}}, "'b' is no tensor, but dict"),
        ({3: torch.zeros(2)}, "must contain tensors by their names, not dict"),
    ],
)
def test_files_of_anything_but_weights_are_refused(folder: Path, content: Any, said: str) -> None:
    torch.save(content, folder / BIN)
    with pytest.raises(ModelError, match=said):
        find_model(folder)


@pytest.mark.parametrize(
    ("dtype", "said"), [(torch.int8, "stored as I8"), (torch.complex64, "stored as C64, complex numbers")]
)
def test_types_are_checked_as_those_of_safetensors(folder: Path, dtype: torch.dtype, said: str) -> None:
    torch.save({**weights(), "encoder.layer.0.output.dense.weight": torch.zeros(2, 2, dtype=dtype)}, folder / BIN)
    with pytest.raises(ModelError, match=said):
        find_model(folder)


def test_a_file_that_was_cut_off_is_refused(folder: Path) -> None:
    torch.save(weights(), folder / BIN)
    content = (folder / BIN).read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"version https://git-lfs.github.com/spec/v1\n"):
        (folder / BIN).write_bytes(damaged)
        with pytest.raises(ModelError, match=rf"pytorch_model\.bin.*\({len(damaged):,} bytes\)"):
            find_model(folder)


def test_types_have_the_names_of_safetensors(tmp_path: Path) -> None:
    tensors = {"a": torch.zeros(2, dtype=torch.bfloat16), "b": torch.zeros(1, dtype=torch.bool), "c": torch.zeros(3)}
    torch.save(tensors, tmp_path / BIN)
    assert pickled_types(tmp_path / BIN) == {"a": "BF16", "b": "BOOL", "c": "F32"}


def test_rounding_is_said_of_pickles_too(folder: Path) -> None:
    torch.save(weights(), folder / BIN)
    files = Encoder.from_pretrained(folder, dtype=torch.bfloat16).files
    assert "weights in F32, which --dtype bfloat16 has rounded" in " ".join(files.warnings)
