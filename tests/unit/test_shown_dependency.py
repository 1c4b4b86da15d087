"""What the tables of the dependency analysis mark and explain, and when a mistake of a head is named."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from attentionology.analyses.contract import OptionError, Titles
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.best_heads import best_table, reach_facts
from attentionology.analyses.dependency.failures import DependencyFailures, failure_tables, shown_failures
from attentionology.analyses.shared.options import FailureOptions
from attentionology.reports.streams import WIDE
from tests.dependency import dependency_section, explored_dependency, made_results, with_answers
from tests.maps import RELATIONS, batch_of, counted_words, random_corpus
from tests.shown_tables import distinct_table, on_page, read_terminal, with_control

MIN_COUNT = 36


@pytest.fixture(scope="module")
def results():
    tables = counted_words().compute()
    best = distinct_table(with_control(tables.best, [tables.best]))
    best.loc[1, ["offset_correct", "tied"]] = [0, 3]
    return made_results(tables.cells, best, (tables.best,), MIN_COUNT, ("map “weight”",))


def test_the_table_fits_in_a_terminal(results):
    """Also with a control and negative gains, no heading takes two lines, and no cell is cut."""
    gains = {name: -results.best[name] for name in ("heldout_gain", "heldout_gain_low", "heldout_gain_high")}
    table = best_table(replace(results, best=results.best.assign(**gains, total=1000 + results.best["total"])))
    cells = [line for line in read_terminal(table.terminal(WIDE), WIDE).splitlines() if line[:1] in "┃│"]
    assert len(cells) == 1 + len(table.rows), f"more than {WIDE} columns: give a column of the table room='page'"


def test_rows_of_few_words_are_gray_and_totals_are_marked(results):
    table = best_table(results)
    styles = {row["relation"]: table.style(row) for row in table.rows}
    assert styles["all"] == "total"
    assert {name for name, style in styles.items() if "rare" in style} == {"nsubj", "punct"}
    assert results.best.set_index("relation").loc["nsubj:pass", "total"] == MIN_COUNT  # just enough


def test_the_legend_explains_every_number(results):
    table = best_table(results)
    legend = table.legend
    for column in table.shown("any", "wide", "page"):
        if column.type != "text" and column.heading not in ("", "n"):
            assert f"<dt>{column.heading}</dt>" in legend, f"the column {column.heading!r} needs help="
    assert "the best of 12 on these same words" in legend  # 2 layers, 3 heads, 2 directions
    without = made_results(results.cells, results.best.drop(columns="control_accuracy"))
    assert "random weights" not in best_table(without).legend


@pytest.fixture(scope="module")
def counted():
    texts, maps = random_corpus(0, sentences=90)
    accuracy, failures = DependencyAccuracy(RELATIONS, 2, 3, replicates=20), DependencyFailures(RELATIONS, 2, 3)
    accuracy.update(batch_of(texts, maps))
    failures.update(batch_of(texts, maps))
    tables = accuracy.compute()
    failed = failure_tables(failures, tables.best, tables.cells, ["best"])
    return accuracy, made_results(tables.cells, tables.best, (), 20, failures=failed)


def test_each_relation_has_a_tab_with_its_rows(counted):
    results = counted[1]
    failures, picked = shown_failures(results.failures, 1)
    names = list(dict.fromkeys(row["relation"] for row in picked.rows))
    assert len(names) > 1
    for whole in (failures, picked):
        assert list(whole.by("relation")) == names
        for name, part in whole.by("relation").items():
            assert on_page(part) == [cells for cells in on_page(whole) if cells["relation"] == name]
            assert on_page(part)
            assert [part.style(row) for row in part.rows] == [whole.style(row) for row in part.rows]
    many = [pd.concat([table[:1].assign(relation=f"r{n}") for n in range(9, 0, -1)]) for table in results.failures]
    for first_eight in shown_failures(results.failures._make(many), 0):  # in the order of the table
        assert [row["relation"] for row in first_eight.rows] == [f"r{n}" for n in range(9, 1, -1)]


def test_the_section_writes_both_tables(counted):
    results = counted[1]
    section = dependency_section(results, Titles("m", "c"))
    assert section.tables["dependency_failures"] is results.failures.failures
    picked = results.failures.picked.drop_duplicates(["relation", "layer", "head"]).query("relation == 'obj'")
    assert [link for link in section.context["mistakes"] if link[0] == "obj"] == [
        ("obj", head, f"#head={head}&relation=obj&direction={direction}&show=wrong")
        for head, direction in zip(
            picked["layer"].astype(str) + "-" + picked["head"].astype(str), picked["direction"], strict=True
        )
    ]
    assert section.tables["dependency_picks"] is results.failures.picked
    assert "dependency_picks" not in dependency_section(with_answers(results, failures=None), Titles("m", "c")).tables


def findings(counted, **values):
    """The findings about mistakes when a head picks siblings clearly most often, but for some values."""
    accuracy, results = counted
    best = results.best[results.best["relation"] == "obj"].iloc[0]
    rows = [("head", 0.5, 0.45, 0.55), ("sibling", 0.3, 0.25, 0.35), ("punctuation", 0.1, 0.05, 0.2)]
    table = pd.DataFrame(
        [
            {**best[["relation", "layer", "head", "direction", "total"]], "picked": name, "count": int(100 * value),
             "share": value, "share_low": low, "share_high": high, "offset_share": 0.125, "offset_low": 0.1,
             "offset_high": 0.15} for name, value, low, high in rows
        ]
    )  # fmt: skip
    for column, value in values.items():
        table.loc[2, column] = value
    made = replace(with_answers(results, failures=results.failures._replace(picked=table)), min_count=1)
    found = [one for one in explored_dependency(made, accuracy, "weight").findings if "mistakes" in one.text]
    assert all(one.address.endswith("&show=wrong:sibling") for one in found)
    return [one.text for one in found], best


def test_the_finding_names_the_most_frequent_mistake_where_it_is_clear(counted):
    [text], best = findings(counted)
    assert text.startswith(f"30.0 % [25.0, 35.0] of {best['total']} words with obj, for which head ")
    assert f"head {best['layer']}-{best['head']} picks another dependent of its head (the best fixed" in text
    assert "offset: 12.5 %" in text
    assert findings(counted, share_high=0.26)[0] == []  # the intervals overlap


@pytest.mark.parametrize("name", ["8", "0-1", "all", "3-x"])
def test_heads_must_be_named(name):
    with pytest.raises(OptionError, match="--failures takes 'best' or heads"):
        FailureOptions(failures=(name,)).check()


def test_the_section_names_an_example_and_what_words_of_a_causal_model_can_reach(results):
    cells = results.cells.assign(reach=[0.25 + 0.5 * (way == "head->dep") for way in results.cells["direction"]])
    reach = "causal model, in which words see only the words before; all words whose head is in reach: "
    assert reach_facts(cells) == (f"{reach}dep→head 25.0 %, head→dep 75.0 %",)
    assert reach_facts(results.cells) == ()
    single = [row for row in best_table(results).rows if row["relation"] in RELATIONS and row["relation"] != "punct"]
    section = dependency_section(replace(results, cells=cells, trees="enhanced"), Titles("m", "c"))
    assert section.context["example"] == single[0]
    punctuation = results.best[results.best["relation"] == "punct"]
    assert dependency_section(replace(results, best=punctuation, min_count=1)).context["example"] is None
    assert section.context["map_facts"] == [*results.map_facts, *reach_facts(cells)]
    titled = section.figures["dependency_best"].get_suptitle(), section.figures["dependency_heads"].get_suptitle()
    assert titled == ("m on c · enhanced dependencies",) * 2
    rare = dependency_section(replace(results, min_count=10**6))
    assert (rare.context["example"], rare.figures["dependency_best"].get_suptitle()) == (None, "")
