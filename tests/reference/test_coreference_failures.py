"""Where heads fail to find antecedents, and what they pick instead, against naive loops over mentions."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.decisions import BASELINES
from attentionology.analyses.coreference.failures import CLUSTERS, CoreferenceFailures, failure_tables
from attentionology.analyses.coreference.picks import PICKS
from attentionology.analyses.counting.resampling import sentence_keys
from attentionology.analyses.shared.failures import cluster_interval
from tests.documents import corpus, document, random_document, window
from tests.maps import batch_of
from tests.reference.naive_coreference import to_resolve

POLICIES = ("preceding", "mentions", "words")
DIRECTIONS = ("mention->antecedent", "antecedent->mention")
NUMBERS = {"NN": "singular", "NNP": "singular", "NNS": "plural"}
OF_PRONOUNS = {
    "she": ("singular", "feminine"),
    "he": ("singular", "masculine"),
    "it": ("singular", "neuter"),
    "they": ("plural", "unknown"),
}
WORDS, TAGS = ("Ann", "she", "he", "dog", "dogs", "it", "they", "of"), ("NN", "NNP", "NNS", "PRP", "IN")


def agreement(doc, m):
    """Number and gender of a mention of a random document: those of pronouns by form, of others by tag."""
    word, tag = doc.words[m.head], [tag for s in doc.sentences for tag in s.xpos][m.head]
    if m.type == "pronoun":
        return OF_PRONOUNS.get(word, ("unknown", "unknown"))
    return NUMBERS.get(tag, "unknown"), "unknown"


def agrees(doc, one, other):
    """Whether no known value differs; the pronouns of random documents are third person, as all others."""
    pairs = zip(agreement(doc, one), agreement(doc, other), strict=True)
    return all("unknown" in pair or pair[0] == pair[1] for pair in pairs)


def in_order(doc, view, m, singletons):
    """The candidates before a mention, the nearest first."""
    chains = Counter(c.entity for c in doc.mentions)
    inside = [c for c in doc.mentions if c.head is not None and c.start >= view.start and c.stop <= view.stop]
    before = [c for c in inside if doc.mentions.index(c) < doc.mentions.index(m) and c.head != m.head]
    return [c for c in reversed(before) if singletons or chains[c.entity] > 1]


def kind_of(view, m, gold, word, values, singletons):
    """Name what is picked for a mention, written from the definition; values are those of all words of the window."""
    doc = view.source
    if word is None:
        return "none"
    if word in gold:
        return "antecedent"
    if values is not None and not any(values[w - view.start] for w in gold):
        return "out of reach"
    inside = [c for c in doc.mentions if c.head is not None and c.start >= view.start and c.stop <= view.stop]
    here = [c for c in inside if c.head == word]
    if any(c.entity == m.entity for c in here):
        return "same entity"
    before = in_order(doc, view, m, singletons)
    if any(word in c.words for c in before if c.entity == m.entity):
        return "inside an antecedent"
    if word in m.words:
        return "inside the mention"
    if not here:
        return "other word"
    if doc.words[word].lower() == doc.words[m.head].lower():
        return "same head word"
    if before[0].head == word:
        return "nearest mention"
    return "agreeing mention" if any(agrees(doc, c, m) for c in here) else "other mention"


def between(value, bins):
    """The bin of a distance, written by hand."""
    for low, high in bins:
        if low <= value <= high:
            return str(low) if low == high else f"{low}–{high}"
    return f"{bins[-1][1] + 1}+"


def classes_of(view, m, gold, singletons):
    doc = view.source
    nearest = min(gold, key=lambda w: abs(w - m.head))
    sentence = [n for n, s in enumerate(doc.sentences) for _ in s.words]
    before = in_order(doc, view, m, singletons)
    place = [c.head in gold for c in before].index(True) + 1
    number, gender = agreement(doc, m)
    return {
        "mentions": "all",
        "distance in sentences": between(abs(sentence[m.head] - sentence[nearest]), [(0, 0), (1, 1), (2, 2)]),
        "distance in words": between(abs(m.head - nearest), [(1, 5), (6, 10), (11, 20), (21, 50)]),
        "distance in mentions": between(place, [(1, 1), (2, 2), (3, 3), (4, 5), (6, 10)]),
        "type": m.type,
        "type of the antecedent": next(c.type for c in before if c.entity == m.entity),
        "gender": gender,
        "number": number,
    }


def naive(windows, maps, kind, direction, layer, head, policy, singletons):
    """For each document: the right and all mentions of each class, and what is picked."""
    found: dict[str, tuple[Counter[Any], Counter[Any], Counter[str]]] = {}
    for view, word_maps in zip(windows, maps, strict=True):
        right, total, picked = found.setdefault(view.source.id, (Counter(), Counter(), Counter()))
        inner = word_maps[layer - 1, head - 1, 1:-1, 1:-1]
        inner = inner if direction == DIRECTIONS[0] else inner.T
        for m, by_policy, gold in to_resolve(view, singletons):
            if kind not in ("all", m.type):
                continue
            values = inner[m.head - view.start]
            word = max(by_policy[policy], key=lambda w: (values[w - view.start], -w))
            picked[kind_of(view, m, gold, word, values, singletons)] += 1
            for item in classes_of(view, m, gold, singletons).items():
                total[item] += 1
                right[item] += word in gold
    return found


def added(found):
    """The counts of all documents together."""
    sums: tuple[Counter[Any], Counter[Any], Counter[str]] = Counter(), Counter(), Counter()
    for counts in found.values():
        for together, count in zip(sums, counts, strict=True):
            together.update(count)
    return sums


def counted(windows, maps, sizes=(), policy="preceding", singletons=False):
    metric = CoreferenceFailures(2, 3, candidates=policy, singletons=singletons)
    accuracy = CoreferenceAccuracy(corpus(*{w.source.id: w.source for w in windows}.values()), 2, 3,
                                   singletons=singletons, replicates=0)  # fmt: skip
    cuts = [0, *np.cumsum(sizes).tolist(), len(windows)]
    for start, stop in itertools.pairwise(cuts):
        batch = batch_of(windows[start:stop], maps[start:stop])
        metric.update(batch)
        accuracy.update(batch)
    tables = accuracy.compute()
    best, cells = (table[table["candidates"] == policy] for table in (tables.best, tables.cells))
    return metric, best, cells, tables


@pytest.fixture(scope="module")
def case():
    """Documents in one or two windows, some of whose maps show nothing of the words after a word."""
    rng = np.random.default_rng(0)
    windows = []
    for n in range(40):
        one = random_document(rng, f"d{n}", WORDS, TAGS)
        half = len(one.words) // 2
        two = n % 3 == 0 and half > 1
        windows += [window(one, 0, half + 1), window(one, half // 2, None, half + 1)] if two else [window(one)]
    maps = [rng.integers(0, 5, size=(2, 3, len(w) + 2, len(w) + 2)).astype(np.float32) for w in windows]
    for m in maps[::4]:
        m *= np.tril(np.ones(m.shape[-2:], dtype=np.float32))
    return windows, maps


@pytest.mark.parametrize(("policy", "singletons"), [("preceding", False), ("mentions", True), ("words", False)])
def test_failures_and_picks_are_those_of_a_loop(case, policy, singletons):
    windows, maps = case
    metric, best, cells, _ = counted(windows, maps, sizes=(3, 9), policy=policy, singletons=singletons)
    failures, picked = failure_tables(metric, best, cells, ["best", "1-1", "2-3"])
    kinds = set()
    heads = failures.groupby(["type", "layer", "head", "direction"])
    assert len(heads) > 7
    for (kind, layer, head, way), rows in heads:
        found = naive(windows, maps, kind, way, layer, head, policy, singletons)
        right, total, picks = added(found)
        mine = {(row["by"], row["class"]): (row["correct"], row["total"]) for row in rows.to_dict("records")}
        # All mentions of a type are of this type.
        assert mine == {item: (right[item], n) for item, n in total.items() if kind == "all" or item[0] != "type"}
        same = picked.query("type == @kind and layer == @layer and head == @head and direction == @way")
        assert {row["picked"]: row["count"] for row in same.to_dict("records") if row["count"]} == dict(picks)
        assert same["count"].sum() == same["total"].iloc[0] == sum(picks.values())
        (cell,) = cells.query("type == @kind and layer == @layer and head == @head and direction == @way")["correct"]
        assert picks["antecedent"] == cell
        kinds |= set(picks)
    possible = set(PICKS) - {"none"} - (set() if policy == "words" else {"other word"})
    assert kinds == possible - ({"same entity"} if policy == "preceding" else set())


def test_baselines_are_those_of_a_loop_and_of_the_table(case):
    metric, best, cells, tables = counted(*case)
    failures, picked = failure_tables(metric, best, cells, ["best"])
    picks: dict[str, Counter[str]] = {"nearest": Counter(), "head_match": Counter()}
    for view in case[0]:
        for m, _, gold in to_resolve(view, singletons=False):
            before = in_order(view.source, view, m, False)
            same = [c for c in before if view.source.words[c.head].lower() == view.source.words[m.head].lower()]
            for name, found in (("nearest", before), ("head_match", same)):
                word = found[0].head if found else None
                picks[name][kind_of(view, m, gold, word, None, False)] += 1
    rows = picked[picked["type"] == "all"].to_dict("records")
    for name, counts in picks.items():
        assert {row["picked"]: row[f"{name}_count"] for row in rows if row[f"{name}_count"]} == dict(counts)
    assert picks["head_match"]["none"] > 0
    whole = failures[failures["by"] == "mentions"].set_index("type")
    found = tables.baselines.set_index(["baseline", "type"])["correct"]
    for kind in whole.index:
        for baseline in BASELINES[:3]:
            assert whole.loc[kind, f"{baseline.replace(' ', '_').replace('-', '_')}_correct"] == found[baseline, kind]
    near = failures[(failures["by"] == "distance in mentions") & (failures["class"] == "1")]
    assert (near["nearest_accuracy"] == 1).all()


def test_distances_are_those_of_the_table_of_distances(case):
    metric, best, cells, tables = counted(*case)
    failures, _ = failure_tables(metric, best, cells, ["best"])
    keys = ["type", "unit", "distance", "layer", "head", "direction"]
    by_distance = tables.distances[tables.distances["candidates"] == "preceding"].set_index(keys)
    compared = 0
    for row in failures.to_dict("records"):
        unit = row["by"].removeprefix("distance in ")
        if unit in ("sentences", "words"):
            key = tuple({**row, "unit": unit, "distance": row["class"]}[name] for name in keys)
            assert by_distance.loc[key, ["correct", "total"]].tolist() == [row["correct"], row["total"]]
            compared += 1
    assert compared > 20


def test_intervals_are_those_of_groups_of_whole_documents(case):
    windows, maps = case
    metric, best, cells, _ = counted(windows, maps, sizes=[1] * (len(windows) - 1))  # windows of a document apart
    failures, picked = failure_tables(metric, best, cells, ["best"])
    group = {w.source.id: int(sentence_keys([w.source.id])[0]) % CLUSTERS for w in windows}
    assert len(set(group.values())) < len(group)  # some documents share a group
    for kind, rows in failures.groupby("type"):
        row = rows.iloc[0]
        found = naive(windows, maps, kind, row["direction"], row["layer"], row["head"], "preceding", False)
        for item in (("mentions", "all"), ("distance in words", "1–5")):
            sums = np.zeros((CLUSTERS, 2), dtype=int)
            for name, (right, total, _) in found.items():
                sums[group[name]] += right[item], total[item]
            x, n = sums.T
            low, high = cluster_interval(x.sum(), (x**2).sum(), (x * n).sum(), n.sum(), (n**2).sum())
            (mine,) = rows[(rows["by"] == item[0]) & (rows["class"] == item[1])].to_dict("records")
            assert (mine["accuracy_low"], mine["accuracy_high"]) == pytest.approx((low, high), nan_ok=True)
    whole = failures[(failures["type"] == "all") & (failures["by"] == "mentions")].iloc[0]
    of_right = picked[(picked["type"] == "all") & (picked["picked"] == "antecedent")].iloc[0]
    assert whole["accuracy_low"] == of_right["share_low"] < whole["accuracy"] < of_right["share_high"]


def test_documents_of_a_family_are_in_one_group(case):
    windows, maps = case
    docs = {w.source.id: replace(w.source, family="f") for w in windows}
    metric, *_ = counted([replace(w, source=docs[w.source.id]) for w in windows], maps)
    assert (metric.right[0, 0, :, -1] > 0).sum() == 1


def test_parts_add_up_to_the_same_states(case):
    windows, maps = case
    whole, *_ = counted(windows, maps)
    parts = [counted(windows[at], maps[at], sizes=(2,))[0] for at in (slice(0, 11), slice(11, None))]
    parts[1].merge_state(parts[0])
    for name, state in whole.metric_state.items():
        assert torch.equal(parts[1].metric_state[name], state), name
    other = CoreferenceFailures(2, 3, candidates="words")
    other.load_state_dict(whole.metric_state)
    with pytest.raises(ValueError, match="cannot be added up"):
        other.compute()


@pytest.mark.parametrize("scale", [1e-6, 1, 1e6])
def test_close_races_between_wrong_words_are_decided_in_float64(case, scale):
    windows, _ = case
    rng = np.random.default_rng(1)
    exact = [scale * (0.5 + 1e-9 * rng.random((2, 3, len(w) + 2, len(w) + 2))) for w in windows]
    rounded: Any = batch_of(windows, [m.astype(np.float32) for m in exact])
    batch = replace(rounded, recompute=lambda indices, _: [torch.from_numpy(exact[i]) for i in indices])
    metric = CoreferenceFailures(2, 3, candidates="words")
    metric.update(batch)
    _, _, picks = added(naive(windows, exact, "all", DIRECTIONS[1], 2, 1, "words", False))
    mine = dict(zip(PICKS, metric.picked[:, 0, :, 9].sum(1).tolist(), strict=True))  # direction 1, layer 2, head 1
    assert {name: count for name, count in mine.items() if count} == dict(picks)


def test_a_story_counted_by_hand():
    """She attends to the boys, them to She, and the second boys to the boy.

    The boys are the nearest mention to *She*. To *them*, *She* is the nearest one. To *the boys*, *boy* has another
    form, and does not agree in number.
    """
    story = document(
        "story",
        ["Mrs. Lee met the boys .", "She greeted them .", "The boy left .", "The boys left ."],
        [(0, 2, "lee"), (3, 5, "boys"), (6, 7, "lee"), (8, 9, "boys"), (10, 12, "boy"), (14, 16, "boys"),
         (14, 15, "boy")],
        xpos=["NNP NNP VBD DT NNS .", "PRP VBD PRP .", "DT NN VBD .", "DT NNS VBD ."],
    )  # fmt: skip
    maps = np.zeros((1, 1, 20, 20), dtype=np.float32)
    for mention, words in {6: (4, 1), 8: (6, 4), 15: (11, 4)}.items():
        for rank, word in enumerate(words):
            maps[0, 0, 1 + mention, 1 + word] = 2 - rank
    metric = CoreferenceFailures(1, 1)
    metric.update(batch_of([window(story)], [maps]))
    mine = dict(zip(PICKS, metric.picked[:, 0, :, 0].sum(1).tolist(), strict=True))
    assert {name: count for name, count in mine.items() if count} == {
        "nearest mention": 2, "other mention": 1, "out of reach": 1,
    }  # fmt: skip
    assert metric.right[0, 0, :, -1].sum() == 4


def test_candidates_must_be_known():
    with pytest.raises(ValueError, match="candidates must be one of preceding, mentions, words, not 'all'"):
        CoreferenceFailures(1, 1, candidates="all")
