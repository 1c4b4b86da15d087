"""The options that choose the corpus of ``analyze``, and how it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from ..analyses.contract import AnalysisRow, OptionError, OptionGroup
from ..analyses.shared.builtin import SAMPLE, corpus_path
from ..analyses.shared.numbers import OptionalNumber
from ..analyses.shared.option_types import FormatName, Lenient, PunctuationNames, TreebankWords, check_format
from ..corpora_loaders.errors import CorpusError
from ..reports.help.options import flag
from ..storage.writing import amount

if TYPE_CHECKING:
    import pandas as pd

    from ..corpora_loaders import Corpus, PlainText
    from ..extractors import Encoder, Segments


@dataclass(frozen=True)
class CorpusOptions(OptionGroup):
    """Options of the corpus.

    Example:
        >>> from attentionology import CorpusOptions
        >>> options = CorpusOptions(limit=2)  # of the sample treebank
        >>> options.check()
        >>> read_corpus(options)
        Treebank(2 sentences, 43 words, 'en_sample.conllu')
    """

    corpus: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """The treebank: one or more CoNLL-U, CoNLL-U Plus, CoNLL-X, CoNLL-2008, CoNLL-2009 or Malt-TAB files, which may be
    compressed (.gz, .bz2 or .xz). The coreference analysis reads CoNLL-U files with entities (CorefUD, GUM), CoNLL-2012
    files (OntoNotes, WinoBias, LitBank), SemEval-2010 files, JSON Lines with clusters and GAP files. The format is
    detected. Treebanks of Universal Dependencies can be given by name, such as
    ud:en_ewt:dev or ud:en_ewt:dev@2.16; attentionology treebanks lists them. By default, the sample treebank is read,
    whose name is 'sample'."""

    text: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """One or more files of plain text to read instead of a treebank. Each line is a paragraph, and an empty line ends a
    document. Each paragraph is one input, unless --segments is given."""

    minimal_pairs: Annotated[tuple[str, ...] | None, arg(metavar="FILE [FILE ...]")] = None
    """One or more files of minimal pairs to read instead of a treebank: JSON Lines as in BLiMP, with sentence_good,
    sentence_bad and UID, or two columns with a tab between them, the acceptable sentence first. 'sample' has 200
    pairs."""

    segments: OptionalNumber = None
    """Divide the text into segments of two consecutive spans, [CLS] a [SEP] b [SEP], and sample N of them at random, or
    take all if there are no more than N. A segment has 128 pieces, or the number given by --max-length. The paper has
    1,000 segments, of which 992 were released."""

    segment_ids: Literal["zeros", "pair"] = "zeros"
    """The segment ids of the second span: zeros, as in the maps of the paper, or those that the tokenizer gives to the
    second text of a pair."""

    format: FormatName = None
    tokens: TreebankWords = "syntactic"

    limit: OptionalNumber = None
    """Read only the first N sentences of a treebank, paragraphs of a text, minimal pairs, or documents of a coreference
    corpus."""

    lenient: Lenient = False
    punctuation: PunctuationNames = ()

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used, or where two options contradict each other."""
        super().check()
        plain = "--text" if self.text else "--minimal-pairs" if self.minimal_pairs else ""
        if plain and self.tokens != "syntactic":
            raise OptionError(f"--tokens is for treebanks and cannot be given together with {plain}")
        if self.segments is not None and not self.text:
            raise OptionError("--segments is for --text, which is not given")
        if self.format is not None:
            check_format(self.format)
            if plain or not self.corpus:
                raise OptionError("--format is for the files of --corpus, which is not given")
        if self.segment_ids != "zeros" and self.segments is None:
            raise OptionError("--segment-ids is for --segments, which is not given")


def files_of(options: CorpusOptions) -> list[str]:
    """Return the paths of the files that are read as a corpus."""
    if options.minimal_pairs:
        return list(options.minimal_pairs)
    return [corpus_path(name) for name in options.corpus or (SAMPLE,)]


def has_trees(options: CorpusOptions) -> bool:
    """Whether the format of the corpus has trees, as CoNLL-U has."""
    from ..corpora_loaders.formats import format_of, get_format

    if options.format is not None:
        return get_format(options.format).has_trees
    return not (options.text or options.minimal_pairs) and all(format_of(file).has_trees for file in files_of(options))


def check_files(options: CorpusOptions) -> None:
    """Check that --corpus and --text are not both given, that neither is empty, and that the files exist."""
    for name in ("corpus", "text", "minimal_pairs"):
        if getattr(options, name) == ():
            raise OptionError(f"{flag(name)} needs at least one name")
    if sum(map(bool, (options.text, options.corpus, options.minimal_pairs))) > 1:
        raise OptionError("give one of --corpus, --text and --minimal-pairs")
    for file in map(Path, options.text or files_of(options)):
        if not file.exists() and not (options.minimal_pairs and str(file) == SAMPLE):
            raise CorpusError("there is no such file", file=file)


def check_analyses(options: CorpusOptions, chosen: Sequence[AnalysisRow]) -> None:
    """Check that analyses fit the corpus, before anything slow happens. The files must exist."""
    of_pairs = [analysis.name for analysis in chosen if analysis.of_pairs]
    if of_pairs and not options.minimal_pairs:
        raise OptionError(f"--analyses {of_pairs[0]} needs --minimal-pairs FILE; in Python, give load_pairs(FILE)")
    of_mentions = next((analysis.name for analysis in chosen if analysis.of_mentions), None)
    other = "--text" if options.text else "--minimal-pairs" if options.minimal_pairs else ""
    if of_mentions and other:
        raise OptionError(f"--analyses {of_mentions} needs a --corpus with mentions, not {other}")
    if of_mentions and options.tokens != "syntactic":
        raise OptionError(f"--tokens surface is not for {of_mentions}, whose mentions consist of syntactic words")
    for name in ("lenient", "punctuation"):
        if getattr(options, name) and other:
            raise OptionError(f"--{name} is for treebanks and coreference corpora, not for {other}")
    if options.tokens != "syntactic" and not has_trees(options):
        raise OptionError("--tokens surface is for CoNLL-U, the only format with multiword tokens")


def _read_as_documents(options: CorpusOptions, chosen: Sequence[AnalysisRow]) -> bool:
    """Whether the corpus is read as documents with mentions, not as sentences."""
    if options.text or options.minimal_pairs:
        return False
    return any(analysis.of_mentions for analysis in chosen) or not has_trees(options)


def read_corpus(options: CorpusOptions, chosen: Sequence[AnalysisRow] = ()) -> Corpus:
    """Read the text, the pairs, the treebank, or the coreference corpus of the options, as the chosen analyses need."""
    from ..corpora_loaders import load_text, load_treebank
    from ..corpora_loaders.documents import load_documents
    from ..corpora_loaders.minimal_pairs import load_pairs

    if options.text:
        return load_text(options.text, limit=options.limit)
    if options.minimal_pairs:
        return load_pairs(options.minimal_pairs, limit=options.limit)
    files = files_of(options)
    of_both = {name: getattr(options, name) for name in ("limit", "format", "lenient", "punctuation")}
    if _read_as_documents(options, chosen):
        return load_documents(files, mentions_needed=any(analysis.of_mentions for analysis in chosen), **of_both)
    return load_treebank(files, tokens=options.tokens, **of_both)


def unmet(options: CorpusOptions, corpus: Corpus) -> list[str]:
    """Return a warning if the corpus has less than the options ask for; otherwise an empty list."""
    asked = options.text or files_of(options)
    if len(asked) > len(corpus.files):
        unread = ", ".join(asked[len(corpus.files) :])
        return [f"--limit was reached before these files were read: {unread}."]
    if options.segments is None or len(corpus) >= options.segments:
        return []
    return [f"{amount(options.segments, 'segments were', 'segment was')} asked for; the text gives {len(corpus):,}."]


def title_of_files(paths: Sequence[str]) -> str:
    """Return a title with the names of the first two corpus files."""
    names = [Path(path).name for path in paths]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def cut_text(
    options: CorpusOptions, text: PlainText, encoder: Encoder, *, max_length: int | None, seed: int
) -> tuple[Segments, pd.DataFrame]:
    """Cut a text into segments of two stretches, and make the table that lists their pieces."""
    import pandas as pd

    from ..extractors import SEGMENT_LENGTH, make_segments

    length = max_length or min(SEGMENT_LENGTH, encoder.max_length or SEGMENT_LENGTH)
    try:
        segments = make_segments(
            encoder, text, options.segments or 1, max_length=length, seed=seed, segment_ids=options.segment_ids
        )
    except CorpusError:  # which is a ValueError
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
