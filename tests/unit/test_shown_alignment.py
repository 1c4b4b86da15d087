"""The tables of the alignment analysis say what their CSV files say, wherever they are shown."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.alignment import columns
from attentionology.analyses.alignment.results import AlignmentResults, LayerChoice
from attentionology.analyses.alignment.section import shown_tables
from attentionology.analyses.alignment.series import Series
from attentionology.analyses.alignment.tables import AlignmentTables
from tests.shown_tables import Columns, cells, distinct, in_latex, in_terminal, on_page, percent

SERIES = [
    {"setting": setting, "measure": measure, "heads": heads, "direction": direction}
    for setting in ("AWI", "AWO")
    for measure in ("weight", "norm")
    for heads in ("all", "single")
    for direction in ("forward", "reverse")
]


def made_up(schema, rows):
    """A table with all columns of a schema, in which all numbers are different."""
    names = [name for column in schema.columns for name in column.names.split()]
    return distinct(pd.DataFrame([{**dict.fromkeys(names, 0.5), **row} for row in rows])[names])


@pytest.fixture(scope="module")
def results():
    cells = made_up(columns.CELLS, [{**each, "layer": layer, "head": 0} for each in SERIES for layer in (1, 2)])
    best = made_up(columns.BEST, [{**each, "layer": 2, "head": 3 * (each["heads"] == "single")} for each in SERIES])
    best.loc[best["measure"] == "weight", "largest_error_rate"] = np.nan
    differences = [{"contrast": "norm − weight", "of": "AWI", "layer": layer} for layer in (1, 2)]
    rhos = [{"setting": "AWI", "over": over, "n": n} for over, n in (("layers", 6), ("heads", 72))]
    correlations = made_up(columns.CORRELATIONS, rhos)
    correlations.loc[0, ["rho", "low", "high"]] = np.nan
    baselines = made_up(columns.BASELINES, [{"name": "diagonal", "links": 1234}, {"name": "other", "links": 7}])
    contrasts = made_up(columns.CONTRASTS, differences)
    tables = AlignmentTables(cells, best, contrasts, correlations, baselines)
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=True)
    return AlignmentResults("cross-attention", tables, (best,), chosen)


@pytest.fixture(scope="module")
def shown(results):
    return {table.name: table for table in shown_tables(results)}


def test_layers(results, shown):
    table = results.tables.cells
    rows = table[(table["heads"] == "all") & (table["direction"] == "forward")].to_dict("records")
    everywhere: Columns = {
        **{name: name for name in ("layer", "setting", "measure")},
        "error rate": "% error_rate low high",
    }
    page: Columns = {
        **everywhere,
        "precision": "% precision",
        "recall": "% recall",
        "on special tokens": "% on_special",
        "on punctuation": "% on_punctuation",
        "mean norm": lambda row: f"{row['size']:.4f}" if row["measure"] == "norm" else "",
    }
    table = shown["alignment_layers"]
    assert len(rows) == 8
    assert on_page(table) == in_latex(table) == cells(rows, page)
    assert in_terminal(table, 100) == cells(rows, {**everywhere, "on special": "% on_special"}, "")


def test_best_layers_and_heads(results, shown):
    rows = results.tables.best.to_dict("records")
    everywhere: Columns = {
        **{name: name for name in ("setting", "measure", "heads")},
        "links": "direction",
        "best": lambda row: "2-3" if row["heads"] == "single" else "2",
        "error rate": "% error_rate low high",
        "held-out": "% heldout_error_rate",
        "held-out gain": "+ heldout_gain heldout_gain_low heldout_gain_high",
        "by largest norm": "% largest_error_rate",
    }
    table = shown["alignment_best"]
    assert on_page(table) == in_latex(table) == cells(rows, {**everywhere, "mean of all": "% mean_error_rate"})
    assert in_terminal(table, 150) == cells(rows, everywhere, "")


def test_the_direction_of_links_is_left_out_if_there_is_only_one(results):
    cells = results.tables.cells
    tables = AlignmentTables(
        cells[cells["direction"] == "forward"],
        results.tables.best[results.tables.best["direction"] == "forward"],
        results.tables.contrasts,
        results.tables.correlations,
        results.tables.baselines,
    )
    best = shown_tables(AlignmentResults("cross-attention", tables, (), results.chosen))[1]
    assert "links" not in on_page(best)[0]


def test_baselines_and_copies_with_random_weights(results, shown):
    page = cells(
        results.tables.baselines.to_dict("records"),
        {
            "alignment": "name",
            "links": ",d links",
            "error rate": "% error_rate low high",
            "precision": "% precision",
            "recall": "% recall",
        },
    )
    lowest = percent(results.tables.best["error_rate"].min())
    copy = {"links": "–", "error rate %": lowest, "precision %": "–", "recall %": "–"}
    expected = [*page, {"alignment": "random weights, copy 1, best of all", **copy}]
    assert on_page(shown["alignment_baselines"]) == in_latex(shown["alignment_baselines"]) == expected


def test_differences_and_correlations(results, shown):
    columns: Columns = {
        "difference of error rates": "contrast",
        "of": "of",
        "layer": "layer",
        "points": "+ difference low high",
    }
    differences = cells(results.tables.contrasts.to_dict("records"), columns)
    assert on_page(shown["alignment_contrasts"]) == differences
    rho, low, high = results.tables.correlations.loc[1, ["rho", "low", "high"]]
    assert on_page(shown["alignment_correlations"]) == [
        {"setting": "AWI", "over": "6 layers", "Spearman’s ρ": "–"},
        {"setting": "AWI", "over": "72 heads", "Spearman’s ρ": f"{rho:.2f} [{low:.2f}, {high:.2f}]"},
    ]


def test_without_gold_links_nothing_is_scored(results):
    names = ["sure", "hits_sure", "hits_possible", "error_rate", "low", "high", "precision", "recall", "f1"]
    tables = AlignmentTables(results.tables.cells.drop(columns=names), *([pd.DataFrame()] * 4))
    chosen = LayerChoice(Series("AWI", "norm"), 0, by_gold=False)
    (layers,) = shown_tables(AlignmentResults("cross-attention", tables, (), chosen))
    headings = ["layer", "setting", "measure", "on special tokens %", "on punctuation %", "mean norm"]
    assert list(on_page(layers)[0]) == headings
