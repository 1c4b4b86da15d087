"""Figures at their limits: rare relations, missing intervals, numbers of papers, links of pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attentionology.analyses.alignment.example import AlignedExample, ExampleMap, example_figure
from attentionology.analyses.alignment.layers import CELLS as ALIGNMENT_CELLS
from attentionology.analyses.alignment.layers import error_figure
from attentionology.analyses.coreference.figures import best_figure
from attentionology.analyses.coreference.rows import under
from attentionology.analyses.dependency.figures import best_heads_figure
from attentionology.reports.drawing import panels
from attentionology.reports.shapes import by_bins
from tests.documents import counted_mentions
from tests.maps import counted_words
from tests.shown_tables import distinct, with_control
from tests.unit.test_shown_alignment import SERIES, made_up

SPECIALS = {"first_special": "<cls>", "last_special": "[SEP]"}


def lines(axes):
    """The points of the lines of some axes by their labels."""
    return {str(line.get_label()): np.column_stack(line.get_data()) for line in axes.get_lines()}


def segments(axes):
    """The two ends of the segments of some axes, in percent of the interval that they show."""
    return [path.vertices for collection in axes.collections for path in collection.get_paths()]


def cells_of(axes):
    """The cells of a matrix."""
    (drawn,) = (each for each in axes.collections if each.get_array() is not None)
    return drawn


def values_of(cells, rows):
    """The values of the cells of a matrix."""
    return np.asarray(cells.get_array()).reshape(rows, -1)


def assert_values(points, values, *, axis=1):
    """Compare the coordinates of points with values."""
    np.testing.assert_allclose(points[:, axis], np.asarray(values, dtype=float))


@pytest.fixture(scope="module")
def dependency():
    tables = counted_words().compute()
    best = distinct(with_control(tables.best, [tables.best]))
    return distinct(tables.cells), best[best["relation"] != "root"]


def test_best_heads_beside_rules_and_ensembles_for_frequent_relations(dependency):
    best = dependency[1].assign(tag_rule_heldout=[0.01 * number for number in range(len(dependency[1]))])
    best.iloc[0, best.columns.get_loc("accuracy_low")] = np.nan
    least = sorted(best["total"])[1]
    frequent = best[best["total"] >= least]
    ensembles = frequent[["relation"]].iloc[::-1].assign(heldout_accuracy=np.linspace(0.3, 0.6, len(frequent))).iloc[1:]
    shown = lines(best_heads_figure(best, min_count=least, ensembles=ensembles).axes[0])
    assert_values(shown["nearest word by part of speech"], 100 * frequent["tag_rule_heldout"], axis=0)
    known = ensembles.set_index("relation")["heldout_accuracy"]
    together = [100 * known.get(name, np.nan) for name in frequent["relation"]]
    assert_values(shown["ensemble, scored on the other half"], together, axis=0)
    assert np.isnan(together).sum() == 1
    assert "best head (95 % interval)" in shown  # that one head has no interval is no matter
    without = lines(best_heads_figure(best.assign(accuracy_low=np.nan), min_count=10**6).axes[0])
    assert_values(without["best head"], 100 * best["accuracy"], axis=0)  # all of them are rare


def test_numbers_of_the_paper_stand_beside_the_best_heads_of_their_types_of_mentions():
    tables = counted_mentions().compute()
    best = under("preceding", tables.best)
    best = best[best["total"] > 0]
    paper = {"head 5-4": {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58}}
    (axes, *_) = best_figure(best, paper).axes
    stars = lines(axes)["BERT’s head 5-4, CoNLL-2012 (paper)"]
    assert_values(stars, [paper["head 5-4"][kind] for kind in best["type"]], axis=0)


def test_a_line_joins_only_neighbors_with_enough_decisions():
    """Bins of fewer than fifty decisions, and bins before the first, have a mark but no line."""
    (axes,) = panels(3, 2)[1].flat
    by_bins(axes, [10, 20, 30, 40, 50], [90, 50, 49, 80, 60], "black", "o", "found", first=1)
    marks, line = axes.get_lines()
    assert_values(np.column_stack(marks.get_data()), [10, 20, 30, 40, 50])
    assert_values(np.column_stack(line.get_data()), [np.nan, 20, np.nan, 40, 50])


@pytest.fixture(scope="module")
def alignment():
    rows = [{**each, "layer": layer, "head": 0} for each in SERIES for layer in (1, 2) if each["heads"] == "all"]
    single = [each for each in SERIES if each["heads"] == "single" and each["direction"] == "forward"]
    rows += [{**each, "layer": layer, "head": head} for each in single for layer in (1, 2) for head in (1, 2, 3)]
    table = made_up(ALIGNMENT_CELLS, rows)
    return table.assign(error_rate=table["error_rate"].to_numpy()[::-1])  # the last head has the fewest errors


def test_intervals_of_only_some_layers_are_not_drawn_nor_error_rates_without_gold_links(alignment):
    _, special = error_figure(alignment).axes
    some = alignment["low"].where(alignment["layer"] == 2)
    assert not segments(error_figure(alignment.assign(low=some)).axes[0])
    (alone,) = error_figure(alignment.drop(columns="error_rate")).axes
    assert alone.get_ylabel() == special.get_ylabel() == "words on special tokens (%)"
    forward = alignment[(alignment["heads"] == "all") & (alignment["direction"] == "forward")]
    *_, (name, rows) = forward.groupby(["setting", "measure"])
    assert_values(lines(alone)[", ".join(name)], 100 * rows["on_special"])


def test_maps_of_a_sentence_pair_and_its_gold_links():
    values = ((0.0, 0.0, 0.0), (0.1, 0.4, 0.2))
    example = AlignedExample(
        "7", "AWI", 0, ("x", "y"), ("<s>", "a", "b"), (True, False, False), (ExampleMap("norm", values),),
        sure=((1, 0),), possible=((0, 1), (1, 0)),
    )  # fmt: skip
    figure: Any = example_figure(example)
    gold, norm = figure.axes
    assert [axes.get_title() for axes in (gold, norm)] == ["gold links", "norm, AWI"]
    assert not values_of(cells_of(gold), 2).any()
    np.testing.assert_allclose(values_of(cells_of(norm), 2), [[0.0, 0.0, 0.0], [0.25, 1.0, 0.5]])
    assert cells_of(norm).get_clim() == (0, 1)
    assert [label.get_text() for label in norm.get_xticklabels()] == ["<s>", "a", "b"]
    assert [label.get_text() for label in gold.get_yticklabels()] == ["x", "y"]
    for axes, is_filled in ((gold, True), (norm, False)):
        possible, sure = axes.patches  # in the second row at the first word, in the first row at the second one
        assert (possible.get_xy(), sure.get_xy()) == ((0.5, 0.5), (1.5, -0.5))
        assert (possible.get_linestyle(), sure.get_linestyle()) == (":", "-")  # which the page calls dotted and solid
        assert possible.get_edgecolor() != sure.get_edgecolor()
        assert (possible.get_facecolor()[-1] > 0) == (sure.get_facecolor()[-1] > 0) == is_filled
    (only,) = example_figure(replace(example, sure=(), possible=())).axes
    assert only.get_title() == "norm, AWI"
    maps = (ExampleMap("norm", ((0.5,) * 20,) * 2),)
    long = replace(example, columns=("a",) * 20, special=(False,) * 20, maps=maps)
    one, two = (example_figure(each).get_figwidth() for each in (replace(long, sure=(), possible=()), long))
    assert two > 1.5 * one  # there is room for both matrices
