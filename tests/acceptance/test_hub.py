"""Models from the Hub, on a small Hub on 127.0.0.1: what is asked for is fetched, checked, read and recorded."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from huggingface_hub import scan_cache_dir, snapshot_download

from attentionology.extractors import ModelError
from attentionology.extractors.model.hub import shard_names
from tests import tiny
from tests.hub import Mirror, Repository

NEVER_FETCHED = dict.fromkeys(
    "pytorch_model.bin tf_model.h5 flax_model.msgpack modeling_x.py model.onnx rust_model.ot onnx/model.onnx "
    "other.safetensors vocab.txt.bak".split(),
    b"not to be fetched",
)


@functools.cache
def files(scale: float = 1.0, kind: str = "bare", shards: str | None = None) -> dict[str, bytes]:
    """Files of a tiny BERT; the scale of its embeddings tells commits apart."""
    model: Any = tiny.classifier() if kind == "classifier" else tiny.model("bert")
    if kind == "masked":
        head = transformers.BertForMaskedLM(model.config)
        head.bert.load_state_dict(model.state_dict(), strict=False)
        model = head
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(scale)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, **({"max_shard_size": shards} if shards else {}))
        tokenizer = tiny.fresh_tokenizer("wordpiece")
        tokenizer.mask_token = "[MASK]"
        tokenizer.save_pretrained(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
NUMBERS = count()


class Hub:
    """The mirror, and a process that runs commands with it."""

    def __init__(self, home: Path) -> None:
        self.mirror = Mirror()
        self.endpoint = self.mirror.endpoint
        self.cache = home / "hub"
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS"))
        }
        self.environment = {
            **environment,
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_ETAG_TIMEOUT": "2",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hub_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def add(self, content: dict[str, bytes], *refs: str) -> tuple[str, Repository, str]:
        """A new repository; returns its name, the repository and the commit."""
        repository = Repository()
        name = f"someone/model-{next(NUMBERS)}"
        self.mirror.repositories[name] = repository
        # Its own README, so that no two repositories have a commit in common.
        return name, repository, repository.commit({**content, "README.md": name.encode()}, *refs)

    def tell(self, **task: Any) -> dict[str, Any]:
        """Run one task of the process; the requests it takes are in ``log``."""
        self.mirror.log.clear()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["hosts"] == [], "a host other than 127.0.0.1 was looked up"
        return answer

    def find(self, name: str, revision: str | None = None, **settings: Any) -> dict[str, Any]:
        answer = self.tell(model=name, revision=revision, **settings)
        assert answer["status"] == 0, answer["err"]
        return answer

    def error(self, name: str, revision: str | None = None, **settings: Any) -> str:
        answer = self.tell(model=name, revision=revision, **settings)
        assert answer["status"] == 1
        return str(answer["err"]).removeprefix("attentionology: ").removesuffix("\n")

    def analyze(self, out: Path, name: str, *options: str, **settings: Any) -> dict[str, Any]:
        """The run record of ``analyze``, with what was printed as ``printed``."""
        argv = ["analyze", "--model", name, "--limit", "12", "--out", str(out), *options]
        answer = self.tell(argv=argv if "--analyses" in options else [*argv, "--analyses", "dependency"], **settings)
        assert answer["status"] == 0, answer["err"]
        return {**json.loads((out / "run.json").read_text()), "printed": answer["out"]}

    @property
    def log(self) -> list[str]:
        return self.mirror.log

    def blob(self, name: str, commit: str, file: str = WEIGHTS) -> Path:
        """The file in the cache that a name in a commit stands for."""
        return (self.cache / f"models--{name.replace('/', '--')}" / "snapshots" / commit / file).resolve()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.mirror.shutdown()


@pytest.fixture(scope="module")
def hub(tmp_path_factory) -> Iterator[Hub]:
    running = Hub(tmp_path_factory.mktemp("home"))
    yield running
    running.close()


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
    assert sum("/api/models/" in request for request in hub.log) == 1

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


def test_a_tag_is_read_and_not_the_main_branch(hub):
    name, repository, main = hub.add(files(1.0))
    tagged = repository.commit(files(2.0), "v1", "branch/with/slashes")
    for settings in ({}, {"offline": True}):
        for revision in ("v1", "branch/with/slashes", tagged):
            found = hub.find(name, revision, **settings)
            assert (found["commit"], found["revision"]) == (tagged, revision)
            assert found["checked"] == {WEIGHTS: sha256(files(2.0)[WEIGHTS])}
            assert sha256((Path(found["folder"]) / WEIGHTS).read_bytes()) == found["checked"][WEIGHTS]
    # Only the tag was asked for so far.
    assert f"{name!r} (main) is not in the cache {hub.cache}" in hub.error(name, offline=True)
    assert hub.find(name)["commit"] == main
    # What is written about branches and tags is what huggingface_hub reads.
    assert Path(snapshot_download(name, revision="v1", cache_dir=hub.cache, local_files_only=True)).name == tagged
    [described] = [repo for repo in scan_cache_dir(hub.cache).repos if repo.repo_id == name]
    refs = {ref: revision.commit_hash for revision in described.revisions for ref in revision.refs}
    assert refs == {"main": main, "v1": tagged, "branch/with/slashes": tagged}


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
    assert sum("/api/models/" in request for request in hub.log) == 1
    assert all(first in request for request in hub.log[1:])
    hub.analyze(tmp_path / "still", name, "--analyses", "surface", "--gradients", "mlm", "--revision", first)
    gradients = "tables/gradients.csv"
    assert (tmp_path / "still" / gradients).read_bytes() == (tmp_path / "run" / gradients).read_bytes()


def test_every_command_reads_the_hub_in_the_same_way(hub, tmp_path):
    name, _, commit = hub.add(files(1.0))
    answer = hub.tell(argv=["doctor", "--model", name, "--sentences", "3", "--json"])
    checked = json.loads(answer["out"])
    assert (checked["revision"], checked["files"]) == (commit, {WEIGHTS: sha256(files(1.0)[WEIGHTS])})
    assert sum("/api/models/" in request for request in hub.log) == 1
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
    assert sum("/api/models/" in request for request in hub.log) == 1


@pytest.mark.parametrize("command", ["analyze", "probe", "doctor", "explain --test TEXTS --model"])
def test_a_revision_is_for_models_on_the_hub(hub, tmp_path, command):
    (tmp_path / "model").mkdir()
    (tmp_path / "texts.txt").write_text("yes\ta fine film\n")
    words = command.replace("TEXTS", str(tmp_path / "texts.txt")).removesuffix(" --model").split()
    for model in (str(tmp_path / "model"), "demo"):
        answer = hub.tell(argv=[*words, "--model", model, "--revision", "v1"])
        assert answer["status"] == 2
        assert "--revision is for models on the Hub" in answer["err"]


def test_weights_that_are_not_safetensors_are_never_converted(hub):
    without = {file: content for file, content in files(1.0).items() if file != WEIGHTS}
    name, repository, commit = hub.add({**without, "pytorch_model.bin": b"pickled"})
    repository.commit(files(2.0), "refs/pr/1")  # the pull request of SFconvertbot
    assert hub.error(name).startswith(f"{name!r} at {commit} has no weights as safetensors. Weights are only read as")
    assert "torch.load(..., weights_only=True)" in hub.error(name)
    assert len(hub.log) == 1
    assert not any("discussions" in request or "refs" in request for request in hub.log)


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
    assert hub.error(name) == f"{hub.endpoint} refuses {name!r} (403 Forbidden)"
    answer = hub.tell(argv=["analyze", "--model", name, "--out", "nowhere"])  # through a command
    assert (answer["status"], answer["err"].count("\n")) == (1, 1)
    assert not Path("nowhere").exists()


@pytest.mark.parametrize("fault", ["500", "slow", "html"])
@pytest.mark.parametrize("file", [None, "config.json", WEIGHTS])
def test_a_hub_that_does_not_answer_is_asked_once(hub, fault, file):
    name, repository, commit = hub.add(files(1.0))
    repository.fault, repository.faulty_file = fault, file
    why = {"500": "500 Internal Server Error", "slow": "timed out", "html": ""}[fault]
    message = hub.error(name)
    assert message.startswith(f"{hub.endpoint} does not answer ({why}")
    assert message.endswith(f"), and {name!r} (main) is not in the cache {hub.cache}")
    assert sum(request.endswith(file or "") for request in hub.log) == 1
    repository.fault = ""
    assert hub.find(name)["offline"] is False
    repository.fault = fault
    if file:  # which is there: there is no need to ask for it again
        assert hub.find(name)["offline"] is False
        second = repository.commit(files(2.0))
        assert hub.error(name, second).endswith(f"{name!r} ({second}) is not in the cache {hub.cache}")
        assert sum(request.endswith(file) for request in hub.log) == 1
    found = hub.find(name)
    assert (found["commit"], found["offline"], found["checked"]) == (
        commit,
        True,
        {WEIGHTS: sha256(files(1.0)[WEIGHTS])},
    )
    assert sum(request.endswith(file or "") for request in hub.log) == 1


def test_a_file_that_is_cut_off_names_how_much_came(hub):
    name, repository, commit = hub.add(files(1.0))
    repository.fault, repository.faulty_file = "cut", WEIGHTS
    size = len(files(1.0)[WEIGHTS])
    message = f"{name!r}: {WEIGHTS} could not be fetched: received {size // 2:,} of {size:,} bytes"
    assert hub.error(name) == f"{message}; the same command goes on"
    assert f"{name!r} (main) is not in the cache" in hub.error(name, offline=True)  # nothing half-fetched is read
    assert f"{WEIGHTS} of {name!r} ({commit}) is not in the cache" in hub.error(name, commit, offline=True)
    repository.fault = ""
    assert hub.find(name)["commit"] == commit
    assert sum("GET" in request for request in hub.log if "/resolve/" in request) == 1


@pytest.mark.parametrize("file", [WEIGHTS, "config.json", "tokenizer.json"])
def test_a_file_that_is_damaged_on_the_way_is_thrown_away(hub, file):
    name, repository, commit = hub.add(files(1.0))
    repository.fault, repository.faulty_file = "corrupt", file
    assert hub.error(name) == f"{name!r}: {file} was damaged on the way; it was thrown away, try again"
    assert not hub.blob(name, commit, file).exists()
    assert sha256(files(1.0)[file]) not in {path.name for path in hub.blob(name, commit, file).parent.glob("*")}
    repository.fault = ""
    assert hub.find(name)["checked"] == {WEIGHTS: sha256(files(1.0)[WEIGHTS])}


@pytest.mark.parametrize("file", [WEIGHTS, "config.json", "tokenizer.json"])
def test_a_file_that_is_changed_in_the_cache_is_not_read(hub, file):
    name, _, commit = hub.add(files(1.0))
    hub.find(name)
    blob = hub.blob(name, commit, file)
    changed = blob.read_bytes()[:-1] + b" "
    assert changed != blob.read_bytes()
    blob.write_bytes(changed)
    assert hub.error(name, offline=True) == (
        f"HF_HUB_OFFLINE is set, and {file} of {name!r} (main) in the cache {hub.cache} is damaged"
    )
    assert blob.read_bytes() == changed  # which may be all there is
    hub.find(name)
    assert hub.blob(name, commit, file).read_bytes() == files(1.0)[file]
    assert {request.rsplit("/", 1)[-1] for request in hub.log if "/resolve/" in request} == {file}


def test_a_cache_without_links_is_checked_against_what_the_hub_says(hub, tmp_path):
    name, repository, _ = hub.add(files(1.0))
    settings = {"cache": str(tmp_path), "links": False}
    weights = Path(hub.find(name, **settings)["folder"]) / WEIGHTS
    assert not weights.is_symlink()
    weights.write_bytes(b"x" * weights.stat().st_size)
    repository.fault, repository.faulty_file = "corrupt", WEIGHTS
    assert f"{WEIGHTS} was damaged on the way" in hub.error(name, **settings)
    repository.fault = ""
    hub.find(name, **settings)
    assert weights.read_bytes() == files(1.0)[WEIGHTS]
    assert hub.find(name, offline=True, **settings)["checked"] == {WEIGHTS: sha256(files(1.0)[WEIGHTS])}


def test_links_to_nothing_are_fetched_again(hub):
    name, _, commit = hub.add(files(1.0))
    hub.find(name)
    for file in files(1.0):
        hub.blob(name, commit, file).unlink()
    assert f"{name!r} (main) is not in the cache" in hub.error(name, offline=True)
    assert hub.find(name)["checked"] == {WEIGHTS: sha256(files(1.0)[WEIGHTS])}
    assert hub.find(name, offline=True)["commit"] == commit


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
    assert f"{sorted(shards)[0]} of {name!r} (main) is not in the cache" in hub.error(name, offline=True)
    lacking = {file: content for file, content in sharded.items() if file != sorted(shards)[0]}
    name, _, commit = hub.add(lacking)
    assert hub.error(name) == f"{name!r} at {commit} has no {sorted(shards)[0]}"


@pytest.mark.parametrize(
    "entry", ["../../x.safetensors", "/x.safetensors", "a/x.safetensors", "x.bin", "x.py", 3, None]
)
def test_an_index_names_safetensors_beside_it(hub, tmp_path, entry):
    index = json.dumps({"weight_map": {"a": entry}}).encode()
    content = {file: data for file, data in files(1.0).items() if file != WEIGHTS}
    name, _, _ = hub.add({**content, INDEX: index, "x.bin": b"", "x.py": b"", "a/x.safetensors": b""})
    message = f"{INDEX} names {entry!r}, which is not a safetensors file in the model's folder"
    assert hub.error(name) == message
    assert not any(request.endswith(("x.safetensors", "x.bin", "x.py")) for request in hub.log)
    (tmp_path / INDEX).write_bytes(index)
    with pytest.raises(ModelError, match="not a safetensors file"):
        shard_names(tmp_path / INDEX)


@pytest.mark.parametrize(
    "index", [b"", b"[]", b"{}", b'{"weight_map": []}', b'{"weight_map": {}}', b"\xff", b"[" * 9999]
)
def test_an_index_that_is_none(hub, index):
    content = {file: data for file, data in files(1.0).items() if file != WEIGHTS}
    name, _, _ = hub.add({**content, INDEX: index})
    assert hub.error(name).startswith(INDEX)


@pytest.mark.parametrize(
    "name",
    [
        "bert base",
        "a/b/c/d",
        "a..b",
        "../a",
        "./nofolder",
        "/no/folder",
        "~/nofolder",
        "a--b",
        "é",
        "a/",
        "-a",
        "a" * 97,
    ],
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


@pytest.mark.parametrize(
    "endpoint", ["garbage", "ftp://127.0.0.1", "http://", "http://a b", "http://127.0.0.1:99999", ""]
)
def test_an_endpoint_that_is_none(hub, endpoint):
    name, _, _ = hub.add(files(1.0))
    assert hub.error(name, endpoint=endpoint).startswith("HF_ENDPOINT is not the address of a Hub")
    assert hub.error(name, endpoint=endpoint, offline=True).startswith("HF_HUB_OFFLINE is set")


def test_an_endpoint_where_there_is_no_hub(hub):
    name, _, commit = hub.add(files(1.0))
    closed = "http://127.0.0.1:1"
    assert hub.error(name, endpoint=closed).startswith(f"{closed} does not answer (")
    elsewhere = f"{hub.endpoint}/some/path"
    assert hub.error(name, endpoint=elsewhere).startswith(f"there is no model {name!r} on {elsewhere}")
    hub.find(name)
    found = hub.find(name, endpoint=closed)
    assert (found["commit"], found["offline"], found["endpoint"]) == (commit, True, closed)


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
    assert hub.find(name)["commit"] == commit  # what is there can be read all the same


def test_the_environment_is_enough(hub, tmp_path):
    """As a user starts it: a process of its own for each command."""
    name, _, commit = hub.add(files(1.0))
    command = [
        sys.executable,
        "-m",
        "attentionology.scripts.cli",
        "doctor",
        "--model",
        name,
        "--sentences",
        "2",
        "--json",
    ]

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        environment = {**hub.environment, "HF_HOME": str(tmp_path), **more}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    absent = run(HF_HUB_OFFLINE="1")
    assert absent.returncode == 1
    cache = tmp_path / "hub"
    message = f"attentionology: HF_HUB_OFFLINE is set, and {name!r} (main) is not in the cache {cache}\n"
    assert absent.stderr == message
    fetched = json.loads(run().stdout)
    hub.log.clear()
    offline = json.loads(run(HF_HUB_OFFLINE="1").stdout)
    assert hub.log == []
    assert (fetched["revision"], fetched["offline"]) == (commit, False)
    assert (offline["revision"], offline["offline"]) == (commit, True)
