"""What a command says when it is asked for something it does not have."""

from __future__ import annotations


class UsageError(ValueError):
    """An option with a value that cannot be; the command exits with 2."""
