"""Tables of a report: sorted by any column, filtered, and with their gray rows folded."""

from __future__ import annotations

import pytest

from attentionology.reports.page import Section, write_report
from tests.acceptance.page.waiting import assert_count, assert_texts
from tests.unit.test_reports import RUN

ROWS = [
    *[("obj", "3-9", "91.8 [88.3, 94.9]"), ("det", "10-2", "9.5"), ("nsubj", "3-10", "–"), ("case", "2-1", "1,200")],
    *[("amod", "1-1", "−3.0"), ("obl", "3-9 (2 equal)", "+0.5"), ("root", "–", ""), ("cc", "1-2", "1e-5")],
]
GRAY = [("rare one", "5-1", "7"), ("rare two", "5-2", "–"), ("rare three", "5-3", "5"), ("rare four", "5-4", "4")]
NUMBERS = {"91.8 [88.3, 94.9]": 91.8, "1,200": 1200.0, "−3.0": -3.0, "+0.5": 0.5, "1e-5": 1e-5}


@pytest.fixture
def table(open_page, tmp_path):
    """The table in a page, which has no explorer."""
    rows = [f"<tr{gray}><td>{'</td><td>'.join(row)}</td></tr>" for gray, row in made()]
    head = "".join(f"<th>{name}</th>" for name in ("relation", "head", "accuracy", ""))
    template = tmp_path / "section.html.j2"
    template.write_text(f"<h2>A table</h2><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>")
    write_report(tmp_path, run=RUN, sections=[Section("A report", template)])
    return open_page(tmp_path / "report.html").locator("main table").first


def made():
    return [("", row) for row in ROWS] + [(" class='rare'", row) for row in GRAY]


def column(table, number):
    return [text.strip() for text in table.locator(f"tbody td:nth-child({number + 1})").all_text_contents()]


def test_cells_without_a_value_come_last_in_both_orders(table):
    values = [row[2] for _, row in made()]
    empty = [value for value in values if value in ("–", "")]
    defined = sorted(
        (value for value in values if value not in empty), key=lambda text: NUMBERS.get(text) or float(text)
    )
    button = table.get_by_role("button", name="accuracy")
    for order, arrow in ((defined[::-1], "↓"), (defined, "↑")):
        button.click()
        assert column(table, 2) == order + empty
        assert button.evaluate("each => getComputedStyle(each, '::after').content") == f'"{arrow}"'
    button.click()
    assert column(table, 2) == values
    assert button.evaluate("each => getComputedStyle(each, '::after').content") == '"↕"'
    assert_count(table.get_by_role("button"), 3)


def test_heads_are_sorted_by_layer_and_head_and_words_from_a_to_z(table):
    heads = ["1-1", "1-2", "2-1", "3-9", "3-9 (2 equal)", "3-10", *(f"5-{head}" for head in range(1, 5)), "10-2"]
    button = table.get_by_role("button", name="head")
    button.click()
    assert column(table, 1) == [*heads[::-1], "–"]
    button.click()
    assert column(table, 1) == [*heads, "–"]
    table.get_by_role("button", name="relation").click()
    assert column(table, 0) == sorted(row[0] for _, row in made())


def test_gray_rows_are_folded_and_found(table):
    page = table.page
    shown, fold = table.locator("tbody tr:visible"), page.locator("button.fold")
    assert_count(shown, len(ROWS))
    assert fold.text_content() == "Show 4 more rows, which are gray"
    search, status = page.get_by_label("Filter the rows of this table"), page.locator(".filter [role='status']")
    for text, found in (("rare", 4), ("RARE t", 2), ("3-9", 2), ("nothing", 0)):
        search.fill(text)
        assert_texts(status, [f"{found} of 12 rows"])
        assert_count(shown, found)
    search.fill("")
    assert_texts(status, [""])
    assert_count(shown, len(ROWS))
    fold.click()
    assert_count(shown, len(ROWS) + len(GRAY))
    assert fold.text_content() == "Hide the 4 gray rows"
    usual, gray = (
        table.locator(f"tbody tr{name}").first.evaluate("each => getComputedStyle(each).color")
        for name in (":not(.rare)", ".rare")
    )
    assert (usual, gray) == ("rgb(27, 31, 36)", "rgb(107, 107, 107)")
