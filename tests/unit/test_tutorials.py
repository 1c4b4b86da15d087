"""The tutorials, their data, and the notebooks that are made of them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from attentionology.corpora_loaders import load_labelled
from docs.notebooks import EXAMPLES, NAMES, TUTORIALS, Cell, cells_of
from docs.tutorials.data import make_reviews

PAGES = sorted(TUTORIALS.glob("*.md"))
DATA = TUTORIALS / "data"


def cells(page: Path) -> list[Cell]:
    return cells_of(page.read_text("utf-8"))


def notebook(name: str) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    found: list[dict[str, Any]] = json.loads((EXAMPLES / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_of_tutorials_is_valid_and_its_numbers_are_checked(page):
    code = [cell for cell in cells(page) if cell.code]
    assert len(code) == page.read_text("utf-8").count("```{code-cell}") >= 5
    for cell in code:
        if not cell.source.startswith("%%"):
            ast.parse(cell.source)
    assert any("assert " in cell.source for cell in code if cell.hidden)
    assert not any("assert " in cell.source for cell in code if not cell.hidden)


@pytest.mark.parametrize("name", NAMES)
def test_code_of_a_notebook_is_that_of_its_tutorial(name):
    shown = [cell for cell in cells(TUTORIALS / f"{name}.md") if not cell.hidden]
    made = notebook(name)
    assert [cell["cell_type"] == "code" for cell in made] == [cell.code for cell in shown]
    written = ["".join(cell["source"]) for cell in made if cell["cell_type"] == "code"]
    assert written == [cell.source for cell in shown if cell.code]


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_were_executed_without_errors(name):
    code = [cell for cell in notebook(name) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data", "stream"}
    assert all(output.get("name") != "stderr" for output in outputs)
    assert len(outputs) >= len(code) - 1
    assert (EXAMPLES / f"{name}.ipynb").stat().st_size < 400_000


@pytest.mark.parametrize("name", NAMES)
def test_outputs_of_notebooks_are_the_same_on_every_machine(name):
    """They have no folder, no user, no address in memory, and neither a date nor a duration."""
    cells = notebook(name)
    outputs = json.dumps([cell["outputs"] for cell in cells if cell["cell_type"] == "code"])
    folders = r"/(?:tmp|home|root|Users|work|opt|usr)/|site-packages"
    of_machines = rf"{folders}|at 0x[0-9a-f]{{6}}|\b20\d\d-\d\d-\d\dT|\b\d\d:\d\d:\d\d\b"
    assert not re.findall(of_machines, outputs)
    assert all(cell["metadata"] == {} for cell in cells)


@pytest.mark.parametrize("name", NAMES)
def test_links_of_notebooks_lead_somewhere(name):
    texts = ["".join(cell["source"]) for cell in notebook(name) if cell["cell_type"] == "markdown"]
    links = [link for text in texts for link in re.findall(r"\[([^\]]*)\]\(([^):]+)\)", text)]
    assert links
    for words, target in links:
        assert words
        assert (EXAMPLES / target).is_file(), target


@pytest.mark.parametrize(("seed", "name"), list(enumerate(make_reviews.SIZES)))
def test_reviews_are_those_of_their_script(seed, name):
    size = make_reviews.SIZES[name]
    assert (DATA / name).read_text("utf-8").splitlines() == make_reviews.texts(seed, size)
    texts = load_labelled(DATA / name)
    assert len(texts) == size
    decisive = {"1": set(make_reviews.GOOD), "0": set(make_reviews.BAD)}
    for sentence, label in zip(texts.sentences, texts.labels, strict=True):
        both = decisive["0"] | decisive["1"]
        assert len(both & set(sentence.words)) == 1
        assert both & set(sentence.words) <= decisive[label]
