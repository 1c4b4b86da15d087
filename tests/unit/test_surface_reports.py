"""What surface patterns and clusters leave on disk, and what cards of heads and long tables say."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from attentionology.analyses.clusters import analysis as clusters_analysis
from attentionology.analyses.clusters.distances import HeadDistances, distances_figure
from attentionology.analyses.clusters.rows import ClusterResults
from attentionology.analyses.contract import Titles
from attentionology.analyses.surface import analysis as surface_analysis
from attentionology.analyses.surface.gradients import GradientImportance
from attentionology.analyses.surface.labels import label_heads
from attentionology.analyses.surface.rows import SurfaceResults
from attentionology.analyses.surface.shares import Shares, layers_table
from attentionology.analyses.surface.statistics import SurfaceStatistics
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import GradientMaker, extract
from attentionology.reports.drawing import SCALE
from attentionology.reports.format import ranges
from attentionology.reports.page import write_report
from tests import tiny
from tests.clusters import clusters_section, explored_clusters, geography, with_answers
from tests.clusters import made_results as made_clusters
from tests.shown_tables import assert_declared, distinct_table, on_page, percent
from tests.surface import changed_results, explored_surface, made_results, surface_section
from tests.unit.test_reports import RUN

pytestmark = pytest.mark.usefixtures("svgs_are_drawn")

SENTENCES = [Sentence("<s>", ("the", "&", "<b>", ".")), Sentence("t", ("a", "garden", "was", ","))]
OPTIONS = {"position_threshold": 0.5, "target_threshold": 0.6, "broad_threshold": 0.8}


@functools.cache
def results(family: str, **changes: int) -> tuple[SurfaceResults, ClusterResults]:
    encoder = tiny.encoder(family, **changes)
    shape = encoder.n_layers, encoder.n_heads
    statistics, distances = SurfaceStatistics(*shape), HeadDistances(*shape)
    for batch in extract(encoder, SENTENCES, level="token"):
        statistics.update(batch)
        distances.update(batch)
    tables = statistics.compute()
    relations = pd.DataFrame(
        {"layer": [1], "head": [1], "relation": ["<rel>"], "direction": ["dep->head"], "relation_accuracy": [0.5],
         "relation_gain": [0.2]}
    )  # fmt: skip
    tables = tables._replace(heads=label_heads(tables.heads).merge(relations, on=["layer", "head"], how="left"))
    gradients, specials = None, {}
    if family == "bert":
        encoder.tokenizer.mask_token = "[MASK]"
        metric = GradientImportance(*shape)
        for gradient_batch in tiny.batches(GradientMaker("hidden"), encoder, SENTENCES):
            metric.update(gradient_batch)
        gradients, specials = metric.compute(), {"first_special": "<cls>", "last_special": "[SEP]"}
    found = distances.compute()
    surface = made_results(tables, specials, gradients, ("mind the <gap>",))
    return surface, made_clusters(found, tables.heads, specials, ("mind it",))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bert", {}),
        ("gpt2", {}),
        ("bert", {"num_hidden_layers": 1}),
        ("bert", {"num_attention_heads": 1}),
        ("bert", {"num_hidden_layers": 1, "num_attention_heads": 1}),
    ],
)
def test_all_that_is_promised_is_there(tmp_path, family, changes):
    surface, clusters = results(family, **changes)
    sections = [
        surface_section(surface, Titles("a $model$ & <more>", "c")),
        clusters_section(clusters, Titles("a $model$ & <more>", "c")),
    ]
    run = {**RUN, "options": {"map": "weight", "limit": None, **OPTIONS}}
    write_report(tmp_path, run=run, sections=sections)
    page = (tmp_path / "report.html").read_text()
    assert "mind the &lt;gap&gt;" in page
    for raw in ("<gap>", "<cls>", "<rel>", "<more>"):
        assert raw not in page
    assert page.count("<span>1-1</span>") == 2  # once among the labels, once among the clusters
    assert ("Does it matter?" in page) == ("gradients" in surface.answers)
    assert (tmp_path / "tables" / "gradients.csv").exists() == ("gradients" in surface.answers)
    for name in ("surface_statistics", "surface_offsets", "surface_entropy", "head_distances"):
        assert (tmp_path / "figures" / f"{name}.svg").stat().st_size > 1000
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert len(summary["surface"]) == len(summary["head_embedding"]) == len(surface.tables.heads)
    read = pd.read_csv(tmp_path / "tables" / "surface.csv", keep_default_na=True)
    assert read["entropy"].to_numpy() == pytest.approx(surface.tables.heads["entropy"].to_numpy())
    if family == "gpt2":
        assert read["first_special"].isna().all()
        assert "The special token that gets the most" not in page


@pytest.mark.parametrize(("most", "named"), [(72, 12), (5, 4)])
def test_heads_are_in_the_order_of_their_tree(monkeypatch, most, named):
    """Each row and each column of the matrix belongs to the head whose name is written beside it."""
    monkeypatch.setattr("attentionology.analyses.clusters.distances._MAX_NAMED", most)
    _, clusters = results("bert")
    figure = distances_figure(clusters.distances.per_row, clusters.heads)
    axes = figure.axes[1]
    labels = [label.get_text().split()[0] for label in axes.get_yticklabels()]
    assert len(labels) == named
    rows = [int(row) for row in axes.get_yticks()]
    drawn = np.asarray(axes.images[0].get_array())
    np.testing.assert_allclose(drawn[rows][:, rows], clusters.distances.per_row.loc[labels, labels])
    assert [label.get_url() for label in axes.get_yticklabels()] == [f"../report.html#head={name}" for name in labels]
    shades = SCALE(np.linspace(0.4, 1, clusters.heads["layer"].max()))
    keys = [(key.get_label(), to_rgba(key.get_color())) for key in figure.legends[0].get_lines()]
    assert keys == [(f"layer {layer}", tuple(shades[layer - 1])) for layer in (1, 2, 3)]
    assert axes.images[0].get_clim() == pytest.approx((0, np.quantile(clusters.distances.per_row, 0.97)))
    assert figure.axes[0].get_ylim() == (10 * len(clusters.heads), 0)
    colors = [shades[int(name.partition("-")[0]) - 1] for name in labels]
    np.testing.assert_allclose([to_rgba(label.get_color()) for label in axes.get_yticklabels()], colors)
    # The two heads that the tree merges first are neighbors.
    first, second = geography(clusters.distances.per_row).merges[0, :2].astype(int)
    if most > 12:
        order = [labels.index(clusters.distances.per_row.index[head]) for head in (first, second)]
        assert abs(order[0] - order[1]) == 1


def test_of_neighbors_the_head_with_the_largest_gain_is_named(monkeypatch):
    _, clusters = results("bert")
    gains = [math.nan, *np.linspace(-0.5, 0.4, 11) ** 2 - 0.1]
    heads = clusters.heads.assign(relation="det", relation_gain=gains)
    names = []
    for most in (12, 4):
        monkeypatch.setattr("attentionology.analyses.clusters.distances._MAX_NAMED", most)
        axes = distances_figure(clusters.distances.per_row, heads).axes[1]
        names.append([label.get_text() for label in axes.get_yticklabels()])
    gain = dict(zip(clusters.distances.per_row.index, [-1, *gains[1:]], strict=True))
    groups = [names[0][start : start + 3] for start in range(0, 12, 3)]
    assert names[1] == [max(group, key=lambda name: gain[name.removesuffix(" det")]) for group in groups]


def test_columns_are_as_declared():
    surface, clusters = results("bert")
    assert_declared(surface_section(surface).tables, surface_analysis.SCHEMAS, ["loss"])
    assert_declared(clusters_section(clusters).tables, clusters_analysis.SCHEMAS, ["found", "shuffled"])


def test_ranges():
    assert ranges([1, 2, 3, 5, 7, 8]) == "1–3, 5, 7–8"
    assert ranges([4]) == "4"
    assert ranges([]) == ""


def test_a_figure_that_the_template_does_not_place_follows_it(tmp_path, monkeypatch):
    surface, _ = results("bert")
    more = Figure(figsize=(1, 1), label="The caption of <one> more figure.")

    figures = Shares.draw
    monkeypatch.setattr(Shares, "draw", lambda *arguments: {**figures(*arguments), "surface_more": more})
    made = surface_section(surface)
    write_report(tmp_path, run={**RUN, "options": {"map": "weight", "limit": None, **OPTIONS}}, sections=[made])
    page = (tmp_path / "report.html").read_text()
    assert page.count("The caption of &lt;one&gt; more figure.") == 1
    assert page.count("<figure>") == len(made.figures) >= 6
    assert page.index("Does it matter?") < page.index("The caption of &lt;one&gt;")


@pytest.fixture(scope="module")
def surface():
    found, _ = results("bert")
    tables = found.tables
    assert found.gradients is not None
    changed = tables._replace(heads=distinct_table(tables.heads), layers=distinct_table(tables.layers))
    return changed_results(found, tables=changed, gradients=distinct_table(found.gradients))


@pytest.fixture(scope="module")
def clusters():
    return results("bert")[1]


def shown(tables, name):
    (table,) = (each for each in tables if each.name == name)
    return table


@pytest.mark.parametrize(("n", "more", "others"), [(8, "", "3-1 3-2 3-3 3-4"), (9, " …", "3-2 3-3 3-4")])
def test_a_terminal_names_eight_heads_with_a_label_and_says_if_there_are_more(surface, n, more, others):
    heads = surface.tables.heads.assign(label=["next"] * n + ["previous"] * (12 - n))
    notes = layers_table(replace(surface, tables=surface.tables._replace(heads=heads))).notes
    assert notes[2:4] == (f"next token: 1-1 1-2 1-3 1-4 2-1 2-2 2-3 2-4{more}", f"previous token: {others}")


def test_many_members_of_a_cluster_are_cut(clusters, monkeypatch):
    monkeypatch.setattr("attentionology.analyses.clusters.clusters._MAX_MEMBERS", 3)
    embedding = clusters.clusters.embedding.assign(cluster=[1] * 4 + [2] * 3 + [3] * 5)
    changed = with_answers(clusters, clusters=clusters.clusters._replace(embedding=embedding))
    rows = on_page(shown(clusters_section(changed).shown, "head_clusters"))
    assert [row["members"].count("-") for row in rows] == [3, 3, 3]
    assert [row["members"].endswith(" …") for row in rows] == [True, False, True]


def test_the_card_of_a_head_says_which_heads_attend_like_it(clusters):
    clusters = replace(clusters, heads=clusters.heads.assign(label=["next", "self", "broad"] * 4))
    distances = clusters.distances.per_row
    explored = explored_clusters(clusters, "norm")
    (measure,) = explored.measures
    section = clusters_section(clusters)
    labels = {
        int(row["cluster"]): row["labels"].split(", ")[:2] for row in on_page(shown(section.shown, "head_clusters"))
    }
    embedding = clusters.clusters.embedding.set_index(["layer", "head"])["cluster"].sort_index()
    assert (measure.id, measure.kind) == ("clusters/cluster/norm", "norm")
    assert measure.categories == tuple(f"{cluster}: {', '.join(names)}" for cluster, names in sorted(labels.items()))
    assert [measure.categories[int(place)].split(":")[0] for place in vars(measure)["values"]] == [*map(str, embedding)]
    for (layer, head), cluster in embedding.items():
        name = f"{layer}-{head}"
        near = distances[name].drop(name).sort_values(kind="stable")
        assert explored.nearest[name] == tuple(near.index[:5])
        (fact,) = explored.facts[name]
        text = (
            f"{cluster}: {', '.join(labels[cluster])}; nearest head {near.index[0]}, divergence {near.iloc[0]:.3f} nats"
        )
        assert (fact.label, fact.text, fact.measure) == ("cluster", text, measure.id)
    few = clusters.clusters._replace(embedding=clusters.clusters.embedding.head(3))
    near = explored_clusters(
        with_answers(clusters, clusters=few, distances=clusters.distances._replace(per_row=distances.iloc[:3, :3])),
        "norm",
    ).nearest
    assert all({head, *others} == {"1-1", "1-2", "1-3"} for head, others in near.items())
    assert {len(others) for others in near.values()} == {2}  # a head is not near itself


CLASSES = {"first_special": "<cls>", "last_special": "[SEP]", "punctuation": "punctuation", "other": "other words"}
POSITIONS = {"previous": "the previous token", "next": "the next token", "self": "the token itself"}


def test_the_card_of_a_head_says_where_its_attention_goes(surface):
    """By falling share, without targets that the text does not have; a phrase says what gave the head its label."""
    labels = ["next", "previous", "self", "punctuation", "first-special", "last-special", "broad", *["other"] * 5]
    heads = surface.tables.heads.assign(label=labels)
    targets = [*CLASSES, *POSITIONS]
    shares = np.random.default_rng(0).permutation(len(heads) * len(targets)).reshape(len(heads), -1) / 100
    heads[targets] = shares
    heads.loc[[0, 11], ["punctuation", "previous"]] = math.nan
    changed = changed_results(surface, tables=surface.tables._replace(heads=heads))
    explored = explored_surface(changed, "norm")
    names = CLASSES | POSITIONS
    for row in heads.to_dict("records"):
        name, lines = f"{row['layer']}-{row['head']}", []
        for title, group in (("attention by class of token", CLASSES), ("attention by position", POSITIONS)):
            there = sorted((each for each in group if row[each] >= 0), key=lambda each: row[each], reverse=True)
            lines.append((title, [f"{names[each]} {percent(row[each])} %" for each in there], there[0]))
        *facts, entropy = explored.facts[name]
        assert [(each.label, each.text, each.measure) for each in facts] == [
            (title, "; ".join(texts), f"surface/{first}/norm") for title, texts, first in lines
        ]
        relative = f"{percent(row['entropy_relative'])} % of"
        assert entropy.text == f"{row['entropy']:.2f} nats, {relative} uniform attention"
        (phrase,) = explored.phrases[name]
        column = row["label"].replace("-", "_")
        if column == "broad":
            assert phrase == f"attends broadly, with {relative} the entropy of uniform attention"
        elif column != "other":
            assert phrase == f"directs {percent(row[column])} % of its attention to {names[column]}"
        else:
            most = sorted((each for each in CLASSES if row[each] >= 0), key=lambda each: -row[each])[:2]
            goes = " and ".join(f"{names[each]} ({percent(row[each])} %)" for each in most)
            assert phrase == f"divides its attention, most of which goes to {goes}"
    offsets = surface.tables.offsets
    for (layer, head), own in offsets.dropna(subset="attention").sort_values("offset").groupby(["layer", "head"]):
        profile = explored.profiles[f"{layer}-{head}"]
        assert vars(profile) == {"offsets": tuple(own["offset"]), "values": tuple(own["attention"])}
    assert len(explored.profiles) == len(heads)
