"""Maps, clusters and neighbors of heads from distances whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.manifold import MDS
from sklearn.metrics import silhouette_score

from attentionology.analyses.clusters.clusters import head_map
from attentionology.analyses.surface.labels import label_heads
from attentionology.analyses.surface.relations import best_relations
from attentionology.analyses.surface.statistics import STATISTICS
from tests.clusters import explored_clusters, geography, with_answers
from tests.unit.test_surface_reports import results


def square(points: np.ndarray, names: list[str]) -> pd.DataFrame:
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return pd.DataFrame(distances, index=names, columns=names)


def names(layers: int, heads: int) -> list[str]:
    return [f"{layer}-{head}" for layer in range(1, layers + 1) for head in range(1, heads + 1)]


@pytest.mark.slow
def test_points_of_a_plane_are_found_again():
    points = np.random.default_rng(0).random((12, 2))
    given = square(points, names(3, 4))
    found = geography(given, seed=3)
    again = square(found.embedding[["x", "y"]].to_numpy(), names(3, 4))
    assert found.stress < 1e-3
    assert again.to_numpy() == pytest.approx(given.to_numpy(), abs=2e-3)
    assert found.embedding[["layer", "head"]].to_numpy().tolist() == [[a, b] for a in (1, 2, 3) for b in (1, 2, 3, 4)]
    pd.testing.assert_frame_equal(found.embedding, geography(given, seed=3).embedding)


def test_the_map_and_the_silhouette_are_those_of_scikit_learn():
    """The published code has scikit-learn draw its map (Clark et al. 2019, §6)."""
    given = square(np.random.default_rng(2).random((12, 5)), names(3, 4))
    found = geography(given, clusters=4, seed=7)
    scaling = MDS(
        n_components=2, n_init=5, init="random", max_iter=1000, eps=1e-10, random_state=7, metric="precomputed",
        normalized_stress=True,
    )  # fmt: skip
    assert found.embedding[["x", "y"]].to_numpy() == pytest.approx(scaling.fit_transform(given), abs=1e-9)
    assert found.stress == pytest.approx(scaling.stress_)
    clusters = found.embedding["cluster"]
    assert clusters.value_counts().min() == 1  # of which each silhouette is 0
    assert found.silhouette == pytest.approx(silhouette_score(given, clusters, metric="precomputed"))


def test_stress_is_that_of_the_drawing():
    """Four points all equally far from each other do not fit into a plane."""
    given = pd.DataFrame(1 - np.eye(4), index=names(2, 2), columns=names(2, 2))
    found = geography(given)
    drawn = square(found.embedding[["x", "y"]].to_numpy(), names(2, 2)).to_numpy()
    upper = np.triu_indices(4, 1)
    kruskal = np.sqrt(((drawn - given.to_numpy())[upper] ** 2).sum() / (drawn[upper] ** 2).sum())
    assert found.stress == pytest.approx(kruskal, rel=1e-3)
    assert found.stress > 0.1


@pytest.mark.slow
def test_clusters_and_nearest_heads():
    line = np.array([0, 0.1, 0.25, 5, 5.1, 20])[:, None]
    found = geography(square(line, names(2, 3)), clusters=3).embedding
    assert found["cluster"].tolist() == [1, 1, 1, 2, 2, 3]
    assert found["nearest"].tolist() == ["1-2", "1-1", "1-2", "2-2", "2-1", "2-2"]
    assert found["nearest_distance"].to_numpy() == pytest.approx([0.1, 0.1, 0.15, 0.1, 0.1, 14.9])
    assert geography(square(line, names(2, 3)), clusters=1).embedding["cluster"].tolist() == [1] * 6
    assert geography(square(line, names(2, 3)), clusters=50).embedding["cluster"].nunique() == 6


def test_layers_that_hold_together_and_layers_that_do_not():
    rng = np.random.default_rng(1)
    apart = np.repeat(10 * rng.random((4, 2)), 6, axis=0) + 0.01 * rng.random((24, 2))
    together = geography(square(apart, names(4, 6))).neighbors
    assert together["found"][0] == 1
    assert together["shuffled"][0] == pytest.approx(5 / 23, abs=0.01)
    assert (together["p"] == 1 / 10_000).all()
    assert together["found"][1] == pytest.approx(together["across"][1] - together["within"][1])
    distances = square(apart, names(4, 6)).to_numpy()
    layer = np.repeat(range(4), 6)
    same = (layer[:, None] == layer) & ~np.eye(24, dtype=bool)
    assert together["within"][1] == pytest.approx(distances[same].mean())
    assert together["across"][1] == pytest.approx(distances[layer[:, None] != layer].mean())
    mixed = geography(square(rng.random((24, 2)), names(4, 6))).neighbors
    assert (mixed["p"] > 0.01).all()


@pytest.mark.parametrize("heads", [["1-1"], ["1-1", "1-2"], ["1-1", "2-1", "3-1"]])
def test_few_heads(heads):
    """One layer, or one head per layer: nothing to say about layers."""
    found = geography(square(np.arange(len(heads), dtype=float)[:, None], heads))
    assert found.neighbors.empty
    assert len(found.embedding) == len(heads)
    assert len(found.merges) == len(heads) - 1


@pytest.mark.slow
def test_of_equally_near_heads_each_counts_its_part():
    """1-1 is as near to 1-2 as to 2-1; 1-2 and 2-1 are nearest to it alone."""
    given = pd.DataFrame(
        [[0, 1, 1], [1, 0, 2], [1, 2, 0.0]], index=["1-1", "1-2", "2-1"], columns=["1-1", "1-2", "2-1"]
    )
    found = geography(given)
    assert found.embedding["nearest"].tolist() == ["", "1-1", "1-1"]
    assert found.neighbors["found"][0] == pytest.approx((0.5 + 1 + 0) / 3)
    assert found.neighbors["within"][1] == 1
    assert found.neighbors["across"][1] == 1.5


def test_heads_that_all_attend_alike():
    found = geography(pd.DataFrame(np.zeros((4, 4)), index=names(2, 2), columns=names(2, 2)))
    assert found.stress == 0
    assert (found.embedding[["x", "y"]] == 0).all(axis=None)
    assert found.embedding["nearest"].tolist() == [""] * 4


def test_relations_of_heads():
    """Among the relations in which a head is best, the one with the largest gain that is sure."""
    best = pd.DataFrame(
        [
            ("det", 3, 9, 100, 0.9, 0.15, 0.1),
            ("case", 3, 9, 100, 0.7, 0.3, 0.2),
            ("amod", 2, 1, 100, 0.9, 0.01, -0.04),
            ("obj", 3, 1, 100, 0.7, 0.2, np.nan),
            ("acl", 1, 1, 49, 0.7, 0.4, 0.3),
            ("nmod", 4, 1, 50, 0.7, 0.4, 0.3),
        ],
        columns=["relation", "layer", "head", "total", "accuracy", "gain", "gain_low"],
    ).assign(direction="dep->head")
    found = best_relations(best)
    assert found[["layer", "head", "relation"]].to_numpy().tolist() == [[3, 1, "obj"], [3, 9, "case"], [4, 1, "nmod"]]
    heads = pd.DataFrame({"layer": [1, 3], "head": [1, 9], **dict.fromkeys(STATISTICS, 0.1)})
    labeled = label_heads(heads).merge(found, on=["layer", "head"], how="left")
    assert labeled["relation"].isna().tolist() == [True, False]
    assert labeled["relation_accuracy"].iloc[1] == 0.7
    assert labeled["label"].tolist() == ["other", "other"]


def test_later_labels_win():
    heads = pd.DataFrame({"layer": [1], "head": [1], **dict.fromkeys(STATISTICS, 0.9)})
    labeled = label_heads(heads)
    assert labeled["label"].item() == "punctuation"
    assert labeled["labels"].item() == "next previous self broad first-special last-special punctuation"


def test_a_label_needs_more_than_its_threshold():
    """The borders that the page names, of 50, 60 and 80 %, are not above themselves."""
    labels = {
        "next": ("next", 0.5), "previous": ("previous", 0.5), "self": ("self", 0.5),
        "broad": ("entropy_relative", 0.8), "first-special": ("first_special", 0.6),
        "last-special": ("last_special", 0.6), "punctuation": ("punctuation", 0.6),
    }  # fmt: skip
    columns = {"layer": [1, 1], "head": [1, 2], **dict.fromkeys(STATISTICS, 0.1)}
    for label, (statistic, border) in labels.items():
        labeled = label_heads(pd.DataFrame({**columns, statistic: [border, border + 1e-9]}))
        assert labeled["label"].tolist() == ["other", label]


def test_the_card_of_a_head_says_whether_several_heads_are_equally_near():
    clusters = results("bert")[1]
    distances = clusters.distances.per_row.copy()
    distances.loc[:, :] = 0.5 * (1 - np.eye(len(distances)))
    distances.loc["1-1", "1-2"] = distances.loc["1-2", "1-1"] = 0.25
    alike = with_answers(
        clusters, distances=clusters.distances._replace(per_row=distances), clusters=head_map(distances, clusters=1)
    )
    texts = {head: fact.text.partition("; ")[2] for head, (fact,) in explored_clusters(alike, "weight").facts.items()}
    assert texts.pop("1-1") == "nearest head 1-2, divergence 0.250 nats"
    assert texts.pop("1-2") == "nearest head 1-1, divergence 0.250 nats"
    assert set(texts.values()) == {"several heads are equally near, divergence 0.500 nats"}
