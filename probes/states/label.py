"""Probes of a label of each word, and of the relation of each word to its head (Hewitt & Liang 2019)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ...corpora_loaders import Sentence
from ..probed_sentence import annotate
from .annotation import Labels, check_label, control_labels, labels
from .examples import StandardizedModule, StateExamples, StateModule
from .probe import StateProbe
from .training import StateRecipe
from .tree_scores import Fraction, StateScore

_NONE = -100
"""The class of a word that has no label, or one that no training word has."""


class LabelModule(StandardizedModule):
    """A softmax over classes, linear in the state or with one hidden layer."""

    def __init__(self, dim: int, inputs: int, hidden: int, classes: int, generator: torch.Generator) -> None:
        super().__init__(dim)
        sizes = (inputs, hidden, classes) if hidden else (inputs, classes)
        layers: list[nn.Module] = []
        for fan_in, fan_out in pairwise(sizes):
            linear = nn.Linear(fan_in, fan_out)
            with torch.no_grad():
                for parameter in (linear.weight, linear.bias):
                    parameter.copy_((2 * torch.rand(parameter.shape, generator=generator) - 1) / math.sqrt(fan_in))
            layers += [linear, nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, examples: StateExamples) -> Float[Tensor, "batch words classes"]:
        """Return the score of each class for each word."""
        scores: Tensor = self.layers(self.in_units(examples))
        return scores


class PairModule(LabelModule):
    """The same of the state of a word and that of its head."""

    def forward(self, examples: StateExamples) -> Float[Tensor, "batch words classes"]:
        """Return the score of each class for each word, as if word 1 were the head of words without one."""
        states = self.in_units(examples)
        heads = [np.array([max((head or 0) - 1, 0) for head in annotate(s).heads]) for s in examples.sentences]
        head_states = states.gather(1, examples.padded(heads, 0)[..., None].expand_as(states))
        scores: Tensor = self.layers(torch.cat([states, head_states], -1))
        return scores


class LabelProbe(StateProbe):
    """A softmax layer that tells the label of a word from its state (Hewitt & Liang 2019, §3).

    Words without a label are left out. A label that no training word has is never right. Score: ``accuracy``.

    Args:
        key: what is learned, see `attentionology.probes.labels`.
        hidden: the size of a hidden layer; 0 for none, so that the probe is linear.
        recipe, random_state: see `StateProbe`.

    Attributes:
        classes_: the labels of training words, in alphabetical order.

    Example:
        >>> from attentionology import load_encoder, load_treebank, store_states
        >>> from attentionology.probes import LabelProbe, StateRecipe
        >>> sentences = load_treebank("sample").sentences[:10]
        >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[2]).layer(2)
        >>> probe = LabelProbe("upos", recipe=StateRecipe(epochs=20)).fit(states)
        >>> probe.predict_labels(states)[0][-1]
        'PUNCT'
    """

    name = "label"
    meaning = "a softmax layer that tells the label of a word from its state"
    usual = StateRecipe(factor=0.5, better=0.001)
    metrics = (StateScore("accuracy"),)
    controls = ("types",)
    softmax = True
    keyed = True
    learned = ("classes_",)

    classes_: tuple[str, ...]

    def __init__(
        self, key: str = "upos", *, hidden: int = 0, recipe: StateRecipe | None = None, random_state: int = 0
    ) -> None:
        super().__init__(recipe=recipe, random_state=random_state)
        self.key, self.hidden = key, hidden

    @property
    def full_name(self) -> str:
        """The name with the key, which is the name itself for relations."""
        return self.key if self.key.partition(":")[0] == self.name else super().full_name

    @classmethod
    def key_of(cls, detail: str) -> str:
        """Return the key, which must be given."""
        check_label(detail)
        return detail

    def gold(self, sentence: Sentence) -> Labels:
        """Return the labels."""
        return labels(sentence, self.key)

    def control(self, training: Sequence[Sentence], seed: int, task: str = "") -> Callable[[Sentence], Labels]:
        """Return labels that depend on the word type, see `attentionology.probes.control_labels`."""
        return control_labels(self.gold, training, seed)

    def prepare(self, gold: Sequence[Labels]) -> None:
        """Take the classes of the training words."""
        super().prepare(gold)
        self.classes_ = tuple(sorted({label for known in gold for label in known if label is not None}))

    def make_module(self, dim: int) -> StateModule:
        """Return a softmax layer, or two layers."""
        return LabelModule(dim, dim, self.hidden, len(self.classes_), self.generator())

    def losses(self, predicted: Float[Tensor, "batch words classes"], examples: StateExamples) -> Tensor:
        """Return the cross-entropy in nats, summed over the words that have a known label."""
        gold = examples.padded([self.numbers(known) for known in examples.gold], _NONE)
        return cross_entropy(predicted.flatten(0, 1), gold.flatten(), ignore_index=_NONE, reduction="sum")

    def numbers(self, gold: Labels) -> ndarray:
        """Return the number of the class of each word."""
        number_of = {name: number for number, name in enumerate(self.classes_)}
        return np.array([_NONE if label is None else number_of.get(label, _NONE) for label in gold], dtype=np.int64)

    def alternatives(self, words: int) -> int:
        """Return the number of classes."""
        return len(self.classes_)

    def cut(self, predicted: Tensor, words: int) -> ndarray:
        """Return the scores of the classes for the words of a sentence."""
        return predicted[:words].numpy()

    def floors(
        self, training: Sequence[Sentence], gold: Callable[[Sentence], Labels]
    ) -> dict[str, Callable[[Sentence], ndarray]]:
        """Return the most frequent label, and that of the word type, upper and lower case alike."""
        of_type: defaultdict[str, Counter[str]] = defaultdict(Counter)
        of_all: Counter[str] = Counter()
        for sentence in training:
            for word, label in zip(sentence.words, gold(sentence), strict=True):
                if label is not None:
                    of_type[word.lower()][label] += 1
                    of_all[label] += 1
        number_of = {name: number for number, name in enumerate(self.classes_)}
        rows = np.eye(len(self.classes_))

        def most_frequent(counts: Counter[str]) -> ndarray:  # of equally frequent ones, the first by name
            return np.asarray(rows[number_of[min(counts, key=lambda name: (-counts[name], name))]])

        overall = most_frequent(of_all)
        by_type = {word: most_frequent(counts) for word, counts in of_type.items()}
        return {
            "most frequent label": lambda sentence: np.stack([overall] * len(sentence)),
            "label of the word type": lambda sentence: np.stack(
                [by_type.get(word.lower(), overall) for word in sentence.words]
            ),
        }

    def predict_labels(self, states: Sequence[Any]) -> list[list[str]]:
        """Return the label of each word, sentence by sentence."""
        return [[self.classes_[number] for number in scores.argmax(1)] for scores in self.predict(states)]

    def outcome(self, predicted: ndarray, gold: Labels, sentence: Sentence) -> dict[str, Fraction]:
        """Return how many labels are right."""
        return {"accuracy": Fraction(int(self.right(predicted, gold).sum()), sum(label is not None for label in gold))}

    def right(self, predicted: ndarray, gold: Labels) -> ndarray:
        """Return which words get their label."""
        numbers = self.numbers(gold)
        return np.asarray((predicted.argmax(1) == numbers) & (numbers != _NONE))


class RelationProbe(LabelProbe):
    """A softmax layer that tells the relation of a word to its head from the states of both (Tenney et al. 2019).

    The heads are those of the annotation, so that the probe does not find them. Roots are left out.

    Args:
        key: ``"relation"``, or ``"relation:coarse"`` without subtypes.
        hidden, recipe, random_state: see `LabelProbe`.

    Example:
        >>> from attentionology import load_encoder, load_treebank, store_states
        >>> from attentionology.probes import RelationProbe, StateRecipe
        >>> sentences = load_treebank("sample").sentences[:10]
        >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[2]).layer(2)
        >>> probe = RelationProbe(recipe=StateRecipe(epochs=3)).fit(states)
        >>> "root" in probe.classes_
        False
    """

    name = "relation"
    meaning = "a softmax layer that tells the relation of a word to its head from the states of both"
    controls = ("pairs",)

    def __init__(
        self, key: str = "relation", *, hidden: int = 0, recipe: StateRecipe | None = None, random_state: int = 0
    ) -> None:
        super().__init__(key, hidden=hidden, recipe=recipe, random_state=random_state)

    @classmethod
    def key_of(cls, detail: str) -> str:
        """Return ``relation``, or ``relation:coarse`` for the detail ``coarse``."""
        return super().key_of(f"relation:{detail}" if detail else "relation")

    def gold(self, sentence: Sentence) -> Labels:
        """Return the relations of words that have a head word."""
        heads = annotate(sentence).heads
        return [label if head else None for label, head in zip(labels(sentence, self.key), heads, strict=True)]

    def control(self, training: Sequence[Sentence], seed: int, task: str = "") -> Callable[[Sentence], Labels]:
        """Return relations that depend on the types of both words."""
        return control_labels(self.gold, training, seed, of_pairs=True)

    def make_module(self, dim: int) -> StateModule:
        """Return a softmax layer, or two layers."""
        return PairModule(dim, 2 * dim, self.hidden, len(self.classes_), self.generator())
