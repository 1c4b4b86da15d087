"""What the analyses of surface patterns and clusters leave on disk, for models of all shapes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from attentionology.analyses.clusters.distances import HeadDistances
from attentionology.analyses.clusters.geography import geography
from attentionology.analyses.clusters.report import ClusterResults, clusters_section, distances_figure
from attentionology.analyses.contract import Titles
from attentionology.analyses.surface import report
from attentionology.analyses.surface.figures import surface_figures
from attentionology.analyses.surface.gradients import GradientImportance
from attentionology.analyses.surface.labels import label_heads
from attentionology.analyses.surface.report import surface_section
from attentionology.analyses.surface.shown_tables import SurfaceResults
from attentionology.analyses.surface.statistics import SurfaceStatistics
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import GradientMaker, extract
from attentionology.reports.format import number, ranges
from attentionology.reports.page import write_report
from tests import tiny
from tests.unit.test_reports import RUN

pytestmark = pytest.mark.usefixtures("svgs_are_drawn")

SENTENCES = [Sentence("<s>", ("the", "&", "<b>", ".")), Sentence("t", ("a", "garden", "was", ","))]
OPTIONS = {"position_threshold": 0.5, "target_threshold": 0.6, "broad_threshold": 0.8}


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
    tables = tables._replace(heads=label_heads(tables.heads, relations=relations))
    gradients, specials = None, {}
    if family == "bert":
        encoder.tokenizer.mask_token = "[MASK]"
        metric = GradientImportance(*shape)
        for gradient_batch in tiny.batches(GradientMaker("hidden"), encoder, SENTENCES):
            metric.update(gradient_batch)
        gradients, specials = metric.compute(), {"first_special": "<cls>", "last_special": "[SEP]"}
    found = distances.compute()
    surface = SurfaceResults(tables, specials, gradients, ("mind the <gap>",))
    return surface, ClusterResults(found, geography(found.per_row), tables.heads, specials, ("mind it",))


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
    assert ("Does it matter?" in page) == (surface.gradients is not None)
    assert (tmp_path / "tables" / "gradients.csv").exists() == (surface.gradients is not None)
    for name in ("surface_statistics", "surface_offsets", "surface_entropy", "head_distances"):
        assert (tmp_path / "figures" / f"{name}.svg").stat().st_size > 1000
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert len(summary["surface"]) == len(summary["head_embedding"]) == len(surface.tables.heads)
    read = pd.read_csv(tmp_path / "tables" / "surface.csv", keep_default_na=True)
    assert read["entropy"].to_numpy() == pytest.approx(surface.tables.heads["entropy"].to_numpy())
    if family == "gpt2":
        assert read["first_special"].isna().all()
        assert "The special token that gets the most" not in page


@pytest.mark.slow
@pytest.mark.parametrize(("most", "named"), [(72, 12), (5, 4)])
def test_heads_are_in_the_order_of_their_tree(monkeypatch, most, named):
    """Each row and each column of the matrix belongs to the head whose name is written beside it."""
    monkeypatch.setattr("attentionology.analyses.clusters.report._MOST_NAMED", most)
    _, clusters = results("bert")
    figure = distances_figure(clusters.distances.per_row, clusters.geography, clusters.heads)
    axes = figure.axes[1]
    labels = [label.get_text().split()[0] for label in axes.get_yticklabels()]
    assert len(labels) == named
    rows = [int(row) for row in axes.get_yticks()]
    drawn = np.asarray(axes.images[0].get_array())
    np.testing.assert_allclose(drawn[rows][:, rows], clusters.distances.per_row.loc[labels, labels])
    assert [label.get_url() for label in axes.get_yticklabels()] == [f"../report.html#head={name}" for name in labels]
    # The two heads that the tree merges first are neighbors.
    first, second = clusters.geography.merges[0, :2].astype(int)
    if most > 12:
        order = [labels.index(clusters.distances.per_row.index[head]) for head in (first, second)]
        assert abs(order[0] - order[1]) == 1


def test_no_negative_zero():
    assert number(-0.0001) == "0.000"
    assert number(-0.0006) == "-0.001"


def test_ranges():
    assert ranges([1, 2, 3, 5, 7, 8]) == "1–3, 5, 7–8"
    assert ranges([4]) == "4"
    assert ranges([]) == ""


def test_a_figure_that_the_template_does_not_place_follows_it(tmp_path, monkeypatch):
    surface, _ = results("bert")
    more = Figure(figsize=(1, 1), label="The caption of <one> more figure.")

    def figures(found, title):
        return {**surface_figures(found, title), "surface_more": more}

    monkeypatch.setattr(report, "surface_figures", figures)
    made = report.surface_section(surface)
    write_report(tmp_path, run={**RUN, "options": {"map": "weight", "limit": None, **OPTIONS}}, sections=[made])
    page = (tmp_path / "report.html").read_text()
    assert page.count("The caption of &lt;one&gt; more figure.") == 1
    assert page.count("<figure>") == len(made.figures) == 6
    assert page.index("Does it matter?") < page.index("The caption of &lt;one&gt;")
