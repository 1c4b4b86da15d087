"""Options that are made in Python have the types that the command line gives them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from attentionology import (
    CorpusOptions,
    CountOptions,
    ModelOptions,
    OptionError,
    align,
    analyze,
    explain,
    probe,
    survey,
)
from attentionology.analyses import DependencyOptions, ProbeTrainingOptions, TreebankOptions
from attentionology.analyses.option_groups import OptionSet, check_bounds
from attentionology.reports.help.options import flag
from attentionology.scripts.cli import COMMANDS


def groups() -> dict[str, type[Any]]:
    """All option groups of the commands that measure something, by their names."""
    found: dict[str, type[Any]] = {}
    for name in ("analyze", "probe", "survey", "align", "explain", "doctor"):
        values = vars(COMMANDS[name].load()()).values()
        found |= {type(value).__name__: type(value) for value in values if dataclasses.is_dataclass(value)}
    return found


OPTIONS = [(group, field.name) for group in groups().values() for field in dataclasses.fields(group)]


@pytest.mark.parametrize(("group", "name"), OPTIONS, ids=lambda value: getattr(value, "__name__", value))
def test_every_option_refuses_what_no_command_line_gives(group, name):
    check_bounds(group())
    wrong: Any = object()
    with pytest.raises(OptionError, match=f"^{flag(name)} must be .*, not <object object at"):
        check_bounds(dataclasses.replace(group(), **{name: wrong}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (CountOptions(replicates=1.5), "--replicates must be a whole number, not 1.5"),  # type: ignore[arg-type]
        (CountOptions(replicates="20"), "--replicates must be a number, not '20'"),  # type: ignore[arg-type]
        (CountOptions(replicates=True), "--replicates must be a whole number, not True"),
        (CountOptions(replicates=None), "--replicates must be a number, not None"),  # type: ignore[arg-type]
        (CorpusOptions(limit=2.0), "--limit must be a whole number or None, not 2.0"),  # type: ignore[arg-type]
        (CorpusOptions(lenient="no"), "--lenient must be True or False, not 'no'"),  # type: ignore[arg-type]
        (CorpusOptions(corpus="a"), '--corpus takes several names: ("a",)'),  # type: ignore[arg-type]
        (DependencyOptions(relations=(3,)), "--relations must be a tuple of strings, not (3,)"),  # type: ignore[arg-type]
        (ModelOptions(model=3), "--model must be a string, not 3"),  # type: ignore[arg-type]
        (ProbeTrainingOptions(learning_rate="x"), "--learning-rate must be a number or None, not 'x'"),  # type: ignore[arg-type]
    ],
)
def test_messages_say_what_an_option_takes(options, message):
    with pytest.raises(OptionError) as caught:
        OptionSet.of(options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "options",
    [
        CountOptions(replicates=20),
        CorpusOptions(corpus=("a", Path("b"))),  # type: ignore[arg-type]
        CorpusOptions(corpus=["a"]),  # type: ignore[arg-type]
        CorpusOptions(limit=None),
        ProbeTrainingOptions(learning_rate=1),
        TreebankOptions(punctuation=["AuxK"]),  # type: ignore[arg-type]
    ],
)
def test_what_stands_for_a_value_of_the_command_line_is_taken(options):
    assert list(OptionSet.of(options)) == [options]


CALLS = {
    "analyze": lambda: analyze("demo", options=CountOptions(replicates=1.5)),  # type: ignore[arg-type]
    "probe": lambda: probe("demo", options=CountOptions(replicates=1.5)),  # type: ignore[arg-type]
    "survey": lambda: survey("demo", "sample", options=CountOptions(replicates=1.5)),  # type: ignore[arg-type]
    "align": lambda: align(options=COUNTS_OF_LINKS(replicates=1.5)),
    "explain": lambda: explain("a.csv", options=RUNS_OF_TESTS(replicates=1.5)),
    "the seed of analyze": lambda: analyze("demo", seed=1.5),  # type: ignore[arg-type]
    "the seed of probe": lambda: probe("demo", seed=1.5),  # type: ignore[arg-type]
    "the seed of survey": lambda: survey("demo", "sample", seed=1.5),  # type: ignore[arg-type]
}
COUNTS_OF_LINKS: Any = groups()["AlignmentOptions"]
RUNS_OF_TESTS: Any = next(
    group for group in groups().values() if {"replicates", "draws"} <= {f.name for f in dataclasses.fields(group)}
)


@pytest.mark.parametrize("call", CALLS)
def test_every_call_checks_its_options(call):
    with pytest.raises(OptionError, match=r"^--(replicates|seed) must be a whole number, not 1\.5$"):
        CALLS[call]()
