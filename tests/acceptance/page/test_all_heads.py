"""All heads on one sentence, the difference of two maps, and the order of the sentences."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.test_scales import drawn_values
from tests.acceptance.page.test_sentences import DET, listed, sentence_of, shape_of, unpacked
from tests.acceptance.page.waiting import assert_count

PIXELS = "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data]"


def test_every_head_is_drawn_and_a_click_opens_it(open_page, small_page, small):
    sentence = small["sample"]["sentences"][2]
    page = open_page(small_page, f"#head=1-2&sentence={sentence['id']}&view=all")
    thumbnails = page.locator(".thumbnail")
    assert_count(thumbnails, 72)
    inner = slice(1, -1)  # between the special tokens
    n = len(sentence["rows"]) - 2
    for layer, head in ((1, 2), (2, 1), (6, 12)):
        thumbnail = thumbnails.nth((layer - 1) * 12 + head - 1)
        assert thumbnail.get_attribute("aria-label") == f"Open head {layer}-{head}"
        drawn = np.array(thumbnail.locator("canvas").evaluate(PIXELS)).reshape(n, n, 4)[..., 3]
        expected = np.rint(255 * drawn_values(small, sentence, "weight", layer, head)[inner, inner])
        np.testing.assert_allclose(drawn, expected, atol=1)
    thumbnails.nth(13).click()
    page.locator(".drawing .title").wait_for()
    assert page.locator(".drawing .title").text_content() == "2-2 · weight"


@pytest.mark.parametrize(
    ("chosen", "shared"), [("head=1-2,2-1&kind=weight", False), ("head=2-1&kind=weight,norm", True)]
)
def test_the_difference_is_that_of_the_values(open_page, small_page, small, chosen, shared):
    """Maps of two kinds have no common unit, so that they are compared as shares among words."""
    sentence = small["sample"]["sentences"][2]
    page = open_page(small_page, f"#{chosen}&view=difference&sentence={sentence['id']}")
    page.locator(".grid").wait_for()
    maps = [("weight", 2, 1), ("norm", 2, 1)] if shared else [("weight", 1, 2), ("weight", 2, 1)]
    first, second = (drawn_values(small, sentence, *each)[1:-1, 1:-1] for each in maps)
    if shared:
        first, second = (values / values.sum(1, keepdims=True) for values in (first, second))
    path, _ = saved(page, ".drawn", "CSV")
    with path.open(encoding="utf-8") as file:
        shown = np.array([float(row[-1]) for row in list(csv.reader(file))[1:]]).reshape(first.shape)
    np.testing.assert_allclose(shown, first - second, atol=1e-5)
    assert (first - second).min() < -0.01
    assert page.locator(".cells.less path").count() > 0


def test_sentences_are_sorted(open_page, small_page, small):
    by_length = listed(open_page(small_page, f"{DET}&sort=length"))
    lengths = [len(sentence_of(small, name)["rows"]) for name in by_length]
    assert lengths == sorted(lengths)

    def guesses(sentence, layer, head):
        stored = unpacked(sentence["guesses"]["weight/dep->head"], np.uint16, shape_of(small, sentence))
        return stored[layer - 1, head - 1]

    weights, differing = [], []
    for name in listed(open_page(small_page, f"{DET}&sort=weight")):
        sentence = sentence_of(small, name)
        asked = [row for row, relation in enumerate(sentence["relations"]) if relation == "det"]
        values, picked = drawn_values(small, sentence, "weight", 1, 1), guesses(sentence, 1, 1)
        weights.append(np.mean([values[row, picked[row]] for row in asked if picked[row] != 65535] or [0]))
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > weights[-1]
    two = DET.replace("head=1-1", "head=1-1,1-2")
    for name in listed(open_page(small_page, f"{two}&sort=disagreement")):
        sentence = sentence_of(small, name)
        asked = [row for row, relation in enumerate(sentence["relations"]) if relation == "det"]
        first, second = guesses(sentence, 1, 1), guesses(sentence, 1, 2)
        differing.append(np.mean([first[row] != second[row] for row in asked]))
    assert differing == sorted(differing, reverse=True)
    assert differing[0] > differing[-1]
