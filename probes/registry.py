"""The probes by name: those of the toolkit, and those that a program or another package adds.

Within a program, `register_probe` adds a probe. A package names its probes as entry points of the group
``attentionology.probes``; the command then knows them as well::

    [project.entry-points."attentionology.probes"]
    mine = "my_package.my_module:MyProbe"
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar

from ..corpora_loaders import WordVectors
from ..storage.nearest import UnknownNameError, describe_unknown
from ..storage.plugins import GROUPS, Plugins, RegistryError, check_class
from .probe import Probe
from .states.arcs import ArcAttentionProbe, ArcProbe
from .states.depth import DepthProbe
from .states.distance import DistanceProbe
from .states.label import LabelProbe, RelationProbe
from .states.probe import StateProbe
from .syntax_probes import AttentionProbe, AttentionWordsProbe, WordsDistancesProbe

ENTRY_POINTS = GROUPS["probe"]
"""The group of entry points under which another package names its subclasses of `Probe`."""

RANDOM = ", random weights"
"""What is appended to the name of a probe that is trained on copies of the model with random weights."""

ProbeRegistryError = RegistryError
"""The error of a probe that cannot be registered, or cannot be loaded."""

Registered = TypeVar("Registered", bound=type[Probe] | type[StateProbe])

BUILTIN: dict[str, type[Probe]] = {
    probe.name: probe for probe in (AttentionProbe, AttentionWordsProbe, WordsDistancesProbe)
}
"""The probes of maps of the toolkit, in the order of tables."""

OF_STATES: dict[str, type[StateProbe]] = {
    probe.name: probe for probe in (ArcProbe, ArcAttentionProbe, DistanceProbe, DepthProbe, LabelProbe, RelationProbe)
}
"""The probes of hidden states of the toolkit, in the order of tables."""

_BASES: Any = (Probe, StateProbe)
_registered: dict[str, type[Probe] | type[StateProbe]] = {}
_PLUGINS = Plugins("probe", lambda: (*BUILTIN, *OF_STATES))


def register_probe(probe: Registered) -> Registered:
    """Class decorator that adds a probe to those that the options of probing choose from.

    Raises:
        ProbeRegistryError: the class is neither a `Probe` nor a `StateProbe`, or its name is taken or cannot be written
            on the command line.

    Example:
        >>> from attentionology.probes import AttentionProbe, list_probes, register_probe, unregister_probe
        >>> @register_probe
        ... class FrozenProbe(AttentionProbe):
        ...     name = "frozen"
        ...     meaning = "an attention probe with the name of another one"
        >>> "frozen" in list_probes()
        True
        >>> unregister_probe("frozen")
    """
    check_class(
        _PLUGINS.what, probe, _BASES, f"{getattr(probe, '__module__', '')}.{getattr(probe, '__qualname__', probe)}"
    )
    if probe.name in _all_probes():
        raise ProbeRegistryError(f"a probe {probe.name!r} is already registered")
    _registered[probe.name] = probe
    return probe


def unregister_probe(name: str) -> None:
    """Remove a probe that `register_probe` added; nothing happens if there is none of that name.

    Example:
        >>> from attentionology.probes import list_probes, unregister_probe
        >>> unregister_probe("no such probe")
        >>> list_probes()[0]
        'attention'
    """
    _registered.pop(name, None)


def registered_probes() -> dict[str, type[Probe]]:
    """Return all probes of maps by name: those of the toolkit, of other packages, and of the running program.

    Raises:
        ProbeRegistryError: an entry point does not name a probe, or two probes have the same name.

    Example:
        >>> from attentionology.probes import registered_probes
        >>> registered_probes()["attention"].__name__
        'AttentionProbe'
    """
    return {name: probe for name, probe in _all_probes().items() if issubclass(probe, Probe)}


def registered_state_probes() -> dict[str, type[StateProbe]]:
    """Return all probes of hidden states by name, in the order of `registered_probes`.

    Raises:
        ProbeRegistryError: as `registered_probes`.

    Example:
        >>> from attentionology.probes import registered_state_probes
        >>> list(registered_state_probes())[:4]
        ['arcs', 'arcs+attention', 'distance', 'depth']
    """
    return {name: probe for name, probe in _all_probes().items() if issubclass(probe, StateProbe)}


def list_probes() -> list[str]:
    """Return the names of all probes, in the order of tables: first those of maps, then those of hidden states.

    Example:
        >>> from attentionology.probes import list_probes
        >>> list_probes()[:3]
        ['attention', 'attention+words', 'words+distances']
    """
    return [*registered_probes(), *registered_state_probes()]


def make_probe(name: str, vectors: WordVectors | None = None, **arguments: Any) -> Probe:
    """Make a probe by its name, with vectors if it reads words.

    Args:
        name: one of `list_probes`.
        vectors: word vectors; a probe that does not read words ignores them.
        arguments: further arguments of its constructor.

    Raises:
        ValueError: the name is unknown, or vectors are missing.

    Example:
        >>> from attentionology.probes import TUNED, make_probe
        >>> make_probe("attention", recipe=TUNED, random_state=3).random_state
        3
    """
    known = registered_probes()
    if name not in known:
        raise UnknownNameError(describe_unknown(_PLUGINS.what, name, known))
    # The constructor of a subclass may take arguments that the base class does not have.
    kind: Any = known[name]
    if kind.reads_words and vectors is None:
        raise ValueError(f"the probe {name!r} needs word vectors")
    probe: Probe = kind(vectors, **arguments) if kind.reads_words else kind(**arguments)
    return probe


def make_state_probe(name: str, **arguments: Any) -> StateProbe:
    """Make a probe of hidden states by its name.

    Args:
        name: one of `registered_state_probes`; for a probe of labels with the key that it learns, as in
            ``label:upos``, ``label:feats:Number`` and ``relation:coarse``.
        arguments: arguments of its constructor; those that it does not have are left out.

    Raises:
        ValueError: the name is unknown, or the probe has no keys, or not this one.

    Example:
        >>> from attentionology.probes import make_state_probe
        >>> make_state_probe("label:feats:Number", rank=16, random_state=3).key
        'feats:Number'
    """
    known = registered_state_probes()
    family, _, key = name.partition(":")
    if family not in known:
        raise UnknownNameError(describe_unknown(_PLUGINS.what, name, list_probes()))
    kind: Any = known[family]
    if not kind.keyed and key:
        raise UnknownNameError(f"the probe {family!r} has no keys, so it cannot be {name!r}")
    taken = inspect.signature(kind).parameters
    probe: StateProbe = kind(**{each: value for each, value in arguments.items() if each in taken})
    if kind.keyed:
        probe.key = kind.key_of(key)
    return probe


def _all_probes() -> dict[str, type[Probe] | type[StateProbe]]:
    """Return all probes by name: those of the toolkit, of other packages, and of the running program, in this order."""
    return {**BUILTIN, **OF_STATES, **_from_packages(), **_registered}


@functools.cache
def _from_packages() -> dict[str, type[Probe] | type[StateProbe]]:
    """Return the probes that other packages name, in the order of the names of their entry points."""
    probes: dict[str, type[Probe] | type[StateProbe]] = {}
    for probe, point in _PLUGINS.classes(_BASES):
        if probe.name in {**BUILTIN, **OF_STATES, **probes}:
            raise ProbeRegistryError(f"the name {probe.name!r} of the probe {point.value} is taken")
        probes[probe.name] = probe
    return probes
