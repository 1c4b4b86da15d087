"""Which attention heads a trained probe uses, for the arcs of a treebank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from ..extractors import MapBatch
from ..extractors.threads import one_thread
from .probe import Probe
from .probed_sentence import gold_heads, probed_sentences, scored
from .scorers import HeadScorer


class ArcWeights(NamedTuple):
    """What the heads contribute on the arcs of one relation, summed over the arcs.

    Attributes:
        arcs: the number of arcs.
        weight: the weight that the probe gives every head for this dependent and its head word.
        contribution: that weight times the attention between the two words, what the head adds to the score of the
            right candidate.

    Both have the shape (2, layers, heads), ``dep->head`` first.

    Example:
        >>> import numpy as np
        >>> from attentionology.probes import ArcWeights
        >>> ArcWeights(3, np.ones((2, 1, 4)), np.zeros((2, 1, 4))).arcs
        3
    """

    arcs: int
    weight: Float[ndarray, "2 layers heads"]
    contribution: Float[ndarray, "2 layers heads"]


def added_up(parts: Iterable[dict[str, ArcWeights]]) -> dict[str, ArcWeights]:
    """Return the sums over the arcs of several corpora, by relation.

    Example:
        >>> import numpy as np
        >>> from attentionology.probes import ArcWeights, added_up
        >>> part = {"obj": ArcWeights(3, np.ones((2, 1, 1)), np.ones((2, 1, 1)))}
        >>> added_up([part, part])["obj"].arcs
        6
    """
    total: dict[str, ArcWeights] = {}
    for part in parts:
        for relation, weights in part.items():
            if before := total.get(relation):
                arcs, weight, contribution = weights
                weights = ArcWeights(before.arcs + arcs, before.weight + weight, before.contribution + contribution)
            total[relation] = weights
    return total


@torch.inference_mode()
@one_thread()
def arc_weights(probe: Probe, batches: Iterable[MapBatch]) -> dict[str, ArcWeights]:
    """Return the weights of the heads by relation, summed over the arcs between words that a score counts.

    Punctuation does not count, and roots have no head word.

    Args:
        probe: a probe that was fitted, whose scorer gives every head a weight.
        batches: word maps with the heads of their sentences.

    Raises:
        ValueError: the maps are of another kind or shape than those that the probe was trained on.
        TypeError: the probe has no weights of heads.

    Example:
        >>> import numpy as np
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import AttentionProbe, arc_weights, batch_from_array
        >>> sentence = Sentence("s1", ("dogs", "bark"), (2, 0), ("nsubj", "root"))
        >>> batch = batch_from_array(sentence, np.full((1, 2, 2, 2), 0.5, dtype=np.float32))
        >>> probe = AttentionProbe().fit([batch])
        >>> weights = arc_weights(probe, [batch])["nsubj"]
        >>> bool(np.allclose(weights.weight, probe.coef_)), bool(np.allclose(weights.contribution, 0.5 * probe.coef_))
        (True, True)
    """
    scorer = probe.scorer_
    if not isinstance(scorer, HeadScorer):
        raise TypeError(f"the probe {probe.name!r} has no weights of heads")
    shape = (2, *probe.shape_)
    sums: dict[str, ArcWeights] = {}
    for example in probed_sentences(map(probe.check_maps, batches)):
        heads = gold_heads(example.sentence)
        dependents = np.flatnonzero(scored(example.sentence) & (heads > 0))
        if not len(dependents):
            continue
        head_of = torch.zeros(len(heads), dtype=torch.int64)  # 0-based; anything for words that do not count
        head_of[dependents] = torch.from_numpy(heads[dependents] - 1)
        weight = scorer.weights(example, head_of)[dependents]  # (arcs, directions × heads)
        maps = example.maps[:, example.words, example.words]
        governors = head_of[dependents]
        attention = torch.cat([maps[:, dependents, governors], maps[:, governors, dependents]]).T  # as the weight
        # The sums are over all arcs of a treebank, for which float32 has too few digits.
        weights_and_contributions = torch.stack([weight, weight * attention]).double().numpy()
        relations = np.array(example.sentence.relations, dtype=object)[dependents]
        sums_of_sentence = {}
        for relation in sorted(set(relations)):  # in the same order in every process, because sums depend on it
            is_arc = relations == relation
            weights, contributions = weights_and_contributions[:, is_arc].sum(1)
            arcs = int(is_arc.sum())
            sums_of_sentence[relation] = ArcWeights(arcs, weights.reshape(shape), contributions.reshape(shape))
        sums = added_up([sums, sums_of_sentence])
    return sums
