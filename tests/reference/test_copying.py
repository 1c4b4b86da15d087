"""Copying by eigenvalues: matrices whose eigenvalues are known, and the product of a model's own matrices."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

import attentionology
from attentionology import load_treebank
from attentionology.analyses.norms.copying import copied_shares, copying_score, copying_scores, output_embeddings
from attentionology.corpora_loaders import Sentence
from tests import tiny


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        (torch.eye(2), 1),
        (-torch.eye(2), -1),
        (torch.tensor([[0.0, -1.0], [1.0, 0.0]]), 0),  # a rotation by 90°: ±i
        (torch.diag(torch.tensor([3.0, -1.0])), 0.5),
    ],
)
def test_known_eigenvalues(product, expected):
    """Also if the head has fewer dimensions than the stream, whose further eigenvalues are 0."""
    assert copying_score(product, torch.eye(2)) == pytest.approx(expected, abs=1e-7)
    into = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    back = torch.linalg.pinv(into)
    assert copying_score(into @ product.double(), back) == pytest.approx(expected, abs=1e-7)


def test_a_head_that_gives_nothing_has_no_score():
    assert math.isnan(copying_score(torch.zeros(3, 2), torch.ones(2, 3)))


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_scores_are_those_of_the_whole_matrix(family):
    """From what the modules do to the unit vectors of the stream, with shared values and the norm before attention."""
    encoder = tiny.randomize(family)
    weights = encoder.layers.weights[1]
    unit = torch.eye(24, dtype=torch.float64)
    double = encoder.model.double()
    if family == "bert":
        attention = double.encoder.layer[1].attention
        value, output, read = attention.self.value, attention.output.dense, unit
    else:
        layer = double.layers[1]
        value, output, read = layer.self_attn.v_proj, layer.self_attn.o_proj, unit * layer.input_layernorm.weight
    with torch.no_grad():
        values = read @ value.weight.T
        size = output.weight.shape[1] // 4
        shared = values.view(24, -1, size).repeat_interleave(4 * size // values.shape[1], 1)
        for head, score in enumerate(copying_scores(weights)):
            whole = torch.linalg.eigvals(shared[:, head] @ output.weight.T[head * size : (head + 1) * size])
            assert score == pytest.approx(float(whole.real.sum() / whole.abs().sum()), abs=1e-5)


def copier(sign: float) -> tuple[attentionology.Encoder, torch.Tensor]:
    """A model of one layer and one head that attends to a single piece and writes it, times a sign, and its embeddings.

    Its rows of attention are nearly one-hot, because queries and keys are large, and its embeddings nearly orthogonal.
    """
    encoder = tiny.encoder("bert", hidden_size=256, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    model = encoder.model
    attention = model.encoder.layer[0].attention
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.normal_(generator=generator)
        model.embeddings.position_embeddings.weight.zero_()
        model.embeddings.token_type_embeddings.weight.zero_()
        for part in (attention.self.query, attention.self.key):
            part.weight.normal_(std=0.1, generator=generator)
        for part, matrix in ((attention.self.value, torch.eye(256)), (attention.output.dense, sign * torch.eye(256))):
            part.weight.copy_(matrix)
            part.bias.zero_()
    return encoder, model.embeddings.word_embeddings.weight.detach()


def test_a_head_that_writes_what_it_attends_to_copies():
    assert copied_shares(*copier(1))[0][0] > 0.95
    assert copied_shares(*copier(-1)) == [[0]]
    encoder, embeddings = copier(1)
    shuffled = embeddings[torch.randperm(len(embeddings), generator=torch.Generator().manual_seed(2))]
    assert copied_shares(encoder, shuffled)[0][0] < 0.15  # by chance, 1 of 25
    assert copied_shares(encoder, embeddings[:, :8]) is None  # they read vectors of another width


@torch.no_grad()
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_shares_are_those_of_a_loop_over_positions(family, monkeypatch):
    """In float64, from the hidden states and the modules' own weights, for two sequences."""
    monkeypatch.setattr("attentionology.analyses.norms.copying._SEQUENCES", 2)
    encoder = tiny.randomize(family)
    n = len(encoder.tokenizer)
    output = torch.randn(n, 24, generator=torch.Generator().manual_seed(3))
    read: list[Sentence] = []
    align = encoder.align
    monkeypatch.setattr(encoder, "align", lambda sentences: (read.extend(sentences), align(sentences))[1])
    shares = copied_shares(encoder, output)
    monkeypatch.undo()
    assert [len({*sentence.words}) for sentence in read] == [25, 25]
    copies, total = torch.zeros(encoder.n_layers, encoder.n_heads), 0
    for sentence in read:
        pieces = tiny.pieces(encoder, sentence)
        forward = encoder.forward([pieces], hidden_states=True)
        special = 1 if family == "bert" else 0
        assert len(pieces) == 25 + 2 * special
        unembedded = output[pieces.ids[special : special + 25]].double()
        total += 24
        for index in range(encoder.n_layers):
            x = forward.hidden_states[index][0].double()
            if family == "bert":
                attention = encoder.model.encoder.layer[index].attention
                values = x @ attention.self.value.weight.double().T + attention.self.value.bias.double()
                moving = attention.output.dense.weight.double().T
            else:
                block = encoder.model.h[index]
                both = block.attn.c_attn
                values = block.ln_1.double()(x) @ both.weight.double() + both.bias.double()
                values, moving = values[:, 48:], block.attn.c_proj.weight.double()
                block.ln_1.float()
            for head in range(encoder.n_heads):
                inner = slice(6 * head, 6 * head + 6)
                for q in range(1, 25):
                    row = forward.attentions[index][0, head, q + special].double()
                    added = sum(row[k + special] * (values[k + special, inner] @ moving[inner]) for k in range(25))
                    logits = [float(added @ unembedded[k]) for k in range(25)]
                    weights = [float(row[k + special]) for k in range(25)]
                    copies[index, head] += logits.index(max(logits)) == weights.index(max(weights))
    assert torch.allclose(torch.tensor(shares), copies / total, atol=1e-6)
    assert 0 < copies.sum() < copies.numel() * total / 2


def test_a_run_has_shares_if_the_model_has_a_head_for_predictions(monkeypatch):
    with monkeypatch.context() as patched:
        encoder = tiny.encoder_from_folder()
        patched.setattr(
            "attentionology.engine.analyze.load_head", lambda *_, **__: tiny.language_model(encoder, "MaskedLM")
        )
        table = attentionology.analyze(encoder, load_treebank("sample", limit=2), analyses="norms").tables[
            "norms_copying"
        ]
    output = tiny.language_model(encoder, "MaskedLM").get_output_embeddings().weight
    assert table["copied"].tolist() == pytest.approx([share for row in copied_shares(encoder, output) for share in row])
    without = attentionology.analyze("demo", load_treebank("sample", limit=2), analyses="norms").tables["norms_copying"]
    assert without["copied"].isna().all()
    assert without["copying"].notna().all()


def test_embeddings_that_a_head_shares_are_not_loaded_again():
    encoder = tiny.encoder_from_folder()
    lm = tiny.language_model(encoder, "MaskedLM")
    loaded = SimpleNamespace(encoder=encoder, load_masked_lm=lambda: lm)
    assert output_embeddings(loaded) is lm.get_output_embeddings().weight  # it was saved without a head
    encoder.model.config.architectures = ["BertForMaskedLM"]
    encoder.model.config.tie_word_embeddings = True
    assert output_embeddings(SimpleNamespace(encoder=encoder)) is encoder.model.get_input_embeddings().weight
    encoder.model.config.tie_word_embeddings = False
    assert output_embeddings(loaded) is lm.get_output_embeddings().weight
    assert output_embeddings(SimpleNamespace(encoder=encoder, load_masked_lm=lambda: None)) is None
