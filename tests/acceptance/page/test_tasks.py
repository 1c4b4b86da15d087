"""What people come for takes at most three clicks from the top of the page, and what they then see is right."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.acceptance.page.conftest import written
from tests.acceptance.page.listing import listed
from tests.acceptance.page.test_sentences import shape_of, unpacked, verdicts
from tests.acceptance.page.waiting import assert_count

Data = dict[str, Any]
MOST = 3


class Reader:
    """Counts the clicks on a page; text is typed and Enter is pressed without any."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks = page, 0
        page.locator(".drawing").wait_for()

    def click(self, target: Any) -> None:
        target.click()
        self.clicks += 1
        assert self.clicks <= MOST

    def choose(self, name: str) -> None:
        self.click(self.page.locator(".choices label", has_text=name).first)


@pytest.fixture
def reader(open_page: Callable[..., Any], small_page: Path) -> Reader:
    return Reader(open_page(small_page))


def test_which_head_finds_subjects_and_where_does_it_fail(reader: Reader, small: Data) -> None:
    box = reader.page.get_by_role("combobox", name="Color by")
    reader.click(box)
    box.fill("nsubj")
    box.press("Enter")
    reader.choose("wrong")
    [measure] = [each for each in small["measures"] if each["id"] == "dependency/nsubj/dep->head/accuracy/weight"]
    best = max(range(72), key=lambda head: measure["values"][head])
    layer, head = best // 12 + 1, best % 12 + 1
    assert reader.page.locator(".card h3").text_content() == f"Head {layer}-{head}"
    failed = {
        each["id"] for each in small["sample"]["sentences"] if False in verdicts(small, each, (layer, head), "nsubj")
    }
    assert set(listed(reader.page)) == failed != set()


def test_cases_of_an_analysis_are_judged_by_its_own_gold(open_page: Any, tmp_path: Path, small: Data) -> None:
    """The words that an analysis calls right are right, and the trees have no say."""
    data = copy.deepcopy(small)
    judged: list[bool] = []
    for sentence in data["sample"]["sentences"]:
        sentence["guesses"]["weight/verb->subject"] = sentence["guesses"]["weight/dep->head"]
        picked = unpacked(sentence["guesses"]["weight/dep->head"], np.uint16, shape_of(data, sentence))[0, 0]
        rows = range(2, min(len(sentence["rows"]) - 2, 5))  # the head picks the word before
        cases = [(row, [row - 1, row + 1] if row % 2 else [row + 1]) for row in rows]
        judged += [int(picked[row]) in right for row, right in cases]
        fixed = {"name": "distant subject", "guesses": ["verb->subject"]}
        sentence["cases"] = [{"row": row, "right": right, **fixed} for row, right in cases]
    assert 0 < sum(judged) < len(judged)
    page = open_page(written(tmp_path, data), "#head=1-1&relation=distant%20subject&view=arcs")
    page.locator(".drawing").wait_for()
    assert f"{sum(judged)} of {len(judged)} right" in page.locator(".sentences h3").text_content()
    chosen = page.get_by_label("Relation", exact=True)
    assert chosen.locator("option:checked").text_content() == f"distant subject (n = {len(judged)})"
    assert page.locator(".drawing .annotated").count() > 0
    chosen.select_option("det")
    page.get_by_text("dep → head").first.wait_for()
    assert page.get_by_text("verb → subject").count() == 0


def test_what_does_a_head_do(reader: Reader, small: Data) -> None:
    reader.click(reader.page.locator('.matrix [data-head="12"]'))
    card = reader.page.locator(".card").first
    assert card.locator("h3").text_content() == "Head 2-1"
    [measure] = [each for each in small["measures"] if each["id"] == "dependency/obj/dep->head/accuracy/weight"]
    value, low, high = (100 * measure[name][12] for name in ("values", "low", "high"))
    line = card.locator("dl > div", has=reader.page.get_by_text("obj", exact=True))
    assert line.get_by_role("button").text_content() == f"{value:.1f} % [{low:.1f}, {high:.1f}]"
    better = sum(other > measure["values"][12] for other in measure["values"])
    assert line.locator("small").text_content() == f"n = {measure['n']} · baseline 40.0 · rank {better + 1} of 72"
    reader.click(line.get_by_role("button"))  # now it is asked this
    assert reader.page.get_by_label("Relation", exact=True).input_value() == "obj"


def test_all_heads_and_both_maps_on_a_sentence(reader: Reader) -> None:
    reader.choose("all heads")
    assert_count(reader.page.locator(".thumbnail"), 72)
    reader.choose("lines")
    reader.page.get_by_label("Compare with").select_option(label="the map norm")  # one click more
    reader.clicks += 1
    assert_count(reader.page.locator(".drawing .title"), 2)
    titles = reader.page.locator(".drawing .title").all_text_contents()
    assert [title.split(" · ")[1] for title in titles] == ["weight", "norm"]


def test_a_picture_and_a_link(reader: Reader) -> None:
    reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    with reader.page.expect_download() as download:
        reader.click(reader.page.locator(".drawn .buttons button", has_text="SVG"))
    assert "</svg>" in Path(download.value.path()).read_text("utf-8")
    reader.click(reader.page.locator('.matrix [data-head="12"]'))
    reader.click(reader.page.get_by_role("button", name="Copy link"))
    reader.page.get_by_role("status").get_by_text("Copied.").wait_for()
    assert reader.page.evaluate("navigator.clipboard.readText()") == reader.page.url
    assert "#head=2-1&" in reader.page.url
