"""How a probe is to be trained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """How to train a probe.

    Attributes:
        epochs: the largest number of passes over the training sentences.
        learning_rate: learning rate of Adam.
        weight_decay: weight decay, decoupled from the gradient (AdamW).
        shuffle: whether every epoch has a new order, which takes a sequence of batches and no stream.
        patience: how many epochs in a row may bring no better score on the dev sentences. The next such epoch is the
            last one, and the weights of the best epoch are kept. None: train to the end and keep the last weights.

    Raises:
        ValueError: there is less than one epoch.

    Example:
        >>> from dataclasses import replace
        >>> from attentionology.probes import TUNED, Recipe
        >>> Recipe(epochs=2).learning_rate
        0.002
        >>> replace(TUNED, epochs=5)
        Recipe(epochs=5, learning_rate=0.002, weight_decay=0.0001, shuffle=True, patience=2)
    """

    epochs: int = 1
    learning_rate: float = 0.002
    weight_decay: float = 0.0
    shuffle: bool = False
    patience: int | None = None

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1, not {self.epochs}")


PAPER = Recipe()
"""One epoch in the order of the file, as in the published code of Clark et al. (2019)."""

TUNED = Recipe(epochs=20, weight_decay=1e-4, shuffle=True, patience=2)
"""Up to 20 epochs, until the score on the dev sentences no longer rises."""
