"""Links between the words of a sentence and those of its translation."""

from __future__ import annotations

from dataclasses import dataclass

Link = tuple[int, int]
"""A source word and a target word, both 0-based."""


@dataclass(frozen=True, slots=True)
class PairLinks:
    """The links of one sentence pair.

    Attributes:
        sure: the sure links.
        possible: all links, those that are only possible and the sure ones.

    Raises:
        ValueError: a sure link is not among the possible ones.

    Example:
        >>> from attentionology.corpora_loaders.alignment import PairLinks
        >>> PairLinks.of(sure=[(0, 0)], possible=[(1, 0)]).possible == {(0, 0), (1, 0)}
        True
    """

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError("every sure link is possible, too")

    @classmethod
    def of(cls, sure: list[Link], possible: list[Link]) -> PairLinks:
        """Make the links of a pair; sure links are added to the possible ones."""
        certain = frozenset(sure)
        # Without links that are only possible, one set serves as both, since gold links take much of a bitext's memory.
        return cls(certain, certain.union(possible) if possible else certain)

    def within(self, sources: int, targets: int) -> PairLinks:
        """Return the links between words that the sentences have.

        Args:
            sources: the number of source words.
            targets: the number of target words.
        """
        inside = {link for link in self.possible if 0 <= link[0] < sources and 0 <= link[1] < targets}
        return self if len(inside) == len(self.possible) else PairLinks(self.sure & inside, frozenset(inside))


@dataclass(frozen=True)
class LinkSource:
    """Where links are from, and how many there are.

    Attributes:
        name: the name of the links: ``gold``, or that of the system which made them.
        path: the path of the file.
        sha256: the hexadecimal SHA-256 of the file on disk.
        format: the name of its format.
        one_based: whether its words were counted from 1.
        sure, possible: the numbers of sure and of possible links.
        repeated: the number of links that occur more than once in their pair and count once.
        null_links: the number of links to no word, which are left out.
        outside: the number of links to words that their sentences do not have, which are left out.
    """

    name: str
    path: str
    sha256: str
    format: str
    one_based: bool
    sure: int
    possible: int
    repeated: int = 0
    null_links: int = 0
    outside: int = 0
