"""The run: options → the model and its texts → the trained model → what the tests find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...corpora_loaders import AttentionologyError
from ...extractors import AttentionModel, TransformerAttention
from ...extractors.replaceable.attention_model import query_of
from ...probes.classifiers.trainings import Trainings
from ...reports.help.options import flag
from ...reports.progress import Stages, progress_bar
from ..contract import OptionError
from ..shared.resampling import sentence_keys
from .analysis import ExplainFacts
from .batch import read
from .contract import ExplanationTest, Findings
from .exact_adversary import exact_attention, solvable
from .measures import jsd
from .options import changed
from .parts import examined_parts
from .record import notes, phrases
from .registry import borrowed, in_order_of_use, registered_tests
from .results import Highlight, HighlightedText
from .run_options import ExplainOptions, Loaded
from .sources import Classifiers, ModelSource, Transformers, load_saved, workers_for
from .summary import text_keys
from .tested import Tested
from .tests.correlation import gradient_importance
from .tests.single_token import TEST as SINGLE
from .tests.single_token import in_context
from .texts import check_read, class_numbers, read_texts, without_unreadable

_EXAMPLES = 4
_SHORTEST, _LONGEST = 5, 25  # in words; such texts can be read at a glance

Chosen = tuple[tuple[ExplanationTest, ...], tuple[tuple[str, str], ...]]
"""The tests that run, and the names of those that do not, each with the reason."""


def choose(options: ExplainOptions, loaded: Loaded) -> Chosen:
    """Validate the options and choose the tests, before anything slow happens."""
    options.check(loaded)
    named = options.tests.named()
    choices = [test for test in registered_tests().values() if not test.always]
    if named is None:
        tests = [test for test in choices if test.by_default]
    else:
        tests = [test for test in choices if test.name in named or "all" in named]
    left_out = []
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
    return chosen, tuple(left_out)


def _check_that_all_are_read(options: ExplainOptions, chosen: Sequence[ExplanationTest]) -> None:
    """Check that every given option is read by a chosen test, because it has no effect otherwise."""
    given = changed(options.tests)
    for option in fields(options.tests):
        readers = [test.name for test in registered_tests().values() if option.name in test.uses]
        if option.name in given and readers and not {test.name for test in chosen} & {*readers}:
            raise OptionError(f"{flag(option.name)} is for --tests {' or '.join(readers)}")


def prepared(options: ExplainOptions, loaded: Loaded, chosen: Chosen, cache: Path | None) -> Tested:
    """Read the texts and make the model. Texts that it cannot read and tests that it cannot take are left out."""
    stages = Stages()
    with stages("read the texts"):
        texts = read_texts(options, loaded)
        source: ModelSource | None = None
        if loaded.model is None and not options.is_saved:
            source = Classifiers(options, texts) if options.model.model is None else Transformers(options, texts)
    with stages("load the model"):
        model = loaded.model or _model(options, source)
    tests, left_out = chosen
    if isinstance(model, TransformerAttention) and not options.shares.in_this_process:
        # Its hooks cannot be sent to another process, and it uses all threads by itself.
        raise OptionError("--workers is for small classifiers; the parts of a transformer can be shared with --part")
    reasons = {test.name: reason for test in tests if (reason := test.impossible(model, options.tests)) is not None}
    tests, left_out = tuple(test for test in tests if test.name not in reasons), (*left_out, *reasons.items())
    if not tests:
        raise OptionError("; ".join(f"--tests {name}: {why}" for name, why in left_out))
    if not options.trains(loaded):
        parts = [test.trained_part for test in tests if test.trained_part]
        left_out += tuple((part, "nothing is trained in this run") for part in parts)
    check_read(texts, model)
    texts = without_unreadable(texts, model)
    labels = np.asarray(class_numbers(texts.test, model.classes))
    trainings = Trainings(cache, workers=workers_for(model))
    described = tuple(test for test in registered_tests().values() if test.always)
    return Tested(options, texts, source, model, labels, tests, described, left_out, trainings, stages)


def _model(options: ExplainOptions, source: ModelSource | None) -> AttentionModel:
    if source is None:
        return load_saved(options.model.model or "")
    try:
        return source.make(options.seed)
    except ValueError as error:
        if isinstance(error, AttentionologyError):
            raise
        raise OptionError(str(error)) from error


def trained(tested: Tested) -> Tested:
    """Train the tested model if it has to be trained."""
    if not tested.trains:
        return tested
    training = tested.training("base", "base", tested.options.seed)
    return replace(tested, model=tested.trained([training], "train")["base"])


def found(tested: Tested) -> ExplainFacts:
    """Examine the model, compare it with others, and put everything that was found together."""
    options = tested.options
    tested = replace(tested, table=_examined(tested))
    compared: dict[str, Findings] = {}
    for test in in_order_of_use(tested.tests) if tested.trains else ():
        compared[test.name] = test.compare(tested, {name: compared[name] for name in test.after if name in compared})
    every = compared.values()
    base, _ = tested.score("base", "base", tested.base.probabilities)
    points = [points for each in every for points in each.points]
    remarks = [note for each in every for note in each.notes]
    return ExplainFacts(
        tests=tuple(test.name for test in tested.tests),
        classes=tuple(tested.model.classes),
        options=options.tests,
        seed=options.seed,
        keys=pd.DataFrame({"key": text_keys(tested.words, options.seed)}),
        examined=tested.table,
        compared={name: pd.DataFrame(dict(each.columns)) for name, each in compared.items() if each.columns},
        measured={name: each.measured for name, each in compared.items() if each.measured},
        models=pd.concat([base, *(rows for each in every for rows in each.models)], ignore_index=True),
        points=pd.concat(points, ignore_index=True) if points else pd.DataFrame(),
        history=pd.DataFrame(tested.trainings.history),
        examples=highlighted_texts(tested),
        item="sentence" if tested.texts.test.of_sentences else "word",
        phrases=tuple(phrases(tested)),
        notes=tuple(notes(tested, remarks)),
        left_out=(*tested.left_out, *(entry for each in every for entry in each.left_out)),
    )


def _examined_tests(tested: Tested) -> tuple[list[ExplanationTest], Mapping[str, Sequence[str]]]:
    """The tests of the tested model, and those columns of other tests that questions are about."""
    names = [test.name for test in tested.tests]
    floors = {owner: columns for owner, columns in borrowed(names).items() if owner not in names}
    return [test for name, test in registered_tests().items() if name in names or name in floors], floors


def _examined(tested: Tested) -> pd.DataFrame:
    """The per-text table of the tested model, with the columns of other tests that questions are about."""
    tests, floors = _examined_tests(tested)
    return tested.examined(tested.model, tests, tested.options.tests, "examine", floors)


def examine_share(tested: Tested) -> str:
    """Examine the share of the parts of the tested model that the options ask for, and say what there is now."""
    tests, floors = _examined_tests(tested)
    task, shares = tested.examination(tested.model, tests, tested.options.tests, floors), tested.options.shares
    with tested.stages("examine"), progress_bar("examine", len(task.ids), unit="texts") as advance:
        _, missing = examined_parts(task, shares, tested.trainings.cache_log, advance)
    total = len(task.parts())
    rest = "" if missing else " The same command without --part makes the report."
    warnings = "".join(f"Warning: {warning}\n" for warning in tested.trainings.cache_log.warnings())
    return f"{warnings}{total - missing:,} of {total:,} parts are in {shares.parts}.{rest}"


def highlighted_texts(tested: Tested) -> tuple[HighlightedText, ...]:
    """Return a few texts with the weights of their words: attention, gradients, and other attention with one output."""
    # The texts are sampled deterministically by a hash of their ids. They have 5 to 25 words if there are such texts.
    model, texts, epsilon, seed = tested.model, tested.texts.test, tested.options.tests.epsilon, tested.options.seed
    fitting = [i for i, text in enumerate(texts) if _SHORTEST <= len(text) <= _LONGEST]
    fitting = fitting or [i for i, text in enumerate(texts) if len(text) > 1]
    keys = sentence_keys([texts[i].id for i in fitting], seed)
    drawn = [fitting[i] for i in np.argsort(keys, kind="stable")[:_EXAMPLES].tolist()]
    of_words = any(test.name == SINGLE.name for test in tested.tests)
    shown = []
    for i in drawn:
        batch = read(model, [texts[i].id], [tested.words[i]], seed)
        n, predicted = len(texts[i]), int(batch.predicted[0])
        panels = [
            Highlight("attention", tuple(batch.scores[0, :n].tolist())),
            Highlight("gradient × input", tuple(gradient_importance(model, batch.texts)[0, :n].tolist())),
        ]
        if solvable(model):
            other = exact_attention(batch, 0, epsilon=epsilon)
            far = jsd(other, batch.alpha[0, 0, :n].double()).item()
            note = f"JSD {far:.2f}; the probability changes by {epsilon:g} at most"
            panels.append(Highlight("other attention, same output", tuple(other.tolist()), note))
        shown.append(
            HighlightedText(
                words=texts[i].words,
                query=query_of(tested.words[i]),
                probability_of_label=float(batch.probabilities[0, tested.labels[i]]),
                from_word=tuple(in_context(batch)[0, :n, tested.labels[i]].tolist()) if of_words else (),
                label=model.classes[tested.labels[i]],
                predicted=model.classes[predicted],
                probability=float(batch.probabilities[0, predicted]),
                panels=tuple(panels),
            )
        )
    return tuple(shown)
