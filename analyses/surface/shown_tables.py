"""The results of the surface analysis, and the tables of them that people read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...reports.columns import Row, TableColumn
from ...reports.format import head_name, number, percent, rows_of
from ...reports.table import ShownTable
from ..shared.explored import names_of
from ..shared.previews import Previewed
from .labels import LABELS
from .statistics import LEARNED_SINK
from .tables import SurfaceTables

_BY_LAYER = ("previous", "next", "self", "first_special", "last_special", "punctuation", "other", LEARNED_SINK)
_NAMED = 8
"""The number of heads with a label that a terminal names."""


@dataclass(frozen=True, repr=False)
class SurfaceResults(Previewed):
    """The results of the analysis ``surface``. Layers and heads are 1-based, entropies are in nats.

    Attributes:
        tables: four tables. ``tables.heads`` has one row per ``layer`` and ``head``, with the statistics (``self``,
            ``previous``, ``next``, …, ``entropy``) and the ``label`` of the head; ``tables.layers`` has their means,
            smallest and largest values by ``layer``; ``tables.offsets`` has the ``attention`` to each ``offset``; and
            ``tables.counts`` the numbers of ``inputs`` and ``rows`` of each ``statistic``.
        specials: the model's own names of its ``first_special`` and ``last_special`` tokens. A model that has no such
            token has no entry.
        gradients: the table of `attentionology.analyses.surface.gradients.GradientImportance`, None if there is none.
        notes: sentences about how the numbers were computed.
    """

    tables: SurfaceTables
    specials: Mapping[str, str]
    gradients: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()


def shown_tables(results: SurfaceResults) -> list[ShownTable]:
    """Return the tables of the page: layers, the strongest heads, labels, and gradients if there are any."""
    heads, specials = results.tables.heads, results.specials
    tables = [layers_table(results), _strongest(heads, specials), _labels(heads, specials)]
    return tables if results.gradients is None else [*tables, _gradients(results.gradients, specials)]


def layers_table(results: SurfaceResults) -> ShownTable:
    """Return where attention goes, layer by layer."""
    layers, names = results.tables.layers, statistic_names(results.specials)
    columns = [
        TableColumn("layer", "number from 1", "", "layer"),
        *(TableColumn(name, "share", "", names[name]) for name in _BY_LAYER if has(layers, name)),
        TableColumn("entropy", "nats", "", "entropy, nats", terminal="entropy"),
        TableColumn("entropy_relative", "share", "", "of uniform entropy", terminal="rel. entropy"),
    ]
    uniform = number(layers["uniform_entropy"].iloc[0], 2)
    notes = [f"Entropy is in nats; that of attention to all tokens alike is {uniform}."]
    labeled = []
    for row in _label_rows(results.tables.heads, results.specials):
        if row["heads"] and row["name"] != "other":
            more = " …" if len(row["heads"]) > _NAMED else ""
            labeled.append(f"{row['label']}: {' '.join(row['heads'][:_NAMED])}{more}")
    if labeled:
        notes += ["Heads with a label:", *labeled]
    notes += results.notes
    if results.gradients is not None:
        notes.append("The gradients are in the report.")
    title = "Where attention goes by layer (mean over heads, %)"
    return ShownTable("surface_layers", title, columns, rows_of(layers), notes=tuple(notes))


def _strongest(heads: pd.DataFrame, specials: Mapping[str, str]) -> ShownTable:
    """Return the head with the largest value of each statistic."""
    rows: list[Row] = []
    for statistic, name in statistic_names(specials).items():
        if has(heads, statistic):
            values = heads[statistic]
            top = heads.iloc[int(values.argmax())]
            head = head_name(int(top["layer"]), int(top["head"]))
            value, mean = float(top[statistic]), float(values.mean())
            in_nats = statistic in ("entropy", "entropy_first")
            rows.append({"name": name, "head": head, "value": value, "mean": mean, "in_nats": in_nats})
    columns = [
        TableColumn("name", "text", "", "attention"),
        TableColumn("head", "number", "", "head with most", cell=lambda row: str(row["head"])),
        TableColumn("value", "number", "", "its value", cell=lambda row: _in_unit(row, "value")),
        TableColumn("mean", "number", "", "mean of all heads", cell=lambda row: _in_unit(row, "mean")),
    ]
    return ShownTable("surface_strongest", "The heads with the largest values (%)", columns, rows)


def _in_unit(row: Row, name: str) -> str:
    return f"{number(row[name], 2)} nats" if row["in_nats"] else percent(row[name])


def _labels(heads: pd.DataFrame, specials: Mapping[str, str]) -> ShownTable:
    """Return the heads that have each label."""
    columns = [
        TableColumn("label", "text", "", "label"),
        TableColumn("heads", "count", "", "heads", cell=lambda row: str(len(row["heads"]))),
        TableColumn("heads", "text", "", "which heads", cell=lambda row: " ".join(row["heads"]) or "–", wraps=True),
    ]
    return ShownTable("surface_labels", "What heads are for", columns, _label_rows(heads, specials))


def _label_rows(heads: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the names of the heads that have each label."""
    names = label_names(specials)
    rows = []
    for label in (*LABELS[1:], LABELS[0]):  # at last the heads without a label
        labeled = heads[heads["label"] == label]
        rows.append({"name": label, "label": names.get(label, label), "heads": names_of(labeled)})
    return rows


def _gradients(gradients: pd.DataFrame, specials: Mapping[str, str]) -> ShownTable:
    """Return the gradient of, and the attention to, each class of tokens by layer, as means over heads."""
    names = class_names(specials)
    classes = list(dict.fromkeys(gradients["class"]))
    means = gradients.groupby(["layer", "class"], as_index=False)[["gradient", "attention"]].mean()
    rows: dict[int, dict[str, Any]] = {}
    for mean in rows_of(means):
        row = rows.setdefault(mean["layer"], {"layer": mean["layer"]})
        row |= {f"{measure}:{mean['class']}": mean[measure] for measure in ("gradient", "attention")}
    columns = [
        TableColumn("layer", "number from 1", "", "layer"),
        *(_gradient_column(name, names.get(name, name)) for name in classes),
        *(TableColumn(f"attention:{name}", "share", "", f"α {names.get(name, name)}") for name in classes),
    ]
    return ShownTable("surface_gradients", "Gradients and attention by class of tokens", columns, list(rows.values()))


def _gradient_column(name: str, shown_name: str) -> TableColumn:
    return TableColumn("", "number", "", f"|∂L/∂α| {shown_name}", cell=lambda row: f"{row[f'gradient:{name}']:.1e}")


def statistic_names(specials: Mapping[str, str]) -> dict[str, str]:
    """Return the headings of the statistics, with the model's own names of its special tokens."""
    first, last = specials.get("first_special", "first special"), specials.get("last_special", "last special")
    return {
        "previous": "previous",
        "next": "next",
        "self": "itself",
        "first_special": first,
        "last_special": last,
        "period_comma": "period, comma",
        "punctuation": "punctuation",
        "other": "other tokens",
        "first_to_first": f"{first} → {first}",
        "last_to_last": f"{last} → {last}",
        "rest_to_first": f"others → {first}",
        "rest_to_last": f"others → {last}",
        "entropy": "entropy",
        "entropy_relative": "entropy, relative",
        "entropy_first": f"entropy of {first}",
        "entropy_first_relative": f"entropy of {first}, relative",
        LEARNED_SINK: "learned sink",
    }


def has(table: pd.DataFrame, statistic: str) -> bool:
    """Return whether the model has what a statistic is about, such as special tokens or learned sinks."""
    return statistic in table and bool(table[statistic].notna().any())


def label_names(specials: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the labels of heads in the report. A label without an entry is its own name."""
    first, last = specials.get("first_special", "first special"), specials.get("last_special", "last special")
    return {
        "next": "next token",
        "previous": "previous token",
        "self": "itself",
        "first-special": f"sink {first}",
        "last-special": f"sink {last}",
        "other": "no label",
    }


def class_names(specials: Mapping[str, str]) -> dict[str, str]:
    """Return the model's own names of the classes that are named after BERT's special tokens."""
    return {"[CLS]": specials.get("first_special", "[CLS]"), "[SEP]": specials.get("last_special", "[SEP]")}
