"""What merged runs have looked up in different documents is added up, put side by side or left out."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import attentionology
from attentionology.analyses.coreference.analysis import Coreference
from attentionology.analyses.coreference.best_heads import BestHeads
from attentionology.analyses.coreference.ensembles import Ensembles
from attentionology.analyses.coreference.examples import EXAMPLES, Examples
from attentionology.analyses.shared.merged_facts import merge_facts
from attentionology.analyses.shared.options import CountOptions, EnsembleOptions
from tests import tiny
from tests.documents import corpus, random_document

OLDER = Path(__file__).parents[2] / "older" / "0.3.0" / "coreference" / "states" / "run.json"


def test_merged_runs_add_up_which_mentions_were_scored(tmp_path):
    rng = np.random.default_rng(2)
    folders, accounts = [tmp_path / "a", tmp_path / "b"], []
    for folder in folders:  # whose documents have the same ids
        documents = corpus(*(random_document(rng, f"d{number}") for number in range(6)))
        options = [CountOptions(replicates=0, min_count=5), EnsembleOptions(1)]
        run = attentionology.analyze(tiny.encoder(), documents, analyses="coreference", options=options, out=folder)
        accounts.append(run.coreference.account)
        assert "ensembles" in run.coreference.answers
    merged = attentionology.merge_runs(folders, tmp_path / "merged").coreference
    total = {name: accounts[0][name] + accounts[1][name] for name in accounts[0]}
    assert 0 < accounts[0]["scored"] < total["scored"]
    assert merged.account == merged.scored == total
    assert "ensembles" not in merged.answers
    assert attentionology.load_run(tmp_path / "merged").coreference.account == total


def test_runs_of_0_3_are_merged_like_those_of_today():
    """Each has a name of its own for its texts, and a run that was merged before has the ensembles of several."""
    (stored,) = json.loads(OLDER.read_text(encoding="utf-8"))["analyses"]
    other = {**stored["looked"], "account": {**stored["looked"]["account"], "scored": 5}, "ensembles": [[], []]}
    one, two = (Coreference().read_older(stored["facts"], lookups)[1] for lookups in (stored["looked"], other))
    together = merge_facts(one, two)
    accounts = list(together["best_heads"].values())
    assert [account["scored"] for account in accounts] == [6, 5]
    added = BestHeads().join(accounts)
    assert added is not None
    assert added["scored"] == 11
    assert added["anaphors"] == 12
    assert len(together["examples"]) == 2
    assert len(two["ensembles"]) == 2
    assert Ensembles().join(list(two["ensembles"].values())) is None
    of_today: tuple[Any, Any] = ({"requests": {}}, one)
    assert Coreference().read_older(*of_today) == of_today


def example(name: str, right: bool) -> dict[str, Any]:
    candidate = {"rank": 1, "text": "Ann", "head": "Ann", "weight": 0.5, "antecedent": right}
    return {"right": right, "document": name, "before": "", "mention": "she", "after": "", "type": "pronoun",
            "candidates": [candidate], "of": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("head", "best", "shown"), [([1, 2], [1, 2], 1), ([1, 2], [2, 2], 0), ([2, 2], [1, 2], 0), ([2, 2], [2, 2], 0)]
)
def test_examples_of_merged_runs_are_shown_if_all_are_of_the_best_head(head, best, shown):
    way = "mention->antecedent"
    first = {"head": [way, 1, 2], "examples": [example("a", True), example("b", False)]}
    second = {"head": [way, *head], "examples": [example(f"c{number}", True) for number in range(EXAMPLES)]}
    counts: Any = SimpleNamespace(best_head=(way, *best))
    examples = Examples().find(counts, Examples().join([first, second]), {})
    assert examples is not None
    names = ["a", *(f"c{number}" for number in range(EXAMPLES - 1)), "b"]
    assert [each.document for each in examples] == names * shown
