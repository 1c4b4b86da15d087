"""The columns of the tables of comparisons."""

from __future__ import annotations

from dataclasses import replace

from ...reports.columns import Schema, TableColumn

COMPARISON = Schema(
    "comparison",
    "One row per statistic and pair of runs or kinds.",
    (
        TableColumn(
            "analysis family group",
            "text",
            "the analysis, the family of statistics, and the statistic, such as a relation",
        ),
        TableColumn(
            "run_a map_a run_b map_b", "text", "the two sides: the first run or kind of the command, and another one"
        ),
        TableColumn("n_a n_b", "count", "words, mentions or inputs on each side"),
        TableColumn("value_a value_b", "as `unit` says", "the values; shares, if the unit is `%`"),
        TableColumn("difference low high", "as `unit` says", "`value_a` − `value_b`"),
        TableColumn("p p_holm", "p", "the p value, and the one that is adjusted for all tests of the family"),
        TableColumn("choice_a choice_b", "text", "the head that the value belongs to, if one was chosen"),
        TableColumn("unit", "text", "the unit of the values; `%` if they are shares"),
        TableColumn(
            "paired", "text", "whether both sides read the same inputs: `paired`, `partly paired` or `unpaired`"
        ),
        TableColumn("reason", "text", "why a number is missing"),
    ),
)

KINDS = replace(COMPARISON, name="contrasts", rows="The same for the kinds of maps of one run.")

SCHEMAS = (COMPARISON, KINDS)
"""The tables of comparisons of runs, and of kinds of maps."""
