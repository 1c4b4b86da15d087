"""The parse column of CoNLL-2012 files, ``(TOP(S(NP*`` … ``*))``, and the head word of a stretch of it.

Head rules after Collins (1999, appendix A), changed where mentions want it: a possessive *'s* or punctuation is never
a head (*John 's* is headed by *John*); pronouns count as nouns, determiners and possessive pronouns only if there is
nothing else; WHNP, NML, NX and NAC are searched like NP; a QP is headed by its last number; labels without a rule by
their first child. Of conjuncts the one before the conjunction is taken, in noun phrases as in his rules.
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
"""For each label, one step after the other: search the children for any of those labels, from the first or from the
last one. In VP, S, SBAR, PP, ADJP, ADVP and QP the labels are tried in order; in NP any of a step will do."""

_ALIKE = {"NX": "NP", "NML": "NP", "WHNP": "NP", "NAC": "NP", "SINV": "S", "SQ": "S", "SBARQ": "S"}
_IN_ORDER = frozenset(HEAD_RULES) - {"NP"}
_NEVER = frozenset("POS , : . `` '' -LRB- -RRB- HYPH NFP".split())


class ParseError(ValueError):
    """Brackets of a parse that do not match.

    Attributes:
        word: the word where that is seen, from 0.
    """

    def __init__(self, message: str, word: int) -> None:
        super().__init__(message)
        self.word = word


@dataclass
class Constituent:
    """A node over the words ``start`` to ``stop`` (half-open); a leaf has no children and its tag as label."""

    label: str
    start: int
    stop: int = 0
    children: list[Constituent] = field(default_factory=list)


def read_parse(bits: Sequence[str], tags: Sequence[str]) -> Constituent | None:
    """The tree of a sentence; None if it has no constituents.

    Args:
        bits: parse column, one entry per word.
        tags: part of speech of each word.

    Raises:
        ParseError: the brackets do not match, a word has no ``*``, or words stand outside the highest constituent.
    """
    if all(bit == "*" or "*" not in bit for bit in bits):
        return None
    root = Constituent("", 0)
    path = [root]
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        pieces = list(_PIECE.finditer(bit))
        if "".join(piece[0] for piece in pieces) != bit or bit.count("*") != 1:
            raise ParseError(f"the parse of word {word + 1} is {bit!r}; brackets around one * are expected", word)
        for piece in pieces:
            if root.children and len(path) == 1 and not piece[3]:
                raise ParseError(
                    f"the parse has no constituent that holds word {word + 1} and the words before it", word
                )
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
    """Head of the words from ``start`` to ``stop``: of the largest constituents inside them, as if they were one NP."""
    parts = list(_inside(tree, start, stop))
    return _head(parts[0]) if len(parts) == 1 else _head(Constituent("NP", start, stop, parts))


def _inside(tree: Constituent, start: int, stop: int) -> list[Constituent]:
    """The largest constituents inside a stretch, in order."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if start <= node.start and node.stop <= stop:
            found.append(node)
        elif node.stop > start and node.start < stop:
            waiting += node.children[::-1]
    return found


def _head(node: Constituent) -> int:
    while node.children:
        node = _head_child(node)
    return node.start


def _head_child(node: Constituent) -> Constituent:
    label = _ALIKE.get(node.label, node.label)
    children = [child for child in node.children if child.label not in _NEVER] or node.children
    head = next(_candidates(label, children), children[-1 if label == "NP" else 0])
    at = next(place for place, child in enumerate(children) if child is head)
    return children[at - 2] if label == "NP" and at >= 2 and children[at - 1].label == "CC" else head


def _candidates(label: str, children: list[Constituent]) -> Iterator[Constituent]:
    """Children in the order in which the rules of a label prefer them."""
    for side, labels in HEAD_RULES.get(label, ()):
        wanted = labels.split()
        for one in [[label] for label in wanted] if label in _IN_ORDER else [wanted]:
            yield from (child for child in (children if side == "first" else children[::-1]) if child.label in one)
