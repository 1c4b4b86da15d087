"""Which heads does a probe predict in a sentence? Predicted trees of a few tested sentences, beside the gold trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ...corpora_loaders import is_punct
from ...corpora_loaders.tree import counted_relations
from ...reports.heads.figure import draw
from ...reports.heads.view import HeadView
from .rows import ProbeQuestion, ProbeResults, Tested, layer_name
from .trainings.training import Kept

MOST_PROBES = 2
"""The number of probes whose trees are drawn. Three would make a figure that is higher than a page of paper."""

LEGEND = (
    "Arrows lead from a head to its dependent. Below the words: predicted, green if right, orange and dashed if wrong. "
    "A word whose predicted head is the root or the word itself has no arrow. Above the words: the annotation. Counts "
    "leave out punctuation."
)


@dataclass(frozen=True)
class PredictedTree:
    """The tree that one probe predicts for a tested sentence.

    Attributes:
        probe: the probe, by its name in tables.
        sentence: the id of the sentence.
        source: where the sentence is from, and what the probe was trained on instead.
        decoding: how heads are chosen, ``"argmax"`` or ``"tree"``.
        words, heads, relations: the sentence, with 1-based heads, 0 for roots and None for words without one.
        predicted: the predicted heads, 1-based, 0 for the root.
        layer: the layer whose states the probe reads, or `MIX`; None for a probe of attention alone.
    """

    probe: str
    sentence: str
    source: str
    decoding: str
    words: tuple[str, ...]
    heads: tuple[int | None, ...]
    relations: tuple[str, ...]
    predicted: tuple[int, ...]
    layer: int | None = None

    @property
    def name(self) -> str:
        """What texts call the probe."""
        return self.probe if self.layer is None else f"{self.probe} of {layer_name(self.layer)}"

    @property
    def right(self) -> tuple[int, int]:
        """How many words have the right head, and of how many: those that have a head and are not punctuation."""
        scored = [
            head == predicted
            for head, predicted, relation in zip(self.heads, self.predicted, self.relations, strict=True)
            if head is not None and not is_punct(relation)
        ]
        return sum(scored), len(scored)

    def view(self) -> HeadView:
        """Return the tree as a head whose guesses are the predicted heads."""
        right, total = self.right
        return ParsedView(
            sentence=self.sentence,
            words=self.words,
            special=(False,) * len(self.words),
            values=np.ones((len(self.words), len(self.words))),  # no arrow is fainter than another one
            layer=1,
            head=None,
            kind="weight",
            scale=None,
            guesses=tuple(None if head in (0, word) else head - 1 for word, head in enumerate(self.predicted, start=1)),
            gold=tuple(None if head is None else head - 1 for head in self.heads),
            relations=self.relations,
            caption=f"{self.name}: {right} of {total} heads are right · {self.sentence}, {self.source}",
        )


@dataclass(frozen=True, eq=False)
class ParsedView(HeadView):
    """A sentence with predicted heads, which are those of no attention head."""

    caption: str = ""

    @property
    def heading(self) -> str:
        """What the drawing is of."""
        return self.caption

    def is_right(self, row: int) -> bool | None:
        """Whether the guess for a word is its syntactic head, which no word is for the root."""
        return self.gold[row] == self.guesses[row] if self.gold[row] is not None else None


class PredictedTrees(ProbeQuestion):
    """Which heads does a probe predict in a sentence?"""

    name = "predicted_trees"
    template = Path(__file__).with_name("predicted_trees.html.j2")

    def look(self, lookup_context: Kept) -> list[dict[str, Any]] | None:
        """Keep the sentences that are shown, and the heads that the first run of each probe predicts in them."""
        inputs, trained, kept = lookup_context.inputs, lookup_context.trained, list[dict[str, Any]]()
        of_attention = [(outcome.training.method, None, outcome.shown) for outcome in trained.outcomes]
        of_states = [(each.tried[0].probe, each.tried[0].layer, each.shown) for each in trained.states.outcomes]
        for probe, layer, shown in (*of_attention, *of_states):
            for number, (decoding, predicted) in shown.items():
                sentence = inputs.sentences[number]
                fold = next(index for index, split in enumerate(inputs.splits, start=1) if number in split.tested)
                n_folds = len(inputs.splits)
                others = f"fold {fold} of {n_folds}" if n_folds > 1 else "the test sentences"
                kept.append(
                    {
                        "probe": probe,
                        **({} if layer is None else {"layer": layer}),
                        "sentence": sentence.id,
                        "source": f"{others} of {Path(sentence.file).name}" if sentence.file else others,
                        "decoding": decoding,
                        "words": list(sentence.words),
                        "heads": list(sentence.heads),
                        "relations": list(counted_relations(sentence)),
                        "predicted": predicted,
                    }
                )
        return kept or None

    def join(self, lookups: Sequence[Any]) -> Any:
        """Return the sentences of the first of merged runs."""
        return next(iter(lookups), None)

    def find(self, counts: Tested, lookups: Any, earlier: Mapping[str, Any]) -> tuple[PredictedTree, ...] | None:
        """Return the trees; None without any."""
        if not lookups:
            return None
        return tuple(
            PredictedTree(
                probe=row["probe"],
                sentence=row["sentence"],
                source=row["source"],
                decoding=row["decoding"],
                words=tuple(row["words"]),
                heads=tuple(row["heads"]),
                relations=tuple(row["relations"]),
                predicted=tuple(row["predicted"]),
                layer=row.get("layer"),
            )
            for row in lookups
        )

    def draw(self, answer: tuple[PredictedTree, ...], results: ProbeResults, title: str) -> Mapping[str, Figure]:
        """Draw the trees of a sentence below each other."""
        probes = drawn_probes(answer)
        of_sentences = {tree.sentence: [each for each in answer if each.sentence == tree.sentence] for tree in answer}
        views = [[tree.view()] for trees in of_sentences.values() for tree in trees if tree.name in probes]
        return {"probe_sentences": draw(views, layout="arcs", title=title, legend=LEGEND)}

    def values(self, answer: tuple[PredictedTree, ...], results: ProbeResults) -> Mapping[str, Any]:
        """Return how many sentences there are, how their heads are chosen, and whose trees are drawn."""
        return {
            "shown_trees": len({tree.sentence for tree in answer}),
            "tree_decoding": answer[0].decoding,
            "tree_probes": drawn_probes(answer),
            "has_chosen_layers": any(tree.layer is not None and tree.layer >= 0 for tree in answer),
            "has_folds": answer[0].source.startswith("fold"),
        }


def drawn_probes(trees: Sequence[PredictedTree]) -> list[str]:
    """Return the names of the probes whose trees are drawn: the first of attention and the first of states, if any."""
    of_attention = list(dict.fromkeys(tree.name for tree in trees if tree.layer is None))
    of_states = list(dict.fromkeys(tree.name for tree in trees if tree.layer is not None))
    return [*of_attention[: MOST_PROBES - bool(of_states)], *of_states][:MOST_PROBES]
