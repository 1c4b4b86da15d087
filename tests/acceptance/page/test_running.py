"""A document that is too long for maps is drawn as running text, with arrows from the mention at hand."""

from __future__ import annotations

import copy

import numpy as np

from tests.acceptance.page.conftest import written
from tests.acceptance.page.made_up import packed

ANN, DOG, SHE, IT, AGAIN = 1, 4, 150, 300, 398  # words of the document, from 0
PICKS = {SHE: ANN, IT: SHE, AGAIN: DOG}
ENTITIES = {ANN: "Ann", DOG: "dog", SHE: "Ann", IT: "dog", AGAIN: "dog"}


def window(start: int, stop: int, seen: int) -> dict[str, object]:
    """Some words of the document, whose mentions before ``seen`` have their picks in the window before."""
    words = [f"{ENTITIES.get(word, 'word')}{word}" for word in range(start, stop)]
    guesses = np.full((6, 12, len(words)), 65535, dtype="<u2")
    for word, pick in PICKS.items():
        if max(start, seen) <= word < stop:
            guesses[..., word - start] = pick - start
    mentions = [
        {"start": word - start, "end": word - start, "head": word - start, "entity": entity, "type": "name"}
        for word, entity in ENTITIES.items()
        if start <= word < stop
    ]
    return {
        "id": f"d@{start}",
        "document": "d",
        "file": "",
        "line": None,
        "start": start,
        "rows": words,
        "columns": None,
        "special": [False] * len(words),
        "special_columns": None,
        "links": [],
        "maps": {},
        "heads": [None] * len(words),
        "relations": [None] * len(words),
        "mentions": mentions,
        "guesses": {"weight/mention->antecedent": packed(guesses)},
    }


def test_arrows_lead_from_a_mention_to_the_pick_and_to_the_antecedent(open_page, small, tmp_path):
    data = copy.deepcopy(small)
    data["sample"]["sentences"] = [window(0, 310, 0), window(2, 400, 310)]
    page = open_page(written(tmp_path, data), "#relation=coreference&direction=mention->antecedent")
    mentions = page.locator(".running [role=button]")
    mentions.first.wait_for()
    words = page.locator(".running [data-token]")
    assert (words.count(), words.nth(399).text_content()) == (400, "word399")  # each word once
    assert mentions.all_text_contents() == [f"Ann{SHE}", f"dog{IT}", f"dog{AGAIN}"]
    assert page.locator(".running .number").all_text_contents() == ["1", "2", "1", "2", "2"]

    arrows, readout = page.locator(".running .arrows .guess"), page.locator(".running .readout")
    assert arrows.count() == 0
    mentions.nth(0).hover()
    assert arrows.evaluate_all("paths => paths.map(path => path.getAttribute('class'))") == ["guess right"]
    assert page.locator(".running .arrows .gold").count() == 0  # the pick is the antecedent
    ends = arrows.evaluate("path => [0, path.getTotalLength()].map(at => path.getPointAtLength(at).x)")
    for word, end in zip((SHE, ANN), ends, strict=True):
        left, width = words.nth(word).locator("text").evaluate("text => [text.getBBox().x, text.getBBox().width]")
        assert left < end < left + width
    page.mouse.move(0, 0)

    mentions.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert f"“dog{IT}” picks “Ann{SHE}”, wrong. By the annotation: “dog{DOG}”." in readout.inner_text()
    assert page.locator(".running .arrows path.gold:not(.tip)").count() == arrows.count() == 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.includes('sentence=d@2&') && location.hash.includes('word=from-397')")
    assert f"“dog{AGAIN}” picks “dog{DOG}”, right." in readout.inner_text()

    drawings = page.get_by_role("group", name="Draw", exact=True)
    assert drawings.locator("input:not(:disabled)").count() == 1
    assert "at most 128 words" in (drawings.locator(".disabled").first.get_attribute("title") or "")
    row = page.locator(".listing [role=row]", has_text=f"dog{AGAIN}").first
    assert row.locator(".number").first.inner_text() == "–"  # no map, so no weight
    assert "3 uses · 2 of 3 right" in page.locator(".listing").inner_text()


def test_a_document_of_a_thousand_words_is_drawn(open_page, small, tmp_path):
    data = copy.deepcopy(small)
    windows = ((0, 310, 0), (2, 400, 310), (290, 600, 400), (580, 890, 600), (870, 1000, 890))
    data["sample"]["sentences"] = [window(*each) for each in windows]
    page = open_page(written(tmp_path, data), "#relation=coreference&direction=mention->antecedent")
    page.locator(".running [role=button]").first.wait_for()
    words = page.locator(".running [data-token]").all_text_contents()
    assert words == [f"{ENTITIES.get(word, 'word')}{word}" for word in range(1000)]  # each once, in their order
