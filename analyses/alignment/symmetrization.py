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
    """Put the links of both directions together by one of the methods."""
    # forward, reverse: which words are linked; shape (…, source words, target words).
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
    links: set[tuple[int, int]] = {(int(i), int(j)) for i, j in np.argwhere(forward & reverse)}
    candidates = {(int(i), int(j)): None for i, j in np.argwhere(forward | reverse)}  # in order
    sources, targets = {i for i, _ in links}, {j for _, j in links}

    def add(link: tuple[int, int]) -> bool:
        """Add a link if one of its words has none, and return whether it was added."""
        if link in links or (link[0] in sources and link[1] in targets):
            return False
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])
        return True

    grows = True
    while grows:
        grows = False
        for i, j in candidates:
            if (i, j) not in links:
                continue
            for step_i, step_j in _NEIGHBORS:
                neighbor = (i + step_i, j + step_j)
                if neighbor in candidates and add(neighbor):
                    grows = True
    if final:
        for direction in (forward, reverse):
            for i, j in np.argwhere(direction):
                add((int(i), int(j)))
    table = np.zeros_like(forward)
    for i, j in links:
        table[i, j] = True
    return table
