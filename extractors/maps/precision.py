"""What the rounding of float32 does to maps of a kind, and to the decisions that are made on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...corpora_loaders import Sentence
from ..errors import ModelError
from ..model.encoder import Encoder
from .batching import ExtractionLog
from .extraction import extract


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
        found = f"float32 is off by at most {self.error:.1e} of a value"
        found += f"; {self.differing:,} of {self.decisions:,} decisions differ from float64"
        return found + (f", and {self.remade:,} that are close are made again in float64" if self.remade else "")

    @classmethod
    def of(cls, encoder: Encoder, sentences: Sequence[Sentence], kind: str) -> Precision:
        """Compare the maps of a kind with those of float64."""
        off, decisions, remade, differing = 0.0, 0, 0, 0
        for batch in extract(encoder, sentences, kind=kind, log=ExtractionLog()):
            doubled = batch.exact(range(len(batch)))
            for row, ((_, single), double) in enumerate(zip(batch.unpadded(), doubled, strict=True)):
                words = np.flatnonzero(batch.words[row].numpy())
                if len(words) < 2:
                    continue
                others = ~np.eye(len(words), dtype=bool)
                rounded, exact = (maps[..., words[:, None], words] for maps in (single.astype(float), double.numpy()))
                if not (np.isfinite(rounded).all() and np.isfinite(exact).all()):
                    raise ModelError("its maps are NaN or infinite")
                for axis in (-1, -2):
                    compared = others & (exact > 0) & (exact >= (exact * others).max(axis, keepdims=True) / 2)
                    off = max(off, float((np.abs(rounded - exact)[compared] / exact[compared]).max(initial=0)))
                    right = np.where(others, exact, -np.inf).argmax(axis, keepdims=True)
                    candidates = np.where(others, rounded, -np.inf)
                    largest = candidates.max(axis, keepdims=True)
                    lost = largest - np.take_along_axis(candidates, right, axis)
                    decisions += right.size
                    wrong = candidates.argmax(axis, keepdims=True) != right
                    unnoticed = lost > batch.noise * np.abs(largest)
                    remade += int((wrong & ~unnoticed).sum())
                    differing += int(unnoticed.sum())
        return cls(off, decisions, remade, differing)
