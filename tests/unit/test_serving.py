"""What a server of pages answers: the page, drawings, every use of a head, and names that it keeps."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import attentionology
from attentionology.engine.serving import application, server
from attentionology.engine.serving.errors import RequestError
from attentionology.engine.serving.served_run import ServedRun
from attentionology.reports.page import read_bundle
from attentionology.reports.run_folder import RunFolder, RunFolderError
from tests import tiny
from tests.serving import DRAW, TEXT, USES, Page, in_a_loop, save_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a run and its corpus."""
    made: Path = tmp_path_factory.mktemp("served")
    save_run(made)
    return made


@pytest.fixture(scope="module")
def page(folder) -> Iterator[Page]:
    """The page of a server of the run and its model, and of another model."""
    with server.start([folder / "run"], [tiny.encoder("bert"), tiny.encoder("gpt2")]) as serving:
        assert serving.notes == ()
        yield Page(serving.address)


def test_the_page_has_its_script_and_data_in_files(page, folder):
    status, headers, body = page.raw("GET", f"/{page.token}/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert b"<script>" not in body
    assert b"<style" not in body
    assert b'data-bench="bench.json"' in body
    for name, parts in (("page.js", ["explorer.js"]), ("page.css", ["page.css", "explorer.css"])):
        assert page.raw("GET", f"/{page.token}/{name}")[2].decode() == "".join(map(read_bundle, parts))
    bench = json.loads(page.raw("GET", f"/{page.token}/bench.json")[2])
    assert [run["corpus"] for run in bench["runs"]] == ["corpus.conllu, first 8 sentences"]
    models = [
        {name: each[name] for name in ("name", "layers", "heads", "causal", "predicts", "run")}
        for each in bench["live"]["models"]
    ]
    shape = {"layers": 3, "heads": 4, "predicts": False}
    assert models == [
        {"name": "tiny bert", "causal": False, "run": 0, **shape},
        {"name": "tiny gpt2", "causal": True, "run": None, **shape},
    ]
    assert bench["live"]["most_pieces"] == 64
    assert {"weight", "norm"} <= {*bench["live"]["models"][1]["kinds"]}


def test_every_answer_protects_the_page(page):
    for path in (f"/{page.token}/", f"/{page.token}/none", "/", f"/{page.token}/bench.json"):
        _, headers, _ = page.raw("GET", path)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert not [name for name in headers if name.startswith("access-control")]


def test_what_is_typed_is_drawn(page):
    status, answer = page.ask("draw", {**DRAW, "text": f"{TEXT} ||| The [key] is here.", "kinds": ["weight", "norm"]})
    assert status == 400
    assert "mask token" in answer["error"]  # of this tokenizer
    status, answer = page.ask("draw", {**DRAW, "text": f"{TEXT} ||| The key is here.", "off": ["1-2", "1-2"]})
    assert status == 200
    assert [len(each["sentence"]["rows"]) for each in answer["sentences"]] == [12, 7]
    assert answer["sentences"][0]["predictions"] is None
    assert {"weight/dep->head", "weight/head->dep"} == {*answer["sentences"][0]["sentence"]["guesses"]}


def test_a_sentence_of_the_corpus_is_drawn_with_its_tree(page):
    request = {"slot": "B", "model": 1, "run": 0, "sentence": "garden-01", "kinds": ["weight"]}
    status, answer = page.ask("draw", request)
    [drawn] = answer["sentences"]
    assert (status, drawn["sentence"]["id"], drawn["sentence"]["file"]) == (200, "garden-01", "corpus.conllu")
    assert drawn["sentence"]["relations"].count("root") == 1
    assert page.ask("draw", {**request, "sentence": "garden-99"})[0] == 404


def test_a_word_of_control_characters_is_drawn_as_one(page):
    status, answer = page.ask("draw", {**DRAW, "text": "a \0 </script> \u202e b"})
    assert status == 200
    assert "</script>" not in answer["sentences"][0]["sentence"]["rows"]  # which is three words here
    assert "\0" in answer["sentences"][0]["sentence"]["rows"]


def test_a_concordance_is_a_stream(page):
    status, lines = page.ask("concordance", USES)
    assert status == 200
    assert (lines[0], lines[-1]) == ({"read": 0, "of": 8}, {"read": 8, "of": 8})
    rows = [line for line in lines if "form" in line]
    assert {row["relation"] for row in rows} == {"nsubj"}
    assert {row["verdict"] for row in rows} <= {"right", "wrong"}


@pytest.mark.parametrize(
    "changes", [{"head": "9-9"}, {"kind": "magic"}, {"direction": "up"}, {"run": 1}, {"relation": 3}]
)
def test_a_concordance_of_nothing_is_refused(page, changes):
    status, answer = page.ask("concordance", {**USES, **changes})
    assert (status, list(answer)) == (400, ["error"])


def test_a_stream_ends_if_nobody_reads_it_any_more(page, monkeypatch):
    """The model is then free, and a newer one of the same slot takes its place."""
    steps = 0

    def endless(*_arguments: Any) -> Iterator[tuple[int, list[Any]]]:
        nonlocal steps
        while True:
            time.sleep(0.005)
            steps += 1
            yield steps, []

    monkeypatch.setattr(application, "uses", endless)
    connection = http.client.HTTPConnection(page.host, page.port, timeout=30)
    connection.request("POST", f"/{page.token}/concordance", json.dumps(USES))
    answer = connection.getresponse()
    assert answer.readline() == b'{"read":0,"of":8}\n'
    monkeypatch.undo()
    assert page.ask("concordance", USES)[0] == 200  # of the same slot
    rest = answer.read().splitlines()
    assert "newer request" in json.loads(rest[-1])["error"]
    connection.close()
    monkeypatch.setattr(application, "uses", endless)
    connection = http.client.HTTPConnection(page.host, page.port, timeout=30)
    connection.request("POST", f"/{page.token}/concordance", json.dumps(USES))
    connection.getresponse().readline()
    connection.close()
    for _ in range(200):
        before = steps
        time.sleep(0.05)
        if steps == before:
            break
    else:
        pytest.fail("the stream goes on")


def test_an_older_stream_takes_no_turn_from_a_newer_one(folder):
    """Although it has just been sending, and waited for nothing."""
    service, _ = server.service_of([folder / "run"], [tiny.encoder("bert")])

    async def scene() -> tuple[list[str], list[str]]:
        async def body() -> bytes:
            return json.dumps(USES).encode()

        request: Any = SimpleNamespace(body=body)
        older: Any = (await service.concordance(request)).body_iterator  # type: ignore[attr-defined]
        lines = [await anext(older)]
        newer: Any = (await service.concordance(request)).body_iterator  # type: ignore[attr-defined]
        rest = asyncio.create_task(anext(older))
        found = [line async for line in newer]
        return [*lines, await rest], found

    older, newer = in_a_loop(scene)
    assert [*json.loads(older[-1])] == ["error"]
    assert json.loads(newer[-1]) == {"read": 8, "of": 8}


def test_a_corpus_that_has_changed_is_not_counted(folder):
    """The page then has the stored sentences."""
    corpus = folder / "corpus.conllu"
    content = corpus.read_bytes()
    for change, why in ((lambda: corpus.write_bytes(content[:-200]), "changed"), (corpus.unlink, "not there")):
        run = ServedRun(folder / "run")
        change()
        try:
            with pytest.raises(RequestError, match=f"{why}.* stored sentences") as refused:
                run.corpus()
        finally:
            corpus.write_bytes(content)
        assert refused.value.status == 409
    assert len(ServedRun(folder / "run").corpus()) == 8


def test_names_of_heads_are_kept_whole_or_not_at_all(page, folder, monkeypatch):
    names = [
        {"head": "3-1", "name": "objects", "note": "but not of\n“say”"},
        {"head": "1-4", "name": "next word", "note": ""},
    ]
    assert page.ask("heads", {"run": 0, "names": names, "base": []}, "PUT") == (200, {"names": names[::-1]})
    kept = (folder / "run" / "heads.json").read_bytes()
    assert json.loads(kept) == {"names": names[::-1]}
    bench = json.loads(page.raw("GET", f"/{page.token}/bench.json")[2])
    assert bench["runs"][0]["names"] == names[::-1]
    assert attentionology.load_run(folder / "run").explorer().names[1].name == "objects"
    for wrong in (
        [*names, names[0]],
        [{"head": "9-1", "name": "x"}],
        [{"head": "1-1", "name": " "}],
        [{"head": "1-1", "name": "x\u0007"}],
        [{"head": "1-1", "name": "\ud800"}],
        [{"head": "1-1", "name": "x" * 100}],
        [{"head": "1-1", "name": 1}],
        [{"head": "../1", "name": "x"}],
        [{"head": "1-1", "name": "x", "more": "y"}],
        ["1-1"],
    ):
        status, answer = page.ask("heads", {"run": 0, "names": wrong, "base": names}, "PUT")
        assert (status, list(answer)) == (400, ["error"])

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert page.ask("heads", {"run": 0, "names": [], "base": names}, "PUT")[0] == 400
    # Another page does not know these names.
    status, answer = page.ask("heads", {"run": 0, "names": names[:1], "base": []}, "PUT")
    assert (status, answer["names"]) == (409, names[::-1])
    assert "another page" in answer["error"]
    assert page.ask("heads", {"run": 0, "names": []}, "PUT")[0] == 400  # what they are based on has to be said
    assert (folder / "run" / "heads.json").read_bytes() == kept
    assert sorted(path.name for path in (folder / "run").iterdir() if path.name.startswith(".")) == []
    (folder / "run" / "heads.json").write_text("{")
    with pytest.raises(attentionology.AttentionologyError, match=r"heads\.json: .*mend the file"):
        attentionology.load_run(folder / "run").explorer()
    (folder / "run" / "heads.json").write_bytes(kept)
    assert page.ask("heads", {"run": 0, "names": [], "base": names}, "PUT") == (200, {"names": []})


def test_names_stay_if_the_same_model_is_run_again(tmp_path):
    """Those of another model are not those of the new run, and are not deleted."""

    def write(digest: str) -> None:
        with RunFolder(tmp_path / "run", overwrite=True) as target:
            record = {
                "files": ["run.json"],
                "model": {"weights_sha256": digest},
                "command": "attentionology",
                "versions": {"attentionology": ""},
            }
            (target.path / "run.json").write_text(json.dumps(record))

    write("a")
    (tmp_path / "run" / "heads.json").write_text("names")
    write("a")
    assert (tmp_path / "run" / "heads.json").read_text() == "names"
    with pytest.raises(RunFolderError, match="of another model"):
        write("b")
    assert (tmp_path / "run" / "heads.json").read_text() == "names"
    assert json.loads((tmp_path / "run-2" / "run.json").read_text())["model"]["weights_sha256"] == "b"


def test_a_run_whose_model_is_gone_is_served_without_it(folder, monkeypatch):
    with server.start([folder / "run"], [tiny.encoder("bert", seed=1)]) as serving:
        other = Page(serving.address)
        assert "The model of" in serving.notes[0]
        status, answer = other.ask("concordance", USES)
        assert (status, "stored sentences" in answer["error"]) == (409, True)
        assert other.ask("draw", DRAW)[0] == 200
    with pytest.raises(OSError, match=r".*"):
        other.raw("GET", f"/{other.token}/")  # the port is free again
