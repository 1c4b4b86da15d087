"""How probes are trained: softmax over the candidate heads of every word, Adam, one sentence at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..corpora_loaders import AttentionologyError
from ..extractors import MapBatch
from ..extractors.threads import one_thread
from .checkpoint import Checkpoint, TrainingState
from .probed_sentence import ProbedSentence, gold_heads, probed_sentences, scored, uas
from .recipe import Recipe
from .scorers import Scorer

Item = TypeVar("Item")

_DEV_EVERY = 2500  # sentences of the first epoch; after it, one score per epoch is enough
_BLOCK = 1024  # sentences are shuffled within blocks, because maps on disk are read block by block


class TrainingError(AttentionologyError, ValueError):
    """A probe that cannot be trained on what it was given."""


Report = Callable[[TrainingState], object]
"""Called with the state after every sentence and after every epoch."""


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
    """Train a scorer in place and return its history, see `attentionology.probes.TrainingState`.

    The loss is the cross-entropy of the candidates, summed over the words of one sentence that have a head; every
    sentence is one step of Adam.
    """
    if recipe.patience is not None and dev is None:
        raise ValueError("patience takes dev sentences")
    if recipe.shuffle and not isinstance(batches, Sequence):
        raise ValueError("shuffling takes a sequence of batches, not a stream; make it a list")
    # With as few numbers as a probe has, the fused step takes less than half the time of the others.
    adam = torch.optim.AdamW(scorer.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True)
    state = TrainingState()
    best = dict[str, Tensor]()  # the parameters of the best epoch
    if checkpoint and (saved := checkpoint.load()):
        state, tensors = saved
        _restore(scorer, adam, tensors)
        best = _of_kind("best", tensors)
    while not state.done:
        order: Iterable[MapBatch] = batches
        if recipe.shuffle and isinstance(batches, Sequence):
            # The order depends on the number of the epoch and not on the epochs before, so that a training which
            # continues from its checkpoint reads the sentences in the same order.
            order = shuffle_blocks(batches, (seed, state.epoch))
        _epoch(scorer, adam, order, state, dev, report, checkpoint, best)
        if dev is not None:
            state.dev_uas = _dev_uas(scorer, dev)
            if state.best is None or state.dev_uas > state.best:
                state.best, state.waited = state.dev_uas, 0
                # Without copies, the weights of the best epoch would change with the next step.
                best = {name: parameter.detach().clone() for name, parameter in scorer.named_parameters()}
            else:
                state.waited += 1
        report(state)
        _close_epoch(state, recipe)
        if state.done and recipe.patience is not None:
            _assign(scorer, best)
        if checkpoint and (state.done or checkpoint.due()):
            checkpoint.save(state, _tensors(scorer, adam, best))
    return state.history


def _epoch(
    scorer: Scorer,
    adam: torch.optim.Optimizer,
    batches: Iterable[MapBatch],
    state: TrainingState,
    dev: Iterable[MapBatch] | None,
    report: Report,
    checkpoint: Checkpoint | None,
    best: dict[str, Tensor],
) -> None:
    """Train on the sentences of an epoch that are not done yet; for the best parameters see `train`."""
    n_done = state.sentences
    # A training that continues passes over the sentences that it has learned from already.
    for example in islice(probed_sentences(batches), n_done, None):
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
    """Return the attachment score on the dev sentences."""
    score = uas(dev, (scores.argmax(1) for scores in scores_of(scorer, dev)))
    if math.isnan(score):
        raise TrainingError("the dev sentences have no word with a head but punctuation")
    return score


def _step(scorer: Scorer, adam: torch.optim.Optimizer, example: ProbedSentence, state: TrainingState) -> None:
    """Make one step on one sentence; a sentence in which no word has a head is left out."""
    state.sentences += 1
    gold = gold_heads(example.sentence)
    n_with_head = len(gold) - example.sentence.heads.count(None)
    if not n_with_head:
        return
    with np.errstate(over="ignore", invalid="ignore"):  # an error is raised below
        scores, loss = scorer.learn(example, gold)
    adam.step()
    if not math.isfinite(loss):
        message = f"the loss of sentence {example.sentence.id!r} is {loss}"
        if not example.maps.isfinite().all():
            raise TrainingError(f"{message}, because its maps hold values that are not finite numbers")
        raise TrainingError(f"{message}; a lower learning rate may help")
    is_scored = scored(example.sentence)
    state.words += n_with_head
    state.loss += loss
    state.counted += int(is_scored.sum())
    state.correct += int((scores.argmax(1) == gold)[is_scored].sum())


def _close_epoch(state: TrainingState, recipe: Recipe) -> None:
    """Add the row of the epoch to the history and begin the next one."""
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
    """Return all tensors that training continues from, by name: those of the best epoch, the scorer and Adam."""
    tensors = {f"best.{name}": tensor for name, tensor in best.items()}
    for name, parameter in scorer.named_parameters():
        tensors[f"scorer.{name}"] = parameter.detach()
        tensors |= {f"adam.{key}.{name}": value for key, value in adam.state[parameter].items()}
    return tensors


def _restore(scorer: Scorer, adam: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put the tensors that `_tensors` returned back into the scorer and Adam."""
    _assign(scorer, _of_kind("scorer", tensors))
    parameters = dict(scorer.named_parameters())
    for name, tensor in _of_kind("adam", tensors).items():
        key, _, parameter = name.partition(".")
        adam.state[parameters[parameter]][key] = tensor


def _of_kind(kind: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors of `_tensors` that are of one kind, ``best``, ``scorer`` or ``adam``, without this prefix."""
    prefix = f"{kind}."
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _assign(scorer: Scorer, values: dict[str, Tensor]) -> None:
    """Set all parameters of a scorer."""
    with torch.no_grad():
        for name, parameter in scorer.named_parameters():
            parameter.copy_(values[name])


def shuffle_blocks(items: Sequence[Item], seed: tuple[int, int]) -> Iterator[Item]:
    """Yield items in random order: blocks of 1,024 in random order, and the items of each block in random order."""
    rng = np.random.default_rng(seed)
    n_blocks = -(-len(items) // _BLOCK)  # rounded up
    for block in rng.permutation(n_blocks):
        first = int(block) * _BLOCK
        for offset in rng.permutation(min(_BLOCK, len(items) - first)):
            yield items[first + int(offset)]


def scores_of(scorer: Scorer, batches: Iterable[MapBatch]) -> Iterator[Float[np.ndarray, "words candidates"]]:
    """Return the score of every candidate for every word, sentence by sentence; candidate 0 is ROOT."""
    for example in probed_sentences(batches):
        with torch.inference_mode(), one_thread():  # not around the yield, where the caller would be in it too
            scores = scorer(example).numpy()
        yield scores
