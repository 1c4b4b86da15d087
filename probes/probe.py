"""The base class of trained probes, which have the methods of scikit-learn's estimators and take maps for X and y."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from jaxtyping import Float, Int
from numpy import ndarray
from torch import Generator, Tensor

from ..corpora_loaders import WordVectors
from ..extractors import MapBatch
from ..storage.paths import check_file
from ..storage.sealed import ANYWHERE, write_json
from ..storage.tensors import write_tensors
from .checkpoint import Checkpoint
from .predictor import Decoding, HeadPredictor, decode
from .recipe import PAPER, Recipe
from .scorers import Scorer
from .training import Report, TrainingError, scores_of, train

Trained = TypeVar("Trained", bound="Probe")

WEIGHTS_FILE, DESCRIPTION_FILE = "probe.safetensors", "probe.json"
"""The two files of a saved probe."""


class Probe(HeadPredictor):
    """Base class of the trained probes.

    A subclass has a `name` and a method `make_scorer`. Once it is registered with
    `attentionology.probes.register_probe`, it is trained, compared and saved like the probes of the toolkit.

    Args:
        recipe: how to train the probe, see `attentionology.probes.Recipe`.
        random_state: seed of the initial weights and of the order of sentences.

    Attributes:
        name: the name of the probe in tables and options.
        meaning: what the probe is, as a phrase for the report.
        beside: the simpler methods of the table that the probe is compared with, besides itself on random weights.
        color: its color in figures, one of those named in ``reports/palette.json``. Subclasses inherit neither.
        reads_attention: whether the probe looks at the attention maps; only then is it also trained on copies of the
            model with random weights.
        reads_words: whether the constructor takes word vectors as its first argument, see `WordProbe`.
        scorer_: the trained `torch.nn.Module`.
        shape_: numbers of layers and heads of the maps that the probe was trained on.
        kind_: the kind of these maps.
        history_: one row per epoch: ``epoch``, ``loss`` per word in nats, ``train_uas`` (of every sentence before the
            step on it), and ``dev_uas``.

    Example:
        A probe that knows one number: how much a word prefers candidates on its right.

        >>> import torch
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import Probe, Recipe, Scorer, batch_from_array
        >>> class RightScorer(Scorer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.preference = torch.nn.Parameter(torch.zeros(()))
        ...
        ...     def forward(self, example):
        ...         n = len(example.sentence)
        ...         right = torch.ones(n, n).triu(1)
        ...         return self.preference * torch.nn.functional.pad(right, (1, 0))  # ROOT comes first
        >>> class RightProbe(Probe):
        ...     name = "right"
        ...     reads_attention = False
        ...
        ...     def make_scorer(self, shape):
        ...         return RightScorer()
        >>> sentence = Sentence("s1", ("the", "dog", "barks"), (2, 3, 0), ("det", "nsubj", "root"))
        >>> batch = batch_from_array(sentence, torch.full((1, 1, 3, 3), 0.2).numpy())
        >>> probe = RightProbe(recipe=Recipe(epochs=20, learning_rate=0.1)).fit([batch])
        >>> probe.predict([batch])[0].tolist()
        [2, 3, 0]
    """

    name: ClassVar[str]
    meaning: ClassVar[str] = ""
    beside: ClassVar[tuple[str, ...]] = ("attention",)
    color: ClassVar[str] = "black"
    reads_attention: ClassVar[bool] = True
    reads_words: ClassVar[bool] = False

    scorer_: Scorer
    shape_: tuple[int, int]
    kind_: str
    history_: list[dict[str, Any]]

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Give the probe what it does not inherit: a variant of a probe is not compared and drawn as that one is."""
        super().__init_subclass__(**arguments)
        for name in ("beside", "color"):
            if name not in vars(cls):
                setattr(cls, name, getattr(Probe, name))

    def __init__(self, *, recipe: Recipe = PAPER, random_state: int = 0) -> None:
        self.recipe, self.random_state = recipe, random_state

    @property
    def vectors(self) -> WordVectors | None:
        """The word vectors; None for a probe that does not read words."""
        return None

    def make_scorer(self, shape: tuple[int, int]) -> Scorer:
        """Make a scorer with initial weights, which must depend on `random_state` alone.

        Args:
            shape: numbers of layers and heads of the maps.
        """
        raise NotImplementedError

    def arguments(self) -> dict[str, Any]:
        """Arguments of the constructor besides the vectors, the recipe and the random state; saved with the probe."""
        return {}

    def fit(
        self: Trained,
        batches: Iterable[MapBatch],
        dev: Iterable[MapBatch] | None = None,
        *,
        report: Report = lambda _: None,
        checkpoint: Checkpoint | None = None,
    ) -> Trained:
        """Train on word maps and the heads of their sentences.

        Args:
            batches: word maps; they are read once per epoch, so a stream is enough for one epoch only.
            dev: sentences to stop early by, if the recipe has patience, and to report scores of.
            report: called with the `attentionology.probes.TrainingState` after every sentence and every epoch.
            checkpoint: the file to continue from if it is there, which is also kept up to date.

        Raises:
            ValueError: the maps are of token level, or the batches are a stream and the recipe reads them repeatedly.
            TrainingError: there is nothing to learn from, or the loss is no longer finite.
        """
        stream = iter(batches)
        first_batch = next(stream, None)
        if first_batch is None:
            raise TrainingError("there is no sentence to learn from")
        if stream is batches:  # an iterator, which can be read once
            if self.recipe.epochs > 1:
                raise ValueError(f"{self.recipe.epochs} epochs need batches that can be read again, not a stream")
            batches = chain([first_batch], stream)
        if dev is not None and iter(dev) is dev:
            dev = list(dev)
        _, n_layers, n_heads, *_ = first_batch.maps.shape
        scorer = self.make_scorer((n_layers, n_heads))
        seed = self.random_state
        history = train(scorer, batches, self.recipe, seed=seed, dev=dev, report=report, checkpoint=checkpoint)
        # These are set at last, so that a training that fails leaves the probe as it was.
        self.scorer_, self.history_ = scorer, history
        self.shape_, self.kind_ = (n_layers, n_heads), first_batch.kind
        return self

    def scores(self, batches: Iterable[MapBatch]) -> Iterator[Float[ndarray, "words candidates"]]:
        """Return the score of every candidate for every word, sentence by sentence; candidate 0 is the root.

        Raises:
            ValueError: the maps are of another kind or shape than those that the probe was trained on.
        """
        return scores_of(self.scorer_, map(self.check_maps, batches))

    def predict(self, batches: Iterable[MapBatch], decoding: Decoding = "argmax") -> list[Int[ndarray, " _"]]:
        """Return the head of every word, sentence by sentence in the order of the batches: 1-based, 0 for the root.

        Args:
            batches: word maps of the kind and shape that the probe was trained on.
            decoding: ``"argmax"`` chooses word by word, as the paper does; ``"tree"`` finds the best tree (`decode`).
        """
        return [decode(scores, decoding) for scores in self.scores(batches)]

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write ``probe.safetensors`` and ``probe.json``. Word vectors are named by their SHA-256 and not copied.

        Args:
            folder: the folder of the two files.
            overwrite: whether to replace those of another probe.

        Raises:
            StorageError: a file exists, or cannot be written.
        """
        weights = {name: parameter.detach() for name, parameter in self.scorer_.named_parameters()}
        vectors = self.vectors
        described = {
            "probe": self.name,
            "layers": self.shape_[0],
            "heads": self.shape_[1],
            "kind": self.kind_,
            "parameters": self.n_parameters,
            "recipe": asdict(self.recipe),
            "random_state": self.random_state,
            "options": self.arguments(),
            "vectors": vectors and {"dimensions": vectors.dimensions, "sha256": vectors.sha256},
            "history": self.history_,
        }
        save_probe(Path(folder), weights, described, overwrite=overwrite)

    @property
    def n_parameters(self) -> int:
        """The number of parameters that were learned."""
        return sum(p.numel() for p in self.scorer_.parameters())

    def generator(self) -> Generator:
        """Return a new random number generator for the initial weights, with the seed `random_state`."""
        return Generator().manual_seed(self.random_state)

    def check_maps(self, batch: MapBatch) -> MapBatch:
        """Return the batch if its maps are like those that the probe was trained on.

        Raises:
            ValueError: the maps are of another kind or shape.
        """
        kind_and_shape = (batch.kind, (batch.maps.shape[1], batch.maps.shape[2]))
        if kind_and_shape != (self.kind_, self.shape_):
            trained_on = f"{self.kind_!r} of {self.shape_} layers and heads"
            raise ValueError(f"trained on maps {trained_on}, these are {kind_and_shape}")
        return batch


def save_probe(folder: Path, weights: dict[str, Tensor], described: dict[str, Any], *, overwrite: bool) -> None:
    """Write the two files of a probe; the description names the digest of the weights."""
    for name in (WEIGHTS_FILE, DESCRIPTION_FILE):
        check_file(folder / name, overwrite=overwrite)
    digest = write_tensors(folder / WEIGHTS_FILE, weights, {}, ANYWHERE)
    write_json(folder / DESCRIPTION_FILE, {**described, "weights": digest}, ANYWHERE, indent=2)
