"""Shares of a survey, which tasks of a job array count, and what a dry run says of the survey."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attentionology.analyses.survey.rows import Cell, CellFailure
from attentionology.engine.counting.executors import ShareCounts
from attentionology.engine.counting.parts import PartCounter
from attentionology.engine.surveying.cells import CountedCell, count_kinds, share_lines
from attentionology.extractors import ModelError
from attentionology.scripts.cli import main
from tests import tiny
from tests.corpora import sample_blocks, write_blocks

pytestmark = pytest.mark.usefixtures("short_windows")

WINDOW = 16
MODELS, TREEBANKS = ("model-a", "model-b"), ("first", "broken", "second")


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """Two models, a treebank of two parts, one of a single part, and one that cannot be read."""
    folder = tmp_path_factory.mktemp("shares")
    for seed, name in enumerate(MODELS):
        tiny.save(folder / name, seed=seed, max_position_embeddings=200)
    write_blocks(folder / "first.conllu", sample_blocks()[:24])
    write_blocks(folder / "second.conllu", sample_blocks()[24:36])
    (folder / "broken.conllu").write_text("1\tbroken\n\n", encoding="utf-8")
    return folder


def command(grid: Path, *options: object) -> list[str]:
    models, treebanks = [grid / name for name in MODELS], [grid / f"{name}.conllu" for name in TREEBANKS]
    return ["survey", *map(str, ["--models", *models, "--treebanks", *treebanks, "--replicates", 30, *options])]


def tables(out: Path) -> dict[str, bytes]:
    """All tables but that of the cells, which has times."""
    return {path.name: path.read_bytes() for path in sorted((out / "tables").iterdir()) if "cells" not in path.name}


@pytest.mark.slow
def test_shares_of_all_cells_are_the_survey(grid, tmp_path, monkeypatch, capsys):
    shared = tmp_path / "parts"
    written = []
    for share in ("3/3", "1/3", "2/3"):
        assert main(command(grid, "--parts", shared, "--part", share, "--out", tmp_path / "out")) == 3
        printed = " ".join(capsys.readouterr().out.split())
        assert f"{MODELS[1]} on broken: " in printed
        assert f"The share {share} has 2 parts of 2 cells" in printed
        written.append(len(list(shared.iterdir())))
    assert written == [2, 4, 6]
    assert not (tmp_path / "out").exists()
    assert main(command(grid, "--out", tmp_path / "plain")) == 3
    with monkeypatch.context() as patch:
        patch.setattr(PartCounter, "content", lambda *_: pytest.fail("a part is counted again"))
        assert main(command(grid, "--parts", shared, "--out", tmp_path / "out")) == 3
    assert tables(tmp_path / "out") == tables(tmp_path / "plain")
    capsys.readouterr()
    assert main(command(grid, "--dry-run", "--json")) == 0
    facts = json.loads(capsys.readouterr().out)
    size = sum(path.stat().st_size for path in shared.iterdir())
    assert size / 2 < facts["disk"] < 2 * size
    assert facts["disk"] == sum(model["disk"] for model in facts["models"])


def test_a_dry_run_names_models_that_cannot_be_used(grid, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    given = ["--treebanks", grid / "second.conllu", grid / "broken.conllu", "--dry-run", "--workers", 2]
    assert main(["survey", "--models", *map(str, [grid / "model-a", tmp_path / "empty", *given])]) == 0
    lines = capsys.readouterr().out.splitlines()
    usable = next(line for line in lines if line.startswith(f"{grid / 'model-a'}"))
    assert "of weights" in usable
    assert "of counts on disk" in usable
    failing = next(line for line in lines if line.startswith(f"{tmp_path / 'empty'}"))
    assert "of weights" not in failing
    assert "Cells: 4 (2 models × 2 treebanks)" in lines
    assert "Cells that would fail: 3" in lines
    assert "Sentences to read: 12" in lines
    assert any(line.startswith("Memory of each of 2 workers: about ") for line in lines)
    assert any(line.startswith("Passes: 1, ") for line in lines)


def test_a_share_says_how_many_parts_of_how_many_cells_it_has_and_what_failed():
    """Cells of which nothing could be counted are not counted."""
    failure = CellFailure("norm", "no norms")
    cells = [
        CountedCell(Cell("m1", "t1"), [ShareCounts(700, 800, 900), ShareCounts(500, 1, 2, ("Damaged.",))]),
        CountedCell(Cell("m2", "t1"), [ShareCounts(34, 40, 50)], [failure]),
        CountedCell(Cell("m2", "t2"), [], [CellFailure("", "no trees")]),
    ]
    plan: Any = SimpleNamespace(
        left_out={"ud:a": "no dev split"},
        options=SimpleNamespace(long_run=SimpleNamespace(part="3/7", parts=Path("folder"))),
    )
    assert list(share_lines(cells, plan)) == [
        "Warning: Left out: ud:a (no dev split).",
        "Warning: Damaged.",
        "m2 on t1: no norms",
        "m2 on t2: no trees",
        "The share 3/7 has 1,234 parts of 2 cells in folder. When all shares are counted, the same command "
        "without --part makes the report.",
    ]
    some, everything = ShareCounts(3, 1030, 1040, ("Damaged.",)), ShareCounts(3, 1040, 1040)
    assert some.lines(Path("folder")) == ["Warning: Damaged.", "1,030 of 1,040 parts are in folder."]
    whole = "1,040 of 1,040 parts are in folder. The same command without --part makes the report."
    assert everything.lines(Path("folder")) == [whole]


def test_kinds_that_fail_together_are_tried_alone():
    tried = []

    def count(kinds):
        tried.append(tuple(kinds))
        if "norm" in kinds:
            raise ModelError("there are no norms")
        return ShareCounts(4, 4, 4)

    counted, failures = count_kinds(("weight", "norm"), count)
    assert set(tried) == {("weight", "norm"), ("weight",), ("norm",)}
    assert [each.share for each in counted] == [4]
    assert failures == [CellFailure("norm", "there are no norms")]


@pytest.mark.parametrize("options", [["--part", "1/2"], ["--parts", "PARTS", "--part", "3/2"]])
def test_impossible_shares_are_refused(grid, options, tmp_path, capsys):
    given = [str(tmp_path / "parts") if option == "PARTS" else option for option in options]
    assert main(command(grid, *given)) == 2
    assert "--part" in capsys.readouterr().err
    assert not (tmp_path / "parts").exists()
