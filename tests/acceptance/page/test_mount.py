"""Several explorers on one page, as in a notebook."""

from __future__ import annotations

import re

from attentionology.reports.page import bundled
from tests.acceptance.page.made_up import as_text, made_up, sentences
from tests.acceptance.page.waiting import assert_count

STYLES, SCRIPT = bundled("explorer.css"), bundled("explorer.js")


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
