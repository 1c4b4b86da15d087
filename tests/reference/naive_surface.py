"""Surface statistics, divergences and gradients as one would write them down: one input, head and token at a time."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

import numpy as np


def groups(special: Sequence[bool], forms: Sequence[str]) -> dict[str, list[int]]:
    """Positions of the classes of tokens."""
    words = [i for i, s in enumerate(special) if not s]
    first = [i for i, s in enumerate(special) if s and (not words or i < words[0])]
    marks = [i for i in words if forms[i] and all(unicodedata.category(c)[0] == "P" for c in forms[i])]
    return {
        "all": list(range(len(special))),
        "first": first,
        "last": [i for i, s in enumerate(special) if s and i not in first],
        "stops": [i for i in words if forms[i] in (".", ",")],
        "marks": marks,
        "other": [i for i in words if i not in marks],
    }


def statistics(
    alpha: np.ndarray, special: Sequence[bool], forms: Sequence[str], smoothing: float = 0.0, *, causal: bool = False
) -> dict[str, tuple[float, int]]:
    """Each statistic of one head and input as (sum over rows, number of rows).

    What rows lack to 1 goes to a learned sink, and entropies are those of the rest.
    """
    alpha = alpha.astype(np.float64)
    n = len(alpha)
    at = groups(special, forms)

    def share(rows: list[int], columns: list[int]) -> tuple[float, int]:
        return sum(float(alpha[i, j]) for i in rows for j in columns), len(rows)

    def offset(o: int) -> tuple[float, int]:
        rows = [i for i in range(n) if 0 <= i + o < n]
        return sum(float(alpha[i, i + o]) for i in rows), len(rows)

    def entropy(i: int) -> float:
        row = (1 - smoothing) * alpha[i] / sum(alpha[i]) + smoothing / n
        return -sum(float(p) * math.log(p) for p in row if p > 0)

    def without(name: str) -> list[int]:
        return [i for i in range(n) if i not in at[name]] if at[name] else []

    several = n > 1
    relative = {i: entropy(i) / np.log(i + 1 if causal else n) for i in range(n) if (i if causal else several)}
    relative_first = [relative[i] for i in at["first"] if i in relative]
    return {
        **{f"offset {o}": offset(o) for o in range(-5, 6)},
        "self": offset(0),
        "previous": offset(-1),
        "next": offset(1),
        "first_special": share(at["all"] if at["first"] else [], at["first"]),
        "last_special": share(at["all"] if at["last"] else [], at["last"]),
        "period_comma": share(at["all"], at["stops"]),
        "punctuation": share(at["all"], at["marks"]),
        "other": share(at["all"], at["other"]),
        "first_to_first": share(at["first"], at["first"]),
        "last_to_last": share(at["last"], at["last"]),
        "rest_to_first": share(without("first"), at["first"]),
        "rest_to_last": share(without("last"), at["last"]),
        "entropy": (sum(entropy(i) for i in range(n)), n),
        "entropy_relative": (sum(relative.values()), len(relative)),
        "entropy_first": (sum(entropy(i) for i in at["first"]), len(at["first"])),
        "entropy_first_relative": (sum(relative_first), len(relative_first)),
        "learned_sink": (sum(1 - sum(alpha[i]) for i in range(n)), n),
    }  # fmt: skip


def divergence(p: np.ndarray, q: np.ndarray, smoothing: float = 0.0) -> float:
    """Jensen-Shannon divergence of two maps, summed over rows."""
    total = 0.0
    n = p.shape[-1]
    for row_p, row_q in zip(p.astype(np.float64), q.astype(np.float64), strict=True):
        for a, b in zip(row_p, row_q, strict=True):
            a, b = ((1 - smoothing) * x + smoothing / n for x in (a, b))
            m = (a + b) / 2
            total += 0.5 * ((a * np.log(a / m) if a > 0 else 0.0) + (b * np.log(b / m) if b > 0 else 0.0))
    return total
