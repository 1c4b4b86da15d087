"""The farthest attention on two words against scans over weights, against the exact adversary, and by hand."""

from __future__ import annotations

import itertools
import random
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax

from attentionology.analyses.explanation.attention.batch import examine, read
from attentionology.analyses.explanation.attention.measures import LN2, tvd
from attentionology.analyses.explanation.attention.two_words import (
    TOLERANCE,
    Decoder,
    decoders,
    farthest_on_two_words,
    farthest_tried,
    has_decoder,
)
from attentionology.analyses.explanation.methods.adversarial import by_gradient, exact_adversary
from attentionology.extractors import WordsWithQuery
from attentionology.probes.classifiers import QueryClassifier, Vocabulary
from tests.reference import naive_erasure as naive
from tests.reference.explained import built, some_texts
from tests.reference.naive_erasure import Fake
from tests.reference.test_explanation_adversaries import cases, one


def decoder_of(rng: Any, n: int, classes: int, *, slope: float = 1.0, units: int = 16, linear: bool = False) -> Decoder:
    """A random decoder; the larger the slope, the more often the output rises and falls between two words."""
    if linear:
        return Decoder(slope * rng.normal(size=(n, classes)), np.eye(classes), 0.3 * rng.normal(size=classes), True)
    of_words = slope * rng.normal(size=(n, units)) + 0.5 * rng.normal(size=units)
    return Decoder(of_words, 3 * slope * rng.normal(size=(units, classes)) / 4, 0.3 * rng.normal(size=classes), False)


def answer(decoder: Decoder, weights: Any) -> Any:
    """The probabilities under some attention, by the formula."""
    units = weights @ decoder.units
    return softmax((units if decoder.is_linear else np.tanh(units)) @ decoder.weights + decoder.bias, axis=-1)


def scanned(decoder: Decoder, alpha: Any, epsilon: float, steps: int) -> float:
    """The farthest attention that is allowed with equal steps of the weight between any two words."""
    own, best = answer(decoder, alpha), 0.0
    for i, j in itertools.combinations(range(len(alpha)), 2):
        weights = np.zeros((steps + 1, len(alpha)))
        weights[:, i] = np.arange(steps + 1) / steps
        weights[:, j] = 1 - weights[:, i]
        allowed = np.abs(answer(decoder, weights) - own).sum(1) / 2 <= epsilon
        best = max([best, *(naive.jsd(alpha, row) for row in weights[allowed])])
    return best


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_no_scan_over_two_words_finds_more(classes, slope, linear):
    """Nor much less: the weights that were found are between two of the scan."""
    rng = np.random.default_rng(classes)
    for n, epsilon in ((2, 0.05), (3, 0.01), (5, 0.05), (6, 0.2)):
        decoder = decoder_of(rng, n, classes, slope=slope, linear=linear)
        alpha = rng.dirichlet([1.0] * n)
        found = farthest_on_two_words(decoder, alpha, epsilon)
        expected = scanned(decoder, alpha, epsilon, 1000)
        assert expected <= found.jsd + TOLERANCE
        assert found.jsd == pytest.approx(naive.jsd(alpha, found.attention), abs=1e-12)
        assert np.abs(answer(decoder, found.attention) - answer(decoder, alpha)).sum() / 2 <= epsilon + 1e-11
        assert found.attention.sum() == pytest.approx(1)
        assert (found.attention > 0).sum() <= 2 or found.jsd == 0
        assert found.gap == TOLERANCE
        steeper = scanned(decoder, alpha, epsilon + 0.02, 1000)  # more is allowed at the neighbors of what was found
        assert found.jsd <= steeper + 0.01


def test_it_finds_what_a_coarse_scan_misses():
    """The first two words give the output of the third between two of 64 steps, where both hidden units are below 0."""
    units = np.array([[800 * (1 - 0.512), -800 * (1 - 0.503)], [-800 * 0.512, 800 * 0.503], [-40.0, -40.0]])
    decoder, alpha = Decoder(units, np.array([[0.0, 9.0]] * 2), np.zeros(2), False), np.array([0.01, 0.01, 0.98])
    coarse, fine = (scanned(decoder, alpha, 0.05, steps) for steps in (64, 10_000))
    found = farthest_on_two_words(decoder, alpha, 0.05).jsd
    assert coarse < fine - 0.05
    assert fine <= found <= fine + 1e-3


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_it_is_the_exact_adversary_of_two_classes_and_a_linear_decoder(n):
    for z, bias, alpha, epsilon in cases(n, 40):
        decoder = Decoder(np.stack([np.zeros(n), z], axis=1), np.eye(2), np.array([0.0, bias]), True)
        found = farthest_on_two_words(decoder, alpha, epsilon)
        assert (found.jsd, found.ceiling) == pytest.approx(one(z, bias, alpha, epsilon), abs=2e-9)


@pytest.mark.parametrize("linear", [False, True])
def test_an_output_that_attention_does_not_change_allows_the_ceiling(linear):
    rng = np.random.default_rng(0)
    for n, epsilon in ((2, 0.05), (5, 0.0), (9, 1e-6)):
        alpha = rng.dirichlet([1.0] * n)
        decoder = decoder_of(rng, 1, 3, linear=linear)
        found = farthest_on_two_words(Decoder(*_same_units(decoder, n)), alpha, epsilon)
        assert found.is_exact
        assert found.jsd == found.ceiling == pytest.approx(max(naive.jsd(alpha, row) for row in np.eye(n)))
        assert found.attention.tolist() == np.eye(n)[alpha.argmin()].tolist()
        assert found.evaluations == n  # single words settle it


def _same_units(decoder: Decoder, n: int) -> Any:
    return np.repeat(decoder.units, n, axis=0), decoder.weights, decoder.bias, decoder.is_linear


def test_a_tolerance_that_is_larger_than_any_change_allows_the_ceiling():
    rng = np.random.default_rng(0)
    found = farthest_on_two_words(decoder_of(rng, 4, 3), np.array([0.0, 0.2, 0.3, 0.5]), 0.999999)
    assert found.jsd == pytest.approx(LN2)
    assert found.is_exact


@pytest.mark.parametrize("n", [0, 1])
def test_texts_of_fewer_than_two_words_have_no_other_attention(n):
    found = farthest_on_two_words(decoder_of(np.random.default_rng(0), n, 3), np.ones(n), 0.05)
    assert (found.jsd, found.attention.tolist()) == (0.0, [1.0] * n)


@pytest.mark.parametrize("classes", [2, 3])
def test_more_words_can_be_farther_only_with_more_classes(classes):
    """All attentions on three words in steps of 1/200. Two conditions can be met by two words, and three by three."""
    farther = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        decoder, alpha = decoder_of(rng, 3, classes, units=4), rng.dirichlet([1.0] * 3)
        grid = np.array([(i, j, 200 - i - j) for i in range(201) for j in range(201 - i)]) / 200
        allowed = np.abs(answer(decoder, grid) - answer(decoder, alpha)).sum(1) / 2 <= 0.05
        best = max(naive.jsd(alpha, row) for row in grid[allowed])
        found = farthest_on_two_words(decoder, alpha, 0.05)
        farther.append(best - found.jsd)
        assert best <= found.ceiling + 1e-12
    assert (max(farther) <= 1e-3) == (classes == 2), farther


def test_where_the_output_of_no_two_words_is_allowed_the_original_is_the_answer():
    """Each of three classes needs its word, so that attention on all three is not matched by two."""
    decoder = Decoder(9 * np.eye(3), np.eye(3), np.zeros(3), True)
    alpha = np.array([0.4, 0.3, 0.3])
    found = farthest_on_two_words(decoder, alpha, 0.05)
    assert (found.jsd, found.is_exact, found.gap) == (0.0, False, TOLERANCE)
    assert found.attention is alpha


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 8])
def test_the_output_is_never_steeper_than_the_bound(classes, linear):
    rng = np.random.default_rng(classes)
    for slope in (0.2, 1.0, 4.0):
        decoder = decoder_of(rng, 12, classes, slope=slope, linear=linear)
        own = answer(decoder, rng.dirichlet([1.0] * 12))
        first, second = np.triu_indices(12, k=1)
        change = decoder.units[first] - decoder.units[second]
        weights = np.linspace(0, 1, 2001)
        units = decoder.units[second][:, None] + weights[:, None] * change[:, None]
        inside = units if linear else np.tanh(units)
        distances = np.abs(softmax(inside @ decoder.weights + decoder.bias, axis=-1) - own).sum(-1) / 2
        slopes = np.abs(np.diff(distances, axis=1)).max(axis=1) * 2000
        assert (slopes <= decoder.steepest(change) + 1e-9).all()


def test_the_bound_on_the_slope_is_reached():
    """Two classes with equal probabilities, and one hidden unit in the middle of its tanh."""
    for decoder in (
        Decoder(np.array([[0.01], [-0.01]]), np.array([[-3.0, 5.0]]), np.zeros(2), False),
        Decoder(np.array([[0.0, 0.08], [0.08, 0.0]]), np.eye(2), np.zeros(2), True),
    ):
        (bound,) = decoder.steepest(decoder.units[:1] - decoder.units[1:])
        assert bound == pytest.approx(0.04)
        outputs = answer(decoder, np.array([[0.499, 0.501], [0.501, 0.499]]))
        assert np.abs(outputs[1] - outputs[0]).sum() / 2 / 0.002 == pytest.approx(bound, rel=1e-3)


def test_the_gap_covers_what_a_search_that_was_cut_short_has_missed():
    gaps = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        decoder, alpha = decoder_of(rng, 9, 4, slope=3.0), rng.dirichlet([1.0] * 9)
        whole = farthest_on_two_words(decoder, alpha, 0.02)
        for evaluations in (1, 60, 200):
            short = farthest_on_two_words(decoder, alpha, 0.02, evaluations=evaluations)
            assert short.jsd <= whole.jsd + TOLERANCE
            assert whole.jsd <= short.jsd + short.gap <= whole.ceiling + TOLERANCE
            gaps.append(short.gap)
    assert max(gaps) > 0.01


def test_parts_of_the_ranges_give_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    decoder, alpha = decoder_of(rng, 12, 4, slope=2.0), rng.dirichlet([1.0] * 12)
    whole = farthest_on_two_words(decoder, alpha, 0.02)
    monkeypatch.setattr("attentionology.analyses.explanation.attention.two_words._CELLS", 16 * 7)
    parts = farthest_on_two_words(decoder, alpha, 0.02)
    assert parts.jsd == pytest.approx(whole.jsd, abs=2 * TOLERANCE)
    assert parts.evaluations != whole.evaluations


def pairs(count: int, seed: int, words: int = 12) -> list[WordsWithQuery]:
    rng = random.Random(seed)
    names = [f"w{k}" for k in range(words)]
    return [WordsWithQuery(rng.choices(names, k=rng.randint(2, 9)), rng.choices(names, k=2)) for _ in range(count)]


@pytest.fixture(scope="module")
def trained() -> QueryClassifier:
    """Three classes, by how often the first word of the query is in the text."""
    texts = pairs(200, seed=0, words=6)
    labels = [str(min(2, text.count(text.query[0]))) for text in texts]
    model = QueryClassifier("average", dimensions=12, size=16)
    model.fit(texts, labels)
    return model


def test_the_search_by_gradient_never_finds_more_with_three_classes(trained):
    texts = list(dict.fromkeys(pairs(24, seed=1, words=6)))
    batch = read(trained, [str(i) for i in range(len(texts))], texts)
    found = [farthest_on_two_words(decoder, alpha, 0.05) for decoder, alpha in decoders(batch)]
    searched = by_gradient(batch, steps=150)["adversarial_jsd"]
    two_words = np.array([each.jsd for each in found])
    assert (searched <= two_words + 1e-5).all()
    assert searched.mean() < two_words.mean() - 0.05
    for index, (text, each) in enumerate(zip(texts, found, strict=True)):
        attention = torch.zeros(len(texts), 1, 1, batch.alpha.shape[-1])
        attention[index, 0, 0, : len(text)] = torch.from_numpy(each.attention)
        output = batch.decoded(attention)[index, 0]
        assert tvd(output, batch.probabilities[index]).item() <= 0.05 + 1e-6


def test_a_text_has_the_same_answer_in_any_company(trained):
    texts = pairs(8, seed=2, words=6)
    together = decoders(read(trained, list("abcdefgh"), texts))
    for text, (decoder, alpha) in zip(texts, together, strict=True):
        ((own_decoder, own_alpha),) = decoders(read(trained, ["it"], [text]))
        assert len(alpha) == len(decoder.units) == len(text)
        own, found = (
            farthest_on_two_words(*arguments, 0.05) for arguments in ((own_decoder, own_alpha), (decoder, alpha))
        )
        assert own.jsd == pytest.approx(found.jsd, abs=1e-5)


def test_decoders_give_the_logits_of_their_models():
    texts = some_texts([4, 1, 7], seed=3)
    queries = pairs(4, seed=3)
    query_model = QueryClassifier("cnn", dimensions=6, size=8).build(Vocabulary.of(queries), ("a", "b")).double()
    for model, read_texts in ((built(classes=3), texts), (built(), texts), (query_model, queries)):
        assert has_decoder(model)
        batch = read(model, [str(i) for i in range(len(read_texts))], read_texts)
        rng = np.random.default_rng(0)
        for index, (decoder, alpha) in enumerate(decoders(batch)):
            assert decoder.probabilities(alpha @ decoder.units) == pytest.approx(batch.probabilities[index].numpy())
            other = np.zeros((len(read_texts), 1, 1, batch.alpha.shape[-1]))
            other[index, ..., : len(alpha)] = rng.dirichlet(np.ones(len(alpha)))
            expected = batch.decoded(torch.from_numpy(other))[index, 0].detach().numpy()
            assert decoder.probabilities(other[index, 0, 0, : len(alpha)] @ decoder.units) == pytest.approx(expected)
    assert not has_decoder(Fake())


def test_the_exact_adversary_is_that_of_the_decoder():
    texts = some_texts([2, 3, 5, 9, 14], seed=8)
    model = built()
    best = examine(model, list("abcde"), texts, {"e": partial(exact_adversary, epsilon=0.1)})["exact_jsd"]
    for text, expected in zip(texts, best, strict=True):
        ((decoder, alpha),) = decoders(read(model, ["it"], [text]))
        assert farthest_on_two_words(decoder, alpha, 0.1).jsd == pytest.approx(expected, abs=2e-9)


@pytest.mark.parametrize(("classes", "rows", "special"), [*itertools.product((2, 3), (1, 2), ("keep", "renormalize"))])
def test_what_is_tried_equals_a_plain_loop(classes, rows, special):
    model, epsilon = Fake(classes=classes, rows=rows, special=special, pad=2), 0.08
    texts = some_texts([0, 1, 2, 3, 6, 9], seed=4)
    farthest, ceiling = farthest_tried(read(model, list("abcdef"), texts), epsilon)
    assert farthest[:2].tolist() == ceiling[:2].tolist() == [0, 0]
    for index, text in enumerate(texts[2:], start=2):
        alpha, n = model.weights(text), len(text)
        own, alone = naive.answer(model, text, alpha), np.eye(n)
        changes = [naive.answer(model, text, np.array([row] * rows)) - own for row in alone]
        tried = [*alone]
        for i in range(n):
            mixtures = []
            for j in range(n):
                apart = changes[j] - changes[i]
                weight = (changes[j] @ apart) / (apart @ apart) if i != j else 0.0
                if 0 < weight < 1:
                    mixture = weight * alone[i] + (1 - weight) * alone[j]
                    left = np.abs(weight * changes[i] + (1 - weight) * changes[j]).sum() / 2
                    score = naive.jsd(alpha.mean(0), mixture) if left <= epsilon / 2 else -left
                    mixtures.append((score, mixture))
            tried += [max(mixtures, key=lambda pair: pair[0])[1]] if mixtures else []
        far = [np.mean([naive.jsd(row, each) for row in alpha]) for each in tried]
        same = [np.abs(naive.answer(model, text, np.array([each] * rows)) - own).sum() / 2 <= epsilon for each in tried]
        assert farthest[index] == pytest.approx(max([0.0, *(x for x, ok in zip(far, same, strict=True) if ok)]))
        assert ceiling[index] == pytest.approx(np.mean([max(naive.jsd(row, each) for each in alone) for row in alpha]))


def test_what_is_tried_is_never_beyond_the_answer(trained):
    texts = pairs(30, seed=5, words=6)
    batch = read(trained, [str(i) for i in range(30)], texts)
    farthest, ceiling = farthest_tried(batch, 0.05)
    found = [farthest_on_two_words(decoder, alpha, 0.05) for decoder, alpha in decoders(batch)]
    assert ceiling == pytest.approx([each.ceiling for each in found], abs=1e-12)
    # An attention at the border may be allowed for one of the two by the rounding of float32.
    assert (farthest <= [each.jsd + 1e-5 for each in found]).all()
    assert farthest.mean() > 0.8 * np.mean([each.jsd for each in found])
