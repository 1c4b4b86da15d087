"""Loading files of word links, gold or hypotheses, and noticing those that do not belong to their bitext.

A file that is counted from another number, cut, or written for the other direction would still give a score, and a
wrong one. So the numbers of words and pairs are compared with the bitext, and a file that does not fit is refused with
the place and, where one change makes all links fit, with that change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attentionology.corpora_loaders.alignment.bitext import Bitext
from attentionology.corpora_loaders.alignment.link_formats import LinkContents, WrittenLink, read_link_file
from attentionology.corpora_loaders.alignment.links import Link, LinkSource, PairLinks
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import file_sha256

_ENOUGH_PAIRS = 20
"""If this number of pairs have links and none of the links is of a first word, the words are counted from 1."""


@dataclass(frozen=True)
class LinkFile:
    """The links of all sentence pairs of a bitext.

    Attributes:
        path: the path of the file.
        sha256: the hexadecimal SHA-256 of the file on disk.
        format: the name of its format.
        one_based: whether its words were counted from 1.
        links: the links of each pair, counted from 0.
        repeated: the number of links that occur more than once in their pair and count once.
        null_links: the number of links to no word, which are left out.
    """

    path: str
    sha256: str
    format: str
    one_based: bool
    links: tuple[PairLinks, ...]
    repeated: int = 0
    null_links: int = 0

    def counts(self) -> dict[str, int]:
        """Numbers of sure and possible links, of repeated links, and of links to no word."""
        return {
            "sure": sum(len(pair.sure) for pair in self.links),
            "possible": sum(len(pair.possible) for pair in self.links),
            "repeated": self.repeated,
            "null_links": self.null_links,
        }

    def source(self, name: str) -> LinkSource:
        """Describe the file.

        Args:
            name: the name of the links.
        """
        return LinkSource(name, self.path, self.sha256, self.format, self.one_based, **self.counts())


def load_links(path: str | Path, bitext: Bitext, *, one_based: bool = False) -> LinkFile:
    """Read the links of a bitext, source word first.

    The format is recognized by the first line:

    * talp, or Pharaoh: one line per pair with links such as ``3-4`` (sure) and ``3p4`` (possible). An empty line is a
      pair without links.
    * naacl (the shared tasks of NAACL 2003 and ACL 2005): one line per link with the numbers of the pair, the source
      word and the target word, all from 1, and ``S`` or ``P``. Word 0 is not a word; such links are counted and
      left out.

    Args:
        path: the file, which may be compressed with gzip or zip.
        bitext: the sentence pairs.
        one_based: whether a talp file counts words from 1.

    Raises:
        CorpusError: the file cannot be read, has links for more or fewer pairs than the bitext, or has a link to a word
            that the sentence does not have.

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
    name, contents = read_link_file(path, bitext.first_number)
    _check_pairs(path, contents, bitext.total)
    counted_from = 1 if (one_based if contents.one_based is None else contents.one_based) else 0
    links = [link for link in contents.links if link.pair < len(bitext)]
    _check_words(path, links, bitext, counted_from, can_choose=contents.one_based is None)
    sure: list[list[Link]] = [[] for _ in bitext.pairs]
    possible: list[list[Link]] = [[] for _ in bitext.pairs]
    for link in links:
        side = sure if link.sure else possible
        side[link.pair].append((link.source - counted_from, link.target - counted_from))
    by_pair = tuple(PairLinks.of(s, p) for s, p in zip(sure, possible, strict=True))
    return LinkFile(
        str(path),
        file_sha256(path),
        name,
        one_based=bool(counted_from),
        links=by_pair,
        repeated=len(links) - sum(len(pair.possible) for pair in by_pair),
        null_links=contents.null_links,
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
    lines = (" ".join(f"{source}-{target}" for source, target in sorted(pair)) for pair in links)
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _check_pairs(path: str | Path, contents: LinkContents, expected: int) -> None:
    if contents.pairs != expected:
        fault = "is the file truncated?" if contents.pairs < expected else "does it belong to another bitext?"
        message = f"{contents.pairs:,} {contents.unit} of links for {expected:,} sentence pairs; {fault}"
        raise CorpusError(message, file=path)


def _check_words(
    path: str | Path, links: Sequence[WrittenLink], bitext: Bitext, counted_from: int, *, can_choose: bool
) -> None:
    outside = next((link for link in links if not _fits(link, bitext, counted_from)), None)
    other = 1 - counted_from
    other_fits = can_choose and all(_fits(link, bitext, other) for link in links)
    if outside is None:
        first_words = any(link.source == 0 or link.target == 0 for link in links)
        if not counted_from and not first_words and other_fits and len({link.pair for link in links}) >= _ENOUGH_PAIRS:
            message = "no link is of a first word, and all links fit if words are counted from 1; use one_based=True"
            raise CorpusError(f"{message} (--one-based)", file=path)
        return
    pair = bitext.pairs[outside.pair]
    written = f"{outside.source}-{outside.target}"
    size = f"{len(pair.source)} source and {len(pair)} target words"
    hint = ""
    if other_fits:
        choice = "one_based=True (--one-based)" if other else "one_based=False (without --one-based)"
        hint = f"; all links fit if words are counted from {other}: use {choice}"
    elif all(_fits(_turned(link), bitext, counted_from) for link in links):
        hint = "; all links fit if source and target are swapped"
    elif can_choose and all(_fits(_turned(link), bitext, other) for link in links):
        hint = f"; all links fit if source and target are swapped and words are counted from {other}"
    message = f"link {written} is outside its sentence pair of {size}, counted from {counted_from}{hint}"
    raise CorpusError(message, file=path, line=outside.line)


def _fits(link: WrittenLink, bitext: Bitext, counted_from: int) -> bool:
    pair = bitext.pairs[link.pair]
    return 0 <= link.source - counted_from < len(pair.source) and 0 <= link.target - counted_from < len(pair)


def _turned(link: WrittenLink) -> WrittenLink:
    return WrittenLink(link.pair, link.target, link.source, link.sure, link.line)
