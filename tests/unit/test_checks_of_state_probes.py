"""The check of probes of hidden states notices the mistakes that it looks for."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.probes import ArcProbe, LabelProbe, StateModule, StateProbe, list_probes
from attentionology.probes.states.tree_scores import Fraction, StateScore
from attentionology.storage.plugins import RegistryError
from attentionology.testing import check_probe


class LengthModule(StateModule):
    """Linear in the states."""

    def __init__(self, first: torch.Tensor, probe: Any) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(first)
        self.probe = probe

    def forward(self, examples):
        return self.probe.read(self, examples)


def lengths(words):
    return [len(word) for word in words]


class GoodProbe(StateProbe):
    """A probe that finds the number of characters of words."""

    name = "good"
    metrics = (StateScore("close"),)
    controls = ("sums", "places")

    def first(self, dim):
        return 0.1 * torch.randn(dim, generator=self.generator())

    def gold(self, sentence):
        return lengths(sentence.words)

    def control(self, training, seed, task=""):
        if task == "places":
            return lambda sentence: list(range(len(sentence)))
        return lambda sentence: [(sum(map(ord, word)) + seed) % 7 for word in sentence.words]

    def make_module(self, dim):
        return LengthModule(self.first(dim), self)

    def read(self, module, examples):
        return examples.states @ module.weight

    def losses(self, predicted, examples):
        gold = torch.nn.utils.rnn.pad_sequence([torch.tensor(each) for each in examples.gold], batch_first=True)
        return ((predicted - gold)[examples.words] ** 2).sum()

    def outcome(self, predicted, gold, sentence):
        return {"close": Fraction(int((abs(predicted - np.array(gold)) < 1).sum()), len(gold))}

    def floors(self, training, gold):
        mean = np.mean([value for sentence in training for value in gold(sentence)])
        return {"mean length": lambda sentence: np.full(len(sentence), mean)}


class WithSize(GoodProbe):
    name = "sized"

    def __init__(self, size=1, **options):
        super().__init__(**options)

    @property
    def size(self):
        return 1

    def arguments(self):
        return {}


class WithoutCut(LabelProbe):
    """Cuts classes where there are more of them than words."""

    name = "uncut"
    cut = StateProbe.cut


Unlearned: Any = type("Unlearned", (LabelProbe,), {"name": "unlearned", "learned": ()})


class Known(GoodProbe):
    """Remembers something of the training outside of its module."""

    name = "known"

    def prepare(self, gold):
        self.mean = float(np.mean([value for known in gold for value in known]))

    def read(self, module, examples):
        return super().read(module, examples) + getattr(self, "mean", 0.0)


class OfTags(LabelProbe):
    """Draws control labels for the tags of words."""

    name = "tagged"

    def control(self, training, seed, task=""):
        return lambda sentence: [tag and f"{ord(tag[0]) % 3}" for tag in self.gold(sentence)]


class OfTrees(ArcProbe):
    """Exchanges the words of the tree for the control task."""

    name = "turned"

    def control(self, training, seed, task=""):
        return lambda sentence: [head and (0 if head == 1 else head - 1) for head in sentence.heads]


FITS = itertools.count()


def changed(**given: Any) -> type[StateProbe]:
    return type("Changed", (GoodProbe,), {"name": "changed", **given})


def of_all_words(self, module, examples):
    return GoodProbe.read(self, module, examples) + examples.states.mean((1, 2))[:, None]


def told(self, module, examples):
    predicted = GoodProbe.read(self, module, examples)
    known = [[*each] or [0.0] * len(s) for each, s in zip(examples.gold, examples.sentences, strict=True)]
    gold = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(each, dtype=torch.float32) for each in known], batch_first=True
    )
    return predicted + gold


def drawn(self, module, examples):
    noise = 1.0 if not torch.is_grad_enabled() else 1 + 1e-3 * next(FITS)
    return GoodProbe.read(self, module, examples) * noise


def divided(self, module, examples):
    return GoodProbe.read(self, module, examples) / (examples.words.sum(1, keepdim=True) - 1)


def of_classes(**members: Any) -> type[StateProbe]:
    """A probe of parts of speech with other members, whose loss does not read them."""

    def losses(self: Any, predicted: torch.Tensor, examples: Any) -> torch.Tensor:
        return (predicted[examples.words] ** 2).sum()

    return type("Changed", (LabelProbe,), {"name": "classes", "losses": losses, **members})


@pytest.mark.parametrize(
    ("probe", "message"),
    [
        (changed(first=lambda self, dim: torch.randn(dim)), "others if it is trained again with the same random_state"),
        (changed(first=lambda self, dim: torch.arange(1.0 * dim)), "are the same for every random_state"),
        (changed(read=drawn), "trained again with the same random_state"),
        (changed(read=of_all_words), "if each sentence is read alone"),
        (changed(cut=lambda self, predicted, words: predicted[:1].numpy()), "shape .* one row per word"),
        (changed(read=divided), "refuses to work on sentences of all kinds: TrainingError: the loss is nan"),
        (changed(read=told), "more than what is predicted. Let the module not read examples.gold"),
        (changed(finds_heads=True), r"scores of the heads of . words have the shape .* set finds_heads = False"),
        (changed(metrics=()), "Name at least one score"),
        (changed(metrics=(StateScore("close", by_length=True),)), "first one that is no mean by length"),
        (changed(metrics=(StateScore("near"),)), r"gives \['close'\], and metrics names \['near'\]"),
        (changed(outcome=lambda *_: {"close": Fraction(3, 2)}), "gives the close 3 of 2"),
        (changed(controls=()), "Name at least one, each once"),
        (changed(control=lambda *_: lambda s: [next(FITS) for _ in s.words]), "another one if it is made again"),
        (changed(control=lambda *_: lambda s: [len(s.id) for _ in s.words]), "depends on the annotation"),
        (changed(control=lambda *_: lambda s: [0]), "has 1 labels of"),
        (OfTags, "control task 'types' depends on the annotation"),
        (OfTrees, "control task 'trees' depends on the annotation"),
        (changed(floors=lambda *_: {"one": lambda s: np.zeros(1)}), r"floor 'one' predicts the shape \(1,\)"),
        (changed(floors=lambda *_: {"model": lambda s: np.zeros(len(s))}), "called 'model'"),
        (changed(gold=lambda self, s: [len(w) / (len(s) - 1) for w in s.words]), "of one word with ZeroDivisionError"),
        (WithSize, r"arguments\(\) lacks 'size'"),
        (WithoutCut, "which have no padding, .* Let cut"),
        (Unlearned, "saved and loaded with AttributeError|refuses to work if it is saved and loaded"),
        (Known, "predictions are others if it was saved and loaded"),
        (changed(softmax=True), "refuses to work if its alternatives are numbered: TypeError|with TypeError"),
        (of_classes(alternatives=lambda self, words: 3), r"have the shape \(., .+\), and alternatives\(\) gives 3"),
        (of_classes(numbers=lambda self, gold: np.zeros(1, dtype=int)), r"numbers\(\) of . words gives \[0\]"),
        (of_classes(numbers=lambda self, gold: np.full(len(gold), 99)), "and there are .* alternatives"),
        (of_classes(gold=lambda self, s: [None, *LabelProbe.gold(self, s)[1:]], numbers=lambda self, gold: np.zeros(
            len(gold), dtype=int)), "an alternative to a word without annotation"),
        (changed(edges=lambda self, predicted, sentence: {(1, 0)}), r"edges\(\) of . words gives \[\(1, 0\)\]"),
    ],
)  # fmt: skip
def test_mistakes(probe, message):
    before = list_probes()
    with pytest.raises(AssertionError, match=message):
        check_probe(probe)
    assert list_probes() == before


def test_good_probes():
    check_probe(GoodProbe)
    check_probe(changed(first=lambda self, dim: torch.zeros(dim)))
    check_probe(LabelProbe, hidden=4)
    check_probe(ArcProbe, rank=3)
    with pytest.raises(RegistryError, match="'arcs' is already registered"):
        check_probe(changed(name="arcs"))
