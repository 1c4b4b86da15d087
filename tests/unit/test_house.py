"""The rooms, the directions of their imports, and the public names."""

from __future__ import annotations

import ast
import functools
import graphlib
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from attentionology.storage.messages import RUN_MESSAGES
from tests.documentation import PAGES, REPOSITORY, USER_PAGES, blocks, files
from tests.faults import FAULTS

LEVELS = {
    "storage": 0,
    "corpora_loaders": 1,
    "reports": 1,
    "extractors": 2,
    "probes": 3,
    "analyses": 4,
    "engine": 5,
    "scripts": 6,
    "testing": 6,
}
FACE = ("__init__.py", "__init__.pyi", "__main__.py", "py.typed")
"""The files of the package that are beside the rooms."""
HEAVY = ("torch", "transformers", "pandas", "matplotlib", "sklearn", "scipy")


@functools.cache
def imported(source: str, path: str = "module.py") -> frozenset[str]:
    """Every module of the toolkit that some source imports anywhere, also for type checkers or within functions.

    Relative imports are resolved from the path of the module below the repository. Names that are imported from a
    module are written after it, because they may be modules themselves.
    """
    package = ["attentionology", *Path(path).parts[:-1]]
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return frozenset(name for name in names if name.split(".")[0] == "attentionology")


def forbidden(path: str, source: str) -> set[str]:
    """The imports that go to another room of the same level, to a higher one, or to the public names."""
    room = Path(path).parts[0]
    wrong = set()
    for name in imported(source, path):
        other = [*name.split("."), ""][1]
        if other != room and LEVELS.get(other, len(LEVELS)) >= LEVELS[room]:
            wrong.add(name)
    return wrong


def modules(room: str) -> list[Path]:
    return sorted((REPOSITORY / room).rglob("*.py"))


def imports_of(path: Path) -> frozenset[str]:
    return imported(path.read_text("utf-8"), str(path.relative_to(REPOSITORY)))


def test_rooms_are_those_with_levels():
    """Every room is in a wheel, and can be imported from the repository through a link."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    targets = project["tool"]["hatch"]["build"]["targets"]
    names = {*FACE, *LEVELS}
    assert set(targets["wheel"]["only-include"]) == names < set(targets["sdist"]["only-include"])
    assert {path.parent.name for path in REPOSITORY.glob("*/__init__.py")} - {"benchmarks", "docs"} == set(LEVELS)
    front = REPOSITORY / "src" / "attentionology"
    for name in names:
        assert (front / name).samefile(REPOSITORY / name), "install the repository again: pip install -e ."
    assert all(map(modules, LEVELS))


def test_the_checkout_itself_can_be_imported():
    """A program that is started in the folder above a clone finds the clone before the installed package."""
    assert not list((REPOSITORY / "tests").rglob("__init__.py")), "pytest would take tests for a part of the package"
    code = (
        "import importlib.util, sys; "
        f"spec = importlib.util.spec_from_file_location('attentionology', {str(REPOSITORY / '__init__.py')!r}); "
        "sys.modules['attentionology'] = package = importlib.util.module_from_spec(spec); "
        "spec.loader.exec_module(package); print(package.Sentence('a', ('Cats', 'sleep')).words)"
    )
    process = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "('Cats', 'sleep')\n"


@pytest.mark.parametrize("room", LEVELS)
def test_imports_go_from_a_higher_room_to_a_lower_one(room):
    paths = {str(path.relative_to(REPOSITORY)): path.read_text("utf-8") for path in modules(room)}
    assert not {path: names for path, source in paths.items() if (names := forbidden(path, source))}
    assert not [path for path, source in paths.items() if re.search(r"^\s*(from|import) attentionology", source, re.M)]


@pytest.mark.parametrize("room", [*LEVELS, "analyses/explanation"])
def test_the_folders_and_files_of_a_room_do_not_import_each_other_in_a_circle(room):
    """So a room has floors: nothing that stands on a lower one imports what stands above."""
    depth = 1 + len(Path(room).parts)
    graph: dict[str, set[str]] = {}
    for path in modules(room):
        place = ["attentionology", *path.relative_to(REPOSITORY).with_suffix("").parts]
        if place[-1] == "__init__":
            place.pop()
        names = (name.split(".") for name in imports_of(path))
        others = {name[depth] for name in names if name[:depth] == place[:depth] and len(name) > depth}
        if len(place) > depth:
            graph.setdefault(place[depth], set()).update(others - {place[depth]})
    assert any(graph.values())
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_modules_do_not_import_each_other_in_a_circle():
    """Also where an import is for type checkers only. Packages are left out: their `__init__` only passes names on."""
    paths = {
        f"attentionology.{path.relative_to(REPOSITORY).with_suffix('').as_posix().replace('/', '.')}": path
        for room in LEVELS
        for path in modules(room)
        if path.name != "__init__.py"
    }
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        names = imports_of(path)
        graph[module] = ({name for name in names if name in paths} | {name.rpartition(".")[0] for name in names}) & set(
            paths
        )
        graph[module] -= {module}
    assert "attentionology.extractors.model.conditions" in graph["attentionology.extractors.model.encoder"]
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize(
    "statement",
    [
        "import attentionology",
        "from attentionology import MapOptions, OptionError",
        "from attentionology.analyses import Analysis, Plan, Request",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(statement):
    code = f"{statement}\nimport sys, json; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(process.stdout.splitlines()[-1]) == []


LAZY = (
    "attentionology",
    *(
        f"attentionology.{room}"
        for room in ("analyses", "corpora_loaders", "engine", "extractors", "reports", "testing")
    ),
)
"""The packages whose names are loaded when they are first used."""

PUBLIC = (
    *("attentionology", "attentionology.analyses", "attentionology.corpora_loaders", "attentionology.engine"),
    *("attentionology.extractors", "attentionology.probes", "attentionology.reports", "attentionology.testing"),
    *("attentionology.corpora_loaders.alignment", "attentionology.corpora_loaders.coreference"),
    *("attentionology.extractors.translation", "attentionology.probes.classifiers"),
)
"""The packages whose names may be used from outside; see ``docs/reference/python/index.md``."""


@pytest.mark.parametrize("package", LAZY)
def test_public_names_are_those_of_the_stub(package):
    package = import_module(package)
    tree = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text("utf-8"))
    names = {
        str(alias.asname): str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module  # and not a room itself
        for alias in node.names
    }
    assert sorted(package.__all__) == sorted(names)
    for name, module in names.items():
        assert getattr(package, name) is getattr(import_module(f".{module}", package.__name__), name)
        assert name in dir(package)


LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")


def slugs(text: str) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_documentation_lead_somewhere(page):
    text = page.read_text("utf-8")
    for target in LINK.findall(text):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not anchor or anchor in slugs(linked.read_text("utf-8")), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_and_modules_in_the_documentation_exist(page):
    folders = {*LEVELS, "tests", "docs", "benchmarks", "src"}
    shown = files(str(page.relative_to(REPOSITORY)))
    for word in CODE.findall(page.read_text("utf-8")):
        if word in shown:  # the page tells the reader to write this file
            continue
        if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", word) and word.split("/")[0] in folders:
            assert (REPOSITORY / word).exists(), word
        if re.fullmatch(r"attentionology(\.\w+)+", word) and word != RUN_MESSAGES.name:
            assert resolves(word), word


@pytest.mark.parametrize("page", USER_PAGES, ids=lambda page: page.name)
def test_python_of_the_documentation_imports_public_names(page):
    for block in blocks(str(page.relative_to(REPOSITORY)), "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "attentionology":
                assert node.module in PUBLIC
                assert {alias.name for alias in node.names} <= set(import_module(str(node.module)).__all__)


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    *parts, last = name.split(".")
    for length in range(len(parts) + 1, 0, -1):
        try:
            thing: object = import_module(".".join([*parts, last][:length]))
        except ModuleNotFoundError:
            continue
        for attribute in [*parts, last][length:]:
            if not hasattr(thing, attribute):
                return attribute in getattr(thing, "__annotations__", {})
            thing = getattr(thing, attribute)
        return True
    return False


@pytest.mark.parametrize("room", LEVELS)
def test_names_in_docstrings_exist(room):
    names = {name for path in modules(room) for name in CODE.findall(path.read_text("utf-8"))}
    dotted = {name for name in names if re.fullmatch(r"attentionology(\.\w+)+", name)}
    assert [name for name in sorted(dotted) if not resolves(name)] == []
    assert resolves(f"attentionology.{room}")
    assert not resolves("attentionology.analyses.no_such_module")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.path}: {fault.old}")
def test_a_fault_fits_the_code(fault):
    source = (REPOSITORY / fault.path).read_text("utf-8")
    assert fault.planted_in(source) != source
    path, _, name = fault.test.partition("::")
    assert re.search(
        rf"^def {re.escape(name.partition('[')[0])}\(", (REPOSITORY / path).read_text("utf-8"), re.MULTILINE
    )


PARTICIPLES = {
    "decayed": "a public name of probes",
    "guided": "the explanation test of this name",
    "scored": "a public name of probes",
    "signed": "the kind of map whose values have signs",
}
"""The functions whose names are single participles, each with the reason."""
NO_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"}


def participles(source: str) -> set[str]:
    """The functions and private methods of some source whose names are single words that end as participles do.

    A function is named by a verb for what it does. What a class shows to others is not looked at: it may have been
    public for long, and ``batch.unpadded()`` reads well.
    """
    nodes = list(ast.walk(ast.parse(source)))
    methods = {id(node) for each in nodes if isinstance(each, ast.ClassDef) for node in each.body}
    names = [
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (id(node) not in methods or node.name.startswith("_"))
    ]
    return {name for name in names if re.fullmatch(r"_*[a-z]+ed", name) and name.strip("_") not in NO_PARTICIPLES}


def test_names_of_functions_are_no_participles():
    source = "def scored(): ...\ndef seed(): ...\nclass A:\n  def _cached(self): ...\n  def unpadded(self): ..."
    assert participles(source) == {"scored", "_cached"}
    found = {name: path for room in LEVELS for path in modules(room) for name in participles(path.read_text("utf-8"))}
    assert {name: str(path) for name, path in found.items() if name not in PARTICIPLES} == {}
    assert set(PARTICIPLES) == set(found), "an exception that no function needs"
