"""Counts, held-out accuracy and intervals against naive loops, on maps of a model and on random ones."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from attentionology.analyses.counting.outcomes import SPLITS
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.corpora_loaders import OFFSETS, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import ExtractionLog, MapBatch, extract
from tests import tiny
from tests.maps import RELATIONS, batch_of, random_corpus
from tests.programs import REPOSITORY
from tests.reference import naive


def as_counter(cells: pd.DataFrame) -> dict[naive.Cell, int]:
    single = cells[~cells["relation"].str.startswith("all")]
    keys = zip(single["relation"], single["direction"], single["layer"], single["head"], strict=True)
    return {key: count for key, count in zip(keys, single["correct"], strict=True) if count}


@pytest.mark.parametrize("seed", range(5))
def test_counts_on_random_maps(seed):
    texts, maps = random_corpus(seed)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=0)
    accuracy.update(batch_of(texts, maps))
    cells = accuracy.compute().cells
    right, total = naive.dependency_counts(texts, [m.astype(np.float64) for m in maps])
    assert as_counter(cells) == dict(right)
    assert {r: n for r, n in zip(cells["relation"], cells["total"], strict=True) if r in RELATIONS} == {
        r: total[r] for r in RELATIONS
    }


@pytest.mark.parametrize("counted", [["nsubj"], ["punct", "obj", "root"]])
@pytest.mark.parametrize("coarse", [False, True])
def test_a_subset_of_relations_counts_its_words_alone(counted, coarse):
    """Each relation has the counts of the whole inventory, and the totals are the sums over what is counted."""
    texts, maps = random_corpus(12)
    accuracy = DependencyAccuracy(counted, 2, 3, coarse=coarse, replicates=0)
    accuracy.update(batch_of(texts, maps))
    cells = accuracy.compute().cells
    of = {name: name.split(":")[0] if coarse else name for name in RELATIONS}
    right, total = naive.dependency_counts(texts, [m.astype(np.float64) for m in maps])
    totals = {
        "all": set(counted),
        "all-nopunct": set(counted) - {"punct"},
        "all-nopunct-noroot": set(counted) - {"punct", "root"},
    }
    rows = {**totals, **{name: {name} for name in counted}}
    assert set(cells["relation"]) == set(rows)
    for relation, direction, layer, head, n, correct in cells[
        ["relation", "direction", "layer", "head", "total", "correct"]
    ].itertuples(index=False):
        members = [name for name in RELATIONS if of[name] in rows[relation]]
        assert n == sum(total[name] for name in members)
        assert correct == sum(right[name, direction, layer, head] for name in members)
    assert total["nsubj:pass"]


def test_near_ties_are_decided_exactly_whatever_float32_says():
    """Two candidates that differ by less than float32 resolves: only the recomputed maps can tell them apart."""
    texts, maps = random_corpus(11, sentences=8)
    rng = np.random.default_rng(0)
    exact = [m.astype(np.float64) for m in maps]
    for m in exact:
        m[...] = 0.5 + 1e-9 * rng.random(m.shape)
    rounded = batch_of(texts, [m.astype(np.float32) for m in exact])
    batch = type(rounded)(
        **{**vars(rounded), "recompute": lambda indices, _: [torch.from_numpy(exact[i]) for i in indices]}
    )
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=0)
    accuracy.update(batch)
    right, _ = naive.dependency_counts(texts, exact)
    assert as_counter(accuracy.compute().cells) == dict(right)
    in_float32, _ = naive.dependency_counts(texts, [m.astype(np.float32) for m in exact])
    assert in_float32 != right


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "deberta-v2"])
def test_counts_of_a_model_do_not_depend_on_batches_threads_or_order(family):
    treebank = load_treebank(SAMPLE_TREEBANK, limit=30)
    encoder = tiny.encoder(family, max_position_embeddings=256)
    naive_maps = [naive.word_map(encoder.double.model, encoder.tokenizer, s.words) for s in treebank]
    expected, _ = naive.dependency_counts(list(treebank), naive_maps)
    threads = torch.get_num_threads()
    order = np.random.default_rng(0).permutation(len(treebank))
    for cells, n_threads, sentences in [
        (1, 1, list(treebank)),
        (2**13, 2, [treebank[i] for i in order]),
        (2**20, 1, list(treebank)[::-1]),
    ]:
        torch.set_num_threads(n_threads)
        try:
            accuracy = DependencyAccuracy(list(treebank.relations), 3, 4, replicates=0)
            for batch in extract(encoder, sentences, batch_cells=cells, log=ExtractionLog()):
                accuracy.update(batch)
        finally:
            torch.set_num_threads(threads)
        assert as_counter(accuracy.compute().cells) == dict(expected)


def test_without_the_exact_path_some_count_would_be_left_to_chance(monkeypatch):
    """The tolerance is not idle: with real maps some decisions do fall under it."""
    treebank = load_treebank(SAMPLE_TREEBANK, limit=60)
    asked: list[int] = []
    original = MapBatch.exact

    def exact(self, indices, first_layers=None):
        asked.extend(indices)
        return original(self, indices, first_layers)

    monkeypatch.setattr(MapBatch, "exact", exact)
    accuracy = DependencyAccuracy(list(treebank.relations), 3, 4, replicates=0)
    for batch in extract(tiny.encoder(max_position_embeddings=256), treebank, log=ExtractionLog()):
        accuracy.update(dataclasses.replace(batch, noise=1e-3))
    assert asked


@pytest.mark.slow
def test_heldout_accuracy():
    texts, maps = random_corpus(21, sentences=40)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=0, seed=5)
    accuracy.update(batch_of(texts, maps))
    best = accuracy.compute().best.set_index("relation")
    splits = halves([s.id for s in texts], SPLITS, seed=5)
    for relation in ("det", "obj"):
        cells = [(layer, head, d) for layer in (1, 2) for head in (1, 2, 3) for d in ("dep->head", "head->dep")]
        right, total = [], []
        for first in splits:
            right.append(0)
            total.append(0)
            for choosing in (first, ~first):
                chosen, _ = naive.dependency_counts(texts, maps, choosing.astype(int).tolist())
                scored, n = naive.dependency_counts(texts, maps, (~choosing).astype(int).tolist())
                layer, head, d = max(cells, key=lambda c: (chosen[relation, c[2], c[0], c[1]], c))
                right[-1] += scored[relation, d, layer, head]
                total[-1] += n[relation]
        row: Any = best.loc[relation]
        assert (row["heldout_correct"], row["heldout_total"]) == (sum(right), sum(total))
        rates = [r / n for r, n in zip(right, total, strict=True)]
        assert (row["heldout_min"], row["heldout_max"]) == (min(rates), max(rates))
        assert min(rates) < max(rates)


def test_a_half_without_the_relation_chooses_nothing():
    texts, maps = random_corpus(21, sentences=1)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=0)
    accuracy.update(batch_of(texts, maps))
    best = accuracy.compute().best
    assert (best["heldout_total"] == 0).all()
    assert best["heldout_accuracy"].isna().all()


@pytest.mark.slow
def test_intervals_are_those_of_the_weighted_recounts():
    texts, maps = random_corpus(22, sentences=40)
    replicates = 60
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=replicates, seed=9)
    accuracy.update(batch_of(texts, maps))
    best = accuracy.compute().best.set_index("relation")
    weights = poisson_weights([s.id for s in texts], replicates, seed=9)
    for relation in ("det", "nsubj:pass"):
        row: Any = best.loc[relation]
        rates, gains = [], []
        for w in weights.tolist():
            right, total = naive.dependency_counts(texts, maps, w)
            by_offset = sum(
                weight
                for s, weight in zip(texts, w, strict=True)
                for i, (h, r) in enumerate(zip(s.heads, s.relations, strict=True), start=1)
                if h is not None and r == relation and min(max(i + row["offset"], 1), len(s)) == h
            )
            hits = right[relation, row["direction"], row["layer"], row["head"]]
            if total[relation]:
                rates.append(hits / total[relation])
                gains.append((hits - by_offset) / total[relation])
        np.testing.assert_allclose([row["accuracy_low"], row["accuracy_high"]], np.quantile(rates, [0.025, 0.975]))
        np.testing.assert_allclose([row["gain_low"], row["gain_high"]], np.quantile(gains, [0.025, 0.975]))


def test_best_offset_against_a_loop():
    texts, maps = random_corpus(23, sentences=60)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=0)
    accuracy.update(batch_of(texts, maps))
    best = accuracy.compute().best.set_index("relation")
    for relation in RELATIONS[:-1]:
        hits = {
            offset: sum(
                min(max(i + offset, 1), len(s)) == h
                for s in texts
                for i, (h, r) in enumerate(zip(s.heads, s.relations, strict=True), start=1)
                if h is not None and r == relation
            )
            for offset in OFFSETS
        }
        offset = max(hits, key=lambda o: (hits[o], o))
        assert tuple(best.loc[relation, ["offset", "offset_correct"]]) == (offset, hits[offset])


def _count_share(rank: int, world: int, port: int, folder: str) -> None:
    address, timeout = f"tcp://127.0.0.1:{port}", datetime.timedelta(seconds=300)
    torch.distributed.init_process_group("gloo", init_method=address, timeout=timeout, rank=rank, world_size=world)
    texts, maps = random_corpus(3)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    accuracy.update(batch_of(texts[rank::world], maps[rank::world]))
    gathered: list[dict[str, torch.Tensor]] = [{}] * world
    torch.distributed.all_gather_object(gathered, accuracy.metric_state)
    whole = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    for states in gathered:
        whole.merge_state(states)
    tables = whole.compute()
    tables.best.to_csv(f"{folder}/best{rank}.csv", index=False)
    tables.cells.to_csv(f"{folder}/cells{rank}.csv", index=False)
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_several_processes_give_the_bits_of_one(programs, tmp_path):
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = "import sys; from tests.reference.test_dependency import _count_share as count\n"
    code += "rank, port, folder = sys.argv[1:]; count(int(rank), 2, int(port), folder)"
    done = programs.together(*(["-c", code, rank, port, tmp_path] for rank in range(2)), folder=REPOSITORY)
    assert [process.returncode for process in done] == [0, 0], [process.stderr for process in done]
    texts, maps = random_corpus(3)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    accuracy.update(batch_of(texts, maps))
    tables = accuracy.compute()
    for rank in range(2):
        assert (tmp_path / f"best{rank}.csv").read_text() == tables.best.to_csv(index=False)
        assert (tmp_path / f"cells{rank}.csv").read_text() == tables.cells.to_csv(index=False)
