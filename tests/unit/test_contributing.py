"""CONTRIBUTING.md: its examples work, its picture is the house, and its commands exist."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from types import ModuleType

import pandas as pd
import pytest
import tyro

from attentionology.analyses.contract import OptionError
from attentionology.corpora_loaders import CorpusError, labelled_formats, load_labelled
from attentionology.corpora_loaders.coreference import formats, load_documents
from attentionology.extractors import list_kinds
from attentionology.extractors.kinds import registry
from attentionology.scripts.cli import main
from tests import documentation, tiny
from tests.documentation import REPOSITORY
from tests.unit.test_house import LEVELS

PAGE = "CONTRIBUTING.md"
FILES = documentation.files(PAGE)
KIND, KIND_TEST = "extractors/kinds/sharpened.py", "tests/reference/test_sharpened.py"
READER, COMMAND = "corpora_loaders/coreference/json_documents.py", "scripts/kinds.py"


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
    return tiny.saved(tmp_path / "model", max_position_embeddings=200)


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


@pytest.mark.slow
def test_format_of_coreference_corpora(load, monkeypatch, model, tmp_path):
    reader = load(READER)
    row = eval(block("CorpusFormat("), {**vars(formats), **vars(reader)})  # noqa: S307
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, row))
    (example,) = documentation.blocks(PAGE, "json")
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(example + example.replace('"a"', '"b"'), encoding="utf-8")
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


def test_format_of_labeled_texts(monkeypatch, tmp_path):
    scope: dict[str, object] = {}
    exec(block("def fasttext_records"), scope)  # noqa: S102
    row = re.search(r'`"(\.ft)": LabelledFile\.fasttext_records`', (REPOSITORY / PAGE).read_text(encoding="utf-8"))
    assert row is not None
    monkeypatch.setattr(labelled_formats, "FORMATS", {row[1]: scope["fasttext_records"], **labelled_formats.FORMATS})
    (tmp_path / "texts.ft").write_text("__label__good a fine film\n\n__label__bad no film at all\n", encoding="utf-8")
    texts = load_labelled(tmp_path / "texts.ft")
    assert [(label, text.words) for label, text in zip(texts.labels, texts, strict=True)] == [
        ("good", ("a", "fine", "film")), ("bad", ("no", "film", "at", "all"))
    ]  # fmt: skip
    (tmp_path / "texts.ft").write_text("__label__good a fine film\nbad film\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"texts\.ft.*2.*__label__, found 'bad'"):
        load_labelled(tmp_path / "texts.ft")


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
