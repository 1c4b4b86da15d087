"""Models from the Hub: the cache, the shards that are fetched, and names that no model has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.hub.session import INDEX, NEVER_FETCHED, WEIGHTS, files, sha256


def test_a_cache_without_links_is_checked_against_what_the_hub_says(hub, tmp_path):
    name, repository, _ = hub.add(files(1.0))
    settings = {"cache": str(tmp_path), "links": False}
    weights = Path(hub.find(name, **settings)["folder"]) / WEIGHTS
    assert not weights.is_symlink()
    weights.write_bytes(b"x" * weights.stat().st_size)
    repository.fault, repository.faulty_file = "corrupt", WEIGHTS
    assert f"{WEIGHTS} was damaged during the download" in hub.error(name, **settings)
    repository.fault = ""
    hub.find(name, **settings)
    assert weights.read_bytes() == files(1.0)[WEIGHTS]
    assert hub.find(name, offline=True, **settings)["sha256"] == {WEIGHTS: sha256(files(1.0)[WEIGHTS])}


def test_links_to_nothing_are_fetched_again(hub):
    name, _, commit = hub.add(files(1.0))
    hub.find(name)
    for file in files(1.0):
        hub.blob(name, commit, file).unlink()
    assert f"{name!r} (main) is not in the cache" in hub.error(name, offline=True)
    assert hub.find(name)["sha256"] == {WEIGHTS: sha256(files(1.0)[WEIGHTS])}
    assert hub.find(name, offline=True)["revision"] == commit


@pytest.mark.slow
def test_only_shards_that_the_index_names_are_fetched(hub, tmp_path):
    sharded = files(1.0, shards="20KB")
    shards = {file for file in sharded if file.endswith(".safetensors")}
    assert len(shards) > 1
    name, _, commit = hub.add({**sharded, **NEVER_FETCHED})
    run = hub.analyze(tmp_path / "sharded", name)
    fetched = {request.rsplit("/", 1)[-1] for request in hub.log if "/resolve/" in request}
    assert fetched == {"config.json", "tokenizer.json", "tokenizer_config.json", INDEX} | shards
    assert run["model"]["files"] == {shard: sha256(sharded[shard]) for shard in shards}
    whole, _, _ = hub.add(files(1.0))
    assert hub.analyze(tmp_path / "whole", whole)["model"]["weights_sha256"] == run["model"]["weights_sha256"]

    hub.blob(name, commit, sorted(shards)[0]).unlink()
    assert f"{sorted(shards)[0]} of {name!r} (main) is missing or damaged in the cache" in hub.error(name, offline=True)
    lacking = {file: content for file, content in sharded.items() if file != sorted(shards)[0]}
    name, _, commit = hub.add(lacking)
    assert hub.error(name) == f"{name!r} at {commit} has no {sorted(shards)[0]}"


@pytest.mark.parametrize("entry", ["../../x.safetensors", "/x.safetensors", "a/x.safetensors", "x.bin", "x.py"])
def test_an_index_names_safetensors_beside_it(hub, entry):
    index = json.dumps({"metadata": {}, "weight_map": {"a": entry}}).encode()
    content = {file: data for file, data in files(1.0).items() if file != WEIGHTS}
    name, _, _ = hub.add({**content, INDEX: index, "x.bin": b"", "x.py": b"", "a/x.safetensors": b""})
    assert f"{INDEX}' names {entry!r}, which is not a safetensors file in the model's folder" in hub.error(name)
    assert not any(request.endswith(("x.safetensors", "x.bin", "x.py")) for request in hub.log)


@pytest.mark.parametrize(
    "name", ["bert base", "a/b/c/d", "a..b", "../a", "./nofolder", "/no/folder", "~/nofolder", "é", "a/", "a" * 97]
)
def test_names_that_no_model_has(hub, name):
    answer = hub.tell(argv=["doctor", f"--model={name}"])
    assert answer["status"] == 1
    assert answer["err"].startswith("attentionology: ")
    assert answer["err"].count("\n") == 1
    assert "folder" in answer["err"]
    assert name in answer["err"]
    assert hub.log == []


@pytest.mark.parametrize("revision", ["../../x", "..", " ", "a\nb", "/v1", ""])
def test_revisions_that_no_model_has(hub, revision):
    name, _, _ = hub.add(files(1.0))
    for offline in (False, True):
        assert hub.error(name, revision, offline=offline) == f"{name!r} has no branch, tag or commit {revision!r}"
        assert hub.log == []


def test_a_cache_that_cannot_be_written(hub, tmp_path):
    name, _, commit = hub.add(files(1.0))
    (tmp_path / "file").write_text("")
    message = hub.error(name, cache=str(tmp_path / "file"))
    assert message.startswith(f"cannot use the cache {tmp_path / 'file'} (")
    assert message.endswith("; set HF_HOME to another folder")
    hub.find(name)
    weights = hub.blob(name, commit)
    weights.unlink()
    weights.mkdir()
    for settings in ({}, {"offline": True}):
        assert str(hub.cache) in hub.error(name, **settings)
    weights.rmdir()
    hub.find(name)
    references = hub.cache / f"models--{name.replace('/', '--')}" / "refs"
    (references / "main").unlink()
    references.rmdir()
    references.write_text("in the way")
    assert hub.find(name)["revision"] == commit  # what is there can be read all the same
