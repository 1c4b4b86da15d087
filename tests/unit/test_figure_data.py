"""Figures at their limits: rare relations, missing intervals, numbers of papers, links of pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.alignment.example import AlignedExample, ExampleMap, example_figure
from attentionology.analyses.alignment.layers import CELLS as ALIGNMENT_CELLS
from attentionology.analyses.alignment.layers import error_figure
from attentionology.analyses.coreference.figures import best_figure
from attentionology.analyses.coreference.rows import under
from attentionology.analyses.dependency.accuracy import TOTALS
from attentionology.analyses.dependency.figures import best_heads_figure, ensembles_figure
from attentionology.reports.drawing import panels
from attentionology.reports.shapes import by_bins
from tests.documents import counted_mentions
from tests.maps import counted_words
from tests.shown_tables import distinct_table, with_control
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
    best = distinct_table(with_control(tables.best, [tables.best]))
    return distinct_table(tables.cells), best[best["relation"] != "root"]


def named_rows(axes):
    """The relations of the rows from top to bottom, which are written at the left of all columns."""
    names = [text for text in axes.texts if text.get_horizontalalignment() == "left" and text.xy[0] == 0]
    return [text.get_text() for text in sorted(names, key=lambda text: text.xy[1])][1:]  # below their heading


def test_best_heads_are_ranked_beside_the_best_of_all_rules(dependency):
    count = len(dependency[1])
    rules = {"tag_offset_heldout": np.linspace(0, 1, count), "tag_rule_heldout": np.linspace(1, 0, count)}
    best = dependency[1].assign(**rules)
    best.iloc[0, best.columns.get_loc("accuracy_low")] = np.nan
    least = sorted(best["total"])[1]
    frequent = best[best["total"] >= least]
    totals = frequent[frequent["relation"].isin(TOTALS)]
    ranked = pd.concat([totals, frequent.drop(totals.index).sort_values("accuracy", ascending=False)])
    figure = best_heads_figure(best, min_count=least)
    (axes,) = figure.axes
    assert named_rows(axes) == ["all", "  -nopunct", "  -noroot", *ranked["relation"][len(TOTALS) :]]
    shown = {label: points for label, points in lines(axes).items() if not label.startswith("_")}
    assert len(shown) == 4  # more marks could not be told apart
    assert_values(shown["best head (95 % interval)"], 100 * ranked["accuracy"], axis=0)  # although one has no interval
    of_offset = ranked["heldout_accuracy"] - ranked["heldout_gain"]
    best_rule = pd.concat([of_offset, ranked["tag_offset_heldout"], ranked["tag_rule_heldout"]], axis=1).max(axis=1)
    assert_values(shown["best rule (position or parts of speech)"], 100 * best_rule, axis=0)
    for name in ("nsubj", "a relation with a very long name", "<b>long</b>\n" * 30):
        wide = best_heads_figure(best.replace("nsubj", name), min_count=1)
        wide.draw_without_rendering()
        assert wide.axes[0].get_position().width >= 0.55, name
    without = dependency[1].assign(accuracy_low=np.nan, heldout_accuracy=np.nan)
    (axes,) = best_heads_figure(without, min_count=10**6).axes  # all of them are rare
    assert sorted(lines(axes)["best head"][:, 0]) == pytest.approx(sorted(100 * without["accuracy"]))
    assert sorted(lines(axes)["best rule (fixed offset)"][:, 0]) == pytest.approx(sorted(100 * best["offset_accuracy"]))


def test_several_heads_stand_beside_one_head_with_the_interval_of_the_difference(dependency):
    best = dependency[1]
    names = best["relation"][~best["relation"].isin(TOTALS)][::-1]
    heldout, count = np.linspace(0.2, 0.6, len(names)), len(names)
    columns = {"heldout_accuracy": heldout, "single_accuracy": heldout / 2, "gain_low": 0.01, "gain_high": 0.4}
    ensembles = pd.DataFrame({"relation": names, "heads": [f"{row}-1 + 9-9" for row in range(count)], **columns})
    figure: Any = ensembles_figure(best, ensembles, min_count=1)
    (axes,) = figure.axes
    assert named_rows(axes) == [*names[::-1]]  # those that find most on top
    assert_values(lines(axes)["one head"], 50 * heldout[::-1], axis=0)
    (first, *_) = segments(axes)
    assert first[:, 0] == pytest.approx([31, 70])  # from 30 % of one head
    assert ensembles_figure(best, ensembles.assign(relation="absent"), min_count=1) is None


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
