"""Would shuffled attention give the same output? (Jain & Wallace 2019, §4.2.1)"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ..attention.batch import Rows, TextBatch, single_words_out
from ..attention.interventions import answers
from ..attention.measures import jsd, tvd
from ..contract.explanation_test import NATS, SHARE, TVD, Column, Drawing, ExplanationTest, Question
from ..showing.plots import max_attention_figure


def permutation(batch: TextBatch, *, draws: int = 100) -> Rows:
    """Shuffle the attention among the words, in all rows alike, and measure how much the output changes.

    Args:
        batch: the texts.
        draws: the number of random orders per text.

    Returns:
        ``permutation_tvd`` and ``permutation_jsd``: the medians over the draws of the TVD of the output and of the JSD
        of the attention (mean over the rows); ``permutation_mean_tvd``: the mean TVD over the draws, which can be
        compared with the mean over any number of seeds; ``permutation_flip``: the share of the draws with another
        predicted class. All are NaN for texts of fewer than two words.

    Example:
        >>> from functools import partial
        >>> from attentionology.analyses import examine, permutation
        >>> from attentionology.probes.classifiers import AttentionClassifier
        >>> texts = [("a", "fine", "film"), ("a", "dull", "film")] * 20
        >>> classifier = AttentionClassifier("average", dimensions=8).fit(texts, ["1", "0"] * 20)
        >>> table = examine(classifier, ["x", "y"], texts[:2], {"permutation": partial(permutation, draws=5)})
        >>> [name for name in table if name.startswith("permutation")]
        ['permutation_tvd', 'permutation_mean_tvd', 'permutation_jsd', 'permutation_flip']
    """
    order = _orders(batch, draws)
    # All shuffled weights would not fit into memory, so their JSD is noted when a part of the draws is decoded.
    attention_jsd: list[Tensor] = []  # each (batch, draws)

    def shuffle(part: slice) -> Tensor:
        index = order[:, part, None].expand(-1, -1, batch.alpha.shape[1], -1)  # the same order for all rows
        weights = batch.alpha[:, None].expand(index.shape).gather(3, index)
        attention_jsd.append(jsd(weights, batch.alpha[:, None]).mean(-1))
        return weights

    p = answers(batch, draws, shuffle)
    original = batch.probabilities.double()[:, None]
    output_tvd = tvd(p, original).numpy()
    return single_words_out(
        batch,
        {
            "permutation_tvd": np.median(output_tvd, axis=1),
            "permutation_mean_tvd": output_tvd.mean(axis=1),
            "permutation_jsd": np.median(torch.cat(attention_jsd, 1).double().numpy(), axis=1),
            "permutation_flip": (p.argmax(-1) != original.argmax(-1)).double().mean(1).numpy(),
        },
    )


def _orders(batch: TextBatch, draws: int) -> Int[Tensor, "batch draws n"]:
    """Draw random orders of the words of each text; padding stays where it is."""
    orders = np.tile(np.arange(batch.mask.shape[1]), (len(batch), draws, 1))
    for index, text in enumerate(batch.texts):
        order = orders[index, :, : len(text)]
        orders[index, :, : len(text)] = batch.generator(index, "permutation").permuted(order, axis=1)
    return torch.from_numpy(orders)


TEST = ExplanationTest(
    name="permutation",
    heading="Does it matter which word gets which weight?",
    columns={
        "permutation_tvd": Column("median change of the output, weights shuffled", TVD),
        "permutation_mean_tvd": Column("mean change of the output, weights shuffled", TVD),
        "permutation_jsd": Column("JSD of shuffled weights", NATS),
        "permutation_flip": Column("decisions changed, weights shuffled", SHARE),
    },
    questions=(
        Question(
            "Does it matter which word gets which weight?",
            "median change of the output over shuffles of the weights (TVD), against the tolerance ε",
            "permutation_tvd",
            "epsilon",
            "Shuffling the weights changes the output by more than the tolerance.",
            "Shuffling the weights changes the output by less than the tolerance.",
        ),
    ),
    key=("permutation_tvd", "permutation_flip"),
    uses=("draws",),
    figure=Drawing(
        "explain_permutation",
        "Median change of the output over random orders of the weights, by how much attention the most attended word "
        "gets. Horizontal lines: medians. Fewer than ten texts are drawn as points, not as violins.",
        max_attention_figure("permutation_tvd", "median change\nof the output (TVD)"),
    ),
    page="""
<p>The weights of a text are shuffled among its words, and the rest of the model stays as it is (Jain &amp; Wallace
2019, §4.2.1). If the output changes little although one word has most of the attention, it hardly depends on where the
attention is. TVD is half the sum of the absolute differences of the class probabilities; for two classes, it is the
change of either probability. A change of up to ε = {{ epsilon }} counts as no change.</p>
""",
    examine=lambda batch, options: permutation(batch, draws=options.draws),
)
