"""The maker of the chosen maps, and phrases that describe these maps to a reader."""

from __future__ import annotations

from attentionology.analyses.contract import MapChoice, Setting
from attentionology.extractors import MapMaker, get_kind
from attentionology.extractors.maps.map_batch import Level


def map_maker(maps: MapChoice, level: Level = "word") -> MapMaker:
    """Return the maker of the chosen maps.

    Raises:
        ValueError: the kind is unknown, or vectors are to be merged and the kind has none.
    """
    return MapMaker(get_kind(maps.kind), level, maps.merge, maps.normalize, maps.ff_bias)  # type: ignore[arg-type]


def map_facts(setting: Setting, *, per_head: bool, words: bool = True) -> tuple[str, ...]:
    """Describe the maps, one phrase for each choice that is not the usual one.

    Args:
        setting: the setting of the run.
        per_head: whether every head has a map of its own.
        words: whether pieces were merged into words.
    """
    maps = setting.maps
    kind = get_kind(maps.kind)
    facts = [f"map “{maps.kind}”: {kind.description}"]
    if not per_head:
        facts.append("one map for all heads of a layer, shown as head 1")
    if kind.vectors and words:
        facts.append("words from pieces by " + {"norm": "adding norms", "vector": "adding vectors"}[maps.merge])
    if maps.normalize == "row":
        facts.append("rows divided by their sums")
    if maps.kind.removeprefix("rollout:").startswith("atbff"):
        facts.append(f"feed-forward bias: {maps.ff_bias}")
    return tuple(facts)
