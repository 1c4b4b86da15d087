"""The word that each head picks as the antecedent of a mention, for inputs that are kept to be looked at."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from ...extractors import MapBatch, Window
from ..dependency.decisions import word_positions
from .antecedents import DIRECTIONS, antecedent_hits
from .choices import POLICIES, choices_of


@dataclass(frozen=True)
class AntecedentGuesses:
    """Returns the position that each head picks for the head word of each mention that is scored, −1 for all others.

    Attributes:
        policy: the candidates, one of `attentionology.analyses.coreference.choices.POLICIES`.
        singletons: whether mentions of entities that are mentioned only once are candidates.
    """

    policy: str
    singletons: bool

    def __call__(self, batch: MapBatch) -> Int[Tensor, "batch 2 layers heads n"]:
        """Return the guesses in both `DIRECTIONS`. If two mentions have the same head word, the first one is kept.

        Whether a guess is right is what `attentionology.analyses.coreference.antecedents.antecedent_hits` says. The
        guess is then the best antecedent, and otherwise the best of the other candidates.
        """
        choices = choices_of(batch, singletons=self.singletons)
        hits = antecedent_hits(batch, choices)[:, POLICIES.index(self.policy)]
        position = word_positions(batch)
        picks = torch.full((len(batch), len(DIRECTIONS), *batch.maps.shape[1:4]), -1)
        for decision in reversed(range(len(choices))):
            index, choice = choices[decision]
            window = batch.sentences[index]
            assert isinstance(window, Window)  # noqa: S101  # choices are made of windows
            start, words = window.start, position[index]
            row = int(words[choice.head - start])
            candidates = choice.candidates(self.policy, window)
            gold, others = (
                words[torch.tensor(sorted(group), dtype=torch.long) - start]
                for group in (choice.gold, candidates - choice.gold)
            )
            maps = batch.maps[index].cpu()
            for direction, values in enumerate((maps[:, :, row], maps[:, :, :, row])):
                right = gold[values[..., gold].argmax(-1)]
                wrong = others[values[..., others].argmax(-1)] if len(others) else right
                picks[index, direction, :, :, row] = torch.where(hits[decision, direction], right, wrong)
        return picks
