"""The figure that compares all heads between two groups of documents, and what the other figures mark and name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.coreference.contrasts import PAIRS, Contrasts
from attentionology.analyses.coreference.decisions import SENTENCE_BINS, WORD_BINS, bin_name, bin_of
from attentionology.analyses.coreference.figures import best_figure, distance_figure, heads_figure
from attentionology.reports.drawing import BLACK, BLUE, COLUMN, ORANGE, SKY, TEXT
from tests.coreference import groups_of, made_results
from tests.documents import counted_mentions
from tests.shown_tables import distinct_table

MARKERS = {"mention->antecedent": "o", "antecedent->mention": "^"}
WHERE = ["direction", "layer", "head"]


@pytest.fixture(scope="module")
def tables():
    return counted_mentions(labels=PAIRS[0]).compute()


@pytest.fixture(scope="module")
def groups():
    tables = groups_of(counted_mentions(labels=PAIRS[0]))
    return tables._replace(heads=distinct_table(tables.heads))


def figure_of(groups, tables):
    return Contrasts().draw(groups, made_results(tables), "")["coreference_contrasts"]


def drawn(axes):
    """The points of some axes: where they are, their color, their marker and whether they are filled."""
    points = [line for line in axes.get_lines() if len(line.get_xdata()) == 1]
    return [
        (line.get_xdata()[0], line.get_ydata()[0], line.get_color(), line.get_marker(), line.get_markerfacecolor())
        for line in points
    ]


def test_every_head_is_a_point_and_those_with_the_largest_differences_have_colors(tables, groups):
    heads = groups.heads.query("candidates == 'preceding'")
    largest = groups.largest.query("candidates == 'preceding'")
    best = tables.best.query("candidates == 'preceding'")
    best_head = tuple(best.query("type == 'all'")[WHERE].iloc[0])
    colors = {best_head: BLACK}
    for row in largest.to_dict("records"):
        colors[tuple(row[name] for name in WHERE)] = BLUE if row["higher"] == PAIRS[0][0] else ORANGE
    figure: Any = figure_of(groups, tables)
    (axes,) = figure.axes
    expected = []
    for row in heads.to_dict("records"):
        color = colors.get(tuple(row[name] for name in WHERE))
        place = 100 * row["first_accuracy"], 100 * row["second_accuracy"]
        expected.append((*place, color or SKY, MARKERS[row["direction"]], color or "none"))
    assert drawn(axes) == expected
    assert {color for _, _, color, *_ in expected} >= {BLUE, ORANGE, SKY}
    assert (axes.get_xlabel(), axes.get_ylabel()) == tuple(f"{name} (%)" for name in PAIRS[0])
    names = sorted(f"{layer}-{head}" for _, layer, head in colors)
    labels = [text for text in axes.texts if text.get_text()]
    assert sorted(text.get_text() for text in labels) == names
    for text in labels:
        x, y = text.xy
        is_right = y <= x < 88  # on the outer side of the diagonal, unless the name would leave the panel
        assert text.xyann[0] == x + (7 if is_right else -7)
        assert (text.get_ha(), text.get_color()) == ("left" if is_right else "right", color_at(expected, x, y))
    for side in ("left", "right"):
        heights = sorted(text.xyann[1] for text in labels if text.get_ha() == side)
        assert (np.diff(heights) > 5.5 - 1e-9).all()
    marks = {line.get_label(): line.get_marker() for line in axes.get_lines() if not len(line.get_xdata())}
    assert marks == {"m→ante": "o", "ante→m": "^"}


def color_at(points, x, y):
    """The color of the point at a place."""
    return next(color for *place, color, _, _ in points if np.allclose(place, (x, y)))


@pytest.mark.parametrize(("stereotypes", "panels"), [((0,), 1), ((0, 1), 2), ((), 1)])
def test_pronouns_have_a_panel_only_without_stereotypes(tables, groups, stereotypes, panels):
    pairs = [PAIRS[number] for number in stereotypes] + [PAIRS[3]]
    made = {
        name: pd.concat([getattr(groups, name).assign(first=first, second=second) for first, second in pairs])
        for name in ("heads", "largest")
    }
    figure: Any = figure_of(groups._replace(**made), tables)
    assert [axes.get_xlabel() for axes in figure.axes] == [f"{first} (%)" for first, _ in pairs[:panels]]
    assert figure.get_figwidth() == {1: COLUMN, 2: TEXT}[panels]
    assert figure.axes[-1].get_ylabel() == f"{pairs[panels - 1][1].rpartition(', ')[2]} (%)"


@pytest.mark.parametrize("direction", MARKERS)
@pytest.mark.parametrize("correct", [0, 1])
def test_the_best_head_is_marked_in_its_direction_if_it_finds_anything(tables, direction, correct):
    best = tables.best.query("candidates == 'preceding'").assign(direction=direction, correct=correct, layer=2, head=3)
    figure: Any = heads_figure(tables.cells, best, "preceding")
    for axes, shown in zip(figure.axes, MARKERS, strict=False):
        (accuracy,) = best[best["type"] == "all"]["accuracy"]
        by_best = f": {100 * accuracy:.1f} % by 2-3"
        name = {"mention->antecedent": "mention→antecedent", "antecedent->mention": "antecedent→mention"}[shown]
        assert axes.get_title() == name + by_best * (correct * (shown == direction))
        assert [mark.get_xy() for mark in axes.patches] == [(1.5, 0.5)] * (correct * (shown == direction))


def test_types_without_mentions_have_no_row_and_some_rows_no_interval(tables):
    best = tables.best.query("candidates == 'preceding' and total > 0")
    limits = {"accuracy_low": [0.1] + [np.nan] * (len(best) - 1), "accuracy_high": [0.9] + [np.nan] * (len(best) - 1)}
    figure: Any = best_figure(pd.concat([best.assign(**limits), best.assign(total=0)]), None)
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert rows == [f"{row.type} (n = {row.total:,})" for row in best.itertuples()]
    assert "best head (95 % interval)" in [key.get_text() for key in figure.legends[0].get_texts()]


def test_distances_are_named_with_their_mentions(tables):
    distances = distinct_table(tables.distances)  # so that each head has accuracies of its own
    best = tables.best.query("candidates == 'preceding'").assign(layer=1, head=2)
    head = best.query("type == 'all'").iloc[0]
    for axes, unit in zip(distance_figure(distances, best, "preceding").axes, ("sentences", "words"), strict=True):
        rows = distances.query("candidates == 'preceding' and type == 'all' and unit == @unit")
        rows = rows[(rows[WHERE] == head[WHERE]).all(axis=1)]
        names = [label.get_text() for label in axes.get_xticklabels()]
        assert names == [f"{row.distance}\n({row.total:,})" for row in rows.itertuples()]
        assert axes.get_xlabel() == f"{unit} to the nearest antecedent (mentions)"
        assert axes.get_lines()[0].get_label() == "best head, 1-2 (95 % interval of independent mentions)"
        np.testing.assert_allclose(np.asarray(axes.get_lines()[0].get_ydata()), 100 * rows["accuracy"])


def test_bins_are_named_by_the_distances_in_them():
    for bins, expected in (
        (SENTENCE_BINS, {"0": (0, 0), "1": (1, 1), "2": (2, 2), "3+": (3, 99)}),
        (WORD_BINS, {"1–5": (1, 5), "6–10": (6, 10), "11–20": (11, 20), "21–50": (21, 50), "51+": (51, 99)}),
    ):
        assert [bin_name(index, bins) for index in range(len(bins))] == list(expected)
        for index, ends in enumerate(expected.values()):
            assert [bin_of(end, bins) for end in ends] == [index, index]
