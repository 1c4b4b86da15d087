"""What figures label, and which rows they leave out."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from attentionology.analyses.alignment.best import heads_figure as alignment_heads_figure
from attentionology.analyses.alignment.layers import error_figure
from attentionology.analyses.contract import Titles
from attentionology.analyses.dependency.figures import heads_figure
from attentionology.analyses.surface.analysis import Surface
from attentionology.analyses.surface.figures import special_figure, statistics_figure
from attentionology.analyses.surface.offsets import offsets_figure
from attentionology.engine.results.part import Part
from tests.maps import RELATIONS, counted_words
from tests.unit.test_figure_data import SPECIALS, alignment  # noqa: F401  # a fixture
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
    assert [axes.get_ylabel() for axes in figure.axes[:2]] == ["layer", ""]


def test_relations_without_words_have_no_map():
    tables = counted_words().compute()
    without, *others = (name for name in tables.best["relation"] if name in RELATIONS)  # the most frequent one first
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


def test_inner_heatmaps_leave_the_numbers_of_layers_and_heads_to_the_outer_ones(alignment):  # noqa: F811
    tables = counted_words().compute()
    for figure in (heads_figure(tables.cells, tables.best), alignment_heads_figure(alignment)):
        maps: Any = [axes for axes in figure.axes if axes.get_label() != "<colorbar>" and axes.get_visible()]
        places = [axes.get_subplotspec() for axes in maps]
        assert {place.is_last_row() for place in places} | {place.is_first_col() for place in places} == {True, False}
        for axes, place in zip(maps, places, strict=True):
            assert any(label.get_visible() for label in axes.get_xticklabels()) == place.is_last_row()
            assert any(label.get_visible() for label in axes.get_yticklabels()) == place.is_first_col()


def test_two_series_in_a_panel_have_the_grid_of_one():
    figure: Any = special_figure(surface_results("bert")[0].tables.heads, SPECIALS)
    for axes in figure.axes:
        assert {line.get_visible() for line in axes.get_ygridlines()} == {True}


def test_small_shares_have_an_axis_to_one_percent_and_the_lowest_panels_name_it():
    heads = surface_results("bert")[0].tables.heads.assign(previous=0.001)
    figure: Any = statistics_figure(heads, SPECIALS)
    assert figure.axes[0].get_ylim() == (0, 1.06)
    assert [axes.get_xlabel() for axes in figure.axes] == [*[""] * 3, *["layer"] * 3]


def test_error_rates_share_an_axis_and_a_legend(alignment):  # noqa: F811  # the fixture
    figure: Any = error_figure(alignment)
    assert {axes.get_ylim() for axes in figure.axes} == {(-2, 102)}
    names = [f"{setting}, {measure}" for setting in ("AWI", "AWO") for measure in ("norm", "weight")]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names
    quantities = ["alignment error rate (%)", "words on special tokens (%)"]
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes] == [("layer", name) for name in quantities]
    four: Any = alignment_heads_figure(alignment)
    assert (four.get_supxlabel(), four.get_supylabel()) == ("head", "layer")
    one: Any = alignment_heads_figure(alignment[(alignment["setting"] == "AWO") & (alignment["measure"] == "norm")])
    for each, columns, lines in ((four, 2, 2), (one, 1, 1)):
        first, *_, colors = each.axes
        assert (first.get_gridspec().ncols, each.get_figheight()) == (columns, pytest.approx(0.5 + 1.8 * lines))
        assert colors.get_ylabel() == "alignment error rate (%)"
