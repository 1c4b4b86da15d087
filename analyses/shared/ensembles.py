"""Ensembles of heads: averaged maps that find more than one head, chosen on one half of the text.

As published (Limisiewicz et al. 2020; Ravishankar et al. 2021), each row of a map is divided by its sum over words, so
that a head that mostly attends to special tokens has the same say as others. The best heads are tried in the order of
their own right decisions: each one is added if the average then has more right decisions, and when there are as many as
there may be, it takes the place of the one whose replacement helps most, if any does. The other method averages maps
as they are, and adds the head with which the average has most, as long as that helps.
A map may be read in either direction: `head->dep` is averaged as its transpose. Whatever is chosen on one half of the
sentences or documents is scored on the other, over the ten splits that single heads have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...reports.columns import Schema, TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..counting.best_head import rate, rates
from ..counting.held_out import interval_of_halves
from ..counting.outcomes import SPLITS
from ..counting.resampling import FEWEST_UNITS, effective_number
from .best_heads import estimate, heldout_columns
from .measures import points, share
from .options import EnsembleMethod

Array = npt.NDArray[Any]

_ARROWS = "←↔"
_TRIED = 25
"""How many heads the published method tries, as in its released code."""


def finds_more(ensemble: Mapping[str, Any]) -> bool:
    """Whether an ensemble clearly finds more than its first head alone: the whole interval of its gain is above 0."""
    return bool(ensemble["gain_low"] > 0)


def with_intervals(ensembles: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return the rows of ensembles whose gains have intervals. Nothing is said of the others, which have few units."""
    return [] if ensembles is None else rows_of(ensembles.dropna(subset=["gain_low"]))


def describe_ensemble(name: str, row: Mapping[str, Any], units: str = "", beside: str = "") -> str:
    """Say which heads find more together, and what one head and a rule find, as a part of a sentence."""
    return (
        f"{name} by {row['heads']} ({share(row['heldout_accuracy'])} of {row['total']:,}{units}, one head "
        f"{share(row['single_accuracy'])}{beside}; {points(row['gain'], row['gain_low'], row['gain_high'])})"
    )


def ensemble_schema(
    name: str, rows: str, keys: tuple[TableColumn, ...], *, of: str, found: str, units: str, arrows: str
) -> Schema:
    """Return the columns of a table of ensembles of words or mentions, whose units are sentences or documents."""
    return Schema(
        name,
        rows,
        (
            *keys,
            TableColumn("total", "count", f"{of} in these {units}", "n"),
            TableColumn(
                "heads",
                "text",
                f"the heads that are chosen on all of these {units}, in the order in which they are added",
                "heads",
                wraps=True,
                help=f"The heads whose maps are averaged, chosen on all of the {units}. {arrows}",
            ),
            TableColumn("method", "text", "how they are averaged and chosen, see `--ensemble-method`"),
            TableColumn("correct", "count", found),
            TableColumn(
                "accuracy",
                "share",
                "`correct` / `total`",
                "ensemble",
                help=f"The accuracy of these heads together, on the {units} that chose them.",
            ),
            *heldout_columns(
                f"found and scored {of.split()[0]} over all halves of all splits",
                units,
                chosen="ensembles",
                heading="ensemble, held-out",
                begins="The accuracy if the heads are",
            ),
            TableColumn("single_correct", "count", "the same for the best single head"),
            TableColumn(
                "single_accuracy",
                "share",
                "`single_correct` / `heldout_total`",
                "one head, held-out",
                help="The same for the best single head, on the same halves.",
            ),
            estimate(
                "gain",
                "points",
                "`heldout_accuracy` − `single_accuracy`",
                "held-out gain",
                f"The difference of the two, with its 95 % interval for other {units}, which would also choose other "
                f"heads. None is given for fewer than {FEWEST_UNITS} {units}.",
            ),
        ),
    )


def divide_rows(
    values: npt.NDArray[np.floating], rows: npt.NDArray[np.floating], columns: npt.NDArray[np.floating]
) -> npt.NDArray[np.float32]:
    """Return the values of candidates in maps whose rows are divided by the sums of their absolute values.

    Args:
        values: the values of a word's candidates in both directions, or also in their sum, shape (words, layers × heads
            × readings, candidates).
        rows: the sums of the rows of the words, shape (layers × heads, words).
        columns: those of the rows of the candidates, shape (layers × heads, candidates).
    """
    rows, columns = np.where(rows > 0, rows, 1), np.where(columns > 0, columns, 1)  # a row of zeros stays one
    by_reading = values.reshape(len(values), len(rows), -1, values.shape[-1])  # word, map, reading, candidate
    readings = [by_reading[:, :, 0] / rows.T[..., None], by_reading[:, :, 1] / columns]
    readings += [readings[0] + readings[1]] if by_reading.shape[2] > len(readings) else []
    return np.stack(readings, 2).reshape(values.shape).astype(np.float32)


def right_alone(values: npt.NDArray[np.floating], gold: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return for each word, and each head, whether it is right by itself; see `Greedy` for the arguments."""
    return np.take_along_axis(gold, values.argmax(-1), 1)


def score_ensembles(
    values: npt.NDArray[np.float32],
    alone: npt.NDArray[np.bool_],
    gold: npt.NDArray[np.bool_],
    unit: Array,
    in_first_half: npt.NDArray[np.bool_],
    draws: Array,
    most: int,
    shape: tuple[int, int, int],
    method: EnsembleMethod,
) -> tuple[dict[str, Any], list[tuple[int, ...]]]:
    """Choose ensembles of up to ``most`` heads on halves of the text, and score them on the others.

    The words may also be mentions; ``unit`` is the index of the sentence or document of each. ``in_first_half`` says
    which of these units are in the first half of each split, shape (units, splits), and ``draws`` how often each
    bootstrap replicate draws each of them, shape (replicates, units). See `Greedy` for ``values`` and ``gold``; with
    ``alone``, which single heads are right in the maps as they are, the best single head is chosen.

    Returns plain counts, and the heads that were chosen on the whole text, then on both halves of each split.
    """
    search = (Greedy if method == "raw" else Replacing)(values, gold, most)
    chosen = [search.choose(np.ones(len(gold), dtype=bool))]
    # In each split, a word is scored at most once, by the heads that were chosen on the half that it is not in.
    ensemble_is_right, single_is_right, is_scored = np.zeros((3, SPLITS, len(gold)), dtype=bool)
    gains_of_choices = []
    for split in range(SPLITS):
        for half in (True, False):
            is_choosing = in_first_half[unit, split] == half  # of each word
            heads = search.choose(is_choosing) if is_choosing.any() else ()
            chosen.append(heads)
            if heads:
                single = alone[:, find_last_best(alone[is_choosing].sum(0))]
                ensemble_is_right[split] |= search.right(heads) & ~is_choosing
                single_is_right[split] |= single & ~is_choosing
                gains_of_choices.append(search.right(heads).mean() - single.mean())
                is_scored[split] |= ~is_choosing
    scored_by_split = is_scored.sum(1)
    accuracies = rates(ensemble_is_right.sum(1), scored_by_split).tolist()
    gains = ensemble_is_right.astype(np.int64) - single_is_right  # split, word
    drawn_gain = draws @ np.bincount(unit, gains.sum(0), len(in_first_half))
    drawn_scored = draws @ np.bincount(unit, is_scored.sum(0), len(in_first_half))
    low, high = interval_of_halves(
        rate(int(gains.sum()), int(scored_by_split.sum())),
        rates(drawn_gain, drawn_scored),
        np.array(gains_of_choices),
        rates(gains.sum(1), scored_by_split),
    )
    if effective_number(np.bincount(unit)) < FEWEST_UNITS:
        low = high = math.nan
    counts = {
        "total": len(gold),
        "heads": [name_reading(head, shape) for head in chosen[0]],
        "method": method,
        "correct": int(search.right(chosen[0]).sum()),
        "heldout_correct": int(ensemble_is_right.sum()),
        "heldout_total": int(is_scored.sum()),
        "heldout_min": min(accuracies, default=0.0),
        "heldout_max": max(accuracies, default=0.0),
        "single_correct": int(single_is_right.sum()),
        "gain_low": None if math.isnan(low) else low,
        "gain_high": None if math.isnan(high) else high,
    }
    return counts, chosen


class Greedy:
    """Chooses heads one by one on some of the words."""

    # values: the values of the candidates of each word, shape (words, heads, candidates), −∞ where there is none.
    # gold: which candidates of each word are right, shape (words, candidates).
    # most: the largest number of heads that are chosen.

    def __init__(self, values: npt.NDArray[np.float32], gold: npt.NDArray[np.bool_], most: int) -> None:
        self.values, self.gold, self.most = values, gold, most
        self._right: dict[tuple[int, ...], npt.NDArray[np.bool_]] = {}

    def choose(self, choosing: npt.NDArray[np.bool_]) -> tuple[int, ...]:
        """Return the heads that are chosen on these words, in the order in which they are added."""
        heads: tuple[int, ...] = ()
        best = -1
        while len(heads) < min(self.most, self.values.shape[1]):
            counts = self._with_each(heads)[choosing].sum(0)
            counts[list(heads)] = -1
            head = find_last_best(counts)
            if counts[head] <= best:
                break
            heads, best = (*heads, head), int(counts[head])
        return heads

    def right(self, heads: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Return for each word whether these heads pick a right candidate together."""
        return self._with_each(heads[:-1])[:, heads[-1]]

    def _with_each(self, heads: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Return for each word, and each head, whether it is right if it is added to these heads."""
        key = tuple(sorted(heads))  # sums in float64 must not depend on the order of the heads
        if key not in self._right:
            total = self.values[:, list(key)].sum(1, dtype=np.float64)[:, None]
            right = np.empty(self.values.shape[:2], dtype=bool)
            for start in range(0, len(right), 64):  # a few words at a time take little memory
                words = slice(start, start + 64)
                picked = (total[words] + self.values[words]).argmax(-1)
                right[words] = np.take_along_axis(self.gold[words], picked, 1)
            self._right[key] = right
        return self._right[key]


class Replacing(Greedy):
    """Tries the best heads in turn, each of which may be added, or take the place of another (Limisiewicz et al.)."""

    def choose(self, choosing: npt.NDArray[np.bool_]) -> tuple[int, ...]:
        """Return the heads that are chosen on these words, in the order of their places."""
        counts = self._with_each(())[choosing].sum(0)
        heads: tuple[int, ...] = ()
        best = -1
        # Ties go to the last one, as for single heads.
        for head in np.argsort(counts, kind="stable")[::-1][:_TRIED].tolist():
            if len(heads) < self.most:
                changed = [(*heads, head)]
            else:
                changed = [(*heads[:place], head, *heads[place + 1 :]) for place in range(len(heads))]
            right = [int(self.right(each)[choosing].sum()) for each in changed]
            if max(right) > best:
                best = max(right)
                heads = changed[right.index(best)]
        return heads

    def right(self, heads: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Return for each word whether these heads pick a right candidate together."""
        key = tuple(sorted(heads))
        if key not in self._right:
            picked = self.values[:, list(key)].sum(1, dtype=np.float64).argmax(-1)
            self._right[key] = np.take_along_axis(self.gold, picked[:, None], 1)[:, 0]
        return self._right[key]


def find_last_best(counts: Array) -> int:
    """Return the index of the largest count, the last of equals: the higher layer, head and direction."""
    return len(counts) - 1 - int(counts[::-1].argmax())


def name_reading(index: int, shape: tuple[int, int, int]) -> str:
    """Return the name of a head with an arrow for its direction, given its index in (layers, heads, directions)."""
    layer, head, direction = np.unravel_index(index, shape)
    arrow = ("", *_ARROWS)[direction]  # the first direction has none
    return f"{layer + 1}-{head + 1}{arrow}"


def heads_of(names: str) -> list[tuple[str, int]]:
    """Return the heads of a cell of the table, such as ``3-9 + 4-2←``, each with the number of its direction."""
    return [(name.rstrip(_ARROWS), _ARROWS.find(name[-1]) + 1) for name in names.split(" + ")]  # 0 without an arrow


def ensemble_table(rows: Sequence[Mapping[str, Any]], schema: Schema) -> pd.DataFrame:
    """Return the table of the counts of `score_ensembles`, with the keys of the schema."""
    if not rows:
        return pd.DataFrame(columns=schema.names)
    table = pd.DataFrame(rows, columns=[name for name in schema.names if name in rows[0]])
    table["heads"] = [" + ".join(heads) for heads in table["heads"]]
    table["method"] = [row.get("method", "raw") for row in rows]  # runs of 0.3 have no other
    table["accuracy"] = [rate(row["correct"], row["total"]) for row in rows_of(table)]
    table["heldout_accuracy"] = [rate(row["heldout_correct"], row["heldout_total"]) for row in rows_of(table)]
    table["single_accuracy"] = [rate(row["single_correct"], row["heldout_total"]) for row in rows_of(table)]
    table["gain"] = table["heldout_accuracy"] - table["single_accuracy"]
    return table.astype({"gain_low": float, "gain_high": float})[schema.names]


def shown_ensembles(table: pd.DataFrame, schema: Schema) -> ShownTable:
    """Return the table for the page and LaTeX."""
    title, uncertain = "Ensembles of heads (accuracy in %)", "rests on too little text, or does not vary in it"
    return ShownTable(schema.name, title, schema.columns, rows_of(table), uncertain=uncertain)
