"""The training of attention classifiers: Adam over batches of texts, and the epoch that is best on the dev texts.

This is the recipe of Jain & Wallace with one difference: their code never chooses the first epoch, which can be chosen
here.
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

from ...extractors.replaceable.attention_model import Attend, AttentionModel, TextState, Words, probabilities
from ..training import TrainingError

_BLOCK = 50
"""Texts are sorted by length within blocks of this many batches, which are then cut into batches."""


@dataclass(frozen=True)
class ClassifierRecipe:
    """The hyperparameters of training.

    Attributes:
        epochs: the largest number of passes over the texts.
        batch_size: the number of texts per step.
        learning_rate, weight_decay: the parameters of Adam with amsgrad; the decay is added to the gradient.
        patience: the number of epochs in a row that may bring no improvement; training stops after one more of them.
            None trains to the end.
        clip: the upper bound on the norm of the gradient; None for no bound.

    Raises:
        ValueError: ``epochs`` or ``batch_size`` is less than 1.
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
"""The recipe in the code of Jain & Wallace (2019)."""

IMITATION = ClassifierRecipe(epochs=80, patience=9)
"""The recipe of adversaries, as in the code of Wiegreffe & Pinter (2019): they train until ten epochs in a row have not
lowered the training loss."""

FINE_TUNING = ClassifierRecipe(epochs=2, learning_rate=3e-5, weight_decay=0.0, clip=1.0)
"""The recipe of fine-tuning a transformer."""


@runtime_checkable
class Trainable(AttentionModel, Protocol):
    """An attention model that can be trained."""

    def parameters(self) -> Iterator[torch.nn.Parameter]: ...  # noqa: D102 see `torch.nn.Module`
    def state_dict(self) -> dict[str, Any]: ...  # noqa: D102
    def load_state_dict(self, state_dict: dict[str, Any]) -> object: ...  # noqa: D102


@runtime_checkable
class RegularizedModel(Protocol):
    """A model that groups its parameters for the optimizer and adds a penalty to the loss."""

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Return the parameter groups of an optimizer."""
        ...

    def penalty(self, state: TextState, generator: torch.Generator) -> Float[Tensor, ""]:
        """Compute what the regularizer adds to the loss, summed over the texts."""
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
    """Cross-entropy in which all classes have the same total weight.

    The weight of a class is inversely proportional to its frequency, and the mean weight of the texts is 1. (For two
    classes this is the published ``pos_weight``, up to a common factor.)

    Args:
        labels: the class of each training text, 0-based.
        classes: the number of classes.
    """

    def __init__(self, labels: Sequence[int], classes: int) -> None:
        self.labels = torch.tensor(labels, dtype=torch.int64)
        counts = torch.bincount(self.labels, minlength=classes).clamp(min=1)  # 1 for a class without texts
        self.weights = len(labels) / (classes * counts)

    def __call__(
        self,
        indices: Sequence[int],
        state: TextState,
        alpha: Float[Tensor, "batch rows n"],
        logits: Float[Tensor, "batch classes"],
    ) -> Float[Tensor, ""]:
        """Compute the weighted loss of the training texts with these indices; see `Objective`."""
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
    """Train a model in place, and keep the weights of its best epoch.

    The best epoch is the one with the highest score on the dev texts or, without dev texts, with the lowest training
    loss.

    Args:
        model, texts, objective, recipe: the model, the training texts, the loss and the hyperparameters.
        dev: the dev texts and their classes, 0-based. Their score is the ROC-AUC, averaged over the classes, each
            against all others.
        attend: attention that replaces the model's own in every text.
        seed: the seed of the order of the texts and of what a regularizer draws.
        report: called after every step with the number of texts in it and a remark.

    Returns:
        one row per epoch: ``epoch``, ``loss`` (per text), and ``dev_auc`` (None without dev texts).

    Raises:
        TrainingError: there are no texts, or the loss is no longer finite.
    """
    if not texts:
        raise TrainingError("there is no text to learn from")
    groups = [{"params": list(model.parameters()), "weight_decay": recipe.weight_decay}]
    if isinstance(model, RegularizedModel):
        groups = model.parameter_groups(recipe.weight_decay)
    adam = torch.optim.Adam(groups, recipe.learning_rate, amsgrad=True, fused=True)
    parameters = [parameter for group in adam.param_groups for parameter in group["params"]]
    generator = torch.Generator().manual_seed(seed)
    best_score, best_weights = -math.inf, dict[str, Tensor]()
    epochs_since_best = 0
    history: list[dict[str, Any]] = []
    for epoch in range(1, recipe.epochs + 1):
        total_loss = 0.0
        for indices in shuffle_batches(texts, recipe.batch_size, (seed, epoch)):
            state = model.encode([texts[i] for i in indices])
            alpha = model.attention(state)[0] if attend is None else attend(state)
            logits = model.decode(state, alpha[:, None])[:, 0]  # of one attention per text
            loss = objective(indices, state, alpha, logits)
            if isinstance(model, RegularizedModel):
                loss = loss + model.penalty(state, generator)
            adam.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            if recipe.clip is not None:
                torch.nn.utils.clip_grad_norm_(parameters, recipe.clip)
            adam.step()
            total_loss += loss.item()
            report(len(indices), f"epoch {epoch} loss {loss.item() / len(indices):.3f}")
        if not (math.isfinite(total_loss) and all(parameter.isfinite().all() for parameter in parameters)):
            raise TrainingError(f"the loss of epoch {epoch} is {total_loss}; a lower learning rate may help")
        dev_auc = None if dev is None else mean_auc(probabilities(model, dev[0], attend).numpy(), np.asarray(dev[1]))
        history.append({"epoch": epoch, "loss": total_loss / len(texts), "dev_auc": dev_auc})
        score = -total_loss if dev_auc is None else dev_auc
        if score > best_score:
            best_score, epochs_since_best = score, 0
            # The optimizer changes the parameters in place.
            best_weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        else:
            epochs_since_best += 1
            if recipe.patience is not None and epochs_since_best > recipe.patience:
                break
    model.load_state_dict(best_weights)
    return history


def mean_auc(probabilities: Float[np.ndarray, "texts classes"], labels: np.ndarray) -> float:
    """Compute the mean ROC-AUC of the classes, each against all others, without those that no or all texts have."""
    # If no class is left, the result is 0.5.
    areas = [
        float(roc_auc_score(labels == c, probabilities[:, c]))
        for c in range(probabilities.shape[1])
        if 0 < (labels == c).sum() < len(labels)
    ]
    return sum(areas) / len(areas) if areas else 0.5


def shuffle_batches(texts: Sequence[Words], size: int, seed: tuple[int, int]) -> Iterator[list[int]]:
    """Yield the indices of the texts in random order, in batches of texts that are about as long as each other."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(texts))
    batches: list[list[int]] = []
    for first in range(0, len(order), size * _BLOCK):
        # Texts of one batch are padded to the longest. Sorting within blocks alone keeps the batches random.
        block = sorted(order[first : first + size * _BLOCK].tolist(), key=lambda index: len(texts[index]))
        batches += [block[start : start + size] for start in range(0, len(block), size)]
    for index in rng.permutation(len(batches)):
        yield batches[int(index)]
