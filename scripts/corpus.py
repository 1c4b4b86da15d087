"""Which corpus ``attentionology analyze`` reads, and how."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attentionology.corpora_loaders import Corpus, CorpusError, PlainText, load_text, load_treebank
from attentionology.corpora_loaders.coreference import detect_format, load_documents
from attentionology.scripts.builtin import SAMPLE, corpus_path
from attentionology.scripts.errors import UsageError

if TYPE_CHECKING:
    from attentionology.extractors import Encoder
    from attentionology.scripts.analyze import Analyze


def check_corpus(options: Analyze) -> None:
    """Refuse what contradicts itself, and files that are not there.

    Raises:
        UsageError, CorpusError: so it is.
    """
    for name in ("corpus", "text"):
        if getattr(options, name) == ():
            raise UsageError(f"--{name} needs at least one name")
    if options.text and options.corpus:
        raise UsageError("give --corpus or --text, not both")
    if options.text and options.tokens != "syntactic":
        raise UsageError("--tokens is for treebanks, not for --text")
    if options.text and options.reading.level != "token":
        raise UsageError("--level word is for treebanks; the words of plain text are not told from its punctuation")
    if options.segments is not None and not options.text:
        raise UsageError("--segments is for --text")
    if options.segment_ids != "zeros" and options.segments is None:
        raise UsageError("--segment-ids is for --segments")
    frequencies = [options.norms.frequencies] if options.norms.frequencies else []
    for file in [*map(Path, options.text or corpus_files(options)), *frequencies]:
        if not file.exists():
            raise CorpusError("there is no such file", file=file)
    if "coreference" in options.chosen():
        if options.text:
            raise UsageError("--analyses coreference needs a --corpus with mentions, not --text")
        if options.tokens != "syntactic":
            raise UsageError("--tokens surface is not for coreference, whose mentions are made of syntactic words")
    if options.lenient and not _has_mentions(options):
        raise UsageError("--lenient is for coreference and for CoNLL-2012 files")
    if options.tokens != "syntactic" and not has_trees(options):
        raise UsageError("--tokens surface is for CoNLL-U, the one format with multiword tokens")


def corpus_files(options: Analyze) -> list[str]:
    """Paths of the treebank's files."""
    return [corpus_path(name) for name in options.corpus or (SAMPLE,)]


def has_trees(options: Analyze) -> bool:
    """Whether the corpus is CoNLL-U, the one format that has trees."""
    return all(detect_format(file) == "conllu" for file in corpus_files(options))


def _has_mentions(options: Analyze) -> bool:
    """Whether the corpus is read as documents with mentions."""
    return not options.text and ("coreference" in options.chosen() or not has_trees(options))


def read_corpus(options: Analyze) -> Corpus:
    """The text, the treebank, or the documents of a coreference corpus."""
    if options.text:
        return load_text(options.text, limit=options.limit)
    if _has_mentions(options):
        needed = "coreference" in options.chosen()
        files = corpus_files(options)
        return load_documents(files, lenient=options.lenient, limit=options.limit, mentions_needed=needed)
    return load_treebank(corpus_files(options), tokens=options.tokens, limit=options.limit)


def cut_text(options: Analyze, text: PlainText, encoder: Encoder, folder: Path) -> Corpus:
    """Segments of two stretches of the text, written to ``tables/segments.csv`` piece by piece."""
    import pandas as pd

    from attentionology.extractors import SEGMENT_LENGTH, make_segments
    from attentionology.reports.tables import write_csv

    length = options.max_length or min(SEGMENT_LENGTH, encoder.max_length or SEGMENT_LENGTH)
    try:
        segments = make_segments(
            encoder, text, options.segments, max_length=length, seed=options.seed, segment_ids=options.segment_ids
        )
    except CorpusError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None
    table = pd.DataFrame(
        {
            "id": segment.id,
            "file": segment.file,
            "line": segment.line,
            "pieces": " ".join(segment.pieces.tokens),
            "segment_ids": " ".join(map(str, segment.pieces.segment_ids or [0] * len(segment.pieces))),
        }
        for segment in segments.sentences
    )
    write_csv(table, folder / "tables" / "segments.csv")
    return segments
