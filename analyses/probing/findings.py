"""The third stage of a probing run: the tables of all methods, and what a reader should know about them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attentionology.analyses.probing.attachment import attachment
from attentionology.analyses.probing.head_weights import head_weights
from attentionology.analyses.probing.inputs import ProbingInputs
from attentionology.analyses.probing.methods import contrasts, meaning
from attentionology.analyses.probing.notes import facts, notes
from attentionology.analyses.probing.run_options import ProbingOptions
from attentionology.analyses.probing.section import ProbeResults
from attentionology.analyses.probing.training import TrainedProbes, weights_by_probe
from attentionology.analyses.shared.published import published_probes


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
