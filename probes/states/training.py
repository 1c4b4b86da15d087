"""How probes of hidden states are trained: Adam over batches, a falling learning rate, and a stop by dev sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from ...extractors.threads import one_thread
from ..checkpoint import Checkpoint, TrainingState
from ..training import Report, TrainingError, shuffle_blocks


@dataclass(frozen=True)
class StateRecipe:
    """How to train a probe of hidden states. The defaults are those of the published code of Hewitt & Manning (2019).

    Attributes:
        epochs: the largest number of passes over the training sentences.
        batch: the number of sentences of a step of Adam.
        learning_rate: the first learning rate of Adam.
        factor: what the learning rate is multiplied by after an epoch that does not lower the dev loss by 0.01 %.
        better: by how much the dev loss must fall for an epoch to be kept.
        patience: after how many epochs in a row that are not kept the training ends.
        shuffle: whether every epoch has a new order.
        judge: what decides which epoch is kept: the dev ``loss``, or the first ``score`` of the probe on the dev
            sentences, which must rise. The learning rate follows the dev loss.

    Raises:
        ValueError: a number cannot be used.

    Example:
        >>> from attentionology.probes import StateRecipe
        >>> StateRecipe(epochs=5, patience=2).learning_rate
        0.001
    """

    epochs: int = 40
    batch: int = 20
    learning_rate: float = 0.001
    factor: float = 0.1
    better: float = 1e-4
    patience: int = 5
    shuffle: bool = True
    judge: Literal["loss", "score"] = "loss"

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.patience) < 1:
            raise ValueError("epochs, batch and patience must be at least 1")
        if not 0 < self.learning_rate < math.inf or not 0 < self.factor <= 1 or not 0 <= self.better < math.inf:
            raise ValueError("learning_rate must be above 0, factor from 0 to 1, and better at least 0")
        if self.judge not in ("loss", "score"):
            raise ValueError(f'judge must be "loss" or "score", not {self.judge!r}')


class DevResult(NamedTuple):
    """What dev sentences say of the parameters after an epoch: sums over some or all of them."""

    loss: float = 0.0
    sentences: int = 0
    score: float = 0.0  # the numerator and the denominator of the score; 0 and 0 if it is not asked for
    of: float = 0.0


class Learner(Protocol):
    """What is trained: parameters, and a loss of each batch of examples."""

    @property
    def module(self) -> nn.Module:
        """Return what has the parameters."""
        ...

    def __len__(self) -> int:
        """Return the number of training sentences."""
        ...

    def loss(self, sentences: Sequence[int]) -> Tensor:
        """Return the sum of the losses of some training sentences."""
        ...

    def dev_results(self) -> Iterator[DevResult]:
        """Yield the results of some dev sentences after others, until there are no more."""
        ...


def train(
    learner: Learner,
    recipe: StateRecipe,
    *,
    seed: int = 0,
    report: Report = lambda _: None,
    checkpoint: Checkpoint | None = None,
) -> list[dict[str, Any]]:
    """Train in place, and return one row per epoch: ``epoch``, ``loss`` and ``dev_loss`` (per sentence), ``rate``,
    and ``dev_score`` if it decides which epoch is kept.

    Without dev sentences, all epochs are made with the first learning rate, and the last one is kept. A training that
    continues from its checkpoint gives the same parameters, bit by bit.
    """
    parameters = dict(learner.module.named_parameters())
    adam = torch.optim.Adam(parameters.values(), recipe.learning_rate)
    state, best = TrainingState(), dict[str, Tensor]()
    if checkpoint and (saved := checkpoint.load()):
        state, tensors = saved
        best = _continue_from(tensors, parameters, adam)
    while not state.done:
        rate = _rate(state.history, recipe)
        for group in adam.param_groups:
            group["lr"] = rate
        state.loss = _epoch(learner, recipe, adam, (seed, state.epoch))
        _close_epoch(state, recipe, rate, _on_dev(learner))
        report(state)
        if not state.waited:
            best = {name: parameter.detach().clone() for name, parameter in parameters.items()}
        if state.done:
            with torch.no_grad():
                for name, parameter in parameters.items():
                    parameter.copy_(best[name])
        if checkpoint and (state.done or checkpoint.due()):
            checkpoint.save(state, _tensors(parameters, adam, best))
    return state.history


def _epoch(learner: Learner, recipe: StateRecipe, adam: torch.optim.Adam, key: tuple[int, int]) -> float:
    """Make an epoch, and return its mean loss per sentence."""
    order = range(len(learner))
    numbers = list(shuffle_blocks(order, key)) if recipe.shuffle else list(order)
    total = 0.0
    for start in range(0, len(numbers), recipe.batch):
        chosen = numbers[start : start + recipe.batch]
        with one_thread():
            adam.zero_grad()
            summed = learner.loss(chosen)
            (summed / len(chosen)).backward()  # type: ignore[no-untyped-call]
            adam.step()
        total += float(summed.detach())
    return total / len(numbers)


def _on_dev(learner: Learner) -> DevResult:
    """Return the sums over all dev sentences."""
    with torch.inference_mode(), one_thread():
        results = list(learner.dev_results())
    return DevResult(*map(sum, zip(*results, strict=True))) if results else DevResult()


def _close_epoch(state: TrainingState, recipe: StateRecipe, rate: float, dev: DevResult) -> None:
    """Note how the epoch ended, and whether there is another."""
    dev_loss = dev.loss / dev.sentences if dev.sentences else None
    judged = state.loss if dev_loss is None else dev_loss
    if not math.isfinite(judged):
        raise TrainingError(f"the loss is {judged} after {state.epoch + 1} epochs; a lower learning rate may help")
    row: dict[str, Any] = {"epoch": state.epoch + 1, "loss": state.loss, "dev_loss": dev_loss, "rate": rate}
    value, better = dev_loss, recipe.better  # what must fall, and by how much
    if recipe.judge == "score" and dev.of:
        row["dev_score"] = dev.score / dev.of
        value, better = -row["dev_score"], 0.0
    state.history.append(row)
    state.epoch += 1
    if value is None or state.best is None or value < state.best - better:
        state.best, state.waited = value, 0
    else:
        state.waited += 1
    state.done = state.epoch >= recipe.epochs or state.waited >= recipe.patience


def _rate(history: Sequence[dict[str, Any]], recipe: StateRecipe) -> float:
    """Return the learning rate after some epochs, as `torch.optim.lr_scheduler.ReduceLROnPlateau` without patience."""
    # The moments of Adam stay as they are, as in the published code. The paper says that the optimizer is reset.
    rate, lowest = recipe.learning_rate, math.inf
    for row in history:
        if row["dev_loss"] is None:
            continue
        if row["dev_loss"] < lowest * (1 - 1e-4):
            lowest = row["dev_loss"]
        else:
            rate *= recipe.factor
    return rate


def _tensors(parameters: dict[str, nn.Parameter], adam: torch.optim.Adam, best: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return all tensors that training continues from."""
    tensors = {f"best.{name}": tensor for name, tensor in best.items()}
    for name, parameter in parameters.items():
        tensors[f"now.{name}"] = parameter.detach()
        tensors |= {f"adam.{key}.{name}": value for key, value in adam.state[parameter].items()}
    return tensors


def _continue_from(
    tensors: dict[str, Tensor], parameters: dict[str, nn.Parameter], adam: torch.optim.Adam
) -> dict[str, Tensor]:
    """Put tensors that `_tensors` returned back, and return the parameters of the best epoch."""
    best: dict[str, Tensor] = {}
    with torch.no_grad():
        for key, tensor in tensors.items():
            kind, _, name = key.partition(".")
            if kind == "best":
                best[name] = tensor
            elif kind == "now":
                parameters[name].copy_(tensor)
            else:
                moment, _, name = name.partition(".")
                adam.state[parameters[name]][moment] = tensor
    return best
