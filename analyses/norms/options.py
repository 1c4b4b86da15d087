"""The options of the norms analysis."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from ..contract import AnalysisRow, OptionGroup
from ..shared.numbers import Count, Share
from ..shared.options import FeedForwardOptions


@dataclass(frozen=True)
class NormsOptions(OptionGroup):
    """Options of the norms analysis.

    Example:
        >>> from attentionology.analyses import NormsOptions
        >>> NormsOptions(mask_rate=1.5).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --mask-rate must be from 0 to 1, not 1.5
    """

    mask_rate: Share = 0.12
    """The share of the pieces of words that are masked while context mixing is measured, as in the paper. With 0, no
    pieces are masked."""

    frequencies: Annotated[Path | None, arg(metavar="FILE")] = None
    """A file with a piece and its count in each line, for the frequency ranks. By default, the pieces of the corpus are
    counted."""

    ff_sentences: Count = 100
    """The first N sentences are followed through the feed-forward block, which takes tens of times as long as a forward
    pass. With 0, none are."""


NORMS = AnalysisRow(
    name="norms",
    location="attentionology.analyses.norms.analysis:Norms",
    options=(NormsOptions, FeedForwardOptions),
    of_maps=False,
    summary=(
        "norms: where attention goes by weight and by the norm of what it moves, how much context each layer mixes in, "
        "and what the feed-forward block changes (Kobayashi et al. 2020, 2021, 2024)."
    ),
)
