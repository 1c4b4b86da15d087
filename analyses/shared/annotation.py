"""What the corpus says about one input of the stored sample: its words, their heads and mentions, or their links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ...corpora_loaders import Sentence
from ...corpora_loaders.alignment import PairLinks, SentencePair
from ...extractors import Columns, MapBatch, Window
from ...reports.explorer.data import AnnotatedInput, Link, ShownCase, ShownMention
from ..plans import Guesses

_OPTIONAL_FIELDS = ("tags", "punctuation", "columns", "special_columns", "links", "cases", "start")
"""The fields that only some inputs have, for example sentence pairs. They are not written for other inputs."""


@dataclass(frozen=True)
class Annotation(AnnotatedInput):
    """What the corpus says about an input of the stored sample, which is stored as JSON."""

    @classmethod
    def of(cls, batch: MapBatch, index: int, guessers: Sequence[Guesses] = ()) -> Annotation:
        """Return the annotation of one input of a batch, with the cases that the guessers judge."""
        sentence = batch.sentences[index]
        length = int(batch.lengths[index])
        special = batch.special[index, :length].tolist()
        row_of_word = [row for row in range(length) if not special[row]]
        words = iter(sentence.words)
        labels = batch.labels[index] if batch.labels else ["" if is_special else next(words) for is_special in special]
        annotation = cls(
            id=sentence.id,
            document=document_of(sentence),
            file=sentence.file,
            line=sentence.line,
            rows=tuple(labels),
            special=tuple(special),
            start=sentence.start if isinstance(sentence, Window) else None,
        )
        if batch.columns is not None:
            return _with_columns(annotation, sentence, batch.columns, index)
        if len(row_of_word) != len(sentence):  # the rows are pieces of words
            return annotation
        heads: list[int | None] = [None] * length
        relations: list[str | None] = [None] * length
        for row, head, relation in zip(row_of_word, sentence.heads, sentence.relations, strict=False):
            if head is not None:
                heads[row] = row_of_word[head - 1] if head else -1  # for the root
                relations[row] = relation
        tags = dict(zip(row_of_word, sentence.tags, strict=False))
        marks = dict(zip(row_of_word, sentence.punctuation, strict=False))
        return replace(
            annotation,
            heads=tuple(heads),
            relations=tuple(relations),
            tags=tuple(tags.get(row) for row in range(length)) if tags else (),
            punctuation=tuple(marks.get(row, False) for row in range(length)) if marks else (),
            mentions=tuple(_mentions(sentence, row_of_word)),
            cases=tuple(
                ShownCase(row_of_word[word], tuple(row_of_word[other] for other in right), guesser.cases, guesser.names)
                for guesser in guessers
                for word, right in guesser.cases_of(sentence)
            ),
        )

    def encode(self) -> bytes:
        """Return the annotation as JSON in ASCII, which `decode` reads."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        written = {
            name: value for name, value in values.items() if value not in (None, ()) or name not in _OPTIONAL_FIELDS
        }
        return json.dumps(written, separators=(",", ":"), default=asdict).encode("ascii")

    @classmethod
    def decode(cls, content: bytes) -> Annotation:
        """Return the annotation that `encode` has written."""
        plain: dict[str, Any] = json.loads(content)
        mentions = tuple(ShownMention(**mention) for mention in plain.pop("mentions"))
        links = tuple(Link(**link) for link in plain.pop("links", ()))
        cases = tuple(
            ShownCase(case["row"], tuple(case["right"]), case["name"], tuple(case["guesses"]))
            for case in plain.pop("cases", ())
        )
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
        }
        return cls(**values, mentions=mentions, links=links, cases=cases)


def document_of(sentence: Sentence) -> str | None:
    """Return the id of the document of an input; None if it is not known."""
    return sentence.source.id if isinstance(sentence, Window) else sentence.document


def _with_columns(annotation: Annotation, sentence: Sentence, columns: Columns, index: int) -> Annotation:
    """Return the annotation with the columns of its maps, and with the gold links of a sentence pair."""
    special = columns.special[index, : int(columns.lengths[index])].tolist()
    column_of_word = [column for column, is_special in enumerate(special) if not is_special]
    gold = PairLinks()
    if isinstance(sentence, SentencePair) and sentence.gold is not None and len(column_of_word) == len(sentence.source):
        gold = sentence.gold
    return replace(
        annotation,
        columns=columns.labels[index],
        special_columns=tuple(special),
        links=tuple(
            Link(row, column_of_word[source], (source, row) in gold.sure)
            for source, row in sorted(gold.possible, key=lambda link: link[::-1])
        ),
    )


def _mentions(sentence: Sentence, row_of_word: Sequence[int]) -> list[ShownMention]:
    """Return the mentions of a window whose words are all in it. The others of a document are left out."""
    if not isinstance(sentence, Window):
        return []
    document = sentence.source
    mentions = [document.mentions[index] for index in document.starting(sentence.start, sentence.stop)]
    return [
        ShownMention(
            start=row_of_word[mention.start - sentence.start],
            end=row_of_word[mention.stop - 1 - sentence.start],
            entity=mention.entity,
            type=mention.type,
            head=row_of_word[mention.head - sentence.start],
        )
        for mention in mentions
        if mention.head is not None and mention.stop <= sentence.stop
    ]
