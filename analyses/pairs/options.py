"""The options of the analysis of minimal pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..contract import AnalysisRow, OptionError, OptionGroup
from ..shared.numbers import Count
from ..shared.options import CountOptions, FeedForwardOptions, MapOptions

PLL = Literal["l2r", "original"]


@dataclass(frozen=True)
class PairsOptions(OptionGroup):
    """Options of the analysis of minimal pairs.

    Example:
        >>> from attentionology.analyses import PairsOptions
        >>> PairsOptions(pll="original").check()
    """

    pll: PLL = "l2r"
    """What a masked model sees when a piece is scored. l2r: neither the piece nor later pieces of the same word (Kauf &
    Ivanova 2023). original: all pieces but this one (Salazar et al. 2020), which favors words of many pieces."""

    harness: bool = False
    """Put a space before sentences, as the LM Evaluation Harness does for BLiMP. Byte-level vocabularies have another
    first piece then. It is for causal models."""

    needed_heads: Count = 0
    """Switch off the N heads on which the difference of the two scores depends most by a first-order estimate, one at a
    time, and score all pairs without each. The report also says through attention to which words each of them
    contributes to the difference. With 0, none is switched off."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        super().check()
        if self.harness and self.pll != "l2r":
            raise OptionError("--harness is for causal models, and --pll for masked ones; give one of them")


PAIRS = AnalysisRow(
    name="pairs",
    location="attentionology.analyses.pairs.analysis:MinimalPairs",
    options=(PairsOptions, CountOptions, MapOptions, FeedForwardOptions),
    of_pairs=True,
    summary=(
        "pairs: which sentence of a minimal pair the model prefers, and where heads attend at the words that differ "
        "(Warstadt et al. 2020)."
    ),
)
