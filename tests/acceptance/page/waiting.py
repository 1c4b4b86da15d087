"""Assertions that wait, because a page is drawn in several steps."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any


def assert_count(locator: Any, number: int) -> None:
    """Wait until a locator has a number of elements, and fail if it does not get there within five seconds."""
    from playwright.sync_api import expect

    expect(locator).to_have_count(number)


def assert_texts(locator: Any, texts: Sequence[str | re.Pattern[str]]) -> None:
    """Wait until the elements of a locator have these texts, and fail if they do not get them within five seconds."""
    from playwright.sync_api import expect

    expect(locator).to_have_text(texts)


def follow(page: Any, address: str) -> None:
    """Go to another address of the page that is open, as a link does, without loading it again."""
    page.goto(page.url.partition("#")[0] + address)


def assert_attribute(locator: Any, name: str, value: str) -> None:
    """Wait until an element has this value of an attribute, and fail if it does not get it within five seconds."""
    from playwright.sync_api import expect

    expect(locator).to_have_attribute(name, value)


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that no locator can say, and fail if it does not within five seconds."""
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
