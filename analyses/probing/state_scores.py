"""The scores of probes of hidden states, in the corpus and in bootstrap replicates, and their differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy import ndarray

from ...probes import make_state_probe
from ...probes.states.tree_scores import LENGTHS, Fraction, mean_by_length
from ..comparison.differences import holm
from ..counting.best_head import interval as bootstrap_interval
from ..counting.resampling import effective_number, simultaneous_intervals
from .rows import MIX, MIXED, StateTried, Tested, deviation, layer_name, mean, place_in_table, scores
from .trainings.state_folds import GOLD, MODEL, RANDOM_WEIGHTS

OF_LAYER = "layer "
"""What the names of other layers begin with."""


class StateScores:
    """The scores of all columns of the counts, in the corpus and in bootstrap replicates of its sentences."""

    def __init__(self, counts: Tested, fractions: ndarray, tried: Sequence[StateTried]) -> None:
        self.counts, self.fractions, self.tried = counts, fractions, tried
        self.lengths = [len(sentence.heads) for sentence in counts.sentences]
        self._replicated: dict[int, ndarray] = {}

    def value(self, column: int) -> float:
        """Return the score of a column."""
        found, of = self.fractions[:, column].T
        if self.tried[column].by_length:
            return mean_by_length([Fraction(*row) for row in self.fractions[:, column]], self.lengths)
        return float(found.sum() / of.sum()) if of.sum() else math.nan

    def replicate(self, column: int) -> ndarray:
        """Return the score of a column in each replicate; NaN in one without anything to score."""
        if column not in self._replicated:
            found, of = self.fractions[:, column].T
            weights = self.counts.weights
            if self.tried[column].by_length:
                self._replicated[column] = _by_length(weights, found, of, np.array(self.lengths))
            else:
                with np.errstate(invalid="ignore"):
                    self._replicated[column] = (weights @ found) / (weights @ of)
        return self._replicated[column]

    def columns(self, probe: str, layer: int, source: str, task: str, score: str) -> list[int]:
        """Return the columns of all runs of a training."""
        key = (probe, layer, source, task, score)
        return self._by_key.get(key, [])

    @cached_property
    def _by_key(self) -> dict[tuple[str, int, str, str, str], list[int]]:
        by_key: dict[tuple[str, int, str, str, str], list[int]] = {}
        for column, tried in enumerate(self.tried):
            key = (tried.probe, tried.layer, tried.source, tried.task, tried.score)
            by_key.setdefault(key, []).append(column)
        return by_key

    def mean_of(self, columns: Sequence[int]) -> tuple[float, ndarray]:
        """Return the mean score of several runs, and that in each replicate."""
        if not columns:
            return math.nan, np.array([])
        return mean([self.value(column) for column in columns]), np.mean([self.replicate(c) for c in columns], 0)

    def row(self, column: int) -> dict[str, Any]:
        """Return the row of a column."""
        tried = self.tried[column]
        layer, source = place_in_table(tried.layer, tried.source)
        return {
            "probe": tried.probe,
            "layer": layer,
            "source": source,
            "task": tried.task,
            "run": tried.run,
            "score": tried.score,
            "value": self.value(column),
            "dev": math.nan if tried.dev is None else tried.dev,
        }

    def units(self, columns: Sequence[int]) -> float:
        """Return the effective number of sentences that have something to score, which claims need."""
        return effective_number(self.fractions[:, columns[0], 1]) if columns else 0.0


def _by_length(weights: ndarray, found: ndarray, of: ndarray, lengths: ndarray) -> ndarray:
    """Return the mean over sentence lengths in each replicate, as `mean_by_length` does for the corpus."""
    means = []
    for length in LENGTHS:
        of_length = lengths == length
        if of[of_length].any():
            with np.errstate(invalid="ignore"):
                means.append((weights[:, of_length] @ found[of_length]) / (weights[:, of_length] @ of[of_length]))
    if not means:
        return np.full(len(weights), np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(means, axis=0) / np.isfinite(means).sum(axis=0))


def state_rows(scored: StateScores, chosen: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yield the row of each probe, score and layer, and of what predicts without states."""
    seen: dict[tuple[str, str, int, str], StateTried] = {}
    for tried in scored.tried:
        if tried.task == GOLD and tried.source != RANDOM_WEIGHTS:
            seen.setdefault((tried.probe, tried.score, tried.layer, tried.source), tried)
    bands = _bands(scored, [(probe, score, layer) for probe, score, layer, _ in seen if layer >= 0])
    for (probe, score, layer, source), tried in sorted(
        seen.items(),
        # A mix comes after the layers, and what reads no states before them.
        key=lambda item: ([*chosen].index(item[0][0]), item[1].by_length, item[0][2] == MIX, item[0][2]),
    ):
        columns = scored.columns(probe, layer, source, GOLD, score)
        value, replicates = scored.mean_of(columns)
        control = scored.columns(probe, layer, MODEL, _first_control(probe), score)
        random = scored.columns(probe, layer, RANDOM_WEIGHTS, GOLD, score)
        low, high = _bounds(replicates)
        of_layer, named = place_in_table(layer, source)
        band_low, band_high = bands.get((probe, score, layer), (math.nan, math.nan))
        yield {
            "probe": probe,
            "score": score,
            "layer": of_layer,
            "source": named,
            "runs": len(columns),
            "value": value,
            "value_low": low,
            "value_high": high,
            "band_low": band_low,
            "band_high": band_high,
            "value_sd": deviation([scored.value(column) for column in columns]),
            **_compare("control", "selectivity", value, replicates, scored.mean_of(control)),
            **_compare("random", "over_random", value, replicates, scored.mean_of(random)),
            "dev": mean([dev for column in columns if (dev := scored.tried[column].dev) is not None]),
            "chosen": chosen[probe] == layer,
            "by_length": tried.by_length,
        }


def _bounds(replicates: ndarray) -> tuple[float, float]:
    """Return the interval of a score, without the replicates that have nothing to score."""
    return bootstrap_interval(replicates[np.isfinite(replicates)])


def _bands(
    scored: StateScores, keys: Sequence[tuple[str, str, int]]
) -> dict[tuple[str, str, int], tuple[float, float]]:
    """Return the band of each score of the model that holds for all of its layers together."""
    found: dict[tuple[str, str, int], tuple[float, float]] = {}
    for probe, score in dict.fromkeys((probe, score) for probe, score, _ in keys):
        of_score = [key for key in keys if key[:2] == (probe, score)]
        means = [scored.mean_of(scored.columns(probe, layer, MODEL, GOLD, score)) for *_, layer in of_score]
        found.update(zip(of_score, simultaneous_intervals(means), strict=True))
    return found


def _first_control(probe: str) -> str:
    return make_state_probe(probe).controls[0]


def _compare(
    name: str, difference: str, value: float, replicates: ndarray, other: tuple[float, ndarray]
) -> dict[str, float]:
    """Return a value to compare with, and the difference with its paired interval; NaN if there is none."""
    other_value, other_replicates = other
    paired = replicates - other_replicates if len(other_replicates) else np.array([])
    low, high = _bounds(paired)
    return {name: other_value, difference: value - other_value, f"{difference}_low": low, f"{difference}_high": high}


def first_columns(scored: StateScores, probe: str, layer: int) -> list[int]:
    """Return the columns of the first score of a probe of the model, which are its runs."""
    return scored.columns(probe, layer, MODEL, GOLD, make_state_probe(probe).metrics[0].name)


def contrast_rows(scored: StateScores, chosen: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    """Yield the differences of the chosen layer and others, and of the same layer and other sources."""
    for probe, layer in chosen.items():
        score = make_state_probe(probe).metrics[0].name
        own = scored.mean_of(first_columns(scored, probe, layer))
        others: list[tuple[int, tuple[float, ndarray], str, tuple[float, ndarray]]] = []
        for tried in dict.fromkeys((t.layer, t.source) for t in scored.tried if t.probe == probe and t.task == GOLD):
            other_layer, source = tried
            other = scored.mean_of(scored.columns(probe, other_layer, source, GOLD, score))
            if source == MODEL and other_layer != layer:
                others.append((layer, own, MIXED if other_layer == MIX else layer_name(other_layer), other))
            elif source == RANDOM_WEIGHTS and other_layer == 0 and not make_state_probe(probe).reads_maps:
                continue  # the same states, bit by bit
            elif source == RANDOM_WEIGHTS:
                of_layer = scored.mean_of(scored.columns(probe, other_layer, MODEL, GOLD, score))
                others.append((other_layer, of_layer, RANDOM_WEIGHTS, other))
            elif source != MODEL:
                others.append((layer, own, source, other))
        for name in make_state_probe(probe).beside:
            if (name, "argmax") in scored.counts.groups and name not in chosen:
                group = scored.counts.groups[name, "argmax"]
                other = mean(scores(scored.counts.words.scored, group)), scored.counts.replicated[name, "argmax"]
                others.append((layer, own, name, other))
            elif name in chosen:
                other = scored.mean_of(scored.columns(name, layer, MODEL, GOLD, score))
                others.append((layer, own, f"{name} of {layer_name(layer)}", other))
        tests = [_test_difference(first, second) for _, first, _, second in others]
        adjusted = iter(holm([p for *_, p in tests if not math.isnan(p)]))
        of_layers = [
            (first[0] - second[0], first[1] - second[1])
            for _, first, name, second in others
            if name.startswith(OF_LAYER) and len(first[1]) == len(second[1])
        ]
        bands = iter(simultaneous_intervals(of_layers))
        for (of_layer_number, first, name, second), (low, high, p) in zip(others, tests, strict=True):
            p_holm = math.nan if math.isnan(p) else next(adjusted)
            is_layer = name.startswith(OF_LAYER) and len(first[1]) == len(second[1])
            band = next(bands) if is_layer else (math.nan, math.nan)
            yield (
                probe,
                place_in_table(of_layer_number, MODEL)[0],
                name,
                first[0] - second[0],
                low,
                high,
                *band,
                p,
                p_holm,
            )


def _test_difference(first: tuple[float, ndarray], second: tuple[float, ndarray]) -> tuple[float, float, float]:
    """Return the paired interval of a difference and its two-sided p value; NaN if it does not vary."""
    if not len(first[1]) or len(first[1]) != len(second[1]):
        return math.nan, math.nan, math.nan
    paired = first[1] - second[1]
    paired = paired[np.isfinite(paired)]
    low, high = _bounds(paired)
    error = float(paired.std(ddof=1)) if len(paired) > 1 else 0.0
    if error == 0:
        return low, high, math.nan
    return low, high, math.erfc(abs(first[0] - second[0]) / error / math.sqrt(2))
