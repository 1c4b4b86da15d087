"""``analyze --dry-run``: what it says of a run, against what the run takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attentionology import CorpusOptions, CountOptions, SurfaceOptions
from attentionology.analyses.contract import OptionSet
from attentionology.analyses.shared.options import ControlOptions
from attentionology.engine.forecast import Forecast, forecast_run
from attentionology.engine.part_options import PartOptions
from attentionology.engine.part_tasks import part_counter
from attentionology.engine.parts import parts_of
from attentionology.engine.preparing import plan_analyses
from attentionology.engine.run_options import RunOptions
from attentionology.scripts.cli import main

FACTOR = 2.5
"""The factor within which sizes are right; they are usually too large."""

ANALYSES = ("dependency", "surface")


@pytest.fixture(scope="module")
def options(data_file):
    groups = OptionSet(
        [CountOptions(replicates=200), ControlOptions("random-init"), SurfaceOptions(gradients="hidden")]
    )
    corpus = CorpusOptions(corpus=(str(data_file("ud/en_ewt-dev.conllu")),), limit=60)
    return RunOptions(ANALYSES, groups, files=corpus)


@pytest.fixture(scope="module")
def forecast(options, demo_encoder) -> Forecast:
    return forecast_run(options)


@pytest.fixture(scope="module")
def counted(options, forecast, tmp_path_factory):
    """The folder of the parts of the run, and the parts."""
    folder = tmp_path_factory.mktemp("dry") / "parts"
    options.check()
    prepared = options.prepare()
    counter = part_counter(prepared, folder)
    parts = parts_of(plan_analyses(prepared).passes)
    for part in parts:
        counter.count(part)
    return folder, counter, parts


def test_passes_and_parts_are_those_of_the_run(forecast, counted):
    _, _, parts = counted
    assert forecast.inputs == 60
    assert forecast.parts == len(parts)
    assert [size for each in forecast.passes for size in each.parts] == [len(part) for part in parts]
    assert forecast.read == sum(len(part) for part in parts)
    assert {name for each in forecast.passes for name in each.analyses} == set(ANALYSES)
    assert [each.copy for each in forecast.passes if each.copy is not None] == [0]


def test_the_disk_space_is_right_within_the_factor(forecast, counted):
    folder, _, _ = counted
    written = sum(path.stat().st_size for path in folder.iterdir())
    assert written / FACTOR < forecast.disk_of_parts < written * FACTOR


def test_the_counts_take_no_more_memory_than_was_said(forecast, counted):
    _, counter, parts = counted
    taken = 0
    for number in {part.number for part in parts}:
        stored = counter.folder.read(next(part for part in parts if part.number == number))
        taken += sum(tensor.nbytes for states in stored.states.values() for tensor in states.tensors.values())
    assert taken <= sum(each.states for each in forecast.passes) * 1.001
    assert sum(each.states for each in forecast.passes) < FACTOR * taken
    weights = sum(parameter.nbytes for parameter in counter.model.model.parameters())
    assert forecast.memory > 2 * weights + taken


def test_workers_share_nothing(options, demo_encoder):
    few = RunOptions(("dependency",), files=CorpusOptions(limit=5))
    forecast = forecast_run(few, PartOptions(workers=3))
    assert forecast.processes == 3
    assert forecast.memory_of_worker <= forecast.memory


def test_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", "--limit", "20", "--dry-run", "--control", "random-init", "--gradients", "none"]) == 0
    printed = capsys.readouterr().out
    assert "20 sentences" in printed
    assert "dependency, surface, clusters" in printed
    assert "random copy 1" in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "status", "named"),
    [
        (["--limit", "0"], 2, "--limit"),
        (["--map", "nonsense"], 2, "nonsense"),
        (["--corpus", "absent.conllu"], 1, "absent.conllu"),
        (["--part", "1/2"], 2, "--parts"),
        (["--max-length", "2"], 1, "could be read"),
    ],
)
def test_what_a_run_refuses_is_refused(wrong, status, named, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", *wrong, "--dry-run"]) == status
    assert named in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_replaced_is_refused(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    assert main(["analyze", "--limit", "5", "--dry-run", "--out", str(tmp_path / "runs")]) == 1
    assert "exists" in capsys.readouterr().err


def test_a_pass_that_will_fail_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def fail(self: object, batch: object) -> None:
        from attentionology.extractors import ModelError

        raise ModelError("the loss is not finite")

    monkeypatch.setattr("attentionology.extractors.GradientMaker.of", fail)
    assert main(["analyze", "--limit", "5", "--analyses", "surface", "--gradients", "hidden", "--dry-run"]) == 0
    assert "will fail: the loss is not finite" in " ".join(capsys.readouterr().out.split())
    assert main(["analyze", "--limit", "5", "--analyses", "surface", "--gradients=hidden", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passes"][1]["failure"] == "the loss is not finite"
    assert list(Path(tmp_path).iterdir()) == []
