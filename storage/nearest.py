"""The names that are nearest to an unknown one, for messages. Every room has names, so this is in the lowest one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return the end of a message, as in ``; did you mean 'weight'?``, with the nearest names; empty if none is."""
    by_folded = {each.casefold(): each for each in known}
    near = [by_folded[each] for each in difflib.get_close_matches(str(name).casefold(), by_folded, most)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
