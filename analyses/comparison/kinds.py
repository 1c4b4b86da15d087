"""Comparisons of the kinds of maps of one run."""

from __future__ import annotations

from collections.abc import Sequence

from ..shared.comparable import Comparable
from .results import Comparison, Contrast, Side, contrasts_of


def contrasts_of_kinds(
    families: Sequence[tuple[str, str, Sequence[Comparable]]], run: str, *, min_count: int
) -> Comparison | None:
    """Compare the first kind of map with every other one, for each analysis that has statistics to compare.

    All kinds are made of the same inputs, so the intervals are paired.

    Args:
        families: the statistics of each analysis for each kind of map: the name of the analysis, the kind, and what
            `attentionology.Analysis.comparable` returned.
        run: the name of the run.
        min_count: groups with fewer decisions are listed, but not tested.

    Returns:
        the comparison, of the first kind minus every other one; None if there is nothing to compare.
    """
    contrasts: list[Contrast] = []
    for analysis in dict.fromkeys(name for name, _, _ in families):
        by_kind = {kind: comparable for name, kind, comparable in families if name == analysis and comparable}
        first, *others = by_kind or ("",)
        for kind in others:
            sides = Side(run, first, first), Side(run, kind, kind)
            contrasts += contrasts_of(analysis, by_kind[first], by_kind[kind], sides, "paired", min_count=min_count)
    if not contrasts:
        return None
    kinds = list(dict.fromkeys(contrast.second.name for contrast in contrasts))
    note = (
        f"“{contrasts[0].first.name}” is compared with {' and '.join(f'“{kind}”' for kind in kinds)}. All maps are "
        "made of the same inputs, so the intervals are paired."
    )
    return Comparison(tuple(contrasts), min_count, (note,))
