"""How weights and norms vary, and what lies behind the feed-forward block, against loops in float64."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from attentionology.analyses.norms.block import PAIR_TYPES, FeedForwardBlock
from attentionology.analyses.norms.spread import WeightsAndNorms, spearman_of_counts
from attentionology.analyses.shared.grid import OctaveGrid
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import NormMaker, StageMaker
from tests import tiny
from tests.reference.naive_layers import READERS, naive_layers
from tests.reference.test_norm_analyses import classes_of

FAMILIES = tuple(READERS)
LEFT_OUT = (1, 3, 10)
GRIDS = (OctaveGrid(-16, 0, steps=4), OctaveGrid(-6, 7, steps=128))


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    treebank = list(load_treebank(SAMPLE_TREEBANK))
    repeated = Sentence("twice", ("The", "dog", "saw", "the", "cat", "."), (2, 3, 0, 5, 3, 3), RELATIONS)
    return [*[s for s in treebank if len(s) <= 10][:8], repeated, Sentence("one", ("Yes",), (0,), ("root",))]


RELATIONS = ("det", "nsubj", "root", "det", "obj", "punct")


@pytest.mark.parametrize("family", FAMILIES)
def test_dispersion(family, sentences):
    encoder = tiny.randomize(family)
    metric = WeightsAndNorms(encoder.n_layers, encoder.n_heads)
    for batch in tiny.batches(NormMaker(), encoder, sentences, batch_cells=300):
        metric.update(batch)
    table = metric.compute().dispersion.set_index(["measure", "layer", "head"])
    values: dict[Any, list[float]] = defaultdict(list)
    for sentence in sentences:
        _, layers = naive_layers(encoder, sentence)
        for number, layer in enumerate(layers, start=1):
            for layer_key in (0, number):
                values["input_norm", layer_key, 0] += np.linalg.norm(layer.x, axis=-1).tolist()
                values["input_norm", layer_key, 1] += np.linalg.norm(layer.x, axis=-1).tolist()
            for head, (alpha, af, f) in enumerate(zip(layer.alpha, layer.af, layer.f, strict=True), start=1):
                seen = alpha > 0
                found = {
                    "value_norm": np.linalg.norm(f, axis=-1),
                    "weight": alpha[seen],
                    "norm": np.linalg.norm(af, axis=-1)[seen],
                }
                for measure, numbers in found.items():
                    for key in ((0, 0), (number, 0), (0, head), (number, head)):
                        values[(measure, *key)] += numbers.tolist()
    assert set(table.index) == set(values)
    for key, numbers in values.items():
        row = table.loc[key]
        expected: list[Any] = [np.mean(numbers), np.std(numbers), np.std(numbers) / np.mean(numbers), max(numbers)]
        np.testing.assert_allclose(row[["mean", "sd", "cv", "max"]], expected, rtol=1e-4)
        assert row["min"] == pytest.approx(min(numbers), rel=1e-3, abs=1e-9)
        assert row["count"] == len(numbers)


def test_spread_of_large_and_of_tiny_norms():
    """Sums of squares hold a million tokens of norm 3,000, and do not lose norms of 0.001."""
    encoder = tiny.randomize("bert")
    [batch] = tiny.batches(NormMaker(), encoder, [Sentence("s", ("the", "dog"))])
    for size in (3000.0, 0.001):
        metric = WeightsAndNorms(encoder.n_layers, encoder.n_heads)
        norms = size * torch.linspace(1, 2, batch.ids.shape[1]).expand_as(batch.input_norms)
        metric.update(replace(batch, input_norms=norms))
        for _ in range(18):
            metric.merge_state(metric.metric_state)
        rows = metric.compute().dispersion.set_index(["measure", "layer", "head"])
        assert rows.loc[("input_norm", 1, 1), "count"] == 2**18 * batch.ids.shape[1]
        assert rows.loc[("input_norm", 1, 1), "sd"] == pytest.approx(norms[0, 0].numpy().std(), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_correlation_of_weight_and_norm(family, sentences):
    encoder = tiny.randomize(family)
    metric = WeightsAndNorms(encoder.n_layers, encoder.n_heads)
    for batch in tiny.batches(NormMaker(), encoder, sentences, batch_cells=300):
        metric.update(batch)
    tables = metric.compute()
    points: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    for sentence in sentences:
        pieces, layers = naive_layers(encoder, sentence)
        names = classes_of(pieces, sentence)
        for number, layer in enumerate(layers, start=1):
            for head, (alpha, f) in enumerate(zip(layer.alpha, layer.f, strict=True), start=1):
                for i, j in zip(*np.nonzero(alpha), strict=True):
                    point = (float(alpha[i, j]), float(np.linalg.norm(f[j])))
                    for key in ((0, 0), (number, 0), (0, head), (number, head)):
                        points[(*key, names[j])].append(point)
                        points[(*key, "all")].append(point)
    table: Any = tables.correlation.set_index(["layer", "head", "class"])
    assert set(table.index) == set(points)
    errors = []
    for key, pairs in points.items():
        assert table.loc[key, "pairs"] == len(pairs)
        if not math.isnan(rho := table.loc[key, "rho"]):
            exact = np.array(pairs).T
            tied = [
                np.searchsorted(grid.edges, values, side="right") for grid, values in zip(GRIDS, exact, strict=True)
            ]
            # The pass in float32 puts a few values that are next to an edge into the next cell.
            assert rho == pytest.approx(spearmanr(*tied).statistic, abs=0.02)
            errors.append(abs(rho - spearmanr(*exact).statistic))
    assert len(errors) > len(points) / 4
    assert np.mean(errors) < 0.01
    assert max(errors) < 0.1
    assert not math.isnan(table.loc[(0, 0, "all"), "rho"])
    grid = tables.grid.set_index(["layer", "class"])
    for name in set(grid.index.get_level_values("class")):
        cells = grid.loc[[(1, name)]]
        assert cells["pairs"].sum() == len(points[1, 0, name])
        # The cell of a pair is the highest one whose edges it reaches.
        for edge in cells["weight"].unique():
            expected = sum(edge <= alpha for alpha, _ in points[1, 0, name])
            assert cells[cells["weight"] >= edge]["pairs"].sum() == pytest.approx(expected, abs=1)


def test_spearman_of_a_grid_is_that_of_tied_values():
    rng = np.random.default_rng(3)
    for _ in range(20):
        counts = rng.integers(0, 4, (6, 9))
        cells = np.array([(i, j, count) for (i, j), count in np.ndenumerate(counts) if count]).T
        x, y = (np.repeat(cells[axis], cells[2]) for axis in (0, 1))
        assert spearman_of_counts(*cells) == pytest.approx(spearmanr(x, y).statistic)
    ten, equal = np.arange(10), np.zeros(10, dtype=int)
    assert math.isnan(spearman_of_counts(equal, ten, np.ones(10, dtype=int)))
    assert math.isnan(spearman_of_counts(ten, ten, np.array([99, *[1] * 9])))  # nearly all pairs are tied


def test_cells_of_a_grid_hold_the_values_between_their_edges():
    grid = OctaveGrid(-3, 4, steps=4)
    values = np.concatenate([[0, 2**-4, 16, 40], np.random.default_rng(0).uniform(0.1, 17, 500), grid.edges[1:]])
    cells = grid.cells(torch.from_numpy(values).float())
    expected = np.searchsorted(grid.edges, values.astype(np.float32), side="right") - 1
    assert cells.tolist() == expected.tolist()
    assert len(grid) == len(grid.edges) == max(expected) + 1


def type_of(i: int, j: int, pieces, sentence: Sentence, classes: list[str]) -> tuple[str, str]:
    """The type of a pair of pieces, by the definition."""
    if classes[i].startswith("[") or classes[j].startswith("["):
        return "special token", ""
    first, second = pieces.word_of[i], pieces.word_of[j]
    if first == second:
        return "pieces of a word", ""
    if sentence.words[first].lower() == sentence.words[second].lower():
        return "same form", ""
    if "punctuation" in (classes[i], classes[j]):
        return "punctuation", ""
    for dependent, head in ((first, second), (second, first)):
        if sentence.heads and sentence.heads[dependent] == head + 1:
            return "relation", sentence.relations[dependent]
    return ("adjacent" if abs(first - second) == 1 else "other"), ""


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_behind_the_feed_forward_block(family, sentences):
    encoder = tiny.randomize(family)
    pre = family != "bert"
    ff = 1 if pre else 0
    kinds = ("attnres", "attnresln", "atbff", "atbffres") if pre else ("attnresln", "atbff", "atbffres", "atbffresln")
    around_norm = kinds[:2] if pre else kinds[2:]
    relations = list(dict.fromkeys(relation for s in sentences for relation in s.relations))
    metric = FeedForwardBlock(encoder.n_layers, ("LN", "FF", "RES") if pre else ("FF", "RES", "LN"), 24, relations)
    for batch in tiny.batches(StageMaker(), encoder, sentences, batch_cells=300):
        metric.update(batch)
    tables = metric.compute()
    sizes: dict[int, list[Any]] = defaultdict(list)
    quantities: dict[Any, list[float]] = defaultdict(list)
    changes: dict[Any, list[float]] = defaultdict(list)
    counts: dict[Any, Counter[tuple[str, str]]] = defaultdict(Counter)
    for sentence in sentences:
        pieces, layers = naive_layers(encoder, sentence)
        classes = classes_of(pieces, sentence)
        n = len(pieces)
        for number, layer in enumerate(layers, start=1):
            residual = layer.p if pre else layer.a
            network = layer.feed_forward(layer.a)
            read = layer.p if pre else layer.q
            quantities[number, "FF"] += np.linalg.norm(network, axis=-1).tolist()
            quantities[number, "residual"] += np.linalg.norm(residual, axis=-1).tolist()
            for a, b in zip(network, residual, strict=True):
                cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
                quantities[number, "angle"].append(math.degrees(math.acos(cosine)))
            size = np.abs(read).mean(0)
            sizes[number].append(size)
            if n < 2:
                continue
            maps = {kind: np.linalg.norm(layer.vectors(kind), axis=-1) for kind in kinds}
            seen = maps[kinds[0]] > 0
            for count in (0, *LEFT_OUT):
                kept = np.argsort(-size)[count:]
                before, after = (np.linalg.norm(layer.vectors(kind)[..., kept], axis=-1)[seen] for kind in around_norm)
                changes[number, count].append(1 - spearmanr(before, after).statistic)
            shares = [maps[kind] / maps[kind].sum(-1, keepdims=True) for kind in kinds[ff : ff + 2]]
            pairs = [(i, j) for i in range(n) for j in range(n) if i != j and seen[i, j]]
            for i, j in pairs:
                counts[number, "pairs"][type_of(i, j, pieces, sentence, classes)] += 1
            raised = sorted(pairs, key=lambda pair: -(shares[1] - shares[0])[pair])
            for i, j in raised[: math.ceil(len(pairs) / 100)]:
                if shares[1][i, j] > shares[0][i, j]:
                    counts[number, "amplified"][type_of(i, j, pieces, sentence, classes)] += 1

    overwriting = tables.overwriting.set_index(["layer", "quantity"])
    assert set(overwriting.index) == set(quantities)
    for key, values in quantities.items():
        row = overwriting.loc[key]
        quartiles = np.quantile(values, (0.25, 0.5, 0.75), method="inverted_cdf")
        steps: Any = {"abs": 0.13} if key[1] == "angle" else {"rel": 0.0045}
        for name, expected in zip(("low", "median", "high"), quartiles, strict=True):
            assert row[name] == pytest.approx(expected, **steps)
        assert row["tokens"] == len(values)

    reader, modules = READERS[family]
    for number in range(1, encoder.n_layers + 1):
        plain = reader(modules(encoder.double.model)[number - 1], encoder.n_heads)
        norm: Any = plain.ln if pre else plain.after
        gamma = norm[0]
        mean = np.mean(sizes[number], axis=0)
        order = np.argsort(-mean)
        own = tables.dimensions[tables.dimensions["layer"] == number]
        assert own["dimension"].tolist() == order[:10].tolist()
        np.testing.assert_allclose(own["size"], mean[order[:10]], rtol=1e-4)
        np.testing.assert_allclose(own["gamma"], gamma[order[:10]], rtol=1e-5)
        assert own["median_size"].iloc[0] == pytest.approx(np.median(mean), rel=1e-4)
        assert own["median_gamma"].iloc[0] == pytest.approx(np.median(gamma), rel=1e-5)

    left_out = tables.left_out.set_index(["layer", "left_out"])
    assert set(left_out.index) == set(changes)
    for key, values in changes.items():
        assert left_out.loc[key, "change"] == pytest.approx(np.mean(values), abs=2e-3)
        assert left_out.loc[key, "sentences"] == len(values)

    for number in range(1, encoder.n_layers + 1):
        rows: Any = tables.pairs[tables.pairs["layer"] == number].set_index(["type", "relation"])
        for column in ("pairs", "amplified"):
            expected = counts[number, column]
            assert {key: count for key, count in rows[column].items() if count} == dict(expected)
        assert rows["share"].sum() == pytest.approx(1)
        assert rows["share_of_all"].sum() == pytest.approx(1)
        assert rows.loc[("same form", ""), "pairs"] > 0
        assert (rows["share_of_all"] == rows["pairs"] / rows["pairs"].sum()).all()
        assert list(rows.index.get_level_values(0)) == sorted(rows.index.get_level_values(0), key=PAIR_TYPES.index)


def test_counts_of_treebanks_with_other_relations_add_up(sentences):
    encoder = tiny.randomize("bert")
    batches = list(tiny.batches(StageMaker(), encoder, [*sentences[:3], sentences[-2]], batch_cells=60))
    inventories = [list(dict.fromkeys(r for s in b.sentences for r in s.relations)) for b in batches]
    arguments: list[dict[str, Any]] = [
        {"n_layers": 3, "components": ["FF", "RES", "LN"], "dim": 24, "relations": r} for r in inventories
    ]
    joined = FeedForwardBlock.joined_arguments(arguments)
    total, whole = FeedForwardBlock(**joined), FeedForwardBlock(**joined)
    for batch, own in zip(batches, arguments, strict=True):
        part = FeedForwardBlock(**own)
        part.update(batch)
        total.absorb(part)
        whole.update(batch)
    assert len({tuple(r) for r in inventories}) > 1
    assert total.compute().pairs.equals(whole.compute().pairs)
