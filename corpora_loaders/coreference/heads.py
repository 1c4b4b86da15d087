"""The head word of a mention, by the best that a document offers.

1. **Dependency tree**: the word of the mention whose head lies outside it; of several, the one that stands highest in
   the tree, of those that stand equally high the first.
2. **Constituents** (parse column of CoNLL-2012): head rules, see `corpora_loaders.coreference.constituents`.
3. **Chunk**: the last word of the first simple noun phrase. With Penn Treebank or universal tags: the last of the
   first nouns and pronouns in a row (numbers may stand between), after a possessive *'s* or a hyphen if there is one
   (*Ann 's house* is a house); without nouns the last number; and where a preposition or a finite verb comes before
   any noun, the word before it (*those in the room*). Without tags: the last word before the first punctuation mark
   or English word that ends a noun phrase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corpora_loaders.coreference.constituents import Constituent, head_word
from corpora_loaders.coreference.english import PHRASE_ENDS
from corpora_loaders.coreference.types import Tagging
from corpora_loaders.sentence import Sentence
from corpora_loaders.tree import depths

HeadFinder = Callable[[Sequence[int]], int]
"""From the words of a mention, counted through the document, to its head word."""

_NOUNS = {
    "UPOS": frozenset("NOUN PROPN PRON X".split()),
    "PTB": frozenset("NN NNS NNP NNPS PRP WP EX FW AFX GW XX ADD".split()),
}
_NUMBERS = frozenset("NUM SYM CD $ #".split())
_ENDS = frozenset("ADP SCONJ AUX IN TO WDT WP$ WRB MD VBZ VBP VBD".split())
_HYPHENS = frozenset("-–‐‑")
_POSSESSIVES = frozenset(("'s", "’s", "'", "’"))


def by_tree(sentences: Sequence[Sentence], starts: Sequence[int]) -> HeadFinder:
    """Rule 1."""
    heads: list[int | None] = []  # of each word of the document, counted through it; None above the highest
    depth: list[int] = []
    for sentence, start in zip(sentences, starts, strict=True):
        heads += [start + head - 1 if head else None for head in sentence.heads]
        depth += depths(sentence.heads)

    def find(words: Sequence[int]) -> int:
        own = set(words)
        return min((word for word in words if heads[word] not in own), key=lambda word: (depth[word], word))

    return find


def by_constituents(sentences: Sequence[Sentence], starts: Sequence[int], trees: Sequence[Constituent]) -> HeadFinder:
    """Rule 2. A mention that goes beyond a sentence has the head of its part in the first."""

    def find(words: Sequence[int]) -> int:
        at = max(index for index, start in enumerate(starts) if start <= words[0])
        end = starts[at] + len(sentences[at])
        stop = max(word for word in words if word < end) + 1
        return starts[at] + head_word(trees[at], words[0] - starts[at], stop - starts[at])

    return find


def by_chunk(words: Sequence[str], tagged: Tagging) -> HeadFinder:
    """Rule 3."""

    def with_tags(own: Sequence[int]) -> int:
        noun = number = None
        for word in own:
            tag = tagged.tags[word]
            if words[word] in _HYPHENS or _is_possessive(words[word], tag):
                if word != own[-1]:
                    noun = number = None
            elif tag in _NOUNS[tagged.kind]:
                noun = word
            elif tag in _NUMBERS:
                number = word
            elif noun is not None:
                break
            elif tag in _ENDS and word != own[0]:
                return word - 1
        return next((word for word in (noun, number) if word is not None), own[-1])

    def without(own: Sequence[int]) -> int:
        last = own[0]
        for word in own[1:]:
            ends = not any(letter.isalnum() for letter in words[word]) and words[word] not in _HYPHENS
            if ends or words[word].casefold() in PHRASE_ENDS:
                break
            if word != own[-1] or words[word].casefold() not in _POSSESSIVES:
                last = word
        return last

    return with_tags if tagged.kind else without


def _is_possessive(word: str, tag: str) -> bool:
    return tag == "POS" or (tag == "PART" and word.casefold() in _POSSESSIVES)
