"""Transfer: the head that is best for a relation on one treebank, scored on another treebank.

Heads are compared with those that the other treebank chooses itself. Part of the accuracy of a chosen head is luck, so
the other treebank chooses its head on one half of its sentences and scores it on the other half. The first treebank
chooses its head on all of its sentences, because none of them is scored. A loss can therefore be above 0: all sentences
of a large treebank may choose a better head than half of a small one.

The deviations of a loss have two independent parts. The sentences of the treebank of the score change the accuracies of
both heads, in the same replicate, and its own choice. Other sentences of the treebank of the choice would choose other
heads, whose accuracies on the other treebank differ. The replicates of each treebank are put into an order of their
own, as for means over treebanks (`attentionology.analyses.survey.contrasts`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import HEAD, Schema, TableColumn
from ...reports.drawing import AROUND_ZERO, TEXT, finish, panels, with_style, wrap
from ...reports.format import direction, percent
from ...reports.format import interval as shown_interval
from ...reports.shapes import heatmap
from ...reports.table import ShownTable
from ..comparison.results import Pairing
from ..counting.best_head import argbest, rate, sum_groups
from ..counting.comparable import replicate_order
from ..counting.held_out import choice_deviations, gain_columns
from ..counting.resampling import effective_number_drawn
from ..dependency.accuracy import ALL
from ..shared.picks import READINGS
from .choosers import ChooserContrast, Choosers, Loss, ModelChoosers, transfer_findings
from .collecting import CellCounts, Collector, KeptCell
from .kept_counts import KeptCounts, kept_counts
from .rows import (
    Cell,
    Entry,
    SurveyFacts,
    SurveyQuestion,
    averaged_relations,
    entry_column,
    rows_table,
    write_entry,
)

Array = npt.NDArray[Any]
Row = dict[str, Any]


SURVEY_TRANSFER = Schema(
    "survey_transfer",
    "One row per model, kind of map, treebank that chooses, other treebank that scores, and relation that both have. "
    "It is written if a model was counted on at least two treebanks.",
    (
        TableColumn("model map", "text", "what was read"),
        TableColumn("chosen_on scored_on", "text", "the treebank that chooses the head, and the one that scores it"),
        TableColumn("relation direction", "text", "the relation, and the direction of the head"),
        TableColumn("layer head", "number from 1", "the best head on `chosen_on`, as in `survey.csv`"),
        TableColumn("n_chosen n", "count", "words of the relation in `chosen_on` and in `scored_on`"),
        TableColumn("correct", "count", "words of `scored_on` whose syntactic head it finds"),
        TableColumn("accuracy low high", "share", "`correct` / `n`"),
        TableColumn("heldout", "share", "the held-out accuracy of the heads that `scored_on` chooses itself"),
        TableColumn(
            "loss loss_low loss_high", "points", "`accuracy` − `heldout`; below 0, the head of `chosen_on` loses"
        ),
    ),
)


SURVEY_TRANSFER_MEANS = Schema(
    "survey_transfer_means",
    "The means of `survey_transfer.csv` over relations with at least `--min-count` words in both treebanks, without "
    "totals, groups of relations, and roots.",
    (
        TableColumn("model map", "text", "what was read"),
        TableColumn("chosen_on", "text", "the treebank that chooses the heads"),
        TableColumn("scored_on", "text", "the treebank that scores them; empty for the mean over all other treebanks"),
        TableColumn("treebanks relations", "count", "treebanks that score, and relations in the mean"),
        TableColumn("n", "count", "words of these relations in the treebanks that score"),
        TableColumn("accuracy heldout", "share", "the means over relations, and then over treebanks"),
        TableColumn("loss loss_low loss_high", "points", "`accuracy` − `heldout`"),
        TableColumn("only_chosen only_scored", "text", "relations that only one of the two treebanks has"),
    ),
)


_MOST_ROWS = 8
_DARK = 0.85  # of the largest loss, from which on its text is white


@dataclass(frozen=True, eq=False)
class TransferRows:
    """The rows of both tables of transfer, and the treebanks that choose compared with each other."""

    rows: Sequence[Mapping[str, Any]] = ()
    means: Sequence[Mapping[str, Any]] = ()
    choosers: tuple[ModelChoosers, ...] = ()


class Transfer(SurveyQuestion):
    """How good is the head that one treebank chooses on another treebank?"""

    name = "transfer"
    tables = (SURVEY_TRANSFER, SURVEY_TRANSFER_MEANS)
    template = Path(__file__).with_name("transfer.html.j2")
    collection = TransferRows

    def collector(self, facts: SurveyFacts) -> TransferCollector | None:
        """Return what scores the heads of each treebank on the others, if there are several."""
        return TransferCollector(facts) if len(facts.treebanks) > 1 else None

    def find(
        self, counts: SurveyFacts, lookups: TransferRows | None, earlier: Mapping[str, Any]
    ) -> TransferRows | None:
        """Return the losses; None if no model was counted on several treebanks."""
        return lookups if lookups and lookups.means else None

    def frames(self, answer: TransferRows, results: SurveyFacts) -> Mapping[str, pd.DataFrame]:
        """Return the tables as they are written."""
        rows = {SURVEY_TRANSFER: answer.rows, SURVEY_TRANSFER_MEANS: answer.means}
        return {schema.name: rows_table(of_table, schema) for schema, of_table in rows.items() if of_table}

    def show(self, answer: TransferRows, results: SurveyFacts) -> Sequence[ShownTable]:
        """Return the mean losses, and those for one relation."""
        return transfer_table(answer, results), transfer_relation_table(answer, results, results.view)

    def draw(self, answer: TransferRows, results: SurveyFacts, title: str) -> Mapping[str, Figure]:
        """Draw the losses, if there are any."""
        figure = transfer_figure(answer, results)
        return {} if figure is None else {"survey_transfer": figure}

    def values(self, answer: TransferRows, results: SurveyFacts) -> Mapping[str, Any]:
        """Return what was found, the relation that is shown, and the relations that only one treebank has."""
        return {
            "transfer_findings": self.say(answer, results),
            "transfer_relation": transfer_relation(answer, results),
            "only_in_one": only_in_one(answer.means),
        }

    def say(self, answer: TransferRows, survey: SurveyFacts) -> Sequence[str]:
        """Return which treebanks choose heads that transfer clearly worse."""
        return list(transfer_findings(answer.choosers))


class TransferCollector(Collector[KeptCounts, TransferRows]):
    """Keeps the counts of all cells, and scores the heads of each treebank on the others at the end."""

    def __init__(self, facts: SurveyFacts) -> None:
        self._min_count = facts.min_count
        # By model and kind of map, in the order of the survey, and then by treebank.
        self._kept: dict[tuple[str, str], dict[str, KeptCounts]] = {
            (model, kind): {} for model in facts.models for kind in facts.maps
        }

    def keep(self, counts: CellCounts) -> KeptCounts:
        """Return what is needed to score heads of other treebanks on this one, and its heads on others."""
        words = counts.words
        in_means = averaged_relations(words.members, words.facts.asked)
        return kept_counts(words.members, in_means, counts.families[0].measured, (words.subsets, words.replicates))

    def add(self, treebank: str, cells: Sequence[KeptCell], pairing_of: Callable[[str, str], Pairing]) -> None:
        """Keep the counts of all models on a treebank."""
        for cell in cells:
            for kind, kept in cell.kept.items():
                self._kept[cell.model, kind][treebank] = kept

    def collect(self) -> TransferRows:
        """Return the rows of all models and kinds of maps."""
        found = {
            key: transfers(by_treebank, self._min_count, model=key[0], map=key[1])
            for key, by_treebank in self._kept.items()
        }
        return TransferRows(
            [row for of_model in found.values() for row in of_model.rows],
            [row for of_model in found.values() for row in of_model.means],
            tuple(ModelChoosers(*key, tuple(of_model.choosers)) for key, of_model in found.items()),
        )


class _TransferRows(NamedTuple):
    """Heads of one treebank on another: a row for each relation, their mean, and how far the mean loss deviates."""

    rows: list[Row]
    mean: Row
    deviations: Array
    losses: Mapping[str, Loss]  # of the relations that are part of the mean


class Transfers(NamedTuple):
    """The same of one model with one kind of map."""

    rows: list[Row]
    means: list[Row]
    choosers: list[ChooserContrast]


def transfers(treebanks: Mapping[str, KeptCounts], min_count: int, **labels: str) -> Transfers:
    """Score the best heads of each treebank on every other one.

    The counts are those of one model with one kind of map. Relations that are part of means have at least ``min_count``
    words in both treebanks. The labels are further columns of all rows, such as the name of the model.
    """
    # An order of its own, as if the name of the treebank were part of the ids of its sentences.
    orders = {name: replicate_order(name, kept.replicates.total.shape[1]) for name, kept in treebanks.items()}
    choosers = Choosers({name: _units(kept) for name, kept in treebanks.items()})
    pairs: dict[str, list[_TransferRows]] = {name: [] for name in treebanks}  # by the treebank that chose
    for scored_on in treebanks:
        transferred = {
            name: _transfer(name, scored_on, treebanks, orders, min_count) for name in treebanks if name != scored_on
        }
        choosers.add(scored_on, {name: pair.losses for name, pair in transferred.items()})
        for name, pair in transferred.items():  # without the losses, to save memory
            pairs[name].append(pair._replace(losses={}))
    rows, means = list[Row](), list[Row]()
    for chosen_on, of_choice in pairs.items():
        rows += [{**labels, **row} for pair in of_choice for row in pair.rows]
        means += [{**labels, **pair.mean} for pair in of_choice]
        if pairs_with_mean := [pair for pair in of_choice if pair.mean["relations"]]:
            means.append({**labels, "chosen_on": chosen_on, "scored_on": "", **_mean_over_treebanks(pairs_with_mean)})
    return Transfers(rows, means, choosers.contrasts())


def _units(kept: KeptCounts) -> float:
    """Return the effective number of sentences of a treebank, by the words of all relations that are part of means."""
    rows = sorted({row for name in kept.in_means for row in kept.groups[name]})
    n_words = sum(kept.heldout[name].n for name in kept.in_means)
    return effective_number_drawn(n_words, sum_groups(kept.replicates.total[rows]))


def _mean_over_treebanks(pairs: Sequence[_TransferRows]) -> Row:
    """Return the mean of what the heads of one treebank reach on several others."""
    relations = {name for pair in pairs for name in pair.mean["used"]}
    mean = _mean([pair.mean for pair in pairs], [pair.deviations for pair in pairs])
    return {"treebanks": len(pairs), "relations": len(relations), **mean, "only_chosen": "", "only_scored": ""}


def _transfer(
    chosen_on: str,
    scored_on: str,
    treebanks: Mapping[str, KeptCounts],
    orders: Mapping[str, Array],
    min_count: int,
) -> _TransferRows:
    """Score the heads of one treebank on another, whose replicates have these orders."""
    choice, score = treebanks[chosen_on], treebanks[scored_on]
    rows = list[Row]()
    rows_in_mean, deviations_in_mean = list[Row](), list[Array]()
    losses: dict[str, Loss] = {}
    for relation in choice.groups:
        if relation not in score.groups:
            continue
        head = argbest(choice.correct[relation])
        direction, layer, head_in_layer = head
        correct = score.correct[relation]
        heldout = score.heldout[relation]  # the accuracy of heads that the scoring treebank chooses itself
        accuracy = rate(int(correct[head]), heldout.n)
        of_score, (low, high) = score.scores(relation, head)
        of_choice = choice_deviations(choice.best_again[relation], correct, heldout.n)
        # Each of the two independent parts is in the order of the replicates of its own treebank.
        deviations = (of_score - heldout.deviations)[orders[scored_on]] + of_choice[orders[chosen_on]]
        row = {
            "chosen_on": chosen_on,
            "scored_on": scored_on,
            "relation": relation,
            "layer": layer + 1,
            "head": head_in_layer + 1,
            "direction": READINGS[direction],
            "n_chosen": choice.heldout[relation].n,
            "n": heldout.n,
            "correct": int(correct[head]),
            "accuracy": accuracy,
            "low": low,
            "high": high,
            "heldout": heldout.value,
            **_loss(accuracy - heldout.value, deviations),
        }
        rows.append(row)
        is_frequent = min(row["n_chosen"], row["n"]) >= min_count
        if is_frequent and relation in choice.in_means and not math.isnan(row["loss"]):
            rows_in_mean.append(row)
            deviations_in_mean.append(deviations)
            losses[relation] = Loss(row["loss"], heldout.n, deviations)
    mean = {
        "chosen_on": chosen_on,
        "scored_on": scored_on,
        "treebanks": 1,
        "relations": len(rows_in_mean),
        **_mean(rows_in_mean, deviations_in_mean),
        "only_chosen": _only_in_first(choice, score),
        "only_scored": _only_in_first(score, choice),
        "used": [row["relation"] for row in rows_in_mean],
    }
    deviations_of_mean = np.mean(deviations_in_mean, axis=0) if rows_in_mean else np.zeros(0)
    return _TransferRows(rows, mean, deviations_of_mean, losses)


def _mean(rows: Sequence[Row], deviations: Sequence[Array]) -> Row:
    """Return the means of some rows, each with the same weight, and the interval of the mean loss."""
    if not rows:
        return {"n": 0, **dict.fromkeys(("accuracy", "heldout", "loss", "loss_low", "loss_high"), math.nan)}
    means = {name: float(np.mean([row[name] for row in rows])) for name in ("accuracy", "heldout", "loss")}
    return {"n": sum(row["n"] for row in rows), **means, **_loss(means["loss"], np.mean(deviations, axis=0))}


def _loss(value: float, deviations: Array) -> Row:
    """Return a loss with its interval, which is that of any held-out difference."""
    return dict(zip(("loss", "loss_low", "loss_high"), gain_columns(value, deviations).values(), strict=True))


def _only_in_first(first: KeptCounts, second: KeptCounts) -> str:
    """Return the relations that only the first of two treebanks has."""
    return ", ".join(name for name in first.groups if name not in second.groups)


def only_in_one(means: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the relations that only one of two treebanks has, by the name of both: ``ewt but not gsd``."""
    return {f"{row['chosen_on']} but not {row['scored_on']}": row["only_chosen"] for row in means if row["only_chosen"]}


def transfer_table(answer: TransferRows, survey: SurveyFacts) -> ShownTable:
    """Return the mean losses: treebanks that choose heads as rows, and those that score them as columns."""
    rows = {(row["model"], row["map"], row["chosen_on"], row["scored_on"]): row for row in answer.means}
    columns = [*_columns_of_choice(survey), *_columns_of_scores(survey), entry_column(on(""), "mean")]
    title = "Mean loss over relations of the heads that another treebank chose (points)"
    return ShownTable("survey_transfer", title, columns, [_losses(survey, rows, key) for key in _choices(rows)])


def transfer_relation_table(
    answer: TransferRows,
    survey: SurveyFacts,
    view: Callable[[Cell, str, Mapping[str, Any]], str] = lambda *_: "",
) -> ShownTable:
    """Return the losses for one relation, see `transfer_relation`; ``view`` links a head to the report of its cell."""
    relation = transfer_relation(answer, survey)
    row_of = {
        (row["model"], row["map"], row["chosen_on"], row["scored_on"]): row
        for row in answer.rows
        if row["relation"] == relation
    }
    # A chosen head is the same on all treebanks that score it, so any of their rows describes it.
    chosen_heads = {
        (model, kind, chosen_on): {**row, "view": view(Cell(model, chosen_on), kind, row)}
        for (model, kind, chosen_on, _), row in row_of.items()
    }
    columns = [
        *_columns_of_choice(survey),
        replace(HEAD, link=lambda row: row["view"]),
        TableColumn("direction", "text", "", "direction", cell=direction),
        *_columns_of_scores(survey),
    ]
    shown = [{**chosen_heads[choice], **_losses(survey, row_of, choice)} for choice in _choices(row_of)]
    title = f"{relation}: loss of the head that another treebank chose (points)"
    return ShownTable("survey_transfer_relation", title, columns, shown)


def transfer_relation(answer: TransferRows, survey: SurveyFacts) -> str:
    """Return the relation whose losses are shown beside the means: all words if they have a row, or the survey's."""
    return ALL if any(row["relation"] == ALL for row in answer.rows) else survey.relation


def on(treebank: str) -> str:
    """Return the key of the entries of a treebank that scores, which is not one of the other keys of a row."""
    return f"on {treebank}"


def _columns_of_choice(survey: SurveyFacts) -> list[TableColumn]:
    """Return the columns of what chose heads: the model, the kind of map if there are several, and the treebank."""
    several = len(survey.maps) > 1
    return [
        TableColumn("model", "text", "", "model", wraps=True),
        *([TableColumn("map", "text", "", "map")] if several else []),
        TableColumn("chosen_on", "text", "", "chosen on"),
    ]


def _columns_of_scores(survey: SurveyFacts) -> list[TableColumn]:
    short = survey.short_treebanks
    return [entry_column(on(treebank), short[treebank]) for treebank in survey.treebanks]


def _choices(rows: Mapping[tuple[str, str, str, str], Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return the model, the kind of map and the treebank that chooses of rows by these and the one that scores."""
    return list(dict.fromkeys((model, kind, chosen_on) for model, kind, chosen_on, _ in rows))


def _losses(
    survey: SurveyFacts, rows: Mapping[tuple[str, str, str, str], Mapping[str, Any]], key: tuple[str, str, str]
) -> Row:
    """Return the losses of the heads of one treebank on each treebank, and as a mean."""
    model, kind, chosen_on = key
    names = {"model": survey.short_models[model], "map": kind}
    entries = {}
    for scored_on in (*survey.treebanks, ""):  # which stands for their mean
        row = rows.get((*key, scored_on))
        text = percent(row["loss"], sign=True) if row else "–"
        details = shown_interval(row["loss_low"], row["loss_high"]) if row else ""
        entries[on(scored_on)] = Entry(row["loss"] if row else float("nan"), text, details)
    return {**names, "chosen_on": survey.short_treebanks[chosen_on], **entries}


class _Panel(NamedTuple):
    """A matrix of losses in percentage points: what chose heads, or the model, as rows, and what they are scored on."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    losses: npt.NDArray[np.float64]


@with_style
def transfer_figure(answer: TransferRows, survey: SurveyFacts) -> Figure | None:
    """Draw the losses of heads, if any, on one scale around 0: means over relations, and the losses of one relation."""
    tables = {
        "mean over relations": transfer_table(answer, survey).rows,
        transfer_relation(answer, survey): transfer_relation_table(answer, survey).rows,
    }
    models = list(dict.fromkeys((row["model"], row["map"]) for row in tables["mean over relations"]))
    # Of two treebanks, a matrix would have two cells, so that all models share one. Otherwise, each has its own.
    shares = len(survey.treebanks) == 2
    shown = models if shares else models[:_MOST_ROWS]
    several = len(survey.maps) > 1
    names = {(model, kind): f"{model} ({kind})" if several else str(model) for model, kind in shown}
    if shares:
        found = [_of_pairs(title, rows, names, survey) for title, rows in tables.items()]
    else:
        found = [
            _of_model(f"{name}: {title}", [row for row in rows if (row["model"], row["map"]) == key], survey)
            for key, name in names.items()
            for title, rows in tables.items()
        ]
    if not (found := [panel for panel in found if np.isfinite(panel.losses).any()]):
        return None
    n_rows, n_columns = (max(each.losses.shape[axis] for each in found) for axis in (0, 1))
    columns = min(2, len(found))
    width = min(TEXT / 2, 1.3 + 0.5 * n_columns)
    lines = -(-len(found) // columns)
    figure, grid = panels(columns * width, 1.0 + lines * (1.0 + 0.3 * n_rows), lines, columns)
    most = max(1.0, *(float(np.nanmax(np.abs(each.losses))) for each in found))
    for axes, panel in zip(grid.flat, found, strict=False):
        image = heatmap(axes, panel.losses, -most, most, colors=AROUND_ZERO)
        for y, x in zip(*np.nonzero(np.isfinite(panel.losses)), strict=True):
            loss = panel.losses[y, x]
            write_entry(axes, x, y, percent(loss / 100, sign=True), is_dark=abs(loss) > _DARK * most)
        axes.set_yticks(range(len(panel.rows)), panel.rows)
        axes.set_xticks(range(len(panel.columns)), panel.columns, rotation=35, ha="right")
        axes.tick_params(length=0)
        axes.set_title(wrap(panel.title, width - 0.5), loc="left")
        if not shares:
            axes.set_ylabel("chosen on")
            axes.set_xlabel("scored on")
    for axes in grid.flat[len(found) :]:
        axes.set_visible(False)
    figure.colorbar(
        image,
        ax=grid,
        label="loss (percentage points; below 0, the chosen head finds less)",
        location="bottom",
        shrink=0.6,
        aspect=30,
        pad=0.03,
    )
    if len(models) > len(shown):
        title = f"The first {_MOST_ROWS} of {len(models):,} models and kinds of maps; all are in the table"
        finish(figure, grid[0, 0], title)
    return figure


def _of_model(title: str, rows: Sequence[Mapping[str, Any]], survey: SurveyFacts) -> _Panel:
    """Return the losses of one model and kind of map: treebanks that chose as rows, those that score as columns."""
    losses = np.array([[100 * row[on(name)].value for name in survey.treebanks] for row in rows])
    return _Panel(title, [row["chosen_on"] for row in rows], list(survey.short_treebanks.values()), losses)


def _of_pairs(
    title: str, rows: Sequence[Mapping[str, Any]], names: Mapping[tuple[str, str], str], survey: SurveyFacts
) -> _Panel:
    """Return the losses of all models: models and kinds of maps as rows, both ways from treebank to treebank."""
    short = survey.short_treebanks
    pairs = [(chosen, scored) for chosen in survey.treebanks for scored in survey.treebanks if chosen != scored]
    row_of = {(row["model"], row["map"], row["chosen_on"]): row for row in rows}
    losses = np.full((len(names), len(pairs)), np.nan)
    for y, key in enumerate(names):
        for x, (chosen, scored) in enumerate(pairs):
            if row := row_of.get((*key, short[chosen])):
                losses[y, x] = 100 * row[on(scored)].value
    return _Panel(title, [*names.values()], [f"{short[chosen]} → {short[scored]}" for chosen, scored in pairs], losses)
