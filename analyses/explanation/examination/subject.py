"""The tested model and its texts, and how other models are trained beside it and compared with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ....extractors import Attend, AttentionModel, Words
from ....probes.classifiers import CrossEntropy, Trainable
from ....probes.classifiers.trainings import ClassifierTraining, Trainings
from ....reports.progress import Stages, progress_bar
from ..attention.batch import Values, examine
from ..attention.readings import ModelReading, reading
from ..contract.explanation_test import ExplanationTest
from ..contract.options import ExplanationTestOptions
from .options import ExplainOptions
from .parts import TextExamination, examine_parts
from .sources import ModelSource
from .texts import ExplainTexts, class_numbers, digest, words_of


@dataclass(frozen=True, eq=False)
class Tested:
    """A model, the texts that it is tested on, and the tests: all that a run works with."""

    options: ExplainOptions  # the options of the run
    texts: ExplainTexts  # the texts by role, all of which the model can read
    source: ModelSource | None  # how models are made; None if the model was saved or loaded before
    # the model whose attention is tested; untrained before `attentionology.analyses.explanation.run.train_tested`
    model: AttentionModel
    labels: npt.NDArray[np.int64]  # the class of each tested text, 0-based
    tests: tuple[ExplanationTest, ...]  # the tests that run
    described: tuple[ExplanationTest, ...]  # the tests that describe every model
    left_out: tuple[tuple[str, str], ...]  # the names of those that do not run, each with the reason
    trainings: Trainings  # trains models, or takes them from the cache
    stages: Stages  # measures how long the stages of the run take
    table: pd.DataFrame = field(default_factory=pd.DataFrame)  # the per-text table of the model, once it was examined

    @property
    def trains(self) -> bool:
        """Whether models are trained in this run."""
        only_loaded = self.options.model.model is not None and not self.options.transformer.finetune
        return self.source is not None and not only_loaded

    @cached_property
    def words(self) -> list[Words]:
        """The words of the tested texts."""
        return words_of(self.texts.test)

    @cached_property
    def base(self) -> ModelReading:
        """The attention of the model to the tested texts, and its output."""
        return reading(self.model, self.words)

    def examine(
        self,
        model: AttentionModel,
        tests: Sequence[ExplanationTest],
        options: ExplanationTestOptions,
        label: str,
        only: Mapping[str, Sequence[str]] | None = None,
    ) -> pd.DataFrame:
        """Compute the per-text table of one model, of some tests only the columns in ``only``."""
        task = self.examination(model, tests, options, only)
        shares = self.options.shares
        with self.stages(label), progress_bar(label, len(self.words), unit="texts") as advance:
            if shares.parts is None and shares.in_this_process:
                table = examine(
                    model,
                    task.ids,
                    self.words,
                    task.functions(),
                    seed=task.seed,
                    workers=self.trainings.workers,
                    advance=advance,
                )
            else:
                tables, _ = examine_parts(task, shares, self.trainings.cache_log, advance)
                table = pd.concat(tables).sort_index()
        return table.assign(
            label=[self.model.classes[label] for label in self.labels],
            correct=(table["predicted"].to_numpy() == self.labels).astype(float),
        )

    def examination(
        self,
        model: AttentionModel,
        tests: Sequence[ExplanationTest],
        options: ExplanationTestOptions,
        only: Mapping[str, Sequence[str]] | None = None,
    ) -> TextExamination:
        """Describe what is computed for the texts of one model."""
        names = tuple(dict.fromkeys(test.name for test in (*tests, *self.described)))
        ids = [text.id for text in self.texts.test]
        return TextExamination(model, ids, self.words, names, options, only or {}, self.options.seed)

    def score(self, name: str, role: str, probabilities: Values) -> tuple[pd.DataFrame, Values]:
        """Return what a model predicts, and 1 for each text that it classifies correctly, else 0."""
        # probabilities: the probabilities of the classes, shape (texts, classes).
        columns = [f"p{index}" for index in range(probabilities.shape[1])]
        correct: Values = (probabilities.argmax(1) == self.labels).astype(np.float64)
        return pd.DataFrame(probabilities, columns=columns).assign(model=name, role=role), correct

    def training(
        self,
        name: str,
        role: str,
        seed: int,
        *,
        make: Callable[[int], Trainable] | None = None,
        attend: Attend | None = None,
        attended: str = "own",
    ) -> ClassifierTraining:
        """Describe the training of another model on the labels, as the tested model was trained."""
        # attend: attention that replaces its own, which `attended` identifies in the cache.
        train, dev, source = self.texts.train, self.texts.dev, self.source
        assert train is not None  # noqa: S101 there is training
        assert source is not None  # noqa: S101 there is training
        classes = source.classes or ()
        digests = {"train": digest(train), **({} if dev is None else {"dev": digest(dev)})}
        return ClassifierTraining(
            name=name,
            role=role,
            make=partial(make or source.make, seed),
            texts=words_of(train),
            objective=CrossEntropy(class_numbers(train, classes), len(classes)),
            recipe=source.recipe,
            seed=seed,
            identity={"what": "labels", "attention": attended, **digests},
            dev=None if dev is None else (words_of(dev), class_numbers(dev, classes)),
            attend=attend,
            made_of=source.identity,
        )

    def train(self, trainings: Sequence[ClassifierTraining], label: str) -> dict[str, Any]:
        """Train models or take them from the cache, and return them by name."""
        with self.stages(label):
            return self.trainings(trainings, label)

    def base_key(self) -> str:
        """Return the key of the tested model in the cache."""
        model: Any = self.model
        return self.training(name="base", role="base", seed=self.options.seed).key(model)
