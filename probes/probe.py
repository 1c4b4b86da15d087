"""Trained probes with the manners of scikit-learn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from jaxtyping import Float, Int
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Generator

from attentionology.corpora_loaders import WordVectors
from attentionology.extractors import MapBatch
from attentionology.probes.decoding import Decoding, decode
from attentionology.probes.predictor import HeadPredictor
from attentionology.probes.recipe import PAPER, Recipe
from attentionology.probes.scorers import AttentionScorer, AttentionWordsScorer, DistanceScorer, Scorer
from attentionology.probes.training import Checkpoint, Report, TrainingError, scores_of, train
from attentionology.storage.durable import StorageError
from attentionology.storage.sealed import ANYWHERE, DamagedError, check, has_seal, read_json, write_json
from attentionology.storage.tensors import write_tensors

Trained = TypeVar("Trained", bound="Probe")

_WEIGHTS, _DESCRIPTION = "probe.safetensors", "probe.json"


class Probe(HeadPredictor):
    """What all trained probes have in common.

    Args:
        recipe: how to train, see `attentionology.probes.recipe.Recipe`.
        random_state: seed of the initial weights and of the order of sentences.

    Attributes:
        scorer_: the trained `torch.nn.Module`.
        shape_: layers and heads of the maps it was trained on.
        kind_: kind of these maps.
        history_: one row per epoch: ``epoch``, ``loss`` per word, ``train_uas`` (every sentence before the step on it),
            ``dev_uas``.
    """

    name: ClassVar[str]
    scorer_: Scorer
    shape_: tuple[int, int]
    kind_: str
    history_: list[dict[str, Any]]

    def __init__(self, *, recipe: Recipe = PAPER, random_state: int = 0) -> None:
        self.recipe, self.random_state = recipe, random_state

    @property
    def vectors(self) -> WordVectors | None:
        """Word vectors; None for a probe that does not read words."""
        return None

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
            batches: read once per epoch, so a stream will do for one epoch only.
            dev: to stop early by, if the recipe has patience, and to report.
            report: told about the `attentionology.probes.training.State` after every sentence.
            checkpoint: go on from this file if it is there, and keep it.

        Raises:
            ValueError: token-level maps, a stream where the recipe reads more than once.
            TrainingError: there is nothing to learn from, or the loss is no longer finite.
        """
        stream = iter(batches)
        first = next(stream, None)
        if first is None:
            raise TrainingError("there is no sentence to learn from")
        if stream is batches:
            if self.recipe.epochs > 1:
                raise ValueError(f"{self.recipe.epochs} epochs take batches that can be read again, not a stream")
            batches = chain([first], stream)
        if dev is not None and iter(dev) is dev:
            dev = list(dev)
        shape = (first.maps.shape[1], first.maps.shape[2])
        scorer = self._scorer(shape)
        seed = self.random_state
        history = train(scorer, batches, self.recipe, seed=seed, dev=dev, report=report, checkpoint=checkpoint)
        self.scorer_, self.history_, self.shape_, self.kind_ = scorer, history, shape, first.kind
        return self

    def scores(self, batches: Iterable[MapBatch]) -> Iterator[Float[ndarray, "words candidates"]]:
        """Score of every candidate for every word, sentence by sentence; candidate 0 is the root.

        Raises:
            ValueError: maps of another kind or shape than those it was trained on.
        """
        return scores_of(self.scorer_, map(self._checked, batches))

    def predict(self, batches: Iterable[MapBatch], decoding: Decoding = "argmax") -> list[Int[ndarray, " _"]]:
        """The head of every word, sentence by sentence in the order of the batches: 1-based, 0 for the root.

        Args:
            batches: word maps of the kind and shape that the probe was trained on.
            decoding: ``"argmax"`` word by word, as the paper does; ``"tree"``: the best tree, see `decode`.
        """
        return [decode(scores, decoding) for scores in self.scores(batches)]

    def save(self, folder: str | Path) -> None:
        """Write ``probe.safetensors`` and ``probe.json``; word vectors are named by their SHA-256, not copied."""
        folder = Path(folder)
        weights = {name: p.detach() for name, p in self.scorer_.named_parameters()}
        digest = write_tensors(folder / _WEIGHTS, weights, {}, ANYWHERE)
        vectors = self.vectors
        described = {
            "probe": self.name,
            "layers": self.shape_[0],
            "heads": self.shape_[1],
            "kind": self.kind_,
            "parameters": self.n_parameters,
            "recipe": asdict(self.recipe),
            "random_state": self.random_state,
            "options": self._options(),
            "vectors": vectors and {"dimensions": vectors.dimensions, "sha256": vectors.sha256},
            "history": self.history_,
            "weights": digest,
        }
        write_json(folder / _DESCRIPTION, described, ANYWHERE, indent=2)

    @property
    def n_parameters(self) -> int:
        """How many numbers were learned."""
        return sum(p.numel() for p in self.scorer_.parameters())

    def _scorer(self, shape: tuple[int, int]) -> Scorer:
        """A scorer with initial weights."""
        raise NotImplementedError

    def _options(self) -> dict[str, Any]:
        """Arguments of its own, other than vectors."""
        return {}

    def _generator(self) -> Generator:
        return Generator().manual_seed(self.random_state)

    def _checked(self, batch: MapBatch) -> MapBatch:
        found = (batch.kind, (batch.maps.shape[1], batch.maps.shape[2]))
        if found != (self.kind_, self.shape_):
            raise ValueError(f"trained on maps {self.kind_!r} of {self.shape_} layers and heads, these are {found}")
        return batch


class AttentionProbe(Probe):
    """p(c | i) ∝ exp Σ_k w_k A^k[i, c] + u_k A^k[c, i]: one weight per head and direction (Clark et al. 2019, §5)."""

    name = "attention"

    @property
    def coef_(self) -> Float[ndarray, "2 layers heads"]:
        """The learned weights; direction 0 is ``dep->head`` (w), 1 ``head->dep`` (u)."""
        return self.scorer_.get_parameter("weight").detach().view(2, *self.shape_).numpy()

    def _scorer(self, shape: tuple[int, int]) -> Scorer:
        return AttentionScorer(shape[0] * shape[1], self._generator())


class WordProbe(Probe):
    """What the probes that read words have in common.

    Args:
        vectors: vectors of the words.
        recipe, random_state: see `Probe`.
    """

    def __init__(self, vectors: WordVectors, *, recipe: Recipe = PAPER, random_state: int = 0) -> None:
        super().__init__(recipe=recipe, random_state=random_state)
        self._vectors = vectors

    @property
    def vectors(self) -> WordVectors:
        """The word vectors."""
        return self._vectors


class AttentionWordsProbe(WordProbe):
    """The same with weights that depend on the vectors of the two words (Clark et al. 2019, §5)."""

    name = "attention+words"

    def _scorer(self, shape: tuple[int, int]) -> Scorer:
        return AttentionWordsScorer(shape[0] * shape[1], self.vectors, self._generator())


class WordsDistancesProbe(WordProbe):
    """No attention: a network of one hidden layer sees the two words and their distance (the paper's baseline)."""

    name = "words+distances"

    def __init__(
        self, vectors: WordVectors, *, hidden: int = 256, recipe: Recipe = PAPER, random_state: int = 0
    ) -> None:
        super().__init__(vectors, recipe=recipe, random_state=random_state)
        self.hidden = hidden

    def _scorer(self, shape: tuple[int, int]) -> Scorer:
        del shape
        return DistanceScorer(self.vectors, self.hidden, self._generator())

    def _options(self) -> dict[str, Any]:
        return {"hidden": self.hidden}


PROBES = ("attention", "attention+words", "words+distances")
"""Names of all trained probes."""


def make_probe(name: str, vectors: WordVectors | None = None, **arguments: Any) -> Probe:
    """A probe by its name, with vectors if it reads words.

    Raises:
        ValueError: an unknown name, or vectors are missing.
    """
    if name not in PROBES:
        raise ValueError(f"unknown probe {name!r}; choose from: {', '.join(PROBES)}")
    if name == AttentionProbe.name:
        return AttentionProbe(**arguments)
    if vectors is None:
        raise ValueError(f"the probe {name!r} takes word vectors")
    return (AttentionWordsProbe if name == AttentionWordsProbe.name else WordsDistancesProbe)(vectors, **arguments)


def load_probe(folder: str | Path, vectors: WordVectors | None = None) -> Probe:
    """A probe that `Probe.save` wrote.

    Args:
        folder: where it is.
        vectors: of the same file as in training, if the probe reads words.

    Raises:
        ValueError: other vectors than in training, files that are broken, or weights that do not fit.
        OSError: there is nothing to read.
    """
    folder = Path(folder)
    try:
        described = _described(folder / _DESCRIPTION)
        if "weights" in described and check(folder / _WEIGHTS, ANYWHERE) != described["weights"]:
            raise DamagedError(f"{_WEIGHTS} does not belong to {_DESCRIPTION}")
        weights = load_file(folder / _WEIGHTS)
        expected, options = described["vectors"], described["options"]
        options |= {"recipe": Recipe(**described["recipe"]), "random_state": described["random_state"]}
        shape, kind, history = (described["layers"], described["heads"]), described["kind"], described["history"]
        name = described["probe"]
    except StorageError as error:
        raise ValueError(f"{folder} is damaged: {error}") from error
    except (KeyError, TypeError, ValueError, SafetensorError) as error:
        raise ValueError(f"{folder} is no saved probe, or broken: {error!r}") from error
    if expected and vectors and expected != {"dimensions": vectors.dimensions, "sha256": vectors.sha256}:
        raise ValueError(f"the probe was trained with other vectors: sha256 {expected['sha256']}")
    probe = make_probe(name, vectors, **options)
    probe.shape_, probe.kind_, probe.history_ = shape, kind, history
    probe.scorer_ = probe._scorer(shape)
    try:
        probe.scorer_.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{folder}: the weights do not fit the description: {error}") from error
    return probe


def _described(path: Path) -> dict[str, Any]:
    """What ``probe.json`` says; those of the first versions have no digest."""
    if has_seal(path):
        return read_json(path, ANYWHERE)
    described: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "seal" in described:
        raise DamagedError(f"the digest in {path.name} is none")
    return described
