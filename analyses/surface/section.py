"""The analyses of surface patterns and of clusters of heads on disk and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from attentionology.analyses.contract import Titles
from attentionology.analyses.shared.previews import Previewed
from attentionology.analyses.surface.figures import (
    class_names,
    entropy_figure,
    gradients_figure,
    offsets_figure,
    statistics_figure,
)
from attentionology.analyses.surface.labels import LABELS
from attentionology.analyses.surface.statistics import SurfaceTables
from attentionology.reports.format import head_name, ranges
from attentionology.reports.json_text import records
from attentionology.reports.page import Section

_TREE_LEAVES = 400
BY_LAYER = ("previous", "next", "self", "first_special", "last_special", "punctuation", "other")


@dataclass(frozen=True, repr=False)
class SurfaceResults(Previewed):
    """What the analysis ``surface`` found.

    Attributes:
        tables: surface statistics, heads with labels.
        specials: what the model calls its ``first_special`` and ``last_special`` tokens; without an entry it has none.
        gradients: `attentionology.analyses.surface.gradients.GradientImportance`, None if there are none.
        notes: how the numbers came about, a sentence each.
    """

    tables: SurfaceTables
    specials: Mapping[str, str]
    gradients: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()


def surface_section(results: SurfaceResults, titles: Titles | None = None) -> Section:
    """The tables, the figures and the section of the page."""
    title = (titles or Titles()).figure
    found, specials = results.tables, results.specials
    tables = {
        "surface": found.heads,
        "surface_layers": found.layers,
        "offsets": found.offsets,
        "surface_counts": found.counts,
    }
    drawn = {
        "surface_statistics": statistics_figure(found.heads, specials, title=title),
        "surface_offsets": offsets_figure(found.offsets, title=title),
        "surface_entropy": entropy_figure(found.heads, found.layers, specials, title=title),
    }
    if results.gradients is not None:
        tables["gradients"] = results.gradients
        drawn["surface_gradients"] = gradients_figure(results.gradients, specials, title=title)
    return Section(
        title="What attention heads do on the surface of the text",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "notes": results.notes,
            "names": statistic_names(specials),
            "layers": found.layers.to_dict("records"),
            "strongest": strongest(found.heads, specials),
            "labels": label_rows(found.heads, specials),
            "sink": sinks(found.layers, specials),
            "shown": [name for name in BY_LAYER if found.layers[name].notna().any()],
            "gradients": gradient_rows(results.gradients, specials),
        },
        summary={
            "surface": records(found.heads),
            "surface_layers": records(found.layers),
            **({} if results.gradients is None else {"gradients": records(results.gradients)}),
        },
        tables=tables,
        figures=drawn,
    )


def statistic_names(specials: Mapping[str, str]) -> dict[str, str]:
    """What to call the statistics, with the model's own names of its special tokens."""
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
    """What to call the labels of heads."""
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
    """For each statistic the head that has most of it."""
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
    """Which heads have which label."""
    names = label_names(specials)
    rows = []
    for label in (*LABELS[1:], LABELS[0]):
        own = heads[heads["label"] == label]
        found = [head_name(layer, head) for layer, head in zip(own["layer"], own["head"], strict=True)]
        rows.append({"label": names.get(label, label), "heads": found})
    return rows


def sinks(layers: pd.DataFrame, specials: Mapping[str, str]) -> list[dict[str, Any]]:
    """The special token that gets most, by the model's name: in which layers, and its lowest and highest share."""
    found = layers[layers["sink"] != ""].groupby("sink", sort=False)
    return [
        {
            "name": specials.get(str(name), str(name)),
            "layers": ranges(own["layer"].tolist()),
            "low": own["sink_share"].min(),
            "high": own["sink_share"].max(),
        }
        for name, own in found
    ]


def gradient_rows(gradients: pd.DataFrame | None, specials: Mapping[str, str]) -> dict[str, Any] | None:
    """Layers down, classes across, gradient and attention of each."""
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
