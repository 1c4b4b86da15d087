"""A finding about mistakes says in words what the head picks, whatever it is."""

from __future__ import annotations

import pandas as pd
import pytest

from attentionology.analyses.coreference.picks import PICKS as PICKS_OF_MENTIONS
from attentionology.analyses.dependency.picks import PICKS
from attentionology.analyses.shared.failures import FailureTables
from tests.coreference import explored_coreference, made_results
from tests.documents import counted_mentions
from tests.unit.test_dependency_words import made_up, said_of

OF_WORDS = {
    "punctuation": "a punctuation mark",
    "dependent": "a dependent of the word",
    "argument": "another argument of the verb",
    "sibling": "another dependent of its head",
    "grandparent": "the head of its head",
    "neighbor": "an unrelated neighbor",
    "other": "a word that is none of its relatives or neighbors",
    "out of reach": "a word although it cannot see the head",
    "none": "nothing",
}
OF_MENTIONS = {
    "same entity": "a later mention of the entity",
    "inside an antecedent": "a word of an antecedent that is not its head word",
    "inside the mention": "another word of the mention itself",
    "same head word": "a mention of another entity with the same head word",
    "nearest mention": "the nearest mention",
    "agreeing mention": "another mention that agrees in number, gender and person",
    "other mention": "a mention that does not agree",
    "other word": "a word that is the head word of no mention",
    "out of reach": "a word although it cannot see an antecedent",
}
SHARES = {"count": 300, "share": 0.3, "share_low": 0.25, "share_high": 0.35}


def test_every_mistake_has_words() -> None:
    """Heads never pick the word itself, and pick nothing only where there are no candidates."""
    assert set(OF_WORDS) == set(PICKS) - {"head", "itself"}
    assert set(OF_MENTIONS) == set(PICKS_OF_MENTIONS) - {"antecedent", "none"}


@pytest.mark.parametrize("picked", OF_WORDS)
def test_mistakes_of_words(picked: str) -> None:
    row = made_up(1)
    offset = {"offset_share": 0.125, "offset_low": 0.1, "offset_high": 0.15}
    failures = FailureTables(pd.DataFrame(), pd.DataFrame([{**row, "picked": picked, **SHARES, **offset}]))
    assert (
        f"with r1, for which head 1-2 picks {OF_WORDS[picked]} (the best"
        in said_of([row], [], failures=failures)[-1][0]
    )


@pytest.fixture(scope="module")
def mentions():
    metric = counted_mentions()
    return metric, metric.compute()


@pytest.mark.parametrize("picked", OF_MENTIONS)
def test_mistakes_of_mentions(mentions, picked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attentionology.analyses.coreference.best_heads.FEWEST_UNITS", 0)
    metric, tables = mentions
    row = tables.best[tables.best["type"] == "all"].iloc[0].to_dict()
    nearest = {"nearest_share": 0.125, "nearest_low": 0.1, "nearest_high": 0.15}
    failures = FailureTables(pd.DataFrame(), pd.DataFrame([{**row, "picked": picked, **SHARES, **nearest}]))
    results = made_results(tables, failures=failures, min_count=1)
    said = [finding.text for finding in explored_coreference(results, metric, "weight").findings]
    assert any(f"is wrong, it most often picks {OF_MENTIONS[picked]} (the nearest" in text for text in said)
