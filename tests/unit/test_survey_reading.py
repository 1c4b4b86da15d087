"""What a survey compares, and what terminal, figures and page say: n, the baseline, warnings and tests."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.comparison.results import GAIN, Contrast, Side
from attentionology.analyses.counting.comparable import Comparable, Measured, replicate_order
from attentionology.analyses.survey import results as survey_results
from attentionology.analyses.survey import treebanks
from attentionology.analyses.survey.accuracy import (
    MatrixMaker,
    accuracies_figure,
    accuracies_table,
    differences_table,
)
from attentionology.analyses.survey.cells import failures_table
from attentionology.analyses.survey.collecting import KeptCell
from attentionology.analyses.survey.contrasts import (
    SURVEY_CONTRASTS,
    SURVEY_MEANS,
    ContrastCollector,
    contrasts_table,
    differences_figure,
    differences_of,
)
from attentionology.analyses.survey.results import Survey, survey_section
from attentionology.analyses.survey.rows import Cell, CellFailure, CellResult, SurveyContrasts, view_of_relation
from attentionology.analyses.survey.treebanks import TreebankContrast, TreebankContrasts, Treebanks
from attentionology.engine.surveying.cell_run import CellReports
from attentionology.reports.drawing import BLUE, GREY
from attentionology.reports.format import rows_of
from attentionology.reports.page import write_report
from attentionology.reports.table import Terminal
from tests.shown_tables import as_shown, in_latex, in_terminal, on_page
from tests.unit.test_reports import RUN

NS = {"few": 3, "many": 100}
HELDOUT = {"a": {"few": 1 / 3, "many": 0.6}, "b": {"few": 2 / 3, "many": 0.5}}
WARNING = "84 % of the words contain pieces that the model's tokenizer does not know."


def result(model: str, treebank: str) -> CellResult:
    """A cell with one relation, which few or many words have; model b does not fit the text."""
    n = NS[treebank]
    best = {
        "relation": "obj", "direction": "dep->head", "layer": 2, "head": 1, "total": n, "correct": n // 2 + 1,
        "offset_accuracy": 0.45, "heldout_accuracy": HELDOUT[model][treebank],
    }  # fmt: skip
    record = {
        "model": {"revision": None, "weights_sha256": "0" * 64, "layers": 2, "heads": 2},
        "sentences": {"read": 10, "skipped": [], "words": 100},
        "warnings": [WARNING] if model == "b" else [],
    }
    return CellResult(Cell(model, treebank), {"weight": pd.DataFrame([best])}, (), record)


def surveyed(min_count: int = 50, models: Sequence[str] = tuple(HELDOUT), scale: float = 0.3) -> Survey:
    """A survey of cells whose bootstrap replicates differ by so much."""
    contrasts = ContrastCollector(min_count=min_count)
    noise = {model: np.random.default_rng(seed).normal(scale=scale, size=200) for seed, model in enumerate(HELDOUT)}
    for treebank, n in NS.items():
        cells = []
        for model in models:
            measured = (Measured("obj", HELDOUT[model][treebank], n, noise[model]),)
            family = Comparable("relations", measured, "words whose head is found", "words", 0)
            cells.append(KeptCell(model, {"weight": (family,)}, {}))
        contrasts.add(treebank, cells)
    results = tuple(result(model, treebank) for treebank in NS for model in models)
    collected = {"contrasts": contrasts.collect()}
    return Survey(tuple(models), tuple(NS), ("weight",), results, "obj", min_count, collected=collected)


def printed(survey: Survey) -> str:
    terminal = Terminal(140)
    with terminal.capture() as captured:
        terminal.print(survey_results.in_terminal(survey, 140))
    return captured.get()


def test_the_terminal_shows_n_and_the_offset_and_puts_few_words_in_parentheses():
    (row,) = in_terminal(accuracies(surveyed()), 200)[:1]
    few = "33.3 2-1 dep→head, (n = 3), offset 45.0"
    assert row == {"model": "a", "few": few, "many": "60.0 2-1 dep→head, n = 100, offset 45.0"}
    said = " ".join(printed(surveyed()).split())
    assert "n in parentheses: fewer than 50 words, too few for reliable conclusions." in said
    assert "held-out accuracy of the best head, and accuracy of the best fixed offset" in said


def accuracies(survey):
    return accuracies_table(MatrixMaker(survey), "obj")


def test_entries_with_few_words_are_gray():
    table = accuracies(surveyed())
    looks = {column.heading: column.look(table.rows[0]) for column in table.columns}
    assert looks == {"model": "", "few": "weak", "many": ""}
    shades = {column.heading: column.shade(table.rows[0]) for column in table.columns if column.shade}
    assert shades == {"few": 0.0, "many": 0.33}  # the more, the darker


def test_the_page_and_the_terminal_show_the_held_out_accuracies():
    table = accuracies(surveyed())
    for rows in (on_page(table), in_latex(table)):
        assert [(row["model"], row["few"][:4], row["many"][:4]) for row in rows] == [
            ("a", "33.3", "60.0"),
            ("b", "66.7", "50.0"),
        ]


def test_entries_lead_to_their_heads_in_the_reports_of_the_cells(tmp_path: Path) -> None:
    survey = surveyed()
    pages = {each.cell: tmp_path / "runs" / f"{each.cell.model} {each.cell.treebank}.html" for each in survey.results}
    results = tuple(replace(each, reports={"weight": pages[each.cell]}) for each in survey.results)

    def matrix(*folder: Path) -> str:
        return str(survey_section(replace(survey, results=results), *folder).context["matrices"][0]["accuracies"])

    view = "#head=2-1&relation=obj&direction=dep->head&kind=weight"
    expected = [f"../runs/{model}%20{treebank}.html{view}" for model in HELDOUT for treebank in NS]
    assert [html.unescape(link) for link in re.findall('href="(.*?)"', matrix(tmp_path / "deeper"))] == expected
    assert "href" not in matrix()
    best = results[0].best["weight"].assign(correct=0, total=1030)
    results = (replace(results[0], best={"weight": best}), *results[1:])
    first, _ = on_page(accuracies(replace(survey, results=results)))
    assert first["few"] == "33.3 n = 1,030, offset 45.0"  # no head stands for one that finds nothing
    assert matrix(tmp_path).count("href") == 3


def test_differences_and_what_failed_are_shown():
    survey = surveyed()
    (row,) = on_page(differences_table(MatrixMaker(survey), "obj"))
    assert row["difference"] == "a − b (weight)"
    rows = {each["treebank"]: each for each in rows_of(survey.contrasts_table)}
    for treebank in NS:
        assert row[treebank] == as_shown(rows[treebank], "difference low high", "+")
    counted = on_page(contrasts_table(survey))
    names = ("difference", "treebank", "tested relations", "above 0", "below 0", "inputs")
    assert [tuple(each[name] for name in names) for each in counted] == [
        ("a − b (weight)", "few", "0", "0", "0", "paired"),
        ("a − b (weight)", "many", "1", "0", "0", "paired"),
    ]
    result = replace(survey.results[0], failures=(CellFailure("norm", "too <long>"),))
    table = failures_table(replace(survey, results=(result,)))
    assert [column.heading for column in table.columns if column.wraps] == ["reason"]
    failed = on_page(table)
    assert failed == [{"model": "a", "treebank": "few", "map": "norm", "reason": "too <long>"}]


@pytest.mark.parametrize(
    ("models", "scale", "sides"),
    [("ab", 0.01, ("1", "0")), ("ba", 0.01, ("0", "1")), ("ab", 0.3, ("0", "0")), ("ba", 0.3, ("0", "0"))],
)
def test_significant_differences_are_counted_by_their_sign(models, scale, sides):
    counted = on_page(contrasts_table(surveyed(models=models, scale=scale)))
    assert [(row["above 0"], row["below 0"]) for row in counted if row["treebank"] == "many"] == [sides]


@pytest.mark.parametrize(
    ("treebanks", "named"), [(3, "b on t0, b on t1, b on t2: "), (4, "b on t0, b on t1, b on t2 and 1 more: ")]
)
def test_three_cells_of_a_warning_are_named(treebanks, named):
    survey = surveyed()
    cells = tuple(replace(survey.results[1], cell=Cell("b", f"t{number}")) for number in range(treebanks))
    assert replace(survey, results=cells).warnings == [named + WARNING]


def test_the_terminal_gives_the_warnings_of_the_report():
    survey = surveyed()
    assert survey.warnings == [f"b on few, b on many: {WARNING}"]
    assert f"Warning: b on few, b on many: {WARNING}" in printed(survey)


def test_the_terminal_says_what_is_not_tested_and_that_intervals_are_not_adjusted():
    text = printed(surveyed())
    assert "Significant differences (p (Holm) below 0.05): 0 of 1 that are tested." in text
    assert "The intervals in the report and in the tables are not adjusted for the number of tests." in text
    assert "Differences that are not tested: 1; see the column “reason” of tables/survey_contrasts.csv." in text
    none = printed(surveyed(min_count=101))
    assert "Differences that are tested: none of 2; see" in none
    assert "ignificant" not in none


@pytest.mark.parametrize(
    ("min_count", "labels", "colors"),
    [
        (1, ["not significant"], [BLUE, BLUE, BLUE]),  # the last one is the mean
        (50, ["not significant", "not tested"], [GREY, BLUE]),
        (101, ["not tested"], [GREY, GREY]),
    ],
)
def test_differences_that_are_not_tested_are_not_drawn_as_not_significant(min_count, labels, colors):
    figure = differences_figure(surveyed(min_count))
    assert figure is not None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == labels
    drawn = [(line, np.asarray(line.get_xdata())) for line in figure.axes[0].lines[1:]]
    dots = [line for line, x in drawn if line.get_marker() == "o" and len(x)]
    assert [line.get_markeredgecolor() for line in dots] == colors
    assert all((abs(x) <= 100).all() for _, x in drawn)


def test_the_figure_of_accuracies_puts_few_words_in_parentheses():
    survey = surveyed()
    figure = accuracies_figure(MatrixMaker(survey), "obj")
    assert figure is not None
    assert [text.get_text() for text in figure.axes[0].texts] == ["(33.3)", "60.0", "(66.7)", "50.0"]
    assert figure.axes[0].get_title("left") == "obj\nin parentheses: fewer than 50 words"


def test_the_page_shows_the_offset_and_grays_what_is_not_tested(tmp_path):
    write_report(tmp_path, run=RUN, sections=[survey_section(surveyed())])
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "2-1 dep→head, (n = 3), offset 45.0" in page
    assert '<td class="wrapped weak">-33.3 <span class="range">[-100.0, ' in page
    assert "which are not\nadjusted for their number; bold ones are significant, and gray ones are not tested." in page


def headed(p: float) -> tuple[Survey, str]:
    """The survey in which the tested difference has another adjusted p value, and its headline."""
    survey = surveyed()
    contrasts = []
    for one in survey.contrasts:
        rows = tuple(replace(row, p_holm=p) if row.tested else row for row in one.contrast.differences)
        contrasts.append(replace(one, contrast=replace(one.contrast, differences=rows)))
    changed = replace(survey, collected={"contrasts": SurveyContrasts(tuple(contrasts), survey.means)})
    (finding,) = survey_section(changed).findings
    assert finding.address == "#relation-obj"
    return changed, finding.text


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.0499, "1 of 1 tested relation of many: “a” clearly finds more than “b”, and less in 0"),
        (0.05, "0 of 1 tested relation of many differs clearly between “a” and “b”"),
    ],
)
def test_the_headline_says_which_model_finds_more_and_where_most(p: float, said: str) -> None:
    """The values are those of the tables; treebanks without a tested relation have no headline."""
    survey, text = headed(p)
    (row,) = on_page(differences_table(MatrixMaker(survey), "obj"))
    accuracies = {row["model"]: row["many"].split()[0] for row in on_page(accuracies_table(MatrixMaker(survey), "obj"))}
    difference, _, limits = row["many"].partition(" ")
    assert text == (
        f"{said} (heads chosen on one half of the text and scored on the other; p adjusted by Holm for 1 test). The "
        f"largest difference: obj (a {accuracies['a']} %, b {accuracies['b']} %, n = 100; {difference} points {limits}"
        f"{'' if p < 0.05 else ', adjusted p = 0.050'})."
    )


@pytest.mark.parametrize(("p", "look"), [(0.0499, "strong"), (0.05, "")])
def test_differences_are_bold_if_they_are_significant(p: float, look: str) -> None:
    survey, _ = headed(p)
    table = differences_table(MatrixMaker(survey), "obj")
    looks = {column.heading: column.look(table.rows[0]) for column in table.columns}
    assert looks == {"difference": "", "few": "weak", "many": look}


REPLICATES = 400


def family(values, deviations=None, n=100):
    """A family with one relation for each value; a relation is named after its position."""
    if deviations is None:
        deviations = np.zeros((len(values), REPLICATES))
    measured = tuple(
        Measured(f"relation{index}", value, n, deviations[index], f"{index + 1}-1 dep->head")
        for index, value in enumerate(values)
    )
    return Comparable("relations", measured, "words whose head is found", "words", 0)


def cell(model, **families):
    return KeptCell(model, {kind: (one,) for kind, one in families.items()}, {})


def noise(seed, relations=1, scale=0.02):
    return np.random.default_rng(seed).normal(scale=scale, size=(relations, REPLICATES))


def sides(collected):
    return [
        (one.about, one.treebank, one.contrast.first.run, one.contrast.first.map, one.contrast.second.run,
         one.contrast.second.map)
        for one in collected.collect().within
    ]  # fmt: skip


def test_kinds_are_compared_within_a_cell_and_models_within_a_treebank():
    collected = ContrastCollector(min_count=10)
    cells = [cell(name, weight=family([0.5]), norm=family([0.6])) for name in ("a", "b", "c")]
    collected.add("ewt", cells)
    assert sides(collected) == [
        ("maps", "ewt", "a", "weight", "a", "norm"),
        ("maps", "ewt", "b", "weight", "b", "norm"),
        ("maps", "ewt", "c", "weight", "c", "norm"),
        ("models", "ewt", "a", "weight", "b", "weight"),
        ("models", "ewt", "a", "weight", "c", "weight"),
        ("models", "ewt", "a", "norm", "b", "norm"),
        ("models", "ewt", "a", "norm", "c", "norm"),
    ]


def test_the_first_cell_that_was_counted_is_the_reference():
    collected = ContrastCollector(min_count=10)
    collected.add("ewt", [cell("b", weight=family([0.5])), cell("c", norm=family([0.5]), weight=family([0.4]))])
    assert sides(collected) == [
        ("maps", "ewt", "c", "norm", "c", "weight"),
        ("models", "ewt", "b", "weight", "c", "weight"),
    ]
    assert collected.collect().means == ()


def test_rows_are_the_first_side_minus_the_other():
    collected = ContrastCollector(min_count=10)
    collected.add("ewt", [cell("a", weight=family([0.5], noise(1))), cell("b", weight=family([0.8], noise(2)))])
    table = differences_of(collected.collect().within, SURVEY_CONTRASTS)
    assert list(table) == SURVEY_CONTRASTS.names
    row = table.iloc[0]
    assert (row["model_a"], row["model_b"], row["paired"]) == ("a", "b", "paired")
    assert (row["value_a"], row["value_b"], row["difference"]) == (0.5, 0.8, pytest.approx(-0.3))
    error = float((noise(2) - noise(1)).std(ddof=1))
    assert row["high"] - row["difference"] == pytest.approx(1.959964 * error, rel=1e-5)
    assert row["p"] == pytest.approx(math.erfc(0.3 / error / math.sqrt(2)))


def naive_mean(treebanks, index):
    """The mean of one side over treebanks and its deviations, one replicate at a time."""
    value = sum(families[index].measured[0].value for families in treebanks.values()) / len(treebanks)
    deviations = []
    for replicate in range(REPLICATES):
        total = 0.0
        for name, families in treebanks.items():
            total += families[index].measured[0].deviations[replicate_order(name, REPLICATES)[replicate]]
        deviations.append(total / len(treebanks))
    return value, np.array(deviations)


def test_means_are_those_of_a_plain_loop():
    treebanks = {
        name: (family([value], noise(seed)), family([0.5], 0.5 * noise(seed) + noise(seed + 10)))
        for seed, (name, value) in enumerate({"ewt": 0.6, "gsd": 0.7, "gum": 0.55}.items())
    }
    collected = ContrastCollector(min_count=10)
    for name, (first, other) in treebanks.items():
        collected.add(name, [cell("a", weight=first), cell("b", weight=other)])
    table = differences_of(collected.collect().means, SURVEY_MEANS)
    assert list(table) == SURVEY_MEANS.names
    (row,) = table.to_dict("records")
    assert (row["model_a"], row["model_b"], row["treebanks"], row["n_a"]) == ("a", "b", 3, 300)
    (first, first_deviations), (other, other_deviations) = naive_mean(treebanks, 0), naive_mean(treebanks, 1)
    assert row["difference"] == pytest.approx(first - other)
    error = (other_deviations - first_deviations).std(ddof=1)
    assert row["low"] == pytest.approx(first - other - 1.959964 * error, abs=1e-6)


def test_equal_ids_in_two_treebanks_do_not_make_the_interval_of_a_mean_wider():
    """The same deviations in both treebanks stand for sentences with the same ids, which are drawn together."""
    same = noise(3)
    collected = ContrastCollector(min_count=10)
    for name in ("first", "second"):
        collected.add(name, [cell("a", weight=family([0.5])), cell("b", weight=family([0.5], same))])
    row = differences_of(collected.collect().means, SURVEY_MEANS).iloc[0]
    independent = same.std(ddof=1) / math.sqrt(2)
    assert row["high"] / 1.959964 == pytest.approx(independent, rel=0.1)
    assert row["high"] / 1.959964 < 0.85 * same.std(ddof=1)


def test_means_leave_out_treebanks_with_few_words():
    collected = ContrastCollector(min_count=50)
    for name, n in (("first", 100), ("second", 100), ("third", 20)):
        collected.add(name, [cell("a", weight=family([0.5], noise(1), n=n)), cell("b", weight=family([0.6], noise(2)))])
    row = differences_of(collected.collect().means, SURVEY_MEANS).iloc[0]
    assert (row["treebanks"], row["n_a"], row["n_b"]) == (2, 200, 200)


def test_models_that_have_read_different_sentences_are_not_paired():
    collected = ContrastCollector(min_count=10)
    cells = [cell("a", weight=family([0.5])), cell("b", weight=family([0.5], noise(1)))]
    collected.add("first", cells, lambda *models: "unpaired" if models == ("a", "b") else "paired")
    assert [one.contrast.pairing for one in collected.collect().within] == ["unpaired"]


def test_no_two_cells_write_into_one_folder():
    plan: Any = SimpleNamespace(models={"m": "m"}, treebanks={name: name for name in ("x_y-3", "x y", "x_y", "x+y")})
    names = CellReports(plan, Path("new"), Path("out"), "").names
    assert list(names.values()) == ["m-x_y-3", "m-x_y", "m-x_y-4", "m-x_y-5"]


def test_relations_that_differ_between_treebanks_are_shown_and_findings_lead_there():
    """The gains over rules come first, then those over the offset; what is not significant is counted only."""
    difference = surveyed().contrasts[1].contrast.differences[0]
    sides = Side("few", "weight", "few"), Side("many", "weight", "many")

    def contrast(family: str, unit: str, **p_values: float) -> TreebankContrast:
        rows = tuple(
            replace(difference, group=group, difference=size, p_holm=p)
            for (group, p), size in zip(p_values.items(), (0.1, -0.3, 0.2), strict=False)
        )
        quantity = f"held-out {family}"
        return TreebankContrast("a", Contrast("dependency", family, *sides, "unpaired", rows, quantity, "words", unit))

    found = TreebankContrasts(
        (
            contrast("relations", "%", obj=0.04, det=0.01, all=0.01),
            contrast("gains over the offset", GAIN, obj=0.2, det=0.3),
            contrast("gains over the rules", GAIN, obj=0.04, det=0.05),
        )
    )
    survey = replace(surveyed(), collected={"treebanks": found, **surveyed().collected})
    pairs, clear = Treebanks().show(pd.DataFrame(), survey)
    assert [(row["of"], row["tested relations"], row["above 0"], row["below 0"]) for row in on_page(pairs)] == [
        ("accuracies", "3", "2", "1"),
        ("gains over the offset", "2", "0", "0"), ("gains over the rules", "2", "1", "0"),
    ]  # fmt: skip
    models = {survey.short_models[each.model] for each in found.contrasts}
    for row in (*on_page(pairs), *on_page(clear)):
        assert row["treebanks"] == "few − many"
        assert row["model"].split(",")[0].split(" ")[0] in models
    rows = on_page(clear)
    assert [(row["relation"], row["of"]) for row in rows] == [
        ("obj", "gains over the rules"), ("det", "accuracies"), ("all", "accuracies"), ("obj", "accuracies"),
    ]  # fmt: skip
    assert (rows[0]["first"], rows[1]["first"]) == ("+60.0", "60.0")  # gains have a sign
    assert rows[1]["difference"].startswith("-30.0 [")
    assert rows[0]["difference"].startswith("+10.0 [")
    assert [row["p (Holm)"] for row in rows] == ["0.040", "0.010", "0.010", "0.040"]
    (finding,) = Treebanks().findings(pd.DataFrame(), survey)
    assert finding.address == "#treebank-differences"
    accuracies_alone = replace(survey, collected={"treebanks": TreebankContrasts(found.contrasts[:2])})
    (finding,) = Treebanks().findings(pd.DataFrame(), accuracies_alone)
    assert finding.address == "#relation-det"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(treebanks, "_MOST_CLEAR", 3)
        _, first = Treebanks().show(pd.DataFrame(), survey)
    assert len(first.rows) == 3
    assert first.notes == ("The first 3 of 4; all are in the table.",)


def test_a_finding_about_a_relation_leads_to_its_matrices(tmp_path):
    survey = surveyed()
    section = survey_section(survey)
    write_report(tmp_path, run=RUN, sections=[section])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    (finding,) = section.findings
    assert f'<a href="{finding.address}"><b>{finding.number}</b>' in page
    assert f'data-view="{finding.address}"' in page
    assert view_of_relation("a b/c:d") == "#relation-a%20b%2Fc%3Ad"
