"""How a probe is trained: the recipe that was asked for, or one that is long enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from .probed_sentence import scored

if TYPE_CHECKING:
    from .splits import Split


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

RecipeName = Literal["auto", "paper", "tuned"]

FEWEST_STEPS = 3000
"""Steps of training below which one epoch is too short: the probe may then fall below the best single head."""


@dataclass(frozen=True)
class RecipeChoice:
    """A recipe with the changes that were asked for, and the reason for it as a phrase for a reader."""

    name: Literal["paper", "tuned"]
    recipe: Recipe
    reason: str

    @property
    def holds_out(self) -> bool:
        """Whether dev sentences are needed to stop by."""
        return self.recipe.patience is not None


def choose_recipe(
    name: RecipeName, changes: Mapping[str, float | None], cut: Callable[[bool], Sequence[Split]]
) -> RecipeChoice:
    """Choose a recipe by its name, and change the numbers that are not None.

    With ``"auto"`` the recipe of the paper is chosen, unless its one epoch has fewer than `FEWEST_STEPS` steps. ``cut``
    returns the splits, given whether dev sentences are held out.
    """

    def choice(chosen: Literal["paper", "tuned"], reason: str) -> RecipeChoice:
        numbers: dict[str, Any] = {key: value for key, value in changes.items() if value is not None}
        return RecipeChoice(chosen, replace({"paper": PAPER, "tuned": TUNED}[chosen], **numbers), reason)

    if name != "auto":
        return choice(name, "it was requested")
    if changes["epochs"] is not None:
        return choice("paper", "the number of epochs was given")
    steps = steps_per_epoch(cut(False))
    if steps >= FEWEST_STEPS:
        return choice("paper", f"one epoch has {steps:,} steps, at least {FEWEST_STEPS:,}")
    too_short = f"one epoch would have {steps:,} step{'s' if steps != 1 else ''}, fewer than {FEWEST_STEPS:,}"
    for split in cut(True):
        if not split.dev or not any(scored(sentence).any() for sentence in split.dev.sentences):
            return choice("paper", f"{too_short}, but too few sentences to hold some out")
    return choice("tuned", too_short)


def steps_per_epoch(splits: Sequence[Split]) -> int:
    """Return the number of steps in one epoch of the split that has the fewest."""
    # Every training sentence in which any word has a head is one step.
    steps = []
    for split in splits:
        has_head = (any(head is not None for head in sentence.heads) for sentence in split.train.sentences)
        steps.append(sum(has_head))
    return min(steps, default=0)
