"""How well do files of links align words? They are scored against gold links, without sentences and without a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...corpora_loaders.alignment import LinkFile
from ...reports.columns import Schema, TableColumn, bounds
from ...reports.finding import Finding
from ...reports.format import interval, percent, rows_of
from ...reports.page import TABLES_TEMPLATE, Section
from ...reports.table import ShownTable
from ...reports.tables import records
from ...storage.writing import amount
from .accuracy import AlignmentCounts, LinkAccuracy
from .baselines import baseline_row
from .scores import count_links

SYSTEMS = Schema(
    "alignment_systems",
    "One row per file of links, whose words are aligned by another system.",
    (
        TableColumn("name", "text", "the name of the links", "links of"),
        TableColumn("links", "count", "as in `alignment.csv`", "links", room="page"),
        TableColumn("sure hits_sure hits_possible", "count", "as in `alignment.csv`"),
        TableColumn("error_rate low high", "share", "as in `alignment.csv`", "error rate", beside=bounds()),
        TableColumn("precision recall f1", "share", "as in `alignment.csv`"),
        TableColumn(
            "difference difference_low difference_high", "points",
            "`error_rate` − that of the first system, with its 95 % interval over sentence pairs, which both share; "
            "empty for the first",
            "− first", beside=bounds("difference"), optional=True,
        ),
    ),
)  # fmt: skip

SCHEMAS = (SYSTEMS,)


@dataclass(frozen=True)
class LinkScores:
    """The scores of files of links.

    Attributes:
        table: one row per system, with the columns of ``alignment_systems.csv``.
        pairs: the number of sentence pairs.
    """

    table: pd.DataFrame
    pairs: int


def score_files(
    gold: LinkFile, hypotheses: Mapping[str, LinkFile], *, replicates: int = 1000, seed: int = 0
) -> LinkScores:
    """Score files of links; the bootstrap draws the same sentence pairs for all of them."""
    counts: dict[str, AlignmentCounts] = {}
    ids = [str(number) for number in range(1, len(gold.links) + 1)]
    for name, file in hypotheses.items():
        pairs = [count_links(links.possible, of_gold) for links, of_gold in zip(file.links, gold.links, strict=True)]
        metric = LinkAccuracy(1, 1, replicates=replicates, seed=seed)
        of_links = np.array([(pair.links, pair.hits_sure, pair.hits_possible) for pair in pairs], dtype=np.int64)
        metric.add_counts(ids, of_links[:, None, None], np.array([pair.sure for pair in pairs], dtype=np.int64))
        counts[name] = metric.compute()
    first, *_ = counts.values()
    rows = []
    for name, of_system in counts.items():
        row = baseline_row(name, of_system)
        if of_system is not first:
            differences = (of_system.error_rates() - first.error_rates())[:, 0, 0]
            bounded = of_system.interval(differences)
            row |= {"difference": differences[0], "difference_low": bounded["low"], "difference_high": bounded["high"]}
        rows.append(row)
    return LinkScores(pd.DataFrame(rows).reindex(columns=SYSTEMS.names), len(ids))


def scores_section(scores: LinkScores) -> Section:
    """Return the part of the page, with the table and what it says about the best system."""
    shown = scores_table(scores)
    return Section(
        title=f"Word alignments of {amount(len(scores.table), 'systems')}",
        template=TABLES_TEMPLATE,
        context={"tables_without_template": [shown]},
        summary={"alignment_systems": records(scores.table)},
        tables={SYSTEMS.name: scores.table},
        shown=[shown],
        findings=[Finding(_finding(scores), "")],
    )


def scores_table(scores: LinkScores) -> ShownTable:
    """Return the table as people read it."""
    title = f"Error rates of links on {amount(scores.pairs, 'sentence pairs')} (%)"
    return ShownTable(SYSTEMS.name, title, SYSTEMS.columns, rows_of(scores.table), wide=100)


def _finding(scores: LinkScores) -> str:
    """Return a sentence about the first system and those that differ from it."""
    first, others = scores.table.iloc[0], scores.table.iloc[1:]
    rate = " ".join([percent(first["error_rate"]), "%", interval(first["low"], first["high"])]).strip()
    text = f"{rate} is the error rate of {first['name']}, on {amount(scores.pairs, 'sentence pairs')}."
    better, worse = others[others["difference_high"] < 0], others[others["difference_low"] > 0]
    told = [
        f"{', '.join(rows['name'])} {'makes' if len(rows) == 1 else 'make'} {word} errors."
        for rows, word in ((better, "fewer"), (worse, "more"))
        if len(rows)
    ]
    return " ".join([text, *told])
