"""Documents with mentions, the common form of all coreference corpora.

Example:
    >>> from attentionology.corpora_loaders.coreference import TYPES, ZERO
    >>> TYPES, ZERO
    (('pronoun', 'proper', 'nominal'), 'zero')
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from ...storage.writing import running_text
from ..describing import amount, quote_shortened
from ..sentence import Sentence

TYPES = ("pronoun", "proper", "nominal")
"""The types of mentions that have words; see `attentionology.corpora_loaders.coreference.types`."""

ZERO = "zero"
"""The type of a mention that has no words, because it consists of empty nodes only."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of a document that refers to an entity. Words are counted from 0 through the whole document.

    Attributes:
        spans: half-open ranges of words, more than one only if the mention is discontinuous. A mention without words
            has one empty range, which tells where it is.
        entity: the name of the entity, unique within the document.
        head: the head word, None if the mention has no words or its head word is blank.
        type: one of `TYPES`, or `ZERO`.
        minspan: the words of the smallest form of the mention, if the file has them.
        line: the line of its opening bracket, or of its row.

    Example:
        >>> from attentionology.corpora_loaders.coreference import Mention
        >>> Mention(((3, 5), (7, 8)), entity="e1", head=4, type="nominal").words
        (3, 4, 7)
    """

    spans: tuple[tuple[int, int], ...]
    entity: str
    head: int | None
    type: str
    minspan: tuple[int, ...] = ()
    line: int | None = None

    @property
    def start(self) -> int:
        """The first word."""
        return self.spans[0][0]

    @property
    def stop(self) -> int:
        """The word after the last word."""
        return self.spans[-1][1]

    @property
    def words(self) -> tuple[int, ...]:
        """All words of the mention."""
        return tuple(word for start, stop in self.spans for word in range(start, stop))


@dataclass(frozen=True, slots=True)
class PronounQuestion:
    """A mention that is to be resolved to one of a few candidates, before or after it (GAP, WinoBias).

    The right candidates are those of the same entity; if there are none, the question has no answer.

    Attributes:
        anaphor: the mention to be resolved.
        candidates: the mentions to choose from.

    Example:
        >>> from attentionology.corpora_loaders.coreference import Mention, PronounQuestion
        >>> she = Mention(((4, 5),), entity="e1", head=4, type="pronoun")
        >>> ann = Mention(((0, 1),), entity="e1", head=0, type="proper")
        >>> PronounQuestion(she, candidates=(ann,)).has_answer
        True
    """

    anaphor: Mention
    candidates: tuple[Mention, ...]

    @property
    def has_answer(self) -> bool:
        """Whether a candidate is right."""
        return any(candidate.entity == self.anaphor.entity for candidate in self.candidates)


@dataclass(frozen=True, repr=False)
class Document:
    """A document: its sentences and its mentions.

    Attributes:
        id: the id of the document, unique within a corpus.
        sentences: the sentences in order.
        mentions: the mentions in the order of their first words. Of mentions that start with the same word, the shorter
            comes first.
        head_rule, type_rule: descriptions of how the heads and types of mentions were found.
        questions: the questions of a benchmark, such as GAP. None means that every mention is to be resolved to one of
            the mentions before it.
        labels: the groups of documents, among those that the benchmark compares, to which the document belongs.
        family: the name of a group of near copies, which are resampled and held out together; empty if there are none.
        file, line: the file, and the line where the document starts.
        mentioned_again, rest_has_features: of the beginning of a document (`beginning_of`), the entities that are
            mentioned again after it, and whether words after it have morphological features.

    Example:
        >>> from attentionology import Sentence
        >>> from attentionology.corpora_loaders.coreference import Document, Mention
        >>> sentence = Sentence("s1", ("Ann", "said", "she", "slept"))
        >>> ann = Mention(((0, 1),), entity="e1", head=0, type="proper")
        >>> she = Mention(((2, 3),), entity="e1", head=2, type="pronoun")
        >>> document = Document("d1", (sentence,), (ann, she))
        >>> document
        Document('d1', 1 sentence, 4 words, 2 mentions)
        >>> document.chains, document.text(she)
        ({'e1': (0, 1)}, 'she')
    """

    id: str
    sentences: tuple[Sentence, ...]
    mentions: tuple[Mention, ...]
    head_rule: str = ""
    type_rule: str = ""
    questions: tuple[PronounQuestion, ...] | None = None
    labels: tuple[str, ...] = ()
    family: str = ""
    file: str | None = None
    line: int | None = None
    mentioned_again: frozenset[str] = frozenset()
    rest_has_features: bool = False

    def __repr__(self) -> str:
        sentences, mentions = amount(len(self.sentences), "sentences"), amount(len(self.mentions), "mentions")
        return f"Document({quote_shortened(self.id)}, {sentences}, {amount(len(self.words), 'words')}, {mentions})"

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of all sentences."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first word of each sentence."""
        return sentence_starts(self.sentences)

    @cached_property
    def chains(self) -> dict[str, tuple[int, ...]]:
        """The indices of the mentions of each entity."""
        chains: dict[str, list[int]] = {}
        for index, mention in enumerate(self.mentions):
            chains.setdefault(mention.entity, []).append(index)
        return {entity: tuple(indices) for entity, indices in chains.items()}

    @cached_property
    def anaphors(self) -> frozenset[int]:
        """The indices of the mentions that follow another mention of their entity."""
        return frozenset(index for chain in self.chains.values() for index in chain[1:])

    def starting(self, start: int, stop: int) -> range:
        """The indices of the mentions that start between the words ``start`` and ``stop`` (half-open)."""
        first = bisect_left(self.mentions, start, key=lambda mention: mention.start)
        return range(first, bisect_left(self.mentions, stop, key=lambda mention: mention.start))

    def sentence_of(self, word: int) -> int:
        """The index of the sentence that contains a word."""
        return bisect_right(self.starts, word) - 1

    @property
    def has_features(self) -> bool:
        """Whether words have morphological features."""
        has_some = any(feats not in ("_", "") for sentence in self.sentences for feats in sentence.feats)
        return has_some or self.rest_has_features

    def is_singleton(self, mention: Mention) -> bool:
        """Whether the document has no other mention of the same entity."""
        return len(self.chains[mention.entity]) == 1 and mention.entity not in self.mentioned_again

    def text(self, mention: Mention) -> str:
        """The words of a mention, with … between the parts of a discontinuous one."""
        return " … ".join(running_text(self.words[start:stop]) for start, stop in mention.spans)


def beginning_of(document: Document, stop: int) -> Document:
    """Return the sentences and mentions of a document that are needed to resolve mentions before a word.

    Words and mentions keep their indices, and the same mentions are anaphors or singletons as in the document. A
    document that comes with questions is returned as it is.
    """
    if document.questions is not None:
        return document
    n_mentions = len(document.starting(0, stop))
    mentions = document.mentions[:n_mentions]
    last_stop = max([stop, *(mention.stop for mention in mentions)])  # mentions may go beyond the word
    sentences = document.sentences[: bisect_left(document.starts, last_stop)]
    if len(sentences) == len(document.sentences) and len(mentions) == len(document.mentions):
        return document
    # The chains of these entities begin among the mentions that are kept, and end among the others.
    mentioned_again = (entity for entity, chain in document.chains.items() if chain[0] < n_mentions <= chain[-1])
    return replace(
        document,
        sentences=sentences,
        mentions=mentions,
        mentioned_again=frozenset(mentioned_again),
        rest_has_features=document.has_features,
    )


def sentence_starts(sentences: tuple[Sentence, ...]) -> tuple[int, ...]:
    """Return the first word of each sentence, counted through the document."""
    return tuple(accumulate(map(len, sentences), initial=0))[:-1]


@dataclass
class Account:
    """Counts of what a reader encountered but did not turn into mentions."""

    faults: int = 0  # malformed brackets that were ignored, see `load_documents`
    repeated: int = 0  # mentions that repeat another one with the same words and the same entity
    split_antecedents: int = 0  # mentions that refer to several entities together
    bridges: int = 0  # bridging links
