"""The probes by name: those of the toolkit, and those that a program or another package adds.

Within a program, `register_probe` adds a probe. A package names its probes as entry points of the group
``attentionology.probes``; the command then knows them as well::

    [project.entry-points."attentionology.probes"]
    mine = "my_package.my_module:MyProbe"
"""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from ..corpora_loaders import WordVectors
from ..storage.nearest import UnknownNameError, unknown
from ..storage.plugins import GROUPS, Plugins, RegistryError, checked
from .probe import Probe
from .syntax_probes import AttentionProbe, AttentionWordsProbe, WordsDistancesProbe

ENTRY_POINTS = GROUPS["probe"]
"""The group of entry points under which another package names its subclasses of `Probe`."""

ProbeRegistryError = RegistryError
"""The error of a probe that cannot be registered, or cannot be loaded."""

Registered = TypeVar("Registered", bound=type[Probe])

BUILTIN: dict[str, type[Probe]] = {
    probe.name: probe for probe in (AttentionProbe, AttentionWordsProbe, WordsDistancesProbe)
}
"""The probes of the toolkit, in the order of tables."""

_registered: dict[str, type[Probe]] = {}
_PLUGINS = Plugins("probe", lambda: BUILTIN)


def register_probe(probe: Registered) -> Registered:
    """Class decorator that adds a probe to those that the options of probing choose from.

    Raises:
        ProbeRegistryError: the class is not a `Probe`, or its name is taken or cannot be written on the command line.

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
    checked(_PLUGINS.what, probe, Probe, f"{getattr(probe, '__module__', '')}.{getattr(probe, '__qualname__', probe)}")
    if probe.name in registered_probes():
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
    """Return all probes by name: those of the toolkit, of other packages, and of the running program, in this order.

    Raises:
        ProbeRegistryError: an entry point does not name a probe, or two probes have the same name.

    Example:
        >>> from attentionology.probes import registered_probes
        >>> registered_probes()["attention"].__name__
        'AttentionProbe'
    """
    return {**BUILTIN, **_from_packages(), **_registered}


def list_probes() -> list[str]:
    """Return the names of all probes, in the order of tables.

    Example:
        >>> from attentionology.probes import list_probes
        >>> list_probes()[:3]
        ['attention', 'attention+words', 'words+distances']
    """
    return list(registered_probes())


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
        raise UnknownNameError(unknown(_PLUGINS.what, name, known))
    # The constructor of a subclass may take arguments that the base class does not have.
    kind: Any = known[name]
    if kind.reads_words and vectors is None:
        raise ValueError(f"the probe {name!r} needs word vectors")
    probe: Probe = kind(vectors, **arguments) if kind.reads_words else kind(**arguments)
    return probe


@functools.cache
def _from_packages() -> dict[str, type[Probe]]:
    """Return the probes that other packages name, in the order of the names of their entry points."""
    probes: dict[str, type[Probe]] = {}
    for probe, point in _PLUGINS.classes(Probe):
        if probe.name in {**BUILTIN, **probes}:
            raise ProbeRegistryError(f"the name {probe.name!r} of the probe {point.value} is taken")
        probes[probe.name] = probe
    return probes
