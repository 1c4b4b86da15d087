"""The run: options → the model and its texts → the trained model → what the tests find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...corpora_loaders import AttentionologyError
from ...extractors import AttentionModel, TransformerAttention
from ...probes.classifiers.trainings import Trainings
from ...reports.help.options import flag
from ...reports.progress import Stages, progress_bar
from ...storage.plugins import name_extension
from ...storage.writing import amount
from ..contract import OptionError
from .analysis import ExplainFacts
from .contract.explanation_test import ExplanationTest, Findings
from .contract.options import changed_options
from .contract.registry import find_borrowed, in_order_of_use, registered_tests
from .contract.summary import text_keys
from .examination.options import ExplainOptions, Loaded
from .examination.parts import examine_parts
from .examination.record import notes, phrases
from .examination.sources import Classifiers, ModelSource, Transformers, load_saved, workers_for
from .examination.subject import Tested
from .examination.texts import check_read, class_numbers, read_texts, without_unreadable
from .examples import highlight_texts

Chosen = tuple[tuple[ExplanationTest, ...], tuple[tuple[str, str], ...]]
"""The tests that run, and the names of those that do not, each with the reason."""


def choose(options: ExplainOptions, loaded: Loaded) -> Chosen:
    """Validate the options and choose the tests, before anything slow happens."""
    options.check(loaded)
    names = options.tests.named()  # None for the default
    choices = [test for test in registered_tests().values() if not test.always]
    if names is None:
        tests = [test for test in choices if test.by_default]
    else:
        tests = [test for test in choices if test.name in names or "all" in names]
    obstacles: dict[str, str] = {}  # why a test cannot run here, by its name
    trains = options.trains(loaded)
    has_model = options.model.model is not None or loaded.model is not None
    for test in tests:
        if test.trains and not trains:
            obstacles[test.name] = "it trains models, and nothing is trained in this run"
        elif test.small_only and has_model:
            obstacles[test.name] = "it is for the classifiers that are trained here (--encoder)"
    if names is not None and "all" not in names:
        for name, obstacle in obstacles.items():
            raise OptionError(f"--tests {name}: {obstacle}")
    chosen = tuple(test for test in tests if test.name not in obstacles)
    if not chosen:
        raise OptionError("none of the tests can be run here")
    _check_that_all_are_read(options, chosen)
    options.check_files()
    return chosen, tuple(obstacles.items())


def _check_that_all_are_read(options: ExplainOptions, chosen: Sequence[ExplanationTest]) -> None:
    """Check that every given option is read by a chosen test, because it has no effect otherwise."""
    for name in changed_options(options.tests):
        readers = [test.name for test in registered_tests().values() if name in test.uses]
        if readers and not any(test.name in readers for test in chosen):
            raise OptionError(f"{flag(name)} is for --tests {' or '.join(readers)}")


def prepare(options: ExplainOptions, loaded: Loaded, chosen: Chosen, cache: Path | None) -> Tested:
    """Read the texts and make the model. Texts that it cannot read and tests that it cannot take are left out."""
    stages = Stages()
    with stages("read the texts"):
        texts = read_texts(options, loaded)
        source: ModelSource | None = None  # there is none if the model has been made before
        if loaded.model is None and not options.is_saved:
            source = Classifiers(options, texts) if options.model.model is None else Transformers(options, texts)
    with stages("load the model"):
        model = loaded.model or _model(options, source)
    if isinstance(model, TransformerAttention) and not options.shares.in_this_process:
        # Its hooks cannot be sent to another process, and it uses all threads by itself.
        raise OptionError("--workers is for small classifiers; the parts of a transformer can be shared with --part")

    chosen_tests, left_out = chosen
    obstacles = {test.name: test.impossible(model, options.tests) for test in chosen_tests}
    tests = tuple(test for test in chosen_tests if obstacles[test.name] is None)
    left_out += tuple((name, obstacle) for name, obstacle in obstacles.items() if obstacle is not None)
    if not tests:
        raise OptionError("; ".join(f"--tests {name}: {why}" for name, why in left_out))
    if not options.trains(loaded):
        parts = [test.trained_part for test in tests if test.trained_part]
        left_out += tuple((part, "nothing is trained in this run") for part in parts)
    check_read(texts, model)
    texts = without_unreadable(texts, model)
    labels = np.asarray(class_numbers(texts.test, model.classes))
    trainings = Trainings(cache, workers=workers_for(model))
    described = tuple(test for test in registered_tests().values() if test.always)  # these describe any model
    return Tested(options, texts, source, model, labels, tests, described, left_out, trainings, stages)


def _model(options: ExplainOptions, source: ModelSource | None) -> AttentionModel:
    """Load the saved classifier, or make the model as its source makes it, untrained or loaded."""
    if source is None:
        return load_saved(options.model.model or "")
    try:
        return source.make(options.seed)
    except ValueError as error:
        if isinstance(error, AttentionologyError):  # made for users already
            raise
        raise OptionError(str(error)) from error


def train_tested(tested: Tested) -> Tested:
    """Train the tested model if it has to be trained."""
    if not tested.trains:
        return tested
    training = tested.training(name="base", role="base", seed=tested.options.seed)
    return replace(tested, model=tested.train([training], "train")["base"])


def find_facts(tested: Tested) -> ExplainFacts:
    """Examine the model, compare it with others, and put everything that was found together."""
    options = tested.options
    tests, borrowed_columns = _choose_tests(tested)
    table = tested.examine(tested.model, tests, options.tests, "examine", borrowed_columns)
    tested = replace(tested, table=table)
    compared: dict[str, Findings] = {}
    for test in in_order_of_use(tested.tests) if tested.trains else ():
        earlier = {name: compared[name] for name in test.after if name in compared}
        with name_extension("explanation test", test.name, "compare()"):
            compared[test.name] = test.compare(tested, earlier)
    findings = compared.values()
    base_predictions, _ = tested.score("base", "base", tested.base.probabilities)
    curves = [points for finding in findings for points in finding.points]
    remarks = [note for finding in findings for note in finding.notes]
    return ExplainFacts(
        tests=tuple(test.name for test in tested.tests),
        classes=tuple(tested.model.classes),
        options=options.tests,
        seed=options.seed,
        keys=pd.DataFrame({"key": text_keys(tested.words, options.seed)}),
        examined=tested.table,
        compared={name: pd.DataFrame(finding.columns) for name, finding in compared.items() if finding.columns},
        measured={name: finding.measured for name, finding in compared.items() if finding.measured},
        models=pd.concat(
            [base_predictions, *(predictions for finding in findings for predictions in finding.models)],
            ignore_index=True,
        ),
        points=pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(),
        history=pd.DataFrame(tested.trainings.history),
        examples=highlight_texts(tested),
        item="sentence" if tested.texts.test.of_sentences else "word",
        phrases=tuple(phrases(tested)),
        notes=tuple(notes(tested, remarks)),
        left_out=(*tested.left_out, *(entry for finding in findings for entry in finding.left_out)),
    )


def _choose_tests(tested: Tested) -> tuple[list[ExplanationTest], Mapping[str, Sequence[str]]]:
    """Return the tests to examine, and of those that do not run the columns that questions of the others are about."""
    names = [test.name for test in tested.tests]
    columns_of = {owner: columns for owner, columns in find_borrowed(names).items() if owner not in names}
    return [test for name, test in registered_tests().items() if name in names or name in columns_of], columns_of


def examine_share(tested: Tested) -> list[str]:
    """Examine the share of the parts of the tested model that the options ask for, and say in lines what there is."""
    tests, borrowed_columns = _choose_tests(tested)
    task = tested.examination(tested.model, tests, tested.options.tests, only=borrowed_columns)
    shares = tested.options.shares
    with tested.stages("examine"), progress_bar("examine", len(task.ids), unit="texts") as advance:
        _, missing = examine_parts(task, shares, tested.trainings.cache_log, advance)
    total = len(task.parts())
    rest = "" if missing else " The same command without --part makes the report."
    warnings = [f"Warning: {warning}" for warning in tested.trainings.cache_log.warnings()]
    verb = "is" if total - missing == 1 else "are"
    return [*warnings, f"{total - missing:,} of {amount(total, 'parts')} {verb} in {shares.parts}.{rest}"]
