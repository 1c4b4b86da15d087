"""CONTRIBUTING.md and the package that the documentation builds: their examples work, and their commands exist."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import tyro

import attentionology
from attentionology import CorpusError, Sentence
from attentionology.analyses import ExactMetric, examine
from attentionology.analyses.contract import OptionError
from attentionology.analyses.counting.metric import StateError
from attentionology.analyses.counting.stored_metrics import MetricStates
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.explanation import methods
from attentionology.analyses.explanation.contract.registry import check_tests, registered_tests
from attentionology.corpora_loaders import CorpusFormat, formats, labeled_formats, load_labeled, load_treebank
from attentionology.corpora_loaders.documents import load_documents
from attentionology.extractors import MapBatch, list_kinds
from attentionology.extractors.kinds import registry
from attentionology.probes import batch_from_array
from attentionology.probes.classifiers import AttentionClassifier, Vocabulary
from attentionology.probes.recipe import Recipe
from attentionology.scripts.cli import main
from attentionology.testing import check_explanation_test, check_format
from docs.notebooks import cells_of
from tests import documentation, tiny
from tests.documentation import REPOSITORY
from tests.unit.test_house import LEVELS

PAGE = "CONTRIBUTING.md"
FILES = documentation.files(PAGE)
KIND, KIND_TEST = "extractors/kinds/sharpened.py", "tests/reference/test_sharpened.py"
READER, COMMAND = "corpora_loaders/coreference/json_documents.py", "scripts/kinds.py"
QUESTION = "analyses/dependency/specialists.py"
TREES, EXPLANATION = "corpora_loaders/lines_of_words.py", "analyses/explanation/methods/first_word.py"


def block(beginning: str) -> str:
    """The Python block of the page that begins in this way."""
    (code,) = [code for code in documentation.blocks(PAGE, "python") if code.startswith(beginning)]
    return code


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A function that imports a file of the page under the name that it will have."""

    def imported(name: str) -> ModuleType:
        path = tmp_path / "page" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[name], encoding="utf-8")
        prefix = "attentionology." if name.split("/")[0] in LEVELS else ""
        specification = importlib.util.spec_from_file_location(
            prefix + name.removesuffix(".py").replace("/", "."), path
        )
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        monkeypatch.setitem(sys.modules, specification.name, module)
        specification.loader.exec_module(module)
        return module

    return imported


@pytest.fixture
def model(tmp_path):
    """A tiny model on disk."""
    return tiny.save(tmp_path / "model", max_position_embeddings=200)


@pytest.fixture
def kinds(monkeypatch):
    """Kinds that a test registers are gone after it."""
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))


@pytest.mark.slow
def test_kind_of_map(load, kinds, model, tmp_path):
    load(KIND)
    assert "sharpened" in list_kinds()
    load(KIND_TEST).test_weights_are_squared()
    options = ["--model", model, "--limit", "6", "--analyses", "dependency", "--out", str(tmp_path / "run")]
    assert main(["analyze", "--map", "weight", "sharpened", *options]) == 0
    table = pd.read_csv(tmp_path / "run" / "tables" / "dependency.csv")
    assert table["map"].value_counts().to_dict() == {"weight": len(table) // 2, "sharpened": len(table) // 2}


def row_of(name: str, reader: ModuleType) -> CorpusFormat:
    """The row of the page for the format of this name."""
    (code,) = [code for code in documentation.blocks(PAGE, "python") if code.startswith(f'CorpusFormat(\n    "{name}"')]
    row: CorpusFormat = eval(code, {**vars(formats), **vars(reader)})  # noqa: S307
    return row


def test_format_of_treebanks(load, monkeypatch, tmp_path):
    row = row_of("lines-of-words", load(TREES))
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, row))
    (example,) = [text for text in documentation.blocks(PAGE, "text") if text.startswith("Birds")]
    corpus = tmp_path / "birds.txt"
    corpus.write_text(example, encoding="utf-8")
    check_format(row, corpus)
    first, second = load_treebank(corpus)
    assert (first.words, first.heads, first.tags) == (("Birds", "sing"), (2, 0), ("NNS", "VBP"))
    assert (second.id, second.line, second.relations) == ("birds.txt:2", 2, ("SBJ", "ADV", "ROOT"))
    with pytest.raises(CorpusError, match="'lines-of-words' has no mentions"):
        load_documents(corpus)
    corpus.write_text(example.replace("|3|ADV", "|9|ADV"), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"birds\.txt:2"):
        load_treebank(corpus)
    corpus.write_text(example.replace("|ADV", ""), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"birds\.txt:2: expected WORD"):
        load_treebank(corpus)


@pytest.mark.slow
def test_format_of_coreference_corpora(load, monkeypatch, model, tmp_path):
    row = row_of("json", load(READER))
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, row))
    (example,) = documentation.blocks(PAGE, "json")
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(example + example.replace('"a"', '"b"'), encoding="utf-8")
    monkeypatch.setattr(formats, "UNREAD", formats.UNREAD[1:])  # in whose place it stands
    check_format(row, corpus)
    first, second = load_documents(corpus).documents
    assert (first.id, second.id) == ("a", "b")
    assert first.words == ("Ann", "left", ".", "She", "had", "won", ".")
    assert [(first.text(mention), mention.entity) for mention in first.mentions] == [("Ann", "e1"), ("She", "e1")]
    options = ["--model", model, "--analyses", "coreference", "--out", str(tmp_path / "run")]
    assert main(["analyze", "--corpus", str(corpus), *options]) == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["corpus"]["counts"]["mentions"] == 4
    corpus.write_text(example + '{"id": "c"}\n', encoding="utf-8")
    with pytest.raises(CorpusError, match=r"corpus\.jsonl.*2.*expected a JSON object"):
        load_documents(corpus)


def test_question(load, monkeypatch, model, tmp_path):
    question = load(QUESTION).Specialists()
    monkeypatch.setattr(Dependency, "questions", (*Dependency.questions, question))
    options = ["--model", model, "--limit", "6", "--analyses", "dependency", "--out", str(tmp_path / "run")]
    assert main(["analyze", *options]) == 0
    written = pd.read_csv(tmp_path / "run" / "tables" / "dependency_specialists.csv")
    best = pd.read_csv(tmp_path / "run" / "tables" / "dependency_best.csv")
    of_relations = best[~best["relation"].str.startswith("all")]
    assert dict(zip(zip(written["layer"], written["head"], strict=True), written["relations"], strict=True)) == dict(
        of_relations.value_counts(["layer", "head"])
    )
    assert written["relations"].is_monotonic_decreasing
    assert (tmp_path / "run" / "tables" / "dependency_specialists.tex").exists()
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Specialists</h2>" in page
    assert f"<td>{written['relations'][0]}</td>" in page.partition("Specialists</h2>")[2].partition("</table>")[0]
    # A stored run answers a question that was added after it.
    run = attentionology.load_run(tmp_path / "run")
    assert run.dependency.specialists.equals(written)
    assert question.tables[0] in Dependency.schemas()


def test_format_of_labeled_texts(monkeypatch, tmp_path):
    scope: dict[str, object] = {}
    exec(block("def fasttext_records"), scope)  # noqa: S102
    row = re.search(r'`"(\.ft)": LabeledFile\.fasttext_records`', (REPOSITORY / PAGE).read_text(encoding="utf-8"))
    assert row is not None
    monkeypatch.setattr(labeled_formats, "FORMATS", {row[1]: scope["fasttext_records"], **labeled_formats.FORMATS})
    (tmp_path / "texts.ft").write_text("__label__good a fine film\n\n__label__bad no film at all\n", encoding="utf-8")
    texts = load_labeled(tmp_path / "texts.ft")
    assert [(label, text.words) for label, text in zip(texts.labels, texts, strict=True)] == [
        ("good", ("a", "fine", "film")), ("bad", ("no", "film", "at", "all"))
    ]  # fmt: skip
    (tmp_path / "texts.ft").write_text("__label__good a fine film\nbad film\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"texts\.ft.*2.*__label__, found 'bad'"):
        load_labeled(tmp_path / "texts.ft")


def test_state_of_an_analysis():
    scope: dict[str, Any] = {"ExactMetric": ExactMetric, "torch": torch, "math": math, "MapBatch": MapBatch}
    exec(block("class Lengths"), scope)  # noqa: S102
    kind = scope["Lengths"]
    first, second = kind(), kind()
    maps = np.zeros((1, 1, 5, 5), dtype=np.float32)
    for metric, length in ((first, 3), (second, 5)):
        metric.update(batch_from_array(Sentence("s", ("w",) * length), maps[..., :length, :length]))
    states = MetricStates.of(second, {})
    older = replace(states, tensors={"words": torch.tensor(5)}, versions=[{"attentionology": "0.4.2"}])
    assert [part.restore(kind).compute()["words"] for part in (states, older)] == [5, 5]
    assert math.isnan(older.restore(kind).compute()["longest"])
    for part, longest in ((states, 5), (older, math.nan)):
        both = first.clone()
        both.merge_state(part.restore(kind))
        assert both.compute() == pytest.approx({"words": 8, "longest": longest}, nan_ok=True)
    with pytest.raises(StateError, match="longest"):
        replace(older, versions=[{"attentionology": "0.5.0"}]).restore(kind)


def test_explanation_test(load):
    module = load(EXPLANATION)
    test = module.TEST
    check_tests([*registered_tests().values(), test])
    check_explanation_test(test)
    words = ("a", "fine", "film")
    torch.manual_seed(0)
    model = AttentionClassifier("none", dimensions=4, size=4).build(Vocabulary(words), ["bad", "good"])
    table = examine(model, ["a", "b"], [words, words[:1]], {test.name: lambda batch: test.examine(batch, None)})
    weights = model.encode([words]).alpha.mean(1)[0].tolist()
    assert table[["first_weight", "first_floor"]].iloc[0].tolist() == pytest.approx([weights[0], 1 / 3])
    assert table[["first_weight", "first_floor"]].iloc[1].isna().all()
    assert module.__name__ == f"{methods.__name__}.{test.name.replace('-', '_')}"  # where the registry looks for it


def test_command(load, capsys):
    command = load(COMMAND).Kinds
    assert tyro.cli(command, args=["--containing", "alti"]).run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["alti", "alti-l2"]
    with pytest.raises(OptionError, match="'zebra'; choose from: alti"):
        command(containing="zebra").run()
    assert '"doctor": Command("doctor:Doctor", (' in (REPOSITORY / "scripts/cli.py").read_text(encoding="utf-8")


def test_picture_is_the_house(load):
    specification = importlib.util.spec_from_file_location("house", REPOSITORY / "docs/house.py")
    assert specification is not None
    assert specification.loader is not None
    drawing = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(drawing)
    assert {name: level for level, rooms in enumerate(drawing.FLOORS) for name, _ in rooms} == LEVELS
    assert (REPOSITORY / "docs/house.svg").read_text(encoding="utf-8") == drawing.house()


GUIDE = "docs/how-to/extend.md"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A function that imports a module of the package of the page."""
    folder = tmp_path_factory.mktemp("extras")
    for name, text in documentation.files(GUIDE).items():
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
    code = [cell.source for cell in cells_of((REPOSITORY / GUIDE).read_text("utf-8")) if cell.code]
    files = {name: text for name, text in documentation.files(GUIDE).items() if name.endswith(".py")}
    assert len(files) == 6
    assert all(public(text) for text in files.values())
    assert all(public(source) for source in code if not source.startswith("%%"))
    assert not public("from attentionology.analyses.explanation.contract.explanation_test import Column")
    commands = [line[0] for line in documentation.commands(GUIDE)]
    assert commands == ["analyze", "doctor", "analyze", "probe", "explain", "analyze"]


def test_kind_of_map_of_a_package(package):
    """The page itself compares the kind with naive code; here, the code must notice a wrong kind."""
    package("maps")
    (code,) = [text for text in documentation.blocks(GUIDE, "{code-cell} python3") if "assert" in text]
    code = code.replace('load_encoder("demo")', "tiny")
    exec(code, {"tiny": tiny.encoder("bert")})  # noqa: S102
    with pytest.raises(AssertionError):
        exec(code.replace("** 2 / total", "/ total"), {"tiny": tiny.encoder("bert")})  # noqa: S102


@pytest.mark.slow
def test_what_the_page_adds_keeps_its_contracts(package, monkeypatch):
    monkeypatch.chdir(Path(package("maps").__file__).parents[1])
    (code,) = [text for text in documentation.blocks(GUIDE, "{code-cell} python3") if "check_analysis(" in text]
    assert {f"check_{what}(" for what in ("analysis", "kind", "format", "probe", "explanation_test")} <= {
        line[: line.index("(") + 1] for line in code.splitlines() if line.startswith("check_")
    }
    exec(code, {"Path": Path})  # noqa: S102


def test_format(package, tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text(documentation.files(GUIDE)["sentences.txt"], encoding="utf-8")
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


def test_explanation_test_of_a_package(package):
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
