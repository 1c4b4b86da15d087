"""From scores of candidate heads to one head per word."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from attentionology.corpora_loaders import AttentionologyError

Decoding = Literal["argmax", "tree"]


class DecodingError(AttentionologyError, ImportError):
    """The library that finds trees is not installed."""


def decode(scores: Float[ndarray, "words candidates"], decoding: Decoding) -> Int[ndarray, " words"]:
    """The head of every word: 1-based, 0 for the root.

    Args:
        scores: of the candidates of each word; candidate 0 is the root, candidate k word k.
        decoding: ``"argmax"``: the best candidate of each word, whatever the others have (the word itself is one of
            them; of equals the first). ``"tree"``: the maximum spanning tree with exactly one root, by the algorithm of
            Chu & Liu (1965) and Edmonds (1967).

    Raises:
        ValueError: an unknown decoding.
        DecodingError: a tree was asked for, and ``ufal.chu_liu_edmonds`` is not installed.
    """
    if decoding == "argmax":
        best: Int[ndarray, " words"] = scores.argmax(1)
        return best
    if decoding != "tree":
        raise ValueError(f"decoding must be 'argmax' or 'tree', not {decoding!r}")
    try:
        # The library is optional, and compiled without stubs.
        from ufal.chu_liu_edmonds import chu_liu_edmonds  # pyright: ignore[reportAttributeAccessIssue, reportMissingImports]
    except ImportError:
        raise DecodingError("trees need the library ufal.chu_liu_edmonds: pip install 'attentionology[tree]'") from None
    n = len(scores)
    square = np.full((n + 1, n + 1), np.nan)  # no edge into the root, none from a word to itself
    square[1:] = scores
    np.fill_diagonal(square, np.nan)
    # So costly that a second root never pays.
    square[1:, 0] -= (n + 1) * (np.ptp(scores.astype(np.float64)) + 1)
    heads, _ = chu_liu_edmonds(square)
    return np.array(heads[1:], dtype=np.int64)
