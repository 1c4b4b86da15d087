"""Differences that are not tested are never shown as not significant, and a long table is left to the report."""

from __future__ import annotations

import numpy as np
import pytest

from attentionology.analyses.comparison.figures import contrast_figure
from attentionology.analyses.comparison.results import Comparison, Contrast, Side, contrast
from attentionology.analyses.comparison.section import comparison_section, comparison_tables
from attentionology.analyses.shared.comparable import Comparable, Measured
from attentionology.reports.page import write_report
from attentionology.reports.table import Terminal
from tests.unit.test_reports import RUN

NOISE = np.random.default_rng(0).normal(0, 0.01, 200)


def shares(n: int, groups: int = 2, choice: str = "") -> Contrast:
    """The contrast of shares that differ by 0.2 in every group, each a mean over n inputs."""
    sides = [
        Comparable(
            "all layers",
            tuple(Measured(f"class {k}", value, n, scale * NOISE, choice) for k in range(groups)),
            "mean share over heads and inputs",
            "inputs",
            0,
        )
        for value, scale in ((0.5, 1.0), (0.3, 2.0))
    ]
    names = [Side("run", name, name) for name in ("norm", "weight")]
    return contrast("surface", sides[0], sides[1], names[0], names[1], "paired", min_count=50)


def printed(one: Contrast, width: int = 140) -> str:
    terminal = Terminal(width)
    with terminal.capture() as captured:
        terminal.print(comparison_tables(Comparison((one,), 50), width=width))
    return captured.get()


@pytest.mark.parametrize(("n", "expected"), [(40, "not tested"), (60, "p (Holm) below 0.05")])
def test_the_legend_says_why_dots_are_hollow(n, expected):
    figure = contrast_figure(shares(n))
    assert figure is not None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [expected]


def test_the_terminal_says_that_no_group_is_tested():
    text = " ".join(printed(shares(40)).split())
    assert "surface, all layers: norm minus weight (in %)" in text
    assert "Values: mean share over heads and inputs (%); n counts inputs. Both sides read the same inputs" in text
    assert "No group is tested, for example because n is below 50" in text
    assert "Holm" not in text
    assert "chosen" not in text
    assert "adjusted" not in text
    tested = " ".join(printed(shares(60)).split())
    assert "p (Holm)" in tested
    assert "No group is tested" not in tested
    assert "95 % intervals, not adjusted for the number of groups. Bold: p (Holm) below 0.05." in tested


def test_the_terminal_names_chosen_heads_with_arrows():
    assert "chosen by norm" in printed(shares(60, choice="3-9 dep->head"))
    assert "3-9 dep→head" in printed(shares(60, choice="3-9 dep->head"))


def test_a_long_table_is_left_to_the_report():
    assert printed(shares(60, groups=40)).count("class ") == 40
    long = printed(shares(60, groups=41))
    assert "class " not in long
    assert "41 groups, which are listed in the report.\nIn 41 of them, the difference is significant." in long


def test_the_page_says_what_is_tested(tmp_path):
    pages = {}
    for n in (40, 60):
        comparison = Comparison((shares(n),), 50)
        (tmp_path / str(n)).mkdir()
        write_report(tmp_path / str(n), run=RUN, sections=[comparison_section(comparison, name="c", title="C")])
        text = (tmp_path / str(n) / "report.html").read_text(encoding="utf-8")
        pages[n] = " ".join(text.split())
    assert "None of these differences is tested." in pages[40]
    assert "No difference is tested." in pages[40]
    assert "tested groups, " not in pages[40]
    assert "Of 2 tested groups, 2 differ significantly" in pages[60]
    assert "chosen by norm" not in pages[60]
