"""What the documentation says about commands, options, names and examples is true; tutorials and their notebooks."""

from __future__ import annotations

import ast
import contextlib
import doctest
import functools
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import torch
import tyro

import attentionology
from attentionology.analyses.shared.numbers import NUMBERS
from attentionology.corpora_loaders import load_labeled
from attentionology.extractors.kinds import registry
from attentionology.extractors.layers.architectures import ARCHITECTURES
from attentionology.extractors.model import named
from attentionology.reports.help.options import option_sections
from attentionology.scripts.cli import COMMANDS
from docs import generate, names, search_words
from docs.notebooks import EXAMPLES, NAMES, TUTORIALS, Cell, cells_of
from docs.tutorials.data import make_reviews
from tests import documentation
from tests.documentation import PAGES, REPOSITORY, USER_PAGES

IDS = [str(page.relative_to(REPOSITORY)) for page in PAGES]
WITH_COMMANDS = [page for page in IDS if any(documentation.commands(page))]
OTHERS = {
    "--array",
    "--config",
    "--cpus-per-task",
    "--editable",
    "--head",
    "--mem",
    "--only",
    "--time",
    "--version",
}
"""Options of other programs that the pages name."""
OF_EXAMPLES = {"--farthest", "--containing"}
"""Options of the analysis and of the command that the pages teach how to write; the tests of these pages run them."""
GIVEN = {"$SLURM_ARRAY_TASK_ID": "3"}

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b")
ALL_FLAGS = {
    flag
    for command in COMMANDS.values()
    for section in option_sections(command.load(), command.most_used).values()
    for option in section
    for flag in (option.flag, option.flag.replace("--no-", "--"))
} | {"--help", "--help-all"}


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_command_lines_parse(page):
    for words in documentation.commands(page):
        if OF_EXAMPLES & set(words) or words == ["--version"]:
            continue
        words = [GIVEN.get(word, word) for word in words]
        for variable, value in GIVEN.items():
            words = [word.replace(variable, value) for word in words]
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                tyro.cli(
                    COMMANDS[words[0]].load(), args=words[1:], config=(tyro.conf.OmitArgPrefixes,), registry=NUMBERS
                )
        except SystemExit:
            pytest.fail(f"attentionology {' '.join(words)}\n{said.getvalue()}")


@pytest.mark.parametrize("page", IDS)
def test_options_in_prose_exist(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    if page == "CHANGELOG.md":  # options that were removed or renamed are named in the entries of their versions
        text = text.partition("\n## [0.1.0]")[0]
    code = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    flags = {flag for span in code for flag in FLAG.findall(span)}
    assert flags <= ALL_FLAGS | OTHERS | OF_EXAMPLES


def words(text: str) -> int:
    """How many words the prose of a page has, counted as ``wc`` does, without blocks of code."""
    return len(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split())


def test_guides_can_be_read():
    """All guides together, from the README to the pages about papers, have at most 37,000 words of prose."""
    folders = ("how-to", "explanation", "tutorials", "reproduce")
    guides = [page for folder in folders for page in (REPOSITORY / "docs" / folder).glob("*.md")]
    guides += [REPOSITORY / "README.md", REPOSITORY / "docs/index.md"]
    assert len(guides) > 30
    assert sum(words(page.read_text(encoding="utf-8")) for page in guides) <= 37_000


@pytest.mark.parametrize("page", ["README.md"])
def test_commands_in_tables_parse(page):
    """The commands in the cells of the table in the README."""
    spans = re.findall(r"`attentionology ([^`]+)`", (REPOSITORY / page).read_text(encoding="utf-8"))
    lines = [span for span in spans if " " in span]
    assert len(lines) >= 7
    for line in lines:
        words = shlex.split(line)
        tyro.cli(COMMANDS[words[0]].load(), args=words[1:], config=(tyro.conf.OmitArgPrefixes,), registry=NUMBERS)


def test_readme_is_short_and_its_links_lead_somewhere():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    targets = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.MULTILINE))
    used = set(re.findall(r"\]\[([^\]]+)\]", text))
    assert set(targets) == used
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project.get("urls", {}).get("Repository", "")
    for target in targets.values():
        # A package index shows the README without the files beside it.
        assert target.startswith(address), f"{target} must begin with {address}, the address in pyproject.toml"
        path = re.sub(r"^/?(?:(?:blob|raw|tree|src)/[^/]+/)?", "", target.removeprefix(address))
        assert (REPOSITORY / path).is_file(), target


def test_the_toolkit_is_installed_from_its_repository():
    """No package index has it."""
    text = " ".join(" ".join(page.read_text(encoding="utf-8") for page in USER_PAGES).split())
    installed = [what for what in re.findall(r"pip install ([^`$]*)", text) if "attentionology" in what]
    assert installed
    assert [what for what in installed if not re.match(r"'attentionology\[[a-z,]+\] @ git\+", what)] == []


@pytest.mark.parametrize("page", IDS)
def test_tables_that_are_named_exist(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    tables = generate.fill_marks((REPOSITORY / "docs/reference/tables.md").read_text(encoding="utf-8"))
    described = set(re.findall(r"`(\w+)\.csv`", tables))
    named = set(re.findall(r"tables/(\w+)\.csv", text))
    named |= {name for name in re.findall(r"`(\w+)\.csv`", text) if name.partition("_")[0] in PREFIXES}
    assert named <= described | {"distance"}  # the table of the analysis that docs/how-to/extend.md makes


PREFIXES = {"dependency", "surface", "norms", "coreference", "probe", "explain", "alignment", "survey", "head"}
"""How the names of tables begin."""


OF_SEVERAL_TYPES = {
    *("low", "high", "min", "max", "mean", "published", "weight"),
    *("heldout_min", "heldout_max"),
}
"""Columns whose type depends on what the table is about."""


TYPES = {
    *("text", "share", "count", "points", "nats", "bits", "p", "number", "number from 0", "number from 1"),
    "number, 0 to 1",
    *("number, 0 to 2", "number, −1 to 1", "number, words", "number, tokens", "number, loss per unit of attention"),
    *("`True` or `False`", "as `unit` says", "as above", "as the measure"),
}
"""What columns of tables hold."""


def test_shares_are_shares_in_all_tables():
    """A column is not a share in one table, and a difference of shares, a count or another number in the next one."""
    tables = generate.fill_marks((REPOSITORY / "docs/reference/tables.md").read_text(encoding="utf-8"))
    types: dict[str, set[str]] = {}
    for found, type_ in re.findall(r"^\| (`[^|]*) \| ([^|]*) \| [^|]* \|$", tables, re.MULTILINE):
        for name in re.findall(r"`(.+?)`", found):
            types.setdefault(name, set()).add(type_)
    assert len(types) > 300
    assert set().union(*types.values()) == TYPES
    others = {"points", "count", "number"}
    assert {name for name, of in types.items() if "share" in of and of & others} == OF_SEVERAL_TYPES


def test_generated_parts():
    """Each mark on a page asks for something that exists, and what is made of it names what it should."""
    marks = {page: generate.MARK.findall(page.read_text(encoding="utf-8")) for page in USER_PAGES}
    assert {part for found in marks.values() for part, _ in found} == set(generate.PARTS)
    commands = generate.commands()
    for name in COMMANDS:
        assert f"\n## {name}\n" in commands
    for flag in ALL_FLAGS - {"--help"}:
        assert flag in commands or flag.replace("--", "--no-") in commands, flag
    assert "````{option} --min-count N\nRelations with fewer than N words" in commands
    assert "] [" not in re.sub(r"```.*?```", "", generate.markdown("Read [CLS] [SEP] --map *x*"))
    assert generate.markdown("The kinds:\n  - a, b-c: x_y\n  - d") == "The kinds:\n\n- **a, b-c**: x\\_y\n- d"


def test_phrases_that_people_search_are_entries_of_the_index():
    """Each has one place, which exists, below whose heading the page says it to Sphinx."""
    phrases = [phrase for of_page in search_words.PHRASES.values() for some in of_page.values() for phrase in some]
    assert len(phrases) == len(set(phrases)) > 90
    assert all(phrase == phrase.lower() and not set(phrase) & set(",!:;`") for phrase in phrases)
    for page in search_words.PHRASES:
        source = [(REPOSITORY / "docs" / f"{page}.md").read_text(encoding="utf-8")]
        before = source[0]
        generate.complete(None, page, source)
        assert source[0].count("```{index} ! ") == len(search_words.PHRASES[page])
        assert len(source[0]) > len(before)
    text = search_words.with_entries("how-to/cluster", "# How?\n\nText.\n\n## A job array\n\nMore.\n")
    assert text.startswith("# How?\n\n```{index} ! resume, ! killed run, ")
    assert "## A job array\n\n```{index} ! slurm\n```\n\n\nMore." in text
    with pytest.raises(ValueError, match="how-to/cluster has no heading 'A job array'"):
        search_words.with_entries("how-to/cluster", "# How?\n")


@pytest.mark.slow
def test_generated_parts_are_the_same_on_every_machine():
    """They depend neither on the order of sets nor on the terminal, and name no folder of this machine."""
    program = "import sys; from docs.generate import fill_marks; print(*map(fill_marks, sys.argv[1:]))"
    texts = [page.read_text(encoding="utf-8") for page in USER_PAGES]
    marks = [mark[0] for text in texts for mark in generate.MARK.finditer(text)]
    printed = {
        subprocess.run(
            [sys.executable, "-c", program, *marks],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": "src:.", "PYTHONHASHSEED": seed, "COLUMNS": columns, "FORCE_COLOR": color},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed, columns, color in (("1", "60", "1"), ("2", "200", ""))
    }
    (text,) = printed
    assert len(marks) >= 10
    assert "attentionology COMMAND --help" in text
    assert not re.search(rf"{re.escape(str(REPOSITORY))}|{re.escape(str(Path.home()))}|0x[0-9a-f]{{8}}", text)


def test_public_names_are_in_the_reference():
    pages = [REPOSITORY / "docs/reference/python" / f"{room}.md" for room in ROOMS]
    text = "\n".join(generate.fill_marks(page.read_text(encoding="utf-8")) for page in pages)
    documented = re.findall(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)", text, re.MULTILINE)
    assert len(documented) == len(set(documented))
    assert {f"attentionology.{name}" for name in names.of("attentionology")} <= set(documented)
    assert "attentionology.extractors.Level" in documented
    assert "attentionology.probes.classifiers.Vocabulary" in documented


ROOMS = ("corpora_loaders", "extractors", "probes", "analyses", "engine", "reports", "testing")


FRONT = Path(attentionology.__file__).parent
PACKAGES = sorted(path.name for path in FRONT.iterdir() if (path / "__init__.py").is_file())
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions, too, of which the standard library asks where the wrapper is from."""

    def _from_module(self, module: ModuleType | None, found: object) -> bool:
        if module is not None and inspect.isfunction(found):
            return found.__module__ == module.__name__
        return bool(super()._from_module(module, found))  # type: ignore[misc]


def modules_with_examples() -> list[Any]:
    """The modules of the toolkit with a prompt in their text, of which those whose examples read a model are slow."""
    names = []
    for room in PACKAGES:
        folder = (FRONT / room).resolve()
        for path in sorted(folder.rglob("*.py")):
            if ">>> " in (text := path.read_text("utf-8")):
                parts = path.relative_to(folder).with_suffix("").parts
                name = ".".join(["attentionology", room, *(part for part in parts if part != "__init__")])
                names.append(pytest.param(name, marks=[pytest.mark.slow] if '"demo"' in text else []))
    return names


def has_example(documented: object) -> bool:
    """Whether the docstring of a class or function itself has an example that is run."""
    text = vars(documented).get("__doc__") if isinstance(documented, type) else documented.__doc__
    examples = doctest.DocTestParser().get_examples(text or "")
    return any(not example.options.get(doctest.SKIP, False) for example in examples)


@pytest.fixture
def sandbox(monkeypatch, tmp_path):
    """A folder to write to, registries that are put back, and the demo model loaded once for all examples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(attentionology, "load_encoder", demo_loaded_once)
    with mock.patch.dict(registry._KINDS), mock.patch.dict(ARCHITECTURES), torch.random.fork_rng():
        yield


@functools.cache
def demo_loaded_once(name):
    return named.load_encoder(name)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_give_what_they_show(name, sandbox):
    module = import_module(name)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report: list[str] = []
    for test in Finder().find(module):
        runner.run(test, out=report.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(report)


def _is_shown(room: str, name: str) -> bool:
    """Whether a name of a room is a function or a class of its own, which only the example of another does not show."""
    thing = getattr(getattr(attentionology, room), name)
    by_others = ("Column", "Comparable", "Counting", "Counts", "Drawable", "Question", "measured_heads")
    groups = ("BitextOptions", "LanguageOptions", "LinkOptions", "TranslatorOptions")
    if name in (*by_others, *groups) or name.endswith("Results"):
        return False
    return inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Exception))


EXPORTED = [
    *attentionology.__all__,
    *(
        f"{room}.{name}"
        for room in ("analyses", "corpora_loaders", "engine", "extractors", "probes", "reports")
        for name in getattr(attentionology, room).__all__
        if name not in attentionology.__all__ and _is_shown(room, name)
    ),
    *("corpora_loaders.alignment.load_links", "extractors.translation.Translator"),
    "probes.classifiers.AttentionClassifier",
]


@pytest.mark.parametrize("name", EXPORTED)
def test_public_name_has_an_example(name):
    assert has_example(attrgetter(name)(attentionology))


LESSONS = sorted(TUTORIALS.glob("*.md"))
DATA = TUTORIALS / "data"


def cells(page: Path) -> list[Cell]:
    return cells_of(page.read_text("utf-8"))


def notebook(name: str) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    found: list[dict[str, Any]] = json.loads((EXAMPLES / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return found


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
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
    assert (EXAMPLES / f"{name}.ipynb").stat().st_size < 550_000


@pytest.mark.parametrize("name", NAMES)
def test_outputs_of_notebooks_are_the_same_on_every_machine(name):
    """They have no folder, no user, no address in memory, and neither a date nor a duration."""
    cells = notebook(name)
    outputs = json.dumps([cell["outputs"] for cell in cells if cell["cell_type"] == "code"])
    folders = r"/(?:tmp|home|root|Users|work|opt|usr)/|site-packages"
    of_machines = rf"{folders}|at 0x[0-9a-f]{{6}}|\b20\d\d-\d\d-\d\dT|\b\d\d:\d\d:\d\d\b"
    assert not re.findall(of_machines, outputs)
    assert all(cell["metadata"] == {} for cell in cells)


def code_for_colab() -> list[str]:
    """The code of the notebook for Colab but its first cell, which installs the toolkit."""
    cells = [cell for cell in notebook("colab") if cell["cell_type"] == "code"]
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in cells)
    install, *others = ["".join(cell["source"]) for cell in cells]
    assert install == '%pip install --quiet "attentionology[demo] @ git+<address of this repository>"'
    return others


def test_the_notebook_for_colab_names_what_there_is():
    calls = [node for code in code_for_colab() for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)]
    own = {node.attr for node in calls if isinstance(node.value, ast.Name) and node.value.id == "attentionology"}
    assert own == {"analyze", "extract", "show"}
    assert own < set(dir(attentionology))


@pytest.mark.slow
def test_the_notebook_for_colab_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    for code in code_for_colab():
        exec(compile(code, "cell", "exec"), scope)  # noqa: S102
    det = scope["best"].set_index("relation").loc["det"]
    assert (det["layer"], det["head"], det["total"]) == (3, 9, 269)
    assert scope["decisions"]["right"].sum() == det["correct"]
    assert "('Cats', 'sleep', '.') (6, 12, 5, 5)" in capsys.readouterr().out
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize("name", [*NAMES, "colab"])
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
    texts = load_labeled(DATA / name)
    assert len(texts) == size
    decisive = {"1": set(make_reviews.GOOD), "0": set(make_reviews.BAD)}
    for sentence, label in zip(texts.sentences, texts.labels, strict=True):
        both = decisive["0"] | decisive["1"]
        assert len(both & set(sentence.words)) == 1
        assert both & set(sentence.words) <= decisive[label]
