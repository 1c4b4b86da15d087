"""The facts that the results of the analyses ``surface`` and ``clusters`` need from their shared plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..shared.map_facts import MapFacts
from ..shared.merged_facts import merges_by


@dataclass(frozen=True)
class ReadingFacts:
    """What the results of both analyses need to know about how the maps are read."""

    request: str  # the name of the request for the surface statistics
    level: str  # `"token"` or `"word"`
    specials: Mapping[str, str]  # the model's names of its first and last special tokens
    maps: MapFacts
    seed: int
    notes: tuple[str, ...] = merges_by("union")  # sentences about how the maps were treated
