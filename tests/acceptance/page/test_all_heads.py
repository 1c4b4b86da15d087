"""All heads on one sentence, the difference of two maps, and the order of the sentences."""

from __future__ import annotations

import copy
import csv

import numpy as np
import pytest

from tests.acceptance.page.conftest import written
from tests.acceptance.page.listing import listed, uses
from tests.acceptance.page.made_up import long_sentence, made_up
from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.test_scales import drawn_values
from tests.acceptance.page.test_sentences import DET, sentence_of, shape_of, unpacked
from tests.acceptance.page.waiting import assert_count, assert_texts, follow, wait_until

PIXELS = "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data]"


def cells_of(canvas, rows, columns):
    """The opacities of a thumbnail in the middles of its cells, which are larger than a pixel."""
    opacities = np.array(canvas.evaluate(PIXELS))[3::4]
    size = int(len(opacities) ** 0.5)
    middles = [((np.arange(n) + 0.5) * size / n).astype(int) for n in (rows, columns)]
    return opacities.reshape(size, size)[np.ix_(*middles)]


@pytest.mark.parametrize("kind", ["weight", "norm"])
def test_every_head_is_drawn_and_a_click_opens_it(open_page, small_page, small, kind):
    sentence = small["sample"]["sentences"][2]
    page = open_page(small_page, f"#head=1-2&kind={kind}&sentence={sentence['id']}&view=all")
    full = 1 if kind == "weight" else max(sentence["maps"][kind]["scales"])
    thumbnails = page.locator(".thumbnail")
    assert_count(thumbnails, 72)
    inner = slice(1, -1)  # between the special tokens
    n = len(sentence["rows"]) - 2
    for layer, head in ((1, 2), (2, 1), (6, 12)):
        thumbnail = thumbnails.nth((layer - 1) * 12 + head - 1)
        assert thumbnail.get_attribute("aria-label") == f"Open head {layer}-{head}"
        drawn = cells_of(thumbnail.locator("canvas"), n, n)
        expected = np.rint(255 * drawn_values(small, sentence, kind, layer, head)[inner, inner] / full)
        np.testing.assert_allclose(drawn, expected, atol=1)
    assert_texts(page.locator(".thumbnail.current span"), ["1-2"])
    page.get_by_role("checkbox", name="special tokens").check()
    expected = np.rint(255 * drawn_values(small, sentence, kind, 1, 1) / full)
    wait_until(lambda: np.allclose(cells_of(thumbnails.first.locator("canvas"), n + 2, n + 2), expected, atol=1))
    page.get_by_role("radio", name="share among words").check(force=True)
    assert_texts(page.locator(".key .domain"), ["0  100 %"])
    thumbnails.nth(13).click()
    page.locator(".drawing .title").wait_for()
    assert page.locator(".drawing .title").text_content() == f"2-2 · {kind}"


def test_nothing_that_a_head_attends_to_is_lost_at_512_tokens(open_page, tmp_path):
    """A thumbnail has fewer pixels than the map has cells; each pixel has the ink of the strongest cell in it."""
    data = made_up([long_sentence(510)], layers=2, heads=2)
    [sentence] = data["sample"]["sentences"]
    page = open_page(written(tmp_path, data), f"#kind=weight&sentence={sentence['id']}&view=all&special=on")
    assert_count(page.locator(".thumbnail"), 4)
    for head, thumbnail in enumerate(page.locator(".thumbnail canvas").all()):
        opacities = np.array(thumbnail.evaluate(PIXELS))[3::4]
        size = int(len(opacities) ** 0.5)
        assert size < 512
        values = np.rint(255 * drawn_values(data, sentence, "weight", head // 2 + 1, head % 2 + 1))
        pixels = (np.arange(512) * size / 512).astype(int)  # in which the cells begin
        drawn = opacities.reshape(size, size)[np.ix_(pixels, pixels)]
        assert np.minimum(drawn, values).sum() >= 0.95 * values.sum() > 0, head


@pytest.mark.parametrize(("kind", "scale"), [("weight", "absolute"), ("norm", "absolute"), ("norm", "words")])
def test_the_key_says_what_full_strength_is(open_page, small_page, small, kind, scale):
    sentence = small["sample"]["sentences"][2]
    page = open_page(small_page, f"#head=1-2&kind={kind}&sentence={sentence['id']}&view=all&scale={scale}")
    assert_count(page.locator(".thumbnail"), 72)
    said = page.locator(".key .domain").text_content().split()
    if (kind, scale) == ("norm", "absolute"):
        heads = [(layer, head) for layer in range(1, 7) for head in range(1, 13)]
        largest = max(drawn_values(small, sentence, kind, *each).max() for each in heads)
        assert [float(number) for number in said] == [0, pytest.approx(largest, rel=0.06)]
    else:
        assert said == ["0", "100", "%"]


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
    less = page.locator(".cells.less path")
    assert less.count() > 0
    color = less.first.evaluate("each => getComputedStyle(each).fill")
    assert color in page.locator(".key .ramp.less").evaluate("each => getComputedStyle(each).backgroundImage")
    for ramp, angle in ((".ramp.less", "270deg"), (".ramp:not(.less)", "90deg")):  # faint where both meet at 0
        image = page.locator(f".key {ramp}").evaluate("each => getComputedStyle(each).backgroundImage")
        assert image.startswith(f"linear-gradient({angle}, rgba(0, 0, 0, 0)")
    names = [f"{slot}: {layer}-{head} · {kind}" for slot, (kind, layer, head) in zip("AB", maps, strict=True)]
    assert page.locator(".drawing .title").text_content() == " − ".join(names)
    most = 100 * np.abs(first - second).max()
    full = f"{most:.{int(most < 9.95)}f} %"
    kind = "shares among words" if shared else "weight"
    assert (
        " ".join(page.locator(".key .domain").text_content().split()) == f"{kind}: more in B −{full} +{full} more in A"
    )
    row, column = np.unravel_index((first - second).argmin(), first.shape)
    box = page.locator(".grid").bounding_box()
    x, y = ((at + 0.5) / len(first) for at in (column, row))
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    least = 100 * (second - first).max()
    words = sentence["rows"][1:-1]
    said = f"  {words[row]} → {words[column]} −{least:.{int(least < 9.95)}f} %"
    assert_texts(page.locator(".drawing .title .value"), [said])
    page.locator("[data-word='row-1']").hover()
    assert_count(page.locator(".word.focus"), 1)
    assert_count(page.locator(".drawn .readout.hint"), 1)  # no sentence says what a word has less


def test_shares_of_two_kinds_are_compared_as_they_are(open_page, tmp_path, small):
    sample = {**small["sample"], "share_kinds": ["weight", "norm"]}
    sentence = sample["sentences"][2]
    address = f"#head=2-1&kind=weight,norm&view=difference&sentence={sentence['id']}"
    page = open_page(written(tmp_path, {**small, "sample": sample}), address)
    page.locator(".grid").wait_for()
    path, _ = saved(page, ".drawn", "CSV")
    shown = [float(row[-1]) for row in list(csv.reader(path.read_text("utf-8").splitlines()))[1:]]
    first, second = (drawn_values(small, sentence, kind, 2, 1)[1:-1, 1:-1] for kind in ("weight", "norm"))
    np.testing.assert_allclose(shown, (first - second).ravel(), atol=1e-5)


def test_sentences_are_sorted(open_page, small_page, small):
    by_length = listed(open_page(small_page, f"{DET}&sort=length"))
    lengths = [len(sentence_of(small, name)["rows"]) for name in by_length]
    assert lengths == sorted(lengths)

    def guesses(sentence, layer, head):
        stored = unpacked(sentence["guesses"]["weight/dep->head"], np.uint16, shape_of(small, sentence))
        return stored[layer - 1, head - 1]

    weights = {}
    for sentence in small["sample"]["sentences"]:
        values, picked = drawn_values(small, sentence, "weight", 1, 1), guesses(sentence, 1, 1)
        for row, relation in enumerate(sentence["relations"]):
            if relation == "det":
                weights[sentence["id"], row] = values[row, picked[row]]
    shown = [float(row["numbers"][0]) for row in uses(open_page(small_page, f"{DET}&sort=weight"))]
    assert shown == pytest.approx(sorted(weights.values(), reverse=True), abs=0.0051)
    assert shown[0] > shown[-1]
    two = DET.replace("head=1-1", "head=1-1,1-2")
    differ = {
        (each["id"], row)
        for each in small["sample"]["sentences"]
        for row, relation in enumerate(each["relations"])
        if relation == "det" and guesses(each, 1, 1)[row] != guesses(each, 1, 2)[row]
    }
    shown = [row["sentence"] for row in uses(open_page(small_page, f"{two}&sort=disagreement"))]
    assert 0 < len(differ) < len(shown)
    assert sorted(shown[: len(differ)]) == sorted(name for name, _ in differ)


def test_the_order_follows_the_second_head_in_the_same_map(open_page, small_page):
    two = f"{DET.replace('head=1-1', 'head=1-1,1-2')}&sort=disagreement"
    other = two.replace("1-2", "2-1")
    orders = [listed(open_page(small_page, address)) for address in (two, other)]
    assert orders[0] != orders[1]
    page = open_page(small_page, f"{two}&kind=weight,norm")
    assert listed(page) == orders[0]
    follow(page, f"{other}&kind=weight,norm")
    assert listed(page) == orders[1]


def test_orders_are_named_and_two_maps_compared(open_page, tmp_path, small):
    data = copy.deepcopy(small)
    for sentence in data["sample"]["sentences"]:
        sentence["guesses"]["norm/dep->head"] = sentence["guesses"]["weight/head->dep"]
    page = open_page(written(tmp_path, data), f"{DET}&kind=weight".replace("1-1", "2-4"))
    options = page.get_by_label("Sort by").locator("option")
    names = ["each document in turn", "length", "weight of the pick", "distance", "context before", "context after"]
    names.append("disagreement of two heads or maps")
    assert_texts(options, names)
    values = [option.evaluate("each => each.value") for option in options.all()]
    assert values == ["documents", "length", "weight", "distance", "left", "right", "disagreement"]
    assert [option.is_disabled() for option in options.all()] == [*[False] * 6, True]
    page.get_by_label("Compare with").select_option(label="the map norm")
    page.get_by_label("Sort by").select_option("disagreement")
    page.locator(".drawn[aria-busy='false']").wait_for()
    differ = []
    for sentence in data["sample"]["sentences"]:
        stored = (sentence["guesses"][f"weight/{direction}"] for direction in ("dep->head", "head->dep"))
        first, second = (unpacked(each, np.uint16, shape_of(data, sentence))[1, 3] for each in stored)
        asked = [row for row, relation in enumerate(sentence["relations"]) if relation == "det"]
        differ += [sentence["id"] for row in asked if first[row] != second[row]]
    shown = [row["sentence"] for row in uses(page)]
    assert 0 < len(differ) < len(shown)
    assert sorted(shown[: len(differ)]) == sorted(differ)
