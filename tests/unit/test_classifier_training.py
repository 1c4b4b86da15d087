"""How attention classifiers are trained, on labels and on other models."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.analyses.explanation.attention.readings import Given, reading, uniform_rows
from attentionology.extractors.replaceable.attention_model import Special, TextState, probabilities
from attentionology.probes.classifiers import AttentionClassifier, ClassifierRecipe, CrossEntropy, Imitation, train
from attentionology.probes.classifiers.training import mean_auc, shuffle_batches
from attentionology.probes.training import TrainingError
from tests.unit.classified import ENCODERS, built, seeded, some_texts, weights

SMALL = ClassifierRecipe(epochs=3, batch_size=4)


def labeled(count=40, seed=0):
    rng = np.random.default_rng(seed)
    texts = some_texts(rng.integers(1, 9, size=count), seed)
    return texts, ["yes" if "good" in text else "no" for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize(("encoder", "regularizer"), [*zip(ENCODERS, ("mlm", "tying", "conicity", None), strict=True)])
def test_training_hangs_on_the_seed_alone(encoder, regularizer):
    texts, labels = labeled()

    def fitted(seed=1):
        model = AttentionClassifier(encoder, "additive", regularizer, dimensions=8, random_state=seed)
        return weights(model.fit(texts, labels, (texts, labels), recipe=SMALL))

    torch.manual_seed(1)
    before = torch.get_rng_state()
    expected = fitted()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    np.random.seed(5)  # noqa: NPY002
    numbers = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert torch.equal(fitted(), expected)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
    assert np.array_equal(np.random.get_state(legacy=False)["state"]["key"], numbers)  # noqa: NPY002
    assert not torch.equal(fitted(2), expected)


def test_cross_entropy_gives_both_classes_the_published_weights():
    labels = [0, 0, 0, 1, 0, 1, 0]
    objective = CrossEntropy(labels, 2)
    positive = len(labels) / sum(labels) - 1
    assert (objective.weights[1] / objective.weights[0]).item() == pytest.approx(positive)
    assert objective.weights[objective.labels].mean().item() == pytest.approx(1)
    z = torch.randn(4, generator=seeded())
    logits = torch.stack([torch.zeros(4), z], dim=1)
    places = [0, 3, 5, 6]
    found = objective(places, built().encode([("a",)] * 4), torch.ones(4, 1, 1), logits)
    published = torch.nn.functional.binary_cross_entropy_with_logits(
        z, torch.tensor([0.0, 1.0, 1.0, 0.0]), pos_weight=torch.tensor([positive]), reduction="sum"
    )
    torch.testing.assert_close(found / objective.weights[0], published)
    assert CrossEntropy([0, 1, 1, 2, 2, 2, 2], 3).weights.tolist() == pytest.approx([7 / 3, 7 / 6, 7 / 12])


class Scripted:
    """The loss of each epoch is given; the state says which epoch it is."""

    classes: tuple[str, ...] = ("a", "b")
    special: Special = "keep"

    def __init__(self, losses):
        self.losses, self.calls, self.weight = losses, 0, torch.nn.Parameter(torch.zeros(()))

    def batches(self, texts):
        yield list(range(len(texts)))

    def encode(self, texts, *, gradient=False):
        mask = torch.ones(len(texts), 1, dtype=torch.bool)
        return TextState(tuple(texts), torch.ones(len(texts), 1, 1), mask, mask[..., None].float(), mask.long() - 1)

    def attention(self, state):
        return state.alpha, state.mask

    def decode(self, state, alpha):
        return torch.zeros(len(state), alpha.shape[1], 2) + 0 * self.weight

    def embeddings(self, state):
        return state.embeddings

    def scores(self, state):
        return state.alpha[:, 0]

    def penalty(self, state, generator):
        self.calls += 1
        return 0 * self.weight + self.losses[self.calls - 1]

    def parameters(self):
        yield self.weight

    def parameter_groups(self, weight_decay):
        return [{"params": [self.weight], "weight_decay": weight_decay}]

    def state_dict(self):
        return {"calls": torch.tensor(self.calls)}

    def load_state_dict(self, state_dict):
        self.calls = int(state_dict["calls"])


def nothing(places, state, alpha, logits):
    return logits.sum() * 0


@pytest.mark.parametrize(
    ("losses", "patience", "epochs", "best"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], None, 5, 1),
        ([5.0, 4.0, 3.0, 3.0, 4.0], None, 5, 3),
        ([5.0, 4.0, 3.0, 2.0, 1.0], 0, 5, 5),
        ([5.0, 4.0, 6.0, 2.0, 1.0], 0, 3, 2),
        ([5.0, 6.0, 4.0, 5.0, 5.0], 1, 5, 3),
        ([5.0, 6.0, 6.0, 4.0, 5.0], 1, 3, 1),
        ([1.0, 1.0, 1.0, 1.0, 1.0], 2, 4, 1),
    ],
)
def test_the_best_epoch_is_kept_and_patience_has_an_end(losses, patience, epochs, best):
    model = Scripted(losses)
    told: list[int] = []
    recipe = ClassifierRecipe(epochs=5, batch_size=9, patience=patience)
    history = train(model, [("a",), ("b",)], nothing, recipe, report=lambda done, _: told.append(done))
    assert [row["loss"] for row in history] == [loss / 2 for loss in losses[:epochs]]
    assert [row["epoch"] for row in history] == list(range(1, epochs + 1))
    assert all(row["dev_auc"] is None for row in history)
    assert model.calls == best
    assert told == [2] * epochs


def test_the_best_epoch_is_that_of_the_dev_texts():
    texts, labels = labeled()
    model = AttentionClassifier("average", dimensions=8, size=8)
    model.fit(
        texts, labels, (texts[:20], labels[:20]), recipe=ClassifierRecipe(epochs=6, batch_size=8, learning_rate=0.05)
    )
    scores = [row["dev_auc"] for row in model.history_]
    y = np.array([label == "yes" for label in labels[:20]]).astype(int)
    assert len(scores) == 6
    assert mean_auc(probabilities(model, texts[:20]).numpy(), y) == max(scores)
    first = AttentionClassifier("average", dimensions=8, size=8)
    first.fit(texts, labels, (texts[:20], ["no"] * 20), recipe=ClassifierRecipe(epochs=4))
    once = AttentionClassifier("average", dimensions=8, size=8).fit(texts, labels, recipe=ClassifierRecipe(epochs=1))
    assert [row["dev_auc"] for row in first.history_] == [0.5] * 4
    assert torch.equal(weights(first), weights(once))


def test_auc_worked_by_hand():
    second = np.array([0.9, 0.4, 0.6, 0.7, 0.2])
    assert mean_auc(np.stack([1 - second, second], 1), np.array([1, 1, 1, 0, 0])) == pytest.approx(4 / 6)
    assert mean_auc(np.eye(3)[[0, 1, 2, 2]], np.array([0, 1, 2, 0])) == pytest.approx((0.75 + 1 + 5 / 6) / 3)
    assert mean_auc(np.ones((3, 2)) / 2, np.array([1, 1, 1])) == 0.5


def test_batches_are_of_similar_length_and_another_order_every_epoch():
    texts = some_texts(np.random.default_rng(0).integers(0, 50, size=103))
    batches = list(shuffle_batches(texts, 8, (0, 1)))
    assert sorted(itertools.chain(*batches)) == list(range(103))
    assert sorted(map(len, batches)) == [7] + [8] * 12
    spread = [max(len(texts[i]) for i in batch) - min(len(texts[i]) for i in batch) for batch in batches]
    assert np.mean(spread) < 10
    assert list(shuffle_batches(texts, 8, (0, 1))) == batches
    assert list(shuffle_batches(texts, 8, (0, 2))) != batches
    assert list(shuffle_batches(texts, 8, (1, 1))) != batches


def test_what_cannot_be_learned_from():
    with pytest.raises(TrainingError, match="no text"):
        train(built(), [], CrossEntropy([], 2))
    with pytest.raises(TrainingError, match="the loss of epoch 2 is nan"):
        train(Scripted([1.0, math.nan]), [("a",)], nothing)
    with pytest.raises(TrainingError, match="the loss of epoch 1 is inf"):
        train(Scripted([math.inf]), [("a",)], nothing)


def test_clipping_bounds_the_step_of_the_first_epoch():
    texts, labels = labeled(8)
    grown = []
    for clip in (None, 1e-12):
        model = built("average")
        before = weights(model)
        recipe = ClassifierRecipe(epochs=1, batch_size=8, clip=clip, weight_decay=0.0)
        train(model, texts, CrossEntropy([label == "yes" for label in labels], 2), recipe)
        grown.append((weights(model) - before).abs().max().item())
    assert grown[1] < 0.1 * grown[0]


def test_attention_and_embeddings_have_no_weight_decay():
    model = built(regularizer="mlm")
    rest, spared = model.parameter_groups(0.25)
    assert (rest["weight_decay"], spared["weight_decay"]) == (0.25, 0.0)
    assert {id(p) for p in spared["params"]} == {id(p) for p in (*model.attend.parameters(), model.table.weight)}
    assert sorted(id(p) for p in rest["params"] + spared["params"]) == sorted(id(p) for p in model.parameters())


@pytest.mark.parametrize("attend", ["uniform", "given"])
def test_attention_from_outside_is_that_of_training(attend):
    texts, labels = labeled(24)
    seen: list[tuple[tuple[str, ...], Any]] = []
    model = built("lstm")
    other = reading(built("lstm", random_state=9), texts)
    given = uniform_rows if attend == "uniform" else Given(texts, other.attention)
    decode = model.decode
    before = [parameter.detach().clone() for parameter in model.attend.parameters()]

    def noted(state, alpha):
        seen.extend((text, row) for text, row in zip(state.texts, alpha.detach()[:, 0, 0].numpy(), strict=True))
        return decode(state, alpha)

    model.decode = noted
    y = [int(label == "yes") for label in labels]
    train(model, texts, CrossEntropy(y, 2), SMALL, dev=(texts, y), attend=given)
    assert len(seen) == 3 * 24 + 3 * len(set(texts))
    for text, row in seen:
        of_text = next(own[0] for own, t in zip(other.attention, texts, strict=True) if t == text)
        expected = np.full(len(text), 1 / len(text)) if attend == "uniform" else of_text
        np.testing.assert_allclose(row[: len(text)], expected, atol=1e-6)
        assert (row[len(text) :] == 0).all()
    for parameter, was in zip(model.attend.parameters(), before, strict=True):
        assert parameter.grad is None
        assert torch.equal(parameter, was)


def naive_loss(places, base, attention, alpha, logits, strength, divergence):
    total = 0.0
    for row, place in enumerate(places):
        p = np.exp(logits[row] - logits[row].max())
        total += abs(p / p.sum() - base[place]).sum() / 2
        far = []
        for one, other in zip(alpha[row], attention[place], strict=True):
            one = one[: len(other)]
            middle = (one + other) / 2
            pairs = [(one, other)] if divergence == "kl" else [(one, middle), (other, middle)]
            far.append(
                np.mean(
                    [
                        sum(x * (math.log(max(x, 1e-10)) - math.log(max(y, 1e-10))) for x, y in zip(*pair, strict=True))
                        for pair in pairs
                    ]
                )
            )
        total -= strength * np.mean(far)
    return total


@pytest.mark.parametrize(
    ("divergence", "strength", "rows", "classes"), [*itertools.product(("kl", "jsd"), (0.0, 0.3), (1, 2), (2, 3))]
)
def test_the_loss_of_an_adversary_equals_the_naive_formula(divergence, strength, rows, classes):
    rng = np.random.default_rng(0)
    lengths = [5, 3, 1, 4]
    attention = [rng.dirichlet([0.5] * n, size=rows).astype(np.float32) for n in lengths]
    attention[0][:, 2] = 0  # weights may underflow
    base = rng.dirichlet([1.0] * classes, size=4)
    places = [3, 0, 2]
    alpha = torch.zeros(3, rows, 5)
    for row, place in enumerate(places):
        alpha[row, :, : lengths[place]] = torch.from_numpy(rng.dirichlet([0.5] * lengths[place], size=rows))
    alpha[1, :, 0] = 0
    alpha.requires_grad_()
    logits = torch.from_numpy(rng.normal(size=(3, classes))).float().requires_grad_()
    mask = torch.arange(5) < torch.tensor([[lengths[place]] for place in places])
    state = TextState((("a",),) * 3, alpha, mask, torch.zeros(3, 5, 1), torch.zeros(3, 5, dtype=torch.int64))
    loss = Imitation(base, attention, strength, divergence)(places, state, alpha, logits)
    expected = naive_loss(
        places, base, attention, alpha.detach().numpy(), logits.detach().numpy(), strength, divergence
    )
    assert loss.item() == pytest.approx(expected, abs=1e-5)
    for slope in torch.autograd.grad(loss, (alpha, logits)):
        assert slope.isfinite().all()
    if not strength:
        alone = (logits.detach().softmax(-1) - torch.from_numpy(base[places])).abs().sum() / 2
        assert loss.item() == pytest.approx(alone.item(), abs=1e-6)
