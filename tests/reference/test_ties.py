"""Ties of rank correlations: worked examples, float64, and that neither order nor batches of texts change anything."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from attentionology.analyses.explanation.attention.batch import examine
from attentionology.analyses.explanation.attention.measures import GRADIENTS, LEFT_OUT, WEIGHTS, levels
from attentionology.analyses.explanation.methods.correlation import correlation
from attentionology.analyses.explanation.methods.erasure import single_weight
from attentionology.extractors.replaceable.attention_model import drop, probabilities
from attentionology.probes.classifiers import AttentionClassifier, Vocabulary
from attentionology.probes.classifiers import attention_classifier as classifiers
from tests.programs import REPOSITORY

pytestmark = pytest.mark.slow

WORDS = tuple("the a film plot was is not very good bad dull warm and but ending with more care than wit".split())


def classifier(encoder, seed, peaked=3.0):
    """Not trained, but with attention that is far from uniform."""
    model = AttentionClassifier(encoder, dimensions=8, size=8, random_state=seed).build(Vocabulary(WORDS), ["a", "b"])
    with torch.no_grad():
        for parameter in (*model.attend.parameters(), model.decoder.weight):
            parameter.mul_(peaked)
    return model


def texts_of(lengths, seed):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(WORDS, size=n).tolist()) for n in lengths]


@pytest.mark.parametrize(
    ("scores", "noise", "expected"),
    [
        ([0.999996, 3e-6, 1e-7, 4e-9], WEIGHTS, [3, 2, 1, 0]),  # peaked attention: small weights are not noise
        ([0.6, 0.2, 0.2 * (1 + 3e-6), 1e-9, 1e-9 * (1 - 3e-6)], WEIGHTS, [2, 1, 1, 0, 0]),
        ([0.5, 0.0, 0.0, 1e-41, 2e-41, 0.5], WEIGHTS, [1, 0, 0, 0, 0, 1]),  # below what float32 holds in full
        ([3e-8, 9e-8, 0.0, 4e-7], LEFT_OUT, [0, 0, 0, 1]),  # differences of probabilities: all of that is noise
        ([0.2, 0.2 + 6e-8, 0.2 + 1e-6], LEFT_OUT, [0, 0, 1]),
        ([0.7, 0.3, 5e-7, 0.0], GRADIENTS, [2, 1, 0, 0]),
        ([1.0, 1 + 1.5e-5, 1 + 3e-5, 1 + 4.5e-5, 2.0], WEIGHTS, [0, 0, 0, 0, 1]),  # each as close to the next: one tie
        ([-1.0, -1 - 1e-6, -0.5], WEIGHTS, [0, 0, 1]),
        ([0.3], WEIGHTS, [0]),
        ([], LEFT_OUT, []),
    ],
)
def test_levels_worked_by_hand(scores, noise, expected):
    assert levels(np.array(scores), noise).tolist() == expected


@pytest.mark.parametrize("noise", [WEIGHTS, LEFT_OUT, GRADIENTS])
def test_levels_do_not_depend_on_the_order_in_which_scores_are_given(noise):
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = np.abs(np.repeat(10.0 ** rng.uniform(-9, 0, size=8), 3) * (1 + 1e-5 * rng.normal(size=24)))
        order = rng.permutation(24)
        assert levels(scores[order], noise).tolist() == levels(scores, noise)[order].tolist()
        by_score = levels(scores, noise)[np.argsort(scores)]
        assert (np.diff(by_score) >= 0).all()


def in_float64(model, text):
    """Attention and leave-one-out from the weights of the model in float64, one text at a time.

    A word that occurs twice has the same state where context plays no part. In float64 noise is below 1e-13, so what
    agrees in eleven digits (of the logarithm, for attention) is equal.
    """
    with torch.no_grad():
        attention = model.encode([text]).alpha[0, 0, : len(text)].numpy()
    (full,) = probabilities(model, [text]).numpy()
    left_out = [np.abs(probabilities(model, [drop(text, i)]).numpy()[0] - full).sum() / 2 for i in range(len(text))]
    return np.round(np.log(attention), 11), np.round(left_out, 11)


@pytest.mark.parametrize(("encoder", "peaked"), [("average", 3.0), ("average", 12.0), ("none", 6.0), ("lstm", 12.0)])
def test_tau_is_that_of_the_scores_in_float64(encoder, peaked):
    texts = texts_of([7, 9, 12, 16, 20] * 8, seed=1)
    ids = [str(i) for i in range(len(texts))]
    single = classifier(encoder, 0, peaked)
    found = examine(single, ids, texts, {"correlation": correlation})
    double = classifier(encoder, 0, peaked).double()
    compared = 0
    for i, text in enumerate(texts):
        attention, left_out = in_float64(double, text)
        apart = np.diff(np.unique(left_out))
        if not len(apart) or apart.min() < 1e-6:
            continue  # float32 cannot be asked to tell these apart
        compared += 1
        assert found["tau_loo"][i] == pytest.approx(kendalltau(attention, left_out).statistic, abs=1e-9)
    assert compared > 12


def columns_of(model, texts, order, cells, monkeypatch):
    ids = [str(i) for i in range(len(texts))]
    monkeypatch.setattr(classifiers, "_BATCH_CELLS", cells)
    tests = {"correlation": correlation, "erasure": single_weight}
    table = examine(model, [ids[i] for i in order], [texts[i] for i in order], tests)
    return table.set_index("id").loc[ids]


@pytest.mark.parametrize("encoder", ["average", "none", "lstm"])
def test_order_and_batches_change_no_tau_and_no_word(encoder, monkeypatch):
    """Not even where words repeat and the model is almost sure, so that scores differ by little more than noise."""
    for seed in range(2):
        model = classifier(encoder, seed, peaked=(3.0, 12.0)[seed % 2])
        texts = texts_of([2, 3, 5, 8, 11, 12, 12, 14, 25, 30, 9, 17], seed=seed)
        one_way = columns_of(model, texts, range(len(texts)), classifiers._BATCH_CELLS, monkeypatch)
        for cells in (1, 60, 4000):
            order = np.random.default_rng(cells).permutation(len(texts))
            other_way = columns_of(model, texts, order, cells, monkeypatch)
            for column in one_way:
                if column.startswith(("tau_", "p_")) or column.endswith(("_flip", "_weight_difference")):
                    np.testing.assert_allclose(other_way[column], one_way[column], rtol=0, atol=1e-5, err_msg=column)
            monkeypatch.undo()


WITH_INSTRUCTIONS = """
import os, sys
os.environ["ATEN_CPU_CAPABILITY"] = sys.argv[1]

import pytest, torch
assert torch.backends.cpu.get_cpu_capability() == sys.argv[1].upper()
from tests.reference.test_ties import test_order_and_batches_change_no_tau_and_no_word as test
test("average", pytest.MonkeyPatch())
"""
"""Torch asks for the instruction set only once, when it first computes something."""


@pytest.mark.parametrize("capability", ["default", "avx2"])
def test_order_and_batches_change_nothing_with_any_instructions(capability, programs):
    """What is computed in one go differs between instruction sets, and with it the last digits.

    Without context a word that occurs twice has the same score twice, so last digits matter most. The instructions of
    this machine are those of the test above, so a process of its own is started only for the others.
    """
    machine = torch.backends.cpu.get_cpu_capability()
    if machine == capability.upper():
        pytest.skip("the test above uses these instructions")
    if capability == "avx2" and machine == "DEFAULT":
        pytest.skip("this processor has no AVX2")
    done = programs.run("-c", WITH_INSTRUCTIONS, capability, folder=REPOSITORY)
    assert done.returncode == 0, done.stderr
