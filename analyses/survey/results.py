"""The results of a survey: its tables, and everything that its page and its figures show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from ...corpora_loaders.describing import amount
from ...corpora_loaders.releases import grouped_reasons
from ...reports.saved import Saved
from .choosers import ChooserContrast
from .columns import SURVEY_CONTRASTS, SURVEY_MEANS, SURVEY_TRAINING, SURVEY_TRANSFER, SURVEY_TRANSFER_MEANS
from .contrasts import SurveyContrast
from .tables import CellFailure, CellResult, cells_table, contrasts_table, rows_table, survey_table

_MOST_NAMED = 3
"""The number of cells that a warning names."""


@dataclass(frozen=True, repr=False)
class Survey(Saved):
    """The results of a survey of models, treebanks and kinds of maps.

    Like `attentionology.Run`, it has ``tables``, ``figures``, ``report()`` and ``save(folder)``.

    Attributes:
        models: the names of the models in order.
        treebanks: the names of the treebanks in order.
        maps: the kinds of maps in order.
        results: what came out of each cell, treebank by treebank.
        contrasts: the differences between kinds of maps and between models, within each treebank.
        means: the differences of means over treebanks.
        relation: the relation that the terminal and the first figure show.
        min_count: relations with fewer words are grayed and not tested.
        left_out: treebanks that a pattern of names stands for and that cannot be read, each with the reason.
        transfer_rows, transfer_mean_rows, training_rows: the rows of the tables of transfer and training.
        choosers: by model and kind of map, how the heads of two treebanks transfer to the same other treebanks.

    Example:
        >>> from attentionology import CorpusOptions, CountOptions, survey
        >>> options = [CorpusOptions(limit=10), CountOptions(replicates=50, min_count=5)]
        >>> result = survey("demo", "sample", maps=["weight", "norm"], options=options)
        >>> result
        Survey(1 model × 1 treebank × 2 maps)
        >>> rows = result.table.query("relation == 'det'")
        >>> rows[["model", "treebank", "map", "layer", "head", "correct", "n"]].values.tolist()
        [['demo', 'sample', 'weight', 3, 9, 15, 17], ['demo', 'sample', 'norm', 5, 10, 14, 17]]
    """

    models: tuple[str, ...]
    treebanks: tuple[str, ...]
    maps: tuple[str, ...]
    results: tuple[CellResult, ...]
    contrasts: tuple[SurveyContrast, ...]
    means: tuple[SurveyContrast, ...]
    relation: str
    min_count: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    transfer_rows: Sequence[Mapping[str, Any]] = ()
    transfer_mean_rows: Sequence[Mapping[str, Any]] = ()
    training_rows: Sequence[Mapping[str, Any]] = ()
    choosers: Mapping[tuple[str, str], Sequence[ChooserContrast]] = field(default_factory=dict)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The best head of each relation in each cell, see `attentionology.analyses.survey.tables.survey_table`."""
        return survey_table(self.results)

    @cached_property
    def contrasts_table(self) -> pd.DataFrame:
        """All differences within treebanks, one row per relation and pair of sides."""
        return contrasts_table(self.contrasts, SURVEY_CONTRASTS)

    @cached_property
    def means_table(self) -> pd.DataFrame:
        """The differences of means over treebanks, one row per relation and pair of sides."""
        return contrasts_table(self.means, SURVEY_MEANS)

    @cached_property
    def cells_table(self) -> pd.DataFrame:
        """What was read in each cell, see `attentionology.analyses.survey.tables.cells_table`."""
        return cells_table(self.results)

    @cached_property
    def transfer_table(self) -> pd.DataFrame:
        """The best heads of each treebank on every other one, see `attentionology.analyses.survey.transfer`."""
        return rows_table(self.transfer_rows, SURVEY_TRANSFER)

    @cached_property
    def transfer_means_table(self) -> pd.DataFrame:
        """The rows of `transfer_table` as means over relations, and those as means over the treebanks that score."""
        return rows_table(self.transfer_mean_rows, SURVEY_TRANSFER_MEANS)

    @cached_property
    def training_table(self) -> pd.DataFrame:
        """The accuracies over the checkpoints of models, see `attentionology.analyses.survey.training`."""
        return rows_table(self.training_rows, SURVEY_TRAINING)

    @property
    def failures(self) -> list[tuple[CellResult, CellFailure]]:
        """The cells, or kinds of maps in them, that could not be counted."""
        return [(result, failure) for result in self.results for failure in result.failures]

    @property
    def left_out_heads(self) -> list[dict[str, Any]]:
        """For each cell with enhanced dependencies, how many of their heads were left out."""
        counted = [result for result in self.results if result.record and "dependency" in result.record]
        return [{**vars(result.cell), **(result.record or {})["dependency"]["left_out"]} for result in counted]

    @property
    def warnings(self) -> list[str]:
        """How many cells failed, what was left out, and each warning once, behind the names of the first few cells."""
        cells_by_warning: dict[str, list[str]] = {}
        for result in self.results:
            for warning in result.record["warnings"] if result.record else ():
                cells_by_warning.setdefault(warning, []).append(f"{result.cell.model} on {result.cell.treebank}")
        warnings = []
        n_failed = len({result.cell for result, _ in self.failures})
        if n_failed:
            warnings.append(
                f"{n_failed} of {amount(len(self.results), 'cells')} failed, completely or partly; see below."
            )
        warnings += [f"Left out: {reason}." for reason in grouped_reasons(self.left_out)]
        for warning, cells in cells_by_warning.items():
            more = f" and {len(cells) - _MOST_NAMED} more" if len(cells) > _MOST_NAMED else ""
            warnings.append(f"{', '.join(cells[:_MOST_NAMED])}{more}: {warning}")
        return warnings

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Survey({grid_size(self.models, self.treebanks, self.maps)}{failed})"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.table.head(50).to_html(index=False, border=0)}"


def grid_size(models: Sequence[str], treebanks: Sequence[str], maps: Sequence[str]) -> str:
    """Return the size of a grid in words, such as ``2 models × 1 treebank × 1 map``."""
    counts = (("models", models), ("treebanks", treebanks), ("maps", maps))
    return " × ".join(amount(len(names), nouns) for nouns, names in counts)
