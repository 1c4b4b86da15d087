"""Distances, and agreement of attention with other measures, against plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from attentionology.analyses.explanation.attention.batch import generator, read
from attentionology.analyses.explanation.attention.kendall import kendall
from attentionology.analyses.explanation.attention.measures import LN2, entropy, jsd, tvd, uniform_weights
from attentionology.analyses.explanation.methods.correlation import (
    correlation,
    gradient_importance,
    leave_one_out,
    to_words,
)
from attentionology.probes.classifiers import AttentionClassifier
from tests.reference import naive_erasure as naive
from tests.reference.explained import ENCODERS, IDS, TEXTS, built, some_texts
from tests.reference.naive_erasure import VOCABULARY, Fake


def test_distances_equal_the_naive_formulas():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet([0.3] * 6, size=(2, 50))
    p[:10, :3] = 0
    q[5:15, 2:5] = 0
    p, q = p / p.sum(1, keepdims=True), q / q.sum(1, keepdims=True)
    one, other = torch.from_numpy(p), torch.from_numpy(q)
    np.testing.assert_allclose(tvd(one, other), [sum(abs(a - b) for a, b in zip(*r)) / 2 for r in zip(p, q)])  # noqa: B905
    np.testing.assert_allclose(jsd(one, other), [naive.jsd(a, b) for a, b in zip(p, q, strict=True)], atol=1e-15)
    np.testing.assert_allclose(jsd(one, other), jsd(other, one), atol=1e-15)
    np.testing.assert_allclose(entropy(one), [-sum(x * math.log(x) for x in r if x > 0) for r in p])
    assert jsd(one, one).tolist() == [0.0] * 50
    assert jsd(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])).item() == pytest.approx(LN2)
    assert tvd(torch.tensor([0.3, 0.7]), torch.tensor([0.5, 0.5])).item() == pytest.approx(0.2)


def test_the_divergence_has_a_gradient_where_both_are_zero():
    """As at padding: 0 · log 0 is 0, and nothing there can change."""
    p = torch.tensor([0.25, 0.75, 0.0], requires_grad=True)
    (slope,) = torch.autograd.grad(jsd(p * torch.tensor([1.0, 1.0, 0.0]), torch.tensor([0.5, 0.5, 0.0])), p)
    middle = (np.array([0.25, 0.75]) + 0.5) / 2
    np.testing.assert_allclose(slope, np.append(np.log(np.array([0.25, 0.75]) / middle) / 2, 0), rtol=1e-5)


def test_uniform_weights():
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    assert uniform_weights(mask).tolist() == [[0.5, 0.5, 0], [0, 0, 0], pytest.approx([1 / 3] * 3)]
    assert uniform_weights(mask, torch.float64).dtype == torch.float64


class Scaled(AttentionClassifier):
    """Reads one word with its embedding times a number."""

    position, factor = 0, 1.0

    def _embed(self, ids):
        embedded = super()._embed(ids).clone()
        embedded[:, self.position] *= self.factor
        return embedded


@pytest.mark.parametrize(
    ("encoder", "attention", "classes"), [*itertools.product(ENCODERS, ("additive", "dot"), (2, 3))]
)
def test_gradient_importance_equals_finite_differences_with_attention_held(encoder, attention, classes):
    model = built(Scaled, encoder, attention, classes)
    found = gradient_importance(model, TEXTS)
    assert found.shape == (len(TEXTS), 20)
    for row, text in zip(found, TEXTS, strict=True):
        expected = []
        with torch.no_grad():
            alpha = model.encode([text]).alpha
            for place in range(len(text)):
                said = []
                for factor in (1 + 1e-5, 1 - 1e-5):
                    model.position, model.factor = place + 1, factor
                    said.append(model.decode(model.encode([text]), alpha[:, None])[0, 0].softmax(-1))
                model.factor, model.position = 1.0, 0
                expected.append(((said[0] - said[1]) / 2e-5).abs().sum().item())
        np.testing.assert_allclose(row[: len(text)], np.array(expected) / sum(expected) if text else [], atol=1e-7)
        assert (row[len(text) :] == 0).all()


def test_gradients_of_pieces_are_added_up_with_their_sign():
    values = torch.tensor([[5.0, 1.0, -3.0, 2.0, 7.0, 9.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    word_of = torch.tensor([[-1, 0, 0, 1, -1, -1], [0, 1, 1, 1, 2, -1]])
    assert to_words(values, word_of, 3).tolist() == [[-2, 2, 0], [1, 9, 5]]


@pytest.mark.parametrize("sign", [1, -1])
def test_gradient_importance_of_a_model_that_is_sure(sign):
    """Both classes have the same gradient except for its sign, however near to 0 or 1 the probability is."""
    model = built(encoder="average", double=False)
    with torch.no_grad():
        model.decoder.bias.fill_(0.0)
        middling = gradient_importance(model, TEXTS)
        model.decoder.bias.fill_(20.0 * sign)
        sure = gradient_importance(model, TEXTS)
    np.testing.assert_allclose(sure, middling, atol=1e-4)


def test_gradient_importance_leaves_no_gradients_behind():
    model = built()
    correlation(read(model, IDS, TEXTS))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_attended_states_would_give_a_tau_of_one_whatever_the_model_does():
    """∂p/∂h_t = α_t · σ′ · w with a linear decoder: a tautology, and why gradients are of the input embeddings."""
    texts = [text for text in some_texts(range(2, 12), seed=3) if len(set(text)) > 1]
    taus, others = [], []
    for seed, encoder in itertools.product(range(3), ("lstm", "cnn", "average")):
        model = built(encoder=encoder, seed=seed)
        state = model.encode(texts, gradient=True)
        p = model.decode(state, state.alpha.detach()[:, None])[:, 0].softmax(-1)
        (slope,) = torch.autograd.grad(p[:, 1].sum(), state.hidden, retain_graph=True)
        words = [len(text) for text in texts]
        alpha = [row[:n].detach().numpy() for row, n in zip(state.alpha[:, 0], words, strict=True)]
        by_state = [row[:n].norm(dim=-1).numpy() for row, n in zip(slope, words, strict=True)]
        if encoder == "lstm":
            taus += kendall(alpha, by_state)[0].tolist()
        else:  # equal words have equal states: those that differ
            for a, s in zip(alpha, by_state, strict=True):
                np.testing.assert_allclose(s / s.sum(), a / a.sum(), rtol=1e-9)
        importance = gradient_importance(model, texts)
        others += kendall(alpha, [row[:n].numpy() for row, n in zip(importance, words, strict=True)])[0].tolist()
    assert taus == pytest.approx([1.0] * len(taus), abs=1e-12)
    assert np.nanmean(others) < 0.8
    assert (np.array(others) < 0.999).mean() > 0.5


@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_equals_one_text_at_a_time(classes):
    model = Fake(classes=classes)
    batch = read(model, IDS, TEXTS)
    for text, found in zip(TEXTS, leave_one_out(batch), strict=True):
        whole = naive.whole(model, text)
        shorter = [naive.whole(model, text[:i] + text[i + 1 :]) for i in range(len(text))]
        expected = [abs(p - whole).sum() / 2 for p in shorter] if len(text) > 1 else [math.nan] * len(text)
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_leave_one_out_of_a_model_that_is_sure():
    """The order of tiny differences is not that of the rounding of the probability of the whole text."""
    exactly, rounded = built(encoder="average"), built(encoder="average", double=False)
    with torch.no_grad():
        for model in (exactly, rounded):
            model.decoder.bias.fill_(15.0)
    text = VOCABULARY[:8]
    found = [leave_one_out(read(m, ["a"], [tuple(text)]))[0] for m in (exactly, rounded)]
    np.testing.assert_allclose(found[1], found[0], rtol=0.05)


def test_leave_one_out_reads_every_shorter_text_once():
    model = Fake()
    batch = read(model, ["a", "b"], [("good",) * 5, ("bad", "film")])
    model.read.clear()
    leave_one_out(batch)
    assert sorted(model.read) == [("bad",), ("film",), ("good",) * 4]
    assert [row.tolist() for row in leave_one_out(read(model, ["a", "b"], [(), ()]))] == [[], []]


def tau_b(x, y):
    """Over all pairs."""
    agree, one, other = 0, 0, 0
    for i, j in itertools.combinations(range(len(x)), 2):
        a, b = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
        agree, one, other = agree + a * b, one + abs(a), other + abs(b)
    return agree / math.sqrt(one * other) if one * other else math.nan


def test_kendall_equals_the_naive_count_of_pairs():
    rng = np.random.default_rng(0)
    one = [rng.random(n) for n in (2, 3, 7, 20)] + [rng.integers(0, 3, size=n).astype(float) for n in (4, 9, 15)]
    other = [rng.integers(0, 4, size=len(x)).astype(float) for x in one]
    found, p = kendall(one, other)
    np.testing.assert_allclose(found, [tau_b(x, y) for x, y in zip(one, other, strict=True)], atol=1e-12)
    assert np.isnan(p).tolist() == np.isnan(found).tolist()


def test_kendall_has_an_exact_two_sided_p_without_ties():
    rng = np.random.default_rng(1)
    one, other = rng.random((2, 6))
    (found,), (p,) = kendall([one], [other])
    of_all = [tau_b(one, order) for order in itertools.permutations(other)]
    assert p == pytest.approx(np.mean([abs(tau) >= abs(found) - 1e-12 for tau in of_all]))


@pytest.mark.parametrize("n", [2, 3, 4, 9, 33, 34, 60, 170, 171, 172])
def test_kendall_equals_that_of_scipy_to_the_last_digit(n):
    """With and without ties, and with so few inversions that p is exact for more words, too."""
    rng = np.random.default_rng(n)
    ordered = np.arange(n, dtype=float)
    swapped = ordered.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    one = [ordered, swapped, -ordered, *(rng.permutation(n) / 7 for _ in range(20))]
    other = [swapped, -ordered, -ordered, *(rng.permutation(n) + 0.5 for _ in range(20))]
    for levels in (2, 3, n, 10 * n):
        one += [*rng.integers(0, levels, (10, n)).astype(float)]
        other += [*rng.integers(0, n, (10, n)).astype(float)]
    found = np.array(kendall(one, other))
    with np.errstate(invalid="ignore"):
        expected = np.array([tuple(kendalltau(x, y)) for x, y in zip(one, other, strict=True)]).T
    np.testing.assert_array_equal(found, expected)
    assert np.isfinite(found).mean() > 0.3  # of two words, many are ties


def test_kendall_has_the_exact_p_of_scipy_for_every_number_of_inversions():
    for n in (2, 3, 8, 33):
        orders = [np.arange(n, dtype=float)]
        while (orders[-1][:-1] < orders[-1][1:]).any():  # every next order has one inversion more
            order = orders[-1].copy()
            place = int(np.argmax(order[:-1] < order[1:]))
            order[[place, place + 1]] = order[[place + 1, place]]
            orders.append(order)
        assert len(orders) == n * (n - 1) // 2 + 1
        _, p = kendall(orders[:1] * len(orders), orders)
        assert p.tolist() == [kendalltau(orders[0], order).pvalue for order in orders]


def test_kendall_is_undefined_for_constants_and_fewer_than_two_words():
    x = np.array([0.1, 0.2, 0.3])
    pairs = [(x, x), (x, x * 0), (x * 0 + 0.7, x), (x[:1], x[:1]), (x[:0], x[:0]), (x, -x)]
    found, p = kendall([a for a, _ in pairs], [b for _, b in pairs])
    np.testing.assert_allclose(found, [1, math.nan, math.nan, math.nan, math.nan, -1])
    np.testing.assert_allclose(p, [1 / 3, math.nan, math.nan, math.nan, math.nan, 1 / 3])


def test_correlation_columns_equal_the_naive_loop():
    model = built()
    batch = read(model, IDS, TEXTS)
    found = correlation(batch)
    assert set(found) == {f"{what}_{n}" for what in ("tau", "p") for n in ("gradient", "loo", "gradient_loo", "random")}
    gradients = gradient_importance(model, TEXTS).numpy()
    left_out = leave_one_out(batch)
    for i, text in enumerate(TEXTS):
        n = len(text)
        alpha, gradient = batch.alpha[i, 0, :n].numpy(), gradients[i, :n]
        random = generator(" ".join(TEXTS[i]), "correlation", 0).random(n)
        for name, one, other in (
            ("gradient", alpha, gradient),
            ("loo", alpha, left_out[i]),
            ("gradient_loo", gradient, left_out[i]),
            ("random", alpha, random),
        ):
            expected = tau_b(one, other) if n > 1 else math.nan
            np.testing.assert_allclose(found[f"tau_{name}"][i], expected, atol=1e-12)
