"""Sentences of other scripts in a browser: where the first word is drawn, the direction of texts, and spaces."""

from __future__ import annotations

import pytest

from attentionology.corpora_loaders import Sentence
from tests.acceptance.page.conftest import written
from tests.acceptance.page.listing import listed, uses
from tests.acceptance.page.made_up import made_up

HEADS, RELATIONS = (2, 0, 4, 2, 2), ("det", "root", "det", "obj", "punct")
WORDS = {
    "hebrew": ("הילד", "קרא", "את", "הספר", "."),
    "arabic": ("قرأ", "الولد", "BERT", "كتاب", "."),
    "japanese": ("私", "は", "2010", "年", "。"),
    "english": ("the", "boy", "read", "2", "books"),
}
TEXTS = {"hebrew": "הילד קרא את הספר .", "japanese": "私は2010年。", "english": "the boy read 2 books"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    sentences = [Sentence(name, words, heads=HEADS, relations=RELATIONS) for name, words in WORDS.items()]
    return written(tmp_path_factory.mktemp("writing"), made_up(sentences))


def opened(open_page, path, name, view):
    page = open_page(path, f"#head=1-1&relation=det&direction=dep->head&sentence={name}&view={view}&special=on")
    page.locator(".drawing .word").first.wait_for()
    return page


SLOW_HEBREW = pytest.param("hebrew", "rtl", marks=pytest.mark.slow)
SLOW_ENGLISH = pytest.param("english", "ltr", marks=pytest.mark.slow)


def middles(page, side="row"):
    """The horizontal and the vertical middle of each word on one side, in the order of the sentence."""
    boxes = [page.locator(f".drawing [data-word='{side}-{index}']").bounding_box() for index in range(7)]
    return [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]


@pytest.mark.parametrize(("name", "direction"), [SLOW_HEBREW, ("arabic", "rtl"), SLOW_ENGLISH])
def test_the_first_word_is_where_reading_begins(open_page, path, name, direction):
    page = opened(open_page, path, name, "arcs")
    across = [x for x, _ in middles(page)]
    assert across == sorted(across, reverse=direction == "rtl")
    assert len(set(across)) == 7
    assert page.locator(".frame.scrolled").get_attribute("dir") == direction
    # An arrow ends at its word, wherever that is: the third word is a dependent of the fourth.
    page.locator(".annotated .tip").first.wait_for()
    ends = [tip.bounding_box() for tip in page.locator(".annotated .tip").all()]
    assert any(abs(end["x"] + end["width"] / 2 - across[3]) < 5 for end in ends)

    page = opened(open_page, path, name, "matrix")
    columns, rows = [x for x, _ in middles(page, "column")], middles(page)
    assert columns == sorted(columns, reverse=direction == "rtl")
    assert [y for _, y in rows] == sorted(y for _, y in rows)
    labels = {x for x, _ in rows}
    beside = (lambda x: x > max(columns)) if direction == "rtl" else (lambda x: x < min(columns))
    assert all(map(beside, labels))

    page = opened(open_page, path, name, "lines")
    sides = page.locator(".drawing .axis").all()
    assert [side.text_content() for side in sides] == (["to", "from"] if direction == "rtl" else ["from", "to"])
    attending, attended = (max(x for x, _ in middles(page, side)) for side in ("row", "column"))
    assert (attending > attended) == (direction == "rtl")


def test_the_cell_under_the_pointer_is_the_one_that_is_named(open_page, path):
    page = opened(open_page, path, "hebrew", "matrix")
    page.locator(".drawing .grid").scroll_into_view_if_needed()
    (x, _), (_, y) = middles(page, "column")[2], middles(page)[4]
    page.mouse.move(x, y)
    shown = page.locator(".drawing .title .value").text_content()
    assert "\u2068הספר\u2069 → \u2068קרא\u2069 " in shown


def test_keys_move_toward_the_word_that_is_there(open_page, path):
    for name, key in (("hebrew", "ArrowLeft"), ("english", "ArrowRight")):
        page = opened(open_page, path, name, "arcs")
        page.locator(".drawing [data-word='row-2']").focus()
        page.keyboard.press(key)
        assert page.locator(":focus").get_attribute("data-word") == "row-3"


def test_a_line_about_words_keeps_its_order(open_page, path):
    page = opened(open_page, path, "hebrew", "lines")
    page.locator(".drawing [data-word='row-1']").hover()
    page.locator(".drawn .readout:not(.hint)").wait_for()
    assert "“\u2068הילד\u2069” attends to" in page.locator(".drawn .readout").text_content()
    page = opened(open_page, path, "english", "lines")
    page.locator(".drawing [data-word='row-1']").hover()
    page.locator(".drawn .readout:not(.hint)").wait_for()
    assert "“the” attends to" in page.locator(".drawn .readout").text_content()


def test_texts_have_the_direction_and_the_spaces_of_their_script(open_page, path):
    page = opened(open_page, path, "english", "lines")
    rows = uses(page)
    assert len({row["sentence"] for row in rows}) == 4
    for row in page.locator(".rows .use").all():
        name = row.get_attribute("title")
        context = row.locator(".context")
        right_to_left = name in ("hebrew", "arabic")
        assert context.get_attribute("dir") == ("rtl" if right_to_left else "ltr")
        word, before = context.locator("b").bounding_box(), context.locator(".left bdi").bounding_box()
        if context.locator(".left").text_content():
            assert (before["x"] > word["x"]) == right_to_left
    for name, text in TEXTS.items():
        first = next(row for row in rows if row["sentence"] == name)
        assert f"{first['left']} {first['form']} {first['right']}".strip() == text or " " not in text


def test_a_search_finds_what_is_written_across_words(open_page, path):
    page = opened(open_page, path, "english", "lines")
    for text, found in (
        ("は2010年", ["japanese"]),
        ("は 2010", []),
        ("boy read", ["english"]),
        ("/הילד קרא/", ["hebrew"]),
    ):
        page.locator("input[type=search]").fill(text)
        assert listed(page) == found
