"""The examples in docstrings: they give what they show, and every public name has one."""

from __future__ import annotations

import doctest
import functools
import inspect
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest
import torch

import attentionology
from attentionology.analyses.shared import builtin
from attentionology.extractors.kinds import registry
from attentionology.extractors.layers.architectures import ARCHITECTURES

FRONT = Path(attentionology.__file__).parent
ROOMS = sorted(path.name for path in FRONT.iterdir() if (path / "__init__.py").is_file())
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions, too, of which the standard library asks where the wrapper is from."""

    def _from_module(self, module: ModuleType | None, found: object) -> bool:
        if module is not None and inspect.isfunction(found):
            return found.__module__ == module.__name__
        return bool(super()._from_module(module, found))  # type: ignore[misc]


def modules_with_examples() -> list[str]:
    """The modules of the toolkit with a prompt in their text."""
    names = []
    for room in ROOMS:
        folder = (FRONT / room).resolve()
        for path in sorted(folder.rglob("*.py")):
            if ">>> " in path.read_text("utf-8"):
                parts = path.relative_to(folder).with_suffix("").parts
                names.append(".".join(["attentionology", room, *(part for part in parts if part != "__init__")]))
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
    return builtin.load_encoder(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_give_what_they_show(name, sandbox):
    module = import_module(name)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report: list[str] = []
    for test in Finder().find(module):
        runner.run(test, out=report.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(report)


EXPORTED = [
    *attentionology.__all__,
    *(f"{room}.{name}" for name, room in vars(attentionology)["_MOVED"].items()),
    *(f"reports.{name}" for name in attentionology.reports.__all__),
]


@pytest.mark.parametrize("name", EXPORTED)
def test_public_name_has_an_example(name):
    assert has_example(attrgetter(name)(attentionology))
