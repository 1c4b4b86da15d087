"""Heads drawn on sentences, as ``attentionology show`` and a notebook show them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attentionology.engine.shown_heads import Shown
from attentionology.reports.heads import HeadView
from attentionology.reports.heads.view import on_one_scale
from tests.acceptance.page.test_matrix import saved
from tests.acceptance.page.waiting import assert_count, assert_texts

WORDS = ("[CLS]", "Old", "dogs", "bark", "</script><b>", "[SEP]")
SPECIAL = (True, False, False, False, False, True)
GOLD = (None, 2, 3, -1, 3, None)
RELATIONS = (None, "amod", "nsubj", "root", "punct", None)


def view(head: int, kind: str = "weight", seed: int = 0) -> HeadView:
    values = np.random.default_rng([seed, head, len(kind)]).dirichlet(np.ones(6) / 2, 6)
    others = np.where(np.eye(6, dtype=bool) | np.array(SPECIAL), -1, values)
    guesses = tuple(None if special else int(row.argmax()) for row, special in zip(others, SPECIAL, strict=True))
    shown = values * (4 + head) if kind == "norm" else values  # the first head has the largest norms
    scale = shown.max() if kind == "norm" else None
    return HeadView("dogs", WORDS, SPECIAL, shown, 3, head, kind, scale, guesses, GOLD, RELATIONS)


VIEWS = on_one_scale([view(head, kind) for head in (9, 2) for kind in ("weight", "norm")])


@pytest.fixture
def page_of(open_page, tmp_path):
    def opened(shown: Shown, address: str = "", **options):
        shown.save(tmp_path / "shown.html")
        return open_page(tmp_path / "shown.html", address, **options)

    return opened


def opacities(panel):
    """The strengths of the lines of a panel."""
    return sorted(
        panel.locator(".base path").evaluate_all(
            "all => all.flatMap(e => e.getAttribute('d').match(/M/g).map(() => +e.getAttribute('stroke-opacity')))"
        )
    )


def test_a_page_draws_what_the_figure_draws(page_of):
    page = page_of(Shown((VIEWS,), "lines", "m"))
    panels = page.locator(".drawing > g")
    assert_count(panels, 4)
    titles = page.locator(".drawing .title").all_text_contents()
    assert titles == ["3-9 · weight", "3-9 · norm", "3-2 · weight", "3-2 · norm"]
    for index, drawn in enumerate(VIEWS):
        shares = drawn.values / (drawn.scale or 1)
        expected = sorted(np.rint(shares[np.rint(shares * 255) >= 6] * 255) / 255)
        np.testing.assert_allclose(opacities(panels.nth(index)), expected, atol=1e-4)
        of_kind = [each.values.max() for each in VIEWS if each.kind == drawn.kind]
        assert drawn.scale == (max(of_kind) if drawn.kind == "norm" else None)
        right = sum(drawn.is_right(row) is True for row in range(6))
        assert_count(panels.nth(index).locator(".guess.right"), right)
    assert page.locator("script").count() == 2
    assert page.locator("svg text", has_text="</script><b>").count() > 0


def test_words_heads_kinds_and_drawings_are_chosen(page_of):
    page = page_of(Shown((VIEWS,), "arcs", "m", special=False))
    assert_count(page.locator(".drawing > g"), 4)
    assert_count(page.locator(".drawing > g:first-child .word"), 4)
    right = sum(VIEWS[0].is_right(row) is True for row in range(6))
    assert_count(page.locator(".drawing > g:first-child .guess.right"), right)
    assert_count(page.locator(".drawing > g:first-child .guess.wrong"), 3 - right)
    assert_count(page.locator(".drawing > g:first-child .guess.unjudged"), 1)  # the root
    page.get_by_label("special tokens").check()
    assert_count(page.locator(".drawing > g:first-child .word"), 6)
    assert_count(page.locator(".drawing > g:first-child .guess.right"), right)  # special tokens are no guesses
    page.get_by_role("checkbox", name="norm").uncheck(force=True)
    page.get_by_role("checkbox", name="3-9").uncheck(force=True)
    assert_count(page.locator(".drawing .title"), 1)
    assert page.locator(".drawing .title").text_content() == "3-2 · weight"
    page.get_by_role("radio", name="lines").check(force=True)
    assert_count(page.locator(".word"), 12)
    assert page.url.endswith("#head=3-2&kind=weight&view=lines&special=on")
    page.reload()
    assert_count(page.locator(".word"), 12)
    page.locator(".word").nth(1).hover()
    best = VIEWS[2].values[1].max()
    assert f"{100 * best:.0f} %" in page.locator(".readout").text_content()
    path, _ = saved(page, ".drawn", "SVG")
    assert "Old" in path.read_text("utf-8")


def test_arrows_lead_from_head_to_dependent(page_of):
    page = page_of(Shown((VIEWS[:1],), "arcs", "m"))
    words = page.locator(".drawing .word")
    assert_count(words, 6)
    along = [float(word.locator("text").first.get_attribute("x")) for word in words.all()]

    def ends(selector: str) -> list[tuple[int, int]]:
        """The words where arrows start and end."""
        points = page.locator(selector).evaluate_all(
            "paths => paths.map(p => [0, p.getTotalLength()].map(at => p.getPointAtLength(at).x))"
        )
        words = [[int(np.abs(np.subtract(along, x)).argmin()) for x in of_path] for of_path in points]
        return sorted((start, tip) for start, tip in words)

    tree = [(GOLD[row] if row != 3 else 3, row) for row in (1, 2, 3, 4)]
    assert ends(".annotated .gold") == sorted(tree)
    assert sorted(tip for _, tip in ends(".annotated .tip")) == [1, 2, 3, 4]
    assert sorted(page.locator(".drawing .label").all_text_contents()) == ["amod", "nsubj", "punct", "root"]
    assert ends(".guess") == sorted((VIEWS[0].guesses[row], row) for row in (1, 2, 3, 4))
    assert_count(page.locator(".guessed .tip"), 4)
    assert_count(page.locator(".word.asked"), 0)  # all words are judged


def test_arcs_say_the_value_of_their_guess(page_of):
    page = page_of(Shown((VIEWS[1:2],), "arcs", "m", special=False))
    guesses = {row: guess for row, guess in enumerate(VIEWS[1].guesses) if guess is not None}
    assert_count(page.locator(".guessed title"), len(guesses))
    titles = page.locator(".guessed title").all_text_contents()
    assert [title.rpartition(", ")[0] for title in titles] == [
        f"{WORDS[row]}: guess {WORDS[guess]}" for row, guess in guesses.items()
    ]
    values = [VIEWS[1].values[row, guess] for row, guess in guesses.items()]
    assert [float(title.rpartition(", ")[2]) for title in titles] == pytest.approx(values, rel=0.06)


def test_a_saved_drawing_is_as_faint_as_that_of_the_page(page_of):
    page = page_of(Shown((VIEWS[:1],), "lines", "m"), "#head=3-9&sentence=dogs&word=from-2")
    assert_count(page.locator(".base.faded"), 1)
    assert page.locator(".drawing .axis").all_text_contents() == ["from", "to"]
    path, _ = saved(page, ".drawn", "SVG")
    assert len(re.findall(r'<g[^>]* opacity="0\.1', path.read_text("utf-8"))) == 1


@pytest.mark.parametrize("drawing", ["arcs", "matrix"])
def test_the_key_has_the_colors_of_what_it_names(page_of, drawing):
    page = page_of(Shown((VIEWS[:1],), "arcs", "m", special=False), f"#view={drawing}")
    color, style = ("each => getComputedStyle(each, '::before').borderTop" + name for name in ("Color", "Style"))
    assert_texts(page.locator(".drawn .key > span:not(.domain)"), ["guess, right", "guess, wrong", "annotation"])
    colors = []
    for name in ("right", "wrong", "gold"):
        drawn = page.locator(f".drawing path.{name}:not(.tip)").first
        colors.append(drawn.evaluate("each => getComputedStyle(each).stroke"))
        assert page.locator(f".key .{name}").evaluate(color) == colors[-1]
        dashed = drawn.evaluate("each => getComputedStyle(each).strokeDasharray") != "none"
        assert (page.locator(f".key .{name}").evaluate(style) != "solid") == dashed
    assert len(set(colors)) == 3
    for name in ("right", "wrong", "unjudged") if drawing == "arcs" else ():
        line, tip = page.locator(f".guess.{name}").first, page.locator(f".tip.{name}").first
        assert tip.evaluate("each => getComputedStyle(each).fill") == line.evaluate(
            "each => getComputedStyle(each).stroke"
        )


def test_a_wrong_guess_is_drawn_as_a_line_for_the_word_at_hand_alone(page_of):
    page = page_of(Shown((VIEWS[:1],), "lines", "m"))
    assert_count(page.locator(".drawing .word"), 12)
    assert_count(page.locator(".guess.wrong, .key .wrong, .key .gold"), 0)
    wrong = [row for row in range(6) if VIEWS[0].is_right(row) is False]
    assert wrong
    for row in wrong:
        page.locator(f".word[data-word='row-{row}']").hover()
        assert_count(page.locator(".word.focus"), 1)
        assert_count(page.locator(".guess.wrong"), 1)
        missed = [each for each in wrong if row in (each, GOLD[each])]
        assert_count(page.locator(".drawing path.gold"), len(missed))
        strength = np.rint(255 * VIEWS[0].values[row, VIEWS[0].guesses[row]]) / 255
        drawn = page.locator(".guess.wrong").evaluate("each => +each.style.strokeOpacity")
        assert drawn == pytest.approx(0.2 + 0.8 * strength, abs=0.005)  # it can be seen, however small it is
        assert_count(page.locator(".key .wrong, .key .gold"), 2)
    assert_count(page.locator(".word.asked"), 0)  # all words are judged


def test_a_matrix_has_a_cell_for_each_value(page_of):
    page = page_of(Shown((VIEWS,), "lines", "m"), "#view=matrix&head=3-9&kind=weight")
    grid = page.locator(".grid")
    box = grid.bounding_box()
    values = VIEWS[0].values
    cells = page.locator(".cells path").evaluate_all(
        "all => all.flatMap(e => e.getAttribute('d').split('z').filter(Boolean).map(part => "
        "[...part.match(/^M([\\d.]+) ([\\d.]+)h/).slice(1).map(Number), +e.getAttribute('fill-opacity')]))"
    )
    step, left, top = box["width"] / 6, min(x for x, _, _ in cells), min(y for _, y, _ in cells)
    drawn = np.zeros((6, 6))
    for x, y, opacity in cells:
        drawn[round((y - top) / step), round((x - left) / step)] = opacity
    visible = np.rint(values * 255) >= 6
    assert visible[0].any()
    assert visible[:, 0].any()
    np.testing.assert_allclose(drawn, np.where(visible, values, 0), atol=0.5 / 255 + 1e-4)
    page.mouse.move(box["x"] + 2.5 * step, box["y"] + 1.5 * step)
    assert (
        page.locator(".drawing .title")
        .text_content()
        .endswith(f"Old → dogs {100 * np.rint(255 * values[1, 2]) / 255:.{int(values[1, 2] < 0.0995)}f} %")
    )
    page.mouse.move(0, 0)
    assert_count(page.locator(".cells"), 1)
    page.locator(".word[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.locator(":focus").get_attribute("data-word") == "column-1"
    assert_count(page.locator(".cells.faded + .cells:not(.faded)"), 1)  # the column at hand stands out
    assert_count(page.locator(".outlines .guess"), 3)
    missed = sum(VIEWS[0].is_right(row) is False for row in range(6))
    assert 0 < missed < 3
    assert_count(page.locator(".outlines .gold"), missed)


def test_without_a_script_the_figure_stays(page_of):
    page = page_of(Shown((VIEWS[:1],), "lines", "m"), java_script_enabled=False)
    assert page.locator("figure svg").is_visible()
    assert page.locator("figure svg").bounding_box()["height"] > 80
    assert_count(page.locator(".atl"), 0)


def test_cells_of_a_notebook_do_not_disturb_each_other(open_page, tmp_path):
    cells = [Shown((VIEWS[:2],), "lines", "m"), Shown((VIEWS[2:], VIEWS[2:]), "arcs", "m", special=False)]
    path = tmp_path / "notebook.html"
    body = "".join(f"<section>{cell._repr_html_()}</section>" for cell in cells)
    path.write_text(f"<!doctype html><meta charset='utf-8'>{body}", encoding="utf-8")
    page = open_page(path)
    first, second = page.locator("body > section").all()
    assert_count(first.locator(".drawing .title"), 2)
    assert_count(second.locator(".drawing .title"), 4)  # two sentences
    before = second.inner_html()
    first.get_by_role("radio", name="matrix").check(force=True)
    assert_count(first.locator(".grid"), 2)
    assert second.inner_html() == before
    assert not page.url.endswith("matrix")
    assert_count(page.locator("body > section figure"), 0)
    word = second.locator(".drawing").first.locator(".word").first
    word.click()
    assert_count(second.locator(".drawing").nth(1).locator(".word[aria-pressed='true']"), 0)


def test_a_kind_that_heads_share_is_drawn_once_for_each_layer(page_of):
    shared = HeadView("dogs", WORDS, SPECIAL, VIEWS[0].values, 3, None, "attn", None, VIEWS[0].guesses)
    page = page_of(Shown(((VIEWS[0], shared, VIEWS[2]),), "lines", "m"))
    page.locator(".drawing .title").first.wait_for()
    assert page.locator(".drawing .title").all_text_contents() == ["3-9 · weight", "layer 3 · attn", "3-2 · weight"]
    assert_texts(page.get_by_role("group", name="Heads").locator("label"), ["3-9", "3-2"])
