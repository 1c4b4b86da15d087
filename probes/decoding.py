"""From scores of candidate heads to one head per word."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from ..corpora_loaders import AttentionologyError

Decoding = Literal["argmax", "tree"]
"""Whether each word gets its best head, or all words of a sentence the best tree."""


class DecodingError(AttentionologyError, ImportError):
    """The library that finds trees is not installed."""


def decode(scores: Float[ndarray, "words candidates"], decoding: Decoding) -> Int[ndarray, " words"]:
    """The head of every word: 1-based, 0 for the root.

    Args:
        scores: the score of every candidate for every word; candidate 0 is the root, candidate k is word k.
        decoding: ``"argmax"`` takes the best candidate of each word alone, which may be the word itself; of equal
            candidates it takes the first. ``"tree"`` finds the maximum spanning tree with exactly one root by the
            algorithm of Chu & Liu (1965) and Edmonds (1967).

    Raises:
        ValueError: the decoding is unknown.
        DecodingError: a tree was asked for, and ``ufal.chu_liu_edmonds`` is not installed.

    Example:
        >>> import numpy as np
        >>> from attentionology.probes import decode
        >>> scores = np.array([[1, 0, 5], [2, 5, 0]], dtype=np.float32)
        >>> decode(scores, "argmax").tolist()  # each word wants the other one
        [2, 1]
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
    square = np.full((n + 1, n + 1), np.nan)  # there is no edge into the root, and none from a word to itself
    square[1:] = scores
    np.fill_diagonal(square, np.nan)
    # A root is so costly that a second one never pays.
    square[1:, 0] -= (n + 1) * (np.ptp(scores.astype(np.float64)) + 1)
    heads, _ = chu_liu_edmonds(square)
    return np.array(heads[1:], dtype=np.int64)
