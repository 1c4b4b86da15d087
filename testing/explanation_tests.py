"""The contract of an explanation test: what `check_explanation_test` checks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..analyses.explanation.attention.batch import Rows, read
from ..analyses.explanation.contract.explanation_test import PROBABILITY, SHARE, TVD, ExplanationTest
from ..analyses.explanation.contract.options import ExplanationTestOptions
from ..analyses.explanation.contract.registry import check_tests, registered_tests
from ..probes.classifiers import AttentionClassifier
from ..storage.plugins import RegistryError
from .failing import allow_own_errors, fail
from .names import HOSTILE

_WORDS = (("dull", "cold", "clumsy", "awful"), ("warm", "funny", "moving", "clever"))
_NOUNS = ("film", "story", "play", "book")
_DRAWS, _STEPS = 5, 3
_LEAST = {SHARE: 0, TVD: 0, PROBABILITY: -1}
"""The least value of each unit whose largest value is 1. A column may be a difference of probabilities."""

_FLOAT32 = 1e-6
_CLOSE: Any = {"rtol": 1e-3, "atol": 1e-4}


def check_explanation_test(test: ExplanationTest, options: ExplanationTestOptions | None = None) -> None:
    """Check that an explanation test keeps the contract of what it computes text by text, its ``examine``.

    Its columns are declared, and those that it names exist. The values of a text are the same in batches of any size
    and order and under any id, and again. Texts of one word and words of any characters are read. Shares and
    probabilities are from 0 to 1. What a test does with other models, in ``compare``, is not checked.

    Args:
        test: the test. It need not be registered.
        options: the options; by default few draws and steps.

    Raises:
        AssertionError: the test does not keep the contract. The message says what is wrong, and what to do.
        RegistryError: its columns, figures or options do not fit those of other tests, or are not there.

    Example:
        >>> from attentionology.analyses import Column, ExplanationTest
        >>> lengths = ExplanationTest(
        ...     name="lengths",
        ...     heading="How long are the texts?",
        ...     columns={"n_words": Column("words", "words")},
        ...     examine=lambda batch, options: {"n_words": batch.mask.sum(1).numpy().astype(float)},
        ... )
        >>> check_explanation_test(lengths)
    """
    options = options or ExplanationTestOptions(draws=_DRAWS, steps=_STEPS)
    if not isinstance(test, ExplanationTest):
        raise RegistryError(f"{test!r:.80} is no ExplanationTest")
    check_tests([*(known for name, known in registered_tests().items() if name != test.name), test])
    with allow_own_errors("on short texts", refuses=False):
        reason = test.impossible(_classifier(), options)
        if reason is not None:
            return  # it is for other models
        expected = _examine(test, options, [range(len(_texts()))])
    test.check_declared(expected)
    for name, values in expected.items():
        if len(values) != len(_texts()):
            fail(f"The column {name!r} has {len(values)} values for {len(_texts())} texts", "Give one value per text")
        column = test.columns[name]
        known = values[~np.isnan(values)]
        if np.isinf(known).any():
            fail(f"The column {name!r} has infinite values", "Give NaN for a text that has no value")
        least = _LEAST.get(column.unit, -np.inf)
        if np.isfinite(least) and known.size and (known.min() < least - _FLOAT32 or known.max() > 1 + _FLOAT32):
            what = f"The column {name!r} has the unit {column.unit!r}, and values that are not from {least} to 1"
            fail(what, "Divide them, or name another unit")
    backward = range(len(_texts()))[::-1]
    advice = "Leave out padding (batch.mask), and draw at random with batch.generator(index, purpose)"
    for when, batches, prefix in (
        ("if it is run again", [range(len(_texts()))], "text"),
        ("if the texts have other ids", [range(len(_texts()))], "other"),
        ("if each text is a batch of its own", [[index] for index in range(len(_texts()))], "text"),
        ("if the texts come in another order", [backward], "text"),
    ):
        with allow_own_errors(when, refuses=False):
            found = _examine(test, options, batches, prefix)
        for name, values in expected.items():
            if not np.allclose(found[name], values, equal_nan=True, **_CLOSE):
                fail(f"The column {name!r} has other values {when}", advice)


@functools.cache
def _texts() -> tuple[tuple[str, ...], ...]:
    """Return texts of several lengths, some of one word, some with names that mean something elsewhere."""
    texts = [(word,) * (1 + number % 2) for words in _WORDS for number, word in enumerate(words)]
    texts += [("the", noun, "is", word) for words in _WORDS for word in words for noun in _NOUNS]
    return (*texts, *((name, "is", _WORDS[number % 2][0]) for number, name in enumerate(HOSTILE[::4])))


@functools.cache
def _classifier() -> AttentionClassifier:
    """Return a small classifier, which was trained on the texts."""
    labels = [str(int(any(word in _WORDS[1] for word in text))) for text in _texts()]
    return AttentionClassifier("lstm", dimensions=6, size=6).fit(_texts(), labels)


def _examine(
    test: ExplanationTest, options: ExplanationTestOptions, batches: Sequence[Sequence[int]], prefix: str = "text"
) -> Rows:
    """Return what a test computes of all texts, in their order, in the batches given."""
    rows: dict[str, dict[int, float]] = {}
    for indices in batches:
        texts = [_texts()[index] for index in indices]
        batch = read(_classifier(), [f"{prefix}{index}" for index in indices], texts)
        for name, values in test.examine(batch, options).items():
            if len(values) != len(texts):
                return {name: np.asarray(values)}
            rows.setdefault(name, {}).update(zip(indices, map(float, values), strict=True))
    return {name: np.array([values[index] for index in sorted(values)]) for name, values in rows.items()}
