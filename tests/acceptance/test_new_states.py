"""An analysis that counts something new still reads the runs that were stored before, and says what they lack."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from attentionology import CountOptions, Run, analyze, compare, load_run, load_treebank, merge_runs
from attentionology.analyses.counting.stored_metrics import MetricStates
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.shared.input_sample import InputSample
from attentionology.corpora_loaders import Treebank
from attentionology.reports.drawing import blank_figures
from attentionology.scripts.cli import main
from tests import tiny
from tests.approved_runs import RUNS
from tests.written import contents

OPTIONS = [CountOptions(replicates=20)]
REMARK = "sentences of dependency/weight were not counted in this run"


def count(folder: Path, start: int, stop: int) -> Path:
    """Count some sentences of the sample."""
    corpus = Treebank(load_treebank("sample")[start:stop])
    analyze(tiny.encoder("bert"), corpus, analyses="dependency", options=OPTIONS, out=folder)
    return folder


def plant(monkeypatch: pytest.MonkeyPatch, since: str | None) -> None:
    """Let the metric of dependency accuracy count sentences, and the analysis put their number into the run record."""
    begin, update = DependencyAccuracy.__init__, DependencyAccuracy.update

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        self.add_state("sentences", torch.tensor(0), since=since)

    def count_more(self: Any, batch: Any) -> None:
        update(self, batch)
        self.sentences += len(batch)

    def record(self: Any, options: Any, counted: Any, results: Any) -> dict[str, Any]:
        metric: Any = counted.metric("dependency/weight", DependencyAccuracy)
        return {"new": int(metric.sentences) if metric.was_counted("sentences") else None}

    absorb = DependencyAccuracy.absorb

    def absorb_more(self: Any, other: Any) -> None:
        absorb(self, other)
        self.sentences += other.sentences

    for kind, name, method in (
        *((DependencyAccuracy, "__init__", init), (DependencyAccuracy, "update", count_more)),
        *((DependencyAccuracy, "absorb", absorb_more), (Dependency, "record", record)),
    ):
        monkeypatch.setattr(kind, name, method)


def remarks(run: Run) -> list[str]:
    return [warning for warning in run.record["warnings"] if "not counted" in warning]


def test_runs_that_lack_a_new_state_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = count(tmp_path / "a", 0, 6), count(tmp_path / "b", 6, 10)
    before = merge_runs([a, b], tmp_path / "ab").folder
    difference = compare(a, b, min_count=1).table
    plant(monkeypatch, "attentionology 99")
    newer, newest = count(tmp_path / "newer", 6, 10), count(tmp_path / "newest", 10, 12)

    assert main(["report", str(a), "--out", str(tmp_path / "again")]) == 0
    assert contents(tmp_path / "again", "tables") == contents(a, "tables")
    assert contents(tmp_path / "again", "states") == contents(a, "states")
    again = load_run(tmp_path / "again")
    assert (again.record["new"], remarks(again)) == (None, remarks(load_run(a)))
    assert [warning.startswith(REMARK) for warning in remarks(again)] == [True]
    assert REMARK in (tmp_path / "again" / "report.html").read_text(encoding="utf-8")

    assert main(["merge", str(a), str(newer), "--out", str(tmp_path / "mixed")]) == 0
    assert before is not None
    assert contents(tmp_path / "mixed", "tables") == contents(before, "tables")
    mixed = load_run(tmp_path / "mixed")  # which this version has stored, but not counted
    assert mixed.record["new"] is None
    assert ["in all of the merged runs" in warning for warning in remarks(mixed)] == [True]
    both = merge_runs([newer, newest], tmp_path / "both")
    read = [load_run(folder).record["sentences"]["read"] for folder in (newer, newest)]
    assert [load_run(newer).record["new"], both.record["new"]] == [read[0], sum(read)]
    assert remarks(both) == []
    compared = compare(a, newer, min_count=1).table
    assert compared.equals(difference)
    assert main(["compare", str(a), str(newer), "--out", str(tmp_path / "compared")]) == 0


def test_a_run_that_lost_a_state_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a = count(tmp_path / "a", 0, 3)
    for since, said in (("attentionology 0.1", "the state sentences of"), (None, "has the states")):
        with monkeypatch.context() as planted:
            plant(planted, since)
            assert main(["report", str(a)]) == 1
        message = capsys.readouterr().err
        assert said in message
        assert "dependency-weight.safetensors" in message


@pytest.mark.parametrize("name", sorted({path.parts[-3] for path in RUNS.glob("*/states/*.safetensors")}))
def test_every_state_that_not_all_versions_have_may_be_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which notices where an analysis reads one without asking for it."""
    restore, lost = MetricStates.restore, list[str]()

    def restore_older(self: MetricStates, kind: Any) -> Any:
        since = restore(self, kind).since
        lost.extend(since if kind is not InputSample else ())  # no result is made of what is only looked at
        kept = {name: state for name, state in self.tensors.items() if name not in since}
        return restore(replace(self, tensors=kept, versions=[{}]), kind)

    whole = load_run(RUNS / name)
    monkeypatch.setattr(MetricStates, "restore", restore_older)
    run = load_run(RUNS / name)
    # A run that lost nothing is drawn by the test of what stored runs show.
    with contextlib.nullcontext() if name == "ablation" else blank_figures():
        tables = run.tables.keys()
    assert len(remarks(run)) == len(lost) == (2 if name == "ablation" else 0)  # of two requests
    if lost:
        assert tables == whole.tables.keys()
        assert "not counted in this run" in run.report()
