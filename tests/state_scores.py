"""Made-up counts of probes of hidden states, for tests of their scores and of what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from attentionology.analyses.contract import OptionSet, PlanCounts
from attentionology.analyses.probing.rows import STATES, Attempt, ProbeFacts, StateCounts, StateTried, Tested
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Sentence
from attentionology.probes import make_state_probe
from tests.probing_results import counts_of_attempts

BASELINE = "best single head"


def sentences(number: int, seed: int = 0) -> list[Sentence]:
    """Chains of 2 to 8 words."""
    lengths = np.random.default_rng(seed).integers(2, 9, number).tolist()
    return [Sentence(f"s{i}", ("w",) * n, tuple(range(n)), ("dep",) * n) for i, n in enumerate(lengths)]


def list_columns(probe: str, layers: Sequence[int], *, seeds: int = 2, floors: Sequence[str] = ()) -> list[StateTried]:
    """All columns of a probe: floors, the model, its first control task, and random weights."""
    made = make_state_probe(probe)
    kinds = [("model", "gold", layer) for layer in layers]
    kinds += [("model", made.controls[0], layer) for layer in layers]
    kinds += [("random weights", "gold", layer) for layer in layers]
    every = [(floor, "gold", -1, 1) for floor in floors]
    every += [(*kind, run) for kind, run in product(kinds, range(1, seeds + 1))]
    return [
        StateTried(probe, layer, source, task, run, *score, dev=0.25 if layer >= 0 and not place else None)
        for source, task, layer, run in every
        for place, score in enumerate(made.metrics)
    ]


def counts_of_scores(
    of: Sequence[Sentence], columns: Sequence[StateTried], fractions: np.ndarray, *, replicates: int = 200
) -> PlanCounts[ProbeFacts]:
    """What a run has stored that counted these fractions, with one method that reads no states."""
    words = sum(map(len, of))
    right = np.random.default_rng(5).random(words) < 0.3
    given: Any = counts_of_attempts(of, [Attempt(BASELINE, "dependencies", "argmax", 1, right)], replicates=replicates)
    metric = StateCounts(len(columns))
    metric.update(fractions)
    with_states: PlanCounts[ProbeFacts] = replace(given, metrics={**given.metrics, STATES: metric})
    return with_states


def counts_of(*given: Any, **options: Any) -> Tested:
    """What questions answer from."""
    return Tested(OptionSet([CountOptions()]), counts_of_scores(*given, **options))


def random_fractions(of: Sequence[Sentence], columns: Sequence[StateTried], seed: int = 0) -> np.ndarray:
    """Numerators up to a denominator, which is the same for all columns of a score."""
    rng = np.random.default_rng(seed)
    denominators = np.array([len(sentence) for sentence in of], dtype=float)
    rates = rng.random((len(of), len(columns)))
    return np.stack([np.round(rates * denominators[:, None]), np.repeat(denominators[:, None], len(columns), 1)], -1)
