"""One pass over all texts, in which every test sees each batch once and computes one row of numbers per text.

Rows can be merged: the rows of two parts of a corpus together are the rows of the whole. What is drawn at random for a
text depends only on its words, the seed and the test, so batches, order and file names have no effect on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from ....extractors.replaceable.attention_model import AttentionModel, TextState, Words

Values = npt.NDArray[np.float64]
"""One number per text, or per word of a text."""

Rows = dict[str, Values]
"""Columns by name, one value per text of the batch; NaN where a text has none."""


@dataclass(frozen=True, eq=False)
class TextBatch:
    """A batch of texts that a model has read, with its output.

    Attributes:
        model: the model.
        ids: the ids of the texts, unique in the corpus.
        state: the encoded texts, without a graph of gradients.
        probabilities: the probabilities of the classes.
        scores: the importance of each word as a reader is shown it.
        seed: the seed of everything random.
    """

    model: AttentionModel
    ids: tuple[str, ...]
    state: TextState
    probabilities: Float[Tensor, "batch classes"]
    scores: Float[Tensor, "batch n"]
    seed: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def texts(self) -> tuple[Words, ...]:
        """The words of each text."""
        return self.state.texts

    @property
    def alpha(self) -> Float[Tensor, "batch rows n"]:
        """The attention."""
        return self.state.alpha

    @property
    def weights(self) -> Float[Tensor, "batch n"]:
        """The attention to each word, averaged over the rows. (`scores` may rank words by another kind of map.)"""
        return self.alpha.mean(1)

    @property
    def mask(self) -> Bool[Tensor, "batch n"]:
        """True at words."""
        return self.state.mask

    @property
    def predicted(self) -> npt.NDArray[np.int64]:
        """The predicted class of each text, 0-based."""
        return self.probabilities.argmax(-1).numpy()

    def generator(self, index: int, purpose: str) -> np.random.Generator:
        """Return a generator of random numbers for one text and purpose."""
        return generator(" ".join(self.texts[index]), purpose, self.seed)

    def decoded(self, alpha: Float[Tensor, "batch k rows n"]) -> Float[Tensor, "batch k classes"]:
        """Compute the class probabilities under other attention."""
        return self.model.decode(self.state, alpha).double().softmax(-1)


BatchTest = Callable[[TextBatch], Rows]
"""A function that computes columns of a batch of texts."""


def generator(text: str, purpose: str, seed: int) -> np.random.Generator:
    """Return a generator of random numbers that depends on nothing but the three arguments."""
    digest = hashlib.blake2b(f"{seed} {purpose} {text}".encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def read(model: AttentionModel, ids: Sequence[str], texts: Sequence[Words], seed: int = 0) -> TextBatch:
    """Encode a batch of texts and compute the output of the model, which must pay attention to words."""
    with torch.no_grad():
        state = model.encode(texts)
        if state.mask.sum(-1).tolist() != [len(text) for text in texts]:
            raise ValueError("these tests are about words: the model must pay attention to words (level='word')")
        logits = model.decode(state, state.alpha[:, None])[:, 0].double()  # under one attention, the model's own
        return TextBatch(model, tuple(ids), state, logits.softmax(-1), model.scores(state), seed)


def examine_batch(
    model: AttentionModel,
    indices: Sequence[int],
    ids: Sequence[str],
    texts: Sequence[Words],
    tests: Mapping[str, BatchTest],
    seed: int,
) -> pd.DataFrame:
    """Run tests on the texts at some indices as one batch, and return one row per text, labeled by its index."""
    batch = read(model, [ids[i] for i in indices], [texts[i] for i in indices], seed)
    columns: dict[str, object] = {
        "id": list(batch.ids),
        "words": [len(text) for text in batch.texts],
        "predicted": batch.predicted,
        "probability": batch.probabilities.amax(-1).double().numpy(),
        # Without the zeros, a batch of texts without words would have no maximum.
        "max_attention": functional.pad(batch.weights, (0, 1)).amax(-1).double().numpy(),
    }
    for name, test in tests.items():
        rows = test(batch)
        if twice := columns.keys() & rows.keys():
            raise ValueError(f"the test {name!r} gives a column that already exists: {', '.join(sorted(twice))}")
        columns |= rows
    return pd.DataFrame(columns, index=list(indices))


def examine(
    model: AttentionModel,
    ids: Sequence[str],
    texts: Sequence[Words],
    tests: Mapping[str, BatchTest],
    *,
    seed: int = 0,
    workers: int = 1,
    advance: Callable[[int], object] = lambda _: None,
) -> pd.DataFrame:
    """Run tests on all texts.

    Args:
        model: the model whose attention is tested.
        ids: the ids of the texts, which must be unique.
        texts: the words of each text.
        tests: the tests by name. No two of them may have a column of the same name.
        seed: the seed of everything random.
        workers: the number of batches to examine at once, each with the threads of PyTorch. More than one takes a model
            whose methods can run side by side, which those of a transformer cannot.
        advance: called after every batch with the number of its texts.

    Raises:
        ValueError: there is no text, the ids are not unique, or two columns have the same name.

    Returns:
        one row per text in the given order: ``id``, ``words`` (their number), ``predicted`` (the class, 0-based),
        ``probability`` (of that class), ``max_attention``, and the columns of the tests.

    Example:
        >>> from attentionology.analyses import examine, permutation
        >>> from attentionology.probes.classifiers import AttentionClassifier
        >>> texts = [("a", "fine", "film"), ("a", "dull", "film")] * 20
        >>> classifier = AttentionClassifier("average", dimensions=8).fit(texts, ["1", "0"] * 20)
        >>> table = examine(classifier, ["x", "y"], texts[:2], {"permutation": permutation})
        >>> list(table)[:5]
        ['id', 'words', 'predicted', 'probability', 'max_attention']
    """
    if not texts or len(set(ids)) != len(texts):
        raise ValueError("the ids of the texts must be different" if texts else "there is no text to examine")

    def part(indices: list[int]) -> pd.DataFrame:
        table = examine_batch(model, indices, ids, texts, tests, seed)
        advance(len(indices))
        return table

    # Each thread has a number of threads of PyTorch of its own, which begins as that of all cores.
    threads = torch.get_num_threads()
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads,)) as pool:
        parts = list(pool.map(part, model.batches(texts)))
    return pd.concat(parts).sort_index()


def single_words_out(batch: TextBatch, rows: Rows) -> Rows:
    """Replace the values of texts with fewer than two words by NaN, because they have only one possible attention."""
    short = np.array([len(text) < 2 for text in batch.texts])
    return {name: np.where(short, np.nan, column) for name, column in rows.items()}
