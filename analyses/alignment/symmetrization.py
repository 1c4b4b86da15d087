"""Putting the links of both directions together (Och & Ney 2003; Koehn et al. 2003; Koehn et al. 2005).

A model links each target word to one source word, and in the other direction each source word to one target word. The
links that both directions have are few and mostly right; those that either has are many and often wrong. The methods
between the two start with the intersection and grow into the union.

* **grow-diag**: a link of the union is added if it is beside a link that is in, also diagonally, and one of its two
  words has no link yet. The links that are in are visited by source word, then by target word, and those that have just
  been added are visited, too. This is repeated until nothing is added.
* **grow-diag-final**: then links of the forward direction, and after them those of the reverse direction, are added if
  one of their two words has no link yet, by source word, then by target word.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...storage.nearest import UnknownNameError, unknown

Booleans = npt.NDArray[np.bool_]

_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrized(forward: Booleans, reverse: Booleans, method: str) -> Booleans:
    """Put tables of links of both directions together by a method; shape (…, source words, target words)."""
    if method == "intersection":
        return forward & reverse
    if method == "union":
        return forward | reverse
    known = ("intersection", "union", "grow-diag", "grow-diag-final")
    if method not in known:
        raise UnknownNameError(unknown("symmetrization", method, known))
    result = np.zeros_like(forward)
    for index in np.ndindex(forward.shape[:-2]):
        result[index] = _grown(forward[index], reverse[index], final=method == "grow-diag-final")
    return result


def _grown(forward: Booleans, reverse: Booleans, *, final: bool) -> Booleans:
    """Grow the intersection of the tables of one pair into the union by grow-diag or, if final, grow-diag-final."""
    links = forward & reverse
    union = list(map(tuple, np.argwhere(forward | reverse).tolist()))  # by source word, then by target word
    candidates = set(union)  # the same, to look up a link at once
    source_is_linked, target_is_linked = np.asarray(links.any(1)), np.asarray(links.any(0))

    def add(source: int, target: int) -> bool:
        """Add a link if one of its words has none, and return whether it was added."""
        if source_is_linked[source] and target_is_linked[target]:
            return False
        links[source, target] = source_is_linked[source] = target_is_linked[target] = True
        return True

    grows = True
    while grows:
        grows = False
        for source, target in union:
            if links[source, target]:
                for source_step, target_step in _NEIGHBORS:
                    neighbor = (source + source_step, target + target_step)
                    if neighbor in candidates and add(*neighbor):
                        grows = True
    if final:
        for direction in (forward, reverse):
            for source, target in np.argwhere(direction):
                add(source, target)
    return links
