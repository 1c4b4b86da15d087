"""What does a tree of distances look like? The distances and the trees of one tested sentence, gold and predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy import ndarray

from ...corpora_loaders import is_punct
from ...corpora_loaders.tree import counted_relations
from ...probes.states.annotation import NO_PATH, tree_distances
from ...probes.states.tree_scores import minimum_edges, tree_edges
from ...reports.drawing import BLUE, GREY, ORANGE, TEXT, finish, panels, with_style
from ...reports.shapes import heatmap
from .rows import ProbeQuestion, ProbeResults, Tested, layer_name
from .trainings.training import Kept

LONGEST = 30
"""The words of a sentence that is still legible in a figure."""


@dataclass(frozen=True)
class TreeExample:
    """The answer: a sentence, and the distances of its words by the first training run of the chosen layer."""

    probe: str
    layer: int
    words: tuple[str, ...]
    heads: tuple[int | None, ...]
    kept: Bool[ndarray, " words"]
    predicted: Float[ndarray, "words words"]


class TreeExamples(ProbeQuestion):
    """What does a tree of distances look like?"""

    name = "tree_example"
    template = Path(__file__).with_name("tree_example.html.j2")

    def look(self, lookup_context: Kept) -> dict[str, Any] | None:
        """Keep the sentence and what the first probe that predicts edges predicts of it; None without such a probe."""
        states, example = lookup_context.trained.states, lookup_context.trained.states.example
        for outcome in states.outcomes:
            tried = outcome.tried[0]
            if outcome.example is not None and tried.layer == states.chosen[tried.probe]:
                sentence = lookup_context.inputs.sentences[example]
                return {
                    "probe": tried.probe,
                    "layer": tried.layer,
                    "words": list(sentence.words),
                    "heads": list(sentence.heads),
                    "kept": [not is_punct(relation) for relation in counted_relations(sentence)],
                    "predicted": outcome.example.tolist(),
                }
        return None

    def join(self, lookups: Sequence[Any]) -> Any:
        """Return the example of the first of merged runs."""
        return next(iter(lookups), None)

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> TreeExample | None:
        """Return the example; None without one, or if it is too long to be drawn."""
        if lookups is None or len(lookups["words"]) > LONGEST:
            return None
        return TreeExample(
            probe=lookups["probe"],
            layer=lookups["layer"],
            words=tuple(lookups["words"]),
            heads=tuple(lookups["heads"]),
            kept=np.array(lookups["kept"], dtype=bool),
            predicted=np.array(lookups["predicted"], dtype=np.float64),
        )

    def draw(self, answer: TreeExample, results: ProbeResults, title: str) -> Mapping[str, Figure]:
        """Draw the distances and both trees."""
        return {"probe_tree": tree_figure(answer, title=title)}

    def values(self, answer: TreeExample, results: ProbeResults) -> Mapping[str, Any]:
        """Return whose distances they are."""
        return {"tree_of": f"the probe {answer.probe} of {layer_name(answer.layer)}"}


@with_style
def tree_figure(example: TreeExample, *, title: str) -> Figure:
    """Draw the distances of a sentence as two matrices with their trees above them, whose right edges are blue."""
    gold = tree_distances(example.heads)
    right = tree_edges(gold, example.kept)
    found = minimum_edges(example.predicted, example.kept)
    largest = float(max(gold.max(), 1))
    height = 1.6 + 0.19 * len(example.words)
    figure, grid = panels(
        TEXT, height, rows=2, columns=2, sharex="col", gridspec_kw={"height_ratios": [1, 2.6], "hspace": 0}
    )
    sides = (
        ("gold", np.where(gold == NO_PATH, np.nan, gold), right, "missed"),
        (f"predicted ({example.probe}, {layer_name(example.layer)})", example.predicted, found, "not in the gold tree"),
    )
    names = list(example.words)
    for column, (name, distances, edges, wrong) in enumerate(sides):
        arcs, cells = grid[:, column]
        _draw_arcs(arcs, edges, right & found, wrong)
        arcs.set_title(name, loc="left")
        drawn = heatmap(cells, distances, 0, largest)
        positions = range(len(names))
        cells.set_xticks(positions, names, rotation=90)
        cells.set_yticks(positions, names if column == 0 else [""] * len(names))
    figure.colorbar(drawn, ax=list(grid[1]), label=f"edges between words (0 to {largest:.0f})", shrink=0.9)
    finish(figure, grid[0, 0], title, handles=[grid[0, 1].get_legend_handles_labels()[0][-1]] if found - right else [])
    return figure


def _draw_arcs(axes: Axes, edges: set[tuple[int, int]], right: set[tuple[int, int]], wrong: str) -> None:
    """Draw the edges of a tree as arcs over the words."""
    angle = np.linspace(0, np.pi, 25)
    named = set[str]()
    for first, second in sorted(edges, key=lambda edge: (edge not in right, edge)):
        label = "in both trees" if (first, second) in right else wrong
        axes.plot(
            (first + second) / 2 + (second - first) / 2 * np.cos(angle),
            (second - first) / 2 * np.sin(angle),
            color=BLUE if label == "in both trees" else GREY if wrong == "missed" else ORANGE,
            linestyle="-" if label == "in both trees" else "--",
            linewidth=1,
            label=None if label in named else label,
        )
        named.add(label)
    axes.set_ylim(0, None)
    axes.set_axis_off()
