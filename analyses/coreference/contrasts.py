"""Do heads find more in one group of documents than in another? The accuracies of heads in both, and the differences.

Every head has a contrast, and the largest of hundreds is large by chance alone. Two corrections are made for that:

* Simultaneous intervals. Each bootstrap replicate yields, over all heads and directions, the largest deviation of a
  contrast from its estimate in units of its standard error (max-\\|t\\|; Romano & Wolf 2005). The 95 % quantile of
  these maxima is the number of standard errors on each side of an estimate. All intervals of that width hold at once
  with 95 % confidence, and therefore so does that of whichever head was chosen.
* Held-out contrasts. The head is chosen on one half of the documents, and its contrast is measured on the other half.

Both resample families of documents. The two versions of a sentence (pro- and anti-stereotypical) must be in one family:
a head that ignores the pronoun's gender gets both right or both wrong, so that its contrast varies far less than the
difference of two independent samples would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from ...corpora_loaders.coreference import ANTI, FEMININE, MASCULINE, PRO
from ...reports.columns import Row, Schema, TableColumn, bounds
from ...reports.format import ARROWS, direction, head_name, percent, rows_of, shown_head
from ...reports.format import interval as in_brackets
from ...reports.table import ShownTable
from ..counting.best_head import best_head, both_halves, interval, intervals, rate, sum_groups
from ..counting.held_out import count_beside_zero
from ..counting.outcomes import Counts
from ..counting.resampling import FEWEST_UNITS, effective_number_drawn
from ..shared.best_heads import estimate
from .decisions import ALL, DIRECTIONS, POLICIES
from .figures import contrasts_figure
from .rows import CoreferenceQuestion, CoreferenceResults, Mentions, under

STEREOTYPES = (
    (PRO, ANTI),
    (f"type 1, {PRO}", f"type 1, {ANTI}"),
    (f"type 2, {PRO}", f"type 2, {ANTI}"),
)
"""The pairs of groups of WinoBias that are compared: all sentences, and those of each type."""

PAIRS = (*STEREOTYPES, (FEMININE, MASCULINE))
"""All pairs of groups of documents whose accuracies are compared."""

FEWEST_DOCUMENTS = 2 * FEWEST_UNITS
"""The smallest effective number of documents in each group for intervals of all heads at once. They go by the largest
of many deviations, of which fewer documents know too little: with 25, they hold in 89 % of the cases."""

SHOWN = 3
"""The number of largest contrasts on each side that are reported."""

_ROUNDING = 1e-12
"""The bound below which a variation counts as rounding of a contrast that is constant in exact arithmetic."""

Array = npt.NDArray[Any]
Groups = Mapping[str, list[int]]
"""The indices of the counts of each group of documents."""


def _number_of(side: str) -> Callable[[Row], str]:
    """Return a function that writes how many mentions the first or second group of a row has."""
    return lambda row: f"(n = {row[f'{side}_total']:,})"


GROUPS = Schema(
    "coreference_groups",
    "With groups of documents (GAP, WinoBias). One row per kind of candidates, group, direction, layer and head.",
    (
        TableColumn("candidates direction", "text", "as in `coreference.csv`"),
        TableColumn("group", "text", "the group, such as `feminine pronoun`"),
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("correct total", "count", "found and scored mentions of the group"),
        TableColumn("accuracy", "share", "`correct` / `total`"),
    ),
)

CONTRASTS = Schema(
    "coreference_contrasts",
    "With groups of documents. One row per kind of candidates and pair of groups: the best head of the whole corpus in "
    "both.",
    (
        TableColumn("candidates", "text", "as in `coreference.csv`"),
        TableColumn(
            "layer head", "number from 1", "the best head of the whole corpus", "attention head", cell=shown_head
        ),
        TableColumn("direction", "text", "its direction", "direction", cell=direction),
        TableColumn("first", "text", "the first group", "first group", beside=_number_of("first"), beside_in="any"),
        TableColumn("first_correct first_total", "count", "its found and scored mentions"),
        TableColumn("first_accuracy", "share", "the accuracy in it", "first"),
        TableColumn("second", "text", "the second group", "second group", beside=_number_of("second"), beside_in="any"),
        TableColumn("second_correct second_total", "count", "its found and scored mentions"),
        TableColumn("second_accuracy", "share", "the accuracy in it", "second"),
        estimate("difference", "points", "`first_accuracy` − `second_accuracy`", "difference"),
        TableColumn("ratio ratio_low ratio_high", "number", "`first_accuracy` / `second_accuracy`", "ratio", digits=2),
    ),
)

HEAD_CONTRASTS = Schema(
    "coreference_head_contrasts",
    "With groups of documents. One row per kind of candidates, pair of groups, direction, layer and head.",
    (
        TableColumn("candidates first second direction", "text", "as above"),
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn(
            "first_correct first_total second_correct second_total", "count", "found and scored mentions of each group"
        ),
        TableColumn("first_accuracy second_accuracy", "share", "the accuracies in the groups"),
        TableColumn(
            "difference difference_low difference_high",
            "points",
            "their difference, with an interval for this head alone",
        ),
        TableColumn("standard_error", "points", "the bootstrap standard error of the difference"),
        TableColumn(
            "simultaneous_low simultaneous_high",
            "points",
            "an interval that holds for all heads and directions at once",
        ),
    ),
)

LARGEST_CONTRASTS = Schema(
    "coreference_largest_contrasts",
    "With groups of documents. The heads with the largest differences on each side.",
    (
        TableColumn("candidates first second", "text", "as above"),
        TableColumn("higher", "text", "the group in which these heads are better", "higher in"),
        TableColumn("rank", "number from 1", "the rank of the head on this side"),
        TableColumn("layer head", "number from 1", "the attention head", "attention head", cell=shown_head),
        TableColumn("direction", "text", "its direction", "direction", cell=direction),
        TableColumn("first_correct first_total", "count", "found and scored mentions of the first group"),
        TableColumn("first_accuracy", "share", "the accuracy in it", "first group"),
        TableColumn("second_correct second_total", "count", "found and scored mentions of the second group"),
        TableColumn("second_accuracy", "share", "the accuracy in it", "second group"),
        estimate("difference", "points", "their difference, with an interval for this head alone", "difference"),
        TableColumn(
            "simultaneous_low simultaneous_high",
            "points",
            "an interval that holds for all heads and directions at once",
            "for all heads at once",
            cell=bounds("simultaneous"),
        ),
        TableColumn(
            "heldout_first_correct heldout_first_total heldout_second_correct heldout_second_total",
            "count",
            "the same on the halves on which the head was not chosen",
        ),
        TableColumn(
            "heldout_difference heldout_min heldout_max",
            "points",
            "the held-out difference; its smallest and largest value in a split",
            "held-out",
            beside=bounds("heldout", "min", "max"),
        ),
        TableColumn("heldout_choices", "count", "halves on which a head was chosen"),
        TableColumn(
            "heldout_same",
            "count",
            "halves on which it was this head",
            "chosen again",
            cell=lambda row: f"{row['heldout_same']} of {row['heldout_choices']}",
        ),
    ),
)


class GroupTables(NamedTuple):
    """The answer: what heads find in groups of documents."""

    groups: pd.DataFrame  # one row per policy, group, direction, layer and head
    best: pd.DataFrame  # for each policy the best head of the whole corpus in two groups
    heads: pd.DataFrame  # for each policy every head in two groups
    largest: pd.DataFrame  # for each comparison and side the heads with the largest differences

    def notes(self, policy: str) -> list[str]:
        """Return lines for the terminal: what the best head finds, and the largest difference on each side."""
        lines = []
        for row in rows_of(self.best):
            if row["candidates"] == policy:
                first, second = (f"{row[side]} {percent(row[f'{side}_accuracy'])}" for side in ("first", "second"))
                ends = in_brackets(row["difference_low"], row["difference_high"])
                difference = f"difference {percent(row['difference'], sign=True)} {ends}"
                lines.append(f"{first}, {second}: {difference} (head {head_name(row['layer'], row['head'])})")
        comparisons = shown_comparisons(self, policy)
        for comparison in comparisons:
            heads = []
            for row in comparison["rows"]:
                if row["rank"] == 1:
                    ends = in_brackets(row["simultaneous_low"], row["simultaneous_high"])  # empty without a bootstrap
                    difference = f"{percent(row['difference'], sign=True)} {ends}".rstrip()
                    head = f"head {head_name(row['layer'], row['head'])} {ARROWS[row['direction']]}"
                    heads.append(f"{difference} in {head}, held-out {percent(row['heldout_difference'], sign=True)}")
            names = f"{comparison['first']} minus {comparison['second']}"
            lines.append(f"Largest differences, {names}: {'; '.join(heads)}.")
        if comparisons:
            lines.append("The intervals of the largest differences hold for all heads at once.")
        return lines


class Contrasts(CoreferenceQuestion):
    """Do heads find more in one group of documents than in another?"""

    name = "contrasts"
    tables = (GROUPS, CONTRASTS, HEAD_CONTRASTS, LARGEST_CONTRASTS)
    template = Path(__file__).with_name("contrasts.html.j2")

    def find(self, counts: Mentions, lookups: Any, earlier: Mapping[str, Any]) -> GroupTables | None:
        """Return the tables, if the documents belong to groups."""
        return group_tables(counts)

    def frames(self, answer: GroupTables, results: CoreferenceResults) -> Mapping[str, pd.DataFrame]:
        """Return the tables; without pairs of groups that can be compared, only that of groups."""
        compared = (CONTRASTS, answer.best), (HEAD_CONTRASTS, answer.heads), (LARGEST_CONTRASTS, answer.largest)
        return {
            GROUPS.name: answer.groups,
            **({schema.name: table for schema, table in compared} if len(answer.best) else {}),
        }

    def show(self, answer: GroupTables, results: CoreferenceResults) -> Sequence[ShownTable]:
        """Return the table of the best head, and one of the largest differences for each comparison."""
        if not len(answer.best):
            return ()
        rows = rows_of(under(results.candidates, answer.best))
        tables = [ShownTable(CONTRASTS.name, "Groups of documents (%)", CONTRASTS.columns, rows)]
        for number, comparison in enumerate(shown_comparisons(answer, results.candidates), start=1):
            title = f"Largest differences: {comparison['first']} minus {comparison['second']} (%)"
            name = f"{LARGEST_CONTRASTS.name}_{number}"
            tables.append(ShownTable(name, title, LARGEST_CONTRASTS.columns, comparison["rows"]))
        return tables

    def draw(self, answer: GroupTables, results: CoreferenceResults, title: str) -> Mapping[str, Figure]:
        """Draw all heads in both groups, of stereotypes or, if there are none, of pronouns."""
        heads, largest = (by_comparison(table, results.candidates) for table in (answer.heads, answer.largest))
        pairs = [pair for pair in largest if pair in STEREOTYPES] or list(largest)
        if not pairs:
            return {}
        compared = {pair: (heads[pair], largest[pair]) for pair in pairs}
        return {"coreference_contrasts": contrasts_figure(compared, results.best, title=title)}

    def values(self, answer: GroupTables, results: CoreferenceResults) -> Mapping[str, Any]:
        """Return the comparisons."""
        return {
            "contrasts": len(answer.best),
            "largest": shown_comparisons(answer, results.candidates),
            "choices": results.n_choices,
            "fewest": FEWEST_DOCUMENTS,
        }


def group_tables(mentions: Mentions) -> GroupTables | None:
    """Return what heads find in groups of documents, None if the documents belong to no groups."""
    types, labels = mentions.metric.members(), mentions.metric.members_by_label()
    if not labels:
        return None
    subsets, replicates = mentions.subsets, mentions.replicates
    best, heads, largest = [], [], []
    for policy in range(len(POLICIES)):
        for pair in PAIRS:
            if set(pair) <= set(labels):
                best.append(best_head_contrast(policy, pair, types[ALL], labels, subsets, replicates))
                of_heads, of_largest = contrast_tables(policy, pair, labels, subsets, replicates)
                heads.append(of_heads)
                largest.append(of_largest)
    return GroupTables(
        groups=mentions.metric.cells_of("group", labels, subsets),
        best=pd.DataFrame(best),
        heads=_below_each_other(heads),
        largest=_below_each_other(largest),
    )


def _below_each_other(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the tables that have any rows."""
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def shown_comparisons(tables: GroupTables, policy: str) -> list[dict[str, Any]]:
    """Return the comparisons under the policy that the report is about."""
    comparisons = []
    of_heads = by_comparison(tables.heads, policy)
    for (first, second), rows in by_comparison(tables.largest, policy).items():
        heads = of_heads[first, second]
        above, below = count_beside_zero(heads, "simultaneous_low", "simultaneous_high")
        comparisons.append(
            {
                "first": first,
                "second": second,
                "first_total": int(heads["first_total"].iloc[0]),
                "second_total": int(heads["second_total"].iloc[0]),
                "rows": rows_of(rows),
                "choices": len(heads),
                "above": above,
                "below": below,
                "has_intervals": bool(heads["simultaneous_low"].notna().any()),
            }
        )
    return comparisons


def by_comparison(table: pd.DataFrame, policy: str) -> dict[tuple[str, str], pd.DataFrame]:
    """Return the rows of a table under one policy by the pair of groups that they compare."""
    if not len(table):
        return {}
    groups = under(policy, table).groupby(["first", "second"], sort=False)
    return {(str(first), str(second)): rows for (first, second), rows in groups}


def best_head_contrast(
    policy: int, pair: tuple[str, str], all_rows: list[int], labels: Groups, subsets: Counts, replicates: Counts
) -> dict[str, Any]:
    """Return the accuracies of the best head of the whole corpus in two groups of its documents."""
    # all_rows, labels: the indices of all counts, and those of each group of documents. Subset 0 is the whole corpus.
    correct, total = subsets.correct[:, 0, policy], subsets.total[:, 0]
    best, best_columns = best_head(correct[all_rows].sum(0), int(total[all_rows].sum()), DIRECTIONS)
    row = {"candidates": POLICIES[policy], **{name: best_columns[name] for name in ("layer", "head", "direction")}}
    drawn_counts = []  # for each group, the right and all decisions in each replicate
    for prefix, label in zip(("first", "second"), pair, strict=True):
        rows = labels[label]
        right, n = int(correct[(rows, *best)].sum()), int(total[rows].sum())
        row |= {prefix: label, f"{prefix}_correct": right, f"{prefix}_total": n, f"{prefix}_accuracy": rate(right, n)}
        drawn_right = sum_groups(replicates.correct[(rows, slice(None), policy, *best)])
        drawn_counts.append((drawn_right, sum_groups(replicates.total[rows])))
    first, second = row["first_accuracy"], row["second_accuracy"]
    # A replicate that draws no decision of a group, or no right one of the second, is left out of an interval.
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn_first, drawn_second = (drawn_right / drawn_total for drawn_right, drawn_total in drawn_counts)
        differences, ratios = drawn_first - drawn_second, drawn_first / drawn_second
    row["difference"] = first - second
    row["difference_low"], row["difference_high"] = interval(differences[np.isfinite(differences)])
    row["ratio"] = first / second if second else float("nan")
    row["ratio_low"], row["ratio_high"] = interval(ratios[np.isfinite(ratios)])
    return row


def contrast_tables(
    policy: int, pair: tuple[str, str], labels: Groups, subsets: Counts, replicates: Counts
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the contrast of every head between two groups of documents, and the largest contrasts on both sides."""
    # Here a *place* is a direction, layer and head. Places are in the order of the table `cells`.
    shape = subsets.correct.shape[3:]
    n_places = int(np.prod(shape))
    groups = [labels[label] for label in pair]
    correct = np.stack([subsets.correct[rows, :, policy].sum(0) for rows in groups], axis=1)
    correct = correct.reshape(*correct.shape[:2], n_places)  # subset, group, place
    total = np.stack([subsets.total[rows].sum(0) for rows in groups], axis=1)  # subset, group
    # Subset 0 has all documents, and each of the others is one half of a split.
    correct_of_all, total_of_all = correct[0], total[0]
    every_head = _every_head(policy, pair, correct_of_all.reshape(2, *shape), total_of_all, groups, replicates)

    # Ties go to the higher layer, then to the higher head, then to the last direction, as for the best head.
    by_preference = np.moveaxis(np.arange(n_places).reshape(shape), 0, -1).ravel()

    def rank_values(values: Array) -> Array:
        """Return the places from the largest value to the smallest."""
        ascending = np.argsort(values[..., by_preference], axis=-1, kind="stable")
        return np.asarray(by_preference[ascending[..., ::-1]])

    contrasts = _contrasts_times_totals(correct_of_all, total_of_all)
    # Axes: the split, the half that chooses, the group, and the place. The other half scores.
    correct_in_halves, total_in_halves = both_halves(correct), both_halves(total)
    contrasts_in_halves = _contrasts_times_totals(correct_in_halves, total_in_halves)
    can_choose = np.asarray((total_in_halves > 0).all(-1))  # split, half: a group without decisions has no contrast
    rows = []
    sides = ((1, pair[0]), (-1, pair[1])) if total_of_all.all() else ()  # a group without decisions has no contrast
    for sign, higher in sides:
        places = [place for place in rank_values(sign * contrasts)[:SHOWN] if sign * contrasts[place] > 0]
        chosen_in_halves = rank_values(sign * contrasts_in_halves)[..., : len(places)]
        for rank, row in enumerate(rows_of(every_head.iloc[places])):
            chosen = chosen_in_halves[..., rank]  # split, half
            same = int((chosen == places[rank])[can_choose].sum())
            held_out = _heldout(chosen, can_choose, correct_in_halves[:, ::-1], total_in_halves[:, ::-1])
            rows.append({**row, "higher": higher, "rank": rank + 1, **held_out, "heldout_same": same})
    return every_head, pd.DataFrame(rows, columns=LARGEST_CONTRASTS.names)


def _contrasts_times_totals(correct: Array, total: Array) -> Array:
    """Return the contrasts times both totals. These are integers, so that equal contrasts compare as equal."""
    # correct: the right decisions, shape (…, 2 groups, places).
    # total: the numbers of decisions, shape (…, 2 groups).
    return np.asarray(correct[..., 0, :] * total[..., 1, None] - correct[..., 1, :] * total[..., 0, None])


def _heldout(chosen: Array, can_choose: Array, correct: Array, total: Array) -> dict[str, Any]:
    """Return the contrast of the places that were chosen on one half, measured on the other half."""
    # chosen: the place that each half of each split chose, shape (splits, 2 halves).
    # can_choose: whether this half has decisions of both groups, shape (splits, 2 halves).
    # correct: the right decisions on the other half, shape (splits, 2 halves, 2 groups, places).
    # total: the numbers of decisions there, shape (splits, 2 halves, 2 groups).
    right_in_halves = np.take_along_axis(correct, chosen[..., None, None], axis=-1)[..., 0]  # split, half, group
    right = np.where(can_choose[..., None], right_in_halves, 0).sum(1)  # split, group
    n = np.where(can_choose[..., None], total, 0).sum(1)
    is_scored = (n > 0).all(1)  # of each split
    first_shares, second_shares = (right[is_scored] / n[is_scored]).T
    differences = (first_shares - second_shares).tolist()
    (first_right, second_right), (first_n, second_n) = right.sum(0).tolist(), n.sum(0).tolist()
    return {
        "heldout_first_correct": first_right,
        "heldout_first_total": first_n,
        "heldout_second_correct": second_right,
        "heldout_second_total": second_n,
        "heldout_difference": rate(first_right, first_n) - rate(second_right, second_n),
        "heldout_min": min(differences, default=float("nan")),
        "heldout_max": max(differences, default=float("nan")),
        "heldout_choices": int(can_choose.sum()),
    }


def _every_head(
    policy: int, pair: tuple[str, str], correct: Array, total: Array, groups: list[list[int]], replicates: Counts
) -> pd.DataFrame:
    """Return the contrast of every head with its intervals, in the order of the table ``cells``."""
    # correct, total: the decisions of both groups, shapes (2, directions, layers, heads) and (2,).
    # groups: the indices of the counts of either group.
    direction, layer, head = (axis.ravel() for axis in np.indices(correct.shape[1:]))
    columns: dict[str, Any] = {
        "candidates": POLICIES[policy],
        "first": pair[0],
        "second": pair[1],
        "direction": np.array(DIRECTIONS)[direction],
        "layer": layer + 1,
        "head": head + 1,
    }
    for prefix, right, n in zip(("first", "second"), correct, total.tolist(), strict=True):
        columns |= {f"{prefix}_correct": right.ravel(), f"{prefix}_total": n}
        columns[f"{prefix}_accuracy"] = right.ravel() / n if n else np.full(len(head), np.nan)
    estimate = columns["first_accuracy"] - columns["second_accuracy"]
    drawn_total = np.stack([sum_groups(replicates.total[rows]) for rows in groups])
    is_drawn = (drawn_total > 0).all(0)  # whether a replicate draws decisions of both groups
    drawn_first, drawn_second = (  # replicate, head
        sum_groups(replicates.correct[rows, :, policy]).reshape(-1, len(head))[is_drawn] / drawn_n[is_drawn, None]
        for rows, drawn_n in zip(groups, drawn_total, strict=True)
    )
    drawn_differences = drawn_first - drawn_second
    low, high = zip(*intervals(drawn_differences.T), strict=True)
    error, margin = simultaneous_margin(estimate, drawn_differences)
    units = [effective_number_drawn(n, drawn_n) for n, drawn_n in zip(total.tolist(), drawn_total, strict=True)]
    if not min(units) >= FEWEST_DOCUMENTS:  # the page says of how many heads these intervals are above 0
        margin = np.full_like(margin, np.nan)
    return pd.DataFrame(
        {
            **columns,
            "difference": estimate,
            "difference_low": low,
            "difference_high": high,
            "standard_error": error,
            # With few mentions, the margin may reach beyond the possible differences of two shares.
            "simultaneous_low": np.maximum(estimate - margin, -1.0),
            "simultaneous_high": np.minimum(estimate + margin, 1.0),
        }
    )


def simultaneous_margin(estimate: Array, differences: Array) -> tuple[Array, Array]:
    """Return standard errors, and half the widths of 95 % intervals that hold for all heads at once."""
    # estimate: the contrasts, shape (heads,).
    # differences: the contrasts in the bootstrap replicates, shape (replicates, heads).
    # Returns two arrays of shape (heads,). They are NaN if there are fewer than two replicates, and 0 for a head whose
    # contrast never varies.
    if len(differences) < 2:
        undefined = np.full(len(estimate), np.nan)
        return undefined, undefined
    error = differences.std(0, ddof=1)
    error[np.ptp(differences, axis=0) < _ROUNDING] = 0.0
    varies = error > 0
    if not varies.any():
        return error, error
    deviations = np.abs(differences - estimate)[:, varies] / error[varies]
    return error, float(np.quantile(deviations.max(1), 0.95)) * error
