"""The explanation tests by name: those of the toolkit, and those that other packages add as entry points."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib.metadata import EntryPoint

from ...storage.nearest import did_you_mean
from ...storage.plugins import RegistryError, added, load_added, located
from ..contract import OptionError
from .contract import SHARE, TVD, Column, ExplanationTest
from .names import ENTRY_POINTS, TESTS
from .options import ExplanationTestOptions

_DESCRIPTIONS = {"states": "states:States"}
"""They run whatever tests are chosen."""

BASIC_COLUMNS: Mapping[str, Column] = {
    "id": Column("text", "", averaged=False),
    "words": Column("words", "words", averaged=False),
    "predicted": Column("predicted class", "class", averaged=False),
    "probability": Column("probability of the predicted class", "probability", averaged=False),
    "max_attention": Column("attention to the most attended word", "weight", averaged=False),
    "label": Column("label", "class", averaged=False),
    "correct": Column("accuracy", SHARE, averaged=False),
    "accuracy": Column("accuracy", SHARE, averaged=False),
    "epsilon": Column("tolerance ε", TVD, averaged=False),
}
"""Columns that belong to no test; ``accuracy`` is the mean of ``correct`` and ``epsilon`` is the option."""


@functools.cache
def registered_tests() -> dict[str, ExplanationTest]:
    """All tests by name: first those that ``--tests`` takes in the order of
    `attentionology.analyses.explanation.names.names_of_tests`, then the descriptions."""
    room = "attentionology.analyses.explanation.tests"
    tests = [located(f"{room}.{value}")() for value in TESTS.values()]
    tests += [_load(point) for point in added(ENTRY_POINTS)]
    tests += [located(f"{room}.{value}")() for value in _DESCRIPTIONS.values()]
    check_tests(tests)
    return {test.name: test for test in tests}


def check_tests(tests: Iterable[ExplanationTest]) -> None:
    """Check that all tests can be part of one toolkit."""
    tests = list(tests)
    owners: dict[tuple[str, str], str] = {("column", name): "every table" for name in BASIC_COLUMNS}
    for test in tests:
        named = [("test", test.name), *(("column", name) for name in test.columns)]
        named += [("table", name) for name in test.tables] + [("figure", name) for name in test.captions]
        for what, name in named:
            if (what, name) in owners:
                raise RegistryError(
                    f"the explanation test {test.name!r} defines the {what} {name!r}, which {owners[what, name]!r} has "
                    "already"
                )
            owners[what, name] = test.name
        for name, column in test.columns.items():
            if not column.label or not column.unit:
                raise RegistryError(
                    f"the column {name!r} of the explanation test {test.name!r} needs a label and a unit"
                )
    known = {option.name for option in fields(ExplanationTestOptions)}
    for test in tests:
        asked = {name for question in test.questions for name in question.columns}
        for name in (*asked, *test.on_page(), *test.key, *test.reads):
            if ("column", name) not in owners:
                raise RegistryError(
                    f"the explanation test {test.name!r} names the column {name!r}, which no explanation test gives"
                )
        if unknown := next((name for name in test.uses if name not in known), None):
            raise RegistryError(f"the explanation test {test.name!r} uses an option {unknown!r}, which does not exist")
        if unknown := next((name for name in test.after if ("test", name) not in owners), None):
            raise RegistryError(f"the explanation test {test.name!r} comes after {unknown!r}, which does not exist")


def in_order_of_report() -> list[ExplanationTest]:
    """The tests in the order of page and verdicts: first those whose verdict decides how the others are read."""
    return sorted(registered_tests().values(), key=lambda test: not test.gate)


@functools.cache
def owner_of() -> dict[str, str]:
    """The name of the test that gives a column, by column."""
    return {column: name for name, test in registered_tests().items() for column in test.columns}


def in_order_of_use(chosen: Sequence[ExplanationTest]) -> list[ExplanationTest]:
    """Order tests so that each comes after those whose findings it uses, and otherwise as given."""
    names, order, waiting = {test.name for test in chosen}, list[ExplanationTest](), list(chosen)
    while waiting:
        done = {test.name for test in order}
        ready = next((test for test in waiting if names & {*test.after} <= done), None)
        if ready is None:
            raise OptionError(f"these tests wait for each other: {', '.join(test.name for test in waiting)}")
        order.append(ready)
        waiting.remove(ready)
    return order


def borrowed_by(name: str) -> dict[str, tuple[str, ...]]:
    """Columns of other tests that the questions of a test are about, by the names of those tests."""
    test, borrowed = registered_tests()[name], dict[str, tuple[str, ...]]()
    asked = [column for question in test.questions for column in question.columns]
    for column in dict.fromkeys(asked):
        owner = owner_of().get(column, name)
        if owner != name:
            borrowed[owner] = (*borrowed.get(owner, ()), column)
    return borrowed


def all_borrowed() -> set[str]:
    """Columns that the questions of other tests are about: they are no sign that their own test was chosen."""
    names = registered_tests()
    return {column for name in names for columns in borrowed_by(name).values() for column in columns}


def column_of(name: str) -> Column:
    """Label and unit of a column; of an unknown one its name."""
    owner = owner_of().get(name)
    given = BASIC_COLUMNS if owner is None else registered_tests()[owner].columns
    return given.get(name) or Column(name.replace("_", " "), "")


def with_unit(name: str) -> str:
    """Label of a column with its unit in brackets."""
    column = column_of(name)
    short = column.unit.partition(",")[0]
    return column.label if column.label.startswith(short) else f"{column.label} ({short})"


def choose_tests(names: Iterable[str] | None) -> list[ExplanationTest]:
    """The tests of these names, in the order of `registered_tests`."""
    tests = [test for test in registered_tests().values() if not test.always]
    if names is None:
        return [test for test in tests if test.by_default]
    named = list(names)
    if not named:
        raise OptionError("--tests needs at least one name")
    known = [test.name for test in tests]
    if unknown := next((name for name in named if name not in (*known, "all")), None):
        near = did_you_mean(unknown, (*known, "all"))
        raise OptionError(f"unknown test {unknown!r}; choose from: {', '.join(known)}, all{near}")
    return [test for test in tests if test.name in named or "all" in named]


def _load(point: EntryPoint) -> ExplanationTest:
    """Load the test that an entry point names, whose name must be that of the test."""
    test = load_added("explanation test", point, ExplanationTest)()
    if test.name != point.name:
        raise RegistryError(f"the entry point {point.name!r} gives an explanation test of another name, {test.name!r}")
    return test
