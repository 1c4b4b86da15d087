"""Whose turn it is, and how a server of pages starts and ends."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from typing import Any

import pytest

import attentionology
from attentionology.engine.serving import server
from attentionology.engine.serving.errors import StaleError
from attentionology.engine.serving.turns import MOST_WAITING, Turns
from attentionology.scripts.cli import main
from tests import tiny
from tests.serving import DRAW, SECRET, Page, in_a_loop


def test_the_newest_request_comes_first_and_stale_ones_are_given_up():
    done: list[str] = []
    begun, free = threading.Event(), threading.Event()

    def first() -> str:
        begun.set()
        free.wait(10)
        return "first"

    def work(name: str) -> Any:
        def do() -> str:
            done.append(name)
            return name

        return do

    async def scene() -> list[Any]:
        turns = Turns()
        running = [asyncio.create_task(turns.take("A", first))]
        await asyncio.to_thread(begun.wait, 10)
        for slot, name, patient in (
            ("C", "corpus", True),
            ("B", "old", False),
            ("D", "other", False),
            ("B", "new", False),
            ("A", "again", False),
        ):
            running.append(asyncio.create_task(turns.take(slot, work(name), patient=patient)))
            await asyncio.sleep(0)
        given_up = asyncio.create_task(turns.take("E", work("given up")))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.sleep(0)
        free.set()
        results = await asyncio.gather(*running, return_exceptions=True)
        turns.close()
        return results

    results = in_a_loop(scene)
    assert [type(each).__name__ if isinstance(each, Exception) else each for each in results] == [
        "StaleError", "corpus", "StaleError", "other", "new", "again",
    ]  # fmt: skip
    assert done == ["again", "new", "other", "corpus"]
    assert StaleError().status == 409


def test_work_holds_the_lock_of_the_model():
    done: list[str] = []

    class Lock:
        def __enter__(self) -> None:
            done.append("held")

        def __exit__(self, *_: object) -> None:
            done.append("free")

    def fail() -> None:
        done.append("work")
        raise ZeroDivisionError

    async def scene() -> None:
        turns = Turns(Lock())
        with pytest.raises(ZeroDivisionError):
            await turns.take("A", fail)
        turns.close()

    in_a_loop(scene)
    assert done == ["held", "work", "free"]


def test_a_queue_has_an_end():
    async def scene() -> list[Any]:
        turns = Turns()
        free = threading.Event()
        waiting = [
            asyncio.create_task(turns.take(str(number), lambda: free.wait(10))) for number in range(MOST_WAITING + 2)
        ]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        free.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    refused = [each for each in in_a_loop(scene) if each is not True]
    assert [each.status for each in refused] == [429]


def test_a_port_that_is_taken_is_refused_before_anything_is_loaded():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(server.ServerError, match="another --port"):
        server.start(models=["no such model"], port=taken.getsockname()[1])
    with pytest.raises(attentionology.AttentionologyError, match="run or a model"):
        server.start()


def test_another_host_is_told_what_it_means(monkeypatch, capsys):
    """The network may call the machine by its name or its number, and a page of another site by neither."""
    asked: list[tuple[int, int]] = []

    def interrupted(serving: server.Serving) -> None:
        here = Page(serving.address)
        here.host = "127.0.0.1"
        for host in ("192.0.2.7:1", "attacker.example:1"):
            asked.append((here.raw("GET", f"/{here.token}/", Host=host)[0], len(asked)))
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "load_encoder", lambda *_, **__: tiny.encoder("bert"))
    monkeypatch.setattr(server.Serving, "wait", interrupted)
    assert main(["serve", "--host", "0.0.0.0"]) == 0  # noqa: S104
    out = capsys.readouterr().out
    assert "everybody in the network" in out
    assert out.count("http://") == 1
    assert asked == [(200, 0), (421, 1)]


@pytest.mark.slow
def test_an_interrupted_server_ends_well_and_leaves_nothing(programs, tmp_path):
    model = tiny.save(tmp_path / "model")
    (tmp_path / "empty").mkdir()
    process = programs.start("-m", "attentionology", "serve", "--model", model, folder=tmp_path / "empty")
    out = programs.folder / "out0"
    for _ in range(600):
        if out.exists() and "Open http" in out.read_text():
            break
        time.sleep(0.05)
    address = out.read_text().split()[1]
    assert Page(address).ask("draw", {**DRAW, "text": SECRET})[0] == 200
    process.send_signal(signal.SIGINT)
    assert programs.wait(process) == 0
    assert out.read_text().count("\n") == 1
    assert (programs.folder / "err0").read_text() == ""
    assert list((tmp_path / "empty").iterdir()) == []
