"""The table of best heads says what its CSV file says, wherever it is shown."""

from __future__ import annotations

import pytest

from attentionology.analyses.dependency.section import DependencyResults, best_table
from attentionology.analyses.shared.best_head import with_control
from tests.maps import counted_words
from tests.shown_tables import as_shown, distinct, in_latex, in_terminal, on_page

MIN_COUNT = 20
SHARES = {
    "accuracy": "accuracy accuracy_low accuracy_high",
    "held-out": "heldout_accuracy heldout_min heldout_max",
    "random weights": "control_accuracy",
}
POINTS = {"gain": "gain gain_low gain_high", "held-out gain": "heldout_gain heldout_gain_low heldout_gain_high"}
WITHOUT_INTERVAL = {"held-out": "heldout_accuracy"}
"""What a terminal has no room for."""


@pytest.fixture(scope="module")
def results():
    tables = counted_words().compute()
    best = distinct(with_control(tables.best, [tables.best]))
    best.loc[1, ["offset_correct", "tied"]] = [0, 3]
    return DependencyResults(tables.cells, best, (tables.best,), MIN_COUNT, ("map “weight”",))


def described(row, head, n):
    """What every display says beside the numbers."""
    arrow = {"dep->head": "dep→head", "head->dep": "head→dep"}[row["direction"]]
    return {"relation": row["relation"], "n": n, head: f"{row['layer']}-{row['head']}", "direction": arrow}


def expected(results, shares, points, *, page):
    """The cells of all rows by heading, written from the columns of the table of results."""
    rows = [row for row in results.best.to_dict("records") if row["relation"] != "root"]
    rows.sort(key=lambda row: row["total"] < MIN_COUNT)
    percent = " %" if page else ""
    for row in rows:
        n = f"{row['total']:,}" if row["total"] >= MIN_COUNT else f"({row['total']:,})"
        cells = described(row, "attention head" if page else "head", n)
        if page and row["tied"] > 1:
            cells["attention head"] += f" ({row['tied']} equal)"
        offset = f" ({row['offset']:+d})" if row["offset_correct"] else ""
        cells[f"offset{percent}"] = as_shown(row, "offset_accuracy") + offset
        cells |= {name + percent: as_shown(row, columns) for name, columns in shares.items()}
        cells |= {name: as_shown(row, columns, "+") for name, columns in points.items()}
        yield cells


def test_page_and_latex_say_what_the_csv_file_says(results):
    table = best_table(results)
    cells = list(expected(results, SHARES, POINTS, page=True))
    assert in_latex(table) == cells
    assert [{name: text for name, text in row.items() if name} for row in on_page(table)] == cells


def test_a_wide_terminal_says_what_the_csv_file_says(results):
    shares = {name.replace(" weights", ""): columns for name, columns in (SHARES | WITHOUT_INTERVAL).items()}
    points = {"held-out gain": POINTS["held-out gain"]}
    assert in_terminal(best_table(results), 150) == list(expected(results, shares, points, page=False))


def test_bars_are_as_long_as_the_accuracy_and_marked_at_the_offset(results):
    page = str(best_table(results))
    for row in results.best[results.best["relation"] != "root"].to_dict("records"):
        bar, mark = (f"{100 * row[name]:.1f}%" for name in ("accuracy", "offset_accuracy"))
        assert f'<i style="width:{bar}"></i><b style="left:{mark}"></b>' in page


def test_rows_of_few_words_are_gray_and_totals_are_marked(results):
    table = best_table(results)
    styles = {row["relation"]: table.style(row) for row in table.rows}
    assert styles["all"] == "total"
    assert {name for name, style in styles.items() if "rare" in style} == {
        row["relation"] for row in results.best.to_dict("records") if row["total"] < MIN_COUNT
    } - {"root"}


def test_the_legend_explains_every_number(results):
    legend = best_table(results).legend
    for name in (*SHARES, *POINTS, "offset"):
        assert f"<dt>{name}</dt>" in legend
    assert "the best of 12 on these same words" in legend  # 2 layers, 3 heads, 2 directions
    without = DependencyResults(results.cells, results.best.drop(columns="control_accuracy"))
    assert "random weights" not in best_table(without).legend
