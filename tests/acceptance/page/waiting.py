"""Assertions that wait, because a page is drawn in several steps."""

from __future__ import annotations

from typing import Any


def assert_count(locator: Any, number: int) -> None:
    """Wait until a locator has a number of elements, and fail if it does not get there within five seconds."""
    from playwright.sync_api import expect

    expect(locator).to_have_count(number)


def assert_texts(locator: Any, texts: list[str]) -> None:
    """Wait until the elements of a locator have these texts, and fail if they do not get them within five seconds."""
    from playwright.sync_api import expect

    expect(locator).to_have_text(texts)
