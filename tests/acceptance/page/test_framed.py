"""A cell of a notebook frames the page that its kernel serves; a page of another site cannot."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from attentionology import explore
from attentionology.engine.serving import notebook
from tests import tiny
from tests.acceptance.page.waiting import assert_count, assert_texts


@pytest.fixture(scope="module")
def cell() -> Iterator[str]:
    yield explore("The keys are here.", model=tiny.encoder("bert"), live=True)._repr_html_()
    notebook.stop_all()


@pytest.fixture(scope="module")
def port(cell: str) -> Iterator[int]:
    """The port of a server that has the cell on its page, as Jupyter has."""
    body = f"<!doctype html><meta charset='utf-8'><body data-jp-theme-light='false'>{cell}</body>"

    class Notebook(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body.replace("10 * 1000", "10000" if self.path == "/" else "300").encode())

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Notebook)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def test_a_notebook_on_this_machine_shows_the_page(page: Any, port: int) -> None:
    page.goto(f"http://localhost:{port}/")
    frame = page.frame_locator("iframe")
    assert_texts(frame.locator("[data-word^='row-'] text"), ["[CLS]", "The", "keys", "are", "here", ".", "[SEP]"])
    assert_count(page.get_by_text("This cell shows a live page"), 0)
    assert frame.locator(".card").first.evaluate("e => getComputedStyle(e).color") == "rgb(230, 232, 235)"
    frame.get_by_label("Sentence A", exact=True).fill("A key is here")
    frame.get_by_label("Sentence A", exact=True).press("Enter")
    assert_texts(frame.locator("[data-word^='row-'] text"), ["[CLS]", "A", "key", "is", "here", "[SEP]"])


def test_a_page_of_another_site_shows_where_it_is_instead(page: Any, port: int) -> None:
    page.goto(f"http://other.localhost:{port}/impatient")
    assert_count(page.locator("iframe"), 0)
    assert page.get_by_role("link", name="open it in a tab").is_visible()
