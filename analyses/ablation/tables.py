"""The tables of the analysis of ablation, made of the counts of `HeadEffects` and of the tables of ``dependency``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...reports.format import rows_of
from ..comparison.differences import holm
from ..dependency.accuracy import ALL, TOTALS
from ..dependency.rows import DependencyResults
from ..shared.correlation import correlation
from .columns import ABLATION, FEWEST_SENTENCES, GROUPS, PRUNING, RELATIONS, SUMMARY
from .counting import EVERY, HeadEffects

PERMUTATIONS = 9999
"""The number of random assignments of heads to places within their layers."""


@dataclass(frozen=True)
class AblationTables:
    """The tables of the analysis, see `attentionology.analyses.ablation.columns`."""

    # heads, groups: the effects of each head.
    # relations, summary: whether the heads that find relations matter; empty without `dependency`.

    heads: pd.DataFrame
    groups: pd.DataFrame
    relations: pd.DataFrame
    summary: pd.DataFrame


def ablation_tables(
    metrics: Sequence[HeadEffects], dependency: DependencyResults | None, *, min_count: int, seed: int
) -> AblationTables:
    """Make the tables of the effects on vectors and, if there are any, on predictions."""
    frames = [_effects_frame(metric) for metric in metrics]
    keys = ["by", "group", "layer", "head"]
    cells = frames[0].rename(columns={"items": "total"})
    for frame in frames[1:]:
        frame = frame.rename(columns={"items": "predicted", "sentences": "predicted_sentences"})
        cells = cells.merge(frame, on=keys, how="left")
    heads = cells[(cells["by"] == EVERY[0]) & (cells["group"] == EVERY[1])]
    importance = metrics[-1].mean_importance()  # the last metric is that of predictions, if they were measured
    if importance is not None:
        heads = heads.assign(importance=importance)
    measures = [measure for metric in metrics for measure in metric.measures]
    relations = [] if dependency is None else _relations(cells, dependency, measures, min_count)
    summary = []
    for metric in metrics:
        for index, measure in enumerate(metric.measures):
            tested = [row for row in relations if row["effect"] == measure and is_enough(row, min_count)]
            summary.append({**_summary(measure, tested, heads, dependency, seed), **_largest(metric, index)})
    return AblationTables(
        _ordered(heads, ABLATION.names),
        _ordered(cells, GROUPS.names),
        pd.DataFrame(relations, columns=RELATIONS.names),
        pd.DataFrame(summary, columns=SUMMARY.names),
    )


def is_enough(row: Mapping[str, Any], min_count: int) -> bool:
    """Whether so many words or masked pieces of a relation, in so many sentences, allow a conclusion."""
    return bool(row["total"] >= min_count and row["sentences"] >= FEWEST_SENTENCES)


def _ordered(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return those of the columns that the table has, in their order."""
    return table[[name for name in names if name in table]].reset_index(drop=True)


def _effects_frame(metric: HeadEffects) -> pd.DataFrame:
    """Return the effects with the differences from other heads, one row per group that occurs and head."""
    effects = metric.compute()
    by_ending = {  # each array has the shape (groups, heads, measures)
        "": effects.mean,
        "_low": effects.low,
        "_high": effects.high,
        "_difference": effects.difference,
        "_difference_low": effects.difference_low,
        "_difference_high": effects.difference_high,
    }
    rows = []
    for at_group, (by, group) in enumerate(metric.groups):
        if items := effects.items[at_group]:
            counts = {"items": items, "sentences": effects.sentences[at_group]}
            for at_head, (layer, head) in enumerate(metric.heads):
                row = {"by": by, "group": group, "layer": layer + 1, "head": head + 1, **counts}
                for at_measure, measure in enumerate(metric.measures):
                    place = at_group, at_head, at_measure
                    row |= {f"{measure}{ending}": values[place] for ending, values in by_ending.items()}
                rows.append(row)
    effect_columns = [f"{measure}{ending}" for measure in metric.measures for ending in by_ending]
    return pd.DataFrame(rows, columns=["by", "group", "layer", "head", "items", "sentences", *effect_columns])


def _largest(metric: HeadEffects, measure: int) -> dict[str, Any]:
    """Return the head with the largest effect on all words, and the head that comes closest to it."""
    effects = metric.compute()
    values, sentences = effects.mean[0, :, measure], int(effects.sentences[0])
    largest = int(np.argmax(values))
    layer, head = metric.heads[largest]
    found: dict[str, Any] = {"sentences": sentences, "layer": layer + 1, "head": head + 1}
    lead, low, high = metric.leads(largest, measure)
    # Where there are no paired intervals, the end of each head's own interval takes their place.
    closeness = np.where(np.isnan(low), effects.high[0, :, measure], -low)
    closeness[largest] = -np.inf
    if len(values) > 1 and not np.isnan(closeness).any():
        rival = int(np.argmax(closeness))
        layer, head = metric.heads[rival]
        found |= {"rival_layer": layer + 1, "rival_head": head + 1}
        found |= {"lead": lead[rival], "lead_low": low[rival], "lead_high": high[rival]}
    return found


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
        rows_or_none = (_compared(best, measure, of_relations, accuracy) for best in best_heads)
        compared = [row for row in rows_or_none if row]
        for row in compared:
            row["everywhere"] = float(of_all_words.loc[(row["layer"], row["head"]), measure])
        tested = [row for row in compared if is_enough(row, min_count)]
        for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
            row["p_holm"] = p
        rows += compared
    return rows


def _compared(
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


def pruning_table(rows: Sequence[Mapping[str, Any]], n_heads: int) -> pd.DataFrame:
    """Return the table of the effects of removing several heads: of random orders, their mean, minimum and maximum."""
    table = pd.DataFrame(rows, columns=["order", "seed", "heads", "effect", "value", "total"])
    grouped = table.groupby(["order", "effect", "heads"], sort=False)["value"].agg(["mean", "min", "max"])
    grouped = grouped.reset_index().rename(columns={"mean": "value", "min": "low", "max": "high"})
    totals = table.drop_duplicates("effect").set_index("effect")["total"]
    grouped.loc[grouped["order"] != "random", ["low", "high"]] = float("nan")
    grouped["share"] = grouped["heads"] / n_heads
    grouped["total"] = grouped["effect"].map(totals)
    return grouped[PRUNING.names]
