"""The analyses by name: those of the toolkit, and those that other packages add as entry points."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import is_dataclass
from importlib.metadata import EntryPoint
from typing import Any

from ..storage.nearest import did_you_mean
from ..storage.plugins import RegistryError, added, load_added, located, source_of
from .contract import Analysis, OptionError

ENTRY_POINTS = "attentionology.analyses"
"""The group of entry points under which another package names its subclasses of `Analysis`."""

_ANALYSES = {
    "dependency": "attentionology.analyses.dependency.analysis:Dependency",
    "surface": "attentionology.analyses.surface.analysis:Surface",
    "clusters": "attentionology.analyses.clusters.analysis:Clusters",
    "norms": "attentionology.analyses.norms.analysis:Norms",
    "coreference": "attentionology.analyses.coreference.analysis:Coreference",
}
"""The class of each analysis, in the order of the report. An analysis comes after those whose results it needs."""

_OF_COMMANDS = {
    "alignment": "attentionology.analyses.alignment.analysis:Alignment",
    "explanation": "attentionology.analyses.explanation.analysis:ExplanationTests",
    "probe": "attentionology.analyses.probing.analysis:Probing",
}
"""The class of each analysis that has a command of its own, because it reads other corpora or other models."""


@functools.cache
def registered_analyses() -> dict[str, Analysis[Any, Any]]:
    """Return all analyses by name, in the order in which a run does them.

    The analyses of other packages come after those of the toolkit, in the order of the names of their entry points.

    Raises:
        RegistryError: an entry point gives no analysis, two analyses have the same name, or an analysis needs one that
            does not come before it.

    Example:
        >>> list(registered_analyses())[:5]
        ['dependency', 'surface', 'clusters', 'norms', 'coreference']
    """
    analyses: dict[str, Analysis[Any, Any]] = {}
    sources: dict[str, str] = {}
    own = [(located(location)(), "attentionology") for location in _ANALYSES.values()]
    for analysis, source in [*own, *((_load(point), source_of(point)) for point in added(ENTRY_POINTS))]:
        if analysis.name in analyses:
            raise RegistryError(
                f"two analyses are called {analysis.name!r}: that of {sources[analysis.name]} and that of {source}"
            )
        if late := [needed for needed in analysis.needs if needed not in analyses]:
            raise RegistryError(
                f"the analysis {analysis.name!r} of {source} needs {late[0]!r}, which does not come before it; the "
                f"analyses before it are: {', '.join(analyses)}"
            )
        analyses[analysis.name], sources[analysis.name] = analysis, source
    return analyses


@functools.cache
def find_analysis(name: str) -> Analysis[Any, Any] | None:
    """Return the analysis of this name, among those of ``analyze`` and of other commands; None if there is none.

    Example:
        >>> find_analysis("alignment").name, find_analysis("astrology")
        ('alignment', None)
    """
    return located(_OF_COMMANDS[name])() if name in _OF_COMMANDS else registered_analyses().get(name)


def _load(point: EntryPoint) -> Analysis[Any, Any]:
    """Load the analysis that an entry point names, and check its options."""
    base: Any = Analysis  # type checkers want a class without abstract methods
    analysis: Analysis[Any, Any] = load_added("analysis", point, base)()
    for group in analysis.options:
        if not (isinstance(group, type) and is_dataclass(group) and callable(getattr(group, "check", None))):
            raise RegistryError(
                f"{group!r}, among the options of the analysis {analysis.name!r}, is not a dataclass with a method "
                "check"
            )
    return analysis


def choose_analyses(names: Sequence[str]) -> list[Analysis[Any, Any]]:
    """Return the analyses with these names, in the order of `registered_analyses`.

    Raises:
        OptionError: a name is unknown or given twice.

    Example:
        >>> [analysis.name for analysis in choose_analyses(["clusters", "dependency"])]
        ['dependency', 'clusters']
    """
    registered = registered_analyses()
    if unknown := next((name for name in names if name not in registered), None):
        near = did_you_mean(unknown, registered)
        raise OptionError(f"unknown analysis {unknown!r}; choose from: {', '.join(registered)}{near}")
    if len(set(names)) < len(names):
        raise OptionError("an analysis is named twice")
    return [analysis for name, analysis in registered.items() if name in names]
