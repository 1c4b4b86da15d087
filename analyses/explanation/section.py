"""Tests of attention as an explanation, on disk and in the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from attentionology.analyses.explanation.figures import (
    BEST,
    DELETED,
    MEASURES,
    ORDERS,
    adversarial_figure,
    curve_figure,
    measure_name,
    regularizers_figure,
    training_figure,
)
from attentionology.analyses.explanation.plots import (
    MAX_CLASSES,
    has_values,
    max_attention_figure,
    removal_figure,
    single_figure,
    tau_figure,
)
from attentionology.analyses.explanation.summary import OVERALL
from attentionology.analyses.shared.previews import results_html, results_line
from attentionology.reports.format import rows_of
from attentionology.reports.json_text import records
from attentionology.reports.page import Section, save_figures
from attentionology.reports.tables import write_csv

_GROUPS: dict[str, tuple[str, ...]] = {
    "uniform": ("correct", "uniform_retrained_correct", "uniform_tvd", "uniform_jsd", "uniform_flip"),
    "correlation": ("tau_gradient", "tau_loo", "tau_gradient_loo", "tau_random"),
    "permutation": ("permutation_tvd", "permutation_mean_tvd", "permutation_jsd", "permutation_flip"),
    "adversarial": ("exact_jsd", "adversarial_jsd", "adversarial_tvd", "ceiling_jsd", "permutation_jsd"),
    "seeds": ("seed_jsd", "seed_shuffled_jsd", "seed_tvd", "seed_mean_tvd", "permutation_mean_tvd"),
    "guided": tuple(name for name in MEASURES if name.startswith("guided_")),
    "imitation": ("imitation_jsd", "imitation_tvd", "imitation_same_jsd", "imitation_same_shuffled_jsd"),
    "erasure": tuple(f"single_{name}_{part}" for name in BEST for part in ("difference", "top_flip", "random_flip")),
    "removal": (
        *(f"removal_{name}{part}" for part in ("", "_never") for name in ORDERS),
        *("removal_never", "all_zero_tvd"),
    ),
    "single_token": tuple(name for name in MEASURES if name.endswith(("token_std", "token_agrees"))),
    "eraser": tuple(f"{kind}_{name}" for kind in ("comprehensiveness", "sufficiency") for name in DELETED),
    "states": ("conicity", "null_space"),
}
"""Measures of each part of the page."""

_SHARED = {"correct", "permutation_jsd", "permutation_mean_tvd"}
"""Measures that more than one part shows: they are no sign that a test was chosen."""

_FLOORS = {
    *("uniform_retrained_correct", "guided_uniform_correct", "tau_gradient_loo", "tau_random", "epsilon"),
    *("permutation_jsd", "seed_shuffled_jsd", "seed_mean_tvd", "imitation_same_shuffled_jsd"),
    *("single_attention_random_flip", "removal_random", "removal_attention_gradient", "random_token_agrees"),
    *("comprehensiveness_random", "sufficiency_random"),
}


class ExplainResults(NamedTuple):
    """What was found. Tests that did not run have no columns and no rows.

    Attributes:
        texts: one row per tested text, with the columns of the tests that ran.
        summary: means of these, overall and by predicted class.
        verdicts: test by test; without columns if there is none.
        models: ``model, role, accuracy, low, high, macro_f1, f1, auc``.
        flips: decisions changed by the best word or another one.
        curve: ``kind, name, lambda, jsd, tvd`` of attention elsewhere, means over the texts.
        regularizers: ``regularizer, measure, n, mean, low, high``.
        history: ``model, epoch, loss, dev_auc`` of every training.
        classes: names, in the order of ``predicted``.
        examples: texts with the weights of their words.
        epsilon: change of the output that counts as none.
        facts: what was tested on what, a phrase each.
        notes: how the numbers came about, a sentence each.
        left_out: tests that did not run, and why.
    """

    texts: pd.DataFrame
    summary: pd.DataFrame
    verdicts: pd.DataFrame
    models: pd.DataFrame
    flips: pd.DataFrame
    curve: pd.DataFrame
    regularizers: pd.DataFrame
    history: pd.DataFrame
    classes: tuple[str, ...]
    examples: Sequence[Mapping[str, Any]] = ()
    epsilon: float = 0.05
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)


def write_explain(folder: Path, results: ExplainResults, *, model: str = "", corpus: str = "") -> Section:
    """Write tables and figures; returns the section of the report.

    Args:
        folder: an existing folder.
        results: what was found.
        model, corpus: names for the titles.
    """
    for name in ("verdicts", "summary", "texts", "models", "flips", "curve", "regularizers", "history"):
        table = getattr(results, name)
        if len(table):
            write_csv(table, folder / "tables" / f"explain_{'training' if name == 'history' else name}.csv")
    title = f"{model} on {corpus}" if model and corpus else model
    svgs = save_figures(folder, dict(_figures(results, title)))
    verdicts = verdict_rows(results.verdicts)
    return Section(
        title=f"May the attention of {model} be read as an explanation?",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "verdicts": verdicts,
            "gate": next((row["verdict"] for row in verdicts if row["test"] == "uniform"), ""),
            "groups": {name: rows for name, measures in _GROUPS.items() if (rows := _group(results, name, measures))},
            "models": rows_of(results.models),
            "has_f1": has_values(results.models, "f1"),
            "has_auc": has_values(results.models, "auc"),
            "flips": [_shares(row) for row in rows_of(results.flips) if row["n"]],
            "has_curve": "explain_curve" in svgs,
            "regularizers": _by_regularizer(results.regularizers),
            "examples": [_example(example) for example in results.examples],
            "by_class": len(results.classes) <= MAX_CLASSES,
            "n_texts": len(results.texts),
            "epsilon": results.epsilon,
            "facts": list(results.facts),
            "notes": list(results.notes),
            "not_run": list(results.left_out),
            "svgs": svgs,
        },
        summary={
            "explain_verdicts": records(results.verdicts),
            "explain_summary": records(overall(results.summary)),
            "explain_models": records(results.models),
            "explain_flips": records(results.flips),
            "explain_curve": records(results.curve),
            "explain_notes": list(results.notes),
            "explain_left_out": [{"test": test, "why": why} for test, why in results.left_out],
        },
    )


def overall(summary: pd.DataFrame) -> pd.DataFrame:
    """The rows over all texts."""
    return summary[summary["predicted"] == OVERALL] if len(summary) else summary


def verdict_rows(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """Verdicts with the number and the floor told apart: the difference says by how much attention is better off."""
    rows = rows_of(verdicts)
    for row in rows:
        sides = ["larger", "smaller"]
        if row["larger"] in _FLOORS and row["smaller"] not in _FLOORS:
            sides.reverse()
        for role, side in zip(("number", "floor"), sides, strict=True):
            label, unit = measure_name(row[side])
            row[role] = {"label": label, "unit": unit, "mean": row[f"{side}_mean"]}
        row["unit"] = row["number"]["unit"]
    return rows


def _figures(results: ExplainResults, title: str) -> Iterator[tuple[str, Figure]]:
    """Those whose columns are there."""
    texts, classes = results.texts, results.classes
    if any(has_values(texts, name) for name in ("tau_gradient", "tau_loo")):
        yield "explain_tau", tau_figure(texts, classes, title=title)
    for name, column, label in (
        ("permutation", "permutation_tvd", "median change\nof the output (TVD)"),
        ("seeds", "seed_jsd", "JSD to other seeds (nats)"),
    ):
        if has_values(texts, column):
            yield f"explain_{name}", max_attention_figure(texts, column, classes, label=label, title=title)
    if any(has_values(texts, name) for name in ("exact_jsd", "adversarial_jsd")):
        yield "explain_adversarial", adversarial_figure(texts, title=title)
    curve = results.curve
    if len(curve) and curve.loc[curve["kind"] == "adversary", ["jsd", "tvd"]].notna().all(axis=1).any():
        yield "explain_curve", curve_figure(curve, epsilon=results.epsilon, title=title)
    if any(has_values(texts, f"single_{name}_difference") for name in BEST):
        yield "explain_single", single_figure(texts, BEST, title=title)
    if any(has_values(texts, f"removal_{name}") for name in ORDERS):
        yield "explain_removal", removal_figure(texts, ORDERS, title=title)
    if has_values(results.regularizers, "mean"):
        yield "explain_regularizers", regularizers_figure(results.regularizers, title=title)
    if has_values(results.history, "loss"):
        roles = dict(zip(results.models["model"], results.models["role"], strict=True)) if len(results.models) else {}
        yield "explain_training", training_figure(results.history, roles, title=title)


def _group(results: ExplainResults, name: str, measures: Sequence[str]) -> dict[str, Any]:
    """Rows of the tables of a part of the page; empty if it did not run."""
    there = set(results.summary["measure"] if len(results.summary) else ()) | set(results.texts.columns)
    ran = any(measure in there for measure in measures if measure not in _SHARED)
    if name == "imitation":
        ran |= bool(len(results.curve)) and bool((results.curve["kind"] == "adversary").any())
    if not ran:
        return {}
    rows: dict[tuple[str, str], dict[str, Any]] = {(r["measure"], r["predicted"]): r for r in rows_of(results.summary)}
    # classes beyond those that fit are in the table on disk
    groups = [OVERALL, *results.classes] if len(results.classes) <= MAX_CLASSES else [OVERALL]
    shown = []
    for group in groups:
        for measure in measures:
            row = rows.get((measure, group))
            if row is None or (group != OVERALL and row["n"] + row["undefined"] == 0):
                continue
            label, unit = measure_name(measure)
            found = rows.get((f"significant_{measure.removeprefix('tau_')}", group), {"mean": math.nan})
            significant = found["mean"] if measure.startswith("tau_") else math.nan
            shown.append({**row, "label": label, "unit": unit, "significant": significant, "whole": group == OVERALL})
    return {
        "there": [measure for measure in measures if measure in there],
        "rows": [row for row in shown if row["whole"]],
        "by_class": [row for row in shown if not row["whole"]],
        "has_undefined": any(row["undefined"] for row in shown),
        "has_significant": any(not math.isnan(row["significant"]) for row in shown),
    }


def _shares(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the flip table in shares."""
    parts = {name: row[name] / row["n"] for name in ("both", "only_top", "only_random", "neither")}
    return {"measure": BEST.get(row["measure"], row["measure"]), "n": int(row["n"]), **parts}


def _by_regularizer(table: pd.DataFrame) -> dict[str, Any]:
    """Rows of measures, a cell for each regularizer; empty if there is none."""
    if not len(table):
        return {}
    cells = {(row["measure"], row["regularizer"]): row for row in rows_of(table)}
    names = list(dict.fromkeys(table["regularizer"]))
    rows = []
    for measure in dict.fromkeys(table["measure"]):
        label, unit = measure_name(measure)
        rows.append({"label": label, "unit": unit, "cells": [cells.get((measure, name)) for name in names]})
    return {"names": names, "rows": rows}


def _example(example: Mapping[str, Any]) -> dict[str, Any]:
    """An example with how dark each word is to be shaded: 0 to 1 within each panel."""
    panels = []
    for panel in example["panels"]:
        weights = [float(weight) for weight in panel["weights"]]
        most = max((abs(weight) for weight in weights if math.isfinite(weight)), default=0.0) or 1.0
        words = [
            {"word": word, "weight": weight, "shade": abs(weight) / most if math.isfinite(weight) else 0.0}
            for word, weight in zip(example["words"], weights, strict=True)
        ]
        panels.append({"name": panel["name"], "note": panel.get("note", ""), "words": words})
    return {**example, "panels": panels}
