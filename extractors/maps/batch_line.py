"""The line that shows a batch in a Python session: what it holds, without any tensor."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ...corpora_loaders import Sentence
from ...corpora_loaders.describing import amount


def batch_line(batch: object, facts: Sequence[str], sentences: Sequence[Sentence], array: Tensor) -> str:
    """Name the class of a batch, some facts, its number of sentences, and the shape of its main array."""
    parts = [*facts, amount(len(sentences), "sentences"), f"shape {tuple(array.shape)}"]
    return f"{type(batch).__name__}({', '.join(parts)})"
