"""Segments of plain text as the model reads them: ``[CLS] a [SEP] b [SEP]`` (Clark et al. 2019, §3)."""

from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ...corpora_loaders import Corpus, CorpusError, Pair, PlainText, Sentence, pair_paragraphs
from ...storage.nearest import check_choice
from ...storage.writing import amount
from ..errors import ModelError
from ..model.any_model import AnyModel, as_encoder
from ..model.encoder import Encoder
from ..tokens.pieces import Pieces, Segment, positions_of
from ..tokens.tokenizer import needs_space, reserved_ids

SegmentIds = Literal["zeros", "pair"]

SEGMENT_LENGTH = 128
"""The number of pieces of a segment in the paper, special tokens included."""

_Piece = tuple[int, str, int]
"""A piece of an input: its id, the piece itself, and the id of its segment."""


@dataclass(frozen=True)
class PairFrame:
    """The special tokens around a pair, as the tokenizer puts them around two short texts."""

    before: Sequence[_Piece]
    between: Sequence[_Piece]
    after: Sequence[_Piece]
    segment_ids: tuple[int, int]  # of the pieces of both texts

    @classmethod
    def of(cls, tokenizer: Any) -> PairFrame:
        """Read the frame off two short texts, or raise `ModelError`."""
        pieces, (first, second) = _read_framed(tokenizer, "a", "b")  # the indices of the pieces of each text
        if not first or not second:
            raise ModelError(f"{type(tokenizer).__name__} does not put its special tokens around two texts")
        before, between, after = pieces[: first[0]], pieces[first[-1] + 1 : second[0]], pieces[second[-1] + 1 :]
        (_, _, first_id), (_, _, second_id) = pieces[first[0]], pieces[second[0]]
        if not before + between + after:
            # Some tokenizers define special tokens for single texts only. What they put after a text is then put
            # between the two texts of a pair as well.
            pieces, (first, _) = _read_framed(tokenizer, "a")
            before, between = pieces[: first[0]], pieces[first[-1] + 1 :]
            after = [(piece, token, second_id) for piece, token, _ in between]
        return cls(before, between, after, (first_id, second_id))

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)

    def around(self, first: Pieces, second: Pieces, *, typed: bool) -> Pieces:
        """Put two texts into one input, with segment ids if it is ``typed``, without special tokens that they have."""
        words: list[tuple[int, int] | None] = [None] * len(self.before)
        pieces = list(self.before)
        for side, (text, special_after) in enumerate(((first, self.between), (second, self.after))):
            for piece, token, word in zip(text.ids, text.tokens, text.word_of, strict=True):
                if word >= 0:
                    words.append((side, word))
                    pieces.append((piece, token, self.segment_ids[side]))
            words += [None] * len(special_after)
            pieces += special_after
        positions, special = positions_of(words)
        return Pieces(
            ids=[piece for piece, _, _ in pieces],
            tokens=[token for _, token, _ in pieces],
            positions=positions,
            special=special,
            substituted=first.substituted + second.substituted,
            unknown=first.unknown + second.unknown,
            segment_ids=[segment for _, _, segment in pieces] if typed else None,
        )


def _read_framed(tokenizer: Any, *texts: str) -> tuple[list[_Piece], tuple[list[int], list[int]]]:
    """Read one or two texts with their frame: all pieces, and the indices of those of each text."""
    encoding = tokenizer(*texts).encodings[0]
    first = [index for index, side in enumerate(encoding.sequence_ids) if side == 0]
    second = [index for index, side in enumerate(encoding.sequence_ids) if side == 1]
    return list(zip(encoding.ids, encoding.tokens, encoding.type_ids, strict=True)), (first, second)


@dataclass(frozen=True, repr=False)
class Segments(Corpus):
    """Pairs of neighboring stretches of text, each a `Segment`, with an account of how the text was used.

    Attributes:
        made: how many segments the text holds. If that is more than were asked for, these are a random sample.
        halved: how many of those lie within one paragraph and are cut in its middle.
        text_documents: the number of documents of the whole text.
        text_pieces: the number of pieces of the whole text.
        left_over: how many pieces at the ends of documents are too few for a segment.

    Example:
        >>> from attentionology import load_encoder, load_text
        >>> from attentionology.extractors import make_segments
        >>> from pathlib import Path
        >>> _ = Path("text.txt").write_text("Cats sleep all day. Dogs do not.")
        >>> segments = make_segments(load_encoder("demo"), load_text("text.txt"), max_length=8)
        >>> segments.made, segments.text_pieces
        (2, 9)
    """

    unit: ClassVar[str] = "segments"
    limit_unit: ClassVar[str] = "paragraphs"
    has_heads: ClassVar[bool] = False
    divisible: ClassVar[bool] = False

    sentences: tuple[Segment, ...]
    made: int = 0
    halved: int = 0
    text_documents: int = 0
    text_pieces: int = 0
    left_over: int = 0

    def counts(self) -> dict[str, int]:
        """Count the segments and what the text held."""
        return {
            **super().counts(),
            "segments_made": self.made,
            "segments_halved": self.halved,
            "text_documents": self.text_documents,
            "text_pieces": self.text_pieces,
            "text_pieces_left_over": self.left_over,
        }

    def checks(self) -> dict[str, Any]:
        """Return nothing, because the text was checked before it was cut."""
        return {}

    def remarks(self) -> list[str]:
        """Say how the text was cut."""
        chosen = f", of which {len(self):,} were sampled at random" if len(self) < self.made else ""
        return [
            f"{amount(self.text_pieces, 'pieces')} of {amount(self.text_documents, 'documents')} give "
            f"{amount(self.made, 'segments')}{chosen}.",
            f"No paragraph ends within {self.halved:,} of the {self.made:,}, so they were divided in the middle.",
            f"Pieces at the end of documents that were too few for a segment: {self.left_over:,}.",
        ]


def make_segments(
    encoder: AnyModel,
    text: PlainText,
    count: int | None = None,
    *,
    max_length: int = SEGMENT_LENGTH,
    seed: int = 0,
    segment_ids: SegmentIds = "zeros",
) -> Segments:
    """Cut a text into segments of two consecutive stretches, see `attentionology.corpora_loaders.pair_paragraphs`.

    Args:
        encoder: the model whose tokenizer cuts words into pieces, as in `attentionology.extract`.
        text: paragraphs and documents.
        count: the number of segments to sample at random (1,000 in the paper, 992 in its released data); None for all.
        max_length: the largest number of pieces of a segment, special tokens included.
        seed: the seed of the cuts and of the draw. How a document is cut depends on its id and the seed alone.
        segment_ids: ``"zeros"``, as for the paper's maps, or ``"pair"`` for the ids that the tokenizer gives to pairs,
            which for BERT are 1 in the second paragraph.

    Raises:
        ValueError: an option has a value that cannot be used.
        ModelError: the model does not take inputs of that length, or has no segment embeddings for pairs.
        CorpusError: no document has two pieces.

    Example:
        >>> from attentionology import load_encoder, load_text
        >>> from attentionology.extractors import make_segments
        >>> from pathlib import Path
        >>> _ = Path("text.txt").write_text("Cats sleep all day. Dogs do not.")
        >>> segments = make_segments(load_encoder("demo"), load_text("text.txt"), max_length=8)
        >>> segments.sentences[0].words
        ('cats', 'sleep', 'all', 'day', '.')
    """
    check_choice("segment_ids", segment_ids, SegmentIds)
    if count is not None and count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    encoder = as_encoder(encoder)
    if encoder.max_length is not None and max_length > encoder.max_length:
        raise ModelError(f"segments of {max_length} pieces are too long; this model takes {encoder.max_length}")
    frame = PairFrame.of(encoder.tokenizer)
    typed = segment_ids == "pair"
    if typed:
        _check_typed(encoder, frame)
    if max_length < len(frame) + 2:
        raise ValueError(f"segments of {max_length} pieces are too short for a pair; {len(frame) + 2} is the minimum")
    draw = random.Random(f"{seed} draw")  # noqa: S311
    chosen: list[tuple[int, Segment]] = []  # each with its number among all segments
    counts = Counter(made=0, halved=0, text_documents=0, text_pieces=0, left_over=0)  # see `Segments`
    for document in text.each_document():
        texts = [paragraph.text or " ".join(paragraph.words) for paragraph in document]
        lengths: list[int] = []  # of the paragraphs, in pieces
        pieces_of_document: list[tuple[Sentence, int, str]] = []
        for paragraph, pieces in zip(document, _read_texts(encoder.tokenizer, texts), strict=True):
            lengths.append(len(pieces))
            pieces_of_document += [(paragraph, *piece) for piece in pieces]
        rng = random.Random(f"{seed} {document[0].document}")  # noqa: S311
        stop = 0  # where the last segment ends
        for pair in pair_paragraphs(lengths, max_length - len(frame), rng):
            stop = pair.stop
            number = counts["made"]  # of segments before this one
            if count is None or number < count:
                chosen.append((number, _segment(encoder, frame, pair, pieces_of_document, typed=typed)))
            elif (index := draw.randrange(number + 1)) < count:  # reservoir sampling: equal chances in one pass
                chosen[index] = number, _segment(encoder, frame, pair, pieces_of_document, typed=typed)
            counts.update(made=1, halved=pair.halved)
        n_pieces = len(pieces_of_document)
        counts.update(text_documents=1, text_pieces=n_pieces, left_over=n_pieces - stop)
    if not chosen:
        raise CorpusError("no document has two pieces that could make a segment", file=text.files[0].path)
    chosen.sort(key=lambda item: item[0])
    return Segments(tuple(segment for _, segment in chosen), text.files, **counts)


def _read_texts(tokenizer: Any, texts: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    """Yield the pieces of texts, each an id and a token, without special tokens; those in the text are text."""
    reserved, unk_id, unk_token = reserved_ids(tokenizer), tokenizer.unk_token_id, tokenizer.unk_token
    space = " " if needs_space(tokenizer) else ""
    spaced = [space + text.strip() for text in texts]
    for encoding in tokenizer(spaced, add_special_tokens=False, split_special_tokens=True, verbose=False).encodings:
        pieces = list(zip(encoding.ids, encoding.tokens, strict=True))
        if unk_id is None and (mistaken := next((token for piece, token in pieces if piece in reserved), None)):
            raise ModelError(f"the tokenizer reads {mistaken!r} in the text as a special token")
        yield [(unk_id, unk_token) if piece in reserved else (piece, token) for piece, token in pieces]


def _check_typed(encoder: Encoder, frame: PairFrame) -> None:
    """Raise `ModelError` unless the model reads the two texts of a pair with different segment ids."""
    takes_ids = "token_type_ids" in inspect.signature(encoder.model.forward).parameters
    rows = getattr(encoder.model.config, "type_vocab_size", 0) if takes_ids else 0
    first, second = frame.segment_ids
    if first == second or rows <= max(first, second):
        raise ModelError(
            f"{encoder.label}: {encoder.family!r} models do not distinguish the texts of a pair by segment "
            "ids; use segment ids 'zeros'"
        )


def _segment(
    encoder: Encoder, frame: PairFrame, pair: Pair, document: Sequence[tuple[Sentence, int, str]], *, typed: bool
) -> Segment:
    """Make a segment of a pair of stretches of a document, given as the paragraph, id and token of each piece."""

    def pieces_of(stretch: Sequence[tuple[Sentence, int, str]]) -> Pieces:
        ids = [piece for _, piece, _ in stretch]
        tokens = [token for _, _, token in stretch]
        n, unknown = len(ids), ids.count(encoder.tokenizer.unk_token_id)
        return Pieces(ids, tokens, positions=list(range(n)), special=[False] * n, substituted=0, unknown=unknown)

    content = document[pair.start : pair.stop]
    paragraph, _, _ = content[0]
    first, second = pieces_of(document[pair.start : pair.cut]), pieces_of(document[pair.cut : pair.stop])
    return Segment(
        id=f"{paragraph.document}+{pair.start}",
        words=tuple(encoder.forms[piece] for _, piece, _ in content),
        document=paragraph.document,
        file=paragraph.file,
        line=paragraph.line,
        pieces=frame.around(first, second, typed=typed),
    )
