"""Antecedent selection accuracy against a naive loop, by hand, and by construction."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.decisions import account
from attentionology.analyses.counting.outcomes import SPLITS
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import Window, extract, make_windows
from tests import tiny
from tests.documents import corpus, document, random_document, window
from tests.maps import batch_of
from tests.reference import naive, naive_coreference


def as_counter(cells):
    names = ["candidates", "type", "direction", "layer", "head"]
    return {tuple(row[:5]): row[5] for row in cells[[*names, "correct"]].itertuples(index=False) if row[5]}


def random_maps(rng, windows, layers=2, heads=3):
    """Rounded, so that there are ties."""
    return [rng.integers(0, 6, size=(layers, heads, len(w) + 2, len(w) + 2)).astype(np.float32) for w in windows]


def random_case(seed, documents=18, *, halved=False):
    rng = np.random.default_rng(seed)
    docs = [random_document(rng, f"d{n}") for n in range(documents)]
    windows = []
    for one in docs:
        middle = len(one.words) // 2
        if halved and middle > 1:
            windows += [window(one, 0, middle + 1), window(one, middle // 2, None, middle + 1)]
        else:
            windows.append(window(one))
    return docs, windows, random_maps(rng, windows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("singletons", [False, True])
@pytest.mark.parametrize("halved", [False, True])
def test_counts_on_random_maps(seed, singletons, halved):
    docs, windows, maps = random_case(seed, halved=halved)
    accuracy = CoreferenceAccuracy(corpus(*docs), 2, 3, singletons=singletons, replicates=0)
    accuracy.update(batch_of(windows, maps))
    tables = accuracy.compute()
    right, total = naive_coreference.counts(windows, maps, singletons=singletons)
    assert total["all"] > 20
    assert as_counter(tables.cells) == {cell: count for cell, count in right.items() if count}
    by_type = tables.cells.groupby("type")["total"].first().to_dict()
    assert by_type == {kind: total[kind] for kind in ("all", "pronoun", "proper", "nominal")}
    told = account(corpus(*docs), windows, singletons=singletons)
    assert told["scored"] == total["all"]
    assert told["anaphors"] == sum(len(chain) - 1 for one in docs for chain in one.chains.values())
    lost = sum(count for reason, count in told.items() if reason not in ("anaphors", "scored", "documents", "forced"))
    assert lost == told["anaphors"] - told["scored"]
    by_unit = tables.distances.groupby(["candidates", "type", "unit", "direction", "layer", "head"], dropna=False)
    for row in by_unit[["correct", "total"]].sum().reset_index().to_dict("records"):
        assert row["total"] == total[row["type"]]
        if isinstance(row["direction"], str):  # a head, not a baseline
            cell = tuple(row[name] for name in ("candidates", "type", "direction", "layer", "head"))
            assert row["correct"] == right[cell]


@pytest.mark.slow
def test_nearest_and_head_match_on_random_documents():
    docs, windows, maps = random_case(3, documents=150)
    accuracy = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=0)
    accuracy.update(batch_of(windows, maps))
    found = accuracy.compute().baselines.set_index(["baseline", "type"])["correct"]
    expected = [naive_coreference.nearest_hits(w.source, [w], singletons=False) for w in windows]
    assert found["nearest", "all"] == sum(one["nearest"] for one in expected) > 5
    assert found["head match", "all"] == sum(one["head_match"] for one in expected) > 5


STORY = document(
    "story",
    ["Mrs. Lee met the boys .", "She greeted them .", "The boy thanked Mrs. Lee .", "Lee liked the boys ."],
    [
        (0, 2, "lee"), (3, 5, "boys"), (6, 7, "lee"), (8, 9, "boys"), (10, 12, "boy"), (13, 15, "lee"),
        (16, 17, "lee"), (18, 20, "boys"),
    ],
    xpos=["NNP NNP VBD DT NNS .", "PRP VBD PRP .", "DT NN VBD NNP NNP .", "NNP VBD DT NNS ."],
)  # fmt: skip


def test_baselines_counted_by_hand():
    """Mentions to resolve: She, them, Mrs. Lee (2nd), Lee, the boys (2nd); *the boy* is mentioned once.

    nearest: She → the boys (wrong), them → She (wrong), Mrs. Lee → them (wrong), Lee → Mrs. Lee (right),
    the boys → Lee (wrong).
    head match: She –, them –, Mrs. Lee → Mrs. Lee (right), Lee → Mrs. Lee (right), the boys → the boys (right).
    rules: She agrees with Mrs. Lee and not with the boys (right); them agrees with the boys (right); Mrs. Lee and the
    boys are found by their words, Lee by its head word (right).
    """
    accuracy = CoreferenceAccuracy(corpus(STORY), 1, 1, replicates=0)
    windows = [window(STORY)]
    accuracy.update(batch_of(windows, random_maps(np.random.default_rng(0), windows, 1, 1)))
    found = accuracy.compute().baselines.set_index(["baseline", "type"])[["correct", "total"]]
    table = {index: tuple(row) for index, row in zip(found.index, found.to_numpy().tolist(), strict=True)}
    assert {kind: table["nearest", kind] for kind in ("all", "pronoun", "proper", "nominal")} == {
        "all": (1, 5), "pronoun": (0, 2), "proper": (1, 2), "nominal": (0, 1),
    }  # fmt: skip
    assert {kind: table["head match", kind] for kind in ("all", "pronoun", "proper", "nominal")} == {
        "all": (3, 5), "pronoun": (0, 2), "proper": (2, 2), "nominal": (1, 1),
    }  # fmt: skip
    assert {kind: table["rule-based", kind] for kind in ("all", "pronoun", "proper", "nominal")} == {
        "all": (5, 5), "pronoun": (2, 2), "proper": (2, 2), "nominal": (1, 1),
    }  # fmt: skip


def test_the_sieves_of_the_rules_come_in_order():
    """The same words come before the same head word, and the same head word before agreement.

    the dog (2nd) → the dog, although *a dog* is nearer and has the same head word; a dog (2nd) → a dog, although the
    cat, which agrees, and *the dog* are nearer.
    """
    kennel = document(
        "kennel",
        ["The dog saw a dog .", "The dog fed the cat .", "A dog saw the cat ."],
        [
            (0, 2, "own"), (3, 5, "other"), (6, 8, "own"), (9, 11, "cat"), (12, 14, "other"), (15, 17, "cat"),
        ],
        xpos=["DT NN VBD DT NN .", "DT NN VBD DT NN .", "DT NN VBD DT NN ."],
    )  # fmt: skip
    accuracy = CoreferenceAccuracy(corpus(kennel), 1, 1, replicates=0)
    windows = [window(kennel)]
    accuracy.update(batch_of(windows, random_maps(np.random.default_rng(0), windows, 1, 1)))
    found = accuracy.compute().baselines.query("type == 'all'").set_index("baseline")
    assert found["total"].unique().tolist() == [3]
    assert found["correct"][["nearest", "head match", "rule-based"]].tolist() == [0, 1, 3]


def test_mentions_of_once_mentioned_entities_are_candidates_only_if_kept():
    """With all weights but one equal to 0, every head that knows nothing takes the first candidate, Mrs. Lee: right for
    She, Mrs. Lee and Lee. One weight goes from *the boys* of the end to *the boy*, where there is no such candidate
    unless singletons are kept; and one from the first *them* to *the boy*, which is no candidate because it follows."""
    maps = np.zeros((1, 1, len(STORY.words) + 2, len(STORY.words) + 2), dtype=np.float32)
    maps[0, 0, 1 + 8, 1 + 11] = 3  # them → boy
    maps[0, 0, 1 + 8, 1 + 4] = 2  # them → boys
    maps[0, 0, 1 + 19, 1 + 11] = 3  # boys → boy
    maps[0, 0, 1 + 19, 1 + 4] = 2  # boys → boys
    found = {}
    for singletons in (False, True):
        accuracy = CoreferenceAccuracy(corpus(STORY), 1, 1, singletons=singletons, replicates=0)
        accuracy.update(batch_of([window(STORY)], [maps]))
        counted = as_counter(accuracy.compute().cells)
        for policy in ("preceding", "mentions", "words"):
            found[policy, singletons] = counted.get((policy, "all", "mention->antecedent", 1, 1), 0)
    # Among all words the first is taken, Mrs.; it is no head word.
    assert found == {
        ("preceding", False): 5, ("mentions", False): 5, ("words", False): 0,
        ("preceding", True): 4, ("mentions", True): 3, ("words", True): 0,
    }  # fmt: skip


def perfect_map(one: Window, *, wrong: bool = False) -> np.ndarray:
    """All weight from every mention to its nearest antecedent's head, or to another preceding mention's."""
    n = len(one) + 2
    full = np.zeros((1, 1, n, n), dtype=np.float32)
    for mention, candidates, gold in naive_coreference.to_resolve(one, singletons=False):
        others = [word for word in candidates["preceding"] if word not in gold]
        target = others[-1] if wrong else max(gold)
        full[0, 0, mention.head + 1 - one.start, target + 1 - one.start] = 1
    return full


@pytest.mark.slow
def test_a_map_made_of_the_answers_is_right_and_one_made_of_mistakes_is_wrong():
    choosing = document(
        "d", ["a b c d e f g h"], [(0, 1, "x"), (1, 2, "y"), (2, 3, "x"), (4, 5, "y"), (5, 6, "x"), (7, 8, "y")]
    )
    for wrong in (False, True):
        accuracy = CoreferenceAccuracy(corpus(choosing), 1, 1, replicates=20)
        windows = [window(choosing)]
        accuracy.update(batch_of(windows, [perfect_map(w, wrong=wrong) for w in windows]))
        cells = accuracy.compute().cells
        to = cells[(cells["direction"] == "mention->antecedent") & (cells["type"] == "all")]
        assert to["total"].tolist() == [4, 4, 4]
        assert to["accuracy"].tolist() == [0.0 if wrong else 1.0] * 3
        transposed = CoreferenceAccuracy(corpus(choosing), 1, 1, replicates=0)
        swapped = [perfect_map(w, wrong=wrong).swapaxes(-1, -2).copy() for w in windows]
        transposed.update(batch_of(windows, swapped))
        cells = transposed.compute().cells
        back = cells[(cells["direction"] == "antecedent->mention") & (cells["type"] == "all")]
        assert back["accuracy"].tolist() == [0.0 if wrong else 1.0] * 3


def test_nested_mentions_with_one_head_are_no_candidates_of_each_other():
    nested = document("d", ["the mayor of Rome slept"], [(0, 2, "x"), (0, 4, "x")])
    assert account(corpus(nested), [window(nested)])["same head"] == 1


def test_near_ties_are_decided_exactly_whatever_float32_says():
    docs, windows, _ = random_case(5)
    rng = np.random.default_rng(1)
    exact = [0.5 + 1e-9 * rng.random((2, 3, len(w) + 2, len(w) + 2)) for w in windows]
    rounded = batch_of(windows, [m.astype(np.float32) for m in exact])
    batch = type(rounded)(
        **{**vars(rounded), "recompute": lambda indices, _: [torch.from_numpy(exact[i]) for i in indices]}
    )
    accuracy = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=0)
    accuracy.update(batch)
    right, _ = naive_coreference.counts(windows, exact)
    in_float32, _ = naive_coreference.counts(windows, [m.astype(np.float32) for m in exact])
    assert as_counter(accuracy.compute().cells) == {cell: count for cell, count in right.items() if count}
    assert +in_float32 != +right


@pytest.mark.slow
def test_parts_add_up_to_the_same_bits_and_intervals_are_those_of_weighted_recounts():
    docs, windows, maps = random_case(7, documents=20)
    whole = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=30, seed=4)
    whole.update(batch_of(windows, maps))
    parts = [CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=30, seed=4) for _ in range(2)]
    for part, at in zip(parts, (slice(0, 7), slice(7, None)), strict=True):
        part.update(batch_of(windows[at], maps[at]))
    parts[0].merge_state(parts[1])
    for state in ("counts", "bootstrap", "distances"):
        assert torch.equal(getattr(parts[0], state), getattr(whole, state))
    best = whole.compute().best
    row: Any = best[(best["candidates"] == "preceding") & (best["type"] == "all")].to_dict("records")[0]
    ids = [one.id for one in docs]
    drawn = poisson_weights(ids, 30, seed=4)
    rates = []
    for weights in drawn.tolist():
        right, total = naive_coreference.counts(windows, maps, weights=dict(zip(ids, weights, strict=True)))
        rates.append(right["preceding", "all", row["direction"], row["layer"], row["head"]] / total["all"])
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx(tuple(np.quantile(rates, [0.025, 0.975])))
    first = halves(ids, SPLITS, seed=4)
    held_out = 0
    for split in first.tolist():
        for side in (True, False):
            chosen_on = {name: int(half == side) for name, half in zip(ids, split, strict=True)}
            scored_on = {name: 1 - one for name, one in chosen_on.items()}
            choose, _ = naive_coreference.counts(windows, maps, weights=chosen_on)
            score, _ = naive_coreference.counts(windows, maps, weights=scored_on)
            cells = [cell for cell in choose if cell[:2] == ("preceding", "all")]
            order = {"mention->antecedent": 0, "antecedent->mention": 1}
            pick = max(cells, key=lambda c: (choose[c], c[3], c[4], order[c[2]]))
            held_out += score[pick]
    assert row["heldout_correct"] == held_out


@pytest.mark.slow
@pytest.mark.parametrize("stride", [0, 40])
def test_counts_of_a_model_equal_the_naive_ones_however_batched(stride):
    encoder = tiny.encoder("bert")
    docs = load_documents(SAMPLE_TREEBANK, limit=3 if stride else None)
    windows = make_windows(encoder, docs, length=64, stride=stride)
    maps = [naive.word_map(encoder.model, encoder.tokenizer, w.words) for w in windows]
    whole = {each.id: each for each in docs.documents}  # the source of a window is as much of its document as it needs
    right, total = naive_coreference.counts(
        [dataclasses.replace(w, source=whole[w.source.id]) for w in windows.sentences], maps
    )
    for cells in (2000, 2**16):
        accuracy = CoreferenceAccuracy(docs, encoder.n_layers, encoder.n_heads, replicates=0)
        for batch in extract(encoder, windows, batch_cells=cells):
            accuracy.update(batch)
        tables = accuracy.compute()
        assert as_counter(tables.cells) == {cell: count for cell, count in right.items() if count}
    assert total["all"] > 5


def test_documents_of_one_family_are_drawn_and_held_out_together():
    docs, windows, maps = random_case(9, documents=12)
    pairs = [dataclasses.replace(one, family=f"f{n // 2}") for n, one in enumerate(docs)]
    windows = [window(one) for one in pairs]
    accuracy = CoreferenceAccuracy(corpus(*pairs), 2, 3, replicates=40)
    accuracy.update(batch_of(windows, maps))
    by_document = {one.id: len(naive_coreference.to_resolve(w, False)) for one, w in zip(pairs, windows, strict=True)}
    families = [one.family for one in pairs]
    totals = accuracy.bootstrap[..., -1].sum(0).tolist()
    drawn = poisson_weights(families, 40)
    expected = [
        sum(weight * by_document[one.id] for weight, one in zip(row, pairs, strict=True)) for row in drawn.tolist()
    ]
    assert totals == expected
    assert poisson_weights([one.id for one in pairs], 40).tolist() != drawn.tolist()


def test_maps_that_cannot_be_scored_are_refused():
    docs, windows, maps = random_case(0)
    accuracy = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=0)
    with pytest.raises(ValueError, match="expected maps of 2 layers × 3 heads"):
        accuracy.update(batch_of(windows, [m[:1] for m in maps]))
    sentence = docs[0].sentences[0]
    no_window = batch_of([sentence], [np.zeros((2, 3, len(sentence) + 2, len(sentence) + 2), dtype=np.float32)])
    with pytest.raises(ValueError, match="needs maps of windows"):
        accuracy.update(no_window)
    batch = batch_of(windows, maps)
    with pytest.raises(ValueError, match="word-level"):
        accuracy.update(type(batch)(**{**vars(batch), "level": "token"}))
