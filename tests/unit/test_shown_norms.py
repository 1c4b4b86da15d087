"""The analysis of norms shows its numbers beside published ones, and its figures have limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.norms.analysis import SCHEMAS
from attentionology.analyses.norms.paper import PublishedNumbers
from attentionology.analyses.norms.spread import grid_figure
from tests.norms import changed_results, norms_section
from tests.shown_tables import Columns, assert_declared, cells, distinct_table, in_latex, on_page, percent
from tests.unit.test_norm_reports import results as computed  # noqa: F401  # a fixture

PAPER = PublishedNumbers(
    mixing={"attn-n": (85.28, 99.96, 4.89)},
    expansion_by_layer=(0.9, 0.7, 0.6),
    frequency={"attn-n": (-0.387, -0.413)},
    mixing_by_layer={"[CLS]": (15, 5, 8)},
)


@pytest.fixture(scope="module")
def results(computed):  # noqa: F811  # the fixture
    names = ("shares", "mixing", "expansion")
    tables = {"change": computed.feed_forward.change, "amplified": computed.feed_forward.amplified}
    tables |= {"correlations": computed.frequency.correlations, **{name: getattr(computed, name) for name in names}}
    block = computed.block._replace(
        **{name: distinct_table(getattr(computed.block, name)) for name in ("overwriting", "left_out")}
    )
    return changed_results(computed, block=block, **{name: distinct_table(table) for name, table in tables.items()})


def test_columns_are_as_declared(computed):  # noqa: F811  # the fixture
    tables = norms_section(changed_results(computed, published=PAPER)).tables
    assert_declared(tables, SCHEMAS, ["weight", "gamma", "median_gamma", "published"])


@pytest.fixture(scope="module")
def beside_paper(results):
    section = norms_section(changed_results(results, published=PAPER))
    return section.tables, {table.name: table for table in section.shown}


def test_mixing_ratios_beside_the_paper(beside_paper):
    written, shown = beside_paper
    mixing = written["norms_mixing"]
    rows = mixing[(mixing["layer"] == 0) & (mixing["class"] == "all")].to_dict("records")
    columns: Columns = {
        "variant": "variant",
        "mean": "% mean",
        "largest": "% max",
        "smallest": "% min",
        "published mean %": lambda row: "85.3 [4.89, 99.96]" if row["variant"] == "attn-n" else "–",
    }
    expected = cells(rows, columns)
    assert on_page(shown["norms_mixing"]) == in_latex(shown["norms_mixing"]) == expected


def test_mixing_ratios_by_layer_and_class(beside_paper):
    written, shown = beside_paper
    mixing, expansion = written["norms_mixing"], written["norms_expansion"].set_index("layer")["expansion"]
    values = mixing[mixing["variant"] == "attnresln-n"].set_index(["layer", "class"])["mean"]
    for row, paper, rate in zip(on_page(shown["norms_mixing_layers"]), (15, 5, 8), (0.9, 0.7, 0.6), strict=True):
        layer = int(row["layer"])
        for name in ("all", "[CLS]", "[SEP]"):
            assert row[f"{name} %"] == percent(values[layer, name])
        assert row["[CLS], published %"] == f"{paper:.1f}"
        assert "[SEP], published %" not in row
        assert (row["expansion rate of f"], row["expansion rate, published"]) == (
            f"{expansion[layer]:.2f}",
            f"{rate:.2f}",
        )


def test_correlations_with_frequency(beside_paper):
    written, shown = beside_paper
    rho = written["norms_frequency"].set_index(["measure", "tokens"])["rho"]
    for row in on_page(shown["norms_frequency"]):
        measure = row["measure"]
        assert row["ρ, all tokens"] == f"{rho[measure, 'all']:.2f}"
        assert row["ρ, words only"] == f"{rho[measure, 'words']:.2f}"
        published = ("-0.39", "-0.41") if measure == "attn-n" else ("–", "–")
        assert (row["published, all"], row["published, words"]) == published


@pytest.mark.parametrize("columns", [4, 3])
def test_figure_of_weight_and_norm(results, columns, monkeypatch):
    monkeypatch.setattr("attentionology.analyses.norms.spread._PANELS_PER_ROW", columns)
    figure: Any = grid_figure(results.spread)
    rows = 1 if columns == 4 else 2
    assert figure.get_size_inches()[1] == 1.75 * rows + 0.5
    assert [axes.get_visible() for axes in figure.axes] == [True] * 4 + [False] * (rows * columns - 4)
    assert [axes.get_xlabel() != "" for axes in figure.axes] == [False] * (columns * (rows - 1)) + [True] * columns
    assert [bool(axes.get_ylabel()) for axes in figure.axes] == [True, *[False] * (columns - 1)] * rows
    for axes, layer in zip(figure.axes, range(4), strict=False):
        assert axes.get_title() == f"{f'layer {layer}' if layer else 'all layers'}, ρ = {rho_of(results, layer):.2f}"
        grid = results.spread.grid[results.spread.grid["layer"] == layer]
        for lines, (_, places) in zip(batched(axes.lines, 3), grid.groupby("class", sort=False), strict=True):
            ends = ends_of(lines)
            weights, norms = places["weight"] * 100 * 2**0.5, places["value_norm"] * 2**0.125
            for drawn, edges in ((ends[:3], weights), (ends[3:], norms)):
                each = np.sort(np.repeat(edges, places["pairs"]))  # the value of every pair
                named = [each[np.ceil(share * len(each)).astype(int) - 1] for share in (0.1, 0.5, 0.9)]
                np.testing.assert_allclose(drawn, [value or each[each > 0].min() for value in named])


def batched(items, n):
    return zip(*[iter(items)] * n, strict=True)


def ends_of(lines):
    """The ends of the two lines of a cross, each with the place of its mark between them."""
    across, upright, mark = (np.asarray(line.get_data(), dtype=float) for line in lines)
    (x,), (y,) = mark
    assert (across[1] == y).all()
    assert (upright[0] == x).all()
    return across[0, 0], x, across[0, 1], upright[1, 0], y, upright[1, 1]


def test_a_cross_has_the_median_and_four_in_five_pairs(results):
    places = [(0, 2, 9), (0.25, 1, 39), (0.5, 1, 32), (1.0, 4, 12), (2.0, 4, 8)]
    rows = [(0, "other", *place) for place in places]
    grid = pd.DataFrame(rows, columns=["layer", "class", "weight", "value_norm", "pairs"])
    ends = ends_of(grid_figure(results.spread._replace(grid=grid)).axes[0].lines)
    scales = [100 * 2**0.5] * 3 + [2**0.125] * 3
    np.testing.assert_allclose(np.array(ends) / scales, [0.25, 0.5, 1.0, 1, 1, 4])
    below = grid.assign(pairs=[50, 0, 0, 0, 50])  # cells that begin at 0 are part of the next
    ends = ends_of(grid_figure(results.spread._replace(grid=below)).axes[0].lines)
    np.testing.assert_allclose(np.array(ends[:3]) / scales[0], [0.25, 0.25, 2.0])


def rho_of(results, layer):
    rows = results.spread.correlation.set_index(["layer", "head", "class"])["rho"]
    return rows[layer, 0, "all"]
