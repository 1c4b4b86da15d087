"""The tested model on its texts, and how other models are trained beside it and compared with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...extractors import Attend, AttentionModel, Words
from ...probes.classifiers import CrossEntropy, Trainable
from ...probes.classifiers.trainings import ClassifierTraining, Trainings
from ...reports.progress import Stages, progress_bar
from ...storage.plugins import RegistryError
from .batch import Rows, TextBatch, Values, examine
from .compared_models import ModelPredictions
from .options import ExplanationTestOptions
from .readings import ModelReading
from .run_options import ExplainOptions
from .sources import ModelSource
from .texts import ExplainTexts, class_numbers, digest, words_of


@runtime_checkable
class Examiner(Protocol):
    """The part of an `ExplanationTest` that this module uses: its name, its columns by their names, and `examine`."""

    name: ClassVar[str]
    columns: ClassVar[Mapping[str, Any]]

    def examine(self, batch: TextBatch, options: ExplanationTestOptions, /) -> Rows:
        """Compute the columns of a batch of texts."""
        ...


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and the texts that it is tested on.

    Attributes:
        options: the options of the run.
        texts: the texts by role, all of which the model can read.
        model: the model whose attention is tested.
        labels: the class of each tested text, 0-based.
        stages: measures how long the stages of the run take.
        workers: the number of batches to examine at once.
        descriptions: the tests that describe a model and run whatever tests are chosen.
    """

    options: ExplainOptions
    texts: ExplainTexts
    model: AttentionModel
    labels: npt.NDArray[np.int64]
    stages: Stages
    workers: int
    descriptions: tuple[Examiner, ...]

    @property
    def words(self) -> list[Words]:
        """The words of the tested texts."""
        return words_of(self.texts.test)

    def examined(
        self,
        model: AttentionModel,
        tests: Sequence[Examiner],
        options: ExplanationTestOptions,
        label: str,
        only: Mapping[str, Sequence[str]] | None = None,
    ) -> pd.DataFrame:
        """Compute the per-text table of one model."""
        every = list(dict.fromkeys((*tests, *self.descriptions)))
        functions = {test.name: partial(_rows, test, options, (only or {}).get(test.name)) for test in every}
        ids = [text.id for text in self.texts.test]
        with self.stages(label), progress_bar(label, len(ids), unit="texts") as advance:
            table = examine(
                model,
                ids,
                self.words,
                functions,
                seed=self.options.seed,
                workers=self.workers,
                advance=advance,
            )
        names = [self.model.classes[label] for label in self.labels]
        return table.assign(label=names, correct=(table["predicted"].to_numpy() == self.labels).astype(float))

    def score(self, name: str, role: str, given: Values) -> tuple[ModelPredictions, Values]:
        """Return what a model predicts, and 1 for each text that is classified correctly, else 0."""
        correct: Values = (given.argmax(1) == self.labels).astype(np.float64)
        return ModelPredictions(name, role, given), correct


@dataclass(frozen=True, eq=False)
class TrainingOnLabels:
    """Models to train on the labels of the training texts.

    Attributes:
        texts: the texts by role.
        source: how the models are made.
    """

    texts: ExplainTexts
    source: ModelSource

    def __call__(
        self,
        name: str,
        role: str,
        seed: int,
        *,
        make: Callable[[int], Trainable] | None = None,
        attend: Attend | None = None,
        attended: str = "own",
    ) -> ClassifierTraining:
        """Describe the training of one model."""
        train, dev, source = self.texts.train, self.texts.dev, self.source
        assert train is not None  # noqa: S101 there is training
        classes, roles = source.classes or (), self.texts.roles()
        makes: Callable[[int], Any] = make or source.make
        return ClassifierTraining(
            name=name,
            role=role,
            make=partial(makes, seed),
            texts=words_of(train),
            objective=CrossEntropy(class_numbers(train, classes), len(classes)),
            recipe=source.recipe,
            seed=seed,
            identity={"what": "labels", "attention": attended}
            | {role: digest(roles[role]) for role in ("train", "dev") if role in roles},
            dev=None if dev is None else (words_of(dev), class_numbers(dev, classes)),
            attend=attend,
            made_of=source.identity,
        )


@dataclass(frozen=True, eq=False)
class Tested(Subject):
    """The tested model after it was examined, for tests that compare it with other models.

    Attributes:
        base: what the model makes of the tested texts.
        table: the per-text table.
        chosen: names of the tests of the run.
        source: how other models are made.
        trainings: trains them, or takes them from the cache.
    """

    base: ModelReading
    table: pd.DataFrame
    chosen: tuple[str, ...]
    source: ModelSource
    trainings: Trainings

    @property
    def training(self) -> TrainingOnLabels:
        """The training of models on the labels, as the tested model was trained."""
        return TrainingOnLabels(self.texts, self.source)

    def base_key(self) -> str:
        """Return the key of the tested model in the cache."""
        return self.training("base", "base", self.options.seed).key(cast(Trainable, self.model))


def check_declared(test: Examiner, names: Iterable[str]) -> None:
    """Check that a test declares the columns that it gives."""
    if unknown := next((name for name in names if name not in test.columns), None):
        raise RegistryError(f"the explanation test {test.name!r} gives a column {unknown!r} that it does not declare")


def _rows(test: Examiner, options: ExplanationTestOptions, only: Sequence[str] | None, batch: TextBatch) -> Rows:
    """Compute the columns of a test for a batch."""
    rows = test.examine(batch, options)
    check_declared(test, rows)
    return rows if only is None else {name: rows[name] for name in only if name in rows}
