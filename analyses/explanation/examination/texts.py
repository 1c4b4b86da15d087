"""Labeled texts by their roles: training, choosing the epoch, and testing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ....corpora_loaders import CorpusError, LabeledTexts, load_labeled
from ....extractors import AttentionModel, TransformerAttention, Words, WordsWithQuery
from ....extractors.replaceable.attention_model import query_of
from ....probes.classifiers import AttentionClassifier
from ...counting.resampling import sentence_keys
from .options import ExplainOptions, Loaded

TESTED_SHARE, DEV_SHARE = 0.2, 0.1
_READ = {"words": "texts without queries", "queries": "texts with queries", "sentences": "documents of sentences"}


@dataclass(frozen=True)
class SkippedText:
    """A text that the model cannot read."""

    role: str
    id: str
    file: str | None
    line: int | None
    reason: str


@dataclass(frozen=True)
class ExplainTexts:
    """The texts by role. Without training, there are neither texts to train on nor those that decide on the epoch."""

    train: LabeledTexts | None
    dev: LabeledTexts | None
    test: LabeledTexts
    read: int  # the number of texts to test before the limit was applied
    lengths: dict[str, tuple[int, int]] = field(default_factory=dict)  # left out as too short and as too long, by role
    held_out: tuple[str, ...] = ()  # the roles whose texts were held out from the training texts
    skipped: tuple[SkippedText, ...] = ()  # the model cannot read them

    def roles(self) -> dict[str, LabeledTexts]:
        """Return the texts of each role that has texts."""
        texts = {"train": self.train, "dev": self.dev, "test": self.test}
        return {role: part for role, part in texts.items() if part is not None}

    def overlap(self, role: str = "train") -> int:
        """Count the tested texts of more than three words that also occur, word for word, in another role."""
        others = self.roles().get(role)
        seen = set() if others is None else set(words_of(others))
        return sum(len(text) > 3 and text in seen for text in words_of(self.test))


def words_of(texts: LabeledTexts) -> list[Words]:
    """Return the words of each text, which carry those of its query if it has one."""
    if not texts.queries:
        return [text.words for text in texts]
    return [WordsWithQuery(text.words, query) for text, query in zip(texts, texts.queries, strict=True)]


def read_texts(options: ExplainOptions, loaded: Loaded) -> ExplainTexts:
    """Read the texts, filter them by length, hold out the roles that were not given, and apply the limit."""
    # Which texts are held out depends on a hash of their words, so that equal texts end up on the same side.
    texts, lengths = _given_texts(options, loaded)
    held_out = []
    if "train" in texts:
        _check_classes(texts["train"])
        for role, share in (("test", TESTED_SHARE), ("dev", DEV_SHARE)):
            if role not in texts:
                texts[role], texts["train"] = _cut(texts["train"], share, options.seed, role)
                held_out.append(role)
                if not texts[role] or not texts["train"]:
                    message = f"too few texts to hold some out as {role} texts; give others with --{role} FILE"
                    raise CorpusError(message, file=(options.texts.data or (None,))[0])
        _check_labels(texts, held_out)
    test = _limit(texts["test"], options.texts.limit, options.seed)
    return ExplainTexts(texts.get("train"), texts.get("dev"), test, len(texts["test"]), lengths, tuple(held_out))


def _given_texts(options: ExplainOptions, loaded: Loaded) -> tuple[dict[str, LabeledTexts], dict[str, tuple[int, int]]]:
    """Return the texts that were given for each role, and how many of them were left out as too short and too long."""
    choice = options.texts
    texts: dict[str, LabeledTexts] = {}
    left_out: dict[str, tuple[int, int]] = {}
    for role, files, loaded_texts in (
        ("train", choice.data, loaded.data),
        ("dev", choice.dev, loaded.dev),
        ("test", choice.test, loaded.test),
    ):
        if not files and loaded_texts is None:
            continue
        all_texts = _read(options, files or ()) if loaded_texts is None else loaded_texts.checked()
        texts[role], n_short, n_long = all_texts.kept(choice.min_words, choice.max_words)
        left_out[role] = (n_short, n_long)
        # One model reads the texts of all roles, so they must be of the kind of those of the first role.
        kind, first_kind = texts[role].reads, next(iter(texts.values())).reads
        problem = ""
        if not texts[role]:
            problem = "no text has the length that is asked for" if len(all_texts) else "there is no text in it"
        elif kind != first_kind:
            problem = f"some files have {_READ[first_kind]}, and others have {_READ[kind]}"
        if problem:
            raise CorpusError(problem, file=files[0] if files else "")
    return texts, left_out


def _read(options: ExplainOptions, files: Sequence[str]) -> LabeledTexts:
    """Read labeled texts as the options say; blank lines are between documents for the hierarchical classifier."""
    choice = options.texts
    blocks = options.classifier.encoder == "han" and options.model.model is None
    text, label, query = choice.text_column, choice.label_column, choice.query_column
    return load_labeled(files, text=text, label=label, query=query, blocks=blocks)


def _limit(texts: LabeledTexts, limit: int | None, seed: int) -> LabeledTexts:
    """Return the texts with the smallest hashes of their words, in the order of the file, different texts first."""
    # Several pairs of one text, such as a premise with several hypotheses, depend on each other and are resampled
    # together. A second pair of a text is therefore sampled only after the first ones of all texts.
    if limit is None or len(texts) <= limit:
        return texts
    keys = sentence_keys([" ".join(text.words) for text in texts], seed)
    of_queries = sentence_keys([" ".join(query) for query in texts.queries], seed) if texts.queries else keys
    order = np.lexsort((of_queries, keys))  # texts with the same words follow each other
    _, starts, numbers = np.unique(keys[order], return_index=True, return_counts=True)
    occurrence = np.arange(len(order)) - np.repeat(starts, numbers)  # 0 for the first pair of each text
    return texts.subset(sorted(order[np.lexsort((keys[order], occurrence))][:limit].tolist()))


def _cut(texts: LabeledTexts, share: float, seed: int, role: str) -> tuple[LabeledTexts, LabeledTexts]:
    """Return the texts that are held out for a role, about a share of all, and the others."""
    keys = sentence_keys([f"{role} {' '.join(text.words)}" for text in texts], seed)
    is_held_out = keys < np.uint64(int(share * 2**64))  # keys are uniform below 2**64
    return texts.subset(np.flatnonzero(is_held_out).tolist()), texts.subset(np.flatnonzero(~is_held_out).tolist())


def _check_classes(train: LabeledTexts) -> None:
    """Check that there are two classes to learn."""
    if len(train.classes) < 2:
        raise CorpusError(
            f"all training texts have the label {train.labels[0]!r}; a classifier needs two classes",
            file=train.files[0].path,
        )


def _check_labels(texts: dict[str, LabeledTexts], held_out: Sequence[str]) -> None:
    """Check that all labels of dev and test texts occur in the training texts that are left, given texts by role."""
    _check_classes(texts["train"])
    classes = texts["train"].classes
    for role in ("dev", "test"):
        for text, label in zip(texts[role], texts[role].labels, strict=True):
            if label not in classes:
                message = f"the label {label!r} does not occur in training, where there are: {_list_names(classes)}"
                if role in held_out:
                    message = f"all texts of the class {label!r} are held out; give others with --{role} FILE"
                raise CorpusError(message, file=text.file, line=text.line)


def class_numbers(texts: LabeledTexts, classes: Sequence[str]) -> list[int]:
    """Return the index of the class of each text, 0-based."""
    # A label is the name of a class, or its index if the labels are numbers and the names of the classes are not.
    numbers = {name: index for index, name in enumerate(classes)}
    if not set(texts.labels) <= numbers.keys():
        numbers = {str(index): index for index in range(len(classes))}
    for text, label in zip(texts, texts.labels, strict=True):
        if label not in numbers:
            message = f"the label {label!r} is none of the model's classes: {_list_names(classes)}"
            raise CorpusError(message, file=text.file, line=text.line)
    return [numbers[label] for label in texts.labels]


def _list_names(names: Sequence[str]) -> str:
    """Return the first ten names for a message, and how many others there are."""
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def without_unreadable(texts: ExplainTexts, model: AttentionModel) -> ExplainTexts:
    """Leave out the texts that a model cannot read, and list them as skipped."""
    if not isinstance(model, TransformerAttention):
        return texts
    kept: dict[str, LabeledTexts] = {}
    skipped: list[SkippedText] = []
    for role, part in texts.roles().items():
        reasons = model.readable(words_of(part))
        if part and all(reasons):
            message = f"the model can read none of the texts: {reasons[0]}"
            raise CorpusError(message, file=part[0].file, line=part[0].line)
        for text, reason in zip(part, reasons, strict=True):
            if reason:
                skipped.append(SkippedText(role, text.id, text.file, text.line, reason))
        kept[role] = part.subset([index for index, reason in enumerate(reasons) if reason is None])
    return replace(texts, train=kept.get("train"), dev=kept.get("dev"), test=kept["test"], skipped=tuple(skipped))


def check_read(texts: ExplainTexts, model: AttentionModel) -> None:
    """Raise `CorpusError` if a classifier reads texts of another kind, or a transformer is given documents."""
    of_model = model.reads if isinstance(model, AttentionClassifier) else "words"
    of_texts = texts.test.reads
    # Transformers and models from Python read texts with and without queries.
    if of_texts != of_model and (isinstance(model, AttentionClassifier) or of_texts == "sentences"):
        message = f"these are {_READ[of_texts]}, and the model reads {_READ[of_model]}"
        raise CorpusError(message, file=texts.test[0].file)


def digest(texts: LabeledTexts) -> str:
    """Return a hash of the words, queries and labels of all texts."""
    hashed = hashlib.sha256()
    for text, label in zip(words_of(texts), texts.labels, strict=True):
        query = ("\x1e", *query_of(text)) if isinstance(text, WordsWithQuery) else ()  # set apart from the words
        hashed.update("\x1f".join((label, *text, *query)).encode() + b"\n")
    return hashed.hexdigest()
