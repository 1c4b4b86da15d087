"""``probe --dry-run``: what it says of a run, against what the run trains and stores."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from attentionology.analyses.probing.rows import MIXED
from attentionology.analyses.probing.trainings import state_codes
from attentionology.engine import probe_estimate
from attentionology.engine.probe_estimate import duration
from tests.acceptance.probing import run, table

GIVEN = (
    *("--limit", 12, "--folds", 2, "--seeds", 2, "--recipe", "paper", "--replicates", 20),
    *("--probe", "attention", "arcs+attention", "depth", "--layers", 0, 2, "mix"),
    *("--controls", "task", "random-init:2", "decay", "--codelength"),
)


@pytest.fixture
def dry_run(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("--model", model, *GIVEN, "--dry-run", "--json") == 0
    assert list(tmp_path.iterdir()) == []
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_trainings_and_bytes_are_those_of_the_run(dry_run, model, tmp_path, monkeypatch):
    coded: Counter[tuple[str, str, str]] = Counter()

    def counting(setting, training, number, *, watched):
        coded[training.probe, training.source, training.task] += number > 0
        return train_block(setting, training, number, watched=watched)

    train_block = state_codes.train_block
    monkeypatch.setattr(state_codes, "train_block", counting)
    assert run("--model", model, *GIVEN, "--out", tmp_path / "run") == 0
    trained: Counter[tuple[str, str, str]] = Counter()
    of_maps = table(tmp_path / "run", "probe_training")
    for method, task, *_ in of_maps[["method", "task", "run", "fold"]].drop_duplicates().itertuples(index=False):
        probe, _, source = method.partition(", ")
        trained[probe, source or "model", "gold" if task == "dependencies" else task] += 1
    of_states = table(tmp_path / "run", "probe_state_training")
    columns = ["probe", "source", "task", "layer", "run", "fold"]
    for probe, source, task, *_ in of_states[columns].drop_duplicates().itertuples(index=False):
        trained[probe, {MIXED: "model", f"{MIXED}, random weights": "random weights"}.get(source, source), task] += 1
    said: dict[bool, dict[tuple[str, str, str], int]] = {False: {}, True: {}}
    for each in dry_run["trainings"]:
        said[each["of_code"]][each["probe"], each["source"], each["task"]] = each["trainings"]
        assert each["seconds"] > 0
    assert said[False] == trained
    assert said[True] == coded
    assert dry_run["folds"] == dry_run["seeds"] == 2
    assert dry_run["layers"] == [0, 2]
    assert dry_run["mixed"]
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert dry_run["sentences"] == {"test": facts["sentences"]["read"]}
    stored = Counter[bool]()  # bytes, by whether they are those of states
    for file in (tmp_path / "cache").rglob("*.safetensors"):
        stored["states" in file.parent.name] += file.stat().st_size
    # Files have a header, which is small in large ones.
    assert dry_run["maps"] == pytest.approx(stored[False], rel=0.2)
    assert dry_run["states"] == pytest.approx(stored[True], rel=0.2)


def test_a_disk_that_is_too_small_is_refused(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(probe_estimate, "free_space", lambda path: 1000)
    given = ("--limit", 12, "--folds", 2, "--dry-run", "--controls", "none", "--seeds", 1)
    assert run("--model", model, *given, "--out", tmp_path / "run") == 1
    printed = capsys.readouterr()
    assert "Trainings of attention: 2 trainings, at most" in printed.out
    assert "1.0 kB are free" in printed.out
    assert "and 1.0 kB are free in" in printed.err
    assert "choose another --cache" in printed.err
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "other").write_bytes(bytes(10**6))  # what the cache has may be what the run needs
    assert run("--model", model, *given, "--out", tmp_path / "run") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_a_folder_with_results_is_refused(model, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("")
    assert run("--model", model, "--limit", 12, "--dry-run", "--out", tmp_path / "run") != 0
    assert "run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 second"), (59, "59 seconds"), (3000, "50 minutes"), (7200, "2.0 hours")]
)
def test_times_are_written_for_people(seconds, text):
    assert duration(seconds) == text
