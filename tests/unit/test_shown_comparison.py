"""The tables of a comparison say what its CSV file says, wherever they are shown."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.text import Text

from attentionology.analyses.comparison.figures import contrast_figure
from attentionology.analyses.comparison.findings import comparison_findings, kinds_findings
from attentionology.analyses.comparison.results import Comparison, Contrast, Pairing, Side, contrast, contrasts_of
from attentionology.analyses.comparison.section import comparison_section, comparison_tables, contrast_table
from attentionology.analyses.counting.comparable import Comparable, Measured
from attentionology.reports.page import write_report
from attentionology.reports.table import Terminal
from tests.shown_tables import in_brackets, in_latex, on_page, percent
from tests.unit.test_reports import RUN

GROUPS = {"det": (0.8, 0.6, 100), "obj": (0.5, 0.55, 80), "iobj": (0.4, 0.1, 7)}
"""The value on both sides and the number of words; the last group has too few to be tested."""

NOISE = {"det": 0.06, "obj": 0.02, "iobj": 0.1}


def compared(unit, order=1):
    """The comparison of both sides; with the order −1, of the second one with the first."""
    rng = np.random.default_rng(0)
    noise = {name: rng.normal(scale=NOISE[name], size=(2, 200)) for name in GROUPS}
    sides = []
    for side, choice in enumerate(("3-9 dep->head", "1-2 head->dep")):
        measured = tuple(
            Measured(name, row[side], row[2] + side, noise[name][side], choice) for name, row in GROUPS.items()
        )
        sides.append(Comparable("relations", measured, "words found", "words", 0, unit))
    names = Side("one", "norm", "norm"), Side("one", "weight", "weight")
    (one, name), (other, other_name) = list(zip(sides, names, strict=True))[::order]
    return contrast("dependency", one, other, name, other_name, "paired", min_count=50)


def expected(comparison, unit):
    """The cells of the rows of the CSV file, by heading."""
    table = comparison.table.set_index("group")
    for group in ("det", "obj", "iobj"):  # tested ones first, the largest difference first
        row = table.loc[group]
        is_share = unit == "%"
        values = [percent(row[name]) if is_share else f"{row[name]:.3f}" for name in ("value_a", "value_b")]
        difference = percent(row["difference"], "+") if is_share else f"{row['difference']:+.3f}"
        limits = in_brackets(row["low"], row["high"]) if is_share else f" [{row['low']:.3f}, {row['high']:.3f}]"
        mark = " %" if is_share else ""
        yield {
            "group": group,
            "n": f"{row['n_a']} / {row['n_b']}",
            f"norm{mark}": values[0],
            f"weight{mark}": values[1],
            "difference": difference + limits,
            "p": p_value(row["p"]),
            "p (Holm)": p_value(row["p_holm"]),
            "chosen by norm": "3-9 dep→head",
            "chosen by weight": "1-2 head→dep",
            "not tested because": row["reason"].removeprefix("not tested: "),
        }


def p_value(p):
    return "–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


@pytest.mark.parametrize("unit", ["%", "nats"])
def test_page_and_latex_say_what_the_csv_file_says(unit):
    comparison = Comparison((compared(unit),), 50)
    (table,) = comparison_section(comparison, name="comparison", title="Comparison").shown
    cells = list(expected(comparison, unit))
    assert cells[0]["p (Holm)"] != cells[0]["p"]
    assert cells[2]["not tested because"]
    assert on_page(table) == cells
    plain = [{name: text.replace(r"\textless{}", "<") for name, text in row.items()} for row in in_latex(table)]
    assert plain == cells
    assert table.title == f"dependency, relations: norm minus weight (in {unit})"


def test_significant_rows_are_bold_and_untested_ones_gray():
    table = contrast_table(compared("%"))
    significant = {row["group"] for row in table.rows if row["significant"]}
    assert significant == {"det"}
    assert {row["group"]: table.style(row) for row in table.rows} == {"det": "strong", "obj": "", "iobj": "rare"}


def printed(comparison, width):
    terminal = Terminal(width)
    with terminal.capture() as captured:
        terminal.print(comparison_tables(comparison, width=width))
    return captured.get()


def test_the_terminal_shows_the_tested_groups():
    comparison = Comparison((compared("%"),), 50)
    rows = list(expected(comparison, "%"))
    said = printed(comparison, 140)
    for row in rows[:2]:
        (line,) = (line for line in said.splitlines() if line.startswith(f"│ {row['group']} "))
        names = ("group", "n", "norm %", "weight %", "difference", "p (Holm)", "chosen by norm", "chosen by weight")
        assert [cell.strip() for cell in line.split("│")[1:-1]] == [row[name] for name in names]
    assert "iobj" not in said
    assert "Groups that are not tested, for example with too small an n: 1; see the report." in said


def test_what_cannot_be_compared_or_tested_is_one_sentence():
    only_first = replace(
        shares(60),
        family="entropy",
        differences=tuple(replace(row, second=None, p_holm=math.nan) for row in shares(60).differences),
    )
    comparison = Comparison((shares(40), only_first, replace(only_first, family="shares")), 50)
    said = " ".join(printed(comparison, 140).split())
    assert said == (
        "Not compared: only norm has surface, entropy; surface, shares. Not tested: surface, all layers. Reasons: "
        "fewer than 50 in one of the runs."
    )
    assert comparison_section(comparison, name="c", title="").context["parts"] == []
    assert len(comparison.table) == 6  # the table has all of them


def test_a_finding_says_which_kind_of_map_finds_more():
    """It names what is significant among all tested groups, and the head that finds more; the others are not clear."""
    found = compared("%")
    (finding,) = kinds_findings(Comparison((found,), 50))
    (row,) = (row for row in found.tested if row.significant)
    interval = f"+20.0 points [{100 * row.low:.1f}, {100 * row.high:.1f}]"
    assert finding.text == (
        "1 of 2 tested relations: the map “norm” clearly finds more than the map “weight”, and less in 0 (heads chosen "
        "on one half of the text and scored on the other; p adjusted by Holm for 2 tests). The largest difference: det "
        f"(norm 80.0 % by head 3-9, weight 60.0 % by head 1-2, n = 100 / 101; {interval})."
    )
    (turned,) = kinds_findings(Comparison((compared("%", -1),), 50))  # obj is above, but not clearly
    said = "1 of 2 tested relations: the map “weight” clearly finds less than the map “norm”, and more in 0 ("
    assert turned.text.startswith(said)
    assert turned.address == finding.address == "#head=3-9&relation=det&direction=dep->head&kind=norm"


def with_p(found: Contrast, p: float) -> Comparison:
    """The comparison in which the difference of one relation has another adjusted p value."""
    rows = (replace(row, p_holm=p) if row.group == "det" else row for row in found.differences)
    return Comparison((replace(found, differences=tuple(rows)),), 50)


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.0499, "clearly finds more than"), (0.05, "0 of 2 tested relations differ clearly between the map “norm”")],
)
def test_a_finding_about_kinds_of_maps_hangs_on_the_adjusted_p(p, said):
    (finding,) = kinds_findings(with_p(compared("%"), p))
    assert said in finding.text
    assert "det (norm 80.0 % by head 3-9, weight 60.0 % by head 1-2, n = 100 / 101;" in finding.text


@pytest.mark.parametrize("unit", ["%", "nats"])
@pytest.mark.parametrize("p", [0.0499, 0.05])
def test_the_headline_of_a_comparison_says_what_its_table_says(unit, p):
    """The groups in which each side is clearly above, and the largest difference; the heads lead to their reports."""
    comparison = with_p(compared(unit), p)
    section = comparison_section(comparison, name="comparison", title="", reports={"one": "../a%20b/report.html"})
    (finding,) = section.findings
    rows = {row["group"]: row for row in on_page(section.shown[0])}
    mark = " %" if unit == "%" else ""
    values = [rows["det"][f"{name}{mark}"] for name in ("norm", "weight")]
    difference, _, limits = rows["det"]["difference"].partition(" ")
    named = (
        f"det (norm {values[0]}{mark} by head 3-9, weight {values[1]}{mark} by head 1-2, n = {rows['det']['n']}; "
        f"{difference} {'points' if unit == '%' else unit} {limits}{'' if p < 0.05 else ', adjusted p = 0.050'})."
    )
    how = "(heads chosen on one half of the text and scored on the other; p adjusted by Holm for 2 tests)"
    if p < 0.05:
        said = f"1 of 2 tested relations: “norm” clearly finds more than “weight”, and less in 0 {how}."
    else:
        said = f"0 of 2 tested relations differ clearly between “norm” and “weight” {how}."
    assert finding.text == f"{said} The largest difference: {named}"
    assert finding.address == "../a%20b/report.html#head=3-9&relation=det&direction=dep->head&kind=norm"


def test_a_finding_names_two_of_several_differences_and_says_that_there_are_more():
    """The largest ones of both signs; the groups above 0 are counted apart from those below, and totals not at all."""
    found = compared("%")
    row = found.tested[0]
    values = {"det": 0.1, "obj": -0.3, "nsubj": 0.2, "case": -0.4, "amod": 0.15, "all": 0.9}
    made = {name: replace(row, group=name, difference=value, p_holm=0.01) for name, value in values.items()}
    for left_out, said, ending in (
        ((), "3 of 5 tested relations: “norm” clearly finds more than “weight”, and less in 2", "; …"),
        (
            ("det", "nsubj", "amod"),
            "2 of 2 tested relations: “norm” clearly finds less than “weight”, and more in 0",
            ".",
        ),
    ):
        rows = tuple(each for name, each in made.items() if name not in left_out)
        one = Comparison((replace(found, differences=rows),), 50)
        (finding,) = comparison_findings(one, {"one": "a/report.html"})
        assert finding.address == "a/report.html#head=1-2&relation=case&direction=head->dep&kind=weight"
        assert finding.text.startswith(f"{said} (heads chosen")
        named = finding.text.partition("The largest differences: ")[2]
        assert re.findall(r"(\w+) \(norm", named) == ["case", "obj"]
        assert named.endswith(f"]){ending}")


@pytest.mark.parametrize("choice", ["3-9 dep->head", ""])
def test_totals_alone_are_no_finding(choice):
    found = shares(60, choice=choice)
    rows = (replace(row, group=name) for row, name in zip(found.differences, ("all", "all-nopunct"), strict=True))
    totals = replace(found, differences=tuple(rows))
    assert len(totals.tested) == 2
    assert [len(comparison_findings(Comparison((each,), 50))) for each in (found, totals)] == [1, 0]


def test_heads_lead_to_the_report_of_their_run_where_there_is_one():
    table = contrast_table(compared("%"), reports={"one": "../a/report.html"})
    links = re.findall(r'<a href="([^"]*)"><span>([^<]*)</span>', str(table))
    first = {"3-9": "dep-&gt;head&amp;kind=norm", "1-2": "head-&gt;dep&amp;kind=weight"}
    assert links == [
        (f"../a/report.html#head={head}&amp;relation={group}&amp;direction={rest}", head)
        for group in ("det", "obj", "iobj")
        for head, rest in first.items()
    ]
    comparison = Comparison((compared("%"),), 50)
    section = comparison_section(comparison, name="comparison", title="", reports={"another": "../a/report.html"})
    assert "<a " not in str(section.shown[0])
    assert [finding.address for finding in section.findings] == ["#contrast-1"]


def test_statistics_without_heads_have_a_headline_of_their_own():
    found = compared("nats")
    rows = (
        replace(row, first=replace(row.first, choice=""), second=replace(row.second, choice=""))
        for row in found.differences
        if row.first and row.second
    )
    entropy = replace(found, analysis="surface", family="entropy", quantity="mean entropy", differences=tuple(rows))
    (finding,) = comparison_section(Comparison((entropy,), 50), name="comparison", title="").findings
    assert finding.text.startswith(
        "1 of 2 tested groups (surface, entropy): “norm” clearly has larger values than “weight”, and smaller ones in "
        "0 (mean entropy; p adjusted by Holm for 2 tests). The largest difference: det (norm 0.800, weight 0.600, n = "
        "100 / 101; +0.200 nats ["
    )
    assert finding.address == "#contrast-1"


def test_gains_come_first_and_differences_that_are_shown_as_0_are_none():
    """On other text, gains over rules are compared, too: what is said of accuracies follows."""
    accuracies = compared("%")
    gains = replace(
        accuracies, family="gains over the rules", quantity="held-out gain over the strongest rule", unit="points"
    )
    (finding,) = comparison_findings(Comparison((accuracies, gains), 50))
    assert finding.text.startswith(
        "1 of 2 tested relations: “norm” clearly gains more over rules than “weight”, and less"
    )
    assert "(norm +80.0 points by head 3-9, weight +60.0 points by head 1-2," in finding.text
    assert finding.more.startswith("1 of 2 tested relations: “norm” clearly finds more than “weight”")
    assert finding.address == "#contrast-2"
    equal = tuple(replace(row, difference=1e-5) for row in accuracies.differences)
    (none,) = comparison_findings(Comparison((replace(accuracies, differences=equal),), 50))
    assert none.text.startswith("0 of 2 tested relations differ clearly")
    assert none.text.endswith(" No difference is larger than rounding.")


def test_on_the_same_text_gains_are_left_out():
    """The rules find the same for both sides, so that the differences would be those of accuracies."""
    family = Comparable("relations", (Measured("det", 0.5, 100, np.zeros(0)),), "words found", "words", 0)
    sides = Side("one", "norm", "norm"), Side("two", "norm", "norm")
    both = [family, replace(family, family="gains", unit="points")]
    expected: list[tuple[Pairing, list[str]]] = [("paired", ["relations"]), ("unpaired", ["relations", "gains"])]
    for pairing, families in expected:
        found = contrasts_of("dependency", both, both, sides, pairing, min_count=50)
        assert [each.family for each in found] == families


def test_without_chosen_heads_there_is_no_finding_about_kinds():
    """Statistics of all heads together, such as a share of attention, have no head to show."""
    found = [len([*kinds_findings(Comparison((shares(60, choice=head),), 50))]) for head in ("3-9 dep->head", "")]
    assert found == [1, 0]


def test_statistics_have_readable_names_wherever_they_are_shown():
    """Findings, tables and figures name a statistic as its analysis does, and the CSV file by its column."""
    groups = {"first_to_first": (0.8, 0.6), "previous, layer 2": (0.5, 0.2)}
    noise = np.random.default_rng(0).normal(scale=0.01, size=50)
    sides = [
        Comparable(
            "all layers",
            tuple(Measured(name, values[side], 100, noise * side) for name, values in groups.items()),
            "mean share",
            "inputs",
            0,
        )
        for side in (0, 1)
    ]
    names = Side("a", "weight", "a"), Side("b", "weight", "b")
    of_surface = contrast("surface", sides[0], sides[1], *names, "paired", min_count=50)
    comparison = Comparison((of_surface,), 50)
    section = comparison_section(comparison, name="comparison", title="")
    assert [row["group"] for row in on_page(section.shown[0])] == ["previous, layer 2", "first special → first special"]
    (finding,) = comparison_findings(comparison)
    assert "first special → first special (a 80.0 %, b 60.0 %" in finding.text
    assert "first_to_first" not in finding.text
    (figure,) = section.figures.values()
    drawn = [text.get_text() for text in figure.findobj(Text)]
    assert "first special → first special (n = 100)" in drawn
    models = [{"first_special": "[CLS]"}, {"first_special": "[CLS]"}, {"first_special": "<s>"}]
    for second, name in zip(models[1:], ("[CLS] → [CLS]", "first special → first special"), strict=True):
        left, right = (replace(side, names=own) for side, own in zip(sides, (models[0], second), strict=True))
        of_models = Comparison((contrast("surface", left, right, *names, "paired", min_count=50),), 50)
        assert name in comparison_findings(of_models)[0].text
    assert set(comparison.table["group"]) == set(groups)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (("a model whose name is long, weight", "norm"), "a model whose … long, weight minus norm"),
        (("a name of twenty-eight signs", "norm"), None),
        (("a model whose seed is 1, on en_sample", "a model whose seed is 2, on en_sample"), None),
    ],
)
def test_long_names_of_runs_are_shortened_in_headings_unless_they_then_are_the_same(names, short):
    """Headings of the page have 28 characters of a name, and figures have the whole names in several lines."""
    first, second = (Side(name, "weight", name) for name in names)
    long = Comparison((replace(compared("%"), first=first, second=second),), 50)
    section = comparison_section(long, name="comparison", title="")
    (part,) = section.context["parts"]
    whole = f"{names[0]} minus {names[1]}"
    assert part["heading"] == f"dependency, relations: {whole}"
    assert part["short"] == f"dependency, relations: {short or whole}"
    (axes,) = section.figures[part["figure"]].axes
    assert axes.get_xlabel().replace("\n", " ") == f"words found: {whole} (percentage points)"
    assert max(map(len, axes.get_xlabel().split("\n"))) <= 90


def test_a_p_value_of_one_in_a_thousand_is_written_and_one_group_with_a_head_is_enough():
    """The smaller ones are said to be smaller, and heads have a column if any group has one."""
    found = compared("%")
    for p, shown in ((0.001, "0.001"), (0.0009, "< 0.001")):
        (first, *others) = (replace(row, p=p) for row in found.differences)
        assert first.first
        bare = replace(first, first=replace(first.first, choice=""))
        rows = on_page(contrast_table(replace(found, differences=(bare, *others))))
        assert [row["p"] for row in rows] == [shown] * 3
        assert [row["chosen by norm"] for row in rows] == ["", "3-9 dep→head", "3-9 dep→head"]


def test_figures_of_one_name_are_numbered_from_the_second_on():
    of_surface = replace(compared("%"), family="candidates: all")
    section = comparison_section(Comparison((of_surface, compared("%"), compared("%")), 50), name="c", title="")
    assert [*section.figures] == ["c-dependency-all", "c-dependency-relations", "c-dependency-relations-2"]
    assert [part["figure"] for part in section.context["parts"]] == [*section.figures]
    assert [(part["above"], part["below"]) for part in section.context["parts"]] == [(1, 0)] * 3
    assert comparison_section(Comparison((of_surface,), 7), name="c", title="").context["min_count"] == 7


SPREAD = np.random.default_rng(0).normal(0, 0.01, 200)


def shares(n: int, groups: int = 2, choice: str = "", equal: int = 0) -> Contrast:
    """The contrast of shares that differ by 0.2 in every group but the last ``equal``, each a mean over n inputs."""
    sides = [
        Comparable(
            "all layers",
            tuple(
                Measured(f"class {k}", value if k < groups - equal else 0.3, n, scale * SPREAD, choice)
                for k in range(groups)
            ),
            "mean share over heads and inputs",
            "inputs",
            0,
        )
        for value, scale in ((0.5, 1.0), (0.3, 2.0))
    ]
    names = [Side("run", name, name) for name in ("norm", "weight")]
    return contrast("surface", sides[0], sides[1], names[0], names[1], "paired", min_count=50)


@pytest.mark.parametrize(
    ("n", "equal", "expected"),
    [
        (40, 0, ["not tested"]),
        (60, 0, ["p (Holm) below 0.05"]),
        (60, 1, ["p (Holm) below 0.05", "not significant"]),
    ],
)
def test_the_legend_says_why_dots_are_hollow(n, equal, expected):
    figure = contrast_figure(shares(n, equal=equal))
    assert figure is not None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == expected


@pytest.mark.parametrize(("letters", "heading"), [(29, f"norm − {'o' * 29}"), (30, "first − second")])
def test_names_that_are_too_long_for_a_figure_are_not_above_its_values(letters, heading):
    compared = shares(60)
    figure = contrast_figure(replace(compared, second=replace(compared.second, name="o" * letters)))
    assert figure is not None
    assert heading in [text.get_text() for text in figure.axes[0].texts]


def test_a_long_table_is_left_to_the_report():
    assert printed(Comparison((shares(60, groups=40),), 50), 140).count("class ") == 40
    long = printed(Comparison((shares(60, groups=41, equal=3),), 50), 140)
    assert "class " not in long
    assert "41 groups, which are listed in the report.\nIn 38 of them, the difference is significant." in long


def test_the_page_says_what_is_tested(tmp_path):
    pages = {}
    for n in (40, 60):
        comparison = Comparison((shares(n),), 50)
        (tmp_path / str(n)).mkdir()
        write_report(tmp_path / str(n), run=RUN, sections=[comparison_section(comparison, name="c", title="C")])
        text = (tmp_path / str(n) / "report.html").read_text(encoding="utf-8")
        pages[n] = " ".join(text.split())
    assert "Not tested: surface, all layers. Reasons: fewer than 50 in one of the runs." in pages[40]
    assert "tested groups, " not in pages[40]
    assert "Of 2 tested groups, 2 differ significantly" in pages[60]
    assert "chosen by norm" not in pages[60]


def test_the_page_counts_tested_groups_and_the_significant_ones_of_them(tmp_path):
    every = shares(60, groups=5, equal=3).differences
    untested = [replace(row, p_holm=float("nan"), reason="n is 49") for row in shares(60, groups=7).differences[5:]]
    unclear = [replace(row, difference=0.01, p=0.5, p_holm=0.5) for row in every[2:]]
    below = replace(every[0], difference=-0.2)
    contrast = replace(shares(60), differences=(below, every[1], *unclear, *untested))
    section = comparison_section(Comparison((contrast,), 50), name="c", title="C")
    write_report(tmp_path, run=RUN, sections=[section])
    text = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    assert "Of 5 tested groups, 2 differ significantly" in text


def test_a_negative_second_value_is_in_brackets():
    contrast = compared("%")
    rows = [
        replace(row, first=replace(row.first, value=first), second=replace(row.second, value=second))
        for row, first, second in zip(contrast.differences, (-0.349, 0.1), (-0.575, 0.2), strict=False)
    ]
    figure = contrast_figure(replace(contrast, differences=tuple(rows)))
    assert figure is not None
    (right,) = figure.axes[0].child_axes
    assert {label.get_text() for label in right.get_yticklabels()} == {"−34.9 − (−57.5)", "10.0 − 20.0"}


@pytest.mark.parametrize(
    ("unit", "values"), [("%", ["80.0 − 60.0", "50.0 − 55.0"]), ("nats", ["0.800 − 0.600", "0.500 − 0.550"])]
)
def test_both_values_stand_beside_each_row_of_a_figure(unit, values):
    figure = contrast_figure(compared(unit))
    assert figure is not None
    (right,) = figure.axes[0].child_axes
    assert [label.get_text() for label in right.get_yticklabels()] == values
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["det (n = 100 and 101)", "obj (n = 80 and 81)"]
