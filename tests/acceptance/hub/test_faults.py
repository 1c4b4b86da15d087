"""A Hub that refuses, is silent, cuts files off or damages them, and addresses of no Hub."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import safetensors.torch
import torch

from attentionology.extractors.model.files import PICKLE
from tests.acceptance.hub.session import WEIGHTS, files, sha256


def test_weights_in_another_format_are_never_converted(hub):
    without = {file: content for file, content in files(1.0).items() if file != WEIGHTS}
    name, repository, commit = hub.add({**without, "tf_model.h5": b"weights"})
    repository.commit(files(2.0), "refs/pr/1")  # the pull request of SFconvertbot
    assert hub.error(name).startswith(
        f"{name!r} at {commit} has no model.safetensors. Weights are read as safetensors or"
    )
    assert len(hub.log) == 1
    assert not any("discussions" in request or "refs" in request for request in hub.log)


def test_pickled_weights_are_read_at_their_commit_if_there_are_no_others(hub):
    without = {file: content for file, content in files(1.0).items() if file != WEIGHTS}
    pickled = io.BytesIO()
    torch.save(safetensors.torch.load(files(1.0)[WEIGHTS]), pickled)
    name, repository, commit = hub.add({**without, PICKLE: pickled.getvalue()})
    repository.commit(files(2.0), "refs/pr/1")
    expected = (commit, {PICKLE: sha256(pickled.getvalue())})
    for offline in (False, True):
        found = hub.find(name, offline=offline)
        assert (found["revision"], found["sha256"]) == expected
    assert not any("discussions" in request or "refs" in request for request in hub.log)
    hub.blob(name, commit, PICKLE).write_bytes(b"damaged")
    assert hub.find(name)["sha256"] == expected[1]  # it is fetched again
    name, _, _ = hub.add({**without, PICKLE: b"pickled"})
    assert PICKLE in hub.error(name)


def test_what_a_hub_refuses_is_said_with_what_to_do(hub):
    name, repository, _ = hub.add(files(1.0))
    missing = "there is no model {!r} on {}, or it is private: run 'hf auth login' or set HF_TOKEN"
    assert hub.error("someone/nothing") == missing.format("someone/nothing", hub.endpoint)
    assert hub.error(name, "v9") == f"{name!r} has no branch, tag or commit 'v9'"
    repository.fault = "401"
    assert hub.error(name) == missing.format(name, hub.endpoint)
    repository.fault = "gated"
    terms = f"{name!r} asks its readers to accept terms: do so at {hub.endpoint}/{name}, then run 'hf auth login'"
    assert hub.error(name) == terms
    repository.fault = "403"
    assert hub.error(name).startswith(f"{hub.endpoint} refuses {name!r} or your token: 403 Forbidden")
    answer = hub.tell(argv=["analyze", "--model", name, "--out", "nowhere"])  # through a command
    assert (answer["status"], answer["err"].count("\n")) == (1, 1)
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("fault", ["500", "slow", "html"])
def test_a_hub_that_does_not_answer_is_asked_once(hub, fault):
    name, repository, commit = hub.add(files(1.0))
    repository.fault = fault
    why = {"500": "500 Internal Server Error", "slow": "timed out", "html": ""}[fault]
    message = hub.error(name)
    assert message.startswith(f"{hub.endpoint} does not answer (")
    assert why in message
    assert message.endswith(f"), and {name!r} (main) is not in the cache {hub.cache}")
    assert len(hub.log) == 1
    repository.fault = ""
    assert hub.find(name)["offline"] is False
    repository.fault = fault
    found = hub.find(name)
    assert (found["revision"], found["offline"], found["sha256"]) == (
        commit,
        True,
        {WEIGHTS: sha256(files(1.0)[WEIGHTS])},
    )
    assert len(hub.log) == 1


@pytest.mark.parametrize(("fault", "file"), [("500", "config.json"), ("500", WEIGHTS), ("html", WEIGHTS)])
def test_a_file_that_does_not_come_is_named(hub, fault, file):
    name, repository, _ = hub.add(files(1.0))
    repository.fault, repository.faulty_file = fault, file
    message = hub.error(name)
    assert message.startswith(f"{name!r}: {'config.json, tokenizer.json' if file != WEIGHTS else WEIGHTS}")
    assert "could not be fetched: " in message
    assert message.endswith("; the same command goes on")
    assert f"{name!r} (main) is not in the cache" in hub.error(name, offline=True)
    repository.fault = ""
    assert hub.find(name)["offline"] is False
    repository.fault = fault
    assert hub.find(name)["offline"] is False  # the file is there, so there is no need to ask for it again
    second = repository.commit(files(2.0))
    assert "could not be fetched" in hub.error(name, second)


def test_a_file_that_is_cut_off_names_how_much_came(hub):
    name, repository, commit = hub.add(files(1.0))
    repository.fault, repository.faulty_file = "cut", WEIGHTS
    size = len(files(1.0)[WEIGHTS])
    message = hub.error(name)
    assert message.startswith(f"{name!r}: {WEIGHTS} could not be fetched: ")
    assert message.endswith(f"(received {size // 2} bytes, expected {size}); the same command goes on")
    assert f"{name!r} (main) is not in the cache" in hub.error(name, offline=True)  # nothing half-fetched is read
    assert f"{WEIGHTS} of {name!r} ({commit}) is missing or damaged in the cache" in hub.error(
        name, commit, offline=True
    )
    repository.fault = ""
    assert hub.find(name)["revision"] == commit
    assert sum("GET" in request for request in hub.log if "/resolve/" in request) == 1


@pytest.mark.parametrize("file", [WEIGHTS, "config.json", "tokenizer.json"])
def test_a_file_that_is_damaged_on_the_way_is_thrown_away(hub, file):
    name, repository, commit = hub.add(files(1.0))
    repository.fault, repository.faulty_file = "corrupt", file
    assert hub.error(name) == f"{name!r}: {file} was damaged during the download and deleted; try again"
    assert not hub.blob(name, commit, file).exists()
    assert sha256(files(1.0)[file]) not in {path.name for path in hub.blob(name, commit, file).parent.glob("*")}
    repository.fault = ""
    assert hub.find(name)["sha256"] == {WEIGHTS: sha256(files(1.0)[WEIGHTS])}


@pytest.mark.parametrize("file", [WEIGHTS, "config.json", "tokenizer.json"])
def test_a_file_that_is_changed_in_the_cache_is_not_read(hub, file):
    name, _, commit = hub.add(files(1.0))
    hub.find(name)
    blob = hub.blob(name, commit, file)
    changed = blob.read_bytes()[:-1] + b" "
    assert changed != blob.read_bytes()
    blob.write_bytes(changed)
    assert hub.error(name, offline=True) == (
        f"HF_HUB_OFFLINE is set, and {file} of {name!r} (main) is missing or damaged in the cache {hub.cache}"
    )
    assert blob.read_bytes() == changed  # which may be all there is
    hub.find(name)
    assert hub.blob(name, commit, file).read_bytes() == files(1.0)[file]
    assert {request.rsplit("/", 1)[-1] for request in hub.log if "/resolve/" in request} == {file}


def test_an_endpoint_where_there_is_no_hub(hub):
    name, _, commit = hub.add(files(1.0))
    for endpoint in ("garbage", "http://127.0.0.1:99999", ""):
        assert hub.error(name, endpoint=endpoint).startswith(f"{endpoint} does not answer (")
    closed = "http://127.0.0.1:1"
    assert hub.error(name, endpoint=closed).startswith(f"{closed} does not answer (")
    elsewhere = f"{hub.endpoint}/some/path"
    assert hub.error(name, endpoint=elsewhere).startswith(f"there is no model {name!r} on {elsewhere}")
    hub.find(name)
    found = hub.find(name, endpoint=closed)
    assert (found["revision"], found["offline"], found["endpoint"]) == (commit, True, closed)
