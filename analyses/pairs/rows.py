"""What all questions about minimal pairs share: the pairs, what they plan and look up with, and answer from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders import CorpusError
from ...corpora_loaders.minimal_pairs import Pairs
from ...extractors import MapMaker
from ...reports.columns import Row
from ...reports.format import number
from ..contract import OptionSet, PlanCounts, Reader, Request, Setting
from ..counting.metric import Metric
from ..counting.resampling import FEWEST_UNITS, poisson_weights
from ..questions import Question
from ..shared.options import CountOptions
from ..shared.previews import Answers
from ..shared.record import MapFacts, map_facts
from .options import PairsOptions
from .scores import Scorer

Counted_ = TypeVar("Counted_", bound=Metric)
Array = npt.NDArray[np.float64]

_NUMBERS = re.compile("([0-9]+)")  # in an id, between other characters, so that both kinds alternate

ALL = "all"
"""The name of all groups together."""

WITHOUT_INTERVAL = f"is of fewer than {FEWEST_UNITS} pairs, or does not vary in them"
"""Why a value has no interval."""


def nats_bounds(name: str) -> Callable[[Row], str]:
    """Return a function that writes the interval of a number of nats in a row, nothing if there is none."""

    def write_interval(row: Row) -> str:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return "" if math.isnan(low) else f"[{number(low, 2)}, {number(high, 2)}]"

    return write_interval


class Difference(NamedTuple):
    """Where the two sentences of a pair differ: what is between their longest common beginning and end, in words."""

    start: int
    good_stop: int
    bad_stop: int


def difference(good: Sequence[str], bad: Sequence[str]) -> Difference:
    """Return where two sentences differ.

    Example:
        >>> difference("The cat near dogs is old".split(), "The cat near dogs are old".split())
        Difference(start=4, good_stop=5, bad_stop=5)
    """
    shortest = min(len(good), len(bad))
    start = next((index for index in range(shortest) if good[index] != bad[index]), shortest)
    end = next((index for index in range(shortest - start) if good[-1 - index] != bad[-1 - index]), shortest - start)
    return Difference(start, len(good) - end, len(bad) - end)


def _natural_key(name: str) -> list[int | str]:
    """Return a key by which names are sorted, numbers in them by their size."""
    return [int(part) if index % 2 else part for index, part in enumerate(_NUMBERS.split(name))]


COLUMNS = ("pair", "group", "good", "bad", *Difference._fields)
"""What is known of a pair: its id, its group, the two sentences, and where they differ."""


@dataclass(frozen=True)
class PairFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    pairs: tuple[tuple[str, str, str, str, int, int, int], ...]  # the values of `COLUMNS`, one row per pair
    maps: MapFacts
    seed: int
    scored: str = ""  # how sentences are scored; empty if the model has no head for it


class PlanContext:
    """What questions plan with.

    Attributes:
        options, setting: those of the run.
        pairs: a row for each pair, with `COLUMNS`.
        maker: makes the maps.
        scorer: scores sentences; None if the model has no head for it.
        scored: how, in words.
    """

    def __init__(self, options: OptionSet, setting: Setting) -> None:
        if not isinstance(setting.corpus, Pairs):
            raise CorpusError("the analysis pairs needs minimal pairs; see --minimal-pairs, and load_pairs in Python")
        self.options, self.setting = options, setting
        self.maker: MapMaker = setting.maps
        self.pairs = pd.DataFrame(
            {
                "pair": good.id.rpartition(" ")[0],
                "group": good.document,
                "good": good.text,
                "bad": bad.text,
                **difference(good.words, bad.words)._asdict(),
            }
            # In the order of their ids, so that the order of the file has no effect.
            for good, bad in sorted(
                zip(setting.corpus.sentences[::2], setting.corpus.sentences[1::2], strict=True),
                key=lambda pair: _natural_key(pair[0].id),
            )
        )
        self.scorer, self.scored = _scorer(options[PairsOptions], setting)

    def facts(self, requests: Mapping[str, tuple[str, ...]]) -> PairFacts:
        """Return what the results need."""
        of_maps = map_facts(self.maker, self.setting.encoder.n_heads)
        rows = tuple(self.pairs[[*COLUMNS]].itertuples(index=False, name=None))
        return PairFacts(requests, rows, of_maps, self.setting.seed, self.scored)


def _scorer(chosen: PairsOptions, setting: Setting) -> tuple[Scorer | None, str]:
    """Return what scores sentences with the model, and how in words; None and nothing if it has no head for it."""
    encoder = setting.encoder
    causal = encoder.causal
    lm = setting.load_causal_lm() if causal else setting.load_masked_lm()
    if lm is None or (not causal and encoder.tokenizer.mask_token_id is None):
        return None, ""
    scorer = Scorer(lm, causal, within_words=chosen.pll == "l2r", harness=chosen.harness)
    if causal:
        written = "a space and the sentence" if chosen.harness else "the sentence as it is written"
        return scorer, f"the log-probability of {written} after the token with which texts begin, in nats"
    seen = "no later pieces of the same word" if scorer.within_words else "all other pieces"
    return scorer, f"the pseudo-log-likelihood, in which the model sees {seen} beside each masked piece, in nats"


class LookupContext:
    """What questions look up with: the plan, the counts, and what reads sentences.

    Attributes:
        counts: what questions answer from.
        inputs: the sentences.
        read: reads them once more.
        scorer: what has scored them; None if nothing has.
    """

    def __init__(self, counts: PairCounts, request: Request, read: Reader, scorer: Scorer | None) -> None:
        self.counts, self.inputs, self.read, self.scorer = counts, request.inputs, read, scorer
        self.options = counts.options


class PairCounts:
    """What questions answer from: the pairs, and the counts.

    Attributes:
        options, facts: those of the run.
        pairs: a row for each pair.
        groups: which pairs each group has, all together last.
    """

    def __init__(self, options: OptionSet, plan_counts: PlanCounts[PairFacts]) -> None:
        self.options, self.facts, self._counted = options, plan_counts.facts, plan_counts
        self.pairs = pd.DataFrame(plan_counts.facts.pairs, columns=[*COLUMNS])
        names = self.pairs["group"].to_numpy()
        self.groups = {str(name): names == name for name in dict.fromkeys(names)} | {ALL: names == names}

    def metrics_of(self, question: str, metric: type[Counted_]) -> list[Counted_]:
        """Return the metrics of the requests of a question, none if it has none."""
        return [self._counted.metric(name, metric) for name in self.facts.requests.get(question, ())]

    def weights(self, chosen: npt.NDArray[np.bool_]) -> Array:
        """Return how often each bootstrap replicate draws each of some pairs, shape (replicates, pairs)."""
        ids = self.pairs["pair"].to_numpy()[chosen].tolist()
        return poisson_weights(ids, self.options[CountOptions].replicates, self.facts.seed).astype(np.float64)

    def means(self, values: Array, chosen: npt.NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """Return the means of values (pairs, …) over some pairs, and the ends of their 95 % intervals over pairs.

        Pairs without a value count for nothing. Fewer than twenty pairs have no interval.
        """
        values = values[chosen]
        known = ~np.isnan(values)
        n, filled = known.sum(0), np.where(known, values, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n > 0, filled.sum(0) / n, np.nan)
            weights = self.weights(chosen)
            if not len(weights) or len(values) < FEWEST_UNITS:
                return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
            drawn = np.tensordot(weights, filled, 1) / np.tensordot(weights, known.astype(np.float64), 1)
        low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0)
        return mean, low, high


PairQuestion = Question[PlanContext, LookupContext, PairCounts, Any]


@dataclass(frozen=True, repr=False)
class PairResults(Answers):
    """The results of the analysis ``pairs``.

    Attributes:
        pairs: the number of pairs.
        notes: how the maps were made, and sentences scored.
        answers: the answers of all questions, by name.
    """

    pairs: int
    notes: tuple[str, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)
