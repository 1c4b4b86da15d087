"""What all figures share: colours, style, axes, files. Drawn to be legible at the width of a journal column or page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

# Okabe & Ito's palette, distinguishable with any colour vision.
BLUE, ORANGE, GREY, BLACK = "#0072B2", "#D55E00", "#999999", "#000000"
GREEN, PURPLE, SKY, YELLOW = "#009E73", "#CC79A7", "#56B4E9", "#E69F00"

CLASSES = {
    "[CLS]": (BLUE, "o"),
    "[SEP]": (ORANGE, "s"),
    "[MASK]": (PURPLE, "D"),
    "punctuation": (GREEN, "^"),
    "other": (GREY, "v"),
    "all": (BLACK, "o"),
}
"""Colour and marker of each class of tokens."""

STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "attentionology",  # same input, same file
    "svg.fonttype": "none",  # text stays text, to be searched and edited
    "text.parse_math": False,  # a relation may be called $
    "savefig.dpi": 200,
}


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write ``name.svg`` and ``name.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        figure.savefig(folder / f"{name}.png", bbox_inches="tight")


def ticks(n: int) -> list[int]:
    """0-based places of at most seven labels, the first always among them."""
    return list(range(0, n, max(1, math.ceil(n / 6))))


def by_layer(axes: Axes, layers: Iterable[Any], label: str) -> None:
    """Layers along the horizontal axis, what is measured along the vertical."""
    places = ticks(max(layers))
    axes.set_xticks([place + 1 for place in places], [str(place + 1) for place in places])
    axes.set_xlabel("layer")
    axes.set_ylabel(label)
    axes.grid(axis="y", color="#eeeeee", zorder=0)


def finish(figure: Figure, axes: Axes, title: str) -> None:
    """Title, and one legend below for all axes, if anything has a label."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(title, fontsize=8, x=0.01, ha="left")


def name_rows(axes: Axes, left: Sequence[str], right: Sequence[str]) -> None:
    """Rows from the top down at 0, 1, …, named on both sides."""
    places = range(len(left))
    axes.set_yticks(places, left)
    axes.set_ylim(len(left) - 0.5, -0.5)
    axes.grid(axis="y", color="#eeeeee", zorder=0)
    names = axes.secondary_yaxis("right")
    names.set_yticks(places, right)
    names.tick_params(length=0)
    names.spines["right"].set_visible(False)


def heads_map(axes: Axes, rates: pd.DataFrame) -> AxesImage:
    """Rates of all heads as a heatmap from 0 to 100 %; layers are rows, heads columns, both named from 1."""
    n_layers, n_heads = rates.shape
    axes.set_xticks(ticks(n_heads), [str(i + 1) for i in ticks(n_heads)])
    axes.set_yticks(ticks(n_layers), [str(i + 1) for i in ticks(n_layers)])
    return axes.imshow(rates.to_numpy() * 100, vmin=0, vmax=100, cmap="cividis", origin="lower", aspect="auto")
