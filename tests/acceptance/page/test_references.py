"""What a head is read beside: the marks of its card, the values of one question, and the curve over layers."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.page.conftest import written
from tests.acceptance.page.test_matrix import measure_of
from tests.acceptance.page.waiting import assert_count, assert_texts

OBJ = "dependency/obj/dep->head/accuracy/weight"
ADDRESS = f"#head=2-1&measure={OBJ}&relation=obj&direction=dep->head"


@pytest.fixture(scope="module")
def path(tmp_path_factory, small):
    """The accuracy for objects has marks, of which one was not counted, and a curve."""
    accuracy = {**measure_of(small, OBJ), "reference": "dependency/obj/weight"}
    over = {**accuracy, "id": OBJ.replace("accuracy", "over_rule"), "label": "obj, over", "center": 0, "baseline": None}
    over |= {"values": [value - 0.6 for value in accuracy["values"]], "low": None, "high": None}
    marks = [
        {"role": "heldout", "label": "best head, held out", "value": 0.5, "low": 0.4, "high": 0.6, "note": 50 * "on "},
        {"role": "rule", "label": "rules", "value": 0.6, "low": None, "high": None, "note": "a rule"},
        {"role": "random", "label": "random weights", "value": None, "low": None, "high": None, "note": "not counted"},
    ]
    layers = {"values": [0.1, 0.5, 0.4, 0.3, None, 0.2], "low": None, "high": None, "random": None}
    reference = {"id": "dependency/obj/weight", "label": "obj", "marks": marks, "layers": layers, "beside": ""}
    others = [each for each in small["measures"] if each["id"] != OBJ]
    data = {**small, "measures": [accuracy, over, *others], "references": [reference]}
    return written(tmp_path_factory.mktemp("references"), data)


def test_marks_stand_at_their_values_on_one_axis(open_page, path, small):
    page = open_page(path, ADDRESS)
    rows = page.locator(".marks li")
    names = ["head 2-1", "best head, held out", "rules", "random weights"]
    assert [text.strip() for text in rows.locator(".name").all_text_contents()] == names
    value = measure_of(small, OBJ)["values"][12]
    for row, expected in zip(rows.all()[:3], (value, 0.5, 0.6), strict=True):
        track, mark = row.locator(".track").bounding_box(), row.locator("b svg").bounding_box()
        place = (mark["x"] + mark["width"] / 2 - track["x"]) / track["width"]
        assert place == pytest.approx(expected, abs=0.02)
        assert row.locator(".value").text_content().startswith(f"{100 * expected:.1f} %")
    assert_texts(rows.last.locator(".missing"), ["not counted"])
    shapes = rows.locator(".name svg").evaluate_all("all => all.map(each => each.innerHTML)")
    assert len(set(shapes)) == 4  # which differ also without colors
    page.get_by_text("What the marks are").click()
    # A list without buttons cannot be scrolled with the keyboard, so it must be high enough to show all of its lines.
    notes = page.locator(".marks dl")
    assert notes.evaluate("e => [e.scrollHeight > 210, e.scrollHeight - e.clientHeight]") == [True, 0]


def test_the_values_of_one_question_keep_the_head_and_the_question(open_page, path):
    page = open_page(path, ADDRESS)
    options = page.get_by_role("group", name="Value of each head").get_by_role("radio")
    assert_count(options, 2)
    page.get_by_role("radio", name="− best rule").check(force=True)
    assert page.get_by_role("combobox", name="Color by").input_value().endswith("obj, over")
    assert page.get_by_label("Relation").input_value() == "obj"
    page.get_by_role("heading", name="Head 2-1", exact=True).wait_for()
    assert_texts(page.locator(".marks figcaption"), [re.compile("^obj, dep → head")])  # still the accuracy
    low, high = page.locator(".heads-section .scale > span").all_text_contents()[::2][:2]
    assert low.replace("−", "+") == high.removesuffix(" %")  # around 0


def test_the_curve_has_a_point_for_each_layer_with_a_value(open_page, path):
    page = open_page(path, ADDRESS)
    curve = page.locator(".curve svg")
    assert_count(curve.locator("circle"), 5)
    heights = [float(circle.get_attribute("cy")) for circle in curve.locator("circle").all()]
    order = sorted(range(5), key=heights.__getitem__)
    assert order == [1, 2, 3, 4, 0]  # of 50, 40, 30, 20 and 10 %, the highest first
    assert "layer 5 undefined" in curve.get_attribute("aria-label")
    assert_texts(curve.locator(".series-name"), ["rules", "obj"])
    page.get_by_role("combobox", name="Color by").fill("entropy")
    page.keyboard.press("Enter")
    assert_count(page.locator(".curve"), 0)
