"""A floor for probes of hidden states: what is near a word, without a model that reads it in context."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def decayed(states: Float[Tensor, "words dim"]) -> Float[Tensor, "words dim"]:
    """Mix the state of each word with those of its neighbors, which count the less the farther they are.

    A word at a distance of d words has the weight 2⁻ᵈ, and the weights of each word add up to 1. Of the states of layer
    0, this is the floor ``Decay0`` of Hewitt & Manning (2019, §4): it knows words and their order, and no syntax.

    Args:
        states: those of the words of a sentence.

    Example:
        >>> import torch
        >>> from attentionology.probes import decayed
        >>> decayed(torch.eye(3)[:, :1]).flatten().tolist()
        [0.5714285969734192, 0.25, 0.1428571492433548]
    """
    places = torch.arange(len(states), device=states.device)
    weights = torch.exp2(-(places[:, None] - places[None]).abs().double())
    return (weights / weights.sum(1, keepdim=True) @ states.double()).to(states.dtype)
