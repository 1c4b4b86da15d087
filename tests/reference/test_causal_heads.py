"""Heads of causal models: read in both directions at once, with the share of words that each direction can reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import attentionology
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.explored import explored_dependency
from attentionology.analyses.dependency.options import DependencyOptions
from attentionology.analyses.dependency.section import DependencyResults, best_table, dependency_section
from attentionology.analyses.shared.options import CountOptions, EnsembleOptions, FailureOptions
from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from tests import tiny
from tests.maps import RELATIONS, batch_of, random_corpus
from tests.reference import naive
from tests.shown_tables import as_shown, in_terminal, on_page

DIRECTIONS = ("dep->head", "head->dep", "both")


def counts_of(cells):
    single = cells[~cells["relation"].str.startswith("all")]
    keys = zip(single["relation"], single["direction"], single["layer"], single["head"], strict=True)
    return {key: count for key, count in zip(keys, single["correct"], strict=True) if count}


def causal_corpus(seed):
    texts, maps = random_corpus(seed)
    return texts, [m * np.tril(np.ones(m.shape[-2:], dtype=np.float32)) for m in maps]


@pytest.mark.parametrize("causal", [False, True])
def test_sums_of_both_directions_are_read_as_by_a_loop(causal):
    texts, maps = causal_corpus(1) if causal else random_corpus(1)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, both=not causal, causal=causal, replicates=0)
    for rows in (slice(11), slice(11, None)):
        accuracy.update(batch_of(texts[rows], maps[rows]))
    right, _ = naive.dependency_counts(texts, maps, both=True)
    tables = accuracy.compute()
    assert counts_of(tables.cells) == dict(right)
    assert set(tables.cells["direction"]) == set(DIRECTIONS)
    assert ("reach" in tables.best) == ("reach" in tables.cells) == causal


def test_close_sums_are_decided_in_float64():
    texts, maps = random_corpus(11, sentences=8)
    rng = np.random.default_rng(0)
    exact = [0.5 + 1e-9 * rng.random(m.shape) for m in maps]
    rounded = batch_of(texts, [m.astype(np.float32) for m in exact])
    batch = replace(rounded, recompute=lambda indices, _: [torch.from_numpy(exact[i]) for i in indices])  # type: ignore[arg-type]
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, both=True, replicates=0)
    accuracy.update(batch)
    right, _ = naive.dependency_counts(texts, exact, both=True)
    assert counts_of(accuracy.compute().cells) == dict(right)
    in_float32, _ = naive.dependency_counts(texts, [m.astype(np.float32) for m in exact], both=True)
    assert in_float32 != right


@pytest.fixture(scope="module")
def counted():
    texts, maps = causal_corpus(2)
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, causal=True, replicates=20)
    accuracy.update(batch_of(texts, maps))
    return texts, accuracy


def test_reach_is_the_share_of_words_on_the_right_side(counted):
    texts, accuracy = counted
    tables = accuracy.compute()
    words = [
        (relation, number, head)
        for text in texts
        for number, (head, relation) in enumerate(zip(text.heads, text.relations, strict=True), start=1)
        if head is not None
    ]
    for row in [*tables.cells.to_dict("records"), *tables.best.to_dict("records")]:
        total = row["relation"]
        of = [(i, h) for r, i, h in words if total in (r, "all") or (total.startswith("all-n") and r != "punct")]
        of = [(i, h) for i, h in of if h or total != "all-nopunct-noroot"]
        seen = {"dep->head": sum(0 < h < i for i, h in of), "head->dep": sum(h > i for i, h in of)}
        seen["both"] = seen["dep->head"] + seen["head->dep"]
        assert row["reach"] == pytest.approx(seen[row["direction"]] / len(of), abs=1e-12)
        assert row["correct"] <= seen[row["direction"]]


def test_the_reach_is_shown_beside_the_best_head_and_as_a_fact(counted):
    _, accuracy = counted
    tables = accuracy.compute()
    made = DependencyResults(tables.cells, tables.best, min_count=1)
    table = best_table(made)
    rows = [row for row in tables.best.to_dict("records") if row["relation"] != "root"]
    for shown, heading in ((on_page(table), "in reach %"), (in_terminal(table, 200), "in reach")):
        assert [row[heading] for row in shown] == [as_shown(row, "reach") for row in rows]
        arrows = {"dep->head": "dep→head", "head->dep": "head→dep", "both": "both"}
        assert [row["direction"] for row in shown] == [arrows[row["direction"]] for row in rows]
    of_all = tables.cells[tables.cells["relation"] == "all"].drop_duplicates("direction").set_index("direction")
    shares = ", ".join(f"{arrows[way]} {as_shown(of_all.loc[way], 'reach')} %" for way in DIRECTIONS)
    assert any(f"words see only the words before; all words whose head is in reach: {shares}" in n for n in table.notes)
    assert shares in " ".join(dependency_section(made).context["map_facts"])
    assert "the best of 18 on these same words" in table.legend
    assert "the sum of the two values is largest" in table.legend
    measures = {m.id: m for m in explored_dependency(made, accuracy, "weight").measures}
    both = tables.cells.query("relation == 'nsubj' and direction == 'both'")
    assert list(measures["dependency/nsubj/both/accuracy/weight"].values) == both["accuracy"].tolist()


@pytest.mark.parametrize(("family", "both"), [("llama", False), ("bert", True), ("bert", False)])
def test_causal_models_are_read_in_both_directions_and_others_if_asked(family, both):
    treebank = load_treebank(SAMPLE_TREEBANK, limit=6)
    failures = FailureOptions(failures=("best",))
    options = [CountOptions(replicates=0, min_count=1), DependencyOptions(both=both), EnsembleOptions(2), failures]
    encoder = tiny.encoder(family, max_position_embeddings=200)
    assert encoder.causal == (family == "llama")
    run = attentionology.analyze(encoder, treebank, analyses="dependency", options=options)
    made = run.parts[0].results
    assert ("both" in set(made.cells["direction"])) == (both or encoder.causal)
    assert ("reach" in made.best) == encoder.causal
    assert made.failures is not None
    assert set(zip(made.failures.failures["relation"], made.failures.failures["direction"], strict=True)) <= set(
        zip(made.best["relation"], made.best["direction"], strict=True)
    )
    if encoder.causal:
        of_all = made.cells[(made.cells["relation"] == "all")].groupby("direction")["correct"].max()
        assert of_all["both"] > 0
