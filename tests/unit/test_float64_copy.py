"""The float64 copy of models whose modules or masks are unusual."""

from __future__ import annotations

import copy

import pytest
import torch
import transformers

from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Encoder, ModelError, extract
from attentionology.extractors.kinds import list_kinds
from attentionology.extractors.model.doctor import Examination
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny


def test_model_of_quantizable_layers_is_healthy():
    """The tables of I-BERT are modules of their own, whose results are pairs."""
    torch.manual_seed(0)
    config = transformers.IBertConfig(**{**tiny.SIZE, "max_position_embeddings": 128}, vocab_size=400, pad_token_id=0)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(std=0.3)
    encoder = Encoder(model, tiny.fresh_tokenizer("bytes"))
    checks = list(Examination(encoder, load_treebank(SAMPLE_TREEBANK, limit=4)).checks())
    assert [check for check in checks if check.passed is False] == []
    # The reason is printed once for all kinds that have it.
    [missing] = [check for check in checks if check.name.startswith("no maps of")]
    assert missing.name == f"no maps of {', '.join(kind for kind in list_kinds() if kind not in ('weight', 'rollout'))}"
    sentences = load_treebank(SAMPLE_TREEBANK, limit=2)
    naive = copy.deepcopy(model).double()
    for batch in extract(encoder, sentences, level="token"):
        for sentence, exact in zip(batch.sentences, batch.exact(range(len(batch))), strict=True):
            [pieces] = encoder.align([sentence])
            assert isinstance(pieces, Pieces)
            ids = torch.tensor([pieces.ids])
            expected = naive(input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True).attentions
            torch.testing.assert_close(exact, torch.cat(expected), atol=1e-12, rtol=0)


@pytest.mark.parametrize("window", [4, 8, 22])
def test_narrow_sliding_windows(window):
    """In float64, rows of padding outside the window are NaN, so that a padded batch would spoil the next layer."""
    encoder = tiny.encoder("modernbert", max_position_embeddings=128, local_attention=window)
    examination = Examination(encoder, load_treebank(SAMPLE_TREEBANK, limit=4))
    assert [check for check in examination.checks() if check.passed is False] == []
    assert set(examination.obstacles) == {"globenc"}
    sentences = load_treebank(SAMPLE_TREEBANK, limit=4)
    double = Encoder(copy.deepcopy(encoder.model).double(), encoder.tokenizer)
    for reader in (encoder, double):
        for batch in extract(reader, sentences, "norm", level="token"):
            for index, sentence in enumerate(batch.sentences):
                [pieces] = encoder.align([sentence])
                assert isinstance(pieces, Pieces)
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
