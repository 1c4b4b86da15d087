"""What a model predicts for words with all of its heads and without one, and which sentences and heads are kept."""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from attentionology import analyze
from attentionology.analyses import AblationOptions
from attentionology.analyses.ablation import predictions
from attentionology.analyses.ablation.effects import AblationMaker, HeadMeans
from attentionology.analyses.ablation.predictions import MAX_WORDS, PredictionMaker
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Sentence, Treebank, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import shared_batches
from tests import tiny
from tests.maps import counted_words
from tests.unit.test_ablation import without

SENTENCES = list(load_treebank(SAMPLE_TREEBANK, limit=12))
HEADS = ((0, 1), (1, 2), (1, 3))


@pytest.fixture(scope="module")
def masked():
    """An encoder and the same model with a masked-LM head."""
    encoder = tiny.randomize("bert")
    encoder.tokenizer.mask_token = "[MASK]"
    lm = tiny.language_model(encoder, "MaskedLM")
    encoder.model.load_state_dict(lm.bert.state_dict(), strict=False)
    return encoder, lm


def predicted_by_hand(encoder, lm, sentence):
    """log p of each word and the likeliest first pieces, one masked word at a time."""
    pieces = tiny.pieces(encoder, sentence)
    rows = []
    for number in range(len(sentence.words)):
        at = [i for i, word in enumerate(pieces.word_of) if word == number]
        ids = [encoder.tokenizer.mask_token_id if i in at else piece for i, piece in enumerate(pieces.ids)]
        with torch.inference_mode():
            log_p = torch.log_softmax(lm(input_ids=torch.tensor([ids])).logits[0].double(), -1).numpy()
        first = np.exp(log_p[at[0]])
        best = np.argsort(-first)[:3]
        names = encoder.tokenizer.convert_ids_to_tokens(best.tolist())
        rows.append((sum(log_p[i, pieces.ids[i]] for i in at), list(zip(names, first[best], strict=True))))
    return rows


def agree(found, expected):
    """Compare predictions with those that were made by hand."""
    assert len(found.log_p) == len(expected)
    for value, likeliest, (log_p, best) in zip(found.log_p, found.likeliest, expected, strict=True):
        assert value == pytest.approx(log_p, abs=2e-4)
        assert [p for _, p in likeliest] == pytest.approx([p for _, p in best], abs=2e-4)
        assert [name for name, _ in likeliest] == [name for name, _ in best]


@pytest.mark.parametrize("means", [False, True])
def test_predictions_are_those_of_edited_weights(masked, means, monkeypatch):
    """Without a head, the model is one whose head has no values, but the mean in place of its value bias."""
    encoder, lm = masked
    if means:  # as with a large model, whose words are masked one at a time
        monkeypatch.setattr("attentionology.analyses.ablation.effects.COMPONENTS_AT_ONCE", 1)
    given = HeadMeans(SENTENCES) if means else None
    fill = given.of(encoder) if given else None
    maker = PredictionMaker(HEADS, AblationMaker(HEADS, 3, lm=lm, means=given))
    differences = 0.0
    for batch in shared_batches(encoder, SENTENCES[:3]):
        found = {(each.sentence, each.head): each for each in maker.of(batch)}
        for sentence in batch.sentences:
            plain = predicted_by_hand(encoder, lm, sentence)
            agree(found.pop((sentence.id, "")), plain)
            for layer, head in HEADS:
                edited = copy.deepcopy(lm)
                edited.bert = without(lm.bert, layer, head, 0.0 if fill is None else fill[layer, head])
                changed = predicted_by_hand(encoder, edited, sentence)
                agree(found.pop((sentence.id, f"{layer + 1}-{head + 1}")), changed)
                differences = max(differences, *(abs(a - b) for (a, _), (b, _) in zip(plain, changed, strict=True)))
        assert not found
    assert differences > 1e-2  # the heads do something, or the test would compare equals


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_next_words_are_predicted_after_what_precedes_them(family):
    """A causal model says nothing about the first piece of its input."""
    encoder = tiny.randomize(family)
    lm = tiny.language_model(encoder, "CausalLM")
    maker = PredictionMaker(((1, 2),), AblationMaker(((1, 2),), encoder.n_layers, lm=lm, causal=True))
    for batch in shared_batches(encoder, SENTENCES[:3]):
        for each in maker.of(batch)[::2]:  # of every sentence, the model as it is comes first
            assert each.head == ""
            (sentence,) = (sentence for sentence in batch.sentences if sentence.id == each.sentence)
            pieces = tiny.pieces(encoder, sentence)
            with torch.inference_mode():
                logits = lm(input_ids=torch.tensor([pieces.ids])).logits[0].double()
            log_p = torch.log_softmax(logits, -1)
            for word, value in enumerate(each.log_p):
                at = [i for i, of in enumerate(pieces.word_of) if of == word]
                expected = None if 0 in at else sum(float(log_p[i - 1, pieces.ids[i]]) for i in at)
                assert value == (None if expected is None else pytest.approx(expected, abs=2e-4))
                assert len(each.likeliest[word]) == (0 if expected is None else 3)


def test_the_explorer_has_short_sentences_of_its_sample(masked, monkeypatch):
    """The head with the largest effect is among those that are shown."""
    encoder, lm = masked
    monkeypatch.setattr("attentionology.engine.analyze.load_head", lambda *_: lm)
    long = Sentence("long", SENTENCES[0].words * 9, heads=SENTENCES[0].heads * 9, relations=SENTENCES[0].relations * 9)
    options = [AblationOptions(pruning_sentences=0), CountOptions(min_count=5, replicates=20)]
    run = analyze(encoder, Treebank((*SENTENCES[:6], long)), analyses=("dependency", "ablation"), options=options)
    explorer = run.explorer()
    assert explorer.sample is not None
    shown = {sentence.id: sentence for sentence in explorer.sample.sentences}
    short = {each.id for each in SENTENCES[:6] if len(each.words) <= MAX_WORDS}
    assert {each.sentence for each in explorer.predictions} == short & set(shown)
    heads = {each.head for each in explorer.predictions}
    assert len(heads) == 7  # six and none
    table = run.ablation.tables.heads.sort_values("loss", ascending=False)
    assert f"{table['layer'].iloc[0]}-{table['head'].iloc[0]}" in heads
    for each in explorer.predictions:
        words = shown[each.sentence].special.count(False)
        assert (len(each.log_p), len(each.likeliest)) == (words, words)
    assert asdict(explorer)["predictions"]


def test_heads_of_relations_with_the_largest_gains_follow_the_head_with_the_largest_effect(monkeypatch):
    rows = [("all", 1, 1, 0.9, 0.5), ("det", 1, 2, 0.1, 0.05), ("obj", 2, 1, 0.3, 0.1), ("nsubj", 2, 2, 0.8, -0.1)]
    best = pd.DataFrame(rows, columns=["relation", "layer", "head", "heldout_gain", "heldout_gain_low"])
    metric = counted_words()
    monkeypatch.setattr(type(metric), "compute", lambda self: SimpleNamespace(best=best))
    heads = [(layer, head) for layer in (0, 1) for head in (0, 1, 2)]
    for most, shown in ((2, ((1, 0), (1, 2))), (3, ((0, 1), (1, 0), (1, 2)))):
        monkeypatch.setattr(predictions, "_MAX_HEADS", most)
        effect = np.array([0.3, 0.1, 0, 0.2, 0.1, 0.5])
        assert predictions.heads_to_show({"dependency/weight": metric}, heads, effect) == shown


def test_predictions_cost_no_more_than_effects(masked, monkeypatch):
    """The first sentences whose words, squared if they are masked one by one, stay below what the effects have read."""
    _, lm = masked
    sentences = [Sentence(str(n), ("a",) * n) for n in (4, 2, 3, 1)]
    heads, maker = ((0, 0), (2, 1)), AblationMaker(((0, 0), (2, 1)), 3, lm=lm)
    passes = 1 + 1 + 1 / 3  # as it is, and from the first and the last of three layers on
    for words, shown in ((15.9, ""), (16, "4"), (19.9, "4"), (20, "42"), (28.9, "42"), (29, "423"), (30, "4231")):
        found = predictions.limit_words(sentences, heads, maker, words * passes + 1e-9)
        assert "".join(sentence.id for sentence in found) == shown
    causal = replace(maker, causal=True)
    assert len(predictions.limit_words(sentences, heads, causal, 9 * passes + 1e-9)) == 3
    assert predictions.expected_passes(sentences, heads, maker) == pytest.approx(10 * passes)
    assert predictions.expected_passes(sentences, heads, causal) == pytest.approx(4 * passes)
    more = [(layer, head) for layer in range(3) for head in range(4)]  # of twelve heads, six are shown
    assert predictions.expected_passes(sentences[:1], more, maker) == pytest.approx(4 * (1 + 6 * 2 / 3))


@pytest.mark.parametrize(("factor", "shown"), [(0.01, 0), (1, 6)])
def test_few_heads_have_predictions_in_as_many_sentences_as_they_cost(masked, monkeypatch, factor, shown):
    encoder, lm = masked
    monkeypatch.setattr("attentionology.engine.analyze.load_head", lambda *_: lm)
    monkeypatch.setattr(AblationMaker, "forward_passes", 100 * factor)
    options = [AblationOptions(pruning_sentences=0, ablate_heads=("1-2",)), CountOptions(replicates=20)]
    corpus = Treebank(tuple(sentence for sentence in SENTENCES if len(sentence.words) <= MAX_WORDS)[:6])
    run = analyze(encoder, corpus, analyses=("dependency", "ablation"), options=options)
    assert len({each.sentence for each in run.ablation.predictions}) == shown
