"""Figures that leave the page: at printed widths, with legend, scale, number and caption, on white."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET  # what was just drawn, by this page

import numpy as np
import pytest

from tests.acceptance.page.test_all_heads import PIXELS
from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.test_sentences import sentence_of
from tests.acceptance.page.waiting import assert_count

SVG = "{http://www.w3.org/2000/svg}"
NAME = "garden-03"


def texts(root):
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize(("width", "inches"), [("column", 3.03), ("text", 6.3)])
@pytest.mark.parametrize("view", ["lines", "arcs", "matrix", "all"])
def test_views_are_drawn_for_the_width_of_print(open_page, small_page, small, view, width, inches):
    page = open_page(small_page, f"#head=1-2&relation=all&direction=dep->head&sentence={NAME}&view={view}")
    page.locator(".drawn .buttons").get_by_label("Printed width").select_option(width)
    key = page.locator(".drawn .key > span:not(.domain)").all_text_contents()
    path, name = saved(page, ".drawn", "SVG")
    root = ET.fromstring(path.read_text("utf-8"))  # noqa: S314
    assert root.attrib["width"] == f"{inches}in"
    wide, high = (float(number) for number in root.attrib["viewBox"].split()[2:])
    assert float(root.attrib["height"].removesuffix("in")) / inches == pytest.approx(high / wide, rel=1e-3)
    said = texts(root)
    assert {text.strip() for text in key} <= set(said)  # the legend
    assert [text for text in said if text in ("0", "100 %")][-2:] == ["0", "100 %"]  # its scale
    assert len(list(root.iter(f"{SVG}linearGradient"))) == 1
    caption = " ".join(said)
    assert f"made-up model on made_up.conllu · sentence {NAME}" in caption
    assert caption.endswith("attentionology 0.")
    sizes = [float(element.attrib["font-size"].removesuffix("px")) for element in root.iter(f"{SVG}text")]
    assert min(sizes) * inches / wide * 72 >= (5 if view == "all" else 7)  # points on paper
    assert name.startswith(NAME)
    if view == "all":
        images = list(root.iter(f"{SVG}image"))
        assert len(images) == 72
        assert all(image.attrib["href"].startswith("data:image/png;base64,") for image in images)
    else:
        assert set(sentence_of(small, NAME)["rows"][1:-1]) <= set(said)
        assert "guesses right" in caption
    assert_count(page.locator(".atl-paper"), 0)


def test_a_png_has_the_dots_of_print(open_page, small_page):
    image = pytest.importorskip("PIL.Image")
    page = open_page(small_page, f"#head=1-2&sentence={NAME}&view=matrix", color_scheme="dark")
    path, _ = saved(page, ".drawn", "PNG")
    with image.open(io.BytesIO(path.read_bytes())) as opened:
        assert opened.size[0] == 909  # 3.03 inches of 300 dots
        corners = np.asarray(opened.convert("RGB"))[[0, -1], [0, -1]]
    assert (corners == 255).all()


def test_a_pdf_is_printed_of_the_figure_alone(open_page, small_page):
    page = open_page(small_page, f"#head=1-2&sentence={NAME}&view=lines")
    page.evaluate("() => { window.printed = 0; window.print = () => window.printed++; }")
    page.locator(".drawn .buttons").get_by_role("button", name="PDF").click()
    page.wait_for_function("window.printed === 1")
    page.emulate_media(media="print")
    shown = page.evaluate("[...document.body.children].filter(e => e.getClientRects().length).map(e => e.className)")
    assert shown == ["atl-printed"]
    rules = page.evaluate("document.adoptedStyleSheets.flatMap(s => [...s.cssRules].map(r => r.cssText))")
    assert any(rule.startswith("@page") and "3.03in" in rule for rule in rules)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.adoptedStyleSheets.length") == 0
    assert_count(page.locator(".atl-printed"), 0)


def test_thumbnails_are_the_maps_of_their_heads(open_page, small_page):
    """What is saved has the ink of what is drawn."""
    page = open_page(small_page, f"#head=1-2&sentence={NAME}&view=all")
    assert_count(page.locator(".thumbnail canvas"), 72)
    drawn = np.array(page.locator(".thumbnail canvas").nth(13).evaluate(PIXELS))[3::4].mean()
    path, _ = saved(page, ".drawn", "SVG")
    image = list(ET.fromstring(path.read_text("utf-8")).iter(f"{SVG}image"))[13]  # noqa: S314
    saved_ink = page.evaluate(
        """async href => {
             const image = new Image(); image.src = href; await image.decode();
             const canvas = document.createElement("canvas");
             [canvas.width, canvas.height] = [image.width, image.height];
             const context = canvas.getContext("2d");
             context.drawImage(image, 0, 0);
             const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
             return data.filter((_, i) => i % 4 === 3).reduce((sum, x) => sum + x, 0) / (data.length / 4);
           }""",
        image.attrib["href"],
    )
    assert saved_ink == pytest.approx(drawn, rel=0.1)
    assert drawn > 2
