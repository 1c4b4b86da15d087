"""The outlines that take the place of figures in tests: different for different figures, which are still drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.outlines import FIGURES, Figures, outline


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


@pytest.fixture
def names(monkeypatch):
    """The names of the files that are drawn, and a fresh object that draws them."""
    figures, drawn = Figures(), []

    def save(figure: Figure, path: Path) -> None:
        drawn.append(path.name)
        path.write_text(f"drawn as {path.name}")

    monkeypatch.setattr(figures, "savefig", save)
    return figures, drawn


def test_the_first_figure_of_its_kind_is_drawn(names, tmp_path):
    figures, drawn = names
    with figures.replaced(".svg", ".png"):
        for number, (height, name) in enumerate([(2, "a"), (3, "a-norm"), (2, "b"), (float("nan"), "a"), (2, "a")]):
            for suffix in ("svg", "png"):
                (tmp_path / str(number)).mkdir(exist_ok=True)
                figure(height=height).savefig(tmp_path / str(number) / f"{name}.{suffix}")
    assert drawn == ["a.svg", "a.png", "b.svg", "a.svg"]
    files = [(tmp_path / name).read_text() for name in ("0/a.svg", "1/a-norm.svg", "3/a.svg", "4/a.svg")]
    assert len(set(files)) == 3
    assert files[0] == files[3]
    assert (tmp_path / "2" / "b.png").read_text() == "drawn as a.png"


def test_svgs_can_be_drawn_beside_copies_of_pngs(names, tmp_path):
    figures, drawn = names
    with figures.replaced(".png"):
        for name in ("a.svg", "a.png", "b.png", "a.svg", "a.png"):
            figure().savefig(tmp_path / name)
    assert drawn == ["a.svg", "a.png", "b.png", "a.svg"]


def test_figures_can_be_drawn_in_full(tmp_path):
    with FIGURES.replaced(".svg", ".png"), FIGURES.in_full():
        figure().savefig(tmp_path / "full.svg")
    assert "<path" in (tmp_path / "full.svg").read_text()


def test_processes_draw_each_figure_once_between_them(tmp_path):
    one, other = Figures(), Figures()
    one.shared = other.shared = tmp_path
    assert [figures.is_first("a") for figures in (one, other, one)] == [True, False, False]
    assert [figures.is_first("b") for figures in (other, one, other)] == [True, False, False]
    assert Figures().is_first("a")


def test_nothing_is_drawn_where_outlines_are_enough(tmp_path):
    with Figures(draw=False).replaced(".svg", ".png"):
        figure().savefig(tmp_path / "a.svg")
        figure().savefig(tmp_path / "a.png")
    assert (tmp_path / "a.svg").read_text() == outline(figure())[0]
    assert (tmp_path / "a.png").read_bytes() == b""
