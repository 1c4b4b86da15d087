"""The explanation tests by name: those of the toolkit, and those that other packages add as entry points."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from importlib.metadata import EntryPoint

import pandas as pd

from ....storage.plugins import RegistryError, load_entry_point, locate_class, source_of
from ..attention.batch import Rows
from .explanation_test import SHARE, TVD, Column, ExplanationTest
from .options import PLUGINS, TESTS, ExplanationTestOptions

_DESCRIPTION = "states"  # it runs whatever tests are chosen

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

_ITEM: ContextVar[str] = ContextVar("what attention runs over", default="word")


@contextmanager
def attending_to(item: str) -> Iterator[None]:
    """Let the tests speak of these items, ``word`` or ``sentence``, while the block runs."""
    token = _ITEM.set(item)
    try:
        yield
    finally:
        _ITEM.reset(token)


def in_items(text: str) -> str:
    """Return a text of this package with the item of `attending_to`, such as “sentence”, in place of “word”."""
    item = _ITEM.get()
    if item == "word":
        return text
    # Tags of HTML, which are every other part, are left alone: they may have classes of these names.
    parts = re.split(r"(<[^>]*>)", text)
    for index in range(0, len(parts), 2):
        capitalized = re.sub(r"\bWord", item.capitalize(), parts[index])
        parts[index] = re.sub(r"\bword(s?)\b", rf"{item}\1", capitalized)
    return "".join(parts)


def registered_tests() -> dict[str, ExplanationTest]:
    """All tests by name, in the order of `names_of_tests`, and last the one that describes the model."""
    tests = _tests()
    return tests if _ITEM.get() == "word" else {name: _test_in_items(test) for name, test in tests.items()}


def list_tests() -> list[str]:
    """Return the names of the tests that `attentionology.explain` chooses from.

    Example:
        >>> from attentionology import list_tests
        >>> "permutation" in list_tests()
        True
    """
    return [name for name in registered_tests() if name != _DESCRIPTION]


def _test_in_items(test: ExplanationTest) -> ExplanationTest:
    """Return a copy of a test whose texts for people speak of sentences, not of words, if `attending_to` says so."""
    return replace(
        test,
        heading=in_items(test.heading),
        columns={name: replace(column, label=in_items(column.label)) for name, column in test.columns.items()},
        questions=tuple(
            replace(
                question,
                question=in_items(question.question),
                compared=in_items(question.compared),
                passed=in_items(question.passed),
                failed=in_items(question.failed),
            )
            for question in test.questions
        ),
        figure=test.figure and replace(test.figure, caption=in_items(test.figure.caption)),
        more_figures=tuple(replace(figure, caption=in_items(figure.caption)) for figure in test.more_figures),
        page=in_items(test.page),
    )


@functools.cache
def _tests() -> dict[str, ExplanationTest]:
    """Load the tests of `registered_tests`, which speak of words."""
    names = (*TESTS, _DESCRIPTION)
    built_in: list[ExplanationTest] = [
        locate_class(f"{__package__.rpartition('.')[0]}.methods.{name.replace('-', '_')}:TEST") for name in names
    ]
    tests = [
        *built_in[:-1],
        *map(_load_test, PLUGINS.find_additions().values()),
        built_in[-1],
    ]  # the description comes last
    check_tests(tests)
    return {test.name: test for test in tests}


def _load_test(point: EntryPoint) -> ExplanationTest:
    """Load the test that another package gives under an entry point."""
    test = load_entry_point(PLUGINS.what, point)
    if not isinstance(test, ExplanationTest):
        raise RegistryError(f"{source_of(point)} is not an instance of ExplanationTest")
    if test.name != point.name:
        raise RegistryError(f"the entry point {point.name!r} gives an explanation test of another name, {test.name!r}")
    return test


def check_tests(tests: Iterable[ExplanationTest]) -> None:
    """Check that all tests can be part of one toolkit: that each name is given once, and that what they name exists."""
    tests = list(tests)
    owners = {f"column {name!r}": "every table" for name in BASIC_COLUMNS}  # who defines each thing
    for test in tests:
        defined = [f"test {test.name!r}", *(f"column {name!r}" for name in test.columns)]
        defined += [f"table {name!r}" for name in test.tables]
        defined += [f"figure {drawing.name!r}" for drawing in test.drawings]
        for thing in defined:
            if thing in owners:
                raise RegistryError(
                    f"the explanation test {test.name!r} defines the {thing}, which {owners[thing]!r} has already"
                )
            owners[thing] = test.name
    existing = owners.keys() | {f"option {option.name!r}" for option in fields(ExplanationTestOptions)}
    for test in tests:
        in_questions = [name for question in test.questions for name in question.columns]
        used = [f"column {name!r}" for name in (*in_questions, *test.on_page, *test.key, *test.reads)]
        used += [f"option {name!r}" for name in test.uses] + [f"test {name!r}" for name in test.after]
        if missing := next((thing for thing in used if thing not in existing), None):
            raise RegistryError(f"the explanation test {test.name!r} names the {missing}, which does not exist")


def with_columns(table: pd.DataFrame, test: ExplanationTest, columns: Rows) -> pd.DataFrame:
    """Return the per-text table with further columns of a test, which it must declare and can give once."""
    test.check_declared(columns)
    for name, values in columns.items():
        if name in table:
            raise RegistryError(f"the explanation test {test.name!r} gives the column {name!r} twice")
        if len(values) != len(table):
            given = f"{len(values)} values of the column {name!r} for {len(table)} texts"
            raise RegistryError(f"the explanation test {test.name!r} gives {given}")
    return table.assign(**columns)


def in_order_of_report() -> list[ExplanationTest]:
    """Return the tests in the order of page and verdicts: first those whose verdict decides how the others are read."""
    return sorted(registered_tests().values(), key=lambda test: not test.gate)


def in_order_of_use(chosen: Sequence[ExplanationTest]) -> list[ExplanationTest]:
    """Return the tests with those before each whose findings it uses; the others keep their order."""
    order: dict[str, ExplanationTest] = {}
    for test in chosen:
        order |= {other.name: other for other in chosen if other.name in test.after}
        order[test.name] = test
    return list(order.values())


@functools.cache
def owner_of() -> dict[str, str]:
    """Return for each column the name of the test that gives it."""
    return {column: name for name, test in registered_tests().items() for column in test.columns}


def find_borrowed(names: Collection[str]) -> dict[str, list[str]]:
    """Return the columns of other tests that the questions of these tests are about, by the names of those tests."""
    columns: dict[str, list[str]] = {}
    for name in names:
        for question in registered_tests()[name].questions:
            for column in question.columns:
                owner = owner_of().get(column, name)
                if owner != name:
                    columns.setdefault(owner, []).append(column)
    return {owner: list(dict.fromkeys(of_owner)) for owner, of_owner in columns.items()}


def column_of(name: str) -> Column:
    """Return a column by its name. The label of an unknown one is its name."""
    owner = owner_of().get(name)
    columns = BASIC_COLUMNS if owner is None else registered_tests()[owner].columns
    column = columns.get(name) or Column(name.replace("_", " "), "")
    return replace(column, label=in_items(column.label))


def with_unit(name: str) -> str:
    """Return the label of a column with its unit in brackets."""
    column = column_of(name)
    unit = column.unit.partition(",")[0]  # without the range after the comma
    # Nothing is added where there is no unit, or where the label begins with it, such as “words”.
    return column.label if column.label.startswith(unit) else f"{column.label} ({unit})"
