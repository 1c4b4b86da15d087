"""Comparisons of the kinds of maps of one run."""

from __future__ import annotations

from collections.abc import Sequence

from attentionology.analyses.comparison.results import Comparison, Contrast, Side, contrasts_of
from attentionology.engine.run import Part


def contrasts_of_kinds(parts: Sequence[Part], name: str, *, min_count: int) -> Comparison | None:
    """Compare every kind of map with the first one, for each analysis that has statistics to compare.

    All kinds are made of the same inputs, so the intervals are paired.

    Args:
        parts: the results of a run.
        name: the name of the run.
        min_count: groups with fewer decisions are listed, but not tested.

    Returns:
        the comparison, of every other kind minus the first; None if there is nothing to compare.
    """
    contrasts: list[Contrast] = []
    for analysis in dict.fromkeys(part.analysis.name for part in parts):
        of_analysis = [part for part in parts if part.analysis.name == analysis and part.kind is not None]
        if len(of_analysis) < 2:
            continue
        (first, baseline), *others = [(part, part.analysis.comparable(part.counted)) for part in of_analysis]
        for part, families in others:
            sides = tuple(Side(name, str(one.kind), str(one.kind)) for one in (part, first))
            contrasts += contrasts_of(analysis, families, baseline, (sides[0], sides[1]), "paired", min_count=min_count)
    if not contrasts:
        return None
    kinds = list(dict.fromkeys(contrast.first.name for contrast in contrasts))
    note = (
        f"Maps of the kind {' and '.join(kinds)} are compared with maps of the kind {contrasts[0].second.name}. All are "
        "made of the same inputs, so the intervals are paired."
    )
    return Comparison(tuple(contrasts), min_count, (note,))
