"""Coreference corpora of all formats: documents, and what is known about all of them together."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from .coreference.document import TYPES, ZERO, Account, Document
from .coreference.in_corpus import MarkedDocuments, RenamedDocuments, mark_document, rename_document, sentences_of
from .corpus import Corpus
from .describing import amount
from .errors import CorpusError
from .formats import FORMATS, format_of, get_format
from .punctuation import MARKING, Punctuation
from .sample import SAMPLE_TREEBANK
from .stream import HELD, Files, Parts, Stream, read_files
from .tally import Tally
from .unique_names import UniqueNames

HELD_IN_DOCUMENTS = 4 * HELD
"""The largest number of sentences of documents that are held: more than of a treebank, because documents take longer to
read, and all of a document must be read even if the model reads only its first window."""

_NUMBER = re.compile(r"(#[0-9]+)+\Z")  # that is appended to an id that has occurred before

_COUNTED = (
    *("mentions", "entities", "entities_mentioned_again", "singletons"),
    *(f"mentions_{kind}" for kind in (*TYPES, ZERO)),
    *("mentions_discontinuous", "mentions_across_sentences"),
)


@dataclass
class DocumentFacts:
    """What is known about all documents together. It is counted document by document, and holds none of them."""

    counts: Counter[str] = field(default_factory=Counter)  # those of `Documents.counts` that depend on mentions
    head_rules: set[str] = field(default_factory=set)
    type_rules: set[str] = field(default_factory=set)
    families: Counter[str] = field(default_factory=Counter)  # the number of documents of each family of near copies
    groups: set[tuple[str, ...]] = field(default_factory=set)  # the distinct labels of documents
    # Mentions to resolve that have words, by the labels of their documents and their types. Some may not be scored.
    asked: Counter[tuple[tuple[str, ...], str]] = field(default_factory=Counter)
    with_questions: int = 0  # documents that come with questions
    with_features: int = 0  # documents that have morphological features
    anaphors: int = 0  # mentions to resolve; those of a question count if a candidate is right
    anaphors_without_words: int = 0
    unanswered: int = 0  # questions without a right candidate
    repeated: int = 0  # documents that have the id, but for an appended number, and the words of an earlier one
    digests: set[bytes] = field(default_factory=set, repr=False)  # of ids and words

    def add(self, document: Document) -> None:
        """Count a document."""
        mentions, counts = document.mentions, self.counts
        id_and_words = repr((_NUMBER.sub("", document.id), document.words))
        digest = hashlib.blake2b(id_and_words.encode(errors="surrogatepass"), digest_size=16).digest()
        self.repeated += digest in self.digests
        self.digests.add(digest)
        counts["mentions"] += len(mentions)
        for chain in document.chains.values():
            counts["entities"] += 1
            counts["entities_mentioned_again" if len(chain) > 1 else "singletons"] += 1
        for mention in mentions:
            counts[f"mentions_{mention.type}"] += 1
            counts["mentions_discontinuous"] += len(mention.spans) > 1
            if mention.type != ZERO:
                first_sentence, last_sentence = map(document.sentence_of, (mention.start, mention.stop - 1))
                counts["mentions_across_sentences"] += first_sentence != last_sentence
        self.head_rules.add(document.head_rule)
        self.type_rules.add(document.type_rule)
        self.groups.add(document.labels)
        self.with_features += document.has_features
        if document.family:
            self.families[document.family] += 1
        if document.questions is None:
            asked = [mentions[index] for index in document.anaphors]
            self.anaphors_without_words += sum(mention.head is None for mention in asked)
        else:
            asked = [question.anaphor for question in document.questions if question.has_answer]
            self.with_questions += 1
            self.unanswered += len(document.questions) - len(asked)
        self.anaphors += len(asked)
        self.asked.update((document.labels, mention.type) for mention in asked if mention.head is not None)


@dataclass(frozen=True, repr=False)
class Documents(Corpus):
    """A coreference corpus: documents, and the sentences of all documents in order.

    Attributes:
        documents: the documents, in file order.
        account: counts of what was not used.
        renamed: the number of documents whose id had occurred before, so that ``#2``, ``#3``, … was appended to it.

    Example:
        >>> from attentionology import load_documents
        >>> load_documents("sample")
        Documents(10 documents, 157 sentences, 2,809 words, 584 mentions, 'en_sample.conllu')
    """

    limit_unit: ClassVar[str] = "documents"
    tokens: ClassVar[str] = "syntactic"
    divisible: ClassVar[bool] = False

    documents: Sequence[Document] = ()
    account: Account = field(default_factory=Account)
    renamed: int = 0

    @cached_property
    def facts(self) -> DocumentFacts:
        """What is known about all documents together."""
        facts = DocumentFacts()
        for document in self.documents:
            facts.add(document)
        return facts

    def _amounts(self) -> list[str]:
        return [
            amount(len(self.documents), "documents"),
            amount(len(self), self.unit),
            amount(super().counts()["words"], "words"),
            amount(self.facts.counts["mentions"], "mentions"),
        ]

    def counts(self) -> dict[str, int]:
        """Numbers of documents, entities, mentions of each type, and mentions with unusual properties."""
        return {
            **super().counts(),
            "documents": len(self.documents),
            **{name: self.facts.counts[name] for name in _COUNTED},
            "mentions_repeated": self.account.repeated,
            "malformed_brackets": self.account.faults,
            "split_antecedents": self.account.split_antecedents,
            "bridges": self.account.bridges,
            "renamed_documents": self.renamed,
            **({"repeated_documents": self.facts.repeated} if self.facts.repeated else {}),
        }

    def remarks(self) -> list[str]:
        """Remarks on how mentions were read, and on what was ignored."""
        counts, facts = self.counts(), self.facts
        again = counts["entities_mentioned_again"]
        remarks = [
            f"{amount(counts['mentions'], 'mentions')} of {amount(counts['entities'], 'entities', 'entity')} in "
            f"{amount(counts['documents'], 'documents')}; {amount(again, 'entities are', 'entity is')} mentioned more "
            "than once.",
            *(f"Heads of mentions: {rule}." for rule in sorted(facts.head_rules)),
            *(f"Types of mentions: {rule}." for rule in sorted(facts.type_rules)),
            *self.remarks_on_words(),
            *(self.counted.punctuation.remarks() if self.relations else ()),
        ]
        if winobias := [size for family, size in facts.families.items() if family.startswith("WinoBias")]:
            unpaired = winobias.count(1)
            remarks += [
                f"Of {amount(sum(winobias), 'documents')} of WinoBias only the right occupation is marked; the other "
                "was found by the paper's list of forty.",
                f"Sentences of WinoBias that differ in the pronoun alone are sampled and held out together: "
                f"{amount(len(winobias) - unpaired, 'pairs')}; "
                f"{amount(unpaired, 'sentences have', 'sentence has')} no counterpart.",
            ]
        remark_of = {
            "mentions_zero": "Mentions on empty nodes, without words: {}.",
            "mentions_discontinuous": "Mentions with gaps: {}.",
            "mentions_across_sentences": "Mentions that go beyond a sentence: {}.",
            "mentions_repeated": "Mentions marked twice, counted once: {}.",
            "malformed_brackets": "Malformed brackets, ignored: {}.",
            "split_antecedents": "Mentions with split antecedents, a link that is not used: {}.",
            "bridges": "Bridging links, not used: {}.",
            "renamed_documents": "Document ids that occurred before, to which a number was appended: {}.",
            "repeated_documents": "Documents with the id and the words of an earlier one, which count once more: {}.",
        }
        return remarks + [text.format(f"{counts[name]:,}") for name, text in remark_of.items() if counts.get(name)]


def load_documents(
    paths: str | Path | Iterable[str | Path],
    *,
    lenient: bool = False,
    limit: int | None = None,
    mentions_needed: bool = True,
    format: str | None = None,  # noqa: A002  # the name of the option
    punctuation: Sequence[str] = (),
) -> Documents:
    """Read coreference corpora with CoNLL-2012 columns, in CoNLL-U with ``Entity=``, or in the format of GAP.

    The format of each file is detected. All errors of the files are found at once. The documents of small corpora are
    held in memory; those of others are read again whenever they are asked for, see
    `attentionology.corpora_loaders.stream`. A single document is always held as a whole, because its mentions may
    refer to any of its words: a CoNLL-U file without ``newdoc`` is one document.

    Args:
        paths: one file or several, which may be compressed with gzip, bzip2, xz or zip. ``"sample"`` is the corpus
            that comes with the toolkit; a file of this name is ``./sample``.
        lenient: whether malformed brackets are ignored and counted, instead of raising an error.
        limit: read at most this many documents.
        mentions_needed: whether a file without any mention is an error.
        format: the name of a format, see `attentionology.corpora_loaders.list_formats`. Default: it is detected.
        punctuation: the relations and parts of speech that mark punctuation, see
            `attentionology.corpora_loaders.load_treebank`.

    Raises:
        ValueError: no file is given, or the limit is less than 1.
        CorpusError: a file cannot be read or has no mention, or two files are the same; see also the readers of the
            formats.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology import load_documents
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "novel.conll")
        ...     _ = path.write_text("#begin document (novel)\\nAnn (1)\\nsaid -\\nshe (1)\\nslept -\\n#end document\\n")
        ...     documents = load_documents(path)
        >>> documents
        Documents(1 document, 1 sentence, 4 words, 2 mentions, 'novel.conll')
        >>> [(mention.spans, mention.entity, mention.type) for mention in documents.documents[0].mentions]
        [(((0, 1),), '1', 'proper'), (((2, 3),), '1', 'pronoun')]
    """
    if format is not None:
        get_format(format)  # so that an unknown one is noticed before files are read
    account, tally, facts = Account(), Tally(punctuation), DocumentFacts()
    named = Punctuation("names", tuple(punctuation)) if punctuation else Punctuation()
    unique_documents, unique_sentences = UniqueNames(), UniqueNames()
    sentence_ends = array("Q")  # for each document the number of sentences of the corpus up to its end
    have_mentions = bytearray()  # for each document whether it has mentions

    def add(document: Document) -> Document:
        facts.add(document)
        document = mark_document(document, named)
        have_mentions.append(bool(document.mentions))
        ids = [unique_sentences(tally.add(sentence).id) for sentence in document.sentences]
        sentence_ends.append(tally.sentences)
        return rename_document(document, unique_documents(document.id), ids)

    files, records, held_documents = read_files(
        SAMPLE_TREEBANK if paths == "sample" else paths,
        partial(read_documents, account=account),
        add,
        tally,
        contents="document",
        options=(lenient, format),
        limit=limit,
        hold=HELD_IN_DOCUMENTS,  # with more sentences than these, no document is held
    )
    start = 0  # the index of the first document of the file
    for file in files:
        file.read = read_documents  # without the account, so that reading again does not count again
        if mentions_needed and not any(have_mentions[start : start + len(file)]):
            *first_forms, last_form = (known.mentions for known in FORMATS if known.mentions)
            expected = f"{', '.join(first_forms)}, or {last_form}"
            raise CorpusError(f"the file contains no mentions; expected {expected}", file=file.path)
        start += len(file)
    is_renamed = unique_documents.renamed or unique_sentences.renamed
    renamed = (
        RenamedDocuments(sentence_ends, unique_documents.numbers, unique_sentences.numbers) if is_renamed else None
    )
    rename: RenamedDocuments | MarkedDocuments | None = renamed
    counted = tally.summarize()
    if counted.punctuation.rule in MARKING:
        rename = MarkedDocuments(counted.punctuation, renamed)
        held_documents = tuple(mark_document(document, counted.punctuation) for document in held_documents)
    documents = Stream(Files(files, rename), held=held_documents)
    return Documents(
        sentences=Stream(Parts(documents, sentence_ends, sentences_of)),
        files=records,
        documents=documents,
        account=account,
        renamed=unique_documents.renamed,
    ).knowing(counted=counted, facts=facts)


def read_documents(
    path: str, place: Any, lenient: bool, name: str | None, account: Account | None = None
) -> Iterator[tuple[Document, Any]]:
    """Yield the documents of a file, whose format is detected if ``name`` is None. See `ReadFile`."""
    corpus_format = format_of(path) if name is None else get_format(name)
    return corpus_format.read_documents(path, account or Account(), lenient=lenient, place=place)
