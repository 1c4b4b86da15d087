"""The ensemble of a relation: the average of maps, each as it is read, and what it picks."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

from tests.acceptance.page.conftest import written
from tests.acceptance.page.test_sentences import sentence_of, unpacked
from tests.acceptance.page.waiting import assert_count, follow

MEMBERS = [("2-1", "dep->head"), ("1-3", "head->dep"), ("2-4", "both")]
OBJECTS = "#head=2-1&relation=obj&direction=dep->head&measure=dependency/obj/dep->head/accuracy/weight&ensemble=on"


@pytest.fixture(scope="module")
def data(small):
    ensembles = [{"relation": "obj", "kind": "weight", "heads": [{"head": h, "direction": d} for h, d in MEMBERS]}]
    return {**copy.deepcopy(small), "ensembles": ensembles}


def by_hand(data, sentence):
    """The average of the stored values, and the largest error that their rounding can make in a difference."""
    rows = len(sentence["rows"])
    shape = (data["layers"], data["heads"], rows, rows)
    values = unpacked(sentence["maps"]["weight"]["data"], np.uint8, shape).astype(np.float64) / 255
    total, error = np.zeros((rows, rows)), 0.0
    for name, direction in MEMBERS:
        layer, head = (int(number) - 1 for number in name.split("-"))
        if direction != "head->dep":
            total, error = total + values[layer, head], error + 1 / 255
        if direction != "dep->head":
            total, error = total + values[layer, head].T, error + 1 / 255
    return total / len(MEMBERS), error / len(MEMBERS)


def test_the_ensemble_is_judged_by_the_average_of_its_maps(open_page, tmp_path, data):
    right = unsure = asked = 0
    for sentence in data["sample"]["sentences"]:
        mean, error = by_hand(data, sentence)
        words = [i for i, special in enumerate(sentence["special"]) if not special]
        for word, (gold, relation) in enumerate(zip(sentence["heads"], sentence["relations"], strict=True)):
            if relation != "obj":
                continue
            others = sorted((i for i in words if i != word), key=lambda i: -mean[word, i])
            asked += 1
            if mean[word, others[0]] - mean[word, others[1]] > 1.0001 * error:
                right += others[0] == gold
            else:
                unsure += 1
    assert 0 < unsure < asked / 2
    page = open_page(written(tmp_path, data), OBJECTS)
    heading = page.locator(".sentences h3 small", has_text="ensemble")
    heading.wait_for()
    text = heading.text_content()
    assert f"ensemble: {right} of {asked - unsure} right" in text
    assert f"too close to tell after rounding: {unsure}" in text
    page.get_by_label("Relation", exact=True).select_option("det")
    assert_count(heading, 0)  # it has no ensemble


def test_guesses_of_the_ensemble_are_read_alike_in_both_directions_of_the_head(open_page, tmp_path, data):
    chosen = next(each for each in data["sample"]["sentences"] if "obj" in each["relations"])
    mean, _ = by_hand(data, chosen)
    page = open_page(written(tmp_path, data), f"{OBJECTS}&sentence={chosen['id']}&view=matrix")
    for direction in ("dep->head", "head->dep"):
        follow(page, f"{OBJECTS}&sentence={chosen['id']}&view=matrix".replace("dep->head", direction, 1))
        ensemble = page.locator(".drawing > g", has=page.locator(".title", has_text="ensemble"))
        ensemble.locator(".guess").first.wait_for()
        assert page.get_by_role("radio", name=direction.replace("->", "→")).is_checked()
        grid = [float(ensemble.locator(".grid").get_attribute(name)) for name in ("x", "y", "width")]
        step = grid[2] / (len(chosen["rows"]) - 2)
        for outline in ensemble.locator(".guess").all():
            x, y = (float(number) for number in re.findall(r"[\d.]+", outline.get_attribute("d"))[:2])
            row, column = round((y - grid[1]) / step) + 1, round((x - grid[0]) / step) + 1
            assert chosen["relations"][row] == "obj"
            inner = [i for i, special in enumerate(chosen["special"]) if not special and i != row]
            assert column == max(inner, key=lambda i: mean[row, i])


def test_the_ensemble_is_drawn_beside_the_head(open_page, tmp_path, data):
    chosen = next(each for each in data["sample"]["sentences"] if "obj" in each["relations"])
    mean, _ = by_hand(data, sentence_of(data, chosen["id"]))
    word = chosen["relations"].index("obj")
    page = open_page(written(tmp_path, data), f"{OBJECTS}&sentence={chosen['id']}&word=from-{word + 1}")
    title = page.locator(".drawing .title", has_text="ensemble")
    assert title.text_content() == "ensemble 2-1 + 1-3← + 2-4↔ · weight"
    readout = page.locator(".drawn .readout span", has_text="ensemble").text_content()
    shown = [float(value) for value in re.findall(r"([\d.]+) %", readout)]
    inner = [i for i, special in enumerate(chosen["special"]) if not special]
    np.testing.assert_allclose(shown, sorted(100 * mean[word, inner])[::-1][: len(shown)], atol=0.51)
    page.get_by_role("checkbox", name=re.compile("^ensemble")).uncheck()
    page.locator(".drawing .title", has_text="ensemble").wait_for(state="detached")
    assert "ensemble=" not in page.url


def test_the_heads_of_an_ensemble_of_a_causal_model_see_all_words_together(open_page, tmp_path, data):
    causal = {**data, "causal": True, "ensembles": [{**data["ensembles"][0], "relation": "nsubj"}]}
    address = "#head=2-1&relation=nsubj&direction=dep->head&sentence=garden-03&view=arcs&ensemble=on"
    page = open_page(written(tmp_path, causal), address)
    panels = page.locator(".drawing > g")
    assert_count(panels, 2)
    assert_count(panels.first.locator(".guess.right, .guess.wrong"), 0)  # the verb comes after its subject
    assert_count(panels.last.locator(".guess.right, .guess.wrong"), 1)
