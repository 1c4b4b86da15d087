"""In which layer is something found best? Claims rest on heads that are chosen on one half and scored on the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...reports.explorer.references import LayerCurve
from ..counting.best_head import heldout
from ..counting.held_out import HeldOutRate, gain_columns, heldout_by_layer, interval_around, mean_rate, standard_error
from ..counting.outcomes import Counts
from .measures import finite_values, points, share

DIGITS = 4
SHOWN = 3
"""The number of questions that a finding names."""


@dataclass(frozen=True)
class ByLayer:
    """What the best head of each layer finds for one question, the first layer first."""

    rates: tuple[HeldOutRate, ...]
    random: tuple[float, ...] = ()  # the mean over copies with random weights; empty without copies

    def curve(self) -> LayerCurve:
        """Return what the explorer draws."""
        intervals = [_interval(rate) for rate in self.rates]
        has_intervals = all(math.isfinite(bound) for bounds in intervals for bound in bounds)
        low, high = zip(*intervals, strict=True)
        return LayerCurve(
            finite_values((rate.value for rate in self.rates), DIGITS),
            finite_values(low, DIGITS) if has_intervals else None,
            finite_values(high, DIGITS) if has_intervals else None,
            finite_values(self.random, DIGITS) if self.random else None,
        )


def by_layer(
    rows: Sequence[int], subsets: Counts, replicates: Counts, copies: Iterable[tuple[Sequence[int], Counts]] = ()
) -> ByLayer:
    """Choose the best head of each layer on one half and score it on the other, also in copies with random weights.

    The rows are the groups of decisions that count together; copies may have counted them in another order.
    """
    of_copies = [
        [heldout(correct[..., layer : layer + 1, :], total)["heldout_accuracy"] for layer in range(correct.shape[-2])]
        for correct, total in (
            (counts.correct[list(of_copy)].sum(0), counts.total[list(of_copy)].sum(0)) for of_copy, counts in copies
        )
    ]
    random = np.mean(of_copies, axis=0).tolist() if of_copies else ()
    return ByLayer(heldout_by_layer(rows, subsets, replicates), tuple(random))


def mean_of(several: Sequence[ByLayer]) -> ByLayer:
    """Return the means over several questions."""
    rates = tuple(map(mean_rate, zip(*(each.rates for each in several), strict=True)))
    random = [each.random for each in several]
    return ByLayer(rates, tuple(np.mean(random, axis=0).tolist()) if all(random) else ())


@dataclass(frozen=True)
class BestLayer:
    """The layer whose best head finds most, and how clearly it does. Layers are 0-based."""

    layer: int
    rate: HeldOutRate
    close: tuple[int, ...]  # the other layers that do not clearly find less
    second: int  # the layer with the second most
    gain: Mapping[str, float]  # how much more the layer finds than the second one, see `gain_columns`

    @property
    def is_clear(self) -> bool:
        """Whether the layer clearly finds more than every other one."""
        return not self.close


def best_layer(rates: Sequence[HeldOutRate]) -> BestLayer:
    """Return the layer whose best head finds most.

    It is the best one if the interval of its difference from each other layer lies above 0. The two layers are compared
    in the same replicates, so that easy and hard text counts for both.
    """
    order = sorted(range(len(rates)), key=lambda layer: (-rates[layer].value, layer))
    best, *others = order

    def gain(other: int) -> dict[str, float]:
        first, second = rates[best], rates[other]
        return gain_columns(first.value - second.value, first.deviations - second.deviations)

    gains = {other: gain(other) for other in others}
    close = tuple(sorted(other for other, columns in gains.items() if not columns["heldout_gain_low"] > 0))
    return BestLayer(best, rates[best], close, others[0], gains[others[0]])


def sentences_about(
    whole: ByLayer, what: str, parts: Mapping[str, ByLayer], of_parts: str, beside: str = ""
) -> tuple[str, str]:
    """Say in which layer heads find most, on the whole and for single questions; empty if nothing can be said.

    Args:
        whole: what layers find on the whole.
        what: what that is about, in a phrase such as “14 relations with at least 50 words”.
        parts: the single questions by name, of which something may be claimed.
        of_parts: what they are, in a phrase such as “14 relations”.
        beside: what the strongest rules find, in a phrase such as “61.6 % by the strongest rule”.

    Returns:
        the sentence about the whole, and that about single questions.
    """
    if len(whole.rates) < 2 or not all(math.isfinite(bound) for bound in _interval(whole.rates[0])):
        return "", ""
    best = best_layer(whole.rates)
    reached = f"{share(best.rate.value, *_interval(best.rate))} held out"
    beside = f" ({beside})" if beside else ""
    text = f"{reached}{beside} is what the best head of layer {best.layer + 1} finds {what}, the most of all layers"
    others = len(whole.rates) - 1
    if best.is_clear:
        compared = "those of all other layers" if others > 1 else "that of the other layer"
        text += f", and clearly more than {compared}: {_gain(best)} than layer {best.second + 1}."
    elif len(best.close) < others:
        close = "those of layers" if len(best.close) > 1 else "that of layer"
        text += f", but not clearly more than {close} {_list_layers(best.close)}; all other layers clearly find less."
    else:
        text += ", but not clearly more than that of any other layer."
    return text, _of_parts(parts, of_parts) if len(parts) > 1 else ""


def _of_parts(parts: Mapping[str, ByLayer], of_parts: str) -> str:
    """Say for which single questions one layer is the best."""
    best = {name: best_layer(each.rates) for name, each in parts.items()}
    clear = {name: each for name, each in best.items() if each.is_clear}
    if not clear:
        return f"For none of the {of_parts} is one layer clearly the best."
    in_order = sorted(clear, key=lambda name: -clear[name].gain["heldout_gain"])
    named = "; ".join(
        f"{name} in layer {clear[name].layer + 1} ({share(clear[name].rate.value, *_interval(clear[name].rate))}, "
        f"{_gain(clear[name])} than layer {clear[name].second + 1})"
        for name in in_order[:SHOWN]
    )
    more = "; …" if len(clear) > SHOWN else ""
    verb = "is" if len(clear) == 1 else "are"
    return f"Of the {of_parts}, {len(clear)} {verb} clearly found best in one layer: {named}{more}."


def _gain(best: BestLayer) -> str:
    gain = best.gain
    return f"{points(gain['heldout_gain'], gain['heldout_gain_low'], gain['heldout_gain_high'])} more"


def _interval(rate: HeldOutRate) -> tuple[float, float]:
    return interval_around(rate.value, standard_error(rate.deviations), lowest=0.0)


def _list_layers(layers: Sequence[int]) -> str:
    *first, last = (str(layer + 1) for layer in layers)
    return f"{', '.join(first)} and {last}" if first else last
