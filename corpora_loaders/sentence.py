"""The annotated sentence that every other room reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: its words, its dependency tree, and what else the file said about it.

    Word numbers are 1-based as in CoNLL-U, so ``heads[0]`` is the head of word 1. Every annotation column
    holds either one value per word or nothing at all (``()``: the corpus does not have that annotation).

    Attributes:
        id: unique within a treebank (see `load_treebank`).
        words: the words the model is to read.
        heads: 1-based number of each word's head, 0 for the root, None where the file gives no head.
        relations: dependency relation of each word to its head, subtypes as given (``nsubj:pass``).
        tags: universal part of speech (UPOS; the coarse tag in CoNLL-X).
        lemmas, xpos, feats, deps, misc: the other columns, as the file wrote them (``_`` where empty).
        multiword: ``(first, last, form)`` of each multiword token, word numbers inclusive.
        empty_nodes: ids of empty nodes (``8.1``); they carry no text and are not among the words.
        empty_misc: their column ``misc``.
        comments: the ``# key = value`` lines.
        text: the running text, if the file has it.
        document: id of the document the sentence stands in, if the file has it.
        file, line: where the sentence starts.
        lines: the line of each word.
    """

    id: str
    words: tuple[str, ...]
    heads: tuple[int | None, ...] = ()
    relations: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    feats: tuple[str, ...] = ()
    deps: tuple[str, ...] = ()
    misc: tuple[str, ...] = ()
    multiword: tuple[tuple[int, int, str], ...] = ()
    empty_nodes: tuple[str, ...] = ()
    empty_misc: tuple[str, ...] = ()
    comments: Mapping[str, str | None] = field(default_factory=dict)
    text: str | None = None
    document: str | None = None
    file: str | None = None
    line: int | None = None
    lines: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for column in ("heads", "relations", "tags", "lemmas", "xpos", "feats", "deps", "misc", "lines"):
            length = len(getattr(self, column))
            if length not in (0, len(self.words)):
                raise ValueError(f"sentence {self.id!r} has {len(self.words)} words but {length} {column}")

    def __len__(self) -> int:
        return len(self.words)
