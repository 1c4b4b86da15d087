"""Mentions in the page are judged as the tables of the coreference analysis judge them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

import attentionology
from attentionology import CountOptions
from attentionology.analyses.coreference.decisions import choices
from attentionology.reports.explorer.data import Bench, script_json
from tests import documents, tiny
from tests.acceptance.page.conftest import written

DIRECTIONS = ("mention->antecedent", "antecedent->mention")


def of_distinct_heads(rng):
    """Random documents in which no two mentions that are scored have the same head word; a head has one guess."""
    number = 0
    while True:
        number += 1
        document = documents.random_document(rng, f"d{number}")
        heads = Counter(choice.head for choice in choices(documents.window(document)))
        if heads and set(heads.values()) == {1}:
            yield document


@pytest.fixture(scope="module")
def run():
    generator = of_distinct_heads(np.random.default_rng(3))
    corpus = documents.corpus(*(next(generator) for _ in range(40)))
    options = [CountOptions(replicates=0, min_count=1)]
    return attentionology.analyze(tiny.encoder(), corpus, analyses="coreference", options=options)


def test_right_and_wrong_mentions_are_those_of_the_table(open_page, run, tmp_path):
    explorer = run.explorer()
    [data] = json.loads(script_json(Bench((explorer,))))["runs"]
    assert any(  # a mention in another one, so that words of spans do not do
        inner["start"] >= outer["start"] and inner["end"] <= outer["end"] and inner["head"] != outer["head"]
        for sentence in data["sample"]["sentences"]
        for outer in sentence["mentions"]
        for inner in sentence["mentions"]
        if outer is not inner
    )
    page = open_page(written(tmp_path, data), "#relation=coreference")
    cells = run["coreference"].tables.cells.query("candidates == 'preceding' and type == 'all'")
    cells = cells.set_index(["direction", "layer", "head"])[["correct", "total"]]
    heads = [(layer, head) for layer in range(1, data["layers"] + 1) for head in range(1, data["heads"] + 1)]
    heading = page.locator(".sentences h3").first
    shares = set()
    for direction in DIRECTIONS:
        for layer, head in heads[:: max(1, len(heads) // 6)]:
            correct, total = cells.loc[direction, layer, head]
            page.evaluate(f"location.hash = '#relation=coreference&direction={direction}&head={layer}-{head}'")
            heading.get_by_text(f"head {layer}-{head}: {correct} of {total} right").wait_for(timeout=5_000)
            shares.add(correct)
    assert len(shares) > 2
