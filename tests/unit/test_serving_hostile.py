"""What a server of pages refuses, and that it then writes and tells nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attentionology.engine.serving import guards, server
from attentionology.engine.serving.live_model import LiveModel
from attentionology.reports.streams import messages_printed
from tests import tiny
from tests.serving import DRAW, SECRET, TEXT, Page, save_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a run and its corpus."""
    made: Path = tmp_path_factory.mktemp("served")
    save_run(made)
    return made


@pytest.fixture(scope="module")
def page(folder) -> Iterator[Page]:
    """The page of a server of a run and its model."""
    with server.start([folder / "run"], [tiny.encoder("bert")]) as serving:
        yield Page(serving.address)


@pytest.fixture
def nothing_written(folder, capfd) -> Iterator[None]:
    """Nothing is written but the names of heads, and nothing of a request is printed."""

    def seen() -> dict[str, tuple[int, int]]:
        files = (path for path in folder.rglob("*") if path.is_file() and path.name != "heads.json")
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}

    before = seen()
    yield
    assert seen() == before
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/wrong/", {}, 403),
        ("/", {}, 403),
        ("/TOKE", {}, 403),
        ("/TOKEN", {}, 307),  # to the address with a slash, or links on the page would lead elsewhere
        ("/TOKEN/../../etc/passwd", {}, 404),
        ("/TOKEN/%2e%2e/run.json", {}, 404),
        ("/TOKEN//etc/passwd", {}, 404),
        ("/TOKEN/heads.json", {}, 404),
        ("/TOKEN/", {"Host": "attacker.example"}, 421),
        ("/TOKEN/", {"Host": "127.0.0.1.attacker.example:80"}, 421),
        ("/TOKEN/", {"Host": "127.0.0.1:80:80"}, 421),
        ("/TOKEN/", {"Host": "10.0.0.1"}, 421),
        ("/TOKEN/", {"Host": ""}, 400),
        ("/TOKEN/", {"Origin": "http://attacker.example"}, 403),
        ("/TOKEN/", {"Origin": "http://127.0.0.1:1"}, 403),
        ("/TOKEN/", {"Origin": "null"}, 403),
        ("/TOKEN/", {"Host": "localhost:9999"}, 200),  # through a tunnel
        ("/TOKEN/", {"Host": "[::1]:9999", "Origin": "http://[::1]:9999"}, 200),
        ("/%ff/", {}, 403),
    ],
)
def test_only_pages_of_this_server_are_answered(page, path, headers, status, nothing_written):
    found, answered, body = page.raw("GET", path.replace("TOKEN", page.token), **headers)
    assert found == status
    if status in (403, 404, 421):
        assert list(json.loads(body)) == ["error"]
        assert page.token not in body.decode()
        assert "set-cookie" not in answered


def test_the_wrong_methods_are_refused(page, nothing_written):
    for method, name in (("GET", "draw"), ("POST", ""), ("DELETE", "heads"), ("OPTIONS", "draw"), ("PUT", "draw")):
        status, headers, _ = page.raw(method, f"/{page.token}/{name}", b"{}")
        assert status == 405
        assert "access-control-allow-origin" not in headers


NO_JSON = "not JSON"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", NO_JSON),
        (b"{", NO_JSON),
        (b"\xff\xfe", NO_JSON),
        (b'{"model": NaN}', NO_JSON),
        (b'{"model": -Infinity}', NO_JSON),
        (b"[" * 900_000, NO_JSON),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, NO_JSON),
        (b'{"model": ' + b"9" * 10_000 + b"}", NO_JSON),
        (b"[]", "object"),
        ({"model": 1}, "slot"),
        ({"slot": "C"}, "slot"),
        ({"page": "x" * 100}, "page"),
        ({"model": 2}, "no model 2"),
        ({"model": -1}, "no model -1"),
        ({"model": True}, "whole number"),
        ({"model": 0.0}, "whole number"),
        ({"kinds": "weight"}, "a list"),
        ({"kinds": [["weight"]]}, "list of texts"),
        ({"kinds": ["../../etc/passwd"]}, "cannot draw"),
        ({"off": ["0-1"]}, "such as 3-9"),
        ({"off": ["4-1"]}, "no head 4-1"),
        ({"off": ["x" * 10_000]}, "such as 3-9"),
        ({"text": None}, "either"),
        ({"text": [SECRET]}, "text"),
        ({"text": "\ud800 " + SECRET}, "surrogate"),
        ({"text": " \n "}, "no word"),
        ({"text": f"{SECRET} " * 2_000}, "at most 64 pieces"),
        ({"text": "a " * 450_000}, "Shorten"),
        ({"text": None, "sentence": "garden-01"}, "run"),
        ({"text": None, "run": 0, "sentence": "/etc/passwd"}, "no sentence"),
        ({"text": None, "run": 7, "sentence": "garden-01"}, "no run 7"),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_with_a_sentence(page, body, why, nothing_written):
    if isinstance(body, dict):
        body = json.dumps(
            {
                name: value
                for name, value in {**DRAW, **body}.items()
                if (name, why) != ("slot", "slot") or "slot" in body
            }
        ).encode()
    status, _, answer = page.raw("POST", f"/{page.token}/draw", body)
    assert 400 <= status < 500
    assert why in json.loads(answer)["error"]


@pytest.mark.parametrize("headers", [{}, {"Transfer-Encoding": "chunked"}])
def test_a_body_has_at_most_a_million_bytes(page, headers, nothing_written):
    for n_bytes, expected in ((1_000_000, 400), (1_000_001, 413)):
        request = json.dumps({**DRAW, "text": ""}).encode()
        body = request.replace(b'"text": "', b'"text": "' + b"a" * (n_bytes - len(request)))
        status, _, answer = page.raw("POST", f"/{page.token}/draw", body, **headers)
        assert (len(body), status) == (n_bytes, expected)
        assert "horten the text" in json.loads(answer)["error"] or "Shorten it" in json.loads(answer)["error"]


@pytest.mark.parametrize("headers", [{}, {"Transfer-Encoding": "chunked"}, {"Content_Length": "10" * 50}])
def test_large_bodies_are_refused_before_all_of_them_is_there(page, headers, nothing_written):
    try:
        status = page.raw("POST", f"/{page.token}/draw", b"a" * 10_000_000, **headers)[0]
    except OSError:
        status = 413  # the connection was closed while the body was sent
    assert status in (400, 413)
    assert page.ask("draw", DRAW)[0] == 200


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.sampled_from(["draw", "concordance", "heads"]))
def test_any_bytes_get_an_answer(page, body, name):
    status, _, answer = page.raw("PUT" if name == "heads" else "POST", f"/{page.token}/{name}", body)
    assert 400 <= status < 500
    assert json.loads(answer)["error"]


def test_many_requests_at_once_wait_or_are_told_to(page, nothing_written):
    """One slot has its newest request answered; pages beside each other do not hinder one another."""

    def ask(number: int) -> int:
        status: int = page.ask("draw", {**DRAW, "page": f"{number % 20}", "text": f"{TEXT} {number}"})[0]
        return status

    with ThreadPoolExecutor(50) as pool:
        statuses = list(pool.map(ask, range(200)))
    assert {*statuses} <= {200, 409}
    assert statuses.count(200) >= 20


def test_what_takes_too_long_is_given_up(page, monkeypatch, nothing_written):
    monkeypatch.setattr(guards, "TO_ANSWER", 0.05)
    free = threading.Event()
    draw = LiveModel.draw

    def slow(*arguments: Any) -> Any:
        free.wait(10)
        return draw(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(LiveModel, "draw", slow)
        status, answer = page.ask("draw", {**DRAW, "text": SECRET})
        free.set()
    assert status == 503
    assert "too long" in answer["error"]
    monkeypatch.undo()
    assert page.ask("draw", DRAW)[0] == 200


def test_a_body_that_does_not_come_is_not_waited_for(page, monkeypatch, nothing_written):
    monkeypatch.setattr(guards, "TO_SEND", 0.05)
    status, _, answer = page.raw("POST", f"/{page.token}/draw", b'{"text": "', Content_Length="999")
    assert (status, "in time" in json.loads(answer)["error"]) == (408, True)


def test_a_fault_of_the_program_is_told_without_words(page, monkeypatch, capfd):
    def fail(*_arguments: Any) -> None:
        raise ValueError(f"cannot draw {SECRET}")

    monkeypatch.setattr(LiveModel, "draw", fail)
    with messages_printed():
        status, answer = page.ask("draw", DRAW)
    assert (status, SECRET in answer["error"]) == (500, False)
    err = capfd.readouterr().err
    assert "a request has failed: ValueError in " in err
    assert SECRET not in err
