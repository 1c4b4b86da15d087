"""The run: inputs → the trained model → what the tests find, each step a function of the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from ...corpora_loaders import AttentionologyError
from ...extractors import AttentionModel
from ...probes.classifiers.trainings import Trainings
from ...reports.help.options import flag
from ...reports.progress import Stages
from ..contract import OptionError
from .analysis import ExplainFacts
from .compared_models import ModelPredictions
from .contract import ExplanationTest, Findings
from .highlights import highlighted_texts
from .options import changed
from .readings import reading
from .record import Finished, facts, notes
from .registry import borrowed_by, choose_tests, in_order_of_use, registered_tests
from .run_options import ExplainOptions, Loaded
from .sources import Classifiers, ModelSource, Transformers, load_saved
from .summary import text_keys
from .tested import Subject, Tested, TrainingOnLabels
from .text_table import TextTable
from .texts import (
    ExplainTexts,
    class_numbers,
    read_texts,
    without_unreadable,
)


@dataclass(frozen=True)
class ChosenTests:
    """The tests of a run.

    Attributes:
        tests: the tests that run.
        trains: whether models are trained in this run.
        left_out: the names of the tests that do not run, each with the reason.
    """

    tests: tuple[ExplanationTest, ...]
    trains: bool
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tests that run."""
        return tuple(test.name for test in self.tests)


@dataclass(frozen=True, eq=False)
class ExplainInputs:
    """The inputs of a run, before anything is trained.

    Attributes:
        texts: the texts by role, all of which the model can read.
        source: how models are made; None if the model was saved or loaded before.
        model: the tested model, which may still have to be trained.
        choice: the tests.
    """

    texts: ExplainTexts
    source: ModelSource | None
    model: AttentionModel
    choice: ChosenTests


def choose(options: ExplainOptions, loaded: Loaded) -> ChosenTests:
    """Validate the options and choose the tests, before anything slow happens."""
    options.check(loaded)
    named = options.tests.named()
    tests, left_out = choose_tests(named), []
    trains, has_model = options.trains(loaded), options.model.model is not None or loaded.model is not None
    for test in tests:
        if test.trains and not trains:
            left_out.append((test.name, "it trains models, and nothing is trained in this run"))
        elif test.small_only and has_model:
            left_out.append((test.name, "it is for the classifiers that are trained here (--encoder)"))
    if left_out and named is not None and "all" not in named:
        raise OptionError(f"--tests {left_out[0][0]}: {left_out[0][1]}")
    chosen = tuple(test for test in tests if test.name not in dict(left_out))
    if not chosen:
        raise OptionError("none of the tests can be run here")
    _check_that_all_are_read(options, chosen)
    options.check_files()
    return ChosenTests(chosen, trains, tuple(left_out))


def _check_that_all_are_read(options: ExplainOptions, chosen: Sequence[ExplanationTest]) -> None:
    """Check that every given option is read by a chosen test, because it has no effect otherwise."""
    given = changed(options.tests)
    for option in fields(options.tests):
        readers = [test.name for test in registered_tests().values() if option.name in test.uses]
        if option.name in given and readers and not {test.name for test in chosen} & {*readers}:
            raise OptionError(f"{flag(option.name)} is for --tests {' or '.join(readers)}")


def read_inputs(options: ExplainOptions, loaded: Loaded, choice: ChosenTests, stages: Stages) -> ExplainInputs:
    """Read the texts and make the model. Texts that it cannot read and tests that it cannot take are left out."""
    with stages("read the texts"):
        texts = read_texts(options, loaded)
        source = None if loaded.model is not None or options.is_saved else _source(options, texts)
    with stages("load the model"):
        model = _model(options, source) if loaded.model is None else loaded.model
    reasons = [(test.name, test.impossible(model, options.tests)) for test in choice.tests]
    impossible = {name: reason for name, reason in reasons if reason is not None}
    tests = tuple(test for test in choice.tests if test.name not in impossible)
    left_out = (*choice.left_out, *impossible.items())
    if not tests:
        raise OptionError("; ".join(f"--tests {name}: {why}" for name, why in left_out))
    if not choice.trains:
        parts = [part for test in tests if (part := test.without_training())]
        left_out += tuple((part, "nothing is trained in this run") for part in parts)
    return ExplainInputs(
        without_unreadable(texts, model), source, model, replace(choice, tests=tests, left_out=left_out)
    )


def _source(options: ExplainOptions, texts: ExplainTexts) -> ModelSource:
    return Classifiers(options, texts) if options.model.model is None else Transformers(options, texts)


def _model(options: ExplainOptions, source: ModelSource | None) -> AttentionModel:
    if source is None:
        return load_saved(options.model.model or "")
    try:
        return source.make(options.seed)
    except ValueError as error:
        if isinstance(error, AttentionologyError):
            raise
        raise OptionError(str(error)) from error


def train_model(options: ExplainOptions, inputs: ExplainInputs, trainings: Trainings, stages: Stages) -> Subject:
    """Train the tested model if it has to be trained, and return it with its texts."""
    model, texts = inputs.model, inputs.texts
    if inputs.source is not None and inputs.choice.trains:
        training = TrainingOnLabels(texts, inputs.source)("base", "base", options.seed)
        with stages("train"):
            trained: Any = trainings([training], "train")["base"]
        model = trained
    return Subject(
        options=options,
        texts=texts,
        model=model,
        labels=np.asarray(class_numbers(texts.test, model.classes)),
        stages=stages,
        workers=trainings.workers,
        descriptions=tuple(test for test in registered_tests().values() if test.always),
    )


def run_tests(subject: Subject, inputs: ExplainInputs, trainings: Trainings) -> ExplainFacts:
    """Examine the model, compare it with others, and put everything that was found together."""
    options, chosen = subject.options, inputs.choice.tests
    table = _examined(subject, chosen)
    examined = table.rows
    concluded = [test.conclude(examined, options.tests) for test in chosen]
    for test, findings in zip(chosen, concluded, strict=True):
        table = table.with_columns(test, findings.columns)
    base = reading(subject.model, subject.words)
    models = [subject.score("base", "base", base.probabilities)[0]]
    compared: dict[str, Findings] = {}
    if inputs.source is not None and inputs.choice.trains:
        for test in in_order_of_use(chosen):
            known = {field.name: getattr(subject, field.name) for field in fields(subject)}
            tested = Tested(
                **known,
                base=base,
                table=table.rows,
                chosen=inputs.choice.names,
                source=inputs.source,
                trainings=trainings,
            )
            found = test.compare(tested, {name: compared[name] for name in test.after if name in compared})
            compared[test.name] = found
            models += found.models
            table = table.with_columns(test, found.columns)
    with subject.stages("results"):
        every = [*compared.values(), *concluded]
        remarks = tuple(note for each in every for note in each.notes)
        left_out = (*inputs.choice.left_out, *(entry for each in every for entry in each.left_out))
        run = finished(subject, inputs, trainings, table.rows, left_out, remarks)
        return _found(run, examined, compared, models)


def _examined(subject: Subject, chosen: Sequence[ExplanationTest]) -> TextTable:
    """The per-text table of the tested model, with the columns of other tests that questions are about."""
    names = [test.name for test in chosen]
    floors: dict[str, tuple[str, ...]] = {}
    for name in names:
        for owner, columns in borrowed_by(name).items():
            if owner not in names:
                floors[owner] = tuple(dict.fromkeys((*floors.get(owner, ()), *columns)))
    tests = [test for name, test in registered_tests().items() if name in names or name in floors]
    return TextTable(subject.examined(subject.model, tests, subject.options.tests, "examine", floors))


def _found(
    run: Finished, examined: pd.DataFrame, compared: Mapping[str, Findings], models: Sequence[ModelPredictions]
) -> ExplainFacts:
    subject = run.subject
    options, model = subject.options, subject.model
    labels, epsilon = subject.labels.tolist(), options.tests.epsilon
    return ExplainFacts(
        tests=run.chosen,
        classes=tuple(model.classes),
        options=options.tests,
        seed=options.seed,
        keys=pd.DataFrame({"key": text_keys(subject.words, options.seed)}),
        examined=examined,
        compared={name: pd.DataFrame(dict(each.columns)) for name, each in compared.items() if each.columns},
        measured={name: each.measured for name, each in compared.items() if each.measured},
        models=pd.concat([each.rows() for each in models], ignore_index=True),
        points=_together([point.rows() for each in compared.values() for point in each.points]),
        history=pd.DataFrame(run.trainings.history),
        examples=highlighted_texts(model, subject.texts.test, labels, epsilon, options.seed),
        phrases=tuple(facts(run)),
        notes=tuple(notes(run)),
        left_out=run.left_out,
    )


def _together(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def finished(
    subject: Subject,
    inputs: ExplainInputs,
    trainings: Trainings,
    table: pd.DataFrame,
    left_out: tuple[tuple[str, str], ...],
    remarks: tuple[str, ...] = (),
) -> Finished:
    """Return the finished run, which the run record describes."""
    return Finished(
        subject=subject,
        chosen=inputs.choice.names,
        left_out=left_out,
        table=table,
        source=inputs.source,
        trains=inputs.choice.trains,
        trainings=trainings,
        notes=remarks,
    )
