"""Attachment scores and the use of heads, on words that can be counted by hand and against plain loops."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.counting.resampling import poisson_weights
from attentionology.analyses.probing.contrasts import pairs
from attentionology.analyses.probing.head_weights import HeadWeights, UsedHeads, head_weights
from attentionology.analyses.probing.methods import color
from attentionology.analyses.probing.rows import Attempt, Task
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import DIRECTIONS
from attentionology.probes import AttentionProbe, register_probe, unregister_probe
from attentionology.reports.drawing import BLACK, BLUE, SKY
from tests.maps import random_corpus
from tests.probing_results import attachment

CAT = Sentence("cat", ("the", "cat", "saw", "it", "."), (2, 3, 0, 3, 3), ("det", "nsubj", "root", "obj", "punct"))
YES = Sentence("yes", ("yes", "well", ",", "!"), (0, None, 1, 1), ("root", "dep", "punct:x", "PUNCT"))
PUNCTUATION = ("punct", "punct:x", "PUNCT")
# what counts: the, cat, saw, it; yes
FIRST = (*(1, 0, 1, 1, 0), *(1, 1, 1, 0))
SECOND = (*(0, 0, 1, 0, 1), *(0, 1, 0, 1))


def attempt(
    right: Sequence[int] | np.ndarray,
    method: str = "a",
    run: int = 1,
    task: Task = "dependencies",
    decoding: str = "argmax",
):
    return Attempt(method, task, decoding, run, np.array(right, dtype=bool))


def only(table: pd.DataFrame, **values: Any) -> dict[Hashable, Any]:
    """The one row with these values."""
    for column, value in values.items():
        table = table[table[column] == value]
    assert len(table) == 1
    return table.to_dict("records")[0]


def test_relations_by_hand():
    tables = attachment([CAT, YES], [attempt(FIRST), attempt(SECOND, run=2)], replicates=0)
    found = tables.relations[["relation", "correct", "total", "uas"]].to_numpy().tolist()
    assert found == [  # frequent ones first, then by name; "dep" has no word with a head
        ["root", 3, 2, 3 / 4],
        ["PUNCT", 1, 1, 1 / 2],
        ["det", 1, 1, 1 / 2],
        ["nsubj", 0, 1, 0.0],
        ["obj", 1, 1, 1 / 2],
        ["punct", 1, 1, 1 / 2],
        ["punct:x", 1, 1, 1 / 2],
    ]


def test_length_is_the_distance_to_either_side():
    sentence = Sentence("s", ("a", "b", "c", "d"), (4, 0, 1, 2), ("x", "root", "y", "z"))
    found = attachment([sentence], [attempt([1, 0, 1, 0])], replicates=0).lengths
    assert found[["length", "correct", "total"]].to_numpy().tolist() == [[0, 0, 1], [2, 1, 2], [3, 1, 1]]


def random_attempts(seed: int) -> tuple[list[Sentence], list[Attempt]]:
    """Three methods with several runs, decodings and tasks, right at random."""
    sentences, _ = random_corpus(seed)
    rng = np.random.default_rng(seed)
    n = sum(map(len, sentences))
    keys: list[tuple[str, Task, str, int]] = [
        ("b", "dependencies", "argmax", 1), ("a", "dependencies", "argmax", 1), ("a", "dependencies", "argmax", 2),
        ("a", "dependencies", "tree", 1), ("a", "dependencies", "tree", 2), ("a", "control", "argmax", 1),
        ("a", "control", "argmax", 2), ("a", "control", "tree", 1), ("c", "dependencies", "argmax", 1),
        ("c", "dependencies", "argmax", 2), ("c", "dependencies", "argmax", 3), ("c", "control", "argmax", 1),
    ]  # fmt: skip
    return sentences, [Attempt(*key, rng.random(n) < rng.random()) for key in keys]


def plain(
    sentences: Sequence[Sentence], right: np.ndarray, *, punct: bool = False, root: bool = True
) -> tuple[int, int]:
    """Right and all words that count, one by one."""
    found = total = place = 0
    for sentence in sentences:
        for head, relation in zip(sentence.heads, sentence.relations, strict=True):
            if head is not None and (punct or relation not in PUNCTUATION) and (root or head != 0):
                found += int(right[place])
                total += 1
            place += 1
    return found, total


@pytest.mark.parametrize("seed", range(3))
def test_tables_equal_a_plain_loop_and_add_up(seed):
    sentences, attempts = random_attempts(seed)
    tables = attachment(sentences, attempts, replicates=0)
    order = [("b", "argmax"), ("a", "argmax"), ("a", "tree"), ("c", "argmax")]
    assert list(zip(tables.methods["method"], tables.methods["decoding"], strict=True)) == order
    for one, row in zip(attempts, tables.runs.to_dict("records"), strict=True):
        key = (one.method, one.task, one.decoding, one.run)
        assert (row["method"], row["task"], row["decoding"], row["run"]) == key
        assert (row["correct"], row["total"]) == plain(sentences, one.right)
        assert (row["correct_all"], row["total_all"]) == plain(sentences, one.right, punct=True)
        assert (row["correct_noroot"], row["total_noroot"]) == plain(sentences, one.right, root=False)
        assert row["uas"] == row["correct"] / row["total"]
    for method, decoding in order:
        own = [a for a in attempts if (a.method, a.decoding, a.task) == (method, decoding, "dependencies")]
        row = only(tables.methods, method=method, decoding=decoding)
        scores = [np.divide(*plain(sentences, a.right)) for a in own]
        assert row["uas"] == pytest.approx(np.mean(scores))
        assert row["uas_all"] == pytest.approx(
            np.mean([np.divide(*plain(sentences, a.right, punct=True)) for a in own])
        )
        assert row["uas_noroot"] == pytest.approx(
            np.mean([np.divide(*plain(sentences, a.right, root=False)) for a in own])
        )
        spread = [math.sqrt(sum((x - np.mean(scores)) ** 2 for x in scores) / (len(own) - 1))] if len(own) > 1 else []
        assert [row["uas_sd"]] == pytest.approx(spread) if spread else math.isnan(row["uas_sd"])
        assert row["runs"] == len(own)
        for table, with_punct in ((tables.relations, True), (tables.lengths, False)):
            part = table[(table["method"] == method) & (table["decoding"] == decoding)]
            counts = [plain(sentences, a.right, punct=with_punct) for a in own]
            assert part["correct"].sum() == sum(right for right, _ in counts)
            assert part["total"].sum() == counts[0][1]
            assert (part["runs"] == len(own)).all()
            np.testing.assert_allclose(part["uas"], part["correct"] / part["total"] / len(own))


def test_control_task_and_selectivity():
    sentences, attempts = random_attempts(4)
    tables = attachment(sentences, attempts, replicates=0)
    of_a = [np.divide(*plain(sentences, a.right)) for a in attempts if (a.method, a.task, a.decoding)
            == ("a", "control", "argmax")]  # fmt: skip
    a, c = (only(tables.methods, method=name, decoding="argmax") for name in "ac")
    assert a["control_accuracy"] == pytest.approx(np.mean(of_a))
    assert a["control_sd"] == pytest.approx(abs(of_a[0] - of_a[1]) / math.sqrt(2))
    assert a["selectivity"] == pytest.approx(a["uas"] - np.mean(of_a))
    assert c["control_accuracy"] == np.divide(*plain(sentences, attempts[-1].right))
    assert math.isnan(c["control_sd"])  # one run
    for row in (only(tables.methods, method="b"), only(tables.methods, method="a", decoding="tree")):
        assert all(math.isnan(row[name]) for name in ("control_accuracy", "control_sd", "selectivity"))
    assert set(tables.runs.loc[tables.runs["task"] == "control", "method"]) == {"a", "c"}


def replicated(sentences: Sequence[Sentence], attempts: Sequence[Attempt], replicates: int, seed: int) -> list[float]:
    """Mean score over attempts of every replicate that has a word, one sentence at a time."""
    weights = poisson_weights([s.id for s in sentences], replicates, seed)
    starts = np.cumsum([0, *map(len, sentences)])
    scores = []
    for drawn in weights:
        of_runs = []
        for one in attempts:
            right = total = 0
            for s, sentence in enumerate(sentences):
                own = plain([sentence], one.right[starts[s] : starts[s + 1]])
                right, total = right + int(drawn[s]) * own[0], total + int(drawn[s]) * own[1]
            of_runs += [right / total] if total else []
        scores += [float(np.mean(of_runs))] if of_runs else []
    return scores


def test_interval_is_that_of_sentences_drawn_anew():
    sentences, attempts = random_attempts(5)
    tables = attachment(sentences, attempts, contrasts=[("c", "a"), ("a", "b")], replicates=80, seed=3)
    own = {name: [x for x in attempts if (x.method, x.task, x.decoding) == (name, "dependencies", "argmax")]
           for name in "abc"}  # fmt: skip
    scores = {name: np.array(replicated(sentences, own[name], 80, 3)) for name in own}
    for name, values in scores.items():
        row = only(tables.methods, method=name, decoding="argmax")
        assert (row["uas_low"], row["uas_high"]) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
        assert row["uas_low"] < row["uas"] < row["uas_high"]
    for (first, second), row in zip((("c", "a"), ("a", "b")), tables.contrasts.to_dict("records"), strict=True):
        assert (row["first"], row["second"]) == (first, second)
        means = [only(tables.methods, method=name, decoding="argmax")["uas"] for name in (first, second)]
        assert row["difference"] == pytest.approx(means[0] - means[1])
        ends = np.quantile(scores[first] - scores[second], [0.025, 0.975])
        assert (row["low"], row["high"]) == pytest.approx(tuple(ends))


def test_every_probe_is_compared_with_what_is_simpler():
    class Variant(AttentionProbe):
        name = "variant"

    methods = ["best offset", "best single head", "attention", "attention, random weights", "attention+words"]
    of_toolkit = [("attention", name) for name in ("best offset", "best single head", "attention, random weights")]
    of_toolkit.append(("attention+words", "attention"))
    register_probe(Variant)
    try:
        assert pairs(methods) == of_toolkit
        assert pairs([*methods, "variant"]) == [*of_toolkit, ("variant", "attention")]
        assert (color("attention"), color("variant")) == (BLUE, BLACK)
        assert color("variant, random weights") == color("attention, random weights") == SKY
    finally:
        unregister_probe("variant")


def test_replicates_without_a_word_are_left_out():
    """Of two sentences every seventh replicate draws none; the others still make an interval."""
    attempts = [attempt(FIRST), attempt(SECOND, run=2), attempt(SECOND, "b")]
    tables = attachment([CAT, YES], attempts, contrasts=[("a", "b")], replicates=200)
    scores = {name: replicated([CAT, YES], [a for a in attempts if a.method == name], 200, 0) for name in "ab"}
    assert 100 < len(scores["a"]) == len(scores["b"]) < 200
    row = only(tables.methods, method="a")
    assert (row["uas_low"], row["uas_high"]) == pytest.approx(tuple(np.quantile(scores["a"], [0.025, 0.975])))
    contrast = only(tables.contrasts)
    ends = np.quantile(np.subtract(scores["a"], scores["b"]), [0.025, 0.975])
    assert (contrast["low"], contrast["high"]) == pytest.approx(tuple(ends))


def test_nothing_that_counts():
    silent = Sentence("s", ("a", "."), (None, 0), ("x", "punct"))
    tables = attachment([silent], [attempt([1, 1])], contrasts=[("a", "a")], replicates=20)
    row = only(tables.methods)
    assert (row["correct"], row["total"], row["uas_all"]) == (0, 0, 1.0)
    assert all(math.isnan(row[name]) for name in ("uas", "uas_low", "uas_high", "uas_noroot"))
    assert tables.relations[["relation", "correct", "total"]].to_numpy().tolist() == [["punct", 1, 1]]
    assert math.isnan(only(tables.contrasts)["low"])
    assert only(attachment([], [attempt([])]).methods)["total"] == 0


# Which heads a probe uses: two directions, one layer, two heads, unless said otherwise.

Arcs = dict[str, tuple[int, np.ndarray, np.ndarray]]


def sums(arcs: int, weight: list[float], contribution: list[float]) -> tuple[int, np.ndarray, np.ndarray]:
    return arcs, np.array(weight).reshape(2, 1, -1), np.array(contribution).reshape(2, 1, -1)


RUNS: list[Arcs] = [
    {"aux": sums(1, [0, 5, 1, 1], [1, 0, 0, 0]), "nsubj": sums(3, [4, -1, 3, 3], [0, 0, 1, 2])},
    {"aux": sums(1, [0, 1, 9, 1], [1, 0, 0, 0]), "nsubj": sums(3, [8, -5, 3, 3], [0, 0, 9, 2])},
]
CORRECT = np.array([40, 10, 30, 20]).reshape(2, 1, 2)


@pytest.fixture
def used() -> HeadWeights:
    return head_weights(RUNS, CORRECT, 80)


def test_weights_are_means_over_arcs_and_runs(used):
    heads = used.heads
    assert list(zip(heads["direction"], heads["layer"], heads["head"], strict=True)) == [
        (DIRECTIONS[0], 1, 1), (DIRECTIONS[0], 1, 2), (DIRECTIONS[1], 1, 1), (DIRECTIONS[1], 1, 2),
    ]  # fmt: skip
    # (0 + 4) / 4 and (0 + 8) / 4, and so on
    assert heads["weight"].tolist() == [1.5, 0.0, 2.0, 1.0]
    assert heads["weight_sd"].tolist() == pytest.approx([1 / math.sqrt(2), 2 / math.sqrt(2), 2 / math.sqrt(2), 0.0])
    assert heads["contribution"].tolist() == [0.25, 0.0, 1.25, 0.5]
    assert heads["correct"].tolist() == [40, 10, 30, 20]
    assert set(heads["total"]) == {80}
    assert heads["accuracy"].tolist() == [0.5, 0.125, 0.375, 0.25]


def test_most_important_head_of_every_relation(used):
    # nsubj: weights (4 + 8, −1 − 5, 3 + 3, 3 + 3) / 6, contributions (0, 0, 10, 4) / 6
    # aux: weights (0, 6, 10, 2) / 2, contributions (2, 0, 0, 0) / 2
    assert used.relations.to_dict("records") == [
        {"relation": "nsubj", "arcs": 3,
         "weight_direction": "dep->head", "weight_layer": 1, "weight_head": 1, "weight": 2.0,
         "contribution_direction": "head->dep", "contribution_layer": 1, "contribution_head": 1,
         "contribution": pytest.approx(10 / 6)},
        {"relation": "aux", "arcs": 1,
         "weight_direction": "head->dep", "weight_layer": 1, "weight_head": 1, "weight": 5.0,
         "contribution_direction": "dep->head", "contribution_layer": 1, "contribution_head": 1, "contribution": 1.0},
    ]  # fmt: skip


def test_layers_and_heads_are_told_apart():
    weight = np.zeros((2, 3, 4))
    weight[1, 2, 0], weight[0, 0, 3] = 5, 4
    found = head_weights([{"x": (2, weight, -weight)}], np.zeros((2, 3, 4), dtype=np.int64), 10)
    assert only(found.heads, direction="head->dep", layer=3, head=1)["weight"] == 2.5
    assert only(found.heads, direction="dep->head", layer=1, head=4)["contribution"] == -2.0
    row = only(found.relations)
    assert (row["weight_direction"], row["weight_layer"], row["weight_head"]) == ("head->dep", 3, 1)
    assert found.heads["weight_sd"].isna().all()  # one run


def test_correlations_by_hand():
    accuracy = np.array([1, 2, 3, 4, 5, 6]).reshape(2, 1, 3)
    run = {"x": sums(1, [1, 4, 9, 16, 25, 35], [6, 5, 4, 3, 2, 1])}
    found = head_weights([run], accuracy, 6).correlations.set_index("of")
    assert found["heads"].tolist() == [6, 6]
    assert found["spearman"].tolist() == pytest.approx([1.0, -1.0])
    # x − 3.5 = (−2.5 … 2.5), Σ = 17.5; y − 15 = (−14, −11, −6, 1, 10, 20), Σ = 854;
    # Σ xy = 35 + 16.5 + 3 + 0.5 + 15 + 50
    assert found["pearson"].tolist() == pytest.approx([120 / math.sqrt(17.5 * 854), -1.0])


@pytest.mark.parametrize(
    ("weight", "correct", "total"),
    [
        ([1] * 6, [1, 2, 3, 4, 5, 6], 6),
        ([1, 2, 3, 4, 5, 6], [2] * 6, 6),
        ([1, 2, 3, 4], [1, 2, 4, 3], 4),
        ([1, 2, 3, 4, 5, 6], [0] * 6, 0),
    ],
)
def test_no_correlation_of_what_is_all_the_same_or_too_few(weight, correct, total):
    found = head_weights([{"x": sums(1, weight, weight)}], np.array(correct).reshape(2, 1, -1), total).correlations
    assert found[["spearman", "pearson"]].isna().all(axis=None)


def test_arcs_of_merged_runs_are_added_up():
    """Half of the arcs in each of two runs give what all of them give in one."""
    whole = [("attention", run, name, 2 * arcs, (2 * weight).tolist(), (2 * contribution).tolist())
             for run, of_run in enumerate(RUNS) for name, (arcs, weight, contribution) in of_run.items()]  # fmt: skip
    half = [("attention", run, name, arcs, weight.tolist(), contribution.tolist())
            for run, of_run in enumerate(RUNS) for name, (arcs, weight, contribution) in of_run.items()]  # fmt: skip
    names = ("probe", "run", "relation", "arcs", "weight", "contribution")
    counts: Any = SimpleNamespace(facts=SimpleNamespace(alone=CORRECT, alone_of=80))
    found = []
    for rows in ({"all": whole}, {"first": half, "second": half}):
        texts = {key: dict(zip(names, map(list, zip(*of_text, strict=True)), strict=True))
                 for key, of_text in rows.items()}  # fmt: skip
        answer = UsedHeads().find(counts, UsedHeads().join([*texts.values()]), {})
        assert answer is not None
        found.append(answer["attention"])
    for one, other in zip(*found, strict=True):
        pd.testing.assert_frame_equal(one, other)
    assert found[0].relations["arcs"].tolist() == [6, 2]
    assert UsedHeads().find(counts, UsedHeads().join([]), {}) is None


def test_no_arcs():
    found = head_weights([{}, {}], CORRECT, 80)
    assert found.heads[["weight", "contribution"]].isna().all(axis=None)
    assert found.heads["accuracy"].tolist() == [0.5, 0.125, 0.375, 0.25]
    assert list(found.relations) == list(head_weights(RUNS, CORRECT, 80).relations)
    assert len(found.relations) == 0
    assert found.correlations["spearman"].isna().all()
