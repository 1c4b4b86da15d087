"""The options of the analysis ``norms``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from attentionology.analyses.contract import OptionError


@dataclass(frozen=True)
class NormsOptions:
    """Options of the analysis norms."""

    mask_rate: Annotated[float, arg(metavar="SHARE")] = 0.12
    """Share of the pieces of words that are masked while context mixing is measured, as in the paper; 0 for the text as
    it is."""

    frequencies: Annotated[Path | None, arg(metavar="FILE")] = None
    """Lines of a piece and its count, for the frequency ranks; default: count the corpus."""

    ff_sentences: Annotated[int, arg(metavar="N")] = 100
    """How many sentences, from the first on, to follow through the feed-forward block, which costs tens of times the
    forward pass; 0 for none."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if not 0 <= self.mask_rate <= 1:
            raise OptionError(f"--mask-rate must be from 0 to 1, not {self.mask_rate}")
        if self.ff_sentences < 0:
            raise OptionError(f"--ff-sentences must not be negative, not {self.ff_sentences}")
