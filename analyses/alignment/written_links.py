"""The links that ``align --write`` writes, which need a second reading of all sentence pairs.

Which series and which layer have the lowest error rate is known only when all pairs have been counted. The counts are
sums over pairs, so they cannot tell the links of any one pair, and to keep the links of every pair in every series,
layer and head until then would need memory in proportion to the corpus. The second reading makes the maps of one series
alone, and holds the links of one window of pairs at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...corpora_loaders import Sentence
from ...corpora_loaders.alignment import Link
from ...extractors import Merge
from ...extractors.maps.batching import WINDOW
from ..contract import Reader
from .hypotheses import LinkMaker
from .linked_pairs import links_of
from .results import LayerChoice


def chosen_links(
    pairs: Sequence[Sentence], choice: LayerChoice, merge: Merge, read: Reader
) -> Iterator[tuple[Link, ...]]:
    """Read all sentence pairs once more, and yield the links of each in order. Pairs that cannot be read have none."""
    maker = LinkMaker((choice.series,), merge)
    for start in range(0, len(pairs), WINDOW):
        window = pairs[start : start + WINDOW]
        links = {
            pair.id: tuple(of_pair)
            for batch in read(window, maker)
            for pair, of_pair in zip(batch.pairs, links_of(batch, choice.series, choice.layer), strict=True)
        }
        for pair in window:
            yield links.get(pair.id, ())
