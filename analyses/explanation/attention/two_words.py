"""The farthest attention on one or two words that gives the same output, with a proof that none on two is farther.

Jain & Wallace (2019, §4.2.2) ask how far attention can move without moving the output by more than ε in TVD. In
`attentionology.analyses.explanation.attention.exact_adversary`, the output is a function of one number, and what is
allowed is a polytope. With a tanh between the attention and the logits (in classifiers that read a query), or with
three or more classes, its border is curved. On two words, i with the weight w and j with 1 − w, three facts still bound
the answer:

* The hidden units before the tanh are affine in w: u(w) = u_j + w d, with d = u_i − u_j and u_t the units when all
  attention is on word t.
* The Jensen-Shannon divergence to the original attention is convex in w, so within a range of w its maximum is at one
  of the ends. Where both ends are no farther than what was found already, nothing in between is.
* The TVD to the original output changes by at most L per unit of w. With logits l, probabilities p, and the derivatives
  l'_c and p'_c = p_c (l'_c − Σ_k p_k l'_k) in w, its slope is at most ½ Σ_c |p'_c|, half of the mean absolute deviation
  of l' under p. That of numbers between a and b is at most (b − a) / 2, which they have with half of the probability at
  either end. So the slope is at most ¼ (max l' − min l'), and at most ½ max |l'_c − x| for any number x. If the logits
  V^T u + bias are linear in the attention, l' = V^T d is constant, and L is the former. With a tanh, whose slope s is
  between 0 and 1, l'_c = Σ_m V_mc s_m d_m. With v_m the mean of V_mc over the classes and x = Σ_m v_m s_m d_m, the
  latter is at most ½ max_c Σ_m |V_mc − v_m| |d_m|, which is L. Where the TVD is above ε by y at an end of a range,
  nothing within y / L of this end is allowed.

Branch and bound begins with the best single word as what was found, and with all pairs of words. It halves the ranges
that may contain something farther, those that could contain the farthest first, until there is none. What it has found
is then the maximum over all attentions on two words, up to `TOLERANCE`. It is a lower bound of the maximum over all
attentions, and the maximum itself if it equals the ceiling, the largest divergence whatever the output. Otherwise the
maximum lies between the two. Attention on more words can be farther if there are three or more classes, each of which
is one more condition to meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy.special import entr, softmax

from ....extractors.replaceable.attention_model import LinearAttentionModel, TanhAttentionModel
from .batch import TextBatch, Values
from .exact_adversary import exactly_normalized
from .interventions import answers

TOLERANCE = 1e-9
"""How much farther than the attention found any other attention on two words can be, in nats."""

EVALUATIONS = 1 << 18
"""The largest number of outputs to compute for a text, which takes about a second. Texts of SNLI (3 classes, 15 words)
need 83 on average, and stories of 480 words with 6 classes up to 136,000. Where more are needed, the gap says so."""

_ROUNDING = 1e-12  # a TVD that is larger than ε by less counts as equal, because it may be a rounding error
_CELLS = 1 << 17  # the number of hidden units to compute at once
_TINY = 1e-200  # instead of a slope of 0, by which no distance can be divided


@dataclass(frozen=True, eq=False)
class Decoder:
    """How the attention to a text becomes its output, as numbers in float64."""

    units: Float[ndarray, "n units"]  # with all attention on one word, for each word
    weights: Float[ndarray, "units classes"]
    bias: Float[ndarray, " classes"]
    is_linear: bool  # whether there is no tanh between the units and the weights

    def probabilities(self, units: Float[ndarray, "*batch units"]) -> Float[ndarray, "*batch classes"]:
        """Return the probabilities of the classes for hidden units."""
        activations = units if self.is_linear else np.tanh(units)
        probabilities: Float[ndarray, "*batch classes"] = softmax(activations @ self.weights + self.bias, axis=-1)
        return probabilities

    def steepest(self, change: Float[ndarray, "pairs units"]) -> Float[ndarray, " pairs"]:
        """Return how much the TVD can change at most per unit of a weight, given how much the hidden units change."""
        centered = np.abs(self.weights - self.weights.mean(axis=1, keepdims=True))
        slopes: Float[ndarray, " pairs"]
        slopes = (
            np.ptp(change @ self.weights, axis=1) / 4 if self.is_linear else (abs(change) @ centered).max(axis=1) / 2
        )
        return slopes


class TwoWords(NamedTuple):
    """The farthest attention to a text that was found on at most two words, and how far others can be."""

    jsd: float  # its divergence; 0 if only the original attention is allowed
    attention: Float[ndarray, " n"]
    gap: float  # how much farther other attention on two words can be, at most; `TOLERANCE` unless it was cut short
    ceiling: float  # the largest divergence whatever the output
    evaluations: int  # of the output

    @property
    def is_exact(self) -> bool:
        """Whether no attention at all is farther, because the divergence equals the ceiling."""
        return self.jsd >= self.ceiling - TOLERANCE


class _Ranges(NamedTuple):
    """Ranges of the weight on the first word of pairs, in which farther attention may be."""

    first: Int[ndarray, " ranges"]
    second: Int[ndarray, " ranges"]
    low: Float[ndarray, " ranges"]
    high: Float[ndarray, " ranges"]
    low_excess: Float[ndarray, " ranges"]  # how much the TVD is above ε at either end
    high_excess: Float[ndarray, " ranges"]
    bound: Float[ndarray, " ranges"]  # no attention in the range that is allowed is farther

    def at(self, chosen: Bool[ndarray, " ranges"] | Int[ndarray, " chosen"]) -> _Ranges:
        """Return some of the ranges."""
        return _Ranges(*(column[chosen] for column in self))

    def halve(
        self,
        middle: Float[ndarray, " ranges"],
        excess: Float[ndarray, " ranges"],
        bounds: tuple[Float[ndarray, " ranges"], Float[ndarray, " ranges"]],
    ) -> tuple[_Ranges, _Ranges]:
        """Return both parts of the ranges, given the excess at the point between them and the bounds of the parts."""
        lower = self._replace(high=middle, high_excess=excess, bound=bounds[0])
        return lower, self._replace(low=middle, low_excess=excess, bound=bounds[1])


def has_decoder(model: object) -> bool:
    """Whether a model says how its one row of attention becomes logits, so that branch and bound can search in it."""
    return isinstance(model, (LinearAttentionModel, TanhAttentionModel))


def decoders(batch: TextBatch) -> Iterator[tuple[Decoder, Float[ndarray, " n"]]]:
    """Yield for each text how its attention becomes its output, and its attention."""
    # The model must say it, see `has_decoder`.
    model = batch.model
    is_linear = isinstance(model, LinearAttentionModel)
    if isinstance(model, LinearAttentionModel):
        units, bias = model.evidence(batch.state)
        weights = np.eye(len(bias))
    else:
        assert isinstance(model, TanhAttentionModel)  # noqa: S101 the caller looked
        units, of_model, bias = model.hidden_units(batch.state)
        weights = of_model.detach().double().numpy()
    alpha = exactly_normalized(batch.alpha[:, 0]).numpy()
    for index, text in enumerate(batch.texts):
        of_text = units[index, : len(text)].detach().double().numpy()
        yield Decoder(of_text, weights, bias.detach().double().numpy(), is_linear), alpha[index, : len(text)]


def farthest_on_two_words(
    decoder: Decoder, alpha: Float[ndarray, " n"], epsilon: float, *, evaluations: int = EVALUATIONS
) -> TwoWords:
    """Find the attention on at most two words that is farthest from ``alpha`` with a TVD of the output up to ε."""
    # The original attention, with the divergence 0, is the answer where no attention on two words is allowed.
    n, units = len(alpha), decoder.units
    if n < 2:
        return TwoWords(0.0, alpha, 0.0, 0.0, 0)
    jsd, output = _divergence_from(alpha), decoder.probabilities(alpha @ units)

    def excess(of_pairs: Float[ndarray, "pairs units"]) -> Float[ndarray, " pairs"]:
        tvd = np.abs(decoder.probabilities(of_pairs) - output).sum(axis=1) / 2
        above: Float[ndarray, " pairs"] = tvd - epsilon
        return above

    words = np.arange(n)
    one_word_jsd, one_word_excess = jsd(words, (words + 1) % n, np.ones(n)), excess(units)
    farthest, best, n_computed = alpha, 0.0, n
    if (allowed := one_word_excess <= _ROUNDING).any():
        word = int(np.where(allowed, one_word_jsd, -1.0).argmax())
        farthest, best = np.eye(n)[word], float(one_word_jsd[word])
    # A pair has something farther only if one of its words has. Of two that both have, each is the first word once.
    is_farther = one_word_jsd > best + TOLERANCE
    first, second = np.nonzero(is_farther[:, None] & (~is_farther | np.tri(n, k=-1, dtype=bool)))
    ends = one_word_excess[second], one_word_excess[first]
    bound = np.maximum(one_word_jsd[first], one_word_jsd[second])
    ranges = _Ranges(first, second, np.zeros(len(first)), np.ones(len(first)), *ends, bound)
    at_once = max(1, _CELLS // units.shape[1])
    while len(ranges.first) and n_computed < evaluations:
        order = np.argsort(-ranges.bound, kind="stable")
        part, rest = ranges.at(order[:at_once]), ranges.at(order[at_once:])
        change = units[part.first] - units[part.second]
        slope = np.maximum(decoder.steepest(change), _TINY)
        low = part.low + np.maximum(part.low_excess, 0) / slope  # nothing nearer to the ends is allowed
        high = part.high - np.maximum(part.high_excess, 0) / slope
        kept = low < high
        part, change, low, high = part.at(kept), change[kept], low[kept], high[kept]
        low_jsd, high_jsd = (jsd(part.first, part.second, weight) for weight in (low, high))
        kept = np.maximum(low_jsd, high_jsd) > best + TOLERANCE
        part, change, low, high = part.at(kept), change[kept], low[kept], high[kept]
        low_jsd, high_jsd = low_jsd[kept], high_jsd[kept]

        middle = (low + high) / 2
        middle_excess = excess(units[part.second] + middle[:, None] * change)
        middle_jsd = jsd(part.first, part.second, middle)
        n_computed += len(middle)
        found = np.where(middle_excess <= _ROUNDING, middle_jsd, -1.0)
        if len(found) and found.max() > best:
            at = int(found.argmax())
            best, farthest = float(found[at]), np.zeros(n)
            farthest[part.first[at]], farthest[part.second[at]] = middle[at], 1 - middle[at]
        bounds = np.maximum(low_jsd, middle_jsd), np.maximum(middle_jsd, high_jsd)
        parts = [rest, *part.halve(middle, middle_excess, bounds)]
        ranges = _Ranges(*map(np.concatenate, zip(*parts, strict=True)))
        ranges = ranges.at(ranges.bound > best + TOLERANCE)
    gap = float(ranges.bound.max()) - best if len(ranges.first) else TOLERANCE
    return TwoWords(best, farthest, gap, float(one_word_jsd.max()), n_computed)


def _divergence_from(alpha: Float[ndarray, " n"]) -> Callable[..., Float[ndarray, "*pairs"]]:
    """Return the function that computes JSD(α, w on word i and 1 − w on word j), given all i, j and w."""
    halves = entr(alpha / 2)
    rest, own_entropy = halves.sum(), entr(alpha).sum()

    def jsd(
        first: Int[ndarray, "*#pairs"], second: Int[ndarray, "*#pairs"], weight: Float[ndarray, "*#pairs"]
    ) -> Float[ndarray, "*#pairs"]:
        # Only two terms of the entropy of the mixture differ from those of α / 2.
        mixture = rest - halves[first] - halves[second]
        mixture = mixture + entr((alpha[first] + weight) / 2) + entr((alpha[second] + 1 - weight) / 2)
        divergence: Float[ndarray, "*#pairs"]
        divergence = np.maximum(mixture - (own_entropy + entr(weight) + entr(1 - weight)) / 2, 0.0)
        return divergence

    return jsd


def farthest_tried(batch: TextBatch, epsilon: float) -> tuple[Values, Values]:
    """Return the farthest divergence of 2n attentions per text on one or two words, for any model, and the ceiling."""
    # All rows of attention get the same weights, and their divergences are averaged. First, each word gets all weight.
    # Then, each word is mixed with another. If the probabilities were linear in the weights, one mixture of each pair
    # would be nearest to the original output. Of these mixtures, one is chosen for each word.
    rows, n = batch.alpha.shape[1:]
    alpha = exactly_normalized(batch.alpha).detach().numpy()
    one_word, two_words = np.zeros((2, len(batch), n, n))
    farthest, ceiling = np.zeros((2, len(batch)))

    def changes(weights: Float[ndarray, "batch n n"]) -> Float[ndarray, "batch n classes"]:
        attention = torch.from_numpy(weights).to(batch.alpha)
        output = answers(batch, n, lambda part: attention[:, part, None].expand(-1, -1, rows, -1))
        difference: Float[ndarray, "batch n classes"] = (output - batch.probabilities[:, None]).numpy()
        return difference

    lengths = {index: len(text) for index, text in enumerate(batch.texts) if len(text) > 1}
    for index, length in lengths.items():
        one_word[index, :length, :length] = np.eye(length)
    changed = changes(one_word)
    mixtures = {
        index: _mixtures(changed[index, :length], alpha[index, :, :length].mean(axis=0), epsilon)
        for index, length in lengths.items()
    }
    for index, (second, weight) in mixtures.items():
        words = np.arange(len(second))
        two_words[index, words, words] = weight
        two_words[index, words, second] = 1 - weight
    is_allowed = np.abs(np.stack([changed, changes(two_words)])).sum(axis=3) / 2 <= epsilon  # (2, texts, n)
    for index, (second, weight) in mixtures.items():
        words = np.arange(len(second))
        of_rows = [_divergence_from(row[: len(words)]) for row in alpha[index]]
        single = np.array([jsd(words, second, np.ones(len(words))) for jsd in of_rows])
        mixed = np.array([jsd(words, second, weight) for jsd in of_rows])
        allowed = is_allowed[:, index, : len(words)]
        farthest[index] = np.stack([single, mixed]).mean(axis=1)[allowed].max(initial=0.0)
        ceiling[index] = single.max(axis=1).mean()
    return farthest, ceiling


def _mixtures(
    changes: Float[ndarray, "n classes"], alpha: Float[ndarray, " n"], epsilon: float
) -> tuple[Int[ndarray, " n"], Float[ndarray, " n"]]:
    """Return for each word another word to mix it with, and its own weight, given how each changes the output."""
    # The changes w x + (1 − w) y of two words together are nearest to 0 at w = y · (y − x) / |y − x|².
    words, difference = np.arange(len(alpha)), changes[None] - changes[:, None]  # y − x, with x the first
    squared = np.square(difference).sum(axis=2)
    weight = (changes[None] * difference).sum(axis=2) / np.where(squared > 0, squared, 1.0)
    left = np.abs(changes[None] - weight[..., None] * difference).sum(axis=2) / 2
    # The farthest of those that should be allowed, or else the nearest one. Of two classes, all should be.
    jsd = _divergence_from(alpha)(words[:, None], words[None], np.clip(weight, 0, 1))
    score = np.where(left <= epsilon / 2, jsd, -left)
    second = np.where((weight > 0) & (weight < 1), score, -np.inf).argmax(axis=1)
    own = weight[words, second]
    is_mixed = (own > 0) & (own < 1)
    # A word that none can be mixed with keeps all weight. Its other word, which gets none, must be another one.
    return np.where(is_mixed, second, (words + 1) % len(words)), np.where(is_mixed, own, 1.0)
