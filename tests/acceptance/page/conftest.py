"""Pages with made-up data, opened in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attentionology.reports.page import Section, write_report
from tests.acceptance.page.made_up import as_text, made_up, sentences
from tests.unit.test_reports import RUN

Data = dict[str, Any]
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def installed_browser() -> str | None:
    """The binary of a Chromium, if there is one."""
    return os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; it is in the extra “dev”")
    binary = installed_browser()
    if binary is None:
        pytest.skip(
            "no browser: install Chromium (apt-get install chromium-headless-shell) or name its binary in CHROMIUM"
        )
    with api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=binary)
        yield started
        started.close()


@pytest.fixture(scope="session")
def small() -> Data:
    """Thirty sentences, one of which is hostile, at 6 layers of 12 heads."""
    return made_up(sentences(30))


def written(folder: Path, *runs: Data, live: Data | None = None) -> Path:
    template = folder / "section.html.j2"
    template.write_text("<h2>A section</h2><p>Text.</p>", encoding="utf-8")
    write_report(folder, run=RUN, sections=[Section("A report", template)], explorer=as_text(*runs, live=live))
    return folder / "report.html"


@pytest.fixture(scope="session")
def small_page(tmp_path_factory: pytest.TempPathFactory, small: Data) -> Path:
    return written(tmp_path_factory.mktemp("small"), small)


@pytest.fixture(scope="session")
def window(browser: Any) -> Any:
    """A window that tests without options share, because opening one takes as long as drawing what it shows."""
    return browser.new_context().new_page()


@pytest.fixture
def open_page(browser: Any, window: Any) -> Iterator[Callable[..., Any]]:
    """Open a file in the shared window, or, if that is taken or with options, in a window of its own.

    In the end no page may have had an error, or asked the network.
    """
    contexts, problems = [], []
    listeners = {
        "console": lambda message: problems.append(message.text) if message.type == "error" else None,
        "pageerror": lambda error: problems.append(str(error)),
        "request": lambda request: (
            None if request.url.startswith(("file:", "data:", "blob:", "about:")) else problems.append(request.url)
        ),
    }
    pages: list[Any] = []

    def opened(path: Path, address: str = "", *, width: int = 1280, **options: Any) -> Any:
        page = window
        if options or window in pages:
            contexts.append(browser.new_context(**options))
            page = contexts[-1].new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.set_default_timeout(20_000)
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(path.as_uri() + address)
        return page

    yield opened
    for context in contexts:
        context.close()
    if window in pages:
        window.goto("about:blank")  # so that the same file with another address is loaded again
        window.mouse.move(0, 0)
        window.emulate_media(media="null", color_scheme="null")
        for event, listener in listeners.items():
            window.remove_listener(event, listener)
    assert problems == []
