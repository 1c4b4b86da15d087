"""The tables of trees that are made of maps, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...reports.columns import Row, Schema, TableColumn, bounds
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..counting.best_head import rate
from ..counting.held_out import side_of_zero
from ..counting.resampling import FEWEST_UNITS
from ..shared.explored import points, share
from .decisions import READINGS

SCORES = ("UAS", "UUAS")
"""The unlabeled attachment score, and the undirected one."""
CHAINS = ("next", "previous")
"""Each word depends on the next one, or on the one before."""
_MAX_NAMED = 8
"""The largest number of heads that a table for people names one by one."""


def _few_heads(row: Row) -> str:
    """Return the names of a few heads, or how many there are."""
    names = row["heads"].split(" + ")
    return str(row["heads"]) if len(names) <= _MAX_NAMED else f"{len(names)} heads"


TREES = Schema(
    "dependency_trees",
    "With `--spanning-trees`. One row per head and direction: the scores of its trees in the first 1,000 sentences.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("direction", "text", "the direction in which attention is read"),
        TableColumn("total", "count", "scored words: all but punctuation and roots"),
        TableColumn("correct", "count", "words whose syntactic head the tree has"),
        TableColumn("undirected_correct", "count", "words that the tree links with their syntactic head"),
        TableColumn("uas", "share", "`correct` / `total`"),
        TableColumn("uuas", "share", "`undirected_correct` / `total`"),
    ),
)


def _gain(other: str, subtracted: str, heading: str, meaning: str) -> TableColumn:
    """Return the column of the held-out accuracy minus that of something other."""
    return TableColumn(
        f"{other}_gain {other}_gain_low {other}_gain_high",
        "points",
        f"`heldout_accuracy` − {subtracted}",
        heading,
        beside=bounds(f"{other}_gain"),
        optional=other == "head",
        help=f"The held-out accuracy minus {meaning}, with its 95 % interval for other sentences, which would also "
        "choose other heads.",
    )


TREES_BEST = Schema(
    "dependency_trees_best",
    "With `--spanning-trees`. For each score, a row of the best head, and with `--ensembles` one of the average of all "
    "heads in the ensembles of relations but punctuation.",
    (
        TableColumn(
            "score",
            "text",
            "`UAS` or `UUAS`",
            "score",
            help="<b>UAS</b>: the share of words whose syntactic head the tree has. <b>UUAS</b>: the share that it "
            "links with their syntactic head, whichever of the two depends on the other. Punctuation and roots are "
            "not scored.",
        ),
        TableColumn("maps", "text", "`best head` or `ensemble`", "maps"),
        TableColumn(
            "heads",
            "text",
            "the heads, chosen on all of these sentences; ← is `head->dep`, ↔ is `both`",
            "heads",
            cell=_few_heads,
            wraps=True,
            help="An arrow ← marks heads whose map is transposed (head→dep), and ↔ those whose map and its transpose "
            "are added up (both). An ensemble is the average of all heads in the ensembles of relations, which "
            "<code>tables/dependency_trees_best.csv</code> names.",
        ),
        TableColumn("total", "count", "scored words: all but punctuation and roots", "n"),
        TableColumn("correct", "count", "right words among them"),
        TableColumn(
            "accuracy accuracy_low accuracy_high",
            "share",
            "`correct` / `total`",
            "accuracy",
            beside=bounds("accuracy"),
            help="The score on the sentences that chose the heads, with its 95 % bootstrap interval over sentences.",
        ),
        TableColumn("heldout_correct heldout_total", "count", "right and scored words over all halves of all splits"),
        TableColumn(
            "heldout_accuracy",
            "share",
            "the accuracy of heads that were chosen on the other half",
            "held-out",
            beside=bounds("heldout", "min", "max"),
            help="The score if heads are chosen on one half of the sentences and scored on the other, in both "
            "directions. It is the mean over ten random halvings, with the lowest and highest of them in brackets.",
        ),
        TableColumn("heldout_min heldout_max", "share", "the lowest and highest accuracy of a split"),
        *(
            column
            for chain, word in (("next", "next word"), ("previous", "word before"))
            for column in (
                TableColumn(
                    f"{chain}_accuracy",
                    "share",
                    f"the accuracy of the chain in which each word depends on the {word}",
                    word,
                    help=f"The score of the chain in which each word depends on the {word}. Without directions, both "
                    "chains are the same.",
                ),
                _gain(chain, f"`{chain}_accuracy`", f"gain over {word}", "that of the chain"),
            )
        ),
        _gain("head", "the same for the best head", "gain over best head", "that of the best head"),
    ),
)


class SpanningTrees(NamedTuple):
    """The scores of trees that are made of maps."""

    heads: pd.DataFrame  # one row per head and direction
    best: pd.DataFrame  # the best head, and the ensemble if there is one, beside chains of neighbors
    sentences: int  # the number of sentences that were scored
    # the number of sentences that were left out, because they do not have one root and a head for each other word
    left_out: int


def spanning_trees(counts: Mapping[str, Any]) -> SpanningTrees:
    """Return the tables of the counts of `tree_counts`."""
    shape, total = tuple(counts["shape"]), counts["total"]
    # The right words of each direction, layer and head, by the two scores.
    directed, undirected = (np.moveaxis(np.reshape(by_head, shape), -1, 0) for by_head in counts["correct"])
    direction, layer, head = (axis.ravel() for axis in np.indices(directed.shape))
    heads = pd.DataFrame(
        {
            "layer": layer + 1,
            "head": head + 1,
            "direction": np.array(READINGS)[direction],
            "total": total,
            "correct": directed.ravel(),
            "undirected_correct": undirected.ravel(),
            "uas": [rate(right, total) for right in directed.ravel().tolist()],
            "uuas": [rate(right, total) for right in undirected.ravel().tolist()],
        }
    )
    rows = [{**row, "accuracy": rate(row["correct"], row["total"])} for row in counts["best"]]
    best = pd.DataFrame(rows, columns=TREES_BEST.names)
    best["heads"] = [" + ".join(names) for names in best["heads"]]
    # Where all values of a column are missing, as without a bootstrap, they are None and no numbers.
    endings = ("accuracy", "_low", "_high", "_min", "_max", "_gain")
    best = best.astype({name: float for name in TREES_BEST.names if name.endswith(endings)})
    return SpanningTrees(heads, best, counts["sentences"], counts["left_out"])


def shown_trees(trees: SpanningTrees) -> ShownTable:
    """Return the table for the page and LaTeX."""
    title = "Trees from heads (words whose syntactic head the tree has, in %)"
    return ShownTable(TREES_BEST.name, title, TREES_BEST.columns, rows_of(trees.best))


def tree_findings(trees: SpanningTrees) -> Iterator[tuple[str, str]]:
    """Yield whether trees of heads are better than chains of neighbors, each with the name of a head."""
    rows = {(row["score"], row["maps"]): row for row in rows_of(trees.best)}

    def gain(row: Row, over: str) -> str:
        return points(row[f"{over}_gain"], row[f"{over}_gain_low"], row[f"{over}_gain_high"])

    for score in SCORES:
        if (row := rows.get((score, "best head"))) is None:
            return
        chains = (
            f"{share(row['next_accuracy'])} if each word depends on the next one, {gain(row, 'next')}, "
            f"{share(row['previous_accuracy'])} if each word depends on the one before, {gain(row, 'previous')}"
        )
        has_enough = trees.sentences >= FEWEST_UNITS
        is_better = has_enough and all(side_of_zero(row, f"{chain}_gain") > 0 for chain in CHAINS)
        text = (
            f"Spanning trees of single heads {'are' if is_better else 'are not clearly'} better than both chains of "
            f"neighbors: held out, heads chosen on the other half reach {share(row['heldout_accuracy'])} {score} of "
            f"{row['total']:,} words (chains: {chains}); the best on all sentences is {row['heads']}."
        )
        together = rows.get((score, "ensemble"))
        if together and side_of_zero(together, "head_gain") > 0:
            more = gain(together, "head")
            text += f" The ensembles together reach {share(together['heldout_accuracy'])}, {more} over single heads."
        yield text, row["heads"].rstrip("←↔")
