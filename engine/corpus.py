"""The options that choose the corpus of ``analyze``, and how it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import arg

from ..analyses.contract import Analysis, OptionError
from ..analyses.shared.builtin import SAMPLE, corpus_path
from ..analyses.shared.input_options import at_least_one
from ..analyses.shared.numbers import OptionalNumber
from ..analyses.shared.option_types import Lenient, TreebankWords
from ..corpora_loaders.errors import CorpusError, together

if TYPE_CHECKING:
    import pandas as pd

    from ..corpora_loaders import Corpus, PlainText
    from ..extractors import Encoder, Segments


@dataclass(frozen=True)
class CorpusOptions:
    """Options of the corpus.

    Example:
        >>> from attentionology import CorpusOptions
        >>> options = CorpusOptions(limit=2)  # of the sample treebank
        >>> options.check()
        >>> options.read([])
        Treebank(2 sentences, 43 words, 'en_sample.conllu')
    """

    corpus: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """The treebank: one or more CoNLL-U or CoNLL-X files, which may be compressed (.gz, .bz2 or .xz). The coreference
    analysis reads CoNLL-U files with entities (CorefUD, GUM), CoNLL-2012 files (OntoNotes, WinoBias, LitBank) and GAP
    files. The format is detected. Treebanks of Universal Dependencies can be given by name, such as ud:en_ewt:dev or
    ud:en_ewt:dev@2.16; attentionology treebanks lists them. By default, the sample treebank is read, whose name is
    'sample'."""

    text: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """One or more files of plain text to read instead of a treebank. Each line is a paragraph, and an empty line ends a
    document. Each paragraph is one input, unless --segments is given."""

    segments: OptionalNumber = None
    """Divide the text into segments of two consecutive spans, [CLS] a [SEP] b [SEP], and sample N of them at random, or
    take all if there are no more than N. A segment has 128 pieces, or the number given by --max-length. The paper has
    1,000 segments, of which 992 were released."""

    segment_ids: Literal["zeros", "pair"] = "zeros"
    """The segment ids of the second span: zeros, as in the maps of the paper, or those that the tokenizer gives to the
    second text of a pair."""

    tokens: TreebankWords = "syntactic"

    limit: OptionalNumber = None
    """Read only the first N sentences of a treebank, paragraphs of a text, or documents of a coreference corpus."""

    lenient: Lenient = False

    @property
    def files(self) -> list[str]:
        """The paths of the files that are read as a corpus."""
        return [corpus_path(name) for name in self.corpus or (SAMPLE,)]

    @property
    def has_trees(self) -> bool:
        """Whether the format of the corpus has trees, as CoNLL-U has."""
        from ..corpora_loaders.coreference import format_of

        return not self.text and all(format_of(file).has_trees for file in self.files)

    def check_names(self) -> None:
        """Check the names of the files.

        Raises:
            OptionError: no name is given, or there is both a corpus and a text.
            CorpusError: a file does not exist.
        """
        for name in ("corpus", "text"):
            if getattr(self, name) == ():
                raise OptionError(f"--{name} needs at least one name")
        if self.text and self.corpus:
            raise OptionError("give --corpus or --text, not both")
        for file in map(Path, self.text or self.files):
            if not file.exists():
                raise CorpusError("there is no such file", file=file)

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used, or where two options contradict each other."""
        if self.text and self.tokens != "syntactic":
            raise OptionError("--tokens is for treebanks and cannot be given together with --text")
        if self.segments is not None and not self.text:
            raise OptionError("--segments is for --text, which is not given")
        if self.segment_ids != "zeros" and self.segments is None:
            raise OptionError("--segment-ids is for --segments, which is not given")
        at_least_one(self, "segments", "limit")

    def check_analyses(self, chosen: Sequence[Analysis[Any, Any]]) -> None:
        """Validate the options for some analyses before anything slow happens. The files must exist.

        Args:
            chosen: the analyses of the run.

        Raises:
            OptionError: an option contradicts an analysis, or the format of the files.
            CorpusError: a file cannot be read.
        """
        mentions = [analysis.name for analysis in chosen if analysis.of_mentions]
        if mentions and self.text:
            raise OptionError(f"--analyses {mentions[0]} needs a --corpus with mentions, not --text")
        if mentions and self.tokens != "syntactic":
            raise OptionError(f"--tokens surface is not for {mentions[0]}, whose mentions consist of syntactic words")
        if self.lenient and not self.read_as_documents(chosen):
            raise OptionError("--lenient is for the coreference analysis and for CoNLL-2012 files")
        if self.tokens != "syntactic" and not self.has_trees:
            raise OptionError("--tokens surface is for CoNLL-U, the only format with multiword tokens")

    def read_as_documents(self, chosen: Sequence[Analysis[Any, Any]]) -> bool:
        """Whether the corpus is read as documents with mentions."""
        return not self.text and (any(analysis.of_mentions for analysis in chosen) or not self.has_trees)

    def read(self, chosen: Sequence[Analysis[Any, Any]]) -> Corpus:
        """Read the text, the treebank, or the coreference corpus that the options name."""
        from ..corpora_loaders import load_text, load_treebank
        from ..corpora_loaders.coreference import load_documents

        if self.text:
            return load_text(self.text, limit=self.limit)
        if self.read_as_documents(chosen):
            needed = any(analysis.of_mentions for analysis in chosen)
            return load_documents(self.files, lenient=self.lenient, limit=self.limit, mentions_needed=needed)
        return load_treebank(self.files, tokens=self.tokens, limit=self.limit)

    def warnings(self, corpus: Corpus) -> list[str]:
        """Warnings that the corpus has less than the options request."""
        unread = [*(self.text or self.files)][len(corpus.files) :]
        if unread:
            return [f"--limit was reached before these files were read: {', '.join(unread)}."]
        if self.segments is None or len(corpus) >= self.segments:
            return []
        return [f"{self.segments:,} segments were asked for; the text gives {len(corpus):,}."]


def checked(files: Sequence[str]) -> Iterator[str]:
    """Read the files of a corpus one by one, and yield what is in each, with the remarks on it.

    Raises:
        CorpusError: there are mistakes, of which the first ten of each file are listed after all files were read.
    """
    faults: list[CorpusError] = []
    for file in files:
        try:
            corpus = CorpusOptions(corpus=(file,)).read([])
        except CorpusError as error:
            faults.append(error)
        else:
            yield "\n  ".join([repr(corpus), *corpus.remarks()])
    if faults:
        raise together(faults)


def title_of_files(paths: Sequence[str]) -> str:
    """A title with the names of the first two corpus files."""
    names = [Path(path).name for path in paths]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def cut_text(
    options: CorpusOptions, text: PlainText, encoder: Encoder, *, max_length: int | None, seed: int
) -> tuple[Segments, pd.DataFrame]:
    """Cut a text into segments of two stretches, and make the table that lists their pieces.

    Raises:
        OptionError: the model cannot read segments of that length.
        CorpusError: the text is too short for a segment.
    """
    import pandas as pd

    from ..extractors import SEGMENT_LENGTH, make_segments

    length = max_length or min(SEGMENT_LENGTH, encoder.max_length or SEGMENT_LENGTH)
    try:
        segments = make_segments(
            encoder, text, options.segments or 1, max_length=length, seed=seed, segment_ids=options.segment_ids
        )
    except CorpusError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from None
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
    return segments, table
