"""The results of the coreference analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from ..shared.failures import FailureTables
from ..shared.previews import results_html, results_line
from .examples import ShownExample
from .tables import CoreferenceTables


class CoreferenceResults(NamedTuple):
    """The results of the analysis ``coreference``. Layers and heads are 1-based, accuracies are shares of mentions.

    Attributes:
        tables: those of `attentionology.analyses.coreference.tables.CoreferenceTables`, which lists them: ``cells``,
            ``best``, ``baselines``, ``distances`` and others. ``best`` has the columns of the control if there is one.
        controls: the table of best heads of each randomly initialized copy.
        examples: decisions of the best head.
        account: see `attentionology.analyses.coreference.choices.account`.
        candidates: the policy that the report is about.
        singletons: ``"drop"`` or ``"keep"``.
        published: in percent by method and type, if the model is the paper's.
        map_facts, notes: sentences about the maps, and about how the numbers were computed.
        asked: whether the corpus asks questions of its own, which come with candidates.
        min_count: types with fewer mentions are grayed.
        failures: what heads pick instead, with the option ``--failures``.
        ensembles: the accuracies of ensembles of heads, with the option ``--ensembles``.
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
    failures: FailureTables | None = None
    ensembles: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return results_line(self)

    def _repr_html_(self) -> str:
        return results_html(self)
