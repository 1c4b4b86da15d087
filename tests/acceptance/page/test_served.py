"""The page of a real server with a small model: sentences that are typed, heads that are off, and every use of a head."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attentionology.engine.serving import server
from tests import tiny
from tests.acceptance.page.waiting import assert_count, assert_texts
from tests.serving import save_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("served")
    save_run(made)
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with server.start([folder / "run"], [tiny.encoder("bert")]) as serving:
        yield serving.address


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page, which may have no error in the end: also not of the policy, which refuses styles in attributes."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened, problems = context.new_page(), list[str]()
    opened.set_default_timeout(20_000)
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(f"{address}#head=2-1&relation=nsubj&sort=documents")
    yield opened
    context.close()
    assert problems == []


def words(page: Any, slot: str) -> Any:
    return page.get_by_role("region", name=f"Slot {slot}").locator("[data-word^='row-'] text")


def test_a_pair_is_typed_and_drawn_and_a_head_is_switched_off(page: Any) -> None:
    page.get_by_label("Sentence A", exact=True).fill("The keys are here ||| The key is here")
    page.keyboard.press("Enter")
    assert_texts(words(page, "A"), ["The", "keys", "are", "here"])
    assert_texts(words(page, "B"), ["The", "key", "is", "here"])
    with page.expect_response("**/draw") as drawn:
        page.get_by_role("button", name="2-1 off").nth(1).click()
    assert json.loads(drawn.value.request.post_data)["off"] == ["2-1"]
    assert_texts(page.locator(".drawing .title"), ["A: 2-1 · weight", "B: 2-1 · weight, without 2-1"])


def test_uses_are_those_of_the_whole_corpus(page: Any) -> None:
    rows = page.locator(".rows [role=row]")
    name = rows.first.get_attribute("title")
    page.get_by_text("read ").wait_for(state="detached")
    print(page.locator(".listing .count").text_content(), name)
