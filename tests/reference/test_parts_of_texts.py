"""Parts of texts, whose common beginnings and ends are read once, against each of them read alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from attentionology.analyses.explanation.attention.batch import examine, read
from attentionology.analyses.explanation.attention.measures import (
    GRADIENTS,
    LEFT_OUT,
    WEIGHTS,
    Noise,
    is_doubtful,
    levels,
)
from attentionology.analyses.explanation.methods import correlation as module
from attentionology.analyses.explanation.methods.correlation import correlation, gradient_importance
from attentionology.extractors.replaceable.attention_model import (
    WordsWithQuery,
    drop,
    probabilities,
    probabilities_of_parts,
)
from attentionology.probes.classifiers import AttentionClassifier, HierarchicalClassifier, QueryClassifier
from attentionology.probes.classifiers.encoders import BiLSTM, _read_parts
from tests.reference.explained import ENCODERS, TEXTS, built, some_texts

PARTS = [*TEXTS, *(drop(text, i) for text in TEXTS for i in range(len(text))), *(text[:3] for text in TEXTS)]


def probabilities_alone(model, texts):
    """Of one text at a time, without padding."""
    found = []
    with torch.no_grad():
        for text in texts:
            state = model.encode([text])
            found.append(model.decode(state, state.alpha[:, None])[0, 0].softmax(-1).numpy())
    return np.array(found)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("regularizer", [None, "concat", "residual"])
def test_probabilities_of_parts_are_those_of_each_text_alone(encoder, regularizer):
    classifier: Any = AttentionClassifier
    model = built(lambda *names, **named: classifier(*names, regularizer, **named), encoder, classes=3)
    assert model.shares_states == (encoder == "lstm")
    expected = probabilities_alone(model, PARTS)
    np.testing.assert_allclose(probabilities_of_parts(model, PARTS), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(model.logits_of_parts(PARTS).softmax(-1), expected, rtol=0, atol=1e-13)
    assert np.ptp(expected, axis=0).min() > 0.01


def test_parts_of_texts_with_queries():
    model = built(QueryClassifier, "lstm")
    parts = [WordsWithQuery(text, query) for text in PARTS for query in (("good",), ("bad", "film"))]
    assert model.shares_states
    np.testing.assert_allclose(
        probabilities_of_parts(model, parts), probabilities_alone(model, parts), rtol=0, atol=1e-13
    )


def test_documents_are_read_as_ever():
    documents = [("good film", "bad"), ("bad",), ("a good plot", "good film", "dull")]
    model = HierarchicalClassifier(dimensions=8, size=8).fit(documents * 3, ["0", "1", "1"] * 3)
    assert not model.shares_states
    assert torch.equal(probabilities_of_parts(model, documents), probabilities(model, documents))


def test_every_beginning_is_read_once():
    lstm = torch.nn.LSTM(3, 4, batch_first=True).double()
    texts = [[2, 5, 6, 7, 3], [2, 5, 7, 3], [2, 6, 7, 3], [2, 3], [2, 5, 6, 7, 3]]
    lengths = torch.tensor([len(text) for text in texts])
    ids = torch.tensor([text + [0] * (5 - len(text)) for text in texts])
    table = torch.randn(9, 3, dtype=torch.float64)
    with torch.no_grad():
        states, node = _read_parts(lstm, table, ids, lengths)
    beginnings = {tuple(text[: end + 1]) for text in texts for end in range(len(text) - 1)}
    assert len(states) == 1 + len(beginnings)
    for text, nodes in zip(texts, node, strict=True):
        expected = lstm(table[torch.tensor(text)][None])[0][0]
        np.testing.assert_allclose(states[nodes[: len(text) - 1]].detach(), expected[:-1].detach(), atol=1e-14)


def test_states_in_both_directions():
    torch.manual_seed(0)
    encoder, table = BiLSTM(3, 8).double(), torch.randn(9, 3, dtype=torch.float64)
    table[0] = 0
    lengths = torch.tensor([2, 7, 4, 7])
    ids = torch.randint(1, 9, (4, 7)) * (torch.arange(7) < lengths[:, None])
    with torch.no_grad():
        expected = encoder(table[ids], lengths)
    inside = (torch.arange(7) > 0) & (torch.arange(7) < lengths[:, None] - 1)
    found = encoder.of_parts(table, ids, lengths)
    np.testing.assert_allclose(found[inside], expected[inside], atol=1e-14)
    assert (found[~inside] == 0).all()


def naive_correlation(model, texts):
    """τ of each text, read alone and without anything shared."""
    rows = []
    for text in texts:
        alone = read(model, ("",), (text,))
        left_out = module.leave_one_out(alone, probabilities)[0]
        attention = levels(alone.scores[0].double().numpy(), WEIGHTS)
        gradient = levels(gradient_importance(model, (text,))[0].numpy(), GRADIENTS)
        loo = levels(left_out, LEFT_OUT)
        rows.append([kendalltau(x, y)[0] for x, y in ((attention, gradient), (attention, loo), (gradient, loo))])
    return np.array(rows)


@pytest.mark.parametrize("factor", [1.0, 6.0, 20.0])
def test_a_tau_is_that_of_the_text_alone_to_the_last_digit(factor):
    """Even where words repeat, and where a model is so sure that many scores differ by little more than noise."""
    texts = some_texts([2, 3, 5, 8, 8, 11, 12, 12, 14, 20, 25] * 4, seed=2)
    model = built(double=False, factor=factor)
    expected = naive_correlation(model, texts)
    columns = ["tau_gradient", "tau_loo", "tau_gradient_loo"]
    order = np.random.default_rng(0).permutation(len(texts))
    for chosen in (np.arange(len(texts)), order, order[:7]):
        found = examine(model, [str(i) for i in chosen], [texts[i] for i in chosen], {"correlation": correlation})
        found = found.set_index("id").loc[[str(i) for i in chosen], columns]
        np.testing.assert_array_equal(found.to_numpy(), expected[chosen])
    assert np.isfinite(expected).mean() > 0.9


def test_a_tie_in_doubt():
    noise = Noise(absolute=1.0, doubt=0.5)
    for gap, expected in ((0.0, False), (0.4, False), (0.6, True), (1.4, True), (1.6, False)):
        assert is_doubtful(np.array([7.0, 3.0, 3.0 + gap]), noise) is expected
    assert is_doubtful(np.array([7.0, 3.0, 4.8]), noise, error=0.9)
    assert not is_doubtful(np.array([7.0, 3.0, 5.1]), noise, error=0.9)
    assert not is_doubtful(np.array([3.0]), noise)
    assert not is_doubtful(np.array([]), noise)
    assert is_doubtful(np.array([1.0, 1.1]), Noise(relative=0.1, doubt=0.5))
    assert not is_doubtful(np.array([1.0, 1.3]), Noise(relative=0.1, doubt=0.5))


def test_only_texts_in_doubt_are_read_alone(monkeypatch):
    texts = some_texts([5, 8, 11, 14] * 6, seed=3)
    model = built(double=False)
    alone = []

    def read_alone(*arguments):
        alone.append(arguments[2])
        return read(*arguments)

    monkeypatch.setattr(module, "read", read_alone)
    module.rank_words(read(model, [str(i) for i in range(len(texts))], texts))
    assert len(alone) < len(texts) / 2
