"""The analyses by name: those of the toolkit, and those that other packages add as entry points."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from attentionology.analyses.contract import Analysis, OptionError

ENTRY_POINTS = "attentionology.analyses"
"""The group of entry points under which another package names its subclasses of `Analysis`."""

_ANALYSES = {
    "dependency": "attentionology.analyses.dependency.analysis:Dependency",
    "surface": "attentionology.analyses.surface.analysis:Surface",
    "clusters": "attentionology.analyses.clusters.analysis:Clusters",
    "norms": "attentionology.analyses.norms.analysis:Norms",
    "coreference": "attentionology.analyses.coreference.analysis:Coreference",
}
"""In the order of the report; an analysis stands after those whose results it needs."""


@functools.cache
def registered_analyses() -> dict[str, Analysis[Any, Any]]:
    """All analyses by name, in the order in which a run does them.

    Raises:
        ValueError: two analyses have one name, or an analysis needs one that comes after it.
    """
    found: dict[str, Analysis[Any, Any]] = {}
    places = [*_ANALYSES.values(), *(point.value for point in entry_points(group=ENTRY_POINTS))]
    for place in places:
        module, _, name = place.partition(":")
        analysis: Analysis[Any, Any] = getattr(import_module(module), name)()
        if analysis.name in found:
            raise ValueError(f"two analyses are called {analysis.name!r}: {place} is the second one")
        if late := [needed for needed in analysis.needs if needed not in found]:
            raise ValueError(f"the analysis {analysis.name!r} needs {late[0]!r}, which does not come before it")
        found[analysis.name] = analysis
    return found


def choose_analyses(names: Sequence[str]) -> list[Analysis[Any, Any]]:
    """The analyses of these names, in the order of `registered_analyses`.

    Raises:
        OptionError: a name is unknown or given twice.
    """
    known = registered_analyses()
    if unknown := next((name for name in names if name not in known), None):
        raise OptionError(f"unknown analysis {unknown!r}; choose from: {', '.join(known)}")
    if len(set(names)) < len(names):
        raise OptionError("an analysis is named twice")
    return [analysis for name, analysis in known.items() if name in names]
