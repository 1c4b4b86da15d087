"""The axes and the bars of colors of figures name the quantity that is drawn, with its unit, in every panel."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure

from attentionology.analyses.ablation.heads import heads_figure as ablation_heads_figure
from attentionology.analyses.ablation.pruning import pruning_figure
from attentionology.analyses.clusters.distances import distances_figure
from attentionology.analyses.coreference.figures import best_figure, distance_figure
from attentionology.analyses.coreference.figures import heads_figure as coreference_heads_figure
from attentionology.analyses.coreference.rows import under
from attentionology.analyses.dependency.figures import best_heads_figure, heads_figure
from attentionology.analyses.norms.mixing import mixing_figure
from tests.documents import counted_mentions
from tests.maps import counted_words
from tests.norms import norm_figures
from tests.shown_tables import distinct_table
from tests.surface import surface_figures
from tests.unit.test_norm_reports import results as norms  # noqa: F401  # a fixture
from tests.unit.test_shown_ablation import results as ablation_results
from tests.unit.test_surface_reports import results as surface_results

LAYER = ("layer",)


def labels(figure: Figure) -> list[tuple[str, ...]]:
    """The labels of the horizontal and the vertical axis of each panel and bar of colors that has any."""
    names = [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes]
    return [tuple(filter(None, each)) for each in names if any(each)]


def test_figures_of_relations() -> None:
    tables = counted_words().compute()
    assert labels(best_heads_figure(tables.best, min_count=0)) == [("words whose head is found (%)",)]
    maps = heads_figure(tables.cells, tables.best)
    assert (maps.get_supxlabel(), maps.get_supylabel()) == ("head", "layer")
    assert labels(maps) == [("accuracy (%), better direction",)]


def test_figures_of_mentions() -> None:
    tables = counted_mentions().compute()
    best = under("preceding", tables.best)
    assert labels(best_figure(best, None)) == [("mentions whose antecedent is found (%)",)]
    maps = coreference_heads_figure(tables.cells, best, "preceding")
    assert labels(maps) == [("head", "layer"), ("head",), ("antecedents found (%)",)]
    sentences, words = (f"{unit} to the nearest antecedent (mentions)" for unit in ("sentences", "words"))
    expected = [(sentences, "antecedents found (%)"), (words,)]
    assert labels(distance_figure(tables.distances, best, "preceding")) == expected


def test_figures_of_the_surface() -> None:
    found, clusters = surface_results("bert")
    offset = "offset (+1: the next token)"
    shares = ("to the previous token (%)", "to the next token (%)", "to itself (%)")
    lower = ("to <cls> (%)", "to [SEP] (%)", "to punctuation (%)")
    assert {name: labels(figure) for name, figure in surface_figures(found, "").items()} == {
        "surface_statistics": [*((share,) for share in shares), *((*LAYER, share) for share in lower)],
        "surface_offsets": [(offset, "layer"), (offset,), ("attention (%)",), ("attention (%)",)],
        "surface_entropy": [
            (*LAYER, "entropy of all rows (nats)"),
            (*LAYER, "entropy of the row of <cls> (nats)"),
        ],
        "surface_special": [(*LAYER, f"attention to {name} (%)") for name in ("<cls>", "[SEP]")],
        "surface_gradients": [(*LAYER, "mean |∂L/∂α|, per weight"), (*LAYER, "share of attention (%)")],
    }
    matrix = distances_figure(clusters.distances.per_row, clusters.heads)
    assert labels(matrix) == [("distance (nats)",), ("Jensen-Shannon divergence (nats)",)]
    (image,) = matrix.axes[1].images
    assert image.colorbar
    assert image.colorbar.extend == "max"  # the largest distances have one color


def test_figures_of_norms(norms) -> None:  # noqa: F811  # the fixture
    weight, rank = "attention weight α (%)", "frequency rank"
    assert {name: labels(figure) for name, figure in norm_figures(norms, "").items()} == {
        "norms_shares": [(*LAYER, name) for name in (weight, "norm of f(x)", "share of norms ‖αf(x)‖ (%)")],
        "norms_mixing": [(*LAYER, "mixing ratio (%)")] * 2,
        "norms_frequency": [
            (rank, "norm of f(x)"),
            (rank, "attention weight received (%)"),
            (rank, "mixing ratio, attnresln-n (%)"),
        ],
        "norms_grid": [(weight, "norm of f(x)"), *[(weight,)] * 3],
        "norms_change": [(*LAYER, "change of the map (1 − ρ)")],
        "norms_block": [
            (*LAYER, "norm: median and quartiles"),
            (*LAYER, "angle of FF and residual (°)"),
            (*LAYER, "change by LN (1 − ρ)"),
        ],
        "norms_pairs": [("layer, the pairs that are amplified most", "share of pairs (%)")],
    }


def test_each_line_of_mixing_ratios_ends_at_its_name(norms) -> None:  # noqa: F811  # the fixture
    """Its color is that of the line."""
    names = {
        "attn-w": "attention (weights)",
        "attnres-w": "+ residual (weights)",
        "attn-n": "attention",
        "attnres-n": "+ residual",
        "attnresln-n": "+ layer norm",
        "atbff-n": "+ FF",
        "atbffres-n": "+ FF + residual",
        "atbffresln-n": "+ layer norm after FF",
    }
    mixing = distinct_table(norms.mixing)
    panels: Any = mixing_figure(mixing).axes
    left, right = panels
    drawn = {str(line.get_label()).removeprefix("_"): line for line in left.get_lines()}
    assert {text.get_text() for text in left.texts} == {names[variant] for variant in drawn}
    for text in left.texts:
        (line,) = (line for variant, line in drawn.items() if names[variant] == text.get_text())
        assert (text.xy[1], text.get_color()) == (pytest.approx(line.get_ydata()[-1]), line.get_color())
    assert (left.get_title(loc="left"), right.get_title(loc="left")) == ("all tokens", "+ layer norm, by class")


@pytest.mark.parametrize(
    ("effect", "name"),
    [
        ("cosine", "1 − cosine of final vectors"),
        ("l2", "relative change of final vectors"),
        ("loss", "increase of −log p (nats)"),
    ],
)
def test_figures_of_effects_name_the_effect(effect: str, name: str) -> None:
    found = ablation_results()
    assert found.pruning is not None
    assert labels(ablation_heads_figure(found.tables.heads, effect)) == [("head", "layer"), (name,)]
    assert labels(pruning_figure(found.pruning.assign(effect=effect), effect)) == [("heads switched off (%)", name)]
