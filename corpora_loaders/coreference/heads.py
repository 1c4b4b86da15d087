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

_ALIKE = {"NX": "NP", "NML": "NP", "WHNP": "NP", "NAC": "NP", "SINV": "S", "SQ": "S", "SBARQ": "S"}  # in their rules
_IN_ORDER = frozenset(HEAD_RULES) - {"NP"}  # the phrases in which the labels of a step are tried one after the other
_NEVER = frozenset("POS , : . `` '' -LRB- -RRB- HYPH NFP".split())  # the labels of children that are never the head

HeadFinder = Callable[[Sequence[int]], int]
"""A function from the words of a mention, counted through the document, to its head word."""

_NOUNS = frozenset("NOUN PROPN X NN NNS NNP NNPS FW AFX GW XX ADD".split())
_PRONOUNS = frozenset("PRON PRP WP EX".split())
_NUMBERS = frozenset("NUM SYM CD $ #".split())
_ENDS = frozenset("ADP SCONJ AUX IN TO WDT WP$ WRB MD VBZ VBP VBD".split())


def by_tree(sentences: Sequence[Sentence], starts: Sequence[int]) -> HeadFinder:
    """Return the finder by rule 1, dependency trees, which all sentences have; ``starts`` are their first words."""
    head_of: list[int | None] = []  # of each word, counted through the document; None for roots
    depth_of: list[int] = []  # of each word of the document, in the tree of its sentence
    for sentence, start in zip(sentences, starts, strict=True):
        head_of += [start + head - 1 if head else None for head in sentence.heads]
        depth_of += depths(sentence.heads)

    def find(mention: Sequence[int]) -> int:
        """Return the word nearest to a root whose own head is outside the mention, and the first of several."""
        inside = set(mention)
        candidates = (word for word in mention if head_of[word] not in inside)
        return min(candidates, key=lambda word: (depth_of[word], word))

    return find


def by_constituents(
    sentences: Sequence[Sentence], starts: Sequence[int], trees: Sequence[Constituent | None], otherwise: HeadFinder
) -> HeadFinder:
    """Return the finder by rule 2, constituents; ``otherwise`` finds heads in sentences that have none.

    The head of a mention that extends beyond a sentence is that of its part in the first sentence.
    """

    def find(mention: Sequence[int]) -> int:
        index = bisect_right(starts, mention[0]) - 1  # that of its first sentence
        tree, start, end = trees[index], starts[index], starts[index] + len(sentences[index])
        if tree is None:
            return otherwise(mention)
        stop = max(word for word in mention if word < end) + 1
        return start + head_word(tree, mention[0] - start, stop - start)  # trees count the words of their sentence

    return find


def by_chunk(words: Sequence[str], tagged: Tagging) -> HeadFinder:
    """Return the finder by rule 3, chunks, among the words of a document with tags or without."""

    def with_tags(mention: Sequence[int]) -> int:
        # The head is the last noun or pronoun of the first simple noun phrase, otherwise its last number or last word.
        noun = number = last = None
        for word in mention:
            form, tag = words[word], tagged.tags[word]
            if tag == "HYPH" or (form in HYPHENS and tag == "PUNCT") or _is_possessive(form, tag):
                # What is before a hyphen or a possessive only modifies what follows, if a word does.
                if any(is_word(words[later]) for later in mention if later > word):
                    noun = number = None
                continue
            if not is_word(form) and tag not in _NUMBERS:  # punctuation ends a phrase that has a noun
                if noun is not None:
                    break
                continue
            follows_hyphen = word > mention[0] and words[word - 1] in HYPHENS
            if (tag in _PRONOUNS and last is None) or tag in _NOUNS:
                noun = word
            elif tag in _NUMBERS:
                number = word
            elif noun is not None:
                break
            elif (tag in _ENDS or (tag in _PRONOUNS and tag != "PRON")) and last is not None and not follows_hyphen:
                return last  # the phrase ends without a noun
            elif tag == "PRON":
                noun = word
            last = word
        return next((word for word in (noun, number, last) if word is not None), mention[-1])

    def without_tags(mention: Sequence[int]) -> int:
        return mention[untagged_head([words[word] for word in mention])]

    return with_tags if tagged.kind else without_tags


def _is_possessive(form: str, tag: str) -> bool:
    """Whether a word is the possessive marker, which Universal Dependencies tags as one of many particles."""
    return tag == "POS" or (tag == "PART" and form.casefold() in POSSESSIVES)


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


def read_parse(parse: Sequence[str], tags: Sequence[str]) -> Constituent | None:
    """Return the constituency tree of a sentence; None if it has no constituents.

    The parse has a cell for each word, such as ``(S(NP*)`` or ``*)``.
    """
    if all(cell == "*" or "*" not in cell for cell in parse):  # a column without parses may hold anything, such as -
        return None
    root = Constituent("", 0)
    open_nodes = [root]  # each is a child of the one before it
    for word, (cell, tag) in enumerate(zip(parse, tags, strict=True)):
        pieces = list(_PIECE.finditer(cell))
        if "".join(piece[0] for piece in pieces) != cell or cell.count("*") != 1:
            raise ParseError(f"the parse of word {word + 1} is {cell!r}, not brackets around one *", word)
        for piece in pieces:
            if root.children and len(open_nodes) == 1 and not piece["end"]:  # a second tree would begin
                message = f"the parse has no constituent that contains word {word + 1} and the words before it"
                raise ParseError(message, word)
            if piece["word"]:
                open_nodes[-1].children.append(Constituent(tag, word, word + 1))
            elif piece["end"]:
                if len(open_nodes) == 1:
                    raise ParseError(f"the parse closes more brackets at word {word + 1} than are open", word)
                open_nodes.pop().stop = word + 1
            else:
                # Without functions and indices, as in NP-SBJ and NP=2.
                node = Constituent(piece["label"].split("-")[0].split("=")[0], word)
                open_nodes[-1].children.append(node)
                open_nodes.append(node)
    if len(open_nodes) > 1:
        raise ParseError(f"the parse leaves {len(open_nodes) - 1} brackets open", 0)
    root.stop = len(parse)
    return root


def head_word(tree: Constituent, start: int, stop: int) -> int:
    """Return the head of the words from ``start`` to ``stop`` (half-open).

    A mention need not be a constituent. If it is not, the largest constituents inside it are treated as the children of
    a noun phrase, whose head is found by the rules.
    """
    inside = _inside(tree, start, stop)
    return _head(inside[0]) if len(inside) == 1 else _head(Constituent("NP", start, stop, inside))


def _inside(tree: Constituent, start: int, stop: int) -> list[Constituent]:
    """Return the largest constituents inside a range of words, in order."""
    inside, stack = [], [tree]
    while stack:
        node = stack.pop()
        if start <= node.start and node.stop <= stop:
            inside.append(node)
        elif node.stop > start and node.start < stop:
            stack += node.children[::-1]
    return inside


def _head(node: Constituent) -> int:
    """Return the head word of a constituent."""
    while node.children:
        node = _head_child(node)
    return node.start


def _head_child(node: Constituent) -> Constituent:
    """Return the child that the rules choose as the head of a phrase."""
    label = _ALIKE.get(node.label, node.label)
    children = [child for child in node.children if child.label not in _NEVER] or node.children
    head = next(_candidates(label, children), children[-1 if label == "NP" else 0])
    index = next(index for index, child in enumerate(children) if child is head)
    follows_conjunction = label == "NP" and index >= 2 and children[index - 1].label == "CC"
    return children[index - 2] if follows_conjunction else head  # in a coordination, the conjunct before it


def _candidates(label: str, children: list[Constituent]) -> Iterator[Constituent]:
    """Yield the children that the rules of a label allow as heads, those first that they prefer."""
    for side, names in HEAD_RULES.get(label, ()):
        allowed = names.split()
        from_side = children if side == "first" else children[::-1]
        steps = [[name] for name in allowed] if label in _IN_ORDER else [allowed]
        for labels in steps:
            yield from (child for child in from_side if child.label in labels)
