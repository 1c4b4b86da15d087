"""The matrix of a survey for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from attentionology.analyses.survey.matrices import MatrixMaker, short_names
from attentionology.analyses.survey.results import Survey, grid_size


def survey_matrix(survey: Survey) -> RenderableType:
    """Return the held-out accuracies of one relation, models and maps as rows, and below it what failed."""
    matrices, several = MatrixMaker(survey).of(survey.relation), len(survey.maps) > 1
    names = short_names(survey.treebanks)
    # A title or caption of the table itself would be wrapped at the width of the table, which may be narrow.
    title = f"{survey.relation}: held-out accuracy of the best head (in %)"
    caption = "All relations, intervals and contrasts are in the report and in the tables."
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("model", overflow="fold")
    if several:
        table.add_column("map", no_wrap=True)
    for treebank in survey.treebanks:
        table.add_column(escape(names[treebank]), justify="right", overflow="fold")
    for row in matrices.accuracies:
        cells = [row.model, *([row.kind] if several else []), *(entry.text for entry in row.entries)]
        table.add_row(*map(escape, cells))
    tested = [row for one in survey.contrasts for row in one.contrast.tested]
    lines = [f"Survey of {grid_size(survey.models, survey.treebanks, survey.maps)}."]
    if tested:
        significant = sum(row.significant for row in tested)
        lines.append(f"Of {len(tested):,} tested differences, {significant:,} are significant (p (Holm) below 0.05).")
    for result, failure in survey.failures:
        where = f"{result.cell.model} on {result.cell.treebank}" + (f" ({failure.kind})" if failure.kind else "")
        lines.append(f"Failed: {where}: {failure.reason}")
    return Group(escape(title), table, escape(caption), "", *map(escape, lines))
