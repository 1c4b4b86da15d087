"""The tables of the surface analysis and of the clusters say what their CSV files say, wherever they are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attentionology.analyses.clusters.report import clusters_section, neighbors_table
from attentionology.analyses.surface.shown_tables import layers_table, shown_tables
from tests.shown_tables import distinct, in_latex, in_terminal, on_page, percent
from tests.unit.test_surface_reports import results

SHARES = {
    "previous": "previous",
    "next": "next",
    "itself": "self",
    "<cls>": "first_special",
    "[SEP]": "last_special",
    "punctuation": "punctuation",
    "other tokens": "other",
}


@pytest.fixture(scope="module")
def surface():
    found, _ = results("bert")
    tables = found.tables
    assert found.gradients is not None
    changed = tables._replace(heads=distinct(tables.heads), layers=distinct(tables.layers))
    return replace(found, tables=changed, gradients=distinct(found.gradients))


@pytest.fixture(scope="module")
def clusters():
    return results("bert")[1]


def shown(tables, name):
    (table,) = (each for each in tables if each.name == name)
    return table


def test_layers(surface):
    rows = surface.tables.layers.to_dict("records")
    page = [
        {
            "layer": str(row["layer"]),
            **{f"{heading} %": percent(row[name]) for heading, name in SHARES.items()},
            "entropy, nats": f"{row['entropy']:.2f}",
            "of uniform entropy %": percent(row["entropy_relative"]),
        }
        for row in rows
    ]
    terminal = [
        {
            "layer": str(row["layer"]),
            **{heading: percent(row[name]) for heading, name in SHARES.items()},
            "entropy": f"{row['entropy']:.2f}",
            "rel. entropy": percent(row["entropy_relative"]),
        }
        for row in rows
    ]
    table = layers_table(surface)
    assert on_page(table) == page
    assert [{name.replace(r"\textless{}", "<").replace(r"\textgreater{}", ">"): cell for name, cell in row.items()}
            for row in in_latex(table)] == page  # fmt: skip
    assert in_terminal(table, 150) == terminal
    uniform = surface.tables.layers["uniform_entropy"].iloc[0]
    assert f"that of attention to all tokens alike is {uniform:.2f}." in table.notes[0]


def test_the_head_with_the_largest_value_of_each_statistic(surface):
    heads = surface.tables.heads
    rows = {row["attention"]: row for row in on_page(shown(shown_tables(surface), "surface_strongest"))}
    for name, statistic in (SHARES | {"<cls> → <cls>": "first_to_first", "others → [SEP]": "rest_to_last"}).items():
        top = heads.sort_values(statistic).iloc[-1]
        assert rows[name] == {
            "attention": name,
            "head with most": f"{top['layer']}-{top['head']}",
            "its value": percent(top[statistic]),
            "mean of all heads": percent(heads[statistic].mean()),
        }
    entropy = heads["entropy"]
    assert rows["entropy"]["its value"] == f"{entropy.max():.2f} nats"
    assert rows["entropy"]["mean of all heads"] == f"{entropy.mean():.2f} nats"
    assert len(rows) == 16


def test_labels(surface):
    heads = surface.tables.heads
    table = shown(shown_tables(surface), "surface_labels")
    rows = {row["label"]: row for row in on_page(table)}
    names = {"no label": "other", "next token": "next", "sink <cls>": "first-special", "broad": "broad"}
    for name, label in names.items():
        of_label = heads[heads["label"] == label]
        members = [f"{layer}-{head}" for layer, head in zip(of_label["layer"], of_label["head"], strict=True)]
        assert rows[name]["heads"] == str(len(members))
        assert rows[name]["which heads"] == (" ".join(members) or "–")
    assert sum(int(row["heads"]) for row in rows.values()) == len(heads)


def test_gradients(surface):
    table = shown(shown_tables(surface), "surface_gradients")
    means = surface.gradients.groupby(["layer", "class"])[["gradient", "attention"]].mean()
    names = {"[CLS]": "<cls>"}
    for row in on_page(table):
        for name in surface.gradients["class"].unique():
            mean = means.loc[int(row["layer"]), name]
            assert row[f"|∂L/∂α| {names.get(name, name)}"] == f"{mean['gradient']:.1e}"
            assert row[f"α {names.get(name, name)} %"] == percent(mean["attention"])


def test_neighbors(clusters):
    neighbors = distinct(clusters.geography.neighbors)
    changed = replace(clusters, geography=clusters.geography._replace(neighbors=neighbors))
    expected = [
        {
            "question": row["question"],
            "observed": f"{row['found']:.3f}",
            "layers shuffled": f"{row['shuffled']:.3f}",
            "p": f"{row['p']:.4f}",
        }
        for row in neighbors.to_dict("records")
    ]
    assert len(expected) > 1
    table = neighbors_table(changed)
    assert on_page(table) == in_latex(table) == in_terminal(table, 200) == expected


def test_notes_of_the_clusters_are_shown_once(clusters):
    assert "mind it" in neighbors_table(clusters).notes
    assert "mind it" not in neighbors_table(replace(clusters, notes_shown=True)).notes


def test_clusters(clusters):
    section = clusters_section(clusters)
    embedding = section.tables["head_embedding"]
    rows = on_page(shown(section.shown, "head_clusters"))
    assert len(rows) == embedding["cluster"].nunique()
    for row in rows:
        members = embedding[embedding["cluster"] == int(row["cluster"])]
        names = [f"{layer}-{head}" for layer, head in zip(members["layer"], members["head"], strict=True)]
        assert (row["heads"], row["members"]) == (str(len(names)), " ".join(names))
        counted = dict(label.rsplit(" ", 1) for label in row["labels"].split(", "))
        assert sorted(map(int, counted.values())) == sorted(members["label"].value_counts())
