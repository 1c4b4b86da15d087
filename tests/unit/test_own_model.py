"""A model of one's own is read if it is a `ReadableModel`; the token with which every input begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import nn

from attentionology import CorpusOptions, CountOptions, Encoder, ModelError, ModelOptions, Sentence, analyze, extract
from attentionology.analyses import DependencyOptions
from attentionology.extractors import ReadableModel
from attentionology.extractors.model.loading import begin_with
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny

SENTENCES = [
    Sentence("a", ("the", "cat", "sleeps"), heads=(2, 3, 0), relations=("det", "nsubj", "root")),
    Sentence("b", ("hi", "cat"), heads=(2, 0), relations=("discourse", "root")),
]


class Own(nn.Module):
    """Two layers of attention with two heads, as someone would write them who never saw transformers."""

    def __init__(self, pieces: int, *, states: bool = True) -> None:
        super().__init__()
        self.config = transformers.PretrainedConfig(model_type="own", num_hidden_layers=2)
        self.embeddings = nn.Embedding(pieces, 8)
        self.layers = nn.ModuleList(nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2))
        self.states = states

    def get_input_embeddings(self) -> nn.Module:
        """The table."""
        return self.embeddings

    def forward(self, input_ids: Any, attention_mask: Any, **asked: Any) -> Any:
        """The attention of both layers, and the hidden states."""
        states, attentions = [self.embeddings(input_ids)], []
        for layer in self.layers:
            x, padding = states[-1], attention_mask == 0
            added, alpha = layer(x, x, x, key_padding_mask=padding, average_attn_weights=False)
            attentions.append(alpha)
            states.append(x + added)
        return SimpleNamespace(attentions=tuple(attentions), hidden_states=tuple(states) if self.states else None)


def own(**options: bool) -> Encoder:
    """The model with a tokenizer."""
    tokenizer = tiny.fresh_tokenizer("wordpiece")
    torch.manual_seed(0)
    return Encoder(Own(len(tokenizer), **options), tokenizer, "mine")


def naive(encoder: Encoder, sentence: Sentence) -> np.ndarray:
    """The attention of each piece in float64, one number at a time, for a text whose words are pieces."""
    pieces = tiny.pieces(encoder, sentence)
    x = encoder.model.embeddings.weight[list(pieces.ids)].double()
    maps = []
    for layer in encoder.model.layers:
        weight, bias = layer.in_proj_weight.double(), layer.in_proj_bias.double()
        query, key, value = ((x @ weight[i : i + 8].T + bias[i : i + 8]).unflatten(1, (2, 4)) for i in (0, 8, 16))
        alpha = torch.stack([(query[:, h] @ key[:, h].T / 2).softmax(-1) for h in range(2)])
        moved = torch.cat([alpha[h] @ value[:, h] for h in range(2)], dim=1)
        x = x + moved @ layer.out_proj.weight.double().T + layer.out_proj.bias.double()
        maps.append(alpha)
    return torch.stack(maps).detach().numpy()


def test_maps_of_weights_are_those_of_the_model():
    encoder = own()
    assert isinstance(encoder.model, ReadableModel)
    assert (encoder.n_layers, encoder.n_heads, encoder.batching) == (2, 2, "padded")
    (batch,) = extract(encoder, SENTENCES, level="token")
    for sentence, maps in batch.unpadded():
        np.testing.assert_allclose(maps, naive(encoder, sentence), atol=1e-6)
    (rollout,) = extract(encoder, SENTENCES, kind="rollout", level="token")
    np.testing.assert_allclose(rollout.maps.sum(-1)[rollout.maps.sum(-1) > 0], 1, atol=1e-5)


@pytest.mark.usefixtures("quick_geography")
def test_analyses_of_weights_run(tmp_path):
    encoder = own()
    options = [CountOptions(min_count=1, replicates=0), DependencyOptions()]
    run = analyze(
        encoder, SENTENCES, analyses=["dependency", "surface", "clusters"], options=options, out=tmp_path / "run"
    )
    cells = run.dependency.cells.set_index(["relation", "direction", "layer", "head"])
    alpha = naive(encoder, SENTENCES[0])[0, 0]
    guess = alpha[1, [2, 3]].argmax() + 2  # of “the”, which cannot guess itself; position 0 is [CLS]
    assert cells.loc[("det", "dep->head", 1, 1), "correct"] == (guess == 2)
    assert run.record["model"]["family"] == "own"
    assert (tmp_path / "run" / "report.html").exists()


def test_what_needs_more_is_refused_with_the_reason():
    encoder = own()
    with pytest.raises(ModelError, match="where 'own' models keep their value projections"):
        next(extract(encoder, SENTENCES, kind="norm"))
    with pytest.raises(ModelError, match="own: only models of transformers can be copied with random weights"):
        encoder.random_init(0)
    silent = own(states=False)
    ids, mask = silent.pad([pieces for pieces in silent.align(SENTENCES) if isinstance(pieces, Pieces)])
    assert len(encoder._run(ids, mask, hidden_states=True)[1] or ()) == 3
    with pytest.raises(ModelError, match="mine: the model gives no hidden_states"):
        silent._run(ids, mask, hidden_states=True)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SimpleNamespace(), r"it is no torch.nn.Module; config is missing; the method get_input_embeddings is missing"),
        (nn.Linear(2, 2), "mine: config is missing; the method get_input_embeddings is missing; what .*ReadableModel"),
    ],
)
def test_a_model_without_what_is_needed_is_refused_by_name(model, message):
    with pytest.raises(ModelError, match=message):
        Encoder(model, tiny.fresh_tokenizer("wordpiece"), "mine")


SENTENCE = Sentence("a", ("an", "unbelievably", "old", "dog"))
START = "<|endoftext|>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny GPT-2 whose tokenizer has a token for the beginning of a text, and does not use it."""
    folder = tmp_path_factory.mktemp("gpt2")
    tiny.model("gpt2").save_pretrained(folder)
    tokenizer = tiny.fresh_tokenizer("bytes without specials")
    tokenizer.bos_token = START
    tokenizer.save_pretrained(folder)
    return folder


def read(folder, prepend) -> tuple[Encoder, Pieces]:
    encoder = Encoder.from_pretrained(folder, prepend=prepend)
    return encoder, tiny.pieces(encoder, SENTENCE)


def test_the_first_position_is_special_and_all_others_move(folder):
    _, plain = read(folder, "none")
    encoder, pieces = read(folder, "auto")
    assert plain.special == [False] * 4
    assert pieces.special == [True, *plain.special]
    assert pieces.tokens == [START, *plain.tokens]
    assert pieces.ids == [encoder.tokenizer.bos_token_id, *plain.ids]
    assert pieces.positions == [0, *(position + 1 for position in plain.positions)]
    assert pieces.labels(SENTENCE.words) == (START, *SENTENCE.words)


def test_maps_are_those_of_the_longer_input_and_words_have_their_rows(folder):
    encoder, pieces = read(folder, START)
    plain, _ = read(folder, "none")
    (batch,) = extract(encoder, [SENTENCE], level="token")
    torch.testing.assert_close(batch.maps[0], torch.cat(list(plain.forward([pieces]).attentions)), atol=1e-6, rtol=0)
    (by_word,) = extract(encoder, [SENTENCE])
    assert by_word.words[0].tolist() == [False, True, True, True, True]


def test_a_tokenizer_that_adds_tokens_itself_is_left_alone():
    tokenizer = tiny.fresh_tokenizer("wordpiece")
    tokenizer.bos_token = "[CLS]"
    assert begin_with(tokenizer, "auto") is None
    assert begin_with(tokenizer, "[CLS]") is None
    with pytest.raises(ModelError, match="adds special tokens by itself"):
        begin_with(tokenizer, "[MASK]")
    assert tokenizer("a").tokens()[0] == "[CLS]"
    assert begin_with(tiny.fresh_tokenizer("bytes without specials"), "auto") is None


def test_an_unknown_token_is_refused(folder):
    with pytest.raises(ModelError, match=r"--prepend <s>: the tokenizer has no such token"):
        Encoder.from_pretrained(folder, prepend="<s>")


def test_a_run_records_what_was_prepended(folder):
    names = ("auto", "none")
    options = [[CorpusOptions(limit=4), ModelOptions(prepend=name)] for name in names]
    records = [analyze(folder, analyses="dependency", options=groups).record for groups in options]
    assert tuple(record["options"]["prepend"] for record in records) == names
    assert records[0]["sentences"]["words"] == records[1]["sentences"]["words"]
