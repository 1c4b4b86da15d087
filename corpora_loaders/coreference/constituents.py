"""The parse column of CoNLL-2012 files, ``(TOP(S(NP*`` … ``*))``, and the head words of its constituents.

The head rules follow Collins (1999, appendix A), with changes that mentions require: a possessive *'s* or a
punctuation mark is never a head (the head of *John 's* is *John*); pronouns count as nouns, but determiners and
possessive pronouns are heads only if there is nothing else; WHNP, NML, NX and NAC are searched like NP; the head of a
QP is its last number; and the head of a label without a rule is its first child. Of two conjuncts in a noun phrase, the
one before the conjunction is the head, as in Collins' rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_PIECE = re.compile(r"\(([^\s()*]*)|(\*)|(\))")

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
    if all(bit == "*" or "*" not in bit for bit in bits):
        return None
    root = Constituent("", 0)
    path = [root]
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        pieces = list(_PIECE.finditer(bit))
        if "".join(piece[0] for piece in pieces) != bit or bit.count("*") != 1:
            raise ParseError(f"the parse of word {word + 1} is {bit!r}, not brackets around one *", word)
        for piece in pieces:
            if root.children and len(path) == 1 and not piece[3]:
                message = f"the parse has no constituent that contains word {word + 1} and the words before it"
                raise ParseError(message, word)
            if piece[2]:
                path[-1].children.append(Constituent(tag, word, word + 1))
            elif piece[3]:
                if len(path) == 1:
                    raise ParseError(f"the parse closes more brackets at word {word + 1} than are open", word)
                path.pop().stop = word + 1
            else:
                node = Constituent(piece[1].split("-")[0].split("=")[0], word)
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
