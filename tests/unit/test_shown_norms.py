"""The tables of the analysis of norms say what their CSV files say, wherever they are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.norms.analysis import SCHEMAS
from attentionology.analyses.norms.block import pairs_figure
from attentionology.analyses.norms.frequency import frequency_figure
from attentionology.analyses.norms.overwriting import block_figure
from attentionology.analyses.norms.paper import Published
from attentionology.analyses.norms.rows import layers_table
from attentionology.analyses.norms.shares import explored_shares
from attentionology.analyses.norms.spread import grid_figure
from tests.norms import changed_results, norms_section
from tests.shown_tables import Columns, assert_declared, cells, distinct, in_latex, in_terminal, on_page, percent
from tests.unit.test_norm_reports import results as computed  # noqa: F401  # a fixture

PAPER = Published(
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
        **{name: distinct(getattr(computed.block, name)) for name in ("overwriting", "left_out")}
    )
    return changed_results(computed, block=block, **{name: distinct(table) for name, table in tables.items()})


def test_columns_are_as_declared(computed):  # noqa: F811  # the fixture
    tables = norms_section(changed_results(computed, published=PAPER)).tables
    assert_declared(tables, SCHEMAS, ["weight", "gamma", "median_gamma", "published"])


def test_the_card_of_a_head_names_the_class_that_differs_most(computed):  # noqa: F811  # the fixture
    explored = explored_shares(computed.shares)
    values = {
        measure.id: dict(zip(explored.facts, vars(measure)["values"], strict=True)) for measure in explored.measures
    }
    for (layer, head), rows in computed.shares.groupby(["layer", "head"]):
        row = rows.loc[(rows["weight"] - rows["norm_share"]).abs().idxmax()]
        (fact,) = explored.facts[f"{layer}-{head}"]
        said = f"to {row['class']}: {percent(row['weight'])} % by weight, {percent(row['norm_share'])} % by norm"
        assert (fact.label, fact.text, fact.measure) == ("weight and norm", said, f"norms/norm_share/{row['class']}")
        assert values[str(fact.measure)][f"{layer}-{head}"] == pytest.approx(row["norm_share"])


def test_the_explorer_has_shares_by_weight_and_by_norm(computed):  # noqa: F811  # the fixture
    measures = {measure.id: measure for measure in explored_shares(computed.shares).measures}
    for name, rows in computed.shares.groupby("class"):
        for column, by in (("weight", "weight"), ("norm_share", "norm")):
            measure = measures[f"norms/{column}/{name}"]
            assert (measure.group, measure.label) == (f"Where attention goes by {by}", f"to {name}")
            assert list(measure.values) == rows.sort_values(["layer", "head"])[column].tolist()


def test_the_summary_is_about_all_heads_together(computed):  # noqa: F811  # the fixture
    section = norms_section(computed)
    assert {row["head"] for row in section.summary["norms_dispersion"]} == {0}
    assert len(section.summary["norms_correlation"]) == (computed.spread.correlation["head"] == 0).sum()
    means = computed.shares.groupby(["layer", "class"])[["weight", "norm_share"]].mean()
    for row in section.summary["norms_shares"]:
        own = means.loc[row["layer"], row["class"]]
        assert (row["weight"], row["norm_share"]) == (pytest.approx(own["weight"]), pytest.approx(own["norm_share"]))
    assert section.context["mixed_tokens"] == computed.mixing["tokens"].max()
    assert section.context["changed_sentences"] == 2


@pytest.fixture(scope="module")
def tables(results):
    return {table.name: table for table in norms_section(results).shown}


@pytest.fixture(scope="module")
def beside_paper(results):
    section = norms_section(changed_results(results, published=PAPER))
    return section.tables, {table.name: table for table in section.shown}


def test_classes_of_tokens_are_means_over_layers_and_heads(results, tables):
    means = results.shares.groupby("class")[["weight", "value_norm", "norm", "norm_share"]].mean()
    columns: Columns = {
        "tokens": "class",
        "attention weight α": "% weight",
        "norm of f(x)": ".2f value_norm",
        "‖αf(x)‖, sum per query": ".3f norm",
        "share of ‖αf(x)‖": "% norm_share",
    }
    expected = {row["tokens"]: row for row in cells(means.reset_index().to_dict("records"), columns)}
    assert {row["tokens"]: row for row in on_page(tables["norms_classes"])} == expected


def of_layer(results, layer):
    """The main numbers of one layer by heading."""
    shares = results.shares[results.shares["layer"] == layer].groupby("class")[["weight", "norm_share"]].mean()
    mixing = results.mixing[(results.mixing["layer"] == layer) & (results.mixing["class"] == "all")]
    ratios = mixing.set_index("variant")["mean"]
    change = results.feed_forward.change[results.feed_forward.change["layer"] == layer].set_index("component")["change"]
    expansion = results.expansion.set_index("layer")["expansion"]
    shown = {"layer": str(layer)}
    for name in ("[CLS]", "[SEP]"):
        shown[f"α {name}"] = percent(shares.loc[name, "weight"])
        shown[f"‖αf‖ {name}"] = percent(shares.loc[name, "norm_share"])
    shown |= {variant: percent(ratios[variant]) for variant in ("attn-w", "attnresln-n", "atbffresln-n")}
    shown["expansion"] = f"{expansion[layer]:.2f}"
    return shown | {component: f"{change[component]:.3f}" for component in ("FF", "FFB")}


def test_layers(results):
    expected = [of_layer(results, layer) for layer in (1, 2, 3)]
    table = layers_table(results)
    assert in_terminal(table, 160) == expected
    without_unit = [{name.removesuffix(" %"): cell for name, cell in row.items()} for row in on_page(table)]
    assert without_unit == expected
    assert table.notes[0].endswith(
        "Mixing ratios are in %. FF and FFB are the change of the map by the feed-forward "
        "network and by the whole block, 1 − ρ."
    )
    unchanged = layers_table(changed_results(results, feed_forward=None))
    assert ("FF" in on_page(unchanged)[0], unchanged.notes[0].endswith("Mixing ratios are in %.")) == (False, True)


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


def test_without_published_numbers_nothing_stands_beside(tables):
    for table in tables.values():
        assert not [heading for heading in on_page(table)[0] if "published" in heading]


def test_change_of_the_feed_forward_block(results, tables):
    change = results.feed_forward.change.set_index(["layer", "component"])["change"]
    rows = on_page(tables["norms_change"])
    assert list(rows[0]) == ["layer", *results.feed_forward.change["component"].unique()]
    for row in rows:
        for component in list(row)[1:]:
            assert row[component] == f"{change[int(row['layer']), component]:.3f}"


def test_amplified_pairs(results, tables):
    columns: Columns = {
        **{name: name for name in ("layer", "rank", "from", "to", "text")},
        "amplification": "+ amplification",
        "sentence": "sentence_id",
    }
    expected = cells(results.feed_forward.amplified.query("rank <= 5").to_dict("records"), columns)
    assert on_page(tables["norms_amplified"]) == expected
    seven = pd.concat([results.feed_forward.amplified[:1]] * 7).assign(rank=range(1, 8))
    (shown,) = (
        table
        for table in norms_section(changed_results(results, amplified=seven)).shown
        if table.name == "norms_amplified"
    )
    assert [row["rank"] for row in shown.rows] == [1, 2, 3, 4, 5]


def test_dispersion(results, tables):
    dispersion = results.spread.dispersion
    together = dispersion[(dispersion["layer"] == 0) & (dispersion["head"] == 0)].set_index("measure")
    rows = on_page(tables["norms_dispersion"])
    assert in_latex(tables["norms_dispersion"]) == rows
    symbols = {"input_norm": "‖x‖", "value_norm": "‖f(x)‖", "weight": "α", "norm": "‖αf(x)‖"}
    columns: Columns = {
        "measure": lambda row: symbols[row["measure"]],
        "mean": ".3f mean",
        "SD": ".3f sd",
        "CV": ".3f cv",
        "smallest": ".3f min",
        "largest": ".3f max",
        "values": ",.0f count",
    }
    assert rows == cells(together.loc[list(symbols)].reset_index().to_dict("records"), columns)


def test_correlations_of_weight_and_norm(results, tables):
    rho = results.spread.correlation.set_index(["layer", "head", "class"])["rho"]
    rows = on_page(tables["norms_correlation"])
    assert [row["layer"] for row in rows] == ["all", "1", "2", "3"]
    for layer, row in enumerate(rows):
        for name in ("all", "[CLS]", "[SEP]", "other"):
            assert row[name] == f"{rho[layer, 0, name]:.2f}"


def test_types_of_amplified_pairs(results, tables):
    pairs = results.block.pairs
    sums = pairs.groupby(["layer", "type"])[["share", "share_of_all"]].sum()
    rows = on_page(tables["norms_pairs"])
    assert {row["type of pair"] for row in rows} == set(pairs["type"])
    for row in rows:
        own = sums.xs(row["type of pair"], level="type")
        assert row["of all pairs %"] == percent(own["share_of_all"].mean())
        assert [row[f"layer {layer} %"] for layer in (1, 2, 3)] == [percent(own["share"][n]) for n in (1, 2, 3)]


def test_relations_of_amplified_pairs(results, tables):
    pairs = results.block.pairs
    sums = pairs.groupby("relation")[["amplified", "pairs"]].sum()
    related = sums.drop(index="").query("amplified > 0").sort_values("amplified", ascending=False, kind="stable")
    expected = [
        {
            "relation": relation,
            "amplified": f"{row['amplified']:,}",
            "of amplified %": percent(row["amplified"] / sums["amplified"].sum()),
            "pairs": f"{row['pairs']:,}",
            "of all pairs %": percent(row["pairs"] / sums["pairs"].sum()),
        }
        for relation, row in related.iterrows()
    ]
    assert on_page(tables["norms_relations"]) == expected
    assert expected


def test_what_the_network_adds(results, tables):
    values = results.block.overwriting.set_index(["layer", "quantity"])
    for row in on_page(tables["norms_overwriting"]):
        for quantity, heading, digits in (("FF", "‖FF‖", 2), ("residual", "‖residual‖", 2), ("angle", "angle (°)", 0)):
            own = values.loc[(int(row["layer"]), quantity)]
            low, median, high = (f"{own[name]:.{digits}f}" for name in ("low", "median", "high"))
            assert row[heading] == f"{median} [{low}, {high}]"
        assert row["tokens"] == f"{int(values.loc[int(row['layer']), 'tokens'].iloc[0]):,}"


def test_largest_dimensions(results, tables):
    own = results.block.dimensions
    columns: Columns = {
        **{name: name for name in ("layer", "rank", "dimension")},
        "mean |x|": ".2f size",
        "median of all": ".2f median_size",
        "γ": ".2f gamma",
        "median γ": ".2f median_gamma",
    }
    expected = cells(own[own["rank"] <= 3].to_dict("records"), columns)
    assert on_page(tables["norms_dimensions"]) == expected


def test_change_without_the_largest_dimensions(results, tables):
    change = results.block.left_out.set_index(["layer", "left_out"])["change"]
    for row in on_page(tables["norms_left_out"]):
        layer = int(row["layer"])
        headings = ("with all", "without 1", "without 3", "without 10")
        assert [row[name] for name in headings] == [f"{change[layer, count]:.3f}" for count in (0, 1, 3, 10)]


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
        for dots, (_, places) in zip(axes.collections, grid.groupby("class", sort=False), strict=True):
            frequent = places["pairs"] >= 0.002 * places["pairs"].sum()
            drawn = places[frequent & (places["weight"] > 0) & (places["value_norm"] > 0)]
            offsets = np.asarray(dots.get_offsets())
            np.testing.assert_allclose(offsets[:, 0], drawn["weight"] * 100 * 2**0.5)
            np.testing.assert_allclose(offsets[:, 1], drawn["value_norm"] * 2**0.125)
            np.testing.assert_allclose(dots.get_sizes(), 250 * drawn["pairs"] / places["pairs"].sum())


def test_cells_without_weight_or_norm_and_rare_ones_are_not_drawn(results):
    places = [(0.5, 1, 497), (0.25, 2, 2), (0.25, 1, 1), (0, 1, 250), (0.5, 0, 250)]
    rows = [(0, "other", *place) for place in places]
    grid = pd.DataFrame(rows, columns=["layer", "class", "weight", "value_norm", "pairs"])
    (dots,) = grid_figure(results.spread._replace(grid=grid)).axes[0].collections
    np.testing.assert_allclose(np.asarray(dots.get_offsets()) / [2**0.5, 2**0.125], [[50, 1], [25, 2]])


def rho_of(results, layer):
    rows = results.spread.correlation.set_index(["layer", "head", "class"])["rho"]
    return rows[layer, 0, "all"]


def test_figure_of_frequency(results):
    points = results.frequency.points
    figure = frequency_figure(points)
    assert len(points) == results.frequency.correlations["count"].max()
    for axes, (column, factor) in zip(
        figure.axes, (("value_norm", 1), ("weight", 100), ("attnresln-n", 100)), strict=True
    ):
        words, _, special, _ = axes.collections
        for dots, chosen in (
            (words, ~points["special"]),
            (special, points["special"]),
        ):
            own = points[chosen]
            np.testing.assert_allclose(
                np.asarray(dots.get_offsets()), np.stack([own["rank"], own[column] * factor], axis=1)
            )


def test_figure_of_the_block(results):
    panels: Any = block_figure(results.block).axes
    norms, angles, changes = panels
    values = results.block.overwriting.set_index(["quantity", "layer"])
    drawn = {line.get_label(): line.get_ydata() for axes in (norms, angles) for line in axes.lines}
    bands = dict(zip(("residual", "FF", "angle"), [*norms.collections, *angles.collections], strict=True))
    assert set(drawn) == {"FF", "residual", "angle"}
    for name, line in drawn.items():
        np.testing.assert_allclose(line, values.loc[name, "median"])
        edges = bands[name].get_paths()[0].vertices[:, 1]
        assert edges.min() == pytest.approx(values.loc[name, "low"].min())
        assert edges.max() == pytest.approx(values.loc[name, "high"].max())
    left_out = results.block.left_out.set_index(["left_out", "layer"])["change"]
    names = {"all dimensions": 0, "without 1": 1, "without 3": 3, "without 10": 10}
    assert [line.get_label() for line in changes.lines] == list(names)
    for line in changes.lines:
        np.testing.assert_allclose(line.get_ydata(), left_out[names[line.get_label()]])


def test_figure_of_pairs(results):
    panels: Any = pairs_figure(results.block.pairs).axes
    (axes,) = panels
    assert [label.get_text() for label in axes.get_xticklabels()] == ["all\npairs", "1", "2", "3"]
    sums = results.block.pairs.groupby(["layer", "type"])[["share", "share_of_all"]].sum()
    for bars in axes.containers:
        own = sums.xs(bars.get_label(), level="type")
        heights = [own["share_of_all"].mean(), *own["share"]]
        np.testing.assert_allclose([bar.get_height() for bar in bars], np.array(heights) * 100)
    tops = [bar.get_y() + bar.get_height() for bar in axes.containers[-1]]
    np.testing.assert_allclose(tops, 100)
