"""Corpora that change between two runs with the same parts: they are moved, renamed, or have grown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attentionology.engine.counting.parts import PartCounter, content_of_inputs
from attentionology.scripts.cli import main
from tests import tiny
from tests.corpora import sample_blocks, write_blocks
from tests.written import contents

pytestmark = pytest.mark.usefixtures("short_windows")

WINDOW = 16
SURFACE = ("surface", "--gradients", "none")
DEPENDENCY = ("dependency",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny model, and with a corpus of two files of 24 and 16 sentences, which are three parts."""
    folder = tmp_path_factory.mktemp("moved")
    tiny.save(folder / "model", max_position_embeddings=128)
    (folder / "corpus").mkdir()
    write_blocks(folder / "corpus" / "first.conllu", sentences()[:24])
    write_blocks(folder / "corpus" / "second.conllu", sentences()[24:40])
    return folder


def sentences() -> list[str]:
    return [block for block in sample_blocks() if block.count("\n") < 16]


def run(folder: Path, corpus: list[Path], out: Path, *options: object, analysis: tuple[str, ...] = SURFACE) -> Path:
    """Analyze a corpus, some of whose sentences are too long; return the results folder."""
    given = ["analyze", "--model", folder / "model", "--corpus", *corpus, "--max-length", 24]
    given += ["--analyses", *analysis, "--replicates", 20, "--examples", 8, "--out", out, *options]
    assert main(list(map(str, given))) == 0
    return out


def states(run: Path) -> dict[str, bytes]:
    """All files with counts. The record is left out, because it has times."""
    return {path.name: path.read_bytes() for path in sorted((run / "states").iterdir()) if path.name != "run.json"}


def test_a_corpus_that_was_moved_and_renamed_has_the_same_parts(folder, tmp_path, monkeypatch):
    parts = ["--parts", tmp_path / "parts"]
    before = run(folder, sorted((folder / "corpus").iterdir()), tmp_path / "before", *parts)
    moved = [tmp_path / "elsewhere.conllu", tmp_path / "more" / "last.conllu"]
    moved[1].parent.mkdir()
    for path, source in zip(moved, sorted((folder / "corpus").iterdir()), strict=True):
        path.write_bytes(source.read_bytes())
    fresh = run(folder, moved, tmp_path / "fresh")
    monkeypatch.setattr(PartCounter, "content", lambda *_: pytest.fail("a part is counted again"))
    after = run(folder, moved, tmp_path / "after", *parts)
    assert contents(after, "tables") == contents(before, "tables")
    # Counts, skipped sentences and sentences to look at are those of a run at the new place, with the new paths.
    assert states(after) == states(fresh)
    assert states(after) != states(before)
    skipped = json.loads((after / "run.json").read_text())["sentences"]["skipped"]
    assert {Path(each["file"]) for each in skipped} == set(moved)
    assert skipped == json.loads((fresh / "run.json").read_text())["sentences"]["skipped"]
    assert not any(str(folder / "corpus").encode() in content for content in states(after).values())


def test_a_corpus_that_has_grown_has_the_counts_of_its_relations(folder, tmp_path):
    corpus = [tmp_path / "growing.conllu"]
    write_blocks(corpus[0], sentences()[:32])
    run(folder, corpus, tmp_path / "before", "--parts", tmp_path / "parts", analysis=DEPENDENCY)
    grown = [block.replace("\tdet\t", "\tdet:new\t") for block in sentences()[32:48]]
    write_blocks(corpus[0], sentences()[:32] + grown)
    after = run(folder, corpus, tmp_path / "after", "--parts", tmp_path / "parts", analysis=DEPENDENCY)
    assert contents(after, "tables") == contents(run(folder, corpus, tmp_path / "fresh", analysis=DEPENDENCY), "tables")
    assert "det:new" in (after / "tables" / "dependency.csv").read_text()


def test_the_same_sentences_in_other_files_are_other_parts():
    from attentionology.corpora_loaders import Sentence

    def content(*files: str) -> str:
        return content_of_inputs([Sentence(f"s{i}", ("a",), file=file) for i, file in enumerate(files)])[0]

    assert content("x", "x", "y") == content("z/1", "z/1", "x")
    assert len({content("x", "x", "y"), content("x", "y", "y"), content("x", "y", "x"), content("x", "y", "z")}) == 4
