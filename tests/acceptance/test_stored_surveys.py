"""The report of a survey once more, from its folder alone: the models and treebanks are gone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import attentionology
from attentionology import load_run
from attentionology.analyses.counting.metric import StateError
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.engine.survey import report_survey
from attentionology.scripts.cli import main
from tests import tiny

MODELS = tuple(f"tiny@step{step}" for step in (10, 2000, 9))
"""Checkpoints of one model, so that there are curves of training."""

TREEBANKS = ("first", "second", "third")
"""Heads that two of them choose are compared on the third."""


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a survey with reports of cells, and of a treebank that cannot be read."""
    folder = tmp_path_factory.mktemp("surveyed")
    inputs = folder / "inputs"
    for seed, name in enumerate(MODELS):
        tiny.save(inputs / name, seed=seed, max_position_embeddings=200)
    sentences = SAMPLE_TREEBANK.read_text(encoding="utf-8").split("\n\n")
    for number, name in enumerate(TREEBANKS):
        (inputs / f"{name}.conllu").write_text("\n\n".join(sentences[12 * number :][:12]) + "\n\n", encoding="utf-8")
    (inputs / "broken.conllu").write_text("1\tbroken\n\n", encoding="utf-8")
    models = [str(inputs / name) for name in MODELS]
    treebanks = [str(inputs / f"{name}.conllu") for name in (*TREEBANKS, "broken")]
    command = ["survey", "--models", *models, "--treebanks", *treebanks]
    counts = ["--replicates", "30", "--min-count", "5"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attentionology.analyses.comparison.differences.FEWEST_UNITS", 0)  # the treebanks are small
        assert main([*command, *counts, "--reports", "--out", str(folder / "survey")]) == 3
    shutil.rmtree(inputs)
    return folder / "survey"


@pytest.fixture
def copied(surveyed: Path, tmp_path: Path) -> Path:
    """A copy of the folder, which tests may change."""
    return Path(shutil.copytree(surveyed, tmp_path / "moved"))


def addresses(folder: Path) -> list[str]:
    """The addresses of reports of cells on the page of a folder."""
    return re.findall('href="([^"#]*/report.html)', (folder / "report.html").read_text("utf-8"))


def test_a_survey_that_was_moved_is_written_again_with_the_same_bytes(copied: Path, capsys) -> None:
    before = files(copied)
    tables = {name for name in before if name.startswith("tables/") and name.endswith(".csv")}
    assert {f"tables/survey_{name}.csv" for name in ("cells", "contrasts", "means", "transfer", "training")} < tables
    for name in before:
        if name.startswith(("tables/", "figures/", "report", "summary")):
            (copied / name).write_bytes(b"")  # so that these files have to be written again
    assert main(["report", str(copied)]) == 0
    assert files(copied) == before
    said = capsys.readouterr().out
    assert "none of" not in said
    assert "Failed: " in said
    assert "broken.conllu" in said


def test_heads_lead_to_the_reports_of_cells_from_another_folder(surveyed: Path, tmp_path: Path) -> None:
    out = tmp_path / "deeper" / "again"
    assert main(["report", str(surveyed), "--out", str(out)]) == 0
    before, after = files(surveyed), files(out)
    page, pages, leading = after["report.html"].decode(), addresses(surveyed), addresses(out)
    assert len(set(pages)) == len(MODELS) * len(TREEBANKS)
    assert [(out / address).resolve() for address in leading] == [(surveyed / address).resolve() for address in pages]
    assert all((out / address).is_file() for address in set(leading))
    for there, here in zip(dict.fromkeys(leading), dict.fromkeys(pages), strict=True):
        page = page.replace(f'href="{there}', f'href="{here}')
    assert page == before["report.html"].decode()
    same = [name for name in before if name.startswith(("tables/", "figures/")) or name == "summary.json"]
    assert len(same) > 10
    assert [name for name in same if after[name] != before[name]] == []
    assert not [name for name in after if name.startswith("runs/")]
    again = tmp_path / "once more"
    assert main(["report", str(out), "--out", str(again)]) == 0
    assert all((again / address).is_file() for address in addresses(again))


def test_the_results_in_python_are_those_of_the_survey(copied: Path, tmp_path: Path) -> None:
    before = files(copied)
    result = report_survey(copied, tmp_path / "out")
    assert repr(result) == "Survey(3 models × 4 treebanks × 1 map, 3 failed)"
    choosers = {(each.model, each.map) for each in result.collected["transfer"].choosers}
    assert choosers == {(model, kind) for model in result.models for kind in result.maps}
    result.save(tmp_path / "saved")
    saved = files(tmp_path / "saved")
    assert all(saved[name] == before[name] for name in before if name.startswith(("tables/", "figures/")))
    assert main(["report", str(tmp_path / "saved")]) == 0
    assert files(tmp_path / "saved") == saved


def test_damaged_states_of_a_survey_replace_nothing(copied: Path, capsys) -> None:
    states = copied / "states" / "run.json"
    states.write_text(states.read_text("utf-8").replace('"paired"', '"partly paired"', 1), "utf-8")
    before = files(copied)
    assert main(["report", str(copied)]) == 1
    assert f"{states} is damaged: its content does not match its SHA-256 digest" in capsys.readouterr().err
    assert files(copied) == before


def test_a_survey_of_an_earlier_version_has_to_be_run_again(copied: Path, capsys) -> None:
    shutil.rmtree(copied / "states")
    before = files(copied)
    assert main(["report", str(copied)]) == 1
    assert f"{copied} has a survey of version 0.3 or earlier, which did not store" in capsys.readouterr().err
    assert files(copied) == before


def test_what_cannot_be_done_with_a_survey(surveyed: Path, tmp_path: Path, capsys) -> None:
    before = files(surveyed)
    assert main(["report", str(surveyed), "--min-count", "3"]) == 2
    assert "--min-count has no effect on a survey" in capsys.readouterr().err
    with pytest.raises(StateError, match="has a survey, not a run; only its report can be made again"):
        load_run(surveyed)
    with pytest.raises(StateError, match="has a survey, not a run"):
        attentionology.compare(surveyed, surveyed / "runs" / "tiny_step9-first")
    with pytest.raises(StateError, match="has a survey, not a run"):
        attentionology.merge_runs([surveyed, surveyed / "runs" / "tiny_step9-first"], tmp_path / "merged")
    assert files(surveyed) == before
