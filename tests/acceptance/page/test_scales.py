"""What full strength stands for: one scale for all drawings of a kind, and shares among words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.acceptance.page.test_sentences import shape_of, unpacked
from tests.acceptance.page.waiting import assert_texts, follow


def drawn_values(data, sentence, kind, layer, head):
    """The stored values of a head, in raw units."""
    layers, heads, rows = shape_of(data, sentence)
    stored = sentence["maps"][kind]
    shares = unpacked(stored["data"], np.uint8, (layers, heads, rows, rows)) / 255
    return shares[layer - 1, head - 1] * stored["scales"][(layer - 1) * heads + head - 1]


def domains(page):
    """What the legend says of each kind: the value that is drawn at full strength."""
    page.locator(".key .domain").first.wait_for()
    said = (re.fullmatch(r"(?:(\w+): )?0 +(.+)", text) for text in page.locator(".key .domain").all_inner_texts())
    return {match[1]: match[2] for match in said if match}


def test_all_heads_of_a_kind_have_one_scale(open_page, small_page, small):
    sentence = small["sample"]["sentences"][2]
    page = open_page(small_page, f"#head=1-2,5-3&kind=norm&sentence={sentence['id']}")
    largest = max(drawn_values(small, sentence, "norm", *head).max() for head in [(1, 2), (5, 3)])
    page.locator(".key .domain >> nth=1").wait_for()
    for said in page.locator(".key .domain").all_inner_texts():  # that of A, and that of B
        assert float(said.split()[1]) == pytest.approx(largest, rel=0.06)  # two digits
    follow(page, f"#head=1-2,5-3&kind=weight&sentence={sentence['id']}")
    assert_texts(page.locator(".key .domain"), ["0  100 %", "0  100 %"])


def test_shares_are_those_among_words(open_page, small_page, small):
    sentence = small["sample"]["sentences"][2]
    inner = slice(1, -1)  # between the special tokens
    address = f"#head=2-1&kind=norm&sentence={sentence['id']}&word=from-2"
    values = drawn_values(small, sentence, "norm", 2, 1)[1, inner]
    expected = sorted(100 * values / values.sum())[::-1]
    for special in ("off", "on"):
        page = open_page(small_page, f"{address}&special={special}&scale=words")
        assert domains(page) == {None: "100 %"}
        readout = page.locator(".drawn .readout").text_content()
        shown = [float(value) for value in re.findall(r"([\d.]+) %", readout)]
        np.testing.assert_allclose(shown, expected[: len(shown)], atol=0.51)
    page.get_by_label("as they are").check()
    page.wait_for_url(re.compile(r"^(?!.*scale=)"))
    assert " %" not in page.locator(".drawn .readout").text_content()


def test_numbers_beside_words_are_the_values(open_page, small_page, small):
    sentence = small["sample"]["sentences"][2]
    page = open_page(small_page, f"#head=2-1&kind=norm&sentence={sentence['id']}&word=from-2&view=lines")
    values = drawn_values(small, sentence, "norm", 2, 1)
    visible = [value for value in values[1, 1:-1] if value >= 3 / 255 * values.max()]
    texts = page.locator(".drawing text.value").all_text_contents()
    assert [float(text) for text in texts] == pytest.approx(visible, rel=0.051)


def test_names_of_relations_lie_beside_each_other(open_page, small_page, small):
    page = open_page(small_page, "#head=1-1&view=arcs&relation=all", width=1600)
    for sentence in small["sample"]["sentences"][:12]:
        page.evaluate(f"location.hash = '#head=1-1&view=arcs&relation=all&sentence={sentence['id']}'")
        assert_texts(page.locator(".drawing .word > text"), sentence["rows"][1:-1])
        boxes = page.locator(".drawing .label").evaluate_all(
            "labels => labels.map(each => each.getBBox()).map(b => [b.x, b.x + b.width, b.y, b.y + b.height])"
        )
        assert len(boxes) == len(sentence["rows"]) - 2
        for i, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[:i]:
                beside = right <= other[0] or other[1] <= left
                assert beside or bottom <= other[2] + 3 or other[3] <= top + 3


def test_a_word_at_hand_has_the_names_of_its_relations_alone(open_page, small_page, small):
    sentence = small["sample"]["sentences"][2]
    page = open_page(small_page, f"#head=1-1&view=arcs&relation=all&sentence={sentence['id']}")
    words = list(enumerate(zip(sentence["relations"], sentence["heads"], strict=True)))[1:-1]
    for index, _ in words:
        page.locator(f".word[data-word='row-{index}']").hover()
        assert_texts(
            page.locator(".drawing .label"), [relation for row, (relation, head) in words if index in (row, head)]
        )
