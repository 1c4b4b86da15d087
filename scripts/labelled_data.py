"""Which labelled texts ``attentionology explain`` trains on, chooses by, and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from attentionology.analyses.shared.resampling import sentence_keys
from attentionology.corpora_loaders import CorpusError, LabelledTexts, load_labelled

if TYPE_CHECKING:
    from attentionology.extractors import Words
    from attentionology.scripts.explain import Explain

TESTED_SHARE, DEV_SHARE = 0.2, 0.1


@dataclass
class Data:
    """Texts by role.

    Attributes:
        train, dev: None where nothing is trained.
        test: those to be tested.
        read: how many texts there were to test, before the limit.
        lengths: by role how many were left out as too short and too long.
        held_out: roles that were cut from the training texts.
    """

    train: LabelledTexts | None
    dev: LabelledTexts | None
    test: LabelledTexts
    read: int
    lengths: dict[str, tuple[int, int]] = field(default_factory=dict)
    held_out: tuple[str, ...] = ()

    def roles(self) -> dict[str, LabelledTexts]:
        """What there is."""
        found = {"train": self.train, "dev": self.dev, "test": self.test}
        return {role: texts for role, texts in found.items() if texts is not None}

    def overlap(self, role: str = "train") -> int:
        """How many tested texts of more than three words also occur, word for word, in training (or dev)."""
        others = self.roles().get(role)
        seen = set() if others is None else {text.words for text in others}
        return sum(len(text) > 3 and text.words in seen for text in self.test)


def words_of(texts: LabelledTexts) -> list[Words]:
    """The words of each text."""
    return [text.words for text in texts]


def read_data(options: Explain) -> Data:
    """Read, filter by length, hold out what was not given, and limit.

    What is held out is chosen by a hash of the words, so that equal texts end up on the same side.

    Raises:
        CorpusError: a file cannot be read, there are too few texts, or labels do not fit together.
    """
    lengths: dict[str, tuple[int, int]] = {}
    given: dict[str, LabelledTexts] = {}
    for role, files in (("train", options.data), ("dev", options.dev), ("test", options.test)):
        if files:
            found = load_labelled(files, text=options.text_column, label=options.label_column)
            given[role], *out = found.kept(options.min_words, options.max_words)
            lengths[role] = (out[0], out[1])
            if not given[role]:
                raise CorpusError(
                    "there is no text in it" if not len(found) else "no text has the length that is asked for",
                    file=files[0],
                )
    held_out = []
    if "train" in given:
        _check_classes(given["train"])
        for role, share in (("test", TESTED_SHARE), ("dev", DEV_SHARE)):
            if role not in given:
                given[role], given["train"] = _cut(given["train"], share, options.seed, role)
                held_out.append(role)
                if not given[role] or not given["train"]:
                    message = f"too few texts to hold some out as {role} texts; give others with --{role} FILE"
                    raise CorpusError(message, file=(options.data or ("",))[0])
        _check_labels(given, held_out)
    test = given["test"]
    return Data(given.get("train"), given.get("dev"), _limited(test, options), len(test), lengths, tuple(held_out))


def _cut(texts: LabelledTexts, share: float, seed: int, role: str) -> tuple[LabelledTexts, LabelledTexts]:
    keys = sentence_keys([f"{role} {' '.join(text.words)}" for text in texts], seed)
    out = keys < np.uint64(int(share * 2**64))
    return texts.subset(np.flatnonzero(out).tolist()), texts.subset(np.flatnonzero(~out).tolist())


def _limited(test: LabelledTexts, options: Explain) -> LabelledTexts:
    if options.limit is None or len(test) <= options.limit:
        return test
    order = np.argsort(sentence_keys([" ".join(text.words) for text in test], options.seed), kind="stable")
    return test.subset(sorted(order[: options.limit].tolist()))


def _check_classes(train: LabelledTexts) -> None:
    if len(train.classes) < 2:
        raise CorpusError(
            f"all training texts have the label {train.labels[0]!r}; a classifier needs two classes",
            file=train.files[0].path,
        )


def _check_labels(given: dict[str, LabelledTexts], held_out: Sequence[str]) -> None:
    _check_classes(given["train"])
    classes = given["train"].classes
    for role in ("dev", "test"):
        for text, label in zip(given[role], given[role].labels, strict=True):
            if label not in classes and role in held_out:
                message = f"all texts of the class {label!r} are among those held out; give others with --{role} FILE"
                raise CorpusError(message, file=text.file, line=text.line)
            if label not in classes:
                raise CorpusError(
                    f"the label {label!r} does not occur in training, where there are: {listed(classes)}",
                    file=text.file,
                    line=text.line,
                )


def class_numbers(texts: LabelledTexts, classes: Sequence[str]) -> list[int]:
    """0-based class of each text: by name, or by number where the labels are numbers and the classes are not.

    Raises:
        CorpusError: a label that is neither.
    """
    numbers = {name: place for place, name in enumerate(classes)}
    if not set(texts.labels) <= numbers.keys():
        numbers = {str(place): place for place in range(len(classes))}
    for text, label in zip(texts, texts.labels, strict=True):
        if label not in numbers:
            raise CorpusError(
                f"the label {label!r} is none of the model's classes: {listed(classes)}", file=text.file, line=text.line
            )
    return [numbers[label] for label in texts.labels]


def listed(names: Sequence[str]) -> str:
    """At most ten names."""
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
