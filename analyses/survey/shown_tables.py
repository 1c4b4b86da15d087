"""The tables of a survey that people read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rich.console import Group, RenderableType

from ...reports.columns import HEAD, Row, TableColumn
from ...reports.format import direction, interval, percent, rows_of
from ...reports.table import ShownTable, as_line
from ...storage.writing import amount
from ..dependency.accuracy import ALL
from .choosers import transfer_findings
from .columns import SURVEY_CELLS
from .contrasts import SurveyContrast
from .matrices import MEAN, Entry, MatrixMaker, pair_name, short_names
from .results import Survey, grid_size
from .tables import Cell


def in_terminal(survey: Survey, width: int) -> RenderableType:
    """Return the warnings, the matrix of one relation, with models and maps as rows, and what a reader has to know."""
    lines = [f"Survey of {grid_size(survey.models, survey.treebanks, survey.maps)}.", *_differences_in_words(survey)]
    if survey.left_out_heads:
        roots = sum(left_out["roots"] for left_out in survey.left_out_heads)
        empty_nodes = sum(left_out["empty_nodes"] for left_out in survey.left_out_heads)
        lines.append(
            "The gold are the enhanced dependencies; left out in all cells together: "
            f"{roots:,} heads that are the root, {empty_nodes:,} that are empty nodes."
        )
    lines += transfer_findings(survey.choosers)
    for result, failure in survey.failures:
        kind = f" ({failure.kind})" if failure.kind else ""
        lines.append(f"Failed: {result.cell.model} on {result.cell.treebank}{kind}: {failure.reason}")
    matrix, fit = accuracies_table(MatrixMaker(survey), survey.relation), fit_table(survey)
    tables = [matrix, fit] if fit.rows else [matrix]
    warnings = [as_line(f"Warning: {warning}") for warning in survey.warnings]
    return Group(*warnings, *(part for table in tables for part in (table.terminal(width), "")), *map(as_line, lines))


def accuracies_table(maker: MatrixMaker, relation: str) -> ShownTable:
    """Return the held-out accuracies of one relation: models and maps as rows, treebanks as columns."""
    survey, short = maker.survey, short_names(maker.survey.treebanks)
    columns = [
        TableColumn("model", "text", "", "model", wraps=True),
        *([TableColumn("map", "text", "", "map")] if len(survey.maps) > 1 else []),
        *(_entry_column(treebank, short[treebank], shaded=True) for treebank in survey.treebanks),
    ]
    notes = (
        "In each entry: the best head, the number of words (n), and the accuracy of the best fixed offset. n in "
        f"parentheses: fewer than {amount(survey.min_count, 'words')}, too few for reliable conclusions.",
        "All relations, intervals and contrasts are in the report and in the tables.",
    )
    title = f"{relation}: held-out accuracy of the best head, and accuracy of the best fixed offset (in %)"
    return ShownTable("survey_accuracies", title, columns, maker.accuracies(relation), notes=notes)


def differences_table(maker: MatrixMaker, relation: str) -> ShownTable:
    """Return the differences of one relation between kinds of maps, or between models, on all treebanks."""
    survey, short = maker.survey, short_names(maker.survey.treebanks)
    columns = [
        TableColumn("difference", "text", "", "difference", wraps=True),
        *(_entry_column(treebank, short[treebank]) for treebank in survey.treebanks),
        *([_entry_column(MEAN, MEAN)] if survey.means else []),
    ]
    rows = maker.differences(relation)
    return ShownTable("survey_differences", f"{relation}: differences (points)", columns, rows)


def _entry_column(key: str, heading: str, *, shaded: bool = False) -> TableColumn:
    """Return the column of the entries that rows have under a key."""
    return TableColumn(
        "",
        "entry",
        "",
        heading,
        cell=lambda row: row[key].text,
        beside=lambda row: row[key].details,
        beside_in="any",
        look=lambda row: row[key].look,
        shade=(lambda row: row[key].shade) if shaded else None,
        link=lambda row: row[key].address,
        wraps=True,
    )


def failures_table(survey: Survey) -> ShownTable:
    """Return the cells that could not be counted, with the reasons."""
    names = ("model", "treebank", "map", "reason")
    columns = [TableColumn(name, "text", "", name, wraps=name == "reason") for name in names]
    rows = [
        {**vars(result.cell), "map": failure.kind or "all", "reason": failure.reason}
        for result, failure in survey.failures
    ]
    return ShownTable("survey_failures", "What failed", columns, rows)


def fit_table(survey: Survey) -> ShownTable:
    """Return how much of each treebank each model can read, whatever the kind of map."""
    headings = "pieces per word", "split words", "unknown words", "unknown pieces", "lost characters", "verdict"
    columns = [
        TableColumn("model", "text", "", "model", wraps=True),
        TableColumn("treebank", "text", "", "treebank"),
        *SURVEY_CELLS.only(*headings),
    ]
    counted = survey.cells_table[survey.cells_table["pieces_per_word"].notna()]
    models, treebanks = short_names(survey.models), short_names(survey.treebanks)
    rows = [
        {**row, "model": models[row["model"]], "treebank": treebanks[row["treebank"]]}
        for row in rows_of(counted.drop_duplicates(["model", "treebank"]))
    ]
    return ShownTable("survey_fit", "Whether the models fit the treebanks (shares in %)", columns, rows)


def contrasts_table(survey: Survey) -> ShownTable:
    """Return how many relations differ significantly in each contrast."""
    columns = [
        TableColumn("name", "text", "", "difference"),
        TableColumn("treebanks", "text", "", "treebank"),
        TableColumn("tested", "count", "", "tested relations"),
        TableColumn("above", "count", "", "above 0"),
        TableColumn("below", "count", "", "below 0"),
        TableColumn("paired", "text", "", "inputs"),
    ]
    models = short_names(survey.models)
    rows = [_contrast_row(one, models) for one in (*survey.contrasts, *survey.means)]
    return ShownTable("survey_significant", "Significant differences", columns, rows)


def transfer_table(survey: Survey) -> ShownTable:
    """Return the mean losses: treebanks that choose heads as rows, and those that score them as columns."""
    rows = {(row["model"], row["map"], row["chosen_on"], row["scored_on"]): row for row in survey.transfer_mean_rows}
    columns = [*_columns_of_choice(survey), *_columns_of_scores(survey), _entry_column(on(""), "mean")]
    title = "Mean loss over relations of the heads that another treebank chose (points)"
    return ShownTable("survey_transfer", title, columns, [_losses(survey, rows, key) for key in _choices(rows)])


def transfer_relation_table(survey: Survey, view: Callable[[Cell, str, Row], str] = lambda *_: "") -> ShownTable:
    """Return the losses for one relation, see `transfer_relation`; ``view`` links a head to the report of its cell."""
    relation = transfer_relation(survey)
    row_of = {
        (row["model"], row["map"], row["chosen_on"], row["scored_on"]): row
        for row in survey.transfer_rows
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


def transfer_relation(survey: Survey) -> str:
    """Return the relation whose losses are shown beside the means: all words if they have a row, or the survey's."""
    return ALL if any(row["relation"] == ALL for row in survey.transfer_rows) else survey.relation


def on(treebank: str) -> str:
    """Return the key of the entries of a treebank that scores, which is not one of the other keys of a row."""
    return f"on {treebank}"


def _columns_of_choice(survey: Survey) -> list[TableColumn]:
    """Return the columns of what chose heads: the model, the kind of map if there are several, and the treebank."""
    several = len(survey.maps) > 1
    return [
        TableColumn("model", "text", "", "model", wraps=True),
        *([TableColumn("map", "text", "", "map")] if several else []),
        TableColumn("chosen_on", "text", "", "chosen on"),
    ]


def _columns_of_scores(survey: Survey) -> list[TableColumn]:
    short = short_names(survey.treebanks)
    return [_entry_column(on(treebank), short[treebank]) for treebank in survey.treebanks]


def _choices(rows: Mapping[tuple[str, str, str, str], Row]) -> list[tuple[str, str, str]]:
    """Return the model, the kind of map and the treebank that chooses of rows by these and the one that scores."""
    return list(dict.fromkeys((model, kind, chosen_on) for model, kind, chosen_on, _ in rows))


def _losses(survey: Survey, rows: Mapping[tuple[str, str, str, str], Row], key: tuple[str, str, str]) -> Row:
    """Return the losses of the heads of one treebank on each treebank, and as a mean."""
    model, kind, chosen_on = key
    names = {"model": short_names(survey.models)[model], "map": kind}
    entries = {}
    for scored_on in (*survey.treebanks, ""):  # which stands for their mean
        row = rows.get((*key, scored_on))
        text = percent(row["loss"], sign=True) if row else "–"
        details = interval(row["loss_low"], row["loss_high"]) if row else ""
        entries[on(scored_on)] = Entry(row["loss"] if row else float("nan"), text, details)
    return {**names, "chosen_on": short_names(survey.treebanks)[chosen_on], **entries}


def _contrast_row(one: SurveyContrast, models: dict[str, str]) -> Row:
    """Return how many relations of a contrast were tested, and differ significantly on either side."""
    tested = one.contrast.tested
    return {
        "name": pair_name(one.contrast, models),
        "treebanks": one.treebank or f"mean of up to {max(one.treebanks.values())}",
        "tested": len(tested),
        "above": sum(row.significant and row.difference > 0 for row in tested),
        "below": sum(row.significant and row.difference < 0 for row in tested),
        "paired": one.contrast.pairing,
    }


def _differences_in_words(survey: Survey) -> list[str]:
    """Return sentences about how many differences were tested, and how many of these are significant."""
    rows = [row for one in survey.contrasts for row in one.contrast.differences]
    tested = [row for row in rows if row.tested]
    why = "see the column “reason” of tables/survey_contrasts.csv."
    if not tested:
        return [f"Differences that are tested: none of {len(rows):,}; {why}"] if rows else []
    significant, untested = sum(row.significant for row in tested), len(rows) - len(tested)
    return [
        f"Significant differences (p (Holm) below 0.05): {significant:,} of {len(tested):,} that are tested.",
        "The intervals in the report and in the tables are not adjusted for the number of tests.",
        *([f"Differences that are not tested: {untested:,}; {why}"] if untested else []),
    ]
