"""Do models that differ in the seed attend alike? (Wiegreffe & Pinter 2019, §3.3)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from matplotlib.figure import Figure

from attentionology.analyses.explanation.batch import Rows
from attentionology.analyses.explanation.contract import (
    NATS,
    TVD,
    Column,
    ExplanationTest,
    Findings,
    Question,
)
from attentionology.analyses.explanation.plots import has_values, max_attention_figure
from attentionology.analyses.explanation.readings import ModelReading, chance, curve_point, divergences, reading
from attentionology.analyses.explanation.results import ExplainResults
from attentionology.analyses.explanation.tested import Tested
from attentionology.extractors.replaceable.attention_model import Words


class Seeds(ExplanationTest):
    """Models that were trained alike except for the seed, against the same models with their weights shuffled."""

    name = "seeds"
    heading = "Do models that differ in the seed attend alike?"
    trains = True
    columns: ClassVar[Mapping[str, Column]] = {
        "seed_jsd": Column("JSD to other seeds", NATS),
        "seed_shuffled_jsd": Column("JSD to other seeds, their weights shuffled", NATS),
        "seed_tvd": Column("change of the output, other seeds", TVD),
        "seed_mean_tvd": Column("mean change of the output, other seeds", TVD),
    }
    questions = (
        Question(
            "Do models that differ in the seed attend more alike than chance?",
            "median JSD to models with other seeds, against the same with their weights shuffled; less is better",
            "seed_shuffled_jsd",
            "seed_jsd",
            "Other seeds attend more alike than chance would have it.",
            "Other seeds attend less alike than chance would have it.",
            floor_is_larger=True,
        ),
        Question(
            "Does shuffling the weights move the output more than another seed does?",
            "mean change of the output over shuffles of the weights (TVD), against that over models with other seeds",
            "permutation_mean_tvd",
            "seed_mean_tvd",
            "Shuffling the weights moves the output more than another seed does.",
            "Shuffling the weights moves the output less than another seed does.",
        ),
    )
    shown = ("seed_jsd", "seed_shuffled_jsd", "seed_tvd", "seed_mean_tvd", "permutation_mean_tvd")
    key = ("seed_jsd", "seed_shuffled_jsd", "seed_mean_tvd", "permutation_mean_tvd")
    uses = ("seeds", "draws")
    captions: ClassVar[Mapping[str, str]] = {
        "explain_seeds": "Median difference to the attention of models trained alike with other seeds, by how much "
        "attention the most attended word gets. Black lines: medians."
    }
    page = """
<p>Models that are trained alike except for the seed show how much attention varies anyway (Wiegreffe &amp; Pinter 2019,
§3.3). If they differ as much when their weights are shuffled among the words of a text, they do not agree on which
words to attend to, and attention is a matter of chance in training. How flat attention is plays no part in this
comparison, since shuffling leaves that as it is. What the adversaries reach is to be held against this: it is
remarkable only if it is more.</p>
"""

    def compare(self, tested: Tested, earlier: Mapping[str, Findings]) -> Findings:
        """Train models with other seeds."""
        options, first = tested.options.tests, tested.options.seed + 1
        seeds = range(first, first + (options.seeds or tested.source.seeds))
        trainings = [tested.training(f"seed {seed}", "seed", seed) for seed in seeds]
        with tested.stages("train with other seeds"):
            models = tested.trainings(trainings, "train")
        readings = {name: reading(model, tested.words) for name, model in models.items()}
        others, draws, seed = list(readings.values()), options.draws, tested.options.seed
        return Findings(
            seed_variance(tested.base, others, tested.words, draws=draws, seed=seed),
            models=tuple(tested.score(name, "seed", other.probabilities)[0] for name, other in readings.items()),
            points=tuple(curve_point("seed", name, np.nan, tested.base, other) for name, other in readings.items()),
        )

    def figures(self, results: ExplainResults, title: str) -> Mapping[str, Figure]:
        """The difference to other seeds, by how much attention the most attended word gets."""
        if not has_values(results.texts, "seed_jsd"):
            return {}
        label = "JSD to other seeds (nats)"
        drawn = max_attention_figure(results.texts, "seed_jsd", results.classes, label=label, title=title)
        return {"explain_seeds": drawn}


def seed_variance(
    base: ModelReading, others: Sequence[ModelReading], texts: Sequence[Words], *, draws: int = 100, seed: int = 0
) -> Rows:
    """How much models that differ in the seed alone differ from the base (Wiegreffe & Pinter 2019, §3.3).

    Args:
        base: the model that is tested.
        others: those with other seeds.
        texts: what all of them have read.
        draws: shuffles per text, for the floor.
        seed: of the shuffles.

    Returns:
        medians over the seeds: ``seed_jsd`` of the attention, ``seed_tvd`` of the output; ``seed_shuffled_jsd``: what
        the first would be by chance, see `chance`; ``seed_mean_tvd``: the mean over the seeds, which does not depend
        on how many there are, except for noise.
    """
    pairs = [divergences(base, other) for other in others]
    outputs = [output for _, output in pairs]
    return {
        "seed_jsd": np.median([shape for shape, _ in pairs], axis=0),
        "seed_shuffled_jsd": chance(base, others, texts, draws=draws, seed=seed),
        "seed_tvd": np.median(outputs, axis=0),
        "seed_mean_tvd": np.mean(outputs, axis=0),
    }
