"""The third stage of a probing run: the tables of all methods, and what a reader should know about them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..shared.published import published_probes
from .attachment import attachment
from .head_weights import head_weights
from .inputs import ProbingInputs
from .methods import contrasts, meaning
from .notes import facts, notes
from .results import ProbeResults
from .run_options import ProbingOptions
from .training import TrainedProbes, weights_by_probe


def find(options: ProbingOptions, inputs: ProbingInputs, trained: TrainedProbes) -> ProbeResults:
    """The tables of everything that was trained."""
    attempts, heads = trained.attempts, trained.single_heads
    methods = dict.fromkeys(attempt.method for attempt in attempts)
    correct, total = sum(head.correct_ for head in heads), sum(head.total_ for head in heads)
    weights = weights_by_probe(trained.outcomes)
    return ProbeResults(
        tables=attachment(
            inputs.sentences,
            attempts,
            contrasts=contrasts(methods),
            replicates=options.counts.replicates,
            seed=options.seed,
        ),
        weights={name: head_weights(runs, np.asarray(correct), total) for name, runs in weights.items()},
        history=pd.DataFrame([epoch for outcome in trained.outcomes for epoch in outcome.history]),
        published=published_probes(inputs.encoder.name),
        min_count=options.counts.min_count,
        facts=tuple(facts(options, inputs)),
        notes=tuple(notes(options, inputs, trained)),
        meanings={method: meaning(method) for method in methods},
    )
