"""Weights that are held in bfloat16 and computed with in float32, and the float64 copy of unusual models."""

from __future__ import annotations

import copy
import weakref
from typing import Any, Literal

import pytest
import torch
import transformers

from attentionology import CorpusOptions, CountOptions, ModelOptions, analyze
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, ModelError, extract
from attentionology.extractors.checks.doctor import Examination
from attentionology.extractors.kinds import get_kind, list_kinds
from attentionology.extractors.layers import weights as reading
from tests import tiny

SENTENCES = [Sentence("a", ("an", "unbelievably", "old", "dog", "barks")), Sentence("b", ("hi", "you"))]
DTYPES: tuple[Literal["float32", "bfloat16"], ...] = ("float32", "bfloat16")
FAMILIES = ("llama", "gpt2", "gemma2", "falcon", "bert", "albert", "modernbert")


def saved(folder, family, dtype=torch.bfloat16):
    built = tiny.randomize(family, **({} if family == "gpt2" else {"max_position_embeddings": 256}))
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
    kinds = ["attnresln", "value-zeroing"]  # which need all that the others need
    for kind in ["weight", "norm", *kinds] if family == "llama" else kinds:
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
    groups: list[Any] = [CorpusOptions(limit=4), CountOptions(replicates=20)]
    one, other = (
        analyze(folder, analyses="dependency", maps="norm", options=[*groups, ModelOptions(dtype=dtype)])
        for dtype in DTYPES
    )
    assert [run.record["model"]["dtype"] for run in (one, other)] == [*DTYPES]
    assert {"dependency", "dependency_best"} <= set(one.tables)
    for name, table in one.tables.items():
        assert table.to_csv() == other.tables[name].to_csv(), name
    assert len(one.tables["dependency"])


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


def test_model_of_quantizable_layers_is_healthy():
    """The tables of I-BERT are modules of their own, whose results are pairs."""
    config = transformers.IBertConfig(**{**tiny.SIZE, "max_position_embeddings": 128}, vocab_size=400, pad_token_id=0)
    model = tiny.build(config)
    encoder = Encoder(model, tiny.fresh_tokenizer("bytes"))
    checks = list(Examination(encoder, load_treebank(SAMPLE_TREEBANK, limit=4)).checks())
    assert [check for check in checks if check.passed is False] == []
    # The reason is printed once for all kinds that have it.
    [missing] = [check for check in checks if check.name.startswith("no maps of")]
    assert missing.name == f"no maps of {', '.join(name for name in list_kinds() if get_kind(name).reads_weights)}"
    sentences = load_treebank(SAMPLE_TREEBANK, limit=2)
    naive = copy.deepcopy(model).double()
    for batch in extract(encoder, sentences, level="token"):
        for sentence, exact in zip(batch.sentences, batch.exact(range(len(batch))), strict=True):
            pieces = tiny.pieces(encoder, sentence)
            ids = torch.tensor([pieces.ids])
            expected = naive(input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True).attentions
            torch.testing.assert_close(exact, torch.cat(expected), atol=1e-12, rtol=0)


@pytest.mark.parametrize("window", [4, 22, pytest.param(8, marks=pytest.mark.slow)])
def test_narrow_sliding_windows(window):
    """In float64, rows of padding outside the window are NaN, so that a padded batch would spoil the next layer."""
    encoder = tiny.encoder("modernbert", max_position_embeddings=128, local_attention=window)
    sentences = list(load_treebank(SAMPLE_TREEBANK, limit=3))
    if window == 4:
        examination = Examination(encoder, sentences)
        assert [check for check in examination.checks() if check.passed is False] == []
        assert set(examination.obstacles) == {"globenc"}
    double = Encoder(copy.deepcopy(encoder.model).double(), encoder.tokenizer)
    for reader in (encoder, double):
        for batch in extract(reader, sentences, "norm", level="token"):
            for index, sentence in enumerate(batch.sentences):
                pieces = tiny.pieces(encoder, sentence)
                expected = naive_norms(double.model, pieces.ids)
                exact = batch.exact([index])[0]
                torch.testing.assert_close(exact, expected, atol=1e-5, rtol=1e-5)
                n = expected.shape[-1]
                rounded = batch.maps[index, ..., :n, :n].double()
                torch.testing.assert_close(rounded, expected, atol=1e-4, rtol=1e-4)


def naive_norms(model, ids):
    """The norms of what each head moves between all pieces of one input, with the modules of the model itself."""
    ids = torch.tensor([ids])
    output = model(input_ids=ids, output_attentions=True, output_hidden_states=True)
    norms = []
    for layer, alpha, x in zip(model.layers, output.attentions, output.hidden_states[:-1], strict=True):
        heads = alpha.shape[1]
        values = layer.attn.Wqkv(layer.attn_norm(x))[0].chunk(3, -1)[2]
        size = values.shape[-1] // heads
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            moved = values[:, part] @ layer.attn.Wo.weight[:, part].T
            norms.append(alpha[0, head] * moved.norm(dim=-1))
    return torch.stack(norms).view(len(model.layers), -1, *norms[0].shape).detach()


def test_model_without_a_float64_copy_is_an_error_that_says_so(monkeypatch):
    encoder = tiny.encoder()

    def refuse(model):
        raise AttributeError("'Table' object has no attribute 'rows'")

    monkeypatch.setattr("attentionology.extractors.model.loaded_model.float64_twin", refuse)
    with pytest.raises(ModelError, match=r"tiny bert: it cannot be computed in float64, .*'rows'"):
        _ = encoder.double
