"""What stored runs show is what was approved, file by file; ``make shown`` approves what they show now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attentionology.reports.heads import LAYOUTS, Layout
from attentionology.scripts.cli import COMMANDS, main
from docs.generate import REPOSITORY, fill_marks
from tests.approved_runs import RUNS, heads_on_sentences, run, save_inputs
from tests.approved_texts import difference, drawn_heads, lines_of, shown_by
from tests.renew import HINT, RENEW

TEXTS = RUNS.parent / "texts"
STORED = sorted(path.name for path in RUNS.iterdir())


def compare(name: str, shown: dict[str, str]) -> None:
    """Compare what is shown with the approved files of that name, or approve it."""
    folder = TEXTS / name
    if RENEW:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.txt"):
            path.unlink()
        for kind, text in shown.items():
            (folder / f"{kind}.txt").write_text(text, encoding="utf-8")
        return
    approved = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}
    assert approved.keys() == shown.keys()
    differences = {kind: difference(approved[kind], text) for kind, text in shown.items()}
    differing = "\n".join(f"{name}/{kind}.txt, {text}" for kind, text in differences.items() if text)
    assert not differing, f"{differing}\n{HINT}"


@pytest.mark.parametrize("name", STORED)
def test_a_stored_run_shows_what_was_approved(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RUNS)  # so that no path of this machine is shown
    compare(name, shown_by(["report", name], tmp_path / "out"))


def test_a_comparison_of_stored_runs_shows_what_was_approved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RUNS)
    command = ["compare", "other-text", "surface", "--names", "A", "B"]
    compare("comparison", shown_by(command, tmp_path / "out"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_heads_on_sentences_show_what_was_approved(layout: Layout, tmp_path: Path) -> None:
    compare(f"heads-{layout}", drawn_heads(heads_on_sentences(layout), tmp_path))


def test_the_help_and_the_reference_of_tables_are_what_was_approved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    texts = {}
    for name in COMMANDS:
        assert main([name, "--help-all"]) == 0
        texts[name] = capsys.readouterr().out
    compare("help", texts)
    page = (REPOSITORY / "docs" / "reference" / "tables.md").read_text(encoding="utf-8")
    compare("reference", {"tables": fill_marks(page)})


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the models and corpora of the runs."""
    folder: Path = tmp_path_factory.mktemp("inputs")
    save_inputs(folder)
    return folder


@pytest.mark.parametrize("name", ["dependency", "documents"])
def test_decisions_are_counted_as_they_were(name: str, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of decisions, and what is looked up after them, are the same on any processor. Random weights are not."""
    monkeypatch.chdir(inputs)
    stored, counted = RUNS / name / "states", run(name) / "states"
    for path in sorted(stored.glob("*.safetensors")):
        if "random" not in path.name and "examples" not in path.name:
            expected, found = load_file(path), load_file(counted / path.name)
            assert expected.keys() == found.keys()
            assert [key for key in expected if not torch.equal(expected[key], found[key])] == [], path.name
    overviews = [json.loads((folder / "run.json").read_text(encoding="utf-8")) for folder in (stored, counted)]
    for key in ("analyses", "options", "titles", "samples", "tables", "requests"):
        assert not difference(*("\n".join(lines_of(overview[key])) for overview in overviews)), key
    before, now = ([*overview["record"]["seconds"]] for overview in overviews)
    assert before == now  # the stages as they are called


@pytest.mark.slow
def test_a_survey_counts_what_is_stored(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a survey counts does not depend on the processor, because all decisions are exact."""
    monkeypatch.chdir(inputs)
    counted = run("survey").rename("survey")  # as the stored one is called
    compare("survey", shown_by(["report", str(counted)], inputs / "out"))


def test_numbers_are_compared_as_closely_as_they_are_read() -> None:
    assert not difference("a 1.23456789 b 41.0", "a 1.234567891 b 41.0")
    assert difference("a 1.23456789", "a 1.23457")
    assert difference("a 41.0", "a 41.1")
    assert difference("a 41.0", "b 41.0")
    assert difference("a 41.0\n", "a 41.0\nb\n")
