"""The tables of a survey: the best head of every relation in every cell, and what became of the cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from .cells import CellResult
from .contrasts import MeanContrast, TreebankContrast

OK, FAILED = "ok", "failed"
"""The values of the column ``status``."""

_COLUMNS_OF_BEST = {
    "relation": "relation",
    "direction": "direction",
    "layer": "layer",
    "head": "head",
    "total": "n",
    "correct": "correct",
    "accuracy": "accuracy",
    "accuracy_low": "low",
    "accuracy_high": "high",
    "offset": "offset",
    "offset_accuracy": "offset_accuracy",
    "gain": "gain",
    "gain_low": "gain_low",
    "gain_high": "gain_high",
    "heldout_accuracy": "heldout",
    "control_accuracy": "random",
}
"""The columns of a survey by those of the tables of single runs."""

CELL = ("model", "revision", "treebank", "map")
COLUMNS = (*CELL, *_COLUMNS_OF_BEST.values(), "status", "reason")
CELL_COLUMNS = (
    *CELL, "status", "reason", "sentences", "skipped", "words", "layers", "heads", "weights_sha256",
)  # fmt: skip
CONTRAST_COLUMNS = (
    "about", "treebank", "relation", "model_a", "map_a", "model_b", "map_b", "n_a", "n_b", "value_a", "value_b",
    "difference", "low", "high", "p", "p_holm", "choice_a", "choice_b", "paired", "reason",
)  # fmt: skip
MEAN_COLUMNS = (
    *(column for column in CONTRAST_COLUMNS if column not in ("treebank", "choice_a", "choice_b")), "treebanks",
)  # fmt: skip

_WHOLE = ("layer", "head", "n", "correct", "offset", "sentences", "skipped", "words", "layers", "heads", "n_a", "n_b")


def survey_table(results: Iterable[CellResult]) -> pd.DataFrame:
    """Return the best head of each relation for each kind of map in each cell, one row each.

    The columns are those of `attentionology.analyses.survey.columns.SURVEY`. A cell that failed is one row without
    numbers.
    """
    frames: list[pd.DataFrame] = []
    for result in results:
        for kind, best in result.best.items():
            named = best.reindex(columns=list(_COLUMNS_OF_BEST)).rename(columns=_COLUMNS_OF_BEST)
            frames.append(named.assign(**_cell_columns(result, kind), status=OK, reason=""))
        frames += [pd.DataFrame([_failed_row(result, kind, reason)]) for kind, reason in _failures(result)]
    return _table(frames, COLUMNS)


def cells_table(results: Iterable[CellResult]) -> pd.DataFrame:
    """Return one row for each kind of map in each cell; if a whole cell failed, its ``map`` is empty."""
    rows: list[dict[str, Any]] = []
    for result in results:
        read = _read(result.record)
        rows += [{**_cell_columns(result, kind), "status": OK, "reason": "", **read} for kind in result.best]
        rows += [{**_failed_row(result, kind, reason), **read} for kind, reason in _failures(result)]
    return _table([pd.DataFrame(rows)] if rows else [], CELL_COLUMNS)


def contrasts_table(contrasts: Sequence[TreebankContrast]) -> pd.DataFrame:
    """Return all differences within treebanks, one row per relation and pair of sides."""
    rows = [
        {"about": one.about, "treebank": one.treebank, **row} for one in contrasts for row in _rows_of(one.contrast)
    ]
    return _table([pd.DataFrame(rows)] if rows else [], CONTRAST_COLUMNS)


def means_table(means: Sequence[MeanContrast]) -> pd.DataFrame:
    """Return the differences of means over treebanks, one row per relation and pair of sides."""
    rows = [
        {"about": one.about, "treebanks": one.treebanks[row["relation"]], **row}
        for one in means
        for row in _rows_of(one.contrast)
    ]
    return _table([pd.DataFrame(rows)] if rows else [], MEAN_COLUMNS)


def _rows_of(contrast: Any) -> Iterator[dict[str, Any]]:
    for row in contrast.differences:
        sides: dict[str, Any] = {}
        for suffix, side, measured in (("a", contrast.first, row.first), ("b", contrast.second, row.second)):
            sides |= {
                f"model_{suffix}": side.run,
                f"map_{suffix}": side.map,
                f"n_{suffix}": measured.n if measured else None,
                f"value_{suffix}": measured.value if measured else float("nan"),
                f"choice_{suffix}": measured.choice if measured else "",
            }
        yield {
            "relation": row.group,
            **sides,
            "difference": row.difference,
            "low": row.low,
            "high": row.high,
            "p": row.p,
            "p_holm": row.p_holm,
            "paired": contrast.pairing,
            "reason": row.reason,
        }


def _read(record: Mapping[str, Any] | None) -> dict[str, Any]:
    if record is None:
        return {"weights_sha256": ""}
    model, sentences = record["model"], record["sentences"]
    return {
        "sentences": sentences["read"],
        "skipped": len(sentences["skipped"]),
        "words": sentences["words"],
        "layers": model["layers"],
        "heads": model["heads"],
        "weights_sha256": model["weights_sha256"],
    }


def _cell_columns(result: CellResult, kind: str) -> dict[str, Any]:
    return {
        "model": result.cell.model,
        "revision": (result.record["model"]["revision"] if result.record else None) or "",
        "treebank": result.cell.treebank,
        "map": kind,
    }


def _failures(result: CellResult) -> list[tuple[str, str]]:
    return [(failure.kind, failure.reason) for failure in result.failures]


def _failed_row(result: CellResult, kind: str, reason: str) -> Mapping[str, Any]:
    return {**_cell_columns(result, kind), "status": FAILED, "reason": reason}


def _table(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Join frames, give the result these columns, and let missing whole numbers be empty."""
    kinds = dict.fromkeys((column for column in columns if column in _WHOLE), "Int64")
    whole = [frame.reindex(columns=list(columns)).astype(kinds) for frame in frames]
    if not whole:
        return pd.DataFrame(columns=list(columns)).astype(kinds)
    texts = dict.fromkeys((*CELL[1:], "direction", "relation"), "")
    table = pd.concat(whole, ignore_index=True) if len(whole) > 1 else whole[0]
    return table.fillna({column: value for column, value in texts.items() if column in table})
