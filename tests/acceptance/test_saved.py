"""The results of every function are written later as they would have been written at once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attentionology import CorpusOptions, CountOptions, analyze, compare, explain, probe, report_run, survey
from attentionology.analyses import (
    ClassifierOptions,
    ClassifierTrainingOptions,
    Comparison,
    ProbeOptions,
    ProbeTrainingOptions,
    TreebankOptions,
)
from attentionology.probes.classifiers import AttentionClassifier
from attentionology.scripts.cli import main
from tests import tiny

LINK = re.compile(r'href="([^"]*report\.html[^"]*)"')

FEW = [CorpusOptions(limit=6), CountOptions(replicates=20, min_count=3)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model on disk."""
    folder = tmp_path_factory.mktemp("model")
    tiny.save(folder, max_position_embeddings=200)
    return str(folder)


def check(results: Any, folder: Path, command: str) -> dict[str, Any]:
    """Save results, and compare the folder with what they show; return the record."""
    results.save(folder)
    tables = results.tables if isinstance(results.tables, dict) else results.section.tables
    assert tables
    for name, table in tables.items():
        path = folder / "tables" / f"{name}.csv"
        assert list(pd.read_csv(path).columns) == list(table.columns)
        assert len(pd.read_csv(path)) == len(table)
    assert {path.stem for path in (folder / "figures").glob("*.svg")} == set(results.figures)
    page = (folder / "report.html").read_text(encoding="utf-8")
    title = page.partition("<title>")[2].partition("</title>")[0]
    assert f"<title>{title}</title>" in results.report()
    record: dict[str, Any] = json.loads((folder / "run.json").read_bytes())
    assert record["options"]["out"] == str(folder)
    assert command in record["command"]
    with pytest.raises(Exception, match="exists"):
        results.save(folder)
    return record


@pytest.mark.slow
def test_survey_and_comparison(model, tmp_path):
    surveyed = survey(model, "sample", maps=["weight", "norm"], options=FEW)
    record = check(surveyed, tmp_path / "survey", "attentionology.survey")
    assert [one["name"] for one in record["survey"]["models"]] == [model]
    survey(model, "sample", maps=["weight", "norm"], options=FEW, out=tmp_path / "at once")
    for path in (tmp_path / "at once" / "tables").glob("*.csv"):
        assert path.read_bytes() == (tmp_path / "survey" / "tables" / path.name).read_bytes()
    enough = [CorpusOptions(limit=40), FEW[1]]  # sentences for intervals, whose heads lead to the reports
    runs = [analyze(model, analyses="dependency", maps=kind, options=enough) for kind in ("norm", "weight")]
    compared = compare(*runs, min_count=3)
    record = check(compared, tmp_path / "compared", "attentionology.compare")
    assert [(one["name"], one["folder"]) for one in record["runs"]] == [("norm", None), ("weight", None)]
    for name, run in zip(("norm", "weight"), runs, strict=True):
        run.save(tmp_path / name)
    folders = [str(tmp_path / name) for name in ("norm", "weight")]
    assert main(["compare", *folders, "--min-count", "3", "--out", str(tmp_path / "by command")]) == 0
    (table,) = (tmp_path / "by command" / "tables").glob("*.csv")
    assert table.read_bytes() == (tmp_path / "compared" / "tables" / table.name).read_bytes()
    linked = compare(*folders, min_count=3).save(tmp_path / "deeper" / "linked")
    links = [LINK.findall((folder / "report.html").read_text("utf-8")) for folder in (tmp_path / "by command", linked)]
    assert {link.partition("#")[0] for link in links[0]} == {"../norm/report.html", "../weight/report.html"}
    assert [f"../{link}" for link in links[0]] == links[1]


def test_what_is_a_part_of_a_run_is_not_saved_alone():
    with pytest.raises(ValueError, match="this Comparison is a part of a run; save the run"):
        Comparison((), 5).save("nowhere")


def test_probes(model, tmp_path):
    groups = [TreebankOptions(limit=12, folds=2), ProbeOptions(controls=("none",))]
    run = probe(model, options=[*groups, ProbeTrainingOptions(recipe="paper", seeds=1)])
    check(run, tmp_path / "run", "attentionology.probe")
    again = report_run(tmp_path / "run", tmp_path / "again")
    assert again.tables.keys() == run.tables.keys()
    assert again.tables["probe"]["correct"].tolist() == run.tables["probe"]["correct"].tolist()


@pytest.mark.slow
def test_explanations(tmp_path):
    words = (("dull", "cold", "awful", "clumsy"), ("fine", "warm", "funny", "clever"))
    nouns = ("film", "story", "play", "book", "cast", "plot")
    lines = [f"{label} the {noun} is {word} ." for label in (0, 1) for word in words[label] for noun in nouns]
    (tmp_path / "texts.txt").write_text("\n".join(lines), encoding="utf-8")
    options = [ClassifierOptions(), ClassifierTrainingOptions(epochs=1)]
    explanation = explain(tmp_path / "texts.txt", tests=["single-token"], options=options)
    record = check(explanation, tmp_path / "run", "attentionology.explain")
    assert isinstance(explanation.model, AttentionClassifier)
    explanation.model.save(tmp_path / "model.safetensors")
    saved = tmp_path / "run" / "classifier.safetensors"
    assert saved.read_bytes() == (tmp_path / "model.safetensors").read_bytes()
    assert saved.name in record["files"]
    again = report_run(tmp_path / "run", tmp_path / "again")
    assert len(again.tables["explain_texts"]) == len(explanation.texts)
