"""What attention heads pick among the words of an input, as a kind of word.

Float32 decides first. An input is decided again in float64 where words of different kinds are too close to each other;
which of several words of one kind is picked has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Int

from ...extractors import DIRECTIONS, MapBatch

READINGS = (*DIRECTIONS, "both")
"""How a map may be read: in either of the `DIRECTIONS`, or as the sum of both, α_ij + α_ji, in which a causal head can
show any pair of words."""

Kinds = npt.NDArray[np.int8]  # the number of a kind: how a candidate is related to the word that picks


def read_in(maps: Any, readings: int) -> Iterator[Any]:
    """Yield maps (…, n, n) in two readings, as they are and transposed, or in three, with the sum of both."""
    turned = maps.swapaxes(-1, -2)
    yield from (maps, turned) if readings == len(DIRECTIONS) else (maps, turned, maps + turned)


def picked_kinds(
    batch: MapBatch,
    row: int,
    places: Int[np.ndarray, " n"],
    number: Int[np.ndarray, " words"],
    related: Int[np.ndarray, "words n"],
    barred: Bool[np.ndarray, "words n"],
    settled: Bool[np.ndarray, "words readings layers heads"],
) -> Int[np.ndarray, "words readings layers heads"]:
    """Return the kind of the most attended candidate of some words of an input, the first one of equals."""
    # row: the index of the input in the batch. places: the positions of its words in the map.
    # number: the words that pick, as indices into `places`.
    # related, barred: the kind of each word as a pick, and whether it cannot be picked.
    # settled: which decisions are made by other means, so that their results here are of no use.
    readings = settled.shape[1]
    cells = places[number][:, None], places
    kinds, in_doubt = _kinds(batch.maps[row].cpu().numpy(), cells, related, barred, batch.noise, readings)
    in_doubt &= ~settled
    if in_doubt.any():
        # Only the layers up to the last one with a doubt are computed again; axes: word, reading, layer, head.
        n_layers = int(np.flatnonzero(in_doubt.any((0, 1, 3)))[-1]) + 1
        exact = batch.exact([row], n_layers)[0].cpu().numpy()[:n_layers]
        kinds[:, :, :n_layers] = _kinds(exact, cells, related, barred, 0.0, readings)[0]
    return kinds


def _kinds(
    maps: npt.NDArray[np.floating],
    cells: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    kind_of_candidate: Kinds,  # word, candidate
    barred: npt.NDArray[np.bool_],  # word, candidate
    noise: float,
    n_readings: int,
) -> tuple[Kinds, npt.NDArray[np.bool_]]:
    """Return the kind of the candidate that each word picks in each reading, and whether rounding may decide it."""
    kinds = np.empty((len(kind_of_candidate), n_readings, *maps.shape[:2]), dtype=np.int8)  # word, reading, layer, head
    in_doubt = np.empty(kinds.shape, dtype=bool)
    for layer, layer_maps in enumerate(maps):  # the arrays of one layer at a time take little memory
        for reading, view in enumerate(read_in(layer_maps, n_readings)):
            values = np.where(barred, -np.inf, view[:, *cells])  # head, word, candidate
            largest = values.max(-1, keepdims=True)
            kinds_by_head = np.broadcast_to(kind_of_candidate, values.shape)
            picked = np.take_along_axis(kinds_by_head, values.argmax(-1)[..., None], -1)  # head, word, 1
            # Values that are 0 are equal whatever the rounding, and those of the barred are no values.
            close = (values >= largest - noise * np.abs(largest)) & np.isfinite(largest) & (largest != 0)
            kinds[:, reading, layer] = picked[..., 0].T
            in_doubt[:, reading, layer] = (close & (kinds_by_head != picked)).any(-1).T
    return kinds, in_doubt
