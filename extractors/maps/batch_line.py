"""How batches are shown in a Python session: one line that says what they hold, and no tensor."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.describing import amount


def batch_line(batch: object, facts: Sequence[str], sentences: Sequence[Sentence], array: Tensor) -> str:
    """Class, facts, number of sentences, and the shape of the array that the batch is about."""
    counted = [*facts, amount(len(sentences), "sentences"), f"shape {tuple(array.shape)}"]
    return f"{type(batch).__name__}({', '.join(counted)})"
