"""The results of the coreference analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from ..shared.previews import results_html, results_line
from .examples import ShownExample
from .tables import CoreferenceTables


class CoreferenceResults(NamedTuple):
    """The results of the analysis ``coreference``.

    Attributes:
        tables: the tables of the model. ``best`` has the columns of the control if there is one.
        controls: the table of best heads of each randomly initialized copy.
        examples: decisions of the best head.
        account: the numbers of mentions that are scored and of those that are not by reason, see
            `attentionology.analyses.coreference.choices.account`.
        candidates: the policy that the report is about.
        singletons: ``"drop"`` or ``"keep"``.
        published: the paper's accuracies in percent by method and type, None if the model is not the paper's.
        map_facts: phrases that describe the maps.
        notes: sentences about how the numbers were computed.
        asked: whether the corpus asks questions of its own, which come with candidates.
        min_count: types with fewer mentions are grayed.
    """

    tables: CoreferenceTables
    controls: tuple[pd.DataFrame, ...] = ()
    examples: tuple[ShownExample, ...] = ()
    account: Mapping[str, int] = {}
    candidates: str = "preceding"
    singletons: str = "drop"
    published: Mapping[str, Mapping[str, int]] | None = None
    map_facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    asked: bool = False
    min_count: int = 50

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)
