"""What float32 does to maps and to the decisions that are made on them, measured with float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...corpora_loaders import Sentence
from ..errors import ModelError
from ..maps.batching import ExtractionLog
from ..maps.extraction import extract
from ..model.encoder import Encoder


@dataclass(frozen=True)
class Precision:
    """What float32 does to maps of one kind.

    A decision is the other word to which a word is attached most, in every head and both directions.
    """

    error: float  # the largest relative error of a value at least half as large as the largest of its row or column
    decisions: int  # how many were compared
    remade: int  # those that float32 makes otherwise, but so closely that analyses make them again in float64
    differing: int  # those that differ without being noticed

    def __str__(self) -> str:
        error = f"float32 is off by at most {self.error:.1e} of a value"
        remade = f", and {self.remade:,} that are close are made again in float64" if self.remade else ""
        return f"{error}; {self.differing:,} of {self.decisions:,} decisions differ from float64{remade}"

    @classmethod
    def of(cls, encoder: Encoder, sentences: Sequence[Sentence], kind: str) -> Precision:
        """Compare the maps of a kind with those of float64."""
        parts: list[Precision] = []
        for batch in extract(encoder, sentences, kind=kind, log=ExtractionLog()):
            float64_maps = batch.exact(range(len(batch)))
            for index, ((_, float32_map), float64_map) in enumerate(zip(batch.unpadded(), float64_maps, strict=True)):
                words = np.flatnonzero(batch.words[index].numpy())
                if len(words) < 2:
                    continue
                rounded = float32_map.astype(float)[..., words[:, None], words]
                exact = float64_map.numpy()[..., words[:, None], words]
                if not (np.isfinite(rounded).all() and np.isfinite(exact).all()):
                    raise ModelError("its maps are NaN or infinite")
                parts += [_compare(rounded, exact, axis, batch.noise) for axis in (-1, -2)]
        counts = {name: sum(getattr(part, name) for part in parts) for name in ("decisions", "remade", "differing")}
        return cls(error=max((part.error for part in parts), default=0.0), **counts)


def _compare(rounded: np.ndarray, exact: np.ndarray, axis: int, noise: float) -> Precision:
    """Compare the decisions between the words of a sentence along one axis of its maps."""
    is_other = ~np.eye(exact.shape[-1], dtype=bool)  # the diagonal is a word with itself
    is_large = is_other & (exact > 0) & (exact >= (exact * is_other).max(axis, keepdims=True) / 2)
    error = (np.abs(rounded - exact)[is_large] / exact[is_large]).max(initial=0)
    right = np.where(is_other, exact, -np.inf).argmax(axis, keepdims=True)
    candidates = np.where(is_other, rounded, -np.inf)
    largest = candidates.max(axis, keepdims=True)
    wrong = candidates.argmax(axis, keepdims=True) != right
    # In float32 the right word is behind by this much. What is more than noise is not computed again.
    behind = largest - np.take_along_axis(candidates, right, axis)
    unnoticed = behind > noise * np.abs(largest)
    return Precision(float(error), right.size, int((wrong & ~unnoticed).sum()), int(unnoticed.sum()))
