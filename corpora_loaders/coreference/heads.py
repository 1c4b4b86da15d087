"""The head word of a mention, from which attention goes to those of other mentions, as in Clark et al. (2019).

A document uses the first rule that its annotation allows: dependency trees, constituents, or chunks. All of them are
in docs/reference/definitions/coreference.md. The rules for constituents follow Collins (1999, appendix A).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ..sentence import Sentence
from ..tree import depths
from .types import Tagging
from .untagged import HYPHENS, POSSESSIVES, is_word, untagged_head

_PIECE = re.compile(r"\((?P<label>[^\s()*]*)|(?P<word>\*)|(?P<end>\))")

HEAD_RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "NP": (
        ("last", "NN NNP NNPS NNS NX NML PRP WP JJR"),
        ("first", "NP WHNP"),
        ("last", "$ ADJP PRN"),
        ("last", "CD"),
        ("last", "JJ JJS RB QP"),
        ("last", "VBG VBN FW ADD XX AFX UCP S VP"),
        ("last", "PRP$ WP$ DT WDT"),
    ),
    "VP": (("first", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),),
    "S": (("first", "TO IN VP S SBAR ADJP UCP NP"),),
    "SBAR": (("first", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),),
    "PP": (("last", "IN TO VBG VBN RP FW"),),
    "ADJP": (("first", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),),
    "ADVP": (("last", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),),
    "QP": (("last", "CD $ NNS NN JJ RB DT"),),
}
"""The rules of each label as a sequence of steps. A step searches the children for some labels, from the first child or
from the last. In NP, the first child with any of the labels is the head; in the other phrases, the labels are tried one
after the other."""

_ALIKE = {"NX": "NP", "NML": "NP", "WHNP": "NP", "NAC": "NP", "SINV": "S", "SQ": "S", "SBARQ": "S"}
_IN_ORDER = frozenset(HEAD_RULES) - {"NP"}
_NEVER = frozenset("POS , : . `` '' -LRB- -RRB- HYPH NFP".split())

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


class ParseError(ValueError):
    """The brackets of a parse do not match, which is noticed at a word, counted from 0."""

    def __init__(self, message: str, word: int) -> None:
        super().__init__(message)
        self.word = word


@dataclass
class Constituent:
    """A node of a constituency tree."""

    label: str  # of the phrase; for a leaf, the part of speech of its word
    start: int  # the half-open range of its words, from 0 in each sentence
    stop: int = 0
    children: list[Constituent] = field(default_factory=list)  # a leaf has none


def read_parse(bits: Sequence[str], tags: Sequence[str]) -> Constituent | None:
    """The constituency tree of a sentence, from its parse column; None if it has no constituents."""
    if all(bit == "*" or "*" not in bit for bit in bits):  # a column without parses may hold anything, such as -
        return None
    root = Constituent("", 0)
    path = [root]
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        pieces = list(_PIECE.finditer(bit))
        if "".join(piece[0] for piece in pieces) != bit or bit.count("*") != 1:
            raise ParseError(f"the parse of word {word + 1} is {bit!r}, not brackets around one *", word)
        for piece in pieces:
            if root.children and len(path) == 1 and not piece["end"]:  # a second tree would begin beside the first
                message = f"the parse has no constituent that contains word {word + 1} and the words before it"
                raise ParseError(message, word)
            if piece["word"]:
                path[-1].children.append(Constituent(tag, word, word + 1))
            elif piece["end"]:
                if len(path) == 1:
                    raise ParseError(f"the parse closes more brackets at word {word + 1} than are open", word)
                path.pop().stop = word + 1
            else:
                # Without functions and indices, as in NP-SBJ and NP=2.
                node = Constituent(piece["label"].split("-")[0].split("=")[0], word)
                path[-1].children.append(node)
                path.append(node)
    if len(path) > 1:
        raise ParseError(f"the parse leaves {len(path) - 1} brackets open", 0)
    root.stop = len(bits)
    return root


def head_word(tree: Constituent, start: int, stop: int) -> int:
    """The head of the words from ``start`` to ``stop`` (half-open).

    A mention need not be a constituent. If it is not, the largest constituents inside it are treated as the children of
    a noun phrase, whose head is found by the rules.
    """
    parts = list(_inside(tree, start, stop))
    return _head(parts[0]) if len(parts) == 1 else _head(Constituent("NP", start, stop, parts))


def _inside(tree: Constituent, start: int, stop: int) -> list[Constituent]:
    """The largest constituents inside a range of words, in order."""
    inside, stack = [], [tree]
    while stack:
        node = stack.pop()
        if start <= node.start and node.stop <= stop:
            inside.append(node)
        elif node.stop > start and node.start < stop:
            stack += node.children[::-1]
    return inside


def _head(node: Constituent) -> int:
    while node.children:
        node = _head_child(node)
    return node.start


def _head_child(node: Constituent) -> Constituent:
    label = _ALIKE.get(node.label, node.label)
    children = [child for child in node.children if child.label not in _NEVER] or node.children
    head = next(_candidates(label, children), children[-1 if label == "NP" else 0])
    index = next(index for index, child in enumerate(children) if child is head)
    follows_conjunction = label == "NP" and index >= 2 and children[index - 1].label == "CC"
    return children[index - 2] if follows_conjunction else head


def _candidates(label: str, children: list[Constituent]) -> Iterator[Constituent]:
    """The children in the order in which the rules of a label prefer them."""
    for side, names in HEAD_RULES.get(label, ()):
        labels = names.split()
        searched = children if side == "first" else children[::-1]
        for group in [[name] for name in labels] if label in _IN_ORDER else [labels]:
            yield from (child for child in searched if child.label in group)
