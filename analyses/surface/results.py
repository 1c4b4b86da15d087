"""The results of the surface analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from ..shared.previews import Previewed
from .statistics import SurfaceTables


@dataclass(frozen=True, repr=False)
class SurfaceResults(Previewed):
    """The results of the analysis ``surface``."""

    tables: SurfaceTables  # the surface statistics, with labels of the heads
    # the model's own names of its `first_special` and `last_special` tokens. A model that has no such token has no
    # entry
    specials: Mapping[str, str]
    # the table of `attentionology.analyses.surface.gradients.GradientImportance`, None if there is none
    gradients: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()  # sentences about how the numbers were computed
