"""The errors of optional requests that failed, as plain data and back."""

from __future__ import annotations

from ..corpora_loaders.errors import AttentionologyError
from ..extractors import ExtractionError, ModelError

_CLASSES: dict[str, type[AttentionologyError]] = {kind.__name__: kind for kind in (ExtractionError, ModelError)}


def plain_failure(error: Exception) -> tuple[str, str]:
    """Return the name of the class of an error, and its message."""
    return type(error).__name__, str(error)


def restored_failure(name: str, message: str) -> Exception:
    """Return the error that `plain_failure` has made plain."""
    return _CLASSES.get(name, AttentionologyError)(message)
