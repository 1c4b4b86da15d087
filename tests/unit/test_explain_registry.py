"""Explanation tests by name: that they fit together, and that another package can add one in one file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import attentionology
from attentionology.analyses.contract import OptionGroup
from attentionology.analyses.explanation.attention.batch import Rows, TextBatch
from attentionology.analyses.explanation.contract import registry
from attentionology.analyses.explanation.contract.explanation_test import (
    SHARE,
    Column,
    Drawing,
    ExplanationTest,
    Findings,
    Question,
)
from attentionology.analyses.explanation.contract.options import ENTRY_POINTS, TESTS, ExplanationTestOptions
from attentionology.analyses.explanation.contract.registry import attending_to, check_tests, in_items, registered_tests
from attentionology.scripts.cli import main
from attentionology.storage import plugins
from attentionology.storage.plugins import RegistryError


def first_word_top(batch: TextBatch, options: ExplanationTestOptions) -> Rows:
    """Whether the first word gets the most attention; longer texts have the floor of one in n words."""
    top = batch.scores.argmax(-1).numpy() == 0
    return {"first_word_top": top.astype(float), "first_word_chance": np.array([1 / len(text) for text in batch.texts])}


COLUMNS = {
    "first_word_top": Column("the first word is the most attended one", SHARE),
    "first_word_chance": Column("the first of n words at random", SHARE),
}
FIRST_WORD = ExplanationTest(
    name="first-word",
    heading="Does attention go to the first word?",
    columns=COLUMNS,
    questions=(
        Question(
            "Is the first word special?", "share, against chance", "first_word_top", "first_word_chance", "Yes.", "No."
        ),
    ),
    key=("first_word_top",),
    figure=Drawing(
        "explain_first_word",
        "Drawn elsewhere.",
        lambda results, title: Figure() if "first_word_top" in results.texts else None,
    ),
    page="<p>There are {{ there | length }} columns.</p>",
    uses=("draws",),
    examine=first_word_top,
)
UNDECLARED = replace(FIRST_WORD, columns={"first_word_top": COLUMNS["first_word_top"]}, questions=())


def fail(*arguments: Any) -> Any:
    """Fail as code with a mistake does."""
    raise ZeroDivisionError


FAILING_EXAMINE = replace(FIRST_WORD, examine=fail)
FAILING_COMPARE = replace(FIRST_WORD, compare=fail)
FAILING_CONCLUDE = replace(FIRST_WORD, conclude=fail)
FAILING_SUMMARIZE = replace(FIRST_WORD, summarize=fail)
LATE = replace(FIRST_WORD, conclude=lambda texts, options: Findings({"second_word_top": np.zeros(len(texts))}))


def forget() -> None:
    plugins.points_of.cache_clear()
    registry._tests.cache_clear()
    registry.owner_of.cache_clear()


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Let another package have an entry point."""

    def added(value: str = "FIRST_WORD", name: str = "first-word") -> None:
        point = EntryPoint(name, f"{__name__}:{value}", ENTRY_POINTS)
        monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == ENTRY_POINTS else [])
        forget()

    yield added
    forget()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = []
    for i in range(120):
        words = [*rng.choice(["film", "plot", "long", "the"], size=rng.integers(1, 6)), ("bad", "good")[i % 2]]
        lines.append(f"{i % 2} {' '.join(words)}")
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


QUICK: list[OptionGroup] = [
    attentionology.analyses.ClassifierOptions(encoder="average", dimensions=4),
    attentionology.analyses.ClassifierTrainingOptions(epochs=1),
]
SMALL = ("--encoder", "average", "--dimensions", "4", "--epochs", "1", "--replicates", "10")


def test_a_test_of_another_package_is_one_file(
    add: Callable[..., None], texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add()
    out = tmp_path / "run"
    assert (
        main(["explain", "--data", str(texts), *SMALL, "--tests", "first-word", "--draws", "3", "--out", str(out)]) == 0
    )
    table = pd.read_csv(out / "tables" / "explain_texts.csv")
    assert ((table["first_word_chance"] * table["words"]).round(6) == 1).all()
    summary = pd.read_csv(out / "tables" / "explain_summary.csv")
    assert {"first_word_top", "first_word_chance"} <= set(summary["measure"])
    (verdict,) = pd.read_csv(out / "tables" / "explain_verdicts.csv").to_dict("records")
    assert (verdict["test"], verdict["question"]) == ("first-word", "Is the first word special?")
    expected = (table["first_word_top"] - table["first_word_chance"]).mean()
    assert verdict["difference"] == pytest.approx(expected, abs=1e-12)
    page = (out / "report.html").read_text()
    for shown in (
        FIRST_WORD.heading,
        "There are 2 columns.",
        "Drawn elsewhere.",
        "the first word is the most attended one",
    ):
        assert shown in page
    assert (out / "figures" / "explain_first_word.svg").exists()
    assert "the first word is the most attended one" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("value", ["ExplanationTest", "fail"])
def test_an_entry_point_names_an_instance(value: str, add: Callable[..., None]) -> None:
    add(value)
    with pytest.raises(RegistryError, match=rf":{value} is not an instance of ExplanationTest"):
        registered_tests()


def test_the_tests_of_the_toolkit_fit_together() -> None:
    tests = registered_tests()
    check_tests(tests.values())
    assert [name for name, test in tests.items() if not test.always] == [*TESTS]
    assert [name for name, test in tests.items() if test.questions] == [*TESTS][:-1]


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        (
            [FIRST_WORD, replace(FIRST_WORD, name="other")],
            "the column 'first_word_top', which 'first-word' has already",
        ),
        ([FIRST_WORD, FIRST_WORD], "the test 'first-word'"),
        ([replace(FIRST_WORD, columns={"words": Column("words", SHARE)})], "'words', which 'every table' has already"),
        ([replace(FIRST_WORD, columns={})], "names the column 'first_word_"),
        ([replace(FIRST_WORD, shown=("nowhere",))], "names the column 'nowhere', which does not exist"),
        ([replace(FIRST_WORD, key=("nowhere",))], "names the column 'nowhere'"),
        ([replace(FIRST_WORD, reads=("nowhere",))], "names the column 'nowhere'"),
        ([replace(FIRST_WORD, uses=("colour",))], "names the option 'colour', which does not exist"),
        ([replace(FIRST_WORD, after=("nowhere",))], "names the test 'nowhere', which does not exist"),
    ],
)
def test_tests_that_do_not_fit_together(tests: list[ExplanationTest], message: str) -> None:
    with pytest.raises(RegistryError, match=message):
        check_tests(tests)


@pytest.mark.parametrize(("value", "column"), [("UNDECLARED", "first_word_chance"), ("LATE", "second_word_top")])
def test_columns_that_are_not_declared_are_refused(
    add: Callable[..., None], value: str, column: str, texts: Path
) -> None:
    add(value)
    with pytest.raises(RegistryError, match=f"gives a column '{column}' that it does not declare"):
        attentionology.explain(texts, tests="first-word", options=QUICK)


@pytest.mark.parametrize("step", ["examine", "compare", "conclude", "summarize"])
def test_errors_of_a_test_name_its_package(
    add: Callable[..., None], step: str, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(f"FAILING_{step.upper()}")
    of_package = {"first-word": {"package": "my-tests", "version": "1.2"}}
    monkeypatch.setattr(plugins, "package_of", lambda what, name, module: of_package.get(name, {}))
    with pytest.raises(ZeroDivisionError) as failed:
        attentionology.explain(texts, tests="first-word", options=QUICK)
    named = f"{step}() of the explanation test 'first-word', which the package my-tests 1.2 adds"
    (note,) = failed.value.__notes__
    assert re.fullmatch(rf"This happened in {re.escape(named)}, in line \d+ of {re.escape(__file__)}\.", note)


@pytest.mark.slow
def test_python_gives_what_the_command_gives(texts: Path, tmp_path: Path) -> None:
    out, tests = tmp_path / "run", "correlation,uniform,removal"
    assert main(["explain", "--data", str(texts), *SMALL, "--tests", tests, "--out", str(out)]) == 0
    options = [*QUICK, attentionology.analyses.ExplanationTestOptions(replicates=10)]
    loaded = attentionology.load_labeled(texts)
    explanation = attentionology.explain(loaded, tests=tests.split(","), options=options, out=tmp_path / "again")
    for table in (out / "tables").iterdir():
        assert (tmp_path / "again" / "tables" / table.name).read_bytes() == table.read_bytes()
    assert explanation.folder == tmp_path / "again"
    assert set(explanation.tables) == {path.stem for path in (out / "tables").glob("*.csv")}
    assert explanation.tables["explain_texts"].equals(explanation.texts)
    assert repr(explanation).startswith("Explanation(average classifier, ")
    assert "\n" not in repr(explanation)
    assert "Does the task need attention?" in explanation._repr_html_()

    saved, test = out / "classifier.safetensors", texts
    by_name = attentionology.explain(test=test, model=saved, tests="removal", options=options[2:])
    by_model = attentionology.explain(test=test, model=explanation.model, tests="removal", options=options[2:])
    pd.testing.assert_frame_equal(by_name.texts, by_model.texts)
    assert by_model.folder is None
    assert list(by_model.verdicts["test"]) == ["removal"] * 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "--data FILE is missing"),
        (
            {"data": "x", "options": [attentionology.analyses.TextOptions(data=("y",))]},
            "data is given twice, also in TextOptions",
        ),
        (
            {"data": "x", "options": [attentionology.analyses.LimitOptions()]},
            "explain has no options of the class LimitOptions",
        ),
        ({"data": "x", "tests": "colour"}, "unknown test 'colour'"),
        ({"data": "x", "tests": "seeds", "model": "demo"}, "--data and --dev are for training|--test FILE is missing"),
    ],
)
def test_calls_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(attentionology.OptionError, match=message):
        attentionology.explain(**given)


def test_texts_name_the_items_that_attention_goes_to_and_tags_stay():
    text = 'Words <b class="word">word</b> by word <i title="words">swords</i> of all words'
    assert in_items(text) == text
    with attending_to("sentence"):
        expected = 'Sentences <b class="word">sentence</b> by sentence <i title="words">swords</i> of all sentences'
        assert in_items(text) == expected
    assert in_items(text) == text
