"""The page of a real server with a small model: sentences that are typed, heads that are off, and uses of a head."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attentionology.corpora_loaders import load_treebank
from attentionology.engine.serving import server
from attentionology.extractors.tokens.pieces import Pieces
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


def shortened(route: Any) -> None:
    """Answer with data in which the page stores three sentences of the eight of the corpus."""
    bench = route.fetch().json()
    del bench["runs"][0]["sample"]["sentences"][3:]
    route.fulfill(json=bench)


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page, which may have no error in the end: also not of the policy, which refuses styles in attributes."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened, problems = context.new_page(), list[str]()
    opened.set_default_timeout(20_000)
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.route("**/bench.json", shortened)
    opened.goto(f"{address}#head=2-1&relation=nsubj&direction=dep-%3Ehead")
    yield opened
    context.close()
    assert problems == []


def words(page: Any, slot: str) -> Any:
    return page.get_by_role("region", name=f"Slot {slot}").locator("[data-word^='row-'] text")


def test_a_pair_is_typed_and_drawn_and_a_head_is_switched_off(page: Any) -> None:
    page.locator(".drawing").wait_for()  # the field then has a sentence of the sample, which is replaced
    page.get_by_label("Sentence A", exact=True).fill("The keys are here ||| The key is here")
    page.keyboard.press("Enter")
    assert_texts(words(page, "A"), ["The", "keys", "are", "here"])
    assert_texts(words(page, "B"), ["The", "key", "is", "here"])
    with page.expect_response("**/draw") as drawn:
        page.get_by_role("button", name="2-1 off").nth(1).click()
    assert json.loads(drawn.value.request.post_data)["off"] == ["2-1"]
    assert_texts(page.locator(".drawing .title"), ["A: 2-1 · weight", "B: 2-1 · weight, without 2-1"])


def test_uses_are_those_of_the_whole_corpus(page: Any, folder: Path) -> None:
    sentences = [*load_treebank(folder / "corpus.conllu", limit=8)]
    pieces = tiny.encoder("bert").align(sentences)
    lengths = [len(each.ids) if isinstance(each, Pieces) else 0 for each in pieces]
    read = [each for each, length in zip(sentences, lengths, strict=True) if 0 < length <= 64]  # others are too long
    subjects = [(each, word) for each in read for word, name in enumerate(each.relations) if name == "nsubj"]
    rows = page.locator(".rows [role=row]")
    assert_count(rows, len(subjects))
    shown = zip(rows.all(), rows.locator(".context b").all_text_contents(), strict=True)
    places = {(row.get_attribute("title"), form): row for row, form in shown}
    assert set(places) == {(each.id, each.words[word]) for each, word in subjects}
    stored = (
        page.get_by_label("Sentence A of the sample").locator("option").evaluate_all("all => all.map(o => o.value)")
    )
    assert len(stored) == 3
    sentence, word = next((each, word) for each, word in subjects if each.id not in stored)
    places[sentence.id, sentence.words[word]].click()
    assert_texts(words(page, "A"), list(sentence.words))
    assert_count(page.locator(f".word.focus[data-word='row-{word + 1}']"), 1)
    assert_count(page.locator(".rows .current"), 1)
    page.get_by_role("radio", name="3 stored sentences").check(force=True)
    assert_count(rows, sum(each.id in stored for each, _ in subjects))


def test_figures_are_saved_under_the_policy(page: Any) -> None:
    page.locator(".matrix").wait_for()
    page.evaluate(
        "() => { window.print = () => { window.printed = document.querySelectorAll('.atl-printed svg text').length } }"
    )
    for form in ("SVG", "PNG"):
        with page.expect_download() as saved:
            page.get_by_role("button", name=form, exact=True).first.click()
        assert saved.value.path().stat().st_size > 1000
    page.get_by_role("button", name="PDF", exact=True).first.click()
    page.wait_for_function("window.printed > 5")


def test_the_page_has_margins(page: Any) -> None:
    page.locator(".matrix").wait_for()
    page.evaluate("scrollTo(0, 0)")
    heading, explorer = (page.locator(name).bounding_box() for name in ("h1", ".explorer"))
    assert min(heading["x"], heading["y"], explorer["x"], 1280 - explorer["x"] - explorer["width"]) >= 16


def test_a_head_is_named_on_its_card_and_the_run_keeps_the_name(page: Any, folder: Path) -> None:
    page.get_by_role("button", name="Name head 2-1").click()
    page.get_by_label("Name", exact=True).fill("subjects <b>")
    page.get_by_label("Note", exact=True).fill("of verbs")
    page.keyboard.press("Escape")
    assert not (folder / "run" / "heads.json").exists()
    page.get_by_role("button", name="Name head 2-1").click()
    page.get_by_label("Name", exact=True).fill("subjects <b>")
    page.get_by_label("Note", exact=True).fill("of verbs")
    page.get_by_role("button", name="Save the name").click()
    assert_texts(page.locator(".card h3 .head-name"), ["subjects <b>"])
    kept = {"head": "2-1", "name": "subjects <b>", "note": "of verbs"}
    assert json.loads((folder / "run" / "heads.json").read_text("utf-8")) == {"names": [kept]}
    assert_count(page.get_by_role("gridcell", name="Head 2-1 (subjects <b>): "), 1)
    page.reload()
    page.locator(".cell[data-head='0']").click()
    assert_texts(page.locator(".head-name, .head-note"), [])
    page.get_by_role("button", name="2-1 subjects <b>").click()
    assert_texts(page.locator(".head-note"), ["of verbs"])
    page.get_by_role("button", name="Change the name of head 2-1").click()
    page.get_by_role("button", name="Remove it").click()
    assert_count(page.locator(".head-name, .cell .named"), 0)
    assert json.loads((folder / "run" / "heads.json").read_text("utf-8")) == {"names": []}
