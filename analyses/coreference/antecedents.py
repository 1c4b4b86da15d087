"""Which heads pick an antecedent: the argmax decisions of Clark et al. (2019, §4.3), made exactly.

As in `attentionology.analyses.dependency.decisions`, float32 decides first, and comparisons that are closer than its
noise are made again in float64. Several words may be right here, so the best antecedent is compared with the best
candidate that is no antecedent: which of several antecedents is the best one has no effect on the decision.

Mentions are chunks of words, but attention maps have one row per word. Both sides of a decision are therefore reduced
to head words: the row is that of the mention's head word, and a candidate has the value of its head word. A sum over
all words of a chunk would favor long mentions, a mean short ones; and the head word is the one that stands for its
chunk in the dependency analysis too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...extractors import MapBatch, Window
from ..dependency.decisions import word_positions
from .choices import POLICIES, Choice, choices_of

DIRECTIONS = ("mention->antecedent", "antecedent->mention")
"""The directions of attention. ``mention->antecedent`` picks the candidate to whose head word the mention's head word
attends most (row argmax), ``antecedent->mention`` the candidate whose head word attends most to the mention's head word
(column argmax)."""

_DECISIONS_AT_ONCE = 64  # the number of decisions at a time, so that their rows take no more memory than the maps


def antecedent_hits(
    batch: MapBatch, choices: Sequence[tuple[int, Choice]], policies: Sequence[str] = POLICIES
) -> Bool[Tensor, "choices policies directions layers heads"]:
    """Return whether each attention head picks an antecedent's head word, by policies and `DIRECTIONS`."""
    # Ties go to the first candidate in the text.
    position = word_positions(batch)
    n = batch.maps.shape[-1]
    parts = []
    for start in range(0, len(choices), _DECISIONS_AT_ONCE):
        part = choices[start : start + _DECISIONS_AT_ONCE]
        windows = torch.tensor([index for index, _ in part])
        mention = torch.zeros(len(part), dtype=torch.long)
        gold = torch.zeros(len(part), n, dtype=torch.bool)
        allowed = torch.zeros(len(part), len(policies), n, dtype=torch.bool)
        for row, (index, choice) in enumerate(part):
            mention[row] = position[index, choice.head - choice.window.start]
            gold[row] = _mask(choice.gold, choice.window, position[index], n)
            for policy, name in enumerate(policies):
                allowed[row, policy] = _mask(choice.candidates(name), choice.window, position[index], n)
        hits, close = _compare(batch.maps, batch.noise, windows, mention, gold, allowed)
        # A window with a choice that float32 leaves open is decided again in float64: one window at a time, and without
        # a variable that keeps its maps alive, because float64 takes twice the memory.
        for index in sorted(set(windows[close].tolist())):
            rows = torch.nonzero(windows == index).flatten()
            hits[rows] = _argmax(batch.exact([index])[0], mention[rows], gold[rows], allowed[rows])
        parts.append(hits)
    shape = (len(policies), len(DIRECTIONS), *batch.maps.shape[1:3])
    return torch.cat(parts) if parts else torch.zeros(0, *shape, dtype=torch.bool)


def _mask(words: frozenset[int], window: Window, position: Int[Tensor, " words"], n: int) -> Bool[Tensor, " n"]:
    """Return which of the ``n`` rows of a map belong to some words, given the row of each word of the window."""
    is_word = torch.zeros(n, dtype=torch.bool)
    is_word[position[torch.tensor([word - window.start for word in words])]] = True
    return is_word


def _compare(
    maps: Float[Tensor, "batch layers heads n n"],
    noise: float,
    windows: Int[Tensor, " choices"],
    mention: Int[Tensor, " choices"],
    gold: Bool[Tensor, "choices n"],
    allowed: Bool[Tensor, "choices policies n"],
) -> tuple[Bool[Tensor, "choices policies directions layers heads"], Bool[Tensor, " choices"]]:
    """Return whether the best antecedent beats the best other candidate in float32, and which choices are too close."""
    # windows: the index of each choice's window in the batch. mention: the position of the mention's head word.
    # gold, allowed: whether a position has the head word of an antecedent, and of a candidate by each policy.
    device = maps.device
    windows, mention, gold, allowed = windows.to(device), mention.to(device), gold.to(device), allowed.to(device)
    shape = (len(windows), allowed.shape[1], len(DIRECTIONS), *maps.shape[1:3])
    is_right = torch.zeros(shape, dtype=torch.bool, device=device)
    is_close = torch.zeros(len(windows), dtype=torch.bool, device=device)
    # The row and the column of each mention, shape (choices, layers, heads, n).
    for direction, values in enumerate((maps[windows, :, :, mention, :], maps[windows, :, :, :, mention])):
        antecedent = values.masked_fill(~gold[:, None, None], -torch.inf).amax(-1)  # choice, layer, head
        for policy in range(allowed.shape[1]):
            candidates = allowed[:, policy]
            # The first candidate is at the number of positions before it. The clamp is for choices without candidates.
            first_candidate = (candidates.cumsum(-1) == 0).sum(-1, keepdim=True)
            is_first_gold = gold.gather(1, first_candidate.clamp(max=gold.shape[1] - 1))
            other = values.masked_fill((gold | ~candidates)[:, None, None], -torch.inf).amax(-1)
            largest = torch.maximum(antecedent, other)
            # Values that are 0 are equal whatever the rounding, and the first candidate is picked.
            is_right[:, policy, direction] = (antecedent > other) | ((largest == 0) & is_first_gold[..., None])
            close = ((antecedent - other).abs() <= noise * largest.abs()) & (largest != 0)
            is_close |= close.flatten(1).any(1)
    return is_right.cpu(), is_close.cpu()


def _argmax(
    maps: Float[Tensor, "layers heads n n"],
    mention: Int[Tensor, " choices"],
    gold: Bool[Tensor, "choices padded"],
    allowed: Bool[Tensor, "choices policies padded"],
) -> Bool[Tensor, "choices policies directions layers heads"]:
    """Return whether the candidate with the largest value, the first one of equals, is an antecedent."""
    maps = maps.cpu()
    gold, allowed = gold[:, : maps.shape[-1]], allowed[..., : maps.shape[-1]]
    picked = []
    for values in (maps[:, :, mention, :], maps[:, :, :, mention].transpose(-1, -2)):  # layers, heads, choices, n
        by_policy = values[:, :, :, None].masked_fill(~allowed, -torch.inf)
        # NumPy promises the first of equal values, torch does not.
        picked.append(torch.from_numpy(by_policy.numpy().argmax(-1)))  # layers, heads, choices, policies
    picks = torch.stack(picked, -1).permute(2, 3, 4, 0, 1)  # choices, policies, directions, layers, heads
    return gold[torch.arange(len(mention))[:, None, None, None, None], picks]


@dataclass(frozen=True)
class AntecedentGuesses:
    """Returns the position that each head picks for the head word of each mention that is scored, −1 for all others."""

    # The guesses are for inputs that are kept to be looked at.

    policy: str  # one of `POLICIES`
    singletons: bool  # whether mentions of entities that are mentioned only once are candidates

    def __call__(self, batch: MapBatch) -> Int[Tensor, "batch 2 layers heads n"]:
        """Return the guesses in both `DIRECTIONS`. If two mentions have the same head word, the first one is kept."""
        # `antecedent_hits` decides exactly which guesses are right. A right guess is the best antecedent, and a wrong
        # one is the best of the other candidates.
        choices = choices_of(batch, singletons=self.singletons)
        hits = antecedent_hits(batch, choices, (self.policy,)).squeeze(1)  # choice, direction, layer, head
        position = word_positions(batch)
        picks = torch.full((len(batch), len(DIRECTIONS), *batch.maps.shape[1:4]), -1)
        for decision in reversed(range(len(choices))):  # so that the first of two mentions is written last
            index, choice = choices[decision]
            start = choice.window.start
            position_of_word = position[index]
            mention = int(position_of_word[choice.head - start])
            # The positions of the antecedents, and of all other candidates.
            right, wrong = (
                position_of_word[torch.tensor(sorted(words), dtype=torch.long) - start]
                for words in (choice.gold, choice.candidates(self.policy) - choice.gold)
            )
            maps = batch.maps[index].cpu()
            for direction, values in enumerate((maps[:, :, mention], maps[:, :, :, mention])):  # layer, head, position
                best_right = right[values[..., right].argmax(-1)]
                best_wrong = wrong[values[..., wrong].argmax(-1)] if len(wrong) else best_right
                guesses = torch.where(hits[decision, direction], best_right, best_wrong)
                picks[index, direction, :, :, mention] = guesses
        return picks
