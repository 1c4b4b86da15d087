"""The package that the documentation builds: its kind of map, format, probe and test are what the page says.

The commands of the page are run when the site is built; its analysis is tested in ``tests/acceptance/test_house.py``.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

from attentionology import CorpusError, Sentence
from attentionology.analyses import examine
from attentionology.analyses.explanation.registry import check_tests, registered_tests
from attentionology.extractors.kinds import registry
from attentionology.probes import batch_from_array
from attentionology.probes.classifiers import AttentionClassifier, Vocabulary
from attentionology.probes.recipe import Recipe
from docs.notebooks import cells_of
from tests import documentation, tiny
from tests.documentation import REPOSITORY

PAGE = "docs/how-to/extend.md"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A function that imports a module of the package of the page."""
    folder = tmp_path_factory.mktemp("extras")
    for name, text in documentation.files(PAGE).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    before = dict(registry._KINDS)
    sys.path.insert(0, str(folder))
    yield lambda name: import_module(f"attention_extras.{name}")
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.startswith("attention_extras")]:
        del sys.modules[name]
    registry._KINDS.clear()
    registry._KINDS.update(before)


def public(source: str) -> bool:
    """Whether a program imports from the toolkit what rooms name as public, and nothing else."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("attentionology"):
            module: Any = import_module(str(node.module))
            if str(node.module).count(".") > 1 or not {alias.name for alias in node.names} <= set(module.__all__):
                return False
    return True


def test_the_page_uses_public_names_only():
    code = [cell.source for cell in cells_of((REPOSITORY / PAGE).read_text("utf-8")) if cell.code]
    files = {name: text for name, text in documentation.files(PAGE).items() if name.endswith(".py")}
    assert len(files) == 6
    assert all(public(text) for text in files.values())
    assert all(public(source) for source in code if not source.startswith("%%"))
    assert not public("from attentionology.analyses.explanation.contract import Column")
    commands = [line[0] for line in documentation.commands(PAGE)]
    assert commands == ["analyze", "doctor", "analyze", "probe", "explain", "analyze"]


def test_kind_of_map(package):
    """The page itself compares the kind with naive code; here, the code must notice a wrong kind."""
    package("maps")
    (code,) = [text for text in documentation.blocks(PAGE, "{code-cell} python3") if "assert" in text]
    code = code.replace('load_encoder("demo")', "tiny")
    exec(code, {"tiny": tiny.encoder("bert")})  # noqa: S102
    with pytest.raises(AssertionError):
        exec(code.replace("** 2 / total", "/ total"), {"tiny": tiny.encoder("bert")})  # noqa: S102


def test_format(package, tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text(documentation.files(PAGE)["sentences.txt"], encoding="utf-8")
    first, *others = package("slashes").read_slashes(path)
    assert first.words == ("the", "cat", "chased", "a", "mouse")
    assert first.heads == (2, 3, 0, 5, 3)
    assert first.relations == ("det", "nsubj", "root", "det", "obj")
    assert len(others) == 2
    path.write_text("cats/2/nsubj sleep/0/root\ncats/x/nsubj\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"sentences\.txt:2: expected words"):
        list(package("slashes").read_slashes(path))


def test_probe(package):
    heads = (2, 4, 2, 0, 4)
    maps = np.full((2, 1, 5, 5), 0.1, dtype=np.float32)
    for word, head in enumerate(heads):
        maps[1, 0, word, head - 1] = 0.9 if head else 0.1
    batch = batch_from_array(Sentence("s", tuple("abcde"), heads, ("dep",) * 5), maps)
    probe = package("probe").LayerProbe(recipe=Recipe(epochs=60, learning_rate=0.1)).fit([batch])
    assert probe.predict([batch])[0].tolist() == list(heads)
    first, second = probe.scorer_.weight[0].tolist()
    assert second > first, "the layer that knows the tree weighs more"
    assert probe.n_parameters == 5


def test_explanation_test(package):
    test = package("peak").PEAK
    check_tests([*registered_tests().values(), test])
    words = ("a", "fine", "film", "dull")
    torch.manual_seed(0)
    model = AttentionClassifier("none", dimensions=4, size=4).build(Vocabulary(words), ["bad", "good"])
    texts = [words[:2], words, words[:1]]
    table = examine(model, ["a", "b", "c"], texts, {"peak": lambda batch: test.examine(batch, None)})
    expected = [model.encode([text]).alpha.mean(1).max().item() for text in texts[:2]]
    assert table["peak_weight"].tolist()[:2] == pytest.approx(expected)
    assert table["peak_floor"].tolist()[:2] == pytest.approx([1.0, 0.5])
    assert table[["peak_weight", "peak_floor"]].iloc[2].isna().all()
