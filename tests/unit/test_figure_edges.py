"""What figures label, and which rows they leave out."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from attentionology.analyses.contract import Titles
from attentionology.analyses.dependency.figures import heads_figure
from attentionology.analyses.surface.analysis import Surface
from attentionology.analyses.surface.figures import offsets_figure
from attentionology.engine.results import Part
from tests.maps import RELATIONS, counted_words
from tests.unit.test_surface_reports import results as surface_results


@pytest.mark.parametrize(
    ("largest", "expected"),
    [(5, "−5 −4 −3 −2 −1 0 +1 +2 +3 +4 +5"), (12, "−12 −10 −8 −6 −4 −2 0 +2 +4 +6 +8 +10 +12")],
)
def test_offsets_have_a_sign_and_layers_a_number(largest, expected):
    offsets = pd.DataFrame(
        [(layer, 1, offset, 0.1 + layer) for layer in (1, 2, 3) for offset in range(-largest, largest + 1)],
        columns=["layer", "head", "offset", "attention"],
    )
    figure: Any = offsets_figure(offsets)
    for axes in figure.axes[:2]:
        assert [label.get_text() for label in axes.get_xticklabels()] == expected.split()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["1", "2", "3"]


def test_relations_without_words_have_no_map():
    tables = counted_words().compute()
    without, *others = RELATIONS
    best = tables.best.assign(total=tables.best["total"].where(tables.best["relation"] != without, 0))
    figure: Any = heads_figure(tables.cells, best)
    drawn = [axes.get_title().partition(":")[0] for axes in figure.axes if axes.patches]
    assert drawn
    assert set(drawn) <= set(others)


@pytest.mark.parametrize(
    ("kind", "expected"), [("norm", "a model on a corpus · map “norm”"), ("weight", "a model on a corpus")]
)
def test_a_figure_names_its_kind_of_map_unless_it_is_attention_weights(kind, expected):
    unknown: Any = None
    part = Part(Surface(), kind, (), unknown, results=surface_results("bert")[0])
    section = part.section(Titles("a model", "a corpus"))
    assert section.figures["surface_statistics"].get_suptitle() == expected
