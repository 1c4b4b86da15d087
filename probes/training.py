"""How probes are trained: softmax over the candidate heads of every word, Adam, one sentence at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attentionology.corpora_loaders import AttentionologyError
from attentionology.extractors import MapBatch
from attentionology.probes.examples import Example, examples, gold_heads, scored, uas
from attentionology.probes.recipe import Recipe
from attentionology.probes.scorers import Scorer
from attentionology.storage.cache_log import CacheLog
from attentionology.storage.sealed import DamagedError, cache_name
from attentionology.storage.tensors import read_tensors, write_tensors

Item = TypeVar("Item")

_DEV_EVERY = 2500  # sentences of the first epoch; after that a score per epoch tells enough
_BLOCK = 1024  # sentences are shuffled within stretches, which maps on disk are read by


@dataclass
class State:
    """Where training stands; what a checkpoint holds besides the weights.

    Attributes:
        epoch: 0-based.
        sentences: how many of this epoch are done.
        words, loss: how many words they have, and their summed loss.
        correct, counted: of the words that count, how many were right before the step on their sentence.
        dev_uas: the last score on the dev sentences.
        best: the best of them.
        waited: epochs since the best.
        history: one row per epoch: ``epoch, loss`` (per word), ``train_uas, dev_uas``.
        done: whether training has ended.
    """

    epoch: int = 0
    sentences: int = 0
    words: int = 0
    loss: float = 0.0
    correct: int = 0
    counted: int = 0
    dev_uas: float | None = None
    best: float | None = None
    waited: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    done: bool = False


class TrainingError(AttentionologyError, ValueError):
    """A probe that cannot be trained on what it was given."""


Report = Callable[[State], object]


@dataclass
class Checkpoint:
    """A file that training goes on from after an interruption, to the same weights to the last bit.

    Attributes:
        path: the file.
        every: seconds between two savings.
        cache_log: notes a checkpoint that was damaged and thrown away, and one that may not be written.
        resumed: whether training went on from the file.
    """

    path: Path
    every: float = 10.0
    cache_log: CacheLog = field(default_factory=CacheLog)
    resumed: bool = False
    _last: float = field(default_factory=time.monotonic)

    def load(self) -> tuple[State, dict[str, Tensor]] | None:
        """What was saved; None if nothing was, or the file is damaged, which throws it away.

        Raises:
            StorageError: the file cannot be read, or is damaged and cannot be deleted.
        """
        saved = self.cache_log.read(self.path, self._read)
        self.resumed = saved is not None
        return saved

    @staticmethod
    def _read(path: Path) -> tuple[State, dict[str, Tensor]]:
        tensors, facts = read_tensors(path, cache_name(path))
        try:
            return State(**facts), tensors
        except TypeError as error:
            raise DamagedError(f"another version wrote it ({error})") from error

    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self._last >= self.every

    def save(self, state: State, tensors: dict[str, Tensor]) -> None:
        """Save, unless the cache is read-only.

        Raises:
            StorageError: the file cannot be written, for another reason.
        """
        self.cache_log.keep(self.path, lambda: write_tensors(self.path, tensors, vars(state), cache_name(self.path)))
        self._last = time.monotonic()


def train(
    scorer: Scorer,
    batches: Iterable[MapBatch],
    recipe: Recipe,
    *,
    seed: int = 0,
    dev: Iterable[MapBatch] | None = None,
    report: Report = lambda _: None,
    checkpoint: Checkpoint | None = None,
) -> list[dict[str, Any]]:
    """Train in place; returns the history, see `State`.

    The loss is the cross-entropy of the candidates, summed over the words of one sentence that have a head; every
    sentence is one step of Adam.

    Args:
        scorer: what to train.
        batches: word maps; read once per epoch.
        recipe: how.
        seed: of the order of sentences.
        dev: to choose the best epoch, if the recipe has patience, and to report.
        report: told after every sentence and epoch.
        checkpoint: go on from it, and keep it.

    Raises:
        ValueError: to shuffle something that is no sequence, or patience without dev sentences.
        TrainingError: there is nothing to learn from, or the loss is no longer finite.
    """
    if recipe.patience is not None and dev is None:
        raise ValueError("patience takes dev sentences")
    if recipe.shuffle and not isinstance(batches, Sequence):
        raise ValueError("shuffling takes a sequence of batches, not a stream; make it a list")
    adam = torch.optim.AdamW(scorer.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True)
    state, best = State(), dict[str, Tensor]()
    if checkpoint and (found := checkpoint.load()):
        state, tensors = found
        _restore(scorer, adam, tensors)
        best = {name.removeprefix("best."): t for name, t in tensors.items() if name.startswith("best.")}
    while not state.done:
        order: Iterable[MapBatch] = batches
        if recipe.shuffle and isinstance(batches, Sequence):
            order = shuffled(batches, (seed, state.epoch))
        _epoch(scorer, adam, order, state, dev, report, checkpoint, best)
        if dev is not None:
            state.dev_uas = _dev_uas(scorer, dev)
            if state.best is None or state.dev_uas > state.best:
                state.best, state.waited = state.dev_uas, 0
                best = {name: p.detach().clone() for name, p in scorer.named_parameters()}
            else:
                state.waited += 1
        report(state)
        _close_epoch(state, recipe)
        if state.done and recipe.patience is not None:
            _assign(scorer, best)
        if checkpoint and (state.done or checkpoint.due()):
            checkpoint.save(state, _tensors(scorer, adam, best))
    return state.history


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread: faster on matrices this small, and the same on machines with other numbers of cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _epoch(
    scorer: Scorer,
    adam: torch.optim.Optimizer,
    batches: Iterable[MapBatch],
    state: State,
    dev: Iterable[MapBatch] | None,
    report: Report,
    checkpoint: Checkpoint | None,
    best: dict[str, Tensor],
) -> None:
    """What is left of an epoch."""
    skip = state.sentences
    for example in islice(examples(batches), skip, None):
        with one_thread():
            _step(scorer, adam, example, state)
        if dev is not None and state.epoch == 0 and state.sentences % _DEV_EVERY == 0:
            state.dev_uas = _dev_uas(scorer, dev)
        report(state)
        if checkpoint and checkpoint.due():
            checkpoint.save(state, _tensors(scorer, adam, best))
    if not state.words:
        raise TrainingError("there is no word with a head to learn from")


def _dev_uas(scorer: Scorer, dev: Iterable[MapBatch]) -> float:
    score = uas(dev, (scores.argmax(1) for scores in scores_of(scorer, dev)))
    if math.isnan(score):
        raise TrainingError("the dev sentences have no word with a head but punctuation")
    return score


def _step(scorer: Scorer, adam: torch.optim.Optimizer, example: Example, state: State) -> None:
    """One sentence: loss, gradient, step; a sentence without any head is left out."""
    state.sentences += 1
    gold = gold_heads(example.sentence)
    known = len(gold) - example.sentence.heads.count(None)
    if not known:
        return
    with np.errstate(over="ignore", invalid="ignore"):  # said below
        scores, loss = scorer.learn(example, gold)
    adam.step()
    if not math.isfinite(loss):
        what = f"the loss of sentence {example.sentence.id!r} is {loss}"
        if not example.maps.isfinite().all():
            raise TrainingError(f"{what}, because its maps hold values that are not finite numbers")
        raise TrainingError(f"{what}; a lower learning rate may help")
    counts = scored(example.sentence)
    state.words += known
    state.loss += loss
    state.counted += int(counts.sum())
    state.correct += int((scores.argmax(1) == gold)[counts].sum())


def _close_epoch(state: State, recipe: Recipe) -> None:
    """Write the row of the epoch and begin the next."""
    state.history.append(
        {
            "epoch": state.epoch + 1,
            "loss": state.loss / state.words,
            "train_uas": state.correct / state.counted if state.counted else None,
            "dev_uas": state.dev_uas,
        }
    )
    state.epoch += 1
    state.sentences = state.words = state.correct = state.counted = 0
    state.loss = 0.0
    out_of_patience = recipe.patience is not None and state.waited > recipe.patience
    state.done = state.epoch >= recipe.epochs or out_of_patience


def _tensors(scorer: Scorer, adam: torch.optim.Optimizer, best: dict[str, Tensor]) -> dict[str, Tensor]:
    """All that training goes on from, by name."""
    tensors = {f"best.{name}": tensor for name, tensor in best.items()}
    for name, parameter in scorer.named_parameters():
        tensors[f"scorer.{name}"] = parameter.detach()
        tensors |= {f"adam.{key}.{name}": value for key, value in adam.state[parameter].items()}
    return tensors


def _restore(scorer: Scorer, adam: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The inverse of `_tensors`, in place."""
    _assign(scorer, {name.removeprefix("scorer."): t for name, t in tensors.items() if name.startswith("scorer.")})
    for name, parameter in scorer.named_parameters():
        for full, tensor in tensors.items():
            kind, _, rest = full.partition(".")
            key, _, owner = rest.partition(".")
            if kind == "adam" and owner == name:
                adam.state[parameter][key] = tensor


def _assign(scorer: Scorer, values: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in scorer.named_parameters():
            parameter.copy_(values[name])


def shuffled(items: Sequence[Item], seed: tuple[int, int]) -> Iterator[Item]:
    """Items in random order: stretches of 1,024 one after the other at random, and at random within each."""
    rng = np.random.default_rng(seed)
    for block in rng.permutation(-(-len(items) // _BLOCK)):
        first = int(block) * _BLOCK
        for place in rng.permutation(min(_BLOCK, len(items) - first)):
            yield items[first + int(place)]


def scores_of(scorer: Scorer, batches: Iterable[MapBatch]) -> Iterator[Float[np.ndarray, "words candidates"]]:
    """Score of every candidate for every word, sentence by sentence; candidate 0 is ROOT."""
    for example in examples(batches):
        with torch.inference_mode(), one_thread():  # not around the yield, where the caller would be in it too
            scores = scorer(example).numpy()
        yield scores
