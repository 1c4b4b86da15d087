"""Names of a package that are loaded when they are first used, so that the package is imported fast (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any


class LazyNames:
    """The public names of a package, each loaded from its module when it is first used.

    The package assigns the methods: ``__getattr__, __dir__ = _NAMES.load, _NAMES.listed``. It does so where type
    checkers do not look, and imports the same names where only they look, so that they know each name and its type.

    Args:
        package: the name of the package.
        names: the names by their modules, which are relative to the package.

    Attributes:
        modules: the full name of the module of each name.

    Example:
        >>> from attentionology.storage.lazy_names import LazyNames
        >>> names = LazyNames("attentionology", {"corpora_loaders.sentence": ["Sentence"]})
        >>> names.load("Sentence")("a", ("Cats", "sleep", "."))
        Sentence('a', 'Cats sleep .', 3 words)
    """

    def __init__(self, package: str, names: Mapping[str, Sequence[str]]) -> None:
        self.package = package
        self.modules = {name: f"{package}.{module}" for module, of_module in names.items() for name in of_module}

    def load(self, name: str) -> Any:
        """Load a name, and keep it in the package, so that it is loaded once.

        Raises:
            AttributeError: the package has no such name.
        """
        if name not in self.modules:
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}")
        value = getattr(import_module(self.modules[name]), name)
        vars(sys.modules[self.package])[name] = value
        return value

    def listed(self) -> list[str]:
        """List the names of the package, those that have not been loaded included."""
        return sorted({*vars(sys.modules[self.package]), *self.modules})
