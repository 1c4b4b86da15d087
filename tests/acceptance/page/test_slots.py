"""Slots A and B: what is typed, compared and subtracted, and the address that restores both."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attentionology.corpora_loaders import Sentence
from tests.acceptance.page.conftest import Data, written
from tests.acceptance.page.made_up import attention, guesses, sampled
from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.test_scales import drawn_values
from tests.acceptance.page.waiting import assert_count, assert_texts

Open = Callable[..., Any]
MODEL = {"name": "made up", "layers": 6, "heads": 12, "causal": False, "kinds": ["weight", "norm"], "predicts": True}
LIVE = {"models": [{**MODEL, "run": 0}], "most_pieces": 512}
KEYS, KEY = "The keys to the cabinet [are] here", "The old key to the cabinets [is] here"
TREE = "1\tIt\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\trained\t_\t_\t_\t_\t0\troot\t_\t_"
# In place of the server: requests are kept, and so are answers while they are held back.
SERVER = """<script>
const answers = %s;
window.asked = [], window.aborted = [], window.held = null;
window.fetch = (address, { body, signal }) => new Promise((resolve, reject) => {
  if (address === "concordance") return resolve(new Response('{"error": "Not here."}', { status: 409 }));
  const { page, ...request } = JSON.parse(body), { status, ...answer } = answers[request.text ?? request.sentence];
  asked.push({ address, ...request });
  signal.addEventListener("abort", () => { aborted.push(request.text); reject(signal.reason); });
  const send = () => resolve(new Response(JSON.stringify(answer), { status }));
  held ? held.push(send) : send();
});
</script>"""


def answer(text: str) -> Data:
    """What a server answers to a text with a masked word."""
    words = tuple(text.split())
    sentence = Sentence(f"typed {text}", words, heads=(0,) * len(words), relations=("",) * len(words))
    generator = np.random.default_rng(len(text))
    weights = attention(sentence, 6, 12, generator)
    drawn = sampled(sentence, {"weight": weights}, guesses(weights))
    drawn |= {"heads": [None] * (len(words) + 2), "relations": [None] * (len(words) + 2), "mentions": []}
    row = next((index for index, word in enumerate(words, start=1) if word.startswith("[")), 0)
    predicted = [["is", 0.5], ["are", 0.25]] if "keys" in text else [["is", 0.75]]
    likeliest = [predicted if index + 1 == row else [] for index in range(len(words))]
    predictions = {"sentence": drawn["id"], "head": "", "log_p": [None] * len(words), "likeliest": likeliest}
    return {
        "status": 200,
        "sentences": [{"sentence": drawn, "predictions": predictions, "masked": [row] if row else []}],
    }


ANSWERS = {text: answer(text) for text in (KEYS, KEY, "It rains", "It rained")}
ANSWERS[TREE] = ANSWERS["It rained"]
ANSWERS["Long"] = {"status": 413, "error": "The text has 600 pieces, of which 512 can be drawn."}


@pytest.fixture(scope="module")
def live_page(tmp_path_factory: pytest.TempPathFactory, small: Data) -> Path:
    first = small["sample"]["sentences"][2]
    answers = {
        **ANSWERS,
        first["id"]: {**ANSWERS[KEYS], "sentences": [{"sentence": first, "predictions": None, "masked": []}]},
    }
    path = written(tmp_path_factory.mktemp("live"), small, live=LIVE)
    server = SERVER % json.dumps(answers).replace("<", "\\u003c")
    path.write_text(path.read_text("utf-8").replace("<body", f"{server}<body", 1), encoding="utf-8")
    return path


def typed(page: Any, text: str, slot: str = "A") -> None:
    page.get_by_label(f"Sentence {slot}", exact=True).fill(text)
    page.keyboard.press("Enter")


def words_of(page: Any, slot: str) -> Any:
    return page.get_by_role("region", name=f"Slot {slot}").locator("[data-word^='row-'] text")


def test_a_pair_is_pasted_and_drawn_side_by_side(open_page: Open, live_page: Path) -> None:
    page = open_page(live_page, "#head=3-1&relation=obj")
    typed(page, f"{KEYS} ||| {KEY}")
    shown = [text.split() for text in (KEYS, KEY)]
    assert_texts(words_of(page, "A"), shown[0])
    assert_texts(words_of(page, "B"), shown[1])
    requests = page.evaluate("asked")
    assert sorted((each["slot"], each["text"]) for each in requests) == [("A", KEYS), ("B", KEY)]
    for each in requests:
        assert (each["address"], each["model"], each["kinds"], each["off"]) == ("draw", 0, ["weight"], [])
    assert_texts(page.locator(".drawing .title"), ["A: 3-1 · weight", "B: 3-1 · weight"])
    boxes = [title.bounding_box() for title in page.locator(".drawing .title").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + 200 < boxes[1]["x"]
    assert_texts(page.locator(".masked dt"), ["[are]", "[is]"])
    assert_texts(page.locator(".masked dd"), ["is 50.0 %", "are 25.0 %", "is 75.0 %"])
    # The word at hand is the same in both, also where another one stands in its place.
    a, b = (page.get_by_role("region", name=f"Slot {slot}") for slot in "AB")
    for row, one, other in ((7, "here", "here"), (5, "cabinet", "cabinets")):
        a.locator(f"[data-word='row-{row}']").hover()
        assert_texts(b.locator(".readout"), [re.compile(f"^B: 3-1 · weight: “{other}” attends to")])
        b.locator(f"[data-word='row-{row + 1}']").hover()
        assert_texts(a.locator(".readout"), [re.compile(f"^A: 3-1 · weight: “{one}” attends to")])
    a.locator("[data-word='row-2']").hover()  # one word, in whose place are two
    assert_count(b.locator(".word.focus"), 0)
    page.reload()
    assert_texts(words_of(page, "A"), shown[0])
    assert_texts(words_of(page, "B"), shown[1])
    page.locator(".matrix [data-head='5']").click()  # of A and B
    assert_texts(page.locator(".drawing .title"), ["A: 1-6 · weight", "B: 1-6 · weight"])


def test_the_difference_is_that_of_words_that_stand_for_each_other(open_page: Open, live_page: Path) -> None:
    page = open_page(live_page, "#head=3-1")
    typed(page, f"{KEYS} ||| {KEY}")
    page.get_by_role("checkbox", name="A − B").check()
    page.locator(".grid").wait_for()
    path, _ = saved(page, ".whole", "CSV")
    cells = [row[-1] for row in list(csv.reader(path.read_text("utf-8").splitlines()))[1:]]
    one, other = (
        drawn_values({"layers": 6, "heads": 12}, ANSWERS[text]["sentences"][0]["sentence"], "weight", 3, 1)
        for text in (KEYS, KEY)
    )
    # The rows of the same words, of which the masks are one, and of cabinet and cabinets.
    pairs = [(1, 1), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8)]
    expected = np.full((9, 9), np.nan)
    for a, b in pairs:
        for c, d in pairs:
            expected[a, c] = one[a, c] - other[b, d]
    shown = [float(cell) if cell else np.nan for cell in cells]
    np.testing.assert_allclose(shown, expected[1:-1, 1:-1].ravel(), atol=1e-5)
    full = 100 * np.nanmax(np.abs(expected))
    said = f"{full:.{int(full < 9.95)}f} %"
    legend = " ".join(page.locator(".key .domain").text_content().split())
    assert legend == f"weight: more in B −{said} +{said} more in A"
    assert_texts(page.locator(".word.absent"), ["keys"] * 2)
    assert_texts(page.locator("[data-word='row-5'] title"), ["cabinet / cabinets"])
    assert page.get_by_text(
        "Words that stand for each other are subtracted; only in A: keys; only in B: old, key."
    ).is_visible()


def test_the_newest_request_wins_and_what_was_drawn_stays(open_page: Open, live_page: Path) -> None:
    page = open_page(live_page, "#head=3-1&relation=det")
    box = page.get_by_label("Sentence A", exact=True)
    box.press("Enter")  # what is in the sample need not be asked for
    box.fill("It rains")
    page.get_by_label("Relation", exact=True).select_option("root")  # another sentence is drawn, and the text stays
    page.locator(".slots[aria-busy='false']").wait_for()
    box.press("Enter")
    assert_texts(words_of(page, "A"), ["It", "rains"])
    assert [each["text"] for each in page.evaluate("asked")] == ["It rains"]
    page.evaluate("held = []")
    typed(page, KEYS)
    page.wait_for_function("held.length === 1")
    assert_texts(words_of(page, "A"), ["It", "rains"])
    typed(page, "It rained")
    page.wait_for_function("held.length === 2")
    assert page.evaluate("aborted.at(-1)") == KEYS
    page.evaluate("held[1](), held[0]()")
    assert_texts(words_of(page, "A"), ["It", "rained"])
    page.evaluate("held = null")
    typed(page, "Long")
    assert_texts(page.get_by_role("alert").filter(has_text="pieces"), [ANSWERS["Long"]["error"]])
    assert page.get_by_label("Sentence A", exact=True).get_attribute("aria-invalid") == "true"
    assert_texts(words_of(page, "A"), ["It", "rained"])
    typed(page, TREE)  # lines and tabs arrive as they were pasted
    page.wait_for_function("text => asked.at(-1).text === text", arg=TREE)
    assert_count(page.get_by_role("alert").filter(has_text="pieces"), 0)


def test_a_head_is_switched_off_in_one_slot(open_page: Open, live_page: Path, small: Data) -> None:
    name = small["sample"]["sentences"][2]["id"]
    page = open_page(live_page, f"#head=3-1&sentence={name}&b=on&b-kind=weight")
    assert_count(page.locator(".drawing"), 2)
    assert page.evaluate("asked") == []  # the sample has both
    page.get_by_role("button", name="3-1 off").nth(1).click()
    page.wait_for_function("asked.length === 1")
    [request] = page.evaluate("asked")
    assert request == {
        "address": "draw",
        "slot": "B",
        "model": 0,
        "kinds": ["weight"],
        "off": ["3-1"],
        "run": 0,
        "sentence": name,
    }
    assert "&b-off=3-1&" in page.url
    assert_texts(page.locator(".drawing .title"), ["A: 3-1 · weight", "B: 3-1 · weight, without 3-1"])
    page.get_by_role("button", name="3-1 off").nth(1).click()
    page.wait_for_function("!location.hash.includes('off=')")


def test_a_page_without_a_server_compares_sentences_of_the_sample(
    open_page: Open, small_page: Path, small: Data
) -> None:
    page = open_page(small_page, "#head=1-2&sentence=garden-03")
    assert_count(page.locator("textarea"), 0)
    assert page.get_by_text("attentionology serve RUN").is_visible()
    page.get_by_label("Compare with").select_option(label="the map norm")
    assert_texts(page.locator(".drawing .title"), ["A: 1-2 · weight", "B: 1-2 · norm"])
    page.get_by_label("Head B").fill("9-9")
    assert page.get_by_text("The model has 6 layers of 12 heads.").is_visible()
    page.get_by_label("Head B").fill("2-1")
    page.keyboard.press("Enter")
    page.get_by_label("Map B").select_option("weight")
    page.get_by_label("Sentence B").select_option("garden-02")
    assert_texts(page.locator(".drawing .title"), ["A: 1-2 · weight", "B: 2-1 · weight"])
    [words] = [each["rows"][1:-1] for each in small["sample"]["sentences"] if each["id"] == "garden-02"]
    assert_texts(words_of(page, "B"), words)
    assert "&b-head=2-1&b-kind=weight&b-sentence=garden-02&" in page.url
    page.reload()
    assert_texts(words_of(page, "B"), words)
    page.get_by_role("button", name="Remove B").click()
    assert_texts(page.locator(".drawing .title"), ["1-2 · weight"])
    assert "&b" not in page.url


def test_two_runs_stand_side_by_side(open_page: Open, tmp_path: Path, small: Data) -> None:
    other = {**small, "label": "second", "layers": 3, "measures": [], "cards": []}
    page = open_page(written(tmp_path, {**small, "label": "first"}, other), "#head=5-2&sentence=garden-03")
    assert_count(page.locator(".drawing"), 2)
    for slot, name in (("A", "first"), ("B", "second")):
        assert page.get_by_label(f"Run {slot}").locator("option:checked").text_content() == name
    # The other model has no fifth layer, so that it shows its first head.
    assert_texts(page.locator(".drawing .title"), ["A: 5-2 · weight", "B: 1-1 · weight"])
    page.locator(".matrix [data-head='25']").click()
    assert_texts(page.locator(".drawing .title"), ["A: 3-2 · weight", "B: 3-2 · weight"])


def test_both_sentences_of_a_minimal_pair_stand_side_by_side(open_page: Open, tmp_path: Path, small: Data) -> None:
    first, second, third, *others = small["sample"]["sentences"]
    names = ("p:3 bad", "p:3 good", "p:4 good")  # the other sentence of the last one is not stored
    pairs = [{**sentence, "id": name} for sentence, name in zip((first, second, third), names, strict=True)]
    sentences = [*pairs, *others]
    data = {**small, "sample": {**small["sample"], "sentences": sentences}, "predictions": []}
    page = open_page(written(tmp_path, data), "#head=1-2&sentence=p:3 bad")
    button = page.get_by_role("button", name="Both sentences of the pair")
    button.click()
    assert_texts(words_of(page, "A"), second["rows"][1:-1])
    assert_texts(words_of(page, "B"), first["rows"][1:-1])
    assert_texts(page.locator(".drawing .title"), ["A: 1-2 · weight", "B: 1-2 · weight"])
    assert "sentence=p:3%20good&" in page.url
    assert "b-sentence=p:3%20bad" in page.url
    assert_count(button, 0)  # both are there
    page.get_by_role("button", name="Remove B").click()
    assert_count(button, 1)
    for name in ("p:4 good", others[0]["id"]):
        page.get_by_label("Sentence A").select_option(name)
        assert_count(page.locator(".drawing"), 1)
        assert_count(button, 0)
