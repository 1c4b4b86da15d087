"""Models from the Hub: every command reads one commit, records it, and can be repeated with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir, snapshot_download

from tests.acceptance.hub.session import NEVER_FETCHED, WEIGHTS, files, sha256


@pytest.mark.slow
def test_a_run_records_the_commit_it_read_and_can_be_repeated_by_it(hub, tmp_path):
    name, repository, first = hub.add({**files(1.0), **NEVER_FETCHED})
    run = hub.analyze(tmp_path / "first", name)
    assert run["model"]["revision"] == first
    assert run["model"]["requested_revision"] is None
    assert run["model"]["endpoint"] == hub.endpoint
    assert run["model"]["offline"] is False
    assert run["model"]["files"] == {WEIGHTS: sha256(files(1.0)[WEIGHTS])}
    assert f"{name} @ {first[:12]}, 3 layers × 4 heads" in run["printed"]
    assert f"{name} @ {first}" in (tmp_path / "first" / "report.html").read_text()
    assert {request.rsplit("/", 1)[-1] for request in hub.log if "/resolve/" in request} == {
        "config.json", "tokenizer.json", "tokenizer_config.json", WEIGHTS
    }  # fmt: skip
    assert all(first in request for request in hub.log[1:])

    second = repository.commit({**files(3.0), **NEVER_FETCHED})  # main has moved
    later = hub.analyze(tmp_path / "second", name)
    assert (later["model"]["revision"], later["model"]["files"]) == (second, {WEIGHTS: sha256(files(3.0)[WEIGHTS])})
    table = "tables/dependency.csv"
    assert (tmp_path / "second" / table).read_bytes() != (tmp_path / "first" / table).read_bytes()

    again = hub.analyze(tmp_path / "again", name, "--revision", run["model"]["revision"])
    assert len(hub.log) <= 2
    assert (again["model"]["revision"], again["model"]["requested_revision"]) == (first, first)
    assert (tmp_path / "again" / table).read_bytes() == (tmp_path / "first" / table).read_bytes()

    offline = hub.analyze(tmp_path / "offline", name, offline=True)
    assert hub.log == []
    assert (offline["model"]["revision"], offline["model"]["offline"]) == (second, True)
    assert "from the cache" in offline["printed"]


@pytest.mark.slow
def test_a_tag_is_read_and_not_the_main_branch(hub):
    name, repository, main = hub.add(files(1.0))
    tagged = repository.commit(files(2.0), "v1", "branch/with/slashes")
    for settings in ({}, {"offline": True}):
        for revision in ("v1", "branch/with/slashes", tagged):
            found = hub.find(name, revision, **settings)
            assert (found["revision"], found["requested"]) == (tagged, revision)
            assert found["sha256"] == {WEIGHTS: sha256(files(2.0)[WEIGHTS])}
            assert sha256((Path(found["folder"]) / WEIGHTS).read_bytes()) == found["sha256"][WEIGHTS]
    # Only the tag was asked for so far.
    assert f"{name!r} (main) is not in the cache {hub.cache}" in hub.error(name, offline=True)
    assert hub.find(name)["revision"] == main
    # What is written about branches and tags is what huggingface_hub reads.
    assert Path(snapshot_download(name, revision="v1", cache_dir=hub.cache, local_files_only=True)).name == tagged
    [described] = [repo for repo in scan_cache_dir(hub.cache).repos if repo.repo_id == name]
    refs = {ref: revision.commit_hash for revision in described.revisions for ref in revision.refs}
    assert refs == {"main": main, "v1": tagged, "branch/with/slashes": tagged}


@pytest.mark.slow
def test_one_run_reads_one_commit_although_main_moves_meanwhile(hub, tmp_path):
    name, repository, first = hub.add(files(1.0, "masked"))
    hub.mirror.answered = lambda: repository.commit(files(2.0, "masked"))
    try:
        run = hub.analyze(tmp_path / "run", name, "--analyses", "surface", "--gradients", "mlm")
    finally:
        hub.mirror.answered = lambda: None
    assert (run["model"]["revision"], run["model"]["files"]) == (
        first,
        {WEIGHTS: sha256(files(1.0, "masked")[WEIGHTS])},
    )
    assert all(first in request for request in hub.log[1:])
    hub.analyze(tmp_path / "still", name, "--analyses", "surface", "--gradients", "mlm", "--revision", first)
    gradients = "tables/gradients.csv"
    assert (tmp_path / "still" / gradients).read_bytes() == (tmp_path / "run" / gradients).read_bytes()


@pytest.mark.slow
def test_every_command_reads_the_hub_in_the_same_way(hub, tmp_path):
    name, _, commit = hub.add(files(1.0))
    answer = hub.tell(argv=["doctor", "--model", name, "--sentences", "3", "--json"])
    checked = json.loads(answer["out"])
    assert (checked["revision"], checked["files"]) == (commit, {WEIGHTS: sha256(files(1.0)[WEIGHTS])})
    assert all(commit in request for request in hub.log[1:])
    answer = hub.tell(argv=["doctor", "--model", name, "--sentences", "3"])
    assert f"{name} @ {commit[:12]}: " in answer["out"] + answer["err"]

    argv = ["probe", "--model", name, "--limit", "12", "--folds", "2", "--seeds", "1", "--controls", "none"]
    answer = hub.tell(argv=[*argv, "--replicates", "0", "--out", str(tmp_path / "probe")])
    assert answer["status"] == 0, answer["err"]
    assert json.loads((tmp_path / "probe" / "run.json").read_text())["model"]["revision"] == commit
    assert f"{name} @ {commit[:12]}" in answer["out"]

    classifier, repository, first = hub.add(files(1.0, "classifier"))
    hub.mirror.answered = lambda: repository.commit({**files(1.0, "classifier"), "note": b""})
    texts = tmp_path / "texts.txt"
    texts.write_text("yes\ta fine film\nno\tno film at all\n" * 4)
    argv = ["explain", "--model", classifier, "--test", str(texts), "--tests", "correlation", "--replicates", "0"]
    try:
        answer = hub.tell(argv=[*argv, "--out", str(tmp_path / "explain")])
    finally:
        hub.mirror.answered = lambda: None
    assert answer["status"] == 0, answer["err"]
    model = json.loads((tmp_path / "explain" / "run.json").read_text())["model"]
    assert (model["name"], model["revision"]) == (classifier, first)
    assert model["files"] == {WEIGHTS: sha256(files(1.0, "classifier")[WEIGHTS])}
    assert all(first in request for request in hub.log[1:])


@pytest.mark.slow
@pytest.mark.parametrize("command", ["analyze", "probe", "doctor", "explain --test TEXTS --model"])
def test_a_revision_is_for_models_on_the_hub(hub, tmp_path, command):
    (tmp_path / "model").mkdir()
    (tmp_path / "texts.txt").write_text("yes\ta fine film\n")
    words = command.replace("TEXTS", str(tmp_path / "texts.txt")).removesuffix(" --model").split()
    for model in (str(tmp_path / "model"), "demo"):
        answer = hub.tell(argv=[*words, "--model", model, "--revision", "v1"])
        assert answer["status"] == 2
        assert "--revision is for models on the Hub" in answer["err"]


@pytest.mark.slow
def test_the_environment_is_enough(hub, tmp_path):
    """As a user starts it: processes of their own, of which one may not ask the Hub and has another cache."""
    name, _, commit = hub.add(files(1.0))
    command = [sys.executable, "-m", "attentionology", "doctor", "--model", name, "--sentences", "2", "--json"]

    def run(home: Path, **more: str) -> subprocess.CompletedProcess[str]:
        usual = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS"))}
        environment = {**usual, "HF_ENDPOINT": hub.endpoint, "HF_HOME": str(home), **more}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    fetched = json.loads(run(tmp_path / "first").stdout)
    assert (fetched["revision"], fetched["offline"]) == (commit, False)
    assert (tmp_path / "first" / "hub" / f"models--{name.replace('/', '--')}").is_dir()
    hub.log.clear()
    absent = run(tmp_path / "second", HF_HUB_OFFLINE="1")
    assert absent.returncode == 1
    cache = tmp_path / "second" / "hub"
    message = f"attentionology: HF_HUB_OFFLINE is set, and {name!r} (main) is not in the cache {cache}\n"
    assert absent.stderr == message
    assert hub.log == []
