"""Which recipe ``attentionology probe`` trains with: the one that was asked for, or one that is long enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from attentionology.probes import PAPER, TUNED, Recipe, scored

if TYPE_CHECKING:
    from attentionology.scripts.probe import Probe as Options
    from attentionology.scripts.splits import Split

FEWEST_STEPS = 3000
"""Steps of training below which one epoch is too short: the probe may then fall below the best single head."""


@dataclass(frozen=True)
class RecipeChoice:
    """A recipe, and why it was taken.

    Attributes:
        name: paper or tuned.
        recipe: with the changes that were asked for.
        reason: for a reader, a phrase.
    """

    name: Literal["paper", "tuned"]
    recipe: Recipe
    reason: str

    @property
    def holds_out(self) -> bool:
        """Whether dev sentences are needed to stop by."""
        return self.recipe.patience is not None


def named_recipe(name: Literal["paper", "tuned"], options: Options, reason: str) -> RecipeChoice:
    """A recipe by name, with the changes that the options ask for."""
    given = {key: getattr(options, key) for key in ("epochs", "learning_rate", "weight_decay")}
    recipe = {"paper": PAPER, "tuned": TUNED}[name]
    return RecipeChoice(name, replace(recipe, **{k: v for k, v in given.items() if v is not None}), reason)


def choose_recipe(options: Options, cut: Callable[[bool], Sequence[Split]]) -> RecipeChoice:
    """The recipe of the options; for auto that of the paper, unless its one epoch has fewer than `FEWEST_STEPS` steps.

    Args:
        options: of the command.
        cut: gives what is trained on, with dev sentences held out or not.
    """
    if options.recipe != "auto":
        return named_recipe(options.recipe, options, "it was asked for")
    if options.epochs is not None:
        return named_recipe("paper", options, "the number of epochs was given")
    steps = steps_per_epoch(cut(False))
    if steps >= FEWEST_STEPS:
        return named_recipe("paper", options, f"one epoch has {steps:,} steps, at least {FEWEST_STEPS:,}")
    took = f"one epoch would have {steps:,} step{'s' if steps != 1 else ''}, fewer than {FEWEST_STEPS:,}"
    if not all(split.dev and any(scored(s).any() for s in split.dev.sentences) for split in cut(True)):
        return named_recipe("paper", options, f"{took}, but too few sentences to hold some out")
    return named_recipe("tuned", options, took)


def steps_per_epoch(splits: Sequence[Split]) -> int:
    """Of the split with the fewest: one step per training sentence in which any word has a head."""
    known = (sum(any(head is not None for head in s.heads) for s in split.train.sentences) for split in splits)
    return min(known, default=0)
