"""The concordance: a row for each word that a head is asked about, which rows are listed, and what a click does."""

from __future__ import annotations

import copy
import csv
import io
from collections import Counter

import numpy as np
import pytest

from tests.acceptance.page.conftest import written
from tests.acceptance.page.listing import choose, uses
from tests.acceptance.page.test_sentences import DET, sentence_of, shape_of, unpacked
from tests.acceptance.page.waiting import assert_count, assert_texts, follow


def expected_uses(data, head, relation, direction="dep->head"):
    """The rows of a head for a relation, by sentence and word, counted in another way than in the page."""
    layer, number = head
    found = {}
    for sentence in data["sample"]["sentences"]:
        shape = shape_of(data, sentence)
        guesses = unpacked(sentence["guesses"][f"weight/{direction}"], np.uint16, shape)[layer - 1, number - 1]
        stored = unpacked(sentence["maps"]["weight"]["data"], np.uint8, (*shape, shape[2]))[layer - 1, number - 1]
        values = stored if direction == "dep->head" else stored.T
        for word, (gold, name) in enumerate(zip(sentence["heads"], sentence["relations"], strict=True)):
            if name == relation:
                pick = int(guesses[word])
                weights = values[word, pick] / 255, values[word, gold] / 255
                found[sentence["id"], word] = (pick, gold, *weights)
    return found


@pytest.mark.parametrize("direction", ["dep->head", "head->dep"])
def test_rows_are_words_in_their_contexts_with_what_the_head_picks(open_page, small_page, small, direction):
    page = open_page(small_page, DET.replace("dep->head", direction))
    rows, expected = uses(page), expected_uses(small, (1, 1), "det", direction)
    assert len(rows) == len(expected)
    found = {}
    for row in rows:
        words = sentence_of(small, row["sentence"])["rows"]
        texts = [" ".join(words[1:word]) for word in range(1, len(words))]
        word = texts.index(row["left"]) + 1
        assert (row["form"], row["right"]) == (words[word], " ".join(words[word + 1 : -1]))
        pick, gold, weight, of_gold = expected[row["sentence"], word]
        assert (row["picked"], row["gold"]) == (words[pick], words[gold])
        assert row["verdict"].startswith("✓" if pick == gold else "✗")
        for text, value in zip(row["numbers"], (weight, of_gold), strict=False):
            assert abs(float(text.removeprefix("<")) - value) <= (0.01 if "<" in text else 0.0051)
        assert int(row["numbers"][2].replace("−", "-")) == pick - word
        found[row["sentence"], word] = row
    assert found.keys() == expected.keys()
    right = sum(pick == gold for pick, gold, *_ in expected.values())
    share = f"{100 * right / len(expected):.1f} %"
    assert f"{len(rows)} uses · {right} of {len(rows)} right ({share})" in page.locator(".count").text_content()


def test_rows_are_filtered_by_part_of_speech_and_distance_and_sorted_by_weight(open_page, small_page, small):
    page = open_page(small_page, "#head=2-4&relation=all&direction=dep->head")
    every = uses(page)
    page.get_by_label("Part of speech").select_option("NOUN")
    tags = Counter(
        tag
        for each in small["sample"]["sentences"]
        for tag, head in zip(each["tags"], each["heads"], strict=bool(each["tags"]))
        if head is not None
    )
    assert len(uses(page)) == tags["NOUN"] < len(every)
    page.get_by_label("Part of speech").select_option("")
    far = [row for row in every if abs(int(row["numbers"][2].replace("−", "-"))) >= 7]
    page.get_by_label("Distance", exact=True).select_option("picked 7-")
    assert uses(page) == far != []
    page.get_by_label("Sort by").select_option("weight")
    weights = [row["numbers"][0] for row in uses(page)]
    assert [float(weight.removeprefix("<")) for weight in weights] == sorted(
        (float(row["numbers"][0].removeprefix("<")) for row in far), reverse=True
    )
    assert "sort=weight" in page.url


def test_a_row_draws_its_sentence_with_the_word_at_hand(open_page, small_page, small):
    page = open_page(small_page, DET)
    third = uses(page)[3]
    choose(page, 3)
    page.locator(".word.focus").wait_for()
    assert_texts(page.locator(".drawn .word.focus"), [third["form"]])
    assert page.locator(".pager small").last.text_content().startswith(third["sentence"])
    assert "word=from-" in page.url
    assert_count(page.locator(".rows .use.current"), 1)
    follow(page, DET.replace("dep->head", "head->dep"))
    uses(page)
    choose(page, 0)
    page.locator(".word.focus").wait_for()
    assert "word=to-" in page.url  # the word whose column is read


def test_rows_are_operated_by_keyboard_and_saved(open_page, small_page, tmp_path):
    page = open_page(small_page, DET)
    rows = uses(page)
    grid = page.get_by_role("grid", name="Uses of the head")
    grid.focus()
    page.keyboard.press("Home")
    for key in ("ArrowDown", "Space", "ArrowDown", "Space"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.locator(".word.focus").wait_for()
    assert page.locator(".pager small").last.text_content().startswith(rows[2]["sentence"])
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV of 2 selected rows").click()
    download.value.save_as(tmp_path / "uses.csv")
    saved = list(csv.DictReader(io.StringIO((tmp_path / "uses.csv").read_text("utf-8"))))
    assert [(row["sentence"], row["form"], row["picked"]) for row in saved] == [
        (row["sentence"], row["form"], row["picked"]) for row in rows[1:3]
    ]
    assert {row["verdict"] for row in saved} <= {"right", "wrong"}
    grid.focus()
    page.keyboard.press("End")
    page.locator(f".rows .use[aria-rowindex='{len(rows) + 1}']").wait_for()
    assert_count(page.locator(".rows .use.active"), 1)


def test_without_gold_nothing_is_right_or_wrong(open_page, small, tmp_path):
    data = copy.deepcopy(small)
    for sentence in data["sample"]["sentences"]:
        sentence.update(heads=[], relations=[], tags=[], mentions=[])
    data["measures"] = [each for each in data["measures"] if not each["relation"]]
    page = open_page(written(tmp_path, data), "#head=1-2")
    rows = uses(page)
    assert len(rows) == sum(len(each["rows"]) - 2 for each in data["sample"]["sentences"])
    assert {row["gold"] for row in rows} == {row["verdict"] for row in rows} == {None}
    assert_count(page.get_by_role("radio", name="wrong"), 0)
    assert "right" not in page.locator(".count").text_content()
    assert len({row["picked"] for row in rows}) > 20


def test_relations_are_listed_once_with_their_numbers(open_page, small_page, small):
    page = open_page(small_page, "#head=1-1&relation=none")
    page.locator(".drawing, .count").first.wait_for()
    options = page.get_by_label("Relation", exact=True).locator("option")
    counts = Counter(name for each in small["sample"]["sentences"] for name in each["relations"] if name)
    repeated = [each["entity"] for sentence in small["sample"]["sentences"] for each in sentence["mentions"]]
    assert "none" not in counts
    texts = options.all_text_contents()
    assert texts[:2] == ["any", "all"]
    assert (
        texts[-1]
        == "none (not in the sample)"
        == page.get_by_label("Relation", exact=True).locator("option:checked").text_content()
    )
    mentioned = [text for text in texts if text.startswith("coreference")]
    assert len(mentioned) == bool(repeated)
    named = [text for text in texts[2:-1] if text not in mentioned]
    assert sorted(named) == sorted(f"{name} (n = {n})" for name, n in counts.items())
    numbers = [int(text.rpartition(" ")[2][:-1]) for text in texts[2:-1]]
    assert numbers == sorted(numbers, reverse=True)
    assert page.locator(".sentences > .note").text_content() == small["sample"]["note"]
