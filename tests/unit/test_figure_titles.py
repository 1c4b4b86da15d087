"""The titles of figures name the model, the corpus and, if it is not attention weights, the kind of map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attentionology.analyses.contract import Titles
from attentionology.analyses.norms.analysis import Norms
from attentionology.analyses.surface.analysis import Surface
from attentionology.analyses.surface.shown_tables import SurfaceResults
from attentionology.analyses.surface.statistics import STATISTICS
from attentionology.analyses.surface.tables import SurfaceTables
from attentionology.engine.results import Part
from attentionology.reports import Section


def surface_results() -> SurfaceResults:
    """Results of a model with one layer and one head."""
    heads = pd.DataFrame([{"layer": 1, "head": 1, "label": "other", **dict.fromkeys(STATISTICS, 0.5)}])
    heads["entropy_relative"] = heads["entropy_first_relative"] = 0.5
    layers = heads.drop(columns=["head", "label"]).assign(
        uniform_entropy=1.0, uniform_entropy_first=1.0, sink="", sink_share=np.nan
    )
    offsets = pd.DataFrame([{"layer": 1, "head": 1, "offset": offset, "attention": 0.2} for offset in range(-2, 3)])
    return SurfaceResults(SurfaceTables(heads, layers, offsets, heads[["layer", "head"]]), {})


@pytest.mark.parametrize(
    ("kind", "expected"), [("norm", "a model on a corpus · map “norm”"), ("weight", "a model on a corpus")]
)
def test_a_figure_names_its_kind_of_map_unless_it_is_attention_weights(kind, expected):
    unknown: Any = None
    part = Part(Surface(), kind, (), unknown, results=surface_results())
    section = part.section(Titles("a model", "a corpus"))
    assert section.figures["surface_statistics"].get_suptitle() == expected


def test_an_analysis_that_is_not_about_one_kind_of_map_names_none():
    unknown: Any = None
    seen = []

    class Recorded(Norms):
        def section(self, results, titles):
            seen.append(titles)
            return Section("Norms", "norms.html.j2")

    Part(Recorded(), None, (), unknown, results=object()).section(Titles("a model", "a corpus"))
    assert seen == [Titles("a model", "a corpus")]
