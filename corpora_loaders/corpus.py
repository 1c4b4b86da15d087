"""The base of all corpora: sentences with their files, their relations and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, overload

from .describing import amount, counts_table, named_files
from .enhanced import enhanced_relations
from .errors import CorpusError
from .gate import BlankWords, without_heads_of_blank_words
from .sentence import Sentence
from .tally import CorpusFacts, CorpusFile, Tally
from .tree import cycle_error, cycles


@dataclass(frozen=True, repr=False)
class Corpus(Sequence[Sentence]):
    """A sequence of sentences with their files, their relations and their counts. A slice is a corpus, too.

    Attributes:
        sentences: the sentences, in file order.
        files: one record for each file.
        unit: the name of the inputs, in the plural.
        limit_unit: the name of what a limit on the input counts, in the plural.
        has_heads: whether sentences may have syntactic heads.
        divisible: whether a slice is a corpus again. Otherwise, it has the inputs alone.

    Example:
        >>> from attentionology.corpora_loaders import Corpus, Sentence
        >>> corpus = Corpus((Sentence("s1", ("Good", "morning")), Sentence("s2", ("Thanks",))))
        >>> corpus
        Corpus(2 sentences, 3 words)
        >>> [sentence.id for sentence in corpus]
        ['s1', 's2']
        >>> corpus.counts()
        {'sentences': 2, 'words': 3, 'documents': 0}
    """

    unit: ClassVar[str] = "sentences"
    limit_unit: ClassVar[str] = "sentences"
    has_heads: ClassVar[bool] = True
    divisible: ClassVar[bool] = True

    sentences: Sequence[Sentence]
    files: tuple[CorpusFile, ...] = ()

    @cached_property
    def counted(self) -> CorpusFacts:
        """What is known about all sentences together. Loaded corpora know it; others are read once for it."""
        tally = Tally()
        for sentence in self:
            tally.add(sentence)
        return tally.summarize()

    def knowing(self, **properties: Any) -> Self:
        """Return this corpus, in which the values of these cached properties are set, so that it need not be read."""
        self.__dict__.update(properties)
        return self

    @property
    def relations(self) -> Counter[str]:
        """How often each relation occurs on words that have a head, most frequent first; empty without trees."""
        return self.counted.relations if self.has_heads else Counter()

    @cached_property
    def enhanced_relations(self) -> Counter[str]:
        """How often each enhanced relation occurs (the column DEPS); all sentences are read for it."""
        return enhanced_relations(self)

    def __len__(self) -> int:
        return len(self.sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sentence]: ...
    def __getitem__(self, index: int | slice) -> Sentence | Sequence[Sentence]:
        return self._part(index) if isinstance(index, slice) else self.sentences[index]

    def _part(self, index: slice) -> Sequence[Sentence]:
        """Return a slice, whose records of files tell what it has of them."""
        sentences = self.sentences[index]
        if not self.divisible:
            return sentences
        lengths: dict[Path, list[int]] = {}  # of the sentences of each file
        for sentence in sentences if self.files else ():
            lengths.setdefault(Path(sentence.file or ""), []).append(len(sentence))
        files = []
        for file in self.files:
            if lengths_in_file := lengths.get(Path(file.path)):
                files.append(replace(file, sentences=len(lengths_in_file), words=sum(lengths_in_file)))
        return replace(self, sentences=sentences, files=tuple(files))

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __repr__(self) -> str:
        facts = [*self._amounts(), named_files([file.path for file in self.files])]
        return f"{type(self).__name__}({', '.join(filter(None, facts))})"

    def _repr_html_(self) -> str:
        return counts_table(repr(self), self.counts())

    def _amounts(self) -> list[str]:
        """Return the amounts that `repr` shows, such as ``2 sentences``."""
        return [amount(len(self), self.unit), amount(Corpus.counts(self)["words"], "words")]

    def counts(self) -> dict[str, int]:
        """Numbers of sentences, words and documents, and of blank words and predicted sentences, if there are any."""
        numbers = self.counted.numbers
        some = {name: numbers[name] for name in ("blank_words", "predicted_sentences") if numbers.get(name)}
        return {**{name: numbers.get(name, 0) for name in ("sentences", "words", "documents")}, **some}

    def remarks(self) -> list[str]:
        """What a reader should know about how the corpus was read, one sentence for each remark."""
        return self.remarks_on_words()

    def checked(self) -> Self:
        """Return the corpus, if it can be analyzed, as a loader would have read it.

        Loaded corpora have been checked. Those from Python are checked here, so that they are held to the same.

        Raises:
            CorpusError: the heads of a sentence form a cycle, or too many words are blank.
        """
        if self.files:
            return self
        blank = BlankWords()
        for sentence in self:
            for cycle in cycles(sentence.heads):
                words = [f"{word} {sentence.words[word - 1]!r:.80}" for word in cycle]
                where, line = sentence.file, sentence.line
                raise CorpusError(cycle_error(words), sentence=sentence.id, file=where, line=line)
            blank.add(sentence)
        blank.check()
        sentences = tuple(self._as_loaded(sentence) for sentence in self)
        is_same = all(mine is theirs for mine, theirs in zip(self, sentences, strict=True))
        return self if is_same else replace(self, sentences=sentences)

    def _as_loaded(self, sentence: Sentence) -> Sentence:
        """Return a sentence as a loader would have read it."""
        if sentence.heads and not sentence.relations:
            sentence = replace(sentence, relations=("_",) * len(sentence))
        sentence = without_heads_of_blank_words(sentence)
        return sentence if sentence.punctuation else self.counted.punctuation.mark(sentence)

    def check_trees(self, reader: str, advice: str = "") -> None:
        """Check that there are syntactic heads, which what is named ``reader`` needs; the advice ends the error.

        Raises:
            CorpusError: no word has a head in its sentence. Sentences of one word are trees without one.
        """
        numbers = self.counted.numbers
        if self.relations and (numbers["words_with_head_word"] or not numbers["words_beside_others"]):
            return
        why = "; every head is 0, as in an export without a parse" if self.relations else ""
        file = self.files[0].path if self.files else None
        raise CorpusError(f"no word has a head in its sentence, which {reader} needs{why}{advice}", file=file)

    def checks(self) -> dict[str, Any]:
        """Return what decides whether the corpus can be analyzed, as plain data, for run records."""
        numbers, relations = self.counted.numbers, self.relations
        found: dict[str, Any] = {"blank_words": numbers.get("blank_words", 0)}
        if relations:
            found["words_with_head"] = numbers["words_with_head_word"]
            found["punctuation"] = asdict(self.counted.punctuation)
        return found

    def remarks_on_words(self) -> list[str]:
        """The remarks on blank words, and on annotation that no person has made, if there are any."""
        counts, remarks = Corpus.counts(self), []
        if blank := counts.get("blank_words", 0):
            share = f"{blank:,} of {counts['words']:,}, {100 * blank / counts['words']:.1g} %"
            remarks.append(f"Blank words (_ or [WORD]), of which none is scored: {share}.")
        if predicted := counts.get("predicted_sentences", 0):
            programs = " and ".join(sorted({each.predicted_by for each in self if each.predicted_by}))
            share = f"{predicted:,} of {amount(counts['sentences'], 'sentences')}"
            remarks.append(f"Annotation that {programs} predicted, and no person has checked: {share}.")
        return remarks


class DivisibleCorpus(Corpus):
    """A corpus whose slices are corpora of its class, which tools that check types cannot know of `Corpus`."""

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Sentence | Sequence[Sentence]:
        return super().__getitem__(index)
