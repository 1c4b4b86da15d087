"""The tables of the coreference analysis say what their CSV files say, and when a mistake of a head is named."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.contract import Titles
from attentionology.analyses.coreference.best_heads import best_table
from attentionology.analyses.coreference.contrasts import PAIRS
from attentionology.analyses.coreference.failures import CoreferenceFailures, failure_tables
from attentionology.reports.table import rare_rows
from tests.coreference import (
    coreference_section,
    explored_coreference,
    groups_of,
    made_results,
    shown_tables,
    with_changes,
)
from tests.documents import counted_mentions, random_batch
from tests.shown_tables import (
    Columns,
    as_shown,
    cells,
    distinct_table,
    in_brackets,
    in_latex,
    in_terminal,
    on_page,
    read_terminal,
    with_control,
    with_unit,
)

MIN_COUNT = 12
ARROWS = {"mention->antecedent": "m→ante", "antecedent->mention": "ante→m"}
WORDED = {"mention->antecedent": "mention → antecedent", "antecedent->mention": "antecedent → mention"}
WHERE: Columns = {"mentions": "type", "n": lambda row: n_of(row), "direction": lambda row: ARROWS[row["direction"]]}
ACCURACY = "% accuracy accuracy_low accuracy_high"
HELD_OUT_GAIN = "+ heldout_gain heldout_gain_low heldout_gain_high"


@pytest.fixture(scope="module")
def results():
    metric = counted_mentions(labels=PAIRS[0])
    tables, groups = metric.compute(), groups_of(metric)
    best = distinct_table(with_control(tables.best, [tables.best], key=("candidates", "type")))
    best.loc[best["type"] == "proper", "total"] = 0  # is not shown; some replicates have no nominal mention
    groups = groups._replace(best=distinct_table(groups.best), largest=distinct_table(groups.largest))
    account = {"anaphors": 99, "scored": 77, "no answer": 3, "documents": 8}
    made = tables._replace(best=best)
    return made_results(made, (tables.best,), account=account, min_count=MIN_COUNT, contrasts=groups)


def head_of(row):
    return f"{row['layer']}-{row['head']}"


def n_of(row):
    return f"{row['total']:,}" if row["total"] >= MIN_COUNT else f"({row['total']:,})"


def best_rows(results, policies):
    best = results.tables.best
    of_policies = [best[best["candidates"] == policy] for policy in policies]
    return [row for rows in of_policies for row in rows.to_dict("records") if row["total"]]


def equal(row):
    return f" ({row['tied']} equal)" if row["tied"] > 1 else ""


def test_best_heads_on_the_page_and_in_latex(results):
    columns: Columns = {
        **WHERE,
        "attention head": lambda row: head_of(row) + equal(row),
        "accuracy": ACCURACY,
        "held-out": "% heldout_accuracy heldout_min heldout_max",
        "nearest": "% nearest_accuracy",
        "same head word": "% head_match_accuracy",
        "rules": "% rule_based_accuracy",
        "chance": "% random_accuracy",
        "gain over rules": "+ gain gain_low gain_high",
        "held-out gain": HELD_OUT_GAIN,
        "random weights": "% control_accuracy",
    }
    expected = cells(best_rows(results, ["preceding"]), columns)
    table = best_table(results)
    assert len(expected) > 2
    assert on_page(table) == in_latex(table) == expected


def test_best_heads_in_a_wide_terminal(results):
    columns: Columns = {
        **WHERE,
        "head": head_of,
        "accuracy": ACCURACY,
        "held-out": "% heldout_accuracy",
        "nearest": "% nearest_accuracy",
        "same head": "% head_match_accuracy",
        "rules": "% rule_based_accuracy",
        "held-out gain": HELD_OUT_GAIN,
        "random": "% control_accuracy",
    }
    expected = cells(best_rows(results, ["preceding"]), columns, "")
    table = best_table(results)
    with rare_rows(shown=True):
        assert in_terminal(table, 200) == expected
    assert in_terminal(table, 200) == expected[:-1]
    assert f"And 1 rarer one (fewer than {MIN_COUNT} mentions): --rare, or tables/" in read_terminal(
        table.terminal(200), 200
    )


def test_other_candidates(results):
    others = shown_tables(results)["coreference_others"]
    words = {"mentions": "head words of all other mentions", "words": "all other words"}
    columns: Columns = {
        **WHERE,
        "candidates": lambda row: words[row["candidates"]],
        "attention head": lambda row: head_of(row) + equal(row),
        "accuracy": ACCURACY,
        "held-out": "% heldout_accuracy heldout_min heldout_max",
        "random weights": "% control_accuracy",
    }
    expected = cells(best_rows(results, ["mentions", "words"]), columns)
    assert on_page(others) == in_latex(others) == expected


def test_groups_of_documents(results):
    groups = shown_tables(results)["coreference_contrasts"]
    contrasts = results.contrasts.best
    rows = contrasts[contrasts["candidates"] == "preceding"].to_dict("records")
    columns: Columns = {
        "attention head": head_of,
        "direction": WHERE["direction"],
        "first group": lambda row: f"{row['first']} (n = {row['first_total']:,})",
        "first": "% first_accuracy",
        "second group": lambda row: f"{row['second']} (n = {row['second_total']:,})",
        "second": "% second_accuracy",
        "difference": "+ difference difference_low difference_high",
        "ratio": ".2f ratio",
    }
    expected = cells(rows, columns)
    assert len(rows) == 1
    assert on_page(groups) == in_latex(groups) == expected


def test_largest_differences(results):
    largest = shown_tables(results)["coreference_largest_contrasts_1"]
    contrasts = results.contrasts.largest
    columns: Columns = {
        "higher in": "higher",
        "attention head": head_of,
        "direction": WHERE["direction"],
        "first group": "% first_accuracy",
        "second group": "% second_accuracy",
        "difference": "+ difference difference_low difference_high",
        "for all heads at once": lambda row: in_brackets(row["simultaneous_low"], row["simultaneous_high"]).strip(),
        "held-out": "+ heldout_difference heldout_min heldout_max",
        "chosen again": lambda row: f"{row['heldout_same']} of {row['heldout_choices']}",
    }
    expected = cells(contrasts[contrasts["candidates"] == "preceding"].to_dict("records"), columns)
    assert len(expected) > 1
    assert largest.title == "Largest differences: {} minus {} (%)".format(*PAIRS[0])
    assert on_page(largest) == in_latex(largest) == expected
    said = " ".join(best_table(results).notes)
    for row in expected[:1]:
        assert f"{row['difference'].split()[0]} {row['for all heads at once']} in head {row['attention head']}" in said


def test_the_papers_numbers(results):
    numbers = {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58}
    published = shown_tables(with_changes(results, published={"head 5-4": numbers}))["coreference_published"]
    expected = [{"method": "head 5-4", **{name: str(value) for name, value in numbers.items()}}]
    assert on_page(published) == in_latex(published) == expected


ACCOUNT = {"anaphors": 99, "scored": 77, "no answer": 3, "documents": 8, "forced": 0}


@pytest.fixture(scope="module")
def counted():
    accuracy, failures = counted_mentions(60), CoreferenceFailures(2, 3)
    failures.update(random_batch(60)[1])
    tables = accuracy.compute()
    failed = failure_tables(failures, tables.best, tables.cells, ["best", "1-1"])
    return accuracy, made_results(tables, account=ACCOUNT, failures=failed, min_count=1)


@pytest.mark.parametrize("name", ["failures", "picked"])
def test_tables_say_what_the_csv_files_say(counted, name):
    table = distinct_table(getattr(counted[1].failures, name))
    results = with_changes(counted[1], failures=counted[1].failures._replace(**{name: table}))
    shown = shown_tables(results)[{"failures": "coreference_failures", "picked": "coreference_picks"}[name]]
    rows: list[Any] = table.to_dict("records")
    arrows = {"mention->antecedent": "m→ante", "antecedent->mention": "ante→m"}
    share = {"failures": "accuracy", "picked": "share"}[name]
    columns: Columns = {
        "mentions": "type",
        "direction": lambda row: arrows[row["direction"]],
        **({"by": "by", "class": "class"} if name == "failures" else {"picked": "picked", "picks": ",d count"}),
        "n": ",d total",
        share: f"% {share} {share}_low {share}_high",
        "nearest": f"% nearest_{share} nearest_low nearest_high",
        "same head word": f"% head_match_{share} head_match_low head_match_high",
        "rules": f"% rule_based_{share} rule_based_low rule_based_high",
    }
    page = cells(rows, {**columns, "attention head": lambda row: f"{row['layer']}-{row['head']}"})
    assert len(page) > 10
    assert on_page(shown) == in_latex(shown) == page
    assert in_terminal(shown, 250) == cells(rows, {**columns, "head": lambda row: f"{row['layer']}-{row['head']}"}, "")


def test_the_section_writes_and_shows_both_tables(counted):
    results = counted[1]
    section = coreference_section(results, Titles("m", "c"))
    assert section.tables["coreference_failures"] is results.failures.failures
    assert section.tables["coreference_picks"] is results.failures.picked
    assert {"coreference_failures", "coreference_picks"} <= {table.name for table in section.shown}
    without = coreference_section(with_changes(results, failures=None), Titles("m", "c"))
    assert not {"coreference_failures", "coreference_picks"} & set(without.tables)


def findings(counted, min_count=1, **values):
    """The findings about mistakes when a head picks the nearest mention clearly most often, but for some values."""
    accuracy, results = counted
    best = results.tables.best[results.tables.best["type"] == "all"].iloc[0]
    rows = [("antecedent", 0.5, 0.45, 0.55), ("nearest mention", 0.3, 0.25, 0.35), ("other mention", 0.1, 0.05, 0.2)]
    table = pd.DataFrame(
        [
            {**best[["type", "layer", "head", "direction", "total"]], "picked": name, "count": int(100 * value),
             "share": value, "share_low": low, "share_high": high, "nearest_share": 0.125, "nearest_low": 0.1,
             "nearest_high": 0.15} for name, value, low, high in rows
        ]
    )  # fmt: skip
    for column, value in values.items():
        table.loc[2, column] = value
    made = with_changes(results, failures=results.failures._replace(picked=table), min_count=min_count)
    texts = [finding.text for finding in explored_coreference(made, accuracy, "weight").findings]
    return [text for text in texts if "is wrong" in text], best


def test_the_finding_names_the_most_frequent_mistake_where_it_is_clear(counted):
    [text], best = findings(counted)
    assert text == (
        f"30.0 % [25.0, 35.0] of {best['total']} mentions: where head {best['layer']}-{best['head']}, the best for all "
        "mentions, is wrong, it most often picks the nearest mention (the nearest candidate: 12.5 % [10.0, 15.0])."
    )
    assert findings(counted, share_high=0.26)[0] == []  # the intervals overlap
    assert [findings(counted, min_count=best["total"] + more)[0] for more in (0, 1)] == [[text], []]  # too few mentions


def measure_of(row, direction):
    return f"coreference/{row['type']}/{direction}/accuracy/weight"


def leads_to(row):
    measure = measure_of(row, row["direction"])
    where = f"#head={row['layer']}-{row['head']}&measure={measure}&kind=weight&relation=coreference"
    return f"{where}&direction={row['direction']}"


def named(row):
    return "all mentions" if row["type"] == "all" else f"{row['type']} mentions"


def test_cards_of_heads_say_what_the_best_heads_find(results):
    rows = best_rows(results, ["preceding"])
    enough = sorted(row["total"] for row in rows)[1]
    metric = counted_mentions(90, labels=PAIRS[0])  # of more documents, so that there are enough for claims
    explored = explored_coreference(with_changes(results, min_count=enough), metric, "weight")
    facts: dict[str, list[tuple[str, str, str | None]]] = {}
    phrases: dict[str, tuple[str, ...]] = {}
    for row in rows:
        accuracy = with_unit(row, "accuracy accuracy_low accuracy_high", "%")
        rules, held_out = (as_shown(row, f"{name}_accuracy") for name in ("rule_based", "heldout"))
        text = f"{accuracy} of {row['total']:,} mentions, rules {rules} %, held out {held_out} %"
        measure = measure_of(row, row["direction"])
        facts.setdefault(head_of(row), []).append((f"antecedents, {named(row)}", text, measure))
        if row["total"] >= enough:
            same, other = (
                with_unit(row, f"{name} {name}_low {name}_high", "points", "+") for name in ("gain", "heldout_gain")
            )
            better = f"finds the antecedents of {named(row)} better than the rules do, by {same}; held out {other}"
            phrases.setdefault(head_of(row), (better,))
    assert sum(row["total"] >= enough for row in rows) == len(rows) - 1
    said = {name: [(fact.label, fact.text, fact.measure) for fact in each] for name, each in explored.facts.items()}
    assert (said, explored.phrases) == (facts, phrases)
    assert explored.findings[0].address == leads_to(rows[0])


def test_the_explorer_has_the_accuracies_of_all_heads_with_their_intervals(results):
    metric = counted_mentions(labels=PAIRS[0])
    measures = {each.id: each for each in explored_coreference(results, metric, "weight").measures}
    cells, (_, replicates) = results.tables.cells, metric.split_counts()
    rows = best_rows(results, ["preceding"])
    accuracies = {name for name in measures if "/accuracy/" in name}
    assert accuracies == {measure_of(row, direction) for row in rows for direction in WORDED}
    for row, (number, (direction, arrow)) in itertools.product(rows, enumerate(WORDED.items())):
        measure = measures[measure_of(row, direction)]
        of_heads = cells.query("candidates == 'preceding' and type == @row['type'] and direction == @direction")
        np.testing.assert_allclose(np.array(measure.values, dtype=float), of_heads["accuracy"])
        assert (measure.label, measure.n) == (f"{named(row)}, {arrow}", row["total"])
        assert (measure.relation, measure.direction, measure.kind) == ("coreference", direction, "weight")
        assert measure.baseline == row["rule_based_accuracy"]
        members = metric.members()[row["type"]]
        total = replicates.total[members].sum(0)
        right = replicates.correct[members, :, 0, number, 1, 2].sum(0)  # of head 2-3
        ends = np.quantile(right[total > 0] / total[total > 0], [0.025, 0.975])
        np.testing.assert_allclose(np.array([measure.low, measure.high], dtype=float)[:, 5], ends, atol=1e-4)


def test_the_finding_about_ensembles_begins_with_the_largest_gain(counted):
    accuracy, results = counted
    rows = best_rows(results, ["preceding"])
    count = len(rows)
    table = pd.DataFrame(rows)[["type"]].assign(
        total=100, heads=[f"{number}-1→" for number in range(count)], heldout_accuracy=0.5, single_accuracy=0.4,
        gain=[0.9, *np.linspace(0.1, 0.2, count - 1)], gain_low=[0.0, *[0.01] * (count - 1)], gain_high=0.95,
    )  # fmt: skip

    def said(table):
        found = explored_coreference(with_changes(results, ensembles=table), accuracy, "weight").findings
        return [(each.text, each.address) for each in found if "averaged maps" in each.text]

    (found,) = said(table)
    of = f"rows of the table of ensembles ({', '.join(named(row) for row in rows)})"
    more = "have more antecedents that averaged maps of several heads find than one head, where both are chosen on one "
    assert found[0].startswith(f"{count - 1} of {count} {of} {more}half of the documents and scored on the other: ")
    of_last = f"50.0 % of 100, one head 40.0 %, the rules {as_shown(rows[-1], 'rule_based_accuracy')} %"
    last = f"{named(rows[-1])} by {count - 1}-1→ ({of_last}; +20.0 points [1.0, 95.0])"
    assert f": {last}; {named(rows[-2])} by" in found[0]
    assert found[1] == leads_to(rows[-1])
    assert said(table[:1]) == [
        (
            "0 of 1 row of the table of ensembles (all mentions) has clearly more antecedents that averaged maps of "
            "several heads find than one head on documents that did not choose them.",
            leads_to(rows[0]),
        )
    ]
    assert said(table[:0]) == []


def test_notes_say_what_is_scored_and_how_groups_differ(results):
    notes = " ".join(best_table(results).notes)
    assert notes.startswith("Candidates are head words of the preceding mentions.")
    assert "Scored: 77 of 99 mentions that have an antecedent. Asked for, but with no right candidate: 3." in notes
    (row,) = results.contrasts.best.query("candidates == 'preceding'").to_dict("records")
    first, second = (f"{row[name]} {as_shown(row, f'{name}_accuracy')}" for name in ("first", "second"))
    difference = as_shown(row, "difference difference_low difference_high", "+")
    assert f"{first}, {second}: difference {difference} (head {head_of(row)})" in notes
    largest = results.contrasts.largest.query("candidates == 'preceding' and rank == 1").to_dict("records")
    heads = "; ".join(
        f"{as_shown(row, 'difference simultaneous_low simultaneous_high', '+')} in head {head_of(row)} "
        f"{ARROWS[row['direction']]}, held-out {as_shown(row, 'heldout_difference', '+')}"
        for row in largest
    )
    assert len(largest) == 2
    assert f"Largest differences, {row['first']} minus {row['second']}: {heads}. The intervals" in notes
    answered = with_changes(results, account={**results.account, "no answer": 0})
    assert "no right candidate" not in " ".join(best_table(answered).notes)
    assert (notes.count("minus"), notes.count(": difference")) == (1, 1)


def test_the_legend_counts_choices_and_names_intervals_and_rare_rows_are_gray(results):
    table = best_table(results)
    assert "the best of 12 on" in table.legend  # 2 layers, 3 heads, 2 directions
    assert ", with a 95 % bootstrap interval" in table.legend
    for row in table.rows:
        words = {"total"} if row["type"] == "all" else set()
        assert set(table.style(row).split()) == words | ({"rare"} if row["total"] < MIN_COUNT else set())
    assert {row["type"]: row["total"] >= MIN_COUNT for row in table.rows} == {"all": 1, "pronoun": 1, "nominal": 0}
    best = results.tables.best
    without = results.tables._replace(best=best.assign(accuracy_low=best["accuracy_high"]))
    assert "bootstrap" not in best_table(with_changes(results, tables=without)).legend
    some = best.assign(accuracy_low=best["accuracy_low"].where(best["type"] == "all", best["accuracy_high"]))
    assert "bootstrap" in best_table(with_changes(results, tables=results.tables._replace(best=some))).legend


def test_questions_have_the_candidates_of_their_own(results):
    asked = with_changes(results, asked=True)
    for policy, other in (("preceding", "words"), ("mentions", "words"), ("words", "preceding")):
        others = shown_tables(with_changes(asked, candidates=policy))["coreference_others"]
        assert {row["candidates"] for row in others.rows} == {other}
    assert "Candidates are head words of the two names or occupations in question." in best_table(asked).notes[0]


def test_the_page_compares_all_heads_between_groups(results):
    section = coreference_section(results, Titles("m", "c"))
    (largest,) = section.context["largest"]
    heads = results.contrasts.heads.query("candidates == 'preceding'")
    assert largest["choices"] == len(heads) == 12
    assert largest["above"] == sum(heads["simultaneous_low"] > 0)
    assert largest["below"] == sum(heads["simultaneous_high"] < 0)
    assert largest["has_intervals"] == heads["simultaneous_low"].notna().any()
    assert (largest["first_total"], largest["second_total"]) == tuple(heads[["first_total", "second_total"]].iloc[0])
    assert section.context["reasons"] == [("given with candidates of which none is right", 3)]
    assert section.context["scored"]
    assert list(section.figures) == [f"coreference_{name}" for name in ("best", "heads", "distances", "contrasts")]
    empty = with_changes(results, tables=results.tables._replace(best=results.tables.best.assign(total=0)))
    nothing = coreference_section(empty, Titles("m", "c"))
    assert list(nothing.figures) == ["coreference_contrasts"]
    assert not nothing.context["scored"]
