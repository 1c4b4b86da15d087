"""Ensembles of heads that find antecedents, against a naive greedy search, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import attentionology
from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.coreference.ensembles import ENSEMBLES, ensemble_rows
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.analyses.shared.ensembles import ensemble_table
from attentionology.analyses.shared.options import CountOptions, EnsembleOptions
from attentionology.reports.format import rows_of
from tests import tiny
from tests.coreference import explored_coreference, made_results, shown_tables, with_changes
from tests.documents import corpus, random_document, window
from tests.maps import batch_of
from tests.reference.naive import around_choices
from tests.reference.naive_coreference import to_resolve
from tests.shown_tables import as_shown, distinct_table, in_latex, on_page, percent

N_HEADS = 12
"""Two layers, three heads, two directions."""


@pytest.fixture(scope="module")
def case():
    """Documents in one or two windows, whose maps have many equal values."""
    rng = np.random.default_rng(1)
    windows = []
    for n in range(60):
        one = random_document(rng, f"d{n}")
        half = len(one.words) // 2
        two = n % 3 == 0 and half > 1
        windows += [window(one, 0, half + 1), window(one, half // 2, None, half + 1)] if two else [window(one)]
    return windows, [rng.integers(0, 9, size=(2, 3, len(w) + 2, len(w) + 2)).astype(np.float32) for w in windows]


def table_of(case, policy="preceding", most=3, singletons=False, method="published"):
    windows, maps = case
    parts = ([batch_of(windows[rows], maps[rows])] for rows in (slice(5), slice(5, None)))
    rows = ensemble_rows(
        parts, policy, singletons=singletons, most=most, method=method, min_count=4, replicates=100, seed=0
    )
    return ensemble_table(rows, ENSEMBLES)


def mentions_of(case, policy, singletons, divided=False):
    """Document, type, values by head of each candidate, and which candidates are right."""
    found = []
    for view, word_maps in zip(*case, strict=True):
        for mention, candidates, right in to_resolve(view, singletons):
            here, values = mention.head - view.start, []
            for layer in range(2):
                for head in range(3):
                    inner = word_maps[layer, head, 1:-1, 1:-1].astype(np.float64)
                    if divided:
                        inner = np.float32(inner / np.maximum(inner.sum(1, keepdims=True), 1))
                    values.append([inner[here, word - view.start] for word in candidates[policy]])
                    values.append([inner[word - view.start, here] for word in candidates[policy]])
            found.append((view.source.id, mention.type, values, [word in right for word in candidates[policy]]))
    return found


def is_right(mention, heads):
    """Whether the candidate with the largest sum, the first of equals, is an antecedent."""
    *_, values, right = mention
    sums = [sum(float(values[head][c]) for head in heads) for c in range(len(right))]
    return right[sums.index(max(sums))]


def greedy(mentions, most):
    """Add the head with which most are right, the last of equals, while that is more than before."""
    heads: list[int] = []
    best = -1
    while len(heads) < most:
        counts = {h: sum(is_right(m, [*heads, h]) for m in mentions) for h in range(N_HEADS) if h not in heads}
        top = max(counts.values())
        if top <= best:
            break
        best = top
        heads.append(max(h for h, count in counts.items() if count == top))
    return heads


@pytest.mark.parametrize(("policy", "singletons"), [("preceding", False), ("words", False), ("mentions", True)])
def test_ensembles_are_those_of_a_naive_greedy_search(case, policy, singletons):
    every = mentions_of(case, policy, singletons)
    table = table_of(case, policy, singletons=singletons, method="raw").set_index("type")
    assert set(table["candidates"]) == {policy}
    counts = {kind: sum(kind in ("all", m[1]) for m in every) for kind in ("all", "pronoun", "proper", "nominal")}
    assert list(table.index) == [kind for kind, n in counts.items() if n >= 4]
    assert len(table) > 2
    ids = list(dict.fromkeys(m[0] for m in every))
    first = dict(zip(ids, halves(ids, 10, 0).T, strict=True))
    n_with = n_without = 0
    for kind, row in table.iterrows():
        mentions = [m for m in every if kind in ("all", m[1])]
        whole = greedy(mentions, 3)
        assert row["heads"] == " + ".join(f"{h // 6 + 1}-{h // 2 % 3 + 1}{'←' if h % 2 else ''}" for h in whole)
        assert (row["total"], row["correct"]) == (len(mentions), sum(is_right(m, whole) for m in mentions))
        gains, words = dict.fromkeys(ids, 0), dict.fromkeys(ids, 0)
        together = alone = 0
        shares = []
        gains_of_choices, gains_of_splits = [], []
        for split in range(10):
            of_split = []
            before = together - alone
            for half in (True, False):
                choosing = [m for m in mentions if first[m[0]][split] == half]
                heads = greedy(choosing, 3)
                if choosing:
                    found_more = sum(int(is_right(m, heads)) - int(is_right(m, heads[:1])) for m in mentions)
                    gains_of_choices.append(found_more / len(mentions))
                for m in mentions:
                    if first[m[0]][split] != half and choosing:
                        right, single = is_right(m, heads), is_right(m, heads[:1])
                        together, alone = together + right, alone + single
                        gains[m[0]] += int(right) - int(single)
                        words[m[0]] += 1
                        of_split.append(right)
            shares.append(np.mean(of_split))
            gains_of_splits.append((together - alone - before) / len(of_split))
        scored = sum(words.values())
        assert (row["heldout_correct"], row["single_correct"], row["heldout_total"]) == (together, alone, scored)
        assert (row["heldout_min"], row["heldout_max"]) == pytest.approx((min(shares), max(shares)))
        draws = poisson_weights(ids, 100, 0).astype(float)
        drawn_gains, drawn_words = draws @ list(gains.values()), draws @ list(words.values())
        drawn = (drawn_gains / np.maximum(drawn_words, 1))[drawn_words > 0]
        sizes = np.bincount([ids.index(m[0]) for m in mentions])
        if sizes.sum() ** 2 < 20 * (sizes**2).sum():  # fewer than twenty documents of equal size would do
            assert np.isnan([row["gain_low"], row["gain_high"]]).all()
            n_without += 1
            continue
        n_with += 1
        ends = around_choices((together - alone) / scored, drawn.tolist(), gains_of_choices, gains_of_splits)
        assert (row["gain_low"], row["gain_high"]) == pytest.approx(ends)
    assert n_with
    assert n_without or policy != "preceding"


def test_published_ensembles_average_divided_rows(case):
    """All heads are tried in the order of their own counts; the head of the comparison is the best of raw maps."""
    raw, divided = (mentions_of(case, "preceding", False, divided=each) for each in (False, True))
    count = {h: sum(is_right(m, [h]) for m in divided) for h in range(N_HEADS)}
    heads: list[int] = []
    best = -1
    for head in sorted(range(N_HEADS), key=lambda h: (count[h], h), reverse=True):
        tried = [[*heads[:i], head, *heads[i + 1 :]] for i in range(3)] if len(heads) == 3 else [[*heads, head]]
        for each in tried:
            if (right := sum(is_right(m, each) for m in divided)) > best:
                heads, best = each, right
    row = table_of(case).set_index("type").loc["all"]
    assert row["heads"] == " + ".join(f"{h // 6 + 1}-{h // 2 % 3 + 1}{'←' if h % 2 else ''}" for h in heads)
    assert row["correct"] == best
    assert row["single_correct"] == table_of(case, method="raw").set_index("type").loc["all", "single_correct"]
    assert sum(is_right(m, heads) for m in raw) != best


@pytest.mark.slow
def test_a_run_keeps_its_ensembles_and_a_merged_one_has_none(tmp_path):
    rng = np.random.default_rng(2)
    folders = [tmp_path / "a", tmp_path / "b"]
    for start, folder in zip((0, 12), folders, strict=True):
        documents = corpus(*(random_document(rng, f"d{start + n}") for n in range(12)))
        options = [CountOptions(replicates=20, min_count=5), EnsembleOptions(2)]
        run = attentionology.analyze(tiny.encoder(), documents, analyses="coreference", options=options, out=folder)
        results = run.parts[0].results
        frequent = results.tables.best.query("candidates == 'preceding' and total >= 5").set_index("type")
        table = results.ensembles.set_index("type")
        assert list(table.index) == list(frequent.index)
        assert list(table["total"]) == list(frequent["total"])
        assert list(table["single_correct"]) == list(frequent["heldout_correct"])
        stored = attentionology.load_run(folder).parts[0].results.ensembles
        pd.testing.assert_frame_equal(stored, results.ensembles)
    merged = attentionology.merge_runs(folders, tmp_path / "merged")
    assert "ensembles" not in merged.parts[0].results.answers


@pytest.fixture(scope="module")
def made(case):
    windows, maps = case
    metric = CoreferenceAccuracy(corpus(*{w.source.id: w.source for w in windows}.values()), 2, 3, replicates=20)
    metric.update(batch_of(windows, maps))
    table = table_of(case)
    return metric, made_results(metric.compute(), ensembles=table, min_count=4)


def test_one_head_is_the_best_head(case, made):
    best = made[1].tables.best.query("candidates == 'preceding'").set_index("type")
    for kind, row in table_of(case, most=1, method="raw").set_index("type").iterrows():
        way = "←" if best.loc[kind, "direction"] == "antecedent->mention" else ""
        assert row["heads"] == f"{best.loc[kind, 'layer']}-{best.loc[kind, 'head']}{way}"
        assert row["heldout_correct"] == row["single_correct"] == best.loc[kind, "heldout_correct"]


def test_the_table_says_what_the_csv_file_says(made):
    results = with_changes(made[1], ensembles=distinct_table(made[1].ensembles))
    shown = shown_tables(results)["coreference_ensembles"]
    expected = [
        {
            "type": row["type"],
            "n": str(row["total"]),
            "heads": row["heads"],
            "ensemble %": as_shown(row, "accuracy"),
            "ensemble, held-out %": as_shown(row, "heldout_accuracy heldout_min heldout_max"),
            "one head, held-out %": as_shown(row, "single_accuracy"),
            "held-out gain": as_shown(row, "gain gain_low gain_high", "+"),
        }
        for row in rows_of(results.ensembles)
    ]
    assert on_page(shown) == in_latex(shown) == expected


def test_the_finding_says_more_only_with_the_whole_interval(made):
    metric, results = made
    values = {"gain": 0.1, "gain_low": 0.0, "gain_high": 0.2, "heldout_accuracy": 0.5, "single_accuracy": 0.4}
    table = results.ensembles.assign(**values)

    def text_of(table):
        findings = explored_coreference(with_changes(results, ensembles=table), metric, "weight").findings
        [text] = [finding.text for finding in findings if "averaged maps" in finding.text]
        return text

    assert text_of(table).startswith(f"0 of {len(table)} rows of the table of ensembles (")
    table.loc[table["type"] == "all", "gain_low"] = 0.01
    n = table.set_index("type").loc["all", "total"]
    assert text_of(table).startswith(f"1 of {len(table)} rows of the table of ensembles (")
    rules = percent(
        results.tables.best.query("candidates == 'preceding' and type == 'all'")["rule_based_accuracy"].item()
    )
    assert f"(50.0 % of {n}, one head 40.0 %, the rules {rules} %; +10.0 points [1.0, 20.0])" in text_of(table)
