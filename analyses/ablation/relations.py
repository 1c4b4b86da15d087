"""Does the head that finds a relation matter for its words? It is compared with the other heads of its layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...reports.columns import Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import number, rare_in_parentheses, rows_of, shown_head
from ...reports.table import ShownTable
from ...reports.tables import records
from ...storage.writing import amount, verb
from ..comparison.differences import holm, is_significant
from ..dependency.accuracy import ALL, TOTALS
from ..dependency.rows import DependencyResults
from ..shared.correlation import correlation
from ..shared.measures import address
from .heads import EVERY, HeadTables, heads_table
from .rows import DIGITS, EFFECTS, FEWEST_SENTENCES, AblationQuestion, AblationResults, Effects, effect_bounds

PERMUTATIONS = 9999
"""The number of random assignments of heads to places within their layers."""

RELATIONS = Schema(
    "ablation_relations",
    "With the analysis `dependency`. One row per relation with `--min-count` words and effect: whether the head that "
    "finds the relation matters more for its words than the other heads of its layer do.",
    (
        TableColumn("relation", "text", "the relation", "relation"),
        TableColumn("effect", "text", "the effect: `cosine`, `l2` or `loss`", "effect"),
        TableColumn(
            "layer head",
            "number from 1",
            "the head that finds the relation best",
            "best head",
            cell=shown_head,
            help="The head with the highest accuracy for the relation, see the dependency table.",
        ),
        TableColumn(
            "accuracy", "share", "its accuracy", "accuracy", room="page", help="Its accuracy for the relation."
        ),
        TableColumn(
            "total",
            "count",
            "words of the relation, or masked pieces of these words",
            "n",
            cell=rare_in_parentheses,
            help="The number of words of the relation, or of masked pieces of these words if they are predicted.",
        ),
        TableColumn("sentences", "count", "sentences with these words or masked pieces"),
        TableColumn(
            "value value_low value_high",
            "number",
            "the effect of the head on these words",
            "effect of head",
            digits=DIGITS,
            beside=effect_bounds("value"),
            beside_in="page",
            help="The mean effect of switching the head off on the words of the relation, with its 95 % interval.",
        ),
        TableColumn(
            "others",
            "number",
            "the mean effect of the other heads of its layer on the same words",
            "other heads",
            digits=DIGITS,
            help="The mean effect of the other heads of its layer on the same words.",
        ),
        TableColumn(
            "difference difference_low difference_high",
            "number",
            "`value` − `others`, with its paired interval",
            "difference",
            digits=DIGITS,
            beside=effect_bounds("difference"),
            help="The effect of the head minus that of the others, paired by sentence, with its 95 % interval.",
        ),
        TableColumn(
            "everywhere",
            "number",
            "the effect of the head on all words",
            "on all words",
            room="page",
            digits=DIGITS,
            help="The mean effect of switching the head off on all words. A head may matter for everything.",
        ),
        TableColumn(
            "rank heads",
            "number from 1",
            "the rank of its effect in its layer, 1 for the largest, and the number of heads of the layer",
            "rank",
            cell=lambda row: f"{row['rank']} of {row['heads']}",
            help="The rank of its effect among the heads of its layer.",
        ),
        TableColumn(
            "p p_holm",
            "p",
            "the share of heads of the layer with at least this effect, which cannot be below 1 / `heads`, and the "
            "same, adjusted by Holm's procedure for all relations that have enough words or masked pieces",
            "p",
            help="The share of heads of the layer with at least this effect. With twelve heads it is at least 0.083, "
            "so that no single relation can be significant. The test of all relations together stands below.",
        ),
        TableColumn(
            "rho",
            "number",
            "Spearman's ρ of accuracy for the relation and effect on its words, over all heads",
            "ρ",
            room="page",
            help="Spearman’s ρ of the accuracy for the relation and the effect on its words, over all heads.",
        ),
    ),
)

SUMMARY = Schema(
    "ablation_summary",
    "One row per effect: heads that find relations and heads that matter, over all of the model.",
    (
        TableColumn("effect", "text", "the effect"),
        TableColumn(
            "relations",
            "count",
            "relations whose best head is compared with its layer, on `--min-count` words or masked pieces in at least "
            f"{FEWEST_SENTENCES} sentences",
        ),
        TableColumn("above", "count", "relations for which it matters more than the mean of the others"),
        TableColumn("mean_rank", "number", "the mean of `(rank − 1) / (heads − 1)`: 0 if all are first, 0.5 by chance"),
        TableColumn(
            "p",
            "p",
            "the share of assignments of heads to places within their layers, 9,999 random ones and the observed one, "
            "in which the mean rank is at most this",
        ),
        TableColumn("rho_accuracy", "number", "Spearman's ρ of accuracy and effect over all words and heads"),
        TableColumn("rho_importance", "number", "Spearman's ρ of importance and effect over all heads"),
        TableColumn("sentences", "count", "sentences in which the effect was measured"),
        TableColumn("layer head", "number from 1", "the head with the largest effect on all words"),
        TableColumn(
            "rival_layer rival_head",
            "number from 1",
            "the head that comes closest: the lower end of the interval of its difference from that head is the lowest",
        ),
        TableColumn(
            "lead lead_low lead_high",
            "number",
            "the difference between these two heads, with its paired interval, which runs of versions up to 0.3 lack",
        ),
    ),
)


class RelationTables(NamedTuple):
    """The answer: each relation, and all of them together."""

    relations: pd.DataFrame  # empty without `dependency`
    summary: pd.DataFrame  # one row per effect


class Relations(AblationQuestion):
    """Do the heads that find relations matter for their words?"""

    name = "relations"
    tables = (RELATIONS, SUMMARY)
    template = Path(__file__).with_name("relations.html.j2")

    def find(self, counts: Effects, lookups: Any, earlier: Mapping[str, Any]) -> RelationTables:
        """Return the tables, beside the best heads of ``dependency`` if it is part of the run."""
        dependency = earlier.get("dependency")
        return relation_tables(earlier["heads"], dependency, min_count=counts.min_count, seed=counts.facts.seed)

    def frames(self, answer: RelationTables, results: AblationResults) -> Mapping[str, pd.DataFrame]:
        """Return the relations, if there are any, and the summary."""
        relations = {RELATIONS.name: answer.relations} if len(answer.relations) else {}
        return {**relations, SUMMARY.name: answer.summary}

    def summary(self, answer: RelationTables, results: AblationResults) -> Mapping[str, Any]:
        """Return both tables."""
        return {RELATIONS.name: records(answer.relations), SUMMARY.name: records(answer.summary)}

    def show(self, answer: RelationTables, results: AblationResults) -> Sequence[ShownTable]:
        """Return the relations, if there are any."""
        return (relations_table(results),) if len(answer.relations) else ()

    def values(self, answer: RelationTables, results: AblationResults) -> Mapping[str, Any]:
        """Return what is concluded, and from what nothing is."""
        return {
            "conclusion": conclusion(results),
            "has_relations": len(answer.relations) > 0,
            "too_few": _too_few(results),
        }

    def explore(self, answer: RelationTables, counts: Effects, results: AblationResults, kind: str) -> Contribution:
        """Say whether heads that find relations matter more than others."""
        text = conclusion(results)
        measure = f"ablation/{results.effect}" if counts.complete else None
        return Contribution(findings=(Finding(text, address(measure=measure)),) if text else ())


def relation_tables(
    effects: HeadTables, dependency: DependencyResults | None, *, min_count: int, seed: int
) -> RelationTables:
    """Make the tables, of which that of relations is empty without ``dependency``."""
    measures = effects.largest["effect"].tolist()
    relations = [] if dependency is None else _relations(effects.cells, dependency, measures, min_count)
    summary = []
    for largest in rows_of(effects.largest):
        tested = [row for row in relations if row["effect"] == largest["effect"] and is_enough(row, min_count)]
        summary.append({**_summary(largest["effect"], tested, effects.heads, dependency, seed), **largest})
    return RelationTables(
        pd.DataFrame(relations, columns=RELATIONS.names), pd.DataFrame(summary, columns=SUMMARY.names)
    )


def is_enough(row: Mapping[str, Any], min_count: int) -> bool:
    """Whether so many words or masked pieces of a relation, in so many sentences, allow a conclusion."""
    return bool(row["total"] >= min_count and row["sentences"] >= FEWEST_SENTENCES)


def _relations(
    cells: pd.DataFrame, dependency: DependencyResults, measures: Sequence[str], min_count: int
) -> list[dict[str, Any]]:
    """Compare the head that finds each relation with the other heads of its layer, by each measure."""
    rows: list[dict[str, Any]] = []
    accuracy = _accuracies(dependency.cells)
    of_all_words = cells[cells["by"] == EVERY[0]].set_index(["layer", "head"])
    of_relations = cells[cells["by"] == "relation"]
    frequent = [row for row in rows_of(dependency.best) if row["total"] >= min_count]
    best_heads = [row for row in frequent if row["relation"] not in (*TOTALS, "root")]  # no head can find a root
    for measure in measures:
        rows_or_none = (_compare_with_layer(best, measure, of_relations, accuracy) for best in best_heads)
        compared = [row for row in rows_or_none if row]
        for row in compared:
            row["everywhere"] = float(of_all_words.loc[(row["layer"], row["head"]), measure])
        tested = [row for row in compared if is_enough(row, min_count)]
        for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
            row["p_holm"] = p
        rows += compared
    return rows


def _compare_with_layer(
    best: Mapping[str, Any], measure: str, of_relations: pd.DataFrame, accuracy: pd.DataFrame
) -> dict[str, Any] | None:
    """Compare the best head of a relation with its layer; None if it or all the others were not switched off."""
    all_heads = of_relations[of_relations["group"] == best["relation"]].dropna(subset=measure)
    layer = all_heads[all_heads["layer"] == best["layer"]]
    if best["head"] not in layer["head"].to_numpy() or len(layer) < 2:
        return None
    (row,) = rows_of(layer[layer["head"] == best["head"]])
    value, difference = row[measure], f"{measure}_difference"
    values_of_layer = layer[measure].to_numpy()
    with_accuracy = all_heads.merge(accuracy[accuracy["relation"] == best["relation"]], on=["layer", "head"])
    return {
        **{name: best[name] for name in ("relation", "layer", "head", "accuracy")},
        "effect": measure,
        "total": int(row["predicted" if measure == "loss" else "total"]),
        "sentences": int(row["predicted_sentences" if measure == "loss" else "sentences"]),
        "value": value,
        "value_low": row[f"{measure}_low"],
        "value_high": row[f"{measure}_high"],
        "others": value - row[difference],  # the mean of the other heads of the layer
        "difference": row[difference],
        "difference_low": row[f"{difference}_low"],
        "difference_high": row[f"{difference}_high"],
        "rank": int((values_of_layer > value).sum()) + 1,
        "heads": len(values_of_layer),
        "p": float((values_of_layer >= value).mean()),
        # What is not a column is for `joint_p`: all heads of the layer, and which of them this one is.
        "all_ranks": (values_of_layer[:, None] < values_of_layer).sum(1) / (len(values_of_layer) - 1),
        "place": layer["head"].tolist().index(best["head"]),
        "rho": _rho(with_accuracy["accuracy"], with_accuracy[measure]),
    }


def _accuracies(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of each head for each relation, in the better direction."""
    return cells.groupby(["relation", "layer", "head"], sort=False)[["accuracy"]].max().reset_index()


def _rho(first: pd.Series, second: pd.Series) -> float:
    """Return Spearman's ρ; NaN for fewer than three pairs of values, or where one side does not vary."""
    return correlation("spearman", first.to_numpy(float), second.to_numpy(float), fewest=3)


def _summary(
    measure: str,
    rows: Sequence[Mapping[str, Any]],
    heads: pd.DataFrame,
    dependency: DependencyResults | None,
    seed: int,
) -> dict[str, Any]:
    """Test the heads of all relations together, and correlate effects with accuracy and importance."""
    rho_accuracy = mean_rank = p = float("nan")
    if dependency is not None:
        accuracy = _accuracies(dependency.cells)
        with_accuracy = heads.merge(accuracy[accuracy["relation"] == ALL], on=["layer", "head"])
        rho_accuracy = _rho(with_accuracy["accuracy"], with_accuracy[measure])
    if rows:
        mean_rank, p = joint_p(rows, seed)
    return {
        "effect": measure,
        "relations": len(rows),
        "above": sum(row["difference"] > 0 for row in rows),
        "mean_rank": mean_rank,
        "p": p,
        "rho_accuracy": rho_accuracy,
        "rho_importance": _rho(heads["importance"], heads[measure]) if "importance" in heads else float("nan"),
    }


def joint_p(rows: Sequence[Mapping[str, Any]], seed: int) -> tuple[float, float]:
    """Return the mean rank of the heads that find relations, and the share of random heads with as small a one."""
    # rows: for each relation, the `layer` and `place` of its best head, and `all_ranks`, those of all heads of this
    # layer by their effect on its words, from 0 for the largest to 1.
    # One head may find several relations, and its effects on their words depend on each other. So heads are shuffled
    # within layers, and what finds all of these relations is then another head, with its own ranks.
    rng = np.random.default_rng(seed)
    observed = float(np.mean([row["all_ranks"][row["place"]] for row in rows]))
    drawn = np.zeros(PERMUTATIONS)
    for layer in sorted({row["layer"] for row in rows}):
        of_layer = [row for row in rows if row["layer"] == layer]
        places = np.argsort(rng.random((PERMUTATIONS, len(of_layer[0]["all_ranks"]))), axis=1)
        for row in of_layer:
            drawn += np.asarray(row["all_ranks"])[places[:, row["place"]]] / len(rows)
    return observed, float(1 + (drawn <= observed + 1e-12).sum()) / (1 + PERMUTATIONS)


def shown_table(results: AblationResults) -> ShownTable:
    """Return what a terminal shows: the relations, or else the heads that matter most."""
    return relations_table(results) if len(results.tables.relations) else heads_table(results)


def relations_table(results: AblationResults) -> ShownTable:
    """Return whether the head that finds a relation matters for its words."""
    rows = [
        {**row, "is_frequent": is_enough(row, results.min_count)}
        for row in rows_of(results.tables.relations)
        if row["effect"] == results.effect
    ]
    columns = [column for column in RELATIONS.columns if column.heading != "effect"]
    title = f"Does the head that finds a relation matter for its words? ({EFFECTS[results.effect]}; accuracy in %)"
    return ShownTable(
        "ablation_relations",
        title,
        columns,
        rows,
        results.remarks,
        lambda row: "" if row["is_frequent"] else "rare",
        rare=_too_few(results),
    )


def _too_few(results: AblationResults) -> str:
    """Say from what nothing is concluded about a relation."""
    words = "masked pieces or predicted words" if results.effect == "loss" else "words"
    return f"fewer than {results.min_count:,} {words}, or fewer than {FEWEST_SENTENCES} sentences with them"


def conclusion(results: AblationResults) -> str:
    """Say whether heads that find relations matter more than the others of their layers, over all relations."""
    if not len(results.tables.relations):
        return ""
    (row,) = (row for row in rows_of(results.tables.summary) if row["effect"] == results.effect)
    more = f"a larger effect on their words ({EFFECTS[results.effect]}) than other heads of their layers"
    if not row["relations"]:
        return (
            f"0 relations can tell whether heads that find relations have {more}: all relations have "
            f"{_too_few(results)}."
        )
    have = verb(row["above"], "have", "has", of=row["relations"])
    heads = "heads" if is_significant(row["p"]) else "it was not shown that heads"
    return (
        f"{row['above']} of {amount(row['relations'], 'relations')} {have} a head with an effect above the mean of its "
        f"layer: {heads} that find relations have {more} (mean relative rank {number(row['mean_rank'], 2)}, where 0.5 "
        f"is chance; p = {number(row['p'], 4)})."
    )
