"""Words of the relation that is asked: on which side they are, and the arcs from or to them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.test_sentences import sentence_of, shape_of, unpacked


@pytest.mark.parametrize(("direction", "side"), [("dep->head", "row"), ("head->dep", "column")])
def test_judged_words_are_on_the_side_that_looks(open_page, small_page, small, direction, side):
    sentence = sentence_of(small, "garden-03")
    page = open_page(small_page, f"#head=3-5&relation=nsubj&direction={direction}&sentence=garden-03&view=lines")
    page.locator(".word.asked").first.wait_for()
    asked = [i for i, relation in enumerate(sentence["relations"]) if relation == "nsubj"]
    marked = page.locator(".word.asked").all()
    assert [word.get_attribute("data-word") for word in marked] == [f"{side}-{i}" for i in asked]
    place = f"{sentence['file']}:{sentence['line']}"
    said = f"garden-03 · {place} · {len(sentence['rows']) - 2} words"
    assert page.locator(".pager small").last.text_content() == said
    path, _ = saved(page, ".drawn", "SVG")
    title = f"garden-03 · made-up model · nsubj · {direction.replace('->', '→')}"
    assert path.read_text("utf-8").count(f">{title}</text>") == 1


@pytest.mark.parametrize("side", ["from", "to"])
def test_arcs_of_a_word_at_hand_are_those_of_its_side(open_page, small_page, small, side):
    layers, heads, n = shape_of(small, sentence_of(small, "garden-14"))
    stored = sentence_of(small, "garden-14")["maps"]["weight"]["data"]
    bytes_ = unpacked(stored, np.uint8, (layers, heads, n, n))[1, 0]
    values = np.delete((bytes_ if side == "from" else bytes_.T)[3], [0, 3, n - 1])  # the word is the third one
    page = open_page(small_page, f"#head=2-1&relation=obj&sentence=garden-14&view=arcs&word={side}-4")
    page.locator(".base.arcs path").first.wait_for(state="attached")
    np.testing.assert_allclose(sorted(opacities(page)), sorted(values[values >= 6]), atol=0.1)


def opacities(page):
    """How strongly each arc is drawn, from 0 to 255."""
    return page.locator(".base.arcs path").evaluate_all(
        "all => all.flatMap(each => each.getAttribute('d').split('M').slice(1)"
        ".map(() => 255 * each.getAttribute('stroke-opacity')))"
    )


@pytest.mark.parametrize("direction", ["dep->head", "head->dep"])
def test_arcs_without_guesses_are_those_of_the_asked_words(open_page, small_page, small, direction):
    name = "garden-14"
    sentence = sentence_of(small, name)
    layers, heads, n = shape_of(small, sentence)
    bytes_ = unpacked(sentence["maps"]["norm"]["data"], np.uint8, (layers, heads, n, n))[1, 0].copy()
    np.fill_diagonal(bytes_, 0)
    asked = [row for row, relation in enumerate(sentence["relations"]) if relation == "obj"]
    values = (bytes_ if direction == "dep->head" else bytes_.T)[asked, 1:-1].ravel()
    page = open_page(small_page, f"#head=2-1&kind=norm&relation=obj&direction={direction}&sentence={name}&view=arcs")
    page.locator(".base.arcs path").first.wait_for(state="attached")
    np.testing.assert_allclose(sorted(opacities(page)), sorted(values[values >= 6]), atol=0.1)
