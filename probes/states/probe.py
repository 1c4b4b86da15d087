"""The base class of probes of hidden states, which have the methods of scikit-learn's estimators."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from numpy import ndarray
from torch import Generator, Tensor, nn

from ...corpora_loaders import Sentence
from ...extractors import MapBatch, StateBatch
from ...extractors.threads import one_thread
from ..checkpoint import Checkpoint
from ..estimator import Estimator
from ..probe import save_probe
from ..training import Report, TrainingError
from .examples import Gold, Reading, StandardizedModule, StateExamples, StateModule
from .mixing import LayerMix
from .training import DevResult, StateRecipe, train
from .tree_scores import Fraction, StateScore

MIX_PREFIX = "mix."
"""What the names of the weights of a mix begin with in the file of a probe."""


class StateProbe(Estimator, ABC):
    """Base class of the probes of hidden states of one layer, or of a mix of layers.

    A subclass says what it learns and how it is scored. Constructors only store their arguments, `fit` learns, and the
    names of what was learned end in an underscore, as in scikit-learn.

    Args:
        rank: the number of dimensions that states are projected to, if the probe projects them.
        recipe: how to train the probe; None for the one that the literature uses for it.
        random_state: seed of the initial weights and of the order of sentences.

    Attributes:
        name: the name of the probe in tables and options.
        meaning: what the probe is, as a phrase for the report.
        usual: the recipe of the literature.
        metrics: its scores, by the first of which layers are chosen.
        controls: the names of its control tasks. Selectivity is what is left above the first one.
        finds_heads: whether it predicts scores of candidate heads, ROOT first, as `attentionology.probes.decode` takes
            them. The table of attachment scores then has a row for it, beside those of probes of maps.
        beside: the methods of that table that it is compared with.
        color: its color in figures, by its name in the palette.
        reads_maps: whether it reads word maps beside the states.
        learned: the attributes that `prepare` sets, sequences of names, which are saved with the probe.
        softmax: whether what it predicts of a word are the scores of alternatives, of which a softmax makes
            probabilities. It then has a codelength, see `attentionology.probes.codelength`.
        keyed: whether its name is followed by a key that says what is learned, such as ``label:upos``.
        module_: the trained module.
        history_: one row per epoch, see `attentionology.probes.StateRecipe`.
        dim_: the number of dimensions of the states that it was trained on.
        heads_: the number of heads of all layers in the maps that it was trained on; 0 if it reads none.
        mix_: what has mixed several layers; None for a probe of one layer.

    Example:
        A probe that finds the length of words in one number of each state:

        >>> import torch
        >>> from attentionology import load_encoder, load_treebank, store_states
        >>> from attentionology.probes import StateModule, StateProbe, StateRecipe
        >>> class LengthModule(StateModule):
        ...     def __init__(self, dim):
        ...         super().__init__()
        ...         self.weight = torch.nn.Parameter(torch.zeros(dim))
        ...
        ...     def forward(self, examples):
        ...         return examples.states @ self.weight
        >>> class LengthProbe(StateProbe):
        ...     name, metrics = "length", ()
        ...
        ...     def gold(self, sentence):
        ...         return [len(word) for word in sentence.words]
        ...
        ...     def control(self, training, seed, task=""):
        ...         return lambda sentence: [sum(map(ord, word)) % 7 for word in sentence.words]
        ...
        ...     def make_module(self, dim):
        ...         return LengthModule(dim)
        ...
        ...     def losses(self, predicted, examples):
        ...         known = torch.nn.utils.rnn.pad_sequence([torch.tensor(g) for g in examples.gold], batch_first=True)
        ...         return ((predicted - known)[examples.words] ** 2).sum()
        ...
        ...     def outcome(self, predicted, gold, sentence):
        ...         return {}
        >>> sentences = load_treebank("sample").sentences[:10]
        >>> states = store_states(load_encoder("demo"), sentences, "cache", layers=[0]).layer(0)
        >>> probe = LengthProbe(recipe=StateRecipe(epochs=2)).fit(states)
        >>> probe.history_[1]["loss"] < probe.history_[0]["loss"]
        True
    """

    name: ClassVar[str]
    meaning: ClassVar[str] = ""
    usual: ClassVar[StateRecipe] = StateRecipe()
    metrics: ClassVar[tuple[StateScore, ...]]
    controls: ClassVar[tuple[str, ...]] = ("control",)
    reads_maps: ClassVar[bool] = False
    finds_heads: ClassVar[bool] = False
    beside: ClassVar[tuple[str, ...]] = ()
    color: ClassVar[str] = "black"
    softmax: ClassVar[bool] = False
    keyed: ClassVar[bool] = False
    learned: ClassVar[tuple[str, ...]] = ()

    key: str = ""
    module_: StateModule
    history_: list[dict[str, Any]]
    dim_: int
    heads_: int = 0
    mix_: LayerMix | None = None

    def __init__(self, *, rank: int = 64, recipe: StateRecipe | None = None, random_state: int = 0) -> None:
        self.rank, self.recipe, self.random_state = rank, recipe, random_state

    @classmethod
    def key_of(cls, detail: str) -> str:
        """Return the key of a probe whose name is followed by a detail on the command line; empty if by none.

        Raises:
            ValueError: there is no such key.
        """
        return detail

    @abstractmethod
    def gold(self, sentence: Sentence) -> Gold:
        """Return what the annotation says of each word."""

    @abstractmethod
    def control(self, training: Sequence[Sentence], seed: int, task: str = "") -> Callable[[Sentence], Gold]:
        """Return what is learned in place of `gold` in a control task, which depends on the words alone.

        Args:
            training: the training sentences.
            seed: the seed of what is drawn.
            task: one of `controls`; empty for the first one.
        """

    @abstractmethod
    def make_module(self, dim: int) -> StateModule:
        """Make a module with initial weights, which must depend on `random_state` alone.

        Args:
            dim: the number of dimensions of the states.
        """

    @abstractmethod
    def losses(self, predicted: Tensor, examples: StateExamples) -> Tensor:
        """Return the sum over sentences of the loss of what the module predicts."""

    @abstractmethod
    def outcome(self, predicted: ndarray, gold: Gold, sentence: Sentence) -> dict[str, Fraction]:
        """Return what a sentence adds to each of the `metrics`."""

    def floors(
        self, training: Sequence[Sentence], gold: Callable[[Sentence], Gold]
    ) -> dict[str, Callable[[Sentence], ndarray]]:
        """Return what predicts without any states, by name: each gives for a sentence what the probe would predict.

        Args:
            training: the training sentences.
            gold: what the annotation says of them.
        """
        return {}

    def of_links(self, links: ndarray) -> ndarray | None:
        """Return what would be predicted of a sentence by what links its words to each other; None if nothing can be.

        Args:
            links: how strongly each word is linked to each word, shape (words, words): the weights of an attention
                head, or the scores by which the probe `attention` finds heads. Only their order counts.
        """
        return None

    def edges(self, predicted: ndarray, sentence: Sentence) -> set[tuple[int, int]] | None:
        """Return the edges between words that are predicted, as 0-based numbers, the smaller first; None if none are.

        Reports then say which edges of the tree are found: by length, by direction and by relation.

        Args:
            predicted: what `predict` gives for the sentence.
            sentence: the sentence.
        """
        return None

    def prepare(self, gold: Sequence[Gold]) -> None:
        """Take from the annotation of all training sentences what the module needs, such as classes.

        Raises:
            TrainingError: there is nothing to learn.
        """
        if all(value is None for known in gold for value in known):
            raise TrainingError(f"no word has what the probe {self.name!r} learns")

    def numbers(self, gold: Gold) -> ndarray:
        """Return the number of the right alternative of each word, negative without one; of probes with a softmax."""
        raise TypeError(f"the probe {self.name!r} predicts no probabilities of alternatives")

    def alternatives(self, words: int) -> int:
        """Return the number of alternatives of a word in a sentence of so many words; of probes with a softmax."""
        raise TypeError(f"the probe {self.name!r} predicts no probabilities of alternatives")

    def cut(self, predicted: Tensor, words: int) -> ndarray:
        """Return what is predicted of one sentence, without the padding of its batch."""
        return predicted[tuple(slice(words) for _ in predicted.shape)].numpy()

    def fit(
        self,
        states: Sequence[StateBatch],
        dev: Sequence[StateBatch] | None = None,
        *,
        mix: bool = False,
        maps: Sequence[MapBatch] = (),
        dev_maps: Sequence[MapBatch] = (),
        gold: Callable[[Sentence], Gold] | None = None,
        prepared_from: Sequence[Gold] = (),
        report: Report = lambda _: None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Train on the states of one layer, or on a mix of several, and the annotation of their sentences.

        Args:
            states: sentences one by one, such as `attentionology.extractors.StoredStates` of one layer.
            dev: sentences to end the training by.
            mix: whether the states of several layers are read as γ Σ_l softmax(s)_l h_l, see
                `attentionology.probes.LayerMix`, with s and γ trained together with the probe.
            maps, dev_maps: word maps of the same sentences in the same order, if the probe reads maps.
            gold: what is learned in place of `gold`, such as a control task.
            prepared_from: the annotation that `prepare` reads, such as that of more sentences, whose classes the probe
                then has; by default that of the training sentences.
            report: called with the state of the training after every epoch.
            checkpoint: the file to continue from if it is there, which is also kept up to date.

        Raises:
            ValueError: a batch has several sentences, or several layers without ``mix`` or only one with it, or there
                are not as many maps as sentences.
            TrainingError: there is nothing to learn from, or the loss is no longer finite.
        """
        read_gold = gold or self.gold
        training = Reading(states, maps if self.reads_maps else (), read_gold)
        stopping = Reading(dev or (), dev_maps if self.reads_maps else (), read_gold)
        if not len(training):
            raise TrainingError("there is no sentence to learn from")
        self.prepare(prepared_from or training.gold)
        dim, heads = training.dim, training.heads
        if mix and len(training.layers) == 1:
            raise ValueError("a mix reads the states of several layers, and these are of one")
        training.mix = stopping.mix = mixed = LayerMix(training.layers) if mix else None
        if self.reads_maps and not heads:
            raise ValueError(f"the probe {self.name!r} reads word maps; give maps of the same sentences (store_maps)")
        self.heads_ = heads
        module = self.make_module(dim)
        if isinstance(module, StandardizedModule):
            module.standardize(training)
        if mixed is not None:
            mixed.norms.copy_(torch.from_numpy(training.norms()))
        learned = module if mixed is None else nn.ModuleDict({"probe": module, "mix": mixed})
        recipe = self.recipe or self.usual
        learner = _Learner(self, module, learned, training, stopping, scores=recipe.judge == "score")
        history = train(learner, recipe, seed=self.random_state, report=report, checkpoint=checkpoint)
        # These are set at last, so that a training that fails leaves the probe as it was.
        self.module_, self.mix_, self.history_, self.dim_ = module, mixed, history, dim
        return self

    def predict(self, states: Sequence[StateBatch], maps: Sequence[MapBatch] = ()) -> list[ndarray]:
        """Return what the probe predicts, sentence by sentence; ``maps`` are as in `fit`.

        Raises:
            ValueError: the states or maps are others than those that the probe was trained on.
        """
        reading = Reading(states, maps if self.reads_maps else (), lambda _: ())
        return [predicted for predicted, _, _ in self._predict(reading)]

    def outcomes(
        self,
        states: Sequence[StateBatch],
        maps: Sequence[MapBatch] = (),
        gold: Callable[[Sentence], Gold] | None = None,
    ) -> list[dict[str, Fraction]]:
        """Return what each sentence adds to the scores; ``gold`` is as in `fit`."""
        reading = Reading(states, maps if self.reads_maps else (), gold or self.gold)
        return [self.outcome(predicted, known, sentence) for predicted, known, sentence in self._predict(reading)]

    def score(self, states: Sequence[StateBatch], y: None = None, maps: Sequence[MapBatch] = ()) -> float:
        """Return the first of the `metrics` over all sentences; ``y`` has no use, as the sentences have the gold."""
        name = self.metrics[0].name
        fractions = [outcome[name] for outcome in self.outcomes(states, maps) if name in outcome]
        of = sum(fraction.of for fraction in fractions)
        return sum(fraction.found for fraction in fractions) / of if of else math.nan

    def generator(self) -> Generator:
        """Return a new random number generator for the initial weights, with the seed `random_state`."""
        return Generator().manual_seed(self.random_state)

    @property
    def full_name(self) -> str:
        """The name of the probe in tables and options, with its key."""
        return f"{self.name}:{self.key}" if self.keyed else self.name

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the constructor besides the recipe and the random state; saved with the probe."""
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names if name not in ("recipe", "random_state")}

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write ``probe.safetensors`` and ``probe.json``, which `attentionology.probes.load_state_probe` reads.

        Args:
            folder: the folder of the two files.
            overwrite: whether to replace those of another probe.

        Raises:
            StorageError: a file exists, or cannot be written.
        """
        described = {
            "probe": self.full_name,
            "states": self.dim_,
            "heads": self.heads_,
            "mixed_layers": [] if self.mix_ is None else list(self.mix_.layers),
            "parameters": self.n_parameters,
            "recipe": asdict(self.recipe or self.usual),
            "random_state": self.random_state,
            "options": self.arguments(),
            "learned": {name: list(getattr(self, name)) for name in self.learned},
            "history": self.history_,
        }
        of_mix = {} if self.mix_ is None else self.mix_.state_dict(prefix=MIX_PREFIX)
        save_probe(Path(folder), {**self.module_.state_dict(), **of_mix}, described, overwrite=overwrite)

    @property
    def n_parameters(self) -> int:
        """The number of parameters that were learned."""
        modules = [self.module_, *([] if self.mix_ is None else [self.mix_])]
        return sum(parameter.numel() for module in modules for parameter in module.parameters())

    def _predict(self, reading: Reading) -> Iterator[tuple[ndarray, Gold, Sentence]]:
        """Yield what is predicted of each sentence, what is known of it, and the sentence."""
        if len(reading) and reading.dim != self.dim_:
            raise ValueError(f"trained on states of {self.dim_} dimensions, these have {reading.dim}")
        reading.mix = self.mix_
        if len(reading) and self.reads_maps and reading.heads != self.heads_:
            raise ValueError(f"trained on maps of {self.heads_} heads beside the states, these are of {reading.heads}")
        for examples in reading.in_order():
            with torch.inference_mode(), one_thread():
                together = self.module_(examples)
            for predicted, known, sentence in zip(together, examples.gold, examples.sentences, strict=True):
                yield self.cut(predicted, len(sentence)), known, sentence


@dataclass(frozen=True)
class _Learner:
    """What `train` needs of a probe."""

    probe: StateProbe
    predicting: StateModule
    module: nn.Module  # all that is trained
    training: Reading
    stopping: Reading
    scores: bool  # whether the score of dev sentences is wanted

    def __len__(self) -> int:
        return len(self.training)

    def loss(self, sentences: Sequence[int]) -> Tensor:
        """Return the sum of the losses of some training sentences."""
        examples = self.training.read_together(sentences)
        return self.probe.losses(self.predicting(examples), examples)

    def dev_results(self) -> Iterator[DevResult]:
        """Yield the sums of the losses and, if they are wanted, of the scores of some dev sentences."""
        probe = self.probe
        for examples in self.stopping.in_order():
            together = self.predicting(examples)
            loss = DevResult(float(probe.losses(together, examples)), len(examples.sentences))
            if not self.scores:
                yield loss
                continue
            each = zip(together, examples.gold, examples.sentences, strict=True)
            found = [
                probe.outcome(probe.cut(predicted, len(sentence)), known, sentence)[probe.metrics[0].name]
                for predicted, known, sentence in each
            ]
            yield loss._replace(score=sum(one.found for one in found), of=sum(one.of for one in found))
