"""Weights that are held in bfloat16 and computed with in float32: half the memory, and the same results."""

from __future__ import annotations

import json
import weakref
from typing import Any

import pandas as pd
import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Encoder, extract
from attentionology.extractors.layers import weights as reading
from attentionology.scripts.cli import main
from tests import tiny

SENTENCES = [Sentence("a", ("an", "unbelievably", "old", "dog", "barks")), Sentence("b", ("hi", "you"))]
FAMILIES = ("llama", "gpt2", "gemma2", "falcon", "bert", "albert", "modernbert")


def saved(folder, family, dtype=torch.bfloat16):
    built = tiny.randomised(family, **({} if family == "gpt2" else {"max_position_embeddings": 256}))
    built.model.to(dtype).save_pretrained(folder)
    built.tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_in_bfloat16_gives_the_same_bits(tmp_path, family):
    """Maps in float32 and in float64 are those of the same weights, loaded in float32."""
    folder = saved(tmp_path, family)
    plain, held = (Encoder.from_pretrained(folder, dtype=dtype) for dtype in (torch.float32, torch.bfloat16))
    assert (held.dtype, held.held_dtype) == (torch.float32, torch.bfloat16)
    assert (plain.dtype, plain.held_dtype) == (torch.float32, torch.float32)
    sizes = [sum(parameter.nbytes for parameter in encoder.held.parameters()) for encoder in (plain, held)]
    assert sizes[0] == 2 * sizes[1]
    assert held.warnings == plain.warnings
    kinds = ["weight", "norm", "attnresln", "value-zeroing"]
    for kind in kinds:
        for one, other in zip(*(extract(e, SENTENCES, kind) for e in (plain, held)), strict=True):
            assert torch.equal(one.maps, other.maps)
            assert other.maps.dtype == torch.float32
            for exact, expected in zip(other.exact([0, 1]), one.exact([0, 1]), strict=True):
                assert torch.equal(exact, expected)
                assert exact.dtype == torch.float64
    if family == "llama":
        copies = [e.random_init(3) for e in (plain, held)]
        assert torch.equal(*(next(extract(e, SENTENCES)).maps for e in copies))


def test_a_checkpoint_in_float32_is_rounded_with_a_warning(tmp_path):
    folder = saved(tmp_path, "llama", torch.float32)
    encoder = Encoder.from_pretrained(folder, dtype=torch.bfloat16)
    assert [warning for warning in encoder.warnings if "weights in F32, which --dtype bfloat16 has rounded" in warning]
    assert not [warning for warning in Encoder.from_pretrained(folder).warnings if "rounded" in warning]


def test_layers_of_views_are_read_when_they_are_needed(tmp_path):
    """No layer stays in memory after the next has been read, and a change of weights is seen at once."""
    held = Encoder.from_pretrained(saved(tmp_path, "llama"), dtype=torch.bfloat16)
    for encoder in (held, held.double):
        weights = encoder.layers.weights
        assert weights[0] is not weights[0]
        before = weights[1].w_o.clone()
        held.held.layers[1].self_attn.o_proj.weight.data.mul_(2)
        assert torch.equal(encoder.layers.weights[1].w_o, 2 * before)
        assert torch.equal(encoder.layers.weights[1].gram, 4 * (before @ before.T))
        held.held.layers[1].self_attn.o_proj.weight.data.div_(2)


def test_runs_have_the_same_tables_and_record_the_type(tmp_path):
    folder = saved(tmp_path / "model", "llama")
    runs = {}
    for dtype in ("float32", "bfloat16"):
        runs[dtype] = tmp_path / dtype
        command = ["analyze", "--model", str(folder), "--limit", "4", "--replicates", "20", "--map", "weight", "norm"]
        assert main([*command, "--analyses", "dependency,surface", "--dtype", dtype, "--out", str(runs[dtype])]) == 0
        assert json.loads((runs[dtype] / "run.json").read_text())["model"]["dtype"] == dtype
    tables = sorted(path.name for path in (runs["float32"] / "tables").glob("*.csv"))
    assert len(tables) > 4
    for name in tables:
        one, other = ((run / "tables" / name).read_bytes() for run in runs.values())
        assert one == other, name
    assert len(pd.read_csv(runs["float32"] / "tables" / "dependency.csv"))


def test_translation_models_are_not_held_in_bfloat16(tmp_path, capsys):
    assert main(["align", "--dtype", "bfloat16", "--out", str(tmp_path / "out")]) == 2
    assert "--dtype is for encoders and decoders" in capsys.readouterr().err


def test_layers_of_the_float64_view_are_read_one_after_the_other(monkeypatch):
    """All of them together would take four times the memory of a model in bfloat16."""
    read = reading._read_layer
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most: list[int] = []

    def counted(*arguments: Any) -> Any:
        layer = read(*arguments)
        alive.add(layer)
        most.append(len(alive))
        return layer

    monkeypatch.setattr(reading, "_read_layer", counted)
    assert len(tiny.encoder("llama", num_hidden_layers=6).double.layers.weights) == 6
    assert len(most) >= 6
    assert max(most) <= 3
