"""The tables of where heads fail: their accuracy by properties of the mentions, and what they pick instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...reports.columns import HEAD, Schema, TableColumn, bounds
from ...reports.format import direction, rows_of
from ..shared.failures import ChosenHead, FailureTables, Sums, chosen_heads, tables_of_heads
from .decisions import BASELINES, DIRECTIONS, column_name
from .failures import CLASSES, GROUPS, CoreferenceFailures
from .picks import PICKS
from .tables import ALL

Array = npt.NDArray[np.int64]

_SHOWN_BASELINES = {
    "nearest": ("nearest", "the nearest candidate"),
    "head match": ("same head word", "the nearest candidate with the same head word"),
    "rule-based": ("rules", "the rules"),
}
"""The baselines that stand beside the heads, each with its heading and what it picks."""

_HEAD = (
    TableColumn("type", "text", "as in `coreference.csv`", "mentions"),
    HEAD,
    TableColumn("direction", "text", "the direction in which attention is read", "direction", cell=direction),
)


def _of_baselines(count: str, share: str, counted: str, help_text: str) -> tuple[TableColumn, ...]:
    """Return the columns of the baselines: counts, and shares with their intervals."""
    # The names of columns are those of a baseline followed by `count`, `share`, `low` or `high`, as in `nearest_count`.
    # `counted` and `help_text` have `{}` in place of what a baseline picks.
    columns: list[TableColumn] = []
    for baseline, (heading, picks) in _SHOWN_BASELINES.items():
        name = column_name(baseline)
        three_names = f"{name}_{share} {name}_low {name}_high"
        meaning = f"`{name}_{count}` / `total`"
        columns += [
            TableColumn(f"{name}_{count}", "count", counted.format(picks)),
            TableColumn(three_names, "share", meaning, heading, beside=bounds(name), help=help_text.format(picks)),
        ]
    return tuple(columns)


FAILURES = Schema(
    "coreference_failures",
    "With `--failures`. One row per type of mention, chosen head and class of mentions, with the candidates of "
    "`--candidates`. The 95 % intervals are Wilson's, for the effective number of mentions, because those of one "
    "document depend on each other.",
    (
        *_HEAD,
        TableColumn("by", "text", "the property of the mentions", "by"),
        TableColumn("class", "text", "the class of mentions", "class"),
        TableColumn("total", "count", "scored mentions in this class", "n"),
        TableColumn("correct", "count", "mentions whose antecedent is found"),
        TableColumn(
            "accuracy accuracy_low accuracy_high",
            "share",
            "`correct` / `total`",
            "accuracy",
            beside=bounds("accuracy"),
            help="The share of the n mentions whose antecedent is found, with its 95 % interval. The best head was "
            "chosen on all of these mentions.",
        ),
        *_of_baselines(
            "correct", "accuracy", "mentions whose antecedent {} is", "The accuracy of {} on the same mentions."
        ),
    ),
)

PICKED = Schema(
    "coreference_picks",
    "With `--failures`. One row per type of mention, chosen head and kind of word that is picked. Candidates and "
    "intervals are as in `coreference_failures.csv`.",
    (
        *_HEAD,
        TableColumn("picked", "text", "what is picked", "picked"),
        TableColumn("count", "count", "mentions for which it is picked", "picks"),
        TableColumn("total", "count", "scored mentions", "n"),
        TableColumn(
            "share share_low share_high",
            "share",
            "`count` / `total`",
            "share",
            beside=bounds("share"),
            help="The share of the n mentions for which the head picks such a word, with its interval.",
        ),
        *_of_baselines("count", "share", "mentions for which {} is such a word", "How often {} is such a word."),
    ),
)


def failure_tables(
    metric: CoreferenceFailures, best: pd.DataFrame, cells: pd.DataFrame, chosen: Sequence[str]
) -> FailureTables:
    """Make the tables of the best head of each type of mention (``best``), or of other heads (``2-2``)."""
    return tables_of_heads(_chosen(metric, best, cells, chosen), (FAILURES, PICKED))


def _chosen(
    metric: CoreferenceFailures, best: pd.DataFrame, cells: pd.DataFrame, chosen: Sequence[str]
) -> Iterator[ChosenHead]:
    """Yield the chosen heads of each type of mention."""
    counts = {name: state.numpy() for name, state in metric.compute().items()}
    n_heads = int(np.prod(metric.shape))
    for row in rows_of(best[best["total"] > 0]):
        kind = row["type"]
        right_by_class, by_pick = (counts[name][:, GROUPS.index(kind)] for name in ("right", "picked"))
        mentions = right_by_class[0, :, -1]  # the number of mentions of each cluster, which every class has last
        classes = {
            (aspect, name): _sums_over_clusters(right, right[:, -1])
            for (aspect, name), right in zip(CLASSES, right_by_class, strict=True)
            if aspect != "type" or kind == ALL  # all mentions of a type are of this type
        }
        picks = {name: _sums_over_clusters(picked, mentions) for name, picked in zip(PICKS, by_pick, strict=True)}
        for layer, head, way in chosen_heads(row, cells[cells["type"] == kind], chosen):
            columns = {"type": kind, "layer": layer, "head": head, "direction": way}
            # The index of the head and of each baseline among all that guess.
            guessers = {"": int(np.ravel_multi_index((DIRECTIONS.index(way), layer - 1, head - 1), metric.shape))}
            guessers |= {f"{column_name(name)}_": n_heads + BASELINES.index(name) for name in _SHOWN_BASELINES}
            yield ChosenHead(columns, guessers, classes, picks)


def _sums_over_clusters(x: Array, n: Array) -> Sums:
    """Add up x, x² and x · n of each guesser, and n and n², over clusters."""
    return np.stack([x.sum(0), (x * x).sum(0), n @ x]), np.array([n.sum(), n @ n])
