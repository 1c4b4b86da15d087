"""What the corpus says about one input of the stored sample: its words and special tokens, heads and mentions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch, Window
from attentionology.reports.explorer.data import ShownMention


@dataclass(frozen=True)
class Annotation:
    """What the corpus says about an input. Rows are those of its maps.

    Attributes:
        id: the id of the input.
        document: the id of its document; None if it is not known.
        file, line: the file, and the line where the input starts.
        rows: the words and special tokens.
        special: which rows are special tokens.
        heads: the row of each word's syntactic head, −1 for the root, None where there is none.
        relations: the relation of each word to its head.
        mentions: the mentions of entities.
    """

    id: str
    document: str | None
    file: str | None
    line: int | None
    rows: tuple[str, ...]
    special: tuple[bool, ...]
    heads: tuple[int | None, ...] = ()
    relations: tuple[str | None, ...] = ()
    mentions: tuple[ShownMention, ...] = ()

    @classmethod
    def of(cls, batch: MapBatch, index: int) -> Annotation:
        """Return the annotation of one input of a batch.

        Args:
            batch: maps, at word level if the corpus has trees or mentions.
            index: the index of the input in the batch.
        """
        sentence, length = batch.sentences[index], int(batch.lengths[index])
        special = batch.special[index, :length].tolist()
        row_of = [row for row in range(length) if not special[row]]
        words = iter(sentence.words)
        rows = batch.labels[index] if batch.labels else ["" if is_special else next(words) for is_special in special]
        annotation = cls(
            id=sentence.id,
            document=document_of(sentence),
            file=sentence.file,
            line=sentence.line,
            rows=tuple(rows),
            special=tuple(special),
        )
        if len(row_of) != len(sentence):  # the rows are pieces of words
            return annotation
        heads: list[int | None] = [None] * length
        relations: list[str | None] = [None] * length
        for row, head, relation in zip(row_of, sentence.heads, sentence.relations, strict=False):
            if head is not None:
                heads[row], relations[row] = row_of[head - 1] if head else -1, relation
        return replace(
            annotation, heads=tuple(heads), relations=tuple(relations), mentions=tuple(_mentions(sentence, row_of))
        )

    def encoded(self) -> bytes:
        """Return the annotation as JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode("ascii")

    @classmethod
    def decoded(cls, content: bytes) -> Annotation:
        """Return the annotation that `encoded` has written."""
        plain: dict[str, Any] = json.loads(content)
        mentions = tuple(ShownMention(**mention) for mention in plain.pop("mentions"))
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
        }
        return cls(**fields, mentions=mentions)


def document_of(sentence: Sentence) -> str | None:
    """Return the id of the document of an input; None if it is not known."""
    return sentence.source.id if isinstance(sentence, Window) else sentence.document


def _mentions(sentence: Sentence, row_of: Sequence[int]) -> list[ShownMention]:
    """Return the mentions of a window whose words are all in it. The others of a document are left out."""
    if not isinstance(sentence, Window):
        return []
    document = sentence.source
    mentions = [document.mentions[index] for index in document.starting(sentence.start, sentence.stop)]
    return [
        ShownMention(
            start=row_of[mention.start - sentence.start],
            end=row_of[mention.stop - 1 - sentence.start],
            entity=mention.entity,
            type=mention.type,
            head=row_of[mention.head - sentence.start],
        )
        for mention in mentions
        if mention.head is not None and mention.stop <= sentence.stop
    ]
