"""Which recipe probes are trained with: the one that was asked for, or one that is long enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from .probed_sentence import scored
from .recipe import PAPER, TUNED, Recipe

if TYPE_CHECKING:
    from .splits import Split

RecipeName = Literal["auto", "paper", "tuned"]

FEWEST_STEPS = 3000
"""Steps of training below which one epoch is too short: the probe may then fall below the best single head."""


@dataclass(frozen=True)
class RecipeChanges:
    """Numbers that replace those of a recipe; None keeps the number of the recipe.

    Attributes:
        epochs, learning_rate, weight_decay: as in `attentionology.probes.recipe.Recipe`.

    Example:
        >>> from attentionology.probes.recipe import PAPER
        >>> from attentionology.probes.recipe_choice import RecipeChanges
        >>> RecipeChanges(learning_rate=0.01).applied_to(PAPER).learning_rate
        0.01
    """

    epochs: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None

    def applied_to(self, recipe: Recipe) -> Recipe:
        """A copy of the recipe with these numbers."""
        return replace(recipe, **{name: value for name, value in vars(self).items() if value is not None})


@dataclass(frozen=True)
class RecipeChoice:
    """A recipe, and why it was chosen.

    Attributes:
        name: ``"paper"`` or ``"tuned"``.
        recipe: the recipe, with the changes that were asked for.
        reason: the reason as a phrase, for a reader.
    """

    name: Literal["paper", "tuned"]
    recipe: Recipe
    reason: str

    @property
    def holds_out(self) -> bool:
        """Whether dev sentences are needed to stop by."""
        return self.recipe.patience is not None


def choose_recipe(name: RecipeName, changes: RecipeChanges, cut: Callable[[bool], Sequence[Split]]) -> RecipeChoice:
    """Choose a recipe by its name.

    With ``"auto"`` the recipe of the paper is chosen, unless its one epoch has fewer than `FEWEST_STEPS` steps.
    """

    def choice(chosen: Literal["paper", "tuned"], reason: str) -> RecipeChoice:
        return RecipeChoice(chosen, changes.applied_to({"paper": PAPER, "tuned": TUNED}[chosen]), reason)

    if name != "auto":
        return choice(name, "it was requested")
    if changes.epochs is not None:
        return choice("paper", "the number of epochs was given")
    steps = steps_per_epoch(cut(False))
    if steps >= FEWEST_STEPS:
        return choice("paper", f"one epoch has {steps:,} steps, at least {FEWEST_STEPS:,}")
    took = f"one epoch would have {steps:,} step{'s' if steps != 1 else ''}, fewer than {FEWEST_STEPS:,}"
    if not all(split.dev and any(scored(s).any() for s in split.dev.sentences) for split in cut(True)):
        return choice("paper", f"{took}, but too few sentences to hold some out")
    return choice("tuned", took)


def steps_per_epoch(splits: Sequence[Split]) -> int:
    """The number of steps in one epoch of the split that has the fewest.

    Every training sentence in which any word has a head is one step.
    """
    known = (sum(any(head is not None for head in s.heads) for s in split.train.sentences) for split in splits)
    return min(known, default=0)
