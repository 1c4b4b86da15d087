"""The largest number of decisions whose bootstrap counts are exact."""

from __future__ import annotations

from collections.abc import Mapping

from ...corpora_loaders import AttentionologyError

MOST_DECISIONS = 2**30
"""The largest number of decisions of one group if there are bootstrap replicates. A replicate draws about as many
decisions as there are, and int32 holds numbers up to twice this number."""

TOO_LARGE = 2**31  # the smallest number that int32 does not hold


class TooManyDecisionsError(AttentionologyError, OverflowError):
    """A group has more decisions than the bootstrap can count exactly."""


def check_limit(decisions: Mapping[str, int], replicates: int) -> None:
    """Check that the bootstrap can count the decisions of each group exactly."""
    if not replicates or not decisions:
        return
    group = max(decisions, key=lambda name: decisions[name])
    if decisions[group] > MOST_DECISIONS:
        raise TooManyDecisionsError(
            f"there are {decisions[group]:,} decisions of the group {group!r}, and with bootstrap replicates no more "
            f"than {MOST_DECISIONS:,} of one group are counted exactly; use --replicates 0, or less text"
        )
