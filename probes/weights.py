"""Which attention heads a trained probe uses, for the arcs of a treebank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from attentionology.extractors import MapBatch
from attentionology.probes.examples import examples, gold_heads, scored
from attentionology.probes.probe import AttentionProbe, AttentionWordsProbe
from attentionology.probes.scorers import AttentionScorer, AttentionWordsScorer


class ArcWeights(NamedTuple):
    """What the heads count for on the arcs of one relation, summed over them.

    Attributes:
        arcs: how many.
        weight: the weight that the probe gives every head for this dependent and its head word.
        contribution: that weight times the attention between the two words, what the head adds to the score of the
            right candidate.

    Both have the shape (2, layers, heads), ``dep->head`` first.
    """

    arcs: int
    weight: Float[ndarray, "2 layers heads"]
    contribution: Float[ndarray, "2 layers heads"]


def added_up(parts: Iterable[dict[str, ArcWeights]]) -> dict[str, ArcWeights]:
    """Arcs of several corpora together, by relation."""
    total: dict[str, ArcWeights] = {}
    for part in parts:
        for relation, own in part.items():
            if before := total.get(relation):
                arcs, weight = before.arcs + own.arcs, before.weight + own.weight
                own = ArcWeights(arcs, weight, before.contribution + own.contribution)
            total[relation] = own
    return total


@torch.inference_mode()
def arc_weights(probe: AttentionProbe | AttentionWordsProbe, batches: Iterable[MapBatch]) -> dict[str, ArcWeights]:
    """By relation, over the arcs between words that a score counts (no punctuation; roots have no head word).

    Args:
        probe: fitted.
        batches: word maps with the heads of their sentences.

    Raises:
        ValueError: maps of another kind or shape than those it was trained on.
    """
    scorer = probe.scorer_
    assert isinstance(scorer, AttentionScorer | AttentionWordsScorer)  # noqa: S101 what these two probes train
    shape = (2, *probe.shape_)
    sums: dict[str, ArcWeights] = {}
    for example in examples(map(probe._checked, batches)):
        heads = gold_heads(example.sentence)
        dependent = np.flatnonzero(scored(example.sentence) & (heads > 0))
        if not len(dependent):
            continue
        candidate = torch.zeros(len(heads), dtype=torch.int64)
        candidate[dependent] = torch.from_numpy(heads[dependent] - 1)
        weight = scorer.weights(example, candidate)[dependent]
        words, governor = example.maps[:, example.words, example.words], candidate[dependent]
        attention = torch.cat([words[:, dependent, governor], words[:, governor, dependent]]).T
        both = torch.stack([weight, weight * attention]).double().numpy()
        relations = np.array(example.sentence.relations, dtype=object)[dependent]
        found = {}
        for relation in sorted(set(relations)):  # in the same order in every process: sums depend on it
            own = relations == relation
            weights, contributions = both[:, own].sum(1)
            found[relation] = ArcWeights(int(own.sum()), weights.reshape(shape), contributions.reshape(shape))
        sums = added_up([sums, found])
    return sums
