"""Shuffled, uniform and adversarial attention against plain loops."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from attentionology.analyses.explanation.attention.batch import examine, generator, read
from attentionology.analyses.explanation.attention.exact_adversary import exact_attention, exact_jsd, is_solvable
from attentionology.analyses.explanation.attention.measures import LN2, jsd, tvd
from attentionology.analyses.explanation.attention.two_words import EVALUATIONS, TOLERANCE, farthest_tried
from attentionology.analyses.explanation.contract.options import ExplanationTestOptions
from attentionology.analyses.explanation.methods.adversarial import TEST, by_gradient, exact_adversary, farthest
from attentionology.analyses.explanation.methods.permutation import permutation
from attentionology.analyses.explanation.methods.uniform import uniform_attention
from attentionology.extractors.replaceable.attention_model import LinearAttentionModel
from tests.reference import naive_erasure as naive
from tests.reference.explained import IDS, TEXTS, built, logit, sigmoid, some_texts
from tests.reference.naive_erasure import VOCABULARY, Fake


@pytest.mark.parametrize(("classes", "rows", "special"), [*itertools.product((2, 3), (1, 2), ("keep", "renormalize"))])
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
        # straight from α toward each as far as the bounds allow
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
    for adversary in (exact_adversary, partial(by_gradient, steps=2)):
        frame = examine(built(), ["a", "b"], [(), ()], {"it": adversary})
        assert frame.filter(like="_jsd").isna().all(axis=None)


def test_the_attention_of_the_exact_adversary_is_as_far_as_it_says():
    texts = some_texts([2, 3, 5, 9, 14] * 3, seed=8)
    for encoder, epsilon in (("lstm", 0.05), ("average", 0.2), ("none", 0.0)):
        batch = read(built(encoder=encoder), [str(i) for i in range(15)], texts)
        best = exact_adversary(batch, epsilon=epsilon)["exact_jsd"]
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
    assert is_solvable(built())
    assert not is_solvable(built(classes=3))
    assert not is_solvable(Fake())
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
            {"e": partial(exact_adversary, epsilon=epsilon), "g": partial(by_gradient, epsilon=epsilon, steps=150)},
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


@pytest.mark.parametrize("known", [True, False])
def test_the_farthest_attention_is_the_larger_one_of_what_both_searches_find(known):
    """Of three classes, where it is known how the output depends on attention, and where it is not."""
    texts = some_texts([0, 1, 3, 6, 9, 9, 14], seed=5)
    batch = read(built(classes=3) if known else Fake(classes=3), list("abcdefg"), texts)
    searched = {"adversarial_jsd": np.array([math.nan, math.nan, 0.0, 0.66, 0.2, 9.0, 0.1])}
    found, alone = farthest(batch, searched, epsilon=0.02), farthest(batch, {}, epsilon=0.02)
    assert ("two_word_jsd" in found) == ("two_word_gap" in found) == known
    assert all(np.isnan(column[:2]).all() and not np.isnan(column[2:]).any() for column in found.values())
    expected = alone["two_word_jsd"] if known else farthest_tried(batch, 0.02)[0]
    np.testing.assert_array_equal(alone["farthest_jsd"][2:], expected[2:])
    largest = np.minimum(np.maximum(expected, searched["adversarial_jsd"]), found["ceiling_jsd"])
    np.testing.assert_array_equal(found["farthest_jsd"][2:], largest[2:])
    np.testing.assert_array_equal(found["exact"][2:], (largest >= found["ceiling_jsd"] - 1e-6)[2:])
    assert found["exact"][5] == 1  # no search is beyond the ceiling
    assert 0 in found["exact"]


def test_without_a_search_there_must_be_something_to_compute():
    options = ExplanationTestOptions(steps=0)
    assert "--steps is 0" in (TEST.impossible(Fake(), options) or "")
    for model in (built(), built(classes=3)):
        assert TEST.impossible(model, options) is None
    assert TEST.impossible(Fake(), ExplanationTestOptions(steps=1)) is None
    columns = TEST.examine(read(built(classes=3), ["a"], [("the", "film", "was")]), options)
    assert list(columns) == ["two_word_jsd", "two_word_gap", "farthest_jsd", "exact", "ceiling_jsd"]
    assert {"exact_jsd", "ceiling_jsd"} == {*TEST.examine(read(built(), ["a"], [("the", "film", "was")]), options)}


def test_remarks_say_what_the_search_has_missed_and_what_was_cut_short():
    table = pd.DataFrame({
        "farthest_jsd": [0.5, 0.6, 0.4, math.nan],
        "adversarial_jsd": [0.25, 0.5, 0.4, math.nan],
        "adversarial_tvd": [0.0] * 4,
        "two_word_gap": [TOLERANCE, 0.125, 0.0625, math.nan],
    })  # fmt: skip
    missed, cut_short = TEST.conclude(table, ExplanationTestOptions()).notes
    assert "at least 0.117 below the largest one" in missed
    assert "in 2 of 3 texts" in missed
    assert cut_short.startswith("In 2 of 4 texts")
    assert f"{EVALUATIONS:,}" in cut_short
    assert "by 0.125 at most" in cut_short
    complete = table.assign(two_word_gap=TOLERANCE, adversarial_jsd=table["farthest_jsd"])
    assert TEST.conclude(complete, ExplanationTestOptions()).notes == ()
    names = [points["name"].iloc[0] for points in TEST.conclude(table, ExplanationTestOptions()).points]
    assert names == ["farthest", "adversarial"]
