"""The analyses by name: those of the toolkit, and those that other packages add as entry points.

The command line needs only the row of an analysis, so its class is imported when it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from ..storage.nearest import describe_unknown
from ..storage.plugins import GROUPS, Plugins, RegistryError, check_class, locate_class, source_of
from .ablation.options import ABLATION
from .clusters.options import CLUSTERS
from .contract import Analysis, AnalysisRow, OptionError
from .coreference.options import COREFERENCE
from .dependency.options import DEPENDENCY
from .norms.options import NORMS
from .pairs.options import PAIRS
from .surface.options import SURFACE

ENTRY_POINTS = GROUPS["analysis"]
"""The group of entry points under which another package names its subclasses of `Analysis`."""

_ROWS = (DEPENDENCY, SURFACE, CLUSTERS, NORMS, COREFERENCE, ABLATION, PAIRS)
"""The analyses of ``analyze``, in the order of the report. An analysis comes after those whose results it needs."""

_PLUGINS = Plugins("analysis", lambda: [row.name for row in _ROWS])

_OF_COMMANDS = {
    "alignment": "attentionology.analyses.alignment.analysis:Alignment",
    "explanation": "attentionology.analyses.explanation.analysis:ExplanationTests",
    "probe": "attentionology.analyses.probing.analysis:Probing",
}
"""The class of each analysis that has a command of its own, because it reads other corpora or other models."""

_LENT: dict[str, Analysis[Any, Any]] = {}
"""The analyses that `lend` adds, by their locations."""


@functools.cache
def registered_analyses() -> dict[str, AnalysisRow]:
    """Return the rows of the analyses of ``analyze`` by name, in the order in which a run does them."""
    rows: dict[str, AnalysisRow] = {}
    sources: dict[str, str] = {}
    of_toolkit = [(row, "attentionology") for row in _ROWS]
    base: Any = Analysis  # type checkers want a class without abstract methods
    of_plugins = [(_row_of(class_(), point.value), source_of(point)) for class_, point in _PLUGINS.classes(base)]
    of_program = [(_row_of(analysis, location), location) for location, analysis in _LENT.items()]
    for row, source in [*of_toolkit, *of_plugins, *of_program]:
        if row.name in rows:
            raise RegistryError(
                f"two analyses are called {row.name!r}: that of {sources[row.name]} and that of {source}"
            )
        if missing := [needed for needed in row.needs if needed not in rows]:
            raise RegistryError(
                f"the analysis {row.name!r} of {source} needs {missing[0]!r}, which does not come before it; the "
                f"analyses before it are: {', '.join(rows)}"
            )
        rows[row.name], sources[row.name] = row, source
    return rows


def list_analyses() -> list[str]:
    """The names of the analyses that `attentionology.analyze` chooses from, in the order of the report.

    Example:
        >>> from attentionology import list_analyses
        >>> list_analyses()[:5]
        ['dependency', 'surface', 'clusters', 'norms', 'coreference']
    """
    return list(registered_analyses())


def find_analysis(name: str) -> Analysis[Any, Any] | None:
    """Return the analysis of this name, among those of ``analyze`` and of other commands; None if there is none."""
    if name in _OF_COMMANDS:
        return load_analysis(_OF_COMMANDS[name])
    row = registered_analyses().get(name)
    return None if row is None else load_analysis(row.location)


@functools.cache
def load_analysis(location: str) -> Analysis[Any, Any]:
    """Import the class at ``module:Class``, and return the analysis."""
    analysis: Analysis[Any, Any] = _LENT[location] if location in _LENT else locate_class(location)()
    return analysis


@contextmanager
def lend(kind: type[Analysis[Any, Any]]) -> Iterator[AnalysisRow]:
    """Let a class of this program be an analysis like any other while the block runs, and yield its row.

    Nothing is added for a class that the toolkit or a package has registered.

    Raises:
        RegistryError: the class is no complete analysis, or its name is taken.
    """
    location = f"{kind.__module__}:{kind.__qualname__}" if isinstance(kind, type) else repr(kind)
    base: Any = Analysis  # type checkers want a class without abstract methods
    analysis: Analysis[Any, Any] = check_class(_PLUGINS.what, kind, base, location)()
    if analysis.name in _OF_COMMANDS:
        raise RegistryError(f"the analysis {analysis.name!r} is none of analyze: it has a command of its own")
    registered = find_analysis(analysis.name)
    if registered is None or type(registered) is not kind:
        _LENT[location] = analysis
    try:
        _forget()
        yield registered_analyses()[analysis.name]
    finally:
        _LENT.pop(location, None)
        _forget()


def _forget() -> None:
    """Forget the rows and analyses that were looked up."""
    registered_analyses.cache_clear()
    load_analysis.cache_clear()


def _row_of(analysis: Analysis[Any, Any], location: str) -> AnalysisRow:
    """Check the options of an analysis of another package, and return what it says of itself."""
    for group in analysis.options:
        if not (isinstance(group, type) and is_dataclass(group) and callable(getattr(group, "check", None))):
            raise RegistryError(
                f"{group!r}, among the options of the analysis {analysis.name!r}, is not a dataclass with a method "
                "check"
            )
    names = [field.name for field in fields(AnalysisRow) if field.name != "location"]
    return AnalysisRow(**{name: getattr(analysis, name) for name in names}, location=location)


def choose_analyses(names: Sequence[str]) -> list[AnalysisRow]:
    """Return the rows of the analyses with these names, in the order of `registered_analyses`."""
    registered = registered_analyses()
    if wrong := next((name for name in names if name not in registered), None):
        raise OptionError(describe_unknown(_PLUGINS.what, wrong, registered))
    if len(set(names)) < len(names):
        raise OptionError("an analysis is named twice")
    return [row for name, row in registered.items() if name in names]
