"""Do models with other seeds attend to the same words? (Wiegreffe & Pinter 2019, §3.3)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....extractors.replaceable.attention_model import Words
from ..attention.batch import Rows
from ..attention.readings import ModelReading, chance, curve_points, divergences, reading
from ..contract.explanation_test import NATS, TVD, Column, Drawing, ExplanationTest, Findings, Question
from ..examination.subject import Tested
from ..showing.plots import max_attention_figure


def seed_variance(
    base: ModelReading, others: Sequence[ModelReading], texts: Sequence[Words], *, draws: int = 100, seed: int = 0
) -> Rows:
    """Measure how much models with other seeds differ from the tested model (Wiegreffe & Pinter 2019, §3.3)."""
    # JSD and TVD are medians over the seeds. The mean TVD, except for noise, does not depend on the number of seeds.
    attention_jsd, output_tvd = zip(*(divergences(base, other) for other in others), strict=True)
    return {
        "seed_jsd": np.median(attention_jsd, axis=0),
        "seed_shuffled_jsd": chance(base, others, texts, draws=draws, seed=seed),
        "seed_tvd": np.median(output_tvd, axis=0),
        "seed_mean_tvd": np.mean(output_tvd, axis=0),
    }


def seeds(tested: Tested, earlier: Mapping[str, Findings]) -> Findings:
    """Train models with other seeds and compare their attention and output with those of the tested model."""
    options, seed = tested.options.tests, tested.options.seed
    assert tested.source is not None  # noqa: S101 there is training
    other_seeds = range(seed + 1, seed + 1 + (options.seeds or tested.source.seeds))
    trainings = [tested.training(f"seed {other}", "seed", other) for other in other_seeds]
    models = tested.train(trainings, "train with other seeds")
    readings = {name: reading(model, tested.words) for name, model in models.items()}
    return Findings(
        seed_variance(tested.base, list(readings.values()), tested.words, draws=options.draws, seed=seed),
        models=tuple(tested.score(name, "seed", other.probabilities)[0] for name, other in readings.items()),
        points=tuple(
            curve_points("seed", name, np.nan, *divergences(tested.base, other)) for name, other in readings.items()
        ),
    )


TEST = ExplanationTest(
    name="seeds",
    heading="Do models with other seeds attend to the same words?",
    trains=True,
    columns={
        "seed_jsd": Column("JSD to other seeds", NATS),
        "seed_shuffled_jsd": Column("JSD to other seeds, their weights shuffled", NATS),
        "seed_tvd": Column("change of the output, other seeds", TVD),
        "seed_mean_tvd": Column("mean change of the output, other seeds", TVD),
    },
    questions=(
        Question(
            "Do models with other seeds attend to the same words more than by chance?",
            "median JSD to models with other seeds, against that after shuffling their weights; less is better",
            "seed_shuffled_jsd",
            "seed_jsd",
            "The attention of other seeds is more similar than by chance.",
            "The attention of other seeds is less similar than by chance.",
            floor_is_larger=True,
        ),
        Question(
            "Does shuffling the weights change the output more than another seed does?",
            "mean change of the output over shuffles of the weights (TVD), against that over models with other seeds",
            "permutation_mean_tvd",
            "seed_mean_tvd",
            "Shuffling the weights changes the output more than another seed does.",
            "Shuffling the weights changes the output less than another seed does.",
        ),
    ),
    shown=("seed_jsd", "seed_shuffled_jsd", "seed_tvd", "seed_mean_tvd", "permutation_mean_tvd"),
    key=("seed_jsd", "seed_shuffled_jsd", "seed_mean_tvd", "permutation_mean_tvd"),
    uses=("seeds", "draws"),
    figure=Drawing(
        "explain_seeds",
        "Median divergence from the attention of models with other seeds, by how much attention the "
        "most attended word gets. Horizontal lines: medians.",
        max_attention_figure("seed_jsd", "JSD to other seeds (nats)"),
    ),
    page="""
<p>Models that differ only in the seed of their training show how much attention varies anyway (Wiegreffe &amp; Pinter
2019, §3.3). If their attention is no closer to that of the tested model than after its weights are shuffled among the
words of a text, the models do not agree on which words to attend to, and attention is a matter of chance in training.
How flat the attention is has no effect on this comparison, because shuffling does not change it. The result of an
adversary is remarkable only if it exceeds these differences.</p>
""",
    compare=seeds,
)
