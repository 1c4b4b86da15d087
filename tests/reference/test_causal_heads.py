"""Heads of causal models: read in both directions at once, with the share of words that each direction can reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import attentionology
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.analyses.dependency.best_heads import best_table
from attentionology.analyses.dependency.decisions import head_guesses
from attentionology.analyses.dependency.options import DependencyOptions
from attentionology.analyses.shared.options import CountOptions, EnsembleOptions, FailureOptions
from attentionology.corpora_loaders import Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import MapBatch
from attentionology.reports.heads.explorer_data import opening
from tests import tiny
from tests.dependency import dependency_section, explored_dependency, made_results
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
    batch = replace(rounded, recompute=lambda indices, _: [torch.from_numpy(exact[i]) for i in indices])
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
    made = made_results(tables.cells, tables.best, min_count=1)
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


@pytest.mark.parametrize("direction", ["auto", *DIRECTIONS])
def test_what_is_drawn_of_causal_heads_is_what_the_tables_count(direction):
    """A word whose syntactic head is on the side that a direction cannot see is no miss, and all others are counted."""
    treebank = load_treebank(SAMPLE_TREEBANK, limit=3)
    encoder = tiny.encoder("llama", max_position_embeddings=200)
    accuracy = DependencyAccuracy(tuple(treebank.relations), 3, 4, causal=True, replicates=0)
    for batch in attentionology.extract(encoder, treebank):
        accuracy.update(batch)
    way = "both" if direction == "auto" else direction
    cells = accuracy.compute().cells.query("relation == 'all' and direction == @way")
    heads = list(zip(cells["layer"].tolist(), cells["head"].tolist(), strict=True))
    shown = attentionology.show(encoder, list(treebank), head=heads, direction=direction)
    assert {view.direction for views in shown.views for view in views} == {way}
    for views, correct in zip(zip(*shown.views, strict=True), cells["correct"], strict=True):
        judged = [view.is_right(row) for view in views for row in range(len(view.words))]
        # The tables count that the first of equals is picked where all values are 0, which is right now and then.
        lucky = [row for view in views for row in range(len(view.words)) if view.head_of(row) == (1 if row == 0 else 0)]
        assert correct - (len(lucky) if way != "both" else 0) <= judged.count(True) <= correct
        for view in views:
            for row in range(len(view.words)):
                head = view.head_of(row)
                seen = head is not None and {"dep->head": head < row, "head->dep": head > row, "both": True}[way]
                assert (view.is_right(row) is not None) == seen
    explorer = shown.explorer()
    assert explorer.causal
    assert explorer.sample is not None
    assert "neither right nor wrong" in explorer.sample.note
    assert set(explorer.sample.sentences[0].guesses) == {f"weight/{way}"}
    address = opening(shown.views, layout="lines", special=True)
    assert ("&direction=" in address) == (way != "dep->head")


def test_text_and_figures_say_what_is_out_of_reach():
    """The head of *dogs* stands after it, so only a word that is looked for from its head can be found."""
    sentence = Sentence("s", ("dogs", "bark", "loudly"), heads=(2, 0, 2), relations=("nsubj", "root", "advmod"))
    encoder = tiny.encoder("llama")
    text = {way: attentionology.show(encoder, sentence, head="1-1", direction=way).text() for way in DIRECTIONS}
    found = {way: [line[0] for line in lines.splitlines()[1:]] for way, lines in text.items()}
    assert found["dep->head"][::2] == [" ", found["dep->head"][2]]
    assert found["dep->head"][2] in "+-"
    assert found["head->dep"][2] == " "
    assert found["head->dep"][0] in "+-"
    assert "(head: bark, out of reach)" in text["dep->head"].splitlines()[1]
    assert text["head->dep"].startswith("Head 1-1, head→dep: ")
    assert text["both"].startswith("Head 1-1, both directions: ")
    assert "out of reach" not in text["both"]
    assert "a causal model" in repr(attentionology.show(encoder, sentence, head="1-1"))
    with pytest.raises(attentionology.OptionError, match=r"direction must be one of auto, dep->head, head->dep, both"):
        attentionology.show(encoder, sentence, head="1-1", direction="up")


def test_a_word_that_sees_no_other_picks_the_first(monkeypatch):
    """All values of the first word are 0, and ties go to the lowest index, without another pass in float64."""
    monkeypatch.setattr(MapBatch, "exact", None)
    sentence = Sentence("s", ("the", "dog"), heads=(2, 0), relations=("det", "root"))
    batch = batch_of([sentence], [np.tril(np.ones((1, 1, 4, 4), dtype=np.float32))])
    accuracy = DependencyAccuracy(("det", "root"), 1, 1, causal=True, replicates=0)
    accuracy.update(batch)
    cells = accuracy.compute().cells.query("relation == 'det'").set_index("direction")
    assert cells["correct"].to_dict() == {"dep->head": 1, "head->dep": 1, "both": 1}
    assert head_guesses(batch, 3)[0, :, 0, 0].tolist() == [[-1, 2, 1, -1]] * 3
