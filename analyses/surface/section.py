"""The results of the analysis of surface patterns, and their section of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.format import head_name, ranges
from ...reports.json_text import records
from ...reports.page import Section
from ..contract import Titles
from ..shared.previews import Previewed
from .figures import (
    class_names,
    entropy_figure,
    gradients_figure,
    offsets_figure,
    statistics_figure,
)
from .labels import LABELS
from .statistics import SurfaceTables

BY_LAYER = ("previous", "next", "self", "first_special", "last_special", "punctuation", "other")


@dataclass(frozen=True, repr=False)
class SurfaceResults(Previewed):
    """The results of the analysis ``surface``.

    Attributes:
        tables: the surface statistics, with labels of the heads.
        specials: the model's own names of its ``first_special`` and ``last_special`` tokens. A model that has no such
            token has no entry.
        gradients: the table of `attentionology.analyses.surface.gradients.GradientImportance`, None if there is none.
        notes: sentences about how the numbers were computed.
    """

    tables: SurfaceTables
    specials: Mapping[str, str]
    gradients: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()


def surface_section(results: SurfaceResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    title = (titles or Titles()).figure
    heads, layers, offsets, counts = results.tables
    specials = results.specials
    tables = {"surface": heads, "surface_layers": layers, "offsets": offsets, "surface_counts": counts}
    figures = {
        "surface_statistics": statistics_figure(heads, specials, title=title),
        "surface_offsets": offsets_figure(offsets, title=title),
        "surface_entropy": entropy_figure(heads, layers, specials, title=title),
    }
    if results.gradients is not None:
        tables["gradients"] = results.gradients
        figures["surface_gradients"] = gradients_figure(results.gradients, specials, title=title)
    return Section(
        title="What attention heads do on the surface of the text",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "notes": results.notes,
            "names": statistic_names(specials),
            "layers": layers.to_dict("records"),
            "strongest": strongest(heads, specials),
            "labels": label_rows(heads, specials),
            "sink": sinks(layers, specials),
            "shown": [name for name in BY_LAYER if layers[name].notna().any()],
            "gradients": gradient_rows(results.gradients, specials),
        },
        summary={
            "surface": records(heads),
            "surface_layers": records(layers),
            **({} if results.gradients is None else {"gradients": records(results.gradients)}),
        },
        tables=tables,
        figures=figures,
    )


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
    }


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


def strongest(heads: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return, for each statistic, the head with the largest value."""
    rows = []
    for statistic, name in statistic_names(specials).items():
        values = heads[statistic]
        if values.notna().any():
            top = heads.iloc[int(values.argmax())]
            rows.append(
                {
                    "name": name,
                    "head": head_name(int(top["layer"]), int(top["head"])),
                    "value": float(top[statistic]),
                    "mean": float(values.mean()),
                    "nats": statistic in ("entropy", "entropy_first"),
                }
            )
    return rows


def label_rows(heads: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the names of the heads that have each label."""
    names = label_names(specials)
    rows = []
    for label in (*LABELS[1:], LABELS[0]):
        labeled = heads[heads["label"] == label]
        head_names = [head_name(layer, head) for layer, head in zip(labeled["layer"], labeled["head"], strict=True)]
        rows.append({"label": names.get(label, label), "heads": head_names})
    return rows


def sinks(layers: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the special tokens that get the most attention in any layer, with these layers and the range of shares."""
    return [
        {
            "name": specials.get(str(name), str(name)),
            "layers": ranges(group["layer"].tolist()),
            "low": group["sink_share"].min(),
            "high": group["sink_share"].max(),
        }
        for name, group in layers[layers["sink"] != ""].groupby("sink", sort=False)
    ]


def gradient_rows(gradients: pd.DataFrame | None, specials: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the gradient of, and the attention to, each class by layer; None if there are no gradients."""
    if gradients is None:
        return None
    means = gradients.groupby(["layer", "class"], sort=False)[["gradient", "attention"]].mean()
    classes = list(dict.fromkeys(gradients["class"]))
    names = class_names(specials)
    return {
        "classes": [names.get(name, name) for name in classes],
        "loss": float(gradients["loss"].iloc[0]),
        "inputs": int(gradients["inputs"].max()),
        "rows": [
            {
                "layer": layer,
                "gradients": [means.loc[(layer, name), "gradient"] for name in classes],
                "attention": [means.loc[(layer, name), "attention"] for name in classes],
            }
            for layer in dict.fromkeys(gradients["layer"])
        ],
    }
