"""Attention × gradient of the difference of two scores: a linear model by hand, finite differences, and an identity."""

from __future__ import annotations

import copy
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

import attentionology
from attentionology import CountOptions, load_pairs
from attentionology.analyses import PairsOptions
from attentionology.analyses.pairs.contributions import (
    CONTRIBUTIONS,
    ContributionMaker,
    contributions,
    words_of_pieces,
)
from attentionology.analyses.pairs.scores import EstimateMaker, Scorer, causal_scoring, masked_scoring
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import SharedBatch
from tests import tiny

TEXT = "The unbelievable dog barked at Szczepański."


def scorer_of(family: str) -> tuple[Any, Scorer]:
    """A tiny model with a head for predictions, in float64."""
    encoder = tiny.randomize(family)
    if family == "gpt2":
        encoder.tokenizer.eos_token = "<|endoftext|>"
        return encoder, Scorer(tiny.language_model(encoder, "CausalLM").double(), causal=True)
    encoder.tokenizer.mask_token = "[MASK]"
    return encoder, Scorer(tiny.language_model(encoder, "MaskedLM").double(), causal=False)


class Linear(torch.nn.Module):
    """A causal model of one layer and head, whose scores are linear in its attention: α is uniform, y = Σ α_ij c_ij.

    The logit of the right piece, among two, is chosen so that its log-probability is Σ_j α_ij c_ij.
    """

    def __init__(self, c: torch.Tensor, n_pieces: int) -> None:
        super().__init__()
        self.c, self.n_pieces = c, n_pieces
        self.embeddings = torch.nn.Embedding(n_pieces, 1).double()
        self.config = SimpleNamespace(model_type="by hand")

    def get_input_embeddings(self) -> torch.nn.Module:
        return self.embeddings

    def forward(self, input_ids: torch.Tensor, **_: Any) -> Any:
        n = input_ids.shape[1]
        causal = torch.ones(n, n, dtype=torch.float64).tril()
        alpha = (causal / causal.sum(-1, keepdim=True) + 0 * self.embeddings(input_ids).sum())[None, None]
        log_p = (alpha[0, 0] * self.c[:n, :n]).sum(-1)  # of the next piece, below 0
        logits = torch.full((1, n, self.n_pieces), -torch.inf, dtype=torch.float64)
        others = torch.log1p(-log_p.exp())
        rows = torch.arange(n - 1)
        logits[0, rows, (input_ids[0, 1:] + 1) % self.n_pieces] = others[:-1]
        logits[0, rows, input_ids[0, 1:]] = log_p[:-1]
        return SimpleNamespace(logits=logits, attentions=(alpha,))


def test_a_linear_model_by_hand():
    """A∘∂y/∂A is α c, and its sum is y."""
    encoder = tiny.randomize("gpt2")
    encoder.tokenizer.eos_token = "<|endoftext|>"
    n = len(causal_scoring(encoder.tokenizer, TEXT).rows[0])
    c = -torch.rand(n, n, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 0.1
    model = Linear(c, len(encoder.tokenizer))
    encoder.model.config.num_hidden_layers = encoder.model.config.num_attention_heads = 1
    model.config.num_hidden_layers = model.config.num_attention_heads = 1
    scorer = Scorer(model, causal=True)
    found = contributions(scorer, encoder, TEXT)
    expected = [sum(float(c[i, j]) / (i + 1) for i in range(j, n - 1)) for j in range(n)]
    assert found[0, 0].tolist() == pytest.approx(expected, rel=1e-9)
    assert float(found.sum()) == pytest.approx(scorer.score(encoder, TEXT)[0], rel=1e-9)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_contributions_are_differences_of_scores(family):
    """In which the weights to one piece are a little larger or smaller, in one head, at all positions and inputs."""
    encoder, scorer = scorer_of(family)
    found = contributions(scorer, encoder, TEXT)
    model = copy.deepcopy(scorer.lm)
    nudge: dict[str, Any] = {"by": 0.0, "at": (0, 0, 0)}
    calls = {"seen": 0}

    def nudged(module, query, key, value, attention_mask, **options):
        eager = sys.modules[type(module).__module__].eager_attention_forward
        alpha = eager(module, query, key, value, attention_mask, **options)[1].clone()
        layer, head, piece = nudge["at"]
        if calls["seen"] == layer:
            alpha[:, head, :, piece] *= 1 + nudge["by"]
        calls["seen"] += 1
        return torch.matmul(alpha, value).transpose(1, 2).contiguous(), alpha

    AttentionInterface.register("nudged scores", nudged)
    AttentionMaskInterface.register("nudged scores", eager_mask)
    model.set_attn_implementation("nudged scores")
    changed = Scorer(model, scorer.causal)
    rng = np.random.default_rng(0)
    for _ in range(6):
        nudge["at"] = tuple(rng.integers(found.shape).tolist())
        scores = []
        for nudge["by"] in (1e-5, -1e-5):
            calls["seen"] = 0
            scores.append(changed.score(encoder, TEXT)[0])
        assert (scores[0] - scores[1]) / 2e-5 == pytest.approx(float(found[nudge["at"]]), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_all_positions_together_are_the_estimate_from_what_heads_give(family):
    encoder, scorer = scorer_of(family)
    sentence = Sentence("p good", tuple(TEXT.split()), text=TEXT)
    batch = SharedBatch(encoder, (sentence,), [tiny.pieces(encoder, sentence)])
    maker = ContributionMaker(scorer, (("p good", 2, 3),), ("-2", "-1", "0", "1", "2", "3", "special"))
    names, found = maker.of(batch)
    _, estimates = EstimateMaker(scorer).of(batch)
    assert names == ["p good"]
    assert found[0].sum(0).numpy() == pytest.approx(estimates[0].numpy(), rel=1e-6, abs=1e-9)
    by_piece, words = contributions(scorer, encoder, TEXT), words_of_pieces(scorer, encoder.tokenizer, TEXT)
    for slot, word in enumerate([0, 1, 2, 3, 4, 5, -1]):
        expected = by_piece[:, :, [index for index, each in enumerate(words) if each == word]].sum(-1)
        assert found[0, slot].numpy() == pytest.approx(expected.numpy(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("family", "harness"), [("bert", False), ("gpt2", False), ("gpt2", True)])
def test_pieces_belong_to_words_between_spaces(family, harness):
    encoder, scorer = scorer_of(family)
    scorer = Scorer(scorer.lm, scorer.causal, harness=harness)
    planned = (causal_scoring(encoder.tokenizer, TEXT, harness=harness) if scorer.causal else
               masked_scoring(encoder.tokenizer, TEXT))  # fmt: skip
    words = words_of_pieces(scorer, encoder.tokenizer, TEXT)
    assert len(words) == len(planned.rows[0])
    assert words[0] == -1
    ids = (
        encoder.tokenizer(f" {TEXT}" if harness else TEXT).input_ids
        if scorer.causal
        else encoder.tokenizer(TEXT).input_ids
    )
    for number, word in enumerate(TEXT.split()):
        pieces = [ids[index - (len(words) - len(ids))] for index, each in enumerate(words) if each == number]
        written = encoder.tokenizer.decode(pieces).replace(" ", "").replace("##", "")
        assert written.lower().replace("ń", "n") == word.lower().replace("ń", "n")


def test_a_run_has_the_contributions_of_the_heads_that_are_switched_off(monkeypatch):
    encoder, scorer = scorer_of("gpt2")
    lm = scorer.lm.float()
    load: Any = lambda *_, **__: lm  # noqa: E731
    monkeypatch.setattr("attentionology.engine.analyze.load_head", load)
    options = [PairsOptions(needed_heads=2), CountOptions(replicates=20)]
    pairs = load_pairs("sample", limit=22)
    run = attentionology.analyze(encoder, pairs, analyses="pairs", options=options)
    table, heads = run.tables["pairs_contributions"], run.tables["pairs_heads"]
    assert list(table) == CONTRIBUTIONS.names
    assert {*zip(table["layer"], table["head"], strict=True)} == {*zip(heads["layer"], heads["head"], strict=True)}
    for group in ("subject_verb_number", "number_attractor_phrase"):
        of_group = table[table["group"] == group]
        everywhere = of_group[of_group["pairs"] == of_group["pairs"].max()]
        sums = everywhere.groupby(["layer", "head"])["contribution"].sum()
        estimates = heads[heads["group"] == group].set_index(["layer", "head"])["estimate"]
        if len(everywhere) == len(of_group):  # all pairs of the group have words at the same positions
            assert sums[estimates.index].to_numpy() == pytest.approx(estimates.to_numpy(), abs=1e-4)
    row = table[(table["group"] == "number_attractor_phrase") & (table["position"] == "-4")].iloc[0]
    assert (row["example"], row["pairs"]) == ("key", 2)
    assert np.isnan(row["contribution_low"])
    assert not table[table["group"] == "subject_verb_number"]["contribution_low"].isna().all()
