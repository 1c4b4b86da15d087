"""The classes of tokens to which the surface statistics count attention."""

from __future__ import annotations

from itertools import chain

import torch
from jaxtyping import Bool
from torch import Tensor

from ...extractors import MapBatch, is_punctuation

TO_CLASSES = ("first_special", "last_special", "period_comma", "punctuation", "other")
"""The names of the classes, in the order of `class_members`."""


def class_members(batch: MapBatch) -> Bool[Tensor, "batch n classes"]:
    """Return which of `TO_CLASSES` each position belongs to; padding belongs to none."""
    if len(batch.forms) != len(batch):
        raise ValueError("the batch has no forms, which distinguish punctuation from words")
    forms = list(chain.from_iterable(batch.forms))
    inside = torch.arange(batch.maps.shape[-1]) < batch.lengths[:, None]
    punctuation, period_comma = torch.zeros(2, *inside.shape, dtype=torch.bool)
    punctuation[inside] = torch.tensor([is_punctuation(form) for form in forms])
    period_comma[inside] = torch.tensor([form in (".", ",") for form in forms])
    words = batch.words
    first_special = batch.special & (words.cumsum(1) == 0)  # before the first word
    last_special = batch.special & ~first_special
    classes = [first_special, last_special, period_comma & words, punctuation & words, words & ~punctuation]
    return torch.stack(classes, dim=-1)
