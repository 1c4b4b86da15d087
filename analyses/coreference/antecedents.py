"""Which heads pick an antecedent: the argmax decisions of Clark et al. (2019, §4.3), made exactly.

As in `analyses.linguistic.decisions`, values closer than the noise of float32 are compared again in float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentionology.analyses.coreference.choices import POLICIES, Choice
from attentionology.analyses.dependency.decisions import word_positions
from attentionology.extractors import MapBatch, Window

DIRECTIONS = ("mention->antecedent", "antecedent->mention")
"""``mention->antecedent``: the candidate whose head word the mention's head word attends to most (row argmax).
``antecedent->mention``: the candidate whose head word attends most to the mention's (column argmax)."""

_AT_ONCE = 64  # decisions, so that their rows take no more memory than the maps


def antecedent_hits(
    batch: MapBatch, choices: Sequence[tuple[int, Choice]]
) -> Bool[Tensor, "choices policies directions layers heads"]:
    """Whether each attention head picks an antecedent's head word, by `POLICIES` and `DIRECTIONS`.

    Ties go to the first candidate in the text.

    Args:
        batch: word-level maps of windows.
        choices: each with the index of its window in the batch.
    """
    position = word_positions(batch)
    n = batch.maps.shape[-1]
    parts = []
    for at in range(0, len(choices), _AT_ONCE):
        own = choices[at : at + _AT_ONCE]
        b = torch.tensor([index for index, _ in own])
        asked = torch.zeros(len(own), dtype=torch.long)
        gold = torch.zeros(len(own), n, dtype=torch.bool)
        allowed = torch.zeros(len(own), len(POLICIES), n, dtype=torch.bool)
        for row, (index, choice) in enumerate(own):
            window = batch.sentences[index]
            assert isinstance(window, Window)  # noqa: S101  # choices are made of windows
            asked[row], gold[row], allowed[row] = _masks(choice, window, position[index], n)
        hits, close = _compare(batch.maps, batch.noise, b, asked, gold, allowed)
        unclear = sorted(set(b[close].tolist()))
        for index in unclear:
            rows = torch.nonzero(b == index).flatten()
            # One window at a time, and no name for its maps, because float64 takes twice the room.
            hits[rows] = _argmax(batch.exact([index])[0], asked[rows], gold[rows], allowed[rows])
        parts.append(hits)
    shape = (len(POLICIES), len(DIRECTIONS), *batch.maps.shape[1:3])
    return torch.cat(parts) if parts else torch.zeros(0, *shape, dtype=torch.bool)


def _masks(
    choice: Choice, window: Window, position: Int[Tensor, " words"], n: int
) -> tuple[Tensor, Bool[Tensor, " n"], Bool[Tensor, "policies n"]]:
    """Position of the mention's head word; positions of antecedents; of candidates by policy."""

    def mask(words: frozenset[int]) -> Bool[Tensor, " n"]:
        found = torch.zeros(n, dtype=torch.bool)
        found[position[torch.tensor([word - window.start for word in words])]] = True
        return found

    allowed = torch.stack([mask(choice.candidates(policy, window)) for policy in POLICIES])
    return position[choice.head - window.start], mask(choice.gold), allowed


def _compare(
    maps: Float[Tensor, "batch layers heads n n"],
    noise: float,
    b: Int[Tensor, " choices"],
    asked: Int[Tensor, " choices"],
    gold: Bool[Tensor, "choices n"],
    allowed: Bool[Tensor, "choices policies n"],
) -> tuple[Bool[Tensor, "choices policies directions layers heads"], Bool[Tensor, " choices"]]:
    """The best antecedent against the best other candidate, and which choices are too close to call."""
    device = maps.device
    b, asked, gold, allowed = b.to(device), asked.to(device), gold.to(device), allowed.to(device)
    decided = torch.zeros(len(b), len(POLICIES), len(DIRECTIONS), *maps.shape[1:3], dtype=torch.bool, device=device)
    close = torch.zeros(len(b), dtype=torch.bool, device=device)
    for direction, values in enumerate((maps[b, :, :, asked, :], maps[b, :, :, :, asked])):
        best = values.masked_fill(~gold[:, None, None], -torch.inf).amax(-1)
        for policy in range(len(POLICIES)):
            other = values.masked_fill((gold | ~allowed[:, policy])[:, None, None], -torch.inf).amax(-1)
            decided[:, policy, direction] = best > other
            near = (best - other).abs() <= noise * torch.maximum(best, other).abs()
            close |= near.flatten(1).any(1)
    return decided.cpu(), close.cpu()


def _argmax(
    maps: Float[Tensor, "layers heads n n"],
    asked: Int[Tensor, " choices"],
    gold: Bool[Tensor, "choices padded"],
    allowed: Bool[Tensor, "choices policies padded"],
) -> Bool[Tensor, "choices policies directions layers heads"]:
    """The plain decision: largest value, first of equals."""
    maps = maps.cpu()
    gold, allowed = gold[:, : maps.shape[-1]], allowed[..., : maps.shape[-1]]
    picked = []
    for values in (maps[:, :, asked, :], maps[:, :, :, asked].transpose(-1, -2)):  # layers, heads, choices, n
        by_policy = values[:, :, :, None].masked_fill(~allowed, -torch.inf)
        # numpy promises the first of equal values, torch does not
        picked.append(torch.from_numpy(by_policy.numpy().argmax(-1)))  # layers, heads, choices, policies
    found = torch.stack(picked, -1).permute(2, 3, 4, 0, 1)
    return gold[torch.arange(len(asked))[:, None, None, None, None], found]
