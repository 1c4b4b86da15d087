"""How attention classifiers are trained: Adam over batches of texts, the best epoch by the dev texts.

Jain & Wallace's recipe, without what their code does by accident: here the first epoch may be chosen, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn import functional

from attentionology.extractors.replaceable.attention_model import (
    Attend,
    AttentionModel,
    TextState,
    Words,
    probabilities,
)
from attentionology.probes.training import TrainingError

_BLOCK = 50  # batches are cut from stretches of this many batches, sorted by length


@dataclass(frozen=True)
class ClassifierRecipe:
    """How to train.

    Attributes:
        epochs: passes over the texts, at most.
        batch_size: texts per step.
        learning_rate, weight_decay: of Adam with amsgrad; the decay is part of the gradient.
        patience: how many epochs in a row may bring nothing better; the next is the last. None: train to the end.
        clip: bound on the norm of the gradient; None: none.

    Raises:
        ValueError: less than one epoch, or text per step.
    """

    epochs: int = 8
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    patience: int | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError("training takes at least one epoch, and one text per step")


PUBLISHED = ClassifierRecipe()
"""As in the code of Jain & Wallace (2019)."""

IMITATION = ClassifierRecipe(epochs=80, patience=9)
"""For adversaries, as in the code of Wiegreffe & Pinter (2019): until ten epochs bring no lower training loss."""

FINE_TUNING = ClassifierRecipe(epochs=2, learning_rate=3e-5, weight_decay=0.0, clip=1.0)
"""For transformers."""


@runtime_checkable
class Trainable(AttentionModel, Protocol):
    """An attention model that can be trained."""

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """As of `torch.nn.Module`."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """As of `torch.nn.Module`."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> object:
        """As of `torch.nn.Module`."""
        ...


@runtime_checkable
class Regularized(Protocol):
    """A model with wishes of its own about how it is trained."""

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Parameters for an optimizer."""
        ...

    def penalty(self, state: TextState, generator: torch.Generator) -> Float[Tensor, ""]:
        """What its regularizer adds to the loss, summed over the texts."""
        ...


@runtime_checkable
class Objective(Protocol):
    """A loss, summed over the texts of a batch."""

    def __call__(
        self,
        indices: Sequence[int],
        state: TextState,
        alpha: Float[Tensor, "batch rows n"],
        logits: Float[Tensor, "batch classes"],
    ) -> Float[Tensor, ""]:
        """Compute the loss of the training texts with these indices."""
        ...


class CrossEntropy:
    """Cross-entropy with weights that give every class the same say.

    A class weighs as much more as it is rarer, 1 in the mean over the texts (the published ``pos_weight`` of two
    classes, up to a factor that both have).

    Args:
        labels: 0-based class of each training text.
        classes: how many there are.
    """

    def __init__(self, labels: Sequence[int], classes: int) -> None:
        self.labels = torch.tensor(labels, dtype=torch.int64)
        counts = torch.bincount(self.labels, minlength=classes).clamp(min=1)
        self.weights = len(labels) / (classes * counts)

    def __call__(
        self,
        indices: Sequence[int],
        state: TextState,
        alpha: Float[Tensor, "batch rows n"],
        logits: Float[Tensor, "batch classes"],
    ) -> Float[Tensor, ""]:
        """See `Objective`."""
        return functional.cross_entropy(logits, self.labels[list(indices)], weight=self.weights, reduction="sum")


def train(
    model: Trainable,
    texts: Sequence[Words],
    objective: Objective,
    recipe: ClassifierRecipe = PUBLISHED,
    *,
    dev: tuple[Sequence[Words], Sequence[int]] | None = None,
    attend: Attend | None = None,
    seed: int = 0,
    report: Callable[[int, str], object] = lambda done, remark: None,
) -> list[dict[str, Any]]:
    """Train in place; the best epoch is kept: by the dev texts, without them by the training loss.

    Args:
        model: what to train.
        texts: to train on.
        objective: the loss.
        recipe: how.
        dev: texts and their 0-based classes, to choose by ROC-AUC (mean over the classes against all others).
        attend: attention that takes the place of the model's own in every text.
        seed: of the order of texts, and of what a regularizer draws.
        report: called after every step with the number of further texts that are done, and a remark.

    Returns:
        one row per epoch: ``epoch, loss`` (per text), ``dev_auc`` (None without dev texts).

    Raises:
        TrainingError: no texts, or the loss is no longer finite.
    """
    if not texts:
        raise TrainingError("there is no text to learn from")
    groups = (
        model.parameter_groups(recipe.weight_decay)
        if isinstance(model, Regularized)
        else [{"params": list(model.parameters()), "weight_decay": recipe.weight_decay}]
    )
    adam = torch.optim.Adam(groups, recipe.learning_rate, amsgrad=True, fused=True)
    parameters = [parameter for group in adam.param_groups for parameter in group["params"]]
    generator = torch.Generator().manual_seed(seed)
    best, waited, kept = -math.inf, 0, dict[str, Tensor]()
    history: list[dict[str, Any]] = []
    for epoch in range(1, recipe.epochs + 1):
        total = 0.0
        for indices in shuffled_batches(texts, recipe.batch_size, (seed, epoch)):
            state = model.encode([texts[i] for i in indices])
            alpha = model.attention(state)[0] if attend is None else attend(state)
            logits = model.decode(state, alpha[:, None])[:, 0]
            loss = objective(indices, state, alpha, logits)
            if isinstance(model, Regularized):
                loss = loss + model.penalty(state, generator)
            adam.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            if recipe.clip is not None:
                torch.nn.utils.clip_grad_norm_(parameters, recipe.clip)
            adam.step()
            total += loss.item()
            report(len(indices), f"epoch {epoch} loss {loss.item() / len(indices):.3f}")
        if not (math.isfinite(total) and all(parameter.isfinite().all() for parameter in parameters)):
            raise TrainingError(f"the loss of epoch {epoch} is {total}; a lower learning rate may help")
        auc = None if dev is None else mean_auc(probabilities(model, dev[0], attend).numpy(), np.asarray(dev[1]))
        history.append({"epoch": epoch, "loss": total / len(texts), "dev_auc": auc})
        if (value := -total if auc is None else auc) > best:
            best, waited = value, 0
            kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        else:
            waited += 1
            if recipe.patience is not None and waited > recipe.patience:
                break
    model.load_state_dict(kept)
    return history


def mean_auc(probabilities: Float[np.ndarray, "texts classes"], labels: np.ndarray) -> float:
    """ROC-AUC of each class against all others, mean over the classes that some but not all texts have.

    With no such class there is nothing to tell apart: 0.5.
    """
    areas = [
        float(roc_auc_score(labels == c, probabilities[:, c]))
        for c in range(probabilities.shape[1])
        if 0 < (labels == c).sum() < len(labels)
    ]
    return sum(areas) / len(areas) if areas else 0.5


def shuffled_batches(texts: Sequence[Words], size: int, seed: tuple[int, int]) -> Iterator[list[int]]:
    """Indices of texts in random batches of similar length."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(texts))
    batches: list[list[int]] = []
    for first in range(0, len(order), size * _BLOCK):
        stretch = sorted(order[first : first + size * _BLOCK].tolist(), key=lambda i: len(texts[i]))
        batches += [stretch[k : k + size] for k in range(0, len(stretch), size)]
    for index in rng.permutation(len(batches)):
        yield batches[int(index)]
