"""Does regularization tie attention to the words? (Tutek & Šnajder 2020)"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....extractors import AttentionModel, probabilities
from ....reports.columns import Row, TableColumn
from ....reports.drawing import BLACK, BLUE, COLUMN, TEXT, finish, panels, with_style
from ....reports.format import rows_of
from ....reports.shapes import name_rows
from ....reports.table import ShownTable
from ..contract.explanation_test import Drawing, ExplanationTest, Findings
from ..contract.options import REGULARIZERS
from ..contract.registry import column_of, owner_of, registered_tests, with_unit
from ..contract.results import ExplainResults
from ..contract.summary import OVERALL, Bootstrap, summarize
from ..examination.sources import Classifiers, words_only
from ..examination.subject import Tested
from ..showing.columns import shown_bounds, shown_value
from ..showing.plots import clip_name, has_values

_READS = (
    *("conicity", "tau_gradient", "tau_loo", "permutation_tvd", "permutation_flip", "exact_jsd", "two_word_jsd"),
    *("single_attention_top_flip", "removal_attention", "single_token_std", "top_token_agrees"),
)
_PANELS = ("accuracy", "permutation_tvd", "exact_jsd", "two_word_jsd", "single_token_std", "tau_loo", "conicity")


def _regularizer(name: str) -> TableColumn:
    """Return the column of one regularizer in `_by_regularizer`; a dash for measures that its model does not have."""

    def mean(row: Row) -> str:
        return shown_value(row[f"{name} mean"], row["unit"]) if f"{name} mean" in row else "–"

    def bounds(row: Row) -> str:
        return shown_bounds(row[f"{name} low"], row[f"{name} high"], row["unit"]) if f"{name} mean" in row else ""

    return TableColumn("", "number", "", name, cell=mean, beside=bounds)


@with_style
def regularizers_figure(results: ExplainResults, title: str) -> Figure | None:
    """Draw a panel for each of the most important measures, with a dot and its interval for each regularizer."""
    table = results.table("regularizers")
    if not has_values(table, "mean"):
        return None
    with_values = list(dict.fromkeys(table.loc[table["mean"].notna(), "measure"]))
    measures = [name for name in _PANELS if name in with_values] or with_values[: len(_PANELS)]
    names = list(dict.fromkeys(table["regularizer"]))
    n_columns = min(3, len(measures))
    n_lines = math.ceil(len(measures) / n_columns)
    height = 0.4 + n_lines * (0.75 + 0.2 * len(names))
    figure, grid = panels(COLUMN if n_columns == 1 else TEXT, height, n_lines, n_columns)
    for axes in grid.flat[len(measures) :]:
        axes.axis("off")
    for index, measure in enumerate(measures):
        axes = grid.flat[index]
        factor = 100.0 if column_of(measure).unit == "%" else 1.0
        by_regularizer = dict(table[table["measure"] == measure].set_index("regularizer").iterrows())
        for position, name in enumerate(names):
            if name in by_regularizer:
                _dot(axes, by_regularizer[name], position, factor, BLACK if name == "none" else BLUE)
        is_leftmost = index % n_columns == 0
        name_rows(axes, [clip_name(name) if is_leftmost else "" for name in names], [""] * len(names))
        axes.grid(axis="x")
        axes.margins(x=0.12)
        axes.set_xlabel(textwrap.fill(with_unit(measure), 30))
    finish(figure, grid[0, 0], title)
    return figure


def _dot(axes: Axes, row: pd.Series[Any], height: int, factor: float, color: str) -> None:
    """Draw a mean at a height, with its interval if there is one; a factor of 100 shows shares in percent."""
    mean, low, high = (factor * float(row[name]) for name in ("mean", "low", "high"))
    if not math.isnan(low):
        axes.plot([low, high], [height, height], color=color, linewidth=1.2, zorder=2)
    axes.scatter([mean], [height], s=20, color=color, zorder=3)


def regularizers(tested: Tested, earlier: Mapping[str, Findings]) -> Findings:
    """Train a model with every other regularizer and examine all of them."""
    source, seed = tested.source, tested.options.seed
    assert isinstance(source, Classifiers)  # noqa: S101 the test is left out otherwise
    chosen: str = tested.options.classifier.regularizer
    trainings, left_out = [], []
    for name in ("none", *REGULARIZERS):
        if name != chosen:
            make = partial(source.make, regularizer=None if name == "none" else name)
            try:
                make(seed)  # only to learn whether the classifier can have this regularizer
            except ValueError as error:
                left_out.append((f"regularizer {name}", str(error)))
            else:
                trainings.append(tested.training(name, "regularizer", seed, make=make))
    models = tested.train(trainings, "train regularizers")
    tables = {chosen: _measure(tested, tested.model)}
    scores = []
    for name, model in models.items():
        tables[name] = _measure(tested, model)
        score, _ = tested.score(name, "regularizer", probabilities(model, tested.words).numpy())
        scores.append(score)
    compared = {}  # by regularizer, in the order in which they are shown
    for name in ("none", *REGULARIZERS):
        if name in tables:
            kept = [column for column in ("predicted", "correct", *_READS) if column in tables[name]]
            compared[name] = tables[name][kept]
    return Findings(models=tuple(scores), measured=compared, left_out=tuple(left_out))


def _measure(tested: Tested, model: AttentionModel) -> pd.DataFrame:
    """Return a per-text table with the columns that are compared, computed only if it does not exist yet."""
    owners = {owner_of()[column] for column in _READS}
    options = replace(tested.options.tests, steps=0)  # the search by gradient is no part of the comparison
    tests = [test for name, test in registered_tests().items() if name in owners and not test.always]
    possible = [test for test in tests if test.impossible(model, options) is None]
    if model is tested.model and {*possible} <= {*tested.tests}:
        return tested.table
    return tested.examine(model, possible, options, "examine regularizers")


def _summarize(
    measured: Mapping[str, pd.DataFrame], classes: Sequence[str], bootstrap: Bootstrap
) -> dict[str, pd.DataFrame]:
    """Return the table of the means of all models, given their per-text tables by regularizer."""
    parts = []
    for name, table in measured.items():
        columns = [str(column) for column in table.columns if column != "predicted"]
        rows = summarize(table, {TEST.name: columns}, classes, bootstrap)
        overall = rows.loc[rows["predicted"] == OVERALL, ["measure", "n", "mean", "low", "high"]]
        parts.append(overall.replace({"measure": {"correct": "accuracy"}}).assign(regularizer=name))
    if not parts:
        return {}
    order = ["regularizer", "measure", "n", "mean", "low", "high"]
    return {"regularizers": pd.concat(parts)[order].reset_index(drop=True)}


def _by_regularizer(results: ExplainResults) -> dict[str, Any]:
    """Return the table on the page: a row for each measure, with a column for each regularizer."""
    table = results.table("regularizers")
    rows: dict[str, dict[str, Any]] = {}  # by measure
    for long_row in rows_of(table):  # one measure of one regularizer
        regularizer, measure = long_row["regularizer"], column_of(long_row["measure"])
        row = rows.setdefault(long_row["measure"], {"label": measure.label, "unit": measure.unit})
        row |= {f"{regularizer} {name}": long_row[name] for name in ("mean", "low", "high")}
    columns = [TableColumn("label", "text", "", "measure"), TableColumn("unit", "text", "", "unit")]
    columns += [_regularizer(name) for name in dict.fromkeys(table["regularizer"])] if len(table) else []
    return {"measures": ShownTable("explain_regularizers", "Regularizers", columns, list(rows.values()))}


TEST = ExplanationTest(
    name="regularizers",
    heading="Does regularization tie attention to the words?",
    trains=True,
    small_only=True,
    impossible=words_only,
    reads=_READS,
    tables={"regularizers": False},
    uses=("draws",),
    figure=Drawing(
        "explain_regularizers",
        "Means with 95 % intervals over texts. The first row is without regularization.",
        regularizers_figure,
    ),
    page="""
{{ measures }}
<p>The same model is trained so that the state of a word stays closer to the word itself (Tutek &amp; Šnajder 2020). If
this ties attention to the words, shuffled weights change the output more, other attention with the same output is
closer, and the predictions from single words differ more; the accuracy should not fall. Each model was trained once,
and the intervals do not cover the variation between trainings.</p>
""",
    compare=regularizers,
    summarize=_summarize,
    page_values=_by_regularizer,
)
