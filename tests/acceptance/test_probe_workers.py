"""Probes that are trained in several processes: the same results as in one, whatever happens to the processes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.acceptance.probing import run
from tests.programs import Programs
from tests.written import results

SMALL = ("--recipe", "paper", "--limit", 40, "--folds", 2, "--seeds", 2, "--replicates", 20, "--tree")
LONG = ("--recipe", "tuned", "--epochs", 3, "--folds", 3, "--seeds", 2, "--replicates", 20, "--controls", "task")


@pytest.fixture(scope="module")
def done(model, tmp_path_factory):
    """A run in this process."""
    folder = tmp_path_factory.mktemp("done") / "run"
    assert run("--model", model, *SMALL, "--out", folder) == 0
    return folder


@pytest.fixture(scope="module")
def long(model, tmp_path_factory):
    """A run in this process that takes long enough to be interrupted."""
    folder = tmp_path_factory.mktemp("long") / "run"
    assert run("--model", model, *LONG, "--out", folder) == 0
    return folder


def record(folder: Path) -> dict[str, object]:
    """What a run says about its probes, its inputs and its cache."""
    facts = json.loads((folder / "run.json").read_text())
    return {name: facts[name] for name in ("probes", "sentences", "treebanks", "warnings", "cache")}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_the_results_are_those_of_one_process(workers, done, model, tmp_path):
    assert run("--model", model, *SMALL, "--workers", workers, "--out", tmp_path / "run") == 0
    assert results(tmp_path / "run") == results(done)
    assert record(tmp_path / "run") == record(done)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["options"]["workers"] == workers
    assert facts["seconds"].keys() == json.loads((done / "run.json").read_text())["seconds"].keys()
    assert not list((tmp_path / "cache" / "training").iterdir())


@pytest.mark.slow
def test_a_training_that_fails_is_the_same_error(model, tmp_path, capsys):
    errors = []
    for workers in (1, 2):
        given = ("--seeds", 1, "--limit", 40, "--folds", 2, "--learning-rate", 1e38, "--workers", workers)
        assert run("--model", model, *given, "--out", tmp_path / "run") == 1
        errors.append(capsys.readouterr().err)
        assert not (tmp_path / "run").exists()
    assert "a lower learning rate may help" in errors[1]
    assert "Traceback" not in errors[1]
    assert errors[1].split(",")[0] == errors[0].split(",")[0]  # which fold fails first may differ


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(long, model, programs, tmp_path):
    process = started(programs, model, tmp_path)
    wait_for_a_checkpoint(process, tmp_path)
    workers_of(process)[0].kill()
    assert programs.wait(process) == 0
    assert results(tmp_path / "run") == results(long)


@pytest.mark.slow
def test_a_killed_run_is_continued(long, model, programs, tmp_path):
    process = started(programs, model, tmp_path)
    wait_for_a_checkpoint(process, tmp_path)
    workers = workers_of(process)
    process.kill()
    programs.wait(process)
    assert len(workers) == 2
    psutil.wait_procs(workers, timeout=60)
    assert not any(worker.is_running() for worker in workers)
    assert not (tmp_path / "run").exists()
    assert run("--model", model, *LONG, "--out", tmp_path / "run") == 0
    assert results(tmp_path / "run") == results(long)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["probes"]["continued_after_interruption"] > 0


def started(programs: Programs, model: str, folder: Path) -> psutil.Process:
    """Start a run in two processes."""
    given = ["probe", "--model", model, *LONG, "--workers", 2, "--out", folder / "run"]
    return programs.start("-m", "attentionology", *given, folder=folder)


def wait_for_a_checkpoint(process: psutil.Process, folder: Path) -> None:
    deadline = time.monotonic() + 120
    while not list((folder / "cache").glob("training/*.safetensors")):
        assert process.status() != psutil.STATUS_ZOMBIE
        assert time.monotonic() < deadline
        time.sleep(0.01)


def workers_of(process: psutil.Process) -> list[psutil.Process]:
    servers = [child for child in process.children() if "forkserver" in " ".join(child.cmdline())]
    return [worker for server in servers for worker in server.children()]
