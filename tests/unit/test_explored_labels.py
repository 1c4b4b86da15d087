"""The explorer calls every measure of heads by what it is."""

from __future__ import annotations

from typing import Any

import pytest

from attentionology.analyses.ablation.heads import ABLATION
from attentionology.analyses.clusters.clusters import HEAD_EMBEDDING
from attentionology.analyses.coreference.best_heads import CELLS as MENTIONS
from attentionology.analyses.coreference.best_heads import OVER_RULE as OVER_RULES
from attentionology.analyses.dependency.best_heads import DIRECTIONS_IN_WORDS as ARROWS
from attentionology.analyses.dependency.best_heads import GAINS, OVER_RULE
from attentionology.analyses.dependency.columns import CELLS as WORDS
from attentionology.analyses.norms.shares import SHARES
from attentionology.analyses.surface.gradients import GRADIENTS
from attentionology.analyses.surface.shares import SURFACE
from attentionology.reports.columns import Schema

GOES = "Where attention goes"
BROAD = "How broadly"
OFF = "What changes without the head"

NAMED: list[tuple[Schema, dict[str, tuple[str, str]]]] = [
    (WORDS, {"accuracy": ("Dependency accuracy", "{relation}, {arrow}")}),
    (GAINS, {"gain": ("Gain over the best fixed offset", "{relation}, {arrow}")}),
    (OVER_RULE, {"over_rule": ("Held out, over the best rule", "{relation}, {arrow}")}),
    (OVER_RULES, {"over_rule": ("Held out, over the best rule", "{mentions}, {arrow}")}),
    (MENTIONS, {"accuracy": ("Antecedents", "{mentions}, {arrow}")}),
    (
        SURFACE,
        {
            "self": (GOES, "to the token itself"),
            "previous": (GOES, "to the previous token"),
            "next": (GOES, "to the next token"),
            "first_special": (GOES, "to {first_special}"),
            "last_special": (GOES, "to {last_special}"),
            "punctuation": (GOES, "to punctuation"),
            "other": (GOES, "to other words"),
            "learned_sink": (GOES, "to the learned sink"),
            "entropy": (BROAD, "entropy of the rows"),
            "entropy_relative": (BROAD, "entropy as a share of uniform attention"),
        },
    ),
    (GRADIENTS, {"gradient": ("How much attention matters to the loss", "gradient of attention to {target}")}),
    (SHARES, {"weight": (f"{GOES} by weight", "to {class}"), "norm_share": (f"{GOES} by norm", "to {class}")}),
    (HEAD_EMBEDDING, {"cluster": ("Heads that attend alike", "cluster")}),
    (
        ABLATION,
        {
            "cosine": (OFF, "change of final vectors, 1 − cosine"),
            "l2": (OFF, "relative change of final vectors"),
            "loss": (OFF, "loss"),
        },
    ),
]


@pytest.mark.parametrize(("schema", "names"), NAMED)
def test_measures_are_named(schema: Schema, names: dict[str, tuple[str, str]]) -> None:
    shown: dict[str, Any] = {column.names.split()[0]: column.explored for column in schema.columns if column.explored}
    assert {name: (each.group, each.label) for name, each in shown.items()} == names
    assert not any(each.low_is_best for each in shown.values())


def test_baselines_and_directions_are_named() -> None:
    (note,) = [column.explored.note for column in MENTIONS.columns if column.explored]
    assert note.endswith("The baseline is the rules.")
    assert ARROWS == {
        "dep->head": "dependent → head",
        "head->dep": "head → dependent",
        "both": "both directions",
    }
