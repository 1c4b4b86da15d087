"""The outlines that take the place of figures in tests: different for different figures, which are still drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.outlines import FIGURES, outline


def figure(*, height: float = 2.0, cell: float = 0.5, label: str = "a <b>", bars: float = 1.0) -> Figure:
    drawn = Figure()
    axes = drawn.subplots(1, 3)
    axes[0].plot([0, 1], [1, height])
    axes[0].set_xlabel(label)
    axes[1].imshow([[cell, 1]])
    axes[2].bar([0, 1], [bars, 2])
    axes[2].scatter([0, 1], [bars, 2])
    return drawn


@pytest.mark.parametrize("change", [{"height": 3.0}, {"cell": 0.25}, {"label": "c"}, {"bars": 1.5}])
def test_outlines_differ_where_figures_do(change):
    assert outline(figure())[0] == outline(figure())[0]
    assert outline(figure(**change))[0] != outline(figure())[0]


def test_outlines_have_the_words_of_figures():
    svg, _ = outline(figure())
    assert "a &lt;b&gt;" in svg


def test_the_first_figure_of_its_kind_is_drawn(tmp_path, monkeypatch):
    drawn = []

    def save(figure: Figure, path: Path) -> None:
        drawn.append(path.name)
        path.write_text("drawn")

    monkeypatch.setattr(FIGURES, "savefig", save)
    with FIGURES.replaced(".svg", ".png"):
        for number, (height, name) in enumerate([(2, "a"), (3, "a"), (2, "b"), (float("nan"), "a"), (2, "a")]):
            for suffix in ("svg", "png"):
                (tmp_path / str(number)).mkdir(exist_ok=True)
                figure(height=height).savefig(tmp_path / str(number) / f"outlined {name}.{suffix}")
    assert drawn == ["outlined a.svg", "outlined a.png", "outlined b.svg", "outlined b.png", "outlined a.svg"]
    files = [(tmp_path / str(number) / "outlined a.svg").read_text() for number in (0, 1, 3, 4)]
    assert len(set(files)) == 3
    assert files[0] == files[3]


def test_figures_can_be_drawn_in_full(tmp_path):
    with FIGURES.replaced(".svg", ".png"), FIGURES.in_full():
        figure().savefig(tmp_path / "full.svg")
    assert "<path" in (tmp_path / "full.svg").read_text()
