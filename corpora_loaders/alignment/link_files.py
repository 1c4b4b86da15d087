"""Loading files of word links, gold or hypotheses, and adding them to their sentence pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from .bitext import Bitext, check_sure
from .link_checks import LinkChecks, Sizes
from .links import Link, LinkSource, PairLinks, format_of_links, written_pairs


@dataclass(frozen=True)
class LinkFile:
    """The links of all sentence pairs of a bitext.

    Attributes:
        links: the links of each pair, counted from 0. All other attributes are those of a `LinkSource`.
    """

    path: str
    sha256: str
    format: str
    one_based: bool
    links: tuple[PairLinks, ...]
    repeated: int = 0
    null_links: int = 0
    outside: int = 0

    def counts(self) -> dict[str, int]:
        """Numbers of sure, possible and repeated links, of links to no word, and of links outside their pairs."""
        return {
            "sure": sum(len(pair.sure) for pair in self.links),
            "possible": sum(len(pair.possible) for pair in self.links),
            "repeated": self.repeated,
            "null_links": self.null_links,
            "outside": self.outside,
        }

    def source(self, name: str) -> LinkSource:
        """Describe the file, whose links have this name."""
        return LinkSource(name, self.path, self.sha256, self.format, self.one_based, **self.counts())


def load_links(path: str | Path, bitext: Bitext, *, one_based: bool = False, lenient: bool = False) -> LinkFile:
    """Read the links of a bitext, source word first.

    The format is recognized by the first line:

    * talp, or Pharaoh: one line per pair with links such as ``3-4`` (sure) and ``3p4`` (possible). An empty line is a
      pair without links, unless it is the last one and follows those of all pairs.
    * naacl (the shared tasks of NAACL 2003 and ACL 2005): one line per link with the numbers of the pair, the source
      word and the target word, all from 1, and ``S`` or ``P``. Word 0 is not a word; such links are counted and
      left out.

    Args:
        path: the file, which may be compressed with gzip, bzip2, xz or zip.
        bitext: the sentence pairs.
        one_based: whether a talp file counts words from 1.
        lenient: whether links to words that their sentences do not have are left out and counted.

    Raises:
        CorpusError: the file cannot be read, has links for more or fewer pairs than the bitext, or has a link to a word
            that the sentence does not have; if lenient, at least 20 pairs have links, and fewer of them would be left
            out if words were counted from another number or the sides were swapped.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.alignment import Bitext, SentencePair, load_links
        >>> bitext = Bitext((SentencePair(id="1", words=("the", "house"), source=("das", "Haus")),), total=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "gold.talp")
        ...     _ = path.write_text("1-1 2-2 1p2\\n")
        ...     gold = load_links(path, bitext, one_based=True)
        >>> sorted(gold.links[0].sure), gold.counts()["possible"]
        ([(0, 0), (1, 1)], 3)
    """
    link_format = format_of_links(path)
    sizes = Sizes([len(pair.source) for pair in bitext.pairs], [len(pair) for pair in bitext.pairs], bitext.total)
    checks = LinkChecks(path, link_format, sizes, one_based=one_based, lenient=lenient)
    links = [PairLinks()] * len(bitext)
    for written in written_pairs(path, link_format, bitext.first_number):
        of_pair = checks.add(written)
        if of_pair is not None:
            links[written.pair] = of_pair
    source = checks.finish("")
    return LinkFile(
        source.path,
        source.sha256,
        source.format,
        source.one_based,
        tuple(links),
        source.repeated,
        source.null_links,
        source.outside,
    )


def write_links(path: str | Path, links: Iterable[Iterable[Link]]) -> None:
    """Write links in the format talp, counted from 0, one line per pair.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.alignment import write_links
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "links.talp")
        ...     write_links(path, [[(1, 0), (0, 1)], []])
        ...     path.read_text()
        '0-1 1-0\\n\\n'
    """
    with Path(path).open("w", encoding="utf-8") as file:
        for pair in links:
            file.write(" ".join(f"{source}-{target}" for source, target in sorted(pair)) + "\n")


def add_links(bitext: Bitext, gold: LinkFile | None, hypotheses: Mapping[str, LinkFile] | None = None) -> Bitext:
    """Return sentence pairs with their links.

    Args:
        bitext: the sentence pairs.
        gold: their gold links; None if they are not known.
        hypotheses: the links of other systems, by name.

    Raises:
        CorpusError: the gold links have no sure link, so that they say nothing about recall.
        ValueError: there are links for more or fewer pairs than the bitext has.

    Example:
        >>> from attentionology.corpora_loaders.alignment import Bitext, LinkFile, PairLinks, SentencePair, add_links
        >>> bitext = Bitext((SentencePair(id="1", words=("the", "house"), source=("das", "Haus")),), total=1)
        >>> gold = LinkFile("gold.talp", "", "talp", one_based=False, links=(PairLinks.of([(0, 0), (1, 1)], []),))
        >>> sorted(add_links(bitext, gold).pairs[0].gold.sure)
        [(0, 0), (1, 1)]
    """
    named = dict(hypotheses or {})
    if gold is None and not named:
        return bitext
    for file in filter(None, [gold, *named.values()]):
        if len(file.links) != len(bitext):
            raise ValueError(f"{file.path} has links for {len(file.links):,} of {len(bitext):,} sentence pairs")
    gold_source = None if gold is None else gold.source("gold")
    if gold_source is not None:
        check_sure(gold_source.path, gold_source.sure)
    pairs = tuple(
        replace(
            pair,
            gold=None if gold is None else gold.links[index],
            hypotheses=tuple((name, file.links[index].possible) for name, file in named.items()),
        )
        for index, pair in enumerate(bitext.pairs)
    )
    sources = tuple(file.source(name) for name, file in named.items())
    return Bitext(
        pairs,
        bitext.files,
        total=bitext.total,
        first_number=bitext.first_number,
        gold=gold_source,
        hypotheses=sources,
    )
