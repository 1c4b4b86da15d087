"""What surface analyses ask of maps: the right shape, and rows that are distributions."""

from __future__ import annotations

from attentionology.extractors import MapBatch

_TOLERANCE = 1e-3

DISTANCE_SMOOTHING = 1e-3
"""What the published code mixes into each row before it compares heads: (1 − s) α + s / n."""


def check_shape(batch: MapBatch, n_layers: int, n_heads: int) -> None:
    """Refuse maps of another model.

    Raises:
        ValueError: another number of layers or heads.
    """
    layers, heads = batch.maps.shape[1:3]
    if (layers, heads) != (n_layers, n_heads):
        raise ValueError(f"maps of {layers} layers × {heads} heads, where {n_layers} × {n_heads} were expected")


def check_rows(off: float) -> None:
    """Refuse rows whose sum is off 1 by too much.

    Raises:
        ValueError: they do not sum to 1.
    """
    if not off <= _TOLERANCE:
        raise ValueError(f"rows sum to 1 only within {off:.2g}; extract the maps with normalize='row'")
