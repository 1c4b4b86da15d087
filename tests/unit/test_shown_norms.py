"""The tables of the analysis of norms say what their CSV files say, wherever they are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attentionology.analyses.norms.paper import Published
from attentionology.analyses.norms.section import norms_section
from attentionology.analyses.norms.shown_tables import layers_table
from tests.shown_tables import distinct, in_latex, in_terminal, on_page, percent
from tests.unit.test_norm_reports import results as computed  # noqa: F401  # a fixture

PAPER = Published(
    mixing={"attn-n": (85.28, 99.96, 4.89)},
    expansion_by_layer=(0.9, 0.7, 0.6),
    frequency={"attn-n": (-0.387, -0.413)},
    mixing_by_layer={"[CLS]": (15, 5, 8)},
)


@pytest.fixture(scope="module")
def results(computed):  # noqa: F811  # the fixture
    names = ("shares", "mixing", "frequency", "expansion", "change", "amplified")
    return replace(computed, **{name: distinct(getattr(computed, name)) for name in names})


@pytest.fixture(scope="module")
def tables(results):
    return {table.name: table for table in norms_section(results).shown}


@pytest.fixture(scope="module")
def beside_paper(results):
    section = norms_section(replace(results, published=PAPER))
    return section.tables, {table.name: table for table in section.shown}


def test_classes_of_tokens_are_means_over_layers_and_heads(results, tables):
    means = results.shares.groupby("class")[["weight", "value_norm", "norm", "norm_share"]].mean()
    expected = {
        name: {
            "tokens": name,
            "attention weight α %": percent(row["weight"]),
            "norm of f(x)": f"{row['value_norm']:.2f}",
            "‖αf(x)‖, sum per query": f"{row['norm']:.3f}",
            "share of ‖αf(x)‖ %": percent(row["norm_share"]),
        }
        for name, row in means.iterrows()
    }
    assert {row["tokens"]: row for row in on_page(tables["norms_classes"])} == expected


def of_layer(results, layer):
    """The main numbers of one layer by heading."""
    shares = results.shares[results.shares["layer"] == layer].groupby("class")[["weight", "norm_share"]].mean()
    mixing = results.mixing[(results.mixing["layer"] == layer) & (results.mixing["class"] == "all")]
    ratios = mixing.set_index("variant")["mean"]
    change = results.change[results.change["layer"] == layer].set_index("component")["change"]
    expansion = results.expansion.set_index("layer")["expansion"]
    cells = {"layer": str(layer)}
    for name in ("[CLS]", "[SEP]"):
        cells[f"α {name}"] = percent(shares.loc[name, "weight"])
        cells[f"‖αf‖ {name}"] = percent(shares.loc[name, "norm_share"])
    cells |= {variant: percent(ratios[variant]) for variant in ("attn-w", "attnresln-n", "atbffresln-n")}
    cells["expansion"] = f"{expansion[layer]:.2f}"
    return cells | {component: f"{change[component]:.3f}" for component in ("FF", "FFB")}


def test_layers(results):
    expected = [of_layer(results, layer) for layer in (1, 2, 3)]
    table = layers_table(results)
    assert in_terminal(table, 160) == expected
    without_unit = [{name.removesuffix(" %"): cell for name, cell in row.items()} for row in on_page(table)]
    assert without_unit == expected


def test_mixing_ratios_beside_the_paper(beside_paper):
    written, shown = beside_paper
    mixing = written["norms_mixing"]
    rows = mixing[(mixing["layer"] == 0) & (mixing["class"] == "all")].to_dict("records")
    expected = [
        {
            "variant": row["variant"],
            "mean %": percent(row["mean"]),
            "largest %": percent(row["max"]),
            "smallest %": percent(row["min"]),
            "published mean %": "85.3 [4.89, 99.96]" if row["variant"] == "attn-n" else "–",
        }
        for row in rows
    ]
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
    change = results.change.set_index(["layer", "component"])["change"]
    rows = on_page(tables["norms_change"])
    assert list(rows[0]) == ["layer", *results.change["component"].unique()]
    for row in rows:
        for component in list(row)[1:]:
            assert row[component] == f"{change[int(row['layer']), component]:.3f}"


def test_amplified_pairs(results, tables):
    expected = [
        {
            "layer": str(row["layer"]),
            "rank": str(row["rank"]),
            "from": row["from"],
            "to": row["to"],
            "amplification": percent(row["amplification"], "+"),
            "sentence": row["sentence_id"],
            "text": row["text"],
        }
        for row in results.amplified.to_dict("records")
        if row["rank"] <= 5
    ]
    assert on_page(tables["norms_amplified"]) == expected
