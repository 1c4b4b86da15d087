"""The options of the analysis ``coreference``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attentionology.analyses.contract import OptionError
from attentionology.analyses.shared.numbers import OptionalNumber


@dataclass(frozen=True)
class CoreferenceOptions:
    """Options of the analysis coreference."""

    candidates: Literal["preceding", "mentions", "words"] = "preceding"
    """Which candidates the report is about (the tables hold all): the mentions before the one to be resolved, as for
    the baselines; all other mentions; or all other words."""

    singletons: Literal["drop", "keep"] = "drop"
    """Whether mentions of entities that are mentioned only once are candidates. The paper's corpus marks none."""

    stride: OptionalNumber = None
    """Read documents to their ends, in windows of --max-length pieces (default: what the model takes, at most 512).
    Each window starts N pieces after the one before it. Without it, their first 128 pieces are read (or --max-length),
    as in the paper; of GAP and WinoBias as many as the model takes."""

    def check(self) -> None:
        """Raise `OptionError` where a value cannot be used."""
        if self.stride is not None and self.stride < 1:
            raise OptionError(f"--stride must be at least 1, not {self.stride}")
