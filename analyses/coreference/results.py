"""The results of the coreference analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from ..shared.previews import results_html, results_line
from .examples import ShownExample
from .tables import CoreferenceTables


class CoreferenceResults(NamedTuple):
    """The results of the analysis ``coreference``."""

    tables: CoreferenceTables  # those of the model; ``best`` has the columns of the control if there is one
    controls: tuple[pd.DataFrame, ...] = ()  # the table of best heads of each randomly initialized copy
    examples: tuple[ShownExample, ...] = ()  # decisions of the best head
    account: Mapping[str, int] = {}  # see `attentionology.analyses.coreference.choices.account`
    candidates: str = "preceding"  # the policy that the report is about
    singletons: str = "drop"  # "drop" or "keep"
    published: Mapping[str, Mapping[str, int]] | None = (
        None  # in percent by method and type, if the model is the paper's
    )
    map_facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    asked: bool = False  # whether the corpus asks questions of its own, which come with candidates
    min_count: int = 50  # types with fewer mentions are grayed

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)
