"""The matrix of a survey for a terminal, and what a reader has to know about its numbers."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from .matrices import Entry, MatrixMaker, short_names
from .results import Survey, grid_size


def survey_matrix(survey: Survey) -> RenderableType:
    """Return the held-out accuracies of one relation, models and maps as rows, and below it what failed.

    Each has the accuracy of the best fixed offset and the number of words; entries with few words are gray.
    """
    matrices, several = MatrixMaker(survey).of(survey.relation), len(survey.maps) > 1
    names = short_names(survey.treebanks)
    # A title or caption of the table itself would be wrapped at the width of the table, which may be narrow.
    title = f"{survey.relation}: held-out accuracy of the best head, and accuracy of the best fixed offset (in %)"
    caption = (
        f"n in parentheses: fewer than {survey.min_count} words, too few for reliable conclusions.\n"
        "All relations, intervals and contrasts are in the report and in the tables."
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("model", overflow="fold")
    if several:
        table.add_column("map", no_wrap=True)
    for treebank in survey.treebanks:
        table.add_column(escape(names[treebank]), justify="right", overflow="fold")
    for row in matrices.accuracies:
        table.add_row(*map(escape, [row.model, *([row.kind] if several else [])]), *map(_cell, row.entries))
    lines = [f"Survey of {grid_size(survey.models, survey.treebanks, survey.maps)}.", *_differences(survey)]
    lines += [f"Warning: {warning}" for warning in survey.warnings]
    for result, failure in survey.failures:
        where = f"{result.cell.model} on {result.cell.treebank}" + (f" ({failure.kind})" if failure.kind else "")
        lines.append(f"Failed: {where}: {failure.reason}")
    return Group(escape(title), table, escape(caption), "", *map(escape, lines))


def _cell(entry: Entry) -> str:
    text = escape(f"{entry.text} {entry.short}".rstrip())
    return f"[dim]{text}[/dim]" if entry.weak else text


def _differences(survey: Survey) -> list[str]:
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
