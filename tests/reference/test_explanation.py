"""Attention as an explanation against plain loops: agreement, other attention, several models, verdicts."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from attentionology.analyses.explanation import batch as one_pass
from attentionology.analyses.explanation import readings as several
from attentionology.analyses.explanation.batch import BatchTest, examine, generator, read
from attentionology.analyses.explanation.contract import Question
from attentionology.analyses.explanation.exact_adversary import exact_attention, exact_jsd, solvable
from attentionology.analyses.explanation.measures import LN2, entropy, jsd, tvd, uniform
from attentionology.analyses.explanation.readings import Given, ModelReading, divergences, padded, reading, uniform_rows
from attentionology.analyses.explanation.summary import OVERALL, Bootstrap, quality, summarise
from attentionology.analyses.explanation.tests.adversarial import by_gradient, exact
from attentionology.analyses.explanation.tests.correlation import (
    correlation,
    gradient_importance,
    kendall,
    leave_one_out,
    significant,
    to_words,
)
from attentionology.analyses.explanation.tests.erasure import flip_table
from attentionology.analyses.explanation.tests.permutation import permutation
from attentionology.analyses.explanation.tests.seeds import seed_variance
from attentionology.analyses.explanation.tests.uniform import uniform_attention
from attentionology.analyses.explanation.verdict import FEWEST, all_questions, verdicts
from attentionology.analyses.shared.resampling import poisson_weights
from attentionology.extractors.replaceable.attention_model import LinearAttentionModel, drop, probabilities
from attentionology.probes.classifiers import AttentionClassifier, Vocabulary
from attentionology.probes.classifiers import attention_classifier as classifiers
from tests.reference import naive_erasure as naive
from tests.reference.naive_erasure import VOCABULARY, Fake

ENCODERS = ("lstm", "cnn", "average", "none")


def some_texts(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(VOCABULARY, size=n).tolist()) for n in lengths]


TEXTS = some_texts([0, 1, 2, 3, 5, 5, 8, 11, 1, 20])
IDS = [f"text {i}" for i in range(len(TEXTS))]


def built(
    kind=AttentionClassifier, encoder="lstm", attention="additive", classes=2, *, double=True, seed=0, factor=3.0
):
    """Not trained, but far from indifferent."""
    model = kind(encoder, attention, dimensions=8, size=8, random_state=seed)
    model.build(Vocabulary(tuple(VOCABULARY)), list("abc"[:classes]))
    with torch.no_grad():
        for parameter in (*model.attend.parameters(), model.decoder.weight):
            parameter.mul_(factor)
    return model.double() if double else model


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def logit(p):
    return -math.inf if p <= 0 else math.inf if p >= 1 else math.log(p / (1 - p))


# measures


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
    assert uniform(mask).tolist() == [[0.5, 0.5, 0], [0, 0, 0], pytest.approx([1 / 3] * 3)]
    assert uniform(mask, torch.float64).dtype == torch.float64


# agreement with other measures


class Scaled(AttentionClassifier):
    """Reads one word with its embedding times a number."""

    position, factor = 0, 1.0

    def _embedded(self, ids):
        embedded = super()._embedded(ids).clone()
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
    """Both classes have the same gradient but for its sign, however near to 0 or 1 the probability is."""
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
        (slope,) = torch.autograd.grad(p[:, 1].sum(), state.memory["hidden"], retain_graph=True)
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
    for text, found in zip(TEXTS, leave_one_out(model, TEXTS, batch.probabilities), strict=True):
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
    found = [
        leave_one_out(m, [tuple(text)], read(m, ["a"], [tuple(text)]).probabilities)[0] for m in (exactly, rounded)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=0.05)


def test_leave_one_out_reads_every_shorter_text_once():
    model = Fake()
    leave_one_out(model, [("good",) * 5, ("bad", "film")], torch.full((2, 2), 0.5))
    assert sorted(model.read) == [("bad",), ("film",), ("good",) * 4]
    assert [row.tolist() for row in leave_one_out(model, [(), ()], torch.full((2, 2), 0.5))] == [[], []]


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
    left_out = leave_one_out(model, TEXTS, batch.probabilities)
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


# other attention


@pytest.mark.parametrize(("classes", "rows", "special"), [*itertools.product((2, 3), (1, 2), ("keep", "renormalise"))])
def test_permutation_and_uniform_equal_the_naive_loop(classes, rows, special):
    model = Fake(classes=classes, rows=rows, special=special, pad=2)
    batch = read(model, IDS, TEXTS, seed=5)
    found = permutation(batch, draws=7) | uniform_attention(batch)
    for i, text in enumerate(TEXTS):
        if len(text) < 2:
            assert all(np.isnan(column[i]) for column in found.values())
            continue
        alpha = model.weights(text)
        p = naive.answer(model, text, alpha)
        orders = generator(" ".join(text), "permutation", 5).permuted(np.tile(np.arange(len(text)), (7, 1)), axis=1)
        said = [naive.answer(model, text, alpha[:, order]) for order in orders]
        shapes = [np.mean([naive.jsd(r[order], r) for r in alpha]) for order in orders]
        even = np.full_like(alpha, 1 / len(text))
        q = naive.answer(model, text, even)
        expected = {
            "permutation_tvd": np.median([abs(x - p).sum() / 2 for x in said]),
            "permutation_mean_tvd": np.mean([abs(x - p).sum() / 2 for x in said]),
            "permutation_jsd": np.median(shapes),
            "permutation_flip": np.mean([x.argmax() != p.argmax() for x in said]),
            "uniform_tvd": abs(q - p).sum() / 2,
            "uniform_flip": float(q.argmax() != p.argmax()),
            "uniform_jsd": np.mean([naive.jsd(row, one) for row, one in zip(even, alpha, strict=True)]),
        }
        assert {name: column[i] for name, column in found.items()} == pytest.approx(expected, abs=1e-7)


def test_every_order_of_the_words_is_as_likely():
    batches = [read(Fake(), ["it"], [tuple(VOCABULARY[:3])], seed) for seed in range(40)]
    seen = [tuple(batch.generator(0, "permutation").permuted([0, 1, 2])) for batch in batches]
    assert set(seen) == set(itertools.permutations(range(3)))


# adversaries


def vertices(z, low, high):
    """Of {a in the simplex, low ≤ z · a ≤ high}: as many constraints met with equality as there are words."""
    n = len(z)
    rows = [(np.eye(n)[i], 0.0) for i in range(n)] + [(np.array(z), c) for c in (low, high) if math.isfinite(c)]
    for chosen in itertools.combinations(rows, n - 1):
        matrix = np.stack([np.ones(n), *(row for row, _ in chosen)])
        if abs(np.linalg.det(matrix)) > 1e-9:
            a = np.linalg.solve(matrix, [1.0, *(c for _, c in chosen)])
            if (a > -1e-9).all() and low - 1e-9 <= a @ z <= high + 1e-9:
                yield a.clip(0)


def one(z, bias, alpha, epsilon):
    """The exact adversary of one text."""
    mask = torch.ones(1, len(z), dtype=torch.bool)
    best, ceiling = exact_jsd(
        torch.tensor(np.array([z])).double(), bias, torch.tensor(np.array([alpha])).double(), mask, epsilon
    )
    return best.item(), ceiling.item()


def bounds(z, bias, alpha, epsilon):
    p = sigmoid(np.dot(z, alpha) + bias)
    return logit(p - epsilon) - bias, logit(p + epsilon) - bias


def cases(n, count, seed=0):
    rng = np.random.default_rng(seed)
    for i in range(count):
        alpha = rng.dirichlet([(0.2, 1.0, 5.0)[i % 3]] * n)
        if i % 5 == 0:
            alpha[0] = 0
            alpha /= alpha.sum()
        yield rng.normal(scale=(0.3, 3.0)[i % 2], size=n), rng.normal(), alpha, (0.01, 0.05, 0.3)[i % 3]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_exact_adversary_is_the_best_of_all_vertices(n):
    for z, bias, alpha, epsilon in cases(n, 40):
        best, ceiling = one(z, bias, alpha, epsilon)
        of_all = [naive.jsd(alpha, a) for a in vertices(z, *bounds(z, bias, alpha, epsilon))]
        assert best == pytest.approx(max(of_all), abs=1e-7)
        assert ceiling == pytest.approx(max(naive.jsd(alpha, a) for a in np.eye(n)), abs=1e-12)
        assert -1e-12 <= best <= ceiling + 1e-12
        assert ceiling <= LN2 + 1e-12


def test_the_exact_adversary_is_the_best_of_a_grid_of_three_words():
    steps = 150
    grid = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]) / steps
    for z, bias, alpha, epsilon in cases(3, 15, seed=1):
        best, _ = one(z, bias, alpha, epsilon)
        low, high = bounds(z, bias, alpha, epsilon)
        inside = grid[(grid @ z >= low) & (grid @ z <= high)]
        found = jsd(torch.from_numpy(inside), torch.tensor(alpha)).max().item() if len(inside) else 0.0
        assert found <= best + 1e-12
        if epsilon > 0.1:
            assert found >= best - 0.05


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_no_attention_within_the_bound_is_farther_than_the_exact_adversary(n):
    rng = np.random.default_rng(n)
    for z, bias, alpha, epsilon in cases(n, 12, seed=2):
        best, _ = one(z, bias, alpha, epsilon)
        low, high = bounds(z, bias, alpha, epsilon)
        some = np.concatenate([rng.dirichlet([0.05] * n, size=300), rng.dirichlet([1.0] * n, size=100), np.eye(n)])
        # straight from α towards each as far as the bounds allow
        slope = some @ z - alpha @ z
        room = np.where(slope > 0, high - alpha @ z, low - alpha @ z) / np.where(slope == 0, np.nan, slope)
        moved = alpha + np.nan_to_num(room, nan=1.0, posinf=1.0).clip(0, 1)[:, None] * (some - alpha)
        assert jsd(torch.from_numpy(moved), torch.tensor(alpha)).max().item() <= best + 1e-9


def test_the_exact_adversary_worked_by_hand():
    """Log odds (1, 0, −1) under (½, ¼, ¼) are ¼; with ε = σ(¼) − ½ they may be from 0 to h = logit(2 σ(¼) − ½)."""
    alpha, p = np.array([0.5, 0.25, 0.25]), sigmoid(0.25)
    h = logit(2 * p - 0.5)
    corners = [[0, 1, 0], [0.5, 0, 0.5], [h, 1 - h, 0], [(1 + h) / 2, 0, (1 - h) / 2]]
    divergence = [naive.jsd(alpha, np.array(corner)) for corner in corners]
    assert one([1.0, 0.0, -1.0], 0.0, alpha.tolist(), p - 0.5)[0] == pytest.approx(max(divergence), abs=1e-12)
    assert max(divergence) == divergence[0]
    assert one([1.0, 0.1, -1.0], -0.1, [0.5, 0.25, 0.25], 0.0)[1] == pytest.approx(divergence[0])


@pytest.mark.parametrize(
    ("z", "bias", "alpha", "epsilon", "expected"),
    [
        ([9.0, 0.0], 0.0, [0.5, 0.5], 1.0, "ceiling"),  # no bound at all
        ([0.4, 0.4, 0.4], 0.3, [0.2, 0.3, 0.5], 0.01, "ceiling"),  # the attention says nothing
        ([30.0, 40.0, 50.0], 9.0, [0.2, 0.3, 0.5], 0.05, "ceiling"),  # p + ε above 1, p − ε below all
        ([-30.0, -40.0, -50.0], 9.0, [0.2, 0.3, 0.5], 0.05, "ceiling"),
        ([1.0, 1.0, 0.0], 0.0, [1.0, 0.0, 0.0], 0.01, LN2),  # the other word says the same
        ([5.0, -5.0], 0.0, [1.0, 0.0], 0.0, 0.0),  # nothing may change
        ([3.0], 0.0, [1.0], 0.05, 0.0),
    ],
)
def test_edges_of_the_exact_adversary(z, bias, alpha, epsilon, expected):
    best, ceiling = one(z, bias, alpha, epsilon)
    assert best == pytest.approx(ceiling if expected == "ceiling" else expected, abs=1e-9)
    if expected == "ceiling":
        assert ceiling == pytest.approx(max(naive.jsd(np.array(alpha), row) for row in np.eye(len(z))))


def test_padding_does_not_change_the_exact_adversary():
    z, bias, alpha, epsilon = next(cases(4, 1))
    more = [*z, 0.0, -9.0], [*alpha, 0.0, 0.0]
    mask = torch.tensor([[True] * 4 + [False] * 2, [False] * 6])
    best, ceiling = exact_jsd(torch.tensor([more[0]] * 2), bias, torch.tensor([more[1], [0.0] * 6]), mask, epsilon)
    assert (best[0].item(), ceiling[0].item()) == pytest.approx(one(z, bias, alpha, epsilon), abs=1e-12)


def test_adversaries_of_texts_without_words():
    for adversary in (exact, partial(by_gradient, steps=2)):
        frame = examine(built(), ["a", "b"], [(), ()], {"it": adversary})
        assert frame.filter(like="_jsd").isna().all(axis=None)


def test_the_attention_of_the_exact_adversary_is_as_far_as_it_says():
    texts = some_texts([2, 3, 5, 9, 14] * 3, seed=8)
    for encoder, epsilon in (("lstm", 0.05), ("average", 0.2), ("none", 0.0)):
        batch = read(built(encoder=encoder), [str(i) for i in range(15)], texts)
        best = exact(batch, epsilon=epsilon)["exact_jsd"]
        for i, text in enumerate(texts):
            found = exact_attention(batch, i, epsilon=epsilon)
            assert found.shape == (len(text),)
            assert found.sum().item() == pytest.approx(1)
            assert (found >= 0).all()
            assert (found > 0).sum() <= 2 or torch.equal(found, batch.alpha[i, 0, : len(text)])
            assert jsd(found, batch.alpha[i, 0, : len(text)]).item() == pytest.approx(best[i], abs=1e-6)
            padded_out = torch.zeros(1, 1, 1, 14, dtype=torch.float64)
            padded_out[..., : len(text)] = found
            alone = read(batch.model, ["x"], [text])
            moved = tvd(alone.decoded(padded_out[..., : len(text)])[0, 0], alone.probabilities[0])
            assert moved.item() <= epsilon + 1e-9


def test_who_can_be_solved():
    assert solvable(built())
    assert not solvable(built(classes=3))
    assert not solvable(Fake())
    assert isinstance(built(classes=3), LinearAttentionModel)


def test_the_exact_adversary_is_never_below_the_published_search():
    texts = [text for text in some_texts([2, 3, 4, 6, 9, 13] * 4, seed=9) if len(set(text)) > 1]
    ids = [str(i) for i in range(len(texts))]
    for encoder, epsilon in (("lstm", 0.05), ("average", 0.01)):
        model = built(encoder=encoder, double=False)
        frame = examine(
            model,
            ids,
            texts,
            {"e": partial(exact, epsilon=epsilon), "g": partial(by_gradient, epsilon=epsilon, steps=150)},
        )
        assert frame.notna().all(axis=None)
        assert (frame["adversarial_jsd"] <= frame["exact_jsd"] + 1e-4).all()
        assert (frame["exact_jsd"] <= frame["ceiling_jsd"] + 1e-6).all()
        assert (frame["adversarial_tvd"] <= epsilon).all()
        assert frame["adversarial_jsd"].mean() > 0.1


@pytest.mark.parametrize(("classes", "rows"), [(2, 1), (3, 2)])
def test_the_published_search_equals_the_naive_one(classes, rows):
    model, text, steps, attempts = Fake(classes=classes, rows=rows), ("good", "film", "very", "dull"), 40, 3
    batch = read(model, ["it"], [text])
    found = by_gradient(batch, steps=steps, attempts=attempts, epsilon=0.04)
    noise = generator(" ".join(text), "adversarial", 0).normal(size=(attempts, rows, 4))
    logits = torch.tensor(math.log(1 / 4) + 3 * noise, requires_grad=True)
    alpha = torch.from_numpy(model.weights(text))
    p = torch.from_numpy(naive.whole(model, text))

    def apart(x, y):
        m = (x + y) / 2
        return ((x * (x / m).log() + y * (y / m).log()) / 2).sum(-1).mean(-1)

    def said(a):
        state = model.encode([text])
        return model.decode(state, torch.nn.functional.pad(a, (0, 1))[None])[0].softmax(-1)

    adam = torch.optim.Adam([logits], lr=0.01, amsgrad=True)
    for _ in range(steps):
        a = logits.softmax(-1)
        loss = torch.zeros(())
        for k in range(attempts):
            off = (said(a)[k] - p).abs().sum() / 2
            loss = loss - apart(a[k], alpha) + 500 * torch.relu(off - 0.01)
            for other in range(attempts):
                loss = loss - apart(a[k], a[other]) / attempts**2
        adam.zero_grad()
        torch.autograd.backward(loss)
        adam.step()
    a = logits.detach().softmax(-1)
    off = (said(a) - p).abs().sum(-1) / 2
    far = apart(a, alpha)
    allowed = [(far[k].item(), off[k].item()) for k in range(attempts) if off[k] <= 0.04]
    expected = max([(0.0, 0.0), *allowed])
    assert (found["adversarial_jsd"].item(), found["adversarial_tvd"].item()) == pytest.approx(expected, abs=1e-6)


def test_the_search_gives_a_text_the_same_in_any_company():
    texts = some_texts([3, 6, 9, 4], seed=4)
    model = built()
    together = by_gradient(read(model, list("abcd"), texts), steps=60)
    for i, text in enumerate(texts):
        alone = by_gradient(read(model, ["abcd"[i]], [text]), steps=60)
        assert alone["adversarial_jsd"].item() == pytest.approx(together["adversarial_jsd"][i], abs=1e-6)


# one pass over all texts

ALL: dict[str, BatchTest] = {
    "correlation": correlation,
    "permutation": partial(permutation, draws=11),
    "uniform": uniform_attention,
    "exact": exact,
}


@pytest.mark.parametrize("encoder", ENCODERS)
def test_order_and_batches_change_nothing(encoder, monkeypatch):
    """Also where words repeat, and two measures are tied but for rounding."""
    texts = some_texts([0, 1, 2, 3, 5, 5, 8, 11, 30, 12, 12, 14, 25, 9], seed=6)
    ids = [f"t{i}" for i in range(len(texts))]
    model = built(encoder=encoder, double=False)
    expected = examine(model, ids, texts, ALL)
    assert expected["id"].tolist() == ids
    order = np.random.default_rng(0).permutation(len(texts))
    monkeypatch.setattr(classifiers, "_BATCH_CELLS", 40)
    other = examine(model, [ids[i] for i in order], [texts[i] for i in order], ALL).set_index("id").loc[ids]
    pd.testing.assert_frame_equal(other.reset_index(), expected, rtol=0, atol=2e-5)


def test_columns_every_table_has():
    done: list[int] = []
    frame = examine(built(), IDS, TEXTS, {}, advance=done.append)
    assert frame.columns.tolist() == ["id", "words", "predicted", "probability", "max_attention"]
    assert frame["words"].tolist() == [len(text) for text in TEXTS]
    assert sum(done) == len(TEXTS)
    p = probabilities(built(), TEXTS).numpy()
    np.testing.assert_allclose(frame["probability"], p.max(1), atol=1e-9)
    assert frame["predicted"].tolist() == p.argmax(1).tolist()
    assert frame["max_attention"][0] == 0
    assert frame["max_attention"][1] == pytest.approx(1)


def test_nothing_to_examine_and_columns_given_twice():
    with pytest.raises(ValueError, match="no text"):
        examine(built(), [], [], {})
    for name in ("words", "uniform_tvd"):
        again = partial(lambda name, batch: {name: np.zeros(len(batch))}, name)
        with pytest.raises(ValueError, match=f"'again' gives a column that there is already: .*{name}"):
            examine(built(), IDS, TEXTS, {"uniform": uniform_attention, "again": again})


def test_random_numbers_hang_on_text_seed_and_purpose_alone():
    drawn = {generator(*which).random() for which in (("a", "x", 0), ("b", "x", 0), ("a", "y", 0), ("a", "x", 1))}
    assert len(drawn) == 4
    assert generator("a", "x", 0).random() == generator("a", "x", 0).random()
    assert one_pass.generator is generator


def test_a_dropped_word():
    assert [drop(("a", "b", "c"), i) for i in range(3)] == [("b", "c"), ("a", "c"), ("a", "b")]
    assert drop(("a",), 0) == ()


# several models


def test_readings_and_their_divergences_equal_the_naive_loop():
    base, others = Fake(rows=2, seed=0), [Fake(rows=2, seed=s) for s in (1, 2, 3)]
    readings = [reading(model, TEXTS) for model in (base, *others)]
    found = seed_variance(readings[0], readings[1:], TEXTS, draws=6, seed=4)
    for i, text in enumerate(TEXTS):
        p, alpha = naive.whole(base, text), base.weights(text)
        np.testing.assert_allclose(readings[0].probabilities[i], p, atol=1e-7)
        np.testing.assert_allclose(readings[0].attention[i], alpha, atol=1e-12)
        assert readings[0].predicted[i] == p.argmax()
        shapes = [np.mean([naive.jsd(a, b) for a, b in zip(alpha, m.weights(text), strict=True)]) for m in others]
        outputs = [abs(p - naive.whole(m, text)).sum() / 2 for m in others]
        assert found["seed_tvd"][i] == pytest.approx(np.median(outputs), abs=1e-7)
        assert found["seed_mean_tvd"][i] == pytest.approx(np.mean(outputs), abs=1e-7)
        np.testing.assert_allclose(found["seed_jsd"][i], np.median(shapes) if len(text) > 1 else math.nan, atol=1e-7)
        n = len(text)
        orders = generator(" ".join(text), "attention of others shuffled", 4).permuted([[*range(n)]] * 6, axis=1)
        by_chance = []
        for order in orders:  # the weights of the others, moved so that each meets the weight of the base that it drew
            moved = [m.weights(text)[:, np.argsort(order)] for m in others]
            apart = [np.mean([naive.jsd(a, b) for a, b in zip(alpha, weights, strict=True)]) for weights in moved]
            by_chance.append(np.median(apart))
        expected = np.mean(by_chance) if n > 1 else math.nan
        np.testing.assert_allclose(found["seed_shuffled_jsd"][i], expected, atol=1e-7)
    same = divergences(readings[0], readings[0])
    assert np.nanmax(same[0]) == 0
    assert same[1].max() == 0


def test_shuffles_in_parts_are_those_in_one_go(monkeypatch):
    """As many at once as fit into memory."""
    base, *others = [reading(Fake(rows=2, seed=seed), TEXTS) for seed in range(3)]
    whole = several.chance(base, others, TEXTS, draws=9)
    monkeypatch.setattr(several, "CELLS", 30)
    np.testing.assert_allclose(several.chance(base, others, TEXTS, draws=9), whole, rtol=0, atol=1e-12)
    assert np.isfinite(whole).sum() == sum(len(text) > 1 for text in TEXTS)


def test_readings_with_given_attention():
    model = Fake(rows=2)
    other = reading(Fake(rows=2, seed=8), TEXTS)
    done: list[int] = []
    found = reading(model, TEXTS, Given(TEXTS, other.attention), done.append)
    even = reading(model, TEXTS, uniform_rows)
    for i, text in enumerate(TEXTS):
        np.testing.assert_allclose(found.probabilities[i], naive.answer(model, text, other.attention[i]), atol=1e-6)
        np.testing.assert_allclose(found.attention[i], other.attention[i], atol=1e-6)
        flat = np.full((2, len(text)), 1 / max(len(text), 1))
        np.testing.assert_allclose(even.probabilities[i], naive.answer(model, text, flat), atol=1e-7)
    assert sum(done) == len(TEXTS)
    np.testing.assert_allclose(found.probabilities, probabilities(model, TEXTS, Given(TEXTS, other.attention)))
    with pytest.raises(KeyError):
        reading(model, [("good", "good")], Given(TEXTS, other.attention))


def test_attention_of_several_texts_side_by_side():
    assert padded([np.ones((2, 1)), np.zeros((2, 0)), np.full((2, 3), 0.5)], 3).tolist() == [
        [[1, 0, 0], [1, 0, 0]],
        [[0, 0, 0], [0, 0, 0]],
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]],
    ]


def given(weights):
    """A reading of texts that all get the same output."""
    return ModelReading([row[None] for row in weights], np.full((len(weights), 2), 0.5))


def judged_alike(base, others, texts):
    rows = seed_variance(base, others, texts, draws=40)
    table = verdicts(pd.DataFrame(rows).assign(permutation_mean_tvd=0.0), Bootstrap(texts, 400))
    return table.set_index("question").loc["Do models that differ in the seed attend more alike than chance?"]


FLAT_AND_PEAKED = [0.1, 1.0, 30.0]  # of a Dirichlet distribution: from one word to almost uniform


@pytest.mark.parametrize("concentration", FLAT_AND_PEAKED)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_models_that_attend_alike_pass_however_flat_their_attention(concentration, count):
    """They share half of their attention. With shuffled weights of the base as a floor, the flat ones would fail."""
    rng = np.random.default_rng(0)
    texts = [(f"text {i}", *VOCABULARY[:9]) for i in range(60)]
    shared, *own = rng.dirichlet([concentration] * 10, size=(count + 2, 60))
    base, *others = (given((shared + part) / 2) for part in own)
    found = judged_alike(base, others, texts)
    assert found["verdict"] == "passes"
    assert 0 < found["smaller_mean"] < found["larger_mean"]


@pytest.mark.parametrize("concentration", FLAT_AND_PEAKED)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_models_that_have_nothing_in_common_meet_their_floor(concentration, count):
    """Whatever their number: the floor is what the same number of models gives by chance, neither less nor more."""
    rng = np.random.default_rng(1)
    texts = [(f"text {i}", *VOCABULARY[:5]) for i in range(250)]
    base, *others = (given(weights) for weights in rng.dirichlet([concentration] * 6, size=(count + 1, 250)))
    found = judged_alike(base, others, texts)
    spread = (found["high"] - found["low"]) / 4  # about one standard error
    assert abs(found["difference"]) < 3 * spread
    assert spread < 0.2 * found["smaller_mean"]


def test_models_that_avoid_the_words_of_the_base_fail():
    rng = np.random.default_rng(2)
    texts = [(f"text {i}", *VOCABULARY[:7]) for i in range(60)]
    weights = rng.dirichlet([0.5] * 8, size=60)
    rising, falling = np.sort(weights, axis=1), -np.sort(-weights, axis=1)
    assert judged_alike(given(rising), [given(falling)] * 3, texts)["verdict"] == "fails"


def planted(n=60, words=9):
    """Attention that ranks words almost as leaving them out does; gradients rank them exactly so."""
    rng = np.random.default_rng(0)
    loo = rng.random((n, words))
    attention, random = loo + rng.normal(scale=0.07, size=loo.shape), rng.random(loo.shape)
    tau = {"loo": kendall([*attention], [*loo])[0], "random": kendall([*attention], [*random])[0]}
    texts = [(f"text {i}", *VOCABULARY[: words - 1]) for i in range(n)]
    columns = {f"tau_{name}": values for name, values in tau.items()} | {"tau_gradient_loo": kendall([*loo], [*loo])[0]}
    return pd.DataFrame(columns), texts


def test_a_question_about_leave_one_out_is_not_decided_by_gradients():
    table, texts = planted()
    assert table["tau_loo"].mean() > 0.75
    found = verdicts(table, Bootstrap(texts, 200)).set_index("question")
    assert found["verdict"].to_dict() == {
        "Does attention rank words as leaving them out does, better than chance?": "passes",
        "Does attention agree with leaving words out better than gradients do?": "fails",
    }
    chance_row, gradient_row = found.to_dict("records")
    assert chance_row["compared"].endswith("against τ of attention and random scores")
    assert gradient_row["compared"].endswith("against that of gradient × input")


def test_a_floor_is_the_same_whatever_other_columns_are_there():
    """Shuffled weights that move the output by 0.0518 are above ε = 0.05, also beside seeds that move it by more."""
    rng = np.random.default_rng(0)
    texts = [(f"text {i}",) for i in range(200)]
    moved = 0.0518 + rng.normal(scale=0.004, size=200)
    table = pd.DataFrame({"permutation_tvd": moved, "permutation_mean_tvd": moved})
    beside = table.assign(seed_tvd=0.2, seed_mean_tvd=0.2, seed_jsd=0.1, seed_shuffled_jsd=0.2)
    alone, together = (verdicts(rows, Bootstrap(texts, 200)) for rows in (table, beside))
    assert alone["verdict"].tolist() == ["passes"]
    pd.testing.assert_frame_equal(together[together["test"] == "permutation"].reset_index(drop=True), alone)
    assert together.loc[together["larger"] == "permutation_mean_tvd", "verdict"].tolist() == ["fails"]


# means and intervals


def test_the_bootstrap_equals_the_naive_loop():
    texts = [*some_texts([3, 4, 5, 6, 7, 8], seed=1), ("the", "same"), ("the", "same")]
    values = np.random.default_rng(0).normal(size=(8, 3))
    values[2:5, 1] = math.nan
    values[:, 2] = math.nan
    low, high = Bootstrap(texts, 60, seed=3)(values)
    drawn = poisson_weights(["\x1f".join(text) for text in texts], 60, 3).astype(int)
    assert (drawn[:, 6] == drawn[:, 7]).all()
    for c in range(2):
        means = []
        for times in drawn:
            sample = [x for x, t in zip(values[:, c], times, strict=True) for _ in range(t) if not math.isnan(x)]
            if sample:
                means.append(np.mean(sample))
        np.testing.assert_allclose([low[c], high[c]], np.quantile(means, (0.025, 0.975)), atol=1e-12)
    assert np.isnan([low[2], high[2]]).all()


def test_the_bootstrap_without_replicates_gives_no_intervals():
    low, high = Bootstrap(TEXTS, 0)(np.ones((len(TEXTS), 2)))
    assert low.shape == high.shape == (2,)
    assert np.isnan([low, high]).all()


def test_words_are_kept_apart_when_texts_are_drawn():
    weights = Bootstrap([("a b",), ("a", "b"), ("ab",)], 200).weights
    assert len(np.unique(weights, axis=1).T) == 3


def test_intervals_cover_the_mean_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    hits = []
    texts = [(str(i),) for i in range(60)]
    for seed in range(300):
        values = rng.exponential(size=(60, 1)) - 1
        (low,), (high,) = Bootstrap(texts, 200, seed)(values)
        hits.append(low <= 0 <= high)
    assert 0.88 < np.mean(hits) < 0.98


TABLE = pd.DataFrame(
    {
        "predicted": [0, 0, 0, 1, 1],
        "a": [1.0, 2.0, math.nan, 4.0, 8.0],
        "b": [math.nan] * 5,
        "p_loo": [0.05, 0.051, math.nan, 0.0, 1.0],
    }
)


def test_means_by_class_worked_by_hand():
    texts = [(str(i),) for i in range(5)]
    found = summarise(TABLE, {"t": ["a", "b"], "u": ["a"]}, ["no", "yes", "never"], Bootstrap(texts, 100))
    assert found[["test", "measure", "predicted"]].to_numpy().tolist() == [
        [test, measure, group]
        for test, measures in (("t", "ab"), ("u", "a"))
        for group in (OVERALL, "no", "yes", "never")
        for measure in measures
    ]
    a = found[(found["test"] == "t") & (found["measure"] == "a")].set_index("predicted")
    assert a["n"].to_dict() == {OVERALL: 4, "no": 2, "yes": 2, "never": 0}
    assert a["undefined"].to_dict() == {OVERALL: 1, "no": 1, "yes": 0, "never": 0}
    assert a["mean"].to_dict() == pytest.approx({OVERALL: 3.75, "no": 1.5, "yes": 6.0, "never": math.nan}, nan_ok=True)
    assert a["sd"]["yes"] == pytest.approx(math.sqrt(8))
    assert a["median"][OVERALL] == 3.0
    assert 1 <= a["low"][OVERALL] < 3.75 < a["high"][OVERALL] <= 8
    b = found[found["measure"] == "b"]
    assert b[["mean", "sd", "median", "low", "high"]].isna().all(axis=None)
    assert b["undefined"].tolist() == [5, 3, 2, 0]
    alone = summarise(TABLE[:1], {"t": ["a"]}, ["no"], Bootstrap(texts[:1], 0))
    assert alone[["n", "mean"]].to_numpy().tolist() == [[1, 1.0], [1, 1.0]]
    assert alone[["sd", "low", "high"]].isna().all(axis=None)


def test_a_class_may_be_called_like_the_whole():
    found = summarise(TABLE, {"t": ["a"]}, [OVERALL, "yes"], Bootstrap([(str(i),) for i in range(5)], 10))
    assert found["n"].tolist() == [4, 2, 2]


def test_one_text_has_no_interval():
    low, high = Bootstrap([("a",), ("b",)], 100)(np.array([[1.0], [math.nan]]))
    assert np.isnan([low, high]).all()


def test_significant_up_to_and_with_five_percent():
    found = significant(TABLE)
    assert list(found) == ["significant_loo"]
    np.testing.assert_equal(found["significant_loo"], [1, 0, math.nan, 1, 0])


def test_flips_worked_by_hand():
    table = pd.DataFrame(
        {
            "single_x_top_flip": [1, 1, 1, 0, 0, 0, math.nan, 1],
            "single_x_random_flip": [1, 0, 0, 1, 0, 0, math.nan, 0],
        }
    )
    assert flip_table(table, ["x"]).to_dict("records") == [
        {"measure": "x", "n": 7, "both": 1, "only_top": 3, "only_random": 1, "neither": 2}
    ]
    assert flip_table(table, []).columns.tolist() == ["measure", "n", "both", "only_top", "only_random", "neither"]


def test_quality_worked_by_hand():
    """Of class 1: 2 of 3 found, 1 of 3 wrong. One of 6 pairs is in the wrong order."""
    second = np.array([0.9, 0.4, 0.6, 0.7, 0.2])
    found = quality(np.stack([1 - second, second], axis=1), np.array([1, 1, 1, 0, 0]))
    assert found == pytest.approx({"accuracy": 3 / 5, "f1": 2 / 3, "macro_f1": (2 / 3 + 1 / 2) / 2, "auc": 1 - 2 / 6})
    three = quality(np.eye(3)[[0, 1, 2, 2]], np.array([0, 1, 2, 0]))
    assert three["accuracy"] == 3 / 4
    assert math.isnan(three["f1"])
    assert three["macro_f1"] == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)
    assert three["auc"] == pytest.approx((0.75 + 1 + 5 / 6) / 3)
    same = quality(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1, 1]))
    assert [same["accuracy"], same["f1"]] == pytest.approx([0.5, 2 / 3])
    assert math.isnan(same["auc"])


# verdicts


class Told(Bootstrap):
    """An interval of our choice."""

    def __init__(self, low, high, count=FEWEST):
        super().__init__([(str(i),) for i in range(count)], 1)
        self.bounds = low, high

    def __call__(self, values):
        return np.full(values.shape[1], self.bounds[0]), np.full(values.shape[1], self.bounds[1])


QUESTION = Question("?", "this against that", "x", "z", "yes", "no", searched="w")


def verdict(table, bootstrap, **options):
    found = verdicts(table, bootstrap, questions=[("t", QUESTION)], **options)
    return found.to_dict("records")[0] if len(found) else None


@pytest.mark.parametrize(
    ("low", "high", "n", "expected"),
    [
        (0.1, 0.2, FEWEST, "passes"),
        (0.1, 0.2, FEWEST - 1, "undecided"),
        (0.0, 0.2, FEWEST, "undecided"),
        (-0.1, 0.0, FEWEST, "undecided"),
        (0.0, 0.0, FEWEST, "undecided"),
        (-0.2, -0.1, FEWEST, "fails"),
        (-0.2, -0.1, 3, "undecided"),
        (math.nan, math.nan, FEWEST, "undecided"),
        (5e-324, 1.0, FEWEST, "passes"),
    ],
)
def test_only_an_interval_without_zero_decides(low, high, n, expected):
    table = pd.DataFrame({"x": [1.0] * n + [math.nan] * 7, "z": 0.0})
    found = verdict(table, Told(low, high, n + 7))
    assert found is not None
    assert (found["verdict"], found["n"]) == (expected, n)
    assert found["meaning"] == {"passes": "yes", "fails": "no"}.get(expected, found["meaning"])
    np.testing.assert_equal([found["low"], found["high"]], [low, high])


def test_a_verdict_is_about_texts_that_have_both_columns():
    n = 40
    table = pd.DataFrame({"x": [3.0] * n, "z": np.arange(n) / n})
    table.loc[:4, "x"] = math.nan
    table.loc[36:, "z"] = math.nan
    found = verdict(table, Bootstrap([(str(i),) for i in range(n)], 200))
    assert found is not None
    mean = np.arange(5, 36).mean() / n
    assert (found["larger"], found["smaller"], found["n"]) == ("x", "z", 31)
    assert [found["larger_mean"], found["smaller_mean"], found["difference"]] == pytest.approx([3, mean, 3 - mean])
    assert found["low"] < found["difference"] < found["high"]
    assert found["verdict"] == "passes"


def test_questions_whose_columns_are_not_there_are_left_out():
    table = pd.DataFrame({"x": [0.3] * FEWEST})
    assert verdict(table, Told(1.0, 1.0)) is None
    assert verdict(table.rename(columns={"x": "z"}), Told(1.0, 1.0)) is None


def test_a_question_without_any_text_is_undecided_and_not_left_out():
    found = verdict(pd.DataFrame({"x": [math.nan] * FEWEST, "z": [1.0] * FEWEST}), Told(math.nan, math.nan))
    assert found is not None
    assert (found["verdict"], found["n"], found["meaning"]) == ("undecided", 0, "No text has both numbers.")
    assert np.isnan([found["difference"], found["larger_mean"], found["smaller_mean"]]).all()


def test_what_only_a_search_found_is_never_passed():
    """The search may have missed it. An exact number counts before that of the search, if there is one."""
    table = pd.DataFrame({"x": [1.0] * FEWEST, "w": [0.5] * FEWEST})
    found = verdict(table, Told(0.4, 0.6))
    assert found is not None
    assert (found["smaller"], found["verdict"]) == ("w", "undecided")
    found = verdict(table, Told(-0.6, -0.4))
    assert found is not None
    assert found["verdict"] == "fails"
    found = verdict(table.assign(z=0.25), Told(0.4, 0.6))
    assert found is not None
    assert (found["smaller"], found["smaller_mean"], found["verdict"]) == ("z", 0.25, "passes")


def test_the_tolerance_is_a_floor():
    table = pd.DataFrame({"permutation_tvd": [0.3] * FEWEST})
    found = verdicts(table, Told(0.1, 0.1), epsilon=0.2).to_dict("records")
    assert [(row["larger"], row["smaller"], row["smaller_mean"]) for row in found] == [
        ("permutation_tvd", "epsilon", pytest.approx(0.2))
    ]
    assert "epsilon" not in table


@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_decides_nothing(sign):
    """Equal numbers that were computed in two ways, such as a mean over draws that are all alike."""
    value = 0.1
    table = pd.DataFrame({"x": [value] * 50, "z": [value + sign * 1e-16] * 50})
    bootstrap = Bootstrap([(str(i),) for i in range(50)], 100)
    assert (table["x"] != table["z"]).all()
    found = verdict(table, bootstrap)
    assert found is not None
    assert (found["verdict"], found["low"], found["high"]) == ("undecided", 0, 0)
    found = verdict(table.assign(z=value - sign * 1e-5), bootstrap)
    assert found is not None
    assert found["verdict"] == ("passes" if sign > 0 else "fails")


def test_copies_of_one_text_are_one_text():
    table = pd.DataFrame({"x": [1.0] * 50, "z": [0.5] * 50})
    found = verdict(table, Bootstrap([("always", "the", "same")] * 50))
    assert found is not None
    assert found["verdict"] == "undecided"


def test_rules_are_about_columns_that_the_tests_give():
    model = built()
    columns = set(examine(model, IDS, TEXTS, ALL | {"g": partial(by_gradient, steps=1)}).columns)
    named = {column for _, question in all_questions() for column in question.columns} | {""}
    assert {column for column in named if column.startswith(("tau", "perm", "exact", "adv"))} <= columns
    readings = [reading(built(seed=seed), TEXTS) for seed in range(2)]
    given_by_seeds = seed_variance(readings[0], readings[1:], TEXTS, draws=2)
    assert {column for column in named if column.startswith("seed")} <= set(given_by_seeds)
    assert len({question.question for _, question in all_questions()}) == len(all_questions())


def test_a_reading_knows_what_is_predicted():
    found = ModelReading([np.ones((1, 1))] * 2, np.array([[0.2, 0.8], [0.6, 0.4]]))
    assert found.predicted.tolist() == [1, 0]
