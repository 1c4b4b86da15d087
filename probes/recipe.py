"""How a probe is to be trained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """How to train.

    Attributes:
        epochs: passes over the training sentences, at most.
        learning_rate: of Adam.
        weight_decay: decoupled from the gradient (AdamW).
        shuffle: whether to draw a new order for every epoch (which takes a sequence of batches, not a stream).
        patience: how many epochs in a row may bring no better score on the dev sentences; the next such epoch is the
            last, and the best is taken. None: train to the end, and take that.

    Raises:
        ValueError: less than one epoch.
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
"""One epoch in the order of the file (published code of Clark et al. 2019)."""

TUNED = Recipe(epochs=20, weight_decay=1e-4, shuffle=True, patience=2)
"""Until the score on the dev sentences no longer rises."""
