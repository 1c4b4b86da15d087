"""What `make shown` writes: columns in an order that fits all runs, and blocks of pages."""

from __future__ import annotations

import pytest

from tests.renew import merge_columns, renew_block

PRESENT = ["relation", "map", "n", "accuracy", "reach", "random"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([["relation", "n", "accuracy"], ["relation", "map", "n", "random"]], PRESENT),
        ([["relation", "accuracy", "n"], ["map", "n"]], ["relation", "map", "accuracy", "n", "reach"]),
        ([["relation", "map", "new", "n"], ["n", "random"]], ["relation", "map", "new", "n", "reach", "random"]),
    ],
    ids=["all fit", "moved", "new"],
)
def test_columns_stay_in_their_order_unless_a_run_has_another(found, expected):
    """No run has the column *reach*, and it stays; others that none has are dropped."""
    assert merge_columns(PRESENT, found) == expected


def test_lines_of_a_block_are_those_that_are_printed(tmp_path):
    page = tmp_path / "page.md"
    block = "Heads (%)\n┃ relation ┃\n│ det │ 1 │\n(more)\nRead: 157\n"
    page.write_text(f"```\n{block}```\n", encoding="utf-8")
    printed = ["┃ other ┃", "Heads (%)", "┃ relation ┃ n ┃", "│ all │ 9 │", "│ det │ 2 │ 3 │", "Read: 1,570"]
    renew_block(str(page), block, printed)
    new = "Heads (%)\n┃ relation ┃ n ┃\n│ det │ 2 │ 3 │\n(more)\nRead: 1,570\n"
    assert page.read_text(encoding="utf-8") == f"```\n{new}```\n"
    with pytest.raises(pytest.fail.Exception, match="Read: 1,570"):  # another title is nothing to go by
        renew_block(str(page), new, ["Best heads (%)", *printed[2:]])
