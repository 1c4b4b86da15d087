"""Several explorers on one page, as in a notebook."""

from __future__ import annotations

import json
import re

from attentionology.reports.page import read_bundle
from tests.acceptance.page.made_up import as_text, made_up, sentences
from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.waiting import assert_count

STYLES, SCRIPT = read_bundle("explorer.css"), read_bundle("explorer.js")


def test_explorers_on_one_page_do_not_disturb_each_other(open_page, tmp_path):
    cells = []
    for number, layers in enumerate((2, 3)):
        data = as_text(made_up(sentences(4), layers, 4))
        cells.append(
            f"<style>{STYLES}</style><div id='cell{number}'></div><script>{SCRIPT}</script>"
            f"<script>attentionology.mount(document.getElementById('cell{number}'), {data}, {{hash: false}})</script>"
        )
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset='utf-8'><h1>Mine</h1>{''.join(cells)}", encoding="utf-8")
    page = open_page(path, "#head=1-4")
    first, second = page.locator("#cell0"), page.locator("#cell1")
    assert_count(first.get_by_role("gridcell", name=re.compile("^Head")), 8)
    assert_count(second.get_by_role("gridcell", name=re.compile("^Head")), 12)
    assert_count(second.locator(".drawing"), 1)
    assert_count(second.locator("[aria-busy=true]"), 0)
    before = second.inner_html()
    first.get_by_role("gridcell", name=re.compile("^Head")).nth(6).click()
    assert first.get_by_role("heading", name="Head 2-3", exact=True).is_visible()
    first.get_by_role("link").first.click()
    assert first.get_by_role("heading", name="Head 1-2", exact=True).is_visible()
    assert second.inner_html() == before
    assert page.url.endswith("#head=1-4")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))
    assert page.locator("h1").evaluate("heading => getComputedStyle(heading).fontFamily") != first.evaluate(
        "element => getComputedStyle(element).fontFamily"
    )


def test_a_notebook_decides_whether_it_is_dark(open_page, tmp_path):
    data = as_text(made_up(sentences(3), 2, 3))
    path = tmp_path / "notebook.html"
    path.write_text(
        f"<!doctype html><meta charset='utf-8'><style>{STYLES}</style><body data-jp-theme-light='false'>"
        f"<div id='cell'></div><script>{SCRIPT}</script>"
        f"<script>attentionology.mount(document.getElementById('cell'), {data})</script>",
        encoding="utf-8",
    )
    page = open_page(path, color_scheme="light")
    color = "element => getComputedStyle(element).color"
    assert page.locator("#cell").evaluate(color) == "rgb(230, 232, 235)"
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    assert page.locator("#cell").evaluate(color) == "rgb(27, 31, 36)"


JUPYTER = """html { font-size: 10px; }
.cell { font: 20px serif; line-height: 3; letter-spacing: 2px; text-align: center; color: red; }
.cell dl dt { float: left; width: 20%; } .cell dd { float: left; width: 80%; } .cell p { margin-bottom: 1em; }
.cell svg { max-width: 100%; height: auto; } .cell tr:nth-child(even) { background: gray; }
.cell td { white-space: normal; }
.cell h3 { font-size: 3rem; } .cell button, .cell input { padding: 1rem; } div { padding: 3px; }
* { box-sizing: content-box; }"""
BOXES = """cell => [...cell.shadowRoot.querySelectorAll('h3, p, dt, dd, svg, text, button, select, input, .uses span')]
    .filter(element => !element.closest('.rows .use:nth-child(n + 5)')) // how many are drawn depends on time
    .map(element => [element.tagName, ...['width', 'height'].map(name => element.getBoundingClientRect()[name])])"""


def test_the_styles_of_a_notebook_do_not_reach_a_cell(open_page, tmp_path):
    """It is as large and as light within rules such as those of JupyterLab, which its own rules do not reach."""
    data = as_text(made_up(sentences(4), 2, 4))
    options = json.dumps({"address": "#head=1-2", "styles": STYLES}).replace("<", "\\u003c")
    cell = (
        f"<div class='cell'><p class='atl' id='mine'>Mine</p><div id='cell' style='padding: 0; width: 1000px'></div>"
        f"<script>{SCRIPT}</script>"
        f"<script>attentionology.mount(document.getElementById('cell'), {data}, {options})</script></div>"
    )
    boxes, saved_as = [], []
    for rules in ("", JUPYTER):
        path = tmp_path / f"notebook{bool(rules)}.html"
        path.write_text(
            f"<!doctype html><meta charset='utf-8'><style>{rules}</style><body data-jp-theme-light='false'>{cell}",
            encoding="utf-8",
        )
        page = open_page(path, color_scheme="light")
        page.locator("#cell .uses .use").nth(3).wait_for()
        assert_count(page.locator("#cell [aria-busy=true]"), 0)
        boxes.append(page.locator("#cell").evaluate(BOXES))
        assert page.locator("#cell .card").first.evaluate("e => getComputedStyle(e).color") == "rgb(230, 232, 235)"
        page.evaluate("document.body.dataset.jpThemeLight = 'true'")
        assert page.locator("#cell .card").first.evaluate("e => getComputedStyle(e).color") == "rgb(27, 31, 36)"
        assert page.locator("#mine").evaluate("e => getComputedStyle(e).fontFamily.includes('system-ui')") is False
        path, _ = saved(page, ".drawn", "SVG")
        saved_as.append(path.read_text("utf-8"))
    assert len(boxes[0]) > 100
    assert boxes[0] == boxes[1]
    assert saved_as[0] == saved_as[1]
    assert "made-up model" in saved_as[0]
