"""Scores, losses, gradients and training of probes against double loops in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import Sentence, WordVectors
from attentionology.probes import AttentionProbe, AttentionWordsProbe, Recipe, WordsDistancesProbe
from attentionology.probes.probed_sentence import ProbedSentence, gold_heads, probed_sentences
from attentionology.probes.scorers import AttentionScorer, AttentionWordsScorer, DistanceScorer, Scorer
from tests.maps import batch_of, random_corpus

LAYERS, HEADS, K = 2, 3, 6


def vectors(seed: int = 1, dimensions: int = 4) -> WordVectors:
    """Vectors of w0, w1, w3, … but not of w2, which so has zeros."""
    known = [f"w{i}" for i in range(12) if i != 2]
    array = np.random.default_rng(seed).normal(size=(len(known), dimensions)).astype(np.float32)
    return WordVectors(array, {word: row for row, word in enumerate(known)})


def example_of(sentence: Sentence, maps: np.ndarray) -> ProbedSentence:
    found = next(probed_sentences([batch_of([sentence], [maps])]))
    return ProbedSentence(found.sentence, found.maps.double(), found.words, found.start, found.end)


def scorers() -> list[Scorer]:
    """One of each kind in float64, biases not zero."""
    generator = torch.Generator().manual_seed(3)
    made: list[Scorer] = [
        AttentionScorer(K, generator),
        AttentionWordsScorer(K, vectors(), generator),
        DistanceScorer(vectors(), 5, generator),
    ]
    for scorer in made:
        scorer.double()
        for name, parameter in scorer.named_parameters():
            if "bias" in name:
                parameter.data.normal_(generator=generator)
    return made


def vector(word: str | None) -> np.ndarray:
    """Zeros for ROOT and for words without a vector."""
    own = vectors()
    return own.array[own.index[word]].astype(float) if word and word in own.index else np.zeros(own.dimensions)


def naive(scorer: Scorer, sentence: Sentence, maps: np.ndarray) -> np.ndarray:
    """One dependent, one candidate, one head at a time."""
    p = {name: value.detach().numpy() for name, value in scorer.named_parameters()}
    flat = maps.astype(float).reshape(K, *maps.shape[-2:])
    n = len(sentence)
    cls, sep = 0, n + 1
    scores = np.zeros((n, n + 1))
    for i in range(1, n + 1):
        for c in range(n + 1):
            v_i, v_c = vector(sentence.words[i - 1]), vector(sentence.words[c - 1] if c else None)
            if isinstance(scorer, DistanceScorer):
                planes = [
                    (c - i) / n if c > i else 0.0, (i - c) / n if c < i else 0.0,
                    c == i, c - i == -1, c - i == 1, c - i == -2, c - i == 2,
                ]  # fmt: skip
                planes = [1.0 * bool(c) * plane for plane in planes] + [float(c == 0)]
                hidden = p["dependent"] @ v_i + p["candidate"] @ v_c + p["distance"] @ np.array(planes) + p["bias"]
                scores[i - 1, c] = p["output"] @ np.tanh(hidden) + p["output_bias"]
                continue
            if isinstance(scorer, AttentionScorer):
                weights = p["weight"].reshape(-1)
            else:
                joint = np.concatenate([p["dependent"], p["candidate"]], axis=1)
                weights = joint @ np.concatenate([v_i, v_c]) + p["bias"]
            s, e = p["root"]
            for k in range(K):
                a = flat[k]
                to = a[i, c] if c else s * a[i, cls] + e * a[i, sep]
                by = a[c, i] if c else s * a[cls, i] + e * a[sep, i]
                scores[i - 1, c] += weights[k] * to + weights[K + k] * by
    return scores


def softmax(scores: np.ndarray) -> np.ndarray:
    shifted = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(shifted / shifted.sum(1, keepdims=True))


@pytest.mark.parametrize("which", range(3))
def test_scores_equal_a_double_loop(which):
    scorer = scorers()[which]
    for sentence, maps in zip(*random_corpus(5, layers=LAYERS, heads=HEADS), strict=True):
        own = scorer(example_of(sentence, maps)).detach().numpy()
        assert own.shape == (len(sentence), len(sentence) + 1)
        np.testing.assert_allclose(own, naive(scorer, sentence, maps), rtol=0, atol=1e-12)


@pytest.mark.parametrize("which", range(3))
def test_gradients_equal_finite_differences(which):
    scorer = scorers()[which]
    sentences, maps = random_corpus(6, layers=LAYERS, heads=HEADS)
    example = example_of(sentences[0], maps[0])
    names = [name for name, _ in scorer.named_parameters()]

    def scores(*values: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.func.functional_call(scorer, dict(zip(names, values, strict=True)), (example,))
        return found

    values = tuple(parameter.detach().clone().requires_grad_() for parameter in scorer.parameters())
    assert torch.autograd.gradcheck(scores, values)


@pytest.mark.parametrize("which", range(3))
def test_what_is_learned_from_a_sentence_is_the_gradient_by_autograd(which):
    scorer = scorers()[which]
    for sentence, maps in zip(*random_corpus(9, layers=LAYERS, heads=HEADS), strict=True):
        example, gold = example_of(sentence, maps), gold_heads(sentence)
        if not (gold >= 0).any():
            continue
        scores, loss = scorer.learn(example, gold)
        found = [parameter.grad for parameter in scorer.parameters()]
        expected = torch.nn.functional.cross_entropy(
            scorer(example), torch.from_numpy(gold), ignore_index=-1, reduction="sum"
        )
        gradients = torch.autograd.grad(expected, list(scorer.parameters()))
        assert loss == pytest.approx(float(expected), abs=1e-12)
        np.testing.assert_allclose(scores, scorer(example).detach(), rtol=0, atol=1e-12)
        for own, other in zip(found, gradients, strict=True):
            assert own is not None
            np.testing.assert_allclose(own, other, rtol=0, atol=1e-12)


def test_gradient_of_the_loss_is_features_times_what_is_wrong():
    scorer = scorers()[0]
    sentence = Sentence("s", ("w0", "w1", "w2"), (2, 0, None), ("det", "root", "obj"))
    maps = [np.random.default_rng(0).random((LAYERS, HEADS, 5, 5), dtype=np.float32)]
    example = example_of(sentence, maps[0])
    scorer.learn(example, gold_heads(sentence))
    scores = naive(scorer, sentence, maps[0])
    wrong = softmax(scores)
    wrong[0, 2] -= 1
    wrong[1, 0] -= 1
    wrong[2] = 0  # a word without a head teaches nothing
    s, e = scorer.get_parameter("root").detach().numpy()
    flat = maps[0].reshape(K, 5, 5).astype(float)
    for k in range(K):
        to = np.concatenate([s * flat[k, 1:4, :1] + e * flat[k, 1:4, 4:], flat[k, 1:4, 1:4]], axis=1)
        gradient = scorer.get_parameter("weight").grad
        assert gradient is not None
        assert float(gradient[0, k]) == pytest.approx((wrong * to).sum(), abs=1e-12)


def test_every_candidate_stands_with_its_own_vector():
    """The published code pairs candidate k with the vector of word k + 1, and the root with that of word 1."""
    scorer = scorers()[1]
    sentence = Sentence("s", ("w0", "w1", "w3", "w4"), (2, 0, 2, 3), ("a", "root", "b", "c"))
    maps = np.random.default_rng(2).random((LAYERS, HEADS, 6, 6), dtype=np.float32)
    before = scorer(example_of(sentence, maps)).detach().numpy()
    for k in range(4):
        words = list(sentence.words)
        words[k] = "w7"
        changed = Sentence("s", tuple(words), sentence.heads, sentence.relations)
        after = scorer(example_of(changed, maps)).detach().numpy()
        differs = ~np.isclose(before, after, rtol=0, atol=1e-12)
        expected = np.zeros((4, 5), dtype=bool)
        expected[k] = True  # as a dependent
        expected[:, k + 1] = True  # as a candidate
        assert (differs == expected).all()


def test_training_is_adam_on_one_sentence_after_the_other():
    sentences, maps = random_corpus(8, sentences=12, layers=LAYERS, heads=HEADS)
    probe = AttentionProbe(random_state=4, recipe=Recipe(epochs=2, learning_rate=0.05))
    initial = AttentionScorer(K, torch.Generator().manual_seed(4))
    weight, root = (initial.get_parameter(n).detach().double().numpy() for n in ("weight", "root"))
    theta = np.concatenate([weight.ravel(), root])
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    losses, step = [], 0
    for _ in range(2):
        loss = words = 0.0
        for sentence, array in zip(sentences, maps, strict=True):
            known = [i for i, head in enumerate(sentence.heads) if head is not None]
            if not known:
                continue
            n, a = len(sentence), array.astype(float).reshape(K, *array.shape[-2:])
            both = np.concatenate([a, a.transpose(0, 2, 1)])
            w, (s, e) = theta[: 2 * K], theta[2 * K :]
            to_cls, to_sep = both[:, 1:-1, 0], both[:, 1:-1, n + 1]
            features = np.concatenate([(s * to_cls + e * to_sep)[..., None], both[:, 1:-1, 1:-1]], axis=2)
            wrong = softmax(np.einsum("k,kic->ic", w, features))
            for i in range(n):
                head = sentence.heads[i]
                if head is None:
                    wrong[i] = 0
                else:
                    loss -= np.log(wrong[i, head])
                    wrong[i, head] -= 1
            words += len(known)
            of_root = [(wrong[:, 0] * (w @ ends)).sum() for ends in (to_cls, to_sep)]
            gradient = np.concatenate([np.einsum("ic,kic->k", wrong, features), of_root])
            step += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            corrected = first / (1 - 0.9**step), second / (1 - 0.999**step)
            theta = theta - 0.05 * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
        losses.append(loss / words)
    probe.fit([batch_of(sentences[:5], maps[:5]), batch_of(sentences[5:], maps[5:])])  # padding changes nothing
    np.testing.assert_allclose(probe.coef_.ravel(), theta[: 2 * K], rtol=0, atol=2e-5)
    np.testing.assert_allclose(probe.scorer_.get_parameter("root").detach(), theta[2 * K :], rtol=0, atol=2e-5)
    assert [row["loss"] for row in probe.history_] == pytest.approx(losses, abs=1e-5)


@pytest.mark.parametrize("kind", ["attention", "attention+words", "words+distances"])
def test_initial_weights_are_glorot_uniform(kind):
    d, k = 50, 72
    many = WordVectors(np.zeros((1, d), dtype=np.float32), {"a": 0})
    probe = {
        "attention": AttentionProbe(),
        "attention+words": AttentionWordsProbe(many),
        "words+distances": WordsDistancesProbe(many),
    }[kind]
    parameters = {name: p.detach() for name, p in probe.make_scorer((6, 12)).named_parameters()}
    bounds = {
        "attention": {"weight": np.sqrt(6 / (4 * k)), "root": np.sqrt(3)},
        "attention+words": {"dependent": np.sqrt(6 / (2 * d + 2 * k)), "candidate": np.sqrt(6 / (2 * d + 2 * k))},
        "words+distances": {"dependent": np.sqrt(6 / (2 * d + 8 + 256)), "output": np.sqrt(6 / 257)},
    }[kind]
    for name, bound in bounds.items():
        largest = float(parameters[name].abs().max())
        enough = parameters[name].numel() > 100
        assert largest <= bound
        assert not enough or largest > 0.9 * bound
        assert not enough or float(parameters[name].std()) == pytest.approx(bound / np.sqrt(3), rel=0.15)
    assert all(float(p.abs().sum()) == 0 for name, p in parameters.items() if "bias" in name)
