"""Would shuffled attention have given the same answer? (Jain & Wallace 2019, §4.2.1)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Int
from matplotlib.figure import Figure
from torch import Tensor

from attentionology.analyses.explanation.batch import Rows, TextBatch, single_words_out
from attentionology.analyses.explanation.contract import (
    NATS,
    SHARE,
    TVD,
    Column,
    ExplanationTest,
    Question,
)
from attentionology.analyses.explanation.interventions import answers
from attentionology.analyses.explanation.measures import jsd, tvd
from attentionology.analyses.explanation.options import ExplanationTestOptions
from attentionology.analyses.explanation.plots import has_values, max_attention_figure
from attentionology.analyses.explanation.results import ExplainResults


class Permutation(ExplanationTest):
    """The output under shuffled attention, against the tolerance."""

    name = "permutation"
    heading = "Does it matter which word gets which weight?"
    columns: ClassVar[Mapping[str, Column]] = {
        "permutation_tvd": Column("median change of the output, weights shuffled", TVD),
        "permutation_mean_tvd": Column("mean change of the output, weights shuffled", TVD),
        "permutation_jsd": Column("JSD of shuffled weights", NATS),
        "permutation_flip": Column("decisions changed, weights shuffled", SHARE),
    }
    questions = (
        Question(
            "Does it matter which word gets which weight?",
            "median change of the output over shuffles of the weights (TVD), against the tolerance ε",
            "permutation_tvd",
            "epsilon",
            "Shuffling the weights moves the output by more than the tolerance.",
            "Shuffling the weights moves the output by less than the tolerance.",
        ),
    )
    key = ("permutation_tvd", "permutation_flip")
    uses = ("draws",)
    captions: ClassVar[Mapping[str, str]] = {
        "explain_permutation": "Median change of the output over random orders of the weights, by how much attention "
        "the most attended word gets. Black lines: medians. Points instead of violins where fewer than ten texts are."
    }
    page = """
<p>The weights of a text are shuffled among its words and the rest of the model stays as it is (Jain &amp; Wallace
2019, §4.2.1). A small change although one word has most of the attention means that the output hardly depends on
where attention is. TVD is half the summed difference of the class probabilities; of two classes, the change of
either. A change up to ε = {{ epsilon }} counts as none.</p>
"""

    def examine(self, batch: TextBatch, options: ExplanationTestOptions) -> Rows:
        """See `permutation`."""
        return permutation(batch, draws=options.draws)

    def figures(self, results: ExplainResults, title: str) -> Mapping[str, Figure]:
        """The change of the output, by how much attention the most attended word gets."""
        if not has_values(results.texts, "permutation_tvd"):
            return {}
        label = "median change\nof the output (TVD)"
        drawn = max_attention_figure(results.texts, "permutation_tvd", results.classes, label=label, title=title)
        return {"explain_permutation": drawn}


def permutation(batch: TextBatch, *, draws: int = 100) -> Rows:
    """The attention of the words shuffled, the same way in all rows; the states stay as they are.

    Args:
        batch: texts as read.
        draws: uniform random orders per text.

    Returns:
        medians over the draws: ``permutation_tvd`` of the output, ``permutation_jsd`` of the attention itself (mean
        over rows); ``permutation_mean_tvd``: the mean over the draws, which can be compared with that over any number
        of seeds; ``permutation_flip``: share of the draws with another class. NaN for texts of fewer than two words.

    Example:
        >>> from functools import partial
        >>> from attentionology import AttentionClassifier, examine, permutation
        >>> texts = [("a", "fine", "film"), ("a", "dull", "film")] * 20
        >>> classifier = AttentionClassifier("average", dimensions=8).fit(texts, ["1", "0"] * 20)
        >>> table = examine(classifier, ["x", "y"], texts[:2], {"permutation": partial(permutation, draws=5)})
        >>> [name for name in table if name.startswith("permutation")]
        ['permutation_tvd', 'permutation_mean_tvd', 'permutation_jsd', 'permutation_flip']
    """
    order = _orders(batch, draws)
    shapes: list[Tensor] = []

    def shuffled(part: slice) -> Tensor:
        index = order[:, part, None].expand(-1, -1, batch.alpha.shape[1], -1)
        weights = batch.alpha[:, None].expand(index.shape).gather(3, index)
        shapes.append(jsd(weights, batch.alpha[:, None]).mean(-1))
        return weights

    p, original = answers(batch, draws, shuffled), batch.probabilities.double()[:, None]
    moved = tvd(p, original).numpy()
    return single_words_out(
        batch,
        {
            "permutation_tvd": np.median(moved, axis=1),
            "permutation_mean_tvd": moved.mean(axis=1),
            "permutation_jsd": np.median(torch.cat(shapes, 1).double().numpy(), axis=1),
            "permutation_flip": (p.argmax(-1) != original.argmax(-1)).double().mean(1).numpy(),
        },
    )


def _orders(batch: TextBatch, draws: int) -> Int[Tensor, "batch draws n"]:
    n = batch.mask.shape[1]
    orders = np.tile(np.arange(n), (len(batch), draws, 1))
    for index, text in enumerate(batch.texts):
        order = orders[index, :, : len(text)]
        orders[index, :, : len(text)] = batch.generator(index, "permutation").permuted(order, axis=1)
    return torch.from_numpy(orders)
