"""The head word of a mention, found with the best annotation that a document has.

Coreference corpora mark spans, but the analysis asks how often attention goes from one word to another, as Clark et al.
(2019) do: from the head word of a mention to the head word of its antecedent. Not every corpus has dependency trees, so
there are three rules, and a document uses the first one that its annotation allows:

1. **Dependency tree**: the head is the word whose own head is outside the mention. If there are several, it is the
   highest of them in the tree, and among equally high words the first.
2. **Constituents** (the parse column of CoNLL-2012): the head is found by the head rules of
   `attentionology.corpora_loaders.coreference.constituents`.
3. **Chunk**: the head is the last word of the first simple noun phrase, because in English and many other languages
   modifiers such as relative clauses and prepositional phrases follow the noun. With Penn Treebank or universal tags it
   is the first word if that is a pronoun; otherwise the last of the first consecutive nouns (numbers may be between
   them), where everything up to a possessive *'s* or a hyphen is skipped (*Ann 's house* is a house); without nouns the
   last number. If a preposition, a finite verb or a pronoun comes before any noun, it is the word before that (*those
   in the room*). Without tags, English word forms decide, see `attentionology.corpora_loaders.coreference.untagged`.
   A punctuation mark is a head only if there is nothing else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from ..sentence import Sentence
from ..tree import depths
from .constituents import Constituent, head_word
from .types import Tagging
from .untagged import HYPHENS, POSSESSIVES, is_word, untagged_head

HeadFinder = Callable[[Sequence[int]], int]
"""A function from the words of a mention, counted through the document, to its head word."""

_NOUNS = frozenset("NOUN PROPN X NN NNS NNP NNPS FW AFX GW XX ADD".split())
_PRONOUNS = frozenset("PRON PRP WP EX".split())
_NUMBERS = frozenset("NUM SYM CD $ #".split())
_ENDS = frozenset("ADP SCONJ AUX IN TO WDT WP$ WRB MD VBZ VBP VBD".split())


def by_tree(sentences: Sequence[Sentence], starts: Sequence[int]) -> HeadFinder:
    """Find heads by rule 1, dependency trees, which all sentences have; ``starts`` are their first words."""
    heads: list[int | None] = []  # the head of each word, counted through the document; None for roots
    depth: list[int] = []
    for sentence, start in zip(sentences, starts, strict=True):
        heads += [start + head - 1 if head else None for head in sentence.heads]
        depth += depths(sentence.heads)

    def find(words: Sequence[int]) -> int:
        inside = set(words)
        return min((word for word in words if heads[word] not in inside), key=lambda word: (depth[word], word))

    return find


def by_constituents(
    sentences: Sequence[Sentence],
    starts: Sequence[int],
    trees: Sequence[Constituent | None],
    otherwise: HeadFinder,
) -> HeadFinder:
    """Find heads by rule 2, constituents, or in another way in sentences that have none.

    The head of a mention that extends beyond a sentence is that of its part in the first sentence.
    """

    def find(words: Sequence[int]) -> int:
        index = bisect_right(starts, words[0]) - 1
        tree, start, end = trees[index], starts[index], starts[index] + len(sentences[index])
        if tree is None:
            return otherwise(words)
        stop = max(word for word in words if word < end) + 1
        return start + head_word(tree, words[0] - start, stop - start)

    return find


def by_chunk(words: Sequence[str], tagged: Tagging) -> HeadFinder:
    """Find heads by rule 3, chunks, among the words of a document with tags or without."""

    def with_tags(mention: Sequence[int]) -> int:
        noun = number = None  # the last noun (or pronoun) and the last number of the phrase so far
        before: int | None = None  # the last word that is not punctuation
        for word in mention:
            form, tag = words[word], tagged.tags[word]
            if tag == "HYPH" or (form in HYPHENS and tag == "PUNCT") or _is_possessive(form, tag):
                if any(is_word(words[later]) for later in mention if later > word):
                    noun = number = None
                continue
            if not is_word(form) and tag not in _NUMBERS:
                if noun is not None:
                    break
                continue
            after_hyphen = word > mention[0] and words[word - 1] in HYPHENS
            if (tag in _PRONOUNS and before is None) or tag in _NOUNS:
                noun = word
            elif tag in _NUMBERS:
                number = word
            elif noun is not None:
                break
            elif (tag in _ENDS or (tag in _PRONOUNS and tag != "PRON")) and before is not None and not after_hyphen:
                return before
            elif tag == "PRON":
                noun = word
            before = word
        last = before if before is not None else mention[-1]
        return next((word for word in (noun, number) if word is not None), last)

    def without_tags(mention: Sequence[int]) -> int:
        return mention[untagged_head([words[word] for word in mention])]

    return with_tags if tagged.kind else without_tags


def _is_possessive(word: str, tag: str) -> bool:
    return tag == "POS" or (tag == "PART" and word.casefold() in POSSESSIVES)
