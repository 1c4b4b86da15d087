"""Sentence pairs together with their links, gold and hypotheses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .bitext import Bitext, check_sure
from .link_files import LinkFile


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
    if gold is not None:
        check_sure(gold.path, gold.counts()["sure"])
    named = dict(hypotheses or {})
    if gold is None and not named:
        return bitext
    for file in filter(None, [gold, *named.values()]):
        if len(file.links) != len(bitext):
            raise ValueError(f"{file.path} has links for {len(file.links):,} of {len(bitext):,} sentence pairs")
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
        gold=None if gold is None else gold.source("gold"),
        hypotheses=sources,
    )
