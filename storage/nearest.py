"""The names that are nearest to an unknown one, for messages. Every room has names, so this is in the lowest one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return the end of a message about an unknown name, which asks for the nearest names; empty if none is near.

    Args:
        name: the unknown name.
        known: the names that exist.
        most: the largest number of names to ask for.

    Example:
        >>> did_you_mean("Wieght", ["weight", "norm", "attn"])
        "; did you mean 'weight'?"
        >>> did_you_mean("colour", ["weight", "norm", "attn"])
        ''
    """
    by_folded = {each.casefold(): each for each in known}
    near = [by_folded[each] for each in difflib.get_close_matches(str(name).casefold(), by_folded, most)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
