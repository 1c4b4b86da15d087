"""The options of the coreference analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..contract import AnalysisRow, OptionGroup
from ..shared.numbers import OptionalCount
from ..shared.options import (
    ControlOptions,
    CountOptions,
    EnsembleOptions,
    FailureOptions,
    FeedForwardOptions,
    MapOptions,
)  # fmt: skip


@dataclass(frozen=True)
class CoreferenceOptions(OptionGroup):
    """Options of the coreference analysis.

    Example:
        >>> from attentionology.analyses import CoreferenceOptions
        >>> CoreferenceOptions(stride=-1).check()
        Traceback (most recent call last):
            ...
        attentionology.analyses.option_groups.OptionError: --stride must be at least 0, not -1
    """

    candidates: Literal["preceding", "mentions", "words"] = "preceding"
    """The candidates for the antecedent in the report: the mentions before the one that is resolved, as for the
    baselines; all other mentions; or all other words. The tables contain all three."""

    singletons: Literal["drop", "keep"] = "drop"
    """Whether the mentions of entities that are mentioned only once are candidates. The corpus of the paper does not
    mark them."""

    stride: OptionalCount = None
    """Documents are read to their ends, in windows of whole words, each of which starts at most N pieces after the
    previous one, by default half a window. A window has up to --max-length pieces, by default as many as the model can
    read, at most 512. With 0, only the first --max-length pieces of a document are read: by default 128, as in the
    paper, or for GAP and WinoBias as many as the model can read."""


COREFERENCE = AnalysisRow(
    name="coreference",
    location="attentionology.analyses.coreference.analysis:Coreference",
    options=(
        CoreferenceOptions,
        EnsembleOptions,
        FailureOptions,
        ControlOptions,
        CountOptions,
        MapOptions,
        FeedForwardOptions,
    ),
    of_mentions=True,
    summary=(
        "coreference: for every mention the most attended other mention is taken as a guess at its antecedent (Clark "
        "et al. 2019, section 4.3)."
    ),
)
