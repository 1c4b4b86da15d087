"""Scores of word alignments: alignment error rate, precision and recall (Och & Ney 2003).

The annotators of a gold alignment mark links as sure or as possible, and every sure link is possible, too. With A the
links of the hypothesis, S the sure and P the possible links, precision is ``|A ∩ P| / |A|``, recall ``|A ∩ S| / |S|``,
and the alignment error rate ``1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)``. All of these are ratios of sums over the corpus,
never means over sentence pairs, so the four numbers of each pair are all that has to be kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ...corpora_loaders.alignment import Link, PairLinks
from ..counting.best_head import rate


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """The four numbers of one sentence pair, or their sums over several."""

    links: int = 0  # |A|, the number of links of the hypothesis
    sure: int = 0  # |S|, the number of sure links
    hits_sure: int = 0  # |A ∩ S|
    hits_possible: int = 0  # |A ∩ P|

    def __add__(self, other: LinkCounts) -> LinkCounts:
        return LinkCounts(
            self.links + other.links,
            self.sure + other.sure,
            self.hits_sure + other.hits_sure,
            self.hits_possible + other.hits_possible,
        )

    @property
    def error_rate(self) -> float:
        """The alignment error rate, between 0 and 1; NaN if there are neither links nor sure links."""
        return 1 - rate(self.hits_sure + self.hits_possible, self.links + self.sure)

    @property
    def precision(self) -> float:
        """The share of the links that are possible; NaN without links."""
        return rate(self.hits_possible, self.links)

    @property
    def recall(self) -> float:
        """The share of the sure links that are in the hypothesis; NaN without sure links."""
        return rate(self.hits_sure, self.sure)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; NaN without links, sure links, or hits."""
        precision, recall = self.precision, self.recall
        return rate(2 * precision * recall, precision + recall)


def count_links(hypothesis: AbstractSet[Link], gold: PairLinks) -> LinkCounts:
    """Compare the links of one sentence pair with the gold links."""
    return LinkCounts(len(hypothesis), len(gold.sure), len(hypothesis & gold.sure), len(hypothesis & gold.possible))


def score_links(hypotheses: Iterable[AbstractSet[Link]], gold: Iterable[PairLinks]) -> LinkCounts:
    """Compare the links of all sentence pairs with the gold links.

    Raises:
        ValueError: there are not as many hypotheses as gold pairs.

    Example:
        >>> from attentionology.analyses import score_links
        >>> from attentionology.corpora_loaders.alignment import PairLinks
        >>> score_links([{(0, 0)}, set()], [PairLinks.of([(0, 0)], []), PairLinks.of([(1, 1)], [])]).error_rate
        0.33333333333333337
    """
    return sum((count_links(links, pair) for links, pair in zip(hypotheses, gold, strict=True)), LinkCounts())
