"""Enhanced dependencies: the column DEPS of CoNLL-U, in which a word may have several heads.

The graph says what the basic tree leaves implicit: conjuncts have the head of the coordination and share its subject,
the subject of *wants* is also that of *to sing* in *she wants to sing*, and the names of modifiers contain their
preposition or case (``nmod:of``, ``obl:in``). See https://universaldependencies.org/u/overview/enhanced-syntax.html.
No model can attend to the root or to an empty node, so heads of these kinds are told apart here, and are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .errors import CorpusError
from .sentence import Sentence
from .tree import counted_relation

_DEPENDENCY = re.compile(r"(?P<head>[0-9]+)(?P<empty>\.[1-9][0-9]*)?:(?P<relation>\S+)", re.ASCII)


class EnhancedHeads(NamedTuple):
    """The enhanced dependencies of a sentence."""

    arcs: tuple[tuple[int, int, str], ...]  # each once: the numbers of a word and of its head, from 1, and the relation
    roots: int  # heads that are the root
    empty_nodes: int  # heads that are empty nodes
    without_head: int  # words that have no head which is a word


def enhanced_heads(sentence: Sentence) -> EnhancedHeads:
    """Read the enhanced dependencies of a sentence from its column ``deps``, with cells such as ``4:nsubj|6:nsubj``."""
    arcs: dict[tuple[int, int, str], None] = {}
    roots = empty_nodes = 0
    for number, cell in enumerate(sentence.deps, start=1):
        dependencies = [] if cell == "_" else list(dict.fromkeys(cell.split("|")))  # each once
        for dependency in dependencies:
            match = _DEPENDENCY.fullmatch(dependency)
            if match is None:
                raise _fault(sentence, number, f"is {dependency[:40]!r}, not HEAD:RELATION or _")
            head, decimal = int(match["head"]), match["empty"] or ""  # an empty node has a number such as 5.1
            if decimal:
                empty_nodes += 1
                is_known = f"{head}{decimal}" in sentence.empty_nodes
            else:
                roots += head == 0
                is_known = head <= len(sentence) and head != number
            if not is_known:
                raise _fault(sentence, number, f"has the head {head}{decimal}, which is no other word of it")
            if head and not decimal:
                arcs[number, head, match["relation"]] = None
    return EnhancedHeads(tuple(arcs), roots, empty_nodes, len(sentence) - len({word for word, _, _ in arcs}))


def counted_arcs(sentence: Sentence, arcs: Iterable[tuple[int, int, str]]) -> Iterable[tuple[int, int, str]]:
    """Return arcs (word, head, relation) with the relations as they are counted, which say what is punctuation."""
    if not sentence.punctuation:
        return arcs
    return [
        (word, head, counted_relation(relation, "punctuation" if sentence.punctuation[word - 1] else "word"))
        for word, head, relation in arcs
    ]


def enhanced_relations(sentences: Iterable[Sentence]) -> Counter[str]:
    """Count the words of each enhanced relation, as relations are counted (`counted_arcs`).

    Raises:
        CorpusError: a file has no enhanced dependencies.
    """
    annotated: dict[str | None, bool] = {}  # by the file

    def note_files() -> Iterator[Sentence]:
        for sentence in sentences:
            if not annotated.get(sentence.file):
                heads = enhanced_heads(sentence)
                annotated[sentence.file] = bool(heads.arcs or heads.roots)
            yield sentence

    relations = relations_of(note_files())
    for file, is_annotated in annotated.items():
        if not is_annotated:
            message = "no word has enhanced dependencies (column 9, DEPS); leave out --trees enhanced"
            raise CorpusError(message, file=file)
    return relations


def relations_of(sentences: Iterable[Sentence]) -> Counter[str]:
    """Count the words of each enhanced relation, most frequent first."""
    relations: Counter[str] = Counter()
    for sentence in sentences:
        arcs = counted_arcs(sentence, enhanced_heads(sentence).arcs)
        relations.update(relation for _, relation in {(word, relation) for word, _, relation in arcs})
    return Counter(dict(sorted(relations.items(), key=lambda item: (-item[1], item[0]))))


def _fault(sentence: Sentence, number: int, message: str) -> CorpusError:
    """Return the error about the enhanced dependency of the word of this number."""
    line = sentence.lines[number - 1] if sentence.lines else sentence.line
    text = f"the enhanced dependency (column 9) of word {number} {message}"
    return CorpusError(text, file=sentence.file, line=line, sentence=sentence.id)
