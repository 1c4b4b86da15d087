"""The matrix of heads, the measures to color it by, and the card of a head."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from tests.acceptance.page.conftest import written
from tests.acceptance.page.waiting import assert_attribute, assert_count, assert_texts, follow

OBJ = "#head=2-1&measure=dependency/obj/dep->head/accuracy/weight"


def cell(page, head):
    layer, number = map(int, head.split("-"))
    return page.get_by_role("row").nth(layer).get_by_role("gridcell").nth(number - 1)


def measure_of(data, name):
    return next(measure for measure in data["measures"] if measure["id"] == name)


def test_cells_show_the_numbers_of_the_data(open_page, small_page, small):
    page = open_page(small_page, OBJ)
    measure = measure_of(small, "dependency/obj/dep->head/accuracy/weight")
    heads = page.get_by_role("gridcell", name=re.compile("^Head"))
    labels = heads.evaluate_all("cells => cells.map(cell => cell.getAttribute('aria-label'))")
    texts = heads.locator("text").all_text_contents()
    assert len(labels) == 72
    for index, value in enumerate(measure["values"]):
        name = f"Head {index // 12 + 1}-{index % 12 + 1}: {100 * value:.1f} %"
        interval = f" [{100 * measure['low'][index]:.1f}, {100 * measure['high'][index]:.1f}]"
        rank = 1 + sum(other > value for other in measure["values"])
        seen = "" if texts[index] in name + interval else f", shown as {texts[index]}"
        assert labels[index].startswith(f"{name}{interval}{seen}, rank {rank} ")
        assert abs(int(texts[index]) - 100 * value) <= 0.5 + 1e-9
    assert_count(page.get_by_text("n = 27 · baseline 40.0 %"), 1)
    fills = heads.locator(".swatch").evaluate_all("all => all.map(each => getComputedStyle(each).fill)")
    darkness = [-sum(map(float, re.findall(r"[\d.]+", fill)[:3])) for fill in fills]
    assert len(set(darkness)) > 5
    order = np.argsort(measure["values"], kind="stable")
    assert (np.diff(np.array(darkness)[order]) >= 0).all()  # larger values are never lighter
    scale = page.locator(".heads-section .scale")
    assert scale.locator("span").all_text_contents() == ["0.0", "", "100.0 %", "n = 27 · baseline 40.0 %"]
    assert scale.locator("i").get_attribute("style") == "left: 40%;"
    light = re.findall(r"light-dark\(rgb\(([\d., ]+)\)", scale.locator(".ramp").get_attribute("style"))
    sums = [sum(map(float, color.split(","))) for color in light]
    assert len(sums) == 11
    assert (np.diff(sums) < 0).all()  # from light to dark, all the way


@pytest.mark.parametrize(("largest", "digits"), [(0.164, 2), (0.064, 3)])
def test_numbers_stay_within_their_cells_on_narrow_screens(open_page, tmp_path, small, largest, digits):
    """Values between −1 and 1 have no zero before the point, and long numbers are smaller."""
    values = np.linspace(-largest, largest, 72)
    entropy = measure_of(small, "surface/entropy") | {"values": values.tolist(), "unit": "", "center": 0}
    path = written(tmp_path, small | {"measures": [entropy]})
    page = open_page(path, width=480)
    page.locator(".cell").first.wait_for()
    outer, inner, texts = (
        page.locator(f".cell {part}").evaluate_all(f"all => all.map(each => {value})")
        for part, value in (
            (".swatch", "each.getBoundingClientRect().toJSON()"),
            ("text", "each.getBoundingClientRect().toJSON()"),
            ("text", "each.textContent"),
        )
    )
    assert texts == [f"{value:.{digits}f}".replace("0.", ".", 1).replace("-", "−") for value in values]
    for cell_box, text_box in zip(outer, inner, strict=True):
        assert cell_box["left"] <= text_box["left"]
        assert text_box["right"] <= cell_box["right"]


def test_the_matrix_is_operated_by_keyboard(open_page, small_page):
    page = open_page(small_page, OBJ)
    stops = page.locator(".matrix [tabindex='0']")
    assert_count(stops, 1)
    stops.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.locator(":focus").get_attribute("aria-label").startswith("Head 3-2:")
    assert_count(page.locator(".matrix [tabindex='0']"), 1)
    assert page.locator(".matrix + * , .readout").first.text_content().startswith("Head 3-2:")
    page.keyboard.press("Enter")
    assert page.get_by_role("heading", name="Head 3-2", exact=True).is_visible()
    assert "head=3-2&" in page.url
    page.keyboard.press("End")
    page.keyboard.press("Shift+Enter")
    assert "head=3-2&" in page.url
    assert "&b-head=3-12&" in page.url
    for key, head in (("Control+Home", "1-1"), ("ArrowUp", "1-1"), ("Control+End", "6-12"), ("ArrowRight", "6-12")):
        page.keyboard.press(key)
        assert page.locator(":focus").get_attribute("aria-label").startswith(f"Head {head}:")
    cell(page, "1-5").hover()  # the pointer moved last
    assert_texts(page.locator(".heads-section .readout"), [re.compile("^Head 1-5:")])


def test_pointing_at_a_head_shows_its_number(open_page, small_page, small):
    page = open_page(small_page, OBJ)
    value = measure_of(small, "dependency/obj/dep->head/accuracy/weight")["values"][3 * 12 + 4]
    cell(page, "4-5").hover()
    readout = page.locator(".heads-section .readout")
    assert readout.text_content().startswith(f"Head 4-5: {100 * value:.1f} % [")
    page.mouse.move(0, 0)
    assert readout.text_content().startswith("Head 2-1:")
    cell(page, "4-5").click()
    assert page.get_by_role("heading", name="Head 4-5", exact=True).is_visible()
    page.go_back()
    assert page.get_by_role("heading", name="Head 2-1", exact=True).is_visible()
    page.go_forward()
    assert page.get_by_role("heading", name="Head 4-5", exact=True).is_visible()
    for head, key in (("3-3", "Shift"), ("5-1", "Control"), ("6-2", "Meta")):  # any of them puts a head into B
        cell(page, head).click(modifiers=[key])
        page.wait_for_function("head => location.hash.includes(`&b-head=${head}&`)", arg=head)
    cell(page, "6-2").click(modifiers=["Shift"])  # and takes B away again
    page.wait_for_function("location.hash.startsWith('#head=4-5&') && !location.hash.includes('&b')")


def test_back_leads_to_the_view_that_the_page_opens_with(open_page, small_page):
    page = open_page(small_page)
    name = page.locator(".card h3")
    first = name.text_content()
    assert first != "Head 4-5"
    cell(page, "4-5").click()
    assert_texts(name, ["Head 4-5"])
    page.go_back()
    assert_texts(name, [first])


def test_a_click_keeps_one_question(open_page, small_page, small):
    """The matrix, the card and the sentences go on asking the same, whatever the other head is best at."""
    whole = next(m for m in small["measures"] if m["relation"] == "all")
    single = next(m for m in small["measures"] if m["relation"] not in (None, "all"))
    page = open_page(small_page)
    for measure in (whole, single):
        follow(page, f"#head=1-1&measure={measure['id']}")
        page.get_by_role("heading", name="Head 1-1", exact=True).wait_for()
        for head in ("2-1", "4-5"):
            cell(page, head).click()
            page.get_by_role("heading", name=f"Head {head}", exact=True).wait_for()
            shown = page.get_by_role("combobox", name="Color by").input_value()
            assert shown == f"{measure['group']}: {measure['label']}"
            assert page.get_by_label("Relation").input_value() == measure["relation"]
            assert page.get_by_role("radio", name="dep→head").is_checked()
            assert_texts(page.locator(".sentences h3"), [re.compile(f"head {head}: ")])


def test_measures_are_searched_and_chosen(open_page, small_page, small):
    page = open_page(small_page)
    field = page.get_by_role("combobox", name="Color by")
    options = page.get_by_role("listbox", name="Measures").get_by_role("option")
    field.click()
    assert_count(options, len(small["measures"]))
    assert set(page.locator(".combo .group").all_text_contents()) == {measure["group"] for measure in small["measures"]}
    field.fill("obj gain")
    names = options.evaluate_all("options => options.map(each => each.getAttribute('aria-label'))")
    assert names[:2] == ["Gain over the best offset: obj, dep → head", "Gain over the best offset: obj, head → dep"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "measure=dependency/obj/head-%3Edep/gain/weight" in page.url
    assert field.input_value() == "Gain over the best offset: obj, head → dep"
    values = measure_of(small, "dependency/obj/head->dep/gain/weight")["values"]
    best = values.index(max(values))
    assert page.get_by_role("heading", name=f"Head {best // 12 + 1}-{best % 12 + 1}", exact=True).is_visible()
    field.fill("nothing like this")
    assert page.get_by_text("No measure has “nothing like this” in its name.").is_visible()
    page.keyboard.press("Escape")
    assert_count(options, 0)
    assert field.input_value() == "Gain over the best offset: obj, head → dep"
    field.click()  # the groups are shown one after the other, other than in the data
    for marked in (".active", "[aria-selected='true']"):
        chosen = page.locator(f".combo {marked}").get_attribute("aria-label")
        assert chosen == "Gain over the best offset: obj, head → dep"


def test_undefined_values_and_categories(open_page, small_page, small):
    page = open_page(small_page)
    for name, head, text in (
        ("surface/punctuation", "1-1", "Head 1-1: –, undefined"),
        ("surface/punctuation", "1-2", "Head 1-2: 25.0 %, rank 1 (equal) of 48"),
        ("clusters/cluster", "1-3", "Head 1-3: C"),
    ):
        follow(page, f"#measure={name}")
        assert_attribute(cell(page, head), "aria-label", text)
        assert page.locator(".heads-section .note").text_content() == measure_of(small, name)["note"]
    assert_texts(page.locator(".categories li"), [f" {number}: {name}" for number, name in enumerate("ABCD", start=1)])
    for number, sample in enumerate(page.locator(".categories .sample").all(), start=1):
        like = cell(page, f"1-{number}")
        assert like.locator("text").text_content() == str(number)
        fill = like.locator(".swatch").evaluate("each => getComputedStyle(each).fill")
        assert sample.evaluate("each => getComputedStyle(each).backgroundColor") == fill
    path, _ = saved(page, ".heads-section", "CSV")
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert [row["value"] for row in rows[:5]] == ["A", "B", "C", "D", "A"]


def test_rows_and_columns_are_numbered_and_compared_heads_marked(open_page, small_page):
    page = open_page(small_page, "#head=2-1,3-4")
    assert_texts(page.get_by_role("rowheader"), [str(layer) for layer in range(1, 7)])
    assert_texts(page.locator(".matrix").get_by_role("columnheader"), [str(head) for head in range(1, 13)])
    for name, heads in (("chosen", ["12"]), ("compared", ["27"])):
        marked = page.locator(f".cell.{name}")
        assert [each.get_attribute("data-head") for each in marked.all()] == heads
    ring = "each => (({stroke, strokeDasharray}) => [stroke, strokeDasharray])(getComputedStyle(each))"
    chosen, compared = (page.locator(f".cell.{name} .ring").first.evaluate(ring) for name in ("chosen", "compared"))
    assert chosen[0] == compared[0] != "none"
    assert chosen[1] == "none" != compared[1]


def test_another_relation_keeps_the_map_of_the_measure(open_page, tmp_path, small):
    accuracies = [each for each in small["measures"] if each["id"].endswith("/accuracy/weight")]
    norms = [{**each, "id": each["id"].replace("/weight", "/norm"), "kind": "norm"} for each in accuracies]
    page = open_page(written(tmp_path, {**small, "measures": [*small["measures"], *norms]}), f"{OBJ[:-6]}norm")
    page.get_by_label("Relation", exact=True).select_option("det")
    page.wait_for_function("location.hash.includes('measure=dependency/det/dep-%3Ehead/accuracy/norm')")


def test_the_card_leads_to_measures_and_heads(open_page, small_page, small):
    page = open_page(small_page, OBJ)
    card = small["cards"][12]
    page.locator(".card .words summary").click()
    assert page.locator(".card .summary").text_content() == card["summary"]
    entropy = measure_of(small, card["facts"][0]["measure"])
    page.locator(".card").get_by_role("button", name=f"{entropy['values'][12]:.3f} nats").click()
    assert page.get_by_role("combobox", name="Color by").input_value() == "Surface: entropy"
    values = measure_of(small, "surface/entropy")["values"]
    assert f"Head 2-1: {values[12]:.3f} nats" in cell(page, "2-1").get_attribute("aria-label")
    page.get_by_role("button", name="Draw head 2-2 beside").click()
    assert "&b-head=2-2&" in page.url
    page.get_by_role("button", name="Draw head 2-3 beside").click()
    assert "&b-head=2-3&" in page.url
    page.get_by_role("button", name="Open head 2-3").click()
    assert page.get_by_role("heading", name="Head 2-3", exact=True).is_visible()
    profile = page.locator(".profile svg").get_attribute("aria-label").split(", ")
    shown = small["cards"][14]["profile"]
    signs = [f"{offset:+d}" if offset else "0" for offset in shown["offsets"]]
    expected = [f"{sign}: {100 * value:.1f} %" for sign, value in zip(signs, shown["values"], strict=True)]
    assert profile == expected


def test_an_address_that_names_what_is_not_there_is_reported(open_page, small_page):
    page = open_page(small_page, "#head=99-1&measure=nothing&relation=obj&%E0%A4%A=1")
    alert = page.get_by_role("alert")
    assert alert.text_content() == "This report does not have measure “nothing”, head “99-1”."
    assert_count(page.locator(".matrix").get_by_role("gridcell"), 72 + 6)  # heads, and a summary of each layer


def test_links_to_other_parts_of_the_page_leave_the_view_alone(open_page, small_page):
    page = open_page(small_page, "#head=3-4")
    page.locator(".contents summary").click()
    page.get_by_role("link", name="Provenance").click()
    assert page.url.endswith("#provenance")
    assert page.get_by_role("heading", name="Head 3-4", exact=True).is_visible()


def test_the_best_head_of_an_error_has_the_smallest_value(open_page, small_page, small):
    values = measure_of(small, "surface/entropy as an error")["values"]
    best = values.index(min(values))
    name = f"{best // 12 + 1}-{best % 12 + 1}"
    page = open_page(small_page, "#measure=surface/entropy as an error")
    assert page.get_by_role("heading", name=f"Head {name}", exact=True).is_visible()
    assert cell(page, name).get_attribute("aria-label").endswith(", rank 1 of 72")
    assert_count(cell(page, name).locator(".best"), 1)


def saved(page, group, name):
    with page.expect_download() as download:
        page.locator(group).get_by_role("button", name=name).click()
    return Path(download.value.path()), download.value.suggested_filename


def test_the_matrix_is_saved(open_page, small_page, small):
    page = open_page(small_page, OBJ, color_scheme="dark")
    path, name = saved(page, ".heads-section", "CSV")
    assert name.endswith(".csv")
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    measure = measure_of(small, "dependency/obj/dep->head/accuracy/weight")
    assert [float(row["value"]) for row in rows] == measure["values"]
    assert [float(row["low"]) for row in rows] == measure["low"]
    assert [float(row["high"]) for row in rows] == measure["high"]
    assert {row["n"] for row in rows} == {"27"}
    assert (rows[13]["layer"], rows[13]["head"]) == ("2", "2")
    path, name = saved(page, ".heads-section", "SVG")
    root = ET.fromstring(path.read_text("utf-8"))  # noqa: S314  # what was just drawn
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "Dependency accuracy: obj, dep → head"
    said = " ".join(texts)
    assert "n = 27 · baseline 40.0 %" in said  # the legend
    assert f"made-up model on made_up.conllu · map “weight” · n = 27 · {measure['note']}" in said
    assert said.endswith("attentionology 0.")
    assert "100" in texts
    assert "light-dark" not in path.read_text("utf-8")
    path, _ = saved(page, ".heads-section", "PNG")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_saved_figure_has_the_colors_of_paper_whatever_those_of_the_screen(open_page, small_page):
    light, dark = (open_page(small_page, OBJ, color_scheme=scheme) for scheme in ("light", "dark"))
    files = [saved(page, ".heads-section", "SVG")[0].read_text("utf-8") for page in (light, dark)]
    assert files[0] == files[1]


def test_layers_have_their_mean_and_best(open_page, small_page, small):
    """Of an error rate the best is the smallest; heads without a value are left out."""
    page = open_page(small_page)
    for name, best in (("surface/entropy", max), ("surface/entropy as an error", min), ("surface/punctuation", max)):
        follow(page, f"#measure={name}")
        label = measure_of(small, name)["label"]
        page.wait_for_function("label => document.querySelector('.combo input').value.endsWith(label)", arg=label)
        found = page.locator(".of-layer").evaluate_all(
            "all => all.map(each => each.querySelector('title').textContent)"
        )
        values = measure_of(small, name)["values"]
        for layer, said in enumerate(found):
            known = [value for value in values[12 * layer : 12 * layer + 12] if value is not None]
            numbers = [float(number) for number in re.findall(r"-?\d+\.\d+", said)]
            factor = 100 if name == "surface/punctuation" else 1
            assert said.startswith(f"Layer {layer + 1}: mean ")
            assert numbers == pytest.approx([factor * sum(known) / len(known), factor * best(known)], abs=0.05)
            texts = page.locator(".of-layer").nth(layer).locator("text").all_text_contents()
            assert [float(text) for text in texts] == pytest.approx(numbers, abs=0.51 if factor == 100 else 0.051)
        assert len(found) == 6
        headings = {text: page.locator(".matrix .axis", has_text=text) for text in ("mean", "best")}
        places = [heading.get_attribute("x") for heading in headings.values()]
        below = page.locator(".of-layer").first.locator("text")
        assert places == [text.get_attribute("x") for text in below.all()]


def test_what_is_seen_in_a_cell_is_part_of_its_name(open_page, small_page):
    """Who speaks to a page says what is seen, and that is rounded: 71 rather than 70.6 %."""
    page = open_page(small_page, "#measure=dependency/det/dep->head/accuracy/weight")
    page.locator(".matrix .cell").first.wait_for()
    cells = page.locator(".matrix .cell").evaluate_all(
        "all => all.map(each => [each.querySelector('text').textContent, each.getAttribute('aria-label')])"
    )
    assert any("shown as" in name for _, name in cells)
    assert [(seen, name) for seen, name in cells if seen not in name] == []
    assert page.locator(".of-layer[aria-label]").count() == 0  # their names are titles, beside which texts are no other
