"""The head word of a mention, by the best that a document offers.

1. **Dependency tree**: the word of the mention whose head lies outside it; of several, the one that stands highest in
   the tree, of those that stand equally high the first.
2. **Constituents** (parse column of CoNLL-2012): head rules, see `corpora_loaders.coreference.constituents`.
3. **Chunk**: the last word of the first simple noun phrase. With Penn Treebank or universal tags: a pronoun that
   comes first; else the last of the first nouns in a row (numbers may stand between), after a possessive *'s* or a
   hyphen if there is one (*Ann 's house* is a house); without nouns the last number; and where a preposition, a
   finite verb or a pronoun comes before any noun, the word before it (*those in the room*). Without tags:
   by English forms, see `corpora_loaders.coreference.untagged`. Punctuation is never a head if there is anything else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from attentionology.corpora_loaders.coreference.constituents import Constituent, head_word
from attentionology.corpora_loaders.coreference.types import Tagging
from attentionology.corpora_loaders.coreference.untagged import HYPHENS, POSSESSIVES, is_word, untagged_head
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.tree import depths

HeadFinder = Callable[[Sequence[int]], int]
"""From the words of a mention, counted through the document, to its head word."""

_NOUNS = frozenset("NOUN PROPN X NN NNS NNP NNPS FW AFX GW XX ADD".split())
_PRONOUNS = frozenset("PRON PRP WP EX".split())
_NUMBERS = frozenset("NUM SYM CD $ #".split())
_ENDS = frozenset("ADP SCONJ AUX IN TO WDT WP$ WRB MD VBZ VBP VBD".split())


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


def by_constituents(
    sentences: Sequence[Sentence],
    starts: Sequence[int],
    trees: Sequence[Constituent | None],
    otherwise: HeadFinder,
) -> HeadFinder:
    """Rule 2. A mention that goes beyond a sentence has the head of its part in the first; where that has no
    constituents, ``otherwise`` finds it."""

    def find(words: Sequence[int]) -> int:
        at = bisect_right(starts, words[0]) - 1
        tree, end = trees[at], starts[at] + len(sentences[at])
        if tree is None:
            return otherwise(words)
        stop = max(word for word in words if word < end) + 1
        return starts[at] + head_word(tree, words[0] - starts[at], stop - starts[at])

    return find


def by_chunk(words: Sequence[str], tagged: Tagging) -> HeadFinder:
    """Rule 3."""

    def with_tags(own: Sequence[int]) -> int:
        found = number = None
        before: int | None = None  # the last word that is no punctuation
        for word in own:
            form, tag = words[word], tagged.tags[word]
            if tag == "HYPH" or (form in HYPHENS and tag == "PUNCT") or _is_possessive(form, tag):
                if any(is_word(words[later]) for later in own if later > word):
                    found = number = None
                continue
            if not is_word(form) and tag not in _NUMBERS:
                if found is not None:
                    break
                continue
            after_hyphen = word > own[0] and words[word - 1] in HYPHENS
            if (tag in _PRONOUNS and before is None) or tag in _NOUNS:
                found = word
            elif tag in _NUMBERS:
                number = word
            elif found is not None:
                break
            elif (tag in _ENDS or (tag in _PRONOUNS and tag != "PRON")) and before is not None and not after_hyphen:
                return before
            elif tag == "PRON":
                found = word
            before = word
        last = before if before is not None else own[-1]
        return next((word for word in (found, number) if word is not None), last)

    def without(own: Sequence[int]) -> int:
        return own[untagged_head([words[word] for word in own])]

    return with_tags if tagged.kind else without


def _is_possessive(word: str, tag: str) -> bool:
    return tag == "POS" or (tag == "PART" and word.casefold() in POSSESSIVES)
