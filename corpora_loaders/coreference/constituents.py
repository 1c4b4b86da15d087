"""The parse column of CoNLL-2012 files, ``(TOP(S(NP*`` … ``*))``, and the head word of a stretch of it.

Head rules after Collins (1999, appendix A), for the labels that mentions have, with two changes: a possessive *'s* is
never a head, so that *John 's* is headed by *John*; and *about ten* is headed by *ten*.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_PIECE = re.compile(r"\(([^\s()*]*)|(\*)|(\))")

HEAD_RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "NP": (
        ("last", "NN NNP NNPS NNS NX NML PRP WP JJR"),
        ("first", "NP WHNP"),
        ("last", "$ ADJP PRN"),
        ("last", "CD"),
        ("last", "JJ JJS RB QP PRP$ WP$ DT WDT"),
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
        ValueError: the brackets do not match, or a word has no ``*``.
    """
    if all(bit in ("*", "-", "_") for bit in bits):
        return None
    root = Constituent("", 0)
    path = [root]
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        pieces = list(_PIECE.finditer(bit))
        if "".join(piece[0] for piece in pieces) != bit or bit.count("*") != 1:
            raise ValueError(f"the parse of word {word + 1} is {bit!r}; brackets around one * are expected")
        for piece in pieces:
            if piece[2]:
                path[-1].children.append(Constituent(tag, word, word + 1))
            elif piece[3]:
                if len(path) == 1:
                    raise ValueError(f"the parse closes more brackets at word {word + 1} than are open")
                path.pop().stop = word + 1
            else:
                node = Constituent(piece[1].split("-")[0].split("=")[0], word)
                path[-1].children.append(node)
                path.append(node)
    if len(path) > 1:
        raise ValueError(f"the parse leaves {len(path) - 1} brackets open")
    root.stop = len(bits)
    return root


def head_word(tree: Constituent, start: int, stop: int) -> int:
    """Head of the words from ``start`` to ``stop``: of the largest constituents inside them, as if they were one NP."""
    parts = list(_inside(tree, start, stop))
    return _head(parts[0]) if len(parts) == 1 else _head(Constituent("NP", start, stop, parts))


def _inside(node: Constituent, start: int, stop: int) -> list[Constituent]:
    if node.stop <= start or node.start >= stop:
        return []
    if start <= node.start and node.stop <= stop:
        return [node]
    return [part for child in node.children for part in _inside(child, start, stop)]


def _head(node: Constituent) -> int:
    while node.children:
        node = _head_child(node)
    return node.start


def _head_child(node: Constituent) -> Constituent:
    label = _ALIKE.get(node.label, node.label)
    for side, labels in HEAD_RULES.get(label, ()):
        children = node.children if side == "first" else node.children[::-1]
        wanted = labels.split()
        for one in [[label] for label in wanted] if label in _IN_ORDER else [wanted]:
            if found := next((child for child in children if child.label in one), None):
                return found
    nominal = [child for child in node.children if child.label != "POS"]
    return (nominal or node.children)[-1 if label == "NP" else 0]
