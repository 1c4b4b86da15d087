"""The card of a head: its measures, their maps and baselines, and its distances."""

from __future__ import annotations

import pytest

from tests.acceptance.page.conftest import written
from tests.acceptance.page.test_matrix import measure_of
from tests.acceptance.page.waiting import assert_count, assert_texts

OBJ = "dependency/obj/dep->head/accuracy/weight"


@pytest.fixture
def path(tmp_path, small):
    """The card of head 2-1 has the accuracy of two maps."""
    weights = measure_of(small, OBJ)
    norms = {**weights, "id": f"{OBJ} of norms", "kind": "norm", "values": [0.25] * 72, "baseline": 0.5}
    facts = [{"label": kind, "text": "", "measure": each["id"]} for kind, each in (("W", weights), ("N", norms))]
    cards = [*small["cards"]]
    cards[12] = {**cards[12], "facts": [*facts, cards[12]["facts"][2]]}
    return written(tmp_path, {**small, "measures": [*small["measures"], norms], "cards": cards})


def test_lines_name_their_map_if_several_are_drawn(open_page, path, small):
    page = open_page(path, f"#head=2-1&measure={OBJ}&kind=weight,norm")
    card = page.locator(".card").first
    assert_texts(card.locator("dt"), ["W weight", "N norm", "rank in the probe"])
    assert_texts(card.locator("dd").last, ["13 of 72"])
    assert_texts(card.locator(".link.current"), [card.get_by_role("button").first.text_content()])
    share = 100 * measure_of(small, OBJ)["values"][12]
    bars = card.locator(".bar").all()
    lengths = [float(bar.locator("i").get_attribute("style")[7:-2]) for bar in bars]
    assert lengths == pytest.approx([share, 25], abs=0.051)
    assert [bar.locator("b").get_attribute("style") for bar in bars] == ["left: 40%;", "left: 50%;"]
    card.get_by_role("button", name="25.0 %").click()
    assert_texts(card.locator(".link.current"), ["25.0 % [" + interval(small) + "]"])
    # The kind of map in A is that of the measure.
    assert [page.get_by_label(f"Map {slot}").input_value() for slot in "AB"] == ["norm", "weight"]
    page.get_by_label("Map B").select_option("norm")
    assert_texts(card.locator("dt"), ["N ", "rank in the probe"])
    assert_count(card.locator(".tag"), 0)


def interval(data):
    measure = measure_of(data, OBJ)
    return ", ".join(f"{100 * measure[name][12]:.1f}" for name in ("low", "high"))


def test_distances_say_the_largest_share(open_page, small_page, small):
    page = open_page(small_page, "#head=2-3")
    profile = small["cards"][14]["profile"]
    largest = max(profile["values"])
    said = f"Attention by distance in words (largest: {100 * largest:.1f} %)"
    assert page.locator(".profile figcaption").text_content() == said
    heights = [float(bar.get_attribute("height")) for bar in page.locator(".profile rect").all()]
    assert heights == pytest.approx([58 * value / largest for value in profile["values"]])
    labels = [text.replace("−", "-") for text in page.locator(".profile .axis").all_text_contents()]
    assert list(map(int, labels)) == profile["offsets"]


def test_a_file_shows_the_names_of_heads_that_its_run_had(open_page, tmp_path, small):
    names = [{"head": "2-1", "name": "objects", "note": "of verbs"}]
    page = open_page(written(tmp_path, {**small, "names": names}), "#head=2-1")
    assert_texts(page.locator(".head-name, .head-note"), ["objects", "of verbs"])
    assert_texts(page.locator(".named-heads button"), ["2-1 objects"])
    assert_count(page.get_by_role("gridcell", name="Head 2-1 (objects): "), 1)
    assert_count(page.locator(".star"), 0)  # only a server changes them
